"""The heaviest matching on paths and cycles, on a GPU: ``heaviest_on_paths`` of ``reference_auction.py``.

Most vertices are in pairs, which are settled where they are read; for the others the weights of their edges are looked
up, all at a time. A thread walks a path from its end, and a cycle from its vertex of greatest priority: whoever meets a
greater one quits. It decides each run of positive gains where that ends, going back over it, so nothing is stored.

Components of more than ``LIMIT`` edges are cut at *splitters*, one in ``SPACING`` vertices. What a segment between two
makes of the gain x before it is x or -x, shifted and bounded, so threads can summarise the segments; one thread then
goes from splitter to splitter, and threads take the edges of each segment. Nothing of this runs where there is no such
component.

Memory: 24 bytes a vertex, beside the mates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.arrays import cupy
from troth.graph import Graph
from troth.kernels.launch import (
    FLOATS,
    WORDS,
    Memory,
    define,
    launch,
    launch_cooperative,
    load,
    number_of,
    numbers_of,
    resident,
    struct,
)
from troth.order import ORDER_CONSTANTS, as_argument, make_order
from troth.units import ROOM, make_units, value_factors

BLOCK = 256
LIMIT = 2048  # edges that one thread walks
SPACING = 256  # vertices, in the mean, from one splitter to the next
SPLITTER_ROOM, SPARE = 4, 4096  # times as many splitters as in the mean have room, and some more
CONTROL_BYTES, SEGMENT_BYTES, SPLITTER_BYTES = 32, 80, 16  # of the kernels' structs

UNITS = np.dtype([("exponent", "i8"), ("first", "f8"), ("second", "f8")])
SCALE = np.dtype([("first", "f8"), ("second", "f8")])
CONSTANTS = (
    *ORDER_CONSTANTS,
    *define(BLOCK=BLOCK, UNITS_BYTES=UNITS.itemsize, CONTROL_BYTES=CONTROL_BYTES),
    *define(SEGMENT_BYTES=SEGMENT_BYTES, SPLITTER_BYTES=SPLITTER_BYTES),
)
PROGRAMS = {
    number: (f"list_ends<{number}>", "walk_paths", "walk_cycles", "settle_long")
    for number in (*WORDS.values(), *FLOATS.values())
}


def units_argument(graph: Graph) -> np.ndarray:
    """The units in which weights are added up, as a struct that kernels take by value."""
    units = make_units(graph, ROOM)
    return struct(UNITS, int(units.exponent), units.first, units.second)


def scale_argument(graph: Graph) -> np.ndarray:
    """The two factors that make weights values, as a struct that kernels take by value."""
    return struct(SCALE, *value_factors(graph))


def heaviest_on_paths(graph: Graph, seed: int, first: Any, second: Any, oriented: bool = False) -> Any:
    """The mates; ``first`` and ``second`` as in the reference.

    ``oriented`` says that the second of v always has v for its first, as the arcs of an auction have.
    """
    cp, n = cupy(), graph.n
    mate = cp.empty(n, np.int32)
    if not n:
        return mate
    list_ends, walk_paths, walk_cycles, settle_long = load("paths", PROGRAMS[number_of(graph.weights.dtype)], CONSTANTS)
    most = n // SPACING * SPLITTER_ROOM + SPARE
    memory = Memory(
        {"control": CONTROL_BYTES},
        {
            "ahead": 8 * n,
            "behind": 8 * n,
            "ends": 4 * n,
            "splitters": most * SPLITTER_BYTES,
            "segments": 2 * most * SEGMENT_BYTES,
        },
    ).clear()
    mixing, control, ends = as_argument(make_order("hash", seed)), memory["control"], memory["ends"]
    links = first, second, memory["ahead"], memory["behind"]
    rows = graph.indptr, graph.indices, numbers_of(graph.weights), units_argument(graph)
    one_way = np.int64(oriented)
    size, limit = np.int64(n), np.int64(LIMIT)
    launch(list_ends, n, size, *rows, one_way, *links, mate, ends, control, block=BLOCK)
    blocks = min(resident(walk_paths, BLOCK), -(-n // BLOCK))
    walk_paths((blocks,), (BLOCK,), (limit, mixing, *links, ends, mate, control))
    launch(walk_cycles, n, size, limit, mixing, *links, mate, control, block=BLOCK)
    blocks = min(resident(settle_long, BLOCK), -(-n // BLOCK))
    rare = np.uint64(2**32 - 2**32 // SPACING)
    lists = memory["splitters"], memory["segments"]
    launch_cooperative(
        settle_long, blocks, BLOCK, size, one_way, np.int64(most), rare, mixing, *links, *lists, mate, control
    )
    return mate
