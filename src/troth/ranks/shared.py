"""The shared words of the four PGAS variants: mate and matched of every vertex, in MPI windows.

``word[v] = mate << 1 | matched``, the mate by its global number or -1, so that nobody reads the mate of one moment with
the flag of another. Only the owner writes v's word. It moves forward: free, with ever worse mates, and then matched.

Words that are written while others read them (``Words``) go through accumulate operations, which MPI makes atomic word
by word: ``Accumulate`` with REPLACE for the owner, ``Rget_accumulate`` with NO_OP for the readers. In sync-poll, which
keeps mate and matched apart, one is read and the other is written between two barriers, so plain stores and gets do
(``SteadyWords``). Either moves many words at once, picked by a datatype of indices, inside one passive-target epoch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.ranks.exchange import barrier, wait_all
from troth.ranks.graph import DistGraph

FREE = -2  # the word of a vertex that is unmatched and wants nobody


def pause() -> None:
    """Called before each one-sided operation; tests put a delay here."""


class Words:
    """The words of the own vertices in a window, and what this rank knows of its ghosts' words.

    ``word`` has all local vertices: own words are always right, ghosts' as last read (free, no mate, at first).
    """

    copies = 1  # of each word in the window

    def __init__(self, graph: DistGraph, comm: Any) -> None:
        from mpi4py import MPI

        self.mpi: Any = MPI
        self.comm, self.type = comm, self.mpi.INT64_T
        self.neighbours, self.starts, self.places = graph.neighbours, graph.ghost_starts, graph.ghost_place
        self.owned = graph.owned
        self.word = np.full(graph.owned + len(graph.ghost_owner), FREE, np.int64)
        self.window = self.mpi.Win.Allocate(8 * self.copies * graph.owned, 8, comm=comm)
        self.memory = np.frombuffer(self.window.tomemory(), np.int64).reshape(-1, self.copies)
        self.step = self.type.Create_resized(0, 8 * self.copies)  # from one vertex to the next
        self.memory[:] = FREE
        self.window.Lock_all()
        self.window.Sync()
        barrier(comm)  # nobody reads a word before it is there
        self.bytes = self.messages = 0

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

    def read(self, ghosts: np.ndarray, copy: int = 0) -> None:
        """Read the words of these ghosts (local numbers, ascending), one request to each owner."""
        pause()
        places = self.places[ghosts - self.owned]
        cuts = np.searchsorted(ghosts - self.owned, self.starts)
        values, requests, kinds = np.empty(len(ghosts), np.int64), [], []
        for slot, owner in enumerate(self.neighbours.tolist()):
            first, last = int(cuts[slot]), int(cuts[slot + 1])
            if first < last:
                kinds.append(self._picked(places[first:last]))
                requests.append(self._get([values[first:last], self.type], owner, (copy, 1, kinds[-1])))
        wait_all(requests)
        for kind in kinds:
            kind.Free()
        self.word[ghosts] = values
        self.bytes += 8 * len(ghosts)
        self.messages += len(requests)

    def free(self) -> None:
        """Give the window back; waits for all ranks, who may still be reading."""
        self.window.Unlock_all()
        barrier(self.comm)
        self.window.Free()
        self.step.Free()


MATE, MATCHED = range(2)


class SteadyWords(Words):
    """Words for ranks that meet in barriers: one copy for mates, one for matched vertices.

    Between two barriers nobody reads the copy that is written, so nothing need be atomic.
    """

    copies = 2

    def publish(self, places: np.ndarray, copy: int = 0) -> None:
        """Write the words of these own vertices into a copy; others read them after the next barrier."""
        pause()
        self.memory[places, copy] = self.word[places]
        self.window.Sync()

    def _get(self, result: list, owner: int, target: tuple) -> Any:
        """A plain get."""
        return self.window.Rget(result, owner, target)
