"""Suitor where prefixes are exact: offers and looks without branches that depend on the weights.

Whether an offer wins, and whether it displaces someone, is a coin toss that no processor can predict; in rows of a few
entries a wrong guess costs more than the row. So loops over a group of vertices take the place of one (the first
offers, the second offers of those who lost, looks and offers of all who wait), and what one offer decides is where the
next vertex is written:

    held = state[v];  state[v] = max(held, offer);  loser = min(held, offer)

and the loser waits, if there is one. Its lower half is a rank, of which the vertex is found in a vector loop.
``max`` makes the exchange unconditional: where the offer loses, the word that is there is written once more.

*Looks at many rows* (``look_together``). The rows of those who wait are copied one after another, by vectors; then all
keys are made and all words gathered in flat loops, and vectors find the best key of each row. Rows longer than a
stretch are looked through a stretch at a time (``look_long``).

*Zones.* An exchange that other threads must not come between takes as long as a row. Where most neighbours are near,
as in meshes, and where one thread works alone, it is not needed: the vertices of a piece are a zone, in which nobody
makes offers but its worker, and whoever wants a vertex of another zone waits until all zones are through.

Everything else is as in ``suitor.py``, with its state and its invariant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.cpu.first_choices import NEAR, TILE, choose, find_vertices, make_keys
from troth.cpu.offers import GROUP, NONE, SPENT, count_spent, fetch, look_short
from troth.kernels.atomics import compare_and_swap, load, prefetch, store
from troth.kernels.bits import WIDE, copy_lanes, largest_bid, two_largest
from troth.kernels.jit import inlined, kernel
from troth.kernels.team import chunks, stop_all, worker_rows
from troth.order import MASK, ONE, priority, vertex
from troth.rows import Rows

FOURTH = np.uint64(2)  # count >> FOURTH is a fourth of it
LANES = np.uint64(WIDE)
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

    Those of zone i that wait for other zones are listed from later[i * size] on, and waits[i] is how many.
    """

    size: np.uint64
    later: np.ndarray
    waits: np.ndarray


class Zone(NamedTuple):
    """One of them: vertices first .. first + size - 1, its list, and how long it is, in an array. Size 0: no zone."""

    first: np.uint64
    size: np.uint64
    later: np.ndarray
    waits: np.ndarray


class Copies(NamedTuple):
    """Room for the short rows of a group, a row for each worker: ids, bits of weights, and the words of the ids."""

    indices: np.ndarray
    bits: np.ndarray
    held: np.ndarray


def group_of(rows: Rows) -> np.uint64:
    """How many vertices go together: fewer where rows are long, since many entries are read before one has settled."""
    return np.uint64(min(int(GROUP), max(LEAST, int(TILE) * (len(rows.indptr) - 1) // len(rows.indices))))


def new_copies(threads: int, rows: Rows) -> Copies:
    """Room for so many workers. All weights are the first one at first, for rows of which only ids are copied."""
    size = int(TILE)
    kinds = rows.indices.dtype, rows.bits.dtype, np.dtype(np.uint64)
    copies = Copies(*(worker_rows(threads, size, kind) for kind in kinds))
    copies.bits[:] = rows.bits[0]
    return copies


@inlined
def copies_of(copies, worker):
    """A worker's own room."""
    return Copies(copies.indices[worker], copies.bits[worker], copies.held[worker])


@inlined
def exchange(order, v, offer, zone, state):
    """Leave the better one of an offer and v's word there; returns v's word.

    Outside of the suitor's zone it is as if v had been free, and the suitor waits apart. A word that another thread
    changed meanwhile is looked at anew, which is rare.
    """
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
    return held


@inlined
def offer_firsts(order, first, count, way, choices, scratch, queue, zone, state):
    """First and second offers of vertices first .. first + count - 1. Returns how many wait, the offers made, and
    whether the words are far apart.

    Where their outcome is foreseen, the second follows the first at once.
    """
    firsts, seconds = choices
    ranks, lost = scratch[:GROUP], scratch[GROUP : 2 * GROUP]
    targets, others = scratch[2 * GROUP : 3 * GROUP], scratch[3 * GROUP : 4 * GROUP]
    for i in range(count):
        ranks[i] = priority(order, first + i)
    find_vertices(order, firsts, count, targets)
    find_vertices(order, seconds, count, others)
    far = NONE
    for i in range(count):
        prefetch(state, targets[i])
        far += np.uint64(targets[i] - first + NEAR > NEAR + NEAR)
    waiting = losers = made = NONE
    for i in range(count):
        j = count - ONE - i if way.down else i
        if firsts[j] != NONE:
            offer = (firsts[j] & ~MASK) | ranks[j]
            held = exchange(order, targets[j], offer, zone, state)
            made += ONE
            won = np.uint64(offer > held)
            if way.foreseen and won == NONE and seconds[j] != NONE:
                offer = (seconds[j] & ~MASK) | ranks[j]
                held = exchange(order, others[j], offer, zone, state)
                queue[waiting] = min(held, offer)
                waiting += np.uint64(held != NONE)
                made += ONE
            else:
                lost[losers] = j
                losers += won ^ ONE
                queue[waiting] = held
                waiting += won & np.uint64(held != NONE)
    for i in range(losers):
        j = lost[i]
        if seconds[j] != NONE:
            offer = (seconds[j] & ~MASK) | ranks[j]
            held = exchange(order, others[j], offer, zone, state)
            queue[waiting] = min(held, offer)
            waiting += np.uint64(held != NONE)
    return waiting, made + losers, far > count >> FOURTH


@kernel
def look_long(rows, order, u, rank, keys, held, offers):
    """``look`` in a long row, a stretch at a time; returns the neighbour's key, or NONE.

    Only where a stretch has a better key than the best so far, its neighbours' words are asked for.
    """
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
def look_together(rows, order, flat, lookers, queue, waiting, found, keys, copies, offers):
    """found[i] = the key of the best neighbour that would take lookers[i], or NONE; returns the entries read.

    ``queue`` has their ranks. ``flat``: all weights are equal, and copied already.
    """
    entries, size = NONE, np.uint64(rows.indices.size)
    for i in range(waiting):
        start, stop = np.uint64(rows.indptr[lookers[i]]), np.uint64(rows.indptr[lookers[i] + ONE])
        if stop - start <= STRETCH and stop + LANES <= size:
            for e in range(start, stop, LANES):
                copy_lanes(copies.indices, entries + (e - start), rows.indices, e)
                if not flat:
                    copy_lanes(copies.bits, entries + (e - start), rows.bits, e)
            entries += stop - start
        elif stop - start <= STRETCH:
            for e in range(start, stop):
                copies.indices[entries] = rows.indices[e]
                copies.bits[entries] = rows.bits[e]
                entries += ONE
        else:
            found[i] = look_long(rows, order, lookers[i], queue[i] & MASK, keys, copies.held, offers)
    make_keys(copies, order, NONE, entries, keys)
    for e in range(entries):
        copies.held[e] = load(offers.state, np.uint64(np.uint32(copies.indices[e])))
    begin = read = NONE
    for i in range(waiting):
        count = np.uint64(rows.indptr[lookers[i] + ONE] - rows.indptr[lookers[i]])
        if count <= STRETCH:
            found[i] = largest_bid(keys, copies.held, begin, begin + count, queue[i] & MASK)
            begin += count
        read += count
    return read


@kernel
def settle_one(rows, order, flat, budget, uncounted, zone, word, keys, held, offers):
    """``settle_together`` for the one who waits, and then for whomever it displaces: a chain, link by link."""
    made = scans = read = NONE
    while word != NONE:
        rank = word & MASK
        u = vertex(order, word)
        count = np.uint64(rows.indptr[u + ONE] - rows.indptr[u])
        if count <= STRETCH:
            key = look_short(rows, order, flat, u, rank, offers)
        else:
            key = look_long(rows, order, u, rank, keys, held, offers)
        scans += ONE
        read += count
        word = NONE
        if key != NONE:
            offer = (key & ~MASK) | rank
            word = min(offer, exchange(order, vertex(order, key), offer, zone, offers.state))
            made += ONE
        uncounted = count_spent(budget, uncounted + count)
        if uncounted == SPENT:
            break
    return made, scans, read, uncounted


@inlined
def settle_together(rows, order, flat, far, budget, uncounted, zone, scratch, queue, waiting, copies, offers):
    """All who wait look, then all make their offers, until nobody waits; returns as ``settle`` does.

    ``queue`` are the offers that lost, whose lower halves are the ranks of those who wait.
    """
    found, lookers, keys = scratch
    targets = keys[:GROUP]  # keys are used up by then
    made = scans = read = NONE
    while waiting > NONE:
        if waiting == ONE:
            some, looked, seen, uncounted = settle_one(
                rows, order, flat, budget, uncounted, zone, queue[0], keys, copies.held, offers
            )
            return made + some, scans + looked, read + seen, uncounted
        find_vertices(order, queue, waiting, lookers)
        if far:
            fetch(rows, lookers, waiting, offers)
        seen = look_together(rows, order, flat, lookers, queue, waiting, found, keys, copies, offers)
        read += seen
        scans += waiting
        find_vertices(order, found, waiting, targets)
        left = NONE
        for i in range(waiting):
            if found[i] != NONE:
                offer = (found[i] & ~MASK) | (queue[i] & MASK)
                held = exchange(order, targets[i], offer, zone, offers.state)
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
        return Zone(NONE, NONE, zones.later, zones.waits)
    if zones.size >= n:
        return Zone(NONE, n, zones.later, zones.waits)
    return Zone(first, count, zones.later[place:], zones.waits[place // zones.size :])


@kernel
def propose_short(worker, cursor, chunk, rows, order, way, budget, zones, scratch, copies, offers):
    """Every vertex makes its offer; counts as in ``propose_all``."""
    n = np.uint64(rows.indptr.size - 1)
    firsts, seconds, keys = scratch.first[worker], scratch.second[worker], scratch.keys[worker]
    queue = scratch.queue[worker]
    mine = copies_of(copies, worker)
    made = scans = read = uncounted = NONE
    for start, stop in chunks(cursor, chunk, rows.indptr.size - 1):
        begin, end = np.uint64(start), np.uint64(stop)
        zone = find_zone(zones, n, n - end if way.down else begin, end - begin, begin)
        for group in range(begin, end, way.group):
            count = min(way.group, end - group)
            first = n - group - count if way.down else group
            choose(rows, order, first, first + count, keys, firsts, seconds)
            scans += count
            read += np.uint64(rows.indptr[first + count] - rows.indptr[first])
            waiting, some, far = offer_firsts(
                order, first, count, way, (firsts, seconds), keys, queue, zone, offers.state
            )
            made += some
            used = firsts, seconds, keys
            more, looked, seen, uncounted = settle_together(
                rows, order, way.flat, far, budget, uncounted, zone, used, queue, waiting, mine, offers
            )
            made += more
            scans += looked
            read += seen
            if uncounted == SPENT:
                stop_all(cursor)
                break
    return made, scans, read


@kernel
def propose_later(worker, cursor, chunk, rows, order, way, budget, zones, scratch, copies, offers):
    """Those who have waited for other zones make their offers; counts as in ``propose_all``."""
    queue, used = scratch.queue[worker], (scratch.first[worker], scratch.second[worker], scratch.keys[worker])
    mine = copies_of(copies, worker)
    shared = Zone(NONE, NONE, zones.later, zones.waits)
    made = scans = read = uncounted = NONE
    for start, stop in chunks(cursor, chunk, zones.waits.size):
        for i in range(np.uint64(start), np.uint64(stop)):
            for group in range(NONE, np.uint64(zones.waits[i]), way.group):
                waiting = min(way.group, np.uint64(zones.waits[i]) - group)
                for k in range(waiting):
                    queue[k] = priority(order, np.uint32(zones.later[i * zones.size + group + k]))
                more, looked, seen, uncounted = settle_together(
                    rows, order, way.flat, False, budget, uncounted, shared, used, queue, waiting, mine, offers
                )
                made += more
                scans += looked
                read += seen
                if uncounted == SPENT:
                    stop_all(cursor)
                    break
    return made, scans, read
