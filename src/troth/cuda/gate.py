"""The gate on a GPU: the five steps of ``gate.py`` for arrays that are on a device already, and stay there.

Notes and refusals are those of the CPU. A clean matrix pays one streaming pass and is not copied. Dirty input becomes
an array of keys, row << 32 | column, with values beside it: a stable radix sort brings repeats together in the order in
which they are stored, so that float sums round as on the CPU; so ``symmetrize=`` works too, on the entries of a matrix
and its transpose. What will be refused is copied to the host, where the CPU's gate finds the words; so is what has no
entries, and a matrix whose two directions differ in bits while no ``symmetrize`` is given.

Edges are sorted once by (smaller end, greater end), which brings parallel ones together; those that are left, sorted by
the greater end alone, are the entries below the diagonal, row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from troth import gate as host
from troth.cpu.gate import FINGERPRINT, LEAST, LOOPS, MERGE, NONFINITE, NONPOSITIVE, OUTSIDE, SALT, UNSORTED
from troth.cuda._device import cupy, to_host, using
from troth.cuda._launch import WORDS, bits_of, launch, load, resident, word_of
from troth.graph import MAX_VERTICES, Edges, Graph, Matrix
from troth.interop.cupy import sparse_parts

THREADS, TILE, DIGITS, PARTS = 256, 4096, 256, 4  # as in kernels/gate.cu
NOTHING = "Nothing"  # the type of values that are not there
TYPES = {"float32": "float", "float64": "double"} | {
    f"{prefix}int{size}": f"{prefix or 'i'}{size}" for prefix in ("", "u") for size in (8, 16, 32, 64)
}

PROGRAMS = {
    "keys": ("rising", "pack_rows", "find_starts", "random_weights", "mirror", "count_runs"),
    **{f"ends {kind}": (f"pack_ends<{kind}>",) for kind in ("i32", "i64")},
    **{
        f"sort {word}": ("count_digits", "scan_digits", f"scatter<{word}>", f"place_edges<{word}>")
        for word in (*WORDS.values(), NOTHING)
    },
    **{
        f"values {kind}": (
            f"survey<{kind}>",
            f"check<{kind}>",
            f"merge_runs<{kind}>",
            f"count_kept<{kind}>",
            f"copy_kept<{kind}>",
        )
        for kind in TYPES.values()
    },
    f"values {NOTHING}": (f"merge_runs<{NOTHING}>",),
}


class AskHost(Exception):  # noqa: N818
    """No error yet: the CPU's gate is to look at the input, since it has the words of a refusal."""


def as_device_graph(source: Matrix | Edges, rule: str, symmetrize: str | None, seed: np.uint64) -> Graph:
    """The graph of a source whose arrays are on a GPU, on that GPU."""
    if isinstance(source, Matrix):
        number, gate = source.matrix.data.device.id, _from_matrix
    else:
        number, gate = source.row.device.id, _from_edges
    with using(number):
        if isinstance(source, Matrix):
            source = replace(source, matrix=sparse_parts(source.matrix))
        try:
            return gate(source, rule, symmetrize, seed)
        except AskHost:
            graph = _on_host(source, rule, symmetrize, seed)
    return graph.to(f"cuda:{number}")


def _on_host(source: Matrix | Edges, rule: str, symmetrize: str | None, seed: np.uint64) -> Graph:
    if isinstance(source, Matrix):
        return host.from_matrix(replace(source, matrix=source.matrix.converted(to_host)), rule, symmetrize, seed)
    weight = None if source.weight is None else to_host(source.weight)
    source = replace(source, row=to_host(source.row), col=to_host(source.col), weight=weight)
    return host.from_edges(source, rule, symmetrize, seed)


# ---- launching ----


@cache
def _program(key: str) -> SimpleNamespace:
    """The kernels of a program by their names."""
    names = PROGRAMS[key]
    return SimpleNamespace(
        **{name.partition("<")[0]: kernel for name, kernel in zip(names, load("gate", names), strict=True)}
    )


def _values(values: Any) -> SimpleNamespace:
    return _program(f"values {NOTHING if values is None else TYPES[values.dtype.name]}")


def _spread(kernel: Any, total: int) -> tuple[int, int]:
    """Blocks and the items of each: a whole number of tiles, and one wave of blocks."""
    tiles = -(-total // TILE)
    each = -(-tiles // min(tiles, resident(kernel, THREADS)))
    return -(-tiles // each), each * TILE


def _words(args: tuple) -> tuple:
    """Arguments as kernels take them: numbers have 64 bits, and what is not there is a null pointer."""
    return tuple(np.int64(arg or 0) if arg is None or isinstance(arg, int) else arg for arg in args)


def _run(kernel: Any, blocks: int, *args: Any) -> None:
    kernel((blocks,), (THREADS,), _words(args))


def _run_all(kernel: Any, total: int, *args: Any) -> None:
    """Run a kernel of one thread an item."""
    launch(kernel, total, *_words(args), block=THREADS)


# ---- what one pass finds ----


def check(indptr: Any, indices: Any, data: Any) -> list[int]:
    """The columns of ``cpu/gate.py`` for a matrix of int32 ``indices``; ``indptr`` is known to rise."""
    kernel, total = _values(data).check, len(indices)
    found = cupy().zeros(9, np.uint64)
    blocks, chunk = _spread(kernel, total)
    _run(kernel, blocks, indptr, indices, data, len(indptr) - 1, total, chunk, *SALT, found)
    return _columns(found)


def _survey(data: Any, found: Any) -> None:
    """Fill in the columns that need no rows."""
    kernel = _values(data).survey
    blocks, chunk = _spread(kernel, len(data))
    _run(kernel, blocks, data, len(data), chunk, found)


def _columns(found: Any) -> list[int]:
    columns = [int(word) for word in found.get()]
    columns[LEAST] ^= 2**64 - 1  # kernels take the greatest complement, so that all columns start at 0
    return columns


def span(weights: Any) -> tuple[int, int, int]:
    """Least, greatest and union of the bits of some positive weights, at least one."""
    with using(weights.device.id):
        found = cupy().zeros(9, np.uint64)
        _survey(weights, found)
        return tuple(_columns(found)[LEAST:])


# ---- weights ----


def _clean_type(data: Any) -> Any:
    """Weights in a type that engines compare exactly, as on the CPU."""
    data = cupy().ascontiguousarray(data)
    if data.dtype.kind == "b":
        return data.astype(np.uint8)
    if data.dtype == np.float16:
        return data.astype(np.float32)
    if data.dtype.name not in TYPES or (data.dtype == np.uint64 and int(data.max()) >= 2**63):
        raise AskHost
    return data


def _absolute(data: Any) -> Any:
    """|data|; the least signed integer, whose absolute value does not fit its type, becomes unsigned."""
    if data.dtype.kind == "f":  # by the sign bit: CuPy's own abs takes denormal float32 for 0
        word = np.dtype(f"u{data.dtype.itemsize}")
        return (data.view(word) & word.type(np.iinfo(word).max >> 1)).view(data.dtype)
    out = cupy().abs(data)
    if data.dtype.kind == "i" and int(data.min()) == np.iinfo(data.dtype).min:
        return out.view(f"u{data.dtype.itemsize}")
    return out


def _apply_rule(rule: str, data: Any, count: int, seed: np.uint64, pack: Callable[[], Any]) -> Any:
    """Step 1: the weights of ``count`` > 0 entries under ``rule``; ``pack()`` gives their keys."""
    cp = cupy()
    if rule == "random" or (rule == "paper" and data is None):
        out = cp.empty(count, np.float32)
        _run_all(_program("keys").random_weights, count, pack(), count, seed, out)
        return out
    if rule == "unit" or data is None:
        return cp.ones(count, np.int32)
    data = _clean_type(data)
    return data if rule == "keep" else _clean_type(_absolute(data))


# ---- keys ----


def _numbers(part: Any) -> Any:
    """Vertex numbers, or positions, as a flat array of int32 or int64; not copied where it is one.

    A number of 2^63 or more becomes negative, which is outside all the same.
    """
    if part.ndim != 1 or part.dtype.kind not in "iu":
        raise AskHost
    return cupy().ascontiguousarray(part, np.int32 if part.dtype == np.int32 else np.int64)


def _pack_ends(row: Any, col: Any, undirected: bool, found: Any) -> Any:
    """Keys of pairs of ends; ``found[0]`` gets the greatest id, a negative one being greater than all others."""
    if row.dtype != col.dtype:
        row, col = row.astype(np.int64, copy=False), col.astype(np.int64, copy=False)
    keys = cupy().empty(len(row), np.uint64)
    kernel = _program("ends i32" if row.dtype == np.int32 else "ends i64").pack_ends
    _run(kernel, _spread(kernel, len(row))[0], row, col, len(row), int(undirected), keys, found)
    return keys


def _pack_rows(indptr: Any, indices: Any) -> Any:
    """Keys of the entries of a matrix."""
    kernel, total = _program("keys").pack_rows, len(indices)
    keys = cupy().empty(total, np.uint64)
    blocks, chunk = _spread(kernel, total)
    _run(kernel, blocks, indptr, indices, len(indptr) - 1, total, chunk, keys)
    return keys


def _starts(keys: Any, n: int, by_column: bool = False) -> Any:
    """Where rows (or columns) 0..n start among keys that ascend by them."""
    starts = cupy().empty(n + 1, np.int64)
    _run_all(_program("keys").find_starts, n + 1, keys, len(keys), n, int(by_column), starts)
    return starts


def _unpack(keys: Any, n: int) -> tuple[Any, Any]:
    """``indptr`` and ``indices`` of sorted keys."""
    return _starts(keys, n), keys.view(np.int32)[::2].copy()  # the lower half of a key comes first


def _bits(n: int) -> int:
    """Bits of the vertex numbers of n vertices."""
    return max(1, (n - 1).bit_length())


def _sort(keys: Any, values: Any, bits: int, width: int, keep: bool = False) -> tuple[Any, Any]:
    """Keys by the lowest ``width`` of their 2 ``bits`` bits, and values with them; equal ones keep their order.

    One pass for each 8 bits or less. ``keys`` becomes scratch unless it is to be kept; ``values`` may be None, and is
    kept.
    """
    cp, total = cupy(), len(keys)
    kind = None if values is None else values.dtype
    values = None if values is None else bits_of(values)
    program = _program(f"sort {NOTHING if values is None else word_of(values)}")
    blocks, chunk = _spread(program.scatter, total)
    table, totals = cp.empty(DIGITS * blocks * PARTS, np.int64), cp.empty(DIGITS, np.int64)
    passes = -(-width // 8)
    spare_keys = spare_values = None
    for number in range(passes):
        shift, end = number * width // passes, (number + 1) * width // passes
        mask = 2 ** (end - shift) - 1
        _run(program.count_digits, blocks * PARTS, keys, total, chunk // PARTS, bits, shift, mask, table)
        _run(program.scan_digits, mask + 1, blocks * PARTS, table, totals)
        new_keys = cp.empty_like(keys) if spare_keys is None else spare_keys
        new_values = cp.empty_like(values) if spare_values is None and values is not None else spare_values
        arrays = keys, values, total, chunk, bits, shift, mask, table, totals, new_keys, new_values
        _run(program.scatter, blocks, *arrays)
        if number or not keep:
            spare_keys = keys
        if number:
            spare_values = values
        keys, values = new_keys, new_values
    return keys, None if values is None else values.view(kind)


def _count_runs(keys: Any) -> tuple[Any, int, int]:
    """How many runs of equal keys start in each block's part, how many there are, and how many keys are no edge's."""
    cp, kernel = cupy(), _program("keys").count_runs
    blocks, chunk = _spread(kernel, len(keys))
    counts, found = cp.empty(blocks, np.int64), cp.zeros(2, np.uint64)
    _run(kernel, blocks, keys, len(keys), chunk, counts, found)
    runs, absent = found.get()
    return (counts, chunk), int(runs), int(absent)


def _merge_runs(keys: Any, values: Any, parts: tuple, runs: int, mode: str) -> tuple[Any, Any, Any]:
    """One key for each run, the values combined in order; also what ``merge_runs`` finds, on the device."""
    cp, (counts, chunk) = cupy(), parts
    new_keys, new_values = cp.empty(runs, np.uint64), None if values is None else cp.empty(runs, values.dtype)
    found = cp.zeros(2, np.uint64)
    arrays = keys, values, len(keys), chunk, counts, MERGE[mode], new_keys, new_values, found
    _run(_values(values).merge_runs, len(counts), *arrays)
    return new_keys, new_values, found


# ---- matrices ----


def _from_matrix(source: Matrix, rule: str, symmetrize: str | None, seed: np.uint64) -> Graph:
    shape, notes = source.matrix.shape, {}
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] > MAX_VERTICES:
        raise AskHost
    ordered = source.matrix.format == "coo"  # repeats are neighbours already
    indptr, indices, data = (_scatter if ordered else _rows)(source, rule, seed)
    found = check(indptr, indices, data)
    if found[OUTSIDE] or found[NONFINITE]:
        raise AskHost
    if found[UNSORTED]:
        before = len(indices)
        indptr, indices, data = _sum_repeats(indptr, indices, data, ordered)
        if source.matrix.dtype == bool and rule not in ("unit", "random"):  # true and true is true
            data = cupy().minimum(data, 1)
        if before > len(indices):
            notes["repeats"] = before - len(indices)
        found = check(indptr, indices, data)
    if found[LOOPS]:
        notes["loops"] = found[LOOPS]
    if found[FINGERPRINT] and not found[NONFINITE]:
        indptr, indices, data = _agree(indptr, indices, data, symmetrize, notes)
        found = check(indptr, indices, data)
    if found[NONFINITE]:  # a sum of large floats
        raise AskHost
    if found[NONPOSITIVE] or found[LOOPS]:
        indptr, indices, data = _drop(indptr, indices, data, found[LOOPS], notes)
        found = None
    weight_range = tuple(found[LEAST:]) if found and len(indices) else None
    return Graph(indptr, indices, data, source.vertex_weights, source.ids, notes, weight_range)


def _rows(source: Matrix, rule: str, seed: np.uint64) -> tuple[Any, Any, Any]:
    """CSR arrays of a compressed matrix with the weight rule applied; only the columns are yet to be checked."""
    cp, matrix, n = cupy(), source.matrix, source.matrix.shape[0]
    indptr, indices = _numbers(matrix.indptr).astype(np.int64, copy=False), _numbers(matrix.indices)
    if len(indptr) != n + 1:
        raise AskHost
    found = cp.zeros(2, np.uint64)
    _run_all(_program("keys").rising, n + 1, indptr, n, min(len(indices), len(matrix.data)), found)
    bad, count = (int(word) for word in found.get())
    if bad or not count:
        raise AskHost
    indices, values = indices[:count], None if source.pattern else matrix.data[:count]
    if indices.dtype == np.int64:
        if int(indices.view(np.uint64).max()) >= n:
            raise AskHost
        indices = indices.astype(np.int32)
    return indptr, indices, _apply_rule(rule, values, count, seed, lambda: _pack_rows(indptr, indices))


def _scatter(source: Matrix, rule: str, seed: np.uint64) -> tuple[Any, Any, Any]:
    """CSR arrays of a list of coordinates, rows sorted; the rule comes before repeats are added up."""
    matrix, n = source.matrix, source.matrix.shape[0]
    row, col, values = _numbers(matrix.row), _numbers(matrix.col), None if source.pattern else matrix.data
    if not len(row) == len(col) == len(matrix.data) or not len(row):
        raise AskHost
    found = cupy().zeros(1, np.uint64)
    keys = _pack_ends(row, col, False, found)
    if int(found[0]) >= n:
        raise AskHost
    data = _apply_rule(rule, values, len(row), seed, lambda: keys)
    keys, data = _sort(keys, data, _bits(n), 2 * _bits(n))
    return *_unpack(keys, n), data


def _sum_repeats(indptr: Any, indices: Any, data: Any, ordered: bool) -> tuple[Any, Any, Any]:
    """Rows sorted, repeats added up in the order in which they are stored."""
    n, kind = len(indptr) - 1, data.dtype
    whole = kind.kind in "iu"
    keys, data = _pack_rows(indptr, indices), data.astype(np.int64) if whole else data
    if not ordered:
        keys, data = _sort(keys, data, _bits(n), 2 * _bits(n))
    parts, runs, _ = _count_runs(keys)
    if runs < len(keys):
        keys, data, found = _merge_runs(keys, data, parts, runs, "sum")
        if int(found[1]):
            raise AskHost
    if whole and np.iinfo(kind).min <= int(data.min()) and int(data.max()) <= np.iinfo(kind).max:
        data = data.astype(kind)
    return *_unpack(keys, n), data


def _agree(indptr: Any, indices: Any, data: Any, symmetrize: str | None, notes: dict) -> tuple[Any, Any, Any]:
    """Step 4: combine the two directions; without a way to do so the CPU names the first entry that differs."""
    cp, n, total = cupy(), len(indptr) - 1, len(indices)
    if symmetrize is None:
        raise AskHost
    values = data
    if symmetrize in ("sum", "mean") and data.dtype.kind != "f":
        if symmetrize == "sum" and max(int(data.max()), -int(data.min())) >= 2**62:
            raise AskHost
        values = data.astype(np.int64 if symmetrize == "sum" else np.float64)
    both = cp.empty(2 * total, np.uint64)
    _run_all(_program("keys").mirror, total, _pack_rows(indptr, indices), total, both)
    keys, values = _sort(both, cp.concatenate([values, values]), _bits(n), 2 * _bits(n))
    parts, runs, _ = _count_runs(keys)
    keys, values, found = _merge_runs(keys, values, parts, runs, symmetrize)
    unequal = int(found[0])
    if not unequal:  # equal values with unequal bits: 0.0 and -0.0
        return indptr, indices, data
    notes["symmetrized"] = unequal
    return *_unpack(keys, n), values


def _drop(indptr: Any, indices: Any, data: Any, loops: int, notes: dict) -> tuple[Any, Any, Any]:
    """Steps 2 and 5: leave out loops and edges of weight <= 0."""
    cp, program, total = cupy(), _values(data), len(indices)
    keys = _pack_rows(indptr, indices)
    blocks, chunk = _spread(program.count_kept, total)
    counts, found = cp.empty(blocks, np.int64), cp.zeros(1, np.uint64)
    _run(program.count_kept, blocks, keys, data, total, chunk, counts, found)
    kept, edges = int(found[0]), total - loops
    if edges and not kept:
        raise AskHost
    if edges > kept:
        notes["nonpositive"] = (edges - kept) // 2
    new_keys, new_data = cp.empty(kept, np.uint64), cp.empty(kept, data.dtype)
    if kept:
        _run(program.copy_kept, blocks, keys, data, total, chunk, counts, new_keys, new_data)
    return *_unpack(new_keys, len(indptr) - 1), new_data


# ---- edges ----


def _from_edges(source: Edges, rule: str, symmetrize: str | None, seed: np.uint64) -> Graph:
    row, col, count = _numbers(source.row), _numbers(source.col), len(source.row)
    if row.shape != col.shape or (source.weight is not None and source.weight.shape != row.shape) or not count:
        raise AskHost
    found = cupy().zeros(10, np.uint64)  # the columns of a check, then the greatest id
    keys = _pack_ends(row, col, True, found[9:])
    del row, col
    data = _apply_rule(rule, source.weight, count, seed, lambda: keys)
    _survey(data, found)
    *columns, greatest = _columns(found)
    n = greatest + 1 if source.n is None else source.n
    if columns[NONFINITE] or greatest >= min(n, MAX_VERTICES) or n > MAX_VERTICES:
        raise AskHost
    indptr, indices, data, loops, repeats = _edge_rows(keys, data, n)
    notes = {name: count for name, count in (("loops", loops), ("repeats", repeats)) if count}
    weight_range = None if notes or columns[NONPOSITIVE] else tuple(columns[LEAST:])
    if columns[NONPOSITIVE] and len(indices):
        indptr, indices, data = _drop(indptr, indices, data, 0, notes)
    return Graph(indptr, indices, data, None, source.ids, notes, weight_range)


def edges_to_csr(row: Any, col: Any, weight: Any, n: int) -> tuple[Any, Any, Any, int, int]:
    """Undirected edges to sorted CSR: (indptr, indices, weights, loops dropped, repeats merged).

    Ids are int32 or int64 and known to be in 0..n-1. Without weights (None) there are none in the answer; then the peak
    is 24 bytes an edge and 24 a vertex, besides the input while that is read.
    """
    if not len(row):
        cp = cupy()
        none = None if weight is None else cp.empty(0, weight.dtype)
        return cp.zeros(n + 1, np.int64), cp.empty(0, np.int32), none, 0, 0
    held = [_pack_ends(row, col, True, cupy().zeros(1, np.uint64))]
    del row, col  # which frees them where the caller has let go of them
    return _edge_rows(held.pop(), weight, n)


def _edge_rows(keys: Any, weight: Any, n: int) -> tuple[Any, Any, Any, int, int]:
    """``edges_to_csr`` of packed edges, which become scratch."""
    cp, bits, count = cupy(), _bits(n), len(keys)
    held = [keys]
    del keys
    upper, values = _sort(held.pop(), weight, bits, 2 * bits)
    parts, m, loops = _count_runs(upper)
    if m < count - loops:
        upper, values, _ = _merge_runs(upper, values, parts, m, "max")
    upper, values = upper[:m], None if values is None else values[:m]
    if m:
        lower, lower_values = _sort(upper, values, bits, bits, keep=True)
    else:
        lower, lower_values = upper, values
    above = _starts(upper, n)
    indptr = above + _starts(lower, n, by_column=True)
    indices = cp.empty(2 * m, np.int32)
    data, word = (None, NOTHING) if weight is None else (cp.empty(2 * m, weight.dtype), word_of(weight))
    arrays = upper, values, lower, lower_values, m, above, indptr, indices, data
    _run_all(_program(f"sort {word}").place_edges, m, *arrays)
    return indptr, indices, data, loops, count - loops - m
