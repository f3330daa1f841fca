"""Our own questions about coarsening: down to 1000 vertices, on CPU threads and on a GPU, and against SciPy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from bench.engines import read
from bench.experiments import coarsen_ways
from bench.questions import Question, Record, Row, alternate, by_name, milliseconds, over, sized, sizes, timed
from bench.questions import titles as titles_of
from bench.setting import Setting, Task

CPU, GPU = "suitor@cpu", "suitor@cuda"
GRAPHS = {
    "R-MAT 20 x 16": "rmat:scale=20,edgefactor=16",
    "grid 2000^2": "grid:rows=2000,cols=2000",
    "Erdos-Renyi 2^20, degree 16": "erdos-renyi:n=1048576,degree=16",
    "rgg 2^20": "rgg:n=1048576,degree=13",
    "stencil 100^3": "stencil:nx=100,ny=100,nz=100",
    "hubs": "hubs:n=1048576,hubs=8,degree=200000",
}
AIMED = [GRAPHS["R-MAT 20 x 16"], GRAPHS["grid 2000^2"]]
GOALS = {CPU: 30.0, GPU: 2000.0}  # million edges a second, on two cores and on an H200
TYPES = ("float32", "dtype=float64", "weights=integers,dtype=int32", "weights=unit")
WAYS = coarsen_ways.WAYS
STEPS = ("match", "twohop", "join", "contract")  # by a matching the first two, by clusters the third
CONSERVED = (
    "rmat:scale=17",
    "grid:rows=500,cols=500",
    "path:n=300000",
    "delaunay:n=100000",
    "rgg:n=200000,degree=6",
    "erdos-renyi:n=200000,degree=2",
    "bipartite:left=100,right=200000,m=400000",
    "hubs:n=200000,hubs=4,degree=90000",
    "stencil:nx=40,ny=40,nz=40",
    "complete:n=2500",
)
title = titles_of(GRAPHS)


def down(graph: Any, engine: str, setting: Setting, by: str = "matching") -> tuple[dict[str, Any], list[Any]]:
    """Seconds of every hierarchy, the steps of the fastest, and the levels of the last."""
    import troth

    device = read(engine).device
    words = {"by": by, "device": device, **({"threads": setting.workers} if device == "cpu" else {})}
    steps, levels = [], []

    def once() -> float:
        nonlocal levels
        again = troth.Graph(graph.indptr, graph.indices, graph.weights)  # nothing that an earlier run found out
        levels = []  # what the last run made is given back: two hierarchies would need new memory

        def work() -> None:
            nonlocal levels
            levels = troth.hierarchy(again, **words)

        seconds = timed(work)
        each = [level.stats["seconds"] for level in levels[1:]]
        steps.append({step: sum(seconds[step] for seconds in each) for step in STEPS if each and step in each[0]})
        return seconds

    seconds = alternate(setting, {"down": once})["down"]
    best = steps[1:][seconds.index(min(seconds))]  # the first compiled
    facts = {"levels": len(levels) - 1, "last n": levels[-1].graph.n, "edges": sum(level.graph.m for level in levels)}
    return sizes(graph) | facts | {"seconds": seconds, "steps": best}, levels


# ---- speed ----


def goals_tasks(setting: Setting) -> list[Task]:
    tasks = over(GRAPHS.values(), CPU, GPU)(setting)
    return [Task(task.graph, task.engine, {"by": by}) for task in tasks for by in WAYS]


def goals_measure(task: Task, setting: Setting) -> dict[str, Any]:
    """On a GPU every level is compared with the CPU's, bit for bit."""
    import troth

    device = read(task.engine).device
    graph = setting.load(task.graph, device)
    found, levels = down(graph, task.engine, setting, **task.params)
    if device == "cuda":
        here = troth.hierarchy(graph.to("cpu"), device="cpu", threads=setting.workers, **task.params)
        for ours, theirs in zip(levels[1:], here[1:], strict=True):
            if (ours.graph.weights.get() != theirs.graph.weights).any() or (ours.map.get() != theirs.map).any():
                raise AssertionError("the GPU's levels differ from the CPU's")
    return found


def goals_rows(records: list[Record]) -> list[Row]:
    rows = []
    for record in records:
        result, seconds = record["result"], min(record["seconds"])
        aimed = record["graph"] in AIMED
        rows.append(
            {
                "graph": title(record),
                "device": read(record["engine"]).device,
                "by": record["params"].get("by", "matching"),  # older results are of matchings alone
                "n": result["n"],
                "m": result["m"],
                "levels": result["levels"],
                "last n": result["last n"],
                "edges of all levels / m": result["edges"] / result["m"],
                "ms": 1e3 * seconds,
                **{step: 1e3 * result["steps"][step] if step in result["steps"] else None for step in STEPS},
                "M edges/s": result["m"] / seconds / 1e6,
                "goal": GOALS[record["engine"]] if aimed else None,
            }
        )
    return rows


def types_tasks(setting: Setting) -> list[Task]:
    found = []
    for engine in setting.able([CPU]):
        for spec in AIMED:
            plain = sized(spec, setting.size)
            graphs = {name: f"{plain},{name}" if "=" in name else plain for name in TYPES}
            found += [Task(graph, engine, {"of": plain, "type": name}) for name, graph in graphs.items()]
    return found


def types_measure(task: Task, setting: Setting) -> dict[str, Any]:
    return down(setting.load(task.graph), task.engine, setting)[0]


def types_rows(records: list[Record]) -> list[Row]:
    rows: dict[str, Row] = {}
    for record in records:
        of = record["params"]["of"]
        row = rows.setdefault(of, {"graph": title({"graph": of}), **dict.fromkeys(TYPES)})
        row[record["params"]["type"]] = record["result"]["m"] / min(record["seconds"]) / 1e6
    return list(rows.values())


def peers_measure(task: Task, setting: Setting) -> dict[str, Any]:
    import numpy as np
    from scipy.sparse import csr_array

    import troth

    graph = setting.load(task.graph)
    words = {"threads": setting.workers}
    m = troth.match(graph, device="cpu", **words)
    matrix = graph.to_scipy()
    aggregate = csr_array((np.ones(graph.n, np.float32), m.labels(), np.arange(graph.n + 1)))
    times = alternate(
        setting,
        {
            "troth": lambda: timed(troth.coarsen, graph, m, **words),
            "scipy": lambda: timed(lambda: aggregate.T @ matrix @ aggregate),
        },
    )
    product = aggregate.T @ matrix @ aggregate
    product.setdiag(0)
    product.eliminate_zeros()
    if product.nnz != len(troth.coarsen(graph, m, **words).graph.indices):
        raise AssertionError("SciPy's product has other edges")
    return sizes(graph) | {"times": times}


def peers_rows(records: list[Record]) -> list[Row]:
    rows = []
    for record in records:
        ms = milliseconds(record)
        rows.append(
            {"graph": title(record), "m": record["result"]["m"], **ms, "times faster": ms["scipy"] / ms["troth"]}
        )
    return rows


# ---- levels, and what they conserve ----


def catalogue_tasks(setting: Setting) -> list[Task]:
    engines = setting.able([GPU]) or setting.able([CPU])
    return [Task(each.name, engine, cost=each.edges / 1e6) for each in setting.instances for engine in engines]


def catalogue_measure(task: Task, setting: Setting) -> dict[str, Any]:
    return down(setting.load(task.graph, read(task.engine).device), task.engine, setting)[0]


def catalogue_rows(records: list[Record]) -> list[Row]:
    kept = ("n", "m", "levels", "last n")
    return [
        {
            "graph": record["graph"],
            "device": read(record["engine"]).device,
            **{name: record["result"][name] for name in kept},
            "ms": 1e3 * min(record["seconds"]),
        }
        for record in records
    ]


def conserves_measure(task: Task, setting: Setting) -> dict[str, Any]:
    import numpy as np

    import troth

    graph = setting.load(task.graph)
    whole = troth.Graph(graph.indptr, graph.indices, np.ones(len(graph.indices), np.int32))
    levels = troth.hierarchy(whole, device="cpu", threads=setting.workers)
    lost = [lost_by(finer.graph, level, graph.n) for finer, level in pairwise(levels)]
    return sizes(graph) | {"levels": len(levels) - 1, "last n": levels[-1].graph.n, "lost": sum(lost)}


def lost_by(graph: Any, level: Any, n: int) -> int:
    """Weight of vertices and of edges that a level lacks, but for that inside of pairs; weights are integers."""
    import numpy as np

    inside = np.repeat(level.map, np.diff(graph.indptr)) == level.map[graph.indices]
    edges = int(graph.weights.sum()) - int(level.graph.weights.sum()) - int(graph.weights[inside].sum())
    return abs(edges) + abs(n - int(level.graph.vertex_weights.sum()))


def conserves_rows(records: list[Record]) -> list[Row]:
    return [{"graph": record["graph"], **record["result"]} for record in records]


QUESTIONS = by_name(
    Question(
        "coarsen-goals", "Down to 1000 vertices, and the goals",
        "How many edges of the finest graph a second, over all levels?",
        "troth.hierarchy by both ways, on CPU threads, and on a GPU where there is one, a fresh Graph for each run; "
        "the graph is on the device, where its levels stay. The steps are those of the fastest run, on a GPU the "
        "host's time. The goals are for two cores and for an H200. Milliseconds, and millions of edges a second.",
        goals_tasks, goals_measure, goals_rows, ("M edges/s", "levels"),
    ),
    Question(
        "coarsen-types", "Coarsening by type of weights",
        "What do other types of weights cost?",
        "As coarsen-goals, on CPU threads; millions of edges of the finest graph a second.",
        types_tasks, types_measure, types_rows, TYPES,
    ),
    Question(
        "coarsen-peers", "One contraction by troth and by SciPy",
        "How much faster is a contraction than the product of sparse matrices?",
        "troth.coarsen against SciPy's P.T @ A @ P, which keeps the loops, in turn on CPU threads. Milliseconds.",
        over(GRAPHS.values(), CPU), peers_measure, peers_rows, ("times faster",),
    ),
    Question(
        "coarsen-catalogue", "Levels of all graphs of the catalogue",
        "In how many levels does every graph come down to 1000 vertices?",
        "troth.hierarchy on all graphs of the size, on the GPU where there is one. Milliseconds.",
        catalogue_tasks, catalogue_measure, catalogue_rows, ("levels",),
    ),
    Question(
        "coarsen-conserves", "Weight that levels lose",
        "Does a level lose weight of vertices, or of edges but for those inside of pairs?",
        "All weights 1, counted in whole numbers, on small graphs of the families and the files of --folder.",
        over(CONSERVED, CPU, files=True), conserves_measure, conserves_rows, ("lost", "levels"),
    ),
)  # fmt: skip
QUESTIONS |= coarsen_ways.QUESTIONS
