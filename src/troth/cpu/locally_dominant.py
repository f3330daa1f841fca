"""Locally-Dominant: every vertex keeps a candidate, and those who are each other's candidate match.

Reference: Md. Naim, F. Manne, M. Halappanavar, A. Tumeo and J. Langguth, Optimizing approximate weighted matching on
Nvidia Kepler K40, HiPC 2015, Algorithms 1 and 2; after R. Preis, STACS 1999, and F. Manne and R. Bisseling, PPAM 2007.

Invariant: between two rounds the candidate of an unmatched vertex is its heaviest unmatched neighbour (-1: none), or a
matched one that is in Q_C and will make it look again; and no two unmatched vertices are each other's candidates.

Threads. Only one thread processes s at a time: the first loop meets s once, and in a round s has one candidate u, which
is in Q_C once (its new candidate is not in Q_C, whose vertices were matched before the round). But two threads may
process the two ends of an edge. Each writes its own candidate and then reads the other's, by atomic operations in one
total order, so one of them or both see that the choice is mutual; and one compare-and-swap of the smaller end's mate
decides which thread matches the two. A thread that reads a mate just before it is written may choose a vertex that is
matched; that one goes to Q_N, so in the next round its neighbours look again.

Q_C and Q_N are stretches of one array, since a vertex is queued once, when it is matched. Cost: O(n + m Delta) at
worst, about O(n + m) with random weights; O(n + m) after an O(m log Delta) sort with ``presort=True``.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numba import types
from numba.extending import overload

from troth.contract import Context, Result
from troth.graph import Graph
from troth.kernels.atomics import compare_and_swap, load
from troth.kernels.jit import kernel, spliced
from troth.kernels.queue import CHUNK, append, new_batches, new_queue
from troth.kernels.team import FAR, new_cursor, over, take, thread_count
from troth.kernels.team import run as run_team
from troth.order import Order
from troth.rows import AHEAD, fetch_row, heaviest, rows_of, sort_rows

SMALL = 1024  # vertices; a round with fewer in Q_C is over before a team is awake
GATHER = 256  # vertices that wait before they are processed
MATCHED, WAITING = 0, 1  # kinds of batches


def find_candidate(s, rows, order, reached, mate):
    """Lines 2 to 7 of Algorithm 2: the heaviest unmatched neighbour of s, or -1, and the entries read.

    In presorted rows it is the first unmatched one from ``reached[s]`` on; otherwise ``reached`` is None.
    """
    return (_scan if reached is None else _walk)(s, rows, order, reached, mate)


@overload(find_candidate, inline="always")
def _find_candidate(s, rows, order, reached, mate):
    return _scan if isinstance(reached, types.NoneType) else _walk


def _scan(s, rows, order, reached, mate):
    return heaviest(rows, s, order, mate, -1), rows.indptr[s + 1] - rows.indptr[s]


def _walk(s, rows, order, reached, mate):
    e, stop = reached[s], rows.indptr[s + 1]
    while e < stop and mate[rows.indices[e]] >= 0:
        e += 1
    passed = e - reached[s]
    reached[s] = e
    return (rows.indices[e], passed + 1) if e < stop else (np.int32(-1), passed)


@spliced
def process_vertex(s, alone, rows, order, reached, candidate, mate):
    """Algorithm 2. Returns the new candidate of s if the two were matched here, else -1; and the entries read."""
    t, read = find_candidate(s, rows, order, reached, mate)
    if alone:
        candidate[s] = t
        mutual = t >= 0 and candidate[t] == s
    else:
        compare_and_swap(candidate, s, candidate[s], t)  # a store that takes part in the total order
        mutual = t >= 0 and compare_and_swap(candidate, t, np.int32(s), np.int32(s)) == s  # and such a load
    if mutual and (alone or compare_and_swap(mate, min(s, t), np.int32(-1), np.int32(max(s, t))) == -1):
        mate[s], mate[t] = t, s
        return t, read
    return np.int32(-1), read


@kernel
def process_all(worker, cursor, chunk, alone, rows, order, reached, candidate, mate, batches, queue):
    """Lines 6 and 7 of Algorithm 1; returns the scans and the entries read."""
    n = len(mate)
    scans = read = 0
    matched = batches[MATCHED, worker]
    while True:
        first = take(cursor, chunk)
        if first >= n:
            return scans, read
        last = min(first + chunk, n)
        pairs = np.int64(0)
        for s in range(first, last):
            t, seen = process_vertex(s, alone, rows, order, reached, candidate, mate)
            read += seen
            matched[2 * pairs], matched[2 * pairs + 1] = s, t
            pairs += t >= 0
        scans += last - first
        append(queue, matched, 2 * pairs)


@kernel
def process_waiting(waiting, count, alone, rows, order, reached, candidate, mate, matched, queue):
    """Line 12 for some vertices; returns the entries read."""
    read = pairs = np.int64(0)
    for i in range(count):
        if i + AHEAD < count:
            fetch_row(rows, waiting[i + AHEAD])
        v = waiting[i]
        t, seen = process_vertex(v, alone, rows, order, reached, candidate, mate)
        read += seen
        matched[2 * pairs], matched[2 * pairs + 1] = v, t
        pairs += t >= 0
    append(queue, matched, 2 * pairs)
    return read


@kernel
def process_queue(worker, cursor, chunk, start, stop, alone, rows, order, reached, candidate, mate, batches, queue):
    """Lines 9 to 12 for Q_C = queue[start:stop]: its neighbours whose candidate is gone look again.

    Line 11 as printed also finds u's own mate; every other vertex whose candidate is u is unmatched. They are gathered
    before they are processed, so that their rows can be fetched ahead; their candidate stays u meanwhile.
    """
    scans = read = count = np.int64(0)
    waiting, matched = batches[WAITING, worker], batches[MATCHED, worker]
    while True:
        first = start + take(cursor, chunk)
        if first >= stop:
            break
        for i in range(first, min(first + chunk, stop)):
            if i + AHEAD < stop:
                fetch_row(rows, queue.items[i + AHEAD])
            u = queue.items[i]
            for e in range(np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + 1])):
                v = rows.indices[e]
                waiting[count] = v
                count += (load(candidate, np.uint32(v)) == u) & (v != mate[u])
                if count == GATHER:
                    read += process_waiting(
                        waiting, count, alone, rows, order, reached, candidate, mate, matched, queue
                    )
                    scans += count
                    count = 0
            read += rows.indptr[u + 1] - rows.indptr[u]
    read += process_waiting(waiting, count, alone, rows, order, reached, candidate, mate, matched, queue)
    return scans + count, read


@kernel
def process_small(worker, cursor, inner, small, start, rows, order, reached, candidate, mate, batches, queue):
    """Lines 8 to 13 on one thread, until Q_C is empty or not small, or an interrupt; also returns where Q_C starts."""
    rounds = scans = read = 0
    stop = queue.tail[0]
    while 0 < stop - start <= small and load(cursor, np.uint64(0)) < FAR:
        inner[0] = 0
        looked, seen = process_queue(
            worker, inner, CHUNK, start, stop, True, rows, order, reached, candidate, mate, batches, queue
        )
        rounds += 1
        scans += looked
        read += seen
        start, stop = stop, queue.tail[0]
    return start, rounds, scans, read


def run(graph: Graph, order: Order, context: Context, *, presort: bool = False) -> Result:
    """The engine; see ``contract.py``. With threads the counts depend on who comes first; the mates never do."""
    n, rows = graph.n, rows_of(graph)
    threads = thread_count(context.threads, n + len(graph.indices))
    clock = [perf_counter()]
    if presort:
        rows = sort_rows(rows, order, threads)
    clock.append(perf_counter())

    reached = graph.indptr[:-1].copy() if presort else None
    candidate, mate = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    queue, alone = new_queue(n), threads == 1
    state = (rows, order, reached, candidate, mate, new_batches(threads, 2), queue)
    counts = [
        (0, *part)
        for part in over(n, threads, process_all, alone, *state, progress=lambda done: context.report(done, n))
    ]
    start = 0
    while start < queue.tail[0]:
        stop = int(queue.tail[0])
        if stop - start <= SMALL:
            cursor = new_cursor()
            [(start, *part)] = run_team(1, process_small, cursor, new_cursor(), SMALL, start, *state, cursor=cursor)
            counts.append(part)
        else:
            parts = over(stop - start, threads, process_queue, start, stop, alone, *state)
            counts += [(worker == 0, *part) for worker, part in enumerate(parts)]
            start = stop
    clock.append(perf_counter())
    rounds, scans, read = (sum(column) for column in zip(*counts, strict=True))
    seconds = {"sort": clock[1] - clock[0], "rounds": clock[2] - clock[1]}
    return Result(mate, {"rounds": rounds, "scans": scans, "edges_read": read, "threads": threads}, seconds)
