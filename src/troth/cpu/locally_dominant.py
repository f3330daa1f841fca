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
from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from troth.contract import Context, Result
from troth.graph import Graph
from troth.kernels.atomics import compare_and_swap, load
from troth.kernels.jit import kernel, spliced
from troth.kernels.queue import CHUNK, VertexQueue, append, new_batches, new_queue
from troth.kernels.team import FAR, chunks, new_cursor, run_team, thread_count
from troth.order import Order
from troth.rows import AHEAD, fetch_row, heaviest, rows_of, sort_rows

SMALL = 1024  # vertices in Q_C; waking a team would cost more than a round with fewer
GATHER = 256  # vertices that wait before they are processed
MATCHED, WAITING = 0, 1  # kinds of batches


class Work(NamedTuple):
    """What the threads write, and the batches in which each gathers vertices."""

    reached: np.ndarray | None  # of presorted rows: the place of the first neighbour that may be unmatched
    candidate: np.ndarray
    mate: np.ndarray
    queue: VertexQueue  # Q_C, then Q_N
    batches: np.ndarray


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
def process_vertex(s, rows, order, alone, work):
    """Algorithm 2. Returns the new candidate of s if the two were matched here, else -1; and the entries read."""
    candidate, mate = work.candidate, work.mate
    t, read = find_candidate(s, rows, order, work.reached, mate)
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
def process_all(worker, cursor, chunk, rows, order, alone, work):
    """Lines 6 and 7 of Algorithm 1; returns the scans and the entries read."""
    scans = read = 0
    matched = work.batches[MATCHED, worker]
    for first, last in chunks(cursor, chunk, len(work.mate)):
        pairs = np.int64(0)
        for s in range(first, last):
            t, seen = process_vertex(s, rows, order, alone, work)
            read += seen
            matched[2 * pairs], matched[2 * pairs + 1] = s, t
            pairs += t >= 0
        scans += last - first
        append(work.queue, matched, 2 * pairs)
    return scans, read


@kernel
def process_waiting(waiting, count, rows, order, alone, matched, work):
    """Line 12 for some vertices; returns the entries read."""
    read = pairs = np.int64(0)
    for i in range(count):
        if i + AHEAD < count:
            fetch_row(rows, waiting[i + AHEAD])
        v = waiting[i]
        t, seen = process_vertex(v, rows, order, alone, work)
        read += seen
        matched[2 * pairs], matched[2 * pairs + 1] = v, t
        pairs += t >= 0
    append(work.queue, matched, 2 * pairs)
    return read


@kernel
def process_queue(worker, cursor, chunk, rows, order, start, stop, alone, work):
    """Lines 9 to 12 for Q_C = queue[start:stop]: its neighbours whose candidate is gone look again.

    Line 11 as printed also finds u's own mate; every other vertex whose candidate is u is unmatched. They are gathered
    before they are processed, so that their rows can be fetched ahead; their candidate stays u meanwhile.
    """
    scans = read = count = np.int64(0)
    queue, candidate, mate = work.queue.items, work.candidate, work.mate
    waiting, matched = work.batches[WAITING, worker], work.batches[MATCHED, worker]
    for first, last in chunks(cursor, chunk, stop - start):
        for i in range(start + first, start + last):
            if i + AHEAD < stop:
                fetch_row(rows, queue[i + AHEAD])
            u = queue[i]
            for e in range(np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + 1])):
                v = rows.indices[e]
                waiting[count] = v
                count += (load(candidate, np.uint32(v)) == u) & (v != mate[u])
                if count == GATHER:
                    read += process_waiting(waiting, count, rows, order, alone, matched, work)
                    scans += count
                    count = 0
            read += rows.indptr[u + 1] - rows.indptr[u]
    read += process_waiting(waiting, count, rows, order, alone, matched, work)
    return scans + count, read


@kernel
def process_small(worker, cursor, chunk, rows, order, small, start, inner, work):
    """Lines 8 to 13 on one thread, until Q_C is empty or not small, or an interrupt; also returns where Q_C starts.

    The cursor is there for the interrupt; ``inner`` is that of the rounds.
    """
    rounds = scans = read = 0
    stop = work.queue.tail[0]
    while 0 < stop - start <= small and load(cursor, np.uint64(0)) < FAR:
        inner[0] = 0
        looked, seen = process_queue(worker, inner, chunk, rows, order, start, stop, True, work)
        rounds += 1
        scans += looked
        read += seen
        start, stop = stop, work.queue.tail[0]
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
    work = Work(reached, candidate, mate, queue, new_batches(threads, 2))
    parts = run_team(process_all, n, threads, rows, order, alone, work, progress=lambda done: context.report(done, n))
    counts = [(0, *part) for part in parts]
    start = 0
    while start < queue.tail[0]:
        stop = int(queue.tail[0])
        if stop - start <= SMALL:
            given = (rows, order, SMALL, start, new_cursor(), work)
            # By a thread other than this one, which waits for Ctrl-C.
            [(start, *part)] = run_team(process_small, stop - start, 1, *given, chunk=CHUNK, serial_below=0)
            counts.append(part)
        else:
            parts = run_team(process_queue, stop - start, threads, rows, order, start, stop, alone, work)
            counts += [(worker == 0, *part) for worker, part in enumerate(parts)]
            start = stop
    clock.append(perf_counter())
    rounds, scans, read = (sum(column) for column in zip(*counts, strict=True))
    seconds = {"sort": clock[1] - clock[0], "rounds": clock[2] - clock[1]}
    return Result(mate, {"rounds": rounds, "scans": scans, "edges_read": read, "threads": threads}, seconds)
