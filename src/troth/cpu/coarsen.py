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

What costs is bringing each row into order without branches that no processor can predict:

1. *Short rows*, up to 32 entries: an entry's place is the number of keys below its own, counted by one or two vector
   instructions. Equal neighbours have equal places, and that is where their weights add up.
2. *Long rows*: weights add up in an array that has room for every coarse vertex, and a bitmap remembers which were met;
   its set bits, in order, are the row. Two more bitmaps say which words of the one below are not zero, unless the row
   is so long that most are not.

Rows are written one behind the other in blocks, wherever there is room, and moved to their places once all lengths are
known. Memory beside the two graphs: that of the entries once more, and 16 bytes a coarse vertex and thread where a row
is long. Cost: O(n + m).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from troth.graph import Graph
from troth.kernels import team
from troth.kernels.atomics import fetch_add, prefetch
from troth.kernels.bits import LANES, count_below, trailing_zeros
from troth.kernels.jit import inlined, kernel
from troth.kernels.sort import radix_sort
from troth.order import ONE, Order, mix64
from troth.rows import heaviest, plain_weights, rows_of

BLOCK = 4096  # vertices that a worker takes at a time
SMALL = 2**15  # vertices and entries; work on fewer is done before a team is awake
HERE = 0  # threads: the one that calls
ROWS = 64  # coarse vertices whose rows a worker makes at a time: few, for the hubs of a graph are often neighbours
ZERO = np.uint64(0)
WORD = np.uint64(6)  # bits of a bit's number
LAST = np.uint64(63)
FIRST, SECOND = np.uint32(0), np.uint32(1)
SIDE = np.uint32(1)
TOO_MUCH = np.uint64(2**63)  # what a sum of integers becomes where it is that or more


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


def _over(total: int, block: int, threads: int, work: Callable, *args) -> list:
    """Run ``work(worker, cursor, block, *args)`` on a team whose workers take blocks of 0..total-1."""
    cursor = team.new_cursor()
    if threads == HERE or total <= block:
        return [work(0, cursor, block, *args)]
    return team.run(threads, work, cursor, block, *args, cursor=cursor)


def columns(vertex_weights: np.ndarray) -> np.ndarray:
    """One or more weights a vertex as a table."""
    return vertex_weights.reshape(len(vertex_weights), math.prod(vertex_weights.shape[1:]))


def _threads(threads: int | None, work: int) -> int:
    threads = team.thread_count(threads, work)
    return HERE if work < SMALL else threads


# ---- numbers ----


@kernel
def count_first(worker, cursor, block, mate, counts):
    """counts[b] = how many vertices of block b are the first of their pair, or alone."""
    n = len(mate)
    for start, stop in chunks(cursor, block, n):
        count = 0
        for v in range(start, stop):
            count += (mate[v] < 0) | (mate[v] > v)
        counts[start // block] = count


@kernel
def number_pairs(worker, cursor, block, mate, starts, first, code):
    """Fill ``first`` and ``code``; both have one place more, for what need not be written: branches would cost more."""
    n, spare = np.int64(len(mate)), np.uint64(len(first) - 1)
    for start, stop in chunks(cursor, block, n):
        c = np.uint64(starts[start // block])
        for v in range(start, stop):
            u = np.int64(mate[v])
            is_first = (u < 0) | (u > v)
            first[c if is_first else spare] = v
            code[np.uint64(v if is_first else n)] = np.uint32(c + c)
            code[np.uint64(u if u > v else n)] = np.uint32(c + c + ONE)
            c += np.uint64(is_first)


@kernel
def gather_members(worker, cursor, block, first, mate, weights, coarse_weights, coarse):
    """coarse[v] = the coarse vertex of v, and the vertex weights of members added up, column by column."""
    count = len(first)
    for start, stop in chunks(cursor, block, count):
        for c in range(np.uint64(start), np.uint64(stop)):
            v, u = np.uint64(first[c]), mate[first[c]]
            coarse[v] = c
            for j in range(weights.shape[1]):
                coarse_weights[c, j] = weights[v, j]
            if u >= 0:
                coarse[u] = c
                for j in range(weights.shape[1]):
                    coarse_weights[c, j] += weights[u, j]


# ---- sums ----


def joined(straight, crossed):
    """The weight of a coarse edge from its two parts; compiled code only."""
    raise NotImplementedError("joined is for compiled code")


@overload(joined, inline="always")
def _joined(straight, crossed):
    if isinstance(straight, types.Float):
        return lambda straight, crossed: straight + crossed
    # Two weights below 2^63 fit 64 bits, and so do two such sums, unless one of them is too much by itself.
    return lambda straight, crossed: straight + crossed if (straight | crossed) < TOO_MUCH else TOO_MUCH


# ---- short rows ----


@inlined
def list_row(indptr, indices, weights, code, v, side, own, count, keys, values):
    """Append the keys and weights of v's row, loops left out, to the ``count`` that are there."""
    for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + ONE])):
        key = code[np.uint32(indices[e])] ^ side
        keys[count] = key
        values[count] = weights[e]
        count += np.uint64(key >> SIDE != own)
    return count


@inlined
def write_short(count, keys, values, sums, owner, zero, to, new_indices, new_weights):
    """Write the row of some keys in order; returns where it ends.

    Keys beyond ``count`` are left from rows before: they shift all places alike, and none beyond the lanes.
    """
    filled = ZERO
    for i in range(count):
        even = keys[i] & ~SIDE
        place = count_below(keys, even)
        owner[place] = even >> SIDE
        sums[place + place + np.uint64(keys[i] & SIDE)] += values[i]
        filled |= ONE << place
    while filled:
        place = trailing_zeros(filled)
        filled &= filled - ONE
        new_indices[to] = owner[place]
        new_weights[to] = joined(sums[place + place], sums[place + place + ONE])
        sums[place + place] = sums[place + place + ONE] = zero
        to += ONE
    return to


# ---- long rows ----


@inlined
def add_row(indptr, indices, weights, code, v, side, sparse, sums, bits, words, groups):
    """Add the weights of v's row to the sums of their keys, and set the bits of the coarse vertices."""
    for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + ONE])):
        key = np.uint64(code[np.uint32(indices[e])] ^ side)
        sums[key] += weights[e]
        c = key >> ONE
        bits[c >> WORD] |= ONE << (c & LAST)
        if sparse:
            word = c >> WORD
            words[word >> WORD] |= ONE << (word & LAST)
            group = word >> WORD
            groups[group >> WORD] |= ONE << (group & LAST)


@inlined
def write_word(word, sums, bits, zero, to, new_indices, new_weights):
    """Write the entries of one word of the bitmap; it and their sums are 0 again."""
    left = bits[word]
    bits[word] = ZERO
    while left:
        c = word << WORD | trailing_zeros(left)
        left &= left - ONE
        new_indices[to] = c
        new_weights[to] = joined(sums[c + c], sums[c + c + ONE])
        sums[c + c] = sums[c + c + ONE] = zero
        to += ONE
    return to


@inlined
def write_long(sparse, sums, bits, words, groups, zero, to, new_indices, new_weights):
    """Write the row of all set bits in order; returns where it ends."""
    if not sparse:
        for word in range(np.uint64(len(bits))):
            to = write_word(word, sums, bits, zero, to, new_indices, new_weights)
        return to
    for i in range(np.uint64(len(groups))):
        some_groups = groups[i]
        groups[i] = ZERO
        while some_groups:
            group = i << WORD | trailing_zeros(some_groups)
            some_groups &= some_groups - ONE
            some_words = words[group]
            words[group] = ZERO
            while some_words:
                word = group << WORD | trailing_zeros(some_words)
                some_words &= some_words - ONE
                to = write_word(word, sums, bits, zero, to, new_indices, new_weights)
    return to


# ---- rows ----


class Scratch(NamedTuple):
    """What workers need, a row for each; ``zero`` is that of the sums."""

    keys: np.ndarray
    values: np.ndarray
    short_sums: np.ndarray
    owner: np.ndarray
    sums: np.ndarray
    bits: np.ndarray
    words: np.ndarray
    groups: np.ndarray
    zero: np.float64 | np.uint64


def _scratch(threads: int, count: int, kind: np.dtype) -> Scratch:
    words = (count >> 6) + 1
    groups = (words >> 6) + 1
    return Scratch(
        np.zeros((threads, LANES + 1), np.uint32),
        np.empty((threads, LANES + 1), kind),
        np.zeros((threads, 2 * LANES), kind),
        np.empty((threads, LANES), np.uint32),
        np.zeros((threads, 2 * count), kind),  # the system gives zeros page by page, when they are touched
        np.zeros((threads, words), np.uint64),
        np.zeros((threads, groups), np.uint64),
        np.zeros((threads, (groups >> 6) + 1), np.uint64),
        kind.type(0),
    )


@kernel
def merge_rows(
    worker, cursor, block, indptr, indices, weights, clusters, scratch, taken, places, lengths, new_indices, new_weights
):
    """Write the rows of the coarse graph, block by block, to where there is room; ``places[b]`` is where block b is."""
    keys, values, owner = scratch.keys[worker], scratch.values[worker], scratch.owner[worker]
    short_sums, sums = scratch.short_sums[worker], scratch.sums[worker]
    bits, words, groups = scratch.bits[worker], scratch.words[worker], scratch.groups[worker]
    first, mate, code, zero = clusters.first, clusters.mate, clusters.code, scratch.zero
    count = len(first)
    for start, stop in chunks(cursor, block, count):
        room = np.int64(0)
        for c in range(np.uint64(start), np.uint64(stop)):
            v, u = np.uint64(first[c]), mate[first[c]]
            room += indptr[v + ONE] - indptr[v]
            if u >= 0:
                second = np.uint64(u)
                room += indptr[second + ONE] - indptr[second]
                prefetch(indices, np.uint64(indptr[second]))  # the first members' rows come in order by themselves
                prefetch(weights, np.uint64(indptr[second]))
        at = fetch_add(taken, ZERO, room)
        places[start // block] = at
        to = np.uint64(at)
        for c in range(np.uint64(start), np.uint64(stop)):
            begin = to
            v, u = np.uint64(first[c]), mate[first[c]]
            second = np.uint64(u if u >= 0 else first[c])
            entries = np.uint64(indptr[v + ONE] - indptr[v])
            if u >= 0:
                entries += np.uint64(indptr[second + ONE] - indptr[second])
            own = np.uint32(c)
            if entries <= LANES:
                k = list_row(indptr, indices, weights, code, v, FIRST, own, ZERO, keys, values)
                if u >= 0:
                    k = list_row(indptr, indices, weights, code, second, SECOND, own, k, keys, values)
                to = write_short(k, keys, values, short_sums, owner, zero, to, new_indices, new_weights)
            else:
                sparse = entries << WORD < np.uint64(count)  # fewer entries than words
                add_row(indptr, indices, weights, code, v, FIRST, sparse, sums, bits, words, groups)
                if u >= 0:
                    add_row(indptr, indices, weights, code, second, SECOND, sparse, sums, bits, words, groups)
                bits[c >> WORD] &= ~(ONE << (c & LAST))  # the loop
                sums[c + c] = sums[c + c + ONE] = zero
                to = write_long(sparse, sums, bits, words, groups, zero, to, new_indices, new_weights)
            lengths[c + ONE] = np.int64(to - begin)


@kernel
def move_rows(worker, cursor, some, block, places, indptr, indices, weights, new_indices, new_weights):
    """Move blocks of rows, ``some`` at a time, to where they belong; weights are bits.

    Returns the least, the greatest and the union of the bits.
    """
    least, greatest, union = ~ZERO, ZERO, ZERO
    for start, stop in chunks(cursor, some, len(places)):
        for b in range(start, stop):
            to, end = np.uint64(indptr[b * block]), np.uint64(indptr[min((b + 1) * block, len(indptr) - 1)])
            at = np.uint64(places[b])
            for i in range(end - to):
                new_indices[to + i] = indices[at + i]
            for i in range(end - to):
                word = weights[at + i]
                new_weights[to + i] = word
                least = min(least, np.uint64(word))
                greatest = max(greatest, np.uint64(word))
                union |= np.uint64(word)
    return least, greatest, union


# ---- pairs that are no neighbours ----


@kernel
def hash_rows(worker, cursor, block, indptr, indices, vertices, keys):
    """keys[i] = a hash of the neighbours of vertices[i]: equal for twins, leaves of one vertex, and lone vertices."""
    count = len(vertices)
    for start, stop in chunks(cursor, block, count):
        for i in range(start, stop):
            v, total = np.uint64(vertices[i]), ZERO
            for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + ONE])):
                total += mix64(np.uint64(np.uint32(indices[e])))
            keys[i] = total


@kernel
def find_favourites(worker, cursor, block, rows, order, vertices, keys):
    """keys[i] = the strongest neighbour of vertices[i]; those without one have the greatest number."""
    count = len(vertices)
    for start, stop in chunks(cursor, block, count):
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


def _pair_equal(keys: np.ndarray, vertices: np.ndarray, mate: np.ndarray, threads: int) -> None:
    if len(keys) < SMALL:
        order = np.argsort(keys, kind="stable")
        pair_equal(keys[order], vertices[order], mate)
    else:
        pair_equal(*radix_sort(keys, vertices, max(threads, 1)), mate)


# ---- edges between vertices that are light enough ----


@kernel
def fits(weights, limits, u, v):
    """Whether u and v together stay within the limit of every column."""
    good = True
    for j in range(weights.shape[1]):
        good &= weights[u, j] + weights[v, j] <= limits[j]
    return good


@kernel
def count_fitting(worker, cursor, block, indptr, indices, vertex_weights, limits, lengths):
    """lengths[v + 1] = how many neighbours of v fit."""
    n = len(indptr) - 1
    for start, stop in chunks(cursor, block, n):
        for v in range(np.uint64(start), np.uint64(stop)):
            count = 0
            for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + ONE])):
                count += fits(vertex_weights, limits, v, np.uint64(indices[e]))
            lengths[v + ONE] = count


@kernel
def copy_fitting(
    worker, cursor, block, indptr, indices, bits, vertex_weights, limits, new_indptr, new_indices, new_bits
):
    """Copy the entries whose neighbours fit."""
    n = len(indptr) - 1
    for start, stop in chunks(cursor, block, n):
        for v in range(np.uint64(start), np.uint64(stop)):
            to = np.uint64(new_indptr[v])
            for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + ONE])):
                if fits(vertex_weights, limits, v, np.uint64(indices[e])):
                    new_indices[to] = indices[e]
                    new_bits[to] = bits[e]
                    to += ONE


# ---- the device's part ----


class CpuCoarsening:
    """Coarsening on CPU threads (see ``contract.Coarsening``).

    Rows are written at first where there is room for those of the finest graph, and so for all that are coarser: the
    system gives memory page by page, and for a hierarchy it does so once.
    """

    def __init__(self, graph: Graph, threads: int | None = None) -> None:
        self.threads = threads
        self._finest, self._room = graph, None

    def _new_room(self) -> tuple[np.ndarray, np.ndarray]:
        if self._room is None:
            entries, kind = len(self._finest.indices), self._finest.weights.dtype
            self._room = np.empty(entries, np.int32), np.empty(entries, kind if kind.kind == "f" else np.uint64)
        return self._room

    def number_clusters(self, graph: Graph, mate: np.ndarray) -> Clusters:
        """The clusters of a matching, or of any vertices paired."""
        n = len(mate)
        threads = _threads(self.threads, n)
        starts = np.zeros(-(-n // BLOCK) + 1, np.int64)
        _over(n, BLOCK, threads, count_first, mate, starts[1:])
        np.cumsum(starts, out=starts)
        first, code = np.empty(starts[-1] + 1, np.int32), np.empty(n + 1, np.uint32)
        _over(n, BLOCK, threads, number_pairs, mate, starts, first, code)
        return Clusters(mate, first[:-1], code)

    def contract(self, graph: Graph, clusters: Clusters, vertex_weights: np.ndarray) -> tuple[Graph, np.ndarray, bool]:
        """The coarse graph, the coarse vertex of every vertex, and whether a sum was too great for its type."""
        threads, count = _threads(self.threads, graph.n + len(graph.indices)), clusters.size
        coarse = np.empty(graph.n, np.int32)
        coarse_weights = np.empty((count, *vertex_weights.shape[1:]), vertex_weights.dtype)
        members = clusters.first, clusters.mate, columns(vertex_weights), columns(coarse_weights), coarse
        _over(count, BLOCK, threads, gather_members, *members)

        weights, rows, row_weights = plain_weights(graph), *self._new_room()
        lengths, places, taken = np.zeros(count + 1, np.int64), np.empty(-(-count // ROWS), np.int64), team.new_cursor()
        kind = np.dtype(np.float64 if weights.dtype.kind == "f" else np.uint64)
        scratch = _scratch(max(threads, 1), count, kind)
        given = graph.indptr, graph.indices, weights, clusters, scratch
        _over(count, ROWS, threads, merge_rows, *given, taken, places, lengths, rows, row_weights)

        indptr = np.cumsum(lengths, out=lengths)
        indices, new_weights = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], row_weights.dtype)
        bits = np.dtype(f"u{row_weights.itemsize}")
        ends = rows, row_weights.view(bits), indices, new_weights.view(bits)
        found = _over(len(places), 16, threads, move_rows, ROWS, places, indptr, *ends)
        least, greatest, unions = zip(*found, strict=True)
        spread = (int(min(least)), int(max(greatest)), int(np.bitwise_or.reduce(unions))) if len(indices) else None
        limit = np.array(np.inf, new_weights.dtype).view(bits) if kind == np.float64 else TOO_MUCH
        spilled = len(indices) > 0 and max(greatest) >= limit
        if kind == np.uint64:
            new_weights = new_weights.view(np.int64)
        return Graph.trusted(indptr, indices, new_weights, coarse_weights, weight_range=spread), coarse, spilled

    def pair_twins(self, graph: Graph, vertices: np.ndarray, mate: np.ndarray) -> None:
        """Pair those of the vertices, which ascend, that have the same neighbours."""
        threads, keys = _threads(self.threads, graph.n + len(graph.indices)), np.empty(len(vertices), np.uint64)
        _over(len(vertices), BLOCK, threads, hash_rows, graph.indptr, graph.indices, vertices, keys)
        _pair_equal(keys, vertices, mate, threads)

    def pair_relatives(self, graph: Graph, order: Order, vertices: np.ndarray, mate: np.ndarray) -> None:
        """Pair those of the vertices, which ascend, that have the same strongest neighbour."""
        threads, keys = _threads(self.threads, graph.n + len(graph.indices)), np.empty(len(vertices), np.uint32)
        _over(len(vertices), BLOCK, threads, find_favourites, rows_of(graph), order, vertices, keys)
        _pair_equal(keys, vertices, mate, threads)

    def fitting_edges(self, graph: Graph, vertex_weights: np.ndarray, limits: np.ndarray) -> Graph:
        """The graph without the edges whose ends together weigh more than the limits."""
        threads, (indptr, indices, bits) = _threads(self.threads, graph.n + len(graph.indices)), rows_of(graph)
        vertex_weights, limits = columns(vertex_weights), np.atleast_1d(limits)
        lengths = np.zeros(graph.n + 1, np.int64)
        _over(graph.n, BLOCK, threads, count_fitting, indptr, indices, vertex_weights, limits, lengths)
        new_indptr = np.cumsum(lengths, out=lengths)
        new_indices, new_bits = np.empty(new_indptr[-1], np.int32), np.empty(new_indptr[-1], bits.dtype)
        arrays = indptr, indices, bits, vertex_weights, limits, new_indptr, new_indices, new_bits
        _over(graph.n, BLOCK, threads, copy_fitting, *arrays)
        return Graph.trusted(new_indptr, new_indices, new_bits.view(graph.weights.dtype))
