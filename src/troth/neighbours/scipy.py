"""SciPy: rows as a sparse matrix that shares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
