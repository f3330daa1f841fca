"""GPU-Suitor against the others, as ratios of time: figure 3 of Naim et al. 2015."""

from __future__ import annotations

from statistics import geometric_mean, median
from typing import TYPE_CHECKING, Any

from bench import engines, figures
from bench.experiments import runtimes
from bench.experiments.runtimes import DEFAULT, GPU_LD, NO_LOCKS, PAPER, cpu_threads, in_range, label, on_threads
from bench.store import by_engine, common
from bench.verdicts import QUARTER, held, reached, reached_share

if TYPE_CHECKING:
    from bench.report import Page

NAME = "speedups"
RECORDS = "runtimes"
TITLE = "How much faster is GPU-Suitor?"
SOURCE = "Naim et al. 2015, section 5.2 and figure 3; slide 30"
QUESTION = (
    "How many times as fast as GPU-LD, and as both algorithms on 2 and on 16 CPU threads, is GPU-Suitor, and on how "
    "many graphs is that 1 to 10 times, 10 to 100 times, or more?"
)
METHOD = (
    "The measurements are those of runtimes, on graphs of about a million edges and more, as in the paper (on all, "
    "where none is that large). A speedup is the other's time over GPU-Suitor's on the same graph; each curve is in "
    "its own decreasing order. What the paper calls GPU-Suitor is NoSync, with 128 threads a block and 8 vertices a "
    "warp; troth's own kernels, the default, are drawn beside it. Without a GPU, Suitor on the most CPU threads stands "
    "in. The paper's numbers are compared with those of NoSync. "
    f"{NO_LOCKS}"
)
tasks, measure = runtimes.tasks, runtimes.measure

BINS = {"slower": (0, 1), "1 to 10x": (1, 10), "10 to 100x": (10, 100), "over 100x": (100, float("inf"))}
# Section 5.2: 115, "about 100" and 15 of 269 graphs; of the rest it says nothing.
PAPER_COUNTS = {"1 to 10x": 115, "10 to 100x": 100, "over 100x": 15, "the rest": 39}
PAPER_LABEL = "GPU-LD, in the paper"
PAPER_GREATEST = {  # section 5.2
    on_threads("suitor", 2): 20,
    on_threads("suitor", 16): 5,
    on_threads("locally-dominant", 2): 40,
    on_threads("locally-dominant", 16): 16,
}


def speedups(times: dict[str, dict[str, float]], hero: str) -> dict[str, dict[str, float]]:
    """How many times as fast as each of the others the hero is, by graph, in decreasing order."""
    rivals = [name for name in times if name not in (DEFAULT, PAPER, hero)]
    found = {name: {g: times[name][g] / times[hero][g] for g in common(times, [hero, name])} for name in rivals}
    return {name: dict(sorted(by.items(), key=lambda each: -each[1])) for name, by in found.items() if by}


def counts(ratios: list[float]) -> dict[str, int]:
    """On how many graphs the ratio lies in each of the paper's ranges.

    >>> counts([0.5, 1.0, 30.0])
    {'slower': 1, '1 to 10x': 1, '10 to 100x': 1, 'over 100x': 0}
    """
    return {name: sum(low <= ratio < high for ratio in ratios) for name, (low, high) in BINS.items()}


def present(records: list[dict[str, Any]], page: Page) -> None:
    times = by_engine(in_range(records))
    heroes = [name for name in (PAPER, DEFAULT) if name in times]
    on_gpu = bool(heroes)
    if not on_gpu:
        heroes = [on_threads("suitor", max(cpu_threads(times), default=0))]
        page.note("No GPU was measured here: Suitor on the most CPU threads stands in for GPU-Suitor.")
    else:
        page.note(
            "Speedups over CPU threads are those of the machines as well: the paper's K40 has 2.8 times the memory "
            "bandwidth of its two CPUs (288 over 2 x 51.2 GB/s)."
        )
    by_graph = {hero: speedups(times, hero) for hero in heroes if hero in times}
    by_graph = {hero: ratios for hero, ratios in by_graph.items() if ratios}
    found = {hero: {name: list(by.values()) for name, by in ratios.items()} for hero, ratios in by_graph.items()}
    if found:
        _curves(by_graph, page)
        _shares(found, page)
        page.table(_rows(found), "Graphs by speedup, beside the paper's counts", opened=True)
    for hero, ratios in found.items():
        spelled = "; ".join(
            f"{figures.ratio(median(each))} times as fast as {label(name)} ({figures.ratio(each[-1])} to "
            f"{figures.ratio(each[0])})"
            for name, each in ratios.items()
        )
        page.finding(f"{label(hero)} is, in the median and from least to most, {spelled}.")
    _claims(found if on_gpu else {}, page)


def _curves(found: dict[str, dict[str, dict[str, float]]], page: Page) -> None:
    figure, axes = figures.new(len(found), height=3.3)
    for ax, (hero, ratios) in zip([axes] if len(found) == 1 else axes, found.items(), strict=True):
        values = {label(name): list(by.values()) for name, by in ratios.items()}
        figures.sorted_curves(ax, values, graphs={label(name): list(by) for name, by in ratios.items()})
        ax.axhline(1, color=figures.INK, linewidth=0.8)
        ax.set_title(f"{label(hero)} against", loc="left")
        ax.set_ylabel("times as fast")
        figures.plain(ax.yaxis)
    ax.set_xlabel("graphs, each curve in its own order")
    figures.legend_below(figure)
    page.figure(figure, NAME, "The others' time over that of Suitor, each curve in its own decreasing order.")


def _shares(found: dict[str, dict[str, list[float]]], page: Page) -> None:
    """The paper's counts beside ours, as shares of the graphs."""
    rows: list[dict[str, dict[str, float]]] = []
    for hero, ratios in found.items():
        rows.append({label(name): counts(each) for name, each in ratios.items()})
        if hero == PAPER and GPU_LD in ratios:
            rows[-1] = {PAPER_LABEL: dict.fromkeys(BINS, 0) | PAPER_COUNTS} | rows[-1]
    figure, axes = figures.new(len(rows), height=0.3 * max(map(len, rows)) + 1.2, share=True)
    for ax, hero, row in zip([axes] if len(rows) == 1 else axes, found, rows, strict=True):
        figures.shares(ax, row)
        ax.set_title(f"{label(hero)} against", loc="left")
    ax.set_xlabel("share of the graphs (%)")
    figures.legend_below(figure)
    beside = ", and the paper's count" if PAPER_LABEL in rows[0] else ""
    page.figure(figure, "counts", f"On how many graphs Suitor is how many times as fast{beside}.")


def _rows(found: dict[str, dict[str, list[float]]]) -> list[dict[str, Any]]:
    rows = []
    for hero, ratios in found.items():
        for name, each in ratios.items():
            row = {"faster": label(hero), "than": label(name), "graphs": len(each)} | counts(each)
            rows.append(row | {"least": each[-1], "median": median(each), "greatest": each[0]})
            if hero == PAPER and name == GPU_LD:
                rows.append({"faster": "GPU-Suitor in the paper", "than": "GPU-LD", "graphs": 269} | PAPER_COUNTS)
    return rows


def _claims(found: dict[str, dict[str, list[float]]], page: Page) -> None:
    over_ld = {hero: ratios[GPU_LD] for hero, ratios in found.items() if GPU_LD in ratios}
    for name, many in list(PAPER_COUNTS.items())[: len(BINS) - 1]:
        times, about = name.replace("x", " times"), "about " * (many == 100)
        paper = f"GPU-Suitor is {times} as fast as GPU-LD on {about}{many} of 269 graphs (section 5.2)"
        if PAPER not in over_ld:
            page.claim(paper, "there are no GPU-Suitor and GPU-LD in these results", "not tested")
            continue
        ours = ", ".join(f"{label(hero)} on {counts(found)[name]} of {len(found)}" for hero, found in over_ld.items())
        share = counts(over_ld[PAPER])[name] / len(over_ld[PAPER])
        page.claim(paper, ours, reached_share(share, many / 269))
    _comparisons(found.get(PAPER, {}), page)
    for name, greatest in PAPER_GREATEST.items():
        paper = f"up to {greatest} times as fast as {label(name).replace('CPU', 'OMP')}"
        if name == on_threads("suitor", 16):
            paper += " (section 1.1 says 20)"
        ours = {hero: ratios[name][0] for hero, ratios in found.items() if name in ratios}
        if PAPER in ours:
            spelled = ", ".join(f"{label(hero)}: {figures.ratio(most)} times" for hero, most in ours.items())
            apart = "; OMP-Suitor has locks, ours compares and swaps" if name.startswith("suitor") else ""
            page.claim(paper, spelled + apart, reached(ours[PAPER], greatest))
        else:
            needs = f"it takes a GPU and {engines.read(name).threads} cores"
            page.claim(paper, f"not in these results: {needs}", "not tested")


def _comparisons(ratios: dict[str, list[float]], page: Page) -> None:
    """What section 5.2 says of NoSync and all its rivals together."""
    said = (
        "GPU-Suitor has positive speedups on a large fraction of the problems against all others (section 5.2)",
        "the largest gains are against GPU-LD (section 5.2)",
        "the speedups over OMP-LD are much higher than those over OMP-Suitor (section 5.2)",
    )
    if GPU_LD not in ratios or len(ratios) == 1:
        for paper in said:
            page.claim(paper, "not in these results: it takes a GPU", "not tested")
        return
    faster = {name: sum(ratio > 1 for ratio in found) / len(found) for name, found in ratios.items()}
    spelled = ", ".join(
        f"{label(name)} on {sum(ratio > 1 for ratio in found)} of {len(found)}" for name, found in ratios.items()
    )
    page.claim(said[0], f"NoSync is faster than {spelled}", held(2 * min(faster.values()) > 1))
    means = {name: geometric_mean(found) for name, found in ratios.items()}
    spelled = ", ".join(
        f"over {label(name)} {figures.ratio(means[name])} (up to {figures.ratio(found[0])})"
        for name, found in ratios.items()
    )
    why = "probably since this GPU is further ahead of a few threads of its CPU than the paper's was"
    page.claim(
        said[1], f"NoSync's speedups, geometric means: {spelled}", held(max(means, key=means.get) == GPU_LD), why
    )
    pairs = {
        count: means[on_threads("locally-dominant", count)] / means[on_threads("suitor", count)]
        for count in runtimes.THREADS
        if {on_threads("locally-dominant", count), on_threads("suitor", count)} <= set(means)
    }
    if not pairs:
        page.claim(said[2], "not in these results: it takes both on CPU threads", "not tested")
        return
    spelled = ", ".join(f"{figures.ratio(more)} times as high on {count} threads" for count, more in pairs.items())
    page.claim(said[2], f"in the geometric mean {spelled}", held(min(pairs.values()) > 1 + QUARTER))
