"""``DistMatching``: a matching of which every rank has the mates of its own vertices; and ``match``, which finds one.

The weight is the very number that ``Matching.weight`` gives: integers exactly, floats in blocks of 4096 vertices by
global number, whatever the ranks and the partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from troth.api.proof import Certificate, first_to_reach, prove, why_missed
from troth.api.request import Request, make_request
from troth.arrays import need_card
from troth.contract import Progress, Result
from troth.cpu.checks import BLOCK
from troth.engines import RANK_DEVICES
from troth.errors import TrothError
from troth.graph import Graph
from troth.mpi.loading import from_graph
from troth.ranks import nodes
from troth.ranks.checks import RankChecks, held_by_smaller, in_order, matched_weight
from troth.ranks.exchange import barrier, sum_over
from troth.ranks.graph import DistGraph
from troth.ranks.job import agree_on, agreeing, ending_the_job, world
from troth.ranks.partition import even_blocks


@dataclass(frozen=True, eq=False, repr=False)
class DistMatching:
    """A matching of which every rank has the mates of its own vertices.

    Attributes
    ----------
    graph : DistGraph
        The rank's part of the graph.
    mate : ndarray of int32
        The global number of the mate of each own vertex (``graph.own``), -1 where it is unmatched.
    weight : int or float
        Of the whole matching.
    cardinality : int
        Number of pairs of the whole matching.
    algorithm : str
        What was run.
    ties : str
        The tie rule.
    seed : int
        Of the scramble.
    stats : dict
        What the engine counted; "bytes" and "messages" are what this rank sent.
    certificate : Certificate or None
        A proof of the ratio, where a ``target`` was given.
    """

    graph: DistGraph
    mate: np.ndarray
    weight: int | float
    cardinality: int
    algorithm: str
    ties: str = "hash"
    seed: int = 0
    stats: dict[str, Any] = field(default_factory=dict)
    certificate: Certificate | None = None

    def __repr__(self) -> str:
        head = f"pairs={self.cardinality}, weight={self.weight}, n={self.graph.n}"
        return f"DistMatching({head}, algorithm={self.algorithm!r}, ranks={self.graph.comm.size})"

    def whole(self) -> np.ndarray:
        """The mates of all vertices, on every rank; all ranks together. Needs room for n numbers.

        Returns
        -------
        ndarray of int32
        """
        with ending_the_job(self.graph.comm):
            return gather_whole(self.graph, self.mate)

    def chunks(self) -> Iterator[np.ndarray]:
        """The mates of all vertices in order, part by part, on rank 0; all ranks together.

        Yields
        ------
        ndarray of int32
            The mates of consecutive vertices; nothing on the other ranks.
        """
        comm, (part, counts) = self.graph.comm, _blocks(self.graph, self.mate)
        if comm.rank:
            comm.Send(part, 0)
            return
        yield part
        for rank in range(1, comm.size):
            part = np.empty(counts[rank], np.int32)
            comm.Recv(part, rank)
            yield part

    def pairs(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The pairs in the order of the smaller vertex, part by part, on rank 0; all ranks together.

        Yields
        ------
        tuple of ndarray
            Smaller vertices, larger vertices and weights; nothing on the other ranks.
        """
        comm, (part, counts) = self.graph.comm, _blocks(self.graph, self.mate)
        weights = in_order(self.graph, held_by_smaller(self.graph, self.mate).view(self.graph.weights.dtype))
        if comm.rank:
            comm.Send(part, 0)
            comm.Send(weights, 0)
            return
        first = 0
        for rank in range(comm.size):
            if rank:
                part, weights = np.empty(counts[rank], np.int32), np.empty(counts[rank], self.graph.weights.dtype)
                comm.Recv(part, rank)
                comm.Recv(weights, rank)
            smaller = np.flatnonzero(part > np.arange(first, first + len(part)))
            yield smaller + first, part[smaller].astype(np.int64), weights[smaller]
            first += len(part)


def _blocks(graph: DistGraph, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """This rank's block of one value a vertex, by global number, and how long those of all ranks are."""
    return in_order(graph, values), np.diff(even_blocks(graph.n, graph.comm.size, BLOCK).starts)


def gather_whole(graph: DistGraph, values: np.ndarray) -> np.ndarray:
    """The values of all vertices, from those of the own ones, on every rank; all ranks together."""
    part, counts = _blocks(graph, values)
    found = np.empty(graph.n, values.dtype)
    graph.comm.Allgatherv(part, [found, counts])
    return found


def match(
    graph: DistGraph,
    *,
    algorithm: str = "suitor",
    device: str = "mpi",
    comm: Any = None,
    ties: str = "hash",
    seed: int = 0,
    threads: int | None = None,
    **options: Any,
) -> DistMatching:
    """A heavy matching of a distributed graph; all ranks together.

    Parameters
    ----------
    graph : DistGraph
        From ``load`` or ``from_graph``.
    algorithm : str, optional
        "suitor", or "sync-poll", "async-poll", "sync-notify", "async-notify" of Thorsen and Merkey; all give the same.
        "auction" gives a heavier one, in several times Suitor's time.
    device : str, optional
        "mpi", or "mpi+cuda" for ranks that each have a GPU, or share one; the result does not depend on it.
    comm : mpi4py.MPI.Comm, optional
        The communicator, if another than the graph's own; of the same processes in the same order.
    ties : str, optional
        As in ``troth.match``; "high" is the rule of Thorsen and Merkey.
    seed : int, optional
        Of the scramble.
    threads : int, optional
        Of each rank, 1 where not given; the four variants use one in any case.
    **options : dict
        The engine's own: ``troth match --help`` lists them.

    Returns
    -------
    DistMatching

    Notes
    -----
    An exception on one rank ends the whole job, since the others would wait for ever.
    """
    if not isinstance(graph, DistGraph):
        raise TrothError("troth.mpi.match takes a distributed graph: troth.mpi.load or troth.mpi.from_graph make one")
    comm = graph.comm if comm is None else comm
    with ending_the_job(comm):
        with agreeing(comm):
            if str(device) not in RANK_DEVICES:
                raise TrothError(f"device={device!r} is not for ranks: choose {' or '.join(RANK_DEVICES)}")
            request = make_request(algorithm, device, ties=ties, seed=seed, threads=threads, options=options)
            refuse_gap(request)
            refuse_others(comm, graph.comm)
        return match_until(request, graph, comm)


def free(comm: Any = None) -> None:
    """Give back the shared memory that holds the graph which was matched last; all ranks together.

    That happens anyway when the job ends, or its communicator is freed; and, where it is large, when a graph is loaded
    and the last one is gone.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm, optional
        All processes where none is given.
    """
    nodes.free(world() if comm is None else comm)


def refuse_gap(request: Request) -> None:
    """Refuse a gap in cost for a graph that is distributed already."""
    if request.given.get("gap") is not None:
        raise TrothError("gap is a part of the cost, but ranks have weights: give the whole graph to troth.match")


def refuse_others(comm: Any, loaded: Any) -> None:
    """Refuse a communicator of other processes than those that have the graph, or in another order."""
    from mpi4py import MPI

    if comm.size != loaded.size:
        raise TrothError(f"comm has {comm.size} processes, but the graph was loaded on {loaded.size}")
    if MPI.Comm.Compare(comm, loaded) not in (MPI.IDENT, MPI.CONGRUENT):
        raise TrothError("comm has other processes than the graph was loaded on, or has them in another order")


def match_until(request: Request, graph: DistGraph, comm: Any) -> DistMatching:
    """The matching that a request asks for, begun anew and nearer until a target is certified; all ranks together."""
    target = request.given.get("target")
    if target is None:
        return match_parts(request, graph, comm)

    def attempt(asked: Request) -> tuple[DistMatching, Certificate]:
        m = match_parts(asked, graph, comm)
        start = perf_counter()
        proof = certify_parts(graph, m.mate)
        m.stats["seconds"]["certify"] = perf_counter() - start
        return m, proof

    m, proof = first_to_reach(target, (attempt(asked) for asked in request.nearer(request.engines[0])))
    if note := why_missed(target, proof):
        m.stats["note"] = note
    return replace(m, certificate=proof)


def certify_parts(graph: DistGraph, mate: np.ndarray) -> Certificate:
    """The certificate of a matching from the mates of the own vertices, which are valid; all ranks together."""
    checks, local = RankChecks(graph), np.empty(len(graph.globals), np.int64)
    local[: graph.owned] = mate
    checks.to_ghosts(local)
    proof = prove(checks, local, checks.matched_bits(local)[0])
    checks.free()
    return proof


def run_parts(request: Request, graph: DistGraph, comm: Any) -> Result:
    """What the engine finds on a distributed graph; all ranks together."""
    engine = request.engines[0]
    asked = {"algorithm": request.algorithm, "device": engine.device, "ties": request.ties, "seed": request.seed}
    agree_on(comm, asked | dict(request.given))
    if engine.device == "mpi+cuda":
        with agreeing(comm):
            need_card(engine.device, "mpi")
    order, run = request.order_for(graph), engine.load()
    barrier(comm)
    begin = perf_counter()
    result = run(graph, order, request.context(comm=comm), **request.options_of(engine))
    return result._replace(seconds={**result.seconds, "match": perf_counter() - begin})


def match_parts(request: Request, graph: DistGraph, comm: Any) -> DistMatching:
    """The matching of a distributed graph that a request asks for; all ranks together."""
    result = run_parts(request, graph, comm)
    stats = {**result.counts, "seconds": result.seconds}
    weight = matched_weight(graph, result.mates)
    cardinality = sum_over(graph.comm, int(np.count_nonzero(result.mates > graph.own)))
    return DistMatching(graph, result.mates, weight, cardinality, request.algorithm, request.ties, request.seed, stats)


def match_whole(request: Request, graph: Graph, progress: Progress | None) -> Result:
    """``troth.match`` on ranks: every rank has the whole graph and gets all mates; all ranks together."""
    context = request.context(progress)
    context.report(0, graph.n)
    parts = from_graph(graph)
    with ending_the_job(parts.comm):
        found = run_parts(request, parts, parts.comm)
        context.report(graph.n, graph.n)
        prices = None if found.prices is None else gather_whole(parts, found.prices)
        return found._replace(mates=gather_whole(parts, found.mates), prices=prices)
