"""The shared words of the four PGAS variants: mate and matched of every vertex, in MPI windows.

``word[v] = mate << 1 | matched``, the mate by its global number or -1, so that nobody reads the mate of one moment with
the flag of another. Only the owner writes v's word. It moves forward: free, with ever worse mates, and then matched.

Words that are written while others read them (``Words``) go through accumulate operations, which MPI makes atomic word
by word: ``Accumulate`` with REPLACE for the owner, ``Rget_accumulate`` with NO_OP for the readers. In sync-poll, which
keeps mate and matched apart, one is read and the other is written between two barriers, so plain stores and gets do
(``SteadyWords``). Either moves many words at once, picked by a datatype of indices, inside one passive-target epoch;
``batch`` says how many are asked for before one waits for them. With ``batch=1`` each is a reference of its own.

A request of ``Rget_accumulate`` is for ``MOST_BLOCKS`` words at most. Between ranks that share no memory, MPICH 5.0.2
crashes where the target's datatype has between 580 and 940 blocks (570 are fine, and so are 960); plain gets, and
accumulates on the own window, take any number, and Open MPI 5.0.11 takes any number of all three.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from troth.ranks.exchange import barrier
from troth.ranks.graph import DistGraph
from troth.ranks.job import AgreedError
from troth.ranks.node import lacks_room
from troth.ranks.nodes import nodes_of

FREE = -2  # the word of a vertex that is unmatched and wants nobody
MOST_BLOCKS = 256  # of the datatype of a request that is atomic


def pause() -> None:
    """Called before each one-sided operation; tests put a delay here."""


class Window:
    """Words of this rank that all ranks may read and write; and what this rank has moved.

    At first all of them are ``value``, but for the first ``zeros`` ones, which are 0.

    There is one passive-target epoch, from the start to ``close``.
    """

    def __init__(self, comm: Any, shape: tuple[int, ...], value: int, zeros: int = 0) -> None:
        from mpi4py import MPI

        self.mpi: Any = MPI
        self.comm, self.type = comm, self.mpi.INT64_T
        size = 8 * math.prod(shape)
        if lacks_room(comm, nodes_of(comm).node.comm, size):
            remedy = "choose suitor, or transport=p2p of the notifying variants"
            raise AgreedError(f"a machine has no room in /dev/shm for the windows of these ranks; {remedy}")
        self.window = self.mpi.Win.Allocate(size, 8, comm=comm)
        self.memory = np.frombuffer(self.window.tomemory(), np.int64).reshape(shape)
        self.memory[:] = value
        self.memory[:zeros] = 0
        self.window.Lock_all()
        self.window.Sync()
        self.bytes = self.messages = 0
        barrier(comm)  # nobody reads a word before it is there

    def close(self) -> None:
        """Give the window back; waits for all ranks, who may still be reading or writing."""
        self.window.Unlock_all()
        barrier(self.comm)
        self.window.Free()


class Words(Window):
    """The words of the own vertices in a window, and what this rank knows of its ghosts' words.

    ``word`` has all local vertices: own words are always right, ghosts' as last read (free, no mate, at first).
    ``wanted`` is a flag for each ghost: its word is to be read.
    """

    copies = 1  # of each word in the window
    most: int | None = MOST_BLOCKS  # words of a request

    def __init__(self, graph: DistGraph, comm: Any, batch: int = 0) -> None:
        super().__init__(comm, (graph.owned, self.copies), FREE)
        self.batch = batch
        self.graph, self.wanted = graph, np.zeros(len(graph.ghost_owner), np.bool_)
        self.word = np.full(len(graph.globals), FREE, np.int64)
        self.step = self.type.Create_resized(0, 8 * self.copies)  # from one vertex to the next

    def publish(self, places: np.ndarray, copy: int = 0) -> None:
        """Write the words of these own vertices where others read them; on return they are there."""
        pause()
        if len(places):
            kind = self._picked(places)
            values = self.word[places]
            self.window.Accumulate([values, self.type], self.comm.rank, (copy, 1, kind), self.mpi.REPLACE)
            self.window.Flush(self.comm.rank)
            kind.Free()

    def _picked(self, places: np.ndarray) -> Any:
        return self.step.Create_indexed_block(1, places).Commit()

    def _get(self, result: list, owner: int, target: tuple) -> Any:
        nothing = [np.empty(0, np.int64), 0, self.type]
        return self.window.Rget_accumulate(nothing, result, owner, target, self.mpi.NO_OP)

    def read(self, copy: int = 0) -> None:
        """Read the words of the wanted ghosts, ``batch`` at once (0: all); none is wanted any more."""
        ghosts = np.flatnonzero(self.wanted)
        places, values = self.graph.ghost_place[ghosts], np.empty(len(ghosts), np.int64)
        cuts = np.searchsorted(ghosts, self.graph.ghost_starts)
        pause()
        for first in range(0, len(ghosts), self.batch or max(1, len(ghosts))):
            last = min(first + self.batch, len(ghosts)) if self.batch else len(ghosts)
            self._read(places[first:last], values[first:last], np.clip(cuts, first, last) - first, copy)
        self.word[self.graph.owned + ghosts] = values
        self.wanted[:] = False
        self.bytes += values.nbytes

    def _read(self, places: np.ndarray, values: np.ndarray, cuts: np.ndarray, copy: int) -> None:
        """Ask every owner for its part of these words, ``cuts[i]`` to ``cuts[i + 1]``, and wait for all of them."""
        requests = []
        for slot in np.flatnonzero(np.diff(cuts)).tolist():
            owner, end = int(self.graph.neighbours[slot]), int(cuts[slot + 1])
            for first in range(int(cuts[slot]), end, self.most or end):
                last = min(first + (self.most or end), end)
                kind = self._picked(places[first:last]) if last - first > 1 else None
                target = (copy, 1, kind) if kind else (int(places[first]) * self.copies + copy, 1, self.type)
                requests.append((self._get([values[first:last], self.type], owner, target), kind))
        for request, kind in requests:
            request.Wait()
            if kind:
                kind.Free()
        self.messages += len(requests)

    def close(self) -> None:
        super().close()
        self.step.Free()


MATE, MATCHED = range(2)


class SteadyWords(Words):
    """Words for ranks that meet in barriers: one copy for mates, one for matched vertices.

    Between two barriers nobody reads the copy that is written, so nothing need be atomic.
    """

    copies = 2
    most = None

    def publish(self, places: np.ndarray, copy: int = 0) -> None:
        """Write the words of these own vertices into a copy; others read them after the next barrier."""
        pause()
        self.memory[places, copy] = self.word[places]
        self.window.Sync()

    def _get(self, result: list, owner: int, target: tuple) -> Any:
        """A plain get."""
        return self.window.Rget(result, owner, target)
