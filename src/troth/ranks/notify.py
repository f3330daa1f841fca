"""What the two notifying variants share: a rank with its vertices, and the ways in which notices travel.

A notice says: look at vertex x again. Whoever matches u owes one to each x that wants u; whoever finds that a remote v
wants him, owes one to v. Notices may come late, twice or for nothing.

Nothing is lost: u's owner writes word[u], *then* reads word[v]; v's owner writes word[v], *then* reads word[u]. At
least one of the reads sees the other's write: u does not fall asleep, or v's owner posts a notice about u. So the order
is publish, flush, read, for one vertex or for a batch.

Transports: ``NoticeQueue`` is the report's, a queue in a window of its owner; the words are read one-sidedly. ``Mail``
does without windows: a notice carries the word of the one because of whom it is sent, and goes to everyone concerned,
since nobody can look whether it is needed.

Grain: a batch of vertices is worked off at once, its remote words are read and its notices are posted in bulk. With
``batch=1`` it is one vertex, and each remote word and each notice goes by itself. So do the report's words, and the
notices of its async-notify; its sync-notify posts them in bulk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.contract import Result
from troth.order import Order
from troth.ranks import shared, steps
from troth.ranks.exchange import Backoff
from troth.ranks.graph import DistGraph
from troth.ranks.rows import part_of
from troth.ranks.shared import Window, Words

COUNT, DONE, SLOTS = range(3)  # the words of a queue's window


class Rank:
    """The own vertices, their mates, and the work: myV, as ``lists.work``."""

    def __init__(self, graph: DistGraph, order: Order, comm: Any, transport: str, batch: int) -> None:
        self.graph, self.order, self.part, self.batch = graph, order, part_of(graph), batch
        self.fine = int(batch == 1)  # one word, one notice; 0: all that there are
        self.pushes = transport == "p2p"
        self.shared = None if self.pushes else Words(graph, comm, self.fine)
        self.word = np.full(len(graph.globals), shared.FREE, np.int64) if self.shared is None else self.shared.word
        self.mate = np.full(graph.owned, -1, np.int32)
        self.lists = steps.new_lists(graph.owned, graph.crossing)

    @property
    def work(self) -> int:
        """How many vertices are in myV."""
        return int(self.lists.counts[steps.WORK])

    @property
    def open(self) -> int:
        """How many vertices are neither matched nor without candidates."""
        return int(self.lists.counts[steps.OPEN])

    def _some(self, name: str, which: int) -> np.ndarray:
        return getattr(self.lists, name)[: self.lists.counts[which]]

    def _publish(self, vertices: np.ndarray) -> None:
        if self.shared is not None:
            self.shared.publish(vertices)

    def work_off(self) -> None:
        """A batch of myV: mate_u <- h(C_u), published; matched_u <- true where mate_v = u; update.

        (b) Remote mates are read after the choice was published. Those who want a newly matched vertex look again:
        here, or after a notice.
        """
        batch = self.batch or max(1, self.work)
        steps.choose_batch(self.part, self.order, batch, self.pushes, self.mate, self.word, self.lists)
        self._publish(self._some("changed", steps.CHANGED))
        if self.shared is not None:
            steps.mark_mates(self.graph.owned, self._some("asking", steps.ASKING), self.mate, self.shared.wanted)
            self.shared.read()
        steps.answer_batch(self.part, self.pushes, self.mate, self.word, self.lists)
        self._publish(np.sort(self._some("newly", steps.NEWLY)))
        if self.shared is not None:
            steps.mark_candidates(self.part, self._some("newly", steps.NEWLY), self.word, self.shared.wanted)
            self.shared.read()
        steps.update(self.part, self.pushes, self.mate, self.word, self.lists)

    def notices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Take the prepared notices, by owner: about whom, because of whom, and where each owner's begin."""
        about, because = self._some("about", steps.NOTICES), self._some("because", steps.NOTICES)
        by_vertex = np.argsort(about, kind="stable")
        about, because = about[by_vertex], because[by_vertex]
        self.lists.counts[steps.NOTICES] = 0
        return about, because, np.searchsorted(about - self.graph.owned, self.graph.ghost_starts)

    def wake(self, places: np.ndarray) -> None:
        """Append what was read from the queue to myV."""
        steps.wake_all(places, self.lists)

    def finish(self, counts: dict[str, int]) -> Result:
        """The mates, and the counts with those of the words added."""
        if self.shared is not None:
            self.shared.close()
            counts["bytes"] += self.shared.bytes
            counts["messages"] += self.shared.messages
        return Result(steps.words_to_mates(self.part, self.mate, self.word), counts, {})


# ---- one-sided ----


class NoticeQueue(Window):
    """The queues of all ranks in a window: count, done, and slots that hold -1 where nothing was written."""

    def __init__(self, rank: Rank, comm: Any, capacity: int | None) -> None:
        self.rank, self.full = rank, 0
        self.capacity = max(1, 2 * rank.graph.crossing) if capacity is None else capacity
        self.capacities = dict(enumerate(comm.allgather(self.capacity)))
        self.kept = [np.empty(0, np.int64) for _ in rank.graph.neighbours]  # prepared, for want of room
        super().__init__(comm, (SLOTS + self.capacity,), -1, SLOTS)

    def add(self, owner: int, amount: int) -> int:
        """fetch-and-add on an owner's count."""
        shared.pause()
        value, before = np.array([amount], np.int64), np.empty(1, np.int64)
        operation = self.mpi.SUM if amount else self.mpi.NO_OP
        self.window.Fetch_and_op([value, self.type], [before, self.type], owner, COUNT, operation)
        self.window.Flush(owner)
        self._count(owner, 8)
        return int(before[0])

    def write(self, owner: int, place: int, values: np.ndarray) -> None:
        """Write into slots that were reserved, which nobody else touches before the next barrier."""
        shared.pause()
        if len(values):
            self._put([values, self.type], owner, (place, len(values), self.type))
            self.window.Flush(owner)
            self._count(owner, values.nbytes)

    def _put(self, given: list, owner: int, target: tuple) -> None:
        self.window.Put(given, owner, target)

    def _count(self, owner: int, size: int) -> None:
        if owner != self.comm.rank:
            self.bytes += size
            self.messages += 1

    def prepare(self) -> None:
        """Sort the notices that the rank has prepared by owner."""
        about, _, cuts = self.rank.notices()
        places = self.rank.graph.ghost_place[about - self.rank.graph.owned].astype(np.int64)
        for slot in range(len(self.kept)):
            if cuts[slot] < cuts[slot + 1]:
                self.kept[slot] = np.unique(np.append(self.kept[slot], places[cuts[slot] : cuts[slot + 1]]))

    def reserve(self, slot: int) -> int:
        """Raise the owner's count and write what fits; returns how many found no room. They stay prepared.

        Takes all that are prepared for this owner, or one of them.
        """
        owner, places = int(self.rank.graph.neighbours[slot]), self.kept[slot][: self.rank.fine or None]
        first = self.add(owner, len(places))
        room = max(0, min(len(places), self.capacities[owner] - first))
        self.write(owner, SLOTS + first, places[:room])
        self.kept[slot] = self.kept[slot][room:]
        self.full += room < len(places)
        return len(places) - room

    def stats(self) -> dict:
        return {"bytes": self.bytes, "messages": self.messages, "full": self.full}


# ---- two-sided ----


class Mail:
    """Notices as messages: (place of x, name of u, u's mate, u's flag) for each."""

    WIDTH, TAG = 4, 4

    def __init__(self, rank: Rank, comm: Any) -> None:
        from mpi4py import MPI

        self.mpi, self.rank, self.comm = MPI, rank, comm.Dup()
        self.backoff = Backoff(comm)
        self.sending: list = []
        self.bytes = self.messages = 0

    def records(self) -> tuple[np.ndarray, np.ndarray]:
        """Take the prepared notices, as records, and where each owner's begin."""
        about, because, cuts = self.rank.notices()
        records = np.empty(self.WIDTH * len(about), np.int32)
        steps.push_records(self.rank.part, self.rank.graph.ghost_place, about, because, self.rank.word, records)
        return records, cuts

    def take(self, records: np.ndarray) -> None:
        """Read notifications: u's word is known, x is appended to myV."""
        steps.take_pushed(self.rank.part, records, self.rank.mate, self.rank.word, self.rank.lists)

    def post(self) -> None:
        """Send the prepared notices at once, without waiting."""
        records, cuts = self.records()
        self.sending = [(request, part) for request, part in self.sending if not request.Test()]
        for slot, owner in enumerate(self.rank.graph.neighbours.tolist()):
            part = records[self.WIDTH * cuts[slot] : self.WIDTH * cuts[slot + 1]]
            if len(part):
                shared.pause()
                self.sending.append((self.comm.Issend([part, self.mpi.INT32_T], owner, self.TAG), part))
                self.bytes += part.nbytes
                self.messages += 1

    def drain(self) -> bool:
        """Receive all that has come; whether there was anything."""
        found = False
        status = self.mpi.Status()
        while (message := self.comm.Improbe(tag=self.TAG, status=status)) is not None:
            records = np.empty(status.Get_count(self.mpi.INT32_T), np.int32)
            message.Recv([records, self.mpi.INT32_T])
            self.take(records)
            found = True
        return found

    def close(self) -> None:
        """After the loop: receive what nobody needs any more, until every rank's messages have been received."""
        finished = None
        while finished is None or not finished.Test():
            self.drain()
            self.sending = [(request, part) for request, part in self.sending if not request.Test()]
            if finished is None and not self.sending:
                finished = self.comm.Ibarrier()
            self.backoff.pause()
        self.comm.Free()

    def stats(self) -> dict:
        return {"bytes": self.bytes, "messages": self.messages}
