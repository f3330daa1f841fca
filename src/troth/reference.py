"""The reference: every algorithm once more in plain Python, slow and obvious, close to the pseudocode of the papers.

An algorithm takes a graph and an order (``luby`` a graph and a seed) and returns the mates: int32, -1 where a vertex is
unmatched; ``blue_red`` also returns the fraction matched after each round. Weights are compared as Python numbers,
priorities as Python integers, random numbers are ``order.hash_int``: nothing is packed, rounded or run in parallel.
Every engine must return exactly these mates.

So must coarsening: ``contract`` returns the coarse graph, whose sums must agree in every bit, and the map;
``pair_twohop`` adds pairs to mates; ``strongest`` is the best neighbour of each vertex, which is no matching;
``join_strongest`` makes clusters of them, which ``contract_clusters`` contracts.

References (``docs/papers.md`` has them in full): Suitor and Locally-Dominant, Naim et al. 2015 (both equal ``greedy``);
parallel greedy and Luby, Thorsen and Merkey 2010, Algorithms 1 and 2; blue-red and the local baselines, Fagginger Auer
and Bisseling 2012.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from math import fsum, inf
from random import Random
from typing import Any

import numpy as np

from troth.errors import TrothError
from troth.graph import Graph
from troth.order import COLOUR, CUT, PROPOSE, VISIT, Order, hash_int, priorities
from troth.words import BEST_P, MOST_JOINED

Edge = tuple[int, int]
MODES = ("weighted", "random")


def rows(graph: Graph) -> list[list[tuple[int, int | float]]]:
    """For every vertex, its (neighbour, weight) pairs as Python numbers, neighbours ascending."""
    bounds = graph.indptr.tolist()
    pairs = list(zip(graph.indices.tolist(), graph.weights.tolist(), strict=True))
    return [pairs[start:stop] for start, stop in pairwise(bounds)]


def edges(graph: Graph) -> dict[Edge, int | float]:
    """Every undirected edge (u, v), u < v, with its weight, in the order of (u, v)."""
    return {(u, v): w for u, row in enumerate(rows(graph)) for v, w in row if u < v}


def _mates(n: int, pairs: Iterable[Edge]) -> np.ndarray:
    mate = np.full(n, -1, np.int32)
    for u, v in pairs:
        mate[u], mate[v] = v, u
    return mate


def _edge_keys(graph: Graph, order: Order) -> dict[Edge, tuple]:
    """(w, max priority, min priority) of every edge: distinct, and in the order of both endpoints' preferences.

    For two edges {u, a} and {u, b} of equal weight with priority(a) > priority(b), the larger of {u, a}'s priorities is
    at least that of {u, b}; where they are equal both are u's own, and the smaller ones, a's and b's, decide. So this
    total order of the edges agrees with what each vertex prefers, and the matching that is stable under it is unique.
    """
    rank = priorities(order, graph.n).tolist()
    return {(u, v): (w, max(rank[u], rank[v]), min(rank[u], rank[v])) for (u, v), w in edges(graph).items()}


def greedy(graph: Graph, order: Order, mates: np.ndarray | None = None) -> np.ndarray:
    """Take the heaviest edge, remove its neighbours, repeat; edges in the order (w, max priority, min priority).

    With ``mates``, those who have one keep it, and the others are matched among themselves.

    The weight is at least half of the optimum: every edge of an optimal matching is adjacent (or equal) to a taken one
    that is no lighter, and a taken edge is adjacent to two of them at most.

    Examples
    --------
    >>> from troth.order import make_order
    >>> path = Graph(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32), np.array([2, 2, 3, 3]))
    >>> greedy(path, make_order("low")).tolist()
    [-1, 2, 1]
    """
    key = _edge_keys(graph, order)
    taken = {v: u for v, u in enumerate([] if mates is None else mates.tolist()) if u >= 0}
    for u, v in sorted(key, key=lambda edge: key[edge], reverse=True):
        if u not in taken and v not in taken:
            taken[u], taken[v] = v, u
    return _mates(graph.n, taken.items())


def dominating(graph: Graph, order: Order) -> np.ndarray:
    """Parallel greedy matching (Thorsen and Merkey, Algorithm 1): take all locally dominating edges at once, repeat.

    Equals ``greedy``: the keys are distinct, so both take an edge that is the greatest at both of its ends.
    """
    key = _edge_keys(graph, order)
    return _peel(graph, lambda remaining: key)


def luby(graph: Graph, seed: int = 0) -> np.ndarray:
    """Luby's maximal independent set on the line graph (Thorsen and Merkey, Algorithm 2); it ignores weights.

    The same loop as ``dominating``; the only difference is that every round draws new values.
    """
    random = Random(seed)
    return _peel(graph, lambda remaining: {edge: random.random() for edge in remaining})


def _peel(graph: Graph, label: Callable[[list[Edge]], dict[Edge, Any]]) -> np.ndarray:
    """Algorithms 1 and 2 of Thorsen and Merkey; ``label`` gives the values of the remaining edges in one round."""
    matched: list[Edge] = []
    remaining = list(edges(graph))
    while remaining:
        value = label(remaining)
        best: dict[int, Edge] = {}  # the greatest remaining edge at each vertex
        for edge in remaining:
            for x in edge:
                if x not in best or value[edge] > value[best[x]]:
                    best[x] = edge
        dominant = [(u, v) for u, v in remaining if best[u] == best[v] == (u, v)]
        matched += dominant
        covered = {x for edge in dominant for x in edge}
        remaining = [(u, v) for u, v in remaining if u not in covered and v not in covered]
    return _mates(graph.n, matched)


def strongest(graph: Graph, order: Order) -> np.ndarray:
    """The neighbour that each vertex prefers, by (w, priority); -1 where there is none. Not a matching."""
    choose = _chooser("weighted", graph, order, lambda u, v: 0)
    return np.array([choose(u, row) if row else -1 for u, row in enumerate(rows(graph))], np.int32)


def _chooser(mode: str, graph: Graph, order: Order, draw: Callable[[int, int], int]) -> Callable:
    """How x picks one of some (y, w): the largest (w, priority(y)), or the largest draw(x, y), then the smaller id."""
    if mode == "weighted":
        rank = priorities(order, graph.n).tolist()
        return lambda x, eligible: max(eligible, key=lambda item: (item[1], rank[item[0]]))[0]
    if mode == "random":
        return lambda x, eligible: max(eligible, key=lambda item: (draw(x, item[0]), -item[0]))[0]
    raise TrothError(f"mode={mode!r} is not a mode: choose {' or '.join(MODES)}")


def blue_red(
    graph: Graph,
    order: Order,
    seed: int = 0,
    mode: str = "weighted",
    p: float = BEST_P,
    rounds: int | None = None,
) -> tuple[np.ndarray, list[float]]:
    """Blue vertices propose, red ones respond; the mates, and the fraction of all vertices matched after each round.

    In round r = 0, 1, ... the vertices that are free and alive (have a free neighbour) take part. Vertex v is blue when
    ``hash_int(seed, COLOUR, r, v) < floor(p 2^64)``, else red. Every blue x that has a red free neighbour proposes to
    one of them; every red x that was proposed to accepts one of those blue vertices; the pairs that agree are matched.
    The chooser x picks y, in both steps, by

    - ``"weighted"``: the largest (w(x, y), priority(y));
    - ``"random"``: the largest ``hash_int(seed, PROPOSE, r, x, y)``, equal ones by the smaller id.

    It ends when no vertex is free and alive (then the matching is maximal), or after ``rounds`` rounds. A graph without
    edges has no round.
    """
    if not 2.0**-64 <= p < 1:
        raise TrothError(f"p={p!r} is not a probability between 0 and 1, or makes no vertex blue")
    row = rows(graph)
    blue_below = int(p * 2**64)  # exact: scaling a float by a power of two does not round
    mate: dict[int, int] = {}
    matched: list[float] = []
    while rounds is None or len(matched) < rounds:
        r = len(matched)
        free = {u: [(v, w) for v, w in row[u] if v not in mate] for u in range(graph.n) if u not in mate}
        alive = [u for u in free if free[u]]
        if not alive:
            break
        choose = _chooser(mode, graph, order, partial(hash_int, seed, int(PROPOSE), r))
        blue = {u for u in alive if hash_int(seed, int(COLOUR), r, u) < blue_below}

        proposal: dict[int, int] = {}
        for u in blue:
            red = [(v, w) for v, w in free[u] if v not in blue]
            if red:
                proposal[u] = choose(u, red)
        for v in alive:
            suitors = [(u, w) for u, w in free[v] if proposal.get(u) == v]
            if suitors:
                u = choose(v, suitors)
                mate[u], mate[v] = v, u
        matched.append(len(mate) / graph.n)
    return _mates(graph.n, mate.items()), matched


def local(graph: Graph, order: Order, seed: int = 0, mode: str = "random") -> np.ndarray:
    """The serial baselines ``local-random`` and ``local-weighted``: vertices one by one, each takes a free neighbour.

    Vertices come in ascending order of (``hash_int(seed, VISIT, v)``, v). A free vertex takes the first free neighbour
    of its row, which is that of the smallest id ("random": the order of the vertices is all that is), or the one with
    the largest (w, priority) ("weighted"). Maximal.
    """
    choose = _chooser(mode, graph, order, lambda u, v: 0)
    row = rows(graph)
    mate: dict[int, int] = {}
    for u in sorted(range(graph.n), key=lambda v: (hash_int(seed, int(VISIT), v), v)):
        free = [(v, w) for v, w in row[u] if v not in mate]
        if u not in mate and free:
            v = choose(u, free)
            mate[u], mate[v] = v, u
    return _mates(graph.n, mate.items())


# ---- coarsening ----


def contract(graph: Graph, mate: np.ndarray) -> tuple[Graph, np.ndarray]:
    """The graph with every pair as one vertex, and the new number of every vertex.

    New vertices are numbered by their first members. The weights between {a, b} and {c, d}, a < b and c < d, add up as
    (w(a, c) + w(b, d)) + (w(a, d) + w(b, c)): integers to int64, floats in float64, rounded to their own type once.
    """
    mate, n = mate.tolist(), graph.n
    first = [v for v in range(n) if mate[v] < 0 or mate[v] > v]
    number = {v: c for c, v in enumerate(first)}
    coarse = [number[v] if v in number else number[mate[v]] for v in range(n)]
    parts: list[dict[int, list]] = [{} for _ in first]  # for every new edge, its straight and its crossed sum
    for v, row in enumerate(rows(graph)):
        for u, w in row:
            if coarse[u] != coarse[v]:
                sums = parts[coarse[v]].setdefault(coarse[u], [0, 0])
                sums[(v in number) != (u in number)] += w
    kind = graph.weights.dtype if graph.weights.dtype.kind == "f" else np.dtype(np.int64)
    indptr = np.cumsum([0, *map(len, parts)])
    indices = np.array([c for part in parts for c in sorted(part)], np.int32)
    with np.errstate(over="ignore"):
        weights = np.array(
            [straight + crossed for part in parts for _, (straight, crossed) in sorted(part.items())], kind
        )
    heavy = _summed(_vertex_weights(graph), len(first), coarse)
    return Graph.trusted(indptr, indices, weights, heavy), np.array(coarse, np.int32)


def _vertex_weights(graph: Graph) -> np.ndarray:
    """Those of a graph as int64 or float64; 1 each where there are none."""
    given = np.ones(graph.n, np.int64) if graph.vertex_weights is None else graph.vertex_weights
    return given.astype(np.float64 if given.dtype.kind == "f" else np.int64)


def _summed(weights: np.ndarray, count: int, coarse: list[int]) -> np.ndarray:
    """The weights of each coarse vertex's members, added up in the order of their numbers."""
    heavy = np.zeros((count, *weights.shape[1:]), weights.dtype)
    np.add.at(heavy, coarse, weights)
    return heavy


def pair_twohop(graph: Graph, order: Order, mate: np.ndarray, light: Iterable[int], relatives: bool) -> np.ndarray:
    """The mates, with free vertices paired that have the same neighbours, or else the same strongest neighbour.

    Only vertices in ``light`` take part. Among many alike the first two are paired, then the next two.
    """
    best, mate = strongest(graph, order), mate.copy()
    alike: dict[object, list[int]] = {}
    for v, row in enumerate(rows(graph)):
        if mate[v] < 0 and v in light:
            alike.setdefault(int(best[v]) if relatives else tuple(u for u, _ in row), []).append(v)
    for group in alike.values():
        for u, v in zip(group[::2], group[1::2], strict=False):
            mate[u], mate[v] = v, u
    return mate


# ---- clusters of strongest neighbours ----


def join_strongest(
    graph: Graph, order: Order, seed: int = 0, limits: np.ndarray | None = None, twohop: bool = True
) -> tuple[list[list[int]], int]:
    """Clusters of up to ``MOST_JOINED`` vertices, each ascending; and how many vertices joined others without an edge.

    A vertex points to its strongest neighbour, of those with which it keeps to the limits. Pointers have no cycles but
    pairs that point at each other, so they make trees; the smaller of its pair is the root of a tree. A cluster is

    1. a tree, where it is within the bounds: of members, and of their weights, added up in ascending order;
    2. of other trees a piece. A vertex is *cuttable* if some vertex points to it and it is not of a pair. It is cut off
       from its parent, with all below, where its number ``hash_int(seed, CUT, v) | 1`` is greater than those of its
       parent and its children, if they are cuttable. So no piece is a single vertex, and pieces of a long chain have
       three members on average;
    3. of pieces that are not within the bounds: the vertices that point to one vertex, a root being with its children,
       in ascending order, ``MOST_JOINED`` by ``MOST_JOINED``, and each of these cut before a vertex that is too much.
       Without ``twohop`` only what the root is in stays together.

    With ``twohop``, single vertices that have the same neighbours are put together as in the third step.
    """
    n, all_rows = graph.n, rows(graph)
    weights = _vertex_weights(graph).reshape(n, -1)
    fits = partial(_are_within, weights, limits)
    light = [[(u, w) for u, w in row if fits([v, u])] for v, row in enumerate(all_rows)]
    choose = _chooser("weighted", graph, order, lambda u, v: 0)
    best = [choose(v, row) if row else v for v, row in enumerate(light)]
    of_pair = [best[best[v]] == v for v in range(n)]  # or alone
    parent = [v if of_pair[v] and v <= best[v] else best[v] for v in range(n)]

    cuttable = {parent[v] for v in range(n) if not of_pair[v]} - {v for v in range(n) if of_pair[v]}
    number = {v: hash_int(seed, int(CUT), v) | 1 for v in cuttable}
    rivals: dict[int, list[int]] = {v: [number.get(parent[v], 0)] for v in cuttable}
    for v in cuttable:
        if parent[v] in cuttable:
            rivals[parent[v]].append(number[v])
    cut = {v for v in cuttable if number[v] > max(rivals[v])}

    found, joined, whole, left = [], 0, partial(_is_whole, weights, limits), list(range(n))
    for roots in ({v for v in range(n) if parent[v] == v}, cut | {v for v in range(n) if parent[v] == v}):
        groups = _grouped(left, partial(_climb, parent, roots))
        found += [group for group in groups if whole(group)]
        left = sorted(v for group in groups if not whole(group) for v in group)
    for group in _grouped(left, lambda v: v if v in roots else parent[v]):
        for part in _in_parts(group, whole):
            together = any(v in roots for v in part)
            found += [part] if together or twohop else [[v] for v in part]
            joined += len(part) - 1 if twohop and not together else 0
    if twohop:
        single = sorted(v for group in found if len(group) == 1 for v in group)
        parts = [
            part
            for group in _grouped(single, lambda v: tuple(u for u, _ in all_rows[v]))
            for part in _in_parts(group, whole)
        ]
        joined += len(single) - len(parts)
        found = [group for group in found if len(group) > 1] + parts
    return sorted(found), joined


def _are_within(weights: np.ndarray, limits: np.ndarray | None, members: list[int]) -> bool:
    """Whether the weights of some vertices, added up in this order, keep to the limits."""
    total = weights[members[0]]
    for v in members[1:]:
        total = total + weights[v]
    return limits is None or bool((total <= np.atleast_1d(limits)).all())


def _is_whole(weights: np.ndarray, limits: np.ndarray | None, members: list[int]) -> bool:
    """Whether some vertices may be a cluster."""
    return len(members) == 1 or (len(members) <= MOST_JOINED and _are_within(weights, limits, members))


def _grouped(vertices: Iterable[int], key: Callable[[int], Any]) -> list[list[int]]:
    """Vertices of equal keys together, in the order given."""
    groups: dict[Any, list[int]] = {}
    for v in vertices:
        groups.setdefault(key(v), []).append(v)
    return list(groups.values())


def _climb(parent: list[int], roots: set[int], v: int) -> int:
    """The first root above v, or v."""
    while v not in roots:
        v = parent[v]
    return v


def _in_parts(group: list[int], whole: Callable[[list[int]], bool]) -> list[list[int]]:
    """A group in parts of ``MOST_JOINED``, each cut before a vertex with which it would not be whole."""
    parts: list[list[int]] = []
    for i, v in enumerate(group):
        if i % MOST_JOINED and whole([*parts[-1], v]):
            parts[-1].append(v)
        else:
            parts.append([v])
    return parts


def contract_clusters(graph: Graph, clusters: list[list[int]]) -> tuple[Graph, np.ndarray]:
    """The graph with every cluster as one vertex, and the new number of every vertex.

    Clusters are numbered by their first members. Weights of parallel edges add up exactly: floats are then rounded to
    float64, and from there to their own type; integers become int64. Vertex weights add up in the order of the members.
    """
    n = graph.n
    number = {v: c for c, members in enumerate(clusters) for v in members}
    terms: list[dict[int, list]] = [{} for _ in clusters]
    for v, row in enumerate(rows(graph)):
        for u, w in row:
            if number[u] != number[v]:
                terms[number[v]].setdefault(number[u], []).append(w)
    of_floats = graph.weights.dtype.kind == "f"
    indptr = np.cumsum([0, *map(len, terms)])
    indices = np.array([c for part in terms for c in sorted(part)], np.int32)
    sums = [(_exact_sum if of_floats else sum)(part[c]) for part in terms for c in sorted(part)]
    with np.errstate(over="ignore"):
        weights = np.array(sums, graph.weights.dtype if of_floats else np.int64)
    coarse = [number[v] for v in range(n)]
    heavy = _summed(_vertex_weights(graph), len(clusters), coarse)
    return Graph.trusted(indptr, indices, weights, heavy), np.array(coarse, np.int32)


def _exact_sum(terms: list[float]) -> float:
    try:
        return fsum(terms)
    except OverflowError:
        return inf
