"""Who owns a vertex: blocks balanced by edges, a hash, METIS, or a file of owners.

A partition answers two questions: which vertices are mine, and which ranks own these. Blocks and the hash answer from a
formula. The other two are a table of n owners, of which every rank keeps an even share: a question about vertex v goes
to the rank that has v's share, so all ranks ask together, and no rank holds the table.

METIS itself needs the whole graph: it runs on rank 0, which is the one step that does not fit a graph larger than one
machine's memory.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path

import numpy as np

from troth.cpu._jit import kernel
from troth.errors import TrothError
from troth.mpi.exchange import scatter_to_owners, swap
from troth.order import OWNER, hash1

NAMES = ("block", "hash", "metis")


class Blocks:
    """Rank r owns the vertices starts[r]..starts[r + 1] - 1."""

    def __init__(self, starts: np.ndarray) -> None:
        self.starts = np.asarray(starts, np.int64)

    def mine(self, rank: int) -> np.ndarray:
        return np.arange(self.starts[rank], self.starts[rank + 1], dtype=np.int32)

    def owner(self, ids: np.ndarray) -> np.ndarray:
        return (np.searchsorted(self.starts, ids, side="right") - 1).astype(np.int32)


def even_blocks(n: int, size: int, grain: int = 1) -> Blocks:
    """Blocks of nearly equal length, a multiple of ``grain``."""
    grains = -(-n // grain)
    return Blocks(np.minimum(np.arange(size + 1, dtype=np.int64) * grains // size * grain, n))


def balanced_blocks(entries_before: Callable[[int], int], n: int, size: int) -> Blocks:
    """Blocks with nearly equal numbers of vertices and stored entries together.

    ``entries_before(v)`` is how many entries the rows 0..v-1 have; about log n values of it are asked for each rank.
    """
    total = n + entries_before(n)
    ends = [bisect_left(range(n + 1), total * r // size, key=lambda v: v + entries_before(v)) for r in range(1, size)]
    return Blocks(np.array([0, *ends, n]))


@kernel
def find_owners(ids, size, owners):
    """owners[i] = hash(ids[i]) modulo the number of ranks."""
    for i in range(ids.size):
        owners[i] = hash1(np.uint64(0), OWNER, np.uint64(ids[i])) % np.uint64(size)


class Hashed:
    """A vertex goes to the rank that a hash of its number names: even work, and hardly an edge inside a rank."""

    CHUNK = 1 << 20

    def __init__(self, n: int, size: int) -> None:
        self.n, self.size = n, size

    def mine(self, rank: int) -> np.ndarray:
        parts = [np.empty(0, np.int32)]
        for first in range(0, self.n, self.CHUNK):
            ids = np.arange(first, min(first + self.CHUNK, self.n), dtype=np.int32)
            parts.append(ids[self.owner(ids) == rank])
        return np.concatenate(parts)

    def owner(self, ids: np.ndarray) -> np.ndarray:
        owners = np.empty(len(ids), np.int32)
        find_owners(np.asarray(ids, np.int32), self.size, owners)
        return owners


class Table:
    """A table of owners in even shares; ``share`` is this rank's. All ranks ask together."""

    def __init__(self, comm, n: int, share: np.ndarray) -> None:
        self.comm, self.share, self.places = comm, share, even_blocks(n, comm.size)

    def mine(self, rank: int) -> np.ndarray:
        ids = self.places.mine(rank)
        _, (mine,), _ = scatter_to_owners(self.comm, self.share, ids)
        return np.sort(mine)

    def owner(self, ids: np.ndarray) -> np.ndarray:
        order, (asked,), counts = scatter_to_owners(self.comm, self.places.owner(ids), np.asarray(ids, np.int32))
        answers = swap(self.comm, self.share[asked - self.places.starts[self.comm.rank]], counts)
        owners = np.empty(len(ids), np.int32)
        owners[order] = answers
        return owners


def table_from(comm, n: int, make: Callable[[], np.ndarray]) -> Table:
    """A table whose n owners are made by rank 0 and scattered."""
    places = even_blocks(n, comm.size)
    counts = np.diff(places.starts)
    share = np.empty(counts[comm.rank], np.int32)
    whole = np.ascontiguousarray(make(), np.int32) if comm.rank == 0 else None
    comm.Scatterv([whole, counts, places.starts[:-1], _int32()] if comm.rank == 0 else None, share, root=0)
    return Table(comm, n, share)


def _int32():
    from mpi4py import MPI

    return MPI.INT32_T


def read_owners(path: str | Path, n: int, size: int) -> np.ndarray:
    """A file of owners: n lines (or a ``.npy`` array of n whole numbers), entry v is the rank that owns vertex v."""
    from troth.io.files import load, refusing
    from troth.io.text import scan

    path = Path(path)
    if path.suffix == ".npy":
        with refusing(path, ValueError):
            owners = np.load(path, allow_pickle=False)
        fits = owners.ndim == 1 and owners.dtype.kind in "iu"
    else:
        cells = scan(load(path), str(path))
        fits = bool((cells.kind == 0).all() and (np.diff(cells.line_start) == 1).all())
        owners = cells.value
    if not fits or len(owners) != n:
        raise TrothError(f"{path}: a file of owners has one whole number for each of the {n} vertices")
    if n and not (owners.min() >= 0 and owners.max() < size):
        wrong = int(np.argmax((owners < 0) | (owners >= size)))
        raise TrothError(f"{path}: vertex {wrong} is owned by {owners[wrong]}, but the ranks are 0 to {size - 1}")
    return owners.astype(np.int32)


def metis_owners(indptr: np.ndarray, indices: np.ndarray, size: int) -> np.ndarray:
    """Owners by METIS: parts of equal size with few edges between them. Needs the whole graph."""
    try:
        import pymetis
    except ImportError:
        raise TrothError('--partition metis needs pymetis: pip install "troth[partition]", or choose block') from None
    n = len(indptr) - 1
    if size == 1 or n < size:
        return np.arange(n, dtype=np.int32) % size
    print(f"troth: METIS holds the whole graph ({n:,} vertices) on rank 0", file=sys.stderr)
    _, owners = pymetis.part_graph(size, xadj=indptr, adjncy=indices)
    return np.asarray(owners, np.int32)


def make_partition(name: str, comm, n: int, blocks: Callable[[], Blocks], whole: Callable | None) -> object:
    """The partition of a name: "block", "hash", "metis" or a file of owners.

    ``blocks`` makes the balanced blocks, ``whole`` the (indptr, indices) of the whole graph for METIS; None where no
    rank can have it.
    """
    if name == "block":
        return blocks()
    if name == "hash":
        return Hashed(n, comm.size)
    if name == "metis":
        if whole is None:
            raise TrothError("--partition metis needs a whole graph: generate it to a .csr folder first")
        return table_from(comm, n, lambda: metis_owners(*whole(), comm.size))
    if not Path(name).is_file():
        raise TrothError(f"--partition {name} is not a file: choose {', '.join(NAMES)}, or a file of owners")
    return table_from(comm, n, lambda: read_owners(name, n, comm.size))
