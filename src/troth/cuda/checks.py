"""Checks on a GPU: those of ``cpu/checks.py`` for a graph whose arrays are CuPy's; the same numbers.

What is found by minima, maxima and sums of whole numbers does not depend on the order of the work. A float sum does,
so its order is part of its definition: blocks of vertices, one weight after another (``kernels/checks.cu``).

Rows are scanned in balance whatever their lengths: groups of lanes, about a quarter of the mean degree each, take the
short rows, and warps take pieces of the long ones (``split_rows``). A scan reads each entry once and needs nothing of
the size of the edges. Only counts, sums and places come to the host.

All functions work on the current device, which is that of the graph.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from troth.arrays import cupy
from troth.cpu.checks import BLOCK, add_in_order
from troth.cpu.prices import as_words
from troth.cuda.auction import prices as hold_auction
from troth.graph import Graph
from troth.kernels.launch import FLOATS, WARP, WORDS, bits_of, define, launch, load, number_of
from troth.order import ORDER_CONSTANTS, make_order
from troth.units import make_units

NOWHERE = 2**63 - 1  # no entry
SLOTS = 256  # sums are spread over so many pairs of words, so that blocks do not queue for one
SUM_THREADS = 128  # of add_blocks, where each warp has its own part of shared memory
PIECE = 1024  # entries of a piece of a long row: 32 for each lane
LANE_ENTRIES = 64  # that one lane takes of a short row at most

_UNITS = np.dtype([("exponent", "i8"), ("first", "f8"), ("second", "f8")])
CONSTANTS = (
    *ORDER_CONSTANTS,
    *define(NOWHERE=NOWHERE, SLOTS=SLOTS, SUM_BLOCK=BLOCK, SUM_THREADS=SUM_THREADS),
    *define(UNITS_BYTES=_UNITS.itemsize),
)


def _checks(number: str, word: str) -> tuple[str, ...]:
    add = f"add_blocks<{number}>" if number != word else f"add_whole<{word}>"
    return f"hold<{word}>", add, "list_long", f"uncover_rows<{word}>", f"uncover_pieces<{word}>"


def _duals(number: str) -> tuple[str, ...]:
    return "list_long", f"start_dual<{number}>", f"sweep_rows<{number}>", f"sweep_pieces<{number}>", "settle_long"


# By part and type of the weights: floats as they are, integers as the unsigned of their width.
_TYPES = {**{word: word for word in WORDS.values()}, **{FLOATS[size]: WORDS[size] for size in FLOATS}}
PROGRAMS = {("checks", number): _checks(number, word) for number, word in _TYPES.items()}
PROGRAMS |= {("dual", number): _duals(number) for number in _TYPES}


def _load(part: str, graph: Graph) -> tuple[Any, ...]:
    return load("checks", PROGRAMS[part, number_of(graph.weights.dtype)], CONSTANTS)


def _new_totals() -> Any:
    return cupy().zeros((SLOTS, 2), np.uint64)


def _joined(totals: Any) -> int:
    """The sum of whole numbers that come in halves of 32 bits."""
    upper, lower = (int(half) for half in totals.get().sum(axis=0))
    return (upper << 32) + lower


# ---- rows by length ----


class Rows(NamedTuple):
    """Who scans what: 2^shift lanes a row of up to ``longest`` entries, and a warp each piece of a longer one."""

    shift: np.int32
    longest: np.int64
    long_row: Any
    piece_row: Any
    piece_start: Any


def split_rows(graph: Graph, list_long: Any) -> Rows:
    """The split for a graph; the lists take 16 bytes for each ``longest`` entries, and 12 for each ``PIECE``."""
    cp = cupy()
    n, entries = graph.n, len(graph.indices)
    quarter = entries // (4 * n) if n else 0
    shift = min(5, max(1, quarter.bit_length()))
    longest = LANE_ENTRIES << shift
    most = entries // longest  # long rows, at most
    long_row, piece_row = cp.empty(most, np.int32), cp.empty(most + entries // PIECE, np.int32)
    piece_start = cp.empty(len(piece_row), np.int64)
    rows = pieces = 0
    if most:
        counts = cp.zeros(2, np.uint64)
        sizes = np.int64(longest), np.int64(PIECE)
        launch(list_long, n, np.int32(n), graph.indptr, *sizes, long_row, piece_row, piece_start, counts)
        rows, pieces = counts.tolist()
    return Rows(np.int32(shift), np.int64(longest), long_row[:rows], piece_row[:pieces], piece_start[:pieces])


# ---- the device's part ----


class CudaChecks:
    """Checks on the current GPU, which is that of the graph (see ``contract.Checks``)."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.bits = graph, bits_of(graph.weights)

    def matched_bits(self, mate: Any) -> tuple[Any, int]:
        """The bits of the weight matched at every vertex, and the first vertex whose mate is no mate (n: none)."""
        cp, graph = cupy(), self.graph
        hold, *_ = _load("checks", graph)
        held, broken = cp.empty(graph.n, self.bits.dtype), cp.full(1, graph.n, np.int32)
        launch(hold, graph.n, np.int32(graph.n), graph.indptr, graph.indices, self.bits, mate, held, broken)
        return held, broken[0].item()

    def matched_weight(self, mate: Any, held: Any) -> int | float:
        """The weight of a matching: exact for integers; for floats the sum that ``cpu/checks.py`` defines."""
        graph = self.graph
        _, add, *_ = _load("checks", graph)
        if graph.weights.dtype.kind != "f":
            totals = _new_totals()
            launch(add, graph.n, np.int32(graph.n), held, totals)
            return _joined(totals) // 2
        sums = cupy().empty(-(-graph.n // BLOCK), np.float64)
        args = np.int32(graph.n), mate, held.view(graph.weights.dtype), sums
        launch(add, len(sums) * WARP, *args, block=SUM_THREADS)
        return add_in_order(sums)

    def first_uncovered(self, held: Any) -> tuple[int, int, int | float] | None:
        """The first edge (u, v), u < v, heavier than what either end holds, and its weight; see ``cpu/checks.py``.

        Rows are sorted, so the first edge is that of the first such entry.
        """
        graph = self.graph
        _, _, list_long, uncover_rows, uncover_pieces = _load("checks", graph)
        rows = split_rows(graph, list_long)
        found = cupy().full(1, NOWHERE, np.uint64)
        arrays = graph.indptr, graph.indices, self.bits, held, found
        launch(uncover_rows, graph.n << int(rows.shift), np.int32(graph.n), rows.shift, rows.longest, *arrays)
        pieces = len(rows.piece_row)
        sizes = np.int64(pieces), np.int64(PIECE)
        launch(uncover_pieces, pieces * WARP, *sizes, rows.piece_row, rows.piece_start, *arrays)
        e = found[0].item()
        if e == NOWHERE:
            return None
        u = (graph.indptr <= e).sum().item() - 1
        return u, graph.indices[e].item(), graph.weights[e].item()

    def start_dual(self, mate: Any, held: Any, prices: Any = None) -> tuple[int, int]:
        """y(v) = the price of v in an auction; (the matching's weight from below, exponent)."""
        cp, graph = cupy(), self.graph
        list_long, start_dual, *self._kernels = _load("dual", graph)
        self._weights = graph.weights if graph.weights.dtype.kind == "f" else self.bits
        made = make_units(graph)
        self._units = np.array([tuple(made)], _UNITS)
        self._rows = split_rows(graph, list_long)
        self._y, self._fresh = cp.empty(graph.n, np.int64), cp.empty(graph.n, np.int64)
        matched = _new_totals()
        words = hold_auction(graph, make_order("hash", 0)) if prices is None else as_words(prices)
        one = np.float64(2.0 ** (61 if graph.weights.dtype.kind == "f" else 62))  # a price of 1 in units
        given = mate, held.view(self._weights.dtype), self._units, words, one, self._y, matched
        launch(start_dual, graph.n, np.int32(graph.n), *given)
        return _joined(matched), int(made.exponent)

    def sweep_dual(self) -> int:
        """One sweep, and the sum of y: the short rows, the pieces of long ones, then the long ones' averages."""
        sweep_rows, sweep_pieces, settle_long = self._kernels
        rows, total, n = self._rows, _new_totals(), self.graph.n
        pieces, count = len(rows.piece_row), len(rows.long_row)
        arrays = self.graph.indptr, self.graph.indices, self._weights, self._units, self._y, self._fresh
        launch(sweep_rows, n << int(rows.shift), np.int32(n), rows.shift, rows.longest, *arrays, total)
        sizes = np.int64(pieces), np.int64(PIECE)
        launch(sweep_pieces, pieces * WARP, *sizes, rows.piece_row, rows.piece_start, *arrays)
        launch(settle_long, count, np.int64(count), rows.long_row, self._y, self._fresh, total)
        self._y, self._fresh = self._fresh, self._y
        return _joined(total)
