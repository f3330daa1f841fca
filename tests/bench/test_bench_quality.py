"""The experiment quality: nothing is above the optimum, no proof is above the truth, and all families are there."""

from __future__ import annotations

import pytest
from undrawn import Undrawn

from bench import peers
from bench.experiments import quality
from bench.setting import Setting, Task
from bench.store import Store


@pytest.fixture(scope="module")
def results(tiny):
    tasks = [task for task in Store(tiny.folder).tasks.values() if task["experiment"] == "quality" and "result" in task]
    return {(task["params"]["kind"], task["params"]["family"], task["engine"]): task["result"] for task in tasks}


def test_nothing_is_above_the_optimum_and_every_proof_below(results):
    if peers.missing("rustworkx"):
        pytest.skip("rustworkx is not installed")
    for (kind, family, engine), found in results.items():
        if kind == "small" and engine != quality.OPTIMUM:
            best = results[kind, family, quality.OPTIMUM]
            assert found["weight"] <= best["weight"] * (1 + 1e-9)
            assert found["cardinality"] <= best["cardinality"]
            assert found["ratio"] <= found["weight"] / best["weight"] * (1 + 1e-9)
            if quality.label(engine) == quality.DOMINANT:
                assert 2 * found["weight"] >= best["weight"]


def test_every_family_and_algorithm_is_there(results):
    for family in quality.FAMILIES:
        engines = {engine for kind, name, engine in results if (kind, name) == ("small", family)}
        assert engines >= {*quality.SAME, *quality.RANDOM}


def test_deterministic_engines_are_one(results):
    for family in quality.FAMILIES:
        assert len({results["small", family, name]["mates"] for name in quality.SAME}) == 1


def test_grids_are_solved_as_bipartite_graphs():
    found = quality.measure(Task("grid:rows=4,cols=4", quality.OPTIMUM, {"kind": "small"}), Setting(size="tiny"))
    assert found["by"] == "scipy"
    assert found["cardinality"] == 8


def test_families_can_be_chosen():
    tasks = quality.tasks(Setting(size="tiny", graphs=["road"], engines=["suitor@cpu"]))
    assert {task.params["family"] for task in tasks} == {"road"}
    assert {task.engine for task in tasks} == {"suitor@cpu"}


@pytest.mark.parametrize(("mates", "verdict"), [("a", "held"), ("b", "not held")])
def test_suitor_is_compared_with_greedy(mates, verdict):
    page = Undrawn("quality")
    quality._same_finding({"road": {"suitor@cpu": {"mates": "a"}, "greedy@cpu": {"mates": mates}}}, page)
    assert page.verdicts("same solution as Greedy") == [verdict]
