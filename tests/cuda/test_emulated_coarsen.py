"""Contraction of pairs: the GPU's kernels, run by g++ on the CPU, against the CPU's."""

from __future__ import annotations

import platform
import shutil

import numpy as np
import pytest
from corpus import DTYPES, build, drawn_with_hub, fractions, on_corpus, same_graphs, star
from emulation import SHARED, SMALL_ROWS, array_of, emulated, on_card, with_sizes

import troth
from troth.api.vertex_weights import vertex_weights_of
from troth.cpu.coarsen import CpuCoarsening
from troth.cuda import coarsen
from troth.cuda.coarsen import CudaCoarsening
from troth.graph import Graph

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="fibers are switched by instructions of x86-64"),
]


def check(graph: Graph, mate: np.ndarray, seed: int = 0, shared: int = SHARED) -> None:
    """Twins are paired too, then all is contracted."""
    sizes, results = np.ascontiguousarray(vertex_weights_of(graph)), []
    there = on_card(graph)
    with emulated(coarsen, seed=seed, shared=shared):
        for part, own, convert in ((CpuCoarsening(graph, 1), graph, np.array), (CudaCoarsening(), there, array_of)):
            clusters = part.number_clusters(own, convert(mate.copy()))
            part.pair_twins(own, clusters.alone, clusters.mate)
            clusters = part.number_clusters(own, clusters.mate)
            results.append((clusters, *part.contract(own, clusters, convert(sizes))))
    (cpu, wanted, where, spilled), (cuda, found, place, too_great) = results
    assert (cuda.size, cuda.mate.tolist(), too_great) == (cpu.size, cpu.mate.tolist(), spilled)
    assert place.tolist() == where.tolist()
    if not spilled:
        same_graphs(found, wanted)


@on_corpus
def test_corpus(graph):
    for seed in range(2):
        check(graph, troth.match(graph, device="cpu", seed=seed).mate, seed)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(dtype):
    graph = troth.generate("rmat", scale=7, edgefactor=8)
    weights = (graph.weights * 9).astype(dtype) + np.array(1, dtype)
    check(Graph(graph.indptr, graph.indices, weights), troth.match(graph, device="cpu").mate)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: drawn_with_hub(1500, 5000, fractions), id="hub"),
        pytest.param(lambda: troth.generate("complete", n=90, weights="integers"), id="rows of a warp"),
        pytest.param(lambda: build([(u, v, 1 + v % 5) for u in range(36) for v in range(36, 40 + u)]), id="lengths"),
        pytest.param(lambda: star([1 + i % 7 for i in range(700)]), id="star"),
    ],
)
@pytest.mark.parametrize("few", [coarsen.FEW_VERTICES, 0])
def test_rows_of_every_length(few, make, monkeypatch):
    """Of pairs that match, and of pairs drawn at random; sorted as words of 32 bits, and of 64."""
    monkeypatch.setattr(coarsen, "FEW_VERTICES", few)
    with_sizes(monkeypatch, coarsen, **SMALL_ROWS)
    graph = make()
    drawn = np.random.default_rng(5).permutation(graph.n - graph.n % 2).reshape(2, -1)
    mate = np.full(graph.n, -1, np.int32)
    mate[drawn] = drawn[::-1]
    for pairs in (troth.match(graph, device="cpu").mate, mate):
        check(graph, pairs, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("shared", [SHARED, 2600, 0])
def test_the_longest_rows_are_marked_where_there_is_room(shared, dtype, monkeypatch):
    """In shared memory, as many places at a time as have room; in memory, and others sorted by blocks."""
    with_sizes(monkeypatch, coarsen, **SMALL_ROWS)
    graph = drawn_with_hub(1500, 5000, lambda rng, m: (rng.random(m) * 1000 + 1).astype(dtype))
    check(graph, troth.match(graph, device="cpu").mate, 1, shared)


def test_blocks_sort_rows_that_are_shorter_than_they_are_wide(monkeypatch):
    """Where nothing can be marked in shared memory: all threads of a block go on together."""
    with_sizes(monkeypatch, coarsen, **SMALL_ROWS)
    graph = troth.generate("complete", n=60, weights="integers")
    check(graph, troth.match(graph, device="cpu").mate, 2, 0)


def test_more_twins_than_a_kernel_sorts(monkeypatch):
    monkeypatch.setattr(coarsen, "SORTED_IN_KERNEL", 0)
    graph = star([1 + i % 7 for i in range(300)])
    check(graph, troth.match(graph, device="cpu").mate)
