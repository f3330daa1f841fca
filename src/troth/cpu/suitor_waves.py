"""Suitor in waves: where all weights are equal, priorities alone decide, and those of high priority go first.

Visiting the vertices from high to low priority displaces hardly anyone, since whoever holds an offer of equal weight
keeps it against all who are still to come. In waves of a few thousand vertices that is nearly so, and threads can share
a wave. The rest is as in ``suitor.py``, with its state and its invariant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from troth.cpu.first_choices import Scratch, scratch_of
from troth.cpu.offers import GROUP, LOST, NONE, SPENT, Budget, Offers, offer_by_key
from troth.cpu.suitor_unbranched import Zone, settle_together
from troth.kernels.atomics import load
from troth.kernels.jit import kernel
from troth.kernels.sort import radix_sort
from troth.kernels.team import chunks, run_team, stop_all
from troth.order import MASK, MOST_CLASS, ONE, Order, is_scrambled, priority
from troth.rows import Rows

DENSE = 8  # mean degree above which equal weights go in waves; below it, rows are too short to be worth a jump
SHARP = 32  # mean degree above which a wave goes by priority as well: a second look at a row costs more than the sort
TOGETHER = np.uint64(16)  # vertices of such graphs that look at one time
CROWDED = 16  # graphs with more than such a part of all possible edges
WAVE_BITS = 5  # at most 32 waves
CLASS_BITS = 5  # a class of vertices goes in at most 32 of them
SAMPLE = 2**13  # vertices whose classes are counted, about


@kernel
def find_waves(worker, cursor, chunk, order, first, table, shift, waves):
    """In which wave vertices first, first + 1, ... make their offers: ``table`` tells, by the priority's upper bits."""
    for start, stop in chunks(cursor, chunk, waves.size):
        for i in range(np.uint64(start), np.uint64(stop)):
            waves[i] = table[priority(order, np.uint64(first) + i) >> shift]


@kernel
def find_ranks(worker, cursor, chunk, order, visits, ranks):
    """ranks[i] = the priority of vertex visits[i]."""
    for start, stop in chunks(cursor, chunk, visits.size):
        for i in range(np.uint64(start), np.uint64(stop)):
            ranks[i] = priority(order, np.uint32(visits[i]))


@kernel
def propose_wave(worker, cursor, chunk, rows, order, visits, size, ceiling, budget, scratch, offers):
    """The vertices of one wave, ``visits``, make their offers, ``size`` of them together. All weights are equal.

    Those of priority ``ceiling`` or more have settled in earlier waves. So an offer of theirs is final: nobody who is
    still to come can better it, and they are displaced only by each other. Whoever holds such an offer returns it,
    without a look at its row. That halves the looks.
    """
    mine, none = scratch_of(scratch, worker), Zone(NONE, NONE, visits, cursor)  # no zone, so nothing is listed
    made = scans = read = uncounted = NONE
    for start, stop in chunks(cursor, chunk, visits.size):
        for group in range(np.uint64(start), np.uint64(stop), size):
            waiting = NONE
            for i in range(group, min(group + size, np.uint64(stop))):
                u = np.uint64(np.uint32(visits[i]))
                held = load(offers.state, u)
                rank = priority(order, u)
                displaced = LOST
                if held != NONE and held & MASK >= ceiling:
                    made += ONE
                    displaced = offer_by_key(rows, order, rank, held, offers)
                if displaced != NONE:
                    mine.queue[waiting] = rank if displaced == LOST else displaced
                    waiting += ONE
            more, looked, seen, uncounted = settle_together(
                rows, order, True, True, budget, uncounted, none, mine, waiting, offers
            )
            made += more
            scans += looked
            read += seen
            if uncounted == SPENT:
                stop_all(cursor)
                break
    return made, scans, read


def is_crowded(rows: Rows) -> bool:
    """Whether so many of all possible edges are there that, with equal weights, most vertices want the same few."""
    return CROWDED * len(rows.indices) > (len(rows.indptr) - 1) ** 2


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
    rows: Rows,
    order: Order,
    first: int,
    budget: Budget,
    visits: np.ndarray,
    scratch: Scratch,
    offers: Offers,
    after: Callable[[int], bool],
) -> list:
    """The vertices first, first + 1, ... make their offers by falling priority, in waves; all weights are equal.

    ``visits`` is room for their ids. ``after`` is called after each wave with how many have had their turn, and says
    whether to stop, as where the budget is spent; where others propose for the rest of the graph, it waits for them,
    since a wave has to settle before the next.
    """
    n, threads = len(visits), len(scratch.queue)
    bits = min(WAVE_BITS, max(1, (len(offers.state) >> 12).bit_length()))  # thousands in a wave
    table, shift = plan_waves(order, bits)
    waves = np.empty(n, np.uint8)
    run_team(find_waves, n, threads, order, first, table, np.uint64(shift), waves)
    ends = np.bincount(waves, minlength=1 << bits).cumsum()
    _, visits[:] = radix_sort(waves, np.arange(first, first + n, dtype=np.int32), threads)
    sharp = len(rows.indices) > SHARP * len(offers.state)
    # Those who look together may all want the same one.
    size = ONE if is_crowded(rows) else TOGETHER if sharp else GROUP
    counts, begin = [], 0
    for wave, end in enumerate(ends.tolist()):
        ceiling = np.uint64(np.count_nonzero(table >= wave) << shift)  # the least priority of the waves before
        some = visits[begin:end]
        if sharp:
            ranks = np.empty(len(some), np.uint32)
            run_team(find_ranks, len(some), threads, order, some, ranks)
            some = some[np.argsort(~ranks)]
        counts += run_team(propose_wave, len(some), threads, rows, order, some, size, ceiling, budget, scratch, offers)
        begin = end
        if after(end):
            break
    return counts
