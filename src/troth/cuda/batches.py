"""Suitor on a GPU for graphs larger than the card: rows stay on the host, and come in batches.

Reference: F. Manne and M. Halappanavar, IPDPS 2014, for the offers; graphs in batches are LD-GPU's way (S. M. Ferdous
et al., ICPP 2024).

On the card are, for all vertices, the best offer that v holds, and ``choice[u]``, to whom u made its last one. While
a batch is copied (``kernels/feeding.py``), the vertices of one before it make offers, in three rounds, and its rows are
*sifted*: entries that may still matter go to the *leftovers*. When these fill their room they are sifted once more,
since words have grown meanwhile. After the last batch the same rounds go on among the leftovers, until nobody makes an
offer. So every row is copied once.

Invariant: v's mate in the one stable matching M is the suitor that v holds, or a better one. For u makes an offer to v
only where all neighbours that it prefers hold better offers than u's: these have better mates, so u's mate is v at
best. If v's mate were worse than u, u and v would prefer each other to their mates. So words are lower bounds, and
they only grow.

Hence an entry (u, v) need not be kept where one end holds a better offer than that of the other: it is not in M, and u
will not ask v. Nor where u and v are each other's suitors: by the invariant each has the other or a better mate, and
all that it prefers have refused it.

When nobody makes an offer any more, the words are M. Else take an edge {u, v} of M such that v does not hold u's
offer. Its entry was kept and v would take the offer, so u's own stands at some x that u prefers to v. The mate of x is
not u, so x prefers it to u, and does not hold its offer: another such edge, greater at x than {u, x}, which is greater
at u than {u, v}. And edges cannot rise for ever.

Where leftovers find no room they are given up, and the rest of that pass makes offers alone; the next pass over all
rows keeps less, since words have grown. A pass without an offer is the end, too. After MOST_PASSES, or where chains are
longer than MOST_ROUNDS, the host, who has all rows, goes on from these words (``cpu/suitor.py``).

The host learns what a batch came to when the next one has been started, unless the leftovers might have had no room.
What the kernels count goes to pinned memory: the call that copies to any other lasts until the kernels are done, and
the threads that send rows may have to wait for the driver as long.

Memory: 16 bytes a vertex (20 where prefixes of weights are lossy, and one or two more where ties go by degree), three
buffers for batches, one to sift through, and the leftovers (``cuda/batch_plan.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from troth.arrays import cupy
from troth.contract import Context, Result
from troth.cpu import suitor as on_host
from troth.cuda.batch_plan import BUFFERS, COUNTS, TILE, Batch, Plan, copies_of, make_plan, places_in_buffer, word_bytes
from troth.graph import Graph
from troth.kernels.feeding import Copy, Feeder, fetch, pinned_memory
from troth.kernels.launch import WORDS, DeviceClock, Memory, define, launch, load, struct
from troth.kernels.team import available_cores
from troth.order import ORDER_CONSTANTS, Order, as_argument, for_order, on_device

BLOCK = 256  # threads of a block
LANES = BLOCK // TILE  # threads that read a row, at most
AHEAD = 4  # entries of a thread that are on their way at a time
TURNS = 8  # a row that takes its threads more turns is read by the whole block
SAMPLE = 1024  # rows that tell how many threads read one
UNTRIED, EXHAUSTED = 2**32 - 1, 2**31 - 1  # of ``choice``
ROUNDS = 3  # of offers in a batch
MOST_PASSES = 3
MOST_ROUNDS = 100

_PART = np.dtype(
    [(name, "u8") for name in ("starts", "first", "ends", "indices", "bits")]
    + [(name, "i8") for name in ("base", "rows", "n")]
)
CONSTANTS = (
    *ORDER_CONSTANTS,
    *define(BLOCK=BLOCK, TILE=TILE, LANES=LANES, AHEAD=AHEAD, TURNS=TURNS, UNTRIED=UNTRIED, EXHAUSTED=EXHAUSTED),
    *define(CONTROL_BYTES=8 * len(COUNTS), PART_BYTES=_PART.itemsize),
)
PROGRAMS: dict[Any, tuple[str, ...]] = {
    (word, lossy): (f"propose<{word}, {lossy}>", f"sift<{word}, {lossy}>", f"mates<{lossy}>")
    for word, lossy in (("u8", "false"), ("u16", "false"), ("u32", "false"), ("u64", "false"), ("u64", "true"))
}
PROGRAMS["exact"] = ("raise<u64>", "claim<u64>", "pack_words")


class Segment(NamedTuple):
    """Rows ``start..stop - 1`` of the leftovers, whose entries are ``first..first + entries - 1`` there."""

    start: int
    stop: int
    first: int
    entries: int


class Started(NamedTuple):
    """A batch on which the card works or has worked, in a buffer; ``sifted``: for the leftovers, too."""

    batch: Batch
    buffer: int
    sifted: bool
    clock: DeviceClock


def lanes_for(graph: Graph) -> int:
    """How many threads read a row: enough for as many entries as the row of an entry has, by a sample of the rows."""
    rows = np.linspace(0, graph.n - 1, min(graph.n, SAMPLE)).astype(np.int64)
    degrees = (graph.indptr[rows + 1] - graph.indptr[rows]).astype(np.float64)
    width = float((degrees * degrees).sum() / max(1.0, degrees.sum()))
    lanes = max(1, min(LANES, math.ceil(width / AHEAD)))
    return 1 << (lanes.bit_length() - 1)


@dataclass
class Card:
    """The words and the leftovers on the card, and the kernels on them."""

    graph: Graph
    order: Order
    plan: Plan
    segments: list[Segment] = field(default_factory=list)
    fill: int = 0  # entries of the leftovers
    offers: int = 0  # counted by the kernels, as the host knows it
    counted: int = 0  # entries, so too
    kept: int = 0  # entries of batches, in all
    most: int = 0  # leftovers at one time

    def __post_init__(self) -> None:
        kind, n, lossy = self.graph.weights.dtype, self.graph.n, bool(self.order.lossy)
        word, wide = WORDS[kind.itemsize], self.order.lossy and kind.itemsize == 8
        program = PROGRAMS[word, "true" if wide else "false"]
        options = for_order(self.order, CONSTANTS)
        self.propose_kernel, self.sift_kernel, self.mates_kernel = load("batches", program, options)
        self.exact = load("batches", PROGRAMS["exact"], options) if wide else None
        self.counts = pinned_memory(8 * len(COUNTS) * (BUFFERS + 1)).view(np.uint64).reshape(-1, len(COUNTS))
        plan, bits = self.plan, kind.itemsize
        others, zeros = word_bytes(n, lossy), dict[str, int]()
        for name in [each for each in ("best", "rank", "control") if each in others]:
            zeros[name] = others.pop(name)
        others |= {"buffers": BUFFERS * plan.buffer}
        others |= {"left": 4 * plan.leftovers, "left_bits": bits * plan.leftovers}
        others |= {"aside": 4 * plan.entries, "aside_bits": bits * plan.entries}
        self.memory = Memory(zeros, others)
        self.memory.clear()
        self.bits_type = np.dtype(f"u{bits}")
        self.view("choice", np.uint32)[:] = np.uint32(UNTRIED)
        self.constants, self.lanes = as_argument(self.order), np.uint32(lanes_for(self.graph))
        self.rank = self.memory["rank" if lossy else "choice"]  # not read where prefixes tell all

    def give_back(self) -> None:
        """The memory is the card's again, also where the traceback of an error keeps this object."""
        try:
            cupy().cuda.get_current_stream().synchronize()  # until then counts are on their way to pinned memory
        finally:
            del self.memory, self.rank, self.counts
            cupy().get_default_memory_pool().free_all_blocks()

    def view(self, name: str, kind: Any) -> Any:
        """One of the arrays."""
        return self.memory.view(name, kind)

    def part_of(self, batch: Batch, buffer: int) -> tuple[np.ndarray, int]:
        """A batch, as the kernels take it, and how many rows it has."""
        at = self.memory["buffers"].ptr + buffer * self.plan.buffer
        starts, indices, bits = (at + place for place in places_in_buffer(batch))
        rows = batch.stop - batch.start
        return struct(_PART, starts, 0, 0, indices, bits, batch.start, rows, self.graph.n), rows

    def left_of(self, start: int, stop: int) -> tuple[np.ndarray, int]:
        """Rows of the leftovers, as the kernels take them, and how many there are."""
        places = (self.memory[name].ptr for name in ("first", "ends", "left", "left_bits"))
        return struct(_PART, 0, *places, start, stop - start, self.graph.n), stop - start

    # ---- kernels ----

    def propose(self, part: np.ndarray, rows: int) -> None:
        """A round of offers by the rows of a part."""
        memory = self.memory
        words = memory["best"], self.rank, memory["choice"]
        self._by_rows(self.propose_kernel, rows, part, self.constants, self.lanes, *words, memory["control"])
        if self.exact is not None:
            to_raise, to_claim, _ = self.exact
            launch(to_raise, rows, part, memory["choice"], memory["best"], self.rank)
            launch(to_claim, rows, part, self.constants, memory["best"], memory["choice"], self.rank)

    def _by_rows(self, kernel: Any, rows: int, *args: Any) -> None:
        kernel((-(-rows * int(self.lanes) // BLOCK),), (BLOCK,), args)

    def _sift(self, part: np.ndarray, rows: int, to: str, base: int, shift: int, room: int) -> None:
        memory = self.memory
        targets = (*(memory[name] for name in (to, f"{to}_bits", "first", "ends")), memory["control"])
        words = self.lanes, memory["best"], self.rank
        self._by_rows(
            self.sift_kernel, rows, part, self.constants, *words, *map(np.int64, (base, shift, room)), *targets
        )

    def _sift_to_left(self, part: np.ndarray, rows: int) -> None:
        self._sift(part, rows, "left", self.counted - self.fill, 0, self.plan.leftovers)

    def _send_counts(self, slot: int) -> None:
        """What the kernels have counted is on its way to a place of ``counts``."""
        runtime, there = cupy().cuda.runtime, self.counts[slot]
        words = there.ctypes.data, self.memory["control"].ptr, there.nbytes, runtime.memcpyDeviceToHost
        runtime.memcpyAsync(*words, cupy().cuda.get_current_stream().ptr)

    def read(self) -> tuple[int, int]:
        """How many offers were made, and entries kept, since the last time; the host waits for the kernels."""
        self._send_counts(BUFFERS)
        cupy().cuda.get_current_stream().synchronize()
        return self._learn(BUFFERS)

    def _learn(self, slot: int) -> tuple[int, int]:
        offers, counted = self.counts[slot].tolist()
        before = self.offers, self.counted
        self.offers, self.counted = offers, counted
        return offers - before[0], counted - before[1]

    # ---- batches ----

    def start(self, batch: Batch, buffer: int, sifted: bool) -> Started:
        """Rounds of offers of a batch that is in a buffer; then its entries that may matter join the leftovers."""
        clock, part = DeviceClock(), self.part_of(batch, buffer)
        for _ in range(ROUNDS):
            self.propose(*part)
        if sifted:
            self._sift_to_left(*part)
        self._send_counts(buffer)
        clock.note()
        return Started(batch, buffer, sifted, clock)

    def surely_fits(self, started: Started) -> bool:
        """Whether the leftovers have room for all entries of a batch; those before it are finished."""
        batch = started.batch
        return not started.sifted or self.fill + batch.last - batch.first <= self.plan.leftovers

    def finish(self, started: Started) -> bool:
        """Whether the leftovers had room for what may matter of a batch. Returns when the card is done with it.

        Another one may have been started since only if this one surely fitted.
        """
        batch = started.batch
        started.clock.read()
        _, kept = self._learn(started.buffer)
        if not started.sifted:
            return True
        if self.fill + kept > self.plan.leftovers:
            self.propose_left()
            self.shrink()
            self._sift_to_left(*self.part_of(batch, started.buffer))
            _, kept = self.read()
        if self.fill + kept > self.plan.leftovers:
            return False
        self.segments.append(Segment(batch.start, batch.stop, self.fill, kept))
        self.fill += kept
        self.kept += kept
        self.most = max(self.most, self.fill)
        return True

    # ---- leftovers ----

    def shrink(self) -> None:
        """Sift the leftovers once more, several segments at a time."""
        moves = [
            (self.view(to, kind), self.view(of, kind))
            for to, of, kind in (("left", "aside", np.int32), ("left_bits", "aside_bits", self.bits_type))
        ]
        fill, segments = 0, list[Segment]()
        for segment in self._joined():
            self._sift(*self.left_of(segment.start, segment.stop), "aside", self.counted, fill, self.plan.entries)
            _, kept = self.read()
            for to, of in moves:
                to[fill : fill + kept] = of[:kept]
            segments.append(Segment(segment.start, segment.stop, fill, kept))
            fill += kept
        self.segments, self.fill = segments, fill

    def _joined(self) -> list[Segment]:
        """The segments, neighbours joined while the entries find room aside."""
        joined: list[Segment] = []
        for segment in self.segments:
            last = joined[-1] if joined else None
            if last is not None and last.entries + segment.entries <= self.plan.entries:
                joined[-1] = last._replace(stop=segment.stop, entries=last.entries + segment.entries)
            else:
                joined.append(segment)
        return joined

    def propose_left(self) -> None:
        """A round of offers by the vertices whose rows are among the leftovers."""
        if self.segments:
            self.propose(*self.left_of(self.segments[0].start, self.segments[-1].stop))

    def give_up(self) -> None:
        """No leftovers any more."""
        self.segments, self.fill = [], 0

    def settle(self, context: Context) -> tuple[int, bool]:
        """Rounds among the leftovers. Returns how many, and whether they came to an end."""
        for done in range(MOST_ROUNDS):
            if not done & (done - 1):  # 0, 1, 2, 4, ...
                self.shrink()
            if not self.fill:
                return done, True
            self.propose_left()
            if not self.read()[0]:
                return done + 1, True
        return MOST_ROUNDS, False

    def mates(self) -> np.ndarray:
        """The suitors, on the host."""
        n = self.graph.n
        launch(self.mates_kernel, n, self.memory["best"], self.rank, np.int64(n), self.constants, self.memory["first"])
        return fetch(self.view("first", np.int32))

    def words(self) -> np.ndarray:
        """The words of the CPU's engine, on the host."""
        n = self.graph.n
        if self.exact is not None:
            launch(self.exact[2], n, self.rank, np.int64(n), self.constants, self.memory["best"])
        return self.view("best", np.uint64).get()


def run(graph: Graph, order: Order, context: Context, *, memory: int | None = None) -> Result:
    """The engine; see ``contract.py``. The graph is on the host, and so are the mates."""
    n, total = graph.n, len(graph.indices)
    context.report(0, n)
    if not total:
        return Result(np.full(n, -1, np.int32), {"batches": 0, "passes": 0}, {})
    start = perf_counter()
    plan = make_plan(graph, order, memory)
    card = Card(graph, on_device(order, "cuda"), plan)
    try:
        result = _match(card, order, context, {"plan": perf_counter() - start})
    finally:
        card.give_back()
    context.report(n, n)
    return result


def _match(card: Card, order: Order, context: Context, seconds: dict[str, float]) -> Result:
    """Passes until nobody makes an offer, on the card or at last on the host; ``seconds``: of what was before."""
    graph, plan = card.graph, card.plan
    buffers = [card.memory["buffers"].ptr + buffer * plan.buffer for buffer in range(BUFFERS)]
    copies = [copies_of(graph, batch, buffers[number % BUFFERS]) for number, batch in enumerate(plan.batches)]
    seconds |= {"copy": 0.0, "kernels": 0.0, "staging": 0.0}
    passes, rounds, ended, settled = 0, 0, False, False
    while not ended and passes < MOST_PASSES:
        before = card.offers
        kept_all = _pass(card, copies, context, seconds)
        passes += 1
        if kept_all:
            begin = perf_counter()
            rounds, settled = card.settle(context)
            seconds["settle"] = perf_counter() - begin
            break
        ended = card.offers == before
    begin = perf_counter()
    counts = {"batches": len(plan.batches), "passes": passes, "rounds": rounds, "kept": card.kept}
    counts |= {"leftovers": card.most, "bytes_copied": passes * sum(copy.size for batch in copies for copy in batch)}
    if ended or settled:
        mates = card.mates()
        seconds["mates"] = perf_counter() - begin
    else:
        words = card.words()
        found = on_host.go_on(graph, order, context, words)
        mates = found.mates
        counts |= {"waiting": found.counts["waiting"]}
        seconds["host"] = perf_counter() - begin
    return Result(mates, counts, seconds)


def _pass(card: Card, copies: list[list[Copy]], context: Context, seconds: dict[str, float]) -> bool:
    """All batches once. Returns whether all leftovers found room.

    Added up in ``seconds``: ``kernels``, in which batches were worked on, ``copy``, the others, and ``staging``, in
    which a thread filled pinned memory.
    """
    begin, spent, keeps = perf_counter(), 0.0, True
    card.give_up()
    with Feeder(copies, BUFFERS, context.threads or available_cores()) as feeder:

        def finish(started: Started) -> None:
            nonlocal spent, keeps
            if not card.finish(started):
                card.give_up()
                keeps = False
            feeder.release()
            spent += started.clock.read()
            context.report(started.batch.stop, card.graph.n)

        before: Started | None = None
        for number, batch in enumerate(card.plan.batches):
            feeder.wait_for(number)
            if before is not None and not card.surely_fits(before):
                finish(before)
                before = None
            started = card.start(batch, number % BUFFERS, keeps)
            if before is not None:
                finish(before)
            before = started
        if before is not None:
            finish(before)
    seconds["kernels"] += spent
    seconds["copy"] += perf_counter() - begin - spent
    seconds["staging"] += feeder.staging / feeder.threads
    return keeps
