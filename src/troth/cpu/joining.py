"""Contraction of clusters on CPU threads: the rows of up to ``MOST_JOINED`` members become one.

Invariant: clusters are numbered in the order of their first members, and members ascend. The weight between two
clusters is the exact sum of the weights between their members, rounded to float64 and then to the type of the weights
(``exact.py``), so it depends neither on threads nor on the direction nor on the device.

Rows are put in order as in ``merging.py``: short ones by counting smaller keys, long ones by bitmaps; keys are even,
since there is one sum for each neighbour, which takes the place of two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.cpu.blocks import begin_block, end_block
from troth.cpu.exact import LIMBS, add_term, add_to_limbs, clear_limbs, round_limbs
from troth.cpu.merging import AHEAD, LAST, SIDE, TILE, WORD, ZERO, scratch_of, write_long, write_places
from troth.kernels.atomics import prefetch
from troth.kernels.bits import LANES, count_below
from troth.kernels.jit import inlined, kernel, step
from troth.kernels.team import chunks, worker_rows
from troth.order import ONE
from troth.rows import find


class Groups(NamedTuple):
    """Clusters, numbered: those of c are ``members[starts[c] : starts[c + 1]]``, and ``coarse[v]`` is that of v."""

    coarse: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    joined: int = 0  # vertices that joined others without an edge

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.starts) - 1


def new_limbs(threads: int) -> np.ndarray:
    """Scratch of workers who add exactly."""
    return worker_rows(threads, LIMBS, np.uint64)


@kernel
def gather_members(worker, cursor, chunk, weights, groups, coarse_weights):
    """Bring the members of every cluster into order, and add up their weights in that order, column by column."""
    starts, members = groups.starts, groups.members
    for start, stop in chunks(cursor, chunk, len(starts) - 1):
        for c in range(np.uint64(start), np.uint64(stop)):
            begin, end = np.uint64(starts[c]), np.uint64(starts[c + ONE])
            for i in range(begin + ONE, end):
                v, j = members[i], i
                while j > begin and members[j - ONE] > v:
                    members[j] = members[j - ONE]
                    j -= ONE
                members[j] = v
            for j in range(weights.shape[1]):
                total = weights[np.uint64(members[begin]), j]
                for i in range(begin + ONE, end):
                    total += weights[np.uint64(members[i]), j]
                coarse_weights[c, j] = total


# ---- rows ----


@inlined
def list_row(rows, coarse, v, own, count, short):
    """Append the keys and weights of v's row, loops left out, to the ``count`` that are there."""
    for e in range(np.uint64(rows.indptr[v]), np.uint64(rows.indptr[v + ONE])):
        c = np.uint32(coarse[np.uint32(rows.indices[e])])
        short.keys[count] = c << SIDE
        short.values[count] = rows.weights[e]
        count += np.uint64(c != own)
    return count


@inlined
def write_short(count, zero, to, short, staging):
    """Write the row of some keys in order; returns where it ends. See ``merging.py``."""
    filled = ZERO
    for i in range(count):
        place = count_below(short.keys, short.keys[i])
        short.owner[place] = short.keys[i] >> SIDE
        add_term(short.sums, place + place, short.values[i])
        filled |= ONE << place
    return write_places(filled, zero, to, short, staging)


@inlined
def add_row(rows, coarse, v, sparse, long):
    """Add the weights of v's row to the sums of their clusters, and set the bits of these."""
    stop = np.uint64(rows.indptr[v + ONE])
    for begin in range(np.uint64(rows.indptr[v]), stop, TILE):
        count = min(np.uint64(TILE), stop - begin)
        for i in range(count):
            long.keys[i] = np.uint32(coarse[np.uint32(rows.indices[begin + i])]) << SIDE
        for i in range(count):
            prefetch(long.sums, np.uint64(long.keys[i + AHEAD]))
            key = np.uint64(long.keys[i])
            add_term(long.sums, key, rows.weights[begin + i])
            c = key >> ONE
            word = c >> WORD
            long.bits[word] |= ONE << (c & LAST)
            if sparse:
                long.words[word >> WORD] |= ONE << (word & LAST)
                group = word >> WORD
                long.groups[group >> WORD] |= ONE << (group & LAST)


@step
def sum_between(rows, groups, a, b, limbs):
    """The weight between two clusters, exactly, as a float64."""
    clear_limbs(limbs)
    for i in range(np.uint64(groups.starts[a]), np.uint64(groups.starts[a + ONE])):
        v = np.uint64(groups.members[i])
        start, stop = np.uint64(rows.indptr[v]), np.uint64(rows.indptr[v + ONE])
        for j in range(np.uint64(groups.starts[b]), np.uint64(groups.starts[b + ONE])):
            e = find(rows.indices, start, stop, groups.members[j])
            if e < stop:
                add_to_limbs(limbs, np.float64(rows.weights[e]))
    return round_limbs(limbs)


@kernel
def merge_clusters(worker, cursor, chunk, rows, groups, zero, all_short, all_long, all_limbs, staging, blocks):
    """Make the rows of the coarse graph, block by block; ``zero`` is that of the sums."""
    short, long = scratch_of(all_short, all_long, worker)
    starts, members, coarse, indptr = groups.starts, groups.members, groups.coarse, rows.indptr
    count = len(starts) - 1
    for start, stop in chunks(cursor, chunk, count):
        room = np.int64(0)
        for i in range(np.uint64(starts[start]), np.uint64(starts[stop])):
            v = np.uint64(members[i])
            room += indptr[v + ONE] - indptr[v]
            prefetch(rows.indices, np.uint64(indptr[v]))
            prefetch(rows.weights, np.uint64(indptr[v]))
        at = begin_block(worker, room, staging)
        to = np.uint64(at)
        for c in range(np.uint64(start), np.uint64(stop)):
            begin, first, last = to, np.uint64(starts[c]), np.uint64(starts[c + ONE])
            entries = ZERO
            for i in range(first, last):
                v = np.uint64(members[i])
                entries += np.uint64(indptr[v + ONE] - indptr[v])
            if entries <= LANES:
                k = ZERO
                for i in range(first, last):
                    k = list_row(rows, coarse, np.uint64(members[i]), np.uint32(c), k, short)
                to = write_short(k, zero, to, short, staging)
            else:
                sparse = entries << WORD < np.uint64(count)  # fewer entries than words
                for i in range(first, last):
                    add_row(rows, coarse, np.uint64(members[i]), sparse, long)
                long.bits[c >> WORD] &= ~(ONE << (c & LAST))  # the loops
                long.sums[c + c] = long.sums[c + c + ONE] = zero
                to = write_long(sparse, zero, to, long, staging)
            for i in range(begin, to):
                if staging.weights[i] - staging.weights[i] != zero:  # NaN or infinity: never an integer
                    b = np.uint64(staging.indices[i])
                    staging.weights[i] = sum_between(rows, groups, c, b, all_limbs[worker])
            blocks.indptr[c + ONE] = np.int64(to) - at
        end_block(worker, start // chunk, chunk, at, np.int64(to), staging, blocks)
