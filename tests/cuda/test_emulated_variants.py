"""The four variants of GPU-Suitor without a GPU: their mates, and how a block's warps share the load."""

from __future__ import annotations

import platform
import shutil
from unittest import mock

import emulation
import numpy as np
import pytest
from corpus import corpus, order_of
from emulation import emulated, on_card
from shapes import build, complete

import troth
from troth import reference
from troth.contract import Context
from troth.cuda import suitor_variants
from troth.kernels.launch import source
from troth.words import GPU_SUITOR_VARIANTS

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="fibers are switched by instructions of x86-64"),
]
PER_WARP = 40
SPREAD = """
__global__ void spread(const u32* loads, u32 total, u32 warps, u32 per_warp, i32* chunks, u32* counts) {
    u32 warp = threadIdx.x / WARP, count = even_out(loads, total, warps, warp, per_warp, chunks);
    if (lane_id() == 0) counts[warp] = count;
}
"""


def spread(loads: list[int]) -> list[list[int]]:
    """What the warps of a block have after ``even_out``: their vertices, which are numbered through before."""
    warps = len(loads)
    chunks = np.full(warps * PER_WARP, -1, np.int32)
    for warp, load in enumerate(loads):
        chunks[warp * PER_WARP :][:load] = sum(loads[:warp]) + np.arange(load)
    counts = np.zeros(warps, np.uint32)
    with mock.patch.object(emulation, "source", lambda stem: source(stem) + SPREAD):
        [kernel] = emulation.load("suitor_variants", ("spread",), suitor_variants.CONSTANTS)
    words = (np.array(loads, np.uint32), np.uint32(sum(loads)), np.uint32(warps), np.uint32(PER_WARP))
    kernel((1,), (32 * warps,), (*words, chunks, counts))
    return [chunks[warp * PER_WARP :][:count].tolist() for warp, count in enumerate(counts.tolist())]


@pytest.mark.parametrize(
    ("loads", "after"),
    [
        ([4, 4, 4, 1], [4, 3, 3, 3]),  # one has too little, nobody too much
        ([40, 0, 0, 0], [10, 10, 10, 10]),
        ([9, 8, 7, 8], [9, 8, 7, 8]),  # within 25 per cent of 8, both ways
        ([10, 8, 8, 6], [10, 8, 8, 6]),
        ([11, 7, 7, 7], [8, 8, 8, 8]),
        ([5, 9, 9, 9], [8, 8, 8, 8]),
        ([0, 0, 1, 0], [1, 0, 0, 0]),
        ([1, 2, 40, 0, 7, 0], [9, 9, 8, 8, 8, 8]),
    ],
)
def test_loads_are_evened_out_both_ways(loads, after):
    found = spread(loads)
    assert [len(part) for part in found] == after
    assert sorted(v for part in found for v in part) == list(range(sum(loads)))  # nobody is lost, nobody is doubled


@pytest.mark.parametrize("variant", GPU_SUITOR_VARIANTS)
@pytest.mark.parametrize("name", ["slides", "hub", "grid-equal", "int64-greatest"])
def test_mates(variant, name):
    graph = corpus(name)
    there = on_card(graph)
    for seed, (per_warp, k) in enumerate(((8, "adaptive"), (3, 2), (33, 4))):
        order = order_of(graph, ("low", "hash", "high")[seed])
        with emulated(suitor_variants, seed=seed):
            found = suitor_variants.run(there, order, Context(), variant, 128, per_warp, k)
        assert found.mates.tolist() == reference.greedy(graph, order).tolist()


def test_balance_makes_the_slowest_warp_faster():
    """Ties by index on a grid of equal weights make one long chain, in one warp after the other."""
    graph = troth.generate("grid", rows=12, cols=24, weights="unit")
    there = on_card(graph)
    order = order_of(graph, "low")
    with emulated(suitor_variants):
        rounds = {
            variant: suitor_variants.run(there, order, Context(), variant, 128, 64).counts
            for variant in ("nosync", "synclb")
        }
    assert rounds["synclb"]["balanced"] > 0
    assert rounds["nosync"]["balanced"] == 0


@pytest.mark.parametrize("variant", GPU_SUITOR_VARIANTS)
def test_quick_warps_are_those_of_less_than_ten_rounds(variant):
    """A path whose weights rise is one chain of displacements; a block of its own has pairs, which need one round."""
    n, per_warp = 2 * 32 * 4, 32
    rising, pairs = range(n // 2 - 1), range(n // 2, n, 2)
    edges = [(v, v + 1, v + 1) for v in rising] + [(v, v + 1, 1) for v in pairs]
    graph = build(edges, n)
    with emulated(suitor_variants):
        found = suitor_variants.run(on_card(graph), order_of(graph), Context(), variant, 128, per_warp, 4)
    counts = found.counts
    assert (counts["warps"], counts["blocks"]) == (8, 2)
    assert counts["rounds"] >= 10
    assert 4 <= counts["quick_warps"] < 8
    assert counts["quick_blocks"] == 1


@pytest.mark.parametrize("variant", ["synclb", "hybrid"])
def test_warps_that_begin_with_nothing_do_not_count(variant):
    """Others give them vertices."""
    with emulated(suitor_variants):
        graph = complete(100, lambda u, v: 1 + u * v % 7)
        counts = suitor_variants.run(on_card(graph), order_of(graph), Context(), variant, 1024, 32, 4).counts
    assert counts["quick_warps"] <= counts["warps"] == 4
