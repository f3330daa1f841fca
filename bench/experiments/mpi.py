"""Our own questions about MPI ranks: strong and weak scaling of all engines, what they send, and what a rank holds."""

from __future__ import annotations

from functools import partial
from typing import Any

from bench import ranks
from bench.experiments.pgas import LABELS, MESSAGES, label
from bench.questions import Question, Record, Row, by_name, sized
from bench.questions import titles as titles_of
from bench.rank_model import on_paper
from bench.setting import Setting, Task

DEFAULT = ("suitor@mpi", MESSAGES)
GRAPHS = {
    "grid 1000^2": "grid:rows=1000,cols=1000",
    "Erdos-Renyi 2^18, degree 32": "erdos-renyi:n=262144,degree=32",
    "R-MAT 18 x 16": "rmat:scale=18,edgefactor=16",
}
BIG = {
    "grid 2000^2": "grid:rows=2000,cols=2000",
    "stencil 100^3": "stencil:nx=100,ny=100,nz=100",
    "rgg 2^20, degree 16": "rgg:n=1048576,degree=16",
    "Erdos-Renyi 2^22, degree 32": "erdos-renyi:n=4194304,degree=32",
    "R-MAT 22 x 16": "rmat:scale=22,edgefactor=16",
}
COUNTS = (1, 2, 4, 8, 16, 32, 64)
A_RANK = {"tiny": 40, "small": 250, "full": 1000}  # rows and columns of a grid that one rank has
PATIENCE = {"tiny": 0.0, "small": 1.0, "full": 3.0}  # seconds after which an engine is not repeated
LIMIT = 600.0  # seconds of a job
title = titles_of(GRAPHS | BIG)


def counts(setting: Setting) -> list[int]:
    """Numbers of ranks; none where there is no MPI."""
    if setting.mpiexec is None:
        setting.leave_out("mpi", "mpi4py or mpiexec is not installed")
        return []
    most = 2 if setting.size == "tiny" else setting.cores
    return [count for count in COUNTS if count <= most]


def strong_tasks(setting: Setting) -> list[Task]:
    """All engines on some graphs, the default alone on big ones; tiny has one graph, for a job takes a second."""
    tiny, found = setting.size == "tiny", []
    parts = [(list(GRAPHS.values())[: 1 if tiny else None], LABELS), ([] if tiny else BIG.values(), DEFAULT)]
    for specs, names in parts:
        wanted = [name for name in names if setting.wants(name)]
        for spec in specs if wanted else ():
            params = {"engines": " ".join(wanted)}
            found += [Task(sized(spec, setting.size), "", params | {"ranks": count}, 10) for count in counts(setting)]
    return found


def weak_tasks(setting: Setting) -> list[Task]:
    wanted = [name for name in LABELS if setting.wants(name)]
    side, found = A_RANK[setting.size], []
    for count in counts(setting) if wanted else ():
        for kind, spec in (
            ("grid", f"grid:rows={side * count},cols={side}"),
            ("Erdos-Renyi", f"erdos-renyi:n={side * side // 4 * count},degree=16"),
        ):
            if kind == "grid" or setting.size != "tiny":
                found.append(Task(spec, "", {"engines": " ".join(wanted), "ranks": count, "kind": kind}, 10))
    return found


def measure(task: Task, setting: Setting, in_place: bool) -> dict[str, Any]:
    """One job; a graph that is not made in place is written once, and every rank reads its rows."""
    graph = task.graph if in_place else setting.load(task.graph)
    graphs, names = {"": (graph, "block")}, task.params["engines"].split(" ")
    words = setting.repeats, PATIENCE[setting.size], LIMIT
    found = ranks.measure(setting.mpiexec, task.params["ranks"], graphs, names, *words)
    return found.pop("graphs")[""] | found


def rows(records: list[Record]) -> list[Row]:
    """A row for each graph, engine and number of ranks; one thread without MPI is what the others are compared with."""
    found, alone = [], {}
    for record in sorted(records, key=lambda each: (each["graph"], each["params"]["ranks"])):
        graph = record["params"].get("kind") or title(record)
        facts = {name: record["result"][name] for name in ("ghosts", "graph_bytes")}
        engines = {name: each for name, each in record["result"]["engines"].items() if each.get("seconds")}
        if ranks.ALONE in engines:
            alone.setdefault(graph, 1e3 * min(engines[ranks.ALONE]["seconds"]))
        for name, each in engines.items():
            ms = 1e3 * min(each["seconds"])
            head = {"graph": graph, "engine": label(name), "ranks": record["params"]["ranks"]}
            gain = alone[graph] / ms if graph in alone and "kind" not in record["params"] else None
            sent = {key: each[key] for key in ("bytes", "messages", "rounds")}
            found.append(head | {"ms": ms, "over one thread": gain, "share": 1e3 * each["share"]} | sent | facts)
    return found


class Weak(Question):
    """Weak scaling, and what the model makes of it."""

    def present(self, records: list[Record], page: Any) -> None:
        super().present(records, page)
        paper = on_paper(self.rows(records))
        page.table(paper, "A thousand ranks on paper; bench/rank_model.py has the model")


JOBS = (
    "Each number of ranks is a job of its own. Milliseconds of the slowest rank, from a barrier to its mates, least of "
    "several runs; share is what copying the rows to shared memory took, once a graph. Bytes and messages are the most "
    "that one rank sent, graph_bytes the most that one holds. All engines of a job must give the same weight."
)
QUESTIONS = by_name(
    Question(
        "mpi-strong", "More ranks on one graph",
        "How much faster are more ranks, what do they send, and what does a rank hold?",
        "All engines on three graphs, the default on larger ones. " + JOBS,
        strong_tasks, partial(measure, in_place=False), rows, ("over one thread",),
    ),
    Weak(
        "mpi-weak", "A graph that grows with the ranks",
        "What becomes of the time when every rank has two million edges?",
        "Grids in strips and Erdos-Renyi graphs, made in place. " + JOBS,
        weak_tasks, partial(measure, in_place=True), rows, ("ms",),
    ),
)  # fmt: skip
