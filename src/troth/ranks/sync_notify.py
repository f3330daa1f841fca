"""sync-notify: a rank works until nothing is left that it can do alone, then all tell each other what to look at again.

Reference: A. Thorsen and P. Merkey, CS-TR-10-02, Michigan Technological University 2010, Algorithm 5. It reads:

    foreach u in myV: mate_u <- h(C_u)
    barrier
    repeat
        while myV is not empty
            let u in myV; mate_u <- h(C_u); v <- mate_u
            if mate_v = u: matched_u <- true; myV <- myV + update(u, C_u \\ v)
                if owner(v) = me: the same for v, else if matched_v = false: prepare notification about v
            myV <- myV \\ u
        post all prepared notifications
        barrier
        read all notifications and append to myV
        barrier
    until all myV are empty
    update(u, C_u): foreach x in C_u with mate_x = u: x is returned, or a notification for owner(x) is prepared

Departures: (a) a candidate of u is unmatched *or matched with u*; (b) mate and matched are one word, and a remote mate
is read after mate_u was published: if it is matched elsewhere, u looks again; (c) the shared set S is a sum over the
ranks. myV is worked off in batches, so that remote words are read in bulk, and all notices that are prepared for an
owner go into its queue at once, as in the report. With ``batch=1`` every remote word is read by itself, as in the
report, but every notice is posted by itself, too, which the report does in async-notify alone. What finds no room in an
owner's queue stays prepared for the next round. Words are published and read between the same two barriers, hence by
accumulate operations; a notice goes by a plain put into a slot that was reserved for it. ``transport=p2p`` sends the
notices as messages, with the words that they are about (``notify.py``).

Invariant: an unmatched vertex that is not in myV wants a neighbour that is unmatched, or a notice about it is prepared
or in a queue.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.contract import Context, Result
from troth.order import Order
from troth.ranks.exchange import barrier, sum_over
from troth.ranks.graph import DistGraph
from troth.ranks.notify import COUNT, SLOTS, Mail, NoticeQueue, Rank


def run(
    graph: DistGraph,
    order: Order,
    context: Context,
    *,
    transport: str = "rma",
    capacity: int | None = None,
    batch: int = 0,
) -> Result:
    """The engine; see ``contract.py``."""
    comm = context.comm
    rank = Rank(graph, order, comm, transport, batch)
    queue = SyncMail(rank, comm) if rank.pushes else SyncQueue(rank, comm, capacity)
    rounds, left = 0, 1
    while left:
        rounds += 1
        while rank.work:
            rank.work_off()
        unsent = queue.exchange()
        left = sum_over(comm, rank.work + unsent)
    queue.close()
    return rank.finish({"rounds": rounds, **queue.stats()})


class SyncQueue(NoticeQueue):
    """A queue that is read between barriers."""

    def exchange(self) -> int:
        """Post all prepared notifications; barrier; read all and append to myV. Returns how many found no room."""
        self.prepare()
        left = sum(self._post(slot) for slot in range(len(self.kept)))
        barrier(self.comm)
        self.window.Sync()
        came = min(int(self.memory[COUNT]), self.capacity)
        self.rank.wake(self.memory[SLOTS : SLOTS + came])
        self.memory[COUNT] = 0
        self.window.Sync()
        return left  # the sum over the ranks that follows is the second barrier

    def _post(self, slot: int) -> int:
        """Until nothing is prepared for this owner, or no room is left; returns how many stay prepared."""
        while len(self.kept[slot]) and not self.reserve(slot):
            pass
        return len(self.kept[slot])


class SyncMail(Mail):
    """Messages between neighbours, both ways at once."""

    def __init__(self, rank: Rank, comm: Any) -> None:
        super().__init__(rank, comm)
        self.around = rank.graph.neighbourhood()

    def exchange(self) -> int:
        """All prepared notices; returns how many this rank sent."""
        records, cuts = self.records()
        self.take(self.around.exchange(records, np.diff(cuts), self.WIDTH)[0])
        self.bytes, self.messages = self.around.bytes, self.around.messages
        return len(records) // self.WIDTH

    def close(self) -> None:
        self.around.free()
        super().close()
