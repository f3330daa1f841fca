"""GPU-Suitor against the others, as ratios of time: figure 3 of Naim et al. 2015."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from troth.bench import engines, figures
from troth.bench.experiments import runtimes
from troth.bench.experiments.runtimes import DEFAULT, GPU_LD, PAPER, common, cpu_threads, label, on_threads
from troth.bench.store import by_engine

if TYPE_CHECKING:
    from troth.bench.report import Page

NAME = "speedups"
RECORDS = "runtimes"
TITLE = "How much faster is GPU-Suitor?"
SOURCE = "Naim et al. 2015, section 5.2 and figure 3; slide 30"
QUESTION = (
    "How many times as fast as GPU-LD, and as both algorithms on 2 and on 16 CPU threads, is GPU-Suitor, and on how many "
    "graphs is that 1 to 10 times, 10 to 100 times, or more?"
)
METHOD = (
    "The measurements are those of runtimes. A speedup is the other's time over GPU-Suitor's on the same graph; each curve "
    "is in its own decreasing order, as in the paper. What the paper calls GPU-Suitor is NoSync, with 128 threads a block "
    "and 8 vertices a warp; troth's own kernels, the default, are drawn beside it. Without a GPU, Suitor on the most CPU "
    "threads stands in."
)
tasks, measure = runtimes.tasks, runtimes.measure

BINS = {"slower": (0, 1), "1 to 10x": (1, 10), "10 to 100x": (10, 100), "over 100x": (100, float("inf"))}
# Section 5.2, of 269 graphs: 115, "about 100" and 15; the rest is what remains.
PAPER_COUNTS = {"slower": 39, "1 to 10x": 115, "10 to 100x": 100, "over 100x": 15}
PAPER_GREATEST = {  # section 5.2
    on_threads("suitor", 2): 20,
    on_threads("suitor", 16): 5,
    on_threads("locally-dominant", 2): 40,
    on_threads("locally-dominant", 16): 16,
}


def speedups(times: dict[str, dict[str, float]], hero: str) -> dict[str, list[float]]:
    """How many times as fast as each other contender the hero is, by graph, in decreasing order."""
    rivals = [name for name in times if name not in (DEFAULT, PAPER, hero)]
    return {
        name: sorted((times[name][g] / times[hero][g] for g in common(times, [hero, name])), reverse=True)
        for name in rivals
    }


def counts(ratios: list[float]) -> dict[str, int]:
    """On how many graphs the ratio lies in each of the paper's ranges.

    >>> counts([0.5, 1.0, 30.0])
    {'slower': 1, '1 to 10x': 1, '10 to 100x': 1, 'over 100x': 0}
    """
    return {name: sum(low <= ratio < high for ratio in ratios) for name, (low, high) in BINS.items()}


def present(records: list[dict[str, Any]], page: Page) -> None:
    times = by_engine(records)
    heroes = [name for name in (PAPER, DEFAULT) if name in times]
    on_gpu = bool(heroes)
    if not on_gpu:
        heroes = [name for name in [on_threads("suitor", max(cpu_threads(times)))] if name in times]
        page.note("No GPU was measured here: Suitor on the most CPU threads stands in for GPU-Suitor.")
    found = {hero: {name: each for name, each in speedups(times, hero).items() if each} for hero in heroes}
    found = {hero: each for hero, each in found.items() if each}
    if found:
        _curves(found, page)
        _shares(found, on_gpu, page)
        page.table(_rows(found), "Graphs by speedup, beside the paper's counts", opened=True)
    for hero, ratios in found.items():
        for name, each in ratios.items():
            page.finding(
                f"{label(hero)} is {median(each):.3g} times as fast as {label(name)} in the middle of {len(each)} graphs, "
                f"from {each[-1]:.2g} to {each[0]:.3g} times."
            )
    _claims(found if on_gpu else {}, page)


def _curves(found: dict[str, dict[str, list[float]]], page: Page) -> None:
    figure, axes = figures.new(len(found), height=3.4)
    for ax, (hero, ratios) in zip([axes] if len(found) == 1 else axes, found.items(), strict=True):
        figures.sorted_curves(ax, {label(name): each for name, each in ratios.items()})
        ax.axhline(1, color=figures.INK, linewidth=0.8)
        ax.set_title(f"{label(hero)}, against", loc="left")
        ax.set_ylabel("times as fast")
        figures.plain(ax.yaxis)
    ax.set_xlabel("graphs, each curve in its own order")
    figures.legend_below(figure)
    page.figure(figure, NAME, "Time of the others over that of Suitor, each curve in its own decreasing order.")


def _shares(found: dict[str, dict[str, list[float]]], on_gpu: bool, page: Page) -> None:
    """The paper's counts beside ours, as shares of the graphs."""
    rows: dict[str, dict[str, float]] = {}
    for hero, ratios in found.items():
        if hero == PAPER and GPU_LD in ratios:
            rows["GPU-LD, in the paper"] = PAPER_COUNTS
        suffix = "" if len(found) == 1 else f" ({label(hero).removeprefix('GPU-Suitor, ')})"
        rows |= {label(name) + suffix: counts(each) for name, each in ratios.items()}
    figure, ax = figures.new(height=0.3 * len(rows) + 1.5)
    figures.shares(ax, rows)
    ax.set_xlabel("share of the graphs (%)")
    figures.legend(ax, 4)
    hero = "GPU-Suitor" if on_gpu else label(next(iter(found)))
    page.figure(figure, "counts", f"On how many graphs {hero} is how many times as fast as each of these.")


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
    document = (
        "GPU-Suitor is 1 to 10 times as fast as GPU-LD on 115 of 269 graphs, 10 to 100 times on about 100, above 100 "
    )
    document += "times on 15"
    if GPU_LD in found.get(PAPER, {}):
        each = found[PAPER][GPU_LD]
        ours = f"NoSync: {_spell(each)}"
        if GPU_LD in found.get(DEFAULT, {}):
            ours += f". troth's own kernels: {_spell(found[DEFAULT][GPU_LD])}"
        faster = sum(ratio >= 10 for ratio in each) / len(each)
        paper = (PAPER_COUNTS["10 to 100x"] + PAPER_COUNTS["over 100x"]) / 269
        page.claim(
            document, ours, "exceeded" if faster > 1.25 * paper else "held" if faster > 0.75 * paper else "not held"
        )
    else:
        page.claim(document, "GPU-Suitor and GPU-LD are not both in these results", "not tested")
    for name, greatest in PAPER_GREATEST.items():
        document = f"up to {greatest} times as fast as {label(name).replace('CPU', 'OMP')}"
        if name.endswith("suitor@cpu:threads=16"):
            document += " (section 1.1 misprints 20)"
        ours = {hero: ratios[name][0] for hero, ratios in found.items() if name in ratios}
        if PAPER in ours:
            verdict = (
                "exceeded" if ours[PAPER] > 1.25 * greatest else "held" if ours[PAPER] >= 0.8 * greatest else "not held"
            )
            page.claim(document, ", ".join(f"{label(hero)}: {most:.3g} times" for hero, most in ours.items()), verdict)
        else:
            needs = f"needs a GPU and {engines.read(name).threads} cores"
            page.claim(document, f"not in these results: {needs}", "not tested")


def _spell(ratios: list[float]) -> str:
    parts = ", ".join(f"{name} on {count}" for name, count in counts(ratios).items())
    return f"{parts} of {len(ratios)} graphs"
