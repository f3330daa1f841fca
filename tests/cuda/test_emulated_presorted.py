"""Locally-Dominant and Suitor on sorted lists: the GPU's kernels, run by g++ on the CPU, against the reference."""

from __future__ import annotations

import platform
import shutil
from unittest import mock

import numpy as np
import pytest
from corpus import ULP, on_corpus, order_of
from emulation import emulated, on_card
from shapes import build, path

import troth
from troth import reference
from troth.contract import Context
from troth.cuda import presorted
from troth.errors import TrothError
from troth.graph import Graph
from troth.order import weight_bits
from troth.rows import rows_of
from troth.rows import sort_rows as sort_on_cpu

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="fibers are switched by instructions of x86-64"),
]
RUNS = presorted.run_suitor, presorted.run_locally_dominant


def check(graph: Graph, ties: str, seed: int = 0) -> None:
    """Also where walks end early, so that chains move by pointer doubling."""
    order = order_of(graph, ties, seed)
    expected = reference.greedy(graph, order).tolist()
    for run in RUNS:
        for looks in (presorted.FIRST_WALK, 1 + seed):
            with emulated(presorted, seed=seed), mock.patch.object(presorted, "FIRST_WALK", looks):
                assert run(on_card(graph), order, Context()).mates.tolist() == expected


@on_corpus
def test_corpus(graph):
    for seed, ties in enumerate(("hash", "low", "high")):
        check(graph, ties, seed)


@pytest.mark.parametrize("weights", ["uniform", "unit", "integers"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_random_graphs(weights, dtype):
    if weights == "integers":
        dtype = {"float32": "uint16", "float64": "int64"}[dtype]
    for seed in range(3):
        check(troth.generate("rmat", scale=8, edgefactor=6, weights=weights, dtype=dtype, seed=seed), "hash", seed)


def test_equal_prefixes_of_wide_weights():
    """Heavy weights differ in bits that an offer has no room for."""
    graph = troth.generate("rmat", scale=7, weights="integers", dtype="int64")
    check(Graph(graph.indptr, graph.indices, np.where(graph.weights == 1, 1, graph.weights + 2**60)), "hash", 1)


CHAINS = {
    "rising": lambda n: path(range(1, n)),
    "falling": lambda n: path(range(n, 1, -1)),
    "equal": lambda n: path([7] * (n - 1)),
    "with legs": lambda n: build(
        [(i, i + 1, n + i) for i in range(n // 2 - 1)] + [(i, n // 2 + i, 1 + i % 3) for i in range(n // 2)]
    ),
    "near": lambda n: build([(i, i + 1, 1 + i * ULP) for i in range(n)] + [(n + 1, n + 2, 1e300)], dtype=np.float64),
}


@pytest.mark.parametrize("kind", CHAINS)
def test_chains_take_few_walks(kind):
    """A chain of any length, though a walk has 8 looks."""
    for n in (100, 700):
        graph = CHAINS[kind](n)
        order = order_of(graph, "low")
        with emulated(presorted), mock.patch.object(presorted, "FIRST_WALK", 8):
            result = presorted.run_suitor(on_card(graph), order, Context())
        assert result.mates.tolist() == reference.greedy(graph, order).tolist()
        assert result.counts["rounds"] <= 4


@pytest.mark.parametrize("ties", ["hash", "low", "high"])
def test_rows_are_sorted_as_on_the_cpu(ties):
    graph = troth.generate("rmat", scale=8, weights="integers", high=5)
    order = order_of(graph, ties)
    with emulated(presorted):
        lists, bits = presorted.sort_rows(on_card(graph), order)
    expected = sort_on_cpu(rows_of(graph), order, 1)
    assert lists.tolist() == expected.indices.tolist()
    assert bits.tolist() == expected.bits.tolist()
    assert sorted(bits.tolist()) == sorted(weight_bits(graph.weights).tolist())


def test_the_four_variants_have_no_sorted_lists():
    from troth.engines import find_engines

    [engine] = find_engines("suitor", "cuda")
    assert engine.read({"presort": "yes"}) == {"presort": True}
    with pytest.raises(TrothError, match="presort is an option of some variants: give variant too, of auto, plain"):
        engine.read({"presort": True, "variant": "nosync"})
