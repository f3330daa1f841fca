"""``verify`` on a distributed graph: the checks and the certificate of ``troth.verify``, with the same results.

Every rank checks its own vertices and the edges at them. What it needs of a ghost, its mate, the weight that it holds
and, in each sweep of the dual, its y, comes from the owner in one packed exchange. Sums are of whole numbers, so ranks
and partitions do not change a bit.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from troth.cpu._jit import kernel
from troth.cpu._rows import plain_weights
from troth.cpu.verify import make_units, units_down, units_up
from troth.errors import TrothError
from troth.io.mates import read_parts
from troth.mpi import agreeing, ending_the_job
from troth.mpi.exchange import scatter_to_owners, swap
from troth.mpi.graph import DistGraph
from troth.mpi.matching import DistMatching, sums
from troth.mpi.partition import even_blocks, my_lines
from troth.mpi.rows import entry_of, name_of, part_of
from troth.order import HALF, MASK, ONE, weight_bits
from troth.verify import (
    SWEEPS,
    TOLERANCE,
    Certificate,
    Report,
    certificate_by,
    why_no_mate,
    why_not_dominant,
    why_not_maximal,
    why_wrong_shape,
)

NOBODY = np.iinfo(np.int64).max


@kernel
def hold(part, mate, held):
    """held[v] = the bits of w(v, mate[v]) of own v, 0 where v is free; the first own v whose mate is no mate, or -1.

    ``mate`` has the global numbers of the mates of all local vertices.
    """
    for v in range(part.owned):
        held[v] = 0
        if mate[v] == -1:
            continue
        e = entry_of(part, v, mate[v])
        if e == part.indptr[v + 1] or part.names[part.indices[e]] != mate[v]:
            return v
        if mate[part.indices[e]] != np.int64(name_of(part, v)):
            return v
        held[v] = part.bits[e]
    return np.int64(-1)


@kernel
def uncover(part, held):
    """The first own u with an edge to a larger vertex that is heavier than what both ends hold; the entry, or -1."""
    for u in range(part.owned):
        for e in range(part.indptr[u], part.indptr[u + 1]):
            v = part.indices[e]
            if part.bits[e] > held[u] and part.bits[e] > held[v] and name_of(part, v) > name_of(part, u):
                return np.int64(u), np.int64(e)
    return np.int64(-1), np.int64(-1)


@kernel
def start(own, mate, held, units, y):
    """y(v) = the weight matched at v, rounded up; returns the weight of the pairs, rounded down, as (high, low)."""
    high = low = np.uint64(0)
    for v in range(own.size):
        y[v] = 0
        if mate[v] >= 0:
            y[v] = units_up(held[v], units)
            if mate[v] > own[v]:
                part = np.uint64(units_down(held[v], units))
                high += part >> HALF
                low += part & MASK
    return high, low


@kernel
def sweep(indptr, indices, weights, units, y, fresh):
    """fresh(v) = (y(v) + max(0, max_u (w(u, v) - y(u)))) / 2, rounded up; returns their sum as (high, low)."""
    high = low = np.uint64(0)
    for v in range(indptr.size - 1):
        need = np.int64(0)
        for e in range(indptr[v], indptr[v + 1]):
            need = max(need, units_up(weights[e], units) - y[indices[e]])
        part = (np.uint64(y[v]) + np.uint64(need) + ONE) >> ONE
        fresh[v] = np.int64(part)
        high += part >> HALF
        low += part & MASK
    return high, low


class Ranks:
    """What ``troth.verify.certificate_by`` asks of a device: here it is all ranks together."""

    def __init__(self, graph: DistGraph, around) -> None:
        self.graph, self.around = graph, around

    def _total(self, halves: tuple[int, int]) -> int:
        from mpi4py import MPI

        both = np.array(halves, np.uint64)
        self.graph.comm.Allreduce(MPI.IN_PLACE, both)
        return (int(both[0]) << 32) + int(both[1])

    def matched_weight(self, graph: DistGraph, mate, held, threads=None) -> int | float:
        return sums(graph, mate[: graph.owned])[0]

    def dual(self, graph: DistGraph, mate, held, sweeps: int, tolerance: float, threads=None):
        """As ``cpu.verify.dual``."""
        units, weights = make_units(graph), plain_weights(graph)
        y = np.zeros(len(graph.globals), np.int64)
        fresh = np.zeros_like(y)
        own = held[: graph.owned].view(weights.dtype)
        weight = self._total(start(graph.own, mate[: graph.owned], own, units, y))
        totals: list[int] = []
        while len(totals) < sweeps and (len(totals) < 2 or totals[-2] - totals[-1] > tolerance * totals[-1]):
            graph.to_ghosts(self.around, y[: graph.owned], y[graph.owned :])
            totals.append(self._total(sweep(graph.indptr, graph.indices, weights, units, y, fresh)))
            y, fresh = fresh, y
        return weight, totals[-1], int(units.exponent), len(totals)


def verify(
    graph: DistGraph, matching: DistMatching | Any, *, certify: bool = True, promises_dominance: bool | None = None
) -> Report:
    """Check a matching of a distributed graph and certify its ratio; all ranks together, and all get the report.

    ``matching`` is a ``DistMatching``, the mates of the rank's own vertices by global number, or the name of a mates
    file, which every rank reads in parts and of which it keeps its share.
    """
    if promises_dominance is None:
        promises_dominance = isinstance(matching, DistMatching)
    with ending_the_job(graph.comm):
        if isinstance(matching, (str, os.PathLike)):
            own, lines = read_own(graph, matching)
            if lines != graph.n:
                reason = why_wrong_shape((lines,), graph.n)
                return Report(False, False, False, reason=reason, promises_dominance=promises_dominance)
        else:
            own = np.asarray(getattr(matching, "mate", matching))
        with agreeing(graph.comm):
            if own.shape != (graph.owned,) or (own.dtype.kind not in "iu" and own.size):
                raise TrothError(f"mates of type {own.dtype} and shape {own.shape} for {graph.owned} own vertices")
        around = graph.neighbourhood()
        mate = np.empty(len(graph.globals), np.int64)
        mate[: graph.owned] = own
        mate[: graph.owned][own >= graph.n] = -2  # so that no number wraps into a mate
        graph.to_ghosts(around, mate[: graph.owned], mate[graph.owned :])
        part = part_of(graph)
        held = np.zeros(len(graph.globals), weight_bits(graph.weights).dtype)
        reason = _broken(graph, own, hold(part, mate, held))
        if reason:
            around.free()
            return Report(False, False, False, reason=reason, promises_dominance=promises_dominance)
        graph.to_ghosts(around, held[: graph.owned], held[graph.owned :])
        heavier, free = _first_edge(graph, *uncover(part, held)), None
        if heavier:
            reason = why_not_dominant(*heavier)
            most = (held > 0).astype(held.dtype) * held.dtype.type(np.iinfo(held.dtype).max)
            free = _first_edge(graph, *uncover(part, most))
        if free:
            reason = why_not_maximal(*free[:2])
        ranks = Ranks(graph, around)
        if certify:
            proof: Certificate = certificate_by(ranks, graph, mate, held, SWEEPS, TOLERANCE, None)
            numbers = (proof.weight, proof.bound, proof.ratio)
        else:
            numbers = (ranks.matched_weight(graph, mate, held), None, None)
        around.free()
    return Report(True, free is None, heavier is None, *numbers, reason, promises_dominance)


def read_own(graph: DistGraph, path: str | os.PathLike) -> tuple[np.ndarray, int]:
    """The mates of the own vertices from a mates file, and how many lines that has; all ranks together.

    A rank reads the file up to the end of its even share of the lines. Whoever owns a vertex asks the rank that has its
    line.
    """
    comm, places = graph.comm, even_blocks(graph.n, graph.comm.size)
    share, lines = my_lines(comm, graph.n, read_parts(path, graph.n))
    order, (asked,), counts = scatter_to_owners(comm, places.owner(graph.own), graph.own)
    own = np.empty(graph.owned, np.int64)
    own[order] = swap(comm, share[asked - places.starts[comm.rank]], counts)
    return own, lines


def _least(comm, value: int) -> int:
    from mpi4py import MPI

    number = np.array([value], np.int64)
    comm.Allreduce(MPI.IN_PLACE, number, MPI.MIN)
    return int(number[0])


def _known(comm, value: Any) -> Any:
    """What the rank says that knows; the others say None."""
    return next(found for found in comm.allgather(value) if found is not None)


def _broken(graph: DistGraph, own: np.ndarray, place: int) -> str:
    """Why the first vertex whose mate is no mate has none; empty where all have."""
    comm = graph.comm
    mine = int(graph.own[place]) if place >= 0 else NOBODY
    v = _least(comm, mine)
    if v == NOBODY:
        return ""
    u = _known(comm, int(own[place]) if mine == v else None)
    back = -1
    if 0 <= u < graph.n:
        at = int(np.searchsorted(graph.own, u))
        back = _known(comm, int(own[at]) if at < graph.owned and graph.own[at] == u else None)
    return why_no_mate(v, u, back, graph.n)


def _first_edge(graph: DistGraph, place: int, entry: int) -> tuple[int, int, int | float] | None:
    """The first of the edges that the ranks found, with its weight."""
    mine = int(graph.own[place]) if place >= 0 else NOBODY
    u = _least(graph.comm, mine)
    if u == NOBODY:
        return None
    found = None
    if mine == u:
        found = (u, int(graph.globals[graph.indices[entry]]), graph.weights[entry].item())
    return _known(graph.comm, found)
