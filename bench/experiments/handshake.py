"""One-way handshaking, kernel by kernel: the course project."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import geometric_mean, median
from typing import TYPE_CHECKING, Any

from bench import engines, figures
from bench.catalogue import Instance
from bench.setting import Setting, Task
from bench.store import agreement
from bench.verdicts import QUARTER, held

if TYPE_CHECKING:
    from bench.report import Page
    from troth.graph import Graph

NAME = "handshake"
TITLE = "How do the rounds of handshaking go?"
SOURCE = "Efficient Parallel Graph Matching, a course project (Rutgers University, 2020)"
QUESTION = (
    "How many rounds does handshaking need, how fast do the edges go, which of the six kernels takes the time, and how "
    "many GPU threads are worth launching?"
)
METHOD = (
    "One graph each of several families, with up to ten million edges, is matched under the course project's rule for "
    "ties (the smaller number wins). On the GPU its six kernels run in the given order, each on a given number of "
    "threads or, by default, on one for each item, up to two million; their times are the device's. On the CPU the "
    "rounds are the same, but only those vertices look again whose strongest neighbour is gone. The least of the runs "
    "counts. The passes of the segment scan are counted over all edges, on these graphs and on stars."
)
FAMILIES = ("structural", "mesh", "rgg", "circuit", "social", "rmat", "erdos-renyi")
MOST = 10**7  # edges
HASTE = 16  # a measurement gets this part of the setting's patience
GPU, CPU = "handshake@cuda", "handshake@cpu"
PACKED = "handshake@cpu:packed=true"  # the six kernels on CPU threads
SCAN = {"part": "scan"}
STARS = {"tiny": (4, 16), "small": (4, 64, 1024), "full": (4, 64, 1024, 16384, 2**18)}  # neighbours of the one hub
GPU_THREADS = {
    "tiny": (32, 256, 1024),
    "small": (256, 1024, 4096, 16384, 65536, 262144),
    "full": (256, 1024, 4096, 16384, 65536, 262144, 1048576),
}
KERNELS = {  # in the engine's stats, and as the project calls them
    "scan": "segment scan",
    "collate": "collate",
    "check": "check handshaking",
    "mark": "mark edges",
    "sum": "prefix sum",
    "pack": "pack graph",
}
PHASES = {"strongest": "first look", "rounds": "rounds", "count": "counting edges"}  # of the CPU's engine


def graphs(setting: Setting) -> list[Instance]:
    """The largest of each of the families, and whatever was asked for by name."""
    found: dict[str, Instance] = {}
    for each in sorted(setting.between(0, MOST), key=lambda each: each.edges):
        named = bool(setting.graphs) or each.family == "file"
        if named or each.family in FAMILIES:
            found[each.name if named else each.family] = each
    return list(found.values())


def tasks(setting: Setting) -> list[Task]:
    able = setting.able([GPU, *(f"{CPU}:threads={count}" for count in setting.thread_counts)])
    found = []
    for each in graphs(setting):
        for name in able:
            sweep = [{}, *({"gpu_threads": count} for count in GPU_THREADS[setting.size])] if name == GPU else [{}]
            found += [Task(each.name, name, params, cost=0.1 + each.edges * 2e-7) for params in sweep]
        found += [Task(each.name, PACKED, SCAN, cost=0.1 + each.edges * 2e-7)] * setting.wants(PACKED)
    stars = [] if setting.graphs else STARS[setting.size]
    return found + [Task(f"hubs:n={leaves + 1},hubs=1,degree={leaves}", PACKED, SCAN) for leaves in stars]


def scan_once(graph: Graph, setting: Setting) -> dict[str, Any]:
    """The passes of one segment scan over all edges, and the longest segment: how many entries a row has at most."""
    import numpy as np

    from troth.cpu.handshake_kernels import list_edges, scan
    from troth.order import make_order

    order = make_order("low", setting.seed, graph.bits_range(), graph)
    _, passes = scan(*list_edges(graph), order, setting.workers)
    return {"m": graph.m, "passes": passes, "longest": int(np.diff(graph.indptr).max())}


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    if task.params == SCAN:
        return scan_once(setting.load(task.graph), setting)
    graph = setting.load(task.graph, engines.read(task.engine).device)
    found = setting.match(graph, task.engine, budget=setting.patience / HASTE, ties="low", **task.params)
    return {"m": graph.m} | {name: found[name] for name in ("seconds", "mates", "stats", "phases")}


# ---- what it shows ----


def present(records: list[dict[str, Any]], page: Page) -> None:
    scans = {record["graph"]: record["result"] for record in records if record["params"] == SCAN}
    records = [record for record in records if record["params"] != SCAN]
    _scan_claim(scans, page)
    if records:
        _present(records, page)


def _scan_claim(scans: dict[str, dict[str, Any]], page: Page) -> None:
    """Distances 1, 2, 4, ... cover a segment of s entries in ceil(log2 s) passes; one more finds that none changed."""
    said = "a parallel segment scan can be performed with logarithmic time complexity (section 2.2)"
    if not scans:
        page.claim(said, "not in these results: python -m bench handshake --size full counts the passes", "not tested")
        return
    rows = sorted((found["longest"], found["passes"], graph) for graph, found in scans.items())
    most = {graph: math.ceil(math.log2(longest)) + 1 for longest, _, graph in rows}
    above = [graph for _, passes, graph in rows if passes > most[graph]]
    (low, few, _), (high, many, _) = rows[0], rows[-1]
    page.claim(
        said,
        f"on {len(rows)} graphs, whose longest segments have {low:,} to {high:,} entries, a scan takes {few} to {many} "
        f"passes, on {len(rows) - len(above)} of them at most log2 of the longest segment, rounded up, and one that "
        "finds that nothing changed",
        held(not above),
        f"these take more: {', '.join(above)}",
    )
    page.table(
        [{"graph": graph, "longest segment": longest, "passes": passes, "log2, rounded up, and one": most[graph]}
         for longest, passes, graph in rows],
        "Passes of the segment scan",
    )  # fmt: skip


def _present(records: list[dict[str, Any]], page: Page) -> None:
    left = {
        record["graph"]: [record["result"]["m"], *record["result"]["stats"]["edges"]]
        for record in records
        if "edges" in record["result"]["stats"]
    }
    by_gpu: dict[str, dict[int, float]] = {}
    by_cpu: dict[str, dict[int, float]] = {}
    for record in records:
        if record["engine"] != GPU:
            by_cpu.setdefault(record["graph"], {})[engines.read(record["engine"]).threads] = min(record["seconds"])
        elif "gpu_threads" in record["params"]:
            by_gpu.setdefault(record["graph"], {})[record["params"]["gpu_threads"]] = min(record["seconds"])
    default = {each["graph"]: each for each in records if each["engine"] == GPU and not each["params"]}
    if left:
        _edges(left, page)
    _kernels(default, page)
    _phases(records, page)
    _threads(by_gpu, "GPU", page)
    _threads(by_cpu, "CPU", page)
    if not default and not by_gpu:
        page.note("No GPU was measured here: the six kernels need one, the CPU's rounds are the same.")
    _claims(records, left, by_gpu, by_cpu, default, page)
    page.table(_rows(left, by_gpu, by_cpu, default), "Rounds, edges and milliseconds by graph")


def _edges(left: dict[str, list[int]], page: Page) -> None:
    figure, ax = figures.new()
    looks = figures.styles(left)
    for graph, counts in left.items():
        shown = [100 * count / counts[0] for count in counts if count]
        ax.plot(range(len(shown)), shown, label=graph, markevery=max(1, len(shown) // 8), **looks[graph])
    ax.set_yscale("log")
    figures.plain(ax.yaxis)
    figures.whole_numbers(ax)
    ax.set_xlabel("rounds")
    ax.set_ylabel("edges left (%)")
    figures.legend(ax)
    page.figure(figure, NAME, "Share of the edges that are left after each round; a line ends where none is.")
    rounds = {graph: len(counts) - 1 for graph, counts in left.items()}
    low, high = min(rounds, key=rounds.get), max(rounds, key=rounds.get)
    after = sorted(counts[1] / counts[0] for counts in left.values() if len(counts) > 1)
    page.finding(
        f"{len(rounds)} graphs take from {rounds[low]} ({low}) to {rounds[high]:,} rounds ({high}). The first round "
        f"packs away all but {100 * after[0]:.0f} to {100 * after[-1]:.0f} per cent of the edges, "
        f"{100 * median(after):.0f} in the median."
    )


def _kernels(default: dict[str, dict[str, Any]], page: Page) -> None:
    rows = {}
    for graph, record in default.items():
        phases = record["result"]["phases"]
        rows[graph] = {KERNELS[name]: phases[name] for name in KERNELS}
        rows[graph]["between kernels"] = max(0.0, phases["kernels"] - sum(rows[graph].values()))
    if not rows:
        return
    _shares(rows, "kernels", "Where the GPU's time goes; between kernels the host reads how many edges are left.", page)
    totals = {
        name: sum(row[name] / sum(row.values()) for row in rows.values()) / len(rows)
        for name in next(iter(rows.values()))
    }
    first, second, *_ = sorted(totals, key=totals.get, reverse=True)
    page.finding(
        f"On the GPU the most time goes to the {first}, {100 * totals[first]:.0f} per cent in the mean, and then to "
        f"the {second}, {100 * totals[second]:.0f}."
    )


def _phases(records: list[dict[str, Any]], page: Page) -> None:
    """The CPU's, with the most threads that were measured."""
    most = max((engines.read(each["engine"]).threads for each in records if each["engine"] != GPU), default=0)
    rows = {
        each["graph"]: {name: each["result"]["phases"][phase] for phase, name in PHASES.items()}
        for each in records
        if each["engine"] == f"{CPU}:threads={most}"
    }
    if rows:
        words = f"{most} thread{'s' * (most != 1)}"
        _shares(rows, "phases", f"Where the CPU's time goes, with {words}; all of it is in the times below.", page)


def _shares(rows: dict[str, dict[str, float]], name: str, caption: str, page: Page) -> None:
    figure, ax = figures.new(height=0.32 * len(rows) + 2.0)
    figures.shares(ax, rows)
    ax.set_xlabel("share of the time (%)")
    figures.legend(ax)
    page.figure(figure, name, caption)


def _threads(lines: dict[str, dict[int, float]], place: str, page: Page) -> None:
    if not any(len(found) > 1 for found in lines.values()):
        return
    figure, ax = figures.new()
    milliseconds = {graph: {count: 1e3 * spent for count, spent in found.items()} for graph, found in lines.items()}
    figures.scaling(ax, milliseconds, ideal=False, xlabel=f"{place} threads")
    if place == "GPU":
        from matplotlib.ticker import LogFormatterMathtext

        ax.xaxis.set_major_formatter(LogFormatterMathtext(base=2))
    ax.set_ylabel("milliseconds")
    figures.plain(ax.yaxis)
    figures.legend(ax)
    page.figure(figure, f"{place.lower()}-threads", f"Time by number of {place} threads.")


def _claims(
    records: list[dict[str, Any]],
    left: dict[str, list[int]],
    by_gpu: dict[str, dict[int, float]],
    by_cpu: dict[str, dict[int, float]],
    default: dict[str, dict[str, Any]],
    page: Page,
) -> None:
    rounds = [len(counts) - 1 for counts in left.values()]
    if rounds:
        fewer = all(a > b for counts in left.values() for a, b in pairwise(counts))
        page.claim(
            "one or multiple passes are needed, until no more edges can be added",
            f"from {min(rounds)} to {max(rounds):,} rounds, and each leaves fewer edges than the one before",
            held(fewer),
        )
    same, of = agreement(records)
    page.claim(
        "any number of threads gives the same output",
        f"one matching on {same} of {of} graphs, whatever the number of {'CPU and GPU' if by_gpu else 'CPU'} threads",
        held(same == of),
    )
    said = (
        "launching a large number of threads is not wanted, since it has a significant overhead (section 2.4)",
        "handshaking is a good fit for GPUs (section 1.2)",
    )
    both = [graph for graph in default if graph in by_gpu]
    if both:
        most = geometric_mean(min(default[g]["seconds"]) / min(by_gpu[g].values()) for g in both)
        best = {g: min(by_gpu[g], key=by_gpu[g].get) for g in both}
        ours = (
            f"with a thread for each item, up to two million, the time is {most:.2f} times that of the best number, "
            f"which is {' to '.join(f'{each:,}' for each in sorted({min(best.values()), max(best.values())}))}"
        )
        why = "starting a block takes less than the memory takes to answer its threads, so nothing waits for it"
        page.claim(said[0], ours, held(most > 1 + QUARTER), why)
    else:
        page.claim(said[0], "not in these results: it takes a GPU", "not tested")
    both = [graph for graph in default if graph in by_cpu]
    if both:
        faster = {g: min(by_cpu[g].values()) / min(default[g]["seconds"]) for g in both}
        mean = geometric_mean(faster.values())
        ours = (
            f"in the geometric mean the six kernels are {figures.ratio(mean)} times as fast as the best number of CPU "
            f"threads, from {figures.ratio(min(faster.values()))} to {figures.ratio(max(faster.values()))} times; the "
            "threads' time includes counting, after each round, how many edges are left"
        )
        page.claim(said[1], ours, held(mean > 1))
    else:
        page.claim(said[1], "not in these results: it takes a GPU", "not tested")


def _rows(
    left: dict[str, list[int]],
    by_gpu: dict[str, dict[int, float]],
    by_cpu: dict[str, dict[int, float]],
    default: dict[str, dict[str, Any]],
) -> list[dict[str, Any]]:
    rows = []
    for graph, counts in left.items():
        row = {"graph": graph, "edges": counts[0], "rounds": len(counts) - 1}
        row |= {f"after {at}": counts[at] if at < len(counts) else None for at in (1, 2, 3)}
        row |= {f"CPU, {count}": 1e3 * spent for count, spent in sorted(by_cpu.get(graph, {}).items())}
        row |= {f"GPU, {count:,}": 1e3 * spent for count, spent in sorted(by_gpu.get(graph, {}).items())}
        row |= {"GPU": 1e3 * min(default[graph]["seconds"])} if graph in default else {}
        rows.append(row)
    return rows
