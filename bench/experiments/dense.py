"""Our own questions about dense graphs, in which every vertex may want the same neighbour: no entry is read often."""

from __future__ import annotations

from itertools import product
from typing import Any

from bench.questions import Question, Record, Row, alternate, by_name, milliseconds, sizes, timed
from bench.setting import Setting, Task

CPU = "suitor@cpu"
TIES = ("hash", "low", "high", "degree")
LAWS = ("equal", "product", "sum", "random")
SIDES = {"tiny": (40, 80), "small": (500, 1000), "full": (1000, 2000, 4000)}


def dense_graph(law: str, n: int) -> Any:
    """The complete graph of n vertices, or for "sum" the complete bipartite one, with weights by a law.

    >>> dense_graph("equal", 4).m, dense_graph("sum", 6).m
    (6, 9)
    """
    import numpy as np

    import troth

    rng = np.random.default_rng(n)
    if law == "sum":
        row, col = np.indices((n // 2, n - n // 2)).reshape(2, -1)
        return troth.as_graph((row, col + n // 2, (row + col + 1).astype(np.float32)))
    row, col = np.triu_indices(n, 1)
    worth = rng.uniform(0.1, 1, n).astype(np.float32)
    weights = {
        "equal": lambda: np.ones(len(row), np.float32),
        "product": lambda: worth[row] * worth[col],
        "random": lambda: rng.uniform(0.1, 1, len(row)).astype(np.float32),
    }
    return troth.as_graph((row, col, weights[law]()))


def tasks(setting: Setting) -> list[Task]:
    engines = setting.able([CPU])
    cases = product(engines, LAWS, SIDES[setting.size], TIES)
    return [Task("", engine, {"law": law, "n": n, "ties": ties}) for engine, law, n, ties in cases]


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    import troth

    graph = dense_graph(task.params["law"], task.params["n"])
    words = {"device": "cpu", "ties": task.params["ties"]}
    stats = [troth.match(graph, threads=threads, **words).stats for threads in (1, setting.workers)]
    times = alternate(
        setting,
        {
            "one thread": lambda: timed(troth.match, graph, threads=1, **words),
            "all threads": lambda: timed(troth.match, graph, threads=setting.workers, **words),
        },
    )
    looks = [each["edges_read"] / len(graph.indices) for each in stats]
    return sizes(graph) | {"looks": looks, "sorted": ["sort" in each["seconds"] for each in stats], "times": times}


def rows(records: list[Record]) -> list[Row]:
    """With the growth: the time over that of half of the vertices, a quarter of the edges."""
    found = {(each["params"]["law"], each["params"]["ties"], each["params"]["n"]): each for each in records}
    table = []
    for (law, ties, n), record in found.items():
        row = {"weights": law, "n": n, "ties": ties, "m": record["result"]["m"]}
        half = found.get((law, ties, n // 2))
        for words, looks in zip(("one thread", "all threads"), record["result"]["looks"], strict=True):
            ms = milliseconds(record)[words]
            growth = ms / milliseconds(half)[words] if half else None
            row |= {words: ms, f"reads, {words}": looks, f"growth, {words}": growth}
        table.append(row)
    return table


QUESTIONS = by_name(
    Question(
        "dense-reads", "Entries read in dense graphs",
        "How often is an entry read where all vertices want the same neighbour, and what do four times the edges cost?",
        "Complete graphs with equal, random and multiplied weights (w = x_i x_j), complete bipartite ones with "
        "w = i + j; every tie rule. Entries read over entries stored; milliseconds, least of repeats in turn; and how "
        "much more that is than for half of the vertices.",
        tasks, measure, rows, ("reads, one thread", "reads, all threads", "growth, one thread", "growth, all threads"),
    ),
)  # fmt: skip
