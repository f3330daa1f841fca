"""Suitor where prefixes are exact: offers and looks without branches that depend on the weights.

Whether an offer wins, and whether it displaces someone, is a coin toss that no processor can predict; in rows of a few
entries a wrong guess costs more than the row. So loops over a group of vertices take the place of one (the first
offers, the second offers of those who lost, looks and offers of all who wait), and what one offer decides is where the
next vertex is written:

    held = state[v];  state[v] = max(held, offer);  loser = min(held, offer)

and the loser waits, if there is one. Its lower half is a rank, of which the vertex is found in a vector loop.
``max`` makes the exchange unconditional: where the offer loses, the word that is there is written once more.

*Looks at many rows* (``look_together``). Short rows of those who wait are copied one after another, each by one vector
or two; then all words are gathered and all keys made in flat loops, and a vector finds the best key of each row.

*Zones.* An exchange that other threads must not come between takes as long as a row. Where most neighbours are near,
as in meshes, and where one thread works alone, it is not needed: the vertices of a piece are a zone, in which nobody
makes offers but its worker, and whoever wants a vertex of another zone waits until all zones are through.

Everything else is as in ``suitor.py``, with its state and its invariant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.cpu.first_choices import NEAR, choose, find_vertices, make_keys
from troth.cpu.offers import GROUP, NONE, SHORT, SPENT, count_spent, fetch, look
from troth.kernels.atomics import compare_and_swap, load, prefetch, store
from troth.kernels.bits import WIDE, copy_lanes, largest_bid
from troth.kernels.jit import inlined, kernel
from troth.kernels.team import chunks, stop_all, worker_rows
from troth.order import MASK, ONE, PRIORITY_BITS, prefix, priority, vertex
from troth.rows import Rows

FOURTH = np.uint64(2)  # count >> FOURTH is a fourth of it
LANES = np.uint64(WIDE)


class Way(NamedTuple):
    """How the vertices are visited."""

    down: bool  # from the last to the first
    foreseen: bool  # nearly all offers meet a vertex that has settled
    flat: bool  # all weights are equal


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


def new_copies(threads: int, rows: Rows) -> Copies:
    """Room for so many workers. All weights are the first one at first, for rows of which only ids are copied."""
    size = int(GROUP) * SHORT
    kinds = rows.indices.dtype, rows.bits.dtype, np.dtype(np.uint64)
    copies = Copies(*(worker_rows(threads, size, kind) for kind in kinds))
    copies.bits[:] = rows.bits[0]
    return copies


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
    ranks, targets, lost = scratch[:GROUP], scratch[GROUP : 2 * GROUP], scratch[2 * GROUP : 3 * GROUP]
    for i in range(count):
        ranks[i] = priority(order, first + i)
    find_vertices(order, firsts, count, targets)
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
                held = exchange(order, vertex(order, seconds[j]), offer, zone, state)
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
            held = exchange(order, vertex(order, seconds[j]), offer, zone, state)
            queue[waiting] = min(held, offer)
            waiting += np.uint64(held != NONE)
    return waiting, made + losers, far > count >> FOURTH


@inlined
def key_by_look(rows, order, u, rank, offers):
    """``look`` in a long row; returns the neighbour's key, or NONE."""
    e = look(rows, order, u, rank, offers)
    if e < 0:
        return NONE
    return prefix(rows.bits[np.uint64(e)], order) << PRIORITY_BITS | priority(order, np.uint32(rows.indices[e]))


@inlined
def look_together(rows, order, flat, lookers, queue, waiting, found, keys, copies, offers):
    """found[i] = the key of the best neighbour that would take lookers[i], or NONE; returns the entries read.

    ``queue`` has their ranks. ``flat``: all weights are equal, and copied already.
    """
    entries, size = NONE, np.uint64(rows.indices.size)
    for i in range(waiting):
        start, stop = np.uint64(rows.indptr[lookers[i]]), np.uint64(rows.indptr[lookers[i] + ONE])
        if stop - start <= SHORT and stop + LANES <= size:
            for e in range(start, stop, LANES):
                copy_lanes(copies.indices, entries + (e - start), rows.indices, e)
                if not flat:
                    copy_lanes(copies.bits, entries + (e - start), rows.bits, e)
            entries += stop - start
        elif stop - start <= SHORT:
            for e in range(start, stop):
                copies.indices[entries] = rows.indices[e]
                copies.bits[entries] = rows.bits[e]
                entries += ONE
    make_keys(copies, order, NONE, entries, keys)
    for e in range(entries):
        copies.held[e] = load(offers.state, np.uint64(np.uint32(copies.indices[e])))
    begin = read = NONE
    for i in range(waiting):
        u, rank = lookers[i], queue[i] & MASK
        count = np.uint64(rows.indptr[u + ONE] - rows.indptr[u])
        if count <= SHORT:
            found[i] = largest_bid(keys, copies.held, begin, begin + count, rank)
            begin += count
        else:
            found[i] = key_by_look(rows, order, u, rank, offers)
        read += count
    return read


@inlined
def settle_together(rows, order, flat, far, budget, uncounted, zone, scratch, queue, waiting, copies, offers):
    """All who wait look, then all make their offers, until nobody waits; returns as ``settle`` does.

    ``queue`` are the offers that lost, whose lower halves are the ranks of those who wait.
    """
    found, lookers, keys = scratch
    targets = keys[:GROUP]  # keys are used up by then
    made = scans = read = NONE
    while waiting > NONE:
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
    mine = Copies(copies.indices[worker], copies.bits[worker], copies.held[worker])
    made = scans = read = uncounted = NONE
    for start, stop in chunks(cursor, chunk, rows.indptr.size - 1):
        begin, end = np.uint64(start), np.uint64(stop)
        zone = find_zone(zones, n, n - end if way.down else begin, end - begin, begin)
        for group in range(begin, end, GROUP):
            count = min(GROUP, end - group)
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
    mine = Copies(copies.indices[worker], copies.bits[worker], copies.held[worker])
    shared = Zone(NONE, NONE, zones.later, zones.waits)
    made = scans = read = uncounted = NONE
    for start, stop in chunks(cursor, chunk, zones.waits.size):
        for i in range(np.uint64(start), np.uint64(stop)):
            for group in range(NONE, np.uint64(zones.waits[i]), GROUP):
                waiting = min(GROUP, np.uint64(zones.waits[i]) - group)
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
