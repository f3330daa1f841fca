"""``DistGraph``: every rank holds the rows of its own vertices, and knows the other ends of their edges as ghosts.

Local numbers: the own vertices are 0..owned-1 in ascending order of their global numbers; the ghosts follow, by owner
and then by global number. So the ghosts of one owner are one range, in the order in which their owner has them. A row
holds local numbers in ascending order of the *global* ones, as the rows of a ``Graph`` do.

Memory of a rank: its share of the edges, its own vertices and its ghosts; nothing of length n.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from troth.gate.cpu import degree_classes
from troth.kernels.jit import kernel
from troth.order import weight_bits
from troth.ranks.exchange import Neighbourhood, reduce, scatter_to_owners, starts_of, sum_over, swap
from troth.ranks.partition import Partition


@dataclass(frozen=True, eq=False, repr=False)
class DistGraph:
    """The part of a graph that a rank has; ``mpi.load`` and ``from_graph`` make one, all ranks together.

    Attributes
    ----------
    comm : mpi4py.MPI.Comm
        The communicator.
    n, m : int
        Vertices and edges of the whole graph.
    indptr, indices, weights : ndarray
        The rows of the own vertices, as in ``Graph``, with local numbers.
    globals : ndarray of int32
        The global number of each local one.
    owned : int
        How many vertices are this rank's own.
    ghost_owner, ghost_place : ndarray of int32
        For each ghost its rank, and its local number there.
    neighbours : ndarray of int32
        The ranks that share edges with this one, ascending.
    ghost_starts : ndarray of int64
        The ghosts of neighbour i are ghost_starts[i]..ghost_starts[i + 1] - 1 (add ``owned``).
    boundary, boundary_starts : ndarray of int
        The own vertices that neighbour i has as ghosts, in the order in which it has them.
    weight_range : tuple of int
        Least, greatest and union of all weight bits, the same on all ranks.
    notes : dict
        What reading the graph dropped or merged, as in ``Graph``; on rank 0, where that read it for all.
    ids : ndarray or None
        The names of all vertices, as in ``Graph``; on rank 0, where that read the graph for all.
    """

    comm: Any
    n: int
    m: int
    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    globals: np.ndarray
    owned: int
    ghost_owner: np.ndarray
    ghost_place: np.ndarray
    neighbours: np.ndarray
    ghost_starts: np.ndarray
    boundary: np.ndarray
    boundary_starts: np.ndarray
    weight_range: tuple[int, int, int]
    notes: dict[str, int] = field(default_factory=dict)
    ids: np.ndarray | None = None

    def __repr__(self) -> str:
        part = f"rank {self.comm.rank} of {self.comm.size}: {self.owned} own, {len(self.ghost_owner)} ghosts"
        return f"DistGraph(n={self.n}, m={self.m}, weights={self.weights.dtype}, {part})"

    @property
    def own(self) -> np.ndarray:
        """The global numbers of the own vertices, ascending."""
        return self.globals[: self.owned]

    @property
    def first(self) -> int:
        """The first own vertex where the own ones are consecutive, else -1."""
        return int(self.own[0]) if are_consecutive(self.own) else -1

    @property
    def ghost_slot(self) -> np.ndarray:
        """For each ghost the place of its owner in ``neighbours``."""
        return np.repeat(np.arange(len(self.neighbours), dtype=np.int32), np.diff(self.ghost_starts))

    @property
    def crossing(self) -> int:
        """How many entries of the own rows lead to ghosts."""
        return int(np.count_nonzero(self.indices >= self.owned))

    def bits_range(self) -> tuple[int, int, int]:
        """As ``Graph.bits_range``, for the whole graph."""
        return self.weight_range

    def degree_classes(self, most: int) -> np.ndarray:
        """As ``Graph.degree_classes``, one for each local vertex, own ones and ghosts; all ranks together.

        Parameters
        ----------
        most : int
            At most 255.

        Returns
        -------
        ndarray of uint8
        """
        classes = np.empty(len(self.globals), np.uint8)
        classes[: self.owned] = degree_classes(self.indptr, most)
        around = self.neighbourhood()
        self.to_ghosts(around, classes[: self.owned], classes[self.owned :])
        around.free()
        return classes

    def nbytes(self) -> int:
        """Bytes of this rank's arrays."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    def neighbourhood(self) -> Neighbourhood:
        """The exchange with the neighbour ranks; all ranks together."""
        return Neighbourhood(self.comm, self.neighbours)

    def to_ghosts(self, around: Neighbourhood, values: np.ndarray, ghosts: np.ndarray) -> None:
        """ghosts[i] = the owner's value of ghost i, for one value an own vertex; all ranks together.

        Parameters
        ----------
        around : Neighbourhood
            What ``neighbourhood`` returns.
        values : ndarray
            One value for each own vertex.
        ghosts : ndarray
            Gets one value for each ghost.
        """
        counts, came = np.diff(self.boundary_starts), np.diff(self.ghost_starts)
        around.swap(np.ascontiguousarray(values[self.boundary]), counts, ghosts, came)


@kernel
def bisect(values, wanted):
    """The first place of the ascending ``values`` that is not below ``wanted``."""
    low, high = 0, values.size
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def number_own(own, consecutive, ends, outside):
    """ends[e] = the local number of an own end, or ~end of another rank's, which goes to ``outside``; how many do."""
    found = 0
    for e in range(ends.size):
        place = ends[e] - own[0] if consecutive else bisect(own, ends[e])
        if 0 <= place < own.size and own[place] == ends[e]:
            ends[e] = place
        else:
            outside[found] = ends[e]
            found += 1
            ends[e] = ~ends[e]
    return found


@kernel
def number_ghosts(ids, numbers, ends):
    """ends[e] = the local number of a ghost, where ends[e] is ~end; the ghost ids[i] has numbers[i]."""
    for e in range(ends.size):
        if ends[e] < 0:
            ends[e] = numbers[bisect(ids, ~ends[e])]


def are_consecutive(own: np.ndarray) -> bool:
    """Whether the own vertices are a block."""
    return len(own) > 0 and int(own[-1]) - int(own[0]) == len(own) - 1


def places_of(own: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The local numbers of own vertices."""
    return ids - own[0] if are_consecutive(own) else np.searchsorted(own, ids).astype(np.int32)


def assemble(
    comm: Any, n: int, partition: Partition, own: np.ndarray, indptr: np.ndarray, ends: np.ndarray, weights: np.ndarray
) -> DistGraph:
    """The part of a graph from the rows of the own vertices with *global* ends; all ranks together.

    The arrays become those of the part; ``ends`` get local numbers in place.
    """
    owned = len(own)
    outside = np.empty(len(ends), np.int32)
    outside = outside[: number_own(own, are_consecutive(own), ends, outside)]
    outside.sort()
    ids = outside[np.diff(outside, prepend=-1) > 0]
    del outside
    owners = partition.owner(ids)
    by_owner = np.argsort(owners, kind="stable")
    numbers = np.empty(len(ids), np.int32)
    numbers[by_owner] = np.arange(owned, owned + len(ids))
    number_ghosts(ids, numbers, ends)
    ghosts, ghost_owner = ids[by_owner], owners[by_owner]

    # Each owner says where it has the ghosts, and keeps the list of who asked for what.
    _, (asked,), counts = scatter_to_owners(comm, ghost_owner, ghosts)
    boundary = places_of(own, asked)
    ghost_place = swap(comm, boundary, counts)
    neighbours = np.flatnonzero(counts).astype(np.int32)
    ghost_starts = starts_of(np.bincount(ghost_owner, minlength=comm.size)[neighbours])
    around = ghost_owner, ghost_place, neighbours, ghost_starts, boundary, starts_of(counts[neighbours])
    m, names = sum_over(comm, len(ends)) // 2, np.concatenate([own, ghosts])
    return DistGraph(comm, n, m, indptr, ends, weights, names, owned, *around, _range(comm, weights))


def _range(comm: Any, weights: np.ndarray) -> tuple[int, int, int]:
    """Least, greatest and union of the weight bits of all ranks; ones where there is no edge."""
    bits = weight_bits(weights)
    own = (bits.min(), bits.max(), np.bitwise_or.reduce(bits)) if bits.size else (2**64 - 1, 0, 0)
    words = np.array(own, np.uint64)[:, np.newaxis]
    least, greatest, union = (int(reduce(comm, *one)[0]) for one in zip(words, ("MIN", "MAX", "BOR"), strict=True))
    return (least, greatest, union) if greatest else (1, 1, 1)


@kernel
def gather_rows(own, begins, values, starts, rows):
    """rows = the rows begins[v]..begins[v + 1] - 1 of ``values`` for all v in ``own``, one after another."""
    for i in range(own.size):
        shift = begins[own[i]] - starts[i]
        for e in range(starts[i], starts[i + 1]):
            rows[e] = values[e + shift]


def own_rows(own: np.ndarray, graph: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows of these vertices, of a graph or of mapped CSR arrays: where each begins, the ends, and the weights."""
    indptr, weights = graph.indptr, graph.weights
    starts = starts_of(np.asarray(indptr[own + np.int64(1)] - indptr[own]))
    ends, held = np.empty(starts[-1], np.int32), np.empty(starts[-1], weights.dtype)
    gather_rows(own, indptr, graph.indices, starts, ends)
    gather_rows(own, indptr, weight_bits(weights), starts, weight_bits(held))
    return starts, ends, held


def take_rows(comm: Any, n: int, partition: Partition, own: np.ndarray, graph: Any) -> DistGraph:
    """The part of a graph or of mapped CSR arrays: only the own rows are read."""
    return assemble(comm, n, partition, own, *own_rows(own, graph))
