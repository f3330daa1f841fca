"""Offers in the part of a graph that a rank has: what ``cpu/offers.py`` asks of it, and first offers.

The owner of v has v's word, the offer that v holds. A rank that has v as a ghost has a word as well: the best offer to
v that this rank has made or has been told of.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.cpu.offers import GROUP, LOST, NONE, answer, offer_along, settle
from troth.kernels.atomics import compare_and_swap, fetch_add, prefetch
from troth.kernels.jit import inlined, kernel
from troth.kernels.team import chunks
from troth.order import ONE, vertex
from troth.ranks.rows import Part, entry_of, name_of, own_place, rank_of

CHANGED, LOOKERS = (np.uint64(i) for i in range(2))  # the counters of ``PartOffers``
SENT, PENDING, INTERNAL = (np.uint8(i) for i in range(3))  # marks of a word: as last sent; to be sent; no rank's ghost


class PartOffers(NamedTuple):
    """The offers that the local vertices hold, own ones and ghosts, and what a round has found."""

    state: np.ndarray
    exact: np.ndarray  # where prefixes are lossy: the weight told, one a ghost whose suitor is not an own vertex
    marks: np.ndarray  # SENT, PENDING or INTERNAL
    changed: np.ndarray  # local vertices whose word is to be sent
    knows: np.ndarray  # for each of them that is own, the neighbour whose offer its word is, or -1
    lookers: np.ndarray  # own vertices that have to look again
    counts: np.ndarray  # how long ``changed`` and ``lookers`` are


# ---- what ``cpu/offers.py`` asks ----


@kernel
def told_weight(part, order, v, offer, exact):
    """The exact bits of an offer to v: in v's row, in the suitor's, or as the owner of ghost v told them."""
    suitor = vertex(order, offer)
    if v < part.owned:
        return np.uint64(part.bits[entry_of(part, v, suitor)])
    place = own_place(part, suitor)
    if place < 0:
        return exact[v - part.owned]
    return np.uint64(part.bits[entry_of(part, place, part.names[v])])


@inlined
def list_changed(v, offers):
    """v's word is to be sent, if another rank has v, and is not so already."""
    at = np.uint64(v)
    if offers.marks[at] == SENT and compare_and_swap(offers.marks, at, SENT, PENDING) == SENT:
        offers.changed[fetch_add(offers.counts, CHANGED, np.int64(1))] = np.int32(v)


answer(
    Part,
    name_at=lambda rows, v: name_of(rows, v),
    place_at=lambda rows, name: own_place(rows, name),
    exact_weight=lambda rows, order, v, offer, offers: told_weight(rows, order, np.int64(v), offer, offers.exact),
    note_change=lambda rows, v, offers: list_changed(v, offers),
)


# ---- first offers ----


@inlined
def first_choice(part, order, u):
    """The entry of the heaviest neighbour, whatever offers it holds; -1 where there is none.

    Priorities are looked at where weights tie, and only there: names of ghosts are far away in memory.
    """
    most = part.bits[0] ^ part.bits[0]  # zero of the bits' own type
    found = np.int64(-1)
    for e in range(np.uint64(part.indptr[u]), np.uint64(part.indptr[u + 1])):
        bits = part.bits[e]
        if bits > most or (
            bits == most and rank_of(part, order, part.indices[e]) > rank_of(part, order, part.indices[found])
        ):
            most, found = bits, np.int64(e)
    return found


@inlined
def offer_first(part, order, visits, firsts, queue, offers):
    """The first offers of these vertices; who fails or is displaced waits in ``queue``. Returns how many of each."""
    made = waiting = NONE
    for i in range(visits.size):
        firsts[i] = first_choice(part, order, visits[i])
        if firsts[i] >= 0:
            prefetch(offers.state, np.uint64(np.uint32(part.indices[firsts[i]])))
    for i in range(visits.size):
        if firsts[i] >= 0:
            made += ONE
            rank = rank_of(part, order, visits[i])
            displaced = offer_along(part, order, rank, np.uint64(firsts[i]), offers)
            again = np.int64(visits[i])
            if displaced != LOST:
                again = own_place(part, vertex(order, displaced)) if displaced != NONE else np.int64(-1)
            if again >= 0:
                queue[waiting] = np.uint64(again)
                waiting += ONE
    return made, waiting


@kernel
def propose(worker, cursor, chunk, part, order, visits, first, budget, firsts, queues, offers):
    """These vertices look for a neighbour, a group at a time, and so do those that they displace; returns two counts.

    ``first``: they have made no offer yet. ``budget`` has no end. ``firsts`` and ``queues`` are scratch, a row for each
    worker.
    """
    made = scans = NONE
    queue = queues[worker]
    for start, stop in chunks(cursor, chunk, visits.size):
        for group in range(start, stop, np.int64(GROUP)):
            some = visits[group : min(group + np.int64(GROUP), stop)]
            waiting = np.uint64(some.size)
            if first:
                more, waiting = offer_first(part, order, some, firsts[worker], queue, offers)
                made, scans = made + more, scans + np.uint64(some.size)
            else:
                for i in range(some.size):
                    queue[i] = np.uint64(some[i])
            more, looked, _, _ = settle(part, order, 0, False, True, budget, NONE, queue, waiting, offers)
            made, scans = made + more, scans + looked
    return made, scans
