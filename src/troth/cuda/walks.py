"""Walks on a GPU: free vertices look for each other along edges that pay; see ``walk`` in ``reference_auction.py``.

The free vertices that someone has asked for are listed; a warp walks from each, its lanes reading a row together, and
puts claims on what it would change, as in ``augment.py``. Nothing of a walk is kept but its length: walks that gain are
gone a second time, to see whether they got all their claims, and those that did are then made. The host waits for
nothing: how many walks there are is read on the device.

Memory: 21 bytes a vertex.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.cuda.paths import SCALE, UNITS, scale_argument, units_argument
from troth.graph import Graph
from troth.kernels.launch import (
    FLOATS,
    WARP,
    WORDS,
    Memory,
    aligned,
    define,
    launch,
    load,
    number_of,
    numbers_of,
    resident,
)
from troth.order import ORDER_CONSTANTS, Order, as_argument, for_order, make_order
from troth.units import WALK_STEPS

BLOCK = 256
CONSTANTS = (
    *ORDER_CONSTANTS,
    *define(BLOCK=BLOCK, STEPS=WALK_STEPS, UNITS_BYTES=UNITS.itemsize, SCALE_BYTES=SCALE.itemsize),
)
PROGRAMS = {
    number: ("list_starts", f"claim_walks<{number}>", f"decide_walks<{number}>", "make_walks")
    for number in (*WORDS.values(), *FLOATS.values())
}


def walk(graph: Graph, order: Order, seed: int, turn: int, mate: Any, prices: Any, touched: Any) -> None:
    """One round of walks, in ``mate``; ``touched`` becomes 1 for those whose pairs are claimed, and stays for others.

    ``prices`` are those of the auction, float32.
    """
    n = graph.n
    kernels = load("walks", PROGRAMS[number_of(graph.weights.dtype)], for_order(order, CONSTANTS))
    list_starts, claim_walks, decide_walks, make_walks = kernels
    memory = Memory({"count": 8, "claims": 8 * n}, {"cost": 4 * n, "starts": 4 * n, "arm": 4 * n, "lengths": n}).clear()
    cost, starts, count = memory["cost"], memory["starts"], memory["count"]
    claims, arm, lengths = memory["claims"], memory["arm"], memory["lengths"]
    launch(list_starts, n, np.int64(n), mate, prices, cost, starts, count, block=BLOCK)
    arrays = graph.indptr, aligned(graph.indices), aligned(numbers_of(graph.weights))
    rows = *arrays, np.int64(n), scale_argument(graph), units_argument(graph)
    rules = as_argument(order), as_argument(make_order("hash", seed)), np.uint64(seed), np.uint64(turn)
    given = *rows, *rules, cost, mate, starts, count, claims
    claim_walks((_blocks(claim_walks, WARP * n),), (BLOCK,), (*given, touched, lengths))
    decide_walks((_blocks(decide_walks, WARP * n),), (BLOCK,), (*given, arm, lengths))
    make_walks((_blocks(make_walks, n),), (BLOCK,), (starts, count, lengths, arm, mate))


def _blocks(kernel: Any, threads: int) -> int:
    return min(resident(kernel, BLOCK), -(-threads // BLOCK))
