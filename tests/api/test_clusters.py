"""Clusters of strongest neighbours: what the reference promises, level by level; they conserve and keep limits."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from cluster_parts import expected_levels
from corpus import (
    TIES,
    build,
    complete,
    drawn_with_hub,
    every_dtype,
    fractions,
    graphs,
    on_corpus,
    order_of,
    same_graphs,
    star,
)
from exact_parts import add_all
from gating import dense
from hypothesis import example, given
from hypothesis import strategies as st

import troth
from troth import reference
from troth.cpu import coarsen as kernels
from troth.cpu.exact import LIMBS
from troth.graph import Graph
from troth.words import MOST_JOINED

THREADS = (1, 2, 3, 8)


def check(graph: Graph, wanted, threads: int | None = None, stop: int = 1, **options) -> None:
    found = troth.hierarchy(graph, by="strongest", device="cpu", stop=stop, threads=threads, **options)
    assert [level.graph.n for level in found[1:]] == [coarse.n for coarse, _, _ in wanted]
    for level, (coarse, where, joined) in zip(found[1:], wanted, strict=True):
        same_graphs(level.graph, coarse)
        assert (level.map.dtype, level.map.tolist()) == (np.int32, where.tolist())
        assert level.stats["twohop"] == joined
        assert level.mate is None
        dense(level.graph)


@on_corpus
@pytest.mark.usefixtures("small_blocks")
def test_corpus(graph):
    for twohop in (True, False):
        try:
            wanted = expected_levels(graph, twohop=twohop)
        except OverflowError:
            with pytest.raises(troth.TrothError, match="more than 2\\^63 - 1 together"):
                troth.hierarchy(graph, by="strongest", stop=1, twohop=twohop)
            continue
        for threads in THREADS:
            check(graph, wanted, threads, twohop=twohop)


@given(graphs(18, ("int64", "float32")), st.sampled_from(TIES), st.sampled_from([None, 1, 2, 3, 7]), st.booleans())
@example(build([(0, 1, 2**62), (0, 2, 2**62), (1, 2, 2**62 + 1)], 3, np.int64), "hash", 2, False)
def test_any_graph(graph, ties, limit, twohop):
    options = {"ties": ties, "seed": 3, "max_vertex_weight": limit, "twohop": twohop}
    try:
        wanted = expected_levels(graph, ties, 3, 2, limit, twohop)
        fits = all(np.isfinite(coarse.weights).all() for coarse, _, _ in wanted)
    except OverflowError:
        fits = False
    if fits:
        check(graph, wanted, stop=2, **options)
    else:
        with pytest.raises(troth.TrothError, match=r"more than (the greatest float32|2\^63 - 1) together"):
            troth.hierarchy(graph, by="strongest", stop=2, **options)


@every_dtype
def test_every_type(dtype):
    graph = troth.generate("rmat", scale=7, edgefactor=8)
    weights = (graph.weights * 9).astype(dtype) + np.array(1, dtype)
    graph = Graph(graph.indptr, graph.indices, weights)
    check(graph, expected_levels(graph, stop=9), 2, stop=9)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: drawn_with_hub(1500, 5000, fractions), id="hub"),
        pytest.param(lambda: complete(70, lambda u, v: 1 / (1 + u * v % 13), np.float64), id="complete"),
        pytest.param(lambda: troth.generate("hubs", n=900, hubs=4, degree=400), id="hubs"),
        pytest.param(lambda: troth.generate("path", n=700, weights="increasing"), id="one long tree"),
        pytest.param(lambda: troth.generate("grid", rows=30, cols=30, weights="unit"), id="equal weights"),
        pytest.param(lambda: star([1 + i % 7 for i in range(500)]), id="star"),
    ],
)
@pytest.mark.parametrize("limit", [None, 20])
def test_trees_of_every_size(make, limit, monkeypatch):
    """Whole trees, pieces, stars that are split; rows of every length."""
    monkeypatch.setattr(kernels, "SMALL", 0)
    graph = make()
    wanted = expected_levels(graph, seed=5, stop=20, limit=limit)
    for threads in THREADS:
        check(graph, wanted, threads, stop=20, seed=5, max_vertex_weight=limit)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("twohop", [True, False])
def test_limits_for_several_columns(kind, twohop):
    graph = troth.generate("rgg", n=300, degree=7, seed=2)
    sizes = np.stack([1 + np.arange(300) % 3, 1 + np.arange(300) * 7 % 5], axis=1).astype(kind) / kind(1)
    graph = replace(graph, vertex_weights=sizes.astype(kind) * (kind(1) if kind is np.int64 else 0.1))
    limits = graph.vertex_weights.max(axis=0) * np.array([4, 9], kind)
    wanted = expected_levels(graph, stop=9, limit=limits, twohop=twohop)
    check(graph, wanted, 3, stop=9, max_vertex_weight=limits.tolist(), twohop=twohop)
    assert len(wanted) > 1
    for coarse, _, _ in wanted:
        assert (coarse.vertex_weights <= limits).all()


@pytest.mark.parametrize(
    "spec",
    [
        "rmat:scale=12,edgefactor=8",
        "grid:rows=120,cols=120",
        "grid:rows=120,cols=120,weights=unit",
        "stencil:nx=20,ny=20,nz=20,weights=unit",
        "path:n=20000,weights=increasing",
        "hubs:n=20000,hubs=5,degree=9000",
        "bipartite:left=30,right=30000,m=40000",
        "complete:n=700",
    ],
)
def test_families_shrink_to_the_end(spec):
    """To half or less in every level but the last ones, in eight times fewer at most; all weights are conserved."""
    graph = troth.read(spec)
    levels = troth.hierarchy(graph, by="strongest", stop=100, device="cpu")
    assert levels[-1].graph.n <= 100
    assert len(levels) < len(troth.hierarchy(graph, stop=100, device="cpu"))
    for finer, level in pairwise(levels):
        n = level.graph.n
        assert finer.graph.n / MOST_JOINED <= n <= finer.graph.n / 2 or n <= 200
        assert int(level.graph.vertex_weights.sum()) == graph.n
        assert np.bincount(level.map).max() <= MOST_JOINED
        assert n == level.map.max() + 1 == finer.graph.n - level.stats["joined"]
        inner = finer.graph.weights[np.repeat(level.map, np.diff(finer.graph.indptr)) == level.map[finer.graph.indices]]
        before, after = finer.graph.weights.sum(dtype=float), level.graph.weights.sum(dtype=float)
        assert np.isclose(before, after + inner.sum(dtype=float))


def test_a_star_is_no_single_cluster():
    """Its leaves are put together eight at a time; or, without two hops, seven join the middle."""
    graph = star([1 + i % 7 for i in range(800)])
    level = troth.hierarchy(graph, by="strongest", stop=1, levels=1)[1]
    assert (np.bincount(level.map) == [MOST_JOINED] * 100 + [1]).all()
    only = reference.join_strongest(graph, order_of(graph), twohop=False)[0]
    assert sorted(map(len, only))[-2:] == [1, MOST_JOINED]


def test_lone_vertices_and_twins():
    """Four twins between 0 and 1, which have stronger neighbours, and ten lone vertices."""
    twins = [(u, v, 1) for u in (0, 1) for v in (2, 3, 4, 5)]
    graph = build([*twins, (0, 6, 9), (1, 7, 9)], 18)
    level = troth.hierarchy(graph, by="strongest", stop=1, levels=1)[1]
    assert level.map[8:].tolist() == [level.map[8]] * 8 + [level.map[16]] * 2
    assert level.map[8] != level.map[16]
    alone = troth.hierarchy(graph, by="strongest", stop=1, levels=1, twohop=False)[1]
    assert len(set(alone.map[8:].tolist())) == 10


def test_sums_are_exact_in_any_order():
    """Numbers so far apart that two doubles do not hold their sum; the two directions agree in every bit."""
    rng = np.random.default_rng(0)
    graph = complete(60, lambda u, v: float(rng.random() * 2.0 ** rng.integers(-150, 150)), np.float64)
    wanted = expected_levels(graph, stop=3)
    check(graph, wanted, 2, stop=3)
    coarse = wanted[0][0].to_scipy()
    assert (coarse != coarse.T).nnz == 0


@given(st.lists(st.floats(5e-324, 1.7e308), min_size=1, max_size=64))
def test_whole_numbers_round_correctly(terms):
    """As a fraction that is rounded once."""
    total = add_all(np.array(terms), np.empty(LIMBS, np.uint64))
    try:
        assert total == float(sum(map(Fraction, terms)))
    except OverflowError:
        assert total == np.inf


def test_sums_that_do_not_fit():
    most = 2**63 - 1
    graph = build([(0, 1, most), (2, 3, most), (0, 2, 2**62), (1, 3, 2**62)])
    with pytest.raises(troth.TrothError, match="more than 2\\^63 - 1 together; scale the weights, or use float64"):
        troth.hierarchy(graph, by="strongest", stop=1)
    for dtype in (np.float32, np.float64):
        top = float(np.finfo(dtype).max)
        graph = build([(0, 1, top), (2, 3, top), (0, 2, top * 0.75), (1, 3, top * 0.75)], dtype=dtype)
        with pytest.raises(troth.TrothError, match=f"more than the greatest {np.dtype(dtype)} together"):
            troth.hierarchy(graph, by="strongest", stop=1)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"by": "stronger"}, "by='stronger' is not known .did you mean 'strongest'.*: choose matching, strongest"),
        ({"by": None}, "by=None is not known: choose matching, strongest"),
        ({"by": "strongest", "algorithm": "greedy"}, "matches nothing: leave algorithm out, or choose by='matching'"),
        ({"by": "strongest", "presort": True}, "matches nothing: leave presort out"),
        ({"by": "strongest", "device": "mpi"}, "choose auto, cpu or cuda"),
        ({"by": "strongest", "max_vertex_weight": 0}, "give a positive number"),
    ],
)
def test_what_is_refused(options, reason):
    with pytest.raises(troth.TrothError, match=reason) as refusal:
        troth.hierarchy(build([(0, 1, 1), (1, 2, 1)]), stop=1, **options)
    assert "\n" not in str(refusal.value)


def test_progress_and_a_graph_that_is_small_already():
    seen = []
    graph = troth.generate("grid", rows=40, cols=40)
    levels = troth.hierarchy(graph, by="strongest", stop=50, levels=2, progress=lambda *words: seen.append(words))
    assert len(levels) == 3
    assert [word for word, *_ in seen] == ["coarsen"] * 2
    assert len(troth.hierarchy(graph, by="strongest", stop=1600)) == 1
