"""Suitor where prefixes are exact: offers and looks without branches that depend on the weights.

Whether an offer wins, and whether it displaces someone, is a coin toss that no processor can predict; in rows of a few
entries a wrong guess costs more than the row. So loops over a group of vertices take the place of one (the first
offers, the second offers of those who lost, looks and offers of all who wait), and what one offer decides is where the
next vertex is written:

    held = state[v];  state[v] = max(held, offer);  loser = min(held, offer)

and the loser waits, if there is one. Its lower half is a rank, of which the vertex is found in a vector loop.
``max`` makes the exchange unconditional: where the offer loses, the word that is there is written once more.

*Many looks at one time* (``look_together``). The rows of those who wait are copied one after another, by vectors; then
all keys are made and all words gathered in flat loops, and vectors find the best key of each row. Rows longer than a
stretch are looked through a stretch at a time (``look_long``).

*Zones.* An atomic exchange takes as long as a short row. Where most neighbours are near, as in meshes, and where one
thread works alone, none is needed: the vertices of a piece are a zone, in which nobody makes offers but its worker, and
whoever wants a vertex of another zone waits until all zones are through.

Everything else is as in ``suitor.py``, with its state and its invariant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.cpu.first_choices import LANES, NEAR, TILE, choose, find_vertices, make_keys, scratch_of
from troth.cpu.offers import (
    GROUP,
    NONE,
    SPENT,
    count_spent,
    fetch,
    keep_own,
    look_short,
    note_change,
    place_at,
)
from troth.kernels.atomics import compare_and_swap, load, prefetch, store
from troth.kernels.bits import copy_lanes, largest_bid, two_largest
from troth.kernels.jit import inlined, kernel, step
from troth.kernels.team import APART, chunks, stop_all
from troth.order import MASK, ONE, priority, vertex
from troth.rows import Rows

FOURTH = np.uint64(2)  # count >> FOURTH is a fourth of it
LEAST = 16  # vertices in a group
STRETCH = TILE // GROUP  # entries of a row that are looked at together; a group of such rows is one tile


class Way(NamedTuple):
    """How the vertices are visited."""

    down: bool  # from the last to the first
    foreseen: bool  # nearly all offers meet a vertex that has settled
    flat: bool  # all weights are equal
    group: np.uint64  # so many vertices make their first offers together


class Zones(NamedTuple):
    """Zones of ``size`` vertices: 0, as many as a worker takes at a time, or all.

    Those of zone i that wait for other zones are listed from later[i * size] on, and waits[i, 0] is how many. The list
    of a zone has room for all of its vertices, and nobody is listed twice: who is listed has no offer that stands, so
    nobody can displace it.
    """

    size: np.uint64
    later: np.ndarray
    waits: np.ndarray


def new_zones(size: int, n: int, later: np.ndarray) -> Zones:
    """Zones of so many of n vertices; ``later`` is room for n numbers. Each count has a cache line of its own."""
    return Zones(np.uint64(size), later, np.zeros((-(-n // size) if size else 1, APART // 8), np.int64))


class Zone(NamedTuple):
    """One of them: vertices first .. first + size - 1, its list, and how long it is, in an array. Size 0: no zone."""

    first: np.uint64
    size: np.uint64
    later: np.ndarray
    waits: np.ndarray


def group_of(rows: Rows) -> np.uint64:
    """How many vertices go together: fewer where rows are long, since many entries are read before one has settled."""
    return np.uint64(min(int(GROUP), max(LEAST, int(TILE) * (len(rows.indptr) - 1) // len(rows.indices))))


@inlined
def exchange(rows, order, v, offer, zone, offers):
    """Leave the better one of an offer and v's word there; returns v's word.

    Outside of the suitor's zone it is as if v had been free, and the suitor waits apart. A word that another thread
    changed meanwhile is looked at anew, which is rare.
    """
    state = offers.state
    if v - zone.first < zone.size:
        held = load(state, v)
        store(state, v, max(held, offer))
        return held
    if zone.size > NONE:
        zone.later[np.uint64(zone.waits[0])] = np.int32(vertex(order, offer))
        zone.waits[0] += 1
        return NONE
    held = load(state, v)
    seen = compare_and_swap(state, v, held, max(held, offer))
    while seen != held:
        held = seen
        seen = compare_and_swap(state, v, held, max(held, offer))
    if offer > held:
        note_change(rows, v, offers)
    return held


@inlined
def offer_firsts(rows, order, first, count, way, scratch, zone, offers):
    """First and second offers of vertices first .. first + count - 1. Returns how many wait, the offers made, and
    whether the words are far apart.

    Where their outcome is foreseen, the second follows the first at once.
    """
    firsts, seconds, queue, keys = scratch.first, scratch.second, scratch.queue, scratch.keys  # keys are used up by now
    ranks, lost = keys[:GROUP], keys[GROUP : 2 * GROUP]
    targets, others = keys[2 * GROUP : 3 * GROUP], keys[3 * GROUP : 4 * GROUP]
    for i in range(count):
        ranks[i] = priority(order, first + i)
    find_vertices(order, firsts, count, targets)
    find_vertices(order, seconds, count, others)
    far = NONE
    for i in range(count):
        v = targets[i] if firsts[i] != NONE else first
        prefetch(offers.state, v)
        far += np.uint64(v - first + NEAR > NEAR + NEAR)
    waiting = losers = made = NONE
    for i in range(count):
        j = count - ONE - i if way.down else i
        if firsts[j] != NONE:
            offer = (firsts[j] & ~MASK) | ranks[j]
            held = exchange(rows, order, targets[j], offer, zone, offers)
            made += ONE
            won = np.uint64(offer > held)
            if way.foreseen and won == NONE and seconds[j] != NONE:
                offer = (seconds[j] & ~MASK) | ranks[j]
                held = exchange(rows, order, others[j], offer, zone, offers)
                queue[waiting] = min(held, offer)
                waiting += np.uint64(held != NONE)
                made += ONE
            else:
                lost[losers] = j
                losers += (won ^ ONE) & np.uint64(seconds[j] != NONE)
                queue[waiting] = held
                waiting += won & np.uint64(held != NONE)
    for i in range(losers):
        j = lost[i]
        offer = (seconds[j] & ~MASK) | ranks[j]
        held = exchange(rows, order, others[j], offer, zone, offers)
        queue[waiting] = min(held, offer)
        waiting += np.uint64(held != NONE)
    return waiting, made + losers, far > count >> FOURTH


@step
def look_long(rows, order, u, rank, scratch, offers):
    """``look`` in a long row, a stretch at a time; returns the neighbour's key, or NONE.

    Only where a stretch has a better key than the best so far, its neighbours' words are asked for.
    """
    keys, held = scratch.keys, scratch.held
    mine = load(offers.state, u)
    best = mine - ONE if mine != NONE else NONE
    found = NONE
    stop = np.uint64(rows.indptr[u + ONE])
    for start in range(np.uint64(rows.indptr[u]), stop, STRETCH):
        count = min(STRETCH, stop - start)
        make_keys(rows, order, start, start + count, keys)
        if two_largest(keys, NONE, count)[0] > best:
            for e in range(count):
                held[e] = load(offers.state, np.uint64(np.uint32(rows.indices[start + e])))
            bid = largest_bid(keys, held, NONE, count, rank)
            if bid > best:
                best = found = bid
    return found


@inlined
def copy_rows(rows, flat, lookers, waiting, scratch):
    """Copy the rows of those who wait, one behind the other, but for long ones; returns how many entries.

    ``flat``: all weights are equal, and there already.
    """
    entries, size = NONE, np.uint64(rows.indices.size)
    for i in range(waiting):
        start, stop = np.uint64(rows.indptr[lookers[i]]), np.uint64(rows.indptr[lookers[i] + ONE])
        if stop - start <= STRETCH and stop + LANES <= size:
            for e in range(start, stop, LANES):
                copy_lanes(scratch.indices, entries + (e - start), rows.indices, e)
                if not flat:
                    copy_lanes(scratch.bits, entries + (e - start), rows.bits, e)
            entries += stop - start
        elif stop - start <= STRETCH:
            for e in range(start, stop):
                scratch.indices[entries] = rows.indices[e]
                scratch.bits[entries] = rows.bits[e]
                entries += ONE
    return entries


@inlined
def look_together(rows, order, flat, lookers, waiting, scratch, offers):
    """scratch.first[i] = the key of the best neighbour that would take lookers[i], or NONE; returns the entries read.

    ``scratch.queue`` has their ranks.
    """
    found, queue, keys, held = scratch.first, scratch.queue, scratch.keys, scratch.held
    for i in range(waiting):
        if np.uint64(rows.indptr[lookers[i] + ONE] - rows.indptr[lookers[i]]) > STRETCH:
            found[i] = look_long(rows, order, lookers[i], queue[i] & MASK, scratch, offers)
    entries = copy_rows(rows, flat, lookers, waiting, scratch)
    make_keys(scratch, order, NONE, entries, keys)
    for e in range(entries):
        held[e] = load(offers.state, np.uint64(np.uint32(scratch.indices[e])))
    begin = read = NONE
    for i in range(waiting):
        count = np.uint64(rows.indptr[lookers[i] + ONE] - rows.indptr[lookers[i]])
        if count <= STRETCH:
            found[i] = largest_bid(keys, held, begin, begin + count, queue[i] & MASK)
            begin += count
        read += count
    return read


@step
def settle_one(rows, order, flat, budget, uncounted, zone, scratch, offers):
    """``settle_together`` for the one who waits, and then for whomever it displaces: a chain, link by link."""
    made = scans = read = NONE
    word = scratch.queue[NONE]  # perhaps a rank alone, and that may be 0
    while True:
        rank = word & MASK
        u = vertex(order, word)
        if place_at(rows, u) < 0:
            break
        count = np.uint64(rows.indptr[u + ONE] - rows.indptr[u])
        if count <= STRETCH:
            key = look_short(rows, order, flat, u, rank, offers)
        else:
            key = look_long(rows, order, u, rank, scratch, offers)
        scans += ONE
        read += count
        word = NONE
        if key != NONE:
            offer = (key & ~MASK) | rank
            word = min(offer, exchange(rows, order, vertex(order, key), offer, zone, offers))
            made += ONE
        uncounted = count_spent(budget, uncounted + count)
        if word == NONE or uncounted == SPENT:
            break
    return made, scans, read, uncounted


@inlined
def settle_together(rows, order, flat, far, budget, uncounted, zone, scratch, waiting, offers):
    """All who wait look, then all make their offers, until nobody waits; returns the counts that ``settle`` does.

    ``scratch.queue`` has the offers that lost, whose lower halves are the ranks of those who wait.
    """
    queue, found, lookers, targets = scratch.queue, scratch.first, scratch.second, scratch.keys[:GROUP]
    made = scans = read = NONE
    while waiting > NONE:
        if waiting == ONE:
            some, looked, seen, uncounted = settle_one(rows, order, flat, budget, uncounted, zone, scratch, offers)
            return made + some, scans + looked, read + seen, uncounted
        find_vertices(order, queue, waiting, lookers)
        waiting = keep_own(rows, queue, lookers, waiting)
        if far:
            fetch(rows, lookers, waiting, offers)
        seen = look_together(rows, order, flat, lookers, waiting, scratch, offers)
        read += seen
        scans += waiting
        find_vertices(order, found, waiting, targets)
        left = NONE
        for i in range(waiting):
            if found[i] != NONE:
                offer = (found[i] & ~MASK) | (queue[i] & MASK)
                held = exchange(rows, order, targets[i], offer, zone, offers)
                queue[left] = min(held, offer)
                left += np.uint64(held != NONE)
                made += ONE
        waiting = left
        uncounted = count_spent(budget, uncounted + seen)
        if uncounted == SPENT:
            break
    return made, scans, read, uncounted


@inlined
def find_zone(zones, n, first, count, place):
    """The zone of a worker who has ``count`` vertices from ``first`` on, and began to count at ``place``."""
    if zones.size == NONE:
        return Zone(NONE, NONE, zones.later, zones.waits[NONE])
    if zones.size >= n:
        return Zone(NONE, n, zones.later, zones.waits[NONE])
    return Zone(first, count, zones.later[place:], zones.waits[place // zones.size])


@kernel
def propose_unbranched(worker, cursor, chunk, rows, order, way, budget, zones, scratch, offers):
    """Every vertex makes its offer; counts as in ``propose_wide``."""
    n, mine = np.uint64(rows.indptr.size - 1), scratch_of(scratch, worker)
    made = scans = read = uncounted = NONE
    for start, stop in chunks(cursor, chunk, rows.indptr.size - 1):
        begin, end = np.uint64(start), np.uint64(stop)
        zone = find_zone(zones, n, n - end if way.down else begin, end - begin, begin)
        for group in range(begin, end, way.group):
            count = min(way.group, end - group)
            first = n - group - count if way.down else group
            choose(rows, order, first, first + count, mine.keys, mine.first, mine.second)
            scans += count
            read += np.uint64(rows.indptr[first + count] - rows.indptr[first])
            waiting, some, far = offer_firsts(rows, order, first, count, way, mine, zone, offers)
            made += some
            more, looked, seen, uncounted = settle_together(
                rows, order, way.flat, far, budget, uncounted, zone, mine, waiting, offers
            )
            made += more
            scans += looked
            read += seen
            if uncounted == SPENT:
                stop_all(cursor)
                break
    return made, scans, read


@kernel
def propose_later(worker, cursor, chunk, rows, order, way, budget, zones, scratch, offers):
    """Those who have waited for other zones make their offers; counts as in ``propose_wide``."""
    mine = scratch_of(scratch, worker)
    none = Zone(NONE, NONE, zones.later, zones.waits[NONE])
    made = scans = read = uncounted = NONE
    for i, _ in chunks(cursor, chunk, len(zones.waits)):  # a zone at a time
        listed, count = zones.later[np.uint64(i) * zones.size :], np.uint64(zones.waits[i, 0])
        for group in range(NONE, count, way.group):
            waiting = min(way.group, count - group)
            for k in range(waiting):
                mine.queue[k] = priority(order, np.uint32(listed[group + k]))
            more, looked, seen, uncounted = settle_together(
                rows, order, way.flat, False, budget, uncounted, none, mine, waiting, offers
            )
            made += more
            scans += looked
            read += seen
            if uncounted == SPENT:
                stop_all(cursor)
                break
    return made, scans, read
