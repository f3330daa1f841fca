"""async-poll: no rank waits for another; each looks again and again at the mates that its vertices want.

Reference: A. Thorsen and P. Merkey, CS-TR-10-02, Michigan Technological University 2010, Algorithm 4. It reads:

    foreach u in myV: mate_u <- h(C_u)
    barrier
    while myV is not empty
        foreach u in myV:
            mate_u <- h(C_u); v <- mate_u
            if v = null: u leaves
            else if mate_v = u: matched_u <- true, and u leaves myV

Departures: (a) a candidate of u is unmatched *or matched with u*; (b) mate and matched are one word. h is asked anew
only when the mate is matched elsewhere, which is all that can change its answer. Mates are polled in bulk, a few
requests an owner, by accumulate operations, since their owners write meanwhile; every poll enters MPI, so that targets
make progress. With ``batch=1`` every mate is read by a request of its own, which is waited for, as a reference of the
report is. There is no barrier and no collective in the loop.

Invariant: words move forward, so what an old word says of u's candidates remains true until it is read again.
"""

from __future__ import annotations

import numpy as np

from troth.contract import Context, Result
from troth.order import Order
from troth.ranks import steps
from troth.ranks.exchange import Backoff, barrier
from troth.ranks.graph import DistGraph
from troth.ranks.rows import part_of
from troth.ranks.shared import Words


def run(graph: DistGraph, order: Order, context: Context, *, batch: int = 0) -> Result:
    """The engine; see ``contract.py``."""
    comm, part, owned = context.comm, part_of(graph), graph.owned
    shared = Words(graph, comm, batch)
    word, mate = shared.word, np.full(owned, -1, np.int32)
    some, backoff = np.empty(owned, np.int32), Backoff(comm)

    myV, polls = np.arange(owned, dtype=np.int32), 0
    changed = steps.choose(part, order, myV, mate, word, some)
    shared.publish(some[:changed])
    barrier(comm)
    while len(myV):
        polls += 1
        steps.mark_mates(owned, myV, mate, shared.wanted)
        shared.read()
        before = len(myV)
        kept, changed = steps.sweep(part, order, myV, mate, word, some)
        myV = myV[:kept]
        shared.publish(some[:changed])
        backoff.pause(idle=changed == 0 and kept == before)
    shared.close()  # others may still read the words of this rank: it waits for them here, outside the loop
    found = steps.words_to_mates(part, mate, word)
    return Result(found, {"polls": polls, "bytes": shared.bytes, "messages": shared.messages}, {})
