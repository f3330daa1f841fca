"""Kernels of the gate on a GPU: one streaming check of a matrix, and what makes dirty input clean.

Dirty input becomes an array of keys, row << 32 | column, with values beside it: a stable radix sort brings repeats
together in the order in which they are stored, so that float sums round as on the CPU.

Edges are sorted once by (smaller end, greater end), which brings parallel ones together; those that are left, sorted by
the greater end alone, are the entries below the diagonal, row by row.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from troth.arrays import cupy, using
from troth.gate.findings import COLUMNS, LEAST, MERGE, SALT, bits_range
from troth.kernels.launch import WORDS, bits_of, define, launch, load, resident, word_of
from troth.order import ORDER_CONSTANTS

THREADS = 256  # of every block
TILE = 4096  # items of a block of the sort at a time
DIGITS = 256  # of the sort, one for each thread of a block
PARTS = 4  # of a chunk that is sorted: so many more blocks can count than arrange
CONSTANTS = (
    *ORDER_CONSTANTS,
    *define(THREADS=THREADS, TILE=TILE, DIGITS=DIGITS, PARTS=PARTS),
    *define(**{name: place for place, name in enumerate(COLUMNS)}),
    *define(**{name.upper(): code for name, code in MERGE.items()}),
)
NOTHING = "Nothing"  # the type of values that are not there
TYPES = {"float32": "float", "float64": "double"} | {
    f"{prefix}int{size}": f"{prefix or 'i'}{size}" for prefix in ("", "u") for size in (8, 16, 32, 64)
}

PROGRAMS = {
    "classes": ("class_degrees",),
    "keys": ("rising", "pack_rows", "find_starts", "random_weights", "mirror", "count_runs"),
    **{f"ends {kind}": (f"pack_ends<{kind}>",) for kind in ("i32", "i64")},
    **{
        f"sort {word}": ("count_digits", "scan_digits", f"scatter<{word}>", f"place_edges<{word}>")
        for word in (*WORDS.values(), NOTHING)
    },
    **{
        f"values {kind}": tuple(
            f"{name}<{kind}>" for name in ("survey", "check", "merge_runs", "count_kept", "copy_kept")
        )
        for kind in TYPES.values()
    },
    f"values {NOTHING}": (f"merge_runs<{NOTHING}>",),
}


# ---- launching ----


@cache
def program(key: str) -> SimpleNamespace:
    """The kernels of a program by their names."""
    names = PROGRAMS[key]
    return SimpleNamespace(
        **{name.partition("<")[0]: kernel for name, kernel in zip(names, load("gate", names, CONSTANTS), strict=True)}
    )


def value_kernels(values: Any) -> SimpleNamespace:
    return program(f"values {NOTHING if values is None else TYPES[values.dtype.name]}")


def spread(kernel: Any, total: int) -> tuple[int, int]:
    """Blocks and the items of each: a whole number of tiles, and one wave of blocks."""
    tiles = -(-total // TILE)
    each = -(-tiles // min(tiles, resident(kernel, THREADS)))
    return -(-tiles // each), each * TILE


def _words(args: tuple) -> tuple:
    """Arguments as kernels take them: numbers have 64 bits, and what is not there is a null pointer."""
    return tuple(np.int64(arg or 0) if arg is None or isinstance(arg, int) else arg for arg in args)


def run(kernel: Any, blocks: int, *args: Any) -> None:
    kernel((blocks,), (THREADS,), _words(args))


def run_all(kernel: Any, total: int, *args: Any) -> None:
    """Run a kernel of one thread an item."""
    launch(kernel, total, *_words(args), block=THREADS)


# ---- what one pass finds ----


def check(indptr: Any, indices: Any, data: Any) -> list[int]:
    """The columns of ``findings.py`` for a matrix of int32 ``indices``; ``indptr`` is known to rise."""
    kernel, total = value_kernels(data).check, len(indices)
    found = cupy().zeros(len(COLUMNS), np.uint64)
    blocks, chunk = spread(kernel, total)
    run(kernel, blocks, indptr, indices, data, len(indptr) - 1, total, chunk, *SALT, found)
    return columns_of(found)


def survey(data: Any, found: Any) -> None:
    """Fill in the columns that need no rows."""
    kernel = value_kernels(data).survey
    blocks, chunk = spread(kernel, len(data))
    run(kernel, blocks, data, len(data), chunk, found)


def columns_of(found: Any) -> list[int]:
    columns = [int(word) for word in found.get()]
    columns[LEAST] ^= 2**64 - 1  # kernels take the greatest complement, so that all columns start at 0
    return columns


def span(weights: Any) -> tuple[int, int, int]:
    """Least, greatest and union of the bits of some positive weights, at least one."""
    with using(weights.device.id):
        found = cupy().zeros(len(COLUMNS), np.uint64)
        survey(weights, found)
        return bits_range(columns_of(found))


def degree_classes(indptr: Any, most: int) -> Any:
    """As in ``cpu.py``, with room for as many vertices as their bits can number (``priority`` in common.cuh)."""
    with using(indptr.device.id):
        n = len(indptr) - 1
        classes = cupy().zeros(1 << max(1, (n - 1).bit_length()), np.uint8)
        run_all(program("classes").class_degrees, n, indptr, n, most, classes)
        return classes


# ---- keys ----


def pack_ends(row: Any, col: Any, undirected: bool, found: Any) -> Any:
    """Keys of pairs of ends; ``found[0]`` gets the greatest id, a negative one being greater than all others."""
    if row.dtype != col.dtype:
        row, col = row.astype(np.int64, copy=False), col.astype(np.int64, copy=False)
    keys = cupy().empty(len(row), np.uint64)
    kernel = program("ends i32" if row.dtype == np.int32 else "ends i64").pack_ends
    run(kernel, spread(kernel, len(row))[0], row, col, len(row), int(undirected), keys, found)
    return keys


def pack_rows(indptr: Any, indices: Any) -> Any:
    """Keys of the entries of a matrix."""
    kernel, total = program("keys").pack_rows, len(indices)
    keys = cupy().empty(total, np.uint64)
    blocks, chunk = spread(kernel, total)
    run(kernel, blocks, indptr, indices, len(indptr) - 1, total, chunk, keys)
    return keys


def find_starts(keys: Any, n: int, by_column: bool = False) -> Any:
    """Where rows (or columns) 0..n start among keys that ascend by them."""
    starts = cupy().empty(n + 1, np.int64)
    run_all(program("keys").find_starts, n + 1, keys, len(keys), n, int(by_column), starts)
    return starts


def unpack(keys: Any, n: int) -> tuple[Any, Any]:
    """``indptr`` and ``indices`` of sorted keys."""
    return find_starts(keys, n), keys.view(np.int32)[::2].copy()  # the lower half of a key comes first


def id_bits(n: int) -> int:
    """Bits of the vertex numbers of n vertices."""
    return max(1, (n - 1).bit_length())


def sort_keys(keys: Any, values: Any, bits: int, width: int, keep: bool = False) -> tuple[Any, Any]:
    """Keys by the lowest ``width`` of their 2 ``bits`` bits, and values with them; equal ones keep their order.

    One pass for each 8 bits or less. ``keys`` becomes scratch unless it is to be kept; ``values`` may be None, and is
    kept.
    """
    cp, total = cupy(), len(keys)
    kind = None if values is None else values.dtype
    values = None if values is None else bits_of(values)
    kernels = program(f"sort {NOTHING if values is None else word_of(values)}")
    blocks, chunk = spread(kernels.scatter, total)
    table, totals = cp.empty(DIGITS * blocks * PARTS, np.int64), cp.empty(DIGITS, np.int64)
    passes = -(-width // 8)
    spare_keys = spare_values = None
    for number in range(passes):
        shift, end = number * width // passes, (number + 1) * width // passes
        mask = 2 ** (end - shift) - 1
        run(kernels.count_digits, blocks * PARTS, keys, total, chunk // PARTS, bits, shift, mask, table)
        run(kernels.scan_digits, mask + 1, blocks * PARTS, table, totals)
        new_keys = cp.empty_like(keys) if spare_keys is None else spare_keys
        new_values = cp.empty_like(values) if spare_values is None and values is not None else spare_values
        arrays = keys, values, total, chunk, bits, shift, mask, table, totals, new_keys, new_values
        run(kernels.scatter, blocks, *arrays)
        if number or not keep:
            spare_keys = keys
        if number:
            spare_values = values
        keys, values = new_keys, new_values
    return keys, None if values is None else values.view(kind)


def count_runs(keys: Any) -> tuple[Any, int, int]:
    """How many runs of equal keys start in each block's part, how many there are, and how many keys are no edge's."""
    cp, kernel = cupy(), program("keys").count_runs
    blocks, chunk = spread(kernel, len(keys))
    counts, found = cp.empty(blocks, np.int64), cp.zeros(2, np.uint64)
    run(kernel, blocks, keys, len(keys), chunk, counts, found)
    runs, absent = found.get()
    return (counts, chunk), int(runs), int(absent)


def merge_runs(keys: Any, values: Any, parts: tuple, runs: int, mode: str) -> tuple[Any, Any, Any]:
    """One key for each run, the values combined in order; also what ``merge_runs`` finds, on the device."""
    cp, (counts, chunk) = cupy(), parts
    new_keys, new_values = cp.empty(runs, np.uint64), None if values is None else cp.empty(runs, values.dtype)
    found = cp.zeros(2, np.uint64)
    arrays = keys, values, len(keys), chunk, counts, MERGE[mode], new_keys, new_values, found
    run(value_kernels(values).merge_runs, len(counts), *arrays)
    return new_keys, new_values, found


# ---- edges ----


def edges_to_csr(row: Any, col: Any, weight: Any, n: int) -> tuple[Any, Any, Any, int, int]:
    """Undirected edges to sorted CSR: (indptr, indices, weights, loops dropped, repeats merged).

    Ids are int32 or int64 and known to be in 0..n-1. Without weights (None) there are none in the answer; then the peak
    is 24 bytes an edge and 24 a vertex, besides the input while that is read.
    """
    if not len(row):
        cp = cupy()
        none = None if weight is None else cp.empty(0, weight.dtype)
        return cp.zeros(n + 1, np.int64), cp.empty(0, np.int32), none, 0, 0
    held = [pack_ends(row, col, True, cupy().zeros(1, np.uint64))]
    del row, col  # which frees them where the caller has let go of them
    return edge_rows(held.pop(), weight, n)


def edge_rows(keys: Any, weight: Any, n: int) -> tuple[Any, Any, Any, int, int]:
    """``edges_to_csr`` of packed edges, which become scratch."""
    cp, bits, count = cupy(), id_bits(n), len(keys)
    held = [keys]
    del keys
    upper, values = sort_keys(held.pop(), weight, bits, 2 * bits)
    parts, m, loops = count_runs(upper)
    if m < count - loops:
        upper, values, _ = merge_runs(upper, values, parts, m, "max")
    upper, values = upper[:m], None if values is None else values[:m]
    if m:
        lower, lower_values = sort_keys(upper, values, bits, bits, keep=True)
    else:
        lower, lower_values = upper, values
    above = find_starts(upper, n)
    indptr = above + find_starts(lower, n, by_column=True)
    indices = cp.empty(2 * m, np.int32)
    data, word = (None, NOTHING) if weight is None else (cp.empty(2 * m, weight.dtype), word_of(weight))
    arrays = upper, values, lower, lower_values, m, above, indptr, indices, data
    run_all(program(f"sort {word}").place_edges, m, *arrays)
    return indptr, indices, data, loops, count - loops - m
