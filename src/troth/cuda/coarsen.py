"""Contraction on a GPU: the functions of ``cpu/coarsen.py`` for a graph whose arrays are CuPy's; the same graphs.

What is computed, and why the order of the work does not change a bit of it, is said there. Here a row is put in order
in one of four ways, by its number of entries:

1. up to 32: eight lanes hold them in registers, and each counts what is below its own;
2. up to 512: a warp sorts them in shared memory;
3. up to 4096: a block does;
4. more, or so many that a bitmap of all coarse vertices has no more than four words for each: a block marks them in it
   and counts the bits before each.

Rows are written where there is room for all of their entries and then moved together. The host reads three times a
level: how many vertices there will be, how many rows of each kind, and how many entries are left.

Memory beside the two graphs: that of the entries once more; for marked rows 16 bytes an entry and, for each that is
worked on, a quarter of a byte a coarse vertex. Cost: O(n + m), for the sorts are of 4096 entries at most.

All functions work on the current device, which is that of the graph.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from troth.cuda._device import cupy
from troth.cuda._launch import FLOATS, WORDS, as_argument, bits_of, launch, load, number_of, resident, word_of
from troth.graph import Graph
from troth.order import Order

WARP, THREADS, MARK_THREADS = 32, 256, 512  # these and the next as in kernels/coarsen.cu
GROUP, SHORT, MEDIUM, LONG, TILE = 8, 32, 512, 4096, 512
ROW, CONTROL = 24, 5  # bytes of a Row, and what is counted
MOST_BITMAPS = 2**30  # bytes

TOTALS = {**dict.fromkeys(WORDS.values(), "u64"), **{FLOATS[size]: WORDS[size] for size in FLOATS}}
PROGRAMS = {
    "pairs": ("mark_first", "number_pairs", "hash_rows", "pair_equal"),
    **{("members", kind): (f"gather_members<{kind}>", f"count_fitting<{kind}>") for kind in ("i64", "double")},
    **{
        ("rows", number): (
            f"merge_short<{number}>",
            f"merge_sorted<{number}, {WARP}, {MEDIUM}>",
            f"merge_sorted<{number}, {THREADS}, {LONG}>",
            f"merge_marked<{number}>",
            f"move_rows<{total}>",
        )
        for number, total in TOTALS.items()
    },
    **{("favourites", word): (f"find_favourites<{word}>",) for word in WORDS.values()},
    **{
        ("fitting", kind, word): (f"copy_fitting<{kind}, {word}>",)
        for kind in ("i64", "double")
        for word in WORDS.values()
    },
}


class Clusters(NamedTuple):
    """Pairs and single vertices, numbered: ``first[c]`` is the first member of c, ``code[v]`` the key of v."""

    mate: Any
    first: Any
    code: Any

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.first)


def _kind(vertex_weights: Any) -> tuple[str, np.int64]:
    """The C++ type of vertex weights, and their columns."""
    return "double" if vertex_weights.dtype == np.float64 else "i64", np.int64(math.prod(vertex_weights.shape[1:]))


def number(mate: Any, threads: int | None = None) -> Clusters:
    """The clusters of a matching, or of any vertices paired."""
    cp, n = cupy(), len(mate)
    mark_first, number_pairs, *_ = load("coarsen", PROGRAMS["pairs"])
    marks, count = cp.empty(n, np.int32), 0
    if n:
        launch(mark_first, n, np.int64(n), mate, marks)
        cp.cumsum(marks, dtype=np.int32, out=marks)
        count = int(marks[-1])
    first, code = cp.empty(count, np.int32), cp.empty(n, np.uint32)
    launch(number_pairs, n, np.int64(n), mate, marks, first, code)
    return Clusters(mate, first, code)


def new_room(graph: Graph) -> None:
    """Nothing: CuPy keeps memory that was given back, and gives it again."""


def contract(
    graph: Graph, clusters: Clusters, vertex_weights: Any, room: None = None, threads: int | None = None
) -> tuple[Graph, Any, bool]:
    """The coarse graph, the coarse vertex of every vertex, and whether a sum was too great for its type."""
    cp, count, entries = cupy(), clusters.size, len(graph.indices)
    kind, columns = _kind(vertex_weights)
    gather_members, _ = load("coarsen", PROGRAMS["members", kind])
    coarse, rows = cp.empty(graph.n, np.int32), cp.empty(count * ROW, np.uint8)
    new_vertex_weights = cp.empty((count, *vertex_weights.shape[1:]), vertex_weights.dtype)
    upper, lengths = cp.empty(count + 1, np.int64), cp.zeros(count + 1 + CONTROL, np.int64)
    lengths, found = lengths[: count + 1], lengths[count:]  # the last length and the counts come to the host together
    control = found[1:].view(np.uint64)
    lists = [cp.empty(entries // (least + 1), np.int32) for least in (SHORT, MEDIUM, MEDIUM)]
    lists.append(cp.empty(len(lists[-1]), np.int64))
    members = clusters.first, clusters.mate, graph.indptr, vertex_weights, new_vertex_weights, coarse, rows, upper
    launch(gather_members, count, np.int64(count), columns, *members, *lists, control)

    whole = graph.weights.dtype.kind != "f"
    kind = np.dtype(np.int64) if whole else graph.weights.dtype
    if not entries:
        return Graph(lengths, cp.empty(0, np.int32), cp.empty(0, kind), new_vertex_weights), coarse, False
    cp.cumsum(upper, out=upper)
    merged = cp.empty(entries, np.int32), cp.empty(entries, kind)
    fine = clusters.code, graph.indices, bits_of(graph.weights) if whole else graph.weights
    _merge(number_of(graph.weights.dtype), count, lists, rows, *fine, upper, *merged, lengths, control)
    cp.cumsum(lengths, out=lengths)
    total, *_, spilled = found.get().tolist()
    indices, weights = cp.empty(total, np.int32), cp.empty(total, kind)
    *_, move_rows = load("coarsen", PROGRAMS["rows", number_of(graph.weights.dtype)])
    words = upper, lengths, merged[0], bits_of(merged[1]), indices, bits_of(weights)
    launch(move_rows, -(-total // TILE) * WARP, np.int64(count), np.int64(total), *words)
    return Graph(lengths, indices, weights, new_vertex_weights), coarse, bool(spilled)


def _merge(number: str, count: int, lists: list, *given: Any) -> None:
    """Write all rows in order, to where there is room, and their lengths."""
    cp, control = cupy(), given[-1]
    short, medium, long, mark, _ = load("coarsen", PROGRAMS["rows", number])
    launch(short, count * GROUP, np.int64(count), *given)
    mediums, longs, marked, marked_entries, _ = control.get().tolist()
    for kernel, listed, team, some in ((medium, mediums, WARP, lists[0]), (long, longs, THREADS, lists[1])):
        if listed:
            blocks = min(-(-listed * team // THREADS), 4 * resident(kernel, THREADS))
            kernel((blocks,), (THREADS,), (some, np.int64(listed), *given))
    if marked:
        words = count // WARP + 1
        blocks = min(marked, resident(mark, MARK_THREADS), max(1, MOST_BITMAPS // (8 * words)))
        bitmaps, counted = cp.zeros(blocks * words, np.uint32), cp.empty(blocks * words, np.uint32)
        sums = cp.empty(2 * marked_entries, np.float64 if number in FLOATS.values() else np.uint64)
        some = lists[2], lists[3], np.int64(marked), np.int64(words), bitmaps, counted, sums
        mark((blocks,), (MARK_THREADS,), (*some, *given))


# ---- pairs that are no neighbours ----


def _pair_equal(keys: Any, vertices: Any, mate: Any) -> None:
    """Pair those of the vertices, which ascend, that have equal keys: the first two, the next two, and so on."""
    cp, count = cupy(), len(vertices)
    *_, pair_equal = load("coarsen", PROGRAMS["pairs"])
    order = cp.argsort(keys, kind="stable")
    launch(pair_equal, count, np.int64(count), keys[order], vertices[order], mate)


def pair_twins(graph: Graph, vertices: Any, mate: Any, threads: int | None = None) -> None:
    """Pair those of the vertices, which ascend, that have the same neighbours."""
    count = len(vertices)
    if count:
        _, _, hash_rows, _ = load("coarsen", PROGRAMS["pairs"])
        keys = cupy().empty(count, np.uint64)
        launch(hash_rows, count * WARP, np.int64(count), vertices, graph.indptr, graph.indices, keys)
        _pair_equal(keys, vertices, mate)


def pair_relatives(graph: Graph, order: Order, vertices: Any, mate: Any, threads: int | None = None) -> None:
    """Pair those of the vertices, which ascend, that have the same strongest neighbour."""
    count = len(vertices)
    if count:
        (find_favourites,) = load("coarsen", PROGRAMS["favourites", word_of(graph.weights)])
        keys, rows = cupy().empty(count, np.uint64), (graph.indptr, graph.indices, bits_of(graph.weights))
        launch(find_favourites, count * WARP, np.int64(count), vertices, *rows, as_argument(order), keys)
        _pair_equal(keys, vertices, mate)


# ---- edges between vertices that are light enough ----


def fitting_edges(graph: Graph, vertex_weights: Any, limits: Any, threads: int | None = None) -> Graph:
    """The graph without the edges whose ends together weigh more than the limits."""
    cp, n, bits = cupy(), graph.n, bits_of(graph.weights)
    kind, columns = _kind(vertex_weights)
    _, count_fitting = load("coarsen", PROGRAMS["members", kind])
    (copy_fitting,) = load("coarsen", PROGRAMS["fitting", kind, word_of(graph.weights)])
    sizes, lengths = (np.int64(n), columns, graph.indptr, graph.indices), cp.empty(n + 1, np.int64)
    launch(count_fitting, n * WARP, *sizes, vertex_weights, limits, lengths)
    indptr = cp.cumsum(lengths, out=lengths)
    total = int(indptr[-1])
    indices, new_bits = cp.empty(total, np.int32), cp.empty(total, bits.dtype)
    launch(copy_fitting, n * WARP, *sizes, bits, vertex_weights, limits, indptr, indices, new_bits)
    return Graph(indptr, indices, new_bits.view(graph.weights.dtype))
