"""A graph that rank 0 alone has, dealt out: what ranks cannot read in parts, it reads, and sends the others their rows.

Rank 0 needs what reading the graph takes on one machine, and room for one rank's rows beside it; the others need what
they need of a ``.csr`` folder. The whole graph is gone before the parts are made of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from troth.api.opening import as_graph
from troth.graph import Graph
from troth.mpi.partitioning import Owners, make_partition, name_of_owners
from troth.ranks.exchange import barrier, wait
from troth.ranks.graph import DistGraph, assemble, own_rows
from troth.ranks.job import agree_on, agreeing, ending_the_job, world
from troth.ranks.nodes import free
from troth.ranks.partition import Blocks, Partition, balanced_blocks


def scatter(graph: Any, *, comm: Any = None, partition: Owners = "block") -> DistGraph:
    """The parts of a graph that rank 0 alone has; all ranks together.

    Parameters
    ----------
    graph : Graph or anything that ``as_graph`` takes
        On rank 0; what other ranks give is not looked at, and may be None.
    comm : mpi4py.MPI.Comm, optional
        All processes where none is given.
    partition : str, path or ndarray, optional
        As for ``load``.

    Returns
    -------
    DistGraph
        Its ``notes`` and, where the vertices have names, its ``ids`` are on rank 0.
    """
    comm = world() if comm is None else comm
    with ending_the_job(comm):
        agree_on(comm, {"partition": name_of_owners(partition)})
        free(comm, unused=True)
        return scattered_graph(comm, partition, lambda: as_graph(graph))


def scattered_graph(comm: Any, partition: Owners, make: Callable[[], Graph]) -> DistGraph:
    """The parts of the graph that rank 0 makes; what it refuses, all refuse. All ranks together."""
    # No name holds the whole graph here: it goes when its rows have been dealt out.
    rows = deal(comm, partition, made_on_first(comm, make))
    part = assemble(comm, rows.n, rows.split, rows.own, rows.indptr, rows.ends, rows.weights)
    return replace(part, notes=rows.notes, ids=rows.ids)


def made_on_first(comm: Any, make: Callable[[], Graph]) -> Graph | None:
    """The graph on rank 0, None on the others; all ranks together."""
    with agreeing(comm):
        try:
            return make().to("cpu") if comm.rank == 0 else None
        finally:
            barrier(comm)  # which lets rank 0 have the core, where ranks share cores


class OwnRows(NamedTuple):
    """The rows of a rank's own vertices, with global ends, and on rank 0 what is known of the whole graph."""

    n: int
    split: Partition
    own: np.ndarray
    indptr: np.ndarray
    ends: np.ndarray
    weights: np.ndarray
    notes: dict[str, int]
    ids: np.ndarray | None


def deal(comm: Any, partition: Owners, whole: Graph | None) -> OwnRows:
    """Every rank's rows of the graph that rank 0 has; all ranks together."""
    n, kind = comm.bcast(None if whole is None else (whole.n, whole.weights.dtype))

    def blocks() -> Blocks:
        found = None
        if whole is not None:
            indptr = whole.indptr
            found = balanced_blocks(lambda v: int(indptr[v]), n, comm.size).starts
        return Blocks(comm.bcast(found))

    def everything() -> tuple[np.ndarray, np.ndarray]:
        assert whole is not None  # METIS runs on rank 0
        return whole.indptr, whole.indices

    split = make_partition(partition, comm, n, blocks, everything)
    own = split.mine(comm.rank)
    if whole is None:
        return OwnRows(n, split, own, *_receive(comm, own, kind), {}, None)
    for rank in range(1, comm.size):
        _send(comm, rank, whole)
    return OwnRows(n, split, own, *own_rows(own, whole), whole.notes, whole.ids)


def _send(comm: Any, rank: int, whole: Graph) -> None:
    """Ask a rank which vertices it owns, and send it their rows."""
    count = np.empty(1, np.int64)
    comm.Recv(count, rank)
    own = np.empty(count[0], np.int32)
    comm.Recv(own, rank)
    for array in own_rows(own, whole):
        comm.Send(array, rank)


def _receive(comm: Any, own: np.ndarray, kind: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tell rank 0 which vertices are own ones, and take their rows: where each begins, the ends, and the weights."""
    wait(comm, comm.Isend(np.array([len(own)], np.int64), 0))
    wait(comm, comm.Isend(own, 0))

    def take(length: int, dtype: Any) -> np.ndarray:
        array = np.empty(length, dtype)
        wait(comm, comm.Irecv(array, 0))
        return array

    indptr = take(len(own) + 1, np.int64)
    return indptr, take(indptr[-1], np.int32), take(indptr[-1], kind)
