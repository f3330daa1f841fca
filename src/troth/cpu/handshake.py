"""One-way handshaking: every vertex points at its strongest neighbour, and those who point at each other match.

Reference: Efficient Parallel Graph Matching, a course project of Rutgers CS 314 (2020), after J. Cohen and
P. Castonguay, Efficient graph matching and coloring on the GPU, GTC 2012.

Invariant: at the start of a round every live vertex points at its strongest free neighbour. Two that point at each
other are joined by the heaviest edge left at both, so they are a pair of the one stable matching; the heaviest edge
left in the graph joins two such vertices, so every round matches some. One of the two has looked since the last round,
or they would have been matched in it.

The project packs the edges of matched vertices away between rounds, and then every vertex looks for its strongest
neighbour. Here only those look again whose strongest neighbour was matched (the others would find the same one), and
matched neighbours are passed over as they are read: the edges left are the same, and are not moved. Cost: O(n + m) for
the first round; the others go over the live vertices and read the rows of those who look again. There are about log n
rounds with random weights or ``ties="hash"``, but a chain of increasing weights has as many as it has pairs.
"""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np

from troth.contract import Context, Result
from troth.cpu.handshake_kernels import run_packed
from troth.graph import Graph
from troth.kernels.atomics import load
from troth.kernels.jit import kernel
from troth.kernels.queue import CHUNK, append, new_batches, new_queue
from troth.kernels.team import FAR, chunks, new_cursor, run_team, thread_count
from troth.order import Order
from troth.rows import AHEAD, fetch_row, heaviest, rows_of

SMALL = 1024  # live vertices; waking a team would cost more than a round with fewer
NEVER = np.int32(2**31 - 1)  # the round in which an unmatched vertex was matched
LIVE, LOOKED = 0, 1  # kinds of batches


class Work(NamedTuple):
    """What the rounds write, one number a vertex; and the batches of the workers."""

    strongest: np.ndarray  # the neighbour that v points at, -1 where there is none
    mate: np.ndarray
    matched_in: np.ndarray  # the round, or NEVER
    batches: np.ndarray


@kernel
def find_strongest(worker, cursor, chunk, rows, order, strongest):
    """strongest[v] = the neighbour of v with the largest key, for every vertex."""
    for first, last in chunks(cursor, chunk, len(strongest)):
        for v in range(first, last):
            strongest[v] = heaviest(rows, v, order, None, 0)


@kernel
def check_handshaking(worker, cursor, chunk, r, looked, work):
    """Match those who looked, and found someone who points back.

    If both looked, two threads may match the two; they write the same.
    """
    strongest = work.strongest
    for first, last in chunks(cursor, chunk, looked.tail[0]):
        for i in range(first, last):
            v = looked.items[i]
            s = strongest[v]
            if strongest[s] == v:
                work.mate[v], work.mate[s] = s, v
                work.matched_in[v] = work.matched_in[s] = r


@kernel
def look_again(worker, cursor, chunk, rows, order, live, work, next_live, looked):
    """The live vertices whose strongest neighbour was matched look for another.

    ``looked`` gets those who found one, ``next_live`` all who are free; who found none drops out the next time. Returns
    how many looked, and the entries that they read.
    """
    strongest, mate = work.strongest, work.mate
    free, looking = work.batches[LIVE, worker], work.batches[LOOKED, worker]
    scans = read = 0
    for first, last in chunks(cursor, chunk, live.tail[0]):
        stay = look = found = np.int64(0)
        for i in range(first, last):
            v = live.items[i]
            s = strongest[v]
            alive = (mate[v] < 0) & (s >= 0)
            free[stay] = looking[look] = v
            stay += alive
            look += alive & (mate[max(s, 0)] >= 0)
        for i in range(look):
            if i + AHEAD < look:
                fetch_row(rows, looking[i + AHEAD])
            v = looking[i]
            strongest[v] = heaviest(rows, v, order, mate, -1)
            read += rows.indptr[v + 1] - rows.indptr[v]
            looking[found] = v
            found += strongest[v] >= 0
        scans += look
        append(next_live, free, stay)
        append(looked, looking, found)
    return scans, read


@kernel
def small_rounds(worker, cursor, chunk, rows, order, r, inner, live, spare, looked, work):
    """Rounds r, r + 1, ... on one thread, until no edge is left or an interrupt; returns the next r and the counts.

    The cursor is there for the interrupt; ``inner`` is that of the steps.
    """
    scans = read = 0
    while looked.tail[0] > 0 and load(cursor, np.uint64(0)) < FAR:
        inner[0] = 0
        check_handshaking(worker, inner, chunk, r, looked, work)
        inner[0] = spare.tail[0] = looked.tail[0] = 0
        look, seen = look_again(worker, inner, chunk, rows, order, live, work, spare, looked)
        live, spare = spare, live
        scans += look
        read += seen
        r += 1
    return r, scans, read


@kernel
def count_packed(worker, cursor, chunk, rows, matched_in, packed):
    """packed[worker, r] += the edges that round r packs away: it is the first to match one of their ends."""
    for first, last in chunks(cursor, chunk, len(matched_in)):
        for v in range(first, last):
            r = matched_in[v]
            count = 0
            for e in range(np.uint64(rows.indptr[v]), np.uint64(rows.indptr[v + 1])):
                u = np.uint32(rows.indices[e])
                count += (matched_in[u] > r) | ((matched_in[u] == r) & (u > v))
            if count:
                packed[worker, r] += count


def strongest(graph: Graph, order: Order, threads: int | None = None) -> np.ndarray:
    """The neighbour that each vertex prefers, -1 where there is none; one pass over the graph."""
    threads = thread_count(threads, graph.n + len(graph.indices))
    found = np.empty(graph.n, np.int32)
    run_team(find_strongest, graph.n, threads, rows_of(graph), order, found)
    return found


def run(graph: Graph, order: Order, context: Context, *, packed: bool = False) -> Result:
    """The engine; see ``contract.py``. ``counts["edges"]`` are the edges left after each round."""
    if packed:
        return run_packed(graph, order, context)
    n, rows = graph.n, rows_of(graph)
    threads = thread_count(context.threads, n + len(graph.indices))
    clock = [perf_counter()]
    pointing = strongest(graph, order, threads)
    clock.append(perf_counter())

    work = Work(pointing, np.full(n, -1, np.int32), np.full(n, NEVER), new_batches(threads, 2))
    pointed = np.flatnonzero(pointing >= 0)
    live, spare, looked = new_queue(n, pointed), new_queue(n), new_queue(n, pointed)
    r, counts = 0, [(n, len(graph.indices))]
    while looked.tail[0]:
        count = int(live.tail[0])
        context.report(n - count, n)
        if count <= SMALL:
            given = (rows, order, r, new_cursor(), live, spare, looked, work)
            # By a thread other than this one, which waits for Ctrl-C.
            [(r, *part)] = run_team(small_rounds, count, 1, *given, chunk=CHUNK, serial_below=0)
            counts.append(part)
        else:
            run_team(check_handshaking, int(looked.tail[0]), threads, r, looked, work)
            spare.tail[0] = looked.tail[0] = 0
            counts += run_team(look_again, count, threads, rows, order, live, work, spare, looked)
            live, spare = spare, live
            r += 1
    clock.append(perf_counter())

    dropped = np.zeros((threads, r), np.int64)
    run_team(count_packed, n, threads, rows, work.matched_in, dropped)
    clock.append(perf_counter())
    edges = graph.m - dropped.sum(axis=0).cumsum()
    scans, read = (sum(column) for column in zip(*counts, strict=True))
    seconds = {name: clock[i + 1] - clock[i] for i, name in enumerate(("strongest", "rounds", "count"))}
    found = {"rounds": r, "edges": edges.tolist(), "scans": scans, "edges_read": read, "threads": threads}
    return Result(work.mate, found, seconds)
