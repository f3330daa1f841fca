"""Our own question about devices: does "auto" choose well, also where graphs are long chains or very dense?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.experiments.dense import LAWS as DENSE_LAWS
from bench.experiments.dense import dense_graph
from bench.questions import Question, Record, Row, alternate, by_name, milliseconds, sized, sizes, timed
from bench.setting import Setting, Task

GPU = "suitor@cuda"
CHAINS = ("path", "caterpillar", "comb", "tree", "star")
CHAIN_LAWS = ("rising", "falling", "equal")
CHAIN_SIZES = {"tiny": 500, "small": 30_000, "full": 1_000_000}
DENSE_SIZES = {"tiny": 40, "small": 500, "full": 3000}
GRAPHS = (
    "rmat:scale=16,edgefactor=16",
    "rmat:scale=20,edgefactor=16",
    "rmat:scale=18,edgefactor=16,weights=integers,high=10",
    "erdos-renyi:n=1048576,degree=16",
    "grid:rows=1000,cols=1000",
    "grid:rows=2000,cols=2000,weights=unit",
    "rgg:n=524288,degree=14",
    "stencil:nx=80,ny=80,nz=80",
    "hubs:n=1000000,hubs=10,degree=100000",
    "bipartite:left=500000,right=500000,m=5000000",
)
TEETH = 8  # vertices of a tooth of a comb


def chain_graph(shape: str, law: str, n: int) -> Any:
    """A graph of about n vertices whose edges are heavier, or lighter, from one end to the other, or all equal.

    A caterpillar has a leg for every vertex of its spine, a comb long teeth; a tree is binary.

    >>> [chain_graph(shape, "rising", 16).m for shape in CHAINS]
    [15, 15, 15, 15, 15]
    """
    import numpy as np

    import troth

    later = np.arange(1, n)
    earlier = {
        "path": later - 1,
        "caterpillar": np.where(later % 2, later - 1, later - 2),
        "comb": np.where(later % TEETH, later - 1, later - TEETH),
        "tree": (later - 1) // 2,
        "star": np.zeros_like(later),
    }[shape]
    weights = {"rising": later, "falling": later[::-1], "equal": np.ones(n - 1)}[law]
    return troth.as_graph((earlier, later, weights.astype(np.float32)))


def shaped_graph(words: Mapping[str, str], size: str) -> Any:
    """The graph of a task that names a shape and a law of weights."""
    if words["shape"] == "complete":
        return dense_graph(words["law"], DENSE_SIZES[size])
    return chain_graph(words["shape"], words["law"], CHAIN_SIZES[size])


def tasks(setting: Setting) -> list[Task]:
    if not setting.able([GPU]):
        return []
    chains = [
        Task("", GPU, {"shape": shape, "law": law, "ties": ties})
        for shape in CHAINS
        for law in CHAIN_LAWS
        for ties in (("hash", "low") if law == "equal" else ("hash",))
    ]
    dense = [
        Task("", GPU, {"shape": "complete", "law": law, "ties": ties}) for law in DENSE_LAWS for ties in ("hash", "low")
    ]
    return [*chains, *dense, *(Task(sized(spec, setting.size), GPU, {"ties": "hash"}) for spec in GRAPHS)]


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    import troth

    ties = task.params["ties"]
    graph = shaped_graph(task.params, setting.size) if "shape" in task.params else setting.load(task.graph, "cpu")
    there = graph.to("cuda")
    stats = troth.match(there, device="cuda", ties=ties).stats
    times = alternate(
        setting,
        {
            "cpu": lambda: timed(troth.match, graph, device="cpu", ties=ties, threads=setting.threads),
            "cuda": lambda: timed(troth.match, graph, device="cuda", ties=ties),
            "auto": lambda: timed(troth.match, graph, device="auto", ties=ties, threads=setting.threads),
            "on the card": lambda: timed(troth.match, there, device="cuda", ties=ties),
        },
    )
    same = troth.match(graph, device="cpu", ties=ties).mate.tolist() == troth.match(there, ties=ties).mate.tolist()
    return sizes(graph) | {"looks": stats["edges_read"] / len(graph.indices), "same": same, "times": times}


def rows(records: list[Record]) -> list[Row]:
    table = []
    for record in records:
        words, ms = record["params"], milliseconds(record)
        name = f"{words['shape']}, {words['law']}" if "shape" in words else record["graph"]
        row = {"graph": name, "ties": words["ties"], "m": record["result"]["m"], **ms}
        better = min(ms["cpu"], ms["cuda"])
        row |= {"auto / better": ms["auto"] / better, "reads on the card": record["result"]["looks"]}
        table.append(row | {"same mates": record["result"]["same"]})
    return table


QUESTIONS = by_name(
    Question(
        "devices-choice", "The device that \"auto\" takes",
        "Is \"auto\" near the better one of CPU and GPU, the transfer included, also on long chains and dense graphs?",
        "Graphs of the host; chains of a million vertices whose weights rise, fall or are equal; complete and complete "
        "bipartite graphs of 3,000. Milliseconds of a whole call, least of repeats in turn; \"on the card\" is for a "
        "graph that is there already. Entries read over entries stored, on the card.",
        tasks, measure, rows, ("auto / better", "reads on the card"),
    ),
)  # fmt: skip
