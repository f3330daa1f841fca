"""Rounds of Luby's algorithm on the line graph and of greedy matching: section 3 of Thorsen and Merkey 2010."""

from __future__ import annotations

import math
from statistics import mean
from typing import TYPE_CHECKING, Any

from bench import figures
from bench.setting import Setting, Task
from bench.verdicts import QUARTER, held

if TYPE_CHECKING:
    import numpy as np

    from bench.report import Page
    from troth.graph import Graph

NAME = "luby"
TITLE = "How many rounds does Luby's algorithm take?"
SOURCE = "Thorsen and Merkey 2010, section 3"
QUESTION = (
    "Parallel greedy matching is Luby's algorithm for independent sets on the line graph, except that Luby draws new "
    "values in each round. How do the rounds of both grow with the graph?"
)
METHOD = (
    "Random graphs of average degree 8, square grids and R-MAT graphs, each four times as large as the one before. "
    "In a round an edge is taken where its value is the greatest at both of its ends, and goes with all edges there. "
    "Luby's values are drawn anew in every round, those of greedy matching are the weights, which are random here. "
    "Means over eight seeds. n is the number of vertices of the line graph, which is that of the graph's edges."
)
FAMILIES = {
    "Erdos-Renyi": "erdos-renyi:n={n},degree=8",
    "grid": "grid:rows={side},cols={side}",
    "R-MAT": "rmat:scale={scale},edgefactor=8",
}
SCALES = {"tiny": (6, 8), "small": (8, 10, 12, 14), "full": (8, 10, 12, 14, 16, 18)}
SEEDS = 8
LUBY, GREEDY = "Luby", "greedy"


def tasks(setting: Setting) -> list[Task]:
    return [
        Task(spec.format(n=2**scale, side=2 ** (scale // 2), scale=scale), "", {"family": family}, cost=2**scale / 1e4)
        for family, spec in FAMILIES.items()
        for scale in SCALES[setting.size]
    ]


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    import numpy as np

    graph = setting.load(task.graph)
    seeds = range(setting.seed, setting.seed + SEEDS)
    found = {name: [count_rounds(graph, np.random.default_rng(seed), name == LUBY) for seed in seeds] for name in
             (LUBY, GREEDY)}  # fmt: skip
    return {"n": graph.n, "m": graph.m, "rounds": found}


def count_rounds(graph: Graph, random: np.random.Generator, anew: bool) -> int:
    """Rounds until no edge is left, with random values that are drawn once or ``anew`` in every round.

    >>> import numpy as np
    >>> from troth import generate
    >>> count_rounds(generate("complete", n=2), np.random.default_rng(0), True)
    1
    """
    import numpy as np

    u = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    v = np.asarray(graph.indices, np.int64)
    u, v = u[u < v], v[u < v]
    value = random.permutation(len(u))
    rounds = 0
    while len(u):
        if anew and rounds:
            value = random.permutation(len(u))
        best = np.full(graph.n, -1)
        by_value = np.argsort(value)  # ascending: what is written last is the greatest
        best[u[by_value]] = value[by_value]
        other = np.full(graph.n, -1)
        other[v[by_value]] = value[by_value]
        best = np.maximum(best, other)
        taken = (value == best[u]) & (value == best[v])
        covered = np.zeros(graph.n, bool)
        covered[u[taken]] = covered[v[taken]] = True
        left = ~(covered[u] | covered[v])
        u, v, value = u[left], v[left], value[left]
        rounds += 1
    return rounds


# ---- what it shows ----


def present(records: list[dict[str, Any]], page: Page) -> None:
    lines: dict[str, dict[str, dict[int, float]]] = {LUBY: {}, GREEDY: {}}  # by algorithm, family and edges
    for record in sorted(records, key=lambda each: each["result"]["m"]):
        for name, rounds in record["result"]["rounds"].items():
            lines[name].setdefault(record["params"]["family"], {})[record["result"]["m"]] = mean(rounds)
    figure, ax = figures.new()
    shown = {f"{name}, {family}": by for name, found in lines.items() for family, by in found.items()}
    for name, look in figures.styles(shown).items():
        ax.plot(list(shown[name]), list(shown[name].values()), label=name, **look)
    ax.set_xscale("log")
    ax.set_ylim(bottom=0)
    ax.set_xlabel("n, edges of the graph")
    ax.set_ylabel("rounds")
    figures.legend(ax)
    page.figure(figure, NAME, "Rounds over the number of edges, means over eight seeds; a line is logarithmic growth.")
    _claim(lines[LUBY], page)
    fewer = [lines[GREEDY][family][m] / rounds for family, by in lines[LUBY].items() for m, rounds in by.items()]
    page.finding(
        f"Greedy matching, whose values stay the same, takes {min(fewer):.2f} to {max(fewer):.2f} of Luby's rounds."
    )
    page.table(
        [
            {"family": family, "edges": m, "Luby": rounds, "greedy": lines[GREEDY][family][m],
             "Luby, over log2 n": rounds / math.log2(m)}
            for family, by in lines[LUBY].items() for m, rounds in by.items()
        ],
        "Rounds",
    )  # fmt: skip


def _claim(lines: dict[str, dict[int, float]], page: Page) -> None:
    """O(log n): rounds over log n do not grow, by more than what still counts as similar."""
    said = "on average Luby's algorithm converges after O(log n) rounds, with random values (section 3)"
    grown = {family: by for family, by in lines.items() if len(by) > 1}
    if not grown:
        page.claim(said, "not in these results: python -m bench luby --size full counts the rounds", "not tested")
        return
    first = {family: rounds / math.log2(m) for family, by in grown.items() for m, rounds in [min(by.items())]}
    last = {family: rounds / math.log2(m) for family, by in grown.items() for m, rounds in [max(by.items())]}
    words = "; ".join(
        f"{family}: {grown[family][min(by)]:.1f} rounds at {min(by):,} edges, {grown[family][max(by)]:.1f} at "
        f"{max(by):,}, over log2 n {first[family]:.2f} and {last[family]:.2f}"
        for family, by in grown.items()
    )
    page.claim(said, words, held(all(last[family] <= (1 + QUARTER) * first[family] for family in grown)))
