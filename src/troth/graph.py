"""``Graph`` and ``as_graph``, the only gate into troth.

A ``Graph`` is the compressed sparse row form of an undirected, simple graph with positive weights. Everything past the
gate trusts these arrays: both directions are stored with equal weights, each row is sorted by neighbour and free of
repeats, there are no loops, and no weight is zero, negative, infinite or NaN.

``as_graph`` recognises what it is given and makes a ``Matrix`` or ``Edges`` of it. Those are checked and cleaned where
their arrays are, by ``gate.py`` or ``cuda/gate.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import index
from os import PathLike
from typing import Any

import numpy as np

from troth.errors import TrothError

WEIGHTS = ("keep", "abs", "unit", "random", "paper")
SYMMETRIZE = ("max", "min", "sum", "mean")
MAX_VERTICES = 2**31 - 1


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An undirected, simple, positively weighted graph in CSR form; ``as_graph``, ``read`` and ``generate`` make one.

    Attributes
    ----------
    indptr : int64 array of length n + 1; all arrays are NumPy's, or CuPy's where the graph lives on a GPU
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
    weight_range: tuple[int, int, int] | None = None  # see bits_range; found on demand where not given

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1

    @property
    def m(self) -> int:
        """Number of undirected edges."""
        return len(self.indices) // 2

    @property
    def device(self) -> str:
        """Where the arrays are: "cpu", or "cuda:0"."""
        return f"cuda:{self.indptr.device.id}" if hasattr(self.indptr, "__cuda_array_interface__") else "cpu"

    def __repr__(self) -> str:
        where = "" if self.device == "cpu" else f", device={self.device!r}"
        return f"Graph(n={self.n}, m={self.m}, weights={self.weights.dtype}{where})"

    def to(self, device: str) -> Graph:
        """The same graph on "cpu", "cuda" or "cuda:1"; itself where it is there already."""
        device = str(device)  # a torch.device too
        if device == self.device or (device == "cuda" and self.device != "cpu"):
            return self
        from troth.cuda.transfer import move

        return move(self, device)

    def bits_range(self) -> tuple[int, int, int]:
        """Least, greatest and union (bitwise or) of the weight bits (see ``order.py``); ones where there is no edge."""
        if self.weight_range is None:
            if self.device == "cpu":
                from troth.cpu.gate import span
            else:
                from troth.cuda.gate import span

            found = span(self.weights) if self.weights.size else (1, 1, 1)
            object.__setattr__(self, "weight_range", found)
        return self.weight_range

    def to_scipy(self):
        """The adjacency matrix as a ``scipy.sparse.csr_array`` that shares ``indices`` and ``weights``.

        A graph on a GPU is copied.
        """
        from scipy.sparse import csr_array

        if self.device != "cpu":
            return self.to("cpu").to_scipy()
        # SciPy would copy all indices to int64 if indptr, whose values fit int32 up to 2^31 entries, were of that type.
        indptr = self.indptr.astype(np.int32) if len(self.indices) < 2**31 else self.indptr
        return csr_array((self.weights, self.indices, indptr), shape=(self.n, self.n))


@dataclass
class Matrix:
    """What a reader of matrices hands to the gate: a square sparse matrix, of SciPy or on a GPU, with two directions.

    ``where`` and ``base`` are for messages: the file, and the number that it gives its first vertex. ``pattern`` says
    that the file has no values (those in ``matrix`` are ones).
    """

    matrix: Any
    pattern: bool = False
    vertex_weights: np.ndarray | None = None
    ids: np.ndarray | None = None
    where: str = "the matrix"
    base: int = 0


@dataclass
class Edges:
    """What a reader of tables hands to the gate: undirected edges, parallel ones allowed.

    ``row`` and ``col`` are vertex numbers from 0 (already compacted where ``ids``, the user's names, is given);
    ``weight`` is None for a pattern; ``n`` is None where the largest number decides; ``notes`` are the reader's own.
    """

    row: np.ndarray
    col: np.ndarray
    weight: np.ndarray | None = None
    n: int | None = None
    ids: np.ndarray | None = None
    where: str = "the edges"
    base: int = 0
    notes: dict[str, int] = field(default_factory=dict)


def as_graph(
    obj: Any,
    *,
    weights: str = "keep",
    symmetrize: str | None = None,
    base: int | None = None,
    seed: int = 0,
    columns: tuple[str, ...] | None = None,
) -> Graph:
    """Turn what people already have into a ``Graph``.

    Parameters
    ----------
    obj
        a SciPy or CuPy sparse matrix or array of any format, a torch sparse tensor, ``(row, col)`` or ``(row, col,
        weight)`` arrays, a NetworkX graph, a pandas, polars or pyarrow table of edges, what ``read`` takes, or a
        ``Graph``. What is on a GPU stays there, be it CuPy's, torch's or another library's that knows DLPack. A clean
        CSR or CSC matrix is not copied.
    weights
        "keep" the values, "abs" their absolute values, "unit" (all 1), "random" (uniform in (0, 1], a function of
        ``seed`` and the two ends), or "paper": absolute values, random where there are none (Naim et al. 2015). "unit"
        and "random" do not look at the values.
    symmetrize
        what to do with a matrix whose two directions differ: "max", "min", "sum" (of integers: as int64) or "mean" (of
        integers: as float64); by default an error
    base
        the number of the first vertex in a table, 0 or 1
    seed
        for random weights
    columns
        names of a table's source, target and weight columns

    Returns
    -------
    Graph
        its ``notes`` count what was dropped or merged

    Notes
    -----
    One pass over a clean matrix; O(n + m) otherwise. Repeated entries of a matrix add up, as SciPy means them; repeated
    edges of a table are parallel edges, of which the heaviest stays. Edges of weight <= 0 are dropped.

    Examples
    --------
    >>> import numpy as np
    >>> g = as_graph((np.array([0, 1, 2]), np.array([1, 2, 2]), np.array([2.0, 3.0, 9.0])))
    >>> g, g.notes
    (Graph(n=3, m=2, weights=float64), {'loops': 1})
    """
    _check_choice("weights", weights, WEIGHTS)
    _check_choice("symmetrize", symmetrize, (None, *SYMMETRIZE))
    base, seed = check_base(base), check_seed(seed)
    if isinstance(obj, (str, PathLike)):
        from troth.io import read

        return read(obj, weights=weights, symmetrize=symmetrize, base=base, seed=seed, columns=columns)
    if isinstance(obj, Graph):
        refuse_table_options("the Graph", base, columns)
        if weights == "keep":
            return obj
        again = as_graph(Matrix(_matrix_of(obj), False, obj.vertex_weights, obj.ids), weights=weights, seed=seed)
        return replace(again, notes={**obj.notes, **again.notes})
    source = obj if isinstance(obj, (Matrix, Edges)) else _open(obj, base, columns)
    array = getattr(source.matrix, "data", None) if isinstance(source, Matrix) else source.row
    if hasattr(array, "__cuda_array_interface__"):
        from troth.cuda.gate import as_device_graph as gate
    elif isinstance(source, Matrix):
        from troth.gate import from_matrix as gate
    else:
        from troth.gate import from_edges as gate
    return gate(source, weights, symmetrize, np.uint64(seed % 2**64))


def _matrix_of(graph: Graph) -> Any:
    """The adjacency matrix where the graph lives."""
    if graph.device == "cpu":
        return graph.to_scipy()
    from troth.interop.cupy import Sparse

    return Sparse("csr", (graph.n, graph.n), graph.weights, indptr=graph.indptr, indices=graph.indices)


def _check_choice(name: str, value: Any, choices: tuple) -> None:
    if not any(value is choice or (isinstance(value, type(choice)) and value == choice) for choice in choices):
        raise TrothError(f"{name}={value!r} is not known: choose {', '.join(str(c) for c in choices)}")


def check_base(base: Any) -> int | None:
    """The number of a table's first vertex, of any integer type, as a Python int."""
    number = int(base) if isinstance(base, np.integer) else base
    if number is not None and (type(number) is not int or number not in (0, 1)):
        raise TrothError(f"base={base!r} is not known: choose None, 0, 1")
    return number


def refuse_table_options(what: str, base: int | None, columns: Any) -> None:
    """Refuse ``base`` and ``columns`` for what is not a table."""
    if base is not None or columns is not None:
        raise TrothError(f"{what}: base and columns are for tables of edges; leave them out")


def check_seed(seed: Any) -> int:
    """A seed of any integer type as a Python int."""
    try:
        return index(seed)
    except TypeError:
        raise TrothError(f"seed={seed!r} is not a whole number: give one, such as 0") from None


def packages_of(obj: Any) -> list[str]:
    """The packages of an object's class and of those it derives from, nearest first; by name, nothing is imported."""
    return [parent.__module__.partition(".")[0] for parent in type(obj).__mro__]


def _open(obj: Any, base: int | None, columns: tuple[str, ...] | None) -> Matrix | Edges:
    """Recognise what the user has; nothing heavy is imported that is not loaded already."""
    packages = set(packages_of(obj))
    if not packages.isdisjoint(("scipy", "cupyx", "torch")) and (hasattr(obj, "tocoo") or "torch" in packages):
        refuse_table_options("the matrix", base, columns)
        if "torch" not in packages:
            return Matrix(obj)
        from troth.interop.torch import torch_to_matrix

        return torch_to_matrix(obj)
    if not packages.isdisjoint(("pandas", "polars", "pyarrow")):
        from troth.interop.tables import table_to_edges

        return table_to_edges(obj, columns=columns, base=base)
    if hasattr(obj, "adj") and hasattr(obj, "is_directed"):
        from troth.interop.networkx import networkx_to_edges

        refuse_table_options("the NetworkX graph", base, columns)
        return networkx_to_edges(obj)
    if isinstance(obj, list) and any(isinstance(part, (list, tuple)) for part in obj):
        raise TrothError(
            "the edges: a list of lists or tuples has no one meaning; give a tuple (row, col, weight), which "
            "tuple(zip(*edges)) makes of a list of edges, or wrap a matrix in scipy.sparse.csr_array(...)"
        )
    if isinstance(obj, (tuple, list)) and len(obj) in (2, 3):
        if columns is not None:
            raise TrothError("the edges: columns are for tables, whose columns have names; leave them out")
        if any(isinstance(part, np.ma.MaskedArray) for part in obj):
            raise TrothError(
                "the edges: masked arrays are not taken; leave the masked edges out, and give plain arrays"
            )
        from troth.interop.cupy import device_edges, plain

        if edges := device_edges(obj, base or 0):
            return edges
        try:
            row, col, *weight = (np.asarray(plain(part)) for part in obj)
        except ValueError:  # lists in lists, of unequal lengths
            raise TrothError("the edges: row, col and weight must be one-dimensional arrays of numbers") from None
        base = base or 0
        if base and row.dtype.kind in "iu" and col.dtype.kind in "iu":
            row, col = row.astype(np.int64) - base, col.astype(np.int64) - base
        return Edges(row, col, weight[0] if weight else None, base=base)
    if isinstance(obj, np.ndarray) or hasattr(obj, "__cuda_array_interface__"):
        kind = "cupyx.scipy.sparse.csr_matrix" if hasattr(obj, "__cuda_array_interface__") else "scipy.sparse.csr_array"
        raise TrothError(f"a dense array is not taken as a graph: wrap an adjacency matrix in {kind}(...)")
    raise TrothError(
        f"a graph cannot be made from {type(obj).__name__}: give a SciPy sparse matrix, (row, col, weight) arrays, a "
        "NetworkX graph, a pandas, polars or pyarrow table, or a file name"
    )
