"""Who owns a vertex: blocks balanced by edges, a hash, METIS, or a list of owners, in a file or an array.

A partition answers two questions: which vertices are mine, and which ranks own these. Blocks and the hash answer from a
formula. The other two are a table of n owners, of which every rank keeps an even share: a question about vertex v goes
to the rank that has v's share, so all ranks ask together, and no rank holds the table.

METIS itself needs the whole graph: it runs on rank 0, which is the one step that does not fit a graph larger than one
machine's memory.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from troth.cpu._jit import kernel
from troth.errors import TrothError
from troth.mpi import AgreedError, agreeing
from troth.mpi.exchange import reduce, scatter_to_owners, swap
from troth.order import OWNER, hash1

NAMES = ("block", "hash", "metis")
Owners = str | os.PathLike | np.ndarray  # how a partition is asked for


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


def my_lines(comm, n: int, parts: Iterable[np.ndarray]) -> tuple[np.ndarray, int]:
    """Of n numbers that every rank reads part by part, this rank's even share; and how many there are.

    A rank reads no further than its share; the last one reads to the end.
    """
    from mpi4py import MPI

    first, last = even_blocks(n, comm.size).starts[comm.rank : comm.rank + 2].tolist()
    share, came = np.zeros(last - first, np.int64), 0
    with agreeing(comm):
        for part in parts:
            begin, end = max(first, came), min(last, came + len(part))
            if begin < end:
                share[begin - first : end - first] = part[begin - came : end - came]
            came += len(part)
            if came >= last < n:
                break
    return share, int(reduce(comm, np.array([came]), MPI.MAX)[0])


def share_of_owners(comm, n: int, where: Path | str, parts: Iterable[np.ndarray]) -> np.ndarray:
    """This rank's share of n owners, checked: entry v is the rank that owns vertex v."""
    share, came = my_lines(comm, n, parts)
    most = comm.size - 1
    if came != n:
        raise AgreedError(f"{where}: {came} owners, but the graph has {n} vertices")
    with agreeing(comm):
        wrong = np.flatnonzero((share < 0) | (share > most))
        if len(wrong):
            v = even_blocks(n, comm.size).starts[comm.rank] + wrong[0]
            raise TrothError(f"{where}: vertex {v} is owned by {share[wrong[0]]}, but the ranks are 0 to {most}")
    return share.astype(np.int32)


def _read(path: Path, most: int) -> Iterator[np.ndarray]:
    from troth.io.text import scan_parts

    for cells in scan_parts(path):
        uneven, wrong = "a file of owners has one number in each line", f"is no owner: the ranks are 0 to {most}"
        yield cells.one_a_line(0, most, uneven, wrong)


def _mapped(path: Path, n: int) -> Iterator[np.ndarray]:
    from troth.io.files import refusing

    with refusing(path, ValueError):
        owners = np.load(path, mmap_mode="r", allow_pickle=False)
    yield from _whole(path, n, owners)


def _whole(where: Path | str, n: int, owners: np.ndarray) -> Iterator[np.ndarray]:
    if owners.shape != (n,) or owners.dtype.kind not in "iu":
        raise TrothError(f"{where}: {owners.dtype} of shape {owners.shape}, but owners are {n} whole numbers")
    yield owners


def metis_owners(comm, indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Owners by METIS: parts of equal size with few edges between them. Needs the whole graph."""
    try:
        import pymetis
    except ImportError:
        raise TrothError('partition="metis" needs pymetis: pip install "troth[partition]", or choose "block"') from None
    n = len(indptr) - 1
    if comm.size == 1 or n < comm.size:
        return np.arange(n, dtype=np.int32) % comm.size
    print(f"troth: METIS holds the whole graph ({n:,} vertices) on rank 0", file=sys.stderr)
    _, owners = pymetis.part_graph(comm.size, xadj=indptr, adjncy=indices)
    return np.asarray(owners, np.int32)


def scattered(comm, n: int, make: Callable[[], np.ndarray]) -> np.ndarray:
    """This rank's share of n owners that rank 0 makes."""
    from mpi4py import MPI

    places, owners = even_blocks(n, comm.size), None
    with agreeing(comm):
        if comm.rank == 0:
            owners = np.ascontiguousarray(make(), np.int32)
    counts = np.diff(places.starts)
    share = np.empty(counts[comm.rank], np.int32)
    comm.Scatterv([owners, counts, places.starts[:-1], MPI.INT32_T] if comm.rank == 0 else None, share)
    return share


def check_name(name: Any) -> None:
    """Refuse what is neither the name of a partition nor a file."""
    if not isinstance(name, (str, os.PathLike)):
        raise TrothError(f"partition of type {type(name).__name__}: give a name, a file, or an array of owners")
    if name not in NAMES and not Path(name).is_file():
        raise TrothError(f"partition={str(name)!r} is not a file: choose {', '.join(NAMES)}, or a file of owners")


def make_partition(name: Owners, comm, n: int, blocks: Callable[[], Blocks], whole: Callable | None) -> object:
    """The partition of a name, "block", "hash", "metis" or a file of owners, or of an array of owners.

    ``blocks`` makes the balanced blocks, ``whole`` the (indptr, indices) of the whole graph for METIS; None where no
    rank can have it.
    """
    if isinstance(name, np.ndarray):
        return Table(comm, n, share_of_owners(comm, n, "the owners", _whole("the owners", n, name)))
    if name == "block":
        return blocks()
    if name == "hash":
        return Hashed(n, comm.size)
    with agreeing(comm):
        check_name(name)
        if name == "metis" and whole is None:
            raise TrothError('partition="metis" needs a whole graph: generate it to a .csr folder first')
    if name == "metis":
        return Table(comm, n, scattered(comm, n, lambda: metis_owners(comm, *whole())))
    path = Path(name)
    parts = _mapped(path, n) if path.suffix == ".npy" else _read(path, comm.size - 1)
    return Table(comm, n, share_of_owners(comm, n, path, parts))
