"""Messages about vertices, packed: to the owners of some, to all ranks that have some as ghosts, and between any ranks.

Every method is called by all ranks together, with nothing to send where that is so. A record is an entry of an array of
any type, often a structured one. ``bytes`` and ``messages`` count what this rank has sent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.kernels.jit import kernel
from troth.ranks.exchange import scatter_to_owners, starts_of, swap
from troth.ranks.graph import DistGraph
from troth.ranks.rim import rim_of


class Messages:
    """The ways from this rank to others."""

    def __init__(self, graph: DistGraph, comm: Any) -> None:
        self.graph, self.comm, self.owned = graph, comm, graph.owned
        self.around, self.rim = graph.neighbourhood(), rim_of(graph)
        self._bytes = self._messages = 0

    @property
    def bytes(self) -> int:
        """What this rank has sent."""
        return self.around.bytes + self._bytes

    @property
    def messages(self) -> int:
        """How many messages this rank has sent."""
        return self.around.messages + self._messages

    def free(self) -> None:
        """Give the communicator back."""
        self.around.free()

    def to_owners(self, vertices: np.ndarray, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A record each for some local vertices: the own vertices that this rank gets records for, and these.

        Records for own vertices stay, and come first.
        """
        away = vertices >= self.owned
        ghosts, stay = vertices[away] - self.owned, ~away
        found, _ = self._exchange(self.rim.slot_of[ghosts], self.rim.places[ghosts], records[away])
        return np.concatenate([vertices[stay], found["place"]]), np.concatenate([records[stay], found["record"]])

    def to_ghosts(self, vertices: np.ndarray, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A record each for some own vertices, to all who have them as ghosts: the ghosts that got one here, and it."""
        first, counts = self.rim.starts[vertices], self.rim.starts[vertices + 1] - self.rim.starts[vertices]
        starts = starts_of(counts)
        entries = np.arange(starts[-1]) + np.repeat(first - starts[:-1], counts)
        found, came = self._exchange(self.rim.slots[entries], self.rim.there[entries], np.repeat(records, counts))
        begins = np.repeat(self.graph.ghost_starts[:-1], came)
        return (self.owned + begins + found["place"]).astype(np.int32), found["record"]

    def all_to_ghosts(self, values: np.ndarray) -> None:
        """values[g] of all ghosts g, which follow those of the own vertices, from their owners."""
        self.graph.to_ghosts(self.around, values[: self.owned], values[self.owned :])

    def to_ranks(self, ranks: np.ndarray, records: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As ``scatter_to_owners``: by_owner, the records that came, and how many from each rank."""
        self._count(records, len(np.unique(ranks)))
        by_owner, (came,), counts = scatter_to_owners(self.comm, ranks, records)
        return by_owner, came, counts

    def answer(self, records: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """A record back for each one that ``to_ranks`` brought; those that come belong to ``sent[by_owner]``."""
        self._count(records, int(np.count_nonzero(counts)))
        return swap(self.comm, records, counts)

    def _count(self, records: np.ndarray, messages: int) -> None:
        self._bytes += records.nbytes + 8 * self.comm.size
        self._messages += messages + self.comm.size

    def _exchange(self, slots: np.ndarray, places: np.ndarray, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places and records for neighbours, named by their slots; what came, and how many from each neighbour."""
        by_slot = np.argsort(slots, kind="stable")
        sent = np.empty(len(slots), [("place", np.int32), ("record", records.dtype)])
        sent["place"], sent["record"] = places[by_slot], records[by_slot]
        return self.around.exchange(sent, np.bincount(slots, minlength=len(self.graph.neighbours)))


@kernel
def keep_greatest(vertices, words, kept, touched):
    """kept[v] = the greatest word for v, 0 before; the vertices that have one are listed in ``touched``: how many."""
    found = 0
    for i in range(vertices.size):
        v = vertices[i]
        if words[i] > kept[v]:
            if kept[v] == 0:
                touched[found] = v
                found += 1
            kept[v] = words[i]
    return found


def greatest(messages: Messages, vertices: np.ndarray, words: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """kept[v] = the greatest word for own v that any rank has, for words of local vertices; which have one.

    ``kept`` has one word a local vertex, all 0, and is so again for ghosts.
    """
    touched = np.empty(len(vertices), np.int32)
    touched = touched[: keep_greatest(vertices, words, kept, touched)]
    best = kept[touched]
    kept[touched] = 0
    places, words = messages.to_owners(touched, best)
    touched = np.empty(len(places), np.int32)
    return touched[: keep_greatest(places, words, kept, touched)]
