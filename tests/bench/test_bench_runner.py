"""Runs: what is there is not measured again, the time limit and Ctrl-C leave a folder that goes on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

import troth
from bench import engines, experiments, runner
from bench.machine import CLONE
from bench.setting import Setting, Task, digest, repeat
from bench.store import FILE, Store


def test_second_run_measures_nothing(tmp_path, graphs):
    def run(**words):
        with Store(tmp_path) as store:
            return runner.run(["sizes"], Setting(size="tiny", cache=graphs, **words), store)

    first = run()
    assert (first.measured, first.stored, first.left) == (5, 0, 0)
    before = (tmp_path / FILE).read_bytes()
    assert run() == (0, 5, 0, 0, 0, {})
    assert (tmp_path / FILE).read_bytes() == before
    assert run(seed=1).measured == 5  # other settings are other results


def test_stops_when_time_is_up_and_goes_on(tmp_path, graphs):
    setting = Setting(size="tiny", cache=graphs)
    with Store(tmp_path) as store:
        stopped = runner.run(["sizes"], setting, store, minutes=0)
        assert (stopped.measured, stopped.left) == (0, 5)
        assert runner.run(["sizes"], setting, store).measured == 5


def test_faults_and_refusals_do_not_end_a_run(tmp_path, monkeypatch):
    def measure(task, setting):
        if task.params["n"] == 0:
            raise troth.TrothError("too large")
        if task.params["n"] == 1:
            raise ZeroDivisionError("oops")
        return {"seconds": [1.0], "n": np.int32(2)}

    module = SimpleNamespace(NAME="x", tasks=lambda s: [Task(params={"n": n}) for n in range(3)], measure=measure)
    monkeypatch.setattr(experiments, "load", lambda name: module)
    with Store(tmp_path) as store:
        outcome = runner.run(["x"], Setting(size="tiny"), store)
        assert outcome[:5] == (1, 0, 1, 0, 1)
        assert list(outcome.reasons) == ["x"]
        refused, fault, fine = store.tasks.values()
        assert refused["error"] == "too large"
        assert fault["error"] == "ZeroDivisionError: oops"
        assert (fine["seconds"], fine["result"]) == ([1.0], {"n": 2})
        again = runner.run(["x"], Setting(size="tiny"), store)  # the fault alone is tried again
        assert again == (0, 2, 1, 0, 0, {"x": "ZeroDivisionError: oops"})


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for another process")
def test_interrupt_leaves_a_folder_that_goes_on(tmp_path, graphs):
    words = [sys.executable, "-m", "bench", "sizes", "--size", "small", "--graphs", "mesh-*,rmat-*,stencil-*",
             "--cache", str(graphs), "-o", str(tmp_path)]  # fmt: skip
    with subprocess.Popen(words, cwd=CLONE, stderr=subprocess.PIPE, text=True) as job:
        while job.poll() is None and not (tmp_path / FILE).exists():
            time.sleep(0.01)
        os.kill(job.pid, signal.SIGINT)
        message = job.communicate()[1]
    # Shells report both as 130: CPython ends by the signal itself where the interrupt came while it executed a text.
    assert job.returncode in (130, -signal.SIGINT), message
    assert "goes on" in message
    done = len(Store(tmp_path).tasks)
    again = subprocess.run(words, cwd=CLONE, capture_output=True, text=True, check=True)
    assert f"{done} were there, 0 failed, 0 left" in again.stdout
    assert len(Store(tmp_path).tasks) == done + int(again.stdout.split(" measured")[0].splitlines()[-1])


def test_engines_are_chosen_and_left_out_by_name():
    setting = Setting(size="tiny", engines=["suitor", "cuda", "greedy@cpu"])
    names = ["suitor@cpu", "suitor@cpu:threads=1000", "greedy@cpu", "handshake@cpu", "suitor@cuda"]
    able = setting.able(names)
    assert able[:2] == ["suitor@cpu", "greedy@cpu"]
    assert (
        "cores" in setting.left_out["suitor@cpu:threads=1000"] or "core" in setting.left_out["suitor@cpu:threads=1000"]
    )
    assert "handshake@cpu" not in setting.left_out
    assert ("suitor@cuda" in able) != ("suitor@cuda" in setting.left_out)


def test_wrong_engine_names_are_refused():
    for name in ("suiter@cpu", "suitor@tpu", "suitor@cpu:speed=9"):
        with pytest.raises(troth.TrothError):
            engines.read(name)


def test_match_keeps_every_repeat_and_the_same_mates():
    setting = Setting(size="tiny", repeats=3)
    found = [setting.match("rmat:scale=7,seed=1", name) for name in ("suitor@cpu", "greedy@cpu:threads=1")]
    assert found[0]["mates"] == found[1]["mates"] == digest(troth.match("rmat:scale=7,seed=1").mate)
    assert all(1 <= len(each["seconds"]) == len(each["call"]) <= 3 for each in found)
    assert all(call >= spent for call, spent in zip(found[0]["call"], found[0]["seconds"], strict=True))


def test_repeat_stops_at_its_budget_but_runs_once():
    assert len(repeat(lambda: None, 7)) == 7
    assert len(repeat(lambda: None, 7, budget=0)) == 1


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no pseudo-terminals")
@pytest.mark.parametrize("columns", [80, 60])
def test_progress_fits_the_terminal(columns, monkeypatch):
    """One line, whatever is measured; the words are cut, the times are not."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(columns))
    reader, writer = os.openpty()
    with open(writer, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with runner._bar(10.0, Setting(size="tiny")) as advance:
            advance("near-optimal a-graph-of-a-very-long-name-with-its-parameters auction-with-options@cpu [8 threads]")
            seen = ""
            while "near" not in seen or not seen.endswith("\x1b[0m"):  # read blocks until the bar is drawn
                seen += os.read(reader, 10_000).decode()
    os.close(reader)
    line = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen[seen.rindex("near") :])
    assert len(line) <= columns
    assert line.endswith("left: -:--:--")
