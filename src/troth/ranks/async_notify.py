"""async-notify: notices are posted to the queues of their owners at once, and read whenever a rank has nothing to do.

Reference: A. Thorsen and P. Merkey, CS-TR-10-02, Michigan Technological University 2010, Algorithm 6. It reads:

    foreach u in myV: mate_u <- h(C_u)
    barrier
    repeat
        while myV is not empty
            let u in myV; mate_u <- h(C_u); v <- mate_u
            if v = null: V <- V \\ u
            else if mate_v = u: matched_u <- true; myV <- myV + update(u, C_u \\ v); V <- V \\ u
                if owner(v) = me: the same for v, else if matched_v = false: notify owner(v) about v
            myV <- myV \\ u
        read all notifications and append to myV
    until V is empty
    update(u, C_u): foreach x in C_u with mate_x = u: x is returned, or owner(x) is notified about x

A queue is an array of -1 and a count. A poster raises the count by fetch-and-add and writes into the slots that it has
reserved so; the owner reads at ``front`` until it meets a -1, and writes -1 where it has read.

Departures: (a) a candidate of u is unmatched *or matched with u*; (b) mate and matched are one word, and a remote mate
is read after mate_u was published: if it is matched elsewhere, u looks again; (d) a queue is reset, by
compare-and-swap, only when all that was reserved has been read: a slot that is reserved and still holds -1 is not lost.
A poster that finds no room gives the reservation back, and drains its own queue until there is room or the owner is
done. myV is worked off in batches, and notices are posted after each; ``batch=1`` is the report's grain.
``transport=p2p`` sends them as messages (``notify.py``).

Invariant: as in ``sync_notify.py``. There is no barrier and no collective in the loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.contract import Context, Result
from troth.order import Order
from troth.ranks import shared
from troth.ranks.exchange import Backoff
from troth.ranks.graph import DistGraph
from troth.ranks.notify import COUNT, DONE, SLOTS, Mail, NoticeQueue, Rank


def run(
    graph: DistGraph,
    order: Order,
    context: Context,
    *,
    transport: str = "rma",
    capacity: int | None = None,
    batch: int = 1024,
) -> Result:
    """The engine; see ``contract.py``."""
    comm = context.comm
    rank = Rank(graph, order, comm, transport, batch)
    queue = Mail(rank, comm) if rank.pushes else AsyncQueue(rank, comm, capacity)
    turns = 0
    while rank.open:
        turns += 1
        while rank.work:
            rank.work_off()
            queue.post()
        queue.backoff.pause(idle=not queue.drain())
    queue.close()  # outside the loop: others may still post to this rank, or read its words
    return rank.finish({"turns": turns, **queue.stats()})


class AsyncQueue(NoticeQueue):
    """A queue that is read while others write to it, so that all is done by accumulate operations."""

    def __init__(self, rank: Rank, comm: Any, capacity: int | None) -> None:
        super().__init__(rank, comm, capacity)
        self.backoff, self.front = Backoff(comm), 0

    def _put(self, given: list, owner: int, target: tuple) -> None:
        """Write words where others may be reading, whole."""
        self.window.Accumulate(given, owner, target, self.mpi.REPLACE)

    def read(self, owner: int, place: int, count: int) -> np.ndarray:
        """Read words that others may be writing."""
        shared.pause()
        values = np.empty(count, np.int64)
        nothing = [np.empty(0, np.int64), 0, self.type]
        target = (place, count, self.type)
        self.window.Get_accumulate(nothing, [values, self.type], owner, target, self.mpi.NO_OP)
        self.window.Flush(owner)
        self._count(owner, values.nbytes)
        return values

    def post(self) -> None:
        """Notify the owners of the prepared notices, one after the other."""
        self.prepare()
        for slot, owner in enumerate(self.rank.graph.neighbours.tolist()):
            while len(self.kept[slot]):
                missing = self.reserve(slot)
                if not missing:
                    continue
                self.add(owner, -missing)
                # Read the count: to raise it again in vain would keep it above what the owner has read.
                while len(self.kept[slot]):
                    count, done = self.read(owner, COUNT, SLOTS)
                    if done:  # all its vertices are finished: nobody needs the notices
                        self.kept[slot] = self.kept[slot][:0]
                    elif count < self.capacities[owner]:
                        break
                    else:  # else two ranks with full queues would wait for each other
                        self.backoff.pause(idle=not self.drain())

    def drain(self) -> bool:
        """Read all notifications and append them to myV; whether there was any."""
        me = self.comm.rank
        reserved = self.add(me, 0)
        last = min(reserved, self.capacity)
        came = self.read(me, SLOTS + self.front, last - self.front) if self.front < last else np.empty(0, np.int64)
        missing = np.flatnonzero(came < 0)
        came = came[: missing[0]] if len(missing) else came  # the first that is reserved and not yet written
        if len(came):
            self.write(me, SLOTS + self.front, np.full(len(came), -1, np.int64))  # and flush, before any reset
            self.front += len(came)
            self.rank.wake(came)
        if self.front == reserved > 0 and self._swap(reserved):
            self.front = 0
        return bool(len(came))

    def _swap(self, reserved: int) -> bool:
        """compare-and-swap of the own count: 0, if it still is ``reserved``."""
        old, new, seen = (np.array([value], np.int64) for value in (reserved, 0, -1))
        kinds = ([array, self.type] for array in (new, old, seen))
        self.window.Compare_and_swap(*kinds, self.comm.rank, COUNT)
        self.window.Flush(self.comm.rank)
        return int(seen[0]) == reserved

    def close(self) -> None:
        self.write(self.comm.rank, DONE, np.ones(1, np.int64))
        super().close()
