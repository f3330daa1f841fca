"""Graphs of given shapes and weights, for the corpus and for single tests; built without the gate."""

from __future__ import annotations

import numpy as np

from troth.graph import Graph


def build(edges, n: int | None = None, dtype=np.int64) -> Graph:
    """The graph of some (u, v, w), each edge once, with plain NumPy; n defaults to the largest vertex + 1."""
    u, v, w = (list(column) for column in zip(*edges, strict=True)) if len(edges) else ([], [], [])
    n = max([*u, *v], default=-1) + 1 if n is None else n
    row, col = np.array(u + v, np.int64), np.array(v + u, np.int64)
    weight = np.array(w + w, dtype)
    by_row = np.lexsort((col, row))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))]).astype(np.int64)
    return Graph(indptr, col[by_row].astype(np.int32), weight[by_row])


def path(weights, dtype=np.int64) -> Graph:
    """0 - 1 - 2 - ... with these weights in turn."""
    return build([(i, i + 1, w) for i, w in enumerate(weights)], dtype=dtype)


def cycle(weights, dtype=np.int64) -> Graph:
    """A path whose last edge returns to 0."""
    return build([(i, (i + 1) % len(weights), w) for i, w in enumerate(weights)], dtype=dtype)


def star(weights, dtype=np.int64) -> Graph:
    """Vertex 0 in the middle."""
    return build([(0, i + 1, w) for i, w in enumerate(weights)], dtype=dtype)


def complete(n: int, weight, dtype=np.int64) -> Graph:
    """All pairs; ``weight(u, v)``."""
    return build([(u, v, weight(u, v)) for u in range(n) for v in range(u + 1, n)], n, dtype)


def grid(rows: int, cols: int, weight, dtype=np.int64) -> Graph:
    """A rectangular mesh; ``weight(u, v)``."""
    ids = np.arange(rows * cols).reshape(rows, cols)
    pairs = [*zip(ids[:, :-1].flat, ids[:, 1:].flat, strict=True), *zip(ids[:-1].flat, ids[1:].flat, strict=True)]
    return build([(int(u), int(v), weight(int(u), int(v))) for u, v in pairs], rows * cols, dtype)


def hub(leaves: int) -> Graph:
    """A wheel: one vertex adjacent to all of a cycle, with a few repeated weights."""
    rim = [(1 + i, 1 + (i + 1) % leaves, 2 + i % 3) for i in range(leaves)]
    return build([(0, 1 + i, 1 + i % 4) for i in range(leaves)] + rim)


def trap(copies: int) -> Graph:
    """Paths 4 - 5 - 4: greedy takes each middle edge and misses nearly half of the optimum."""
    return build([(4 * i + j, 4 * i + j + 1, w) for i in range(copies) for j, w in enumerate((4, 5, 4))])
