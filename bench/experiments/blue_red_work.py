"""Blue-red beside Suitor: its work, and how it scales (part of blue-red; claims of Naim et al. 2015, section 6)."""

from __future__ import annotations

from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from bench import engines
from bench.verdicts import held

if TYPE_CHECKING:
    from bench.report import Page

BLUE_RED, SUITOR, DOMINANT = CONTENDERS = ("blue-red@cpu", "suitor@cpu", "locally-dominant@cpu")
CORES = 8  # with fewer threads than these, scaling says little
COMMAND = "python -m bench blue-red --size full"
EFFICIENT = (
    "the algorithm of Auer and Bisseling repeatedly considers all the vertices and is therefore not (work) efficient "
    "(Naim et al., section 6)"
)
SCALES = (
    "the algorithm of Auer and Bisseling scales better than Suitor and LD (Naim et al., section 6; no number is given)"
)


def present(work: list[dict[str, Any]], threads: list[dict[str, Any]], page: Page) -> None:
    _work(work, page)
    _scaling(threads, page)


def _work(records: list[dict[str, Any]], page: Page) -> None:
    """A round of the talk has a thread for each vertex; ours goes on with those that can still be matched."""
    by_graph: dict[str, dict[str, dict[str, Any]]] = {}
    for record in records:
        by_graph.setdefault(record["graph"], {})[record["engine"].partition(":")[0]] = record["result"]
    both = [found for found in by_graph.values() if {BLUE_RED, SUITOR} <= set(found)]
    if not both:
        page.claim(EFFICIENT, f"not in these results: {COMMAND} counts it", "not tested")
        return
    rounds = [found[BLUE_RED]["rounds"] for found in both]
    looks = [found[SUITOR]["looks"] / found[SUITOR]["n"] for found in both]
    read = [found[BLUE_RED]["read"] / found[SUITOR]["read"] for found in both]
    page.claim(
        EFFICIENT,
        f"judged by rounds times vertices, which is the work of the talk's thread for each vertex in each round: every "
        f"vertex is considered {min(rounds)} to {max(rounds)} times, where Suitor looks {min(looks):.1f} to "
        f"{max(looks):.1f} times for each; only with lists=False does blue-red here do that, else it drops the "
        f"matched, and reads {min(read):.2f} to {max(read):.2f} times the entries of rows that Suitor reads, "
        f"{geometric_mean(read):.2f} in the geometric mean of {len(both)} graphs",
        held(all(times > few for times, few in zip(rounds, looks, strict=True))),
    )


def _scaling(records: list[dict[str, Any]], page: Page) -> None:
    times: dict[str, dict[str, dict[int, float]]] = {}  # by graph, algorithm and threads
    for record in records:
        name, team = record["engine"].partition(":")[0], engines.read(record["engine"]).threads or 1
        times.setdefault(record["graph"], {}).setdefault(name, {})[team] = min(record["seconds"])
    most = max((team for found in times.values() for teams in found.values() for team in teams), default=1)
    gains = {
        graph: {name: found[name][1] / found[name][most] for name in CONTENDERS}
        for graph, found in times.items()
        if all({1, most} <= set(found.get(name, ())) for name in CONTENDERS)
    }
    if most == 1 or not gains:
        measured = [engines.label(name) for name in CONTENDERS if any(name in found for found in times.values())]
        there = f" (there is {' and '.join(measured)} alone)" if measured else ""
        page.claim(
            SCALES,
            f"all three on one and more threads are not in these results{there}: {COMMAND}, on {CORES} cores or more",
            "not tested",
        )
        return
    words = "; ".join(
        f"{graph}: {', '.join(f'{engines.label(name)} {gain:.2f}' for name, gain in found.items())}"
        for graph, found in gains.items()
    )
    few = most < CORES
    better = [
        geometric_mean(found[BLUE_RED] / found[other] for found in gains.values()) for other in (SUITOR, DOMINANT)
    ]
    page.claim(
        SCALES,
        f"speedup of {most} threads over one: {words}"
        + (f"; {most} threads are too few to judge by: {COMMAND}, on {CORES} cores or more" if few else ""),
        "not tested" if few else held(min(better) > 1),
    )
