"""Results on disk: appended, resumed, merged, and robust against a run that was killed."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import troth
from bench.store import FILE, Store, least, strict


def line(key: str, **more) -> dict:
    texts = dict.fromkeys(("graph", "engine", "origin", "run", "commit"), "")
    numbers = {"seed": 0, "repeats": 1, "threads": 1}
    task = {"record": "task", "experiment": "sizes", "size": "tiny", "machine": "m", "key": key, "params": {}}
    return task | texts | numbers | {"seconds": [], "result": {}} | more


def run(name: str, machine: str) -> dict:
    facts = {"name": machine, "system": "", "versions": {}, "gpu": None, "memory": 1}
    return {"record": "run", "run": name, "machine": facts, "left_out": {}}


def test_what_was_appended_is_read(tmp_path):
    with Store(tmp_path / "new") as store:
        store.append(run("r", "m"))
        store.append(line("a", result={"x": np.float32(0.5), "y": np.arange(2), "z": math.inf}))
    again = Store(tmp_path / "new")
    assert again.runs["r"]["machine"]["name"] == "m"
    assert [task["result"] for task in again.tasks.values()] == [{"x": 0.5, "y": [0, 1], "z": None}]
    assert again.has(line("a"))
    assert not again.has(line("a", seed=1))
    assert not again.has(line("b"))


def test_torn_last_line_is_passed_over_and_next_run_starts_a_new_one(tmp_path):
    path = tmp_path / FILE
    path.write_text(json.dumps(line("a")) + "\n" + json.dumps(line("b"))[:25])
    with Store(tmp_path) as store:
        assert [task["key"] for task in store.tasks.values()] == ["a"]
        store.append(line("c"))
    assert [task["key"] for task in Store(tmp_path).tasks.values()] == ["a", "c"]


def test_later_line_wins_and_faults_are_run_again(tmp_path):
    with Store(tmp_path) as store:
        store.append(line("a", error="no", fault=True))
        assert not store.has(line("a"))
        store.append(line("a", error="too large"))
        assert store.has(line("a"))


def test_folders_merge(tmp_path):
    with Store(tmp_path / "one") as one, Store(tmp_path / "two") as two:
        one.append(line("a"))
        two.append(run("r2", "n"))
        two.append(line("a"))
        two.append(line("a", machine="n"))
        assert one.merge(tmp_path / "two") == 1
        assert one.merge(tmp_path / "two") == 0
        with pytest.raises(troth.TrothError, match="no results there"):
            one.merge(tmp_path / "three")
    found = Store(tmp_path / "one")
    assert len(found.tasks) == 2
    assert list(found.runs) == ["r2"]


def test_several_files_of_a_folder_are_one(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps(line("a")) + "\n")
    (tmp_path / "b.jsonl").write_text(json.dumps(line("b")) + "\nnot json\n[1]\n")
    assert len(Store(tmp_path).tasks) == 2


def test_strict_is_json():
    value = {"a": (1, np.int64(2), {"b": float("nan")}), 3: troth}
    assert json.loads(json.dumps(strict(value), allow_nan=False))["a"] == [1, 2, {"b": None}]


def test_least_is_the_minimum_of_all_repeats():
    records = [
        {"graph": "g", "engine": "e", "seconds": [3.0, 2.0]},
        {"graph": "g", "engine": "e", "seconds": [2.5]},
        {"graph": "h", "engine": "e", "seconds": []},
    ]
    assert least(records) == {("g", "e"): 2.0}
