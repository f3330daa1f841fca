"""Exchanges, and the stable matching of who is free in the end, on a GPU: see ``augment`` in ``reference_auction.py``.

A round of exchanges: every vertex has found its two best arms (``arms`` in ``auction.py``), and every pair and every
free vertex decides on its wish and puts its claim on the pairs that it would change, by an atomic maximum. Wishes that
did not get all their claims are withdrawn, and the others come true.

``complete``: rounds in which the free vertices that have free neighbours choose the best, and those that chose each
other are matched. These are few after an exchange. The blocks all run at one time and meet: the host waits for nothing.

Memory: 12 bytes a vertex.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.cuda.paths import UNITS, units_argument
from troth.graph import Graph
from troth.kernels.launch import (
    FLOATS,
    WORDS,
    Memory,
    bits_of,
    define,
    launch,
    launch_cooperative,
    load,
    number_of,
    numbers_of,
    resident,
    word_of,
)
from troth.order import ORDER_CONSTANTS, Order, as_argument, for_order, make_order

BLOCK = 256
ENTRIES = 16  # of a row that each of a group's lanes reads at most
CONTROL_BYTES, WISH_BYTES = 40, 16  # of the kernels' structs
CONSTANTS = (
    *ORDER_CONSTANTS,
    *define(BLOCK=BLOCK, ENTRIES=ENTRIES, UNITS_BYTES=UNITS.itemsize),
    *define(CONTROL_BYTES=CONTROL_BYTES, WISH_BYTES=WISH_BYTES),
)
PROGRAMS: dict[tuple[str, str], tuple[str, ...]] = {
    ("exchange", number): (f"wish<{number}>", "withdraw", "exchange") for number in (*WORDS.values(), *FLOATS.values())
}
PROGRAMS |= {("complete", word): ("list_free", f"complete<{word}>") for word in WORDS.values()}


def _load(part: str, kind: str, order: Order) -> tuple[Any, ...]:
    return load("augment", PROGRAMS[part, kind], for_order(order, CONSTANTS))


def lanes_shift(graph: Graph) -> np.int64:
    """2^shift lanes read a row: about a quarter of the mean degree, so that each has four entries."""
    quarter = len(graph.indices) // (4 * graph.n) if graph.n else 0
    return np.int64(min(5, max(0, quarter.bit_length() - 1)))


def exchange(graph: Graph, order: Order, seed: int, mate: Any, looks: Any, held: Any, arms: Any, touched: Any) -> None:
    """One round of exchanges, in ``mate``; ``held`` and ``arms`` are the values and keys for these mates.

    Centres for whose vertices ``looks`` is 1 take part; ``touched`` becomes 1 for those whose pairs are claimed.
    """
    n = graph.n
    wish, withdraw, change = _load("exchange", number_of(graph.weights.dtype), order)
    memory = Memory({"control": CONTROL_BYTES, "claims": 8 * n}, {"centres": 4 * n}).clear()
    control, claims, centres = memory["control"], memory["claims"], memory["centres"]
    rows = graph.indptr, graph.indices, numbers_of(graph.weights), np.int64(n)
    orders = as_argument(order), as_argument(make_order("hash", seed)), np.uint64(seed)
    touched.fill(0)
    given = units_argument(graph), *orders, mate, looks, held, arms
    launch(wish, n, *rows, *given, claims, touched, centres, control, block=BLOCK)
    blocks = (min(resident(withdraw, BLOCK), -(-n // BLOCK)),)
    withdraw(blocks, (BLOCK,), (mate, claims, centres, arms, control))
    change(blocks, (BLOCK,), (centres, arms, control, mate))


def complete(graph: Graph, order: Order, mate: Any) -> None:
    """Match the free vertices among themselves, in ``mate``, by the one stable matching."""
    n = graph.n
    list_free, match_free = _load("complete", word_of(graph.weights), order)
    memory = Memory({"control": CONTROL_BYTES}, {"lists": 8 * n, "choice": 4 * n}).clear()
    control, lists = memory["control"], memory["lists"]
    launch(list_free, n, np.int64(n), graph.indptr, mate, lists, control, block=BLOCK)
    rows = graph.indptr, graph.indices, bits_of(graph.weights), np.int64(n), lanes_shift(graph)
    blocks = min(resident(match_free, BLOCK), -(-n // BLOCK))
    launch_cooperative(match_free, blocks, BLOCK, *rows, as_argument(order), lists, memory["choice"], mate, control)
