"""Global greedy: take the heaviest edge, drop its neighbours, repeat.

Reference: D. Avis, A survey of heuristics for the weighted matching problem, Networks 13 (1983); "global weighted
matching" in Fagginger Auer and Bisseling 2011.

Invariant: edges are met in the order (w, max priority, min priority) descending, which agrees with what every vertex
prefers (``reference.py`` has the proof); so an edge whose ends are both free is the heaviest edge left at both.

An edge is two numbers: the bits of its weight, and its *rank* ``max priority << 32 | min priority``, from which its
ends are found again. Edges are sorted by radix on the bits, then every run of equal bits by rank: the short ones by
merging, the long ones by radix again. O(n + m).
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from troth.contract import Context, Result
from troth.graph import Graph
from troth.kernels.atomics import load
from troth.kernels.jit import kernel
from troth.kernels.sort import merge_sort, radix_sort
from troth.kernels.team import FAR, chunks, run_team, thread_count
from troth.order import MASK, ONE, PRIORITY_BITS, Order, priority, vertex
from troth.rows import rows_of

LONG = 1 << 16  # runs from this length on are worth the calls of a radix sort


@kernel
def list_edges(worker, cursor, chunk, rows, order, keys, ranks):
    """Every edge once, from the row of its smaller end; on one thread."""
    to = np.uint64(0)
    for first, last in chunks(cursor, chunk, len(rows.indptr) - 1):
        for u in range(first, last):
            own = priority(order, u)
            for e in range(np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + 1])):
                if rows.indices[e] > u:
                    other = priority(order, rows.indices[e])
                    keys[to] = rows.bits[e]
                    ranks[to] = max(own, other) << PRIORITY_BITS | min(own, other)
                    to += ONE


@kernel
def settle_runs(worker, cursor, chunk, keys, spare_keys, spare_ranks, ranks, long):
    """Sort the short runs of equal keys by rank; ``long[i]`` becomes start and end of the i-th long one.

    On one thread, since a run may have any length. Returns how many long ones there are.
    """
    count = 0
    start, size = np.uint64(0), np.uint64(len(keys))
    while start < size and load(cursor, np.uint64(0)) < FAR:
        stop = start + ONE
        while stop < size and keys[stop] == keys[start]:
            stop += ONE
        if stop - start >= LONG:
            long[count, 0], long[count, 1] = start, stop
            count += 1
        elif stop - start > ONE:
            merge_sort(start, stop, keys, ranks, spare_keys, spare_ranks)
        start = stop
    return count


@kernel
def take_edges(worker, cursor, chunk, ranks, order, mate):
    """Match the ends of every edge, in the order given, that are both free."""
    for first, last in chunks(cursor, chunk, len(ranks)):
        for i in range(first, last):
            u, v = vertex(order, ranks[i] >> PRIORITY_BITS), vertex(order, ranks[i] & MASK)
            if mate[u] < 0 and mate[v] < 0:
                mate[u], mate[v] = v, u


def sorted_ranks(graph: Graph, order: Order, threads: int) -> np.ndarray:
    """The ranks of all edges, by decreasing (weight, rank)."""
    rows, m = rows_of(graph), graph.m
    keys, ranks = np.empty(m, rows.bits.dtype), np.empty(m, np.uint64)
    run_team(list_edges, graph.n, 1, rows, order, keys, ranks)
    keys, ranks = radix_sort(keys, ranks, threads, descending=True)
    spare, long = (np.empty(LONG, keys.dtype), np.empty(LONG, np.uint64)), np.empty((m // LONG, 2), np.int64)
    [count] = run_team(settle_runs, m, 1, keys, *spare, ranks, long)
    for start, stop in long[:count]:
        ranks[start:stop], _ = radix_sort(ranks[start:stop], None, threads, descending=True)
    return ranks


def run(graph: Graph, order: Order, context: Context) -> Result:
    """The engine; see ``contract.py``. Threads share the sort; the edges are taken by one."""
    m, threads = graph.m, thread_count(context.threads, graph.n + len(graph.indices))
    clock = [perf_counter()]
    ranks = sorted_ranks(graph, order, threads)
    clock.append(perf_counter())
    mate = np.full(graph.n, -1, np.int32)
    run_team(take_edges, m, 1, ranks, order, mate, progress=lambda done: context.report(done, m))
    clock.append(perf_counter())
    seconds = {"sort": clock[1] - clock[0], "take": clock[2] - clock[1]}
    return Result(mate, {"edges_read": len(graph.indices), "threads": threads}, seconds)
