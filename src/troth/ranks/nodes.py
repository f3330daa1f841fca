"""The nodes of a job: which ranks share a machine's memory, and which of them talk to those of other machines.

A node is a machine. So that one machine can show what several do, a job can be told to behave as k nodes: its ranks are
then split into k groups of consecutive ranks, of nearly equal size.

Every rank of a node sends, and receives: a rank that is the i-th of its node sends to the (i mod b)-th rank of a node
of b ranks, whatever vertices the message is about, since all ranks of that node share their words.
"""

from __future__ import annotations

import weakref
from functools import cache
from typing import Any

import numpy as np

from troth.ranks.exchange import sum_over
from troth.ranks.graph import DistGraph
from troth.ranks.job import AgreedError
from troth.ranks.node import Node

KEPT = 2**26  # bytes; a window up to this size stays for the next graph


class Nodes:
    """The nodes of a communicator, as one of its ranks sees them."""

    def __init__(self, comm: Any, here: Any, beside: Any) -> None:
        """``here`` are the ranks of this node, in the order of ``comm``; ``beside`` as for ``Node``."""
        leaders = comm.allgather(here.bcast(comm.rank))
        self.of_rank = np.unique(leaders, return_inverse=True)[1].astype(np.int32)
        self.index, self.count = int(self.of_rank[comm.rank]), len(set(leaders))
        self.comm, self.node = comm, Node(here, comm, beside)
        self.part: tuple[weakref.ref[DistGraph], Any] | None = None  # the ``NodePart`` of the last graph

    def forget(self) -> None:
        """Give back what is kept of a graph, but for the window; all ranks together."""
        if self.part is not None:
            self.part[1].around.free()
            self.part = None

    def free(self) -> None:
        """Give back all that is kept; all ranks together."""
        self.forget()
        self.node.free()

    def end(self) -> None:
        """Give back the ranks' communicator too, after which nothing works any more; all ranks together."""
        self.free()
        self.node.comm.Free()

    def members(self, index: int) -> np.ndarray:
        """The ranks of a node, ascending."""
        return np.flatnonzero(self.of_rank == index)

    def partners(self, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Whom this rank sends to, one rank of each of these other nodes, and from which of their ranks it receives."""
        place, size = self.node.comm.rank, self.node.comm.size
        members = [self.members(index) for index in others]
        destinations = [ranks[place % len(ranks)] for ranks in members]
        sources = [ranks[np.arange(len(ranks)) % size == place] for ranks in members]
        return np.array(destinations, np.int32), np.concatenate([np.empty(0, np.int32), *sources]).astype(np.int32)


def nodes_of(comm: Any, count: int | None = None) -> Nodes:
    """The nodes of a communicator, its machines or so many groups of ranks; all ranks together."""
    kept = comm.Get_attr(_keyval())
    if kept is None:
        kept = {}
        comm.Set_attr(_keyval(), kept)
    if count not in kept:
        kept[count] = _find_nodes(comm) if count is None else _make_groups(comm, count)
    return kept[count]


def free(comm: Any, unused: bool = False) -> None:
    """Give back the windows of a communicator, ``unused``: large ones whose graph is gone; all ranks together."""
    for nodes in (comm.Get_attr(_keyval()) or {}).values():
        window, graph = nodes.node.window, nodes.node.graph
        large = window is not None and len(window.memory) > KEPT  # machines may differ, so all ranks are asked
        gone = graph is None or graph() is None
        if not unused or (sum_over(comm, int(large)) and sum_over(comm, int(gone)) == comm.size):
            nodes.free()


def node_of(comm: Any) -> Node | None:
    """The shared memory of a communicator, or None where its ranks are on several machines; all ranks together."""
    nodes = nodes_of(comm)
    return nodes.node if nodes.count == 1 else None


def check_count(comm: Any, count: int | None) -> None:
    """Refuse more nodes than ranks; all ranks together."""
    if (count or 0) > comm.size:
        raise AgreedError(f"nodes={count}: give a number up to that of the ranks, {comm.size}")


def _find_nodes(comm: Any) -> Nodes:
    from mpi4py import MPI

    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    return Nodes(comm, here, here)


def _make_groups(comm: Any, count: int) -> Nodes:
    """Groups of ranks that behave as nodes."""
    from mpi4py import MPI

    check_count(comm, count)
    if count == 1 and nodes_of(comm).count == 1:
        return nodes_of(comm)
    here = comm.Split(comm.rank * count // comm.size)
    machine = here.Split_type(MPI.COMM_TYPE_SHARED)
    torn = sum_over(comm, int(machine.size != here.size))
    machine.Free()
    if torn:
        here.Free()
        raise AgreedError(f"nodes={count}: the ranks of a group would be on several machines; leave it out")
    return Nodes(comm, here, comm)


@cache
def _keyval() -> int:
    """Under which communicators keep their nodes, which end when a communicator is freed."""
    from mpi4py import MPI

    return MPI.Comm.Create_keyval(delete_fn=_end_all)


def _end_all(comm: Any, _: int, kept: dict[int | None, Nodes]) -> None:
    """MPI calls this in ``Free`` of a communicator, which its ranks call together; the world's end with the job."""
    from mpi4py import MPI

    if not MPI.Is_finalized() and comm != MPI.COMM_WORLD:
        for nodes in dict.fromkeys(kept.values()):  # one may be there twice; in the same order on all ranks
            nodes.end()
