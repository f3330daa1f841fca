"""Random points in the order of their cells: the GPU's kernels, run by g++ on the CPU, make the CPU's graph."""

from __future__ import annotations

import platform
import shutil

import numpy as np
import pytest
from emulation import emulated

from troth.families import cuda, host
from troth.families.structures import cells_and_reach

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="fibers are switched by instructions of x86-64"),
]


@pytest.mark.parametrize("n", [1, 500])
def test_near(n):
    given = np.uint64(3), n, *cells_and_reach(n, 8)
    with emulated(cuda):
        found = cuda.near(*given)
    indptr, indices = host.near(*given)
    assert [array.tolist() for array in found] == [indptr.tolist(), indices.tolist()]
    assert n == 1 or len(indices) > n
