"""Local greedy, the serial baselines: vertices in random order, each takes a free neighbour.

Reference: "local random" and "local weighted matching" in Fagginger Auer and Bisseling 2011.

Invariant: a vertex that was visited and is still free has no free neighbour, so in the end the matching is maximal. The
order of the visit is by hashes (``reference.local``): the result is a function of graph and seed. O(n + m), and
``local-random``, which stops at the first free neighbour of a row, mostly reads far less.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from troth.contract import Context, Result
from troth.graph import Graph
from troth.kernels.atomics import prefetch
from troth.kernels.jit import inlined, kernel
from troth.kernels.sort import radix_sort
from troth.kernels.team import chunks, run_team, thread_count
from troth.order import ONE, VISIT, Order, hash1
from troth.rows import AHEAD, fetch_row, heaviest, rows_of

NEXT, FURTHER = np.uint64(AHEAD), np.uint64(2 * AHEAD)  # how far ahead rows, and where they begin, are fetched


@kernel
def hash_vertices(worker, cursor, chunk, seed, keys):
    """keys[v] = hash(seed, v), by which vertices are visited."""
    for first, last in chunks(cursor, chunk, len(keys)):
        for v in range(first, last):
            keys[v] = hash1(seed, VISIT, np.uint64(v))


@inlined
def first_free(rows, u, mate):
    """The entry of the first free neighbour in the row of u; the end of the row where there is none."""
    e, stop = np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + 1])
    while e < stop and mate[np.uint32(rows.indices[e])] >= 0:
        e += ONE
    return e


@kernel
def visit_vertices(worker, cursor, chunk, rows, order, weighted, visit, mate):
    """Each vertex, if it is free, takes the heaviest or the first free neighbour; returns scans and reads."""
    n = np.uint64(len(visit))
    scans = read = 0
    for first, last in chunks(cursor, chunk, len(visit)):
        for i in range(np.uint64(first), np.uint64(last)):
            # The order is random: without fetching ahead, every step would wait for memory.
            if i + FURTHER < n:
                prefetch(rows.indptr, np.uint64(visit[i + FURTHER]))
                fetch_row(rows, visit[i + NEXT])
            u = np.uint32(visit[i])
            if mate[u] < 0:
                start, stop = np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + 1])
                if weighted:
                    v = heaviest(rows, u, order, mate, -1)
                    read += stop - start
                else:
                    at = first_free(rows, u, mate)
                    v = np.int32(-1) if at == stop else rows.indices[at]
                    read += min(at + ONE, stop) - start
                if v >= 0:
                    mate[u], mate[v] = v, u
                scans += 1
    return scans, read


def _run(weighted: bool, graph: Graph, order: Order, context: Context) -> Result:
    n, threads, seed = graph.n, thread_count(context.threads, graph.n), context.seed
    clock = [perf_counter()]
    keys = np.empty(n, np.uint64)
    run_team(hash_vertices, n, threads, seed, keys)
    _, visit = radix_sort(keys, np.arange(n, dtype=np.int32), threads)
    clock.append(perf_counter())
    mate = np.full(n, -1, np.int32)
    given = (rows_of(graph), order, weighted, visit)
    [counts] = run_team(visit_vertices, n, 1, *given, mate, progress=lambda done: context.report(done, n))
    clock.append(perf_counter())
    seconds = {"sort": clock[1] - clock[0], "visit": clock[2] - clock[1]}
    return Result(mate, {"scans": counts[0], "edges_read": counts[1], "threads": threads}, seconds)


def run_random(graph: Graph, order: Order, context: Context) -> Result:
    """The engine ``local-random``; see ``contract.py``. Threads share the sort; vertices are visited by one."""
    return _run(False, graph, order, context)


def run_weighted(graph: Graph, order: Order, context: Context) -> Result:
    """The engine ``local-weighted``; see ``contract.py``. Threads share the sort; vertices are visited by one."""
    return _run(True, graph, order, context)
