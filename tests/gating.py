"""What the tests of the gate share: a small matrix, matrices entry by entry, and checks of what comes out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from troth.api.opening import as_graph
from troth.errors import TrothError
from troth.graph import Graph
from troth.inputs import Sparse

FORMATS = ("coo", "csr", "csc", "bsr", "dia", "lil", "dok")
COMPRESSED = ("csr", "csc")
# 0 - 1 - 2 - 3 and 0 - 2, with a loop at 1; vertex 4 is alone.
SQUARE = np.array([[0, 5, 3, 0, 0], [5, 9, 7, 0, 0], [3, 7, 0, 2, 0], [0, 0, 2, 0, 0], [0, 0, 0, 0, 0]], float)
# What cannot be the indptr of SQUARE, [0, 2, 5, 8, 9, 9].
NOT_RISING = (
    [0, 2, 1, 8, 9, 9],
    [1, 2, 5, 8, 9, 9],
    [0, 2, 5, 8, 9],
    [0, 2, 5, 8, 9, 9, 9],
    [0, 2, 5, 8, 9, 10],
    [0, -1, 5, 8, 9, 9],
    [0, 2, 5, 8, 9, -1],
    [],
)


def dense(graph: Graph) -> np.ndarray:
    """The adjacency matrix; checks on the way that the arrays are those of a ``Graph``."""
    n, indptr, indices, weights = graph.n, graph.indptr, graph.indices, graph.weights
    assert (indptr.dtype, indices.dtype) == (np.int64, np.int32)
    assert indptr[0] == 0
    assert indptr[-1] == len(indices) == len(weights) == 2 * graph.m
    assert (weights > 0).all()
    row = np.repeat(np.arange(n), np.diff(indptr))
    assert (np.diff(row * n + indices) > 0).all()  # rows and columns ascend, nothing twice
    out = np.zeros((n, n), weights.dtype)
    out[row, indices] = weights
    assert not out.diagonal().any()
    assert (out == out.T).all()
    return out


def cleaned(matrix: np.ndarray) -> np.ndarray:
    """What is left of a symmetric dense matrix: no diagonal, nothing <= 0."""
    return np.where((matrix > 0) & ~np.eye(len(matrix), dtype=bool), matrix, 0)


def entries(n: int, places, values, dtype=None) -> sp.coo_array:
    """A matrix with exactly these entries, zeros and repeats included."""
    row, col = (np.array(ends, np.int64) for ends in zip(*places, strict=True)) if places else ([], [])
    return sp.coo_array((np.array(values, dtype), (row, col)), shape=(n, n))


def compressed(kind: str, n: int, row, col, values) -> Sparse:
    """A matrix with exactly these entries, in the order in which they are given within a row."""
    if kind == "coo":
        return Sparse(kind, (n, n), values, row=row, col=col)
    major, minor = (row, col) if kind == "csr" else (col, row)
    by_major = np.argsort(major, kind="stable")
    indptr = np.searchsorted(major[by_major], np.arange(n + 1))
    return Sparse(kind, (n, n), values[by_major], indptr=indptr, indices=minor[by_major])


def refuse(obj, pattern: str, **options) -> None:
    with pytest.raises(TrothError, match=pattern) as refusal:
        as_graph(obj, **options)
    assert "\n" not in str(refusal.value)
