"""Better matchings by slower algorithms, on one thread: what a near-optimal engine is compared with.

- GPA, the Global Paths Algorithm: edges by decreasing weight, each taken where what was taken stays a set of paths and
  cycles of even length; then the heaviest matching of every path and cycle, by dynamic programming. The same again on
  the vertices that are left, until no edge is between them. At least one half. J. Maue and P. Sanders, Engineering
  algorithms for approximate weighted matching, WEA 2007 (doi:10.1007/978-3-540-72845-0_19).
- 2-augmentations: vertex by vertex, the alternating path or cycle of greatest gain that brings in at most two edges and
  has its middle there, in passes until none gains. At least two thirds. S. Pettie and P. Sanders, A simpler linear time
  2/3 - eps approximation for maximum weight matching, Information Processing Letters 91, 2004
  (doi:10.1016/j.ipl.2004.05.007), who have it in the form that stops early and draws vertices by lot.

A contender is a function from a graph of the host to mates, the same in every run: GPA takes equal weights in an order
that is shuffled once and for all (in that of the rows it would find all pairs of a grid), and 2-augmentations take
vertices by number. No attempt is made at speed beyond Numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from troth.families.draw import below
from troth.order import mix64

if TYPE_CHECKING:
    from troth.graph import Graph

PASSES = 100  # of 2-augmentations, at most; five are usual
ROUNDING = 1e-12  # of the weights that are added and subtracted: a smaller gain may be none


# ---- GPA ----


@njit(cache=True)
def _grow(low, high, mate, link, degree, end, length):
    """Join edges, heaviest first, into paths and even cycles among the vertices without a mate; ``link[v]`` gets the
    (at most two) edges at v. Of a path, both ends know the other end and the number of edges."""
    for e in range(low.size):
        u, v = low[e], high[e]
        if mate[u] >= 0 or mate[v] >= 0 or degree[u] == 2 or degree[v] == 2:
            continue
        if end[u] == v:
            if length[u] % 2 == 0:
                continue  # an odd cycle
        else:
            first, last, edges = end[u], end[v], length[u] + length[v] + 1
            end[first], end[last] = last, first
            length[first], length[last] = edges, edges
        link[u, degree[u]], link[v, degree[v]] = e, e
        degree[u] += 1
        degree[v] += 1


@njit(cache=True)
def _best_of_path(walk, first, last, weight, best, take):
    """The heaviest choice of walk[first:last] without two in a row: its weight; ``take`` tells which, by place."""
    before, now = 0.0, 0.0
    for i in range(first, last):
        best[i] = before + weight[walk[i]] > now
        before, now = now, max(now, before + weight[walk[i]])
    i = last - 1
    while i >= first:
        take[i] = best[i]
        if best[i] and i > first:
            take[i - 1] = False
            i -= 1
        i -= 1
    return now


@njit(cache=True)
def _settle(start, low, high, weight, mate, link, degree, seen, walk, best, take):
    """Match the path or cycle that ``start`` is on as heavily as possible; returns how many edges were matched."""
    count, v, edge = 0, start, -1
    while True:  # along the edges, away from the one that led here
        seen[v] = True
        step = -1
        for k in range(degree[v]):
            if link[v, k] != edge:
                step = link[v, k]
                break
        if step < 0 or (count and step == walk[0]):
            break
        walk[count], edge = step, step
        count += 1
        v = high[step] if low[step] == v else low[step]
        if v == start:
            break
    whole = v == start and count > 1  # a cycle: its first and last edge exclude each other
    if whole:
        without_first = _best_of_path(walk, 1, count, weight, best, take)
        if _best_of_path(walk, 0, count - 1, weight, best, take) >= without_first:
            take[count - 1] = False
        else:
            _best_of_path(walk, 1, count, weight, best, take)
            take[0] = False
    else:
        _best_of_path(walk, 0, count, weight, best, take)
    matched = 0
    for i in range(count):
        if take[i]:
            u, v = low[walk[i]], high[walk[i]]
            mate[u], mate[v] = v, u
            matched += 1
    return matched


@njit(cache=True)
def _gpa_round(low, high, weight, mate):
    """Paths and cycles among the vertices without a mate, matched; returns how many edges were."""
    n = mate.size
    link, degree = np.full((n, 2), -1, np.int64), np.zeros(n, np.int8)
    end, length = np.arange(n), np.zeros(n, np.int64)
    _grow(low, high, mate, link, degree, end, length)
    seen = np.zeros(n, np.bool_)
    walk, best, take = np.empty(n + 1, np.int64), np.empty(n + 1, np.bool_), np.empty(n + 1, np.bool_)
    matched = 0
    for ends in (1, 2):  # paths from their ends first: what is left are cycles
        for v in range(n):
            if degree[v] == ends and not seen[v]:
                matched += _settle(v, low, high, weight, mate, link, degree, seen, walk, best, take)
    return matched


@njit(cache=True)
def _shuffle(items):
    """Fisher and Yates, with hashes of the places as lots."""
    for i in range(items.size - 1, 0, -1):
        j = below(mix64(np.uint64(i)), i + 1)
        items[i], items[j] = items[j], items[i]


def gpa(graph: Graph) -> np.ndarray:
    """Mates by the Global Paths Algorithm, until no edge is left between vertices without a mate."""
    rows = np.repeat(np.arange(graph.n, dtype=np.int32), np.diff(graph.indptr))
    once = np.flatnonzero(rows < graph.indices)
    _shuffle(once)
    weight = graph.weights[once].astype(np.float64)
    order = np.argsort(-weight, kind="stable")
    low, high, weight = rows[once][order], graph.indices[once][order], weight[order]
    mate = np.full(graph.n, -1, np.int32)
    while len(low) and _gpa_round(low, high, weight, mate):
        free = (mate[low] < 0) & (mate[high] < 0)
        low, high, weight = low[free], high[free], weight[free]
    return mate


# ---- 2-augmentations ----


@njit(cache=True)
def _leave(v, mate, held):
    """Whoever is matched with v is alone."""
    if mate[v] >= 0:
        held[mate[v]] = 0.0
        mate[mate[v]] = -1


@njit(cache=True)
def _match(u, v, w, mate, held):
    """Match u and v, and leave those whom they were matched with."""
    _leave(u, mate, held)
    _leave(v, mate, held)
    mate[u], mate[v] = v, u
    held[u], held[v] = w, w


@njit(cache=True)
def _augment_free(v, indptr, indices, weights, mate, held):
    """The best edge for a vertex without a mate; returns the gain."""
    best, chosen, chosen_weight = 0.0, -1, 0.0
    for e in range(indptr[v], indptr[v + 1]):
        u, w = indices[e], np.float64(weights[e])
        if w - held[u] > best:
            best, chosen, chosen_weight = w - held[u], u, w
    if best <= ROUNDING * chosen_weight:
        return 0.0
    _match(v, chosen, chosen_weight, mate, held)
    return best


@njit(cache=True)
def _augment_edge(p, q, indptr, indices, weights, mate, held, stamp, beside):
    """The best 2-augmentation whose middle is the matched edge pq; returns the gain, 0 where there is none.

    An *arm* of p is an edge pu to another vertex, which costs u's matched edge: gain w(pu) - held(u). Two arms, one of
    p and one of q, go together unless they cost the same edge or end in the same vertex; where they end in the two ends
    of one matched edge they close a cycle, which costs it once. So the two best arms of p that differ in what they cost
    are enough for every arm of q.
    """
    middle = held[p]
    for e in range(indptr[q], indptr[q + 1]):
        stamp[indices[e]], beside[indices[e]] = q, np.float64(weights[e])
    gain1, end1, weight1, cost1 = 0.0, -1, 0.0, -1
    gain2, end2, weight2 = 0.0, -1, 0.0
    best, p_end, q_end, p_weight, q_weight = 0.0, -1, -1, 0.0, 0.0
    for e in range(indptr[p], indptr[p + 1]):
        u, w = indices[e], np.float64(weights[e])
        if u == q:
            continue
        x = mate[u]
        if x >= 0 and stamp[x] == q and w + beside[x] - held[u] - middle > best:
            best = w + beside[x] - held[u] - middle
            p_end, p_weight, q_end, q_weight = u, w, x, beside[x]
        gain, cost = w - held[u], (u if x < 0 or u < x else x)
        if gain > gain1:
            if cost != cost1:
                gain2, end2, weight2 = gain1, end1, weight1
            gain1, end1, weight1, cost1 = gain, u, w, cost
        elif gain > gain2 and cost != cost1:
            gain2, end2, weight2 = gain, u, w
    if gain1 - middle > best:
        best, p_end, p_weight, q_end, q_weight = gain1 - middle, end1, weight1, -1, 0.0
    for e in range(indptr[q], indptr[q + 1]):
        u, w = indices[e], np.float64(weights[e])
        if u == p:
            continue
        x = mate[u]
        gain, cost = w - held[u], (u if x < 0 or u < x else x)
        other, end, weight = gain1, end1, weight1
        if cost == cost1:
            other, end, weight = gain2, end2, weight2
        if gain + other - middle > best:
            best, p_end, p_weight, q_end, q_weight = gain + other - middle, end, weight, u, w
    if best <= ROUNDING * (p_weight + q_weight):  # what is subtracted is less
        return 0.0
    if p_end >= 0:
        _match(p, p_end, p_weight, mate, held)
    if q_end >= 0:
        _match(q, q_end, q_weight, mate, held)
    return best


@njit(cache=True)
def _augment(indptr, indices, weights, mate, held, passes):
    """Passes over all vertices until one gains nothing; returns how many."""
    stamp, beside = np.full(mate.size, -1, np.int32), np.empty(mate.size, np.float64)
    for done in range(passes):
        gain = 0.0
        for v in range(mate.size):
            if mate[v] < 0:
                gain += _augment_free(v, indptr, indices, weights, mate, held)
            elif v < mate[v]:
                gain += _augment_edge(v, mate[v], indptr, indices, weights, mate, held, stamp, beside)
        if gain == 0.0:
            return done
    return passes


def augment(graph: Graph, mate: np.ndarray, passes: int = PASSES) -> np.ndarray:
    """Better mates by 2-augmentations, in passes until none gains."""
    mate = mate.astype(np.int32)
    rows = np.repeat(np.arange(graph.n, dtype=np.int32), np.diff(graph.indptr))
    matched = mate[rows] == graph.indices
    held = np.zeros(graph.n)
    held[rows[matched]] = graph.weights[matched]
    _augment(graph.indptr, graph.indices, graph.weights, mate, held, passes)
    return mate


def suitor_augmented(graph: Graph) -> np.ndarray:
    """Suitor, then 2-augmentations."""
    import troth

    return augment(graph, troth.match(graph, device="cpu", threads=1).mate)


def gpa_augmented(graph: Graph) -> np.ndarray:
    """GPA, then 2-augmentations."""
    return augment(graph, gpa(graph))


CONTENDERS: dict[str, Callable[[Graph], np.ndarray]] = {
    "gpa": gpa,
    "suitor+2aug": suitor_augmented,
    "gpa+2aug": gpa_augmented,
}
