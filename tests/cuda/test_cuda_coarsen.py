"""Coarsening on a GPU: the graphs, maps and mates of the CPU, bit for bit, without leaving the card."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from corpus import (
    DTYPES,
    TIES,
    build,
    complete,
    drawn_with_hub,
    fractions,
    graphs,
    matchings,
    on_corpus,
    star,
    wide_integers,
)
from hypothesis import given
from hypothesis import strategies as st
from outcomes import outcome

import troth
from troth.arrays import cupy
from troth.cpu.coarsen import CpuCoarsening
from troth.cuda import coarsen as cuda
from troth.cuda.coarsen import CudaCoarsening
from troth.graph import Graph

pytestmark = pytest.mark.gpu

LIMITS = (None, 1, 2, 3.5, 9)


def same(there: troth.Level, here: troth.Level) -> None:
    """Equal arrays of equal types; those of ``there`` are on the card."""
    assert there.graph.device == "cuda:0"
    for a, b in (
        *((getattr(there.graph, name), getattr(here.graph, name)) for name in ("indptr", "indices", "weights")),
        (there.graph.vertex_weights, here.graph.vertex_weights),
        (there.map, here.map),
        (there.mate, here.mate),
    ):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.get().tobytes() == b.tobytes()


def check(graph: Graph, mate) -> None:
    """One contraction on both."""
    here, there = outcome(troth.coarsen, graph, mate), outcome(troth.coarsen, graph.to("cuda"), mate)
    if isinstance(here, str):
        assert there == here
    else:
        same(there, here)


def check_hierarchy(graph: Graph, **options) -> None:
    """A hierarchy on both."""
    here = outcome(troth.hierarchy, graph, device="cpu", **options)
    there = outcome(troth.hierarchy, graph.to("cuda"), **options)
    if isinstance(here, str):
        assert there == here
        return
    for a, b in zip(there[1:], here[1:], strict=True):
        same(a, b)
        assert [a.stats[name] for name in ("pairs", "twohop")] == [b.stats[name] for name in ("pairs", "twohop")]


@on_corpus
def test_corpus(graph):
    check(graph, troth.match(graph, device="cpu").mate)
    check_hierarchy(graph, stop=1)


@given(matchings(dtypes=DTYPES))
def test_any_matching(case):
    check(*case)


@given(graphs(20, DTYPES), st.sampled_from(TIES), st.sampled_from(LIMITS), st.booleans())
def test_any_hierarchy(graph, ties, limit, twohop):
    check_hierarchy(graph, stop=2, ties=ties, max_vertex_weight=limit, twohop=twohop)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(dtype):
    graph = troth.generate("rmat", scale=8, edgefactor=10)
    weights = (graph.weights * 9).astype(dtype) + np.array(1, dtype)
    check_hierarchy(Graph(graph.indptr, graph.indices, weights), stop=20)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: drawn_with_hub(4000, 15000, fractions), id="hub"),
        pytest.param(lambda: drawn_with_hub(14000, 20000, wide_integers), id="one marked row"),
        pytest.param(lambda: complete(90, lambda u, v: 1 / (1 + u * v % 13), np.float64), id="complete"),
        pytest.param(lambda: troth.generate("complete", n=300, weights="integers"), id="rows of a warp"),
        pytest.param(lambda: troth.generate("hubs", n=3000, hubs=4, degree=1500), id="marked rows"),
        pytest.param(lambda: troth.generate("hubs", n=12000, hubs=3, degree=9000), id="longer marked rows"),
        pytest.param(lambda: build([(u, v, 1 + v % 5) for u in range(36) for v in range(36, 40 + u)]), id="lengths"),
        pytest.param(lambda: star([1 + i % 7 for i in range(9000)]), id="star"),
    ],
)
def test_rows_of_every_length(make):
    """Of pairs that match, of pairs drawn at random, and at every level."""
    graph = make()
    drawn = np.random.default_rng(5).permutation(graph.n - graph.n % 2).reshape(2, -1)
    mate = np.full(graph.n, -1, np.int32)
    mate[drawn] = drawn[::-1]
    there, ones = graph.to("cuda"), np.ones(graph.n, np.int64)
    cpu, gpu = CpuCoarsening(graph), CudaCoarsening()
    here, numbers, _ = cpu.contract(graph, cpu.number_clusters(graph, mate), ones)
    clusters = gpu.number_clusters(there, cupy().asarray(mate))
    coarse, places, spilled = gpu.contract(there, clusters, cupy().asarray(ones))
    same(troth.Level(coarse, places, cupy().asarray(mate)), troth.Level(here, numbers, mate))
    assert not spilled
    check_hierarchy(graph, stop=100)


def test_long_rows_among_many_vertices():
    """Rows of 600 and of 1100 entries that a block sorts, since their bitmaps would have thousands of empty words."""
    stars = [(0, v, 1 + v % 9) for v in range(1, 601)] + [(601, v, 1 + v % 7) for v in range(602, 1702)]
    graph = build([*stars, *((v, v + 700, 3) for v in range(1, 500))], 170_000)
    check(graph, troth.match(graph, device="cpu").mate)


@pytest.mark.parametrize("most", [0, cuda.SORTED_IN_KERNEL])
def test_pairs_that_are_no_neighbours(most, monkeypatch):
    """Leaves, twins, lone vertices and relatives, more than a block sorts; CuPy sorts them, or the kernel."""
    monkeypatch.setattr(cuda, "SORTED_IN_KERNEL", most)
    check_hierarchy(star([1 + i % 7 for i in range(9000)]), stop=2)
    check_hierarchy(build([(v % 50, v, 1 + v % 11) for v in range(50, 5000)], 9001), stop=2)
    check_hierarchy(troth.generate("rmat", scale=12, edgefactor=3), stop=100)


@pytest.mark.parametrize("weights", [np.arange(30) * 2**50, np.arange(90).reshape(30, 3) / 7, np.arange(30) > 3])
def test_vertex_weights(weights):
    graph = troth.generate("grid", rows=5, cols=6).replaced(vertex_weights=weights)
    check_hierarchy(graph, stop=2)
    check_hierarchy(graph, stop=2, max_vertex_weight=weights.max(axis=0) * 1.5)


@pytest.mark.parametrize("limit", LIMITS)
def test_limits_on_larger_graphs(limit):
    check_hierarchy(troth.generate("rmat", scale=9, edgefactor=6), stop=10, max_vertex_weight=limit)


def test_the_levels_come_home():
    """A graph of the host is coarsened on the card, and its levels are on the host again; and the other way round."""
    graph = troth.generate("rgg", n=2000, degree=7)
    there, here = (troth.hierarchy(graph, stop=100, device=device) for device in ("cuda", "cpu"))
    assert there[0].graph is graph
    for a, b in zip(there[1:], here[1:], strict=True):
        assert a.graph.device == "cpu"
        assert isinstance(a.map, np.ndarray)
        assert (a.graph.weights == b.graph.weights).all()
        assert (a.map == b.map).all()
    on_card = graph.to("cuda")
    for algorithm, device in (("suitor", "cpu"), ("local-random", "auto")):
        levels = troth.hierarchy(on_card, stop=100, algorithm=algorithm, device=device)
        assert levels[0].graph is on_card
        for a, b in zip(
            levels[1:], troth.hierarchy(graph, stop=100, algorithm=algorithm, device="cpu")[1:], strict=True
        ):
            same(a, b)


def test_calls_from_several_threads():
    """On streams of their own, whose kernels may run side by side."""
    graph = troth.generate("rmat", scale=9, edgefactor=6)
    there, here = graph.to("cuda"), troth.hierarchy(graph, stop=20, device="cpu")

    def call(_):
        with cupy().cuda.Stream(non_blocking=True) as stream:
            levels = troth.hierarchy(there, stop=20)
            stream.synchronize()
            return levels

    with ThreadPoolExecutor(4) as pool:
        for levels in pool.map(call, range(8)):
            for a, b in zip(levels[1:], here[1:], strict=True):
                same(a, b)


def test_vectors_stay_on_the_card():
    graph = troth.generate("rgg", n=500, degree=7, device="cuda")
    levels = troth.hierarchy(graph, stop=50)
    sizes = cupy().ones(graph.n, np.int32)
    for level in levels:
        sizes = level.restrict(sizes)
    assert (sizes.dtype, sizes.get().tolist()) == (np.int64, levels[-1].graph.vertex_weights.get().tolist())
    for level in reversed(levels):
        sizes = level.project(sizes)
    assert sizes.device == graph.indptr.device
    assert len(sizes) == graph.n
