"""Merging the rows of pairs: the kernels that ``coarsen.py`` spends its time in, and which keys they merge by.

What costs is bringing each row into order without branches that no processor can predict:

1. *Short rows*, up to 32 entries: an entry's place is the number of keys below its own, counted by one or two vector
   instructions. Equal neighbours have equal places, and that is where their weights add up.
2. *Long rows*: weights add up in an array that has room for every coarse vertex, and a bitmap remembers which were met;
   its set bits, in order, are the row. Two more bitmaps say which words of the one below are not zero, unless the row
   is so long that most are not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from troth.cpu.blocks import begin_block, end_block
from troth.cpu.exact import TOO_MUCH
from troth.kernels.atomics import prefetch
from troth.kernels.bits import LANES, count_below, trailing_zeros
from troth.kernels.jit import inlined, kernel
from troth.kernels.team import APART, chunks, worker_rows
from troth.order import ONE

ZERO = np.uint64(0)
WORD = np.uint64(6)  # bits of a bit's number
LAST = np.uint64(63)
FIRST, SECOND = np.uint32(0), np.uint32(1)
SIDE = np.uint32(1)
TILE = 128  # keys of a long row that are found together
AHEAD = 16  # how many keys before its own a sum is fetched into the cache
BEHIND = np.uint64(APART // 8)  # words of a bitmap that keep it apart from the next worker's


class ShortScratch(NamedTuple):
    """For short rows; all workers' arrays, or those of one."""

    keys: np.ndarray
    values: np.ndarray
    sums: np.ndarray
    owner: np.ndarray


class LongScratch(NamedTuple):
    """For long rows; all workers' arrays, or those of one. Sums and bitmaps are 0 between two rows."""

    keys: np.ndarray
    sums: np.ndarray
    bits: np.ndarray
    words: np.ndarray
    groups: np.ndarray


def new_scratch(threads: int, count: int, kind: np.dtype) -> tuple[ShortScratch, LongScratch]:
    """Scratch of workers who make the rows of so many coarse vertices; sums are of this kind."""
    words = (count >> 6) + 1
    groups = (words >> 6) + 1
    short = ShortScratch(
        worker_rows(threads, LANES + 1, np.uint32, np.zeros),
        worker_rows(threads, LANES + 1, kind),
        worker_rows(threads, 2 * LANES, kind, np.zeros),
        worker_rows(threads, LANES, np.uint32),
    )
    long = LongScratch(
        worker_rows(threads, TILE + AHEAD, np.uint32, np.zeros),
        worker_rows(threads, 2 * count, kind, np.zeros),  # the system gives zeros page by page, when they are touched
        worker_rows(threads, words, np.uint64, np.zeros),
        worker_rows(threads, groups, np.uint64, np.zeros),
        worker_rows(threads, (groups >> 6) + 1, np.uint64, np.zeros),
    )
    return short, long


@inlined
def scratch_of(short, long, worker):
    """The scratch of one worker."""
    return (
        ShortScratch(short.keys[worker], short.values[worker], short.sums[worker], short.owner[worker]),
        LongScratch(long.keys[worker], long.sums[worker], long.bits[worker], long.words[worker], long.groups[worker]),
    )


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
def list_row(rows, code, v, side, own, count, short):
    """Append the keys and weights of v's row, loops left out, to the ``count`` that are there."""
    for e in range(np.uint64(rows.indptr[v]), np.uint64(rows.indptr[v + ONE])):
        key = code[np.uint32(rows.indices[e])] ^ side
        short.keys[count] = key
        short.values[count] = rows.weights[e]
        count += np.uint64(key >> SIDE != own)
    return count


@inlined
def write_short(count, zero, to, short, staging):
    """Write the row of some keys in order; returns where it ends.

    Keys beyond ``count`` are left from rows before: they shift all places alike, and none beyond the lanes.
    """
    keys, sums = short.keys, short.sums
    filled = ZERO
    for i in range(count):
        even = keys[i] & ~SIDE
        place = count_below(keys, even)
        short.owner[place] = even >> SIDE
        sums[place + place + np.uint64(keys[i] & SIDE)] += short.values[i]
        filled |= ONE << place
    return write_places(filled, zero, to, short, staging)


@inlined
def write_places(filled, zero, to, short, staging):
    """Write the entries of a short row, whose places are the bits of ``filled``; their sums are 0 again."""
    sums = short.sums
    while filled:
        place = trailing_zeros(filled)
        filled &= filled - ONE
        staging.indices[to] = short.owner[place]
        staging.weights[to] = joined(sums[place + place], sums[place + place + ONE])
        sums[place + place] = sums[place + place + ONE] = zero
        to += ONE
    return to


# ---- long rows ----


@inlined
def add_row(rows, code, v, side, sparse, long):
    """Add the weights of v's row to the sums of their keys, and set the bits of the coarse vertices."""
    stop = np.uint64(rows.indptr[v + ONE])
    for begin in range(np.uint64(rows.indptr[v]), stop, TILE):
        count = min(np.uint64(TILE), stop - begin)
        for i in range(count):
            long.keys[i] = code[np.uint32(rows.indices[begin + i])] ^ side
        for i in range(count):
            prefetch(long.sums, np.uint64(long.keys[i + AHEAD]))
            key = np.uint64(long.keys[i])
            long.sums[key] += rows.weights[begin + i]
            c = key >> ONE
            long.bits[c >> WORD] |= ONE << (c & LAST)
            if sparse:
                word = c >> WORD
                long.words[word >> WORD] |= ONE << (word & LAST)
                group = word >> WORD
                long.groups[group >> WORD] |= ONE << (group & LAST)


@inlined
def write_word(word, zero, to, long, staging):
    """Write the entries of one word of the bitmap; it and their sums are 0 again."""
    left, sums = long.bits[word], long.sums
    long.bits[word] = ZERO
    while left:
        c = word << WORD | trailing_zeros(left)
        left &= left - ONE
        staging.indices[to] = c
        staging.weights[to] = joined(sums[c + c], sums[c + c + ONE])
        sums[c + c] = sums[c + c + ONE] = zero
        to += ONE
    return to


@inlined
def write_long(sparse, zero, to, long, staging):
    """Write the row of all set bits in order; returns where it ends."""
    if not sparse:
        for word in range(np.uint64(len(long.bits)) - BEHIND):
            to = write_word(word, zero, to, long, staging)
        return to
    for i in range(np.uint64(len(long.groups)) - BEHIND):
        some_groups = long.groups[i]
        long.groups[i] = ZERO
        while some_groups:
            group = i << WORD | trailing_zeros(some_groups)
            some_groups &= some_groups - ONE
            some_words = long.words[group]
            long.words[group] = ZERO
            while some_words:
                word = group << WORD | trailing_zeros(some_words)
                some_words &= some_words - ONE
                to = write_word(word, zero, to, long, staging)
    return to


# ---- rows ----


@kernel
def merge_members(worker, cursor, chunk, rows, clusters, zero, all_short, all_long, staging, blocks):
    """Make the rows of the coarse graph, block by block; ``zero`` is that of the sums."""
    short, long = scratch_of(all_short, all_long, worker)
    first, mate, code, indptr = clusters.first, clusters.mate, clusters.code, rows.indptr
    count = len(first)
    for start, stop in chunks(cursor, chunk, count):
        room = np.int64(0)
        for c in range(np.uint64(start), np.uint64(stop)):
            v, u = np.uint64(first[c]), mate[first[c]]
            room += indptr[v + ONE] - indptr[v]
            if u >= 0:
                second = np.uint64(u)
                room += indptr[second + ONE] - indptr[second]
                prefetch(rows.indices, np.uint64(indptr[second]))  # the first members' rows come in order by themselves
                prefetch(rows.weights, np.uint64(indptr[second]))
        begin = begin_block(worker, room, staging)
        to = np.uint64(begin)
        for c in range(np.uint64(start), np.uint64(stop)):
            v, u = np.uint64(first[c]), mate[first[c]]
            second = np.uint64(u if u >= 0 else first[c])
            entries = np.uint64(indptr[v + ONE] - indptr[v])
            if u >= 0:
                entries += np.uint64(indptr[second + ONE] - indptr[second])
            own = np.uint32(c)
            if entries <= LANES:
                k = list_row(rows, code, v, FIRST, own, ZERO, short)
                if u >= 0:
                    k = list_row(rows, code, second, SECOND, own, k, short)
                to = write_short(k, zero, to, short, staging)
            else:
                sparse = entries << WORD < np.uint64(count)  # fewer entries than words
                add_row(rows, code, v, FIRST, sparse, long)
                if u >= 0:
                    add_row(rows, code, second, SECOND, sparse, long)
                long.bits[c >> WORD] &= ~(ONE << (c & LAST))  # the loop
                long.sums[c + c] = long.sums[c + c + ONE] = zero
                to = write_long(sparse, zero, to, long, staging)
            blocks.indptr[c + ONE] = np.int64(to) - begin
        end_block(worker, start // chunk, chunk, begin, np.int64(to), staging, blocks)
