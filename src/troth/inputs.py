"""What goes into the gate: a ``Matrix`` with two directions, or undirected ``Edges``; their arrays are not checked.

``RowBlocks`` are a graph that goes into a file without ever being whole in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from troth.errors import TrothError

MAX_VERTICES = 2**31 - 1


@dataclass
class Matrix:
    """What a reader of matrices hands to the gate: a square sparse matrix, of SciPy or on a GPU, with two directions.

    ``where`` and ``base`` are for messages: the file, and the number that it gives its first vertex. ``pattern`` says
    that the file has no values (those in ``matrix`` are ones). ``cost`` is as in ``Edges``.
    """

    matrix: Any
    pattern: bool = False
    vertex_weights: np.ndarray | None = None
    ids: np.ndarray | None = None
    where: str = "the matrix"
    base: int = 0
    cost: str | None = None


@dataclass
class Edges:
    """What a reader of tables hands to the gate: undirected edges, parallel ones allowed.

    ``row`` and ``col`` are vertex numbers from 0 (already compacted where ``ids``, the user's names, is given);
    ``weight`` is None for a pattern; ``n`` is None where the largest number decides; ``notes`` are the reader's own;
    ``cost`` says what the weights are called where that means a cost, such as "column 'distance'".
    """

    row: np.ndarray
    col: np.ndarray
    weight: np.ndarray | None = None
    n: int | None = None
    ids: np.ndarray | None = None
    where: str = "the edges"
    base: int = 0
    notes: dict[str, int] = field(default_factory=dict)
    cost: str | None = None


class RowBlocks(NamedTuple):
    """A graph that is written a block of rows at a time: its sizes, the type of its weights, and the blocks in order.

    A block is the ``indptr`` of its rows, from 0 on, their ``indices`` and their ``weights``.
    """

    n: int
    m: int
    kind: np.dtype
    blocks: Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]


@dataclass
class Sparse:
    """The arrays of a sparse matrix by the names that SciPy gives them; NumPy's, or CuPy's on one device.

    "csr" and "csc" have ``indptr`` and ``indices``, "coo" has ``row`` and ``col``. Nothing is checked: the gate does.
    ``mirrored``: entries of "coo" beside the diagonal stand for both directions, as in symmetric files.
    """

    format: str
    shape: tuple[int, ...]
    data: Any
    indptr: Any = None
    indices: Any = None
    row: Any = None
    col: Any = None
    mirrored: bool = False

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


def first_rounded(values: Sequence, array: np.ndarray) -> int | None:
    """The place of the first whole number among ``values`` that ``array``, which NumPy made of them, does not hold.

    >>> values = [2**53 + 1, 0.5]
    >>> first_rounded(values, np.asarray(values)), first_rounded([2**53, 0.5], np.asarray([2**53, 0.5]))
    (0, None)
    """
    if array.dtype.kind != "f":
        return None
    large = np.flatnonzero(np.abs(array) >= 2.0 ** (np.finfo(array.dtype).nmant + 1))
    return next((e for e in large.tolist() if isinstance(values[e], Integral) and int(array[e]) != values[e]), None)


def check_base(base: Any) -> int | None:
    """The number of a table's first vertex, of any integer type, as a Python int."""
    number = int(base) if isinstance(base, np.integer) else base
    if number is not None and (type(number) is not int or number not in (0, 1)):
        raise TrothError(f"base={base!r} is not known: choose None, 0, 1")
    return number


def refuse_table_options(what: str, base: int | None, columns: Any, weight: Any = None) -> None:
    """Refuse ``base`` and ``columns`` for what is not a table, and ``weight`` for what has no names for weights."""
    if base is not None or columns is not None:
        raise TrothError(f"{what}: base and columns are for tables of edges; leave them out")
    if weight is not None:
        raise TrothError(f"{what}: weight names a column of a table or an attribute of edges; leave it out")
