"""Rounds of Luby's algorithm: counted as the reference takes them, and judged by their growth."""

from __future__ import annotations

import numpy as np
import pytest
from undrawn import Undrawn

import troth
from bench.experiments import luby
from bench.setting import Setting
from troth import reference


def rounds_of_the_reference(graph, random, anew: bool) -> int:
    """How often the loop of ``reference.luby`` and ``reference.dominating`` asks for values, with these."""
    asked = []

    def label(remaining):
        if anew or not asked:
            drawn = random.permutation(len(remaining)).tolist()
            asked.append(dict(zip(remaining, drawn, strict=True)))
        else:
            asked.append(asked[0])
        return asked[-1]

    reference._peel(graph, label)
    return len(asked)


@pytest.mark.parametrize("spec", ["rmat:scale=6", "grid:rows=9,cols=7", "complete:n=12", "path:n=40"])
@pytest.mark.parametrize("anew", [True, False])
def test_rounds_are_those_of_the_reference(spec, anew):
    graph = troth.read(spec)
    for seed in range(3):
        expected = rounds_of_the_reference(graph, np.random.default_rng(seed), anew)
        assert luby.count_rounds(graph, np.random.default_rng(seed), anew) == expected


@pytest.mark.parametrize(("power", "verdict"), [(0.0, "held"), (0.5, "not held")])
def test_growth_beyond_the_logarithm_is_not_held(power, verdict):
    page = Undrawn("luby")
    records = []
    for m in (2**8, 2**12, 2**16):
        rounds = np.log2(m) * (m / 2**8) ** power
        found = {"n": m, "m": m, "rounds": {luby.LUBY: [rounds], luby.GREEDY: [rounds]}}
        records.append({"graph": f"g{m}", "engine": "", "params": {"family": "grid"}, "seconds": [], "result": found})
    luby.present(records, page)
    assert page.verdicts("O(log n)") == [verdict]


def test_tiny_tasks_are_measured():
    setting = Setting(size="tiny")
    found = luby.measure(luby.tasks(setting)[0], setting)
    assert len(found["rounds"][luby.LUBY]) == len(found["rounds"][luby.GREEDY]) == luby.SEEDS
