"""sync-poll: in rounds between barriers, every rank looks whether the mates that its vertices want also want them.

Reference: A. Thorsen and P. Merkey, Approximating weighted matchings using the partitioned global address space model,
CS-TR-10-02, Michigan Technological University 2010, Algorithm 3. It reads:

    foreach u in myV: mate_u <- h(C_u)
    barrier
    repeat
        foreach u in myV:                     v <- mate_u; if null, u leaves
            if mate_v = u: matched_u <- true, and u leaves myV
        barrier
        foreach u in myV: mate_u <- h(C_u)
        barrier
    until all myV are empty

Departures: (c) the shared set S, whose reset races with its test, is a sum over the ranks. Remote mates are read in
bulk, by one plain get an owner: while mates are compared, only matched is written, and the other way round. With
``batch=1`` every remote word is a get of its own, which is waited for, as a reference of the report is.

Invariant: a vertex that is in myV is unmatched and wants its heaviest unmatched neighbour of the round before.
"""

from __future__ import annotations

import numpy as np

from troth.contract import Context, Result
from troth.order import Order
from troth.ranks import steps
from troth.ranks.exchange import barrier, sum_over
from troth.ranks.graph import DistGraph
from troth.ranks.rows import part_of
from troth.ranks.shared import MATCHED, MATE, SteadyWords


def run(graph: DistGraph, order: Order, context: Context, *, batch: int = 0) -> Result:
    """The engine; see ``contract.py``."""
    comm, part, owned = context.comm, part_of(graph), graph.owned
    shared = SteadyWords(graph, comm, batch)
    word, mate = shared.word, np.full(owned, -1, np.int32)
    some, matched = np.empty(owned, np.int32), np.empty(owned, np.int32)

    myV, rounds = np.arange(owned, dtype=np.int32), 0
    changed = steps.choose(part, order, myV, mate, word, some)
    shared.publish(some[:changed], MATE)
    barrier(comm)
    while True:
        rounds += 1
        steps.mark_mates(owned, myV, mate, shared.wanted)
        shared.read(MATE)
        kept, found = steps.match(part, myV, mate, word, matched)
        myV = myV[:kept]
        shared.publish(matched[:found], MATCHED)
        barrier(comm)
        steps.mark_candidates(part, myV, word, shared.wanted)
        shared.read(MATCHED)
        changed = steps.choose(part, order, myV, mate, word, some)
        shared.publish(some[:changed], MATE)
        if sum_over(comm, len(myV)) == 0:  # also a barrier: everyone has published
            break
    shared.close()
    found = steps.words_to_mates(part, mate, word)
    return Result(found, {"rounds": rounds, "bytes": shared.bytes, "messages": shared.messages}, {})
