"""The device that "auto" takes, judged by the times that are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

import troth
from bench import store
from bench.experiments.devices import shaped_graph
from bench.questions import milliseconds
from troth.api import device_choice
from troth.api.request import WORTH_A_COPY

KEPT = Path(__file__).parents[2] / "bench" / "results" / "past-one-card-h200.jsonl.gz"


@pytest.mark.slow
def test_the_device_taken_is_the_better_one_or_near_it(monkeypatch):
    """On every graph of ``devices-choice``: at most 1.5 times the time of the better device."""
    monkeypatch.setattr(device_choice, "available_cores", lambda: 16)
    lines, _ = store.read_lines(KEPT)
    kept = [line for line in lines if line.get("experiment") == "devices-choice"]
    worse = {}
    for record in kept:
        words, ms = record["params"], milliseconds(record)
        graph = shaped_graph(words, "full") if "shape" in words else troth.read(record["graph"])
        pays = len(graph.indices) >= WORTH_A_COPY and device_choice.copying_pays(graph, words["ties"], 0, None)
        times = ms["cuda" if pays else "cpu"] / min(ms["cpu"], ms["cuda"])
        if times > 1.5:
            worse[record["key"]] = times
    assert len(kept) == 38
    assert not worse
