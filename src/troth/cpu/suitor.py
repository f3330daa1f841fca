"""Suitor: every vertex makes an offer to the best neighbour that does not hold a better one.

Reference: F. Manne and M. Halappanavar, New effective multithreaded matching algorithms, IPDPS 2014; Md. Naim et al.,
HiPC 2015, Algorithm 3, with compare-and-swap instead of locks, and with the errata: a vertex whose offer fails or is
displaced looks again.

State: one 64-bit word a vertex, the best offer that it holds: ``weight prefix << 32 | priority of the suitor``, or 0.
Invariant: words only grow, and a vertex that is in no queue has its own offer standing at exactly one neighbour, or no
neighbour is left that would take it. There is one such state at the end, whatever the order of visits: threads and
races change the work, never the matching. Then suitors are mutual, and the suitor is the mate.

What is added to Algorithm 3, none of which changes the matching:

1. *First choices in a stream* (``first_choices.py``), of a group of vertices at a time.
2. *A queue.* A vertex whose offers failed, or that was displaced, waits until the group is through; where neighbours
   are far apart in memory, the rows and words that the queue will need are fetched ahead.
3. *No branches that depend on weights* (``suitor_unbranched.py``): a wrong guess costs more than a short row. And no
   atomic exchanges where neighbours are near or one thread works alone.
4. *Waves* (``suitor_waves.py``) where all weights are equal, by falling priority.
5. *Sorted rows* where rows are read again and again, as in dense graphs whose vertices all want the same neighbour:
   after five times the entries of the graph, the offers begin anew, as with ``presort``.

Wide weights (``order.lossy``) go a way of their own: equal prefixes are settled by the exact weights, found in v's own
sorted row. The second choice of the stream may then be wrong and is not used.

Memory: 12 bytes a vertex (word and mate), 22 in waves, one more with ``ties="degree"``; to sort the rows copies the
graph. Cost: about 1.5 looks at each row on random weights; at worst O(m log Delta), that of the sort.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from troth.contract import Context, Result
from troth.cpu.first_choices import NEAR, choose, new_scratch, scratch_of
from troth.cpu.offers import (
    GROUP,
    LOST,
    NONE,
    SHORT,
    SPENT,
    Budget,
    Offers,
    look_exactly,
    new_budget,
    offer_by_key,
    settle,
)
from troth.cpu.suitor_unbranched import FOURTH, Way, group_of, new_zones, propose_later, propose_unbranched
from troth.cpu.suitor_waves import goes_in_waves, is_crowded, propose_in_waves
from troth.graph import Graph
from troth.kernels.atomics import prefetch
from troth.kernels.jit import inlined, kernel
from troth.kernels.team import chunk_size, chunks, run_team, stop_all, thread_count, worker_rows
from troth.order import ONE, PRIORITY_BITS, Order, prefix, priority, vertex
from troth.rows import Rows, heaviest, rows_of, sort_rows

SMALL = 2**15  # entries up to which the paper's loop serves, where threads were not asked for: it compiles in a quarter
MOST_LOOKS = 5  # times the entries of the graph that are read before the rows are sorted
CHUNK = 2**17  # entries of the rows that a thread takes at a time: most neighbours in a mesh are then its own
ASKED = 1024  # vertices, about, that are asked which way their best neighbour lies
ONE_OF = 64  # and at most one of so many


# ---- kernels ----


@inlined
def offer_first(rows, order, u, best, second, offers):
    """u's offer to its first choice, if that is certain. Returns who has to look again, or -1; and the offers made.

    Where the two choices have equal prefixes, the second may be the better one, so u looks again at once.
    """
    if best == NONE:
        return np.int64(-1), NONE
    if best >> PRIORITY_BITS == second >> PRIORITY_BITS:
        return np.int64(u), NONE
    displaced = offer_by_key(rows, order, priority(order, u), best, offers)
    if displaced == NONE:
        return np.int64(-1), ONE
    return np.int64(u) if displaced == LOST else np.int64(vertex(order, displaced)), ONE


@kernel
def propose_wide(worker, cursor, chunk, rows, order, way, budget, scratch, offers):
    """Every vertex makes its offer, one after the other, where weights are wide. Returns three counts.

    Where the budget is spent, all workers stop.
    """
    n, mine = np.uint64(rows.indptr.size - 1), scratch_of(scratch, worker)
    firsts, seconds, queue = mine.first, mine.second, mine.queue
    made = scans = read = uncounted = NONE
    for start, stop in chunks(cursor, chunk, rows.indptr.size - 1):
        for group in range(np.uint64(start), np.uint64(stop), way.group):
            count = min(way.group, np.uint64(stop) - group)
            first = n - group - count if way.down else group
            choose(rows, order, first, first + count, mine.keys, firsts, seconds)
            scans += count
            read += np.uint64(rows.indptr[first + count] - rows.indptr[first])
            far = NONE
            for i in range(count):
                v = vertex(order, firsts[i]) if firsts[i] != NONE else first
                prefetch(offers.state, v)
                far += np.uint64(v - first + NEAR > NEAR + NEAR)
            waiting = NONE
            for i in range(count):
                j = count - ONE - i if way.down else i
                again, some = offer_first(rows, order, first + j, firsts[j], seconds[j], offers)
                made += some
                if again >= 0:
                    queue[waiting] = np.uint64(again)
                    waiting += ONE
            more, looked, seen, uncounted = settle(
                rows, order, 0, False, far > count >> FOURTH, budget, uncounted, queue, waiting, offers
            )
            made += more
            scans += looked
            read += seen
            if uncounted == SPENT:
                stop_all(cursor)
                break
    return made, scans, read


@kernel
def propose_sorted(worker, cursor, chunk, rows, order, lists, reached, offers):
    """Offers down ``lists``, the rows in falling order: who refused u once refuses it for ever.

    So ``reached[u]``, the next entry to try, never turns back.
    """
    made = scans = read = NONE
    for start, stop in chunks(cursor, chunk, rows.indptr.size - 1):
        for u in range(np.uint64(start), np.uint64(stop)):
            current = u
            displaced = LOST
            while displaced != NONE:
                scans += ONE
                rank = priority(order, current)
                e, end = np.uint64(reached[current]), np.uint64(rows.indptr[current + ONE])
                displaced = LOST if e < end else NONE
                while displaced == LOST and e < end:
                    key = prefix(lists.bits[e], order) << PRIORITY_BITS | priority(order, lists.indices[e])
                    displaced = offer_by_key(rows, order, rank, key, offers)
                    e += ONE
                    made += ONE
                    read += ONE
                reached[current] = e
                if displaced == LOST:
                    displaced = NONE  # the list is at its end
                elif displaced != NONE:
                    current = vertex(order, displaced)
    return made, scans, read


@kernel
def propose_waiting(worker, cursor, chunk, rows, order, stands, budget, queues, offers):
    """Every vertex makes an offer whose last one does not stand; returns as ``propose_wide`` does."""
    queue = queues[worker]
    made = scans = read = waiting = NONE
    for start, stop in chunks(cursor, chunk, stands.size):
        for u in range(np.uint64(start), np.uint64(stop)):
            if not stands[u]:
                queue[waiting] = u
                waiting += ONE
            if waiting == GROUP or u + ONE == np.uint64(stop):
                more, looked, seen, _ = settle(rows, order, SHORT, False, True, budget, NONE, queue, waiting, offers)
                made += more
                scans += looked
                read += seen
                waiting = NONE
    return made, scans, read


@kernel
def ask_directions(rows, order, step, piece):
    """Of every ``step``-th vertex: how many have their best neighbour below, above, and in the same piece."""
    below = above = inside = 0
    for v in range(0, rows.indptr.size - 1, step):
        best = heaviest(rows, np.uint64(v), order, None, 0)
        below += np.int64(0 <= best < v)
        above += np.int64(best > v)
        inside += np.int64(best >= 0 and best // piece == v // piece)
    return below, above, inside


@kernel
def suitors_to_mates(worker, cursor, chunk, order, state, mate):
    """The suitor is the mate."""
    for start, stop in chunks(cursor, chunk, state.size):
        for v in range(np.uint64(start), np.uint64(stop)):
            mate[v] = np.int32(vertex(order, state[v])) if state[v] != NONE else np.int32(-1)


# ---- the engine ----


@kernel
def propose_alone(rows, order, offers):
    """Algorithm 3 as it is, by one thread, which goes on with whomever it displaces. Counts as in ``propose_wide``."""
    made = scans = read = np.int64(0)
    for first in range(rows.indptr.size - 1):
        u = np.uint64(first)
        while True:
            rank = priority(order, u)
            e = look_exactly(rows, order, u, rank, offers)
            scans += 1
            read += rows.indptr[u + ONE] - rows.indptr[u]
            if e < 0:
                break
            v = np.uint64(np.uint32(rows.indices[e]))
            held = offers.state[v]
            offers.state[v] = prefix(rows.bits[e], order) << PRIORITY_BITS | rank
            made += 1
            if held == NONE:
                break
            u = vertex(order, held)
    return made, scans, read


def run(graph: Graph, order: Order, context: Context, *, presort: bool = False) -> Result:
    """The engine; see ``contract.py``. With threads the counts depend on who comes first; the mates never do."""
    n, rows, entries = graph.n, rows_of(graph), len(graph.indices)
    threads = thread_count(context.threads, entries)

    def report(done: int) -> None:
        context.report(done, n)

    clock = [perf_counter()]
    offers, mate = Offers(np.zeros(n, np.uint64)), np.empty(n, np.int32)
    sorting, counts = None, []
    if context.threads is None and entries <= SMALL and not presort:
        counts = [propose_alone(rows, order, offers)]
    elif entries:
        budget = new_budget(MOST_LOOKS * entries, threads)
        if not presort:
            counts = _propose_unsorted(graph, order, threads, budget, mate, offers, report)
        if presort or budget.is_spent:
            more, sorting = _propose_sorted(rows, order, threads, offers, report)
            counts += more
    clock.append(perf_counter())
    run_team(suitors_to_mates, n, threads, order, offers.state, mate)
    clock.append(perf_counter())
    made, scans, read = (int(sum(column)) for column in zip(*counts, strict=True)) if counts else (0, 0, 0)
    seconds = {"propose": clock[1] - clock[0], "mates": clock[2] - clock[1]}
    if sorting is not None:
        seconds = {"sort": sorting, **seconds, "propose": seconds["propose"] - sorting}
    return Result(mate, {"proposals": made, "scans": scans, "edges_read": read, "threads": threads}, seconds)


def go_on(graph: Graph, order: Order, context: Context, state: np.ndarray) -> Result:
    """The engine, from offers that others have made (words as above, which change)."""
    n, rows, entries = graph.n, rows_of(graph), len(graph.indices)
    threads, mate, stands = thread_count(context.threads, entries), np.empty(n, np.int32), np.zeros(n, np.bool_)
    run_team(suitors_to_mates, n, threads, order, state, mate)
    stands[mate[mate >= 0]] = True
    waiting = n - int(np.count_nonzero(stands))
    queues = worker_rows(threads, int(GROUP), np.uint64)
    given = rows, order, stands, new_budget(), queues, Offers(state)
    counts = run_team(propose_waiting, n, threads, *given, progress=lambda done: context.report(done, n))
    run_team(suitors_to_mates, n, threads, order, state, mate)
    made, scans, read = (int(sum(column)) for column in zip(*counts, strict=True))
    return Result(
        mate, {"proposals": made, "scans": scans, "edges_read": read, "threads": threads, "waiting": waiting}, {}
    )


def _propose_unsorted(
    graph: Graph, order: Order, threads: int, budget: Budget, mate: np.ndarray, offers: Offers, report: Callable
) -> list:
    """Offers along the rows as they are, until the budget is spent; ``mate`` is room for n numbers."""
    n, entries, rows = graph.n, len(graph.indices), rows_of(graph)
    least, greatest, _ = graph.bits_range()
    flat = least == greatest
    if flat and is_crowded(rows):
        threads = 1  # several would but displace each other
    scratch = new_scratch(threads, rows)
    if goes_in_waves(graph, order):

        def end_wave(done: int) -> bool:
            report(done)
            return budget.is_spent

        return propose_in_waves(rows, order, 0, budget, mate, scratch, offers, end_wave)
    chunk = max(int(GROUP), chunk_size(n, threads, max(2048, CHUNK * n // entries)))
    zone = max(int(GROUP), chunk_size(n, threads, n))
    down, foreseen, near = visiting_order(rows, order, zone)
    way = Way(down, foreseen, flat, group_of(rows))
    if order.lossy:
        given = rows, order, way, budget, scratch, offers
        return run_team(propose_wide, n, threads, *given, chunk=chunk, progress=report)
    if foreseen and near and threads == 2:
        threads = 1  # the second would foresee wrongly, and more than half of its offers would be made again
    if threads == 1:
        zone = n
    elif near and not foreseen:
        chunk = zone
    else:
        zone = 0
    zones = new_zones(zone, n, mate)
    ways = rows, order, way, budget, zones, scratch, offers
    counts = run_team(propose_unbranched, n, threads, *ways, chunk=chunk, progress=report)
    if zones.waits.any() and not budget.is_spent:
        counts += run_team(propose_later, len(zones.waits), threads, *ways, chunk=1, serial_below=2)
    return counts


def _propose_sorted(rows: Rows, order: Order, threads: int, offers: Offers, report: Callable) -> tuple[list, float]:
    """Offers down sorted rows, from the beginning; sorting reads each entry once. Returns counts, and seconds of it."""
    start = perf_counter()
    lists, reached = sort_rows(rows, order, threads), rows.indptr[:-1].copy()
    offers.state[:] = NONE
    sorting = perf_counter() - start
    given = rows, order, lists, reached, offers
    return [
        (0, 0, len(rows.indices)),
        *run_team(propose_sorted, len(reached), threads, *given, progress=report),
    ], sorting


def visiting_order(rows: Rows, order: Order, piece: int) -> tuple[bool, bool, bool]:
    """Three answers: whether to visit the vertices from the last to the first, whether nearly all offers then meet a
    settled one, and whether nearly all best neighbours are in the same piece.

    An offer to a vertex that has had its turn mostly stands or fails for good; one to a vertex whose turn is to come
    may be displaced. So the side where most of those asked have their best neighbour goes first: the upper one on a
    path of increasing weights, or where equal weights are tied by ``ties="high"``. In a small graph nobody is asked.
    """
    n = len(rows.indptr) - 1
    if len(rows.indices) <= SMALL:
        return False, False, False
    step = max(ONE_OF, n // ASKED) | 1  # odd, so that those asked are not always the first ones of pieces
    below, above, inside = ask_directions(rows, order, step, piece)
    return 5 * below < 4 * above, 8 * min(below, above) < below + above, 8 * inside > 7 * (below + above)
