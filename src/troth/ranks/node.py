"""The ranks of one machine hold their rows together, in one MPI shared window, as one ordinary CSR graph.

What a rank may read without a message, it need not be told. So the ranks of a machine copy their own rows, with global
numbers, to their place in a window that all of them map. Where these are all ranks of the job, the kernels of ``cpu/``
then run on it unchanged, with ranks for threads; several machines talk to each other (``nodes.py``).

A machine has one window, which grows and is used again; it holds the rows of the graph that was matched last, so that a
second matching of the same graph copies nothing. Memory: the rows once more, n + 1 row starts, a byte a vertex for the
classes of an order, and behind them as much as an engine asks for, all of it once a machine. Arrays are as long as the
whole graph has vertices, but a page of them that no own vertex and no ghost of the machine is in is never touched, and
takes no memory. Where the machine has no room (``/dev/shm`` of containers is often small), ``rows`` returns None on all
machines, and ranks send messages.
"""

from __future__ import annotations

import os
import weakref
from typing import Any, NamedTuple

import numpy as np

from troth.kernels.jit import kernel
from troth.order import Order
from troth.ranks.exchange import PendingReduction, barrier, combine, reduce, starts_of, sum_over
from troth.ranks.graph import DistGraph
from troth.ranks.rows import Part, part_of
from troth.rows import Rows

LINE = 128  # bytes; arrays begin on a cache line of their own
CURSOR = LINE // 8
SHARED_FOLDER = "/dev/shm"  # where MPI libraries keep shared windows on Linux


class SharedRows(NamedTuple):
    """Arrays that all ranks of the machine map; of the whole graph, but for the rows of vertices on other machines."""

    rows: Rows  # those of other machines between ``first`` and ``last`` are empty, others are not to be looked at
    first: int  # the own vertices of these ranks are among first..last - 1
    last: int
    full: bool  # and are all of them
    classes: np.ndarray  # uint8, one a vertex; of the order, where it has some
    cursor: np.ndarray
    spent: np.ndarray  # a second one
    scratch: np.ndarray  # bytes, for an engine to use


class Window:
    """Memory that all ranks of a machine map; they make it and give it back together."""

    def __init__(self, comm: Any, size: int) -> None:
        from mpi4py import MPI

        self.window = MPI.Win.Allocate_shared(size if comm.rank == 0 else 0, 1, comm=comm)
        self.memory: np.ndarray = np.frombuffer(self.window.Shared_query(0)[0], np.uint8)  # type: ignore[call-overload]
        self.window.Lock_all()

    def free(self) -> None:
        self.memory = np.empty(0, np.uint8)
        self.window.Unlock_all()
        self.window.Free()


class Node:
    """The window of ranks that share memory.

    ``comm`` are these ranks, ``job`` all ranks, ``beside`` those whose windows take room from the same memory.
    """

    def __init__(self, comm: Any, job: Any, beside: Any) -> None:
        self.comm, self.job, self.beside = comm, job, beside
        self.window: Window | None = None
        self.graph: weakref.ref[DistGraph] | None = None
        self.arrays: SharedRows | None = None

    def rows(self, graph: DistGraph, scratch: int) -> SharedRows | None:
        """The rows of these ranks, copied unless they are there already, and so many bytes behind; all of the job."""
        mine = self.graph is not None and self.graph() is graph and self.arrays is not None
        enough = mine and self.arrays is not None and len(self.arrays.scratch) >= scratch
        if sum_over(self.job, int(enough)) == self.job.size:
            return self.arrays
        part = part_of(graph)
        entries, owned = reduce(self.comm, np.array([len(graph.indices), graph.owned], np.int64)).tolist()
        first = combine(self.comm, int(graph.own[0]) if graph.owned else graph.n, "MIN")
        last = max(first, combine(self.comm, int(graph.own[-1]) + 1 if graph.owned else 0, "MAX"))
        kinds = [np.dtype(kind) for kind in (np.int64, np.int64, np.int32, part.bits.dtype, np.uint8)]
        sizes = np.array([2 * CURSOR, graph.n + 1, entries, entries, graph.n]) * [kind.itemsize for kind in kinds]
        starts = starts_of(-(-sizes // LINE) * LINE)
        self.graph = self.arrays = None
        memory = self._make_room(int(starts[-1]) + scratch)
        if memory is None:
            return None
        cursors, indptr, indices, bits, classes = (
            memory[at : at + size].view(kind) for at, size, kind in zip(starts, sizes, kinds, strict=False)
        )
        full = owned == last - first
        self._place_rows(graph, part, indptr[first : last + 1], first, full)
        share_rows(part, indptr, indices, bits)
        self.sync()
        rows, scratch_room = Rows(indptr[: last + 1], indices, bits), memory[starts[-1] :]
        self.arrays = SharedRows(rows, first, last, full, classes, cursors[:CURSOR], cursors[CURSOR:], scratch_room)
        self.graph = weakref.ref(graph)
        return self.arrays

    def share_order(self, graph: DistGraph, order: Order) -> Order:
        """The order of the whole graph, whose classes are read after a ``sync``; where it has none, the same."""
        if order.classes is None or self.arrays is None:
            return order
        some = graph.owned if self.comm.size == self.job.size else None  # or ghosts as well
        self.arrays.classes[graph.globals[:some]] = order.classes[:some]
        return order._replace(classes=self.arrays.classes)

    def share_of(self, total: int) -> slice:
        """This rank's even share of 0..total-1."""
        rank, size = self.comm.rank, self.comm.size
        return slice(total * rank // size, total * (rank + 1) // size)

    def sync(self) -> None:
        """What any rank wrote before is what all ranks read after."""
        self._fence()
        barrier(self.comm)
        self._fence()

    def sum(self, values: np.ndarray) -> np.ndarray:
        """``sync`` that also adds up values of all ranks: no one gets the sums before all have come."""
        return self.end_sum(self.start_sum(values, self.comm))

    def start_sum(self, values: np.ndarray, comm: Any = None) -> PendingReduction:
        """The first half of ``sum``, by default over all ranks of the job: what was written before is read after."""
        self._fence()
        return PendingReduction(self.job if comm is None else comm, values)

    def end_sum(self, pending: PendingReduction) -> np.ndarray:
        """The second half."""
        found = pending.end()
        self._fence()
        return found

    def _fence(self) -> None:
        if self.window is not None:
            self.window.window.Sync()

    def borrow(self, size: int) -> Window | None:
        """A second window, to be freed soon, or None where there is no room for it; all ranks of the job together."""
        wanted = sum_over(self.beside, size if self.comm.rank == 0 else 0)
        if sum_over(self.job, int(self.comm.rank == 0 and not _fits(wanted))):
            return None
        return Window(self.comm, size)

    def _make_room(self, size: int) -> np.ndarray | None:
        """So many bytes that all ranks map, in the window that is there, or in a larger one."""
        grows = self.window is None or size > len(self.window.memory)  # the same for all ranks of the node
        if grows:
            self.free()  # first, since the new one may need its room
        wanted = sum_over(self.beside, size if grows and self.comm.rank == 0 else 0)
        if sum_over(self.job, int(grows and self.comm.rank == 0 and not _fits(wanted))):
            return None
        if self.window is None:
            self.window = Window(self.comm, size)
        return self.window.memory

    def _place_rows(self, graph: DistGraph, part: Part, indptr: np.ndarray, first: int, full: bool) -> None:
        """indptr of the vertices first, first + 1, ..., from the lengths of everyone's rows."""
        some = indptr[1:][self.share_of(len(indptr) - 1)]
        if not full:  # others' rows are empty
            some[:] = 0
            self.sync()
        indptr[graph.own.astype(np.int64) - first + 1] = np.diff(part.indptr)
        self.sync()
        before = self.comm.exscan(int(some.sum())) or 0
        np.cumsum(some, out=some)
        some += before
        if self.comm.rank == 0:
            indptr[0] = 0
        self.sync()

    def free(self) -> None:
        """Give the window back; all ranks together."""
        self.graph = self.arrays = None
        if self.window is not None:
            self.window.free()
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


def lacks_room(comm: Any, here: Any, size: int) -> bool:
    """Whether some machine has no room for windows of so many bytes for each rank; all ranks together."""
    wanted = sum_over(here, size)
    return bool(sum_over(comm, int(here.size > 1 and not _fits(wanted))))


def _fits(size: int) -> bool:
    """Whether the machine has room; a window that does not fit would kill the job when it is first touched."""
    try:
        found = os.statvfs(SHARED_FOLDER)
    except (OSError, AttributeError):  # not Linux
        return True
    return size < found.f_bavail * found.f_frsize
