"""Checks on MPI ranks: those of ``cpu/checks.py`` for a graph in parts; the same numbers.

Every rank checks its own vertices and the edges at them. What it needs of a ghost, its mate, the weight that it holds
and, in each sweep of the dual, its y, comes from the owner in one packed exchange. Sums are of whole numbers, so ranks
and partitions do not change a bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.cpu.checks import BLOCK, DualChecks, add_blocks, add_halves, add_in_order, joined
from troth.kernels.jit import kernel
from troth.kernels.team import CALLER, run_team
from troth.order import make_order, weight_bits
from troth.ranks.auction import prices
from troth.ranks.exchange import combine, reduce, scatter_to_owners
from troth.ranks.graph import DistGraph
from troth.ranks.partition import even_blocks
from troth.ranks.rows import entry_of, name_of, part_of


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
def hold_smaller(part, mate, held):
    """held[v] = the bits of w(v, mate[v]) of own v, where the mate is the larger vertex."""
    for v in range(part.owned):
        if mate[v] > np.int64(name_of(part, v)):
            held[v] = part.bits[entry_of(part, v, mate[v])]


@kernel
def uncover(part, held):
    """The first own u with an edge to a larger vertex that is heavier than what both ends hold; the entry, or -1."""
    for u in range(part.owned):
        for e in range(part.indptr[u], part.indptr[u + 1]):
            v = part.indices[e]
            if part.bits[e] > held[u] and part.bits[e] > held[v] and name_of(part, v) > name_of(part, u):
                return np.int64(u), np.int64(e)
    return np.int64(-1), np.int64(-1)


def in_order(graph: DistGraph, values: np.ndarray) -> np.ndarray:
    """One value an own vertex, redistributed to even blocks by global number (multiples of 4096 vertices)."""
    comm = graph.comm
    blocks = even_blocks(graph.n, comm.size, BLOCK)
    _, (ids, came), _ = scatter_to_owners(comm, blocks.owner(graph.own), graph.own, values)
    first, last = blocks.starts[comm.rank : comm.rank + 2]
    part = np.empty(last - first, values.dtype)
    part[ids - first] = came
    return part


def matched_weight(graph: DistGraph, mate: np.ndarray) -> int | float:
    """The weight of a whole matching from the mates of the own vertices, which are known to be neighbours."""
    return add_held(graph, held_by_smaller(graph, mate))


def held_by_smaller(graph: DistGraph, mate: np.ndarray) -> np.ndarray:
    """The bits of the weight that each own vertex holds whose mate is larger, 0 of all others."""
    held = np.zeros(graph.owned, weight_bits(graph.weights).dtype)
    hold_smaller(part_of(graph), mate, held)
    return held


def add_held(graph: DistGraph, held: np.ndarray) -> int | float:
    """The sum of the weights whose bits the smaller vertices of pairs hold, and all others 0; all ranks together."""
    comm = graph.comm
    if graph.weights.dtype.kind != "f":
        return joined([reduce(comm, np.array(add_halves(held)))])
    part = in_order(graph, held.view(graph.weights.dtype))
    sums = np.empty(-(-len(part) // BLOCK))
    run_team(add_blocks, len(part), CALLER, None, part, sums, chunk=BLOCK)
    counts = comm.allgather(len(sums))
    found = np.empty(sum(counts))
    comm.Allgatherv(sums, [found, counts])
    return add_in_order(found)


class RankChecks(DualChecks):
    """Checks on all ranks together (see ``contract.Checks``); all call each method, and all get the result.

    ``mate`` has the global numbers of the mates of all local vertices, ghosts too, as int64.
    """

    def __init__(self, graph: DistGraph) -> None:
        self.graph, self.part, self.names, self.threads = graph, part_of(graph), graph.own, CALLER
        self._around = graph.neighbourhood()

    def free(self) -> None:
        """Give the communicator back."""
        self._around.free()

    def to_ghosts(self, values: np.ndarray) -> None:
        """The values of the ghosts, which follow those of the own vertices, from their owners."""
        self.graph.to_ghosts(self._around, values[: self.graph.owned], values[self.graph.owned :])

    def matched_bits(self, mate: np.ndarray) -> tuple[np.ndarray, int]:
        """The bits of the weight matched at every local vertex; the first vertex whose mate is no mate (n: none)."""
        graph = self.graph
        held = np.zeros(len(graph.globals), self.part.bits.dtype)
        place = hold(self.part, mate, held)
        first = combine(graph.comm, int(graph.own[place]) if place >= 0 else graph.n, "MIN")
        if first == graph.n:
            self.to_ghosts(held)
        return held, first

    def matched_weight(self, mate: np.ndarray, held: np.ndarray) -> int | float:
        """The weight of the whole matching: exact for integers; for floats the sum that ``cpu/checks.py`` defines."""
        owned = self.graph.owned
        return add_held(self.graph, held[:owned] * (mate[:owned] > self.graph.own))

    def first_uncovered(self, held: np.ndarray) -> tuple[int, int, int | float] | None:
        """The first edge (u, v), u < v, heavier than what either end holds, and its weight; or None."""
        graph = self.graph
        place, entry = uncover(self.part, held)
        mine = int(graph.own[place]) if place >= 0 else graph.n
        u = combine(graph.comm, mine, "MIN")
        if u == graph.n:
            return None
        found = None
        if mine == u:
            found = (u, int(graph.globals[graph.indices[entry]]), graph.weights[entry].item())
        return known(graph.comm, found)

    def _prices(self) -> np.ndarray:
        return prices(self.graph, make_order("hash", 0))

    def sweep_dual(self) -> int:
        """One sweep; the sum of y after it."""
        self.to_ghosts(self._y)
        return super().sweep_dual()

    def _total(self, halves: list) -> int:
        return joined([reduce(self.graph.comm, np.array(halves[0], np.uint64))])


def known(comm: Any, value: Any) -> Any:
    """What the rank says that knows; the others say None."""
    return next(found for found in comm.allgather(value) if found is not None)
