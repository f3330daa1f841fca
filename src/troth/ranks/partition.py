"""Who owns a vertex: blocks balanced by vertices and edges, a hash, or a table of owners.

A partition answers two questions: which vertices are mine, and which ranks own these. Blocks and the hash answer from a
formula. Otherwise there is a table of n owners, of which every rank keeps an even share: a question about vertex v goes
to the rank that has v's share, so all ranks ask together, and no rank holds the table.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from troth.kernels.jit import kernel
from troth.order import OWNER, hash1
from troth.ranks.exchange import combine, scatter_to_owners, swap
from troth.ranks.job import agreeing

VERTEX = 8  # entries; what a vertex costs beside its row, in time and in memory (R-MAT: bench/README.md)


class Partition(Protocol):
    """Which vertices are mine, and which ranks own these; all ranks ask together."""

    def mine(self, rank: int) -> np.ndarray:
        """The vertices of a rank, ascending."""

    def owner(self, ids: np.ndarray) -> np.ndarray:
        """The ranks that own some vertices."""


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


def balanced_blocks(entries_before: Callable[[int], int], n: int, size: int, width: int = 1) -> Blocks:
    """Blocks with nearly equal cost, of vertices and stored entries together.

    ``entries_before(v)`` is how many entries the rows 0..v-1 have; about log n values of it are asked for each rank.
    Instead of vertices these may be buckets of ``width`` vertices.
    """

    def cost_before(v: int) -> int:
        return VERTEX * width * v + entries_before(v)

    total = cost_before(n)
    ends = [bisect_left(range(n + 1), total * r // size, key=cost_before) for r in range(1, size)]
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


def look_up(comm: Any, places: Blocks, share: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Entries of a table of which rank r has the share ``places.mine(r)``; all ranks together."""
    by_owner, (asked,), counts = scatter_to_owners(comm, places.owner(ids), np.asarray(ids, np.int32))
    found = np.empty(len(ids), share.dtype)
    found[by_owner] = swap(comm, share[asked - places.starts[comm.rank]], counts)
    return found


class Table:
    """A table of owners in even shares; ``share`` is this rank's. All ranks ask together."""

    def __init__(self, comm: Any, n: int, share: np.ndarray) -> None:
        self.comm, self.share, self.places = comm, share, even_blocks(n, comm.size)

    def mine(self, rank: int) -> np.ndarray:
        ids = self.places.mine(rank)
        _, (mine,), _ = scatter_to_owners(self.comm, self.share, ids)
        return np.sort(mine)

    def owner(self, ids: np.ndarray) -> np.ndarray:
        return look_up(self.comm, self.places, self.share, ids)


def my_lines(comm: Any, n: int, parts: Iterable[np.ndarray]) -> tuple[np.ndarray, int]:
    """Of n numbers that every rank reads part by part, this rank's even share; and how many there are.

    A rank reads no further than its share; the last one reads to the end.
    """
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
    return share, combine(comm, came, "MAX")
