"""Sorts: whole numbers by radix, and stretches of (bits, rank) keys by merging.

The key of a neighbour in a row is (weight bits, priority), that of an edge (weight bits, max priority << 32 | min
priority); keys are distinct, and all orders here but that of plain radix keys are descending.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from troth.kernels.jit import kernel
from troth.kernels.team import chunks, run_team

DIGITS = 256
ONE = np.uint64(1)
LAST = np.uint64(DIGITS - 1)
SHARE = 1 << 15  # keys that are worth a thread
WHOLE = 16  # the length up to which Shell's method sorts faster than splitting
STACK = 128  # numbers on the stack of ``sort_pairs``: two for each halving
RUN = np.uint64(12)  # the length up to which insertion sorts faster than merging


# ---- radix ----


@kernel
def count_digits(worker, cursor, chunk, bounds, keys, shift, flip, counts):
    """counts[b, d] = how many keys of block b, which begins at bounds[b], have digit d."""
    for b, _ in chunks(cursor, chunk, len(counts)):
        own = counts[b]
        own[:] = 0
        for i in range(np.uint64(bounds[b]), np.uint64(bounds[b + 1])):
            own[(np.uint64(keys[i]) >> shift & LAST) ^ flip] += 1


@kernel
def scatter(worker, cursor, chunk, bounds, keys, values, shift, flip, places, new_keys, new_values):
    """Move blocks to where their digits go: ``places[b, d]`` is the next place for digit d of block b."""
    for b, _ in chunks(cursor, chunk, len(places)):
        own = places[b]
        for i in range(np.uint64(bounds[b]), np.uint64(bounds[b + 1])):
            digit = (np.uint64(keys[i]) >> shift & LAST) ^ flip
            to = np.uint64(own[digit])
            own[digit] += 1
            new_keys[to] = keys[i]
            if values is not None:
                new_values[to] = values[i]


def radix_sort(
    keys: np.ndarray, values: np.ndarray | None, threads: int = 1, descending: bool = False
) -> tuple[np.ndarray, Any]:
    """Unsigned keys in order, and their values with them; equal keys stay in the order given.

    One counting pass a byte, from the last to the first; bytes in which all keys agree are not moved. O(n) a
    byte, with a second copy of keys and values. Both inputs are used up.

    Examples
    --------
    >>> keys, places = radix_sort(np.array([3, 1, 300, 1], np.uint16), np.arange(4))
    >>> keys.tolist(), places.tolist()
    ([1, 1, 3, 300], [1, 3, 0, 2])
    """
    n = len(keys)
    threads = min(threads, n // SHARE + 1)
    run_blocks = partial(run_team, chunk=1, serial_below=0)  # as many as threads, each taken whole
    bounds = np.linspace(0, n, threads + 1).astype(np.int64)
    counts = np.empty((threads, DIGITS), np.int64)
    flip = LAST if descending else np.uint64(0)
    new_keys, new_values = np.empty_like(keys), None if values is None else np.empty_like(values)
    for byte in range(keys.itemsize):
        shift = np.uint64(8 * byte)
        run_blocks(count_digits, threads, threads, bounds, keys, shift, flip, counts)
        if counts.sum(axis=0).max() == n:
            continue
        # Digit after digit and, within a digit, block after block: that is what keeps equal keys in order.
        ends = counts.T.ravel().cumsum().reshape(DIGITS, threads).T
        given = bounds, keys, values, shift, flip, ends - counts
        run_blocks(scatter, threads, threads, *given, new_keys, new_values)
        keys, new_keys, values, new_values = new_keys, keys, new_values, values
    return keys, values


# ---- merging ----


@kernel
def ahead(bits, rank, other_bits, other_rank):
    """Whether one key is larger than another."""
    return bits > other_bits or (bits == other_bits and rank > other_rank)


@kernel
def insertion_sort(start, stop, bits, ranks):
    """Sort a short stretch, in place."""
    for i in range(start + ONE, stop):
        b, r = bits[i], ranks[i]
        j = i
        while j > start and ahead(b, r, bits[j - ONE], ranks[j - ONE]):
            bits[j], ranks[j] = bits[j - ONE], ranks[j - ONE]
            j -= ONE
        bits[j], ranks[j] = b, r


@kernel
def merge(start, middle, stop, bits, ranks, left_bits, left_ranks):
    """Merge two sorted stretches; the left one moves aside, and what is written never passes what is to be read."""
    count = middle - start
    for i in range(count):
        left_bits[i], left_ranks[i] = bits[start + i], ranks[start + i]
    i, j, to = np.uint64(0), middle, start
    while i < count:
        if j < stop and ahead(bits[j], ranks[j], left_bits[i], left_ranks[i]):
            bits[to], ranks[to] = bits[j], ranks[j]
            j += ONE
        else:
            bits[to], ranks[to] = left_bits[i], left_ranks[i]
            i += ONE
        to += ONE


@kernel
def merge_sort(start, stop, bits, ranks, spare_bits, spare_ranks):
    """Sort a stretch in O(k log k); the spare arrays are as long as it is, or longer."""
    for i in range(start, stop, RUN):
        insertion_sort(i, min(i + RUN, stop), bits, ranks)
    width = RUN
    while width < stop - start:
        for i in range(start, stop - width, width + width):
            merge(i, i + width, min(i + width + width, stop), bits, ranks, spare_bits, spare_ranks)
        width += width


# ---- pairs in place ----


@kernel
def shell_sort(first, last, keys, values):
    """Sort pairs by key, in place; fast where they are few or nearly in order."""
    gap = last - first
    while gap > 1:
        gap = max(gap * 4 // 9, 1)
        for i in range(first + gap, last):
            key, value, to = keys[i], values[i], i
            while to - gap >= first and keys[to - gap] > key:
                keys[to], values[to] = keys[to - gap], values[to - gap]
                to -= gap
            if to != i:
                keys[to], values[to] = key, value


@kernel
def split(first, last, keys, values):
    """Move the pairs below the middle one of three keys to the front, and it behind them; returns its place.

    A comparison decides an addition and no branch: half of the branches would be mispredicted.
    """
    middle, end = (first + last) >> 1, last - 1
    a, b, c = keys[first], keys[middle], keys[end]
    pivot = max(min(a, b), min(max(a, b), c))
    at = first if a == pivot else middle if b == pivot else end
    keys[at], keys[end] = keys[end], keys[at]
    values[at], values[end] = values[end], values[at]
    to = first
    for i in range(first, end):
        key, value = keys[i], values[i]
        keys[i], values[i] = keys[to], values[to]
        keys[to], values[to] = key, value
        to += key < pivot
    keys[to], keys[end] = keys[end], keys[to]
    values[to], values[end] = values[end], values[to]
    return to


@kernel
def sort_pairs(first, last, keys, values, stack):
    """Sort keys[first:last] ascending, and their values with them, in place; equal keys in any order.

    Quicksort: the larger part of a split waits on the stack, which so never holds more than one for each halving. What
    is short, and all of it once splits were so bad that they took twice the time to be expected, Shell's method sorts.
    """
    size = last - first
    room = size * 4
    while size > 1:
        room += size * 2
        size >>= 1
    depth = 0
    while True:
        while last - first > WHOLE and room > 0:
            room -= last - first
            at = split(first, last, keys, values)
            if at - first < last - at:
                stack[depth], stack[depth + 1] = at + 1, last
                last = at
            else:
                stack[depth], stack[depth + 1] = first, at
                first = at + 1
            depth += 2
        shell_sort(first, last, keys, values)
        if depth == 0:
            return
        depth -= 2
        first, last = stack[depth], stack[depth + 1]
