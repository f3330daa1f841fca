"""The auction's kernels without a GPU: compiled by g++ and run on the CPU, against the reference (``emulation.py``)."""

from __future__ import annotations

import platform
import shutil
from contextlib import contextmanager
from unittest import mock

import auction_parts
import numpy as np
import pytest
from auction_parts import first_difference
from corpus import corpus, order_of
from emulation import array_of, emulated
from shapes import build, complete, cycle, grid, star

import troth
from troth import reference, reference_auction
from troth.contract import Result
from troth.cuda import auction, augment, checks, paths, suitor, walks
from troth.cuda.auction import PIECE
from troth.cuda.checks import CudaChecks
from troth.graph import Graph

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="fibers are switched by instructions of x86-64"),
]


def stable(graph, order, context):
    """Suitor, for whose kernels the emulation has too little of CUDA."""
    return Result(array_of(reference.greedy(graph, order)), {}, {})


@contextmanager
def on_the_cpu(blocks: int = 2, seed: int = 0):
    modules = auction, augment, walks, paths, checks, auction_parts
    with emulated(*modules, blocks=blocks, seed=seed), mock.patch.object(suitor, "run", stable):
        yield


def check(graph: Graph, ties: str = "hash", seed: int = 0) -> None:
    with on_the_cpu(blocks=1 + seed % 3, seed=seed):
        assert first_difference(graph, order_of(graph, ties, seed), seed, "cpu") == ""


@pytest.mark.parametrize(
    "name", ["hub", "slides", "grid-equal", "trap", "cycle-odd", "path-increasing", "int64-greatest"]
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_corpus(name, seed):
    check(corpus(name), ("hash", "low", "high")[seed], seed)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: troth.generate("rmat", scale=8, weights="integers", high=4, dtype="int64"), id="rmat"),
        pytest.param(lambda: grid(20, 20, lambda u, v: 1 + u * v % 7), id="grid"),
        pytest.param(lambda: complete(40, lambda u, v: 1), id="complete"),
        pytest.param(lambda: star([1 + 7 * i % 101 for i in range(2 * PIECE + 9)]), id="star"),
        pytest.param(lambda: build([(u, 3 + v, 1 + u * v % 9) for u in range(3) for v in range(PIECE + 5)]), id="hubs"),
    ],
)
def test_rows_of_every_length(make):
    check(make(), seed=1)


@pytest.mark.parametrize(
    ("limit", "spacing", "spare"),
    [
        (4, 4, 4096),
        pytest.param(1, 1, 4096, marks=pytest.mark.slow),
        pytest.param(9, 16, 4096, marks=pytest.mark.slow),
        (4, 2, 3),
    ],
)
def test_long_components(limit, spacing, spare):
    """Cut at splitters, if there is room for them."""
    with (
        mock.patch.object(paths, "LIMIT", limit),
        mock.patch.object(paths, "SPACING", spacing),
        mock.patch.object(paths, "SPARE", spare),
    ):
        for seed in (0, 1, 2):
            check(cycle([1 + 7919 * i % 13 for i in range(300 + seed)]), seed=seed)
            check(grid(12, 13, lambda u, v: 1), seed=seed)
            check(cycle(range(1, 200)), seed=seed)


@pytest.mark.parametrize("name", ["hub", "int64-greatest", "near-ties-path", "denormal-float32"])
def test_the_dual_starts_from_prices(name):
    graph = corpus(name)
    prices, _, _ = reference_auction.auction_prices(graph, order_of(graph))
    scale = 2.0 ** (61 if graph.weights.dtype.kind == "f" else 62)
    wanted = [int(min(float(price) * scale, 9223372036854774784.0)) for price in prices]
    mate = reference.greedy(graph, order_of(graph))
    with on_the_cpu():
        part = CudaChecks(graph)
        held, broken = part.matched_bits(mate)
        part.start_dual(mate, held)
        assert broken == graph.n
        assert part._y.tolist() == wanted
        assert np.array(part.sweep_dual()) > 0
