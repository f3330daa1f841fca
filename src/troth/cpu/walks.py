"""Walks: free vertices look for each other along edges that pay, and swap all that is matched on the way.

``reference_auction.walk`` defines a round. An odd cycle of arcs leaves one of its vertices free; a walk joins it with
another such vertex, which exchanges, being short, seldom can. Prices are the guide: along edges on which
w = y(u) + y(v) for a good dual y, a walk loses nothing until it ends at a vertex that gains.

Free vertices of price 0 have nothing to gain: no one has asked for them. So few set out, and a walk is eight steps at
most. Claims are those of ``augment.py``. A walk that has all its claims is kept in ``arm``, as what each vertex on it
takes: no two such walks share a pair.

Cost: up to a quarter of a look at each row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.cpu.augment import Exchange, claim, has
from troth.cpu.paths import weight_of
from troth.cpu.prices import NONE, Bidding, Workers, bits_of, fill, item_of, price_of, value_of
from troth.kernels.jit import inlined, kernel
from troth.kernels.queue import append
from troth.kernels.team import chunks, worker_rows
from troth.order import PRIORITY_BITS, WALK, hash2, priority
from troth.units import WALK_STEPS, Units

LIFT = np.float32(4.0)  # what makes every worth positive: prices are less than 3


class Guide(NamedTuple):
    """What walks go by: the rules of the auction, its prices, units, and the number of the round."""

    bidding: Bidding
    prices: np.ndarray
    units: Units
    turn: np.uint64


@kernel
def read_prices(worker, cursor, chunk, words, prices):
    """The prices in the words of the auction."""
    for start, stop in chunks(cursor, chunk, prices.size):
        for v in range(start, stop):
            prices[v] = price_of(words, v)


@inlined
def is_closed(mate, f, path, count, v):
    """Whether v is where the walk began, or of a pair that it has given up."""
    closed = v == f
    for i in range(count):
        closed |= (v == path[i]) | (mate[v] == path[i])
    return closed


@kernel
def take(guide, mate, f, path, count, z):
    """The neighbour that z takes, on a walk from f that has come along ``path[:count]``; -1 where there is none."""
    bidding = guide.bidding
    rows, mask = bidding.rows, hash2(bidding.seed, WALK, guide.turn, np.uint64(z)) >> PRIORITY_BITS
    best = np.uint64(0)
    for e in range(np.uint64(rows.indptr[z]), np.uint64(rows.indptr[z + 1])):
        v = rows.indices[e]
        cost = guide.prices[v] if mate[v] >= 0 else np.float32(0.0)
        worth = np.float32(np.float32(value_of(rows.weights[e], bidding) - cost) + LIFT)
        key = bits_of(worth) << PRIORITY_BITS | priority(bidding.mixing, np.uint64(v) ^ mask)
        if key > best and not is_closed(mate, f, path, count, v):
            best = key
    return np.int32(item_of(bidding.mixing, best, mask)) if best else np.int32(-1)


@kernel
def walk_from(guide, mate, f, path):
    """Walk from f: what it gains, in units, and the steps that it takes for that, which are in ``path``."""
    rows, units = guide.bidding.rows, guide.units
    gain = best = np.int64(0)
    length, z = 0, f
    for count in range(WALK_STEPS):
        y = take(guide, mate, f, path, count, z)
        if y < 0:
            break
        path[count] = y
        gain += weight_of(rows, units, z, y) - weight_of(rows, units, y, mate[y])
        if gain > best:
            best, length = gain, count + 1
        z = mate[y]
        if z < 0:
            break
    return best, length


@kernel
def list_starts(worker, cursor, chunk, prices, batches, mate, starts):
    """The free vertices that someone has asked for."""
    batch = batches[0, worker]
    for start, stop in chunks(cursor, chunk, mate.size):
        found = np.int64(0)
        for v in range(start, stop):
            batch[found] = v
            found += (mate[v] < 0) & (prices[v] > 0)
        append(starts, batch, found)


@kernel
def claim_walks(worker, cursor, chunk, guide, paths, exchange):
    """Every walk that gains claims what it would change; ``gets`` has its length."""
    path = paths[worker]
    for start, stop in chunks(cursor, chunk, exchange.centres.tail[0]):
        for i in range(start, stop):
            f = exchange.centres.items[i]
            gain, length = walk_from(guide, exchange.mate, f, path)
            exchange.gets[i] = length
            if length > 0:
                want = bits_of(np.float32(np.float64(gain))) << PRIORITY_BITS
                want |= priority(guide.bidding.order, np.uint64(f))
                claim(exchange, f, want)
                for k in range(length):
                    claim(exchange, path[k], want)


@kernel
def decide_walks(worker, cursor, chunk, guide, paths, exchange):
    """Which walks have all that they claim; each vertex on one of these has what it takes in ``arm``."""
    path, mate, bidding = paths[worker], exchange.mate, guide.bidding
    for start, stop in chunks(cursor, chunk, exchange.centres.tail[0]):
        for i in range(start, stop):
            if exchange.gets[i] == 0:
                continue
            f = exchange.centres.items[i]
            walk_from(guide, mate, f, path)
            every = has(bidding, exchange, f, f)
            for k in range(exchange.gets[i]):
                every &= has(bidding, exchange, f, path[k])
            if not every:
                exchange.gets[i] = 0
                continue
            z = f
            for k in range(exchange.gets[i]):
                exchange.arm[z] = path[k]
                z = mate[path[k]]


@kernel
def make_walks(worker, cursor, chunk, exchange):
    """The walks that have all that they claim are made; returns how many."""
    mate, made = exchange.mate, 0
    for start, stop in chunks(cursor, chunk, exchange.centres.tail[0]):
        for i in range(start, stop):
            z = exchange.centres.items[i]
            for _ in range(exchange.gets[i]):
                y = exchange.arm[z]
                after = mate[y]
                mate[z], mate[y] = y, z
                z = after
            if exchange.gets[i] > 0:
                made += 1
                if z >= 0:
                    mate[z] = -1
    return made


def walk(workers: Workers, guide: Guide, batches: np.ndarray, exchange: Exchange) -> int:
    """One round; how many walks were made."""
    n, paths = len(exchange.mate), worker_rows(workers.threads, WALK_STEPS, np.int32)
    workers.run(fill, n, NONE, exchange.claims)
    workers.empty(exchange.centres)
    workers.run(list_starts, n, guide.prices, batches, exchange.mate, exchange.centres)
    count = int(exchange.centres.tail[0])
    workers.run(claim_walks, count, guide, paths, exchange)
    workers.run(decide_walks, count, guide, paths, exchange)
    return sum(workers.run(make_walks, count, exchange))
