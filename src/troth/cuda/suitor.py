"""Suitor on a GPU: the paper's loop, a thread a vertex (``variant="plain"``), and troth's own kernels ("auto").

The four variants of Naim et al. are in ``suitor_variants.py``, their loop on sorted lists in ``presorted.py``.

Reference: F. Manne and M. Halappanavar, IPDPS 2014; Md. Naim et al., HiPC 2015; ``cpu/suitor.py`` for the algorithm and
why its result does not depend on any order of events.

A row of up to 48 entries is read by one lane, four entries to a load; one of up to 512 by a team of 16 lanes; longer
ones are cut into pieces, for a warp each, so that no hub is one warp's alone. A vertex that looks again asks only
neighbours whose keys lie between the offer that it holds (its mate will be no worse) and the neighbour that it lost
last (all better ones have refused for good). Two plans:

- *Dense graphs* are streamed once: ``propose_all`` finds the heaviest neighbour of every short row without a look at
  any offer, and ``look_wide`` that of the others. Most of these offers stand. Then ``look_again`` and ``look_wide``
  take those who lost, twice.
- *Sparse graphs*: ``chase`` asks at once, and goes on with those it displaced, 32 at a time.

What is left ``settle`` does in rounds: its blocks all run at one time and meet between rounds, so the host need not
know how many there are. In the end every warp follows its own chains, and offers become mates.

Two things would take long: one chain that goes through much of the graph (a path of increasing weights), and long rows
that are read again and again (a complete graph of equal weights). So ``settle`` ends when a warp has taken more steps
than any graph needs that has neither, or when long rows have been read often and hardly fewer vertices wait. Then the
edges that are still undecided (``undecided.py``) are sorted, and ``presorted.py`` begins anew on them: it reads no
entry twice, and moves long chains by pointer doubling. So the host waits, to be told that it is over.

Lists are filled by way of shared memory, some 96 items for one addition to a list's counter: additions to one word take
about 3 ns each, whoever makes them, and one for every warp would take longer than all the rest.

Memory: 50 bytes a vertex, and for rows that are not short up to 2 bytes an entry. Where ``settle`` ends early, 49 bytes
a vertex more and up to 53 an entry that is sorted; where there is no room for that, ``settle`` goes on to the end.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from troth.arrays import cupy
from troth.contract import Context, Result
from troth.cuda import suitor_variants
from troth.cuda.presorted import run_suitor
from troth.cuda.undecided import undecided_edges
from troth.graph import Graph
from troth.kernels.launch import (
    WARP,
    WORDS,
    DeviceClock,
    Layout,
    Memory,
    aligned,
    bits_of,
    define,
    launch,
    launch_cooperative,
    load,
    resident,
    struct,
    word_of,
)
from troth.order import ORDER_CONSTANTS, Order, as_argument, for_order

BLOCK = 256
SHORT, LONG = 48, 512  # entries of a row that a lane reads, and of one that a team does
PIECE = 1024  # entries of a piece of a longer row
TURNS = 3  # kernels that have lists of their own: how many of each list there are
ITEM_BYTES, KEY_BYTES = 16, 16  # of the kernels' structs; a key has 8 or 16
WAVES = 8  # times more blocks than run at a time, where blocks take unequal time
DENSE = 12  # mean degree from which rows that are not short have a kernel of their own
VERY_DENSE = 64  # mean degree from which too few edges are decided early to sort the others alone
FEW_KERNELS_UP_TO, DENSE_WITH_FEW = 2**22, SHORT  # stored entries
MATES_AT_ONCE_UP_TO = 2**19  # vertices up to which `settle` writes the mates, too
LOOKS, PATIENCE = 2, 2048  # a warp of `settle` takes so many times its share of all vertices, and so many steps more
WIDE_LOOKS, WIDE_LOOKS_WITH_FEW = 1, 2  # so many times all entries are read there, where rows are long
UNBOUNDED_UP_TO = 2**14  # vertices, of which a chain cannot take long
NO_BOUND, NULL = 2**55, np.uint64(0)

_WIDE_ARRAYS = ("middles", "longs", "owners", "done", "best")
_WIDE = np.dtype(
    [(name, "u8") for name in _WIDE_ARRAYS] + [(name, "i8") for name in ("most_middles", "most_longs", "most_pieces")]
)
_CONTROL = np.dtype(
    [(name, "u8", TURNS) for name in ("queue", "middles", "longs", "waiting", "waiting_longs")]
    + [("entries", "u8"), ("rounds", "u8"), ("arrived", "u4"), ("stopped", "u4")]
)
CONSTANTS = (
    *ORDER_CONSTANTS,
    *define(BLOCK=BLOCK, SHORT=SHORT, LONG=LONG, PIECE=PIECE, TURNS=TURNS),
    *define(ITEM_BYTES=ITEM_BYTES, KEY_BYTES=KEY_BYTES, CONTROL_BYTES=_CONTROL.itemsize),
    *define(WIDE_BYTES=_WIDE.itemsize),
)

PROGRAMS: dict[Any, tuple[str, ...]] = {
    (word, lossy): (
        f"chase<{word}, {lossy}>",
        f"propose_all<{word}, {lossy}>",
        f"look_wide<{word}, {lossy}, false>",
        f"look_wide<{word}, {lossy}, true>",
        f"look_again<{word}, {lossy}>",
        f"settle<{word}, {lossy}>",
        "mates",
    )
    for word, lossy in (("u8", "false"), ("u16", "false"), ("u32", "false"), ("u64", "false"), ("u64", "true"))
}
PROGRAMS |= {("plain", word): (f"plain_suitor<{word}>", "mates") for word in WORDS.values()}


def run(
    graph: Graph,
    order: Order,
    context: Context,
    *,
    variant: str = "auto",
    threads_per_block: int = 128,
    vertices_per_warp: int = 8,
    balance_rounds: int | str = "adaptive",
    presort: bool = False,
) -> Result:
    """The engine; see ``contract.py``."""
    if presort:
        return run_suitor(graph, order, context)
    if variant == "plain":
        return _run_plain(graph, order, context)
    if variant != "auto":
        return suitor_variants.run(graph, order, context, variant, threads_per_block, vertices_per_warp, balance_rounds)
    cp, n = cupy(), graph.n
    context.report(0, n)
    if not len(graph.indices):
        return Result(cp.full(n, -1, np.int32), {"rounds": 0}, {"kernels": 0.0})
    return _run_fast(graph, order, context)


def _run_fast(graph: Graph, order: Order, context: Context) -> Result:
    """The plans; the graph has edges."""
    cp, n, total = cupy(), graph.n, len(graph.indices)
    word = word_of(graph.weights)
    lossy = "true" if word == "u64" and order.lossy else "false"
    chase, propose_all, offer_wide, look_wide, look_again, settle, mates = load(
        "suitor", PROGRAMS[word, lossy], for_order(order, CONSTANTS)
    )
    places, wide_room, most, layout = _sizes(n, total)
    memory, mate = Memory.laid_out(layout), cp.empty(n, np.int32)
    state, control, losers, early = (memory[name] for name in ("state", "control", "losers", "early"))
    queue, other_side = memory["queue"], memory["queue"] + places * ITEM_BYTES

    constants = as_argument(order)
    wide = _wide(*memory.addresses(_WIDE_ARRAYS), *wide_room)
    rows = (graph.indptr, aligned(graph.indices), aligned(graph.weights), n, total, constants, wide)

    def run_on(kernel, waves, *args):
        kernel((min(resident(kernel, BLOCK) * waves, most),), (BLOCK,), (*rows, *args))

    clock = DeviceClock() if context.measured else None
    memory.clear()
    turn = TURNS - 1  # whose lists of wide rows are left for `settle`
    if total < n * (DENSE_WITH_FEW if total <= FEW_KERNELS_UP_TO else DENSE):
        turn = 0
        run_on(chase, 1, state, queue, control)
    elif total <= FEW_KERNELS_UP_TO:
        run_on(propose_all, WAVES, 1, state, other_side, losers, control)
        run_on(offer_wide, 1, 1, state, early, control)
        run_on(look_again, 1, 1, other_side, losers, places, early, state, queue, control)
    else:
        run_on(propose_all, WAVES, 0, state, queue, losers, control)
        run_on(offer_wide, 1, 0, state, early, control)
        run_on(look_again, 1, 0, queue, losers, places, early, state, other_side, control)
        run_on(look_wide, 1, 1, state, other_side, control)
        run_on(look_again, 1, 1, queue, losers, 0, other_side, state, queue, control)
    blocks = min(resident(settle, BLOCK), most)

    def run_settle(turn, most_steps, most_entries):
        found = mate if n <= MATES_AT_ONCE_UP_TO else NULL
        bounds = most_steps, most_entries
        launch_cooperative(settle, blocks, BLOCK, *rows, turn, places, *bounds, state, queue, control, found)
        if n > MATES_AT_ONCE_UP_TO:
            launch(mates, n, state, n, constants, mate)

    if not context.measured and n <= UNBOUNDED_UP_TO and total <= WARP * UNBOUNDED_UP_TO:
        run_settle(turn, NO_BOUND, NO_BOUND)  # the host need not wait
        return Result(mate, {}, {})
    wide_looks = WIDE_LOOKS_WITH_FEW if total <= FEW_KERNELS_UP_TO else WIDE_LOOKS
    run_settle(turn, PATIENCE + LOOKS * (n // (blocks * BLOCK)), wide_looks * total)
    if clock is not None:
        clock.note()
    [found] = memory.fetch("control", _CONTROL)
    counts = {"rounds": int(found["rounds"]), "edges_read": total + int(found["entries"])}
    if found["stopped"]:
        try:
            mate, read = _begin_anew(graph, order, context, memory.view("state", np.uint64))
            counts["edges_read"] += read
        except MemoryError:  # slowly, then
            memory.clear()
            run_on(chase, 1, state, queue, control)
            run_settle(0, NO_BOUND, NO_BOUND)
        if clock is not None:
            clock.note()
    context.report(n, n)
    return Result(mate, counts, {} if clock is None else {"kernels": clock.read()})


class _Sizes(NamedTuple):
    """What follows from the sizes of a graph alone; to find it out takes as long as to launch a kernel."""

    places: int  # of a side of the queue
    wide_room: tuple[int, int, int]  # how many middles, longs and pieces there are at most
    most: int  # blocks that have something to do
    layout: Layout  # of the state, and of the lists of those who wait


@lru_cache(maxsize=64)
def _sizes(n: int, total: int) -> _Sizes:
    places = -(-n // WARP) * WARP
    middles, longs = min(n, total // SHORT + 1), total // LONG + 1
    pieces = total // PIECE + longs
    layout = Layout(
        {"state": 8 * n, "control": _CONTROL.itemsize, "done": TURNS * longs * 4},
        {
            "queue": 2 * places * ITEM_BYTES,
            "early": middles * ITEM_BYTES,
            "losers": places // WARP * 4,
            "middles": TURNS * middles * ITEM_BYTES,
            "longs": TURNS * longs * ITEM_BYTES,
            "owners": TURNS * pieces * 4,
            "best": TURNS * pieces * KEY_BYTES,
        },
    )
    most = max(-(-n // BLOCK), total * WARP // (BLOCK * PIECE))
    return _Sizes(places, (middles, longs, pieces), most, layout)


@lru_cache(maxsize=64)
def _wide(*words: int) -> np.ndarray:
    """The lists of wide rows; CuPy's pool gives the same memory to one call after another."""
    return struct(_WIDE, *words)


def _begin_anew(graph: Graph, order: Order, context: Context, state: Any) -> tuple[Any, int]:
    """The mates by sorted rows: of all edges in very dense graphs, else of those undecided; and the entries read."""
    total, read = len(graph.indices), 0
    if total < VERY_DENSE * graph.n:
        graph, read = undecided_edges(graph, order, state), 2 * total
    return run_suitor(graph, order, replace(context, progress=None)).mates, read + 2 * len(graph.indices)


def _run_plain(graph: Graph, order: Order, context: Context) -> Result:
    """The paper's loop. Memory: 12 bytes a vertex (word and mate)."""
    cp, n = cupy(), graph.n
    context.report(0, n)
    plain_suitor, mates = load("suitor", PROGRAMS["plain", word_of(graph.weights)], for_order(order, CONSTANTS))
    constants, mate = as_argument(order), cp.empty(n, np.int32)
    clock = DeviceClock()
    state = cp.zeros(n, np.uint64)
    launch(plain_suitor, n, graph.indptr, graph.indices, bits_of(graph.weights), np.int64(n), constants, state)
    launch(mates, n, state, np.int64(n), constants, mate)
    seconds = {"kernels": clock.stop()}
    context.report(n, n)
    return Result(mate, {"variant": "plain"}, seconds)
