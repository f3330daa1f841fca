"""``Graph`` and ``as_graph``, the only gate into troth.

A ``Graph`` is the compressed sparse row form of an undirected, simple graph with positive weights. Everything past the
gate trusts these arrays: both directions are stored with equal weights, each row is sorted by neighbour and free of
repeats, there are no loops, and no weight is zero, negative, infinite or NaN.

The gate works in the order of the five steps below and counts what it changed in ``Graph.notes``:

1. the weight rule (``weights=``),  2. loops are dropped,  3. repeats are merged,  4. the two directions are made to
agree,  5. edges of weight <= 0 are dropped.

A clean matrix pays one streaming pass (``cpu/gate.py``): the upper entries are fingerprinted against the lower ones, and
only a mismatch takes the slow path that names the entry.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from troth.errors import TrothError

WEIGHTS = ("keep", "abs", "unit", "random", "paper")
SYMMETRIZE = ("max", "min", "sum", "mean")
MAX_VERTICES = 2**31 - 1


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An undirected, simple, positively weighted graph in CSR form. Make one with ``as_graph``, ``read`` or ``generate``.

    Attributes
    ----------
    indptr : int64 array of length n + 1
    indices : int32 array of length 2 m, each row ascending
    weights : array of length 2 m in the weights' own type
    vertex_weights : array of length n, or None
    ids : the user's vertex names by vertex number, or None where they are the numbers themselves
    notes : dict of what the gate changed (``{"loops": 4}``)
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    vertex_weights: np.ndarray | None = None
    ids: np.ndarray | None = None
    notes: dict[str, int] = field(default_factory=dict)
    weight_range: tuple[int, int] | None = None  # least and greatest weight *bits*; found on demand where not given

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1

    @property
    def m(self) -> int:
        """Number of undirected edges."""
        return len(self.indices) // 2

    def __repr__(self) -> str:
        return f"Graph(n={self.n}, m={self.m}, weights={self.weights.dtype})"

    def bits_range(self) -> tuple[int, int]:
        """Least and greatest weight bits (see ``order.py``); (1, 1) for a graph without edges."""
        if self.weight_range is None:
            bits = self.weights.view(f"u{self.weights.dtype.itemsize}")
            found = (int(bits.min()), int(bits.max())) if bits.size else (1, 1)
            object.__setattr__(self, "weight_range", found)
        return self.weight_range

    def to_scipy(self):
        """The adjacency matrix as a ``scipy.sparse.csr_array`` that shares these arrays."""
        from scipy.sparse import csr_array

        return csr_array((self.weights, self.indices, self.indptr), shape=(self.n, self.n))


@dataclass
class Matrix:
    """What a reader of matrices hands to the gate: a square SciPy sparse matrix with two directions.

    ``where`` and ``base`` are for messages: the file, and the number that it gives its first vertex. ``pattern`` says that
    the file has no values (those in ``matrix`` are ones).
    """

    matrix: Any
    pattern: bool = False
    vertex_weights: np.ndarray | None = None
    where: str = "the matrix"
    base: int = 0


@dataclass
class Edges:
    """What a reader of tables hands to the gate: undirected edges, parallel ones allowed.

    ``row`` and ``col`` are vertex numbers from 0 (already compacted where ``ids``, the user's names, is given); ``weight`` is
    None for a pattern; ``n`` is None where the largest number decides.
    """

    row: np.ndarray
    col: np.ndarray
    weight: np.ndarray | None = None
    n: int | None = None
    ids: np.ndarray | None = None
    where: str = "the edges"
    base: int = 0


def as_graph(
    obj: Any,
    *,
    weights: str = "keep",
    symmetrize: str | None = None,
    base: int | None = None,
    seed: int = 0,
    columns: tuple[str, ...] | None = None,
) -> Graph:
    raise NotImplementedError


TrothError = TrothError
