"""``match`` on a distributed graph, and its result.

The weight is the very number that ``Matching.weight`` gives: integers exactly, floats in blocks of 4096 vertices by
global number, whatever the ranks and the partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from troth.cpu._jit import kernel
from troth.cpu._team import thread_count
from troth.cpu.verify import BLOCK
from troth.engines import Engine, find_engine, read_options
from troth.errors import TrothError
from troth.graph import Graph, check_seed
from troth.mpi import agreeing, ending_the_job
from troth.mpi.exchange import barrier, reduce, scatter_to_owners, sum_over
from troth.mpi.graph import DistGraph, from_graph
from troth.mpi.partition import even_blocks
from troth.order import make_order, weight_bits


@dataclass(frozen=True, eq=False, repr=False)
class DistMatching:
    """A matching of which every rank has the mates of its own vertices.

    Attributes
    ----------
    graph : the rank's part of the graph
    mate : int32 array, the global number of the mate of each own vertex (``graph.own``), -1 where it is unmatched
    weight, cardinality : of the whole matching
    stats : what the engine counted; "bytes" and "messages" are what this rank sent
    """

    graph: DistGraph
    mate: np.ndarray
    weight: int | float
    cardinality: int
    algorithm: str
    ties: str = "hash"
    seed: int = 0
    stats: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        head = f"pairs={self.cardinality}, weight={self.weight}, n={self.graph.n}"
        return f"DistMatching({head}, algorithm={self.algorithm!r}, ranks={self.graph.comm.size})"

    def whole(self) -> np.ndarray:
        """The mates of all vertices, on every rank; all ranks together. Needs room for n numbers."""
        graph = self.graph
        part = in_order(graph, self.mate)
        counts = np.diff(even_blocks(graph.n, graph.comm.size, BLOCK).starts)
        found = np.empty(graph.n, np.int32)
        graph.comm.Allgatherv(part, [found, counts])
        return found

    def chunks(self) -> Iterator[np.ndarray]:
        """The mates of all vertices in order, part by part, on rank 0; all ranks together."""
        comm = self.graph.comm
        part = in_order(self.graph, self.mate)
        counts = np.diff(even_blocks(self.graph.n, comm.size, BLOCK).starts)
        if comm.rank:
            comm.Send(part, 0)
            return
        yield part
        for rank in range(1, comm.size):
            part = np.empty(counts[rank], np.int32)
            comm.Recv(part, rank)
            yield part


def match(
    graph: DistGraph,
    algorithm: str = "suitor",
    *,
    comm: Any = None,
    ties: str = "hash",
    seed: int = 0,
    threads: int | None = None,
    **options: Any,
) -> DistMatching:
    """A heavy matching of a distributed graph; all ranks together.

    Parameters
    ----------
    graph
        from ``load`` or ``from_graph``
    algorithm
        "suitor", or "sync-poll", "async-poll", "sync-notify", "async-notify" of Thorsen and Merkey; all give the same
    comm
        the communicator, if another than the graph's own; of the same processes in the same order
    ties, seed
        as in ``troth.match``; ``ties="high"`` is the rule of Thorsen and Merkey
    threads
        of each rank, 1 where not given; the four variants use one in any case
    **options
        the engine's own (see ``engines.py``)

    Notes
    -----
    An exception on one rank ends the whole job, since the others would wait for ever.
    """
    if not isinstance(graph, DistGraph):
        raise TrothError("troth.mpi.match takes a distributed graph: troth.mpi.load or troth.mpi.from_graph make one")
    comm = graph.comm if comm is None else comm
    with ending_the_job(comm):
        with agreeing(comm):
            engine, threads, chosen = check_request(algorithm, threads, options)
            seed = check_seed(seed)
            order = make_order(ties, seed, graph.bits_range())
            if comm.size != graph.comm.size:
                raise TrothError(f"comm has {comm.size} processes, but the graph was loaded on {graph.comm.size}")
        run = engine.load()
        barrier(comm)
        begin = perf_counter()
        mate, stats = run(graph, order, comm=comm, threads=threads, **chosen)
        stats["seconds"] = {**stats.get("seconds", {}), "match": perf_counter() - begin}
        weight, cardinality = sums(graph, mate)
    return DistMatching(graph, mate, weight, cardinality, algorithm, ties, seed, stats)


def check_request(algorithm: str, threads: int | None, options: dict) -> tuple[Engine, int, dict]:
    """The engine, the threads of a rank and all options, or a refusal; needs no graph."""
    engine = find_engine(algorithm, "mpi", options)
    chosen = read_options(engine, options)
    return engine, 1 if threads is None else thread_count(threads, 0), chosen


def match_whole(
    graph: Graph, algorithm: str, ties: str, seed: int, threads, options: dict, progress=None
) -> tuple[np.ndarray, dict]:
    """``troth.match`` with ``device="mpi"``: every rank has the whole graph and gets all mates; all ranks together."""
    report = progress or (lambda *_: None)
    report("match", 0, graph.n)
    m = match(from_graph(graph.to("cpu")), algorithm, ties=ties, seed=seed, threads=threads, **options)
    report("match", graph.n, graph.n)
    return m.whole(), m.stats


def in_order(graph: DistGraph, values: np.ndarray) -> np.ndarray:
    """One value an own vertex, redistributed to even blocks by global number (multiples of 4096 vertices)."""
    comm = graph.comm
    blocks = even_blocks(graph.n, comm.size, BLOCK)
    _, (ids, came), _ = scatter_to_owners(comm, blocks.owner(graph.own), graph.own, values)
    first, last = blocks.starts[comm.rank : comm.rank + 2]
    part = np.empty(last - first, values.dtype)
    part[ids - first] = came
    return part


@kernel
def hold_weights(own, indptr, indices, bits, names, mate, held):
    """held[u] = the bits of the weight of u's matched edge, 0 where there is none or the other end is the smaller."""
    for u in range(own.size):
        held[u] = 0
        if mate[u] > own[u]:
            for e in range(indptr[u], indptr[u + 1]):
                if names[indices[e]] == mate[u]:
                    held[u] = bits[e]


@kernel
def add_blocks(held, block, sums):
    """sums[b] = the weights of block b, added one after another."""
    for b in range(sums.size):
        total = 0.0
        for v in range(b * block, min((b + 1) * block, held.size)):
            if held[v] > 0:
                total += held[v]
        sums[b] = total


def sums(graph: DistGraph, mate: np.ndarray) -> tuple[int | float, int]:
    """Weight and number of pairs of the whole matching."""
    comm = graph.comm
    bits = weight_bits(graph.weights)  # ten types in four compiled kernels
    held = np.empty(graph.owned, bits.dtype)
    hold_weights(graph.own, graph.indptr, graph.indices, bits, graph.globals, mate, held)
    held = held.view(graph.weights.dtype)
    cardinality = sum_over(comm, np.count_nonzero(mate > graph.own))
    if held.dtype.kind != "f":
        bits = held.astype(np.uint64)
        halves = int((bits >> np.uint64(32)).sum()), int((bits & np.uint64(2**32 - 1)).sum())
        high, low = reduce(comm, np.array(halves, np.int64)).tolist()
        return (high << 32) + low, cardinality
    part = in_order(graph, held)
    sums = np.empty(-(-len(part) // BLOCK))
    add_blocks(part, BLOCK, sums)
    counts = comm.allgather(len(sums))
    found = np.empty(sum(counts))
    comm.Allgatherv(sums, [found, counts])
    total = 0.0
    for value in found.tolist():  # one block after another
        total += value
    return total, cardinality
