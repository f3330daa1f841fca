"""Prices: rounds of an auction in which every vertex is a bidder and, once more, an item.

``reference_auction.py`` defines it and proves what it promises. State: one 64-bit word an item, ``bid << 32 | priority
of the bidder`` or 0, so that the greatest bid of a round is a maximum of words, whoever comes first. A bid is a
float32, whose bits are in its order, and is the item's price from then on. A round has two steps: the active bidders
look for the item of greatest profit at frozen prices, then all bids are made. A bid that fails, and a bidder who is
displaced, make one active bidder of the next round.

The first round reads no price, all being 0, and makes its bids at once.

Memory: 28 bytes a vertex while prices are found, 8 of which stay. Cost: 1.8 to 3.2 looks at each row with the defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from troth.kernels.atomics import fetch_max, prefetch
from troth.kernels.jit import inlined, kernel, spliced
from troth.kernels.queue import VertexQueue, append, new_batches
from troth.kernels.team import SERIAL_BELOW, chunks, new_cursor, run_team, worker_rows
from troth.order import BID, ONE, PRIORITY_BITS, Order, hash1, make_order, priority, vertex
from troth.rows import NumberRows, number_rows_of
from troth.units import value_factors

NONE = np.uint64(0)  # no bid
LEAST = np.float32(2.0**-100)  # of a weight in a bid, so that no profit and no bid is denormal
MONEY = 2.0**30  # what a price of 1 counts, in whole numbers, where prices are added up
GROUP = np.uint64(64)  # bidders whose rows and words are fetched together
REACH = np.uint64(32)  # entries of a row whose words are fetched
LONG = 64  # rounds, after which those of few bidders are held by one worker, without a step of Python between them
AT_A_TIME = 4096  # such rounds
GRAIN = 512  # items for which a further worker is woken


class Bidding(NamedTuple):
    """The rules of an auction, as one argument of kernels."""

    rows: NumberRows
    first: float  # w in a bid is w * first * second
    second: float
    order: Order  # of bidders who bid the same
    mixing: Order  # a scramble, by which a bidder chooses among items of equal profit
    seed: np.uint64
    eps: np.float32


def make_bidding(graph: Any, order: Order, seed: int = 0, eps: float = 0.02) -> Bidding:
    """The rules for a graph, or a rank's part of one; weights are scaled so that the greatest of all is in [1, 2)."""
    factors, mixing = value_factors(graph), make_order("hash", seed)
    return Bidding(number_rows_of(graph), *factors, order, mixing, np.uint64(seed % 2**64), np.float32(eps))


# ---- one bid ----


def value_of(w, bidding):
    """A weight as bidders count it; compiled code only."""
    raise NotImplementedError("value_of is for compiled code")


@overload(value_of, inline="always")
def _value_of(w, bidding):
    if w == types.float32:  # exact, as in float64: by powers of two, and what is less than a normal number is raised
        return lambda w, bidding: max(LEAST, w * np.float32(bidding.first) * np.float32(bidding.second))
    return lambda w, bidding: max(LEAST, np.float32(np.float64(w) * bidding.first * bidding.second))


def price_of(prices, v):
    """The price of item v in the words of bids, or among plain float32; 0 where there are none. Compiled code only."""
    raise NotImplementedError("price_of is for compiled code")


@overload(price_of, inline="always")
def _price_of(prices, v):
    if isinstance(prices, types.NoneType):
        return lambda prices, v: np.float32(0.0)
    if prices.dtype == types.float32:
        return lambda prices, v: prices[v]
    return lambda prices, v: np.uint32(prices[v] >> PRIORITY_BITS).view(np.float32)


def plain_prices(words: Any) -> Any:
    """The prices in the words of an auction, NumPy's or CuPy's, as float32."""
    return words.view(np.float32)[1::2].copy()  # the upper half of a word comes second


def as_words(prices: Any) -> Any:
    """Plain prices as the words that they were in, without the priorities."""
    return prices.view(np.uint32).astype(np.uint64) << PRIORITY_BITS


@inlined
def bits_of(x):
    """The bits of a float32 that is 0 or more, which are in its order."""
    return np.uint64(np.float32(x).view(np.uint32))


@inlined
def profit_of(key):
    """The profit in a key."""
    return np.uint32(key >> PRIORITY_BITS).view(np.float32)


@inlined
def mask_of(seed, u):
    """What u mixes into the numbers of items, so that bidders with the same neighbours choose differently."""
    return hash1(seed, BID, u) >> PRIORITY_BITS


@inlined
def item_of(mixing, key, mask):
    """The item in a key."""
    return vertex(mixing, key) ^ mask


@spliced
def best_two(bidding, mask, u, prices):
    """The two greatest keys ``profit << 32 | scramble of the item`` in the row of u; a profit of 0 means none.

    The bits of a profit below 0 are negative as an int32. Nothing in the loop depends on a comparison but maxima.
    """
    rows = bidding.rows
    best = second = NONE
    for e in range(np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + ONE])):
        v = np.uint64(np.uint32(rows.indices[e]))
        profit = np.float32(value_of(rows.weights[e], bidding) - price_of(prices, v))
        above = np.uint64(np.uint32(max(np.int32(0), profit.view(np.int32))))
        key = above << PRIORITY_BITS | priority(bidding.mixing, v ^ mask)
        second = max(second, min(best, key))
        best = max(best, key)
    return best, second


@inlined
def bid_at(eps, rank, best, second, price):
    """The bid of who has this priority for an item of this price, in the order of ``reference_auction.py``."""
    profit = profit_of(best)
    bid = np.float32(price + np.float32(profit - profit_of(second)))
    bid = np.float32(bid + np.float32(eps * np.float32(price + profit)))
    return max(bits_of(bid), bits_of(price) + ONE) << PRIORITY_BITS | rank


@inlined
def money(word):
    """The price in a word, in whole numbers."""
    return np.int64(np.float64(profit_of(word)) * MONEY)


# ---- kernels ----


class Round(NamedTuple):
    """What a round works on: its bidders, for each of them the item and the bid (NONE: it leaves), who is next."""

    bidders: VertexQueue
    items: np.ndarray
    bids: np.ndarray
    losers: VertexQueue


@inlined
def commit(order, v, bid, words, batch, lost):
    """Make a bid for v. Someone loses, unless the item was free. Returns how many have, and what is paid more."""
    old = fetch_max(words, v, bid)
    if old != NONE:
        batch[lost] = vertex(order, min(old, bid))
        lost += 1
    return lost, money(max(old, bid)) - money(old)


@kernel
def bid_first(worker, cursor, chunk, bidding, scratch, words, losers):
    """The first round: every vertex bids for its heaviest neighbour, at price 0. Returns what is paid."""
    rows, batch, items, bids = bidding.rows, scratch.batches[0, worker], scratch.items[worker], scratch.bids[worker]
    paid = np.int64(0)
    for start, stop in chunks(cursor, chunk, rows.indptr.size - 1):
        lost = np.int64(0)
        for group in range(np.uint64(start), np.uint64(stop), GROUP):
            made = NONE
            for u in range(group, min(group + GROUP, np.uint64(stop))):
                mask = mask_of(bidding.seed, u)
                best, second = best_two(bidding, mask, u, None)
                if best >> PRIORITY_BITS != NONE:
                    items[made] = item_of(bidding.mixing, best, mask)
                    bids[made] = bid_at(bidding.eps, priority(bidding.order, u), best, second, np.float32(0.0))
                    prefetch(words, items[made])
                    made += ONE
            for i in range(made):
                lost, more = commit(bidding.order, items[i], bids[i], words, batch, lost)
                paid += more
        append(losers, batch, lost)
    return paid


@inlined
def fetch(rows, bidders, first, last, words):
    """Ask for the rows of some bidders, then for the words of the items in them."""
    for i in range(first, last):
        prefetch(rows.indptr, np.uint64(np.uint32(bidders[i])))
    for i in range(first, last):
        e = np.uint64(rows.indptr[bidders[i]])
        prefetch(rows.indices, e)
        prefetch(rows.weights, e)
    for i in range(first, last):
        start, stop = np.uint64(rows.indptr[bidders[i]]), np.uint64(rows.indptr[bidders[i] + 1])
        for e in range(start, min(start + REACH, stop)):
            prefetch(words, np.uint64(np.uint32(rows.indices[e])))


@kernel
def bid_again(worker, cursor, chunk, bidding, words, round):
    """The bidders of a round find an item and a bid; returns the unmet profit and the entries read."""
    rows, bidders = bidding.rows, round.bidders.items
    unmet = read = np.int64(0)
    for start, stop in chunks(cursor, chunk, round.bidders.tail[0]):
        for group in range(np.uint64(start), np.uint64(stop), GROUP):
            last = min(group + GROUP, np.uint64(stop))
            fetch(rows, bidders, group, last, words)
            for i in range(group, last):
                u = np.uint64(np.uint32(bidders[i]))
                mask = mask_of(bidding.seed, u)
                best, second = best_two(bidding, mask, u, words)
                read += rows.indptr[u + ONE] - rows.indptr[u]
                round.bids[i] = NONE
                if best >> PRIORITY_BITS != NONE:
                    unmet += money(best)
                    item, rank = item_of(bidding.mixing, best, mask), priority(bidding.order, u)
                    round.items[i] = np.int32(item)
                    round.bids[i] = bid_at(bidding.eps, rank, best, second, price_of(words, item))
    return unmet, read


@kernel
def make_bids(worker, cursor, chunk, bidding, batches, words, round):
    """The bids of a round; returns what is paid more."""
    batch = batches[0, worker]
    paid = np.int64(0)
    for start, stop in chunks(cursor, chunk, round.bidders.tail[0]):
        lost = np.int64(0)
        for i in range(start, stop):
            prefetch(words, np.uint64(np.uint32(round.items[min(i + 16, stop - 1)])))
            if round.bids[i] != NONE:
                lost, more = commit(bidding.order, np.uint64(round.items[i]), round.bids[i], words, batch, lost)
                paid += more
        append(round.losers, batch, lost)
    return paid


@kernel
def hold_few(bidding, batches, words, round, slack, paid, most, cursor):
    """Rounds by one worker, while there are few bidders: up to ``most``, after which Python looks for Ctrl-C.

    Returns what is paid, the rounds (of which an odd number leaves the bidders in ``losers``), looks at rows, entries
    read, and whether the unmet profit is so little that the auction is over.
    """
    active, losers = round.bidders, round.losers
    done = scans = read = np.int64(0)
    while done < most and 0 < active.tail[0] < SERIAL_BELOW:
        losers.tail[0] = 0
        now, count = Round(active, round.items, round.bids, losers), active.tail[0]
        cursor[0] = 0
        unmet, seen = bid_again(0, cursor, count, bidding, words, now)
        scans += count
        read += seen
        if np.float64(unmet) <= slack * np.float64(paid):
            return paid, done, scans, read, True
        cursor[0] = 0
        paid += make_bids(0, cursor, count, bidding, batches, words, now)
        active, losers = losers, active
        done += 1
    return paid, done, scans, read, False


# ---- the auction ----


@kernel
def fill(worker, cursor, chunk, value, values):
    """All values are this one."""
    for start, stop in chunks(cursor, chunk, values.size):
        values[start:stop] = value


class Scratch(NamedTuple):
    """What workers need while they bid, a row for each: losers, and the items and bids of a group."""

    batches: np.ndarray
    items: np.ndarray
    bids: np.ndarray


class Workers:
    """Threads of this process, for whom an array is an array; ``ranks/auction.py`` has ranks that share memory."""

    alone = True  # one process has them all

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def room(self, size: int, kind: Any) -> np.ndarray:
        """An array that all workers see; it holds zeros."""
        return np.zeros(size, kind)

    def run(self, kernel: Callable, total: int, *args: Any) -> list:
        """Run a kernel on the items 0..total-1; what all workers return."""
        return run_team(kernel, total, min(self.threads, max(1, total // GRAIN)), *args)

    def queue(self, size: int) -> VertexQueue:
        """A queue that all workers see."""
        return VertexQueue(self.room(size, np.int32), self.room(16, np.int64))

    def empty(self, queue: VertexQueue) -> None:
        """Take all out of a queue."""
        queue.tail[0] = 0


def find_prices(
    workers: Workers,
    bidding: Bidding,
    slack: float = 0.02,
    rounds: int | None = 32,
    after: Callable[[int], None] | None = None,
) -> tuple[np.ndarray, dict[str, int]]:
    """Hold the auction; the words of all items, and counts. ``after`` is called after each round with the active."""
    n, threads = len(bidding.rows.indptr) - 1, workers.threads
    words, active, losers = workers.room(n, np.uint64), workers.queue(n), workers.queue(n)
    items, bids = workers.room(n, np.int32), workers.room(n, np.uint64)
    groups = (worker_rows(threads, int(GROUP), np.uint64) for _ in range(2))
    scratch = Scratch(new_batches(threads), *groups)
    paid = sum(workers.run(bid_first, n, bidding, scratch, words, active))
    done, scans, read = 1, n, len(bidding.rows.indices)
    while (count := int(active.tail[0])) and (rounds is None or done < rounds):
        if after is not None:
            after(count)
        if done >= LONG and count < SERIAL_BELOW and workers.alone:
            most = AT_A_TIME if rounds is None else min(AT_A_TIME, rounds - done)
            few = Round(active, items, bids, losers), slack, paid, most, new_cursor()
            paid, made, looks, seen, over = hold_few(bidding, scratch.batches, words, *few)
            active, losers = (losers, active) if made % 2 else (active, losers)
            done, scans, read = done + made, scans + looks, read + seen
            if over:
                break
            continue
        workers.empty(losers)
        work = Round(active, items, bids, losers)
        unmet, seen = np.sum(workers.run(bid_again, count, bidding, words, work), axis=0).tolist()
        scans, read = scans + count, read + seen
        if float(unmet) <= slack * float(paid):
            break
        paid += sum(workers.run(make_bids, count, bidding, scratch.batches, words, work))
        active, losers, done = losers, active, done + 1
    return words, {"rounds": done, "scans": scans, "edges_read": read}
