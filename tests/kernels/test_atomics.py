"""Atomic operations under contention: nothing is lost, whatever the type."""

import numpy as np
import pytest
from corpus import FLOATS, INTEGERS
from numba import njit

from troth.kernels.atomics import compare_and_swap, fetch_add, load, prefetch, store
from troth.kernels.team import run_team

THREADS, TIMES = 8, 100_000  # long enough for all to be at it together
ZERO, ONE = np.uint64(0), np.uint64(1)


@njit(nogil=True)
def increment(array, index):
    """array[index] += 1 by compare-and-swap alone."""
    held = load(array, index)
    while True:
        seen = compare_and_swap(array, index, held, array.dtype.type(held + 1))
        if seen == held:
            return
        held = seen


@njit(nogil=True)
def add_both_ways(worker, cursor, times, array):
    """Add ``times`` to the first two elements in two ways; return the sum of what was there before (modulo 2^64)."""
    before = ZERO
    for _ in range(times):
        before += np.uint64(fetch_add(array, ZERO, array.dtype.type(1)))
        increment(array, ONE)
    return before


@pytest.mark.parametrize("dtype", INTEGERS)
def test_additions_from_many_threads_are_exact(dtype):
    array = np.zeros(4, dtype)
    array[3] = 77
    before = sum(int(part) for part in run_team(add_both_ways, TIMES, THREADS, array, chunk=TIMES)) % 2**64
    total = THREADS * TIMES
    wrapped = np.arange(total).astype(dtype)  # what an addition must have found, each once
    assert array.tolist() == [np.int64(total).astype(dtype)] * 2 + [0, 77]
    assert before == int(wrapped.astype(np.int64).sum()) % 2**64


@njit
def exchange(array, value):
    """(loaded, seen by a failing exchange, seen by one that succeeds, loaded at the end)."""
    store(array, ONE, value)
    first = load(array, ONE)
    other = compare_and_swap(array, ONE, array[0], array[2])
    held = compare_and_swap(array, ONE, value, array[2])
    return first, other, held, load(array, ONE)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_exchange(dtype):
    kind = np.iinfo(dtype)
    array = np.array([kind.min, 0, kind.max, 5], dtype)
    value = array.dtype.type(kind.max - 3)
    assert exchange(array, value) == (value, value, value, kind.max)
    assert array.tolist() == [kind.min, kind.max, kind.max, 5]


@njit
def copy(source, target):
    for i in range(source.size):
        store(target, np.uint64(i), load(source, np.uint64(i)))


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_load_and_store(dtype):
    kind = np.iinfo(dtype) if dtype in INTEGERS else np.finfo(dtype)
    source = np.array([0, 1, kind.max, kind.min, 3], dtype)
    target = np.full_like(source, 9)
    copy(source, target)
    assert target.tolist() == source.tolist()
    copy(source[::2], target[1:4])  # strided
    assert target.tolist() == [0, 0, kind.max, 3, 3]


@njit(nogil=True)
def pass_on(worker, cursor, tries, flags):
    """Wait for one's flag, then raise the next one's: ends only if every look is at memory. Returns tries left."""
    me = np.uint64(worker)
    while tries > 0 and load(flags, me) == 0:
        tries -= 1
    store(flags, me + ONE, np.int8(1))
    return tries


def test_a_load_is_never_hoisted_out_of_a_loop():
    flags = np.zeros(4, np.int8)
    flags[0] = 1
    assert min(run_team(pass_on, 10**10, 3, flags, chunk=10**10)) > 0


@njit
def ask(array, index):
    prefetch(array, index)
    return array[0]


def test_prefetching_changes_nothing_and_goes_anywhere():
    array = np.arange(3.0)
    for index in (0, 2, 3, 10**6, 2**63):
        assert ask(array, np.uint64(index)) == 0
    assert array.tolist() == [0, 1, 2]
