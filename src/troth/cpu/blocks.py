"""New rows in blocks: made by whoever is free, and put behind each other in the order of their numbers.

Where a block begins is known once the lengths of all blocks before it are. As a rule they are when a block is made, and
it goes to its place out of the cache. Else it stays where it was made, and its worker goes on with other blocks and
tries again after each. Nobody waits: what a worker cannot keep, and so all after it, is put away in the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.kernels.atomics import fetch_add, load, store
from troth.kernels.jit import inlined, kernel
from troth.kernels.team import chunks, new_cursor, run_team, worker_rows
from troth.order import ONE

UNKNOWN, PLACED = np.int64(-1), np.int64(-1)
MOST_KEPT = 256  # blocks that a worker tries again to put away
HOME = 2**16  # entries of these
SENT, KEPT, TOP = 0, 1, 2  # what a worker counts: blocks with a place, all that it keeps, and their entries
LEAST, GREATEST, UNION = 0, 1, 2  # what it finds out about the bits of the weights
ZERO = np.uint64(0)


class Blocks(NamedTuple):
    """The new rows, and blocks on their way there; ``indices`` and ``bits`` have more room than there are entries."""

    begins: np.ndarray  # where block b begins, or UNKNOWN
    lengths: np.ndarray  # its entries
    made: np.ndarray  # where it was made, or PLACED
    indptr: np.ndarray
    indices: np.ndarray
    bits: np.ndarray  # of the weights


class Staging(NamedTuple):
    """Where blocks are made: every worker has a part of its own, and behind there is room for all."""

    indices: np.ndarray
    weights: np.ndarray
    bits: np.ndarray  # the same memory
    taken: np.ndarray  # of the room for all, as a cursor
    kept: np.ndarray  # numbers of blocks; here and below, a row for each worker
    counts: np.ndarray
    spread: np.ndarray


def new_blocks(count: int, size: int, entries: int, kind: np.dtype) -> Blocks:
    """So many rows to come, in blocks of ``size``, with that many entries at most."""
    number = -(-count // size)
    begins, lengths, made = np.full(number + 1, UNKNOWN), np.zeros(number, np.int64), np.full(number, PLACED)
    indptr, bits = np.empty(count + 1, np.int64), np.empty(entries, f"u{kind.itemsize}")
    begins[0] = indptr[0] = 0
    return Blocks(begins, lengths, made, indptr, np.empty(entries, np.int32), bits)


def new_staging(threads: int, entries: int, kind: np.dtype) -> Staging:
    """Room for the blocks of so many workers; memory that is not used is not touched either."""
    room = threads * HOME + entries
    weights, kept = np.empty(room, kind), worker_rows(threads, MOST_KEPT, np.int64)
    counts, spread = worker_rows(threads, 3, np.int64), worker_rows(threads, 3, np.uint64)
    return Staging(
        np.empty(room, np.int32), weights, weights.view(f"u{kind.itemsize}"), new_cursor(), kept, counts, spread
    )


def clear(staging: Staging) -> None:
    """Nothing is there yet."""
    staging.taken[0], staging.counts[:], staging.spread[:] = len(staging.counts) * HOME, 0, 0
    staging.spread[:, LEAST] = 2**64 - 1


@inlined
def begin_block(worker, room, staging):
    """Where to make the next block, which has at most so many entries."""
    top = staging.counts[worker, TOP]
    if top + room <= HOME and staging.counts[worker, KEPT] < MOST_KEPT:
        return np.int64(worker * HOME) + top
    return fetch_add(staging.taken, ZERO, room)


@inlined
def end_block(worker, number, size, begin, end, staging, blocks):
    """The block of this number is made; ``indptr`` has the ends of its rows as seen from its own begin."""
    blocks.made[number], blocks.lengths[number] = begin, end - begin
    kept = staging.counts[worker, KEPT]
    if kept < MOST_KEPT:
        staging.kept[worker, kept] = number
        staging.counts[worker, KEPT] = kept + 1
        if begin < (worker + 1) * HOME:
            staging.counts[worker, TOP] = end - worker * HOME
    put_kept(worker, size, staging, blocks)


@kernel
def put_kept(worker, size, staging, blocks):
    """Put the blocks that a worker keeps to their places, as far as these are known."""
    counts = staging.counts[worker]
    while counts[SENT] < counts[KEPT]:
        b = np.uint64(staging.kept[worker, counts[SENT]])
        begin = load(blocks.begins, b)
        if begin == UNKNOWN:
            return
        store(blocks.begins, b + ONE, begin + blocks.lengths[b])
        put_block(worker, b, begin, size, staging, blocks)
        counts[SENT] += 1
    counts[SENT] = counts[KEPT] = counts[TOP] = 0


@inlined
def put_block(worker, b, begin, size, staging, blocks):
    """Put a block to its place, and take note of its weights."""
    spread = staging.spread[worker]
    least, greatest, union = spread[LEAST], spread[GREATEST], spread[UNION]
    at, to, length = np.uint64(blocks.made[b]), np.uint64(begin), np.uint64(blocks.lengths[b])
    for i in range(length):
        blocks.indices[to + i] = staging.indices[at + i]
    for i in range(length):
        word = staging.bits[at + i]
        blocks.bits[to + i] = word
        least = min(least, np.uint64(word))
        greatest = max(greatest, np.uint64(word))
        union |= np.uint64(word)
    spread[LEAST], spread[GREATEST], spread[UNION] = least, greatest, union
    first, last = b * np.uint64(size), min((b + ONE) * np.uint64(size), np.uint64(len(blocks.indptr) - 1))
    for c in range(first, last):
        blocks.indptr[c + ONE] += begin
    blocks.made[b] = PLACED


@kernel
def put_rest(worker, cursor, chunk, size, staging, blocks):
    """Put all blocks that are left to their places."""
    for start, stop in chunks(cursor, chunk, len(blocks.made)):
        for b in range(np.uint64(start), np.uint64(stop)):
            if blocks.made[b] != PLACED:
                put_block(worker, b, blocks.begins[b], size, staging, blocks)


def finish(blocks: Blocks, size: int, threads: int, staging: Staging) -> tuple[int, int, int]:
    """Put away what is left, and give back room that was not needed. Returns least, greatest and union of the bits."""
    np.cumsum(blocks.lengths, out=blocks.begins[1:])
    if (blocks.made != PLACED).any():
        run_team(put_rest, len(blocks.made), threads, size, staging, blocks, chunk=16, serial_below=17)
    for array in (blocks.indices, blocks.bits):
        array.resize(blocks.begins[-1], refcheck=False)
    least, greatest, union = (staging.spread[:, column] for column in (LEAST, GREATEST, UNION))
    return int(least.min()), int(greatest.max()), int(np.bitwise_or.reduce(union))
