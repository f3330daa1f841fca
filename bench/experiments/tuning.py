"""Threads per block and vertices per warp of GPU-Suitor: figure 5 of Naim et al. 2015; on the CPU, threads."""

from __future__ import annotations

from itertools import product
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from bench import engines, figures
from bench.experiments.runtimes import PAPERS_LEAST, in_range
from bench.experiments.variants import profile
from bench.setting import Setting, Task
from bench.store import by_engine, common
from bench.verdicts import QUARTER, held, reached

if TYPE_CHECKING:
    from bench.report import Page

NAME = "tuning"
TITLE = "How many threads a block, and how many vertices a warp?"
SOURCE = "Naim et al. 2015, section 5.3 and figure 5; slide 31"
QUESTION = (
    "How much does the time of GPU-Suitor depend on the threads of a block and on the vertices that a warp takes, and "
    "which are best? And on the CPU: how many threads?"
)
METHOD = (
    "NoSync with 128, 192 and 256 threads a block and 1, 2, 4, ... 256 vertices a warp (the paper's begin at 8), on "
    "the graphs of about one to ten million edges (on all, where none is that large); each of the 27 combinations is "
    "compared with the best of them on the same graph. On the CPU, Suitor runs with 1, 2, 4, ... threads, and with the "
    "number that troth chooses, on graphs of up to two million edges. The least of the runs counts."
)
MOST, CPU_MOST = 10**7, 2 * 10**6  # edges
HASTE = 40  # a measurement gets this part of the setting's patience
BLOCKS = (128, 192, 256)  # threads
WARPS = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # vertices
PARAMS = ("threads_per_block", "vertices_per_warp")
COMBINATIONS = tuple(product(BLOCKS, WARPS))
GPU, DEFAULT = "suitor@cuda:variant=nosync", "suitor@cpu"


def label(name: str) -> str:
    """As the CPU's figure calls a contender."""
    return "troth's choice" if name == DEFAULT else engines.label(name).partition(", ")[2]


def tasks(setting: Setting) -> list[Task]:
    able = setting.able([GPU, *(f"{DEFAULT}:threads={count}" for count in setting.thread_counts), DEFAULT])
    choices = [dict(zip(PARAMS, values, strict=True)) for values in COMBINATIONS] if GPU in able else []
    small = setting.between(PAPERS_LEAST, CPU_MOST)
    found = []
    for each in setting.between(PAPERS_LEAST, MOST):
        found += [Task(each.name, GPU, params, cost=0.03 + each.edges * 1e-8) for params in choices]
        if each in small:
            found += [Task(each.name, name, cost=0.03 + each.edges * 1e-7) for name in able if name != GPU]
    return found


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    graph = setting.load(task.graph, engines.read(task.engine).device)
    found = setting.match(graph, task.engine, budget=setting.patience / HASTE, **task.params)
    return {"m": graph.m} | {name: found[name] for name in ("seconds", "mates")}


# ---- what it shows ----


Means = dict[tuple[int, int], float]
Ratios = dict[tuple[int, int], dict[str, float]]


def present(records: list[dict[str, Any]], page: Page) -> None:
    records = in_range(records)
    on_gpu: dict[tuple[int, int], dict[str, float]] = {}
    for record in records:
        if record["engine"] == GPU:
            each = tuple(record["params"][name] for name in PARAMS)
            on_gpu.setdefault(each, {})[record["graph"]] = min(record["seconds"])
    shared = common(on_gpu, on_gpu)
    if shared:
        on_gpu = {each: {graph: found[graph] for graph in shared} for each, found in on_gpu.items()}
        best = figures.fastest(on_gpu)
        behind = {
            each: {graph: seconds / best[graph] for graph, seconds in found.items()} for each, found in on_gpu.items()
        }
        means = {each: geometric_mean(found.values()) for each, found in behind.items()}
        _lines(means, behind, page)
        _profiles(on_gpu, best, means, page)
        _claims(means, behind, page)
        page.table(_rows(means, behind), "Times the time of the best combination on the same graph", opened=False)
    else:
        page.note("No GPU was measured here: threads a block and vertices a warp are a GPU's.")
        for said in SAID:
            page.claim(said, "not in these results: it takes a GPU", "not tested")
    _threads(by_engine([record for record in records if record["engine"] != GPU]), page)


def _lines(means: Means, behind: Ratios, page: Page) -> None:
    """All 27 combinations at a glance: the mean, and thinly the worst graph."""
    figure, ax = figures.new()
    for number, block in enumerate(BLOCKS):
        shown = [warp for warp in WARPS if (block, warp) in means]
        style = figures.style(number)
        ax.plot(shown, [means[block, warp] for warp in shown], label=f"{block} threads a block", **style)
        worst = [max(behind[block, warp].values()) for warp in shown]
        ax.plot(shown, worst, color=style["color"], linewidth=0.8, linestyle=":")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_xlabel("vertices a warp")
    ax.set_ylabel("times the best one's time")
    figures.legend(ax)
    page.figure(figure, NAME, "NoSync: geometric mean over the graphs; thin dots are the worst graph.")


def _profiles(times: dict[tuple[int, int], dict[str, float]], best: dict[str, float], means: Means, page: Page) -> None:
    """The paper's figure, in two: by vertices and by threads, each with the best of the other."""
    block, warp = min(means, key=means.get)
    by_warp = {f"{each}": times[block, each] for each in WARPS if (block, each) in times}
    by_block = {f"{each}": times[each, warp] for each in BLOCKS if (each, warp) in times}
    for name, shown, caption in (
        ("vertices", by_warp, f"Performance profile by vertices a warp, with {block} threads a block."),
        ("threads", by_block, f"Performance profile by threads a block, with {_vertices(warp)} a warp."),
    ):
        figure, ax = figures.new()
        profile(ax, shown, best)
        ax.set_title(f"{name} a {'warp' if name == 'vertices' else 'block'}", loc="left")
        figures.legend(ax, 5)
        page.figure(figure, name, caption)


def _vertices(warp: int) -> str:
    return "1 vertex" if warp == 1 else f"{warp} vertices"


SAID = (
    "vertices per warp have a large impact on performance, threads per block a relatively minor one",
    "8 vertices per warp perform best",
    "256 vertices per warp perform worst",
    "256 vertices per warp take up to 30 times as long as the best combination",
    "fewer than 8 vertices per warp perform worse",
)

MORE_WARPS = (
    "probably since newer cards keep more warps in flight (an H200 has room for 8,448, the paper's K40 had for 960), "
    "and fewer vertices a warp make enough of them"
)


def _claims(means: Means, behind: Ratios, page: Page) -> None:
    if len(means) < len(COMBINATIONS):
        for said in SAID:
            page.claim(said, "not all combinations are in these results", "not tested")
        return
    block, warp = min(means, key=means.get)
    page.finding(
        f"The best combination in the geometric mean is {block} threads a block and {_vertices(warp)} a warp, "
        f"{means[block, warp]:.2f} times the time of the best one on each graph; the paper's 128 and 8 are "
        f"{means[128, 8]:.2f} times."
    )
    column, row = [means[block, each] for each in WARPS], [means[each, warp] for each in BLOCKS]
    spread = max(column) / min(column), max(row) / min(row)
    ours = (
        f"between the best and the worst number of vertices lie {figures.ratio(spread[0])} times, of threads "
        f"{spread[1]:.2f} times"
    )
    page.claim(SAID[0], ours, held(spread[0] > 1 + QUARTER >= spread[1]))
    ours = f"the best number is {warp}; 8 take {means[block, 8] / means[block, warp]:.2f} times as long in the mean"
    page.claim(SAID[1], ours, held(warp == 8), MORE_WARPS)
    worst = max(means, key=means.get)
    ours = f"the worst number is {worst[1]}, with {worst[0]} threads: {figures.ratio(means[worst])} times in the mean"
    page.claim(SAID[2], ours, held(worst[1] == 256))
    most, graph = max((ratio, graph) for each in BLOCKS for graph, ratio in behind[each, 256].items())
    why = "probably since the paper's graphs, of up to a billion edges, have longer rows, and one warp may get several"
    page.claim(SAID[3], f"up to {figures.ratio(most)} times ({graph})", reached(most, 30), why)
    fewer = {each: means[block, each] / means[block, 8] for each in (4, 2, 1)}
    ours = "times of 8 vertices, in the mean: " + ", ".join(f"{each} {ratio:.2f}" for each, ratio in fewer.items())
    page.claim(SAID[4], ours, held(min(fewer.values()) > 1), MORE_WARPS)


def _rows(means: Means, behind: Ratios) -> list[dict[str, Any]]:
    return [
        {
            "threads a block": block,
            "vertices a warp": warp,
            "geometric mean": means[block, warp],
            "worst": max(behind[block, warp].values()),
            "best on": sum(ratio == 1 for ratio in behind[block, warp].values()),
            "graphs": len(behind[block, warp]),
        }
        for block, warp in means
    ]


def _threads(times: dict[str, dict[str, float]], page: Page) -> None:
    """Suitor on the CPU, by threads."""
    if not times:
        return
    shown = {label(name): times[name] for name in sorted(times, key=lambda name: engines.read(name).threads or 10**6)}
    figure, ax = figures.new()
    profile(ax, shown)
    figures.legend(ax, 3)
    page.figure(figure, "cpu", "Suitor on the CPU: performance profile by threads.")
    best = figures.fastest(times)
    if DEFAULT in times:
        behind = [seconds / best[graph] for graph, seconds in times[DEFAULT].items()]
        page.finding(
            f"On the CPU the number of threads that troth chooses takes {geometric_mean(behind):.2f} times as long as "
            f"the best of {len(times)} in the geometric mean of {len(behind)} graphs, at most {max(behind):.2f} times."
        )
