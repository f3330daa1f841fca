"""Contraction on CPU threads: pairs become vertices, parallel edges are added up, loops are dropped.

Reference: G. Karypis and V. Kumar, A fast and high quality multilevel scheme for partitioning irregular graphs, SIAM
J. Sci. Comput. 20 (1998). Sorting by ranks that are counted in vectors, and by bitmaps, is troth's own.

Invariant: coarse vertices are numbered in the order of their first members, so what was near stays near. The row of a
coarse vertex is that of its first member followed by that of its second, each neighbour v replaced by

    key(v) = 2 * (the coarse vertex of v) + (v is a second member),

with the last bit flipped in the second row. So an even key is an edge between members of equal place ("straight"), an
odd key one between first and second ("crossed"), and for A = {a, b}, B = {c, d} the new weight is, from both sides,

    w(A, B) = (w(a, c) + w(b, d)) + (w(a, d) + w(b, c)).

A sum of two does not depend on the order of its terms, so neither threads nor the direction nor the device change a bit
of it. Floats are added in float64 and rounded to their own type once; integers are added exactly and become int64.

``merging.py`` makes the rows, block by block, and ``blocks.py`` puts the blocks behind each other. Memory beside the
two graphs: some blocks, and 16 bytes a coarse vertex and thread where a row is long. Cost: O(n + m).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from troth.cpu.blocks import Staging, clear, finish, new_blocks, new_staging
from troth.cpu.exact import TOO_MUCH
from troth.cpu.merging import ZERO, merge_members, new_scratch
from troth.graph import Graph
from troth.kernels.jit import kernel
from troth.kernels.sort import radix_sort
from troth.kernels.team import CALLER, chunks, run_team, thread_count
from troth.order import ONE, Order, mix64
from troth.rows import NumberRows, Rows, heaviest, number_rows_of, rows_of

BLOCK = 16384  # vertices that a worker takes at a time
ROWS = 64  # coarse vertices whose rows a worker makes at a time: few, for the hubs of a graph are often neighbours
LINE = 32  # numbers of 4 bytes that workers keep apart
SMALL = 2**15  # vertices and entries; waking threads would cost more than work on fewer


class Clusters(NamedTuple):
    """Pairs and single vertices, numbered: ``first[c]`` is the first member of c, ``code[v]`` is key(v) (see above)."""

    mate: np.ndarray
    first: np.ndarray
    code: np.ndarray

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.first)

    @property
    def alone(self) -> np.ndarray:
        """The single vertices, ascending."""
        return np.flatnonzero(self.mate < 0).astype(np.int32)


def columns(vertex_weights: np.ndarray) -> np.ndarray:
    """One or more weights a vertex as a table."""
    return vertex_weights.reshape(len(vertex_weights), math.prod(vertex_weights.shape[1:]))


def threads_for(threads: int | None, work: int) -> int:
    """How many threads for so many vertices and entries."""
    return CALLER if work < SMALL else thread_count(threads, work)


def kind_of_sums(weights: np.ndarray) -> np.dtype:
    """The type of weights of coarse graphs while they are made: floats keep theirs, integers have 64 bits."""
    return weights.dtype if weights.dtype.kind == "f" else np.dtype(np.uint64)


def in_blocks(kernel: Callable, total: int, threads: int, *args: Any) -> list:
    """Run a kernel block by block; one block needs no team."""
    return run_team(kernel, total, threads, *args, chunk=BLOCK, serial_below=BLOCK + 1)


# ---- numbers ----


@kernel
def count_first(worker, cursor, chunk, mate, counts):
    """counts[b] = how many vertices of chunk b are the first of their pair, or alone."""
    for start, stop in chunks(cursor, chunk, len(mate)):
        count = 0
        for v in range(start, stop):
            count += (mate[v] < 0) | (mate[v] > v)
        counts[start // chunk] = count


@kernel
def number_pairs(worker, cursor, chunk, mate, starts, first, code):
    """Fill ``first`` and ``code``; behind, each worker has a line for what need not be written: branches cost more."""
    n, line = np.int64(len(mate)), (worker + 1) * LINE
    spare, other = np.uint64(len(first) - line), np.uint64(len(code) - line)
    for start, stop in chunks(cursor, chunk, n):
        c = np.uint64(starts[start // chunk])
        for v in range(start, stop):
            u = np.int64(mate[v])
            is_first = (u < 0) | (u > v)
            first[c if is_first else spare] = v
            code[np.uint64(v if is_first else other)] = np.uint32(c + c)
            code[np.uint64(u if u > v else other)] = np.uint32(c + c + ONE)
            c += np.uint64(is_first)


@kernel
def gather_members(worker, cursor, chunk, clusters, weights, coarse_weights, coarse):
    """coarse[v] = the coarse vertex of v, and the vertex weights of members added up, column by column."""
    first, mate = clusters.first, clusters.mate
    for start, stop in chunks(cursor, chunk, len(first)):
        for c in range(np.uint64(start), np.uint64(stop)):
            v, u = np.uint64(first[c]), mate[first[c]]
            coarse[v] = c
            for j in range(weights.shape[1]):
                coarse_weights[c, j] = weights[v, j]
            if u >= 0:
                coarse[u] = c
                for j in range(weights.shape[1]):
                    coarse_weights[c, j] += weights[u, j]


# ---- pairs that are no neighbours ----


@kernel
def hash_rows(worker, cursor, chunk, rows, vertices, keys):
    """keys[i] = a hash of the neighbours of vertices[i]: equal for twins, leaves of one vertex, and lone vertices."""
    for start, stop in chunks(cursor, chunk, len(vertices)):
        for i in range(start, stop):
            v, total = np.uint64(vertices[i]), ZERO
            for e in range(np.uint64(rows.indptr[v]), np.uint64(rows.indptr[v + ONE])):
                total += mix64(np.uint64(np.uint32(rows.indices[e])))
            keys[i] = total


@kernel
def find_favourites(worker, cursor, chunk, rows, order, vertices, keys):
    """keys[i] = the strongest neighbour of vertices[i]; those without one have the greatest number."""
    for start, stop in chunks(cursor, chunk, len(vertices)):
        for i in range(start, stop):
            keys[i] = np.uint32(heaviest(rows, np.uint64(vertices[i]), order, None, 0))


@kernel
def pair_equal(keys, vertices, mate):
    """Pair neighbours in a sorted list that have equal keys, from the first on."""
    i = 0
    while i + 1 < len(keys):
        u, v = vertices[i], vertices[i + 1]
        if keys[i] == keys[i + 1]:
            mate[u], mate[v] = v, u
            i += 1
        i += 1


# ---- edges between vertices that are light enough ----


@kernel
def fits(weights, limits, u, v):
    """Whether u and v together stay within the limit of every column."""
    good = True
    for j in range(weights.shape[1]):
        good &= weights[u, j] + weights[v, j] <= limits[j]
    return good


@kernel
def count_fitting(worker, cursor, chunk, rows, vertex_weights, limits, lengths):
    """lengths[v + 1] = how many neighbours of v fit."""
    for start, stop in chunks(cursor, chunk, len(rows.indptr) - 1):
        for v in range(np.uint64(start), np.uint64(stop)):
            count = 0
            for e in range(np.uint64(rows.indptr[v]), np.uint64(rows.indptr[v + ONE])):
                count += fits(vertex_weights, limits, v, np.uint64(rows.indices[e]))
            lengths[v + ONE] = count


@kernel
def copy_fitting(worker, cursor, chunk, rows, vertex_weights, limits, new_rows):
    """Copy the entries whose neighbours fit."""
    for start, stop in chunks(cursor, chunk, len(rows.indptr) - 1):
        for v in range(np.uint64(start), np.uint64(stop)):
            to = np.uint64(new_rows.indptr[v])
            for e in range(np.uint64(rows.indptr[v]), np.uint64(rows.indptr[v + ONE])):
                if fits(vertex_weights, limits, v, np.uint64(rows.indices[e])):
                    new_rows.indices[to] = rows.indices[e]
                    new_rows.bits[to] = rows.bits[e]
                    to += ONE


# ---- the device's part ----


class CpuCoarsening:
    """Coarsening on CPU threads (see ``contract.Coarsening``)."""

    def __init__(self, graph: Graph, threads: int | None = None) -> None:
        self.threads = threads
        self._finest = graph

    @cached_property
    def _staging(self) -> Staging:
        """For the rows of the finest graph, and so of all that are coarser."""
        entries, threads = (
            len(self._finest.indices),
            threads_for(self.threads, self._finest.n + len(self._finest.indices)),
        )
        return new_staging(max(threads, 1), entries, kind_of_sums(self._finest.weights))

    def _merge(
        self, kernel: Callable, rows: NumberRows, clusters: Any, weights: np.ndarray, threads: int, *scratch: Any
    ) -> tuple[Graph, bool]:
        """The graph whose rows a kernel makes of those of members, and whether a weight is too great for its type."""
        kind, count, staging = kind_of_sums(rows.weights), clusters.size, self._staging
        sums = np.dtype(np.float64) if kind.kind == "f" else kind
        blocks = new_blocks(count, ROWS, len(rows.indices), kind)
        clear(staging)
        given = rows, clusters, sums.type(0), *new_scratch(max(threads, 1), count, sums), *scratch
        run_team(kernel, count, threads, *given, staging, blocks, chunk=ROWS, serial_below=ROWS + 1)
        spread = finish(blocks, ROWS, threads, staging) if count else None
        limit = int(np.array(np.inf, kind).view(blocks.bits.dtype) if kind.kind == "f" else TOO_MUCH)
        new_weights = blocks.bits.view(kind if kind.kind == "f" else np.int64)
        known = spread if len(blocks.bits) else None
        graph = Graph.trusted(blocks.indptr, blocks.indices, new_weights, weights, weight_range=known)
        return graph, known is not None and known[1] >= limit

    def number_clusters(self, graph: Graph, mate: np.ndarray) -> Clusters:
        """The clusters of a matching, or of any vertices paired."""
        n = len(mate)
        threads = threads_for(self.threads, n)
        starts = np.zeros(-(-n // BLOCK) + 1, np.int64)
        in_blocks(count_first, n, threads, mate, starts[1:])
        np.cumsum(starts, out=starts)
        lines = LINE * max(threads, 1)
        first, code = np.empty(starts[-1] + lines, np.int32), np.empty(n + lines, np.uint32)
        in_blocks(number_pairs, n, threads, mate, starts, first, code)
        return Clusters(mate, first[:-lines], code)

    def contract(self, graph: Graph, clusters: Clusters, vertex_weights: np.ndarray) -> tuple[Graph, np.ndarray, bool]:
        """The coarse graph, the coarse vertex of every vertex, and whether a sum was too great for its type."""
        threads, count = threads_for(self.threads, graph.n + len(graph.indices)), clusters.size
        coarse = np.empty(graph.n, np.int32)
        coarse_weights = np.empty((count, *vertex_weights.shape[1:]), vertex_weights.dtype)
        in_blocks(gather_members, count, threads, clusters, columns(vertex_weights), columns(coarse_weights), coarse)
        graph, spilled = self._merge(merge_members, number_rows_of(graph), clusters, coarse_weights, threads)
        return graph, coarse, spilled

    def pair_twins(self, graph: Graph, vertices: np.ndarray, mate: np.ndarray) -> None:
        """Pair those of the vertices, which ascend, that have the same neighbours."""
        self._pair_by(hash_rows, np.uint64, graph, vertices, mate)

    def pair_relatives(self, graph: Graph, order: Order, vertices: np.ndarray, mate: np.ndarray) -> None:
        """Pair those of the vertices, which ascend, that have the same strongest neighbour."""
        self._pair_by(find_favourites, np.uint32, graph, vertices, mate, order)

    def _pair_by(
        self, kernel: Callable, kind: DTypeLike, graph: Graph, vertices: np.ndarray, mate: np.ndarray, *order: Order
    ) -> None:
        """Pair vertices for which a kernel finds equal keys."""
        threads, keys = threads_for(self.threads, graph.n + len(graph.indices)), np.empty(len(vertices), kind)
        in_blocks(kernel, len(vertices), threads, rows_of(graph), *order, vertices, keys)
        if len(keys) < SMALL:
            places = np.argsort(keys, kind="stable")
            pair_equal(keys[places], vertices[places], mate)
        else:
            pair_equal(*radix_sort(keys, vertices, max(threads, 1)), mate)

    def fitting_edges(self, graph: Graph, vertex_weights: np.ndarray, limits: np.ndarray) -> Graph:
        """The graph without the edges whose ends together weigh more than the limits."""
        threads, rows = threads_for(self.threads, graph.n + len(graph.indices)), rows_of(graph)
        vertex_weights, limits = columns(vertex_weights), np.atleast_1d(limits)
        lengths = np.zeros(graph.n + 1, np.int64)
        in_blocks(count_fitting, graph.n, threads, rows, vertex_weights, limits, lengths)
        indptr = np.cumsum(lengths, out=lengths)
        new_rows = Rows(indptr, np.empty(indptr[-1], np.int32), np.empty(indptr[-1], rows.bits.dtype))
        in_blocks(copy_fitting, graph.n, threads, rows, vertex_weights, limits, new_rows)
        return Graph.trusted(indptr, new_rows.indices, new_rows.bits.view(graph.weights.dtype))
