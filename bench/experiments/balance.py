"""Load balance of GPU-Suitor where there is load to balance: sections 4 and 5.3 of Naim et al. 2015, ties by index."""

from __future__ import annotations

from itertools import product
from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING, Any

from bench import engines, figures
from bench.experiments.variants import FOUR, HYBRID, LABELS, NOSYNC, SYNCLB, SYNCNOLB, TENS, profile
from bench.setting import Setting, Task
from bench.verdicts import QUARTER, held, reached, reached_share

if TYPE_CHECKING:
    from bench.report import Page

NAME = "balance"
TITLE = "Does it pay to balance the load where ties make long chains?"
SOURCE = "Naim et al. 2015, sections 4 and 5.3: the cross product of variants, threads and vertices"
QUESTION = (
    "Where equal weights are tied by index, as in the paper, few vertices wait for many: how many rounds does the "
    "slowest warp need then, and which of the four variants is the fastest, for which threads a block, vertices a warp "
    "and k?"
)
METHOD = (
    "All four variants run with ties by index, on graphs of equal weights, on one of random weights, and on the files "
    "of --folder, whose weights are real, with 128, 192 and 256 threads a block and 8, 16, ... 256 vertices a warp; "
    "SyncLB and Hybrid with k = 4 and with k adaptive, of which the faster counts. A problem is a graph with one "
    "number of threads and one of vertices. The least of the runs counts."
)
BLOCKS, WARPS = (128, 192, 256), (8, 16, 32, 64, 128, 256)  # threads, vertices
ROUNDS = (4, "adaptive")  # k
HASTE = 40  # a measurement gets this part of the setting's patience
GRAPHS = {
    "tiny": ("grid:rows=20,cols=20,weights=unit",),
    "small": ("grid:rows=100,cols=100,weights=unit", "rgg:n=32768,degree=12,weights=unit,seed=51"),
    "full": (
        "grid:rows=100,cols=100,weights=unit",
        "rgg:n=32768,degree=12,weights=unit,seed=51",
        "delaunay:n=131072,weights=unit,seed=42",
        "stencil:nx=46,ny=44,nz=44,weights=unit,seed=142",
        "grid:rows=1000,cols=1000,weights=unit",
        "rgg-1m",
    ),
}
NEAR = 1.05  # times the best that still counts as near it
SAID = (
    "NoSync is the best variant on about 90 % of the problems (ties by index)",
    "on the others NoSync is up to 4 times worse than the best variant (ties by index)",
    "the other three variants are similar in performance (ties by index)",
    "the cost of synchronization outweighs the benefits of load balancing (ties by index)",
    "after the first few iterations, going on without synchronization takes less time (hence Hybrid; ties by index)",
    "a few warps need tens to hundreds of iterations (section 4; ties by index)",
    "most warps finish after a few iterations (section 4; ties by index)",
    "most blocks finish after a few iterations (section 5.3; ties by index)",
)


def tasks(setting: Setting) -> list[Task]:
    able = setting.able(FOUR)
    files = [each.name for each in setting.instances if each.family == "file"]
    graphs = [each.name for each in setting.instances] if setting.graphs else [*GRAPHS[setting.size], *files]
    return [
        Task(graph, name, {"threads_per_block": block, "vertices_per_warp": warp} | k, cost=0.3)
        for graph in graphs
        for name, block, warp in product(able, BLOCKS, WARPS)
        for k in ([{"balance_rounds": rounds} for rounds in ROUNDS] if name in (SYNCLB, HYBRID) else [{}])
    ]


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    graph = setting.load(task.graph, engines.read(task.engine).device)
    found = setting.match(graph, task.engine, budget=setting.patience / HASTE, ties="low", **task.params)
    return {"n": graph.n, "m": graph.m} | {name: found[name] for name in ("seconds", "mates", "stats")}


# ---- what it shows ----


def present(records: list[dict[str, Any]], page: Page) -> None:
    times: dict[str, dict[str, float]] = {}  # by variant and problem; of two k the better one
    rounds: dict[str, int] = {}
    quick: dict[str, dict[str, float]] = {"warps": {}, "blocks": {}}  # shares of NoSync's, by problem
    vertices: dict[str, int] = {}
    for record in records:
        words = record["params"]
        graph = record["graph"]
        problem = f"{graph}, {words['threads_per_block']} threads, {words['vertices_per_warp']} vertices"
        found = times.setdefault(record["engine"], {})
        found[problem] = min(min(record["seconds"]), found.get(problem, float("inf")))
        vertices[problem] = words["vertices_per_warp"]
        if record["engine"] == NOSYNC:
            stats = record["result"]["stats"]
            rounds[graph] = max(rounds.get(graph, 0), stats["rounds"])
            for name, shares in quick.items():
                shares[problem] = stats[f"quick_{name}"] / stats[name]
    problems = set.intersection(*(set(times.get(name, ())) for name in FOUR))
    if not problems:
        for said in SAID:
            page.claim(said, "the four variants are not in these results: they need a GPU", "not tested")
        return
    four = {LABELS[name]: {each: times[name][each] for each in sorted(problems)} for name in FOUR}
    figure, ax = figures.new()
    profile(ax, four)
    figures.legend(ax)
    page.figure(figure, NAME, "Performance profiles with ties by index: the higher and further left, the better.")
    _claims(four, rounds, vertices, page)
    for said, (name, shares) in zip(SAID[6:], quick.items(), strict=True):
        _most_are_quick(said, name, shares, page)
    page.table([{"problem": each} | {name: 1e3 * found[each] for name, found in four.items()} for each in
                sorted(problems)], "Milliseconds by problem", opened=False)  # fmt: skip


def _claims(four: dict[str, dict[str, float]], rounds: dict[str, int], vertices: dict[str, int], page: Page) -> None:
    best = figures.fastest(four)
    behind = {each: seconds / best[each] for each, seconds in four[LABELS[NOSYNC]].items()}
    won, worst = sum(ratio == 1 for ratio in behind.values()), max(behind, key=lambda each: behind[each])
    near = []
    for count in sorted({vertices[each] for each in behind}):
        some = [ratio for each, ratio in behind.items() if vertices[each] == count]
        near.append(f"{sum(ratio <= NEAR for ratio in some)} of {len(some)} with {count}")
    ours = f"on {won} of {len(behind)} problems; within 5 per cent of the best, by vertices a warp: {', '.join(near)}"
    why = "with more vertices a warp there is more that another warp could do, and NoSync leaves it where it is"
    page.claim(SAID[0], ours, reached_share(won / len(behind), 0.9), why)
    page.claim(SAID[1], f"at most {figures.ratio(behind[worst])} times ({worst})", reached(behind[worst], 4))
    means = {
        LABELS[name]: geometric_mean(four[LABELS[name]][each] / four[LABELS[NOSYNC]][each] for each in behind)
        for name in (SYNCLB, SYNCNOLB, HYBRID)
    }
    ours = f"times over NoSync's, geometric means: {', '.join(f'{name} {mean:.2f}' for name, mean in means.items())}"
    why = "those that balance are faster than the one that does not"
    page.claim(SAID[2], ours, held(max(means.values()) <= (1 + QUARTER) * min(means.values())), why)
    synclb, syncnolb = means[LABELS[SYNCLB]], means[LABELS[SYNCNOLB]]
    ours = f"SyncLB takes {synclb:.2f} times as long as NoSync, SyncNoLB, which does not balance, {syncnolb:.2f} times"
    page.claim(SAID[3], ours, held(synclb > 1), "where one warp has what others could do, balance gains more")
    mean = means[LABELS[HYBRID]] / synclb
    page.claim(SAID[4], f"Hybrid takes {mean:.2f} times as long as SyncLB in the geometric mean", held(mean < 1))
    low, high = min(rounds, key=lambda each: rounds[each]), max(rounds, key=lambda each: rounds[each])
    ours = f"the slowest warp of NoSync needs from {rounds[low]:,} ({low}) to {rounds[high]:,} ({high}) iterations"
    page.claim(SAID[5], ours, held(rounds[high] >= TENS))


def _most_are_quick(said: str, name: str, shares: dict[str, float], page: Page) -> None:
    """Whether most warps (or blocks) of NoSync need less than ten iterations, in the mean over the problems."""
    mean, least = fmean(shares.values()), min(shares, key=lambda each: shares[each])
    slow = sum(share <= 0.5 for share in shares.values())
    ours = (
        f"{100 * mean:.0f} per cent of NoSync's {name} need less than ten iterations, on average; half of them or "
        f"fewer on {slow} of {len(shares)} problems, least {100 * shares[least]:.0f} per cent ({least})"
    )
    page.claim(said, ours, held(mean > 0.5))
