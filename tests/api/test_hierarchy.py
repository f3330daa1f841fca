"""Hierarchies: what the reference promises, level by level; they conserve, shrink and keep limits."""

from __future__ import annotations

import re
import runpy
import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from corpus import TIES, build, graphs, on_corpus, order_of, same_graphs, star
from hypothesis import example, given
from hypothesis import strategies as st

import troth
from troth import reference
from troth.cli import main
from troth.engines import TABLE
from troth.graph import Graph

ROOT = Path(__file__).resolve().parents[2]
THREADS = (1, 2, 3, 8)
QUARTER, TWENTIETH = 0.25, 0.05


def expected_levels(graph: Graph, ties: str, seed: int, stop: int, limit=None, twohop: bool = True) -> list[Graph]:
    """What ``hierarchy`` promises, by the reference."""
    found = [graph]
    while graph.n > stop:
        weights = np.ones(graph.n) if graph.vertex_weights is None else graph.vertex_weights
        pairs = {
            (u, v): w
            for (u, v), w in reference.edges(graph).items()
            if limit is None or weights[u] + weights[v] <= limit
        }
        allowed = build([(u, v, w) for (u, v), w in pairs.items()], graph.n, graph.weights.dtype)
        mate, order = reference.greedy(allowed, order_of(graph, ties, seed)), order_of(graph, ties, seed)
        light = {v for v in range(graph.n) if limit is None or 2 * weights[v] <= limit}
        for relatives in (False, True) if twohop else ():
            if np.count_nonzero(mate >= 0) / 2 < QUARTER * graph.n:
                mate = reference.pair_twohop(graph, order, mate, light, relatives)
        if np.count_nonzero(mate >= 0) / 2 < TWENTIETH * graph.n:
            break
        graph, _ = reference.contract(graph, mate)
        found.append(graph)
        if not np.isfinite(graph.weights).all():
            break
    return found


@on_corpus
@pytest.mark.usefixtures("small_blocks")
def test_hierarchies_of_the_corpus(graph):
    for twohop in (True, False):
        try:
            wanted = expected_levels(graph, "hash", 0, 1, twohop=twohop)
        except OverflowError:
            with pytest.raises(troth.TrothError, match="more than 2\\^63 - 1 together"):
                troth.hierarchy(graph, stop=1, twohop=twohop)
            continue
        for threads in THREADS:
            found = troth.hierarchy(graph, stop=1, threads=threads, twohop=twohop)
            assert len(found) == len(wanted)
            for level, expected in zip(found[1:], wanted[1:], strict=True):
                same_graphs(level.graph, expected)


@given(graphs(16, ("int64", "float32")), st.sampled_from(TIES), st.sampled_from([None, 1, 2, 3.5, 7]))
@example(build([(0, 1, 2**62), (0, 2, 2**62), (1, 2, 2**62)], 3, np.int64), "hash", None)
def test_any_hierarchy(graph, ties, limit):
    options = {"ties": ties, "seed": 3, "max_vertex_weight": limit}
    try:
        wanted = expected_levels(graph, ties, 3, 2, limit)
        fits = all(np.isfinite(expected.weights).all() for expected in wanted)
    except OverflowError:
        fits = False
    if not fits:
        with pytest.raises(troth.TrothError, match=r"more than (the greatest float32|2\^63 - 1) together"):
            troth.hierarchy(graph, stop=2, **options)
        return
    found = troth.hierarchy(graph, stop=2, **options)
    assert [level.graph.n for level in found] == [expected.n for expected in wanted]
    for level, expected in zip(found[1:], wanted[1:], strict=True):
        same_graphs(level.graph, expected)


def test_the_finest_level_is_the_graph():
    graph = troth.generate("grid", rows=30, cols=30)
    levels = troth.hierarchy(graph, stop=10)
    assert levels[0].graph is graph
    assert levels[0].map is levels[0].mate is None
    assert levels[0].project("as it is") == levels[0].restrict("as it is") == "as it is"
    assert len(troth.hierarchy(graph, stop=900)) == 1


@pytest.mark.parametrize(
    "spec",
    [
        "rmat:scale=13,edgefactor=8",
        "grid:rows=150,cols=150,weights=unit",
        "path:n=20000,weights=increasing",
        "hubs:n=20000,hubs=5,degree=9000",
        "bipartite:left=30,right=30000,m=40000",
        "erdos-renyi:n=20000,degree=1",
        "rgg:n=15000,degree=5",
        "complete:n=1500",
    ],
)
def test_families_shrink_to_the_end(spec):
    """In 40 levels or fewer, conserving all weights; every level but those at the end by a quarter."""
    graph = troth.read(spec)
    levels = troth.hierarchy(graph, stop=100)
    assert levels[-1].graph.n <= 100
    assert len(levels) <= 41
    for finer, level in pairwise(levels):
        assert int(level.graph.vertex_weights.sum()) == graph.n
        assert level.graph.n == level.map.max() + 1 == finer.graph.n - level.stats["pairs"]
        inner = finer.graph.weights[np.repeat(level.map, np.diff(finer.graph.indptr)) == level.map[finer.graph.indices]]
        before, after = finer.graph.weights.sum(dtype=float), level.graph.weights.sum(dtype=float)
        assert np.isclose(before, after + inner.sum(dtype=float))
        assert level.graph.n <= (1 - QUARTER) * finer.graph.n or level.stats["twohop"]


def test_stars_need_two_hops():
    graph = star([1 + i % 7 for i in range(4000)])
    for no in (False, "no"):
        assert len(troth.hierarchy(graph, stop=10, twohop=no)) == 1
    levels = troth.hierarchy(graph, stop=10)
    assert levels[-1].graph.n <= 10
    assert len(levels) < 14


def test_twins_and_lone_vertices_are_paired():
    """Four twins between 0 and 1, which are matched to others, and six lone vertices."""
    twins = [(u, v, 1) for u in (0, 1) for v in (2, 3, 4, 5)]
    graph = build([*twins, (0, 6, 9), (1, 7, 9)], 14)
    level = troth.hierarchy(graph, stop=1, levels=1)[1]
    assert level.mate.tolist() == [6, 7, 3, 2, 5, 4, 0, 1, 9, 8, 11, 10, 13, 12]
    assert level.stats["twohop"] == 5


@pytest.mark.parametrize(
    "spec", ["rmat:scale=11,edgefactor=8", "grid:rows=60,cols=60", "hubs:n=4000,hubs=3,degree=2000"]
)
@pytest.mark.parametrize("limit", [1, 2, 7, 40.5])
def test_no_vertex_outgrows_the_limit(spec, limit):
    levels = troth.hierarchy(troth.read(spec), stop=10, max_vertex_weight=limit)
    assert all(level.graph.vertex_weights.max() <= limit for level in levels[1:])
    assert len(levels) > np.log2(limit)


def test_a_limit_for_each_column():
    graph = troth.generate("grid", rows=40, cols=40)
    sizes = np.stack([np.ones(1600), np.arange(1600) % 5], axis=1)
    levels = troth.hierarchy(replace(graph, vertex_weights=sizes), stop=10, max_vertex_weight=(50, 12))
    assert (levels[-1].graph.vertex_weights.max(axis=0) <= (50, 12)).all()
    assert (levels[-1].graph.vertex_weights.sum(axis=0) == sizes.sum(axis=0)).all()


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_a_limit_beyond_all_numbers_is_none(kind):
    graph = replace(troth.generate("grid", rows=6, cols=6), vertex_weights=np.ones(36, kind))
    levels = troth.hierarchy(graph, stop=5, max_vertex_weight=10**400)
    assert [level.graph.n for level in levels] == [level.graph.n for level in troth.hierarchy(graph, stop=5)]


def test_limits_are_exact():
    """Weights whose doubles do not fit 64 bits, and limits that no float64 tells apart."""
    graph = build([(0, 1, 1), (2, 3, 1)], 4)
    heavy = replace(graph, vertex_weights=np.array([2**60 + 1, 2**60, 2**62 + 2**60, 1]))
    for limit, sizes in ((2**61 + 1, 3), (2**61, 4), (2**62 + 2**60 + 1, 2), (2**63 - 1, 2), (float("inf"), 2)):
        assert troth.hierarchy(heavy, stop=1, max_vertex_weight=limit, twohop=False, levels=1)[-1].graph.n == sizes


@pytest.mark.parametrize("by", ["matching", "strongest"])
def test_vectors_go_up_and_down(by):
    graph = troth.generate("rgg", n=2000, degree=6)
    levels = troth.hierarchy(graph, stop=100, by=by)
    sizes, rows = np.ones(graph.n, np.int32), np.random.default_rng(1).random((graph.n, 3), np.float32)
    totals = rows
    for level in levels:
        sizes, totals = level.restrict(sizes), level.restrict(totals)
    coarsest = levels[-1].graph
    assert (sizes.dtype, sizes.tolist()) == (np.int64, coarsest.vertex_weights.tolist())
    assert (totals.dtype, totals.shape) == (np.float32, (coarsest.n, 3))
    assert np.allclose(totals.sum(axis=0), rows.sum(axis=0))
    part = np.arange(coarsest.n)
    for level in reversed(levels):
        part = level.project(part)
    assert part.shape == (graph.n,)
    assert (np.bincount(part) == sizes).all()
    with pytest.raises(troth.TrothError, match="values of shape \\(5,\\) for 2000 vertices"):
        levels[1].restrict(np.ones(5))


@pytest.mark.parametrize(
    "engine", [engine for engine in TABLE if engine.device == "cpu"], ids=lambda engine: engine.algorithm
)
def test_every_engine(engine):
    graph = troth.generate("rmat", scale=9, edgefactor=6, weights="integers")
    once, again = (
        troth.hierarchy(graph, stop=50, algorithm=engine.algorithm, device="cpu", threads=threads, seed=3)
        for threads in (1, 3)
    )
    for a, b in zip(once[1:], again[1:], strict=True):
        same_graphs(a.graph, b.graph)
    first = troth.match(graph, algorithm=engine.algorithm, device="cpu", seed=3).mate
    assert (once[1].mate[first >= 0] == first[first >= 0]).all()


def test_options_of_the_engine_and_progress():
    seen = []
    graph = troth.generate("grid", rows=40, cols=40)
    levels = troth.hierarchy(
        graph, stop=50, algorithm="blue-red", mode="random", progress=lambda *words: seen.append(words), levels=3
    )
    assert len(levels) == 4
    assert [word for word, *_ in seen] == ["coarsen"] * 3
    assert seen[-1][1:] == (1600 - levels[-1].graph.n, 1550)


def test_a_hierarchy_of_auctions():
    """Its matchings are those of ``match``; ``target`` is for ``match`` alone."""
    graph = troth.generate("rgg", n=900, degree=6, seed=3)
    levels = troth.hierarchy(graph, stop=90, algorithm="auction", device="cpu", eps=0.1, twohop=False, target=None)
    for finer, level in pairwise(levels):
        assert (level.mate == troth.match(finer.graph, algorithm="auction", device="cpu", eps=0.1).mate).all()
    with pytest.raises(troth.TrothError) as refusal:
        troth.hierarchy(graph, algorithm="auction", target=0.9)
    assert str(refusal.value) == "auction: target is met by match alone, not by hierarchies: leave it out"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"stop": 0}, "stop=0: give a whole number of 1 or more"),
        ({"stop": 2.5}, "stop=2.5"),
        ({"levels": -1}, "levels=-1"),
        ({"max_vertex_weight": 0}, "max_vertex_weight=0: give a positive number"),
        ({"max_vertex_weight": "much"}, "give a number"),
        ({"max_vertex_weight": "3"}, "give a number"),
        ({"stop": 9, "ties": "even"}, "tie rule"),
        ({"max_vertex_weight": (1, 2)}, "one for each column"),
        ({"max_vertex_weight": float("nan")}, "positive"),
        ({"algorithm": "luck"}, "is not known"),
        ({"mode": "random"}, "no option 'mode'"),
        ({"device": "mpi"}, "choose auto, cpu or cuda"),
        ({"algorithm": "async-poll"}, "async-poll runs on MPI ranks, but hierarchies do not: choose suitor, "),
        ({"algorithm": "async-poll", "device": "cpu"}, "choose suitor, "),
        ({"device": "abacus"}, "is not known"),
        ({"seed": 1.5}, "seed"),
        ({"threads": 0}, "threads"),
        ({"stop": 9, "threads": "x"}, "threads='x'"),
        ({"twohop": "perhaps"}, "twohop='perhaps': give true or false"),
    ],
)
def test_what_is_refused(options, reason):
    with pytest.raises(troth.TrothError, match=reason) as refusal:
        troth.hierarchy(build([(0, 1, 1), (1, 2, 1)]), **({"stop": 1} | options))
    assert "\n" not in str(refusal.value)


# ---- the document and the example ----


def test_the_document(tmp_path, monkeypatch, capfd):
    """Its Python runs, and its commands work."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / "docs/coarsening.md").read_text(), re.MULTILINE | re.DOTALL)
    exec("".join(code for name, code in blocks if name == "python"), {})
    for line in "".join(code for name, code in blocks if name == "console").splitlines():
        assert main(shlex.split(line)[2:]) == 0, capfd.readouterr().err
    assert {"coarse.graph", "map.txt", "level-1.csr", "map-1.txt"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg")  # which shows nothing, and says so
def test_the_bisection(capsys):
    """Halves a grid with a cut that is less than twice the best, within its balance."""
    pytest.importorskip("pymetis", reason="pymetis is not installed: the example has nothing to compare with")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed").use("agg")
    example = runpy.run_path(str(ROOT / "examples/bisection.py"))
    assert "METIS" in capsys.readouterr().out
    graph = troth.generate("grid", rows=30, cols=30, weights="unit")
    side = example["bisect"](graph, seed=1)
    assert max(np.bincount(side)) <= example["BALANCE"] * graph.n / 2
    assert example["cut_of"](graph, side) < 60
