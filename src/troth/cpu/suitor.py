"""Suitor: every vertex makes an offer to the best neighbour that does not hold a better one.

Reference: F. Manne and M. Halappanavar, New effective multithreaded matching algorithms, IPDPS 2014; Md. Naim et al.,
HiPC 2015, Algorithm 3, with compare-and-swap instead of locks, and with the errata: a vertex whose offer fails or is
displaced looks again.

State: one 64-bit word a vertex, the best offer that it holds: ``weight prefix << 32 | priority of the suitor``, or 0.
Invariant: words only grow, and a vertex that is in no queue has its own offer standing at exactly one neighbour, or no
neighbour is left that would take it. There is one such state at the end, whatever the order of visits: threads and
races change the work, never the matching. Then suitors are mutual, and the suitor is the mate.

What is added to Algorithm 3, none of which changes the matching:

1. *First choices in a stream.* The two best neighbours of 64 vertices at a time are found without looking at any offer:
   keys are made in one flat loop over consecutive entries, which compilers turn into vector code, and a row's maximum
   needs no branch. Most first offers stand for good.
2. *A queue.* A vertex whose two offers failed, or that was displaced, waits until the 64 are through; where neighbours
   are far apart in memory, the rows and words that the queue will need are fetched ahead.
3. *Waves.* Where all weights are equal, priorities alone decide, and visiting the vertices from high to low priority
   displaces hardly anyone; see ``propose_wave``.

Wide weights (``order.lossy``): equal prefixes are settled by the exact weights, found in v's own sorted row. The
second choice of the stream may then be wrong and is not used.

Memory: 12 bytes a vertex (word and mate), 22 in waves, one more with ``ties="degree"``; ``presort`` also copies the
graph. Cost: about 1.5 looks at each row on random weights; O(m Delta) at worst, O(m) after the sort with
``presort=True``.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from troth.contract import Context, Result
from troth.cpu.offers import GROUP, LOST, NONE, Offers, look_exactly, offer_by_key, settle
from troth.graph import Graph
from troth.kernels.atomics import load, prefetch
from troth.kernels.jit import inlined, kernel
from troth.kernels.sort import radix_sort
from troth.kernels.team import chunks, run_team, thread_count
from troth.order import MASK, MOST_CLASS, ONE, PRIORITY_BITS, Order, is_scrambled, prefix, priority, vertex
from troth.rows import Rows, rows_of, sort_rows

TWO = np.uint64(2)
SMALL = 2**15  # entries up to which the paper's loop serves, where threads were not asked for: it compiles in a quarter
SHORT = 16  # entries
TILE = np.uint64(4096)  # keys made at a time
NEAR = np.uint64(2**15)  # ids this close are likely to share the cache
DENSE = 8  # mean degree above which equal weights go in waves; below it, rows are too short to be worth a jump
WAVE_BITS = 5  # at most 32 waves
CLASS_BITS = 5  # a class of vertices goes in at most 32 of them
SAMPLE = 2**13  # vertices whose classes are counted, about


class Scratch(NamedTuple):
    """What workers need while they find the first choices of a group, a row for each; and the queue of the group."""

    keys: np.ndarray
    first: np.ndarray
    second: np.ndarray
    queue: np.ndarray


def new_scratch(threads: int) -> Scratch:
    """Room for so many workers."""
    return Scratch(*(np.empty((threads, int(size)), np.uint64) for size in (TILE, GROUP, GROUP, GROUP)))


# ---- first choices ----


@inlined
def make_keys(rows, order, start, stop, keys):
    """keys[i] = (prefix, priority of the neighbour) of entry start + i.

    ``priority`` written out in 32-bit arithmetic: 16 lanes of a vector register instead of 8. Where classes have to be
    fetched that is no faster.
    """
    _make_keys(rows, order, order.classes, start, stop, keys)


@inlined
def _make_keys(rows, order, classes, start, stop, keys):
    flip, mul1, mul2 = np.uint32(order.flip), np.uint32(order.mul1), np.uint32(order.mul2)
    if classes is None:  # known when compiling
        for i in range(stop - start):
            x = np.uint32(np.uint32(np.uint32(rows.indices[start + i]) ^ flip) * mul1)
            x ^= np.uint32(np.uint64(x) >> order.shift)
            keys[i] = prefix(rows.bits[start + i], order) << PRIORITY_BITS | np.uint64(np.uint32(x * mul2))
    else:
        for i in range(stop - start):
            keys[i] = prefix(rows.bits[start + i], order) << PRIORITY_BITS | priority(order, rows.indices[start + i])


@inlined
def best_two(keys, start, stop, best, second):
    """The two largest of ``best``, ``second`` and some keys."""
    for i in range(start, stop):
        key = keys[i]
        second = max(second, min(best, key))
        best = max(best, key)
    return best, second


@inlined
def choose(rows, order, first, last, keys, firsts, seconds):
    """First and second choices of the vertices first..last-1, as keys; looks at no offer."""
    start, stop = np.uint64(rows.indptr[first]), np.uint64(rows.indptr[last])
    together = stop - start <= TILE
    if together:
        make_keys(rows, order, start, stop, keys)
    for u in range(first, last):
        begin, end = np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + ONE])
        best = second = NONE
        if together:
            best, second = best_two(keys, begin - start, end - start, best, second)
        else:
            while begin < end:
                count = min(end - begin, TILE)
                make_keys(rows, order, begin, begin + count, keys)
                best, second = best_two(keys, NONE, count, best, second)
                begin += count
        firsts[u - first] = best
        seconds[u - first] = second


@inlined
def offer_first(rows, order, u, best, second, offers):
    """u's offers to its first and, if that fails, second choice. Returns who has to look again, or -1; and how many."""
    if best == NONE:
        return np.int64(-1), NONE
    rank = priority(order, u)
    displaced, made = LOST, NONE
    if not order.lossy or best >> PRIORITY_BITS != second >> PRIORITY_BITS:
        displaced, made = offer_by_key(rows, order, rank, best, offers), ONE
    if displaced == LOST and not order.lossy:
        if second == NONE:
            return np.int64(-1), made
        displaced, made = offer_by_key(rows, order, rank, second, offers), TWO
    if displaced == NONE:
        return np.int64(-1), made
    return np.int64(u) if displaced == LOST else np.int64(vertex(order, displaced)), made


# ---- kernels ----


@kernel
def propose_all(worker, cursor, chunk, rows, order, down, scratch, offers):
    """Every vertex makes its offer; ``down``: from the last to the first. Returns three counts.

    With ids for priorities the direction is that of falling priority: an offer already held then mostly wins a tie, and
    equal weights displace few.
    """
    n = np.uint64(rows.indptr.size - 1)
    firsts, seconds, queue = scratch.first[worker], scratch.second[worker], scratch.queue[worker]
    made = scans = read = NONE
    for start, stop in chunks(cursor, chunk, rows.indptr.size - 1):
        for group in range(np.uint64(start), np.uint64(stop), GROUP):
            count = min(GROUP, np.uint64(stop) - group)
            first = n - group - count if down else group
            choose(rows, order, first, first + count, scratch.keys[worker], firsts, seconds)
            scans += count
            read += np.uint64(rows.indptr[first + count] - rows.indptr[first])
            far = NONE
            for i in range(count):
                v = vertex(order, firsts[i]) if firsts[i] != NONE else first
                prefetch(offers.state, v)
                far += np.uint64(v - first + NEAR > NEAR + NEAR)
            waiting = NONE
            for i in range(count):
                j = count - ONE - i if down else i
                again, some = offer_first(rows, order, first + j, firsts[j], seconds[j], offers)
                made += some
                if again >= 0:
                    queue[waiting] = np.uint64(again)
                    waiting += ONE
            more, looked, seen = settle(rows, order, SHORT, False, far > count >> TWO, queue, waiting, offers)
            made += more
            scans += looked
            read += seen
    return made, scans, read


@kernel
def find_waves(worker, cursor, chunk, order, first, table, shift, waves):
    """In which wave vertices first, first + 1, ... make their offers: ``table`` tells, by the priority's upper bits."""
    for start, stop in chunks(cursor, chunk, waves.size):
        for i in range(np.uint64(start), np.uint64(stop)):
            waves[i] = table[priority(order, np.uint64(first) + i) >> shift]


@kernel
def propose_wave(worker, cursor, chunk, rows, order, visits, ceiling, scratch, offers):
    """The vertices of one wave, ``visits``, make their offers. All weights are equal.

    Those of priority ``ceiling`` or more have settled in earlier waves. So an offer of theirs is final: nobody who is
    still to come can better it, and they are displaced only by each other. Whoever holds such an offer returns it,
    without a look at its row. That halves the looks.
    """
    queue = scratch.queue[worker]
    made = scans = read = NONE
    for start, stop in chunks(cursor, chunk, visits.size):
        for group in range(np.uint64(start), np.uint64(stop), GROUP):
            waiting = NONE
            for i in range(group, min(group + GROUP, np.uint64(stop))):
                u = np.uint64(np.uint32(visits[i]))
                held = load(offers.state, u)
                displaced = LOST
                if held != NONE and held & MASK >= ceiling:
                    made += ONE
                    displaced = offer_by_key(rows, order, priority(order, u), held, offers)
                if displaced != NONE:
                    queue[waiting] = u if displaced == LOST else vertex(order, displaced)
                    waiting += ONE
            more, looked, seen = settle(rows, order, SHORT, True, True, queue, waiting, offers)
            made += more
            scans += looked
            read += seen
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
def suitors_to_mates(worker, cursor, chunk, order, state, mate):
    """The suitor is the mate."""
    for start, stop in chunks(cursor, chunk, state.size):
        for v in range(np.uint64(start), np.uint64(stop)):
            mate[v] = np.int32(vertex(order, state[v])) if state[v] != NONE else np.int32(-1)


# ---- the engine ----


@kernel
def propose_alone(rows, order, offers):
    """Algorithm 3 as it is, by one thread, which goes on with whomever it displaces. Counts as ``propose_all`` does."""
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
    n, rows = graph.n, rows_of(graph)
    threads = thread_count(context.threads, len(graph.indices))

    def report(done: int) -> None:
        context.report(done, n)

    clock = [perf_counter()]
    offers = Offers(np.zeros(n, np.uint64))
    mate = np.empty(n, np.int32)
    scratch = new_scratch(threads)
    lists = sort_rows(rows, order, threads) if presort else None
    clock.append(perf_counter())
    if not len(graph.indices):
        counts = []
    elif presort:
        reached = graph.indptr[:-1].copy()
        counts = run_team(propose_sorted, n, threads, rows, order, lists, reached, offers, progress=report)
    elif context.threads is None and len(graph.indices) <= SMALL:
        counts = [propose_alone(rows, order, offers)]
    elif goes_in_waves(graph, order):
        counts = propose_in_waves(rows, order, 0, mate, scratch, offers, report)
    else:
        down = goes_down(order)
        counts = run_team(propose_all, n, threads, rows, order, down, scratch, offers, progress=report)
    clock.append(perf_counter())
    run_team(suitors_to_mates, n, threads, order, offers.state, mate)
    clock.append(perf_counter())
    made, scans, read = (int(sum(column)) for column in zip(*counts, strict=True)) if counts else (0, 0, 0)
    seconds = dict(zip(("sort", "propose", "mates"), np.diff(clock).tolist(), strict=True))
    if not presort:
        del seconds["sort"]
    return Result(mate, {"proposals": made, "scans": scans, "edges_read": read, "threads": threads}, seconds)


def goes_down(order: Order) -> bool:
    """Whether to visit the vertices from the last to the first: with ``ties="high"`` the priority is the id."""
    return order.shift == 32 and order.flip == 0


def goes_in_waves(graph: Any, order: Order) -> bool:
    """Whether weights are equal, priorities scrambled, and rows long enough."""
    least, greatest, _ = graph.bits_range()
    return least == greatest and is_scrambled(order) and 2 * graph.m > DENSE * graph.n


def plan_waves(order: Order, bits: int) -> tuple[np.ndarray, int]:
    """2^bits waves of falling priority and about equal size: ``table[priority >> shift]`` is the number of the wave.

    Scrambled priorities are spread evenly. With classes only those of one class are; how many have which class, a
    sample tells.
    """
    if order.classes is None:
        return np.arange(1 << bits, dtype=np.uint8)[::-1].copy(), 32 - bits
    parts = min(CLASS_BITS, int(order.bits))
    sample = order.classes[:: max(1, len(order.classes) // SAMPLE)]
    sizes = np.repeat(np.bincount(sample, minlength=MOST_CLASS + 1), 1 << parts)
    above = sizes[::-1].cumsum()[::-1] - sizes
    # Those of lower classes than any in the sample go last.
    table = np.minimum((above << bits) // sizes.sum(), (1 << bits) - 1)
    return table.astype(np.uint8), int(order.bits) - parts


def propose_in_waves(
    rows: Rows, order: Order, first: int, visits: np.ndarray, scratch: Scratch, offers: Offers, after: Callable
) -> list:
    """The vertices first, first + 1, ... make their offers by falling priority, in waves; all weights are equal.

    ``visits`` is room for their ids. ``after`` is called after each wave with how many have had their turn; where
    others propose for the rest of the graph, it waits for them, since a wave has to settle before the next.
    """
    n, threads = len(visits), len(scratch.queue)
    bits = min(WAVE_BITS, max(1, (len(offers.state) >> 12).bit_length()))  # thousands in a wave
    table, shift = plan_waves(order, bits)
    waves = np.empty(n, np.uint8)
    run_team(find_waves, n, threads, order, first, table, np.uint64(shift), waves)
    ends = np.bincount(waves, minlength=1 << bits).cumsum()
    _, visits[:] = radix_sort(waves, np.arange(first, first + n, dtype=np.int32), threads)
    counts, begin = [], 0
    for wave, end in enumerate(ends.tolist()):
        ceiling = np.uint64(np.count_nonzero(table >= wave) << shift)  # the least priority of the waves before
        some = visits[begin:end]
        counts += run_team(propose_wave, len(some), threads, rows, order, some, ceiling, scratch, offers)
        begin = end
        after(end)
    return counts
