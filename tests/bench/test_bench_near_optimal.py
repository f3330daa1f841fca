"""The experiment near-optimal: contenders that keep their promises, optima that are optima, kept or found."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from corpus import build, exact_weight
from corpus import optimum as exact

import troth
from bench import contenders, optima, peers
from bench.__main__ import main
from bench.catalogue import SIZES
from bench.experiments import near_optimal
from bench.questions import sized
from bench.setting import Setting, Task
from bench.store import Store
from troth import engines, reference
from troth.errors import TrothError

SMALL = (
    "erdos-renyi:n=14,degree=5",
    "erdos-renyi:n=14,degree=5,weights=unit",
    "complete:n=9,weights=integers,high=4",
    "rgg:n=16,degree=6,weights=near,dtype=float64",
    "grid:rows=4,cols=4,weights=unit",
    "path:n=12,weights=trap",
    "path:n=9,weights=increasing",
)


@pytest.fixture(scope="module")
def results(tiny):
    found = [task for task in Store(tiny.folder).tasks.values() if task["experiment"] == "near-optimal"]
    return {(task["params"]["title"], task["engine"]): task["result"] for task in found}


def test_every_contender_is_below_every_optimum_and_above_its_promise(results):
    promised = {"suitor@cpu": 1 / 2, "gpa": 1 / 2, "suitor+2aug": 2 / 3, "gpa+2aug": 2 / 3}
    for title in near_optimal.GRAPHS:
        best = results[title, near_optimal.OPTIMUM]
        for name, least in promised.items():
            share = results[title, name]["weight"] / best["weight"]
            assert least * (1 - 1e-9) <= share <= 1 + 1e-9
            assert results[title, name]["ratio"] <= share * (1 + 1e-9)


def test_what_is_kept_is_enough_without_lemon(results, monkeypatch):
    assert {result["by"] for (_, name), result in results.items() if name == near_optimal.OPTIMUM} == {"LEMON"}
    monkeypatch.setattr(optima, "solve", None)
    kept = {key.split()[0] for key in optima.known()}
    for spec in near_optimal.GRAPHS.values():
        assert {sized(spec, size) for size in SIZES} <= kept
        name = sized(spec, "small")
        assert optima.optimum(name, troth.read(name))["weight"] > 0


def test_auctions_of_the_table_are_contenders(monkeypatch):
    others = tuple(each for each in engines.TABLE if each.algorithm != "auction")
    monkeypatch.setattr(engines, "TABLE", others)
    assert near_optimal.auctions() == []
    suitor = engines.find_engines("suitor", "cpu")[0]
    more = [replace(suitor, algorithm="auction", device=device) for device in ("cpu", "cuda", "mpi")]
    monkeypatch.setattr(engines, "TABLE", (*others, *more))
    assert near_optimal.auctions() == ["auction@cpu", "auction@cuda"]
    assert near_optimal.label("auction@cpu") == "Auction"


def test_files_and_chosen_graphs(tmp_path):
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 5\n3 2 7\n")
    setting = Setting(size="tiny", repeats=1, folders=[tmp_path], engines=["gpa", near_optimal.OPTIMUM])
    assert list(near_optimal.graphs(setting)) == [*near_optimal.GRAPHS, "a.mtx"]
    setting = Setting(size="tiny", repeats=1, folders=[tmp_path], graphs=["file"])
    assert near_optimal.graphs(setting) == {"a.mtx": "a.mtx"}
    assert near_optimal.measure(Task("a.mtx", "gpa", {"title": "a.mtx"}), setting)["weight"] == 7
    assert near_optimal.measure(Task("a.mtx", near_optimal.OPTIMUM, {"title": "a.mtx"}), setting)["weight"] == 7


@pytest.mark.slow
def test_tables_are_printed(tmp_path, graphs, capfd):
    words = ["near-optimal", "--size", "tiny", "--repeats", "1", "--engines", "gpa,optimum", "--cache", str(graphs)]
    assert main([*words, "--tables", "-o", str(tmp_path)]) == 0
    out = capfd.readouterr().out
    assert "| graph | vertices | edges | GPA |" in out
    assert "| trap | 64 | 63 | 100.00 %, 100.0 % proven, " in out


# ---- contenders ----


@pytest.mark.parametrize("spec", SMALL)
@pytest.mark.parametrize("name", contenders.CONTENDERS)
def test_contenders_on_small_graphs(spec, name):
    for seed in range(6):
        graph = troth.read(f"{spec},seed={seed}")
        mate = contenders.CONTENDERS[name](graph)
        report = troth.verify(graph, mate)
        assert report.valid
        assert report.maximal
        best, found = exact(graph), exact_weight(graph, mate)
        assert found <= best
        assert (3 if "2aug" in name else 2) * found >= (2 if "2aug" in name else 1) * best
        assert np.array_equal(mate, contenders.CONTENDERS[name](graph))


def test_gpa_solves_paths_and_even_cycles():
    for seed in range(30):
        weights = np.random.default_rng(seed).integers(1, 9, 12).tolist()
        for size in (11, 12):
            graph = build([(i, (i + 1) % 12, weights[i]) for i in range(size)], 12)
            assert exact_weight(graph, contenders.gpa(graph)) == exact(graph)


def gains(graph, mate) -> list[float]:
    """Of all alternating paths and cycles that bring in one edge or two, by brute force."""
    weight = {(u, v): float(w) for e, w in reference.edges(graph).items() for u, v in (e, e[::-1])}
    held = [weight[v, int(mate[v])] if mate[v] >= 0 else 0.0 for v in range(graph.n)]
    found = []
    fresh = [edge for edge in weight if mate[edge[0]] != edge[1]]
    for edges in [(edge,) for edge in fresh] + list(permutations(fresh, 2)):
        ends = [v for edge in edges for v in edge]
        if len(set(ends)) < len(ends) or (len(edges) == 2 and mate[edges[0][1]] != edges[1][0]):
            continue
        lost = {frozenset((v, int(mate[v]))): held[v] for v in ends if mate[v] >= 0}
        found.append(sum(weight[edge] for edge in edges) - sum(lost.values()))
    return found


@pytest.mark.parametrize("spec", SMALL)
def test_no_2_augmentation_is_left(spec):
    for seed in range(3):
        graph = troth.read(f"{spec},seed={seed}")
        alone = np.full(graph.n, -1, np.int32)
        assert max(gains(graph, alone)) > 0
        for mate in (alone, troth.match(graph, device="cpu").mate, contenders.gpa(graph)):
            assert max(gains(graph, contenders.augment(graph, mate)), default=0) <= 1e-9


# ---- optima ----


def lemon() -> None:
    if optima.program() is None:
        pytest.skip("g++ or LEMON is not installed")


@pytest.mark.parametrize("spec", [*SMALL, "bipartite:left=20,right=9,m=60,dtype=float64", "rmat:scale=5,edgefactor=4"])
def test_lemon_finds_the_optimum(spec):
    lemon()
    graph = troth.read(spec)
    found = optima.solve(graph)
    _, mate = peers.optimum(graph)
    assert found["by"] == "LEMON"
    assert found["weight"] == pytest.approx(troth.verify(graph, mate, certify=False).weight, rel=1e-12)


def test_without_lemon_a_library_solves_what_it_can(monkeypatch):
    monkeypatch.setattr(optima, "program", lambda: None)
    graph = troth.read("grid:rows=5,cols=5")
    assert optima.solve(graph)["by"] == "scipy"
    monkeypatch.setattr(optima, "LONGEST", 0.0)
    with pytest.raises(TrothError, match="its optimum is not kept, and LEMON is not here: apt-get install"):
        optima.solve(graph)


def test_names_and_arrays_tell_optima_apart():
    one, two = troth.read("path:n=4"), troth.read("path:n=4,seed=1")
    keys = {optima.key(name, graph) for name in ("a", "b") for graph in (one, two, troth.read("path:n=4,weights=unit"))}
    assert len(keys) == 6


def test_whole_weights_fit_their_sums():
    assert optima.whole(np.array([2.0, 5.0])).tolist() == [2, 5]
    assert int(optima.whole(np.full(2**21, 0.75)).sum()) < 2**61
    with pytest.raises(TrothError, match="too large for LEMON"):
        optima.whole(np.array([2**60, 1]))


def test_kept_optima_of_files_are_those_of_another_solver(data):
    """Found by rustworkx, with the same rule for weights."""
    kept = {key.split()[0]: value for key, value in optima.known().items()}
    others = json.loads(data("optimum/real_graphs.json").read_text())["optima"]
    both = {name: row for name, row in others.items() if name.partition("/")[2] in kept}
    assert len(both) > 10
    for name, row in both.items():
        assert kept[name.partition("/")[2]]["weight"] == pytest.approx(row["optimum"], rel=1e-12)
