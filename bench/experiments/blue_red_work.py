"""Blue-red beside Suitor: its work, and how it scales (part of blue-red; claims of Naim et al. 2015, section 6)."""

from __future__ import annotations

from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from bench import engines
from bench.verdicts import held

if TYPE_CHECKING:
    from bench.report import Page

BLUE_RED, SUITOR = "blue-red@cpu", "suitor@cpu"
CORES = 8  # with fewer threads than these, scaling says little
COMMAND = "python -m bench blue-red --size full"
EFFICIENT = (
    "the algorithm of Auer and Bisseling repeatedly considers all the vertices and is therefore not (work) efficient "
    "(Naim et al., section 6)"
)
SCALES = "the algorithm of Auer and Bisseling scales better than Suitor and LD"


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
        f"with a thread for each vertex in each round, as in the talk, every vertex is considered {min(rounds)} to "
        f"{max(rounds)} times, where Suitor looks {min(looks):.1f} to {max(looks):.1f} times for each; blue-red here, "
        f"which drops the matched, reads {min(read):.2f} to {max(read):.2f} times the entries of rows that Suitor "
        f"reads, {geometric_mean(read):.2f} in the geometric mean of {len(both)} graphs",
        held(all(times > few for times, few in zip(rounds, looks, strict=True))),
    )


def _scaling(records: list[dict[str, Any]], page: Page) -> None:
    times: dict[str, dict[str, dict[int, float]]] = {}  # by graph, algorithm and threads
    for record in records:
        name, team = record["engine"].partition(":")[0], engines.read(record["engine"]).threads or 1
        times.setdefault(record["graph"], {}).setdefault(name, {})[team] = min(record["seconds"])
    most = max((team for found in times.values() for team in found.get(SUITOR, ())), default=1)
    gains = {
        graph: [found[name][1] / found[name][most] for name in (BLUE_RED, SUITOR)]
        for graph, found in times.items()
        if all({1, most} <= set(found.get(name, ())) for name in (BLUE_RED, SUITOR))
    }
    said = f"{SCALES} (Naim et al., section 6; no number is given)"
    if most == 1 or not gains:
        page.claim(said, f"not in these results: {COMMAND}, on {CORES} cores or more", "not tested")
        return
    words = "; ".join(f"{graph}: blue-red {ours:.2f}, Suitor {theirs:.2f}" for graph, (ours, theirs) in gains.items())
    few = most < CORES
    page.claim(
        said,
        f"{most} threads are so many times as fast as one: {words}"
        + (f"; {most} threads are too few to judge by: {COMMAND}, on {CORES} cores or more" if few else ""),
        "not tested" if few else held(geometric_mean(ours / theirs for ours, theirs in gains.values()) > 1),
    )
