"""Auction: near-optimal matchings, on CPU threads.

``reference_auction.py`` defines the algorithm and proves what it promises. Its steps have a file each: ``prices.py``,
the rounds of bids; ``paths.py``, the heaviest matching on what they assign, and once more to merge it with the stable
matching; ``augment.py``, exchanges; ``walks.py``, walks. What is left free is completed here.

Each step takes its result from all workers before the next begins, and within a step nothing depends on who comes
first: words and claims are maxima, a path is one worker's. So threads change the time, never a mate.

Memory: up to 47 bytes a vertex. Cost: 1.8 to 3.2 looks at each row for the bids, Suitor's 1.5, and one for exchanges.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from troth.contract import Context, Result
from troth.cpu import suitor
from troth.cpu.augment import Exchange, augment
from troth.cpu.paths import Links, match_paths
from troth.cpu.prices import NONE, Workers, fill, find_prices, make_bidding
from troth.cpu.walks import Guide, read_prices, walk
from troth.graph import Graph
from troth.kernels.jit import kernel
from troth.kernels.queue import append, new_batches
from troth.kernels.team import chunks, thread_count
from troth.order import Order, by_degree, vertex
from troth.rows import heaviest, rows_of
from troth.units import make_units

ROOM = 3  # bits: a gain is the sum of five weights
STEPS = ("prices", "paths", "stable", "merge", "polish", "complete")


@kernel
def link_holders(worker, cursor, chunk, order, words, item, holder):
    """holder[v] = who holds item v, and item[holder[v]] = v; -1 where no one does, and before."""
    for start, stop in chunks(cursor, chunk, words.size):
        for v in range(start, stop):
            holder[v] = -1
            if words[v] != NONE:
                holder[v] = vertex(order, words[v])
                item[holder[v]] = v


# ---- completion: rounds of handshaking among those who are free ----


@kernel
def list_free(worker, cursor, chunk, batches, mate, free):
    """All free vertices."""
    batch = batches[0, worker]
    for start, stop in chunks(cursor, chunk, mate.size):
        found = np.int64(0)
        for v in range(start, stop):
            batch[found] = v
            found += mate[v] < 0
        append(free, batch, found)


@kernel
def point(worker, cursor, chunk, rows, order, batches, mate, free, strongest, pointing):
    """The free vertices point at their strongest free neighbour; those who have one are listed."""
    batch = batches[0, worker]
    for start, stop in chunks(cursor, chunk, free.tail[0]):
        found = np.int64(0)
        for i in range(start, stop):
            v = free.items[i]
            if mate[v] < 0:
                strongest[v] = heaviest(rows, v, order, mate, -1)
                batch[found] = v
                found += strongest[v] >= 0
        append(pointing, batch, found)


@kernel
def shake_hands(worker, cursor, chunk, pointing, strongest, mate):
    """Those who point at each other are matched; each writes its own mate."""
    for start, stop in chunks(cursor, chunk, pointing.tail[0]):
        for i in range(start, stop):
            v = pointing.items[i]
            if strongest[strongest[v]] == v:
                mate[v] = strongest[v]


# ---- the engine ----


def solve(
    workers: Workers,
    graph: Any,
    order: Order,
    seed: int,
    stable: Callable[[], np.ndarray],
    report: Callable[[int], None],
    *,
    eps: float = 0.02,
    slack: float = 0.02,
    rounds: int | None = 32,
    polish: int = 2,
) -> Result:
    """All steps, by whatever workers; ``stable`` finds the stable matching, ``report`` takes how many are settled."""
    n, threads = graph.n, workers.threads
    bidding, rows, units = make_bidding(graph, order, seed, eps), rows_of(graph), make_units(graph, ROOM)
    clock = [perf_counter()]
    words, counts = find_prices(workers, bidding, slack, rounds, lambda active: report(n - active))
    clock.append(perf_counter())

    item, holder, mate, queue = *(workers.room(n, np.int32) for _ in range(3)), workers.queue(n)
    workers.run(fill, n, np.int32(-1), item)
    workers.run(link_holders, n, order, words, item, holder)
    match_paths(workers, Links(bidding.rows, units, item, holder, True, bidding.mixing), queue, mate)
    clock.append(perf_counter())
    other = stable()
    clock.append(perf_counter())
    match_paths(workers, Links(bidding.rows, units, mate, other, False, bidding.mixing), queue, item)
    mate, arm = item, holder
    clock.append(perf_counter())

    batches, (gets, looks, touched) = new_batches(threads), (workers.room(n, np.int8) for _ in range(3))
    workers.run(fill, n, np.int8(1), looks)
    held, prices = workers.room(n, np.float32), workers.room(n, np.float32)
    workers.run(read_prices, n, words, prices)
    exchange = Exchange(mate, held, arm, words, queue, gets, looks, touched)
    exchanges = walks = 0
    for turn in range(polish):
        exchanges += augment(workers, bidding, units, batches, exchange)
        walks += walk(workers, Guide(bidding, prices, units, np.uint64(turn)), batches, exchange)
        exchange = exchange._replace(looks=exchange.touched, touched=exchange.looks)
    clock.append(perf_counter())
    free, pointing, strongest = queue, workers.queue(n), arm
    workers.empty(free)
    workers.run(list_free, n, batches, mate, free)
    while count := int(free.tail[0]):
        workers.empty(pointing)
        workers.run(point, count, rows, order, batches, mate, free, strongest, pointing)
        workers.run(shake_hands, int(pointing.tail[0]), pointing, strongest, mate)
        free, pointing = pointing, free
    clock.append(perf_counter())
    counts |= {"exchanges": exchanges, "walks": walks}
    return Result(mate, counts, dict(zip(STEPS, np.diff(clock).tolist(), strict=True)), prices)


def run(
    graph: Graph,
    order: Order,
    context: Context,
    *,
    eps: float = 0.02,
    slack: float = 0.02,
    rounds: int | None = 32,
    polish: int = 2,
) -> Result:
    """The engine; see ``contract.py``."""
    n = graph.n
    if not len(graph.indices):
        return Result(np.full(n, -1, np.int32), {"rounds": 0, "threads": 1}, {})
    threads = thread_count(context.threads, len(graph.indices))
    quiet = Context(threads, context.seed)
    found = solve(
        Workers(threads),
        graph,
        order,
        int(context.seed),
        lambda: suitor.run(graph, by_degree(order, int(context.seed), graph), quiet).mates,
        lambda settled: context.report(settled, n),
        eps=eps,
        slack=slack,
        rounds=rounds,
        polish=polish,
    )
    return found._replace(counts=found.counts | {"threads": threads})
