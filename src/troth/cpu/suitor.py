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

Memory: 12 bytes a vertex (word and mate), 22 in waves; ``presort`` also copies the graph. Cost: about 1.5 looks at each
row on random weights; O(m Delta) at worst, O(m) after the sort with ``presort=True``.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from troth.contract import Context, Result
from troth.graph import Graph
from troth.kernels import team
from troth.kernels.atomics import compare_and_swap, load, prefetch
from troth.kernels.jit import inlined, kernel
from troth.kernels.sort import radix_sort
from troth.kernels.team import over
from troth.order import MASK, ONE, PRIORITY_BITS, Order, prefix, priority, vertex
from troth.rows import find, rows_of, sort_rows

NONE = np.uint64(0)  # no offer, no key
LOST = np.uint64(2**64 - 1)  # the neighbour holds a better offer
TWO = np.uint64(2)
SHORT = 16  # entries
GROUP = np.uint64(64)  # vertices whose first choices are found together
TILE = np.uint64(4096)  # keys made at a time
NEAR = np.uint64(2**15)  # ids this close are likely to share the cache
# A worker's scratch: keys, then the first choices, second choices and the queue of a group.
FIRST, SECOND, QUEUE = TILE, TILE + GROUP, TILE + GROUP + GROUP
SCRATCH = int(QUEUE + GROUP)
DENSE = 8  # mean degree above which equal weights go in waves; below it, rows are too short to be worth a jump
WAVE_BITS = 5  # at most 32 waves


# ---- offers ----


@kernel
def weight_at(indptr, indices, bits, v, u):
    """The exact bits of w(v, u)."""
    start, stop = np.uint64(indptr[v]), np.uint64(indptr[v + ONE])
    return bits[find(indices, start, stop, u)]


@inlined
def wins(indptr, indices, bits, order, v, offer, held):
    """Whether v prefers an offer to the one that it holds."""
    if not order.lossy or offer >> PRIORITY_BITS != held >> PRIORITY_BITS:
        return offer > held
    ours, theirs = (
        weight_at(indptr, indices, bits, v, vertex(order, offer)),
        weight_at(indptr, indices, bits, v, vertex(order, held)),
    )
    return ours > theirs or (ours == theirs and offer > held)


@inlined
def make_offer(indptr, indices, bits, order, rank, key, state):
    """The vertex of priority ``rank`` makes an offer to the neighbour of ``key``.

    Returns the offer that was displaced (NONE: v held none), or LOST. The exchange itself tells what v holds by now.
    """
    v = vertex(order, key)
    offer = (key & ~MASK) | rank
    held = load(state, v)
    while wins(indptr, indices, bits, order, v, offer, held):
        seen = compare_and_swap(state, v, held, offer)
        if seen == held:
            return held
        held = seen
    return LOST


# ---- first choices ----


@inlined
def make_keys(indices, bits, order, start, stop, base, scratch):
    """scratch[base:] = the keys (prefix, priority of the neighbour) of entries start..stop-1.

    ``priority`` written out in 32-bit arithmetic: 16 lanes of a vector register instead of 8.
    """
    flip, mul1, mul2 = np.uint32(order.flip), np.uint32(order.mul1), np.uint32(order.mul2)
    for i in range(stop - start):
        x = np.uint32(np.uint32(np.uint32(indices[start + i]) ^ flip) * mul1)
        x ^= np.uint32(np.uint64(x) >> order.shift)
        scratch[base + i] = prefix(bits[start + i], order) << PRIORITY_BITS | np.uint64(np.uint32(x * mul2))


@inlined
def best_two(base, count, best, second, scratch):
    """The two largest of ``best``, ``second`` and some keys."""
    for i in range(base, base + count):
        key = scratch[i]
        second = max(second, min(best, key))
        best = max(best, key)
    return best, second


@inlined
def choose(indptr, indices, bits, order, first, last, base, scratch):
    """First and second choices of the vertices first..last-1; looks at no offer."""
    start, stop = np.uint64(indptr[first]), np.uint64(indptr[last])
    together = stop - start <= TILE
    if together:
        make_keys(indices, bits, order, start, stop, base, scratch)
    for u in range(first, last):
        begin, end = np.uint64(indptr[u]), np.uint64(indptr[u + ONE])
        best = second = NONE
        if together:
            best, second = best_two(base + begin - start, end - begin, best, second, scratch)
        else:
            while begin < end:
                count = min(end - begin, TILE)
                make_keys(indices, bits, order, begin, begin + count, base, scratch)
                best, second = best_two(base, count, best, second, scratch)
                begin += count
        scratch[base + FIRST + u - first] = best
        scratch[base + SECOND + u - first] = second


@inlined
def offer_first(indptr, indices, bits, order, u, best, second, state):
    """u's offers to its first and, if that fails, second choice. Returns who has to look again, or -1; and offers."""
    if best == NONE:
        return np.int64(-1), NONE
    rank = priority(order, u)
    displaced, offers = LOST, NONE
    if not order.lossy or best >> PRIORITY_BITS != second >> PRIORITY_BITS:
        displaced, offers = make_offer(indptr, indices, bits, order, rank, best, state), ONE
    if displaced == LOST and not order.lossy:
        if second == NONE:
            return np.int64(-1), offers
        displaced, offers = make_offer(indptr, indices, bits, order, rank, second, state), TWO
    if displaced == NONE:
        return np.int64(-1), offers
    return np.int64(u) if displaced == LOST else np.int64(vertex(order, displaced)), offers


# ---- looking again ----


@inlined
def look(indptr, indices, bits, order, u, rank, state):
    """Lines 10 to 16: the key of the heaviest neighbour that would take u's offer, or NONE.

    Offers only get better, and the last one that u holds is from its mate. So nothing below the offer that u holds now
    need be looked at (lines 10 and 11), and there is always something at or above it.
    """
    held = load(state, u)
    best = floor = held - ONE if held != NONE else NONE
    for e in range(np.uint64(indptr[u]), np.uint64(indptr[u + ONE])):
        weight = prefix(bits[e], order) << PRIORITY_BITS
        if weight | MASK <= best:
            continue
        v = np.uint64(np.uint32(indices[e]))
        key = weight | priority(order, v)
        if key > best and weight | rank > load(state, v):
            best = key
    return best if best != floor else NONE


@kernel
def look_exactly(indptr, indices, bits, order, u, rank, state):
    """``look`` by the exact weights, where prefixes are lossy."""
    heaviest = bits[np.uint64(0)] ^ bits[np.uint64(0)]  # zero of the bits' own type
    best = NONE
    for e in range(np.uint64(indptr[u]), np.uint64(indptr[u + ONE])):
        weight = bits[e]
        if weight < heaviest:
            continue
        v = np.uint64(np.uint32(indices[e]))
        other = priority(order, v)
        if weight == heaviest and other <= best & MASK:
            continue
        offer = prefix(weight, order) << PRIORITY_BITS
        if wins(indptr, indices, bits, order, v, offer | rank, load(state, v)):
            heaviest = weight
            best = offer | other
    return best


@inlined
def look_short(indptr, indices, bits, order, flat, u, rank, state):
    """``look`` without branches: cheaper in short rows, and where all weights are equal and nearly every entry ties.

    ``flat``: they are, so one of them is as good as any, and the others need not be read.
    """
    best = NONE
    for e in range(np.uint64(indptr[u]), np.uint64(indptr[u + ONE])):
        v = np.uint64(np.uint32(indices[e]))
        weight = prefix(bits[NONE if flat else e], order) << PRIORITY_BITS
        key = weight | priority(order, v)
        best = max(best, key if weight | rank > load(state, v) else NONE)
    return best


@inlined
def fetch(indptr, indices, bits, base, waiting, state, scratch):
    """Ask for the rows of the waiting vertices, then for the words of their neighbours."""
    for i in range(base, base + waiting):
        prefetch(indptr, scratch[i])
    for i in range(base, base + waiting):
        e = np.uint64(indptr[scratch[i]])
        for at in (e, e + np.uint64(15)):
            prefetch(indices, at)
            prefetch(bits, at)
    for i in range(base, base + waiting):
        e = np.uint64(indptr[scratch[i]])
        for at in range(e, min(e + np.uint64(32), np.uint64(indptr[scratch[i] + ONE]))):
            prefetch(state, np.uint64(np.uint32(indices[at])))


@inlined
def settle(indptr, indices, bits, order, flat, far, base, waiting, state, scratch):
    """Lines 9 to 31 for the queue at scratch[base:]: whom one displaces takes its place. Returns three counts.

    ``best`` may have a better offer by the time that ours arrives: then the vertex looks again at once. ``flat``: all
    weights are equal; ``far``: fetch ahead.
    """
    offers = scans = read = NONE
    while waiting > NONE:
        if far:
            fetch(indptr, indices, bits, base, waiting, state, scratch)
        left = NONE
        for i in range(base, base + waiting):
            current = scratch[i]
            rank = priority(order, current)
            displaced = LOST
            while displaced == LOST:
                scans += ONE
                read += np.uint64(indptr[current + ONE] - indptr[current])
                if order.lossy:
                    best = look_exactly(indptr, indices, bits, order, current, rank, state)
                elif flat or indptr[current + ONE] - indptr[current] <= SHORT:
                    best = look_short(indptr, indices, bits, order, flat, current, rank, state)
                else:
                    best = look(indptr, indices, bits, order, current, rank, state)
                displaced = NONE
                if best != NONE:
                    offers += ONE
                    displaced = make_offer(indptr, indices, bits, order, rank, best, state)
            if displaced != NONE:
                scratch[base + left] = vertex(order, displaced)
                left += ONE
        waiting = left
    return offers, scans, read


# ---- kernels ----


@kernel
def propose_all(worker, cursor, chunk, indptr, indices, bits, order, down, state, scratch):
    """Every vertex makes its offer; ``down``: from the last to the first. Returns three counts.

    With ids for priorities the direction is that of falling priority: an offer already held then mostly wins a tie, and
    equal weights displace few.
    """
    n = np.uint64(indptr.size - 1)
    base = np.uint64(worker) * np.uint64(SCRATCH)
    queue = base + QUEUE
    offers = scans = read = NONE
    while True:
        start = np.uint64(team.take(cursor, chunk))
        if start >= n:
            return offers, scans, read
        stop = min(n, start + np.uint64(chunk))
        for group in range(start, stop, GROUP):
            count = min(GROUP, stop - group)
            first = n - group - count if down else group
            choose(indptr, indices, bits, order, first, first + count, base, scratch)
            scans += count
            read += np.uint64(indptr[first + count] - indptr[first])
            far = NONE
            for i in range(count):
                key = scratch[base + FIRST + i]
                v = vertex(order, key) if key != NONE else first
                prefetch(state, v)
                far += np.uint64(v - first + NEAR > NEAR + NEAR)
            waiting = NONE
            for i in range(count):
                j = count - ONE - i if down else i
                first_key, second_key = scratch[base + FIRST + j], scratch[base + SECOND + j]
                again, made = offer_first(indptr, indices, bits, order, first + j, first_key, second_key, state)
                offers += made
                if again >= 0:
                    scratch[queue + waiting] = np.uint64(again)
                    waiting += ONE
            more, looked, seen = settle(
                indptr, indices, bits, order, False, far > count >> TWO, queue, waiting, state, scratch
            )
            offers += more
            scans += looked
            read += seen


@kernel
def find_waves(worker, cursor, chunk, order, first, bits, waves):
    """In which of 2^bits waves vertices first, first + 1, ... make their offers: wave 0 has the highest priorities."""
    last = (ONE << bits) - ONE
    n = np.int64(waves.size)
    while True:
        start = team.take(cursor, chunk)
        if start >= n:
            return
        for i in range(np.uint64(start), np.uint64(min(n, start + chunk))):
            waves[i] = last - (priority(order, np.uint64(first) + i) >> (PRIORITY_BITS - bits))


@kernel
def propose_wave(worker, cursor, chunk, indptr, indices, bits, order, visits, first, ceiling, state, scratch):
    """The vertices of one wave, ``visits[first:]``, make their offers. All weights are equal.

    Those of priority ``ceiling`` or more have settled in earlier waves. So an offer of theirs is final: nobody who is
    still to come can better it, and they are displaced only by each other. Whoever holds such an offer returns it,
    without a look at its row. That halves the looks.
    """
    total = np.uint64(visits.size)
    queue = np.uint64(worker) * np.uint64(SCRATCH) + QUEUE
    offers = scans = read = NONE
    while True:
        start = np.uint64(first) + np.uint64(team.take(cursor, chunk))
        if start >= total:
            return offers, scans, read
        stop = min(total, start + np.uint64(chunk))
        for group in range(start, stop, GROUP):
            waiting = NONE
            for i in range(group, min(group + GROUP, stop)):
                u = np.uint64(np.uint32(visits[i]))
                held = load(state, u)
                displaced = LOST
                if held != NONE and held & MASK >= ceiling:
                    offers += ONE
                    displaced = make_offer(indptr, indices, bits, order, priority(order, u), held, state)
                if displaced != NONE:
                    scratch[queue + waiting] = u if displaced == LOST else vertex(order, displaced)
                    waiting += ONE
            more, looked, seen = settle(indptr, indices, bits, order, True, True, queue, waiting, state, scratch)
            offers += more
            scans += looked
            read += seen


@kernel
def propose_sorted(worker, cursor, chunk, indptr, indices, bits, order, partners, weights, reached, state):
    """Offers down lists (``partners``, ``weights``) of falling key: who refused u once refuses it for ever.

    So ``reached[u]``, the next entry to try, never turns back.
    """
    n = np.int64(indptr.size - 1)
    offers = scans = read = NONE
    while True:
        start = team.take(cursor, chunk)
        if start >= n:
            return offers, scans, read
        for u in range(np.uint64(start), np.uint64(min(n, start + chunk))):
            current = u
            displaced = LOST
            while displaced != NONE:
                scans += ONE
                rank = priority(order, current)
                e, end = np.uint64(reached[current]), np.uint64(indptr[current + ONE])
                displaced = LOST if e < end else NONE
                while displaced == LOST and e < end:
                    key = prefix(weights[e], order) << PRIORITY_BITS | priority(order, partners[e])
                    displaced = make_offer(indptr, indices, bits, order, rank, key, state)
                    e += ONE
                    offers += ONE
                    read += ONE
                reached[current] = e
                if displaced == LOST:
                    displaced = NONE  # the list is at its end
                elif displaced != NONE:
                    current = vertex(order, displaced)


@kernel
def read_mates(worker, cursor, chunk, order, state, mate):
    """The suitor is the mate."""
    n = np.int64(state.size)
    while True:
        start = team.take(cursor, chunk)
        if start >= n:
            return
        for v in range(np.uint64(start), np.uint64(min(n, start + chunk))):
            mate[v] = np.int32(vertex(order, state[v])) if state[v] != NONE else np.int32(-1)


# ---- the engine ----


def run(graph: Graph, order: Order, context: Context, *, presort: bool = False) -> Result:
    """The engine; see ``contract.py``. With threads the counts depend on who comes first; the mates never do."""
    n, rows = graph.n, rows_of(graph)
    threads = team.thread_count(context.threads, len(graph.indices))

    def report(done: int) -> None:
        context.report(done, n)

    clock = [perf_counter()]
    state = np.zeros(n, np.uint64)
    mate = np.empty(n, np.int32)
    scratch = np.empty(threads * SCRATCH, np.uint64)
    lists = sort_rows(rows, order, threads) if presort else None
    clock.append(perf_counter())
    if not len(graph.indices):
        counts = []
    elif presort:
        sorted_lists = (lists.indices, lists.bits, graph.indptr[:-1].copy())
        counts = over(n, threads, propose_sorted, *rows, order, *sorted_lists, state, progress=report)
    elif goes_in_waves(graph, order):
        counts = propose_in_waves(rows, order, threads, 0, mate, state, scratch, report)
    else:
        counts = over(n, threads, propose_all, *rows, order, goes_down(order), state, scratch, progress=report)
    clock.append(perf_counter())
    over(n, threads, read_mates, order, state, mate)
    clock.append(perf_counter())
    offers, scans, read = (int(sum(column)) for column in zip(*counts, strict=True)) if counts else (0, 0, 0)
    seconds = dict(zip(("sort", "propose", "mates"), np.diff(clock).tolist(), strict=True))
    if not presort:
        del seconds["sort"]
    return Result(mate, {"proposals": offers, "scans": scans, "edges_read": read, "threads": threads}, seconds)


def goes_down(order: Order) -> bool:
    """Whether to visit the vertices from the last to the first: with ``ties="high"`` the priority is the id."""
    return order.shift == 32 and order.flip == 0


def goes_in_waves(graph, order: Order) -> bool:
    """Whether weights are equal, priorities scrambled, and rows long enough."""
    least, greatest, _ = graph.bits_range()
    return least == greatest and order.shift == 16 and 2 * graph.m > DENSE * graph.n


def propose_in_waves(rows, order: Order, threads: int, first: int, visits, state, scratch, after=None) -> list:
    """The vertices first, first + 1, ... make their offers by falling priority, in waves; all weights are equal.

    ``visits`` is room for their ids. ``after`` is called after each wave with how many have had their turn; where
    others propose for the rest of the graph, it waits for them, since a wave has to settle before the next.
    """
    n, bits = len(visits), min(WAVE_BITS, max(1, (len(state) >> 12).bit_length()))  # thousands of vertices a wave
    waves = np.empty(n, np.uint8)
    over(n, threads, find_waves, order, first, np.uint64(bits), waves)
    ends = np.bincount(waves, minlength=1 << bits).cumsum()
    _, visits[:] = radix_sort(waves, np.arange(first, first + n, dtype=np.int32), threads)
    counts, begin = [], 0
    for wave, end in enumerate(ends.tolist()):
        ceiling = np.uint64((1 << 32) - (wave << (32 - bits)))  # the least priority of the waves before
        part = visits[:end]
        counts += over(end - begin, threads, propose_wave, *rows, order, part, begin, ceiling, state, scratch)
        begin = end
        if after is not None:
            after(end)
    return counts
