"""Blocks of rows come to their places in whatever order they are made, and whatever a worker cannot keep."""

from __future__ import annotations

import numpy as np
import pytest

from troth.cpu import blocks as kernels
from troth.cpu.blocks import HOME, KEPT, MOST_KEPT, begin_block, clear, end_block, finish, new_blocks, new_staging
from troth.kernels.jit import kernel

SIZE = 3  # rows of a block


@kernel
def make_block(worker, number, size, room, lengths, staging, blocks):
    """A worker makes one block, whose rows have these lengths; an entry and its bits are 1000 * row + its place + 1."""
    begin = begin_block(worker, room, staging)
    to = begin
    for c in range(number * size, min((number + 1) * size, len(lengths))):
        for i in range(lengths[c]):
            staging.indices[np.uint64(to)] = staging.bits[np.uint64(to)] = 1000 * c + i + 1
            to += 1
        blocks.indptr[np.uint64(c + 1)] = to - begin
    end_block(worker, number, size, begin, to, staging, blocks)


def make_all(lengths, order, workers: int, room=None):
    """Make blocks in an order of (worker, number); the rows that come of it."""
    lengths = np.array(lengths, np.int64)
    total = int(lengths.sum())
    entries = max(total, len(order) * (room or 0))
    staging, blocks = (
        new_staging(workers, entries, np.dtype(np.uint32)),
        new_blocks(len(lengths), SIZE, entries, np.dtype(np.uint32)),
    )
    clear(staging)
    for worker, number in order:
        own = int(lengths[number * SIZE : (number + 1) * SIZE].sum())
        make_block(worker, number, SIZE, max(own, room or 0), lengths, staging, blocks)
    kept = staging.counts[:workers, KEPT].copy()
    spread = finish(blocks, SIZE, workers, staging)
    assert blocks.indptr.tolist() == [0, *np.cumsum(lengths).tolist()]
    wanted = [1000 * c + i + 1 for c, length in enumerate(lengths) for i in range(length)]
    assert blocks.indices.tolist() == blocks.bits.tolist() == wanted
    assert spread == (min(wanted), max(wanted), int(np.bitwise_or.reduce(np.array(wanted))))
    return kept.tolist()


LENGTHS = (2, 0, 5, 1, 1, 1, 0, 0, 0, 7, 3)  # four blocks, one of them empty, the last not full


def test_in_order_nothing_is_kept():
    assert make_all(LENGTHS, [(0, 0), (1, 1), (0, 2), (1, 3)], 2) == [0, 0]


@pytest.mark.parametrize("order", [[(1, 1), (1, 2), (0, 0), (0, 3)], [(1, 3), (2, 2), (3, 1), (0, 0)]])
def test_out_of_order_the_rest_comes_in_the_end(order):
    assert sum(make_all(LENGTHS, order, 4)) > 0  # whose predecessor came later than their worker's last look


def test_a_worker_puts_away_what_it_kept_when_it_looks_again():
    assert make_all(LENGTHS, [(1, 1), (0, 0), (1, 2), (1, 3)], 2) == [0, 0]


def test_a_block_larger_than_a_worker_keeps():
    assert make_all((HOME + 5, 1, 1, 4, 4), [(0, 0), (1, 1)], 2) == [0, 0]
    make_all((1, 1, 1, HOME + 5, 4), [(1, 1), (0, 0)], 2)


def test_more_blocks_than_a_worker_keeps():
    count = MOST_KEPT + 9
    order = [(1, number) for number in range(1, count)] + [(0, 0)]
    assert make_all([1] * (SIZE * count), order, 2)[1] == MOST_KEPT


def test_more_entries_than_a_worker_keeps():
    count = 9
    order = [(1, number) for number in range(1, count)] + [(0, 0)]
    make_all([2] * (SIZE * count), order, 2, room=kernels.HOME // 4)
