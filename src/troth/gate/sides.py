"""Two sides: the rows and the columns of a matrix of any shape become the vertices of a bipartite graph, rows first.

An entry is an edge between its row and its column. What a sparse matrix does not store is no edge, nor is an infinite
number of either sign; NaN is refused. Entries at one place add up, as SciPy means them; then costs become worth
(``worth.py``), and what is worth nothing is left out. Weights are int64 or float64, whatever they were: so kernels are
compiled for two types at most.

The graph is built at once: the rows of the matrix, with columns numbered after all rows, then its columns. On a GPU
the entries are sorted as undirected edges are (``cuda.py``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from troth.arrays import cupy, is_on_device, to_host, using
from troth.errors import TrothError
from troth.gate import host, rules
from troth.gate.cpu import Entries
from troth.gate.findings import RetryOnHost
from troth.gate.worth import LeastCost, refuse_worthless, worth_of
from troth.graph import Graph
from troth.inputs import MAX_VERTICES, Matrix, sparse_parts


def two_sides(given: Any, purpose: LeastCost | None, where: str) -> Graph:
    """The graph of a ``Matrix``, or of a dense array of two dimensions, where its values are."""
    sparse = isinstance(given, Matrix)
    shape = given.matrix.shape if sparse else given.shape
    if sum(shape) > MAX_VERTICES:
        raise TrothError(f"{where}: {sum(shape)} rows and columns; at most {MAX_VERTICES} are supported")
    values = getattr(given.matrix, "data", None) if sparse else given
    if not is_on_device(values):
        return _of_rows(given, purpose, where) if sparse else _of_dense(given, purpose, where)
    number: int = values.device.id  # type: ignore[union-attr]
    with using(number):
        try:
            return _of_device_rows(given, purpose, where) if sparse else _of_device_dense(given, purpose, where)
        except RetryOnHost:  # as in device.py: the words of a refusal, or no entries
            if not sparse:
                return _of_dense(to_host(given), purpose, where).to(f"cuda:{number}")
            copy = replace(given, matrix=sparse_parts(given.matrix).converted(to_host))
            return _of_rows(copy, purpose, where).to(f"cuda:{number}")


# ---- what is an edge, and what it is worth ----


def _choose(data: Any, purpose: LeastCost | None, where: str, place: Any, notes: dict) -> tuple[Any, Any, Any]:
    """What the entries are worth, which of them are edges (None: all are), and the reward; counts the others.

    ``place(at)`` is the row and the column of the entry at a place of the flat data.
    """
    finite = np.isfinite(data) if data.dtype.kind == "f" else None
    if finite is not None and bool(finite.all()):
        finite = None
    if finite is not None:
        bad = np.isnan(data)
        if bool(bad.any()):
            row, column = place(int(bad.argmax()))
            raise TrothError(f"{where}: entry ({row}, {column}) is nan; give a number, or infinity to forbid the pair")
        notes |= rules.notes_of(forbidden=int((~finite).sum()))
    reward = None
    if purpose is not None:
        known = data if finite is None else data[finite]
        none = known, 0 if purpose.reward is None else purpose.reward
        data, reward = worth_of(known, purpose, where) if known.size else none
        if finite is not None:
            worth, data = data, finite.astype(data.dtype)
            data[finite.nonzero()] = worth  # as CuPy takes it too
    data = data.astype(np.float64 if data.dtype.kind == "f" else np.int64, copy=False)
    keep = data > 0
    if finite is not None:
        keep &= finite
    kept = int(keep.sum())
    if purpose is not None and reward is not None and not kept and data.size > notes.get("forbidden", 0):
        refuse_worthless(where, purpose, reward)
    worthless = data.size - kept - notes.get("forbidden", 0)
    notes |= rules.notes_of(**{"nonpositive" if purpose is None else "costly": worthless})
    return data, None if kept == data.size else keep, reward


# ---- on the host ----


def _of_rows(source: Matrix, purpose: LeastCost | None, where: str) -> Graph:
    """The graph of a SciPy matrix, or of the arrays of one."""
    from scipy.sparse import csr_array

    rows, columns = source.matrix.shape
    notes, kind = dict[str, int](), source.matrix.dtype
    indptr, indices, data, swapped = host.read_rows(source, "keep", np.uint64(0))
    wide = rows if swapped else columns
    if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < wide:
        line, found = ("row", "rows") if swapped else ("column", "columns")
        at = int(np.argmax((indices < 0) | (indices >= wide)))
        raise TrothError(f"{where}: an entry has {line} {indices[at]}, but there are {wide} {found}")
    if not csr_array((data, indices, indptr), shape=(len(indptr) - 1, wide)).has_canonical_format:
        stored = len(indices)
        indptr, indices, data = host.sum_repeats(where, indptr, indices, data, wide)
        if kind == np.bool_:
            data = np.minimum(data, 1)  # true and true is true
        notes |= rules.notes_of(repeats=stored - len(indices))

    def place(at: int) -> tuple[int, int]:
        line, across = int(np.searchsorted(indptr, at, side="right")) - 1, int(indices[at])
        return (across, line) if swapped else (line, across)

    data, keep, reward = _choose(data, purpose, where, place, notes)
    if keep is not None:
        before = np.concatenate([[0], np.cumsum(keep)])
        indptr, indices, data = before[indptr], indices[keep], data[keep]
    other = csr_array((data, indices, indptr), shape=(len(indptr) - 1, wide)).tocsc()
    lines = Entries(indptr, indices, data), Entries(other.indptr, other.indices, other.data)
    return _joined(*(lines[::-1] if swapped else lines), notes, reward)


def _of_dense(values: np.ndarray, purpose: LeastCost | None, where: str) -> Graph:
    """The graph of a dense array."""
    notes, (rows, columns) = dict[str, int](), values.shape
    data = host.clean_type(values, where)
    data, keep, reward = _choose(data, purpose, where, lambda at: divmod(at, columns), notes)
    if keep is not None:
        return _joined(_chosen_rows(data, keep), _chosen_rows(data.T, keep.T), notes, reward)
    count = data.size  # every pair is an edge: the arrays are filled in place, for they are large
    indices, weights = np.empty(2 * count, np.int32), np.empty(2 * count, data.dtype)
    for part, other, first, matrix in ((slice(count), columns, rows, data), (slice(count, None), rows, 0, data.T)):
        indices[part].reshape(matrix.shape)[:] = np.arange(first, first + other, dtype=np.int32)
        weights[part].reshape(matrix.shape)[:] = matrix
    indptr = np.concatenate([np.arange(rows) * columns, count + np.arange(columns + 1) * rows])
    return Graph.trusted(indptr, indices, weights, notes=notes, reward=reward)


def _chosen_rows(data: np.ndarray, keep: np.ndarray) -> Entries:
    """The rows of some entries of a dense array."""
    across = np.arange(data.shape[1], dtype=np.int32)
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(keep, axis=1))])
    return Entries(indptr, np.broadcast_to(across, data.shape)[keep], data[keep])


def _joined(rows: Entries, columns: Entries, notes: dict, reward: Any) -> Graph:
    """The graph of the entries by rows and once more by columns."""
    count, first = len(rows.indices), len(rows.indptr) - 1
    indptr = np.concatenate([rows.indptr, columns.indptr[1:].astype(np.int64) + count]).astype(np.int64, copy=False)
    indices, weights = np.empty(2 * count, np.int32), np.empty(2 * count, rows.data.dtype)
    np.add(rows.indices, first, out=indices[:count], casting="unsafe")
    indices[count:] = columns.indices
    weights[:count], weights[count:] = rows.data, columns.data
    return Graph.trusted(indptr, indices, weights, notes=notes, reward=reward)


# ---- on a GPU ----


def _of_device_rows(source: Matrix, purpose: LeastCost | None, where: str) -> Graph:
    """The graph of a CuPy matrix, or of the arrays of one."""
    from troth.gate import cuda as kernels
    from troth.gate import device

    matrix, notes, (rows, columns) = sparse_parts(source.matrix), dict[str, int](), source.matrix.shape
    keys, data = _device_entries(replace(source, matrix=matrix))
    before = len(keys)
    keys, data = device.add_up(keys, data, kernels.id_bits(max(rows, columns)))
    notes |= rules.notes_of(repeats=before - len(keys))
    row, column = (half.astype(np.int64) for half in (keys >> np.uint64(32), keys & np.uint64(2**32 - 1)))
    if matrix.dtype == np.bool_:
        data = cupy().minimum(data, 1)
    data, keep, reward = _choose(data, purpose, where, lambda at: (int(row[at]), int(column[at])), notes)
    if keep is not None:
        row, column, data = row[keep], column[keep], data[keep]
    return _device_graph(row, column, data, rows, columns, notes, reward)


def _device_entries(source: Matrix) -> tuple[Any, Any]:
    """The keys ``row << 32 | column`` of all entries, as they are stored, and their values."""
    from troth.gate import cuda as kernels
    from troth.gate import device

    matrix = source.matrix
    if matrix.format != "coo":
        wide = matrix.shape[0 if matrix.format == "csc" else 1]
        indptr, indices, data = device.read_rows(source, "keep", np.uint64(0))
        _refuse_outside(indices, wide)
        keys = kernels.pack_rows(indptr, indices)
        return (keys << np.uint64(32) | keys >> np.uint64(32) if matrix.format == "csc" else keys), data
    row, column = device.whole_numbers(matrix.row), device.whole_numbers(matrix.col)
    if not len(row) == len(column) == len(matrix.data) or not len(row):
        raise RetryOnHost
    _refuse_outside(row, matrix.shape[0])
    _refuse_outside(column, matrix.shape[1])
    return kernels.pack_ends(row, column, False, cupy().zeros(1, np.uint64)), device.clean_type(matrix.data)


def _refuse_outside(ids: Any, count: int) -> None:

    if int(ids.min()) < 0 or int(ids.max()) >= count:
        raise RetryOnHost


def _of_device_dense(values: Any, purpose: LeastCost | None, where: str) -> Graph:
    from troth.gate import device

    cp, notes, (rows, columns) = cupy(), dict[str, int](), values.shape
    if not values.size:
        raise RetryOnHost
    data = device.clean_type(values)
    data, keep, reward = _choose(data, purpose, where, lambda at: divmod(at, columns), notes)
    places = cp.nonzero(cp.ones(values.shape, cp.bool_) if keep is None else keep)
    row, column = (cp.ascontiguousarray(part) for part in places)  # CuPy's are columns of one array
    return _device_graph(row, column, data[row, column], rows, columns, notes, reward)


def _device_graph(row: Any, column: Any, data: Any, rows: int, columns: int, notes: dict, reward: Any) -> Graph:
    from troth.gate import cuda as kernels

    indptr, indices, weights, _, _ = kernels.edges_to_csr(row, column + rows, data, rows + columns)
    return Graph.trusted(indptr, indices, weights, notes=notes, reward=reward)
