"""One contraction equals ``reference.contract`` bit for bit, conserves weights, and refuses what is no matching."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from corpus import (
    HUGE,
    build,
    complete,
    drawn_with_hub,
    every_dtype,
    fractions,
    grid,
    matchings,
    on_corpus,
    same_graphs,
)
from gating import dense
from hypothesis import given
from hypothesis import strategies as st

import troth
from troth import reference
from troth.cpu import coarsen as kernels
from troth.graph import Graph

THREADS = (1, 2, 3, 8)


def check(graph: Graph, mate, threads: int | None = None) -> troth.Level:
    """One contraction against the reference."""
    level = troth.coarsen(graph, mate, threads=threads)
    coarse, where = reference.contract(graph, np.asarray(getattr(mate, "mate", mate)))
    same_graphs(level.graph, coarse)
    assert (level.map.dtype, level.map.tolist()) == (np.int32, where.tolist())
    dense(level.graph)
    if level.graph.m:
        spread = level.graph.weight_range
        assert spread == level.graph.replaced(weight_range=None).bits_range()
    return level


def mates_of(graph: Graph) -> np.ndarray:
    return troth.match(graph, device="cpu").mate


@on_corpus
@pytest.mark.usefixtures("small_blocks")
def test_corpus(graph):
    mate = mates_of(graph)
    try:
        reference.contract(graph, mate)
    except OverflowError:
        with pytest.raises(troth.TrothError, match="weigh more than 2\\^63 - 1 together; scale"):
            troth.coarsen(graph, mate)
        return
    for threads in THREADS:
        check(graph, mate, threads)


@given(matchings(), st.sampled_from(THREADS))
def test_any_matching(case, threads):
    graph, mate = case
    try:
        weights = reference.contract(graph, mate)[0].weights
    except OverflowError:
        weights = np.array([np.inf])
    if np.isfinite(weights).all():
        check(graph, mate, threads)
    else:
        with pytest.raises(troth.TrothError, match="parallel edges weigh more than"):
            troth.coarsen(graph, mate)


@every_dtype
def test_every_type(dtype):
    graph = troth.generate("rmat", scale=8, edgefactor=12)
    weights = (graph.weights * 9).astype(dtype) + np.array(1, dtype)
    level = check(Graph(graph.indptr, graph.indices, weights), mates_of(graph), 2)
    assert level.graph.weights.dtype == (dtype if dtype.startswith("f") else "int64")


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: drawn_with_hub(4000, 15000, fractions), id="hub"),
        pytest.param(lambda: drawn_with_hub(270000, 1000, fractions), id="bitmaps of three heights"),
        pytest.param(lambda: complete(70, lambda u, v: 1 / (1 + u * v % 13), np.float64), id="complete"),
        pytest.param(lambda: troth.generate("hubs", n=3000, hubs=4, degree=1500), id="hubs"),
        pytest.param(lambda: build([(u, v, 1 + v % 5) for u in range(36) for v in range(36, 40 + u)]), id="lengths"),
    ],
)
def test_rows_of_every_length(make, monkeypatch):
    """Short rows, and long ones with few and with many entries a word of the bitmap; also of pairs drawn at random."""
    monkeypatch.setattr(kernels, "SMALL", 0)
    graph = make()
    even = graph.n - graph.n % 2
    drawn = np.random.default_rng(5).permutation(even).reshape(2, -1)
    shuffled = np.full(graph.n, -1, np.int32)
    shuffled[drawn], ones = drawn[::-1], np.ones(graph.n)
    for mate in (mates_of(graph), shuffled):
        wanted, numbers = reference.contract(replace(graph, vertex_weights=ones), mate)
        for threads in THREADS:
            coarsening = kernels.CpuCoarsening(graph, threads)
            coarse, where, spilled = coarsening.contract(graph, coarsening.number_clusters(graph, mate), ones)
            same_graphs(coarse, wanted)
            assert (where == numbers).all()
            assert not spilled


def test_numbers_do_not_depend_on_threads():
    """So many vertices that threads work side by side."""
    n = 2**21
    drawn, mate = np.random.default_rng(0).permutation(n).reshape(2, -1).astype(np.int32), np.empty(n, np.int32)
    mate[drawn] = drawn[::-1]
    first, graph = np.flatnonzero(mate > np.arange(n)), build([], n)
    for _ in range(5):
        clusters = kernels.CpuCoarsening(graph, 8).number_clusters(graph, mate)
        assert (clusters.first == first).all()
        assert (clusters.code[first] == 2 * np.arange(n // 2)).all()
        assert (clusters.code[mate[first]] == 2 * np.arange(n // 2) + 1).all()


def test_vertex_weights():
    graph = grid(5, 6, lambda u, v: 1 + u % 3)
    mate = mates_of(graph)
    for weights in (
        np.arange(30, dtype=np.uint8),
        np.arange(30) * 2**54,
        np.linspace(0, 1, 30, dtype=np.float32),
        np.arange(90.0).reshape(30, 3) / 7,
        np.arange(60).reshape(30, 2)[:, ::-1],
        np.ones(30, bool),
    ):
        level = check(replace(graph, vertex_weights=weights), mate, 2)
        total = level.graph.vertex_weights.sum(axis=0)
        assert (
            np.allclose(total, weights.sum(axis=0))
            if weights.dtype.kind == "f"
            else (total == weights.sum(axis=0)).all()
        )


def test_labels_are_the_map():
    graph = troth.generate("rgg", n=500, degree=6, seed=2)
    m = troth.match(graph)
    assert (troth.coarsen(graph, m).map == m.labels()).all()


def test_what_is_conserved():
    """In integers exactly: edge weights but for the matched ones, and vertex weights."""
    graph = troth.generate("rmat", scale=9, weights="integers", high=10**12, dtype="int64", seed=4)
    m = troth.match(graph)
    level = troth.coarsen(graph, m)
    assert int(level.graph.weights.sum()) // 2 + m.weight == int(graph.weights.sum()) // 2
    assert int(level.graph.vertex_weights.sum()) == graph.n


def test_sums_that_do_not_fit():
    """One past the last number is refused, the last is not; also where two sums wrap around to little."""
    square = [(0, 1, 9), (2, 3, 9)]
    for w, x in ((2**62, 2**62 - 1), (2**63 - 2, 1)):
        assert troth.coarsen(build([*square, (0, 2, w), (1, 3, x)]), [1, 0, 3, 2]).graph.weights[0] == 2**63 - 1
    most = 2**63 - 1
    for crossing in ([(0, 2, 2**62), (1, 3, 2**62)], [(0, 2, most), (1, 3, most), (0, 3, 1), (1, 2, 2)]):
        with pytest.raises(troth.TrothError, match="more than 2\\^63 - 1 together; scale the weights, or use float64"):
            troth.coarsen(build([*square, *crossing]), [1, 0, 3, 2])
    for dtype in (np.float32, np.float64):
        edges = [(0, 1, 1.0), (0, 2, float(np.finfo(dtype).max)), (1, 2, float(np.finfo(dtype).max) / 2)]
        with pytest.raises(troth.TrothError, match=f"more than the greatest {np.dtype(dtype)} together"):
            troth.coarsen(build(edges, dtype=dtype), [1, 0, -1])


def test_the_two_directions_round_alike():
    """Four parallel edges whose sum depends on the order: adding row by row would give an unsymmetric graph."""
    rng = np.random.default_rng(0)
    graph = complete(60, lambda u, v: float(rng.random() * 2.0 ** rng.integers(-60, 60)), np.float64)
    level = check(graph, np.arange(60, dtype=np.int32) ^ 1)
    assert (level.graph.to_scipy() != level.graph.to_scipy().T).nnz == 0


@pytest.mark.parametrize(
    ("mates", "reason"),
    [
        ([1, 0], "shape \\(2,\\), the graph has 4"),
        (None, "shape \\(\\)"),
        ("mates.txt", "shape \\(\\)"),
        ([np.nan, 0, 3, 2], "float64, not integers"),
        ([1, 0, 3, 0], "vertex 2: its mate is 3, but the mate of 3 is 0"),
        ([2, -1, 0, -1], "vertex 0: its mate 2 is not a neighbour"),
        ([1, 0, 7, -1], "vertex 2: its mate 7 is not a vertex: 0 to 3"),
        ([10**9, 0, 3, 2], "vertex 0: its mate 1000000000 is not a vertex"),
    ],
)
def test_what_is_no_matching(mates, reason):
    graph = build([(0, 1, 1), (1, 2, 1), (2, 3, 1)])
    for m in (mates, replace(troth.match(graph), mate=np.array(mates))):  # also where it says that it is a matching
        with pytest.raises(troth.TrothError, match=reason):
            troth.coarsen(graph, m)


def test_a_matching_of_another_graph():
    path, other = build([(0, 1, 1), (1, 2, 5), (2, 3, 1)]), build([(0, 3, 2)], 4)
    with pytest.raises(troth.TrothError, match="vertex 0: its mate 3 is not a neighbour"):
        troth.coarsen(path, troth.match(other))


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        (np.array([1, -1, 1]), "negative"),
        (np.array([1.0, np.nan, 1]), "negative, NaN"),
        (np.array([1.0, np.inf, 1]), "too great"),
        (np.array([1, 2**63, 1], np.uint64), "2\\^63 or more"),
        (np.array([2**62, 2**62, 1]), "too great"),
        (np.array([HUGE, HUGE, 1]), "too great"),
        (np.array(["a", "b", "c"]), "give 3 numbers"),
        (np.ones(4), "give 3 numbers"),
    ],
)
def test_vertex_weights_that_are_refused(weights, reason):
    graph = replace(build([(0, 1, 1), (1, 2, 1)]), vertex_weights=weights)
    for work in (lambda: troth.coarsen(graph, [1, 0, -1]), lambda: troth.hierarchy(graph, stop=1)):
        with pytest.raises(troth.TrothError, match=reason) as refusal:
            work()
        assert "\n" not in str(refusal.value)
