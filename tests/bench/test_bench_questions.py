"""Our own questions: the device that they ask for, the sizes of their graphs, and the model of many ranks."""

from __future__ import annotations

import pytest
from undrawn import Undrawn

import troth
from bench import experiments
from bench.card_model import cards_on_paper
from bench.experiments import cpu, gpu
from bench.questions import alternate, sized
from bench.rank_model import on_paper
from bench.setting import Setting
from bench.store import KEPT, Store
from troth.families import is_spec

ON_CPU = [name for name in experiments.names() if name.startswith("cpu-")]


@pytest.mark.parametrize("name", [*ON_CPU, "coarsen-peers"])
def test_what_is_about_the_cpu_asks_for_it(name, monkeypatch):
    """Where there is a GPU, too, on which the default would run."""
    asked, match = set(), troth.match

    def watched(graph, **words):
        asked.add(words.get("device"))
        return match(graph, **words)

    monkeypatch.setattr(troth, "match", watched)
    setting, question = Setting(size="tiny", repeats=1), experiments.load(name)
    tasks = question.tasks(setting)
    assert tasks
    question.measure(tasks[0], setting)
    assert asked == ({"cpu"} if name not in ("cpu-gate", "cpu-startup", "cpu-reading") else set())


def test_graphs_of_all_sizes_are_graphs():
    for spec in [*cpu.GRAPHS.values(), *cpu.CERTIFIED, *gpu.GRAPHS.values()]:
        assert sized(spec, "full") == spec
        edges = [Setting().find(sized(spec, size)).edges for size in ("tiny", "small", "full")]
        assert edges == sorted(edges)
        assert is_spec(sized(spec, "tiny"))
        assert edges[0] < 20_000


def test_compared_calls_alternate_and_the_first_round_is_left_out():
    order = []
    calls = {name: lambda name=name: order.append(name) or float(len(order)) for name in ("a", "b")}
    assert alternate(Setting(size="tiny", repeats=2), calls) == {"a": [3.0, 5.0], "b": [4.0, 6.0]}
    assert order == ["a", "b"] * 3


def test_model_of_a_thousand_ranks_says_what_the_page_says():
    tasks = [task for task in Store(KEPT).tasks.values() if task["experiment"] == "mpi-weak"]
    rows = on_paper(experiments.load("mpi-weak").rows(tasks))
    found = {(row["graph"], row["engine"]): row for row in rows}
    grid, random = found["grid", "Suitor, messages"], found["Erdos-Renyi", "Suitor, messages"]
    assert [round(grid[f"{ranks} ranks, ms"], 1) for ranks in (16, 1024)] == [107.4, 107.6]
    assert [round(random[name]) for name in ("rounds", "MB", "talk, ms")] == [21, 51, 135]
    assert round(random["messages"] / 1e3) == 41
    assert round(random["1024 ranks, ms"] - random["16 ranks, ms"]) == 103
    assert round(found["Erdos-Renyi", "async-notify"]["messages"] / 1e6, 1) == 3.9


def test_model_of_several_cards():
    """Time falls with the cards but for the rounds, whose cost is that of the grid, and for what is sent."""
    head = {"messages": 0, "bytes": 0, "graph_bytes": 0}
    rows = [
        {"graph": graph, "ranks": ranks, "ms": ms, "rounds": rounds, **head}
        for graph, times in (
            ("grid 9^2", (8.0, 10.0, 12.0)),
            ("Erdos-Renyi 9", (16.0, 20.0, 24.0)),
            ("R-MAT 9", (1, 1, 1)),
        )
        for ranks, ms, rounds in zip((1, 2, 4), times, (2, 6, 8), strict=True)
    ]
    found = cards_on_paper([{"graph": "grid 9^2", "ranks": 0, "ms": 7.0, "rounds": None, **head}, *rows])
    assert [(row["graph"], row["rounds"], row["on paper, ms"]) for row in found] == [
        ("grid 9^2", 10, 1 + 10 * 0.5),
        ("grid 9^2", 16, 0.125 + 16 * 0.5),
        ("Erdos-Renyi 9", 10, 2 + 10 * 0.5),
        ("Erdos-Renyi 9", 16, 0.25 + 16 * 0.5),
    ]
    rows[2]["bytes"] = 450_000_000  # of the grid: a millisecond over NVLink
    assert cards_on_paper(rows)[0]["on paper, ms"] == pytest.approx(7)
    assert cards_on_paper(rows[3:]) == []  # what a round costs is not known


@pytest.mark.parametrize(("nosync", "verdict"), [(0.5, "held"), (2.0, "not held")])
def test_a_warp_a_vertex_is_judged_against_a_thread(nosync, verdict):
    page = Undrawn("gpu-engines")
    gpu.engines_judge([{"graph": "a", "plain": 1.0, "nosync": nosync}, {"graph": "b", "plain": 1.0}], page)
    assert page.verdicts("a warp that reads the row") == [verdict]
    assert f"takes {nosync:.2f} times as long" in page.claims[0]["measured"]
    gpu.engines_judge([], page)
    assert len(page.claims) == 1
