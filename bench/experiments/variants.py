"""The four variants of GPU-Suitor and troth's own kernels: figure 4 of Naim et al. 2015; and sorted lists."""

from __future__ import annotations

from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from bench import engines, figures
from bench.experiments.runtimes import in_range
from bench.setting import Setting, Task
from bench.store import by_engine, common
from bench.verdicts import QUARTER, held, reached, reached_share

if TYPE_CHECKING:
    from bench.report import Page

NAME = "variants"
TITLE = "Does it pay to synchronize and to balance the load?"
SOURCE = "Naim et al. 2015, sections 2.1, 4 and 5.3, and figure 4; slides 20 and 31"
QUESTION = (
    "Of the four variants of GPU-Suitor, which is the fastest, on how many graphs, and how far behind are the others? "
    "Do troth's own kernels (auto) change that? And do sorted neighbour lists, which Suitor and Locally-Dominant may "
    "ask for, pay?"
)
METHOD = (
    "Every graph of the catalogue with up to 50 million edges is matched by NoSync, SyncLB, SyncNoLB and Hybrid, each "
    "with the paper's 128 threads a block and 8 vertices a warp, by auto, and on sorted lists; the CPU's engines run "
    "on all threads, on graphs of up to 2 million edges. Sorting counts (on a GPU that of the last run). A "
    "performance profile shows, over x, the share of the graphs on which a variant takes at most x times as long as "
    "the best one. The least of the runs counts. Claims are compared on graphs of about a million edges and more, as "
    "in the paper (on all, where none is that large)."
)
MOST, CPU_MOST = 5 * 10**7, 2 * 10**6  # edges
TENS = 20  # iterations; "tens to hundreds" are not fewer
LINEAR = 2  # reads for each vertex and entry; what a list has passed is not read again, its head may be
HASTE = 20  # a measurement gets this part of the setting's patience
FOUR = tuple(f"suitor@cuda:variant={name}" for name in ("nosync", "synclb", "syncnolb", "hybrid"))
NOSYNC, SYNCLB, SYNCNOLB, HYBRID = FOUR
AUTO = "suitor@cuda"
LABELS = {NOSYNC: "NoSync", SYNCLB: "SyncLB", SYNCNOLB: "SyncNoLB", HYBRID: "Hybrid", AUTO: "auto"}
GPU_LD = "locally-dominant@cuda"
GPU_SORTED = {name: f"{name}:presort=true" for name in (AUTO, GPU_LD)}
GPU_LISTS = {
    GPU_LD: "GPU-LD",
    GPU_SORTED[AUTO]: "GPU-Suitor, sorted lists",
    GPU_SORTED[GPU_LD]: "GPU-LD, sorted lists",
}
SUITOR, DOMINANT = "suitor@cpu", "locally-dominant@cpu"
SORTED = {name: f"{name}:presort=true" for name in (SUITOR, DOMINANT)}
CPU_LABELS = {
    SUITOR: "Suitor",
    SORTED[SUITOR]: "Suitor, sorted lists",
    DOMINANT: "LD",
    SORTED[DOMINANT]: "LD, sorted lists",
}


def tasks(setting: Setting) -> list[Task]:
    able = setting.able([*LABELS, *GPU_LISTS, *CPU_LABELS])
    small = setting.between(0, CPU_MOST)
    found = []
    for each in setting.between(0, MOST):
        found += [Task(each.name, name, cost=0.05 + each.edges * 1e-8) for name in able if name not in CPU_LABELS]
        if each in small:
            cost = 0.05 + each.edges * 1e-6 / setting.workers
            found += [Task(each.name, name, cost=cost) for name in able if name in CPU_LABELS]
    return found


HERE = "(ties by scramble, 8 vertices a warp; `balance` has ties by index)"
COMMAND = "python -m bench variants --size full"


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    graph = setting.load(task.graph, engines.read(task.engine).device)
    found = setting.match(graph, task.engine, budget=setting.patience / HASTE)
    if task.engine in GPU_LISTS:  # whose kernels are timed without the sort
        found["seconds"] = [each + found["phases"].get("sort", 0.0) for each in found["seconds"]]
    return {"n": graph.n, "m": graph.m} | {name: found[name] for name in ("seconds", "mates", "stats")}


# ---- what it shows ----


def present(records: list[dict[str, Any]], page: Page) -> None:
    times = by_engine(records)
    on_gpu = {name: times[name] for name in LABELS if name in times}
    on_cpu = {name: times[name] for name in CPU_LABELS if name in times}
    if on_gpu:
        _gpu_profiles(on_gpu, page)
    else:
        page.note("No GPU was measured here: the variants of GPU-Suitor need one.")
    if on_cpu:
        figure, ax = figures.new()
        profile(ax, {CPU_LABELS[name]: found for name, found in on_cpu.items()})
        figures.legend(ax)
        page.figure(figure, "cpu", "Performance profile on the CPU, with and without sorted neighbour lists.")
    _gpu_findings(on_gpu, page)
    _gpu_claims(in_range([each for each in records if each["engine"] in LABELS]), page)
    _list_claims(times, in_range([each for each in records if each["engine"] in CPU_LABELS]), page)
    page.table(_rows(records, times), "Milliseconds by graph")


def profile(ax: Any, times: dict[str, dict[str, float]], best: dict[str, float] | None = None) -> None:
    """A performance profile as wide as the ratios are, in powers of two."""
    least = figures.fastest(times) if best is None else best
    worst = max(seconds / least[graph] for found in times.values() for graph, seconds in found.items())
    most = 2
    while most < min(worst, 256):
        most *= 2
    figures.performance_profile(ax, times, most=most, best=best)
    if most <= 4:
        ax.set_xticks([1, 1.2, 1.5, 2, 3, 4][: 2 + most])
    ax.set_xlabel("times the best one's time")


def _gpu_profiles(times: dict[str, dict[str, float]], page: Page) -> None:
    """The paper's four alone, as in its figure, and then with auto, which is then the best one."""
    four = {LABELS[name]: found for name, found in times.items() if name != AUTO}
    panels = [("the paper's four", four)] if four else []
    if AUTO in times:
        panels.append(("with troth's own kernels", four | {LABELS[AUTO]: times[AUTO]}))
    figure, axes = figures.new(len(panels), height=3.2)
    for ax, (title, shown) in zip([axes] if len(panels) == 1 else axes, panels, strict=True):
        profile(ax, shown)
        ax.set_title(title, loc="left")
    figures.legend_below(figure, 3)
    page.figure(figure, NAME, "Performance profiles of GPU-Suitor's variants: the higher and further left, the better.")


def ratios(times: dict[str, dict[str, float]], name: str, base: str) -> dict[str, float]:
    """The time of one engine over that of another, by graph."""
    both = times.get(name, {}).keys() & times.get(base, {}).keys()
    return {graph: times[name][graph] / times[base][graph] for graph in sorted(both)}


def _gpu_findings(times: dict[str, dict[str, float]], page: Page) -> None:
    faster = ratios(times, NOSYNC, AUTO)
    if faster:
        low, high = min(faster, key=faster.get), max(faster, key=faster.get)
        page.finding(
            f"auto is {figures.ratio(geometric_mean(faster.values()))} times as fast as NoSync in the geometric mean "
            f"of {len(faster)} graphs: from {figures.ratio(faster[low])} times ({low}) to "
            f"{figures.ratio(faster[high])} times ({high})."
        )


def _gpu_claims(records: list[dict[str, Any]], page: Page) -> None:
    times = by_engine(records)
    graphs = common(times, FOUR)
    four = {name: {graph: times[name][graph] for graph in graphs} for name in FOUR if graphs}
    best = figures.fastest(four)
    behind = {graph: seconds / best[graph] for graph, seconds in four.get(NOSYNC, {}).items()}
    said = (
        f"NoSync is the best variant on about 90 % of the problems {HERE}",
        f"on the others NoSync is up to 4 times worse than the best variant {HERE}",
        f"the other three variants are similar in performance {HERE}",
        f"the cost of synchronization outweighs the benefits of load balancing {HERE}",
        f"after the first few iterations, going on without synchronization takes less time (hence Hybrid) {HERE}",
        f"a few warps need tens to hundreds of iterations (section 4) {HERE}",
    )
    if not four:
        for paper in said:
            page.claim(paper, "the four variants are not in these results: they need a GPU", "not tested")
        return
    won = sum(ratio == 1 for ratio in behind.values())
    lead = geometric_mean(ratio for ratio in behind.values())
    ours = f"on {won} of {len(behind)} graphs"
    why = f"the four are close: in the geometric mean NoSync takes {lead:.2f} times as long as the best of them"
    page.claim(said[0], ours, reached_share(won / len(behind), 0.9), why)
    worst = max(behind, key=behind.get)
    ours = f"at most {figures.ratio(behind[worst])} times ({worst})"
    rounds = {each["graph"]: each["result"]["stats"]["rounds"] for each in records if each["engine"] == NOSYNC}
    low, high = min(rounds, key=rounds.get), max(rounds, key=rounds.get)
    why = f"no warp needs more than {rounds[high]} iterations, so there is little load to balance"
    page.claim(said[1], ours, reached(behind[worst], 4), why)
    means = {name: geometric_mean(ratios(four, name, NOSYNC).values()) for name in (SYNCLB, SYNCNOLB, HYBRID)}
    spelled = ", ".join(f"{LABELS[name]} {mean:.2f}" for name, mean in means.items())
    similar = max(means.values()) <= (1 + QUARTER) * min(means.values())
    page.claim(said[2], f"times over NoSync's, geometric means: {spelled}", held(similar))
    ours = (
        f"SyncLB takes {means[SYNCLB]:.2f} times as long as NoSync, and {means[SYNCLB] / means[SYNCNOLB]:.2f} times as "
    )
    ours += "long as SyncNoLB, which synchronizes without balancing"
    page.claim(said[3], ours, held(means[SYNCLB] > 1))
    ours = f"Hybrid takes {means[HYBRID] / means[SYNCLB]:.2f} times as long as SyncLB"
    why = "there are few rounds, and a barrier among the four warps of a block is cheap beside the rows that they read"
    page.claim(said[4], ours, held(means[HYBRID] < means[SYNCLB]), why)
    ours = f"the slowest warp of NoSync needs from {rounds[low]} ({low}) to {rounds[high]:,} ({high}) iterations"
    why = "where ties make long chains, as `balance` has them, the slowest warp needs many more"
    page.claim(said[5], ours, held(rounds[high] >= TENS), why)


def _list_claims(times: dict[str, dict[str, float]], records: list[dict[str, Any]], page: Page) -> None:
    """Sorted lists: what the CPU's engines read, and how long all of them take."""
    read: dict[str, dict[str, float]] = {}
    for each in records:
        result = each["result"]
        share = result["stats"]["edges_read"] / (result["n"] + 2 * result["m"])
        read.setdefault(each["engine"], {})[each["graph"]] = share
    for name, paper in (
        (DOMINANT, "with sorted neighbour lists the work of Locally-Dominant falls to Theta(V + E) (section 2.1)"),
        (SUITOR, "with sorted neighbour lists Suitor takes O(E log Delta + V + E), with the sort (slide 20)"),
    ):
        if not {name, SORTED[name]} <= set(read):
            page.claim(paper, f"{CPU_LABELS[name]} with and without sorting is not in these results", "not tested")
            continue
        most = {each: max(read[each], key=lambda graph, each=each: read[each][graph]) for each in (SORTED[name], name)}
        ours = "; ".join(
            f"{CPU_LABELS[each]} reads at most {read[each][graph]:.2f} entries for each vertex and entry of the graph "
            f"({graph})"
            for each, graph in most.items()
        )
        verdict = held(read[SORTED[name]][most[SORTED[name]]] <= LINEAR)
        page.claim(paper, f"on CPU threads, after the sort: {ours}{_on_gpu(times, page)}", verdict)
    for name in (SUITOR, DOMINANT):
        if slower := ratios(times, SORTED[name], name):
            page.finding(f"{CPU_LABELS[name]} on the CPU {_slower(slower)}")
    for name, label in ((AUTO, "auto"), (GPU_LD, GPU_LISTS[GPU_LD])):
        if slower := ratios(times, GPU_SORTED[name], name):
            page.finding(f"{label} on the GPU {_slower(slower)}")


def _on_gpu(times: dict[str, dict[str, float]], page: Page) -> str:
    """What is to be said of the GPU, whose entries nobody counts, where there is one."""
    if page.machine.get("gpu") and GPU_SORTED[GPU_LD] not in times:
        return f"; on the GPU sorted lists are not measured yet: {COMMAND}"
    return ""


def _slower(slower: dict[str, float]) -> str:
    return (
        f"takes {figures.ratio(geometric_mean(slower.values()))} times as long when it sorts the lists first, in the "
        f"geometric mean of {len(slower)} graphs; it is faster so on {sum(ratio < 1 for ratio in slower.values())}."
    )


def _rows(records: list[dict[str, Any]], times: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    edges = {record["graph"]: record["result"]["m"] for record in records}
    labels = LABELS | GPU_LISTS | CPU_LABELS
    names = [name for name in labels if name in times]
    return [
        {"graph": graph, "edges": edges[graph]}
        | {labels[name]: 1e3 * times[name][graph] if graph in times[name] else None for name in names}
        for graph in sorted(edges, key=edges.get, reverse=True)
    ]
