"""The part of ``pgas`` on grain and memory: one remote reference each or many at once, shared or emulated distributed.

Thorsen and Merkey's variants read a remote word by a reference of its own, and one of their machines had distributed
memory. Here ranks that share memory and ranks that are told that they share none (``bench.ranks.APART``) run the four
variants in both grains. They are processes of one machine all the same: messages cost what the loopback costs, not a
network. Where there are more ranks than cores, times mean nothing and are left out; bytes and messages do not.

``JUDGED`` says by which of these the report's claims are judged.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.setting import Setting, Task
from bench.verdicts import IDEAL, held

if TYPE_CHECKING:
    from bench.report import Page

VARIANTS = ("sync-poll@mpi", "async-poll@mpi", "sync-notify@mpi", "async-notify@mpi")
FINE = {name: f"{name}:batch=1" for name in VARIANTS}
ENGINES = (*VARIANTS, *FINE.values())
SHARED, DISTRIBUTED = "shared", "emulated distributed"
RANKS = (1, 2, 4, 8, 16)
CROWDED = {"tiny": 0, "small": 1, "full": 2}  # further numbers of ranks, on which times mean nothing

GRID, BIPARTITE, STENCIL = "grid", "bipartite, all edges cross", "stencil, METIS"
JUDGED = (
    "The X1 had shared memory, as ranks of one machine have; the XT4's distributed memory is emulated by MPI on one "
    "machine. Speedups are those of the most ranks that had a core each, over one rank; two ranks are few to judge by, "
    "and two runs of them did not agree in all signs. Claims are judged by single references, as the report's are, "
    "though each is a call of MPI from Python here; what many references at once give stands beside them. With single "
    "references a notifying variant takes a step of Python for each vertex, on one rank too, and sync-notify posts its "
    "notices one by one, where the report posts them in bulk; so polling has to be better in both ways."
)
COMMAND = "python -m bench pgas --size full"
MISSING = {
    SHARED: f"not in these results: {COMMAND}, on two cores or more",
    DISTRIBUTED: "not in these results: the Open MPI 4.1 beside the H200 has no one-sided operations between ranks "
    f"that share no memory; with MPICH or Open MPI 5, {COMMAND}",
}
WAITED = "with single references every remote word is waited for by itself"
STEPS = "ranks share the notifying variants' steps of Python, and may gain more by that than they lose by waiting"

Times = dict[tuple[str, str, str, str], dict[int, float]]  # by memory, grain, graph and variant, then by ranks


class Scaling(NamedTuple):
    """What section 7.1 says of the speedups on a graph, when that is so of a speedup on so many ranks, and why not."""

    said: str
    memory: str
    graph: str
    is_so: Callable[[float, int], bool]
    why: str = WAITED


SCALING = (
    Scaling("grid: there is some speedup on the X1", SHARED, GRID, lambda gain, ranks: gain > 1),
    Scaling("grid: it scales well on the X1", SHARED, GRID, lambda gain, ranks: gain > IDEAL * ranks),
    Scaling("bipartite: there is some speedup on the X1", SHARED, BIPARTITE, lambda gain, ranks: gain > 1),
    Scaling("bipartite: the speedup on the X1 is not ideal", SHARED, BIPARTITE, lambda gain, ranks: gain < ranks),
    Scaling("sparse graph: it scales well on the X1", SHARED, STENCIL, lambda gain, ranks: gain > IDEAL * ranks),
    Scaling("grid: there is some speedup on the XT4", DISTRIBUTED, GRID, lambda gain, ranks: gain > 1),
    Scaling("bipartite: every variant slows down on the XT4", DISTRIBUTED, BIPARTITE, lambda gain, ranks: gain < 1),
    Scaling(
        "sparse graph: every variant slows down on the XT4", DISTRIBUTED, STENCIL, lambda gain, ranks: gain < 1,
        STEPS,
    ),
)  # fmt: skip
BETTER = "grid: each variation scales better on the X1, whose memory is shared, than on the XT4 (section 7.1)"
FASTER = "overall all four variations perform better on the X1 than on the XT4 (section 7.1)"
POLLING = {
    SHARED: "overall, the polling variants perform better than the notifying ones, on the X1 (section 7.2)",
    DISTRIBUTED: "overall, the polling variants perform better than the notifying ones, on the XT4 (section 7.2)",
}


def tasks(setting: Setting, cores: int) -> list[Task]:
    """A job for each memory and number of ranks."""
    wanted = [name for name in ENGINES if setting.wants(name)]
    chosen = {} if len(wanted) == len(ENGINES) else {"engines": " ".join(wanted)}
    fits = [count for count in RANKS if count <= cores] if wanted else []
    more = [count for count in RANKS if count > cores][: CROWDED[setting.size]] if wanted else []
    counts = {SHARED: fits, DISTRIBUTED: fits + more}
    return [
        Task(params={"ranks": count, "memory": memory, **chosen}, cost=10 + 4 * count)
        for memory, some in counts.items()
        for count in some
    ]


def is_about_grain(record: dict[str, Any]) -> bool:
    """Whether a record of ``pgas`` is of this part."""
    return "memory" in record["params"]


def present(records: list[dict[str, Any]], page: Page) -> None:
    """The grains beside each other, and what the report says of its two machines."""
    rows = _rows(records)
    times: Times = {}
    for row in rows:
        for grain in ("bulk", "fine"):
            if row[f"{grain}, s"] is not None:
                place = times.setdefault((row["memory"], grain, row["graph"], row["variant"]), {})
                place[row["ranks"]] = row[f"{grain}, s"]
    _findings(rows, page)
    _scaling_claims(times, page)
    _memory_claims(times, page)
    _poll_claims(times, page)
    page.table(
        rows,
        "One remote reference each (fine) and many at once (bulk), in shared and in emulated distributed memory. "
        "Without times: more ranks than cores",
    )


def _rows(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for record in sorted(records, key=lambda each: (each["params"]["memory"], each["params"]["ranks"])):
        head, crowded = record["params"], record["result"].get("crowded")
        for title, facts in record["result"]["graphs"].items():
            for name, fine in FINE.items():
                both = {"bulk": facts["engines"].get(name, {}), "fine": facts["engines"].get(fine, {})}
                if all("seconds" in found for found in both.values()):
                    row = {"graph": title, "variant": name.partition("@")[0], "ranks": head["ranks"]}
                    row |= {"memory": head["memory"]}
                    row |= {f"{grain}, s": None if crowded else min(one["seconds"]) for grain, one in both.items()}
                    row |= {f"{grain}, {what}": both[grain][what] for what in ("messages", "bytes") for grain in both}
                    rows.append(row)
    return rows


def _findings(rows: list[dict[str, Any]], page: Page) -> None:
    for memory in (SHARED, DISTRIBUTED):
        some = [row for row in rows if row["memory"] == memory and row["ranks"] > 1]
        slower = [row["fine, s"] / row["bulk, s"] for row in some if row["fine, s"] is not None]
        more = [row["fine, messages"] / row["bulk, messages"] for row in some if row["bulk, messages"]]
        if slower and more:
            page.finding(
                f"In {memory} memory one reference each takes {geometric_mean(slower):.1f} times as long as many at "
                f"once in the geometric mean ({min(slower):.1f} to {max(slower):.1f}), and {geometric_mean(more):.0f} "
                f"times as many messages ({min(more):.1f} to {max(more):.0f})."
            )

    alone = [row for row in rows if row["ranks"] == 1 and row["variant"].endswith("notify") and row["fine, s"]]
    if alone:
        slower = [row["fine, s"] / row["bulk, s"] for row in alone]
        page.finding(
            f"The notifying variants are {min(slower):.0f} to {max(slower):.0f} times as slow with one reference each "
            "on one rank too, where nothing is sent: a vertex at a time is then a step of Python. So their times with "
            "one reference each, unlike their messages, say more of that than of memory."
        )


def most_ranks(times: Times, memory: str) -> int:
    """The most ranks that have times, with this memory."""
    return max((ranks for key, found in times.items() if key[0] == memory for ranks in found), default=1)


def speedups(times: Times, memory: str, grain: str, graph: str) -> dict[str, float]:
    """How many times as fast as on one rank each variant is on the most ranks."""
    most = most_ranks(times, memory)
    found = {key[3]: lines for key, lines in times.items() if key[:3] == (memory, grain, graph)}
    return {variant: lines[1] / lines[most] for variant, lines in found.items() if most > 1 and {1, most} <= set(lines)}


def _ranks(times: Times, memory: str) -> str:
    """How many ranks, with what memory, for a sentence."""
    return f"{most_ranks(times, memory)} ranks" + (f" in {memory} memory" if memory == DISTRIBUTED else "")


def _both(fine: dict[str, float], bulk: dict[str, float]) -> str:
    return f"{_spell(fine)} with single references; {_spell(bulk)} with many at once"


def _spell(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())


def _scaling_claims(times: Times, page: Page) -> None:
    for each in SCALING:
        fine, bulk = (speedups(times, each.memory, grain, each.graph) for grain in ("fine", "bulk"))
        if not fine:
            page.claim(f"{each.said} (section 7.1)", MISSING[each.memory], "not tested")
            continue
        most = most_ranks(times, each.memory)
        ours = f"speedup of {_ranks(times, each.memory)} over one: {_both(fine, bulk)}"
        page.claim(
            f"{each.said} (section 7.1)", ours, held(all(each.is_so(gain, most) for gain in fine.values())), each.why
        )


def _memory_claims(times: Times, page: Page) -> None:
    """Emulated distributed memory against shared memory, on the same cores."""
    together, apart = (speedups(times, memory, "fine", GRID) for memory in (SHARED, DISTRIBUTED))
    both = {variant: together[variant] / apart[variant] for variant in apart if variant in together}
    if both:
        ours = f"{_ranks(times, DISTRIBUTED)}: speedups in shared memory over those, single references: {_spell(both)}"
        page.claim(BETTER, ours, held(min(both.values()) > 1))
    else:
        page.claim(BETTER, MISSING[DISTRIBUTED], "not tested")
    most = most_ranks(times, DISTRIBUTED)
    found: dict[str, dict[str, list[float]]] = {"fine": {}, "bulk": {}}  # by grain and variant
    for (memory, grain, graph, variant), lines in times.items():
        other = times.get((SHARED, grain, graph, variant), {})
        if memory == DISTRIBUTED and 1 < most in lines and most in other:
            found[grain].setdefault(variant, []).append(lines[most] / other[most])
    if not found["fine"]:
        page.claim(FASTER, MISSING[DISTRIBUTED], "not tested")
        return
    fine, bulk = ({name: geometric_mean(some) for name, some in found[grain].items()} for grain in ("fine", "bulk"))
    ours = f"{_ranks(times, DISTRIBUTED)}: times over those in shared memory, geometric means over graphs: "
    page.claim(FASTER, ours + _both(fine, bulk), held(min(fine.values()) > 1))


def _poll_claims(times: Times, page: Page) -> None:
    names = [name.partition("@")[0] for name in VARIANTS]
    for memory, said in POLLING.items():
        means: dict[str, dict[str, float]] = {"fine": {}, "bulk": {}}
        for grain, found in means.items():
            for poll, notify in (names[0::2], names[1::2]):
                ratios = [
                    lines[ranks] / times[memory, grain, graph, poll][ranks]
                    for (*place, graph, variant), lines in times.items()
                    for ranks in lines
                    if place == [memory, grain] and variant == notify and ranks > 1
                    and ranks in times.get((memory, grain, graph, poll), {})
                ]  # fmt: skip
                if ratios:
                    found[f"{notify} over {poll}"] = geometric_mean(ratios)
        if not means["fine"]:
            page.claim(said, MISSING[memory], "not tested")
            continue
        ours = f"times with up to {_ranks(times, memory)}, geometric means over graphs and ranks: "
        page.claim(said, ours + _both(**means), held(min(*means["fine"].values(), *means["bulk"].values()) > 1))
