"""One-way handshaking with the six kernels of the course project, and strongest neighbours in one pass.

Reference: Efficient Parallel Graph Matching, a course project at Rutgers University (2020), after J. Cohen and
P. Castonguay, Efficient graph matching and coloring on the GPU, GTC 2012. The kernels are in ``kernels/handshake.cu``,
and below is one thin function for each, of the same name and the same arguments (the counts are those of the arrays).

Invariant: at the start of a round the list (src, dst, weight) holds the edges between unmatched vertices, both
directions, by source and then destination. Every vertex in it points at its strongest neighbour (scan, collate); those
who point at each other match (check), as do the ends of the heaviest edge left, so every round ends with fewer edges
(mark, sum, pack). ``cpu/handshake.py`` has the same rounds, and says why they give the one stable matching.

Every kernel runs on ``gpu_threads`` threads: one block of so many up to 256, and above that blocks of 256, so that the
number is rounded up to a multiple of 256. None takes what fills the device. Cost of a round: O(log Delta) passes over
the edges left to scan, O(log m) to sum, and one for each of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from troth.arrays import cupy
from troth.contract import Context, Result
from troth.graph import Graph
from troth.kernels.launch import BLOCK, WARP, WORDS, DeviceClock, bits_of, define, launch, load, word_of
from troth.order import ORDER_CONSTANTS, Order, as_argument, for_order

KERNELS = ("scan", "collate", "check", "mark", "sum", "pack")
SUMS = {4: "i32", 8: "i64"}  # the type of the sums by size in bytes
LANES = (4, 16)  # how many lanes look at a row
MORE_LANES_FROM = 16  # entries a row, in the mean: then more lanes look at it
WIDE = 2**31  # edges; sums of so many need 64 bits
MOST_BLOCKS = 2**13  # two million threads are more than any device runs at one time
CONSTANTS = (*ORDER_CONSTANTS, *define(BLOCK=BLOCK))

PROGRAMS = {
    "edges": (
        "list_sources",
        "collate_segments",
        "check_handshaking",
        *(f"mark_filter_edges<{kind}>" for kind in SUMS.values()),
        *(f"exclusive_prefix_sum<{kind}>" for kind in SUMS.values()),
    ),
    **{
        word: (
            f"strongest_neighbour_scan<{word}>",
            *(f"pack_graph<{word}, {kind}>" for kind in SUMS.values()),
            *(f"find_strongest<{word}, {lanes}>" for lanes in LANES),
        )
        for word in WORDS.values()
    },
}


def _kernel(program: str, name: str, constants: tuple[str, ...] = CONSTANTS) -> Any:
    return load("handshake", PROGRAMS[program], constants)[PROGRAMS[program].index(name)]


def _over(total: int, gpu_threads: int | None, kernel: Any, *args: Any) -> None:
    """Run a kernel that loops over ``total`` items on ``gpu_threads`` threads."""
    if total:
        count = min(total, MOST_BLOCKS * BLOCK) if gpu_threads is None else gpu_threads
        launch(kernel, count, *args, block=min(count, BLOCK))


# ---- the six kernels: arrays are CuPy's, ints int32, weights of any type that Graph has ----


def strongest_neighbour_scan(
    src, old_dst, new_dst, old_weight, new_weight, made_changes, distance, order: Order, gpu_threads=None
) -> None:
    """One pass of the segment scan; sets ``made_changes[0]`` to 1 if and only if a destination changed."""
    word, count = word_of(old_weight), len(src)
    arrays = (src, old_dst, new_dst, bits_of(old_weight), bits_of(new_weight), made_changes)
    kernel = _kernel(word, f"strongest_neighbour_scan<{word}>", for_order(order, CONSTANTS))
    _over(count, gpu_threads, kernel, *arrays, np.int64(distance), np.int64(count), as_argument(order))


def collate_segments(src, scan_result, output, gpu_threads=None) -> None:
    """``output[v]`` becomes the scan's result at the end of v's segment."""
    _over(len(src), gpu_threads, _kernel("edges", "collate_segments"), src, scan_result, output, np.int64(len(src)))


def check_handshaking(strong_neighbour, matches, gpu_threads=None) -> None:
    """Match the unmatched vertices that point at each other."""
    count = len(matches)
    _over(count, gpu_threads, _kernel("edges", "check_handshaking"), strong_neighbour, matches, np.int32(count))


def mark_filter_edges(src, dst, matches, keep_edges, gpu_threads=None) -> None:
    """1 for the edges whose ends are unmatched, else 0; the sums' type is that of ``keep_edges``."""
    kernel = _kernel("edges", f"mark_filter_edges<{SUMS[keep_edges.itemsize]}>")
    _over(len(src), gpu_threads, kernel, src, dst, matches, keep_edges, np.int64(len(src)))


def exclusive_prefix_sum(old_sum, new_sum, distance, gpu_threads=None) -> None:
    """One pass of the sum; ``old_sum`` may be one shorter than ``new_sum`` for distance 0."""
    kernel = _kernel("edges", f"exclusive_prefix_sum<{SUMS[new_sum.itemsize]}>")
    _over(len(new_sum), gpu_threads, kernel, old_sum, new_sum, np.int64(distance), np.int64(len(new_sum)))


def pack_graph(new_src, old_src, new_dst, old_dst, new_weight, old_weight, edge_map, gpu_threads=None) -> None:
    """Move the edges that are kept to where ``edge_map``, which has one item more than there are edges, says."""
    word, count = word_of(old_weight), len(old_src)
    kernel = _kernel(word, f"pack_graph<{word}, {SUMS[edge_map.itemsize]}>")
    arrays = (new_src, old_src, new_dst, old_dst, bits_of(new_weight), bits_of(old_weight), edge_map)
    _over(count, gpu_threads, kernel, *arrays, np.int64(count))


# ---- their use ----


class _Clock:
    """Seconds on the device by kernel. Nothing waits for an event: they are read when the host has waited anyway."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(KERNELS, 0.0)
        self._open: list[tuple] = []

    @contextmanager
    def during(self, name: str) -> Iterator[None]:
        start, stop = cupy().cuda.Event(), cupy().cuda.Event()
        start.record()
        yield
        stop.record()
        self._open.append((name, start, stop))

    def read(self) -> None:
        """Add up all that was recorded; the host has seen the end of it."""
        for name, start, stop in self._open:
            self.seconds[name] += cupy().cuda.get_elapsed_time(start, stop) / 1000
        self._open.clear()


def _sources(graph: Graph) -> Any:
    """The source of every stored entry: with ``indices`` and ``weights`` the course project's list of edges."""
    src = cupy().empty(len(graph.indices), np.int32)
    launch(_kernel("edges", "list_sources"), graph.n * WARP, graph.indptr, np.int32(graph.n), src)
    return src


def _scan(src, dst, weight, order: Order, gpu_threads) -> tuple[Any, int]:
    """The segment scan: distances 1, 2, 4, ... until a pass changes nothing. Returns the result and the passes."""
    cp = cupy()
    flags = cp.zeros(64, np.int32)  # one a pass: distances fit 63 bits
    new, old = ((cp.empty_like(dst), cp.empty_like(weight)) for _ in range(2))
    for done in range(64):
        strongest_neighbour_scan(src, dst, new[0], weight, new[1], flags[done:], 2**done, order, gpu_threads)
        dst, weight = new
        if not int(flags[done]):
            break
        new, old = old, new
    return dst, done + 1


def _sum(keep, spare, gpu_threads) -> Any:
    """The exclusive prefix sum: distances 0, 1, 2, 4, ...; uses up both arrays."""
    distance = 0
    while distance < len(keep):
        exclusive_prefix_sum(keep, spare, distance, gpu_threads)
        keep, spare = spare, keep
        distance = max(1, 2 * distance)
    return keep


def strongest(graph: Graph, order: Order, gpu_threads: int | None = None) -> Any:
    """The neighbour that each vertex prefers, -1 where there is none.

    One pass over the rows; with ``gpu_threads`` by the course project's scan, on so many threads.
    """
    if not len(graph.indices):
        return cupy().full(graph.n, -1, np.int32)
    if gpu_threads is not None:
        found = cupy().full(graph.n, -1, np.int32)  # none for those without a neighbour
        src = _sources(graph)
        result, _ = _scan(src, graph.indices, graph.weights, order, gpu_threads)
        collate_segments(src, result, found, gpu_threads)
        return found
    word, lanes = word_of(graph.weights), LANES[len(graph.indices) >= MORE_LANES_FROM * graph.n]
    rows = (graph.indptr, graph.indices, bits_of(graph.weights))
    found = cupy().empty(graph.n, np.int32)
    kernel = _kernel(word, f"find_strongest<{word}, {lanes}>", for_order(order, CONSTANTS))
    launch(kernel, graph.n * lanes, *rows, as_argument(order), np.int32(graph.n), found)
    return found


def run(graph: Graph, order: Order, context: Context, *, gpu_threads: int | None = None) -> Result:
    """The engine; see ``contract.py``. ``counts["edges"]`` are the edges left after each round."""
    whole, cp = DeviceClock(), cupy()
    matches, strong = cp.full(graph.n, -1, np.int32), cp.full(graph.n, -1, np.int32)
    src, dst, weight = _sources(graph), graph.indices, graph.weights
    clock, edges, passes, read = _Clock(), [], 0, 0
    while count := len(dst):
        context.report(graph.m - count // 2, graph.m)
        with clock.during("scan"):
            result, done = _scan(src, dst, weight, order, gpu_threads)
        with clock.during("collate"):
            collate_segments(src, result, strong, gpu_threads)
        del result
        with clock.during("check"):
            check_handshaking(strong, matches, gpu_threads)
        keep, spare = (cp.empty(count + 1, np.int32 if count < WIDE else np.int64) for _ in range(2))
        with clock.during("mark"):
            mark_filter_edges(src, dst, matches, keep, gpu_threads)
        with clock.during("sum"):
            edge_map = _sum(keep, spare, gpu_threads)
        left = int(edge_map[count])
        clock.read()
        edges.append(left // 2)
        passes, read = passes + done, read + done * count
        new = (cp.empty(left, np.int32), cp.empty(left, np.int32), cp.empty(left, weight.dtype))
        if left:
            with clock.during("pack"):
                pack_graph(new[0], src, new[1], dst, new[2], weight, edge_map, gpu_threads)
        del keep, spare, edge_map
        src, dst, weight = new
    context.report(graph.m, graph.m)
    counts = {"rounds": len(edges), "edges": edges, "passes": passes, "edges_read": read}
    return Result(matches, counts, {"kernels": whole.stop(), **clock.seconds})
