"""Random numberings of the vertices: the same graph, its vertices renamed, its rows sorted anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from pathlib import Path

    from troth.graph import Graph


@njit(cache=True)
def _move(indptr, indices, weights, number, old, filled, new_indices, new_weights):
    """Entries (u, c) for new vertices c in ascending order: so every new row is ascending, without a sort."""
    for c in range(len(old)):
        for e in range(indptr[old[c]], indptr[old[c] + 1]):
            u = number[indices[e]]
            new_indices[filled[u]] = c
            new_weights[filled[u]] = weights[e]
            filled[u] += 1


def renumber(graph: Graph, seed: int) -> Graph:
    """The graph on the CPU, with its vertices in a random order that ``seed`` gives. O(n + m), by symmetry.

    >>> from troth import generate
    >>> path = generate("path", n=4, weights="integers")
    >>> again = renumber(path, 1)
    >>> sorted(again.weights) == sorted(path.weights), again.m
    (True, 3)
    """
    from troth.graph import Graph

    old = np.random.default_rng(seed).permutation(graph.n).astype(np.int32)  # the vertex that becomes c
    number = np.empty_like(old)
    number[old] = np.arange(graph.n, dtype=np.int32)
    indptr = np.zeros(graph.n + 1, np.int64)
    np.cumsum(np.diff(graph.indptr)[old], out=indptr[1:])
    indices, weights = np.empty_like(graph.indices), np.empty_like(graph.weights)
    _move(graph.indptr, graph.indices, graph.weights, number, old, indptr[:-1].copy(), indices, weights)
    return Graph.trusted(indptr, indices, weights)


def kind_of_weights(graph: Graph, path: Path | None = None) -> str:
    """ "equal", "real" (of a file), or "random": generated, or drawn for a file without values.

    >>> from troth import generate
    >>> [kind_of_weights(generate("path", n=9, weights=name)) for name in ("unit", "uniform")]
    ['equal', 'random']
    """
    if graph.weights.min() == graph.weights.max():
        return "equal"
    if path is None:
        return "random"
    from troth.api.opening import read

    # What a file brings does not depend on the seed.
    first, second = (read(path, weights="paper", symmetrize="max", seed=seed).weights for seed in (0, 1))
    return "real" if np.array_equal(first, second) else "random"
