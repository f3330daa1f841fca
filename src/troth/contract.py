"""What an engine is: its signature, what it is told and what it returns; and the parts that each device implements.

An engine is a function ``run(graph, order, context, **options) -> Result`` that trusts the graph, which is on its
device, and the options, which ``engines.py`` has checked. ``Checks``, ``Coarsening`` and ``Clustering`` are what
the CPU and a GPU each implement for graphs that live there; MPI ranks have checks alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from troth.graph import Graph
from troth.order import Order

Progress = Callable[[str, int, int], None]
Array = Any  # of NumPy or CuPy: where the graph is


@dataclass(frozen=True)
class Context:
    """What every engine is told beside the graph, the order and its own options.

    Attributes
    ----------
    threads : of the CPU; None: as many as there are cores and work for them
    seed : of the random engines
    progress : called as ``progress(phase, done, total)`` now and then
    comm : the communicator, for engines of MPI ranks
    measured : whether counts and seconds are wanted; an engine may leave out what would make the host wait for a GPU
    """

    threads: int | None = None
    seed: np.uint64 = field(default=np.uint64(0))
    progress: Progress | None = None
    comm: Any = None
    measured: bool = True

    def report(self, done: int, total: int) -> None:
        """Say how much of the matching is done."""
        if self.progress is not None:
            self.progress("match", min(done, total), total)


class Result(NamedTuple):
    """What an engine returns.

    ``mates`` is an int32 array on the engine's device; on ranks it has the global numbers of the mates of the rank's
    own vertices. Where an engine has these counts they mean the same: ``rounds``; ``scans``, looks at a row;
    ``edges_read``, stored entries read; ``proposals``; ``threads``. ``seconds`` are by phase; on a GPU ``kernels`` is
    the time on the device. ``prices`` are those that an auction ended with, a float32 a vertex, on the scale of
    ``reference_auction.py``: a proof can start from them.
    """

    mates: Array
    counts: dict[str, Any]
    seconds: dict[str, float]
    prices: Array = None


class EngineFunction(Protocol):
    """The signature of all engines; on ranks the graph is a ``DistGraph``."""

    def __call__(self, graph: Any, order: Order, context: Context, **options: Any) -> Result: ...


class Checks(Protocol):
    """Checks of a matching where the graph lives; the results are the same on every device and for any threads.

    ``mate`` is an int32 array there, ``held`` has the bits of the weight that is matched at each vertex.
    """

    graph: Any

    def matched_bits(self, mate: Array) -> tuple[Array, int]:
        """``held``, and the first vertex whose mate is no mate (n: there is none)."""

    def matched_weight(self, mate: Array, held: Array) -> int | float:
        """The weight of a matching: exact for integers; for floats added in float64, in one order."""

    def first_uncovered(self, held: Array) -> tuple[int, int, int | float] | None:
        """The first edge (u, v), u < v, heavier than what either end holds, and its weight; or None."""

    def start_dual(self, mate: Array, held: Array, prices: Array = None) -> tuple[int, int]:
        """Start from prices: (the matching's weight from below, exponent), in units 2^-exponent.

        The prices are those of a ``Result``, or, where none are given, those of an auction with the default options.
        """

    def sweep_dual(self) -> int:
        """One damped Jacobi sweep; the sum of y after it."""


class Clusters(Protocol):
    """A numbering of clusters of one or two vertices, by first member."""

    @property
    def mate(self) -> Array:
        """The other member, -1 where there is none."""

    @property
    def size(self) -> int:
        """How many there are."""

    @property
    def alone(self) -> Array:
        """The single vertices, ascending."""


C = TypeVar("C", bound=Clusters)


class Groups(Protocol):
    """A numbering of clusters of a few vertices, by first member."""

    @property
    def size(self) -> int:
        """How many there are."""

    @property
    def coarse(self) -> Array:
        """The cluster of every vertex."""

    @property
    def joined(self) -> int:
        """How many vertices joined others to which they have no edge."""


G = TypeVar("G", bound=Groups)


class Clustering(Protocol[G]):
    """Clusters of strongest neighbours, and their contraction; the same bits everywhere (see ``reference.py``)."""

    def join_strongest(
        self, graph: Graph, order: Order, seed: np.uint64, vertex_weights: Array, limits: Array | None, twohop: bool
    ) -> G:
        """The clusters of a graph; those of two and more keep to the limits."""

    def contract_clusters(self, graph: Graph, groups: G, vertex_weights: Array) -> tuple[Graph, bool]:
        """The coarse graph, and whether a sum of weights was too great."""


class Coarsening(Protocol[C]):
    """Contraction of pairs where the graphs live; the same bits on every device and for any threads.

    Each device has clusters of its own kind.
    """

    def number_clusters(self, graph: Graph, mate: Array) -> C:
        """The clusters that pairs and unmatched vertices are."""

    def contract(self, graph: Graph, clusters: C, vertex_weights: Array) -> tuple[Graph, Array, bool]:
        """The coarse graph, the coarse vertex of each vertex, and whether a sum of weights was too great."""

    def fitting_edges(self, graph: Graph, weights: Array, limits: Array) -> Graph:
        """The graph without the edges whose two ends weigh more than the limits together."""

    def pair_twins(self, graph: Graph, vertices: Array, mate: Array) -> None:
        """Pair some free vertices that have the same neighbours."""

    def pair_relatives(self, graph: Graph, order: Order, vertices: Array, mate: Array) -> None:
        """Pair some free vertices whose strongest neighbour is the same."""
