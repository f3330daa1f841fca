"""One-way handshaking: every vertex points at its strongest neighbour, and those who point at each other match.

Reference: Efficient Parallel Graph Matching, a course project of Rutgers CS 314 (2020), after J. Cohen and
P. Castonguay, Efficient graph matching and coloring on the GPU, GTC 2012.

Invariant: at the start of a round every live vertex points at its strongest free neighbour. Two that point at each
other are joined by the heaviest edge left at both, so they are a pair of the one stable matching; the heaviest edge
left in the graph joins two such vertices, so every round matches some. One of the two has looked since the last round,
or they would have been matched in it.

The project packs the edges of matched vertices away between rounds, and then every vertex looks for its strongest
neighbour. Here only those look again whose strongest neighbour was matched (the others would find the same one), and
matched neighbours are passed over as they are read: the edges left are the same, and are not moved. Who has to look is
found in one of two ways, whichever visits fewer: among the live vertices, or among the neighbours of those who were
matched in this round. A round so visits at most twice the entries of those it matches, or eight times as many vertices
as looked in it: in all O(n + m) and what is read, also where there are as many rounds as pairs, as on a chain
of increasing weights. With random weights or ``ties="hash"`` there are about log n.
"""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np

from troth.contract import Context, Result
from troth.cpu.handshake_kernels import run_packed
from troth.graph import Graph
from troth.kernels.atomics import compare_and_swap, load
from troth.kernels.jit import kernel, spliced
from troth.kernels.queue import CHUNK, append, new_batches, new_queue
from troth.kernels.team import FAR, chunks, new_cursor, run_team, thread_count
from troth.order import Order
from troth.rows import AHEAD, fetch_row, heaviest, rows_of

SMALL = 1024  # vertices that looked; waking a team would cost more than a round with fewer
FEW = 8  # with as many live vertices for each that looked, the matched are listed
ENTRY = 2  # live vertices that are visited in the time of an entry of a matched one
NEVER = np.int32(2**31 - 1)  # the round in which an unmatched vertex was matched
FREE, LOOKING = 0, 1  # kinds of batches


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
def check_handshaking(worker, cursor, chunk, rows, r, few, looked, work, matched):
    """Match those who looked, and found someone who points back.

    If both looked, two threads may come to the two; they write the same. Where few looked, ``matched`` gets the two,
    from the thread that a compare-and-swap decides on. Returns how many entries the rows of those in ``matched`` have.
    """
    strongest, mate, indptr = work.strongest, work.mate, rows.indptr
    pairs, entries = work.batches[FREE, worker], 0
    for first, last in chunks(cursor, chunk, looked.tail[0]):
        count = np.int64(0)
        for i in range(first, last):
            v = looked.items[i]
            s = strongest[v]
            if strongest[s] != v:
                continue
            if not few:
                mate[v], mate[s] = s, v
                work.matched_in[v] = work.matched_in[s] = r
            elif compare_and_swap(mate, np.uint64(min(v, s)), np.int32(-1), max(v, s)) == -1:
                mate[v], mate[s] = s, v
                work.matched_in[v] = work.matched_in[s] = r
                entries += indptr[v + 1] - indptr[v] + indptr[s + 1] - indptr[s]
                pairs[count], pairs[count + 1] = v, s
                count += 2
        append(matched, pairs, count)
    return entries


@spliced
def look(rows, order, looking, count, work, looked):
    """Some vertices look for another neighbour; ``looked`` gets those who find one. Returns the entries read."""
    read = found = np.int64(0)
    for i in range(count):
        if i + AHEAD < count:
            fetch_row(rows, looking[i + AHEAD])
        v = looking[i]
        work.strongest[v] = heaviest(rows, v, order, work.mate, -1)
        read += rows.indptr[v + 1] - rows.indptr[v]
        looking[found] = v
        found += work.strongest[v] >= 0
    append(looked, looking, found)
    return read


@kernel
def look_among_live(worker, cursor, chunk, rows, order, live, work, next_live, looked):
    """The live vertices whose strongest neighbour was matched look for another.

    ``next_live`` gets all who are free; who found none drops out the next time. Returns how many looked, the entries
    that they read, and how many vertices were visited to find them.
    """
    strongest, mate = work.strongest, work.mate
    free, looking = work.batches[FREE, worker], work.batches[LOOKING, worker]
    scans = read = visits = 0
    for first, last in chunks(cursor, chunk, live.tail[0]):
        stay = count = np.int64(0)
        for i in range(first, last):
            v = live.items[i]
            s = strongest[v]
            alive = (mate[v] < 0) & (s >= 0)
            free[stay] = looking[count] = v
            stay += alive
            count += alive & (mate[max(s, 0)] >= 0)
        append(next_live, free, stay)
        read += look(rows, order, looking, count, work, looked)
        scans += count
        visits += last - first
    return scans, read, visits


@kernel
def look_among_neighbours(worker, cursor, chunk, rows, order, matched, work, looked):
    """The neighbours of the matched who pointed at them look for another; ``live`` stays, with the matched in it.

    Who looks points at a free vertex afterwards, so it is met once. Returns what ``look_among_live`` does.
    """
    strongest, mate, looking = work.strongest, work.mate, work.batches[LOOKING, worker]
    scans = read = visits = count = np.int64(0)
    for first, last in chunks(cursor, chunk, matched.tail[0]):
        for i in range(first, last):
            u = matched.items[i]
            start, stop = np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + 1])
            for e in range(start, stop):
                v = np.uint32(rows.indices[e])
                looking[count] = v
                count += (load(strongest, v) == u) & (mate[v] < 0)
                if count == CHUNK:
                    read += look(rows, order, looking, count, work, looked)
                    scans += count
                    count = np.int64(0)
            visits += np.int64(stop - start)
    read += look(rows, order, looking, count, work, looked)
    return scans + count, read, visits


@kernel
def small_rounds(worker, cursor, chunk, rows, order, small, r, inner, live, spare, looked, work):
    """Rounds r, r + 1, ... on one thread while few looked, until no edge is left or an interrupt.

    Returns the next r, the counts, and whether ``live`` and ``spare`` were exchanged. The cursor is there for the
    interrupt; ``inner`` is that of the steps.
    """
    scans = read = visits = 0
    exchanged = False
    while 0 < looked.tail[0] <= small and load(cursor, np.uint64(0)) < FAR:
        inner[0] = spare.tail[0] = 0
        few = FEW * looked.tail[0] <= live.tail[0]
        entries = check_handshaking(worker, inner, chunk, rows, r, few, looked, work, spare)
        inner[0] = looked.tail[0] = 0
        if few and ENTRY * entries <= live.tail[0]:
            more, seen, met = look_among_neighbours(worker, inner, chunk, rows, order, spare, work, looked)
        else:
            spare.tail[0] = 0
            more, seen, met = look_among_live(worker, inner, chunk, rows, order, live, work, spare, looked)
            live, spare, exchanged = spare, live, not exchanged
        scans += more
        read += seen
        visits += met
        r += 1
    return r, exchanged, scans, read, visits


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
    """The engine; see ``contract.py``.

    ``counts["edges"]`` are the edges left after each round, "visits" the vertices and entries that were visited to find
    who looks again.
    """
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
    r, counts = 0, [(n, len(graph.indices), 0)]
    while looked.tail[0]:
        count = int(looked.tail[0])
        context.report(n - int(live.tail[0]), n)
        if count <= SMALL:
            given = (rows, order, SMALL, r, new_cursor(), live, spare, looked, work)
            # By a thread other than this one, which waits for Ctrl-C.
            [(r, exchanged, *part)] = run_team(small_rounds, count, 1, *given, chunk=CHUNK, serial_below=0)
            counts.append(part)
        else:
            spare.tail[0] = 0
            few = bool(FEW * count <= live.tail[0])
            entries = sum(run_team(check_handshaking, count, threads, rows, r, few, looked, work, spare))
            looked.tail[0] = 0
            exchanged = not few or bool(ENTRY * entries > live.tail[0])
            if exchanged:
                spare.tail[0] = 0
                counts += run_team(look_among_live, int(live.tail[0]), threads, rows, order, live, work, spare, looked)
            else:
                counts += run_team(look_among_neighbours, int(spare.tail[0]), threads, rows, order, spare, work, looked)
            r += 1
        if exchanged:
            live, spare = spare, live
    clock.append(perf_counter())

    dropped = np.zeros((threads, r), np.int64)
    run_team(count_packed, n, threads, rows, work.matched_in, dropped)
    clock.append(perf_counter())
    edges = graph.m - dropped.sum(axis=0).cumsum()
    scans, read, visits = (sum(column) for column in zip(*counts, strict=True))
    seconds = {name: clock[i + 1] - clock[i] for i, name in enumerate(("strongest", "rounds", "count"))}
    found = {"rounds": r, "edges": edges.tolist(), "scans": scans, "edges_read": read, "visits": visits}
    return Result(work.mate, found | {"threads": threads}, seconds)
