"""Auction on a cluster: near-optimal matchings, the same as everywhere (``reference_auction.py`` defines them).

On one machine the ranks share one CSR (``node.py``) and run ``cpu/auction.py`` on it, with ranks for threads: each step
takes its result from all ranks before the next begins.

Memory in shared memory: the rows once more, and 65 bytes a vertex, all of it once a machine.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from troth.contract import Context, Result
from troth.cpu.auction import solve
from troth.cpu.prices import GROUP, Workers, find_prices, make_bidding
from troth.cpu.suitor import suitors_to_mates
from troth.graph import Graph
from troth.kernels.queue import VertexQueue
from troth.kernels.team import CALLER, chunk_size, run_team
from troth.order import Order
from troth.ranks.graph import DistGraph
from troth.ranks.node import LINE, Node, SharedRows, node_of
from troth.ranks.suitor import propose_together

SCRATCH, ROOMS = 65, 32  # bytes a vertex; how many arrays these are, or more


def run(
    graph: DistGraph,
    order: Order,
    context: Context,
    *,
    eps: float = 0.02,
    slack: float = 0.01,
    rounds: int | None = 32,
    polish: int = 2,
    share: bool = True,
) -> Result:
    """The engine; see ``contract.py``. Seconds and counts depend on ranks and threads; the mates never do."""
    if not graph.m:
        return Result(np.full(graph.owned, -1, np.int32), {"rounds": 0, "threads": 1, "bytes": 0, "messages": 0}, {})
    begin, threads = perf_counter(), context.threads or 1
    workers = _share(graph, context.comm, threads) if share else None
    if workers is None:
        raise NotImplementedError
    seconds = {"share": perf_counter() - begin}  # nothing, if this graph was matched before
    mate, counts, steps = solve(
        workers,
        workers.graph,
        order,
        int(context.seed),
        lambda: workers.match_stably(graph, order),
        lambda settled: None,
        eps=eps,
        slack=slack,
        rounds=rounds,
        polish=polish,
    )
    own = mate[graph.own]
    workers.node.sync()  # nobody clears the arrays for another matching before all have read theirs
    return Result(own, {**counts, "threads": threads, "bytes": 0, "messages": 0}, {**seconds, **steps})


def prices(
    graph: DistGraph, order: Order, seed: int, eps: float = 0.02, slack: float = 0.01, rounds: int | None = 32
) -> np.ndarray:
    """The words of the own vertices as items, ``price << 32 | priority of the bidder``; all ranks together."""
    if not graph.m:
        return np.zeros(graph.owned, np.uint64)
    workers = _share(graph, graph.comm, 1)
    if workers is None:
        raise NotImplementedError
    words, _ = find_prices(workers, make_bidding(workers.graph, order, seed, eps), slack, rounds)
    own = words[graph.own]
    workers.node.sync()
    return own


# ---- in shared memory ----


class RankWorkers(Workers):
    """The ranks of a machine: arrays are in the window that all of them map, and every method is for all together.

    What a rank wrote before a method, or in it, all ranks read after it.
    """

    def __init__(self, node: Node, shared: SharedRows, graph: DistGraph, threads: int) -> None:
        super().__init__(threads)
        self.node, self.shared, self.used, self.turn = node, shared, 0, 0
        rows = shared.rows
        weights = rows.bits.view(graph.weights.dtype)
        self.graph = Graph.trusted(rows.indptr, rows.indices, weights, weight_range=graph.bits_range())
        self.cursors = [self.room(16, np.int64) for _ in range(2)]  # one is put back while the other is in use

    def room(self, size: int, kind: Any) -> np.ndarray:
        """An array of zeros in shared memory; what was given once is in use until the next matching."""
        length = size * np.dtype(kind).itemsize
        array = self.shared.scratch[self.used : self.used + length].view(kind)
        self.used += -(-length // LINE) * LINE
        if self.used > len(self.shared.scratch):
            raise MemoryError("the auction takes more of the shared window than it asked for")
        array[self.node.share_of(size)] = 0
        self.node.sync()
        return array

    def run(self, kernel: Callable, total: int, *args: Any) -> list:
        """Run a kernel on the items 0..total-1; what it returns, added up over all workers of all ranks."""
        if not total:
            return []
        cursor, self.turn = self.cursors[self.turn % 2], self.turn + 1
        chunk = max(int(GROUP), chunk_size(total, self.threads * self.node.comm.size))  # few items are one rank's
        team = CALLER if self.threads == 1 else self.threads
        found = run_team(kernel, total, team, *args, chunk=chunk, cursor=cursor)
        sums = []
        if found[0] is None:
            self.node.sync()
        else:
            sums = [self.node.sum(np.atleast_1d(np.sum(found, axis=0, dtype=np.int64)))]
            sums = [values.tolist() if np.ndim(found[0]) else int(values[0]) for values in sums]
        if self.node.comm.rank == 0:
            cursor[0] = 0
        return sums

    def empty(self, queue: VertexQueue) -> None:
        """Take all out of a queue."""
        if self.node.comm.rank == 0:
            queue.tail[0] = 0
        self.node.sync()

    def match_stably(self, graph: DistGraph, order: Order) -> np.ndarray:
        """The mates of all vertices in the stable matching."""
        state, mate = self.room(graph.n, np.uint64), self.room(graph.n, np.int32)
        propose_together(self.node, self.shared, graph, order, self.threads, state)
        self.run(suitors_to_mates, graph.n, order, state, mate)
        return mate


def _share(graph: DistGraph, comm: Any, threads: int) -> RankWorkers | None:
    """The ranks as workers, or None where they are on several machines or there is no room; all ranks together."""
    node = node_of(comm)
    shared = node.rows(graph, SCRATCH * graph.n + ROOMS * 2 * LINE) if node is not None else None
    return RankWorkers(node, shared, graph, threads) if node is not None and shared is not None else None
