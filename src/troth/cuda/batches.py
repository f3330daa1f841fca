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

Memory: 16 bytes a vertex (20 where prefixes of weights are lossy, and one or two more where ties go by degree), three
buffers for batches, one to sift through, and the leftovers (``plan_memory``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from troth.arrays import cupy, in_gib, largest_piece
from troth.contract import Context, Result
from troth.cpu import suitor as on_host
from troth.errors import DeviceMemoryError
from troth.graph import Graph
from troth.kernels.feeding import Copy, Feeder, fetch
from troth.kernels.launch import WORDS, DeviceClock, Memory, define, launch, load, struct
from troth.kernels.team import available_cores
from troth.order import ORDER_CONSTANTS, Order, as_argument, for_order, on_device

BLOCK, TILE = 256, 32  # threads of a block, and rows that it takes at a time
LONG = 256  # entries of a row that the whole block reads
UNTRIED, EXHAUSTED = 2**32 - 1, 2**31 - 1  # of ``choice``
ROUNDS = 3  # of offers in a batch
BUFFERS = 3  # one is worked on, and copies need not wait for it to end
LARGEST = 2**28  # bytes of a buffer: more batches would cost no more
PARTS = 16  # of the memory left beside the words, one for a buffer
SPARED = 0.05  # of the free memory, for others
MOST_PASSES = 3
MOST_ROUNDS = 100
MOST_ENTRIES = 2**32 - 1  # of the leftovers, whose places are 32-bit numbers
ALIGNED = 256
UNIT = 512  # bytes of CuPy's pool

_PART = np.dtype(
    [(name, "u8") for name in ("indptr", "first", "ends", "indices", "bits")]
    + [(name, "i8") for name in ("base", "rows", "n")]
)
_CONTROL = ("offers", "kept", "full")
CONSTANTS = (
    *ORDER_CONSTANTS,
    *define(BLOCK=BLOCK, TILE=TILE, LONG=LONG, UNTRIED=UNTRIED, EXHAUSTED=EXHAUSTED),
    *define(CONTROL_BYTES=8 * len(_CONTROL), PART_BYTES=_PART.itemsize),
)
PROGRAMS: dict[Any, tuple[str, ...]] = {
    (word, lossy): (f"propose<{word}, {lossy}>", f"sift<{word}, {lossy}>", f"mates<{lossy}>")
    for word, lossy in (("u8", "false"), ("u16", "false"), ("u32", "false"), ("u64", "false"), ("u64", "true"))
}
PROGRAMS["exact"] = ("raise<u64>", "claim<u64>", "pack_words")


# ---- what goes where ----


class Sizes(NamedTuple):
    """Bytes of a buffer, and how many entries may be left over, and may be in one batch."""

    buffer: int
    leftovers: int
    batch: int


def _padded(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def find_marks(indptr: np.ndarray) -> np.ndarray:
    """How many entries there are before each tile, and in all."""
    return np.append(indptr[:-1:TILE], indptr[-1])


def plan_memory(graph: Graph, order: Order, memory: int | None, marks: np.ndarray) -> Sizes:
    """How so many bytes, or most of what is free, are used, or a refusal that says how many are needed.

    ``marks`` as ``find_marks`` has them.
    """
    n, entries, given = graph.n, len(graph.indices), "" if memory is None else f"memory={memory}: "
    memory = int(largest_piece() * (1 - SPARED)) if memory is None else memory
    entry = graph.indices.itemsize + graph.weights.itemsize
    longest = int(np.diff(marks).max(initial=0))
    words = sum(map(_padded, (_word_bytes(n, bool(order.lossy)) | _CONTROL_BYTES).values()))
    if order.classes is not None:
        words += -(-(int(order.mask) + 1) // UNIT) * UNIT
    least = _padded(longest * entry + TILE * 8 + 4 * ALIGNED)
    need = words + (BUFFERS + 2) * least
    if memory < need:
        raise DeviceMemoryError(
            f'{given}this graph needs {in_gib(need)} on the card at least; choose device="cpu", or give more'
        )
    whole = _padded(entries * entry + (len(marks) - 1) * TILE * 8 + 4 * ALIGNED)  # a batch of all rows
    buffer = min(max(least, (memory - words) // PARTS // ALIGNED * ALIGNED), max(least, LARGEST), whole)
    batch = buffer // entry
    left = memory // UNIT * UNIT - words - BUFFERS * buffer - (_padded(batch * 4) + _padded(batch * (entry - 4)))
    return Sizes(buffer, max(0, min((left - 2 * ALIGNED) // entry, MOST_ENTRIES, entries)), batch)


_CONTROL_BYTES = {"control": 8 * len(_CONTROL)}


def _word_bytes(n: int, lossy: bool) -> dict[str, int]:
    """The arrays that have an element for every vertex, or for every tile."""
    words = {"best": 8 * n, "choice": 4 * n, "first": 4 * n, "ends": 4 * (-(-n // TILE))}
    return words | ({"rank": 4 * n} if lossy else {})


class Batch(NamedTuple):
    """Rows ``start..stop - 1``, with entries ``first..last - 1``."""

    start: int
    stop: int
    first: int
    last: int


def cut(graph: Graph, marks: np.ndarray, buffer: int) -> list[Batch]:
    """Batches of whole tiles, each as large as a buffer of so many bytes can hold."""
    n, entry = graph.n, graph.indices.itemsize + graph.weights.itemsize
    sizes = marks * entry + np.arange(len(marks)) * (8 * TILE)
    batches, tile = [], 0
    while tile < len(marks) - 1:
        upto = int(np.searchsorted(sizes, sizes[tile] + buffer - 4 * ALIGNED, side="right")) - 1
        batches.append(Batch(tile * TILE, min(n, upto * TILE), int(marks[tile]), int(marks[upto])))
        tile = upto
    return batches


def _places(batch: Batch, kind: np.dtype) -> tuple[int, int, int]:
    """Where in a buffer a batch has its indptr, indices and weights."""
    entries = batch.last - batch.first
    at = _padded(8 * (batch.stop - batch.start + 1))
    return 0, at, at + _padded(4 * entries)


def _copies(graph: Graph, batch: Batch, address: int) -> list[Copy]:
    """What is copied of a batch, and to where."""
    entries = slice(batch.first, batch.last)
    parts = graph.indptr[batch.start : batch.stop + 1], graph.indices[entries], graph.weights[entries]
    places = _places(batch, graph.weights.dtype)
    return [
        Copy(np.asarray(part).view(np.uint8), address + place)
        for part, place in zip(parts, places, strict=True)
        if len(part)
    ]


# ---- the engine ----


@dataclass
class Segment:
    """Rows ``start..stop - 1`` of the leftovers, whose entries are ``first..first + count - 1`` there."""

    start: int
    stop: int
    first: int
    count: int


@dataclass
class Card:
    """The words and the leftovers on the card, and the kernels on them."""

    graph: Graph
    order: Order
    sizes: Sizes
    segments: list[Segment] = field(default_factory=list)
    fill: int = 0
    kept: int = 0  # entries of batches, in all
    most: int = 0  # leftovers at one time
    spent: float = 0.0  # seconds of kernels

    def __post_init__(self) -> None:
        kind, n, lossy = self.graph.weights.dtype, self.graph.n, bool(self.order.lossy)
        word, wide = WORDS[kind.itemsize], self.order.lossy and kind.itemsize == 8
        program = PROGRAMS[word, "true" if wide else "false"]
        options = for_order(self.order, CONSTANTS)
        self.propose_kernel, self.sift_kernel, self.mates_kernel = load("batches", program, options)
        self.exact = load("batches", PROGRAMS["exact"], options) if wide else None
        sizes, bits = self.sizes, kind.itemsize
        words = _word_bytes(n, lossy)
        zeros = {name: words[name] for name in ("best", "rank") if name in words} | _CONTROL_BYTES
        others = {name: words[name] for name in ("choice", "first", "ends")}
        others |= {"buffers": BUFFERS * sizes.buffer, "left": 4 * sizes.leftovers, "left_bits": bits * sizes.leftovers}
        others |= {"aside": 4 * sizes.batch, "aside_bits": bits * sizes.batch}
        self.memory = Memory(zeros, others)
        self.memory.clear()
        self.bits_type = np.dtype(f"u{bits}")
        self.view("choice", np.uint32)[:] = np.uint32(UNTRIED)
        self.constants = as_argument(self.order)
        self.rank = self.memory["rank" if "rank" in words else "choice"]  # not read where prefixes tell all

    def give_back(self) -> None:
        """The memory is the card's again, also where the traceback of an error keeps this object."""
        del self.memory, self.rank
        cupy().get_default_memory_pool().free_all_blocks()

    def view(self, name: str, kind: Any) -> Any:
        """One of the arrays."""
        return self.memory.view(name, kind)

    def part_of(self, batch: Batch, buffer: int) -> tuple[np.ndarray, int]:
        """A batch, as the kernels take it, and how many rows it has."""
        start = self.memory["buffers"].ptr + buffer * self.sizes.buffer
        indptr, indices, bits = (start + place for place in _places(batch, self.graph.weights.dtype))
        rows = batch.stop - batch.start
        return struct(_PART, indptr, 0, 0, indices, bits, batch.start, rows, self.graph.n), rows

    def left_of(self, start: int, stop: int) -> tuple[np.ndarray, int]:
        """Rows of the leftovers, as the kernels take them, and how many there are."""
        places = (self.memory[name].ptr for name in ("first", "ends", "left", "left_bits"))
        return struct(_PART, 0, *places, start, stop - start, self.graph.n), stop - start

    def read(self) -> dict[str, int]:
        """What the kernels have counted since the last time; the host waits for them."""
        control = self.view("control", np.uint64)
        found = dict(zip(_CONTROL, control.get().tolist(), strict=True))
        control[:] = np.uint64(0)
        return found

    def propose(self, part: np.ndarray, rows: int) -> None:
        """A round of offers by the rows of a part."""
        memory = self.memory
        words = memory["best"], self.rank, memory["choice"]
        self._by_tiles(self.propose_kernel, rows, part, self.constants, *words, memory["control"])
        if self.exact is not None:
            to_raise, to_claim, _ = self.exact
            launch(to_raise, rows, part, memory["choice"], memory["best"], self.rank)
            launch(to_claim, rows, part, self.constants, memory["best"], memory["choice"], self.rank)

    def _by_tiles(self, kernel: Any, rows: int, *args: Any) -> None:
        if rows:
            kernel((-(-rows // TILE),), (BLOCK,), args)

    def _sift(self, part: np.ndarray, rows: int, aside: bool, fill: int, room: int) -> None:
        memory = self.memory
        to = ("aside", "aside_bits") if aside else ("left", "left_bits")
        targets = (*(memory[name] for name in to), memory["first"], memory["ends"], memory["control"])
        numbers = np.int64(aside), np.int64(fill), np.int64(room)
        self._by_tiles(self.sift_kernel, rows, part, self.constants, memory["best"], self.rank, *numbers, *targets)

    def keep(self, batch: Batch, part: np.ndarray, rows: int) -> tuple[int, bool]:
        """Append what may matter of a batch to the leftovers. Returns the offers since the last count, and whether
        there was room."""
        self._sift(part, rows, False, self.fill, self.sizes.leftovers)
        found = self.read()
        offers = found["offers"]
        if found["full"]:
            self.propose_left()
            self.shrink()
            self._sift(part, rows, False, self.fill, self.sizes.leftovers)
            found = self.read()
        if found["full"]:
            return offers, False
        self.segments.append(Segment(batch.start, batch.stop, self.fill, found["kept"]))
        self.fill += found["kept"]
        self.kept += found["kept"]
        self.most = max(self.most, self.fill)
        return offers, True

    def shrink(self) -> None:
        """Sift the leftovers once more, and let small neighbouring segments become one."""
        arrays = [(self.view(to, kind), self.view(of, kind)) for to, of, kind in self._moves()]
        fill, merged = 0, list[Segment]()
        for segment in self.segments:
            part, rows = self.left_of(segment.start, segment.stop)
            self._sift(part, rows, True, fill, self.sizes.batch)
            kept = self.read()["kept"]
            for to, of in arrays:
                to[fill : fill + kept] = of[:kept]
            last = merged[-1] if merged else None
            if last is not None and last.count + kept <= self.sizes.batch:
                last.stop, last.count = segment.stop, last.count + kept
            else:
                merged.append(Segment(segment.start, segment.stop, fill, kept))
            fill += kept
        self.segments, self.fill = merged, fill

    def _moves(self) -> tuple[tuple[str, str, Any], ...]:
        return ("left", "aside", np.int32), ("left_bits", "aside_bits", self.bits_type)

    def propose_left(self) -> None:
        """A round of offers by the vertices whose rows are among the leftovers."""
        for segment in self.segments:
            self.propose(*self.left_of(segment.start, segment.stop))

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
            if not self.read()["offers"]:
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
    marks = find_marks(graph.indptr)
    sizes = plan_memory(graph, order, memory, marks)
    card = Card(graph, on_device(order, "cuda"), sizes)
    try:
        batches = cut(graph, marks, sizes.buffer)
        result = _match(card, batches, order, context, perf_counter() - start)
    finally:
        card.give_back()
    context.report(n, n)
    return result


def _match(card: Card, batches: list[Batch], order: Order, context: Context, planning: float) -> Result:
    """Passes until nobody makes an offer, on the card or at last on the host; ``planning``: seconds until now."""
    graph = card.graph
    seconds = {"plan": planning, "copy": 0.0, "kernels": 0.0, "staging": 0.0}
    passes, rounds, ended, settled = 0, 0, False, False
    while not ended and passes < MOST_PASSES:
        offers, kept_all = _pass(card, batches, context, seconds)
        passes += 1
        if kept_all:
            begin = perf_counter()
            rounds, settled = card.settle(context)
            seconds["settle"] = perf_counter() - begin
            break
        ended = not offers
    begin = perf_counter()
    counts = {"batches": len(batches), "passes": passes, "rounds": rounds, "kept": card.kept, "leftovers": card.most}
    counts["bytes_copied"] = passes * (graph.indptr.nbytes + graph.indices.nbytes + graph.weights.nbytes)
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


def _pass(card: Card, batches: list[Batch], context: Context, seconds: dict[str, float]) -> tuple[int, bool]:
    """All batches once. Returns how many offers were made, and whether all leftovers found room.

    Added up in ``seconds``: ``copy``, in which a batch was waited for, ``kernels``, in which it was worked on, and
    ``staging``, in which a thread filled pinned memory.
    """
    start = card.memory["buffers"].ptr
    copies = [
        _copies(card.graph, batch, start + number % BUFFERS * card.sizes.buffer) for number, batch in enumerate(batches)
    ]
    offers, keeps = 0, True
    card.give_up()
    with Feeder(copies, BUFFERS, context.threads or available_cores()) as feeder:
        for number, batch in enumerate(batches):
            begin = perf_counter()
            feeder.wait_for(number)
            clock = DeviceClock()
            part, rows = card.part_of(batch, number % BUFFERS)
            for _ in range(ROUNDS):
                card.propose(part, rows)
            if keeps:
                more, keeps = card.keep(batch, part, rows)
                if not keeps:
                    card.give_up()
            else:
                more = card.read()["offers"]
            offers += more
            spent = clock.stop()  # waits for the kernels, so nobody reads the buffer any more
            feeder.release()
            seconds["kernels"] += spent
            seconds["copy"] += max(0.0, perf_counter() - begin - spent)
            context.report(batch.stop, card.graph.n)
    seconds["staging"] += feeder.staging / feeder.threads
    return offers, keeps
