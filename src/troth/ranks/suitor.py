"""Suitor on a cluster: the ranks of a machine share memory, machines send each other what changed at their rims.

Reference: F. Manne and M. Halappanavar, New effective multithreaded matching algorithms, IPDPS 2014; the words are
those of ``cpu/suitor.py``.

On one machine (``_run_in_shared_memory``) the ranks share one CSR and one array of words (``node.py``), and run the
kernels of ``cpu/suitor.py`` on them as threads do (``suitor_together.py``): no message is sent.

On several each machine does so, and they send each other messages (``suitor_nodes.py``).

Where there is no room for shared memory, or none is asked for (``run_by_messages``), the owner of v has v's word,
``weight prefix << 32 | priority of the suitor``. A rank that has v as a ghost has a word as well: the best offer to v
that this rank has made or has been told of. Invariant: words only grow, and a ghost's word is at most the owner's, or
is an offer that is on its way to the owner. So a vertex that passes over a ghost, whose word is better than its offer,
would have been refused by the owner too.

A round: (1) every vertex that looks for a neighbour finds one, until no own vertex is left without an offer; (2) the
words of ghosts that changed go to their owners, as offers, and own words that changed to all ranks that have the vertex
as a ghost; (3) better words stand, and own vertices whose offers they displaced look again. An offer that is refused
needs no answer: the word that beat it is on its way already, or goes in the next round. The rounds end when no rank has
sent anything. Then all offers stand at their owners: the one fixed point of Suitor, whatever the ranks and partition.

To tell only the rank that lost would take fewer bytes and far more rounds: losers would try one neighbour after the
other whose better offers they have not heard of (113 rounds instead of 15 on a dense bipartite graph on 8 ranks).

In the first round only vertices with edges across make offers before the records leave; the others do so while these
travel.

``offers.py`` makes offers, with ``cpu/offers.py``, which serves whole graphs and parts; ``rim.py`` has the messages.

Cost: about as many looks as serial Suitor takes, and 12 bytes for each change of a word and each rank that has it.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from troth.contract import Context, Result
from troth.cpu.offers import GROUP, new_budget
from troth.cpu.suitor import suitors_to_mates
from troth.kernels.team import CALLER, run_team, worker_rows
from troth.order import Order
from troth.ranks.exchange import starts_of, wait
from troth.ranks.graph import DistGraph
from troth.ranks.job import AgreedError
from troth.ranks.node import Node, SharedRows
from troth.ranks.nodes import nodes_of
from troth.ranks.offers import INTERNAL, LOOKERS, SENT, PartOffers, propose
from troth.ranks.rim import EXACT_RECORD, RECORD, count_records, pack, receive, rim_of
from troth.ranks.rows import part_of
from troth.ranks.suitor_nodes import run_on_nodes
from troth.ranks.suitor_together import propose_together

PIECES = 8  # of the vertices without edges across; MPI gets a turn between them


def run(graph: DistGraph, order: Order, context: Context, *, share: bool = True, nodes: int | None = None) -> Result:
    """The engine; see ``contract.py``. The counts depend on ranks and threads; the mates never do."""
    begin, comm, threads = perf_counter(), context.comm, context.threads or 1
    if nodes is not None and not share:
        raise AgreedError("nodes is for ranks that share memory: leave out share=no, or nodes")
    if not share:
        return run_by_messages(graph, order, comm, threads)
    machines = nodes_of(comm, nodes)
    if machines.count > 1:
        found = run_on_nodes(machines, graph, order, threads)
        return run_by_messages(graph, order, comm, threads) if found is None else found
    shared = machines.node.rows(graph, 8 * graph.n)
    if shared is None:
        return run_by_messages(graph, order, comm, threads)
    seconds = {"share": perf_counter() - begin}  # nothing, if this graph was matched before
    mate, counts = _run_in_shared_memory(machines.node, shared, graph, order, threads)
    return Result(mate, {**counts, "threads": threads, "bytes": 0, "messages": 0}, seconds)


def _run_in_shared_memory(node: Node, shared: SharedRows, graph: DistGraph, order: Order, threads: int) -> tuple:
    """The words of all vertices, of which each rank reads its own."""
    own, state = graph.own, shared.scratch[: 8 * graph.n].view(np.uint64)
    counts = propose_together(node, shared, graph, order, threads, state)
    mate = np.empty(len(own), np.int32)
    held = state[own[0] : own[-1] + 1] if graph.first >= 0 else state[own]
    run_team(suitors_to_mates, len(own), CALLER, order, held, mate)
    node.sync()  # nobody clears the words for another matching before all have read theirs
    made, scans, read = (int(sum(column)) for column in zip(*counts, strict=True)) if counts else (0, 0, 0)
    return mate, {"rounds": 1, "proposals": made, "scans": scans, "edges_read": read}


def run_by_messages(graph: DistGraph, order: Order, comm: Any, threads: int) -> Result:
    """Packed rounds."""
    from mpi4py import MPI

    part, rim, around = part_of(graph), rim_of(graph), graph.neighbourhood()
    width = EXACT_RECORD if order.lossy else RECORD
    inside = np.diff(rim.starts) == 0
    offers = _new_offers(graph, inside, order)
    scratch = worker_rows(threads, int(GROUP), np.int64), worker_rows(threads, int(GROUP), np.uint64)
    team = CALLER if threads == 1 else threads  # a team would have to be woken in each of many small rounds
    budget = new_budget()

    def propose_some(visits: np.ndarray, first: bool) -> list:
        return run_team(propose, len(visits), team, part, order, visits, first, budget, *scratch, offers)

    found = propose_some(np.flatnonzero(~inside).astype(np.int32), True)
    meanwhile = np.array_split(np.flatnonzero(inside).astype(np.int32), PIECES)
    rounds = records = 0
    while True:
        counts = np.zeros(len(graph.neighbours), np.int64)
        count_records(part, order, rim, offers, counts)
        sent, everyone = np.array([counts.sum()], np.int64), np.empty(1, np.int64)
        request = comm.Iallreduce(sent, everyone, MPI.SUM)  # goes on while records are packed and sent
        values = np.empty(int(sent[0]) * width, np.uint32)
        pack(part, order, rim, width, offers, starts_of(counts)[:-1].copy(), values)
        offers.counts[:] = 0
        journey = around.start(values, counts, width)
        for piece in meanwhile:
            found += propose_some(piece, True)
            journey.has_come()
        values, came = journey.end()
        receive(part, order, graph.ghost_starts, width, came, values, offers)
        rounds, records = rounds + 1, records + int(sent[0])
        wait(comm, request)
        if everyone[0] == 0 and rounds > 1:  # in the first, those inside may have changed words after the packing
            break
        meanwhile = []
        found += propose_some(offers.lookers[: offers.counts[LOOKERS]], False)
    around.free()
    mate = np.empty(graph.owned, np.int32)
    run_team(suitors_to_mates, graph.owned, CALLER, order, offers.state[: graph.owned], mate)
    made, scans = (int(sum(column)) for column in zip(*found, strict=True))
    stats = {"rounds": rounds, "proposals": made, "scans": scans, "records": records, "threads": threads}
    return Result(mate, {**stats, "bytes": around.bytes, "messages": around.messages}, {})


def _new_offers(graph: DistGraph, inside: np.ndarray, order: Order) -> PartOffers:
    """No offers; with room for all that a round may find: each local vertex once, a displaced one for each record."""
    ghosts, local = len(graph.ghost_owner), len(graph.globals)
    some = min(graph.owned, len(graph.boundary)) + ghosts
    marks = np.full(local, SENT)
    marks[: graph.owned][inside] = INTERNAL
    state, exact = np.zeros(local, np.uint64), np.zeros(ghosts if order.lossy else 1, np.uint64)
    changed, knows, lookers = (np.empty(size, np.int32) for size in (some, some, len(graph.boundary) + ghosts))
    return PartOffers(state, exact, marks, changed, knows, lookers, np.zeros(16, np.int64))
