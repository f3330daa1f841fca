"""The card of a rank, and the rank's part of a graph on it.

A rank takes the card of its number among the ranks of its machine, modulo the number of cards: where there are fewer
cards than ranks, several ranks share one. Where a launcher shows every rank one card of its own, that is card 0.

The rows are copied to the card when a graph is first matched there, and stay as long as the graph lives, so that a
second matching copies nothing. Memory: the rows, 12 bytes for each own vertex, 4 for each vertex and ghost, and 4 for
each *item*, which is a vertex and a neighbour rank that has it too, either one as a ghost.
"""

from __future__ import annotations

import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np

from troth.arrays import count_devices
from troth.kernels.launch import Memory, struct
from troth.order import Order, weight_bits
from troth.ranks.exchange import starts_of
from troth.ranks.graph import DistGraph

_PART_ARRAYS, _ITEM_ARRAYS = ("indptr", "indices", "bits", "names"), ("vertices", "starts", "ghosts", "tiles")
PART = np.dtype([(name, "u8") for name in (*_PART_ARRAYS, "ranks")] + [("owned", "i8"), ("first", "i8")])
ITEMS = np.dtype([(name, "u8") for name in _ITEM_ARRAYS] + [("neighbours", "i8")])


def card_of(comm: Any) -> int:
    """The number of this rank's card; all ranks together."""
    from mpi4py import MPI

    machines = comm.allgather(MPI.Get_processor_name())
    return machines[: comm.rank].count(machines[comm.rank]) % max(1, count_devices())


class PartOnCard:
    """What a card has of a rank's part: its rows, and which vertices other ranks have too.

    The items of neighbour s are ``starts[s]..starts[s + 1] - 1``: first own vertices that it has as ghosts, then from
    ``ghosts[s]`` on its vertices that are ghosts here, each in the order that both ranks know. ``rim`` has the own
    vertices with edges across, ``inside`` the others.
    """

    def __init__(self, graph: DistGraph, tile: int) -> None:
        own, theirs = np.diff(graph.boundary_starts), np.diff(graph.ghost_starts)
        self.starts = starts_of(own + theirs)
        self.tiles = starts_of(-(-(own + theirs) // tile))
        self.owned, self.local, self.first = graph.owned, len(graph.globals), graph.first
        self.neighbours = len(graph.neighbours)
        ghosts, vertices = self.starts[:-1] + own, np.empty(self.starts[-1], np.int32)
        for s in range(self.neighbours):
            some = graph.boundary_starts[s : s + 2]
            vertices[self.starts[s] : ghosts[s]] = graph.boundary[some[0] : some[1]]
            vertices[ghosts[s] : self.starts[s + 1]] = graph.owned + np.arange(*graph.ghost_starts[s : s + 2])
        at_rim = np.zeros(graph.owned, np.bool_)
        at_rim[graph.boundary] = True
        visits = {"rim": np.flatnonzero(at_rim), "inside": np.flatnonzero(~at_rim)}
        self.visits = {name: len(some) for name, some in visits.items()}
        arrays = {
            **{name: some.astype(np.int32) for name, some in visits.items()},
            "indptr": graph.indptr,
            "indices": graph.indices,
            "bits": weight_bits(graph.weights),
            "names": graph.globals,
            "vertices": vertices,
            "starts": self.starts,
            "ghosts": ghosts,
            "tiles": self.tiles,
        }
        self.memory = Memory({}, {name: array.nbytes for name, array in arrays.items()})
        for name, array in arrays.items():
            if array.size:
                self.memory.view(name, array.dtype).set(np.ascontiguousarray(array))

    def part_argument(self, ranks: Any) -> np.ndarray:
        """The part as a struct that kernels take by value; ``ranks`` points to the priorities of the local vertices."""
        pointers = (self.memory[name].ptr for name in _PART_ARRAYS)
        return struct(PART, *pointers, ranks.ptr, self.owned, self.first)

    def items_argument(self) -> np.ndarray:
        """The items as such a struct."""
        pointers = (self.memory[name].ptr for name in _ITEM_ARRAYS)
        return struct(ITEMS, *pointers, self.neighbours)


_parts: weakref.WeakKeyDictionary[DistGraph, tuple[int, PartOnCard]] = weakref.WeakKeyDictionary()


def part_on_card(graph: DistGraph, card: int, tile: int) -> PartOnCard:
    """The part on the current device, whose number is ``card``: copied, unless it is there already."""
    found = _parts.get(graph)
    if found is None or found[0] != card:
        found = _parts[graph] = card, PartOnCard(graph, tile)
    return found[1]


def with_classes_at(order: Order, classes: Any) -> Order:
    """The order with its classes at a place on the card, one for each local vertex; where it has none, the same."""
    return order if order.classes is None else order._replace(classes=SimpleNamespace(data=classes))
