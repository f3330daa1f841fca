"""Suitor on short rows: offers and looks without branches that depend on the weights.

Whether an offer wins, and whether it displaces someone, is a coin toss that no processor can predict; in rows of a few
entries a wrong guess costs more than the row. So three loops over a group of vertices take the place of one (the first
offers, the second offers of those who lost, looks and offers of all who wait), and what one offer decides is where the
next vertex is written:

    held = state[v];  state[v] = max(held, offer);  won = offer > held
    again = the suitor of held if won else u;       it waits unless u won and v held nothing.

``max`` makes the exchange unconditional: where the offer loses, the word that is there is written once more. Everything
else is as in ``suitor.py``, with its state and its invariant. For orders whose prefixes are exact, and whole graphs.
"""

from __future__ import annotations

import numpy as np

from troth.cpu.first_choices import NEAR, choose
from troth.cpu.offers import GROUP, NONE, SHORT, SPENT, count_spent, fetch, look, look_short
from troth.kernels.atomics import compare_and_swap, load, prefetch
from troth.kernels.jit import inlined, kernel
from troth.kernels.team import chunks, stop_all
from troth.order import MASK, ONE, PRIORITY_BITS, prefix, priority, vertex

FOURTH = np.uint64(2)  # count >> FOURTH is a fourth of it


@inlined
def offer_unbranched(order, u, v, key, state):
    """u offers itself to v, its neighbour of this key. Returns who looks again, whether anyone does, and if u won.

    A word that another thread changed meanwhile is looked at anew, which is rare.
    """
    offer = (key & ~MASK) | priority(order, u)
    held = load(state, v)
    seen = compare_and_swap(state, v, held, max(held, offer))
    while seen != held:
        held = seen
        seen = compare_and_swap(state, v, held, max(held, offer))
    won = np.uint64(offer > held)
    displaced = NONE - won  # all ones or none: a choice that compilers do not turn into a branch
    again = (vertex(order, held) & displaced) | (u & ~displaced)
    return again, np.uint64(held != NONE) | (won ^ ONE), won


@inlined
def find_targets(order, first, count, firsts, targets, state):
    """targets[i] = the first choice of vertex first + i, whose word is fetched; returns how many are far away."""
    far = NONE
    for i in range(count):
        v = vertex(order, firsts[i]) if firsts[i] != NONE else first
        targets[i] = v
        prefetch(state, v)
        far += np.uint64(v - first + NEAR > NEAR + NEAR)
    return far


@inlined
def offer_group(order, first, count, down, choices, targets, lost, queue, state):
    """First and second offers of vertices first .. first + count - 1. Returns how many wait, and the offers made."""
    firsts, seconds = choices
    waiting = losers = NONE
    for i in range(count):
        j = count - ONE - i if down else i
        if firsts[j] != NONE:
            again, some, won = offer_unbranched(order, first + j, targets[j], firsts[j], state)
            lost[losers] = j
            losers += won ^ ONE
            queue[waiting] = again
            waiting += won & some
    for i in range(losers):
        j = lost[i]
        if seconds[j] != NONE:
            again, some, _ = offer_unbranched(order, first + j, vertex(order, seconds[j]), seconds[j], state)
            queue[waiting] = again
            waiting += some
    return waiting, count + losers


@inlined
def key_by_look(rows, order, u, rank, offers):
    """``look`` in a long row; returns the neighbour's key, or NONE."""
    e = look(rows, order, u, rank, offers)
    if e < 0:
        return NONE
    return prefix(rows.bits[np.uint64(e)], order) << PRIORITY_BITS | priority(order, np.uint32(rows.indices[e]))


@inlined
def settle_short(rows, order, flat, far, budget, uncounted, queue, waiting, found, offers):
    """All who wait look, then all make their offers, until nobody waits; as ``settle``."""
    made = scans = read = NONE
    while waiting > NONE:
        before = read
        if far:
            fetch(rows, queue, waiting, offers)
        for i in range(waiting):
            u = queue[i]
            rank, entries = priority(order, u), rows.indptr[u + ONE] - rows.indptr[u]
            if entries <= SHORT:
                found[i] = look_short(rows, order, flat, u, rank, offers)
            else:
                found[i] = key_by_look(rows, order, u, rank, offers)
            read += np.uint64(entries)
        scans += waiting
        left = NONE
        for i in range(waiting):
            if found[i] != NONE:
                again, some, _ = offer_unbranched(order, queue[i], vertex(order, found[i]), found[i], offers.state)
                queue[left] = again
                left += some
                made += ONE
        waiting = left
        uncounted = count_spent(budget, uncounted + read - before)
        if uncounted == SPENT:
            break
    return made, scans, read, uncounted


@kernel
def propose_short(worker, cursor, chunk, rows, order, down, flat, budget, scratch, offers):
    """Every vertex makes its offer; arguments and counts as in ``propose_all``. ``flat``: all weights are equal."""
    n = np.uint64(rows.indptr.size - 1)
    keys, queue = scratch.keys[worker], scratch.queue[worker]
    firsts, seconds = scratch.first[worker], scratch.second[worker]
    targets, lost = keys[:GROUP], keys[GROUP : GROUP + GROUP]  # keys are used up by then
    made = scans = read = uncounted = NONE
    for start, stop in chunks(cursor, chunk, rows.indptr.size - 1):
        for group in range(np.uint64(start), np.uint64(stop), GROUP):
            count = min(GROUP, np.uint64(stop) - group)
            first = n - group - count if down else group
            choose(rows, order, first, first + count, keys, firsts, seconds)
            scans += count
            read += np.uint64(rows.indptr[first + count] - rows.indptr[first])
            far = find_targets(order, first, count, firsts, targets, offers.state)
            waiting, some = offer_group(
                order, first, count, down, (firsts, seconds), targets, lost, queue, offers.state
            )
            made += some
            more, looked, seen, uncounted = settle_short(
                rows, order, flat, far > count >> FOURTH, budget, uncounted, queue, waiting, firsts, offers
            )
            made += more
            scans += looked
            read += seen
            if uncounted == SPENT:
                stop_all(cursor)
                break
    return made, scans, read
