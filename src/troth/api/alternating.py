"""Alternating trees: what an auction leaves free in odd cycles is brought together, on the host.

The auction works on two copies of the graph, and so do its bounds. Where three rows are each other's nearest, the two
copies are content with a cycle of three, and one of the three stays free. The next free row may be a dozen pairs away.

From every free vertex, a *root*, a tree grows over pairs: a root takes a neighbour y, whose mate z is then the one to
look on. ``gain[z]`` is what the exchanges up to there add to the weight. The pairs of greatest gain join a tree first,
each pair joins one tree, once; so a path in a tree passes a pair once at most, and two trees have no pair in common.
An edge between two trees makes an exchange of the two paths and itself, after which both roots are matched: its gain is
the sum of both gains and its weight. The heaviest of these between every two roots are edges of a small graph, whose
matching says which exchanges are made, all at once. A root may also gain by a path of its own, at whose end another
vertex stays free; what two roots gain together is counted above that. Every round only adds weight; the mates do not
depend on threads.

*Loosened pairs.* A matching without free vertices may still be improved along cycles. So some of the pairs, at random,
are made free, trees grow from them, each time by other tolls (so that a pair joins now by one end, now by the other),
and what results is compared with what was: the two together are paths and cycles, and of each of these the heavier
matching stays.

J. Edmonds, Paths, trees, and flowers, 1965, without the flowers: an edge inside a tree is passed over.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from troth.graph import Graph
from troth.inputs import Edges

ROUNDS = 30  # of trees from the free vertices, and of loosened pairs
STOP_BELOW = 1e-4  # a round of trees that adds a smaller part of the weight is the last one
STEPS = 256  # of the growth of trees, in one round
WIDTH, WIDEN = 0.25, 1.03  # of the mean distance: those who join in one step may differ so much; more with each step
TOLL = 0.3  # of the mean distance, for each pair on the way, so that trees grow alike
LOOSENED = (0.15, 0.4)  # of the pairs, by turns
PATIENCE = 4000  # divided by the number of vertices: so many rounds in vain are not yet the end

PairRoots = Callable[[Edges], np.ndarray]  # the mates of a small graph, whose vertices are the roots


def improve(
    graph: Graph, mate: np.ndarray, reward: float, pair_roots: PairRoots, *, loosen: float | None, seed: int
) -> tuple[np.ndarray, dict[str, int]]:
    """Heavier mates, and how many rounds there were; a weight is ``reward`` less a distance.

    Pairs are loosened until a round shortens all distances together by less than ``loosen`` of them; None: never.
    """
    mate, held = mate.copy(), np.zeros(graph.n)
    _hold(graph, mate, held, np.arange(graph.n))
    trees = 0
    while trees < ROUNDS:
        before = held.sum()
        _one_round(graph, mate, held, pair_roots, np.ones(graph.n))
        trees += 1
        if held.sum() - before <= STOP_BELOW * before:
            break
    random, loosened = np.random.default_rng(seed % 2**64), 0
    patience = left = 1 + PATIENCE // max(1, graph.n)
    while loosen is not None and loosened < ROUNDS and left:
        other, fresh = mate.copy(), held.copy()
        pairs = np.flatnonzero(mate > np.arange(graph.n))
        pairs = pairs[random.random(len(pairs)) < LOOSENED[loosened % len(LOOSENED)]]
        both = np.concatenate((pairs, mate[pairs]))
        other[both], fresh[both] = -1, 0
        for _ in range(2):
            _one_round(graph, other, fresh, pair_roots, 2 * random.random(graph.n))
        gain = _merge(mate, held, other, fresh)
        loosened += 1
        left = patience if gain > loosen * (reward * (mate >= 0).sum() - held.sum()) / 2 else left - 1
    return mate, {"tree_rounds": trees, "loosened_rounds": loosened}


def _hold(graph: Graph, mate: np.ndarray, held: np.ndarray, rows: np.ndarray) -> None:
    """The weight matched at some vertices, 0 where they are free, into ``held``."""
    row, other, weight = _entries(graph, rows)
    own = mate[row] == other
    held[rows] = 0
    held[row[own]] = weight[own]


def _merge(mate: np.ndarray, held: np.ndarray, other: np.ndarray, fresh: np.ndarray) -> float:
    """Take the heavier of two matchings on each of the paths and cycles that they make together; what this adds."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    changed = np.flatnonzero(mate != other)
    number = np.full(len(mate), -1)
    number[changed] = np.arange(len(changed))  # both mates of a changed vertex have changed, too
    rows, ends = np.tile(changed, 2), np.concatenate((mate[changed], other[changed]))
    there = ends >= 0
    places = (number[rows[there]], number[ends[there]])
    links = coo_array((np.ones(len(places[0]), np.int8), places), shape=(len(changed),) * 2)
    count, part = connected_components(links, directed=False)
    gain = np.bincount(part, fresh[changed] - held[changed], count)
    taken = changed[gain[part] > 0]
    mate[taken], held[taken] = other[taken], fresh[taken]
    return float(gain[gain > 0].sum()) / 2


def _one_round(graph: Graph, mate: np.ndarray, held: np.ndarray, pair_roots: PairRoots, tolls: np.ndarray) -> None:
    """Grow trees and exchange along the best paths; ``mate`` and ``held`` are changed."""
    roots = np.flatnonzero(mate < 0)
    gain, parent, root = _grow(graph, mate, held, roots, tolls)
    outer = np.flatnonzero(root >= 0)
    u, v, w = _entries(graph, outer)
    across = (root[v] >= 0) & (root[u] < root[v])
    u, v, total = u[across], v[across], (gain[u] + gain[v] + w)[across]
    number = np.empty(graph.n, np.int64)
    number[roots] = np.arange(len(roots))
    one, other = number[root[u]], number[root[v]]
    alone = np.zeros(len(roots))  # what a root gains by a path of its own
    np.maximum.at(alone, number[root[outer]], gain[outer])
    total -= alone[one] + alone[other]
    better = np.flatnonzero(total > 0)
    better = better[np.lexsort((v[better], u[better], -total[better]))]
    key = one[better] * len(roots) + other[better]
    best = better[np.unique(key, return_index=True)[1]]  # the first of each two roots: the greatest
    ended = np.zeros(len(roots), bool)
    before = mate.copy()
    if len(best):
        mates = pair_roots(Edges(one[best], other[best], total[best], len(roots)))
        chosen = best[mates[one[best]] == other[best]]
        ended[one[chosen]] = ended[other[chosen]] = True
        ends, partners = np.concatenate((u[chosen], v[chosen])), np.concatenate((v[chosen], u[chosen]))
        _exchange(mate, parent, ends, partners)
    # Roots that are left: the vertex of its tree at which a root gains most by a path stays free in its stead.
    free = outer[(gain[outer] > 0) & ~ended[number[root[outer]]]]
    free = free[np.lexsort((free, -gain[free]))]
    free = free[np.unique(root[free], return_index=True)[1]]
    _exchange(mate, parent, free, np.full(len(free), -1, mate.dtype))
    _hold(graph, mate, held, np.flatnonzero(mate != before))


def _grow(
    graph: Graph, mate: np.ndarray, held: np.ndarray, roots: np.ndarray, tolls: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``gain``, ``parent`` (the vertex of the tree before, -1) and ``root`` (-1) of every vertex that trees look from.

    In steps: those whose score is within ``width`` of the greatest join, their neighbours' mates become known. The
    score is the gain less a toll for each pair on the way, a multiple ``tolls[z]`` of the usual one.
    """
    n, most = graph.n, float(graph.weights.max(initial=0))
    gain, score = np.full(n, -np.inf), np.full(n, -np.inf)
    parent, root, open_ = np.full(n, -1, np.int32), np.full(n, -1, np.int32), mate >= 0
    gain[roots], score[roots], root[roots] = 0.0, 0.0, roots
    matched = held[held > 0]
    distance = max(float(most - matched.mean()), most / STEPS) if len(matched) else most
    width, tolls = WIDTH * distance, TOLL * distance * tolls
    joined, known = roots, np.empty(0, np.int64)
    for _ in range(STEPS):
        z, y, w = _entries(graph, joined)
        use = open_[y]
        z, y, w = z[use], y[use], w[use]
        step = w - held[y]
        x, new = mate[y].astype(np.int64), score[z] + step
        new -= tolls[x]
        use = (new > score[x]) & (new > -most / 2)
        z, x, new, step = z[use], x[use], new[use], step[use]
        last = np.lexsort((z, new))  # of several ways to x the last one written stays: the greatest
        z, x, new, step = z[last], x[last], new[last], step[last]
        score[x], gain[x], parent[x] = new, gain[z] + step, z
        known = np.unique(np.concatenate((known, x)))
        known = known[open_[known]]
        if not len(known):
            break
        joined = known[score[known] >= score[known].max() - width]
        ahead = score[mate[joined]]  # a pair joins by its better end
        joined = joined[(score[joined] > ahead) | ((score[joined] == ahead) & (joined < mate[joined]))]
        width *= WIDEN
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
