"""Contraction on a GPU: the functions of ``cpu/coarsen.py`` for a graph whose arrays are CuPy's; the same graphs.

What is computed, and why the order of the work does not change a bit of it, is said there. Here a row is put in order
in one of these ways, by its number of entries:

1. up to 32: eight lanes hold them in registers, and each counts what is below its own;
2. up to 512: a warp sorts them in shared memory;
3. more, or so many that a bitmap of all coarse vertices has no more than a word for each: a block marks them in such a
   bitmap, counts the bits before each, and adds up weights at the places that it so knows, all in shared memory;
4. where the bitmap does not fit there: a block sorts up to 4096, and marks more, or more neighbours than have room
   there, in memory.

Rows are written where there is room for all of their entries and then moved together.

On all but the largest levels the host takes longer over a launch, an allocation or a read than the card over its work,
so there are few. ``number_pairs`` and ``place_rows`` need no scan beside them: their blocks count, meet, and then know
what is before them. A level of short rows is these two, ``merge_short`` between them, and ``move_rows``; the host reads
how many vertices there will be and how many rows of each kind, and then how many entries are left. Arrays that do not
outlive a level share one piece of memory. Vertices that are no neighbours are listed by ``number_pairs``; one kernel
finds their keys, sorts and pairs them, and only where they are very many CuPy sorts.

Memory beside the two graphs: some 45 bytes a vertex; that of the entries once more; for marked rows 16 bytes an entry
and, for each that is worked on, a quarter of a byte a coarse vertex. Cost: O(n + m), for rows that are sorted have 4096
entries at most; and O(k log k) for k vertices that are paired without being neighbours.

All functions work on the current device, which is that of the graph.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from troth.arrays import cupy, make_room_to_sort
from troth.graph import Graph
from troth.kernels.launch import (
    FLOATS,
    WARP,
    WORDS,
    Memory,
    bits_of,
    define,
    launch,
    launch_cooperative,
    launch_shared,
    load,
    most_shared,
    number_of,
    resident,
    word_of,
)
from troth.order import ORDER_CONSTANTS, Order, as_argument, for_order

THREADS = 256  # of every block but those of merge_marked
MARK_THREADS = 512
NEAR_THREADS = {"longs": 512, "marked": 1024}  # of blocks that mark a row in shared memory
GROUP = 8  # lanes that share a short row
SHORT, MEDIUM, LONG = 32, 512, 4096  # entries of rows: those that a group and a warp put in order, and a small block
WORDS_EACH = 1  # words of a bitmap for each entry; rows of 512 entries or fewer are marked where it has no more
TILE = 512  # entries that a warp moves
ROW_BYTES, KEYED_BYTES, SUM_BYTES, WORD_BYTES = 32, 16, 8, 4  # of a Row, a Keyed, a sum and a word in the kernels
NULL = np.uint64(0)
# What is counted, a word each; ``kernels/coarsen.cu`` says what.
CONTROL = ("mediums", "longs", "marked", "marked_entries", "count", "total", "spilled", "numbered", "placed", "far")
SORTED_IN_KERNEL = 2**21  # vertices; the kernel that pairs them sorts so many, and CuPy more
FEW_VERTICES = 2**22  # two numbers a vertex, and a place among 512, fit 32 bits
MOST_BITMAPS = 2**30  # bytes
ROW_CONSTANTS = (
    *define(THREADS=THREADS, MARK_THREADS=MARK_THREADS, GROUP=GROUP, SHORT=SHORT, MEDIUM=MEDIUM, LONG=LONG, TILE=TILE),
    *define(WORDS_EACH=WORDS_EACH),
    *define(**{name.upper(): place for place, name in enumerate(CONTROL)}),
)
CONSTANTS = (*ORDER_CONSTANTS, *ROW_CONSTANTS, *define(ROW_BYTES=ROW_BYTES, KEYED_BYTES=KEYED_BYTES))

TOTALS = {**dict.fromkeys(WORDS.values(), "u64"), **{FLOATS[size]: WORDS[size] for size in FLOATS}}
PROGRAMS: dict[Any, tuple[str, ...]] = {
    "pairs": ("number_pairs", "pair_twins", "pair_sorted"),
    **{("vertices", kind): (f"place_rows<{kind}>", f"count_fitting<{kind}>") for kind in ("i64", "double")},
    **{
        ("rows", number): (
            f"merge_short<{number}>",
            *(f"merge_sorted<{number}, {word}, {WARP}, {MEDIUM}>" for word in ("u32", "u64")),
            f"merge_sorted<{number}, u64, {THREADS}, {LONG}>",
            *(f"merge_near<{number}, {threads}>" for threads in NEAR_THREADS.values()),
            f"merge_marked<{number}>",
            f"move_rows<{total}>",
        )
        for number, total in TOTALS.items()
    },
    **{("relatives", word): (f"pair_relatives<{word}>",) for word in WORDS.values()},
    **{
        ("fitting", kind, word): (f"copy_fitting<{kind}, {word}>",)
        for kind in ("i64", "double")
        for word in WORDS.values()
    },
}


class Clusters(NamedTuple):
    """Pairs and single vertices, numbered, and what is known of their rows; ``kernels/coarsen.cu`` has the details."""

    mate: Any
    coarse: Any  # the cluster of every vertex
    size: int  # how many there are
    counted: dict[str, int]  # by the names in CONTROL, as far as it is known
    control: Any  # the same on the device
    memory: Memory  # all other arrays

    @property
    def alone(self) -> Any:
        """The single vertices, ascending."""
        return self.memory.view("alone", np.int32)[: 2 * self.size - len(self.mate)]


def vertex_kind(vertex_weights: Any) -> tuple[str, np.int64]:
    """The C++ type of vertex weights, and their columns."""
    return "double" if vertex_weights.dtype == np.float64 else "i64", np.int64(math.prod(vertex_weights.shape[1:]))


def launch_meeting(kernel: Any, items: int, *args: Any) -> None:
    """Run a kernel whose blocks meet: a thread for each item, or as many as can run at one time."""
    launch_cooperative(kernel, max(1, min(-(-items // THREADS), resident(kernel, THREADS))), THREADS, *args)


def lists_of_rows(entries: int) -> dict[str, int]:
    """Bytes of the lists of rows that are not short, by name: there are so many of some kind at most."""
    most, marked = entries // (SHORT + 1), entries // (LONG + 1)
    return {"mediums": 4 * most, "longs": 4 * most, "marked": 4 * marked, "marked_at": 8 * marked}


class Marking:
    """Where rows of a graph with ``count`` vertices are marked, and with how many words of shared memory.

    Sums of a place take ``each`` words there.
    """

    def __init__(self, count: int, each: int) -> None:
        self.words = count // WARP + 1
        self._bits = (2 * self.words + 3) // 4 * 4
        room = most_shared() // WORD_BYTES - self._bits
        self.near = room >= 2 * LONG  # else nothing is marked there
        self._sums = {"longs": 2 * LONG, "marked": min(max(each * count, 2 * LONG), room)}

    def launch_near(self, kernel: Any, name: str, count: int, rows: Any, *given: Any) -> None:
        """Mark so many rows of a list in shared memory, a block each."""
        if count:
            sums, threads = self._sums[name], NEAR_THREADS[name]
            words = np.uint32(self.words), np.uint32(sums)
            launch_shared(kernel, count, threads, WORD_BYTES * (self._bits + sums), rows, *words, *given)

    def markers(self, kernel: Any, marked: int) -> int:
        """How many blocks mark rows in bitmaps of their own, in memory."""
        return min(marked, resident(kernel, MARK_THREADS), max(1, MOST_BITMAPS // (2 * WORD_BYTES * self.words)))


def merge_listed(
    marking: Marking, kernels: list, counted: dict[str, int], memory: Memory, marks: list, far: list, *given: Any
) -> None:
    """Put in order all rows that are not short.

    ``marks`` is scratch of those that are marked in memory, and ``far`` where others are listed that have to be.
    """
    medium, medium_among_many, sort_long, mark_long, mark_near, mark = kernels

    def sort(kernel: Any, name: str, team: int) -> None:
        if counted[name]:
            blocks = min(-(-counted[name] * team // THREADS), 4 * resident(kernel, THREADS))
            kernel((blocks,), (THREADS,), (memory[name], np.int64(counted[name]), *given))

    sort(medium if marking.words * WARP <= FEW_VERTICES else medium_among_many, "mediums", WARP)
    if marking.near:
        for kernel, name in ((mark_long, "longs"), (mark_near, "marked")):
            marking.launch_near(kernel, name, counted[name], memory[name], *far, *given)
    else:
        sort(sort_long, "longs", THREADS)
    if (marked := counted["marked"]) and (far or not marking.near):
        which = memory["marked"], memory["marked_at"], np.int64(marked), np.int64(marking.words)
        left = far if marking.near else [NULL] * len(far)
        mark((marking.markers(mark, marked),), (MARK_THREADS,), (*which, *marks, *left, *given))


def _merge(graph: Graph, clusters: Clusters, size: int, lengths: Any) -> Memory:
    """All rows in order, where there is room, with weights of so many bytes; fills in their lengths."""
    count, entries, memory, counted = clusters.size, len(graph.indices), clusters.memory, clusters.counted
    short, *listed, _ = load("coarsen", PROGRAMS["rows", number_of(graph.weights.dtype)], CONSTANTS)
    marking = Marking(count, 2 * SUM_BYTES // WORD_BYTES)
    far_entries = 0 if marking.near else counted["marked_entries"]
    bitmaps = 0 if marking.near else WORD_BYTES * marking.words * marking.markers(listed[-1], counted["marked"])
    others = {
        "counted": bitmaps,
        "sums": 2 * SUM_BYTES * far_entries,
        "indices": 4 * entries,
        "weights": size * entries,
    }
    merged = Memory({"bitmaps": bitmaps}, others).clear()
    fine = memory["rows"], memory["code"], graph.indices, graph.weights
    given = *fine, merged["indices"], merged["weights"], lengths, memory["control"]
    launch(short, count * GROUP, np.int64(count), *given)
    marks = [merged[name] for name in ("bitmaps", "counted", "sums")]
    merge_listed(marking, listed, counted, memory, marks, [], *given)
    return merged


# ---- pairs that are no neighbours ----


def _pair(kernel: Any, graph: Graph, vertices: Any, mate: Any, *given: Any) -> None:
    """Pair those of the vertices, which ascend, that have equal keys: the first two, the next two, and so on."""
    count = len(vertices)
    if count < 2:
        return
    few = count <= SORTED_IN_KERNEL  # then there is room for them twice
    memory = Memory({"arrived": 4}, {"keyed": KEYED_BYTES * count * (2 if few else 1)}).clear()
    rows = np.int64(count), np.int64(few), vertices, graph.indptr, graph.indices
    launch_meeting(kernel, count * WARP, *rows, *given, memory["keyed"], memory["arrived"], mate)
    if not few:
        cp, keyed = cupy(), memory.view("keyed", np.uint64).reshape(count, 2)
        make_room_to_sort(cp, count, 8)
        by_key = cp.argsort(keyed[:, 0], kind="stable")
        *_, pair_sorted = load("coarsen", PROGRAMS["pairs"], CONSTANTS)
        launch(pair_sorted, count, np.int64(count), keyed[by_key], mate)


# ---- the device's part ----


class CudaCoarsening:
    """Coarsening on the current GPU (see ``contract.Coarsening``)."""

    def number_clusters(self, graph: Graph, mate: Any) -> Clusters:
        """The clusters of a matching, or of any vertices paired."""
        n = graph.n
        each = {"first": 4, "code": 4, "alone": 4, "rows": ROW_BYTES}
        lists = lists_of_rows(len(graph.indices))
        sums = 16 * max(1, -(-n // THREADS))
        rest = {name: n * size for name, size in each.items()} | lists | {"sums": sums}
        memory = Memory({"control": 8 * len(CONTROL)}, rest).clear()
        control, coarse = memory.view("control", np.uint64), cupy().empty(n, np.int32)
        number_pairs, *_ = load("coarsen", PROGRAMS["pairs"], CONSTANTS)
        arrays = (memory[name] for name in (*each, *lists, "sums", "control"))
        launch_meeting(number_pairs, n, np.int64(n), mate, graph.indptr, coarse, *arrays)
        counted = dict(zip(CONTROL, control.tolist(), strict=True))
        return Clusters(mate, coarse, counted["count"], counted, control, memory)

    def contract(self, graph: Graph, clusters: Clusters, vertex_weights: Any) -> tuple[Graph, Any, bool]:
        """The coarse graph, the coarse vertex of every vertex, and whether a sum was too great for its type."""
        cp, count, memory = cupy(), clusters.size, clusters.memory
        kind = graph.weights.dtype if graph.weights.dtype.kind == "f" else np.dtype(np.int64)
        indptr = cp.empty(count + 1, np.int64)
        merged = _merge(graph, clusters, kind.itemsize, indptr)

        new_vertex_weights = cp.empty((count, *vertex_weights.shape[1:]), vertex_weights.dtype)
        name, columns = vertex_kind(vertex_weights)
        place_rows, _ = load("coarsen", PROGRAMS["vertices", name], CONSTANTS)
        members = memory["first"], clusters.mate, vertex_weights, new_vertex_weights
        launch_meeting(place_rows, count, np.int64(count), columns, *members, indptr, memory["sums"], memory["control"])
        counted = dict(zip(CONTROL, clusters.control.tolist(), strict=True))
        total = counted["total"]
        indices, weights = cp.empty(total, np.int32), cp.empty(total, kind)
        *_, move_rows = load("coarsen", PROGRAMS["rows", number_of(graph.weights.dtype)], CONSTANTS)
        arrays = memory["rows"], indptr, merged["indices"], merged["weights"], indices, weights
        launch(move_rows, -(-total // TILE) * WARP, np.int64(count), np.int64(total), *arrays)
        return Graph.trusted(indptr, indices, weights, new_vertex_weights), clusters.coarse, bool(counted["spilled"])

    def pair_twins(self, graph: Graph, vertices: Any, mate: Any) -> None:
        """Pair those of the vertices, which ascend, that have the same neighbours."""
        _, kernel, _ = load("coarsen", PROGRAMS["pairs"], CONSTANTS)
        _pair(kernel, graph, vertices, mate)

    def pair_relatives(self, graph: Graph, order: Order, vertices: Any, mate: Any) -> None:
        """Pair those of the vertices, which ascend, that have the same strongest neighbour."""
        (kernel,) = load("coarsen", PROGRAMS["relatives", word_of(graph.weights)], for_order(order, CONSTANTS))
        _pair(kernel, graph, vertices, mate, graph.weights, as_argument(order))

    def fitting_edges(self, graph: Graph, vertex_weights: Any, limits: Any) -> Graph:
        """The graph without the edges whose ends together weigh more than the limits."""
        cp, n, bits = cupy(), graph.n, bits_of(graph.weights)
        kind, columns = vertex_kind(vertex_weights)
        _, count_fitting = load("coarsen", PROGRAMS["vertices", kind], CONSTANTS)
        (copy_fitting,) = load("coarsen", PROGRAMS["fitting", kind, word_of(graph.weights)], CONSTANTS)
        sizes, lengths = (np.int64(n), columns, graph.indptr, graph.indices), cp.empty(n + 1, np.int64)
        launch(count_fitting, n * WARP, *sizes, vertex_weights, limits, lengths)
        indptr = cp.cumsum(lengths, out=lengths)
        total = int(indptr[-1])
        indices, new_bits = cp.empty(total, np.int32), cp.empty(total, bits.dtype)
        launch(copy_fitting, n * WARP, *sizes, bits, vertex_weights, limits, indptr, indices, new_bits)
        return Graph.trusted(indptr, indices, new_bits.view(graph.weights.dtype))
