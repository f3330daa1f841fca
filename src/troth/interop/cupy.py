"""Arrays on a GPU: what CuPy, torch, JAX, Numba and others have, taken as CuPy arrays without a copy.

An array tells where it is through DLPack (https://dmlc.github.io/dlpack) or through ``__cuda_array_interface__``. Both
also order the work of two libraries: what the other one has begun on the array is done before CuPy's current stream
reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from troth.cuda._device import cupy, is_on_device
from troth.errors import TrothError
from troth.graph import Edges
from troth.interop.torch import plain


@dataclass
class Sparse:
    """The arrays of a sparse matrix by the names that SciPy gives them; NumPy's, or CuPy's on one device.

    "csr" and "csc" have ``indptr`` and ``indices``, "coo" has ``row`` and ``col``. Nothing is checked: the gate does.
    """

    format: str
    shape: tuple[int, ...]
    data: Any
    indptr: Any = None
    indices: Any = None
    row: Any = None
    col: Any = None

    @property
    def dtype(self) -> np.dtype:
        """The type of the values."""
        return self.data.dtype

    def tocoo(self) -> Sparse:
        """Itself; the gate asks only what is not compressed."""
        return self

    def converted(self, convert: Callable[[Any], Any]) -> Sparse:
        """The same matrix with converted arrays."""
        arrays = {name: getattr(self, name) for name in ("data", "indptr", "indices", "row", "col")}
        return replace(self, **{name: convert(array) for name, array in arrays.items() if array is not None})


def sparse_parts(matrix: Any) -> Sparse:
    """The arrays of a ``cupyx.scipy.sparse`` matrix; formats other than CSR and CSC by way of coordinates."""
    if isinstance(matrix, Sparse):
        return matrix
    if matrix.format in ("csr", "csc"):
        return Sparse(matrix.format, matrix.shape, matrix.data, indptr=matrix.indptr, indices=matrix.indices)
    entries = matrix.tocoo()
    return Sparse("coo", matrix.shape, entries.data, row=entries.row, col=entries.col)


def as_cupy(part: Any, what: str) -> Any:
    """A CuPy array that shares the memory of an array on a GPU."""
    cp = cupy()
    if isinstance(part, cp.ndarray):
        return part
    try:
        return cp.from_dlpack(plain(part)) if hasattr(part, "__dlpack__") else cp.asarray(part)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        reason = str(error).partition("\n")[0]
        raise TrothError(f"{what} on the GPU, of type {type(part).__name__}, cannot be read: {reason}") from None


def device_edges(parts: Any, base: int) -> Edges | None:
    """(row, col) or (row, col, weight) on one GPU as edges; None where all of them are on the host."""
    if not any(is_on_device(part) for part in parts):
        return None
    places, arrays = [], []
    for name, part in zip(("row", "col", "weight"), parts, strict=False):
        array = as_cupy(part, f"the edges: {name}") if is_on_device(part) else None
        places.append("the host" if array is None else f"cuda:{array.device.id}")
        arrays.append(array)
        if places[-1] != places[0]:
            raise TrothError(f"the edges: row is on {places[0]} but {name} on {places[-1]}; move them to one place")
    row, col, *weight = arrays
    if base and row.dtype.kind in "iu" and col.dtype.kind in "iu":
        with row.device:
            row, col = row.astype(np.int64) - base, col.astype(np.int64) - base
    return Edges(row, col, weight[0] if weight else None, base=base)
