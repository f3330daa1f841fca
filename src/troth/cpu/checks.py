"""Checks on CPU threads: the weight matched at every vertex, the checks, and the sweeps of the dual.

All checks compare the *bits* of weights (see ``order.py``), which are in the order of the weights, so a kernel is
compiled once a width. Workers take chunks in ascending order and stop at their first find: whatever the threads, the
least of their finds is the least of all.

The dual works on whole numbers below 2^63, the weights in *units* of a power of two (``units.py``): every sum is exact
and every rounding is on the safe side. It starts from the prices of an auction with the default options,
``ties="hash"`` and seed 0: so the bound depends on the graph alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from troth.cpu.prices import Workers, as_words, find_prices, make_bidding, price_of
from troth.graph import Graph
from troth.kernels.jit import kernel
from troth.kernels.team import chunks, run_team, thread_count
from troth.order import MASK, ONE, PRIORITY_BITS, make_order
from troth.rows import find, number_rows_of, rows_of
from troth.units import make_units, units_down, units_up

MOST_UNITS = 2.0**63 - 1024  # the greatest float64 that is an int64
BLOCK = 4096  # vertices whose matched weights are added in one go; part of the definition of a float sum


# ---- the weight matched at each vertex ----


@kernel
def hold(worker, cursor, chunk, rows, mate, held):
    """held[v] = the bits of w(v, mate[v]), 0 where v is free; returns the first v whose mate is no mate, or n.

    A mate is -1, or a vertex that names v in turn and is a neighbour of v.
    """
    n = len(mate)
    for first, last in chunks(cursor, chunk, n):
        for v in range(first, last):
            u = mate[v]
            held[v] = 0
            if u == -1:
                continue
            if not 0 <= u < n or mate[u] != v:
                return v
            stop = np.uint64(rows.indptr[v + 1])
            place = find(rows.indices, np.uint64(rows.indptr[v]), stop, u)
            if place == stop:
                return v
            held[v] = rows.bits[place]
    return n


@kernel
def add_blocks(worker, cursor, block, mate, held, sums):
    """sums[b] = the weights of the pairs whose smaller vertex is in block b, added one by one in float64.

    With ``mate`` None only smaller vertices hold a weight, and all others 0.
    """
    for first, last in chunks(cursor, block, len(held)):
        total = 0.0
        for v in range(first, last):
            if mate is None or mate[v] > v:
                total += held[v]
        sums[first // block] = total


def add_halves(values: np.ndarray) -> tuple:
    """The sums of the halves of up to 2^32 whole numbers below 2^64: those of 32 bits cannot overflow."""
    values = values.astype(np.uint64, copy=False)
    return (values >> PRIORITY_BITS).sum(), (values & MASK).sum()


# ---- maximality and dominance ----


@kernel
def uncover(worker, cursor, chunk, rows, held):
    """The first u with an edge {u, v}, u < v, that is heavier than what either end holds, or n."""
    n = len(held)
    for first, last in chunks(cursor, chunk, n):
        for u in range(first, last):
            for e in range(np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + 1])):
                v = rows.indices[e]
                if v > u and rows.bits[e] > held[u] and rows.bits[e] > held[v]:
                    return u
    return n


# ---- the dual ----


@kernel
def start(worker, cursor, chunk, names, mate, held, units, words, factor, y):
    """y(v) = the price of v in units; returns the weight of the pairs met, rounded down, as (high, low).

    ``mate`` has the names of the mates; ``names`` are those of the vertices, None where they are the numbers.
    """
    high = low = np.uint64(0)
    for first, last in chunks(cursor, chunk, len(mate)):
        for v in range(first, last):
            y[v] = np.int64(min(np.float64(price_of(words, v)) * factor, MOST_UNITS))
            if mate[v] > (v if names is None else names[v]):
                part = np.uint64(units_down(held[v], units))
                high += part >> PRIORITY_BITS
                low += part & MASK
    return high, low


@kernel
def sweep(worker, cursor, chunk, rows, units, y, fresh):
    """fresh(v) = (y(v) + max(0, max_u (w(u, v) - y(u)))) / 2, rounded up; returns their sum as (high, low).

    A sweep needs no feasible start: y'(u) >= w - y(v) and y'(v) >= w - y(u) by definition, so the averages of y and y'
    at the two ends of an edge add up to w or more, whatever y >= 0 was. From then on y' <= y, hence the sum never
    increases.
    """
    high = low = np.uint64(0)
    for first, last in chunks(cursor, chunk, len(rows.indptr) - 1):
        for v in range(first, last):
            need = np.int64(0)
            for e in range(np.uint64(rows.indptr[v]), np.uint64(rows.indptr[v + 1])):
                need = max(need, units_up(rows.weights[e], units) - y[np.uint32(rows.indices[e])])
            part = (np.uint64(y[v]) + np.uint64(need) + ONE) >> ONE  # both are below 2^63
            fresh[v] = np.int64(part)
            high += part >> PRIORITY_BITS
            low += part & MASK
    return high, low


def price_factor(graph: Any) -> float:
    """What turns a price, on whose scale the greatest weight is in [1, 2), into units."""
    return 2.0**61 if graph.weights.dtype.kind == "f" else 2.0**62


def joined(parts: Iterable[Iterable[int]]) -> int:
    """The sum of whole numbers that come in halves of 32 bits."""
    return sum((int(high) << 32) + int(low) for high, low in parts)


def add_in_order(sums: np.ndarray) -> float:
    """The sum of float64 numbers, one after another. (Python's ``sum`` compensates from 3.12 on.)"""
    total = 0.0
    for value in sums.tolist():
        total += value
    return total


class DualChecks:
    """The dual on CPU threads or, with a part of the graph each, on ranks."""

    graph: Any
    threads: int
    names: np.ndarray | None = None  # of the vertices, where they are not the numbers

    def start_dual(self, mate: np.ndarray, held: np.ndarray, prices: np.ndarray | None = None) -> tuple[int, int]:
        """y(v) = the price of v; (the matching's weight from below, exponent)."""
        self._units, self._rows = make_units(self.graph), number_rows_of(self.graph)
        self._y, self._fresh = np.empty(len(held), np.int64), np.empty(len(held), np.int64)
        n, words = len(self._rows.indptr) - 1, self._prices() if prices is None else as_words(prices)
        given = (self.names, mate[:n], held[:n].view(self._rows.weights.dtype), self._units)
        found = run_team(start, n, self.threads, *given, words, price_factor(self.graph), self._y)
        return self._total(found), int(self._units.exponent)

    def _prices(self) -> np.ndarray:
        """The words of an auction (``prices.py``), one a vertex of this part."""
        raise NotImplementedError

    def sweep_dual(self) -> int:
        """One sweep; the sum of y after it."""
        given = (self._rows, self._units, self._y, self._fresh)
        halves = run_team(sweep, len(self._rows.indptr) - 1, self.threads, *given)
        self._y, self._fresh = self._fresh, self._y
        return self._total(halves)

    def _total(self, halves: list) -> int:
        return joined(halves)


class CpuChecks(DualChecks):
    """Checks on CPU threads (see ``contract.Checks``)."""

    def __init__(self, graph: Graph, threads: int | None = None) -> None:
        self.graph, self.rows = graph, rows_of(graph)
        self.threads = thread_count(threads, graph.n + len(graph.indices))

    def _prices(self) -> np.ndarray:
        bidding = make_bidding(self.graph, make_order("hash", 0))
        return find_prices(Workers(self.threads), bidding)[0]

    def matched_bits(self, mate: np.ndarray) -> tuple[np.ndarray, int]:
        """The bits of the weight matched at every vertex, and the first vertex whose mate is no mate (n: none)."""
        held = np.empty(self.graph.n, self.rows.bits.dtype)
        return held, min(run_team(hold, self.graph.n, self.threads, self.rows, mate, held))

    def matched_weight(self, mate: np.ndarray, held: np.ndarray) -> int | float:
        """The weight of a matching: exact for integers; for floats added in float64, in one order."""
        if self.graph.weights.dtype.kind != "f":
            return joined([add_halves(held)]) // 2
        sums = np.zeros(-(-self.graph.n // BLOCK))
        values = held.view(self.graph.weights.dtype)
        run_team(add_blocks, self.graph.n, self.threads, mate, values, sums, chunk=BLOCK)
        return add_in_order(sums)

    def first_uncovered(self, held: np.ndarray) -> tuple[int, int, int | float] | None:
        """The first edge (u, v), u < v, heavier than what either end holds, and its weight; or None.

        With the weights matched at each vertex this is dominance. With the greatest number at every matched vertex,
        only an edge between two free vertices is left to find: maximality.
        """
        graph = self.graph
        u = min(run_team(uncover, graph.n, self.threads, self.rows, held))
        if u == graph.n:
            return None
        row = slice(graph.indptr[u], graph.indptr[u + 1])
        neighbours = graph.indices[row]
        heavier = (neighbours > u) & (self.rows.bits[row] > np.maximum(held[u], held[neighbours]))
        return u, int(neighbours[heavier][0]), graph.weights[row][heavier][0].item()
