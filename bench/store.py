"""Raw results: JSON lines, one a finished task, only ever appended to.

A folder of results may hold any number of ``*.jsonl`` and ``*.jsonl.gz`` files; all are read as one. A run appends to
``results.jsonl``; ``pack`` makes the compressed file that is kept in the repository. To merge runs of several machines,
put their files into one folder, or use ``--merge FOLDER``, which does that. A file begins each run with a
line about the run (``"record": "run"``: machine, versions, commit, settings, what was left out) and goes on with its
tasks (``"record": "task"``). What makes two tasks the same is ``identity``; the later line wins. The commit is not part
of it: a new version of troth that is to be measured afresh gets a new folder. A torn last line, of a run that was
killed, is passed over, as is a line that lacks what the report needs, and the next run starts on a line of its own.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.catalogue import SIZES
from bench.experiments import ORDER
from troth.errors import TrothError
from troth.files import load, refusing
from troth.io.atomic import atomic_path, create_binary

FILE = "results.jsonl"
KEPT = Path(__file__).parent / "results"  # what is kept in the repository
CHOICES = ("seed", "repeats", "threads")  # of the user, beside the size
SAME = ("experiment", "size", "machine", "key", "origin", *CHOICES)
# What the report needs of a line, by field; what is inside a result is the experiment's own.
RUN = {"run": str, "machine": dict, "left_out": dict}
MACHINE = {"name": str, "system": str, "versions": dict, "gpu": dict | None, "memory": int}
GPU = {"name": str, "memory": int}
TASK = {
    **dict.fromkeys(("experiment", "size", "machine", "key", "graph", "engine", "origin", "run"), str),
    **dict.fromkeys(CHOICES, int),
    "params": dict,
    "commit": str | None,
}
RESULT = {"seconds": list, "result": dict}


def identity(line: dict[str, Any]) -> tuple:
    """What a task is: the same tuple, and it need not be run again."""
    return tuple(line.get(name) for name in SAME)


def strict(value: Any) -> Any:
    """A value in types that JSON has, to nine digits; numbers that are not finite become null."""
    if isinstance(value, dict):
        return {str(name): strict(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(item) for item in value]
    if hasattr(value, "tolist"):
        return strict(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def read_lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The lines of one file that can be reported, and how many others there are: torn ones, or of another program."""
    lines = [line for line in load(path).decode("utf-8", errors="replace").split("\n") if line.strip()]
    good = [found for found in map(_read_line, lines) if is_whole(found)]
    return good, len(lines) - len(good)


def files_of(place: Path) -> list[Path]:
    """The files of results of a folder, or the file itself."""
    if not place.is_dir():
        return [place] if place.exists() else []
    return sorted([*place.glob("*.jsonl"), *place.glob("*.jsonl.gz")])


def pack(lines: Iterable[dict[str, Any]], path: Path) -> None:
    """Write lines as one compressed file, the same bytes for the same lines, whole or not at all."""
    with atomic_path(path) as beside, create_binary(beside) as stream:
        stream.writelines(map(_encode, lines))


def _encode(line: dict[str, Any]) -> bytes:
    return json.dumps(strict(line), allow_nan=False).encode() + b"\n"


def _read_line(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def is_whole(line: Any) -> bool:
    """Whether this is a run or a task that can be reported: all fields are there, of the right types."""
    if not isinstance(line, dict):
        return False
    if line.get("record") == "run":
        machine = line.get("machine")
        gpu = machine.get("gpu") if isinstance(machine, dict) else None
        whole = _has(line, RUN) and _has(machine, MACHINE) and (gpu is None or _has(gpu, GPU))
        return whole and all(isinstance(reason, str) for reason in line["left_out"].values())
    known = line.get("experiment") in ORDER and line.get("size") in SIZES
    return line.get("record") == "task" and known and _has(line, TASK) and (_has(line, RESULT) or "error" in line)


def _has(value: Any, fields: dict[str, Any]) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), kind) for name, kind in fields.items())


class Store:
    """The results of a folder, and the file that this run appends to; ``with`` closes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs: dict[str, dict[str, Any]] = {}
        self.tasks: dict[tuple, dict[str, Any]] = {}
        self.passed_over = 0  # lines
        self._file = None
        for path in files_of(folder):
            self._take(path)

    def _take(self, path: Path) -> None:
        lines, others = read_lines(path)
        self.passed_over += others
        for line in lines:
            self._keep(line)

    def _keep(self, line: dict[str, Any]) -> None:
        if line["record"] == "run":
            self.runs[line["run"]] = line
        else:
            self.tasks[identity(line)] = line

    def has(self, line: dict[str, Any]) -> bool:
        """Whether this task need not be run again; one that failed by a fault of the program must."""
        return identity(line) in self.tasks and "fault" not in self.tasks[identity(line)]

    def append(self, line: dict[str, Any]) -> None:
        """Add a line, and have it on disk before going on."""
        if self._file is None:
            with refusing(self.folder / FILE):
                self.folder.mkdir(parents=True, exist_ok=True)
                self._file = open(self.folder / FILE, "ab+")  # noqa: SIM115 - closed at exit
                if self._file.tell():
                    self._file.seek(-1, os.SEEK_END)
                    if self._file.read() != b"\n":
                        self._file.write(b"\n")
        text = _encode(line)
        self._file.write(text)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._keep(json.loads(text))

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def merge(self, other: Path) -> int:
        """Append what another folder, or file, has and this one has not; returns how many tasks."""
        found = [read_lines(path) for path in files_of(other)]
        if not any(lines for lines, _ in found):
            raise TrothError(f"{other}: no results there; a folder of results holds {FILE}")
        fresh = 0
        for lines, others in found:
            self.passed_over += others
            for line in lines:
                if line["record"] == "run" and line["run"] not in self.runs:
                    self.append(line)
                elif line["record"] == "task" and not self.has(line):
                    self.append(line)
                    fresh += 1
        return fresh


def by_engine(records: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """The least seconds by engine, then graph.

    >>> by_engine([{"graph": "g", "engine": "suitor@cpu", "seconds": [0.3, 0.2]}])
    {'suitor@cpu': {'g': 0.2}}
    """
    found: dict[str, dict[str, float]] = {}
    for (graph, engine), seconds in least(records).items():
        found.setdefault(engine, {})[graph] = seconds
    return found


def common(times: dict[Any, dict[str, float]], names: Iterable[Any]) -> list[str]:
    """The graphs that all of these engines have, of ``times[engine][graph]``.

    >>> common({"a": {"grid": 1.0, "path": 2.0}, "b": {"path": 3.0}}, ["a", "b"])
    ['path']
    """
    found = [set(times.get(name, ())) for name in names]
    return sorted(set.intersection(*found)) if found else []


def agreement(records: list[dict[str, Any]]) -> tuple[int, int]:
    """On how many graphs all records have the same matching, and of how many.

    >>> agreement([{"graph": "g", "result": {"mates": "a1"}}, {"graph": "g", "result": {"mates": "b2"}}])
    (0, 1)
    """
    found: dict[str, set[str]] = {}
    for record in records:
        found.setdefault(record["graph"], set()).add(record["result"]["mates"])
    return sum(len(mates) == 1 for mates in found.values()), len(found)


def least(records: list[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """The least seconds by graph and engine, as the paper counts.

    >>> least([{"graph": "g", "engine": "suitor@cpu", "seconds": [0.3, 0.2]}])
    {('g', 'suitor@cpu'): 0.2}
    """
    found: dict[tuple[str, str], float] = {}
    for record in records:
        if record.get("seconds"):
            key = record["graph"], record["engine"]
            found[key] = min([*record["seconds"], found.get(key, math.inf)])
    return found
