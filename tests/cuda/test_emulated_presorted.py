"""Locally-Dominant and Suitor on sorted lists: the GPU's kernels, run by g++ on the CPU, against the reference."""

from __future__ import annotations

import platform
import shutil

import numpy as np
import pytest
from corpus import on_corpus, order_of
from emulation import array_of, emulated

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


def there(graph: Graph) -> Graph:
    """The graph, its arrays with what host files ask of CuPy's."""
    return Graph.trusted(*map(array_of, (graph.indptr, graph.indices, graph.weights)))


def check(graph: Graph, ties: str, seed: int = 0) -> None:
    order = order_of(graph, ties, seed)
    expected = reference.greedy(graph, order).tolist()
    for run in RUNS:
        with emulated(presorted, seed=seed):
            assert run(there(graph), order, Context()).mates.tolist() == expected


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


@pytest.mark.parametrize("ties", ["hash", "low", "high"])
def test_rows_are_sorted_as_on_the_cpu(ties):
    graph = troth.generate("rmat", scale=8, weights="integers", high=5)
    order = order_of(graph, ties)
    with emulated(presorted):
        lists, bits = presorted.sort_rows(there(graph), order)
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
