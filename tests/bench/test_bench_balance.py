"""The experiment balance: the cross product that it plans, and claims that follow from the numbers."""

from __future__ import annotations

import pytest
from undrawn import Undrawn

from bench import engines, machine
from bench.experiments import balance
from bench.experiments.variants import FOUR, HYBRID, NOSYNC, SYNCLB, SYNCNOLB
from bench.setting import Setting


@pytest.fixture
def page():
    return Undrawn("balance")


def records(seconds: dict[str, float], rounds: int = 150) -> list[dict]:
    stats = {"rounds": rounds, "quick_warps": 4 if rounds >= 10 else 8, "warps": 8, "quick_blocks": 2, "blocks": 2}
    return [
        {
            "graph": "g",
            "engine": name,
            "params": {"threads_per_block": block, "vertices_per_warp": 64},
            "seconds": [9.0, seconds[name]],
            "result": {"n": 10, "m": 20, "mates": "", "stats": stats},
        }
        for name in FOUR
        for block in balance.BLOCKS
    ]


def test_the_cross_product_is_planned(monkeypatch):
    monkeypatch.setattr(machine, "gpu", lambda: {"name": "a GPU", "memory": 2**37})
    monkeypatch.setattr(engines, "missing", lambda name, cores: None)
    found = balance.tasks(Setting(size="full"))
    assert len({task.key for task in found}) == len(found) == len(balance.GRAPHS["full"]) * 3 * 6 * (2 + 2 * 2)
    for task in found:
        engines.read(task.engine)
        assert ("balance_rounds" in task.params) == (task.engine in (SYNCLB, HYBRID))
    some = [task.params for task in found if task.engine == SYNCLB and task.graph == found[0].graph]
    assert {words["balance_rounds"] for words in some} == {4, "adaptive"}
    assert {words["vertices_per_warp"] for words in some} == {8, 16, 32, 64, 128, 256}


def test_nothing_is_planned_without_a_gpu(monkeypatch):
    monkeypatch.setattr(engines, "missing", lambda name, cores: "no GPU")
    assert balance.tasks(Setting(size="tiny")) == []


def test_claims(page):
    seconds = dict.fromkeys(FOUR, 1.0) | {NOSYNC: 3.5, SYNCNOLB: 3.4, HYBRID: 0.9}
    balance.present(records(seconds), page)
    assert page.verdicts("") == ["not held", "held", "not held", "not held", "held", "held", "not held", "held"]
    assert "150" in page.claims[5]["measured"]


def test_claims_where_nothing_is_out_of_balance(page):
    balance.present(records(dict.fromkeys(FOUR, 1.1) | {NOSYNC: 1.0}, rounds=7), page)
    assert page.verdicts("") == ["held", "not held", "held", "held", "not held", "not held", "held", "held"]


def test_some_variants_are_not_enough(page):
    balance.present([each for each in records(dict.fromkeys(FOUR, 1.0)) if each["engine"] != HYBRID], page)
    assert page.verdicts("") == ["not tested"] * len(balance.SAID)
