"""The auction on a GPU: ``reference_auction.py`` says what it is, what it promises, and every rule.

*Prices.* The word of an item is the bid of its holder and the holder's priority, so a bid is an atomic maximum, and the
word that it returns tells who lost: exactly one vertex a bid, or none. ``open_auction`` finds everybody's first bid by
one pass over the rows, with no price read; ``hold_auction`` does all else. Its blocks all run at one time and meet
twice a round: bids are made from the prices of the last round, and then count. The host waits for nothing.

*Rows.* 2^shift lanes read a row, about four entries each, and more lanes where few vertices are active; a warp reads
one of more than ``ENTRIES`` for each of them, and rows of more than ``PIECE`` entries are cut into pieces, for a warp
each, so that no hub is one warp's alone. A price is read only where the weight itself could be among the two best.

*Then* the heaviest matching on the arcs (``paths.py``), merged with Suitor's; exchanges (``augment.py``) and walks
(``walks.py``); completion (``augment.py``).

Memory: 47 bytes a vertex beside the mates; Suitor, which runs first, takes 50.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from troth.arrays import cupy
from troth.contract import Context, Result
from troth.cpu.prices import plain_prices
from troth.cuda import suitor
from troth.cuda.augment import ENTRIES, complete, exchange, lanes_shift
from troth.cuda.paths import SCALE, heaviest_on_paths, numbers_of, scale_argument
from troth.cuda.walks import walk
from troth.graph import Graph
from troth.kernels.launch import (
    FLOATS,
    WORDS,
    DeviceClock,
    Memory,
    define,
    launch,
    launch_cooperative,
    load,
    number_of,
    resident,
    struct,
)
from troth.order import ORDER_CONSTANTS, Order, as_argument, by_degree, make_order

BLOCK = 256
PIECE = 1024  # entries of a piece of a longer row
CONTROL_BYTES = 4 * 3 * 8 + 8  # of the kernels' struct
UNLIMITED = 2**31 - 1  # rounds; they end long before
WAVES = 8  # times more blocks than run at a time, where blocks take unequal time

_LONG_ARRAYS = ("row", "first", "owner", "done", "best")
_LONGS = np.dtype([(name, "u8") for name in _LONG_ARRAYS] + [(name, "i8") for name in ("most_rows", "most_pieces")])
CONSTANTS = (
    *ORDER_CONSTANTS,
    *define(BLOCK=BLOCK, ENTRIES=ENTRIES, PIECE=PIECE, CONTROL_BYTES=CONTROL_BYTES),
    *define(LONGS_BYTES=_LONGS.itemsize, SCALE_BYTES=SCALE.itemsize),
)
_NUMBERS = (*WORDS.values(), *FLOATS.values())
PROGRAMS = {
    ("prices", number): (f"open_auction<{number}>", f"hold_auction<{number}>", "read_arcs") for number in _NUMBERS
}
PROGRAMS |= {
    ("arms", number): (f"hold_values<{number}>", f"find_arms<{number}>", f"find_long_arms<{number}>")
    for number in _NUMBERS
}


def _load(part: str, graph: Graph) -> tuple[Any, ...]:
    return load("auction", PROGRAMS[part, number_of(graph.weights.dtype)], CONSTANTS)


def _rows(graph: Graph) -> tuple[Any, ...]:
    return (
        graph.indptr,
        graph.indices,
        numbers_of(graph.weights),
        np.int64(graph.n),
        lanes_shift(graph),
        scale_argument(graph),
    )


def _long_sizes(graph: Graph) -> tuple[int, int, dict[str, int], dict[str, int]]:
    """The most long rows and pieces that there can be, and the bytes of their arrays: zeros, and others."""
    rows = len(graph.indices) // PIECE + 1
    pieces = len(graph.indices) // PIECE + rows
    return (
        rows,
        pieces,
        {"done": 4 * rows},
        {"row": 8 * rows, "first": 8 * rows, "owner": 8 * pieces, "best": 16 * pieces},
    )


def _longs(memory: Memory, rows: int, pieces: int) -> np.ndarray:
    return struct(_LONGS, *(memory[name].ptr for name in _LONG_ARRAYS), rows, pieces)


def _blocks(kernel: Any, threads: int, waves: int = 1) -> int:
    return min(resident(kernel, BLOCK) * waves, -(-threads // BLOCK))


# ---- the parts ----


def prices(
    graph: Graph, order: Order, seed: int = 0, eps: float = 0.02, slack: float = 0.02, rounds: int | None = 32
) -> Any:
    """The words of all items after the auction: the bits of the price << 32 | priority of the holder, 0 for none."""
    return _hold(graph, order, seed, eps, slack, rounds)[0]


def _hold(
    graph: Graph, order: Order, seed: int, eps: float, slack: float, rounds: int | None
) -> tuple[Any, Memory | None]:
    """The words, and the memory that has the number of rounds in the last word of ``control``."""
    cp, n = cupy(), graph.n
    state = cp.zeros(n, np.uint64)
    if not len(graph.indices) or rounds == 0:
        return state, None
    open_auction, hold_auction, _ = _load("prices", graph)
    most_rows, most_pieces, zeros, others = _long_sizes(graph)
    places = n + most_rows
    memory = Memory(
        {"control": CONTROL_BYTES, **zeros},
        {"active": 8 * n, "targets": 4 * places, "words": 8 * places, **others},
    ).clear()
    orders = as_argument(order), as_argument(make_order("hash", seed)), np.uint64(seed), np.float32(eps)
    given, longs = (*_rows(graph), *orders), _longs(memory, most_rows, most_pieces)
    bids = memory["targets"], memory["words"], memory["control"]
    threads = n << int(lanes_shift(graph))
    open_auction((_blocks(open_auction, threads, WAVES),), (BLOCK,), (*given, longs, *bids))
    most = np.int64(UNLIMITED if rounds is None else rounds)
    stop = np.float64(slack), most, longs, state, memory["active"]
    launch_cooperative(hold_auction, _blocks(hold_auction, threads), BLOCK, *given, *stop, *bids)
    return state, memory


def arcs(graph: Graph, order: Order, state: Any) -> tuple[Any, Any]:
    """What each vertex holds, and who holds it; -1 where there is none."""
    cp, n = cupy(), graph.n
    _, _, read_arcs = _load("prices", graph)
    item, holder = cp.full(n, -1, np.int32), cp.empty(n, np.int32)
    launch(read_arcs, n, np.int64(n), state, as_argument(order), item, holder, block=BLOCK)
    return item, holder


def arms(graph: Graph, seed: int, mate: Any, looks: Any, held: Any, found: Any) -> None:
    """held = the value matched at each vertex, found = the keys of its two best arms, where ``looks`` is 1."""
    n = graph.n
    hold_values, find_arms, find_long_arms = _load("arms", graph)
    most_rows, most_pieces, zeros, others = _long_sizes(graph)
    memory = Memory({"control": CONTROL_BYTES, **zeros}, others).clear()
    rows = _rows(graph)
    *arrays, size, _, scale = rows
    launch(hold_values, n, *arrays, size, scale, mate, looks, held, block=BLOCK)
    mixing = as_argument(make_order("hash", seed)), np.uint64(seed)
    given = *rows, *mixing, looks, held, _longs(memory, most_rows, most_pieces), found, memory["control"]
    threads = n << int(lanes_shift(graph))
    find_arms((_blocks(find_arms, threads, WAVES),), (BLOCK,), given)
    find_long_arms((_blocks(find_long_arms, most_pieces * BLOCK),), (BLOCK,), given)


def _polish(graph: Graph, order: Order, seed: int, mate: Any, prices: Any, rounds: int) -> None:
    """Rounds of exchanges and walks, in ``mate``; after the first only those look whose pairs were claimed."""
    cp, n = cupy(), graph.n
    held, found = cp.empty(n, np.float32), cp.empty((n, 2), np.uint64)
    looks, touched = cp.full(n, 1, np.uint8), cp.empty(n, np.uint8)
    for turn in range(rounds):
        arms(graph, seed, mate, looks, held, found)
        exchange(graph, order, seed, mate, looks, held, found, touched)
        walk(graph, order, seed, turn, mate, prices, touched)
        looks, touched = touched, looks


# ---- the engine ----


def run(
    graph: Graph,
    order: Order,
    context: Context,
    *,
    eps: float = 0.02,
    slack: float = 0.02,
    rounds: int | None = 32,
    polish: int = 2,
) -> Result:
    """The engine; see ``contract.py``."""
    cp, n, seed = cupy(), graph.n, int(context.seed)
    context.report(0, n)
    if not len(graph.indices):
        return Result(cp.full(n, -1, np.int32), {"rounds": 0}, {"kernels": 0.0})
    clock = DeviceClock() if context.measured else None
    stable = suitor.run(graph, by_degree(order, seed, graph), replace(context, measured=False, progress=None)).mates
    state, memory = _hold(graph, order, seed, eps, slack, rounds)
    control = None if memory is None else memory.view("control", np.uint32)[-1:].copy()
    del memory
    item, holder = arcs(graph, order, state)
    paid = plain_prices(state)
    del state
    mate = heaviest_on_paths(graph, seed, item, holder, oriented=True)
    del item, holder
    mate = heaviest_on_paths(graph, seed, mate, stable)
    del stable
    _polish(graph, order, seed, mate, paid, polish)
    complete(graph, order, mate)
    if clock is None:  # nothing is read back: the caller goes on while the kernels run
        return Result(mate, {}, {}, paid)
    seconds = {"kernels": clock.stop()}
    return Result(mate, {"rounds": 0 if control is None else int(control[0])}, seconds, paid)
