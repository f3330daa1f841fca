"""Suitor and Locally-Dominant on a GPU and on CPU threads: figure 2 of Naim et al. 2015.

What is measured here is presented once more, as ratios, by ``speedups.py``.
"""

from __future__ import annotations

from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from bench import engines, figures
from bench.setting import Setting, Task
from bench.store import agreement, by_engine, common
from bench.verdicts import held

if TYPE_CHECKING:
    from bench.report import Page

NAME = "runtimes"
TITLE = "How long do Suitor and Locally-Dominant take, on a GPU and on CPU threads?"
SOURCE = "Naim et al. 2015, section 5.2 and figure 2; slide 29"
NO_LOCKS = (
    "The paper's OMP-Suitor locks a vertex to change its suitor; Suitor on CPU threads here has no locks, it compares "
    "and swaps one word a vertex, so that it is not the same program. What the exchange gains was not measured."
)
QUESTION = "Which of the two algorithms, on which of the two machines, is the fastest, and on how many graphs?"
METHOD = (
    "Every graph of the catalogue with up to 50 million edges, matched by Suitor and by Locally-Dominant (LD). On the "
    "GPU Suitor runs twice: as the paper's NoSync with its 128 threads a block and 8 vertices a warp, and as troth's "
    "own kernels, the default. The CPU has 2 threads, as in the paper's figure, and 16, as in its next one (or all "
    "cores, where there are fewer). The graph is where the engine is before the clock starts: matching alone counts, "
    "as in the paper, by the GPU's own clock there. The least of all runs counts, ten unless asked otherwise; "
    "every matching is verified, outside the timer. Graphs stand in decreasing order of GPU-Suitor's time. "
    f"{NO_LOCKS}"
)
MOST = 5 * 10**7  # edges; larger graphs are the business of scaling
PAPERS_LEAST = 900_000  # edges; the paper's graphs have about a million or more
SMALLER = 90_000  # edges; it says of those from a hundred thousand to a million that they behave alike
DEFAULT, PAPER, GPU_LD = "suitor@cuda", "suitor@cuda:variant=nosync", "locally-dominant@cuda"
THREADS = (2, 16)
LABELS = {DEFAULT: "GPU-Suitor (troth)", PAPER: "GPU-Suitor (NoSync)"}


def on_threads(algorithm: str, threads: int) -> str:
    """The contender's name.

    >>> on_threads("suitor", 2)
    'suitor@cpu:threads=2'
    """
    return f"{algorithm}@cpu:threads={threads}"


def label(name: str) -> str:
    """As these two experiments call a contender.

    >>> label("suitor@cpu:threads=2")
    'CPU-Suitor on 2 threads'
    """
    return LABELS.get(name) or engines.label(name).replace(", ", " on ")


def contenders(cores: int) -> list[str]:
    """On a GPU, and on the paper's two numbers of CPU threads, or as many as there are cores.

    >>> contenders(1)[3:]
    ['suitor@cpu:threads=1', 'locally-dominant@cpu:threads=1']
    """
    counts = dict.fromkeys(min(threads, cores) for threads in THREADS)
    algorithms = ("suitor", "locally-dominant")
    return [DEFAULT, PAPER, GPU_LD] + [on_threads(algorithm, count) for count in counts for algorithm in algorithms]


def tasks(setting: Setting) -> list[Task]:
    able = setting.able(contenders(setting.cores))
    return [Task(each.name, name, cost=_cost(each.edges, name)) for each in setting.between(0, MOST) for name in able]


def _cost(edges: int, name: str) -> float:
    """About the seconds: tens of nanoseconds an edge on two threads, ten times."""
    return 0.05 + edges * (3e-9 if "@cuda" in name else 3e-7 / (engines.read(name).threads or 2))


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    graph = setting.load(task.graph, engines.read(task.engine).device)
    facts = {"family": setting.find(task.graph).family, "n": graph.n, "m": graph.m}
    found = setting.match(graph, task.engine, budget=float("inf"))  # all runs, however slow
    return facts | {name: found[name] for name in ("seconds", "weight", "mates", "stats")}


# ---- what it shows ----


def in_range(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records of graphs as large as the paper's, where there are any; else all."""
    return [record for record in records if record["result"]["m"] >= PAPERS_LEAST] or records


def cpu_threads(times: dict[str, Any]) -> list[int]:
    """The numbers of CPU threads among the contenders, in order."""
    return sorted({engines.read(name).threads or 0 for name in times if engines.read(name).device == "cpu"})


def present(records: list[dict[str, Any]], page: Page) -> None:
    times = by_engine(records)
    fewest = (cpu_threads(times) or [0])[0]
    names = [DEFAULT, PAPER, GPU_LD, on_threads("suitor", fewest), on_threads("locally-dominant", fewest)]
    names = [name for name in names if name in times]
    order = names[0]
    graphs = sorted(times[order])
    figure, ax = figures.new(height=4.2)
    series = {label(name): [1e3 * times[name][g] if g in times[name] else None for g in graphs] for name in names}
    figures.sorted_curves(ax, series, order=label(order), graphs=dict.fromkeys(series, graphs))
    ax.set_xlabel(f"graphs, by the time of {label(order)}")
    ax.set_ylabel("milliseconds")
    figures.plain(ax.yaxis)
    figures.legend(ax)
    page.figure(figure, NAME, f"Time to match each graph, in decreasing order of that of {label(order)}.")
    if DEFAULT not in times and PAPER not in times:
        page.note("No GPU was measured here: the order is that of Suitor on CPU threads.")
    _findings(records, times, page)
    _claims(by_engine(in_range(records)), fewest, page)
    _why_suitor(in_range(records), by_engine(in_range(records)), page)
    _order_claim(records, page)
    _alike(records, names, page)
    page.table(_rates(records, times), "Edges a second")
    page.table(_rows(records, times), "Milliseconds by graph")


def wins(times: dict[str, dict[str, float]], name: str, others: list[str]) -> tuple[int, int]:
    """On how many graphs a contender is the fastest of these, and of how many."""
    graphs = common(times, [name, *others])
    return sum(all(times[name][g] <= times[other][g] for other in others) for g in graphs), len(graphs)


def _findings(records: list[dict[str, Any]], times: dict[str, dict[str, float]], page: Page) -> None:
    edges = {record["graph"]: record["result"]["m"] for record in records}
    name = DEFAULT if DEFAULT in times else min(times, key=lambda name: geometric_mean(times[name].values()))
    rate = geometric_mean(edges[graph] / seconds for graph, seconds in times[name].items())
    page.finding(f"{label(name)} matches {figures.count(rate)} edges a second, in the geometric mean of the graphs.")
    names = list(times)
    of = len(common(times, names))
    won = {name: wins(times, name, [other for other in names if other != name])[0] for name in names}
    spelled = ", ".join(f"{label(name)} on {count}" for name, count in won.items() if count)
    if of:
        page.finding(f"The fastest on {of} graphs: {spelled}.")
    same, of = agreement(records)
    page.finding(f"All contenders found the same matching, mate for mate, on {same} of {of} graphs.")


def _rates(records: list[dict[str, Any]], times: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    edges = {record["graph"]: record["result"]["m"] for record in records}
    rows = []
    for name, found in times.items():
        rates = sorted((edges[graph] / seconds, graph) for graph, seconds in found.items())
        rows.append(
            {
                "contender": label(name),
                "graphs": len(rates),
                "geometric mean": figures.count(geometric_mean(rate for rate, _ in rates)),
                "least": f"{figures.count(rates[0][0])} ({rates[0][1]})",
                "greatest": f"{figures.count(rates[-1][0])} ({rates[-1][1]})",
            }
        )
    return rows


def _claims(times: dict[str, dict[str, float]], fewest: int, page: Page) -> None:
    suitor, dominant = on_threads("suitor", fewest), on_threads("locally-dominant", fewest)
    rivals = [name for name in (GPU_LD, suitor, dominant) if name in times]
    said = (
        "GPU-Suitor outperforms GPU-LD and both algorithms on two CPU threads for most instances, of a million edges up"
    )
    won, of = wins(times, PAPER, rivals)
    if rivals and of:
        ours = f"the paper's NoSync is the fastest of the four on {won} of {of} graphs of that size"
        if DEFAULT in times:
            ours += f", and troth's own kernels on {wins(times, DEFAULT, rivals)[0]}"
        page.claim(said, f"{ours}; OMP-Suitor has locks, ours compares and swaps", held(2 * won > of))
    else:
        page.claim(said, "there is no GPU in these results", "not tested")
    won, of = wins(times, suitor, [dominant])
    if of:
        ratio = geometric_mean(times[dominant][g] / times[suitor][g] for g in common(times, [suitor, dominant]))
        page.claim(
            "the Suitor algorithm is the currently best performing one, superior to Locally-Dominant (sections 2.2, 6)",
            f"on {fewest} CPU thread{'s' * (fewest != 1)} Suitor is the faster one on {won} of {of} graphs, "
            f"{figures.ratio(ratio)} times as fast in the geometric mean; the paper's has locks on CPU threads, ours "
            "compares and swaps",
            held(2 * won > of and ratio > 1),
        )


def _why_suitor(records: list[dict[str, Any]], times: dict[str, dict[str, float]], page: Page) -> None:
    """Section 2.2: less work, and no queue in the way of threads."""
    two, most = THREADS
    read: dict[str, list[float]] = {}
    for each in records:
        algorithm, _, where = each["engine"].partition("@")
        if where == f"cpu:threads={two}" and "edges_read" in each["result"].get("stats", {}):
            read.setdefault(algorithm, []).append(each["result"]["stats"]["edges_read"] / (2 * each["result"]["m"]))
    names = ("suitor", "locally-dominant")
    said = "the Suitor algorithm proactively avoids unnecessary work (section 2.2)"
    if set(names) <= set(read):
        suitor, dominant = (geometric_mean(read[name]) for name in names)
        ours = f"on {two} CPU threads each stored entry is read {suitor:.2f} times, by Locally-Dominant {dominant:.2f}"
        page.claim(said, f"{ours}, in the geometric mean", held(suitor < dominant))
    else:
        page.claim(said, "the entries that both read are not in these results", "not tested")
    said = "without a queue of active vertices Suitor is better suited for parallel implementation (section 2.2)"
    lines = [on_threads(name, count) for name in names for count in (two, most)]
    if graphs := common(times, lines):
        suitor, dominant = (
            geometric_mean(times[on_threads(name, two)][g] / times[on_threads(name, most)][g] for g in graphs)
            for name in names
        )
        ours = (
            f"speedup of {most} CPU threads over {two}: Suitor {suitor:.2f}, Locally-Dominant {dominant:.2f}, in the "
        )
        page.claim(said, f"{ours}geometric mean of {len(graphs)} graphs", held(suitor > dominant))
    else:
        page.claim(said, f"not in these results: it takes {most} cores", "not tested")


def _order_claim(records: list[dict[str, Any]], page: Page) -> None:
    same, of = agreement(records)
    page.claim(
        "the order in which vertices are processed has no influence on the final matching (slide 21)",
        f"threads and warps take the vertices in orders that differ from run to run; all contenders gave one matching "
        f"on {same} of {of} graphs",
        held(same == of),
    )


def _alike(records: list[dict[str, Any]], names: list[str], page: Page) -> None:
    """Behaviour is who is faster than whom: the contenders' order by geometric mean, and who wins on most graphs."""
    groups = {
        "below": [each for each in records if SMALLER <= each["result"]["m"] < PAPERS_LEAST],
        "above": [each for each in records if each["result"]["m"] >= PAPERS_LEAST],
    }
    means: dict[str, dict[str, float]] = {}
    spelled = {}
    for where, some in groups.items():
        times = by_engine(some)
        graphs = common(times, names)
        if graphs and len(names) > 1:
            means[where] = {name: geometric_mean(times[name][g] for g in graphs) for name in names}
            first, *others = sorted(names, key=means[where].get)
            won = wins(times, first, others)
            ratios = ", ".join(
                f"{label(each)} {figures.ratio(means[where][each] / means[where][first])}" for each in others
            )
            spelled[where] = f"{label(first)} is the fastest on {won[0]} of {won[1]} graphs; times over its: {ratios}"
    said = "graphs of a hundred thousand to a million edges have similar run time behavior (section 5.1)"
    if len(means) < 2:
        page.claim(said, "these results have no graphs of one of the two ranges", "not tested")
        return
    orders = [sorted(names, key=found.get) for found in means.values()]
    page.claim(
        said,
        f"from 90,000 to 900,000 edges, {spelled['below']} (geometric means). From there up, {spelled['above']}",
        held(orders[0] == orders[1]),
        "the order of the contenders is not the same",
    )


def _rows(records: list[dict[str, Any]], times: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    facts = {record["graph"]: record["result"] for record in records}
    return [
        {"graph": graph, "edges": facts[graph]["m"]}
        | {label(name): 1e3 * times[name][graph] if graph in times[name] else None for name in times}
        for graph in sorted(facts, key=lambda graph: -facts[graph]["m"])
    ]
