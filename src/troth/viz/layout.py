"""Where to put the vertices of a small graph: distances in the plane near those in the graph.

The places lower the stress, the sum over pairs of (|x(u) - x(v)| - d(u, v))^2 / d(u, v)^2, where d counts edges. They
start from the two main axes of classical scaling and improve by weighted averages.

E. Gansner, Y. Koren and S. North, Graph drawing by stress majorization, GD 2004.
"""

from __future__ import annotations

import numpy as np

from troth.graph import Graph

SWEEPS = 60


def place(g: Graph) -> np.ndarray:
    """Places of the vertices, n rows of x and y, about one unit apart along edges.

    The same for the same graph on one machine. O(n^3) time, O(n^2) memory: for the graphs that one can look at.
    """
    if g.n < 3:
        return np.arange(2 * g.n, dtype=float).reshape(g.n, 2) * [0.5, 0.0]
    from scipy.spatial.distance import cdist

    hops = _hops(g)
    places = _main_axes(hops)
    closeness = 1 / np.where(hops > 0, hops, np.inf) ** 2
    total = closeness.sum(axis=1, keepdims=True)
    for _ in range(SWEEPS):
        # x(v) <- the average, over u and by closeness, of the point at distance d(u, v) from x(u) towards x(v)
        pull = closeness * hops / np.maximum(cdist(places, places), 1e-9)
        moved = ((closeness - pull) @ places + pull.sum(axis=1, keepdims=True) * places) / total
        places, before = (places + moved) / 2, places
        if np.abs(places - before).max() < 1e-3:
            break
    return places


def _hops(g: Graph) -> np.ndarray:
    """The number of edges between any two vertices; components lie a little more than their radius apart."""
    from scipy.sparse.csgraph import shortest_path

    hops = shortest_path(g.to_scipy(), unweighted=True)
    linked = np.isfinite(hops)
    return np.where(linked, hops, hops[linked].max() / 2 + 1)


def _main_axes(hops: np.ndarray) -> np.ndarray:
    """Classical scaling: the two greatest eigenvectors of the centred squared distances, signs fixed."""
    from scipy.linalg import eigh

    n = len(hops)
    squares = -0.5 * hops**2
    squares -= squares.mean(axis=0)
    squares -= squares.mean(axis=1, keepdims=True)
    values, vectors = eigh(squares, subset_by_index=[n - 2, n - 1])
    vectors *= np.sign(vectors[np.abs(vectors).argmax(axis=0), [0, 1]])
    spread = np.random.default_rng(0).normal(scale=1e-3, size=(n, 2))  # parts vertices that the axes do not
    return (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1] + spread
