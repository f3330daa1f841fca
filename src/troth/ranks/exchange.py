"""Arrays between ranks, packed: to any owner while a graph is built, to neighbour ranks while a matching is found.

Nothing here pickles: what moves is NumPy arrays. ``Neighbourhood`` counts what this rank sends, in bytes and in
messages (a message is what goes to one rank in one step; an empty one is not counted, the counts themselves are).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from time import sleep
from typing import Any

import numpy as np

from troth.kernels.team import available_cores

COUNT = np.dtype(np.int64)
NAP = 2e-5  # seconds
# What Hydra, Open MPI and Slurm (as in "32(x4)") say.
LOCAL_RANKS = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_TASKS_PER_NODE")


def starts_of(counts: np.ndarray) -> np.ndarray:
    """Where each part begins, and the end of the last."""
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def scatter_to_owners(comm: Any, owners: np.ndarray, *columns: np.ndarray) -> tuple[np.ndarray, list, np.ndarray]:
    """Send each entry to its owner: (by_owner, what came, how many from each rank).

    ``by_owner`` is how the entries were sorted before they were sent, by owner and stably, so that answers in the order
    of arrival belong to ``entries[by_owner]``. All ranks call this together.
    """
    by_owner = np.argsort(owners, kind="stable")
    counts = np.bincount(owners, minlength=comm.size).astype(COUNT)
    came = np.empty(comm.size, COUNT)
    wait(comm, comm.Ialltoall(counts, came))
    return by_owner, [_alltoallv(comm, column[by_owner], counts, came) for column in columns], came


def swap(comm: Any, values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Answer what ``scatter_to_owners`` brought: one value for each entry, back to the rank it came from."""
    back = np.empty(comm.size, COUNT)
    wait(comm, comm.Ialltoall(np.ascontiguousarray(counts, COUNT), back))
    return _alltoallv(comm, values, counts, back)


def _alltoallv(comm: Any, values: np.ndarray, counts: np.ndarray, came: np.ndarray) -> np.ndarray:
    values, width = np.ascontiguousarray(values), values.dtype.itemsize
    found = np.empty(int(came.sum()), values.dtype)
    wait(comm, comm.Ialltoallv(_in_bytes(values, counts, width), _in_bytes(found, came, width)))
    return found


def _in_bytes(values: np.ndarray, counts: np.ndarray, size: int) -> list:
    """A buffer of parts as MPI takes it, ``size`` bytes a record: so every type of NumPy is carried alike."""
    from mpi4py import MPI

    return [values.view(np.uint8), counts * size, starts_of(counts)[:-1] * size, MPI.BYTE]


class Neighbourhood:
    """The ranks that share edges with this one, and the packed exchange with them.

    Where it receives from others than it sends to, these are ``sources``.
    """

    def __init__(self, comm: Any, ranks: np.ndarray, sources: np.ndarray | None = None) -> None:
        self.ranks, self.sources = ranks, ranks if sources is None else sources
        self.topology = comm.Create_dist_graph_adjacent(self.sources.tolist(), ranks.tolist())
        self.bytes = self.messages = 0

    def start(
        self, values: np.ndarray, counts: np.ndarray, width: int = 1, room: Callable[[int, Any], np.ndarray] = np.empty
    ) -> PendingExchange:
        """Send ``counts[i]`` records of ``width`` values to neighbour i, and go on; ``room`` is for what comes."""
        return PendingExchange(self, values, np.ascontiguousarray(counts, COUNT), width, room)

    def exchange(self, values: np.ndarray, counts: np.ndarray, width: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Send, and wait for what comes: (records, how many from each neighbour)."""
        return self.start(values, counts, width).end()

    def swap(self, values: np.ndarray, counts: np.ndarray, found: np.ndarray, came: np.ndarray, width: int = 1) -> None:
        """``exchange`` where both sides know the counts."""
        wait(self.topology, self.start_swap(values, counts, found, came, width))

    def start_swap(
        self, values: np.ndarray, counts: np.ndarray, found: np.ndarray, came: np.ndarray, width: int
    ) -> Any:
        """The request of a ``swap``, which goes on by itself."""
        size = values.dtype.itemsize * width
        self.bytes += int(counts.sum()) * size
        self.messages += int(np.count_nonzero(counts))
        return self._send(values.view(np.uint8), counts * size, found.view(np.uint8), came * size)

    def _send(self, values: np.ndarray, counts: np.ndarray, found: np.ndarray, came: np.ndarray) -> Any:
        """The request for so many bytes to and from each neighbour."""
        return self.topology.Ineighbor_alltoallv(_in_bytes(values, counts, 1), _in_bytes(found, came, 1))

    def free(self) -> None:
        self.topology.Free()


class PointToPoint(Neighbourhood):
    """The same with a message for each neighbour that has something, whose arrays may be on a card."""

    def _send(self, values: np.ndarray, counts: np.ndarray, found: np.ndarray, came: np.ndarray) -> Any:
        from mpi4py import MPI

        ways = ((self.topology.Irecv, found, came), (self.topology.Isend, values, counts))
        places = range(len(self.ranks))  # of the neighbours, whose ranks are those of the communicator
        return Requests(
            [
                post([values[begin : begin + sizes[i]], int(sizes[i]), MPI.BYTE], int(self.ranks[i]))
                for post, values, sizes in ways
                for i, begin in zip(places, starts_of(sizes)[:-1], strict=True)
                if sizes[i]
            ]
        )


class Requests:
    """Several requests as one."""

    def __init__(self, requests: list) -> None:
        self.requests = requests

    def Test(self) -> bool:  # noqa: N802
        """Whether all are complete; the name is that of MPI's own requests."""
        from mpi4py import MPI

        return MPI.Request.Testall(self.requests)


class PendingExchange:
    """Records under way between neighbours: first how many, then themselves."""

    def __init__(
        self, around: Neighbourhood, values: np.ndarray, counts: np.ndarray, width: int, room: Callable = np.empty
    ) -> None:
        self.around, self.sent, self.room = around, (values, counts), room
        self.width, self.came = width, np.empty(len(around.sources), COUNT)
        self.found: Any = None  # until the counts have come
        self.request = around.topology.Ineighbor_alltoall(counts, self.came)
        around.bytes += counts.nbytes
        around.messages += len(around.ranks)

    def has_come(self) -> bool:
        """Whether all is there; to ask lets MPI do its part."""
        if self.request.Test():
            if self.found is not None:
                return True
            self.found = self.room(int(self.came.sum()) * self.width, self.sent[0].dtype)
            self.request = self.around.start_swap(*self.sent, self.found, self.came, self.width)
        return False

    def end(self) -> tuple[np.ndarray, np.ndarray]:
        """What came, and how many records from each neighbour."""
        backoff = Backoff(self.around.topology)
        while not self.has_come():
            backoff.pause()
        return self.found, self.came


# ---- waiting ----


class Backoff:
    """How to wait: spin where every rank has a core of its own, and let others run where it has not.

    MPI's own waiting spins for ever, which costs a time slice each time when there are more ranks than cores.
    """

    def __init__(self, comm: Any) -> None:
        self.spins, self.idle = spins(comm.size), 0

    def pause(self, idle: bool = True) -> None:
        """Called once a turn of a waiting loop; ``idle``: nothing happened in it."""
        self.idle = self.idle + 1 if idle else 0
        if self.idle > self.spins:
            sleep(NAP)


@cache
def spins(size: int) -> int:
    """How many idle turns are worth a spin; the launcher says how many of the ranks share this machine."""
    told = next((os.environ[name] for name in LOCAL_RANKS if name in os.environ), "").partition("(")[0]
    return 2000 if (int(told) if told.isdecimal() else size) <= available_cores() else 20


def wait(comm: Any, request: Any) -> None:
    """Complete a request that depends on other ranks."""
    backoff = Backoff(comm)
    while not request.Test():
        backoff.pause()


def barrier(comm: Any) -> None:
    """All ranks have come here."""
    wait(comm, comm.Ibarrier())


def sum_over(comm: Any, value: int) -> int:
    """The sum of a number over all ranks."""
    return combine(comm, value, "SUM")


def combine(comm: Any, value: int, operation: str) -> int:
    """A number of all ranks combined, on every rank."""
    return int(reduce(comm, np.array([value], COUNT), operation)[0])


def reduce(comm: Any, values: np.ndarray, operation: str = "SUM") -> np.ndarray:
    """Values of all ranks combined by an operation of MPI, on every rank."""
    return PendingReduction(comm, values, operation).end()


class PendingReduction:
    """``reduce`` under way."""

    def __init__(self, comm: Any, values: np.ndarray, operation: str = "SUM") -> None:
        from mpi4py import MPI

        self.comm, self.values, self.found = comm, values, np.empty_like(values)
        self.request = comm.Iallreduce(values, self.found, getattr(MPI, operation))

    def end(self) -> np.ndarray:
        """The combined values."""
        wait(self.comm, self.request)
        return self.found
