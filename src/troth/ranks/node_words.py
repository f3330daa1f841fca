"""What nodes tell each other: all words at once after the first offers, and records of those that changed later.

In the first round both sides know which words are sent, and in which order, so no number of a vertex goes with them:
``told`` lists own vertices for each other node, and there these are ``ghosts``, in the order in which their words come.
A record is three 32-bit numbers, vertex and word. Where prefixes are lossy, the exact weight goes with a word that is
told: an owner finds it in its own row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.cpu.offers import NONE, weight_at, wins
from troth.kernels.atomics import compare_and_swap, load, prefetch
from troth.kernels.jit import kernel
from troth.order import MASK, ONE, PRIORITY_BITS, vertex
from troth.ranks.node_offers import INTERNAL, PENDING, SENT, is_own, list_changed

RECORD, EXACT_RECORD = (np.uint64(i) for i in (3, 5))  # 32-bit numbers
TWO, THREE, FOUR = (np.uint64(i) for i in (2, 3, 4))
AHEAD = np.uint64(16)  # vertices


class Audience(NamedTuple):
    """Whom the word of a vertex is sent to: the slots lists[at + 1 : at + 1 + lists[at]], where at = starts[v].

    That is a ghost's owner, or the nodes that have an own vertex as a ghost.
    """

    starts: np.ndarray
    lists: np.ndarray


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


# ---- the first round ----


@kernel
def pack_offers(ghosts, starts, offers, values, counts):
    """Records of the offers that ghosts hold; those of slot s are ghosts[starts[s]:starts[s + 1]], and make counts[s].

    A record is always written, and stays if there is an offer, which no processor can predict.
    """
    to = NONE
    for slot in range(counts.size):
        begin = to
        for i in range(np.uint64(starts[slot]), np.uint64(starts[slot + 1])):
            v = np.uint64(np.uint32(ghosts[i]))
            word = offers.state[v]
            values[to] = np.uint32(v)
            values[to + ONE], values[to + TWO] = np.uint32(word >> PRIORITY_BITS), np.uint32(word & MASK)
            to += RECORD * np.uint64(word != NONE)
        counts[slot] = (to - begin) // RECORD


@kernel
def pack_words(rows, order, told, offers, words, weights):
    """words[i] = the word of told[i], and weights[i] its exact weight where prefixes are lossy."""
    for i in range(np.uint64(told.size)):
        v = np.uint64(np.uint32(told[i]))
        offers.marks[v] = SENT
        words[i] = offers.state[v]
        if order.lossy:
            weights[i] = weight_at(rows, v, vertex(order, words[i])) if words[i] != NONE else NONE


@kernel
def receive_words(order, ghosts, words, weights, offers, lookers):
    """Ghosts' words become those told; own vertices whose offers did not stand look again; returns how many do.

    Every offer had reached the owner before it told: so a word that differs is a better one.
    """
    found = NONE
    for i in range(np.uint64(ghosts.size)):
        v = np.uint64(np.uint32(ghosts[i]))
        held, word = offers.state[v], words[i]
        offers.state[v], offers.marks[v] = word, SENT
        lookers[found] = np.int32(vertex(order, held))
        found += np.uint64(held != NONE) & np.uint64(held != word)
        if order.lossy:
            offers.exact[v] = weights[i]
    return found


# ---- records ----


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
