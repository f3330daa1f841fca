"""The gate on the CPU: a ``Matrix`` or ``Edges`` becomes a ``Graph``, or is refused with the place and the remedy.

``as_graph`` is the way in. The gate works in the order of the five steps below and counts what it changed in
``Graph.notes``:

1. a matrix's entries at one place are added up, then the weight rule (``weights=``),  2. loops are dropped,
3. repeated edges are merged,  4. the two directions are made to agree,  5. edges of weight <= 0 are dropped. Where
weights are costs (``worth.py``), the first four steps are taken with costs, the cheapest of parallel edges stays, and
then costs become worth.

A clean matrix pays one streaming pass of the kernels in ``cpu.py`` and is not copied: the upper entries are
fingerprinted against the lower ones, and only a mismatch takes the slow path that names the entry. ``device.py``
does the same steps on a GPU, and comes here for the words of a refusal.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from troth.errors import TrothError
from troth.gate import cpu as kernels
from troth.gate import rules
from troth.gate.cpu import Entries
from troth.gate.findings import FINGERPRINT, LOOPS, MERGE, NONFINITE, NONPOSITIVE, OUTSIDE, UNSORTED, bits_range
from troth.gate.worth import LeastCost, negated, refuse_worthless, worth_of
from troth.graph import Graph
from troth.inputs import MAX_VERTICES, Edges, Matrix


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
    return np.abs(data).view(f"u{data.dtype.itemsize}") if rules.has_least_integer(data) else np.abs(data)


def _apply_rule(rule: str, data: np.ndarray | None, where: str, count: int, draw: Callable) -> np.ndarray:
    """The weights of the entries under ``rule``; ``draw(out)`` fills in random ones."""
    return rules.apply_rule(rule, data, np, count, draw, partial(clean_type, where=where), _absolute)


# ---- matrices ----


def from_matrix(
    source: Matrix, rule: str, symmetrize: str | None, seed: np.uint64, purpose: LeastCost | None = None
) -> Graph:
    """The graph of a square sparse matrix on the host."""
    where, shape, notes = source.where, source.matrix.shape, dict[str, int]()
    if len(shape) != 2 or shape[0] != shape[1]:
        dims = " x ".join(str(k) for k in shape)
        raise TrothError(
            f"{where}: the matrix is {dims}, not square; give an adjacency matrix, or troth.assign(A) for two sides"
        )
    indptr, indices, data, swapped = read_rows(source, rule, seed)
    # Repeats are rare: the rule is applied once more where there are some, to their sums.
    narrow = None if indices.dtype == np.int32 else np.empty(len(indices), np.int32)
    found = kernels.check(indptr, indices, data, narrow)
    if found[OUTSIDE]:
        u, e = _locate(indptr, (indices < 0) | (indices >= len(indptr) - 1))
        line, place = ("column", "row") if swapped else ("row", "column")
        v, first, last = int(indices[e]), source.base, source.base + len(indptr) - 2
        raise TrothError(f"{where}: {line} {u + first} has {place} {v + first}, outside {first}..{last}")
    indices = indices if narrow is None else narrow
    if found[UNSORTED] and not found[NONFINITE] and source.matrix.format not in ("csr", "csc"):  # the arrays are ours
        kernels.sort_neighbours(indptr, indices, data)
        found = kernels.check(indptr, indices, data)
        if found[UNSORTED]:  # repeats, which are added up in the order of the coordinates
            indptr, indices, data, _ = read_rows(source, rule, seed)
    if found[UNSORTED] and not found[NONFINITE]:
        before = len(indices)
        values = None
        if not rules.ignores_values(rule, source.pattern):
            values = data if rule == "keep" else read_rows(source, "keep", seed)[2]
        indptr, indices, values = sum_repeats(where, indptr, indices, values, len(indptr) - 1)
        if values is not None and source.matrix.dtype == np.bool_:
            values = np.minimum(values, 1)  # true and true is true
        draw = partial(kernels.random_row_weights, indptr, indices, seed)
        data = _apply_rule(rule, values, where, len(indices), draw)
        notes |= rules.notes_of(repeats=before - len(indices))
        found = kernels.check(indptr, indices, data)
    notes |= rules.notes_of(loops=found[LOOPS])
    if found[FINGERPRINT] and not found[NONFINITE]:
        indptr, indices, data = _agree(source, indptr, indices, data, symmetrize, swapped, notes)
        found = kernels.check(indptr, indices, data)
    if found[NONFINITE]:  # as given, or a sum of large floats
        u, e = _locate(indptr, ~np.isfinite(data))
        place = _place(source, u, int(indices[e]), swapped)
        raise TrothError(f"{where}: entry {place} is {data[e]}; weights must be finite numbers")
    weight_range, reward = bits_range(found) if len(indices) else None, None
    if purpose is not None:
        rows, weight_range = _without_loops(Entries(indptr, indices, data), found[LOOPS]), None
        (indptr, indices, data), reward = _worthwhile(where, rows, purpose, notes)
    elif found[NONPOSITIVE] or found[LOOPS]:
        indptr, indices, data = _drop(where, indptr, indices, data, found[LOOPS], notes)
        weight_range = None
    indices = indices.astype(np.int32, copy=False)
    return Graph.trusted(indptr, indices, data, source.vertex_weights, source.ids, notes, weight_range, reward)


def read_rows(source: Matrix, rule: str, seed: np.uint64):
    """Raw CSR arrays of a SciPy matrix with the weight rule applied; also whether they are those of the transpose.

    Only the columns of a compressed one are not checked, and repeats are not added up.
    """
    matrix, where = source.matrix, source.where
    if max(matrix.shape) > MAX_VERTICES:
        raise TrothError(f"{where}: {max(matrix.shape)} vertices; at most {MAX_VERTICES} are supported")
    n = matrix.shape[1 if matrix.format == "csc" else 0]
    if matrix.format not in ("csr", "csc"):
        return *_scatter(source, rule, seed), False
    indptr, indices = _numbers(matrix.indptr, where).astype(np.int64, copy=False), _numbers(matrix.indices, where)
    check_rising(indptr, n, min(len(indices), len(matrix.data)), where)
    count = int(indptr[-1])
    indices = indices[:count]
    values = None if source.pattern else np.asarray(matrix.data[:count])
    data = _apply_rule(rule, values, where, count, lambda out: kernels.random_row_weights(indptr, indices, seed, out))
    return indptr, indices, data, matrix.format == "csc"


def _scatter(source: Matrix, rule: str, seed: np.uint64):
    """CSR arrays, by way of coordinates, with the weight rule applied; repeats stay in the order of the coordinates."""
    where, (n, columns), coo = source.where, source.matrix.shape, source.matrix.tocoo()
    row, col, values = _numbers(coo.row, where), _numbers(coo.col, where), coo.data
    if not len(row) == len(col) == len(values):
        raise TrothError(f"{where}: {len(row)} rows, {len(col)} columns and {len(values)} values of its entries")
    outside = (row < 0) | (row >= n) | (col < 0) | (col >= columns)
    if outside.any():
        at = int(np.argmax(outside))
        place = _place(source, int(row[at]), int(col[at]), False)
        raise TrothError(f"{where}: entry {place} is outside of a matrix of {n} x {columns}")
    if source.matrix.format == "bsr":  # a block is stored whole; its zeros are no entries
        stored = values != 0
        row, col, values = row[stored], col[stored], values[stored]
    values = None if source.pattern else values
    data = _apply_rule(rule, values, where, len(row), lambda out: kernels.random_edge_weights(row, col, seed, out))
    indptr, indices, weights, _ = kernels.bucket(row, col, data, n, getattr(coo, "mirrored", False), True)
    return indptr, indices, weights


def sum_repeats(where: str, indptr: np.ndarray, indices: np.ndarray, values: np.ndarray | None, columns: int):
    """Rows sorted, repeats added up in the order in which they are stored; of no values, only the places stay.

    Two transposes sort and keep that order. SciPy's own sort of a row does not: then rounding would make a_ij and a_ji
    differ where the same numbers were added to both, as in a finite element assembly.
    """
    from scipy.sparse import csr_array

    data = np.ones(len(indices), np.int32) if values is None else values
    kind, whole = data.dtype, data.dtype.kind in "iu"
    if whole:  # sums may need more bits than an entry has
        data = data.astype(np.int64)
    clean = csr_array((data, indices, indptr), shape=(len(indptr) - 1, columns)).tocsc().tocsr()
    rounded = clean.astype(np.float64) if whole else clean
    rounded.sum_duplicates()
    clean.sum_duplicates()
    total = clean.data
    if whole and total.size:
        # A sum that wraps around is off by 2^64, a rounded one by much less.
        if np.abs(rounded.data - total).max() >= 2.0**63:
            raise TrothError(f"{where}: entries at one place add up to 2^63 or more; convert the weights to float64")
        if rules.fits(total, kind):
            total = total.astype(kind)
    return clean.indptr.astype(np.int64), clean.indices, None if values is None else total


def _agree(source: Matrix, indptr, indices, data, symmetrize, swapped, notes):
    """Step 4: name the first entry whose directions differ, or combine the two."""
    from scipy.sparse import csr_array

    n = len(indptr) - 1
    other = csr_array((data, indices, indptr), shape=(n, n)).tocsc()
    rows, columns = Entries(indptr, indices, data), Entries(other.indptr, other.indices, other.data)
    merged = _make_room(np.empty(n + 1, np.int64), 0, data.dtype)
    u, v, edges = kernels.merge_directions(rows, columns, 0, False, merged)
    if edges == 0:  # equal values with unequal bits: 0.0 and -0.0
        return rows
    if symmetrize is None:
        here, there = _entry(*rows, u, v), _entry(*columns, u, v)
        place, mirrored = _place(source, u, v, swapped), _place(source, v, u, swapped)
        differ = f"entry {place} is {here} but {mirrored} is {there}"
        raise TrothError(f"{source.where}: {differ}; choose symmetrize=max, min, sum or mean")
    if rules.sum_may_overflow(symmetrize, data):
        raise TrothError(f"{source.where}: a sum of two weights may be 2^63 or more; convert them to float64")
    kind = rules.type_of_both(symmetrize, data.dtype)
    rows, columns = (part._replace(data=part.data.astype(kind, copy=False)) for part in (rows, columns))
    merged = _make_room(merged.indptr, merged.indptr[-1], kind)
    kernels.merge_directions(rows, columns, MERGE[symmetrize], True, merged)
    notes["symmetrized"] = edges
    return merged


def _drop(where: str, indptr, indices, data, loops: int, notes: dict, ours: bool = False):
    """Steps 2 and 5: leave out loops and edges of weight <= 0; ``ours``: nobody else holds the arrays, so in place."""
    rows, kept = Entries(indptr, indices, data), _make_room(np.empty(len(indptr), np.int64), 0, data.dtype)
    kernels.keep_positive(rows, False, kept)
    edges, left = len(indices) - loops, int(kept.indptr[-1])
    if edges and not left:
        remedy = 'weights="abs" takes absolute values (as for a Laplacian)'
        if not (data < 0).any():
            remedy = 'all are 0; weights="unit" makes them 1'
        raise TrothError(f"{where}: no edge has a positive weight; {remedy}")
    notes |= rules.notes_of(nonpositive=(edges - left) // 2)
    kept = Entries(kept.indptr, indices, data) if ours else _make_room(kept.indptr, left, data.dtype)
    kernels.keep_positive(rows, True, kept)
    if ours:
        indices.resize(left, refcheck=False)
        data.resize(left, refcheck=False)
    return kept


def _without_loops(rows: Entries, loops: int) -> Entries:
    """Rows without loops, for the largest cost is not to be a loop's."""
    if not loops:
        return rows
    n = len(rows.indptr) - 1
    edge = rows.indices != np.repeat(np.arange(n), np.diff(rows.indptr))
    before = np.concatenate([[0], np.cumsum(edge)])
    return Entries(before[rows.indptr], rows.indices[edge], rows.data[edge])


def _worthwhile(where: str, rows: Entries, purpose: LeastCost, notes: dict) -> tuple[Entries, int | float]:
    """Step 5 for costs: the edges that cost less than the reward, with what they are worth; and the reward."""
    if not len(rows.indices):
        return rows, 0 if purpose.reward is None else purpose.reward
    data, reward = worth_of(rows.data, purpose, where)
    rows = rows._replace(data=data)
    kept = _make_room(np.empty(len(rows.indptr), np.int64), 0, data.dtype)
    kernels.keep_positive(rows, False, kept)
    edges, left = len(data), int(kept.indptr[-1])
    if not left:
        refuse_worthless(where, purpose, reward)
    if left < edges:
        kept = _make_room(kept.indptr, left, data.dtype)
        kernels.keep_positive(rows, True, kept)
        notes |= rules.notes_of(costly=(edges - left) // 2)
        rows = kept
    return rows, reward


def _make_room(indptr: np.ndarray, count: int, kind: np.dtype) -> Entries:
    """Rows to be filled in."""
    return Entries(indptr, np.empty(count, np.int32), np.empty(count, kind))


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


def from_edges(source: Edges, rule: str, seed: np.uint64, purpose: LeastCost | None = None) -> Graph:
    """The graph of undirected edges on the host."""
    where = source.where
    row, col = _clean_ids(source.row, source), _clean_ids(source.col, source)
    if row.dtype != col.dtype:
        row, col = row.astype(np.int64), col.astype(np.int64)
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
    data = _apply_rule(
        rule, source.weight, where, len(row), lambda out: kernels.random_edge_weights(row, col, seed, out)
    )
    if data.dtype.kind == "f" and not np.isfinite(data).all():
        at = int(np.argmin(np.isfinite(data)))
        u, v = (v + source.base if source.ids is None else source.ids[v] for v in (row[at], col[at]))
        raise TrothError(f"{where}: edge {at} ({u}, {v}) has weight {data[at]}; weights must be finite numbers")
    if purpose is not None:
        data = negated(data, where)
    indptr, indices, data, loops, repeats = kernels.edges_to_csr(row, col, data, n)
    notes, reward = source.notes | rules.notes_of(loops=loops, repeats=repeats), None
    if purpose is not None:
        (indptr, indices, data), reward = _worthwhile(where, Entries(indptr, indices, -data), purpose, notes)
    elif len(data) and data.min() <= 0:
        indptr, indices, data = _drop(where, indptr, indices, data, 0, notes, ours=True)
    return Graph.trusted(indptr, indices, data, None, source.ids, notes, reward=reward)


def _clean_ids(ids: np.ndarray, source: Edges) -> np.ndarray:
    """Vertex numbers from 0 as a flat array of int32 or int64."""
    ids = _numbers(ids, source.where)
    if ids.size and ids.min() < 0:
        at = int(np.argmin(ids))
        raise TrothError(f"{source.where}: edge {at} names vertex {ids[at] + source.base}; ids start at {source.base}")
    return ids
