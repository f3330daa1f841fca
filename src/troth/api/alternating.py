"""Alternating trees: what an auction leaves free in odd cycles is brought together, on the host.

The auction works on two copies of the graph, and so do its bounds. Where three rows are each other's nearest, the two
copies are content with a cycle of three, and one of the three stays free. The next free row may be a dozen pairs away.

From every free vertex, a *root*, a tree grows over pairs: a root takes a neighbour y, whose mate z is then the one to
look on. ``gain[z]`` is what the exchanges up to there add to the weight. The pairs of greatest gain join a tree first,
each pair joins one tree, once; so a path in a tree passes a pair once at most, and two trees have no pair in common.
An edge between two trees makes an exchange of the two paths and itself, after which both roots are matched: its gain is
the sum of both gains and its weight. The heaviest of these between every two roots are edges of a small graph, whose
matching says which exchanges are made, all at once. A root that is left may still gain by a path of its own, at whose
end another vertex stays free. Every round only adds weight; the mates do not depend on threads.

J. Edmonds, Paths, trees, and flowers, 1965, without the flowers: an edge inside a tree is passed over.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from troth.graph import Graph
from troth.inputs import Edges

ROUNDS = 30
STEPS = 256  # of the growth of trees, in one round
STOP_BELOW = 1e-5  # a round that adds a smaller part of the weight is the last one


def improve(graph: Graph, mate: np.ndarray, pair_roots: Callable[[Edges], np.ndarray]) -> tuple[np.ndarray, int]:
    """Heavier mates, and how many rounds there were.

    ``pair_roots`` gives the mates of the small graphs.
    """
    mate, total = mate.copy(), None
    for done in range(ROUNDS):
        held = _held(graph, mate)
        total = held.sum() / 2 if total is None else total
        gain = _one_round(graph, mate, held, pair_roots)
        total += gain
        if gain <= STOP_BELOW * total:
            return mate, done + 1
    return mate, ROUNDS


def _held(graph: Graph, mate: np.ndarray) -> np.ndarray:
    """The weight matched at every vertex, 0 where it is free."""
    row = np.repeat(np.arange(graph.n, dtype=np.int32), np.diff(graph.indptr))
    at = np.flatnonzero(mate[row] == graph.indices)
    held = np.zeros(graph.n)
    held[row[at]] = graph.weights[at]
    return held


def _one_round(graph: Graph, mate: np.ndarray, held: np.ndarray, pair_roots: Callable[[Edges], np.ndarray]) -> float:
    """Grow trees, exchange along the best paths, in place; the weight that this adds."""
    roots = np.flatnonzero(mate < 0)
    if not len(roots):
        return 0.0
    gain, parent, root = _grow(graph, mate, held, roots)
    outer = np.flatnonzero(root >= 0)
    u, v, w = _entries(graph, outer)
    across = (root[v] >= 0) & (root[u] < root[v])
    u, v, total = u[across], v[across], (gain[u] + gain[v] + w)[across]
    number = np.empty(graph.n, np.int64)
    number[roots] = np.arange(len(roots))
    one, other = number[root[u]], number[root[v]]
    better = np.flatnonzero(total > 0)
    better = better[np.lexsort((v[better], u[better], -total[better]))]
    key = one[better] * len(roots) + other[better]
    best = better[np.unique(key, return_index=True)[1]]  # the first of each two roots: the greatest
    added, ended = 0.0, np.zeros(len(roots), bool)
    if len(best):
        mates = pair_roots(Edges(one[best], other[best], total[best], len(roots)))
        chosen = best[mates[one[best]] == other[best]]
        ended[one[chosen]] = ended[other[chosen]] = True
        added += float(total[chosen].sum())
        ends, partners = np.concatenate((u[chosen], v[chosen])), np.concatenate((v[chosen], u[chosen]))
        _exchange(mate, parent, ends, partners)
    # Roots that are left: the vertex of its tree at which a root gains most by a path stays free in its stead.
    free = outer[(gain[outer] > 0) & ~ended[number[root[outer]]]]
    free = free[np.lexsort((free, -gain[free]))]
    free = free[np.unique(root[free], return_index=True)[1]]
    _exchange(mate, parent, free, np.full(len(free), -1, mate.dtype))
    return added + float(gain[free].sum())


def _grow(
    graph: Graph, mate: np.ndarray, held: np.ndarray, roots: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``gain``, ``parent`` (the vertex of the tree before, -1) and ``root`` (-1) of every vertex that trees look from.

    In steps: those whose gain is within ``width`` of the greatest join, their neighbours' mates become known.
    """
    n, most = graph.n, float(graph.weights.max(initial=0))
    gain, parent = np.full(n, -np.inf), np.full(n, -1, np.int32)
    root, open_ = np.full(n, -1, np.int32), mate >= 0
    gain[roots], root[roots] = 0.0, roots
    matched = held[held > 0]
    width = max(float(most - matched.mean()), most / STEPS) / 4 if len(matched) else most
    joined, known = roots, np.empty(0, np.int64)
    for _ in range(STEPS):
        z, y, w = _entries(graph, joined)
        use = open_[y]
        z, y, w = z[use], y[use], w[use]
        x, new = mate[y].astype(np.int64), gain[z] + w - held[y]
        use = (new > gain[x]) & (new > -most / 2)
        z, x, new = z[use], x[use], new[use]
        last = np.lexsort((z, new))  # of several ways to x the last one written stays: the greatest
        gain[x[last]], parent[x[last]] = new[last], z[last]
        known = np.unique(np.concatenate((known, x)))
        known = known[open_[known]]
        if not len(known):
            break
        joined = known[gain[known] >= gain[known].max() - width]
        ahead = gain[mate[joined]]  # a pair joins by its better end
        joined = joined[(gain[joined] > ahead) | ((gain[joined] == ahead) & (joined < mate[joined]))]
        open_[joined] = open_[mate[joined]] = False
        root[joined] = root[parent[joined]]
    return gain, parent, root


def _exchange(mate: np.ndarray, parent: np.ndarray, ends: np.ndarray, partners: np.ndarray) -> None:
    """Give every end its new partner, and what that frees to the vertex before, up to the root; -1 is no partner."""
    while len(ends):
        left, before = mate[ends].copy(), parent[ends]
        mate[ends] = partners
        real = partners >= 0
        mate[partners[real]] = ends[real]
        on = before >= 0
        ends, partners = before[on], left[on]


def _entries(graph: Graph, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The entries of some rows: vertex, neighbour, weight."""
    length = np.diff(graph.indptr)[rows]
    row = np.repeat(rows, length)
    start = np.repeat(graph.indptr[rows] - np.concatenate(([0], np.cumsum(length)[:-1])), length)
    at = start + np.arange(len(row))
    return row, graph.indices[at], graph.weights[at]
