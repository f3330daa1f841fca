"""Vector instructions against plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from troth.kernels.bits import LANES, WIDE, count_below, two_largest
from troth.kernels.jit import kernel


@kernel
def find_two(keys, start, stop):
    return two_largest(keys, start, stop)


@kernel
def count(keys, limit):
    return count_below(keys, limit)


@pytest.mark.parametrize("top", [2**64, 2**63, 5])
@pytest.mark.parametrize("length", [0, 1, 2, WIDE - 1, WIDE, WIDE + 1, 3 * WIDE, 37])
def test_two_largest(length, top):
    """Wherever they stand, and whatever stands before and behind."""
    rng = np.random.default_rng(length)
    for start in range(WIDE + 1):
        keys = rng.integers(0, top, start + length + WIDE, dtype=np.uint64)
        largest = [*sorted(keys[start : start + length].tolist(), reverse=True), 0, 0][:2]
        assert list(find_two(keys, np.uint64(start), np.uint64(start + length))) == largest
        keys[:start] = keys[start + length :] = 2**64 - 1
        assert list(find_two(keys, np.uint64(start), np.uint64(start + length))) == largest


def test_count_below():
    keys = np.random.default_rng(1).integers(0, 2**32, LANES + 1, dtype=np.uint32)
    for limit in (0, 1, 2**31, 2**32 - 1, *keys[:3].tolist()):
        assert count(keys, np.uint32(limit)) == np.count_nonzero(keys[:LANES] < limit)
