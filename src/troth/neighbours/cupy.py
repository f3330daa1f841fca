"""Edges on a GPU, in the arrays of CuPy, torch, JAX, Numba and others."""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.arrays import as_cupy, is_on_device
from troth.errors import TrothError
from troth.inputs import Edges


def device_edges(parts: Any, base: int) -> Edges:
    """(row, col) or (row, col, weight) on one GPU as edges."""
    places, arrays = [], list[Any]()
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
