"""Exchanges: pairs and free vertices (*centres*) leave what they have for better neighbours, all at once.

Reference: S. Pettie and P. Sanders, A simpler linear time 2/3 - eps approximation for maximum weight matching,
Information Processing Letters 91, 2004 (2-augmentations); ``reference_auction.augment`` defines a round.

Arms are found as bids are: the neighbour of greatest profit, where the weight that it is matched with is its price. A
centre that would gain claims its own pair and those at its arms, by a maximum of ``gain << 32 | priority``, and changes
if it gets all of them. Claims are kept at the smaller vertex of a pair, so whoever touches a pair claims it once.

Memory: 27 bytes a vertex. Cost: one look at each row in the first round; in the others only those look again whose
pairs were claimed, some 2 to 5 %.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.cpu.paths import weight_of
from troth.cpu.prices import NONE, Bidding, Workers, best_two, bits_of, item_of, mask_of, profit_of, value_of
from troth.kernels.atomics import fetch_max
from troth.kernels.jit import inlined, kernel
from troth.kernels.queue import VertexQueue, append
from troth.kernels.team import chunks
from troth.order import MASK, PRIORITY_BITS, priority
from troth.rows import entry_of
from troth.units import Units


class Exchange(NamedTuple):
    """What a round works on, one number a vertex; ``centres`` are those that would gain."""

    mate: np.ndarray
    held: np.ndarray  # the weight matched at a vertex, as bidders count it
    arm: np.ndarray  # the neighbour that a vertex of a centre wants, -1 where it wants none
    claims: np.ndarray  # at the smaller vertex of a pair: the greatest of those who want it
    centres: VertexQueue  # by their smaller vertex
    gets: np.ndarray  # for each of these whether it gets all that it claims
    looks: np.ndarray  # whether a vertex's centre looks for arms in this round,
    touched: np.ndarray  # and in the next: its pair was claimed


@inlined
def smaller(mate, x):
    """The smaller vertex of the pair of x; x where it is free."""
    return min(x, mate[x]) if mate[x] >= 0 else x


@kernel
def hold(worker, cursor, chunk, bidding, exchange):
    """held[v] = the weight matched at v, and no claims, for all who look: nothing has changed for the others."""
    for start, stop in chunks(cursor, chunk, exchange.mate.size):
        for v in range(start, stop):
            exchange.touched[v] = False
            if exchange.looks[v]:
                u = exchange.mate[v]
                exchange.claims[v] = NONE
                exchange.held[v] = np.float32(0.0)
                if u >= 0:
                    exchange.held[v] = value_of(bidding.rows.weights[entry_of(bidding.rows, v, u)], bidding)


@inlined
def arms_of(bidding, exchange, v):
    """The two best arms of v: their profits, and where they lead (-1: there is none)."""
    mask = mask_of(bidding.seed, np.uint64(v))
    best, second = best_two(bidding, mask, np.uint64(v), exchange.held)
    here = np.int32(item_of(bidding.mixing, best, mask)) if best >> PRIORITY_BITS != NONE else np.int32(-1)
    other = np.int32(item_of(bidding.mixing, second, mask)) if second >> PRIORITY_BITS != NONE else np.int32(-1)
    return profit_of(best), here, profit_of(second), other


@inlined
def gain_of(bidding, units, exchange, a, x, b, y):
    """What the centre {a, b} gains by the arms a-x and b-y, in units; -1 means no arm, and no b."""
    rows, mate = bidding.rows, exchange.mate
    gain = weight_of(rows, units, a, x) - weight_of(rows, units, a, b)
    if x >= 0:
        gain -= weight_of(rows, units, x, mate[x])
    if y >= 0:
        gain += weight_of(rows, units, b, y) - (
            weight_of(rows, units, y, mate[y]) if mate[y] != x or x < 0 else np.int64(0)
        )
    return gain


@inlined
def claim(exchange, x, want):
    """Claim the pair of x, if there is an x."""
    if x >= 0:
        fetch_max(exchange.claims, np.uint64(smaller(exchange.mate, x)), want)
        exchange.touched[x] = True
        if exchange.mate[x] >= 0:
            exchange.touched[exchange.mate[x]] = True


@kernel
def want_arms(worker, cursor, chunk, bidding, units, batches, exchange):
    """Every centre looks for arms, and claims what it wants if it would gain."""
    mate, batch = exchange.mate, batches[0, worker]
    for start, stop in chunks(cursor, chunk, mate.size):
        found = np.int64(0)
        for a in range(start, stop):
            b = mate[a]
            if 0 <= b < a or not exchange.looks[a]:
                continue
            here, x, here2, x2 = arms_of(bidding, exchange, a)
            there, there2, y, y2 = np.float32(0.0), np.float32(0.0), np.int32(-1), np.int32(-1)
            if b >= 0:
                there, y, there2, y2 = arms_of(bidding, exchange, b)
            if x >= 0 and x == y:
                if np.float32(here + there2) >= np.float32(here2 + there):
                    there, y = there2, y2
                else:
                    here, x = here2, x2
            if np.float32(np.float32(here + there) - exchange.held[a]) > np.float32(0.0):
                gain = gain_of(bidding, units, exchange, np.int32(a), x, b, y)
                if gain > 0:
                    exchange.arm[a] = x
                    if b >= 0:
                        exchange.arm[b] = y
                    want = bits_of(np.float32(np.float64(gain))) << PRIORITY_BITS
                    want |= priority(bidding.order, np.uint64(a))
                    claim(exchange, np.int32(a), want)
                    claim(exchange, x, want)
                    claim(exchange, y, want)
                    batch[found] = a
                    found += 1
        append(exchange.centres, batch, found)


@inlined
def has(bidding, exchange, a, x):
    """Whether the centre of a gets the pair of x, or wants no x; its priority tells who made a claim."""
    if x < 0:
        return True
    return exchange.claims[smaller(exchange.mate, x)] & MASK == priority(bidding.order, np.uint64(a))


@inlined
def arm_of(exchange, b):
    """The arm of b; none where there is no b."""
    return exchange.arm[b] if b >= 0 else np.int32(-1)


@kernel
def decide(worker, cursor, chunk, bidding, exchange):
    """Which centres have all that they claim."""
    for start, stop in chunks(cursor, chunk, exchange.centres.tail[0]):
        for i in range(start, stop):
            a = exchange.centres.items[i]
            y = arm_of(exchange, exchange.mate[a])
            every = has(bidding, exchange, a, a) and has(bidding, exchange, a, exchange.arm[a])
            exchange.gets[i] = every and has(bidding, exchange, a, y)


@inlined
def leave(mate, x):
    """x and its mate part."""
    if x >= 0 and mate[x] >= 0:
        mate[mate[x]] = -1
        mate[x] = -1


@inlined
def join(mate, x, y):
    """x and y are mates."""
    if y >= 0:
        mate[x], mate[y] = y, x


@kernel
def change(worker, cursor, chunk, exchange):
    """The centres that have all that they claim take their arms; returns how many. No two touch one pair."""
    mate, changed = exchange.mate, 0
    for start, stop in chunks(cursor, chunk, exchange.centres.tail[0]):
        for i in range(start, stop):
            if exchange.gets[i]:
                a = exchange.centres.items[i]
                b, x = mate[a], exchange.arm[a]
                y = arm_of(exchange, b)
                leave(mate, a)
                leave(mate, x)
                leave(mate, y)
                join(mate, a, x)
                join(mate, b, y)
                changed += 1
    return changed


def augment(workers: Workers, bidding: Bidding, units: Units, batches: np.ndarray, exchange: Exchange) -> int:
    """One round; how many centres changed. ``touched`` is ``looks`` of the next."""
    n = len(exchange.mate)
    workers.run(hold, n, bidding, exchange)
    workers.empty(exchange.centres)
    workers.run(want_arms, n, bidding, units, batches, exchange)
    count = int(exchange.centres.tail[0])
    workers.run(decide, count, bidding, exchange)
    return sum(workers.run(change, count, exchange))
