"""Where to put the vertices of a small graph: where the user or its family says, or else where ``place`` does.

``place`` makes distances in the plane near those in the graph. Its places lower the stress, the sum over pairs of
(|x(u) - x(v)| - d(u, v))^2 / d(u, v)^2, where d counts edges. They start from the two main axes of classical scaling
and improve by weighted averages. In the end vertices that would hide each other are pushed apart.

E. Gansner, Y. Koren and S. North, Graph drawing by stress majorization, GD 2004.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.errors import TrothError
from troth.families import places_of
from troth.families.structures import two_columns
from troth.graph import Graph

SWEEPS = 60
GAP = 0.5  # the least distance of two vertices, in lengths of an edge
LOOSE = 0.1  # the weight of pairs in different components, which only need to stay apart


def places_for(caller: str, given: Any, g: Graph, positions: Any) -> np.ndarray:
    """Where the user wants the vertices of ``given``, which has become the graph ``g``."""
    if positions is None:
        own = places_of(given)
        return place(g) if own is None else own
    if isinstance(positions, str) and positions == "columns":
        return two_columns(_right_side(caller, g))
    if isinstance(positions, str):
        named = places_of(positions)
        if named is None:
            raise TrothError(
                f'{caller}: positions={positions!r} says no places: give n rows of x and y, "columns" for two sides, '
                "or a grid, rgg, delaunay or bipartite with its parameters, such as rgg:n=50,degree=4"
            )
        positions = named
    try:
        places = np.asarray(positions, dtype=float)
    except (TypeError, ValueError):
        places = np.empty(0)
    if g.n == places.size == 0:
        return np.empty((0, 2))
    if places.shape != (g.n, 2) or not np.isfinite(places).all():
        raise TrothError(f"{caller}: positions must be {g.n} rows of two finite numbers")
    return places


def _right_side(caller: str, g: Graph) -> np.ndarray:
    """Which vertices are on the right when edges join two sides; the first vertex of each component is on the left."""
    side = np.full(g.n, -1, np.int8)
    for root in range(g.n):
        waiting = [root] if side[root] < 0 else []
        side[waiting] = 0
        while waiting:
            v = waiting.pop()
            near = g.indices[g.indptr[v] : g.indptr[v + 1]]
            if (side[near] == side[v]).any():
                raise TrothError(
                    f'{caller}: positions="columns" needs two sides, and this graph has an odd cycle; leave it out'
                )
            fresh = near[side[near] < 0]
            side[fresh] = 1 - side[v]
            waiting += fresh.tolist()
    return side == 1


def place(g: Graph) -> np.ndarray:
    """Places of the vertices, n rows of x and y, about one unit apart along edges.

    The same for the same graph on one machine. O(n^3) time, O(n^2) memory: for the graphs that one can look at.
    """
    if g.n < 3:
        return np.arange(2 * g.n, dtype=float).reshape(g.n, 2) * [0.5, 0.0]
    from scipy.spatial.distance import cdist

    hops, linked = _hops(g)
    places = _main_axes(hops)
    closeness = np.where(linked, 1.0, LOOSE) / np.where(hops > 0, hops, np.inf) ** 2
    total = closeness.sum(axis=1, keepdims=True)
    for _ in range(SWEEPS):
        # x(v) <- the average, over u and by closeness, of the point at distance d(u, v) from x(u) towards x(v)
        pull = closeness * hops / np.maximum(cdist(places, places), 1e-9)
        moved = ((closeness - pull) @ places + pull.sum(axis=1, keepdims=True) * places) / total
        places, before = (places + moved) / 2, places
        if np.abs(places - before).max() < 1e-3:
            break
    return _spread(places)


def _spread(places: np.ndarray) -> np.ndarray:
    """The places with vertices pushed apart that are nearer than half of an edge."""
    from scipy.spatial import cKDTree

    for _ in range(SWEEPS):
        near = cKDTree(places).query_pairs(GAP, output_type="ndarray")
        if not len(near):
            break
        apart = places[near[:, 0]] - places[near[:, 1]]
        length = np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1e-9)
        push = apart / length * (GAP - length) / 4
        np.add.at(places, near[:, 0], push)
        np.add.at(places, near[:, 1], -push)
    return places


def _hops(g: Graph) -> tuple[np.ndarray, np.ndarray]:
    """The number of edges between any two vertices, and whether there is a way at all.

    Vertices of two components lie a little more than the mean of their eccentricities apart.
    """
    from scipy.sparse.csgraph import shortest_path

    hops = shortest_path(g.to_scipy(), unweighted=True)
    linked = np.isfinite(hops)
    far = np.where(linked, hops, 0).max(axis=1)
    return np.where(linked, hops, (far[:, None] + far) / 2 + 1), linked


def _main_axes(hops: np.ndarray) -> np.ndarray:
    """Classical scaling: the two greatest eigenvectors of the centred squared distances, signs fixed."""
    n = len(hops)
    squares = -0.5 * hops**2
    squares -= squares.mean(axis=0)
    squares -= squares.mean(axis=1, keepdims=True)
    values, vectors = (found[..., -2:] for found in np.linalg.eigh(squares))
    vectors *= np.sign(vectors[np.abs(vectors).argmax(axis=0), [0, 1]])
    spread = np.random.default_rng(0).normal(scale=1e-3, size=(n, 2))  # separates equal places
    return (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1] + spread
