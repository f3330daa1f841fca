"""The graphs by edges and vertices: figure 1 of Naim et al. 2015."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from bench import figures, file_marks
from bench.setting import Setting, Task

if TYPE_CHECKING:
    from bench.report import Page

NAME = "sizes"
TITLE = "How large are the graphs?"
SOURCE = "Naim et al. 2015, figure 1"
QUESTION = "What sizes, degrees and shapes do the graphs of these experiments have?"
METHOD = (
    "Every graph is made from its seed, or read from a file under the paper's rule (symmetric, absolute values, "
    "diagonal ignored, zeros dropped, random weights in (0, 1] for patterns), and its vertices, edges and degrees are "
    "counted. Graphs are drawn in decreasing order of edges."
)


def tasks(setting: Setting) -> list[Task]:
    return [Task(each.name, cost=each.edges / 1e7) for each in setting.instances]


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    import numpy as np

    graph = setting.load(task.graph)
    degree = np.diff(graph.indptr)
    return {
        "family": setting.find(task.graph).family,
        "n": graph.n,
        "m": graph.m,
        "degree": 2 * graph.m / max(graph.n, 1),
        "greatest_degree": int(degree.max(initial=0)),
        "isolated": int(np.count_nonzero(degree == 0)),
        "weights": graph.weights.dtype.name,
    }


def present(records: list[dict[str, Any]], page: Page) -> None:
    rows = sorted((record["result"] | {"graph": record["graph"]} for record in records), key=lambda row: -row["m"])
    figure, ax = figures.new()
    x = range(1, len(rows) + 1)
    ax.plot(x, [row["m"] for row in rows], label="edges", **figures.style(0))
    ax.plot(x, [row["n"] for row in rows], label="vertices", **figures.style(1) | {"linestyle": "none"})
    for what in ("m", "n"):
        file_marks.ring(ax, [row["graph"] for row in rows], x, [row[what] for row in rows])
    ax.set_yscale("log")
    ax.set_xlabel("graphs, in decreasing order of edges")
    ax.set_ylabel("number")
    figures.whole_numbers(ax)
    figures.legend(ax)
    page.figure(figure, "sizes", "Edges and vertices of the graphs, in decreasing order of edges.")
    edges = [row["m"] for row in rows]
    families = {row["family"] for row in rows}
    page.finding(
        f"{len(rows)} graphs of {len(families)} families have from {min(edges):,} to {max(edges):,} edges, "
        f"{median(edges):,.0f} in the middle, and average degrees from {min(row['degree'] for row in rows):.1f} to "
        f"{max(row['degree'] for row in rows):.1f}."
    )
    large = sum(10**6 <= m < 10**9 for m in edges)
    files = sum(row["family"] == "file" for row in rows)
    origin = f"{files} are files, the others" if files else "all"
    page.claim(
        "269 matrices of a million to a billion edges, from many applications",
        f"{large} of {len(rows)} graphs have that size; {origin} are generated, in the families of the papers",
        "differs",
    )
    page.table(
        [
            {"graph": row["graph"], "family": row["family"], "vertices": row["n"], "edges": row["m"],
             "degree": row["degree"], "greatest": row["greatest_degree"], "weights": row["weights"]}
            for row in rows
        ],
        "All graphs",
    )  # fmt: skip
