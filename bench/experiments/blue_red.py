"""Random colours, blue proposes to red: the figures of the talk of Fagginger Auer and Bisseling 2011."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

from bench import engines, figures, one_round
from bench.experiments import blue_red_p, blue_red_work
from bench.numberings import kind_of_weights, renumber
from bench.setting import Setting, Task, digest
from bench.verdicts import IDEAL, WEIGHT, held, reached
from troth.engines import promises_dominance

if TYPE_CHECKING:
    from bench.report import Page
    from troth.graph import Graph

NAME = "blue-red"
TITLE = "How good and how fast are random colours?"
SOURCE = "Fagginger Auer and Bisseling 2011, the talk: saturation, p, scaling, results; Naim et al. 2015, section 6"
QUESTION = (
    "Vertices are coloured blue with probability p, else red; blue ones propose, red ones respond. How much is matched "
    "by each round? Which p matches the most? How does it scale with threads, and how do its size, weight and time "
    "compare with serial greedy matching?"
)
METHOD = (
    "As in the talk, results are averages over 32 random numberings of the vertices, and times are of matching alone: "
    "neither the numbering nor the sort into a random order is counted. Local greedy matching, which visits vertices "
    "in random order and takes the first or the heaviest free neighbour, and global greedy matching, which sorts the "
    "edges, run on one thread; blue-red runs on all threads, and on the GPU where there is one. The fraction that one "
    "round matches is measured over p on random graphs: on large ones of average degrees 4, 16 and 64, and on many "
    "copies of small ones of a given density; and at three fixed densities as n grows, which is what its limit is "
    "about. It is compared with the talk's formula for large graphs, with its formula for n vertices of density d, "
    "and with the exact expectation, which conditions on the number of red vertices. Work is counted in entries of "
    "rows that are read, and beside Suitor's; both, and Locally-Dominant, run on 1, 2, 4, ... threads on the same "
    "graphs."
)
NUMBERINGS = {"tiny": 4, "small": 8, "full": 32}
FEW = 4  # numberings for an engine that gives one matching, whatever they are
ENOUGH = {"tiny": 0.1, "small": 3.0, "full": 8.0}  # seconds of matching after which there are no further numberings
PATIENCE = {"tiny": 0.1, "small": 1.0, "full": 2.0}  # seconds after which a number of threads is not repeated
GRAPHS = {
    "tiny": ("delaunay-tiny", "rmat-tiny"),
    "small": ("mesh-100k", "delaunay-100k", "rmat-130k", "erdos-renyi-130k", "structural-400k", "rgg-1m", "rmat-1m"),
    "full": (
        "road-100k",
        "delaunay-400k",
        "rmat-1m",
        "rgg-1m",
        "erdos-renyi-1m",
        "mesh-1m",
        "delaunay-3m",
        "rgg-3m",
        "structural-4m",
        "social-6m",
    ),
}
SCALED = {
    "tiny": ("rmat-tiny",),
    "small": ("rgg-1m", "rmat-1m"),
    "full": ("structural-4m", "mesh-8m", "erdos-renyi-8m"),
}
THREADS = (1, 2, 4, 8, 16, 32, 64)


class Baseline(NamedTuple):
    """Serial greedy matching: its name, blue-red's mode against it, what is compared, and what the talk says."""

    name: str
    mode: str
    what: str
    speedup: float  # the greatest of the talk
    quality: str
    holds: Callable[[float], bool]  # of blue-red's per cent of the baseline, on average
    why: str = ""
    apart: bool = False  # real and random weights are judged apart


BASELINES = {
    "local-random@cpu:threads=1": Baseline(
        "local random", "random", "cardinality", 6.8,
        "the quality of random matching is similar to that of serial local random matching",
        lambda share: abs(share - 100) <= WEIGHT,
    ),
    "local-weighted@cpu:threads=1": Baseline(
        "local weighted", "weighted", "weight", 5.6,
        "the quality is better than that of serial local weighted matching",
        lambda share: share > 100,
        "a red vertex takes the best of those who ask, which gains where many ask the same one, but a blue vertex asks "
        "red neighbours alone, about half of them, and in graphs of even degrees that loses more",
        apart=True,
    ),
    "greedy@cpu:threads=1": Baseline(
        "global greedy", "weighted", "weight", 37.0,
        "compared with a global greedy weighted matching the quality is worse",
        lambda share: share < 100,
    ),
}  # fmt: skip
DEFAULTS = ("suitor@cpu", "suitor@cuda")
CORES = 8  # of the talk's machine
LARGE = {"tiny": 1024, "small": 2**15, "full": 2**18}  # vertices of the large random graphs
DEGREES = (4, 16, 64)
SAMPLES = {"tiny": 2000, "small": 40_000, "full": 200_000}  # vertices of all copies of a small random graph together
COPIES = ((8, 1.0), (32, 0.25), (128, 0.02))  # n and d
FIXED = (0.02, 0.1, 0.5)  # densities at which n grows
GROWING = {"tiny": (16, 64), "small": (32, 128, 512), "full": (32, 128, 512, 2048)}
PAIRS = 2 * 10**7  # of vertices, in all copies of a graph of fixed density together
SUITOR, DOMINANT = "suitor@cpu", "locally-dominant@cpu"
SATURATES_FROM = 10_000  # vertices; of smaller graphs all rounds are few
COMMAND = "python -m bench blue-red --size full"
ORDERS = "averages over random orders on one numbering, where the talk has numberings"


def blue_red(device: str, mode: str) -> str:
    return f"blue-red@{device}:mode={mode}"


def tasks(setting: Setting) -> list[Task]:
    wanted = {each.name: each for each in setting.instances}
    compared = [name for name in GRAPHS[setting.size] if name in wanted]
    scaled = [name for name in SCALED[setting.size] if name in wanted]
    if setting.graphs:
        compared = scaled = list(wanted)
    elif setting.folders:
        compared += [each.name for each in setting.instances if each.family == "file"]
    ours = [blue_red(device, mode) for device in ("cpu", "cuda") for mode in ("random", "weighted")]
    able = setting.able([*ours, *BASELINES, *DEFAULTS])
    teams = [
        f"{name}:threads={count}"
        for name in ("blue-red@cpu", SUITOR, DOMINANT)
        for count in THREADS
        if count <= setting.cores
    ]
    teams = [name for name in teams if setting.wants(name)]
    found = []
    for name in dict.fromkeys([*compared, *scaled]):
        cost = 0.1 + wanted[name].edges / 2e6
        if name in compared:
            found += [Task(name, engine, {"part": "numberings"}, cost) for engine in able]
            both = [engine for engine in (blue_red("cpu", "weighted"), SUITOR) if engine in able]
            found += [Task(name, engine, {"part": "work"}, cost / 10) for engine in both]
        if name in scaled:
            found += [Task(name, engine, {"part": "threads"}, cost) for engine in teams]
    for engine in [engine for engine in reversed(ours) if engine in able and "random" in engine][:1]:
        for degree in DEGREES:
            found.append(Task(f"erdos-renyi:n={LARGE[setting.size]},degree={degree}", engine, {"part": "p"}))
        for n, d in COPIES:
            found.append(Task("", engine, {"part": "p", "n": n, "d": d}))
        for d, n in product(FIXED, GROWING[setting.size]):
            found.append(Task("", engine, {"part": "density", "n": n, "d": d}, cost=20 * n / 2048))
    return found


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    if task.params["part"] == "threads":
        found = setting.match(task.graph, task.engine, budget=PATIENCE[setting.size])
        return {name: found[name] for name in ("seconds", "mates")}
    if task.params["part"] == "work":
        found = setting.match(task.graph, task.engine, budget=0.0)
        graph, stats = setting.load(task.graph), found["stats"]
        counts = {"rounds": stats.get("rounds"), "looks": stats.get("scans"), "read": stats["edges_read"]}
        return {"n": graph.n, "m": graph.m, **counts}
    contender = engines.read(task.engine)
    if task.params["part"] == "numberings":
        instance, graph = setting.find(task.graph), setting.load(task.graph)
        path = Path(instance.spec) if instance.family == "file" else None
        return {"weights": kind_of_weights(graph, path), **average(graph, contender, setting)}
    if task.graph:
        graph = setting.load(task.graph, contender.device)
        n, d = graph.n, 2 * graph.m / (graph.n * (graph.n - 1))
    else:
        n, d = task.params["n"], task.params["d"]
        most = PAIRS // (n * (n - 1) // 2)
        graph = one_round.copies(n, d, min(SAMPLES[setting.size] // n, most), setting.seed).to(contender.device)
    return {"n": n, "d": d, **one_round.over_p(graph, contender.device, setting)}


def average(graph: Graph, contender: engines.Contender, setting: Setting) -> dict[str, Any]:
    """Seconds, weight and pairs for each of 32 numberings, and the fractions matched after each round of the first."""
    import troth

    words = {"threads": contender.threads or setting.threads, **contender.options}

    def once(g: Graph, seed: int):
        return troth.match(g, algorithm=contender.algorithm, device=contender.device, seed=seed, **words)

    once(graph.to(contender.device), setting.seed)  # compiles
    seconds, weights, pairs, fractions = [], [], [], []
    count = FEW if promises_dominance(contender.algorithm) else NUMBERINGS[setting.size]
    while len(seconds) < count and sum(seconds) < ENOUGH[setting.size]:
        seed = setting.seed + len(seconds)
        numbered = renumber(graph, seed).to(contender.device)
        numbered.bits_range()
        last = once(numbered, seed)
        phases = last.stats["seconds"]
        seconds.append(next(phases[name] for name in ("visit", "kernels", "match") if name in phases))
        weights.append(last.weight)
        pairs.append(last.cardinality)
        fractions = fractions or last.stats.get("fractions", [])
    report = troth.verify(numbered, last, certify=False)
    if not report:
        raise AssertionError(f"{contender.label}: {report.reason}")
    return {
        "n": graph.n,
        "m": graph.m,
        "seconds": seconds,
        "weight": mean(weights),
        "cardinality": mean(pairs),
        "fractions": fractions,
        "mates": digest(last.mate),
    }


# ---- what it shows ----


def present(records: list[dict[str, Any]], page: Page) -> None:
    parts: dict[str, list[dict[str, Any]]] = {}
    for part in ("numberings", "orders", "threads", "work", "p", "density"):
        parts[part] = [record for record in records if record["params"]["part"] == part]
    averaged = parts["numberings"]
    earlier = not averaged and bool(parts["orders"])
    if earlier:  # what an earlier version measured: seeds on the graph as it is
        averaged = [each for each in parts["orders"] if not each["engine"].startswith("local-random@")]
        page.note(
            "Averages here are over random orders on the graph's own numbering, not over numberings, and local random "
            "matching, which took a random free neighbour then, is left out."
        )
    runs: dict[str, dict[str, dict[str, Any]]] = {}  # by graph and engine; graphs by edges
    for record in sorted(averaged, key=lambda each: each["result"]["m"]):
        row = record["result"] | {"seconds": mean(record["seconds"]), "averaged": len(record["seconds"])}
        runs.setdefault(record["graph"], {})[record["engine"]] = row
    results = sorted((record["result"] for record in parts["p"]), key=lambda each: each["d"])
    _rounds(runs, page)
    blue_red_p.large_graphs([each for each in results if each["n"] >= LARGE["tiny"]], page)
    blue_red_p.small_graphs([each for each in results if each["n"] < LARGE["tiny"]], page)
    blue_red_p.fixed_density([record["result"] for record in parts["density"]], page)
    _threads(parts["threads"], page)
    blue_red_work.present(parts["work"], parts["threads"], page)
    _quality(runs, earlier, page)
    _speed(runs, earlier, page)
    _default(runs, page)
    page.table([_cells(graph, engine, row) for graph in runs for engine, row in runs[graph].items()], "All averages")


def _rounds(runs: dict, page: Page) -> None:
    curves = {}
    for graph, found in runs.items():
        row = found.get(blue_red("cpu", "weighted")) or found.get(blue_red("cuda", "weighted"))
        if row and row["fractions"]:
            curves[graph] = [100 * each for each in row["fractions"]]
    if not curves:
        return
    need = [next(r for r, matched in enumerate(curve, 1) if matched >= 0.95 * curve[-1]) for curve in curves.values()]
    late = {graph for (graph, curve), few in zip(curves.items(), need, strict=True) if 2 * few > len(curve)}
    large = {graph for graph in curves if next(iter(runs[graph].values()))["n"] >= SATURATES_FROM}
    figure, ax = figures.new(height=4.4)
    for (graph, curve), look in zip(curves.items(), figures.styles(curves).values(), strict=True):
        ax.plot(range(len(curve) + 1), [0, *curve], label=graph, **look)
    ax.set_xlim(0, 2 * max(need))
    ax.set_ylim(0, 101)
    ax.set_xlabel("rounds")
    ax.set_ylabel("vertices matched, in per cent")
    figures.whole_numbers(ax)
    figures.legend(ax)
    page.figure(figure, "rounds", f"Vertices matched after each round, in per cent; weighted, p = {one_round.P}.")
    said = "the fraction of matched vertices saturates with the number of iterations (a figure; no number is given)"
    ours = (
        "to saturate is here to have 95 per cent of what is matched in the end after at most half of the rounds: so do "
        f"{len(large - late)} of {len(large)} graphs of {SATURATES_FROM:,} vertices or more"
    )
    if small := len(curves) - len(large):
        ours += f" (and {small - len(late - large)} of {small} smaller ones, which take few rounds in all)"
    why = f"not so {', '.join(sorted(late & large))}"
    page.claim(said, ours, held(not late & large) if large else "not tested", why)


# ---- against serial matching ----


def _threads(records: list[dict[str, Any]], page: Page) -> None:
    lines: dict[str, dict[float, float]] = {}
    for record in records:
        if record["engine"].startswith("blue-red"):
            lines.setdefault(record["graph"], {})[engines.read(record["engine"]).threads] = min(record["seconds"])
    lines = {graph: found for graph, found in lines.items() if 1 in found and len(found) > 1}
    if not lines:
        return
    figure, ax = figures.new()
    figures.scaling(ax, lines)
    figures.legend(ax)
    page.figure(figure, "threads", "Time of weighted blue-red matching against threads; thin dots are ideal.")
    most = max(max(found) for found in lines.values())
    asked = max(count for found in lines.values() for count in found if count <= CORES)
    speedups = [found[1] / found[asked] for found in lines.values() if asked in found]
    best = max(found[1] / spent for found in lines.values() for spent in found.values())
    range_of = f"{min(speedups):.1f} to {max(speedups):.1f}"
    page.claim(
        "scaling of the implementation on CPU threads (TBB), 8 cores and hyperthreading (a figure's title; nothing is "
        "said of it)",
        f"{asked} threads are {range_of} times as fast as one, on {len(speedups)} graphs; the most, with up "
        f"to {most} threads, is {best:.1f}; a title asks for some speedup and no more (to scale well would be "
        f"{IDEAL * asked:g})",
        "not tested" if asked < CORES else held(min(speedups) > 1),
    )


def _missing(base: Baseline, runs: dict, earlier: bool, said: str, page: Page) -> bool:
    """Whether no graph has this baseline, which the page then says."""
    if any(BASELINES[engine] is base for found in runs.values() for engine in found if engine in BASELINES):
        return False
    since = f"not measured here since {base.name} matching takes the first free neighbour, as the talk's does"
    reason = since if earlier and base.mode == "random" else "not in these results"
    page.claim(said, f"{reason}: {COMMAND}", "not tested")
    return True


def _quality(runs: dict, earlier: bool, page: Page) -> None:
    rows: dict[str, dict[str, float]] = {}
    shares: dict[tuple[Baseline, str], list[float]] = {}  # by the kind of weights where these are judged apart
    for engine, base in BASELINES.items():
        for graph, found in runs.items():
            ours = found.get(blue_red("cpu", base.mode)) or found.get(blue_red("cuda", base.mode))
            if ours and engine in found:
                name = f"{'size' if base.what == 'cardinality' else 'weight'}, against {base.name}"
                share = 100 * ours[base.what] / found[engine][base.what]
                rows.setdefault(graph, {})[name] = share
                shares.setdefault((base, ours.get("weights", "random") if base.apart else ""), []).append(share)
    if not rows:
        return
    figure, ax = figures.new(height=0.36 * len(rows) + 2.1)
    figures.dots(ax, rows)
    ax.set_xscale("linear")
    ax.axvline(100, color=figures.INK, linewidth=0.8)
    ax.set_xlabel("per cent of serial matching")
    figures.legend(ax, 1)
    most = max(row["averaged"] for found in runs.values() for row in found.values())
    page.figure(
        figure, "quality", f"What blue-red finds, in per cent of serial matching; averages over {most} numberings."
    )
    for base in BASELINES.values():
        _missing(base, runs, earlier, base.quality, page)
    for (base, kind), found in shares.items():
        if kind != "equal":
            middle, what = mean(found), "pairs" if base.what == "cardinality" else "weight"
            equal = len(shares.get((base, "equal"), ()))
            ours = (
                f"{min(found):.1f} to {max(found):.1f} per cent of its {what}, {middle:.1f} on average of "
                f"{len(found)} graphs"
            )
            ours += f"; those whose weights are all equal, {equal}, are left out" if equal else ""
            ours += f"; {ORDERS}" if earlier else ""
            page.claim(base.quality + (f" ({kind} weights)" if kind else ""), ours, held(base.holds(middle)), base.why)


def _speed(runs: dict, earlier: bool, page: Page) -> None:
    panels: dict[str, dict[str, dict[str, float]]] = {}  # by device, graph and baseline
    for device in ("cpu", "cuda"):
        for graph, found in runs.items():
            for engine, base in BASELINES.items():
                ours = found.get(blue_red(device, base.mode))
                if ours and engine in found:
                    row = panels.setdefault(device, {}).setdefault(graph, {})
                    row[f"over {base.name}"] = found[engine]["seconds"] / ours["seconds"]
    if not panels:
        return
    figure, axes = figures.new(len(panels), height=0.36 * len(runs) + 1.4, share=True)
    for ax, (device, rows) in zip([axes] if len(panels) == 1 else axes, panels.items(), strict=True):
        figures.dots(ax, rows)
        ax.axvline(1, color=figures.INK, linewidth=0.8)
        ax.set_title(f"blue-red on the {engines.PLACE[device]}", loc="left")
    ax.set_xlabel("times as fast as serial matching")
    figures.legend_below(figure)
    page.figure(figure, "speedup", "How many times as fast as serial matching blue-red is; averages.")
    for base in BASELINES.values():
        name, best = f"over {base.name}", {}
        said = f"speedups up to {base.speedup:g} over serial {base.name} matching"
        if _missing(base, runs, earlier, said, page):
            continue
        for device, rows in panels.items():
            if found := [(row[name], graph) for graph, row in rows.items() if name in row]:
                best[device] = max(found)
        if not best:
            continue
        most = max(speedup for speedup, _ in best.values())
        able = "cuda" in panels or page.machine.get("cores", 0) >= CORES
        ours = [f"{engines.PLACE[on]}: up to {speedup:.1f} ({graph})" for on, (speedup, graph) in best.items()]
        page.claim(
            said,
            "; ".join([*ours, *[ORDERS] * earlier, *[f"to judge takes a GPU or {CORES} cores"] * (not able)]),
            reached(most, base.speedup) if able or most > base.speedup else "not tested",
        )


def _default(runs: dict, page: Page) -> None:
    """Beside the talk: what the default of troth does on the same graphs."""
    for default in DEFAULTS:
        device = engines.read(default).device
        name = blue_red(device, "weighted")
        both = [found for found in runs.values() if default in found and name in found]
        if both:
            time = [found[default]["seconds"] / found[name]["seconds"] for found in both]
            weight = [100 * found[name]["weight"] / found[default]["weight"] for found in both]
            page.finding(
                f"{engines.label(default)} takes {min(time):.2f} to {max(time):.2f} of the time of weighted blue-red, "
                f"which finds {min(weight):.1f} to {max(weight):.1f} per cent of its weight."
            )


def _cells(graph: str, engine: str, row: dict[str, Any]) -> dict[str, Any]:
    return {
        "graph": graph,
        "edges": row["m"],
        "engine": engines.label(engine),
        "milliseconds": 1e3 * row["seconds"],
        "weight": row["weight"],
        "pairs": row["cardinality"],
        "rounds": len(row["fractions"]) or None,
        "runs": row["averaged"],
    }
