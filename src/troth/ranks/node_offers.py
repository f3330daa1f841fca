"""Offers on a node: what ``cpu/offers.py`` asks of rows and words that the ranks of a machine share.

Vertices have the numbers that they have in the whole graph. Their words are in one array: those of the node's own
vertices, and those of its ghosts, the other ends of edges that lead to other nodes; what is between is never touched.
A ghost's word is the best offer to it that this node has made or has been told of.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.cpu.offers import GROUP, NONE, SHORT, answer, settle, weight_at, wins
from troth.kernels.atomics import compare_and_swap, fetch_add, load, prefetch
from troth.kernels.jit import inlined, kernel
from troth.kernels.team import chunks
from troth.order import MASK, ONE, PRIORITY_BITS, vertex

SENT, PENDING, INTERNAL = (np.uint8(i) for i in range(3))  # marks of a word: as last sent; to be sent; no other node's
CHANGED = np.uint64(0)  # the counter of ``NodeOffers``
RECORD, EXACT_RECORD = (np.uint64(i) for i in (3, 5))  # 32-bit numbers
TWO, THREE, FOUR = (np.uint64(i) for i in (2, 3, 4))
AHEAD = np.uint64(16)  # vertices


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


class Audience(NamedTuple):
    """Whom the word of a vertex is sent to: the slots lists[at + 1 : at + 1 + lists[at]], where at = starts[v].

    That is a ghost's owner, or the nodes that have an own vertex as a ghost.
    """

    starts: np.ndarray
    lists: np.ndarray


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


answer(
    NodeRows,
    name_at=lambda rows, v: v,
    place_at=lambda rows, name: np.int64(name) if is_own(rows, name) else np.int64(-1),
    exact_weight=lambda rows, order, v, offer, offers: told_weight(rows, order, v, offer, offers.exact),
    note_change=lambda rows, v, offers: list_changed(v, offers),
)


@kernel
def look_again(worker, cursor, chunk, rows, order, flat, visits, budget, queues, offers):
    """These vertices look for a neighbour, in groups, and so do own ones that they displace; returns two counts.

    ``budget`` has no end; ``queues`` is scratch, a row for each worker; ``flat``: all weights are equal.
    """
    made = scans = NONE
    queue = queues[worker]
    for start, stop in chunks(cursor, chunk, visits.size):
        for group in range(np.uint64(start), np.uint64(stop), GROUP):
            waiting = min(GROUP, np.uint64(stop) - group)
            for i in range(waiting):
                queue[i] = np.uint64(visits[group + i])
            more, looked, _, _ = settle(rows, order, SHORT, flat, True, budget, NONE, queue, waiting, offers)
            made, scans = made + more, scans + looked
    return made, scans


# ---- records ----


@kernel
def clear(own, ghosts, audience, offers):
    """No offers, and every word that another node has is to be sent; of these own vertices and ghosts."""
    for i in range(own.size):
        v = np.uint64(np.uint32(own[i]))
        offers.state[v] = NONE
        offers.marks[v] = PENDING if audience.starts[v] else INTERNAL
    for i in range(ghosts.size):
        v = np.uint64(np.uint32(ghosts[i]))
        offers.state[v] = NONE
        offers.marks[v] = PENDING


@kernel
def count_records(rows, order, audience, visits, offers, words, places, knows, counts):
    """counts[s] = how many records go to slot s; words[i] = what visits[i] holds, and its slots begin at places[i].

    knows[i] is the slot that need not be told, since the offer is one of its own vertices', or -1.
    """
    total = np.uint64(visits.size)
    for i in range(total):
        if i + AHEAD + AHEAD < total:
            later = np.uint64(np.uint32(visits[i + AHEAD + AHEAD]))
            prefetch(offers.state, later)
            prefetch(audience.starts, later)
        if i + AHEAD < total:
            soon = np.uint64(np.uint32(visits[i + AHEAD]))
            prefetch(audience.lists, np.uint64(audience.starts[soon]))
            prefetch(audience.starts, vertex(order, offers.state[soon]))
        v = np.uint64(np.uint32(visits[i]))
        offers.marks[v] = SENT
        word = offers.state[v]
        words[i], knows[i] = word, np.int32(-1)
        if word == NONE:
            continue
        if is_own(rows, v):
            suitor = vertex(order, word)
            if not is_own(rows, suitor):
                knows[i] = audience.lists[audience.starts[suitor] + 1]
        at = audience.starts[v]
        places[i] = at
        for k in range(at + 1, at + 1 + audience.lists[at]):
            if audience.lists[k] != knows[i]:
                counts[audience.lists[k]] += 1


@kernel
def pack(rows, order, audience, width, visits, words, places, knows, ends, values):
    """Write the records; ``ends[s]``, at first where those of slot s begin, becomes where they end."""
    total = np.uint64(visits.size)
    for i in range(total):
        if i + AHEAD < total:
            prefetch(audience.lists, np.uint64(places[i + AHEAD]))
        word, v, at = words[i], np.uint64(np.uint32(visits[i])), places[i]
        if word == NONE:
            continue
        weight = NONE
        if order.lossy and is_own(rows, v):
            weight = np.uint64(weight_at(rows, v, vertex(order, word)))
        for k in range(at + 1, at + 1 + audience.lists[at]):
            slot = audience.lists[k]
            if slot != knows[i]:
                to = np.uint64(ends[slot]) * width
                values[to] = np.uint32(v)
                values[to + ONE], values[to + TWO] = np.uint32(word >> PRIORITY_BITS), np.uint32(word & MASK)
                if width == EXACT_RECORD:
                    values[to + THREE] = np.uint32(weight >> PRIORITY_BITS)
                    values[to + FOUR] = np.uint32(weight & MASK)
                ends[slot] += 1


@kernel
def receive(rows, order, width, values, offers, lookers):
    """Take records: better words stand, and own vertices that they displace look again; returns how many do."""
    found = np.int64(0)
    for at in range(NONE, np.uint64(values.size), width):
        ahead = at + AHEAD * width
        if ahead < np.uint64(values.size):
            prefetch(offers.state, np.uint64(values[ahead]))
        v = np.uint64(values[at])
        word = np.uint64(values[at + ONE]) << PRIORITY_BITS | np.uint64(values[at + TWO])
        mine, weight = is_own(rows, v), NONE
        if order.lossy:
            if mine:
                weight = np.uint64(weight_at(rows, v, vertex(order, word)))
            else:
                weight = np.uint64(values[at + THREE]) << PRIORITY_BITS | np.uint64(values[at + FOUR])
        held = load(offers.state, v)
        while wins(rows, order, v, weight, word, held, offers):
            seen = compare_and_swap(offers.state, v, held, word)
            if seen != held:
                held = seen
                continue
            if mine:
                list_changed(v, offers)
            elif order.lossy:
                offers.exact[v] = weight
            if held != NONE and is_own(rows, vertex(order, held)):
                lookers[found] = np.int32(vertex(order, held))
                found += 1
            break
    return found
