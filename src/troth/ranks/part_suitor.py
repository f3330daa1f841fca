"""Suitor on MPI ranks that each have a card: proposals by CUDA kernels, words sent across in packed rounds.

Reference: F. Manne and M. Halappanavar, New effective multithreaded matching algorithms, IPDPS 2014. The rounds, and
why they end in the one stable matching, are those of ``run_by_messages`` in ``suitor.py``; the kernels are in
``cuda/kernels/part_suitor.cu``.

The owner of v has v's word, ``weight prefix << 32 | priority of the suitor``; a rank that has v as a ghost has a word
as well. An *item* is a vertex and a neighbour rank that has it too (``cards.py``), and ``known`` has for each item the
greatest word that has gone across between the two, either way. Invariant: words only grow; ``known`` is at most the
word; and a ghost's word is at most the owner's, or is an offer that is on its way. So a word has to be sent exactly
where it differs from ``known``, and nobody has to find out whom it came from.

A round: (1) ``propose``: every vertex that looks for a neighbour finds one, and so do those that it displaces, until no
own vertex is left without an offer; (2) ``count_changed``, ``number_tiles`` and ``pack_changed``: the words that differ
become records, by neighbour, in the order of the items; (3) ``take_records``: better words stand, and own vertices
whose offers they displace look again. The rounds end when no rank has sent anything.

A row is read by 4 or 16 lanes, a longer one by a warp. Who is displaced is followed at once, by the lanes that did it:
a long chain of displacements is worked off link by link, which is slow (as on a path of increasing weights).

In the first round vertices with edges across make offers first; the others do so while the records travel.

Memory on the card beside the part: 8 bytes for each own vertex, 12 for each vertex and ghost, 8 for each item, and the
records. Cost: 12 bytes for each item and change of its word (20 where prefixes are lossy), over the network and,
without a CUDA-aware MPI, twice between card and host.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from troth.arrays import cupy, using
from troth.contract import Context, Result
from troth.cuda import suitor
from troth.kernels.launch import WARP, Memory, define, launch, load, word_of
from troth.order import ORDER_CONSTANTS, Order, as_argument, for_order
from troth.ranks.cards import ITEMS, PART, PartOnCard, card_of, part_on_card, with_classes_at
from troth.ranks.exchange import starts_of, wait
from troth.ranks.graph import DistGraph
from troth.ranks.job import agreeing
from troth.ranks.rim import EXACT_RECORD, RECORD
from troth.ranks.transfer import AUTO, Carrier, DirectCarrier, PinnedCarrier, goes_directly

BLOCK = 256
TILE = 2048  # items that a block looks through
SCAN = 1024  # threads of the block that numbers the tiles
NARROW, BROAD = 4, 16  # lanes that read a row,
DENSE = 24  # the broad ones from this mean degree on;
WIDE = 16  # a row of more entries for each of them is read by a warp
TURNS = 8  # vertices that the same lanes take in the first round
CONTROL = ("lookers", "proposals", "scans")

CONSTANTS = (
    *ORDER_CONSTANTS,
    *define(BLOCK=BLOCK, TILE=TILE, SCAN=SCAN, WIDE=WIDE, RECORD=RECORD, EXACT_RECORD=EXACT_RECORD),
    *define(PART_BYTES=PART.itemsize, ITEMS_BYTES=ITEMS.itemsize, CONTROL_BYTES=8 * len(CONTROL)),
)
PROGRAMS = {
    (word, lossy, lanes): (
        "find_ranks",
        f"propose<{word}, {lossy}, {lanes}>",
        "count_changed",
        "number_tiles",
        f"pack_changed<{word}, {lossy}>",
        f"take_records<{word}, {lossy}>",
    )
    for word, lossy in (("u8", "false"), ("u16", "false"), ("u32", "false"), ("u64", "false"), ("u64", "true"))
    for lanes in (NARROW, BROAD)
}


def run(graph: DistGraph, order: Order, context: Context, *, transfer: str = AUTO) -> Result:
    """The engine; see ``contract.py``. The counts depend on the ranks and on who comes first; the mates never do."""
    comm, card, begin = context.comm, card_of(context.comm), perf_counter()
    with agreeing(comm), using(card):  # a card may be too small
        direct = goes_directly(transfer)
        rounds = Rounds(graph, order, part_on_card(graph, card, TILE))
    with using(card):
        seconds = {"copy": perf_counter() - begin}  # little, if this graph was matched before
        carrier = (DirectCarrier if direct else PinnedCarrier)(graph)
        counts = rounds.hold(comm, carrier) | rounds.counts()
        mate = rounds.mates()
        carrier.free()
    return Result(mate, counts | {"bytes": carrier.around.bytes, "messages": carrier.around.messages}, seconds)


class Rounds:
    """The state of a matching on the card, and the steps of a round; everything runs on the current stream."""

    def __init__(self, graph: DistGraph, order: Order, part: PartOnCard) -> None:
        word, total = word_of(graph.weights), len(graph.indices)
        lossy = word == "u64" and bool(order.lossy)
        self.width = EXACT_RECORD if lossy else RECORD
        self.lanes = BROAD if total >= DENSE * max(1, graph.owned) else NARROW
        program = PROGRAMS[word, str(lossy).lower(), self.lanes]
        find_ranks, *self.kernels = load("part_suitor", program, for_order(order, CONSTANTS))
        self.order, self.part, items, tiles = order, part, int(part.starts[-1]), int(part.tiles[-1])
        classes = order.classes if order.classes is not None else np.empty(0, np.uint8)
        self.memory = Memory(
            {"state": 8 * part.local, "known": 8 * items, "control": 8 * len(CONTROL)},
            {
                "ranks": 4 * part.local,
                "exact": 8 * (part.local - part.owned if lossy else 0),
                "classes": len(classes),
                "lookers": 4 * part.owned,
                "found": 4 * tiles,
                "begins": 8 * (tiles + 1),
                "counts": 8 * part.neighbours,
                "came": 8 * (part.neighbours + 1),
            },
        ).clear()
        if len(classes):
            self.memory.view("classes", classes.dtype).set(classes)
        self.argument = as_argument(with_classes_at(order, self.memory["classes"]))
        self.rows, self.items = part.part_argument(self.memory["ranks"]), part.items_argument()
        launch(find_ranks, part.local, part.memory["names"], np.int64(part.local), self.argument, self.memory["ranks"])

    def hold(self, comm: Any, carrier: Carrier) -> dict[str, int]:
        """All rounds; all ranks together."""
        from mpi4py import MPI

        rounds = records = 0
        self.propose("rim")
        while True:
            counts = self.count()
            sent, everyone = np.array([counts.sum()], np.int64), np.empty(1, np.int64)
            request = comm.Iallreduce(sent, everyone, MPI.SUM)  # goes on while records are packed and sent
            values = carrier.room(int(sent[0]) * self.width)
            self.pack(values)
            pending = carrier.start(values, counts, self.width)
            if rounds == 0:
                self.propose("inside")  # the host does not wait for it
            found, came = carrier.end(pending)
            rounds, records = rounds + 1, records + int(sent[0])
            self.take(found, came)
            wait(comm, request)
            if everyone[0] == 0 and rounds > 1:  # in the first, those inside may have changed words after the packing
                return {"rounds": rounds, "records": records}
            self.look_again(int(came.sum()))

    def propose(self, visits: str) -> None:
        """The own vertices of the rim, or those inside, make their first offers."""
        total = self.part.visits[visits]
        self._propose(self.part.memory[visits], total, total, TURNS, fresh=1)

    def look_again(self, most: int) -> None:
        """Those who were displaced look again; the card alone knows how many they are: ``most``, or fewer."""
        self._propose(self.memory["lookers"], min(most, self.part.owned), -1, 1, fresh=0)

    def _propose(self, visits: Any, most: int, total: int, turns: int, fresh: int) -> None:
        memory, teams = self.memory, -(-most // turns)
        threads = -(-teams * self.lanes // WARP) * WARP
        words = np.int64(total), np.int64(turns), np.uint32(fresh)
        rest = memory["state"], memory["exact"], memory["control"]
        launch(self.kernels[0], threads, self.rows, self.argument, visits, *words, *rest, block=BLOCK)

    def count(self) -> np.ndarray:
        """How many words each neighbour rank has not seen; the host waits for the card."""
        memory, (_, count_changed, number_tiles, *_) = self.memory, self.kernels
        if not self.part.neighbours:
            return np.empty(0, np.int64)
        words = memory["state"], memory["known"], memory["found"], memory["control"]
        count_changed((int(self.part.tiles[-1]),), (BLOCK,), (self.items, *words))
        number_tiles((1,), (SCAN,), (self.items, memory["found"], memory["begins"], memory["counts"]))
        # The host waits for all kernels before: what came in the last round has been taken, and its room is free.
        return memory.view("counts", np.int64).get()

    def pack(self, values: Any) -> None:
        """Those words as records."""
        memory = self.memory
        if len(values):
            words = memory["state"], memory["exact"], memory["begins"], memory["known"], values
            self.kernels[3]((int(self.part.tiles[-1]),), (BLOCK,), (self.rows, self.argument, self.items, *words))

    def take(self, values: Any, came: np.ndarray) -> None:
        """The records that came."""
        memory, total = self.memory, int(came.sum())
        if total:
            memory.view("came", np.int64).set(starts_of(came))
            words = memory["came"], values, memory["known"], memory["state"], memory["exact"]
            more = memory["lookers"], memory["control"]
            launch(self.kernels[4], total, self.rows, self.argument, self.items, *words, *more, block=BLOCK)

    def mates(self) -> np.ndarray:
        """The mates of the own vertices by global number, on the host."""
        if not self.part.owned:
            return np.empty(0, np.int32)
        [mates] = load("suitor", ("mates",), for_order(self.order, suitor.CONSTANTS))
        found, owned = cupy().empty(self.part.owned, np.int32), np.int64(self.part.owned)
        launch(mates, self.part.owned, self.memory["state"], owned, self.argument, found)
        return np.asarray(found.get())

    def counts(self) -> dict[str, int]:
        """What the kernels have counted."""
        _, proposals, scans = self.memory.view("control", np.uint64).get().tolist()
        return {"proposals": proposals, "scans": scans}
