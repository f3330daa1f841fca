"""``Graph`` and ``as_graph``, the only gate into troth.

A ``Graph`` is the compressed sparse row form of an undirected, simple graph with positive weights. Everything past the
gate trusts these arrays: both directions are stored with equal weights, each row is sorted by neighbour and free of
repeats, there are no loops, and no weight is zero, negative, infinite or NaN.

The gate works in the order of the five steps below and counts what it changed in ``Graph.notes``:

1. the weight rule (``weights=``),  2. loops are dropped,  3. repeats are merged,  4. the two directions are made to
agree,  5. edges of weight <= 0 are dropped.

A clean matrix pays one streaming pass (``cpu/gate.py``): the upper entries are fingerprinted against the lower ones,
and only a mismatch takes the slow path that names the entry.
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
    gate = _from_matrix if isinstance(source, Matrix) else _from_edges
    array = getattr(source.matrix, "data", None) if isinstance(source, Matrix) else source.row
    if hasattr(array, "__cuda_array_interface__"):
        from troth.cuda.gate import as_device_graph as gate
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
            "the edges: a list of lists has no one meaning; give a tuple (row, col, weight), which tuple(zip(*edges)) "
            "makes of a list of edges, or wrap a matrix in scipy.sparse.csr_array(...)"
        )
    if isinstance(obj, (tuple, list)) and len(obj) in (2, 3):
        refuse_table_options("the edges", None, columns)
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


def _numbers(part: Any, where: str) -> np.ndarray:
    """Vertex numbers, or positions, as a flat array of int32 or int64; not copied where it is one."""
    part = np.asarray(part)
    if part.ndim != 1 or (part.size and part.dtype.kind not in "iu"):
        kind = f"{part.dtype} of shape {part.shape}"
        raise TrothError(f"{where}: vertex ids must be one-dimensional arrays of whole numbers, not {kind}")
    if part.dtype == np.uint64 and part.size and part.max() > MAX_VERTICES:
        raise TrothError(f"{where}: vertex {part.max()}; at most {MAX_VERTICES} vertices are supported: renumber them")
    return np.ascontiguousarray(part, np.int32 if part.dtype == np.int32 else np.int64)


def check_rising(indptr: np.ndarray, n: int, entries: int, where: str) -> None:
    """Refuse an ``indptr`` of n rows that would lead outside of the entries. Differences, as SciPy takes, can wrap."""
    if len(indptr) != n + 1 or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any() or indptr[-1] > entries:
        raise TrothError(f"{where}: indptr is not a rising sequence from 0 to the number of entries")


# ---- weights ----


def clean_type(data: np.ndarray, where: str) -> np.ndarray:
    """Weights in a type that engines compare exactly; the others are widened or refused."""
    kind, size = data.dtype.kind, data.dtype.itemsize
    data = np.ascontiguousarray(data, data.dtype.newbyteorder("="))
    if kind == "b":
        return data.astype(np.uint8)
    if kind == "f" and size == 2:
        return data.astype(np.float32)
    if kind == "u" and size == 8 and data.size and data.max() >= 2**63:
        raise TrothError(f"{where}: a weight is 2^63 or more; scale the weights or convert them to float64")
    if kind in "iu" or (kind == "f" and size <= 8):
        return data
    reason = "complex weights have no order; take weights.real or abs(weights)" if kind == "c" else "convert to float64"
    raise TrothError(f"{where}: weights of type {data.dtype} are not accepted: {reason}")


def _absolute(data: np.ndarray) -> np.ndarray:
    """|data|; the least signed integer, whose absolute value does not fit its type, becomes unsigned."""
    if data.dtype.kind == "i" and data.size and data.min() == np.iinfo(data.dtype).min:
        return np.abs(data).view(f"u{data.dtype.itemsize}")
    return np.abs(data)


def _apply_rule(rule: str, data: np.ndarray | None, where: str, count: int, random_weights) -> np.ndarray:
    """Step 1: the weights of the entries under ``rule``; ``random_weights(out)`` fills in random ones."""
    if rule == "random" or (rule == "paper" and data is None):
        out = np.empty(count, np.float32)
        random_weights(out)
        return out
    if rule == "unit" or data is None:
        return np.ones(count, np.int32)
    data = clean_type(data, where)
    return data if rule == "keep" else clean_type(_absolute(data), where)


# ---- matrices ----


def _from_matrix(source: Matrix, rule: str, symmetrize: str | None, seed: np.uint64) -> Graph:
    from troth.cpu import gate

    where, notes = source.where, {}
    indptr, indices, data, swapped = _rows(source, rule, seed)
    # Steps 2 and 3 need sorted rows; SciPy sorts and adds up.
    found = gate.check(indptr, indices, data)
    if found[gate.OUTSIDE]:
        u, e = _locate(indptr, (indices < 0) | (indices >= len(indptr) - 1))
        line, place = ("column", "row") if swapped else ("row", "column")
        v, first, last = int(indices[e]), source.base, source.base + len(indptr) - 2
        raise TrothError(f"{where}: {line} {u + first} has {place} {v + first}, outside {first}..{last}")
    if found[gate.UNSORTED] and not found[gate.NONFINITE]:
        before = len(indices)
        indptr, indices, data = _sum_repeats(where, indptr, indices, data)
        if source.matrix.dtype == bool and rule not in ("unit", "random"):  # true and true is true
            data = np.minimum(data, 1)
        if before > len(indices):
            notes["repeats"] = before - len(indices)
        found = gate.check(indptr, indices, data)
    if found[gate.NONFINITE]:
        _refuse_nonfinite(source, indptr, indices, data, swapped)
    if found[gate.LOOPS]:
        notes["loops"] = found[gate.LOOPS]
    if found[gate.FINGERPRINT]:
        indptr, indices, data = _agree(source, indptr, indices, data, symmetrize, swapped, notes)
        found = gate.check(indptr, indices, data)
        if found[gate.NONFINITE]:  # the sum of two large floats
            _refuse_nonfinite(source, indptr, indices, data, swapped)
    if found[gate.NONPOSITIVE] or found[gate.LOOPS]:
        indptr, indices, data = _drop(where, indptr, indices, data, found[gate.LOOPS], notes)
        found = None
    weight_range = tuple(found[gate.LEAST :]) if found and len(indices) else None
    indices = indices.astype(np.int32, copy=False)
    return Graph(indptr, indices, data, source.vertex_weights, source.ids, notes, weight_range)


def _rows(source: Matrix, rule: str, seed: np.uint64):
    """Raw CSR arrays of a SciPy matrix with the weight rule applied; also whether they are those of the transpose."""
    from troth.cpu import gate

    matrix, where = source.matrix, source.where
    shape = matrix.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        dims = " x ".join(str(k) for k in shape)
        raise TrothError(
            f"{where}: the matrix is {dims}, not square; give an adjacency matrix: [[0, A], [A.T, 0]] for two sides"
        )
    n = shape[0]
    if n > MAX_VERTICES:
        raise TrothError(f"{where}: {n} vertices; at most {MAX_VERTICES} are supported")
    if matrix.format not in ("csr", "csc"):
        return *_scatter(source, rule, seed), False
    indptr, indices = _numbers(matrix.indptr, where).astype(np.int64, copy=False), _numbers(matrix.indices, where)
    check_rising(indptr, n, min(len(indices), len(matrix.data)), where)
    count = int(indptr[-1])
    indices = indices[:count]
    values = None if source.pattern else np.asarray(matrix.data[:count])
    data = _apply_rule(rule, values, where, count, lambda out: gate.random_row_weights(indptr, indices, seed, out))
    return indptr, indices, data, matrix.format == "csc"


def _scatter(source: Matrix, rule: str, seed: np.uint64):
    """CSR arrays, by way of coordinates. The rule comes before repeats are added up, so it is applied to those."""
    from troth.cpu import gate

    where, n, coo = source.where, source.matrix.shape[0], source.matrix.tocoo()
    row, col, values = _numbers(coo.row, where), _numbers(coo.col, where), coo.data
    if not len(row) == len(col) == len(values):
        raise TrothError(f"{where}: {len(row)} rows, {len(col)} columns and {len(values)} values of its entries")
    outside = (row < 0) | (row >= n) | (col < 0) | (col >= n)
    if outside.any():
        at = int(np.argmax(outside))
        place = _place(source, int(row[at]), int(col[at]), False)
        raise TrothError(f"{where}: entry {place} is outside of a matrix of {n} rows and columns")
    if source.matrix.format == "bsr":  # a block is stored whole; its zeros are no entries
        stored = values != 0
        row, col, values = row[stored], col[stored], values[stored]
    values = None if source.pattern else values
    data = _apply_rule(rule, values, where, len(row), lambda out: gate.random_edge_weights(row, col, seed, out))
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=n), out=indptr[1:])
    indices, weights = np.empty(len(row), np.int32), np.empty_like(data)
    gate.scatter_rows(row, col, data, indptr[:-1].copy(), indices, weights)
    return indptr, indices, weights


def _sum_repeats(where: str, indptr: np.ndarray, indices: np.ndarray, data: np.ndarray):
    """Rows sorted, repeats added up in the order in which they are stored.

    Two transposes sort and keep that order. SciPy's own sort of a row does not: then rounding would make a_ij and a_ji
    differ where the same numbers were added to both, as in a finite element assembly.
    """
    from scipy.sparse import csr_array

    n = len(indptr) - 1
    kind, whole = data.dtype, data.dtype.kind in "iu"
    if whole:  # sums may need more bits than an entry has
        data = data.astype(np.int64)
    clean = csr_array((data, indices, indptr), shape=(n, n)).tocsc().tocsr()
    rounded = clean.astype(np.float64) if whole else clean
    rounded.sum_duplicates()
    clean.sum_duplicates()
    total = clean.data
    if whole and total.size:
        # A sum that wraps around is off by 2^64, a rounded one by much less.
        if np.abs(rounded.data - total).max() >= 2.0**63:
            raise TrothError(f"{where}: entries at one place add up to 2^63 or more; convert the weights to float64")
        if np.iinfo(kind).min <= total.min() and total.max() <= np.iinfo(kind).max:
            total = total.astype(kind)
    return clean.indptr.astype(np.int64), clean.indices, total


def _refuse_nonfinite(source: Matrix, indptr, indices, data, swapped: bool):
    u, e = _locate(indptr, ~np.isfinite(data))
    place = _place(source, u, int(indices[e]), swapped)
    raise TrothError(f"{source.where}: entry {place} is {data[e]}; weights must be finite numbers")


def _agree(source: Matrix, indptr, indices, data, symmetrize, swapped, notes):
    """Step 4: name the first entry whose directions differ, or combine the two."""
    from scipy.sparse import csr_array

    from troth.cpu import gate

    n = len(indptr) - 1
    other = csr_array((data, indices, indptr), shape=(n, n)).tocsc()
    rows, columns = (indptr, indices, data), (other.indptr, other.indices, other.data)
    u, v, edges = gate.first_unequal(*rows, *columns)
    if edges == 0:  # equal values with unequal bits: 0.0 and -0.0
        return rows
    if symmetrize is None:
        here, there = _entry(*rows, u, v), _entry(*columns, u, v)
        place, mirrored = _place(source, u, v, swapped), _place(source, v, u, swapped)
        differ = f"entry {place} is {here} but {mirrored} is {there}"
        raise TrothError(f"{source.where}: {differ}; choose symmetrize=max, min, sum or mean")
    if symmetrize in ("sum", "mean") and data.dtype.kind != "f":
        wide = np.int64 if symmetrize == "sum" else np.float64
        if symmetrize == "sum" and max(int(data.max()), -int(data.min())) >= 2**62:
            raise TrothError(f"{source.where}: a sum of two weights may be 2^63 or more; convert them to float64")
        rows, columns = (indptr, indices, data.astype(wide)), (*columns[:2], columns[2].astype(wide))
    ends, none = np.empty(n + 1, np.int64), np.empty(0, rows[2].dtype)
    mode = gate.MERGE[symmetrize]
    gate.merge_rows(*rows, *columns, mode, False, ends, np.empty(0, np.int32), none)
    merged, values = np.empty(ends[-1], np.int32), np.empty(ends[-1], rows[2].dtype)
    gate.merge_rows(*rows, *columns, mode, True, ends, merged, values)
    notes["symmetrized"] = edges
    return ends, merged, values


def _drop(where: str, indptr, indices, data, loops: int, notes: dict):
    """Steps 2 and 5: leave out loops and edges of weight <= 0."""
    from troth.cpu import gate

    ends = np.empty(len(indptr), np.int64)
    gate.count_kept(indptr, indices, data, ends)
    kept, values = np.empty(ends[-1], np.int32), np.empty(ends[-1], data.dtype)
    gate.copy_kept(indptr, indices, data, kept, values)
    edges = len(indices) - loops
    if edges and not len(kept):
        remedy = 'weights="abs" takes absolute values (as for a Laplacian)'
        if not (data < 0).any():
            remedy = 'all are 0; weights="unit" makes them 1'
        raise TrothError(f"{where}: no edge has a positive weight; {remedy}")
    if edges > len(kept):
        notes["nonpositive"] = (edges - len(kept)) // 2
    return ends, kept, values


def _locate(indptr: np.ndarray, bad: np.ndarray) -> tuple[int, int]:
    """Row and position of the first bad entry."""
    e = int(np.argmax(bad))
    return int(np.searchsorted(indptr, e, side="right")) - 1, e


def _place(source: Matrix, u: int, v: int, swapped: bool) -> str:
    if swapped:
        u, v = v, u
    return f"({u + source.base}, {v + source.base})"


def _entry(indptr, indices, data, u: int, v: int) -> str:
    row = slice(int(indptr[u]), int(indptr[u + 1]))
    at = np.flatnonzero(indices[row] == v)
    return str(data[row][at[0]]) if len(at) else "missing"


# ---- edges ----


def _from_edges(source: Edges, rule: str, symmetrize: str | None, seed: np.uint64) -> Graph:
    from troth.cpu import gate

    where = source.where
    row, col = _clean_ids(source.row, source), _clean_ids(source.col, source)
    if row.shape != col.shape or (source.weight is not None and source.weight.shape != row.shape):
        lengths = ", ".join(str(part.size) for part in (row, col, source.weight) if part is not None)
        raise TrothError(f"{where}: row, col and weight must be one-dimensional and of one length, not {lengths}")
    n = source.n
    if n is None:
        n = int(max(row.max(initial=-1), col.max(initial=-1))) + 1
    for ids in (row, col):
        if ids.size and ids.max() >= n:
            at = int(np.argmax(ids >= n))
            raise TrothError(f"{where}: edge {at} names vertex {ids[at] + source.base}, but there are {n} vertices")
    if n > MAX_VERTICES:
        raise TrothError(f"{where}: vertex {n - 1}; at most {MAX_VERTICES} vertices are supported: renumber them")
    data = _apply_rule(rule, source.weight, where, len(row), lambda out: gate.random_edge_weights(row, col, seed, out))
    if data.dtype.kind == "f" and not np.isfinite(data).all():
        at = int(np.argmin(np.isfinite(data)))
        u, v = (v + source.base if source.ids is None else source.ids[v] for v in (row[at], col[at]))
        raise TrothError(f"{where}: edge {at} ({u}, {v}) has weight {data[at]}; weights must be finite numbers")
    indptr, indices, data, loops, repeats = gate.edges_to_csr(row, col, data, n)
    notes = source.notes | {name: count for name, count in (("loops", loops), ("repeats", repeats)) if count}
    if len(data) and data.min() <= 0:
        indptr, indices, data = _drop(where, indptr, indices, data, 0, notes)
    return Graph(indptr, indices, data, None, source.ids, notes)


def _clean_ids(ids: np.ndarray, source: Edges) -> np.ndarray:
    """Vertex numbers from 0 as a flat array of int64."""
    ids = _numbers(ids, source.where).astype(np.int64, copy=False)
    if ids.size and ids.min() < 0:
        at = int(np.argmin(ids))
        raise TrothError(f"{source.where}: edge {at} names vertex {ids[at] + source.base}; ids start at {source.base}")
    return ids
