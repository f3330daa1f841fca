"""Time, bytes and messages against MPI ranks: figures 2 and 3 of Thorsen and Merkey 2010."""

from __future__ import annotations

from importlib.util import find_spec
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from bench import figures, ranks
from bench.experiments import pgas_grain
from bench.experiments.pgas_grain import BIPARTITE, GRID, JUDGED, STENCIL, VARIANTS
from bench.setting import Setting, Task

if TYPE_CHECKING:
    from bench.report import Page

NAME = "pgas"
TITLE = "What do ranks gain, and what do they send?"
SOURCE = "Thorsen and Merkey 2010, figures 2 and 3"
QUESTION = (
    "The report has four variants: in rounds or asynchronous, polling or notifying. How does their time fall with the "
    "number of processes on a graph with high locality, on one with none, and on one between? What changes when "
    "notices are messages, which the report leaves to the future, and how far from them is the default?"
)
METHOD = (
    "Three graphs as in the report: a grid, in blocks; a bipartite graph, of which no process has both sides, so that "
    "every edge crosses; and a stencil as large as crankseg, partitioned by METIS. Each number of ranks, up to the "
    "cores of this machine, is a job of its own. A time is the slowest rank's, from a barrier to its mates, the least "
    "of several runs. Bytes and messages are the most that one rank sends. The four variants use one-sided operations "
    "(windows) as the report does; their twins send notices as messages. The default, Suitor, uses shared memory where "
    "all ranks have it, and messages otherwise; both are measured. All give the same matching. The variants run once "
    "more in both grains, single remote references and many at once, on ranks that share memory and "
    "in emulated distributed memory: MPI is told that the ranks of this machine share none, so that all goes by "
    f"messages, at the cost of the loopback. {JUDGED}"
)
TWINS = {name: f"{name}:transport=p2p" for name in VARIANTS[2:]}
MESSAGES = "suitor@mpi:share=false"
LABELS = {
    "suitor@mpi": "Suitor (the default)",
    MESSAGES: "Suitor, messages",
    **{name: name.partition("@")[0] for name in VARIANTS},
    **{twin: f"{name.partition('@')[0]}, messages" for name, twin in TWINS.items()},
}
GRAPHS = {
    "tiny": {
        GRID: ("grid:rows=16,cols=16", "block"),
        BIPARTITE: ("bipartite:left=40,right=40,m=300", ranks.SIDES),
        STENCIL: ("stencil:nx=4,ny=4,nz=4", "metis"),
    },
    "small": {
        GRID: ("grid:rows=256,cols=256", "block"),
        BIPARTITE: ("bipartite:left=1024,right=1024,m=139575", ranks.SIDES),
        STENCIL: ("stencil:nx=10,ny=10,nz=10,unknowns=8", "metis"),
    },
    "full": {
        GRID: ("grid:rows=256,cols=256", "block"),
        BIPARTITE: ("bipartite:left=1024,right=1024,m=139575", ranks.SIDES),
        STENCIL: ("stencil:nx=19,ny=19,nz=19,unknowns=8", "metis"),
    },
}
RANKS = {"tiny": (1, 2), "small": (1, 2, 4, 8), "full": (1, 2, 4, 8, 16)}
PATIENCE = {"tiny": 0.0, "small": 0.5, "full": 0.3}  # seconds after which an engine is not repeated
LIMIT = {"tiny": 120.0, "small": 180.0, "full": 240.0}  # seconds of a job


def tasks(setting: Setting) -> list[Task]:
    wanted = [name for name in LABELS if setting.wants(name)]
    if setting.mpiexec is None:
        setting.leave_out(NAME, "mpi4py or mpiexec is not installed")
        return []
    chosen = {} if len(wanted) == len(LABELS) else {"engines": " ".join(wanted)}
    most = max(setting.cores, 2 if setting.size == "tiny" else 1)
    counts = [count for count in RANKS[setting.size] if count <= most] if wanted else []
    jobs = [Task(params={"ranks": count, **chosen}, cost=10 + 2 * count) for count in counts]
    return jobs + pgas_grain.tasks(setting, most)


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    import troth

    graphs = {}
    for title, (spec, partition) in GRAPHS[setting.size].items():
        plain = partition == "metis" and not find_spec("pymetis")
        graphs[title] = troth.read(spec), "block" if plain else partition
    count, memory = task.params["ranks"], task.params.get("memory")
    names = task.params.get("engines", " ".join(LABELS if memory is None else pgas_grain.ENGINES)).split(" ")
    repeats, patience, limit = setting.repeats, PATIENCE[setting.size], LIMIT[setting.size]
    apart, crowded = memory == pgas_grain.DISTRIBUTED, count > max(setting.cores, 2)
    found = ranks.measure(
        setting.mpiexec, count, graphs, names, 1 if crowded else repeats, patience, limit, apart, alone=memory is None
    )
    return found | {
        "partitions": {title: partition for title, (_, partition) in graphs.items()},
        **({} if memory is None else {"crowded": crowded}),
    }


# ---- what it shows ----


def present(records: list[dict[str, Any]], page: Page) -> None:
    about_grain = [record for record in records if pgas_grain.is_about_grain(record)]
    if plain := [record for record in records if not pgas_grain.is_about_grain(record)]:
        _present(plain, page)
    pgas_grain.present(about_grain, page)
    if any(record["result"].get("partitions", {}).get(STENCIL) == "block" for record in records):
        page.note("pymetis was not installed: the stencil is partitioned into blocks instead.")
    for record in records:
        if reason := record["result"].get("stopped"):
            memory = f" in {record['params']['memory']} memory" if pgas_grain.is_about_grain(record) else ""
            page.note(f"The job of {record['params']['ranks']} ranks{memory} did not finish: {reason}.")


def _present(records: list[dict[str, Any]], page: Page) -> None:
    rows = _rows(records)
    times: dict[str, dict[str, dict[int, float]]] = {}  # by graph, engine and ranks
    for row in rows:
        times.setdefault(row["graph"], {}).setdefault(row["engine"], {})[row["ranks"]] = row["seconds"]
    most = max(row["ranks"] for row in rows)
    _time_figure(times, page)
    if most > 1:
        _sent_figure([row for row in rows if row["ranks"] == most], most, page)
    _graph_claim(records, page)
    if most > 1:
        _findings(times, most, page)
    page.table([row | {"engine": label(row["engine"])} for row in rows], "All runs")


def label(engine: str) -> str:
    return "one thread, no MPI" if engine == ranks.ALONE else LABELS[engine]


def _rows(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for record in sorted(records, key=lambda each: each["params"]["ranks"]):
        for title, facts in record["result"]["graphs"].items():
            for engine, found in facts["engines"].items():
                if "error" not in found:
                    sent = {name: found[name] for name in ("bytes", "messages", "rounds")}
                    head = {"graph": title, "engine": engine, "ranks": record["params"]["ranks"]}
                    rows.append(head | {"seconds": min(found["seconds"])} | sent | {"ghosts": facts["ghosts"]})
    return rows


def _time_figure(times: dict, page: Page) -> None:
    shown = [name for name in LABELS if any(name in found for found in times.values())]
    figure, axes = figures.new(len(times), height=3.1, share=True)
    for ax, (title, found) in zip([axes] if len(times) == 1 else axes, times.items(), strict=True):
        lines = {label(name): found.get(name, {}) for name in shown}
        figures.scaling(ax, lines, ideal=False, xlabel="")
        if ranks.ALONE in found:
            alone = min(found[ranks.ALONE].values())
            ax.axhline(alone, color=figures.INK, linewidth=0.9, linestyle=":", label=label(ranks.ALONE))
        ax.set_title(title, loc="left")
    ax.set_xlabel("ranks")
    figures.legend_below(figure)
    page.figure(figure, "time", "Time against ranks on the three graphs of the report, both logarithmic.")


def _sent_figure(rows: list[dict[str, Any]], most: int, page: Page) -> None:
    figure, axes = figures.new(2, height=3.3)
    for ax, what in zip(axes, ("bytes", "messages"), strict=True):
        shown: dict[str, dict[str, float]] = {}
        for row in sorted(rows, key=lambda row: list(LABELS).index(row["engine"])):
            found = shown.setdefault(label(row["engine"]), {})
            if row[what]:
                found[row["graph"]] = row[what]
        figures.dots(ax, shown)
        ax.set_xlabel(f"{what} that one rank sends")
    figures.legend_below(figure)
    page.figure(figure, "sent", f"What one of {most} ranks sends, at most. An engine without a mark sends nothing.")


def _graph_claim(records: list[dict[str, Any]], page: Page) -> None:
    facts: dict[str, dict[str, Any]] = {}
    for record in sorted(records, key=lambda each: each["params"]["ranks"]):
        facts |= record["result"]["graphs"]
    sizes = [
        f"{title}: {found['n']:,} vertices, {found['m']:,} edges, {100 * found['crossing']:.0f} per cent between ranks"
        for title, found in facts.items()
    ]
    page.claim(
        "the graphs are a grid of 65,536 vertices and 130,560 edges, a complete bipartite graph with 2,048 vertices "
        "and 130,560 edges, and crankseg with 52,804 vertices and 5,280,703 edges",
        f"{'; '.join(sizes)}. A complete bipartite graph of 2,048 vertices would have 1,048,576 edges, and the stencil "
        "stands in for crankseg",
        "differs",
    )


def _findings(times: dict, most: int, page: Page) -> None:
    twins = [
        lines[name][count] / lines[twin][count]
        for lines in times.values()
        for name, twin in TWINS.items()
        if name in lines and twin in lines
        for count in lines[name]
        if count > 1 and count in lines[twin]
    ]
    if twins:
        page.finding(
            f"Notices as messages (the report's future work) are {geometric_mean(twins):.2f} times as fast as by "
            f"one-sided operations in the geometric mean, {min(twins):.2f} to {max(twins):.2f}."
        )
    for name in ("suitor@mpi", MESSAGES):
        parts = []
        for title, lines in times.items():
            others = [lines[each][most] for each in (*VARIANTS, *TWINS.values()) if most in lines.get(each, {})]
            if most in lines.get(name, {}) and others:
                parts.append(f"{min(others) / lines[name][most]:.1f} ({title})")
        if parts:
            words = ", ".join(parts)
            page.finding(f"{label(name)} on {most} ranks, speedup over the best variant or twin: {words}.")
    gains = {
        title: min(lines[ranks.ALONE].values()) / lines["suitor@mpi"][most]
        for title, lines in times.items()
        if ranks.ALONE in lines and most in lines.get("suitor@mpi", {})
    }
    if gains:
        words = ", ".join(f"{gain:.2f} ({title})" for title, gain in gains.items())
        page.finding(f"Speedup of {most} ranks of the default over one thread without MPI: {words}.")
