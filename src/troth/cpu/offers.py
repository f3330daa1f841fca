"""Suitor's offers, for threads and for MPI ranks: who wins, who looks again, and whom an offer displaces.

``rows`` are those of a whole graph (``rows.Rows``), those that a node has of one (``ranks.node_offers.NodeRows``), or
the part that a rank has (``ranks.rows.Part``), whose vertices have local numbers. What a part answers otherwise than a
whole graph are the five functions at the top; which is meant is known when a kernel is compiled, so a whole graph pays
nothing for them.

A line number is one of Algorithm 3 (see ``suitor.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import NamedTuple

import numpy as np
from numba.extending import overload

from troth.kernels.atomics import compare_and_swap, fetch_add, load, prefetch
from troth.kernels.jit import inlined, kernel
from troth.kernels.team import new_cursor
from troth.order import MASK, ONE, PRIORITY_BITS, prefix, priority, priority_at, vertex
from troth.rows import Rows, find

NONE = np.uint64(0)  # no offer
LOST = np.uint64(2**64 - 1)  # the neighbour holds a better offer
SPENT = np.uint64(2**64 - 1)  # in place of a count: the workers have read all that they may
GROUP = np.uint64(256)  # vertices whose first offers are made together
SHORT = 16  # entries; in longer rows most need no look at the offer that a neighbour holds


class Budget(NamedTuple):
    """How many entries all workers together may read before they give up."""

    spent: np.ndarray  # entries, as a cursor; up to ``step`` entries of each worker are not yet counted
    step: np.uint64
    limit: np.uint64

    @property
    def is_spent(self) -> bool:
        """Whether the workers gave up, or might have."""
        return bool(self.spent[0] > self.limit)


def new_budget(limit: int = 2**62, threads: int = 1) -> Budget:
    """A budget of so many entries; by default more than there can be."""
    return Budget(new_cursor(), np.uint64(limit // (64 * threads)), np.uint64(limit))


@inlined
def count_spent(budget, uncounted):
    """Count what a worker has read, now and then. Returns what is not yet counted, or SPENT."""
    if uncounted <= budget.step:
        return uncounted
    spent = np.uint64(fetch_add(budget.spent, NONE, np.int64(uncounted))) + uncounted
    return SPENT if spent > budget.limit else NONE


class Offers(NamedTuple):
    """``state[v]`` is the offer that v holds: weight prefix << 32 | priority of the suitor, or NONE."""

    state: np.ndarray


# ---- what parts of a graph answer otherwise: see ``ranks/offers.py`` ----


def name_at(rows, v):
    """The number of vertex v in the whole graph, which gives its priority."""
    return v


def place_at(rows, name):
    """The number that the vertex of this name has here, or -1 where it is another rank's."""
    return np.int64(name)


def exact_weight(rows, order, v, offer, offers):
    """The exact bits of the weight of an offer to v."""
    return weight_at(rows, v, vertex(order, offer))


def note_change(rows, v, offers):
    """v holds another offer now."""


def keep_own(rows, ranks, vertices, waiting):
    """Leave out the vertices of other ranks, and their ranks; how many of ``waiting`` are left."""
    return waiting


def answer(kind: type, **answers: Callable) -> None:
    """What compiled code gets where it asks these functions about rows of this kind."""

    def overload_one(asked: Callable, implementation: Callable) -> None:
        def choose(rows, *others):
            return implementation if rows.instance_class is kind else None

        # Numba compares the names of the parameters with those of the implementation.
        choose.__signature__ = signature(implementation)  # type: ignore[attr-defined]
        overload(asked, inline="always")(choose)

    for name, implementation in answers.items():
        overload_one(globals()[name], implementation)


answer(Rows, name_at=name_at, place_at=place_at, exact_weight=exact_weight, note_change=note_change, keep_own=keep_own)


@kernel
def weight_at(rows, v, u):
    """The exact bits of w(v, u)."""
    start, stop = np.uint64(rows.indptr[v]), np.uint64(rows.indptr[v + ONE])
    return rows.bits[find(rows.indices, start, stop, u)]


# ---- one offer ----


@inlined
def wins(rows, order, v, weight, offer, held, offers):
    """Whether v prefers an offer to the one that it holds; ``weight``: its exact bits, or None to find them out."""
    if not order.lossy or offer >> PRIORITY_BITS != held >> PRIORITY_BITS:
        return offer > held
    ours = exact_weight(rows, order, v, offer, offers) if weight is None else weight
    theirs = exact_weight(rows, order, v, held, offers)
    return ours > theirs or (ours == theirs and offer > held)


@inlined
def make_offer(rows, order, v, weight, offer, offers):
    """Make an offer to v (``weight`` as above). Returns the offer that was displaced (NONE: v held none), or LOST.

    The exchange itself tells what v holds by now.
    """
    held = load(offers.state, v)
    while wins(rows, order, v, weight, offer, held, offers):
        seen = compare_and_swap(offers.state, v, held, offer)
        if seen == held:
            note_change(rows, v, offers)
            return held
        held = seen
    return LOST


@inlined
def offer_along(rows, order, rank, e, offers):
    """The vertex of priority ``rank`` makes an offer along entry e of its row; returns as ``make_offer`` does."""
    v, bits = np.uint64(np.uint32(rows.indices[e])), rows.bits[e]
    return make_offer(rows, order, v, bits, prefix(bits, order) << PRIORITY_BITS | rank, offers)


@inlined
def offer_by_key(rows, order, rank, key, offers):
    """The same to the neighbour of this key, in a whole graph."""
    return make_offer(rows, order, vertex(order, key), None, (key & ~MASK) | rank, offers)


# ---- looking again ----


@inlined
def look(rows, order, u, rank, offers):
    """Lines 10 to 16: the entry of the heaviest neighbour that would take u's offer, or -1.

    Offers only get better, and the last one that u holds is from its mate. So nothing below the offer that u holds now
    need be looked at (lines 10 and 11), and there is always something at or above it.
    """
    held = load(offers.state, u)
    best = held - ONE if held != NONE else NONE
    found = np.int64(-1)
    for e in range(np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + ONE])):
        weight = prefix(rows.bits[e], order) << PRIORITY_BITS
        if weight | MASK <= best:
            continue
        v = np.uint64(np.uint32(rows.indices[e]))
        key = weight | priority_at(order, name_at(rows, v), v)
        if key > best and weight | rank > load(offers.state, v):
            best, found = key, np.int64(e)
    return found


@kernel
def look_exactly(rows, order, u, rank, offers):
    """``look`` by the exact weights, where prefixes are lossy."""
    heaviest = rows.bits[np.uint64(0)] ^ rows.bits[np.uint64(0)]  # zero of the bits' own type
    best = NONE  # a priority
    found = np.int64(-1)
    for e in range(np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + ONE])):
        weight = rows.bits[e]
        if weight < heaviest:
            continue
        v = np.uint64(np.uint32(rows.indices[e]))
        other = priority_at(order, name_at(rows, v), v)
        if weight == heaviest and other <= best:
            continue
        offer = prefix(weight, order) << PRIORITY_BITS | rank
        if wins(rows, order, v, weight, offer, load(offers.state, v), offers):
            heaviest, best, found = weight, other, np.int64(e)
    return found


@inlined
def look_short(rows, order, flat, u, rank, offers):
    """``look`` without branches: cheaper in short rows, and where all weights are equal and nearly every entry ties.

    ``flat``: they are, so one of them is as good as any, and the others need not be read. Returns the neighbour's key,
    (prefix, priority), or NONE: to keep its entry as well would cost up to a third more. Only where numbers are
    those of the whole graph.
    """
    best = NONE
    for e in range(np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + ONE])):
        v = np.uint64(np.uint32(rows.indices[e]))
        weight = prefix(rows.bits[NONE if flat else e], order) << PRIORITY_BITS
        key = weight | priority(order, v)
        best = max(best, key if weight | rank > load(offers.state, v) else NONE)
    return best


@inlined
def fetch(rows, queue, waiting, offers):
    """Ask for the rows of the waiting vertices, then for the offers that their neighbours hold."""
    for i in range(waiting):
        prefetch(rows.indptr, queue[i])
    for i in range(waiting):
        e = np.uint64(rows.indptr[queue[i]])
        for at in (e, e + np.uint64(15)):
            prefetch(rows.indices, at)
            prefetch(rows.bits, at)
    for i in range(waiting):
        e = np.uint64(rows.indptr[queue[i]])
        for at in range(e, min(e + np.uint64(32), np.uint64(rows.indptr[queue[i] + ONE]))):
            prefetch(offers.state, np.uint64(np.uint32(rows.indices[at])))


@inlined
def settle(rows, order, short, flat, far, budget, uncounted, queue, waiting, offers):
    """Lines 9 to 31 for the vertices queue[:waiting]: whom one displaces takes its place.

    The neighbour found may have a better offer by the time that ours arrives: then the vertex looks again at once.
    ``short``: up to how many entries ``look_short`` pays (parts: 0); ``flat``: all weights are equal; ``far``: fetch.
    Returns three counts, and how many entries are not yet counted in the budget, or SPENT: then vertices still wait.
    """
    made = scans = read = NONE
    while waiting > NONE:
        before = read
        if far:
            fetch(rows, queue, waiting, offers)
        left = NONE
        for i in range(waiting):
            u = queue[i]
            rank = priority_at(order, name_at(rows, u), u)
            entries = rows.indptr[u + ONE] - rows.indptr[u]
            displaced = LOST
            while displaced == LOST:
                scans += ONE
                read += np.uint64(entries)
                displaced = NONE
                if not order.lossy and (flat or entries <= short):
                    key = look_short(rows, order, flat, u, rank, offers)
                    if key != NONE:
                        made += ONE
                        displaced = offer_by_key(rows, order, rank, key, offers)
                else:
                    e = (
                        look_exactly(rows, order, u, rank, offers)
                        if order.lossy
                        else look(rows, order, u, rank, offers)
                    )
                    if e >= 0:
                        made += ONE
                        displaced = offer_along(rows, order, rank, np.uint64(e), offers)
            if displaced != NONE:
                again = place_at(rows, vertex(order, displaced))
                if again >= 0:
                    queue[left] = np.uint64(again)
                    left += ONE
        waiting = left
        uncounted = count_spent(budget, uncounted + read - before)
        if uncounted == SPENT:
            break
    return made, scans, read, uncounted
