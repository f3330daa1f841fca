"""One-way handshaking once more, as the course project has it: six kernels on a list of edges that is packed.

Reference: Efficient Parallel Graph Matching, a course project of Rutgers CS 314 (2020). Below is one function for each
of its kernels, with its name and its arguments, as in ``cuda/handshake.py``; every array that they leave, in every
pass, is the same as there (``tests/cuda/test_emulated_handshake.py``), for any number of threads.

Invariant: at the start of a round the list (src, dst, weight) holds the edges between unmatched vertices, both
directions, by source and then destination; the edges of one source are a segment. Each output word of a kernel depends
on its inputs alone. Cost of a round: O(log Delta) passes over the edges left to scan, O(log m) to sum, and one for each
of the others; ``cpu/handshake.py``, which moves no edge, is faster.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import numpy as np

from troth.contract import Context, Result
from troth.graph import Graph
from troth.kernels.jit import kernel
from troth.kernels.team import chunks, run_team, thread_count
from troth.order import Order, priority, weight_bits

Array = np.ndarray
KERNELS = ("scan", "collate", "check", "mark", "sum", "pack")
WIDE = 2**31  # edges; sums of so many need 64 bits


@kernel
def scan_pass(worker, cursor, chunk, src, old_dst, old_bits, distance, order, new_dst, new_bits):
    """new[i] = the stronger of old[i] and, where that is of the same source, old[i - distance].

    Returns whether a destination changed.
    """
    changed = False
    for first, last in chunks(cursor, chunk, len(src)):
        for i in range(first, last):
            dst, bits = old_dst[i], old_bits[i]
            if i >= distance and src[i] == src[i - distance]:
                other, other_bits = old_dst[i - distance], old_bits[i - distance]
                tied = bits == other_bits
                if bits < other_bits or (tied and priority(order, np.uint32(dst)) < priority(order, np.uint32(other))):
                    changed |= dst != other
                    dst, bits = other, other_bits
            new_dst[i], new_bits[i] = dst, bits
    return changed


@kernel
def collate_pass(worker, cursor, chunk, src, scan_result, output):
    """output[v] = scan_result at the end of v's segment."""
    for first, last in chunks(cursor, chunk, len(src)):
        for i in range(first, last):
            if i + 1 == len(src) or src[i + 1] != src[i]:
                output[src[i]] = scan_result[i]


@kernel
def check_pass(worker, cursor, chunk, strong_neighbour, matches):
    """matches[v] = strong_neighbour[v], where v is unmatched and that neighbour points back."""
    for first, last in chunks(cursor, chunk, len(matches)):
        for v in range(first, last):
            s = strong_neighbour[v]
            if s >= 0 and strong_neighbour[s] == v and matches[v] == -1:
                matches[v] = s


@kernel
def mark_pass(worker, cursor, chunk, src, dst, matches, keep_edges):
    """keep_edges[i] = 1 where both ends of edge i are unmatched, else 0."""
    for first, last in chunks(cursor, chunk, len(src)):
        for i in range(first, last):
            keep_edges[i] = matches[src[i]] == -1 and matches[dst[i]] == -1


@kernel
def sum_pass(worker, cursor, chunk, old_sum, distance, new_sum):
    """Distance 0 moves items one place on, 0 to the front; else new_sum[x] = old_sum[x] + old_sum[x - distance]."""
    for first, last in chunks(cursor, chunk, len(new_sum)):
        for x in range(first, last):
            if distance == 0:
                new_sum[x] = old_sum[x - 1] if x > 0 else 0
            else:
                new_sum[x] = old_sum[x] + old_sum[x - distance] if x >= distance else old_sum[x]


@kernel
def pack_pass(worker, cursor, chunk, old_src, old_dst, old_bits, edge_map, new_src, new_dst, new_bits):
    """new[edge_map[x]] = old[x] for the edges that are kept, those x with edge_map[x] != edge_map[x + 1]."""
    for first, last in chunks(cursor, chunk, len(old_src)):
        for x in range(first, last):
            place = edge_map[x]
            if edge_map[x + 1] != place:
                new_src[place], new_dst[place], new_bits[place] = old_src[x], old_dst[x], old_bits[x]


# ---- the six kernels, with the course project's arguments: the counts are those of the arrays ----


def strongest_neighbour_scan(
    src: Array,
    old_dst: Array,
    new_dst: Array,
    old_weight: Array,
    new_weight: Array,
    made_changes: Array,
    distance: int,
    order: Order,
    threads: int = 1,
) -> None:
    """One pass of the segment scan; sets ``made_changes[0]`` to 1 if and only if a destination changed."""
    old, new = weight_bits(old_weight), weight_bits(new_weight)
    if any(run_team(scan_pass, len(src), threads, src, old_dst, old, distance, order, new_dst, new)):
        made_changes[0] = 1


def collate_segments(src: Array, scan_result: Array, output: Array, threads: int = 1) -> None:
    """``output[v]`` becomes the scan's result at the end of v's segment; others keep what they have."""
    run_team(collate_pass, len(src), threads, src, scan_result, output)


def check_handshaking(strong_neighbour: Array, matches: Array, threads: int = 1) -> None:
    """Match the unmatched vertices that point at each other."""
    run_team(check_pass, len(matches), threads, strong_neighbour, matches)


def mark_filter_edges(src: Array, dst: Array, matches: Array, keep_edges: Array, threads: int = 1) -> None:
    """1 for the edges whose ends are unmatched, else 0; ``keep_edges`` may be longer, and the rest is left."""
    run_team(mark_pass, len(src), threads, src, dst, matches, keep_edges)


def exclusive_prefix_sum(old_sum: Array, new_sum: Array, distance: int, threads: int = 1) -> None:
    """One pass of the sum."""
    run_team(sum_pass, len(new_sum), threads, old_sum, distance, new_sum)


def pack_graph(
    new_src: Array,
    old_src: Array,
    new_dst: Array,
    old_dst: Array,
    new_weight: Array,
    old_weight: Array,
    edge_map: Array,
    threads: int = 1,
) -> None:
    """Move the edges that are kept to where ``edge_map``, which has one item more than there are edges, says."""
    old, new = weight_bits(old_weight), weight_bits(new_weight)
    run_team(pack_pass, len(old_src), threads, old_src, old_dst, old, edge_map, new_src, new_dst, new)


# ---- their use ----


def scan(src: Array, dst: Array, weight: Array, order: Order, threads: int) -> tuple[np.ndarray, int]:
    """The segment scan: distances 1, 2, 4, ... until a pass changes nothing. Returns the result and the passes."""
    made_changes = np.zeros(1, np.int32)
    new, old = ((np.empty_like(dst), np.empty_like(weight)) for _ in range(2))
    for done in range(64):
        made_changes[0] = 0
        strongest_neighbour_scan(src, dst, new[0], weight, new[1], made_changes, 2**done, order, threads)
        dst, weight = new
        if not made_changes[0]:
            break
        new, old = old, new
    return dst, done + 1


def sum_up(keep: Array, spare: Array, threads: int) -> np.ndarray:
    """The exclusive prefix sum: distances 0, 1, 2, 4, ...; uses up both arrays."""
    distance = 0
    while distance < len(keep):
        exclusive_prefix_sum(keep, spare, distance, threads)
        keep, spare = spare, keep
        distance = max(1, 2 * distance)
    return keep


def list_edges(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The course project's list of edges: source, destination and weight of every stored entry."""
    src = np.repeat(np.arange(graph.n, dtype=np.int32), np.diff(graph.indptr))
    return src, graph.indices, graph.weights


def run_packed(graph: Graph, order: Order, context: Context) -> Result:
    """The engine with ``packed=True``; see ``contract.py``. ``counts["edges"]`` are the edges left after each round."""
    threads = thread_count(context.threads, graph.n + len(graph.indices))
    seconds = dict.fromkeys(KERNELS, 0.0)

    @contextmanager
    def during(name: str) -> Iterator[None]:
        start = perf_counter()
        yield
        seconds[name] += perf_counter() - start

    matches, strong = np.full(graph.n, -1, np.int32), np.full(graph.n, -1, np.int32)
    src, dst, weight = list_edges(graph)
    edges, passes, read = list[int](), 0, 0
    while count := len(dst):
        context.report(graph.m - count // 2, graph.m)
        with during("scan"):
            result, done = scan(src, dst, weight, order, threads)
        with during("collate"):
            collate_segments(src, result, strong, threads)
        with during("check"):
            check_handshaking(strong, matches, threads)
        keep, spare = (np.zeros(count + 1, np.int32 if count < WIDE else np.int64) for _ in range(2))
        with during("mark"):
            mark_filter_edges(src, dst, matches, keep, threads)
        with during("sum"):
            edge_map = sum_up(keep, spare, threads)
        left = int(edge_map[count])
        edges.append(left // 2)
        passes, read = passes + done, read + done * count
        new = np.empty(left, np.int32), np.empty(left, np.int32), np.empty(left, weight.dtype)
        if left:
            with during("pack"):
                pack_graph(new[0], src, new[1], dst, new[2], weight, edge_map, threads)
        src, dst, weight = new
    context.report(graph.m, graph.m)
    counts = {"rounds": len(edges), "edges": edges, "passes": passes, "edges_read": read, "threads": threads}
    return Result(matches, counts, seconds)
