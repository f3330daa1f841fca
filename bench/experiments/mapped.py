"""Our own question about size: how large a graph do the commands write and match, in how much memory of their own?"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

from bench.machine import environment
from bench.memory import FORGET, resident
from bench.questions import Question, Record, Row, by_name, sized
from bench.questions import titles as titles_of
from bench.setting import Setting, Task
from troth.errors import TrothError

CPU = "suitor@cpu"
GRAPHS = {
    "stencil 426^3": "stencil:nx=426,ny=426,nz=426",
    "grid 7072^2": "grid:rows=7072,cols=7072",
}
title = titles_of(GRAPHS)
TICK = 0.01  # seconds between two looks at a running command


class Done(NamedTuple):
    """What a command printed, its seconds, and the most memory that it had beside files, in bytes."""

    facts: dict[str, Any]
    seconds: float
    peak: int


def watched(*words: str) -> Done:
    """Run ``troth WORDS --json``, and look at its memory all the time: the system keeps no peak of this kind."""
    start, peak = perf_counter(), 0
    command = [sys.executable, "-m", "troth", *words, "--json"]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            with suppress(OSError):
                peak = max(peak, resident("RssAnon", process.pid))
            sleep(TICK)
        seconds, out = perf_counter() - start, process.stdout.read()
    if process.returncode:
        raise TrothError(f"troth {' '.join(words)} ended with {process.returncode}")
    return Done(json.loads(out), seconds, peak)


def tasks(setting: Setting) -> list[Task]:
    if not FORGET.exists():
        setting.leave_out("mapped-largest", "memory is measured on Linux alone")
        return []
    return [Task(sized(spec, setting.size), engine) for spec in GRAPHS.values() for engine in setting.able([CPU])]


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    """Write and match, and match a small graph of the same family: that is what a command needs by itself."""
    with tempfile.TemporaryDirectory(prefix="troth-mapped-") as folder:
        graph, small = (str(Path(folder) / name) for name in ("graph.csr", "small.csr"))
        match = ("--device", "cpu", "--threads", str(setting.workers))
        watched("generate", sized(task.graph, "tiny"), "-o", small)
        watched("match", small, *match)  # compiles
        alone = watched("match", small, *match)
        wrote = watched("generate", task.graph, "-o", graph)
        disk = sum(each.stat().st_size for each in Path(graph).iterdir())
        matched = watched("match", graph, *match)
    found = {name: matched.facts[name] for name in ("n", "m", "pairs", "weight")} | {"phases": matched.facts["seconds"]}
    peaks = {"written": wrote.peak, "matched": matched.peak, "alone": alone.peak}
    return found | {"disk": disk, "peaks": peaks, "wall": {"write": wrote.seconds, "match": matched.seconds}}


def rows(records: list[Record]) -> list[Row]:
    table = []
    for record in records:
        found = record["result"]
        peaks, n = found["peaks"], found["n"]
        row = {"graph": title(record), "n": n, "m": found["m"], "GB on disk": found["disk"] / 1e9}
        row |= {f"{phase}, seconds": spent for phase, spent in found["wall"].items()}
        row |= {"of that read": found["phases"]["read"], "of that match": found["phases"]["match"]}
        row |= {"MB to write": peaks["written"] / 1e6, "MB to match": peaks["matched"] / 1e6}
        table.append(row | {"bytes a vertex": (peaks["matched"] - peaks["alone"]) / n})
    return table


QUESTIONS = by_name(
    Question(
        "mapped-largest", "Graphs of up to a billion edges from mapped files",
        "How much memory beside the page cache do `troth generate` and `troth match` need for a graph on disk?",
        "`troth generate GRAPH -o graph.csr`, then `troth match graph.csr`, each a process whose anonymous memory "
        "(RssAnon) is looked at a hundred times a second; MB are 10^6 bytes of it at the peak, and bytes a vertex are "
        "beyond what the command needs for a small graph.",
        tasks, measure, rows, ("bytes a vertex",),
    ),
)  # fmt: skip
