"""Offers on a node: what ``cpu/offers.py`` asks of rows and words that the ranks of a machine share.

Vertices have the numbers that they have in the whole graph. Their words are in one array: those of the node's own
vertices, and those of its ghosts, the other ends of edges that lead to other nodes; what is between is never touched.
A ghost's word is the best offer to it that this node has made or has been told of.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.cpu.first_choices import scratch_of
from troth.cpu.offers import GROUP, NONE, answer, settle, weight_at
from troth.cpu.suitor_unbranched import Zone, settle_together
from troth.kernels.atomics import compare_and_swap, fetch_add
from troth.kernels.jit import inlined, kernel
from troth.kernels.team import chunks
from troth.order import ONE, priority, vertex

SENT, PENDING, INTERNAL = (np.uint8(i) for i in range(3))  # marks of a word: as last sent; to be sent; no other node's
CHANGED = np.uint64(0)  # the counter of ``NodeOffers``


class NodeRows(NamedTuple):
    """As ``rows.Rows``; the own vertices of the node are among first..last - 1, and ``full``: all of them."""

    indptr: np.ndarray
    indices: np.ndarray
    bits: np.ndarray
    first: np.uint64
    last: np.uint64
    full: np.bool_


class NodeOffers(NamedTuple):
    """The offers that own vertices and ghosts hold, by number in the whole graph; shared but for the last two."""

    state: np.ndarray
    exact: np.ndarray  # where prefixes are lossy: the weight told, of a ghost whose suitor is not an own vertex
    marks: np.ndarray  # SENT, PENDING or INTERNAL
    changed: np.ndarray  # the vertices whose word this rank is to send
    counts: np.ndarray  # how many


@inlined
def is_own(rows, v):
    """Whether a vertex is the node's own; it is that or a ghost."""
    at = np.uint64(v)
    inside = rows.first <= at < rows.last
    return inside and (rows.full or rows.indptr[at + ONE] > rows.indptr[at])


# ---- what ``cpu/offers.py`` asks ----


@kernel
def told_weight(rows, order, v, offer, exact):
    """The exact bits of an offer to v: in v's row, in the suitor's, or as the owner of ghost v told them."""
    suitor = vertex(order, offer)
    if is_own(rows, v):
        return np.uint64(weight_at(rows, np.uint64(v), suitor))
    if is_own(rows, suitor):
        return np.uint64(weight_at(rows, suitor, np.uint64(v)))
    return np.uint64(exact[np.uint64(v)])


@inlined
def list_changed(v, offers):
    """v's word is to be sent, if another node has v, and is not so already."""
    at = np.uint64(v)
    if offers.marks[at] == SENT and compare_and_swap(offers.marks, at, SENT, PENDING) == SENT:
        offers.changed[fetch_add(offers.counts, CHANGED, np.int64(1))] = np.int32(v)


@inlined
def compress(rows, ranks, vertices, waiting):
    """Leave out the vertices of other nodes."""
    left = NONE
    for i in range(waiting):
        ranks[left], vertices[left] = ranks[i], vertices[i]
        left += np.uint64(is_own(rows, vertices[i]))
    return left


answer(
    NodeRows,
    name_at=lambda rows, v: v,
    place_at=lambda rows, name: np.int64(name) if is_own(rows, name) else np.int64(-1),
    exact_weight=lambda rows, order, v, offer, offers: told_weight(rows, order, v, offer, offers.exact),
    note_change=lambda rows, v, offers: list_changed(v, offers),
    keep_own=lambda rows, ranks, vertices, waiting: compress(rows, ranks, vertices, waiting),
)


@kernel
def look_again(worker, cursor, chunk, rows, order, flat, visits, budget, scratch, offers):
    """These vertices look for a neighbour, in groups, and so do own ones that they displace; returns two counts.

    ``budget`` has no end; ``flat``: all weights are equal. Where prefixes are lossy ``look_again_wide`` serves.
    """
    made = scans = NONE
    mine, no_zone = scratch_of(scratch, worker), Zone(NONE, NONE, visits, visits)
    for start, stop in chunks(cursor, chunk, visits.size):
        for group in range(np.uint64(start), np.uint64(stop), GROUP):
            waiting = min(GROUP, np.uint64(stop) - group)
            for i in range(waiting):
                mine.queue[i] = priority(order, np.uint64(visits[group + i]))
            more, looked, _, _ = settle_together(rows, order, flat, True, budget, NONE, no_zone, mine, waiting, offers)
            made, scans = made + more, scans + looked
    return made, scans


@kernel
def look_again_wide(worker, cursor, chunk, rows, order, flat, visits, budget, scratch, offers):
    """``look_again`` by exact weights, where equal prefixes do not settle who wins."""
    made = scans = NONE
    queue = scratch.queue[worker]
    for start, stop in chunks(cursor, chunk, visits.size):
        for group in range(np.uint64(start), np.uint64(stop), GROUP):
            waiting = min(GROUP, np.uint64(stop) - group)
            for i in range(waiting):
                queue[i] = np.uint64(visits[group + i])
            more, looked, _, _ = settle(rows, order, 0, flat, True, budget, NONE, queue, waiting, offers)
            made, scans = made + more, scans + looked
    return made, scans
