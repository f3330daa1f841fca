"""Loading a graph, where that can be so that no rank ever holds the whole: ``.csr`` folders, families made in place.

- A ``.csr`` folder is mapped; a rank reads its own rows and a logarithmic number of ``indptr``'s entries. Every entry
  that is read is checked; that the two directions agree is checked by a fingerprint, summed over the ranks.
- A lattice (grid, stencil, path, complete) is a formula: each rank fills its own rows.
- Drawn families (rmat, erdos-renyi, bipartite, hubs): edge number e is a function of (seed, e). Every rank draws its
  share of the numbers and sends both directions of each edge to the owners, in bulk; repeats meet at the owner.
- Weights are functions of the two ends, so each rank weighs its own rows.
- Everything else is read by rank 0, through the gate, and dealt out (``scattering.py``): other files, other families,
  and what is not taken as it is (``weights="abs"``, ``symmetrize`` and the like).

The result is the graph that ``troth.read`` makes, row by row and bit for bit.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from troth.api.opening import read
from troth.errors import TrothError
from troth.families.host import DRAWS, lattice_row
from troth.families.spec import FamilyRequest, is_spec, read_request, split_spec
from troth.families.weights import INCREASING, RULES, UNIT, edge_weight
from troth.gate.host import clean_type
from troth.graph import Graph
from troth.inputs import MAX_VERTICES
from troth.io.csr import CSR, open_csr
from troth.kernels.jit import kernel
from troth.kernels.team import CALLER, run_team
from troth.mpi.partitioning import Owners, make_partition, name_of_owners
from troth.mpi.scattering import scattered_graph
from troth.order import PRIORITY_BITS, mix64, weight_bits
from troth.ranks.exchange import reduce, scatter_to_owners, starts_of
from troth.ranks.graph import DistGraph, assemble, places_of, take_rows
from troth.ranks.job import AgreedError, agree_on, agreeing, ending_the_job, world
from troth.ranks.nodes import free
from troth.ranks.partition import Blocks, Partition, balanced_blocks, even_blocks

BUCKETS = 1 << 16  # of vertices, for the balance of drawn families
BATCH = 1 << 20  # edges that a rank draws and sends away at once
WHOLE = ("rgg", "delaunay")  # families whose edges depend on all points

Rows = tuple[np.ndarray, np.ndarray]  # indptr and the ends of the own rows


def load(
    source: str | os.PathLike[str],
    *,
    comm: Any = None,
    partition: Owners = "block",
    weights: str = "keep",
    symmetrize: str | None = None,
    base: int | None = None,
    seed: int = 0,
    columns: tuple[str, ...] | None = None,
    weight: str | None = None,
    maximize: bool | None = None,
    format: str | None = None,
) -> DistGraph:
    """The part of a graph that this rank owns; all ranks together.

    Parameters
    ----------
    source : str or path
        What ``troth.read`` takes: a ``.csr`` folder, a family such as ``grid:rows=1000,cols=1000``, or any other file.
    comm : mpi4py.MPI.Comm, optional
        All processes where none is given.
    partition : str, path or ndarray, optional
        "block" (balanced by edges and vertices), "hash", "metis" (not of families made in parts), a file of owners, or
        the array of owners.
    weights : str, optional
        As in ``troth.read``, and so are the others.
    symmetrize : str, optional
        What to do with a matrix whose two directions differ.
    base : int, optional
        The number of the first vertex in a table, 0 or 1.
    seed : int, optional
        For random weights.
    columns : tuple of str, optional
        Names of a table's source, target and weight columns.
    weight : str, optional
        Name of a table's weight column alone.
    maximize : bool, optional
        True, to be said where a column's name means a cost. Ranks have weights alone: False is refused.
    format : str, optional
        The format, in place of the extension.

    Returns
    -------
    DistGraph

    Notes
    -----
    Of a ``.csr`` folder every rank reads its own rows, and of most families it makes them: then no rank ever holds the
    whole graph. Anything else, and options that change the weights, are for rank 0, which reads the graph as
    ``troth.read`` does, needs room for all of it, and sends the others their rows.
    """
    comm = world() if comm is None else comm
    changes: dict[str, Any] = {"weights": weights, "symmetrize": symmetrize, "base": base, "columns": columns}
    changes |= {"weight": weight, "format": format}
    with ending_the_job(comm):
        with agreeing(comm):
            if not isinstance(source, (str, os.PathLike)):
                kind = type(source).__name__
                raise TrothError(f"troth.mpi.load takes a file or a family, not a {kind}: scatter takes that")
            if maximize is False:
                raise TrothError('ranks have weights, not costs: troth.match(g, device="mpi", maximize=False) has them')
            source = os.fspath(source)
            split = is_read_in_parts(source, changes)
        named = source if is_spec(source) else "a file"  # which may have another name on each machine
        asked = {"source": named, "in parts": split, "seed": seed, "partition": name_of_owners(partition)}
        agree_on(comm, asked | changes)
        free(comm, unused=True)
        if not split:
            return scattered_graph(comm, partition, lambda: read(source, seed=seed, maximize=maximize, **changes))
        return _from_family(source, comm, partition) if is_spec(source) else _from_csr(source, comm, partition)


def is_read_in_parts(source: str, changes: dict[str, Any]) -> bool:
    """Whether every rank can read or make its own rows: of a ``.csr`` folder, or of most families, as they are.

    ``changes`` are options of ``read``.
    """
    as_it_is = all(value in (None, "keep") for value in changes.values())
    if not is_spec(source):
        return as_it_is and Path(source).suffix == ".csr"
    family, words = split_spec(source)
    if "device" in words:
        raise TrothError(f"{source}: under MPI every rank makes its part on the CPU: leave device out")
    asked = read_request(family, **words)
    return as_it_is and asked.family not in WHOLE and RULES[asked.weights].code != INCREASING


def from_graph(graph: Graph, *, comm: Any = None, partition: Owners = "block") -> DistGraph:
    """The parts of a graph that every rank has, whole; all ranks together.

    Parameters
    ----------
    graph : Graph
        The same on every rank, on the host.
    comm : mpi4py.MPI.Comm, optional
        All processes where none is given.
    partition : str, path or ndarray, optional
        As for ``load``.

    Returns
    -------
    DistGraph
    """
    comm = world() if comm is None else comm
    with ending_the_job(comm):
        _refuse_other((graph.n, graph.m), comm, "give every rank the same")
        agree_on(comm, {"partition": name_of_owners(partition)})
        free(comm, unused=True)
        split = _partition_rows(partition, comm, graph)
        return take_rows(comm, graph.n, split, split.mine(comm.rank), graph)


def _refuse_other(sizes: tuple[int, int], comm: Any, remedy: str) -> None:
    """Refuse a graph that is not as large as that of rank 0; all ranks together."""
    n, m = comm.bcast(sizes)
    with agreeing(comm):
        if sizes != (n, m):
            raise TrothError(
                f"a graph of {sizes[0]} vertices and {sizes[1]} edges, but rank 0 has one of {n} and {m}: {remedy}"
            )


def _partition_rows(partition: Owners, comm: Any, graph: Graph | CSR) -> Partition:
    indptr, n = graph.indptr, len(graph.indptr) - 1
    blocks = partial(balanced_blocks, lambda v: int(indptr[v]), n, comm.size)
    return make_partition(partition, comm, n, blocks, lambda: (np.asarray(indptr), np.asarray(graph.indices)))


# ---- .csr folders ----


def _from_csr(source: str, comm: Any, partition: Owners) -> DistGraph:
    with agreeing(comm):
        found = open_csr(source, mode="c")  # never written to; Numba compiles again for arrays that are read-only
        n, kind = len(found.indptr) - 1, found.weights.dtype
        if n > MAX_VERTICES:
            raise TrothError(f"{source}: {n} vertices are too many: at most {MAX_VERTICES}")
        if clean_type(found.weights[:0], source).dtype != kind:
            raise TrothError(f"{source}: weights of type {kind} are not taken: troth convert it first")
    _refuse_other((n, len(found.indices) // 2), comm, f"{source} was replaced while ranks opened it")
    split = _partition_rows(partition, comm, found)
    own = split.mine(comm.rank)
    _check_rows(source, comm, n, own, found)
    return take_rows(comm, n, split, own, found)


@kernel
def inspect(own, n, indptr, indices, data, bits, salt):
    """The first own vertex whose row is broken, or -1, and the fingerprint of the entries (see ``gate/cpu.py``)."""
    total = np.uint64(0)
    for i in range(own.size):
        u = np.int64(own[i])
        last = np.int64(-1)
        if indptr[u] < 0 or indptr[u + 1] < indptr[u] or indptr[u + 1] > indices.size:
            return u, total
        for e in range(indptr[u], indptr[u + 1]):
            v, x = np.int64(indices[e]), data[e]
            if v <= last or v >= n or v == u or not x > 0 or x - x != 0:
                return u, total
            last = v
            low, high = np.uint64(min(u, v)), np.uint64(max(u, v))
            h = mix64(mix64((low << PRIORITY_BITS | high) ^ salt) ^ np.uint64(bits[e]))
            total = total + h if v > u else total - h
    return np.int64(-1), total


def _check_rows(source: str, comm: Any, n: int, own: np.ndarray, found: CSR) -> None:
    from mpi4py import MPI

    salt = np.uint64(comm.bcast(secrets.randbits(64) if comm.rank == 0 else None))
    weights, bits = found.weights, weight_bits(found.weights)
    signed = weights.view(np.int64) if weights.dtype == np.uint64 else weights  # 2^63 or more is negative then
    with agreeing(comm):
        first, total = inspect(own, n, found.indptr, found.indices, signed, bits, salt)
        if first >= 0:
            clean_type(weights[found.indptr[first] : found.indptr[first + 1]], source)  # refuses 2^63 or more itself
            why = f"row {first} is not clean (sorted, no loop, weights > 0)"
            raise TrothError(f"{source}: {why}: troth convert it first")
    sums = np.array([total], np.uint64)
    comm.Allreduce(MPI.IN_PLACE, sums)
    if sums[0]:
        why = "the two directions of some edge differ"
        raise AgreedError(f"{source}: {why}: troth.read it with symmetrize=max, min, sum or mean, and write it anew")


# ---- families ----


@kernel
def fill_lattice(own, shape, unknowns, offsets, fill, indptr, indices):
    """The rows of the own vertices of a lattice: lengths first, then the entries."""
    for i in range(own.size):
        at = indptr[i] if fill else 0
        at = lattice_row(np.int64(own[i]), shape, unknowns, offsets, fill, at, indices)
        if not fill:
            indptr[i + 1] = at


@kernel
def weigh_rows(own, indptr, ends, code, seed, bits, high, weights):
    """The weight of every entry of the own rows, a function of its two ends."""
    for i in range(own.size):
        u = np.int64(own[i])
        for e in range(indptr[i], indptr[i + 1]):
            v = np.int64(ends[e])
            weights[e] = edge_weight(code, seed, bits, high, min(u, v), max(u, v))


@kernel
def drop_repeats(own, keys, lengths, ends):
    """The ends of sorted keys (row << 32 | end), each once and no loops, and the rows' lengths; how many ends."""
    kept = 0
    for i in range(keys.size):
        row, end = keys[i] >> 32, keys[i] & 0x7FFFFFFF
        if own[row] != end and (i == 0 or keys[i] != keys[i - 1]):
            lengths[row] += 1
            ends[kept] = end
            kept += 1
    return kept


class Parts:
    """What ``families/structures.py`` asks of a device: here the device is all ranks, and each makes its own rows.

    A family checks its sizes and asks for one structure; ``make`` makes that, all ranks together.
    """

    def __init__(self, comm: Any, partition: Owners) -> None:
        self.comm, self.partition = comm, partition

    def lattice(self, *shape: Any) -> None:
        self.make = partial(self._lattice, *shape)

    def drawn(self, *draws: Any) -> None:
        self.make = partial(self._drawn, *draws)

    def _split(self, n: int, blocks: Callable[[], Blocks]) -> None:
        self.n, self.split = n, make_partition(self.partition, self.comm, n, blocks, None)
        self.own = self.split.mine(self.comm.rank)

    def _lattice(self, shape: tuple[int, int, int], unknowns: int, offsets: np.ndarray) -> Rows:
        n = prod(shape) * unknowns
        self._split(n, lambda: even_blocks(n, self.comm.size))
        indptr = np.zeros(len(self.own) + 1, np.int64)
        fill_lattice(self.own, shape, unknowns, offsets, False, indptr, np.empty(0, np.int32))
        np.cumsum(indptr, out=indptr)
        ends = np.empty(indptr[-1], np.int32)
        fill_lattice(self.own, shape, unknowns, offsets, True, indptr, ends)
        return indptr, ends

    def _drawn(self, n: int, *draws: tuple) -> Rows:
        self._split(n, lambda: self._balance(n, draws))
        parts = [np.empty(0, np.int64)]
        for row, col in self._batches(draws):
            _, (row, col), _ = scatter_to_owners(self.comm, self.split.owner(row), row, col)
            parts.append(places_of(self.own, row).astype(np.int64) << 32 | col)
        keys = np.concatenate(parts)
        del parts  # before the sort and the rows need room
        keys.sort()
        lengths, ends = np.zeros(len(self.own), np.int64), np.empty(len(keys), np.int32)
        kept = drop_repeats(self.own, keys, lengths, ends)
        return starts_of(lengths), ends[:kept].copy()

    def _batches(self, draws: tuple) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Both directions of this rank's share of the edges, some at a time; all ranks have as many batches."""
        rank, size = self.comm.rank, self.comm.size
        for name, count, *args in draws:
            batches = -(-count // (size * BATCH))
            for batch in range(rank * batches, (rank + 1) * batches):
                first, last = (count * place // (size * batches) for place in (batch, batch + 1))
                row, col = np.empty((2, 2, last - first), np.int32)
                run_team(DRAWS[name], last - first, CALLER, first, *args, row[0], col[0])
                row[1], col[1] = col[0], row[0]
                yield row.ravel(), col.ravel()

    def _balance(self, n: int, draws: tuple) -> Blocks:
        """Blocks by the ends that will be drawn, counted in buckets of consecutive vertices."""
        width = max(1, -(-n // BUCKETS))
        counts = np.zeros(-(-n // width), np.int64)
        for row, _ in self._batches(draws):
            counts += np.bincount(row // width, minlength=len(counts))
        ends = starts_of(reduce(self.comm, counts))
        wide = balanced_blocks(lambda b: int(ends[b]), len(counts), self.comm.size, width)
        return Blocks(np.minimum(wide.starts * width, n))


def _from_family(source: str, comm: Any, partition: Owners) -> DistGraph:
    family, words = split_spec(source)
    asked: FamilyRequest = read_request(family, **words)
    parts = Parts(comm, partition)
    with agreeing(comm), asked.fitting():
        asked.make(parts)
    with asked.fitting():
        indptr, ends = parts.make()
        rule = RULES[asked.weights]
        weights = np.ones(len(ends), asked.kind)
        if rule.code != UNIT:
            bits = 53 if asked.kind == np.float64 else 24
            weigh_rows(parts.own, indptr, ends, rule.code, asked.seed, bits, asked.high, weights)
        return assemble(comm, parts.n, parts.split, parts.own, indptr, ends, weights)
