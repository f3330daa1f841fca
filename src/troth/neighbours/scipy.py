"""SciPy: rows as a sparse matrix that shares them, and matrices of distances by their look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def rows_to_scipy(indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray) -> csr_array:
    """The square matrix of some rows; ``indices`` and ``weights`` are not copied."""
    from scipy.sparse import csr_array

    n = len(indptr) - 1
    # SciPy would copy all indices to int64 if indptr, whose values fit int32 up to 2^31 entries, were of that type.
    starts = indptr.astype(np.int32) if len(indices) < 2**31 else indptr
    return csr_array((weights, indices, starts), shape=(n, n))


def looks_like_distances(matrix: Any) -> bool:
    """Whether a SciPy matrix is as ``sparse_distance_matrix`` of a k-d tree with itself makes it, in any format.

    That is one of floats, none negative, where every vertex has a stored 0 on the diagonal: the distance to itself.
    Nothing else tells distances from weights. Rows without such a 0 end the search, so other matrices cost next to
    nothing.
    """
    shape = matrix.shape
    if len(shape) != 2 or shape[0] != shape[1] or matrix.dtype.kind != "f":
        return False
    try:
        return 0 < shape[0] < matrix.nnz and _has_zero_diagonal(matrix, shape[0])
    except (IndexError, TypeError, ValueError):  # its arrays do not fit together; the gate says so
        return False


def _has_zero_diagonal(matrix: Any, n: int) -> bool:
    if matrix.format == "dok":
        stored = dict(matrix.items())
        return all(stored.get((v, v)) == 0 for v in range(n)) and min(stored.values()) >= 0
    if matrix.format in ("csr", "csc"):
        indptr, col, data = matrix.indptr, matrix.indices, matrix.data
        for v in range(min(n, 16)):  # a few rows tell most matrices
            entries = slice(indptr[v], indptr[v + 1])
            if not (data[entries][col[entries] == v] == 0).any():
                return False
        row = np.repeat(np.arange(n), np.diff(indptr))
    elif matrix.format == "coo":
        row, col, data = matrix.row, matrix.col, matrix.data
    else:
        return False
    diagonal = row == col
    return np.count_nonzero(diagonal) == n and not data[diagonal].any() and bool((data >= 0).all())
