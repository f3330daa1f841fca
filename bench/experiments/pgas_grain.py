"""The part of ``pgas`` on grain and memory: one remote reference each or many at once, shared or emulated distributed.

Thorsen and Merkey's variants read a remote word by a reference of its own, and one of their machines had distributed
memory. Here ranks that share memory and ranks that are told that they share none (``bench.ranks.APART``) run the four
variants in both grains. They are processes of one machine all the same: messages cost what the loopback costs, not a
network. Where there are more ranks than cores, times mean nothing and are left out; bytes and messages do not.
"""

from __future__ import annotations

from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from bench.setting import Setting, Task
from bench.verdicts import held

if TYPE_CHECKING:
    from bench.report import Page

VARIANTS = ("sync-poll@mpi", "async-poll@mpi", "sync-notify@mpi", "async-notify@mpi")
FINE = {name: f"{name}:batch=1" for name in VARIANTS}
ENGINES = (*VARIANTS, *FINE.values())
SHARED, DISTRIBUTED = "shared", "emulated distributed"
RANKS = (1, 2, 4, 8, 16)
CROWDED = {"tiny": 0, "small": 1, "full": 2}  # further numbers of ranks, on which times mean nothing

GRID = "grid"
XT4 = (
    "bipartite and sparse graph: on the XT4, whose memory is distributed, every variant slows down as processes are "
    "added (section 7.1)"
)
XT4_GRID = "grid: there is some speedup on the XT4, whose memory is distributed (section 7.1)"
BETTER = (
    "grid: each variation scales better on the X1, whose memory is shared, than on the XT4, whose memory is "
    "distributed (section 7.1; on the other graphs the XT4 slows down)"
)

Times = dict[tuple[str, str, str], dict[int, float]]  # by memory, graph and engine, then by ranks


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
    """The grains beside each other, and what the report says of its distributed machine."""
    rows = _rows(records)
    if not rows:
        return
    times: Times = {}
    for row in rows:
        for grain in ("bulk", "fine"):
            if row[f"{grain}, s"] is not None:
                place = times.setdefault((row["memory"], row["graph"], f"{row['variant']} {grain}"), {})
                place[row["ranks"]] = row[f"{grain}, s"]
    _findings(rows, page)
    _memory_claim(times, page)
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


def speedups(times: Times, memory: str, grain: str) -> dict[tuple[str, str], float]:
    """How many times as fast as on one rank each variant is on the most ranks, by graph and variant."""
    found = {}
    for (place, graph, engine), by_ranks in times.items():
        most = max(by_ranks)
        if place == memory and engine.endswith(grain) and most > 1 and 1 in by_ranks:
            found[graph, engine.partition(" ")[0]] = by_ranks[1] / by_ranks[most]
    return found


def _memory_claim(times: Times, page: Page) -> None:
    """The X1 had shared memory; the XT4 had not."""
    most = max((count for by_ranks in times.values() for count in by_ranks), default=1)
    apart = {grain: speedups(times, DISTRIBUTED, grain) for grain in ("fine", "bulk")}
    crossing = {grain: [gain for (graph, _), gain in apart[grain].items() if graph != GRID] for grain in apart}
    if crossing["fine"]:
        names = ", ".join(dict.fromkeys(variant for _, variant in apart["fine"]))
        counted = {grain: f"{sum(gain < 1 for gain in some)} of {len(some)}" for grain, some in crossing.items()}
        page.claim(
            XT4,
            f"emulated distributed memory, {most} ranks of one machine, {names}: {counted['fine']} pairs of variant "
            "and graph are slower than on one rank with one reference each, as in the report, and "
            f"{counted['bulk']} with many at once",
            held(max(crossing["fine"]) < 1),
        )
    near = [gain for (graph, _), gain in apart["fine"].items() if graph == GRID]
    if near:
        page.claim(
            XT4_GRID,
            f"emulated distributed memory, one reference each, {most} ranks of one machine are {min(near):.2f} to "
            f"{max(near):.2f} times as fast as one",
            held(min(near) > 1),
        )
    together = speedups(times, SHARED, "fine")
    both = [(gain, together[pair]) for pair, gain in apart["fine"].items() if pair in together]
    if both:
        better = sum(shared > distributed for distributed, shared in both)
        page.claim(
            BETTER,
            f"one reference each, {most} ranks against one: shared memory has the better speedup in {better} of "
            f"{len(both)} pairs of variant and graph, {geometric_mean([s / d for d, s in both]):.2f} times that of "
            "emulated distributed memory in the geometric mean",
            held(better == len(both)),
        )
