"""Suitor's first choices in a stream: the two best neighbours of a group of vertices, without a look at any offer.

Keys are made in one flat loop over consecutive entries, which compilers turn into vector code, and a row's maximum
needs no branch. Most first offers stand for good.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.cpu.offers import GROUP, NONE
from troth.kernels.bits import WIDE, two_largest, two_largest_side_by_side
from troth.kernels.jit import inlined
from troth.kernels.team import worker_rows
from troth.order import ONE, PRIORITY_BITS, prefix, priority, vertex
from troth.rows import Rows

TILE = np.uint64(2**14)  # keys made at a time
LONG = np.uint64(8)  # keys from which vectors pay
LANES = np.uint64(WIDE)
AT_MOST = np.uint64(16)  # keys of rows looked through side by side; a worker's row of keys has room for as many more
NEAR = np.uint64(2**15)  # ids this close are likely to share the cache


class Scratch(NamedTuple):
    """What workers need for a group of vertices, a row for each worker; ``scratch_of`` is one worker's own.

    Keys and queue of the group, its first and second choices; and, where rows are copied before they are looked at, the
    ids, the bits of the weights, and the words of the ids.
    """

    keys: np.ndarray
    first: np.ndarray
    second: np.ndarray
    queue: np.ndarray
    indices: np.ndarray
    bits: np.ndarray
    held: np.ndarray


def new_scratch(threads: int, rows: Rows) -> Scratch:
    """Room for so many workers. All weights are the first one at first, for rows of which only ids are copied."""
    word, tile, group = np.dtype(np.uint64), int(TILE), int(GROUP)
    sizes = (tile, word), (group, word), (group, word), (group, word)
    copies = (tile, rows.indices.dtype), (tile, rows.bits.dtype), (tile, word)
    scratch = Scratch(*(worker_rows(threads, *each) for each in sizes + copies))
    scratch.bits[:] = rows.bits[0]
    return scratch


@inlined
def scratch_of(scratch, worker):
    """A worker's own rows."""
    return Scratch(
        scratch.keys[worker],
        scratch.first[worker],
        scratch.second[worker],
        scratch.queue[worker],
        scratch.indices[worker],
        scratch.bits[worker],
        scratch.held[worker],
    )


@inlined
def make_keys(rows, order, start, stop, keys):
    """keys[i] = (prefix, priority of the neighbour) of entry start + i.

    ``priority`` written out in 32-bit arithmetic: 16 lanes of a vector register instead of 8. Where classes have to be
    fetched that is no faster.
    """
    _make_keys(rows, order, order.classes, start, stop, keys)


@inlined
def _make_keys(rows, order, classes, start, stop, keys):
    flip, mul1, mul2 = np.uint32(order.flip), np.uint32(order.mul1), np.uint32(order.mul2)
    if classes is None:  # known when compiling
        for i in range(stop - start):
            x = np.uint32(np.uint32(np.uint32(rows.indices[start + i]) ^ flip) * mul1)
            x ^= np.uint32(np.uint64(x) >> order.shift)
            keys[i] = prefix(rows.bits[start + i], order) << PRIORITY_BITS | np.uint64(np.uint32(x * mul2))
    else:
        for i in range(stop - start):
            keys[i] = prefix(rows.bits[start + i], order) << PRIORITY_BITS | priority(order, rows.indices[start + i])


@inlined
def find_vertices(order, words, count, found):
    """found[i] = the vertex of priority words[i] (the lower half), in 32-bit arithmetic as above."""
    _find_vertices(order, order.classes, words, count, found)


@inlined
def _find_vertices(order, classes, words, count, found):
    flip, inv1, inv2 = np.uint32(order.flip), np.uint32(order.inv1), np.uint32(order.inv2)
    if classes is None:  # known when compiling
        for i in range(count):
            x = np.uint32(np.uint32(words[i]) * inv2)
            x ^= np.uint32(np.uint64(x) >> order.shift)
            found[i] = np.uint64(np.uint32(x * inv1) ^ flip)
    else:
        for i in range(count):
            found[i] = vertex(order, words[i])


@inlined
def best_two(keys, start, stop, best, second):
    """The two largest of ``best``, ``second`` and some keys."""
    if stop - start >= LONG:
        most, more = two_largest(keys, start, stop)
        return max(best, most), max(max(second, more), min(best, most))
    for i in range(start, stop):
        key = keys[i]
        second = max(second, min(best, key))
        best = max(best, key)
    return best, second


@inlined
def choose_one(rows, order, u, keys, start, together):
    """First and second choice of u; ``together``: the keys from entry ``start`` on are made already."""
    begin, end = np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + ONE])
    best = second = NONE
    if together:
        best, second = best_two(keys, begin - start, end - start, best, second)
    else:
        while begin < end:
            count = min(end - begin, TILE)
            make_keys(rows, order, begin, begin + count, keys)
            best, second = best_two(keys, NONE, count, best, second)
            begin += count
    return best, second


@inlined
def choose(rows, order, first, last, keys, firsts, seconds):
    """First and second choices of the vertices first..last-1, as keys; looks at no offer."""
    start, stop = np.uint64(rows.indptr[first]), np.uint64(rows.indptr[last])
    together = stop - start <= TILE
    if together:
        make_keys(rows, order, start, stop, keys)
    if stop - start <= LONG * (last - first):
        u = first
        while u < last:
            if u + LANES <= last and two_largest_side_by_side(
                keys, rows.indptr, u, start, AT_MOST, firsts, seconds, u - first
            ):
                u += LANES
            else:
                firsts[u - first], seconds[u - first] = choose_one(rows, order, u, keys, start, together)
                u += ONE
    else:
        for u in range(first, last):
            firsts[u - first], seconds[u - first] = choose_one(rows, order, u, keys, start, together)
