"""Our own questions: an experiment in short, whose answer is one table.

``cpu.py``, ``gpu.py``, ``coarsen.py`` and ``mpi.py`` of ``bench.experiments`` hold several each, in ``QUESTIONS``.
Times that are compared are measured in turn (``alternate``), so that all of them see the same machine; every one is
kept, in the result as ``times`` by name, and the least counts. Graphs are named by their specs, and those of the sizes
tiny and small are the same families with fewer vertices (``sized``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from bench import machine
from bench.setting import Setting, Task

if TYPE_CHECKING:
    from bench.report import Page
    from troth.graph import Graph

Record = dict[str, Any]
Row = dict[str, Any]
HALVINGS = {"tiny": 12, "small": 6, "full": 0}  # of the number of vertices
# What the size of a graph goes by: dimensions that share the halvings, and the least.
SIDES = {
    **dict.fromkeys(("rows", "cols"), (2, 4)),
    **dict.fromkeys(("nx", "ny", "nz"), (3, 4)),
    **dict.fromkeys(("left", "right", "m"), (1, 16)),
    "n": (1, 64),
}


@dataclass(frozen=True)
class Question:
    """What a module of an experiment has, with ``rows(records)`` instead of ``present``; ``told`` are the columns whose
    least, middle and greatest values are the findings; ``judge`` claims what rows say of a paper."""

    NAME: str
    TITLE: str
    QUESTION: str
    METHOD: str
    tasks: Callable[[Setting], list[Task]]
    measure: Callable[[Task, Setting], dict[str, Any]]
    rows: Callable[[list[Record]], list[Row]]
    told: tuple[str, ...]
    SOURCE: str = "our own question"
    judge: Callable[[list[Row], Page], None] | None = None

    def present(self, records: list[Record], page: Page) -> None:
        """One table, and what its columns say."""
        rows = self.rows(records)
        for column in self.told:
            found = [row[column] for row in rows if row.get(column) is not None]
            if found:
                middle = f", {median(found):.3g} in the middle" if len(found) > 2 else ""
                page.finding(f"{column}: {min(found):.3g} to {max(found):.3g}{middle}, of {len(found)} rows.")
        if self.judge:
            self.judge(rows, page)
        page.table(rows, self.TITLE)


def by_name(*questions: Question) -> dict[str, Question]:
    """The table of a module's questions."""
    return {question.NAME: question for question in questions}


# ---- graphs ----


def sized(spec: str, size: str) -> str:
    """The graph that stands for a spec at a size; at size full it is the spec itself.

    >>> sized("grid:rows=1500,cols=1500", "small"), sized("rmat:scale=18,edgefactor=16", "tiny")
    ('grid:rows=187,cols=187', 'rmat:scale=6,edgefactor=16')
    """
    halvings = HALVINGS[size]
    if not halvings:
        return spec
    family, _, tail = spec.partition(":")
    words = []
    for name, _, value in (word.partition("=") for word in tail.split(",")):
        if name == "scale":
            value = max(int(value) - halvings, 5)
        elif name in SIDES or (family, name) == ("hubs", "degree"):
            dimensions, least = SIDES.get(name, (1, 16))
            value = max(int(int(value) / 2 ** (halvings / dimensions)), least)
        words.append(f"{name}={value}")
    return f"{family}:{','.join(words)}"


def over(specs: Iterable[str], *engines: str, files: bool = False) -> Callable[[Setting], list[Task]]:
    """Tasks: each of these graphs, by size, with each engine that can run here; with ``files``, also those of
    ``--folder``."""

    def tasks(setting: Setting) -> list[Task]:
        able = setting.able(engines)
        names = list(dict.fromkeys(sized(spec, setting.size) for spec in specs))
        names += [each.name for each in setting.instances if files and each.family == "file"]
        return [Task(name, engine) for name in names for engine in able]

    return tasks


def titles(graphs: Mapping[str, str]) -> Callable[[Record], str]:
    """What a record's graph is called in a table: the title of its spec, or the spec."""
    known = {spec: title for title, spec in graphs.items()}
    return lambda record: known.get(record["graph"], record["graph"])


# ---- time ----


def wait() -> None:
    """Until the GPU, where there is one, has nothing left to do."""
    if machine.gpu():
        from troth.arrays import cupy

        cupy().cuda.get_current_stream().synchronize()


def timed(call: Callable[..., Any], *args: Any, **words: Any) -> float:
    """Seconds of one call; a GPU is idle before and after it."""
    wait()
    start = perf_counter()
    call(*args, **words)
    wait()
    return perf_counter() - start


def alternate(setting: Setting, calls: Mapping[str, Callable[[], float]]) -> dict[str, list[float]]:
    """Seconds of several calls, each of which returns its own, in turn; the first round compiles and is left out."""
    found: dict[str, list[float]] = {name: [] for name in calls}

    def once() -> None:
        for name, call in calls.items():
            found[name].append(call())

    once()
    setting.repeat(once)
    return {name: seconds[1:] for name, seconds in found.items()}


def milliseconds(record: Record) -> dict[str, float]:
    """The least of each of a record's times."""
    return {name: 1e3 * min(seconds) for name, seconds in record["result"]["times"].items() if seconds}


def sizes(graph: Graph) -> dict[str, int]:
    """Vertices and edges, for the result."""
    return {"n": graph.n, "m": graph.m}
