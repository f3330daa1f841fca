"""Auction on a cluster: near-optimal matchings, the same as everywhere (``reference_auction.py`` defines them).

On one machine the ranks share one CSR (``node.py``) and run ``cpu/auction.py`` on it, with ranks for threads: each step
takes its result from all ranks before the next begins. Memory: the rows once more, and 80 bytes a vertex, all of it
once a machine.

On several machines every step has a file that says what is sent: ``prices.py``, ``paths.py``, ``augment.py`` and
``walks.py``; what is left free is completed here, in rounds that send who is pointed at, and who is matched. Memory of
a rank: 4 bytes an entry, up to 150 for each own vertex and 50 for each ghost, and the paths that it decides.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from troth.contract import Context, Result
from troth.cpu.auction import STEPS, solve
from troth.cpu.prices import GROUP, NONE, Bidding, Workers, find_prices, make_bidding, plain_prices
from troth.cpu.suitor import suitors_to_mates
from troth.graph import Graph
from troth.kernels.jit import kernel
from troth.kernels.queue import VertexQueue
from troth.kernels.team import CALLER, chunk_size, chunks, run_team
from troth.order import Order, by_degree, vertex
from troth.ranks.augment import augment
from troth.ranks.exchange import sum_over
from troth.ranks.graph import DistGraph
from troth.ranks.messages import Messages
from troth.ranks.node import LINE, Node, SharedRows
from troth.ranks.nodes import node_of
from troth.ranks.paths import match_on_paths
from troth.ranks.prices import Scans, make_part_bidding
from troth.ranks.prices import find_prices as find_prices_by_messages
from troth.ranks.rows import Part, own_place, part_of, rank_of, weigh_entries
from troth.ranks.scans import HostScans
from troth.ranks.suitor import run_by_messages as match_stably_by_messages
from troth.ranks.suitor_together import propose_together
from troth.ranks.walks import walk
from troth.rows import number_rows_of
from troth.units import ROOM, make_units

SCRATCH, ROOMS = 71, 32  # bytes a vertex; how many arrays these are, or more


def run(
    graph: DistGraph,
    order: Order,
    context: Context,
    *,
    eps: float = 0.02,
    slack: float = 0.02,
    rounds: int | None = 32,
    polish: int = 2,
    share: bool = True,
) -> Result:
    """The engine; see ``contract.py``. Seconds and counts depend on ranks and threads; the mates never do."""
    if not graph.m:
        return empty_result(graph)
    begin, threads = perf_counter(), context.threads or 1
    workers = _share(graph, context.comm, threads) if share else None
    if workers is None:
        return run_by_messages(
            graph,
            order,
            context,
            lambda bidding, part: HostScans(bidding, part, threads),
            lambda order: match_stably_by_messages(graph, order, context.comm, threads),
            eps=eps,
            slack=slack,
            rounds=rounds,
            polish=polish,
        )
    seconds = {"share": perf_counter() - begin}  # nothing, if this graph was matched before
    mate, counts, steps, paid = solve(
        workers,
        workers.graph,
        workers.node.share_order(graph, order),
        int(context.seed),
        lambda: workers.match_stably(graph, by_degree(order, int(context.seed), graph)),
        lambda settled: None,
        eps=eps,
        slack=slack,
        rounds=rounds,
        polish=polish,
    )
    own, own_prices = mate[graph.own], paid[graph.own]
    workers.node.sync()  # nobody clears the arrays for another matching before all have read theirs
    if workers.node.comm.rank:
        counts = {**counts, "scans": 0, "edges_read": 0}  # they are those of all ranks: the first one has them
    counts |= {"threads": threads, "bytes": 0, "messages": 0}
    return Result(own, counts, {**seconds, **steps}, own_prices)


def empty_result(graph: DistGraph) -> Result:
    """That of a graph without edges."""
    return Result(np.full(graph.owned, -1, np.int32), {"rounds": 0, "threads": 1, "bytes": 0, "messages": 0}, {})


def prices(
    graph: DistGraph, order: Order, seed: int = 0, eps: float = 0.02, slack: float = 0.02, rounds: int | None = 32
) -> np.ndarray:
    """The words of the own vertices as items, ``price << 32 | priority of the bidder``; all ranks together."""
    if not graph.m:
        return np.zeros(graph.owned, np.uint64)
    workers = _share(graph, graph.comm, 1)
    if workers is None:
        messages = Messages(graph, graph.comm)
        bidding, part = make_part_bidding(graph, order, seed, eps)
        words, _ = find_prices_by_messages(messages, bidding, part, HostScans(bidding, part, 1), slack, rounds)
        messages.free()
        return words[: graph.owned]
    bidding = make_bidding(workers.graph, workers.node.share_order(graph, order), seed, eps)
    words, _ = find_prices(workers, bidding, slack, rounds)
    own = words[graph.own]
    workers.node.sync()
    return own


# ---- in shared memory ----


class RankWorkers(Workers):
    """The ranks of a machine: arrays are in the window that all of them map, and every method is for all together.

    What a rank wrote before a method, or in it, all ranks read after it.
    """

    alone = False

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
        if found[0] is None:
            self.node.sync()
        else:
            sums = self.node.sum(np.atleast_1d(np.sum(found, axis=0, dtype=np.int64)))
            found = [sums.tolist() if np.ndim(found) > 1 else int(sums[0])]
        if self.node.comm.rank == 0:
            cursor[0] = 0
        return found

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


# ---- by messages ----


@kernel
def link_items(part, order, words, item, holder):
    """Of own vertices: holder[v] = who holds item v, item[u] = what u holds; by global number, -1: none."""
    item[:] = -1
    for v in range(words.size):
        name = np.int32(vertex(order, words[v])) if words[v] != NONE else np.int32(-1)
        if v < part.owned:
            holder[v] = name
        place = own_place(part, name) if name >= 0 else np.int64(-1)
        if place >= 0:
            item[place] = part.names[v]


@kernel
def point(worker, cursor, chunk, part, order, free, vertices, strongest):
    """strongest[i] = the local number of the strongest free neighbour of own vertices[i], -1 where there is none."""
    for start, stop in chunks(cursor, chunk, vertices.size):
        for i in range(start, stop):
            v, found = vertices[i], np.int32(-1)
            most, rank = part.bits[0] ^ part.bits[0], NONE  # zero of the bits' own type
            for e in range(np.uint64(part.indptr[v]), np.uint64(part.indptr[v + 1])):
                x = part.indices[e]
                if part.bits[e] >= most and free[x]:
                    other = rank_of(part, order, x)
                    if found < 0 or part.bits[e] > most or other > rank:
                        found, most, rank = x, part.bits[e], other
            strongest[i] = found


def complete(messages: Messages, part: Part, order: Order, mate: np.ndarray, threads: int) -> None:
    """Match the free vertices by the stable matching among them: rounds of handshaking."""
    owned, team = len(mate), CALLER if threads == 1 else threads
    free = np.empty(len(part.names), np.bool_)
    free[:owned] = mate < 0
    messages.all_to_ghosts(free)
    vertices, pointed = np.flatnonzero(mate < 0).astype(np.int32), np.full(owned, -1, np.int32)
    while True:
        strongest = np.empty(len(vertices), np.int32)
        run_team(point, len(vertices), team, part, order, free, vertices, strongest)
        vertices, strongest = vertices[strongest >= 0], strongest[strongest >= 0]
        if not sum_over(messages.comm, len(vertices)):
            return
        pointed[vertices] = part.names[strongest]
        places, names = messages.to_owners(strongest, part.names[vertices])
        mutual = pointed[places] == names
        matched = places[mutual]
        mate[matched], free[matched] = names[mutual], False
        ghosts, _ = messages.to_ghosts(matched, names[mutual])
        free[ghosts] = False
        vertices = vertices[free[vertices]]


def run_by_messages(
    graph: DistGraph,
    order: Order,
    context: Context,
    make_scans: Callable[[Bidding, Part], Scans],
    match_stably: Callable[[Order], Result],
    *,
    eps: float,
    slack: float,
    rounds: int | None,
    polish: int,
) -> Result:
    """The steps of ``cpu/auction.py``; rows are looked at by ``make_scans`` and ``match_stably``."""
    clock, threads, messages = [perf_counter()], context.threads or 1, Messages(graph, context.comm)
    bidding, part = make_part_bidding(graph, order, int(context.seed), eps)
    scans = make_scans(bidding, part)
    weigh = partial(weigh_entries, number_rows_of(graph).weights, make_units(graph, ROOM))

    def match_on(first: np.ndarray, second: np.ndarray, arcs: bool) -> np.ndarray:
        return match_on_paths(messages, part, weigh, first, second, arcs, bidding.mixing, threads)

    words, counts = find_prices_by_messages(messages, bidding, part, scans, slack, rounds)
    clock.append(perf_counter())
    item, holder = np.empty(graph.owned, np.int32), np.empty(graph.owned, np.int32)
    link_items(part, order, words, item, holder)
    mate = match_on(item, holder, True)
    clock.append(perf_counter())
    stable = match_stably(by_degree(order, int(context.seed), graph))
    clock.append(perf_counter())
    mate = match_on(mate, stable.mates, False)
    clock.append(perf_counter())
    exchanges, walks, looks = 0, 0, np.ones(graph.owned, np.bool_)
    for turn in range(polish):
        mate, touched, changed = augment(messages, part, bidding, scans, weigh, mate, looks)
        mate, more, made = walk(messages, part, bidding, weigh, mate, words, turn, threads)
        exchanges, walks, looks = exchanges + changed, walks + made, touched | more
    clock.append(perf_counter())
    complete(messages, part_of(graph), order, mate, threads)
    clock.append(perf_counter())
    messages.free()
    sent = {key: getattr(messages, key) + stable.counts[key] for key in ("bytes", "messages")}
    seconds = dict(zip(STEPS, np.diff(clock).tolist(), strict=True))
    counts = {**counts, "exchanges": exchanges, "walks": walks}
    return Result(mate, {**counts, "threads": threads, **sent}, seconds, plain_prices(words[: graph.owned]))
