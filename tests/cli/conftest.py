"""Running the command line: in this process, for the many, and as a program, for the few."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from troth.cli import main

SRC = Path(__file__).resolve().parents[2] / "src"


class Outcome(NamedTuple):
    """What a run left: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict:
        """The one object on stdout; NaN and infinity are not JSON."""
        assert self.out.count("\n") == 1

        def refuse(word):
            raise ValueError(word)

        return json.loads(self.out, parse_constant=refuse)


@pytest.fixture
def run(capfd, monkeypatch, tmp_path):
    """``run("match", "g.mtx")`` in an empty folder, in this process."""
    monkeypatch.chdir(tmp_path)

    def call(*args) -> Outcome:
        capfd.readouterr()
        code = main([str(arg) for arg in args])
        return Outcome(code, *capfd.readouterr())

    return call


@pytest.fixture
def program(tmp_path):
    """``program("match", "g.mtx")`` in an empty folder, as a program of its own: a started ``subprocess.Popen``."""
    environment = os.environ | {"PYTHONPATH": str(SRC)}
    started = []

    def call(*args) -> subprocess.Popen:
        command = [sys.executable, "-m", "troth", *map(str, args)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=pipe, stderr=pipe, text=True)
        started.append(process)
        return process

    yield call
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def trap(tmp_path) -> Path:
    """The path 4 - 5 - 4, whose stable matching is its middle edge: weight 5 of 8."""
    path = tmp_path / "trap.csv"
    path.write_text("source,target,weight\n0,1,4\n1,2,5\n2,3,4\n")
    return path
