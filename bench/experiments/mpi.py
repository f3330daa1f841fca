"""Our own questions about MPI ranks: strong and weak scaling, what they send, what a rank holds, and several nodes."""

from __future__ import annotations

from functools import partial
from typing import Any

from bench import ranks
from bench.card_model import cards_on_paper
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
ON_NODES = {  # name: spec, and whether every rank makes its own rows
    "Erdos-Renyi 2^22, degree 16": ("erdos-renyi:n=4194304,degree=16", True),
    "R-MAT 22 x 16": ("rmat:scale=22,edgefactor=16", True),
    "grid 4000^2": ("grid:rows=4000,cols=4000", True),
    "rgg 2^22, degree 16": ("rgg:n=4194304,degree=16", False),
}
ON_CARDS = {
    "grid 3000^2": "grid:rows=3000,cols=3000",
    "Erdos-Renyi 2^21, degree 16": "erdos-renyi:n=2097152,degree=16",
    "R-MAT 20 x 16": "rmat:scale=20,edgefactor=16",
}
CARDS, CARD = "suitor@mpi+cuda", "suitor@cuda"
SHARING = (1, 2, 4)  # ranks of one card
COUNTS = (1, 2, 4, 8, 16, 32, 64)
A_RANK = {"tiny": 40, "small": 250, "full": 1000}  # rows and columns of a grid that one rank has
PATIENCE = {"tiny": 0.0, "small": 1.0, "full": 3.0}  # seconds after which an engine is not repeated
LIMIT = 600.0  # seconds of a job
title = titles_of(GRAPHS | BIG | ON_CARDS | {name: spec for name, (spec, _) in ON_NODES.items()})


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


def node_tasks(setting: Setting) -> list[Task]:
    """Each graph with as many ranks as there are cores, as one node, as up to four, and by messages between all."""
    most = max(counts(setting), default=0)
    if most < 2 or not all(setting.wants(name) for name in DEFAULT):
        return []
    params = {"ranks": most, "nodes": min(4, most)}
    return [Task(sized(spec, setting.size), "", params | {"in_place": own}, 25) for spec, own in ON_NODES.values()]


def measure_nodes(task: Task, setting: Setting) -> dict[str, Any]:
    """One job, in which all ways give the same weight."""
    names = ["suitor@mpi", f"suitor@mpi:nodes={task.params['nodes']}", MESSAGES]
    asked = Task(task.graph, "", task.params | {"engines": " ".join(names)})
    return measure(asked, setting, task.params["in_place"])


def node_rows(records: list[Record]) -> list[Row]:
    """A row for each graph: milliseconds of the three ways, and how many times those of one node."""
    found = []
    for record in records:
        engines, nodes = record["result"]["engines"], record["params"]["nodes"]
        shared, apart, messages = (
            1e3 * min(engines[name]["seconds"]) if engines.get(name, {}).get("seconds") else None
            for name in ("suitor@mpi", f"suitor@mpi:nodes={nodes}", MESSAGES)
        )
        some = engines.get(f"suitor@mpi:nodes={nodes}", {})
        found.append({
            "graph": title(record),
            "ranks": record["params"]["ranks"],
            "nodes": nodes,
            "one node, ms": shared,
            "nodes, ms": apart,
            "messages, ms": messages,
            "nodes over one": apart / shared if apart and shared else None,
            "messages over one": messages / shared if messages and shared else None,
            **{key: some.get(key) for key in ("rounds", "bytes", "messages")},
        })  # fmt: skip
    return found


# ---- ranks with a card ----


def cards_tasks(setting: Setting) -> list[Task]:
    """Each graph on one card without MPI, and by 1, 2 and 4 ranks, which share the cards that there are."""
    if not setting.able([CARD, CARDS]):
        return []
    specs, most = [sized(spec, setting.size) for spec in ON_CARDS.values()], max(2, setting.cores)
    alone = [Task(spec, CARD, {"ranks": 0}) for spec in specs if setting.wants(CARD)]
    counts = [count for count in SHARING if count <= most and setting.wants(CARDS)]
    return alone + [Task(spec, CARDS, {"ranks": count}, 10) for spec in specs for count in counts]


def cards_measure(task: Task, setting: Setting) -> dict[str, Any]:
    """One job, whose ranks make the graph; without ranks the wall clock of ``troth.match`` on a graph on the card."""
    if not task.params["ranks"]:
        found = setting.match(task.graph, task.engine)
        return {"seconds": found["call"], "weight": found["weight"]}
    words = setting.repeats, PATIENCE[setting.size], LIMIT
    graphs = {"": (task.graph, "block")}
    found = ranks.measure(setting.mpiexec, task.params["ranks"], graphs, [CARDS], *words, alone=False)
    return found["graphs"][""]["engines"][CARDS] | {"graph_bytes": found["graphs"][""]["graph_bytes"]}


def cards_rows(records: list[Record]) -> list[Row]:
    """A row for each graph and number of ranks; 0 ranks are one card without MPI."""
    found: list[Row] = []
    weights: dict[str, set[float]] = {}
    for record in sorted(records, key=lambda each: (each["graph"], each["params"]["ranks"])):
        result, graph = record["result"], title(record)
        if not record.get("seconds"):  # refused
            continue
        weights.setdefault(graph, set()).add(result["weight"])
        sent = {key: result.get(key) for key in ("rounds", "messages", "bytes", "graph_bytes")}
        found.append({"graph": graph, "ranks": record["params"]["ranks"], "ms": 1e3 * min(record["seconds"]), **sent})
    for row in found:
        row["one weight"] = len(weights[row["graph"]]) == 1
    return found


class Cards(Question):
    """Ranks that share a card, and what the model makes of several."""

    def present(self, records: list[Record], page: Any) -> None:
        super().present(records, page)
        page.table(cards_on_paper(self.rows(records)), "Several cards on paper; bench/card_model.py has the model")


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
    Question(
        "mpi-nodes", "One machine that behaves as several",
        "What does it cost that nodes share no memory, where the ranks of each do?",
        "All ranks as one node, as four that send each other messages, and by messages between all ranks. " + JOBS,
        node_tasks, measure_nodes, node_rows, ("nodes over one", "messages over one"),
    ),
    Cards(
        "mpi-cards", "Ranks with a GPU",
        "What do ranks and messages add to a matching on a card?",
        "Suitor, by ranks that make their rows in place and share the cards of this machine; 0 ranks are one card "
        "without MPI. Milliseconds of the wall clock, of ranks those of the slowest one from a barrier to its mates on "
        "the host, without the copy of the rows to the card; least of several runs. Bytes and messages are the most "
        "that one rank sent. Several ranks on one card take turns on it: this is no measurement of several cards.",
        cards_tasks, cards_measure, cards_rows, ("ms",),
    ),
)  # fmt: skip
