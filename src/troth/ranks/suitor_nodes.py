"""Suitor on several nodes: the ranks of each share rows and words, and nodes send each other the words that changed.

Reference and words as in ``suitor.py``. A node does what a rank does there by messages: the owner of v has v's word,
and a node that has v as a ghost has a word as well, the best offer to v that it has made or has been told of.
Invariant: words only grow, and a ghost's word is at most the owner's, or is an offer that is on its way to the owner.

The first round: all own vertices make their offers, with the kernels of ``cpu/``, which meet words of this node alone;
then ghosts' words go to their owners as offers, and after that own words to all nodes that have the vertex as a ghost.
So everyone knows the best first offers before anyone looks again, and each word is told once, in an order that both
sides know (``node_words.py``). A ghost whose word comes back another one than it went has refused an own vertex.

Every further round: (1) vertices that were displaced look again, and so do own ones that these displace; (2) the words
that changed are packed, each by the rank that changed it, as offers or told; (3) better words stand, and own vertices
that they displace look again. Between the three, the ranks of a node wait for each other. The rounds end when no rank
has sent anything.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from troth.contract import Result
from troth.cpu.first_choices import new_scratch
from troth.cpu.offers import Offers, new_budget
from troth.cpu.suitor import suitors_to_mates
from troth.kernels.team import CALLER, run_team
from troth.order import Order
from troth.ranks.exchange import PendingExchange, starts_of
from troth.ranks.graph import DistGraph
from troth.ranks.node_offers import CHANGED, NodeOffers, look_again, look_again_wide
from troth.ranks.node_part import NodePart, node_part
from troth.ranks.node_words import (
    EXACT_RECORD,
    RECORD,
    clear,
    count_records,
    pack,
    pack_offers,
    pack_words,
    receive,
    receive_words,
)
from troth.ranks.nodes import Nodes
from troth.ranks.suitor_together import is_flat, offer_all, reset


def run_on_nodes(nodes: Nodes, graph: DistGraph, order: Order, threads: int) -> Result | None:
    """The engine on several nodes, or None where some machine has no room; all ranks together."""
    begin = perf_counter()
    part = node_part(nodes, graph, bool(order.lossy))
    if part is None:
        return None
    seconds = {"share": perf_counter() - begin}  # nothing, if this graph was matched before
    match = _Matching(nodes, part, graph, nodes.node.share_order(graph, order), threads)
    match.run()
    mate = np.empty(graph.owned, np.int32)
    run_team(suitors_to_mates, graph.owned, CALLER, order, part.state[graph.own], mate)
    nodes.node.sync()  # nobody clears the words for another matching before all have read theirs
    return Result(mate, match.stats(), seconds)


class _Matching:
    """One matching, as one rank goes about it."""

    def __init__(self, nodes: Nodes, part: NodePart, graph: DistGraph, order: Order, threads: int) -> None:
        self.nodes, self.part, self.graph, self.order, self.threads = nodes, part, graph, order, threads
        self.team = CALLER if threads == 1 else threads
        self.flat = is_flat(graph)
        changed, counts = np.empty(part.changeable, np.int32), np.zeros(16, np.int64)
        self.offers = NodeOffers(part.state, part.exact, part.marks, changed, counts)
        self.lookers: list[np.ndarray] = []
        self.scratch = new_scratch(threads, part.shared.rows) if len(part.rows.indices) else None
        self.found = [(0, 0, 0)]
        self.rounds = self.records = 0
        self.sent = part.around.bytes, part.around.messages

    def run(self) -> None:
        part, node = self.part, self.nodes.node
        clear(self.graph.own, part.ghosts, part.audience, self.offers)
        reset(node, part.shared)
        node.sync()
        self.propose_first()
        node.sync()
        self.send_offers()
        self.tell_words()
        self.rounds, told = 1, 1
        while told:
            self.look_again()
            node.sync()
            told = self.tell(self.offers.changed[: self.offers.counts[CHANGED]])
            self.rounds += 1

    def propose_first(self) -> None:
        """Every own vertex makes an offer; words of other nodes are not there yet."""
        part, order = self.part, self.order
        if not len(part.rows.indices):
            return
        rows, offers = (part.rows, self.offers) if order.lossy else (part.shared.rows, Offers(part.state))
        given = part.shared, rows, self.flat, order, self.threads, new_budget(), offers
        self.found += offer_all(self.nodes.node, *given)

    def send_offers(self) -> None:
        """The offers of this node, to the owners of its ghosts."""
        part = self.part
        values, counts = np.empty(len(part.ghosts) * int(RECORD), np.uint32), np.empty(len(part.told_counts), np.int64)
        pack_offers(part.ghosts, part.ghost_starts, self.offers, values, counts)
        self.receive(part.around.start(values[: counts.sum() * int(RECORD)], counts, int(RECORD)), RECORD)
        self.records += int(counts.sum())
        self.nodes.node.sync()

    def tell_words(self) -> None:
        """The words of own vertices, to all nodes that have them; both sides know which and in which order."""
        part, order, offers, around = self.part, self.order, self.offers, self.part.around
        words, found = np.empty(len(part.told), np.uint64), np.empty(len(part.ghosts), np.uint64)
        weights, exact = (np.empty(len(some) if order.lossy else 0, np.uint64) for some in (words, found))
        pack_words(part.rows, order, part.told, offers, words, weights)
        around.swap(words, part.told_counts, found, part.ghost_counts)
        if order.lossy:
            around.swap(weights, part.told_counts, exact, part.ghost_counts)
        lookers = np.empty(len(found), np.int32)
        self.lookers.append(lookers[: receive_words(order, part.ghosts, found, exact, offers, lookers)])
        self.records += len(words)
        offers.counts[:] = 0
        self.nodes.node.sync()

    def look_again(self) -> None:
        """Those that were displaced since the last time."""
        visits = np.concatenate([np.empty(0, np.int32), *self.lookers])
        self.lookers.clear()
        if not len(visits):
            return
        look = look_again_wide if self.order.lossy else look_again
        given = self.part.rows, self.order, self.flat, visits, new_budget(), self.scratch, self.offers
        self.found += [(*some, 0) for some in run_team(look, len(visits), self.team, *given)]

    def tell(self, visits: np.ndarray) -> int:
        """Send the words of these vertices, and take those of others; how many records all ranks have sent."""
        part, order, offers, node = self.part, self.order, self.offers, self.nodes.node
        width = EXACT_RECORD if order.lossy else RECORD
        words, places, knows = (np.empty(len(visits), kind) for kind in (np.uint64, np.int64, np.int32))
        counts = np.zeros(len(part.around.ranks), np.int64)
        count_records(part.rows, order, part.audience, visits, offers, words, places, knows, counts)
        starts = starts_of(counts)
        values = np.empty(int(starts[-1]) * int(width), np.uint32)
        pack(part.rows, order, part.audience, width, visits, words, places, knows, starts[:-1].copy(), values)
        offers.counts[:] = 0
        total = node.start_sum(starts[-1:])  # nobody changes a word before all have packed theirs
        pending = part.around.start(values, counts, int(width))
        told = node.end_sum(total)
        self.receive(pending, width)
        self.records += int(starts[-1])
        node.sync()
        return int(told[0])

    def receive(self, pending: PendingExchange, width: np.uint64) -> None:
        """Take records, when they have come."""
        values, came = pending.end()
        lookers = np.empty(int(came.sum()), np.int32)
        found = receive(self.part.rows, self.order, width, values, self.offers, lookers)
        self.lookers.append(lookers[:found])

    def stats(self) -> dict[str, int]:
        made, scans, _ = (int(sum(column)) for column in zip(*self.found, strict=True))
        around, (was, were) = self.part.around, self.sent
        sent = {"bytes": around.bytes - was, "messages": around.messages - were}
        counts = {"rounds": self.rounds, "proposals": made, "scans": scans, "records": self.records}
        return {**counts, "nodes": self.nodes.count, "threads": self.threads, **sent}
