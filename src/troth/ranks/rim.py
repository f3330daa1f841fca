"""The messages of Suitor: which ranks have a vertex, and the records of words that changed, packed and received.

A record is three 32-bit numbers, place and word: an offer names the place of the vertex at its owner, a told word that
of the ghost at the receiver, complemented. Where prefixes are lossy (``order.lossy``) equal prefixes are settled by
exact weights: an owner finds them in its own row, a rank with a ghost is told them, in two numbers more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.cpu.offers import NONE, wins
from troth.kernels.atomics import prefetch
from troth.kernels.jit import inlined, kernel
from troth.order import MASK, PRIORITY_BITS, vertex
from troth.ranks.graph import DistGraph
from troth.ranks.offers import CHANGED, LOOKERS, SENT, list_changed, told_weight
from troth.ranks.rows import entry_of, own_place

RECORD, EXACT_RECORD = 3, 5  # 32-bit numbers
AHEAD = 16  # records


class Rim(NamedTuple):
    """Who has what: neighbours are named by their slots in ``DistGraph.neighbours``."""

    slot_of: np.ndarray  # of each ghost's owner
    places: np.ndarray  # of each ghost at its owner
    starts: np.ndarray  # own vertex v is a ghost of slots[starts[v]:starts[v + 1]],
    slots: np.ndarray
    there: np.ndarray  # where it is the ghost of this number


def rim_of(graph: DistGraph) -> Rim:
    """The rim of a rank's part."""
    starts = np.zeros(graph.owned + 1, np.int64)
    slots, there = (np.empty(len(graph.boundary), np.int32) for _ in range(2))
    find_ghosthood(graph.boundary, graph.boundary_starts, starts, slots, there)
    return Rim(graph.ghost_slot, graph.ghost_place, starts, slots, there)


@kernel
def find_ghosthood(boundary, boundary_starts, starts, slots, there):
    """Who has an own vertex as a ghost: ``boundary``, which is by neighbour, sorted by vertex (see ``Rim``)."""
    for k in range(boundary.size):
        starts[boundary[k] + 1] += 1
    for v in range(starts.size - 1):
        starts[v + 1] += starts[v]
    for s in range(boundary_starts.size - 1):
        for k in range(boundary_starts[s], boundary_starts[s + 1]):
            at = starts[boundary[k]]
            slots[at], there[at] = s, k - boundary_starts[s]
            starts[boundary[k]] += 1
    for v in range(starts.size - 1, 0, -1):
        starts[v] = starts[v - 1]
    starts[0] = 0


@kernel
def count_records(part, order, rim, offers, counts):
    """counts[s] = how many records go to neighbour s."""
    for i in range(offers.counts[CHANGED]):
        v = np.int64(offers.changed[i])
        if v >= part.owned:
            counts[rim.slot_of[v - part.owned]] += 1
            continue
        suitor, knows = vertex(order, offers.state[v]), np.int64(-1)
        if own_place(part, suitor) < 0:
            knows = np.int64(rim.slot_of[part.indices[entry_of(part, v, suitor)] - part.owned])
        offers.knows[i] = knows
        for k in range(rim.starts[v], rim.starts[v + 1]):
            if rim.slots[k] != knows:
                counts[rim.slots[k]] += 1


@inlined
def put(values, at, number, word, weight, width):
    """One record."""
    values[at] = np.uint32(np.int32(number))
    values[at + 1], values[at + 2] = np.uint32(word >> PRIORITY_BITS), np.uint32(word & MASK)
    if width == EXACT_RECORD:
        values[at + 3], values[at + 4] = np.uint32(weight >> PRIORITY_BITS), np.uint32(weight & MASK)


@kernel
def pack(part, order, rim, width, offers, ends, values):
    """Write the records; ``ends[s]``, at first where those of neighbour s begin, becomes where they end."""
    for i in range(offers.counts[CHANGED]):
        v = np.int64(offers.changed[i])
        offers.marks[v] = SENT
        if v >= part.owned:
            s = rim.slot_of[v - part.owned]
            put(values, ends[s] * width, rim.places[v - part.owned], offers.state[v], NONE, width)
            ends[s] += 1
            continue
        weight = told_weight(part, order, v, offers.state[v], offers.exact) if order.lossy else NONE
        for k in range(rim.starts[v], rim.starts[v + 1]):
            s = rim.slots[k]
            if s != offers.knows[i]:
                put(values, ends[s] * width, ~rim.there[k], offers.state[v], weight, width)
                ends[s] += 1


@kernel
def receive(part, order, ghost_starts, width, counts, values, offers):
    """Take the records that came, ``counts[s]`` from neighbour s: better words stand, those displaced look again."""
    at = 0
    for s in range(counts.size):
        for _ in range(counts[s]):
            number = np.int64(np.int32(values[at]))
            word = np.uint64(values[at + 1]) << PRIORITY_BITS | np.uint64(values[at + 2])
            ahead = at + AHEAD * width
            if ahead < values.size and np.int32(values[ahead]) >= 0:
                prefetch(offers.state, np.uint64(values[ahead]))
            weight = NONE
            if number >= 0:  # an offer to an own vertex
                v = number
                if order.lossy:
                    weight = np.uint64(part.bits[entry_of(part, v, vertex(order, word))])
            else:  # what a ghost holds
                v = part.owned + ghost_starts[s] + ~number
                if order.lossy:
                    weight = np.uint64(values[at + 3]) << PRIORITY_BITS | np.uint64(values[at + 4])
            held = offers.state[v]
            if wins(part, order, v, weight, word, held, offers):
                offers.state[v] = word
                if number >= 0:
                    list_changed(v, offers)
                elif order.lossy:
                    offers.exact[v - part.owned] = weight
                u = own_place(part, vertex(order, held)) if held != NONE else np.int64(-1)
                if u >= 0:
                    offers.lookers[offers.counts[LOOKERS]] = u
                    offers.counts[LOOKERS] += 1
            at += width
