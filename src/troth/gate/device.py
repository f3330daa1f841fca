"""The gate on a GPU: the five steps of ``host.py`` for arrays that are on a device already, and stay there.

Notes and refusals are those of the CPU. A clean matrix pays one streaming pass and is not copied. What will be refused
is copied to the host, where the CPU's gate writes the error; so is what has no entries, and a matrix whose two
directions differ in bits while no ``symmetrize`` is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from troth.arrays import cupy, to_host, using
from troth.gate import cuda as kernels
from troth.gate import host, rules
from troth.gate.findings import (
    COLUMNS,
    FINGERPRINT,
    LOOPS,
    NONFINITE,
    NONPOSITIVE,
    OUTSIDE,
    UNSORTED,
    RetryOnHost,
    bits_range,
)
from troth.gate.worth import LeastCost, negated, worth_of
from troth.graph import Graph
from troth.inputs import MAX_VERTICES, Edges, Matrix, sparse_parts


def from_matrix(
    source: Matrix, rule: str, symmetrize: str | None, seed: np.uint64, purpose: LeastCost | None = None
) -> Graph:
    """The graph of a square sparse matrix on a GPU, on that GPU."""
    number = source.matrix.data.device.id
    with using(number):
        source = replace(source, matrix=sparse_parts(source.matrix))
        try:
            return _matrix_steps(source, rule, symmetrize, seed, purpose)
        except RetryOnHost:
            source = replace(source, matrix=source.matrix.converted(to_host))
            graph = host.from_matrix(source, rule, symmetrize, seed, purpose)
    return graph.to(f"cuda:{number}")


def from_edges(source: Edges, rule: str, seed: np.uint64, purpose: LeastCost | None = None) -> Graph:
    """The graph of undirected edges on a GPU, on that GPU."""
    number = source.row.device.id  # type: ignore[attr-defined]
    with using(number):
        try:
            return _edge_steps(source, rule, seed, purpose)
        except RetryOnHost:
            weight = None if source.weight is None else to_host(source.weight)
            source = replace(source, row=to_host(source.row), col=to_host(source.col), weight=weight)
            graph = host.from_edges(source, rule, seed, purpose)
    return graph.to(f"cuda:{number}")


# ---- weights ----


def clean_type(data: Any) -> Any:
    """Weights in a type that engines compare exactly, as on the CPU."""
    data = cupy().ascontiguousarray(data)
    if data.dtype.kind == "b":
        return data.astype(np.uint8)
    if data.dtype == np.float16:
        return data.astype(np.float32)
    if data.dtype.name not in kernels.TYPES or (data.dtype == np.uint64 and int(data.max()) >= 2**63):
        raise RetryOnHost
    return data


def _absolute(data: Any) -> Any:
    """|data|; the least signed integer, whose absolute value does not fit its type, becomes unsigned."""
    if data.dtype.kind == "f":  # by the sign bit: CuPy's own abs takes denormal float32 for 0
        word = np.dtype(f"u{data.dtype.itemsize}")
        return (data.view(word) & word.type(np.iinfo(word).max >> 1)).view(data.dtype)
    out = cupy().abs(data)
    return out.view(f"u{data.dtype.itemsize}") if rules.has_least_integer(data) else out


def _apply_rule(rule: str, data: Any, count: int, seed: np.uint64, pack: Callable[[], Any]) -> Any:
    """The weights of ``count`` > 0 entries under ``rule``; ``pack()`` gives their keys."""

    def draw(out: Any) -> None:
        kernels.run_all(kernels.program("keys").random_weights, count, pack(), count, seed, out)

    return rules.apply_rule(rule, data, cupy(), count, draw, clean_type, _absolute)


def whole_numbers(part: Any) -> Any:
    """Vertex numbers, or positions, as a flat array of int32 or int64; not copied where it is one.

    A number of 2^63 or more becomes negative, which is outside all the same.
    """
    if part.ndim != 1 or part.dtype.kind not in "iu":
        raise RetryOnHost
    return cupy().ascontiguousarray(part, np.int32 if part.dtype == np.int32 else np.int64)


# ---- matrices ----


def _matrix_steps(
    source: Matrix, rule: str, symmetrize: str | None, seed: np.uint64, purpose: LeastCost | None
) -> Graph:
    shape, notes = source.matrix.shape, dict[str, int]()
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] > MAX_VERTICES:
        raise RetryOnHost
    ordered = source.matrix.format == "coo"  # repeats are neighbours already
    indptr, indices, data = (_scatter if ordered else read_rows)(source, rule, seed)
    found = kernels.check(indptr, indices, data)
    if found[OUTSIDE] or found[NONFINITE]:
        raise RetryOnHost
    if found[UNSORTED]:
        before = len(indices)
        ignored = rules.ignores_values(rule, source.pattern)
        values = None if ignored else (_scatter if ordered else read_rows)(source, "keep", seed)[2]
        indptr, indices, values = _sum_repeats(indptr, indices, values, ordered)
        if values is not None and source.matrix.dtype == np.bool_:
            values = cupy().minimum(values, 1)  # true and true is true
        places = indptr, indices
        data = _apply_rule(rule, values, len(indices), seed, lambda: kernels.pack_rows(*places))
        notes |= rules.notes_of(repeats=before - len(indices))
        found = kernels.check(indptr, indices, data)
    notes |= rules.notes_of(loops=found[LOOPS])
    if found[FINGERPRINT] and not found[NONFINITE]:
        indptr, indices, data = _agree(indptr, indices, data, symmetrize, notes)
        found = kernels.check(indptr, indices, data)
    if found[NONFINITE]:  # a sum of large floats
        raise RetryOnHost
    weight_range, reward = bits_range(found) if len(indices) else None, None
    if purpose is not None:
        entries = _without_loops(indptr, indices, data) if found[LOOPS] else (indptr, indices, data)
        (indptr, indices, data), reward = _worthwhile(entries, source, purpose, notes)
        weight_range = None
    elif found[NONPOSITIVE] or found[LOOPS]:
        indptr, indices, data = _drop(indptr, indices, data, found[LOOPS], notes)
        weight_range = None
    return Graph.trusted(indptr, indices, data, source.vertex_weights, source.ids, notes, weight_range, reward)


def read_rows(source: Matrix, rule: str, seed: np.uint64) -> tuple[Any, Any, Any]:
    """CSR arrays of a compressed matrix with the weight rule applied; only the columns are yet to be checked."""
    cp, matrix = cupy(), source.matrix
    wide, n = matrix.shape if matrix.format == "csc" else matrix.shape[::-1]
    indptr, indices = whole_numbers(matrix.indptr).astype(np.int64, copy=False), whole_numbers(matrix.indices)
    if len(indptr) != n + 1:
        raise RetryOnHost
    found = cp.zeros(2, np.uint64)
    kernels.run_all(kernels.program("keys").rising, n + 1, indptr, n, min(len(indices), len(matrix.data)), found)
    bad, count = (int(word) for word in found.get())
    if bad or not count:
        raise RetryOnHost
    indices, values = indices[:count], None if source.pattern else matrix.data[:count]
    if indices.dtype == np.int64:
        if int(indices.view(np.uint64).max()) >= wide:
            raise RetryOnHost
        indices = indices.astype(np.int32)
    return indptr, indices, _apply_rule(rule, values, count, seed, lambda: kernels.pack_rows(indptr, indices))


def _scatter(source: Matrix, rule: str, seed: np.uint64) -> tuple[Any, Any, Any]:
    """CSR arrays of a list of coordinates, rows sorted, with the weight rule applied."""
    matrix, n = source.matrix, source.matrix.shape[0]
    row, col, values = whole_numbers(matrix.row), whole_numbers(matrix.col), None if source.pattern else matrix.data
    if not len(row) == len(col) == len(matrix.data) or not len(row):
        raise RetryOnHost
    found = cupy().zeros(1, np.uint64)
    keys = kernels.pack_ends(row, col, False, found)
    if int(found[0]) >= n:
        raise RetryOnHost
    data = _apply_rule(rule, values, len(row), seed, lambda: keys)
    keys, data = kernels.sort_keys(keys, data, kernels.id_bits(n), 2 * kernels.id_bits(n))
    return *kernels.unpack(keys, n), data


def _sum_repeats(indptr: Any, indices: Any, values: Any, ordered: bool) -> tuple[Any, Any, Any]:
    """Rows sorted, repeats added up in the order in which they are stored; of no values, only the places stay."""
    n = len(indptr) - 1
    keys, values = add_up(kernels.pack_rows(indptr, indices), values, kernels.id_bits(n), ordered)
    return *kernels.unpack(keys, n), values


def add_up(keys: Any, values: Any, bits: int, ordered: bool = False) -> tuple[Any, Any]:
    """Keys of ids of so many bits in their order, each once, and what the values of each, if any, add up to."""
    kind: Any = None if values is None else values.dtype
    whole = values is not None and kind.kind in "iu"
    if whole:
        values = values.astype(np.int64)
    if not ordered:
        keys, values = kernels.sort_keys(keys, values, bits, 2 * bits)
    parts, runs, _ = kernels.count_runs(keys)
    if runs < len(keys):
        keys, values, found = kernels.merge_runs(keys, values, parts, runs, "sum")
        if int(found[1]):
            raise RetryOnHost
    if whole and rules.fits(values, kind):
        values = values.astype(kind)
    return keys, values


def _agree(indptr: Any, indices: Any, data: Any, symmetrize: str | None, notes: dict) -> tuple[Any, Any, Any]:
    """Step 4: combine the two directions; without a way to do so the CPU names the first entry that differs."""
    cp, n, total = cupy(), len(indptr) - 1, len(indices)
    if symmetrize is None or rules.sum_may_overflow(symmetrize, data):
        raise RetryOnHost
    values = data.astype(rules.type_of_both(symmetrize, data.dtype), copy=False)
    both = cp.empty(2 * total, np.uint64)
    kernels.run_all(kernels.program("keys").mirror, total, kernels.pack_rows(indptr, indices), total, both)
    keys, values = kernels.sort_keys(both, cp.concatenate([values, values]), kernels.id_bits(n), 2 * kernels.id_bits(n))
    parts, runs, _ = kernels.count_runs(keys)
    keys, values, found = kernels.merge_runs(keys, values, parts, runs, symmetrize)
    unequal = int(found[0])
    if not unequal:  # equal values with unequal bits: 0.0 and -0.0
        return indptr, indices, data
    notes["symmetrized"] = unequal
    return *kernels.unpack(keys, n), values


def _drop(indptr: Any, indices: Any, data: Any, loops: int, notes: dict) -> tuple[Any, Any, Any]:
    """Steps 2 and 5: leave out loops and edges of weight <= 0."""
    cp, program, total = cupy(), kernels.value_kernels(data), len(indices)
    keys = kernels.pack_rows(indptr, indices)
    blocks, chunk = kernels.spread(program.count_kept, total)
    counts, found = cp.empty(blocks, np.int64), cp.zeros(1, np.uint64)
    kernels.run(program.count_kept, blocks, keys, data, total, chunk, counts, found)
    kept, edges = int(found[0]), total - loops
    if edges and not kept:
        raise RetryOnHost
    notes |= rules.notes_of(nonpositive=(edges - kept) // 2)
    new_keys, new_data = cp.empty(kept, np.uint64), cp.empty(kept, data.dtype)
    if kept:
        kernels.run(program.copy_kept, blocks, keys, data, total, chunk, counts, new_keys, new_data)
    return *kernels.unpack(new_keys, len(indptr) - 1), new_data


def _without_loops(indptr: Any, indices: Any, data: Any) -> tuple[Any, Any, Any]:
    """Rows without loops, for the largest cost is not to be a loop's."""
    keys = kernels.pack_rows(indptr, indices)
    edge = keys >> np.uint64(32) != keys & np.uint64(2**32 - 1)
    return *kernels.unpack(keys[edge], len(indptr) - 1), data[edge]


def _worthwhile(
    rows: tuple[Any, Any, Any], source: Matrix | Edges, purpose: LeastCost, notes: dict
) -> tuple[tuple[Any, Any, Any], int | float]:
    """Step 5 for costs: the edges that cost less than the reward, with what they are worth; and the reward."""
    indptr, indices, costs = rows
    if not len(indices):
        raise RetryOnHost
    data, reward = worth_of(costs, purpose, source.where)
    kept = data > 0
    left = int(cupy().count_nonzero(kept))
    if not left:
        raise RetryOnHost
    if left < len(data):
        notes |= rules.notes_of(costly=(len(data) - left) // 2)
        keys = kernels.pack_rows(indptr, indices)[kept]
        indptr, indices, data = *kernels.unpack(keys, len(indptr) - 1), data[kept]
    return (indptr, indices, data), reward


# ---- edges ----


def _edge_steps(source: Edges, rule: str, seed: np.uint64, purpose: LeastCost | None) -> Graph:
    row, col, count = whole_numbers(source.row), whole_numbers(source.col), len(source.row)
    if row.shape != col.shape or (source.weight is not None and source.weight.shape != row.shape) or not count:
        raise RetryOnHost
    found = cupy().zeros(len(COLUMNS) + 1, np.uint64)  # the columns of a check, then the greatest id
    keys = kernels.pack_ends(row, col, True, found[len(COLUMNS) :])
    del row, col
    data = _apply_rule(rule, source.weight, count, seed, lambda: keys)
    kernels.survey(data, found)
    *columns, greatest = kernels.columns_of(found)
    n = greatest + 1 if source.n is None else source.n
    if columns[NONFINITE] or greatest >= min(n, MAX_VERTICES) or n > MAX_VERTICES:
        raise RetryOnHost
    if purpose is not None:
        data = negated(data, source.where)
    indptr, indices, data, loops, repeats = kernels.edge_rows(keys, data, n)
    notes = rules.notes_of(loops=loops, repeats=repeats)
    if purpose is not None:
        rows, reward = _worthwhile((indptr, indices, -data), source, purpose, notes)
        return Graph.trusted(*rows, None, source.ids, notes, reward=reward)
    weight_range = None if notes or columns[NONPOSITIVE] else bits_range(columns)
    if columns[NONPOSITIVE] and len(indices):
        indptr, indices, data = _drop(indptr, indices, data, 0, notes)
    return Graph.trusted(indptr, indices, data, None, source.ids, notes, weight_range)
