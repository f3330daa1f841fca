"""The ranks of one machine hold their rows together, in one MPI shared window, as one ordinary CSR graph.

What a rank may read without a message, it need not be told. So where all ranks of a communicator share memory, each
copies its own rows, with global numbers, to their place in a window that all of them map; the kernels of ``cpu/`` then
run on it unchanged, with ranks for threads.

A communicator has one window, which grows and is used again; it holds the rows of the graph that was matched last, so
that a second matching of the same graph copies nothing. Memory: the rows once more, n + 1 row starts, a byte a vertex
for the classes of an order, and behind them as much as an engine asks for, all of it once a machine. Where the machine
has no room for that (``/dev/shm`` of containers is often small), ``rows`` returns None, and ranks send messages.
"""

from __future__ import annotations

import os
import weakref
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from troth.kernels.jit import kernel
from troth.order import Order
from troth.ranks.exchange import barrier, reduce, starts_of, sum_over
from troth.ranks.graph import DistGraph
from troth.ranks.rows import Part, part_of
from troth.rows import Rows

LINE = 128  # bytes; arrays begin on a cache line of their own
SHARED_FOLDER = "/dev/shm"  # where MPI libraries keep shared windows on Linux


class SharedRows(NamedTuple):
    """Arrays of the whole graph that all ranks of the machine map."""

    rows: Rows
    classes: np.ndarray  # uint8, one a vertex; of the order, where it has some
    cursor: np.ndarray
    scratch: np.ndarray  # bytes, for an engine to use


class Node:
    """The window of a communicator whose ranks share memory."""

    def __init__(self, comm: Any) -> None:
        self.comm, self.memory = comm, np.empty(0, np.uint8)
        self.window: Any = None
        self.graph: weakref.ref[DistGraph] | None = None
        self.arrays: SharedRows | None = None

    def rows(self, graph: DistGraph, scratch: int) -> SharedRows | None:
        """The rows of all ranks, copied unless they are there already, and so many bytes behind; all ranks together."""
        mine = self.graph is not None and self.graph() is graph
        if sum_over(self.comm, int(mine)) == self.comm.size and self.arrays and len(self.arrays.scratch) >= scratch:
            return self.arrays
        part, entries = part_of(graph), 2 * graph.m
        kinds = [np.dtype(kind) for kind in (np.int64, np.int64, np.int32, part.bits.dtype, np.uint8)]
        sizes = np.array([16, graph.n + 1, entries, entries, graph.n]) * [kind.itemsize for kind in kinds]
        starts = starts_of(-(-sizes // LINE) * LINE)
        self.graph = self.arrays = None
        if not self._make_room(int(starts[-1]) + scratch):
            return None
        cursor, indptr, indices, bits, classes = (
            self.memory[at : at + size].view(kind) for at, size, kind in zip(starts, sizes, kinds, strict=False)
        )
        self._place_rows(graph, part, indptr)
        share_rows(part, indptr, indices, bits)
        self.sync()
        shared = SharedRows(Rows(indptr, indices, bits), classes, cursor, self.memory[starts[-1] :])
        self.graph, self.arrays = weakref.ref(graph), shared
        return shared

    def share_order(self, graph: DistGraph, order: Order) -> Order:
        """The order of the whole graph, whose classes are read after a ``sync``; where it has none, the same."""
        if order.classes is None or self.arrays is None:
            return order
        self.arrays.classes[graph.own] = order.classes[: graph.owned]
        return order._replace(classes=self.arrays.classes)

    def share_of(self, total: int) -> slice:
        """This rank's even share of 0..total-1."""
        rank, size = self.comm.rank, self.comm.size
        return slice(total * rank // size, total * (rank + 1) // size)

    def sync(self) -> None:
        """What any rank wrote before is what all ranks read after."""
        self.window.Sync()
        barrier(self.comm)
        self.window.Sync()

    def sum(self, values: np.ndarray) -> np.ndarray:
        """``sync`` that also adds up values of all ranks: no one gets the sums before all have come."""
        self.window.Sync()
        found = reduce(self.comm, values)
        self.window.Sync()
        return found

    def _make_room(self, size: int) -> bool:
        from mpi4py import MPI

        if size > len(self.memory):
            if sum_over(self.comm, int(self.comm.rank == 0 and not _fits(size))):
                return False
            self.free()
            self.window = MPI.Win.Allocate_shared(size if self.comm.rank == 0 else 0, 1, comm=self.comm)
            self.memory = np.frombuffer(self.window.Shared_query(0)[0], np.uint8)
            self.window.Lock_all()
        return True

    def _place_rows(self, graph: DistGraph, part: Part, indptr: np.ndarray) -> None:
        """indptr of the whole graph, from the lengths of everyone's rows."""
        indptr[graph.own.astype(np.int64) + 1] = np.diff(part.indptr)
        self.sync()
        some = indptr[1:][self.share_of(graph.n)]
        before = self.comm.exscan(int(some.sum())) or 0
        np.cumsum(some, out=some)
        some += before
        if self.comm.rank == 0:
            indptr[0] = 0
        self.sync()

    def free(self) -> None:
        """Give the window back; all ranks together."""
        self.graph, self.arrays, self.memory = None, None, np.empty(0, np.uint8)
        if self.window is not None:
            self.window.Unlock_all()
            self.window.Free()
            self.window = None


@kernel
def share_rows(part, indptr, indices, bits):
    """The own rows, with global numbers, to their places."""
    for v in range(part.owned):
        at = indptr[part.names[v]]
        for e in range(part.indptr[v], part.indptr[v + 1]):
            indices[at] = part.names[part.indices[e]]
            bits[at] = part.bits[e]
            at += 1


def node_of(comm: Any) -> Node | None:
    """The shared memory of a communicator, or None where its ranks are on several machines; all ranks together."""
    from mpi4py import MPI

    node = comm.Get_attr(_keyval())
    if node is None:
        local = comm.Split_type(MPI.COMM_TYPE_SHARED)
        node = Node(comm) if local.size == comm.size else False
        local.Free()
        comm.Set_attr(_keyval(), node)
    return node or None


@cache
def _keyval() -> int:
    """Under which communicators keep their ``Node``."""
    from mpi4py import MPI

    return MPI.Comm.Create_keyval()


def _fits(size: int) -> bool:
    """Whether the machine has room; a window that does not fit would kill the job when it is first touched."""
    try:
        found = os.statvfs(SHARED_FOLDER)
    except (OSError, AttributeError):  # not Linux
        return True
    return size < found.f_bavail * found.f_frsize
