"""troth against NetworKit, NetworkX, rustworkx and SciPy: time from the user's data to mates, and weight."""

from __future__ import annotations

from statistics import geometric_mean
from time import perf_counter
from typing import TYPE_CHECKING, Any

from bench import engines, figures, peers
from bench.setting import Setting, Task

if TYPE_CHECKING:
    from bench.report import Page

NAME = "peers"
TITLE = "What do other libraries take, and what do they find?"
SOURCE = "our own question: that of whoever has a library already"
QUESTION = (
    "The user has a sparse matrix and wants mates. How long does each library take for that, how heavy is what it "
    "finds, and how much of the heaviest possible is that?"
)
METHOD = (
    "All start from the same symmetric SciPy matrix in main memory and end with an array of mates in main memory; what "
    "lies between (checks, conversion to the library's own graph by its fastest constructor, copies to a GPU and back, "
    "matching) is timed together, and matching alone beside it. NetworKit and troth have all threads. The least of the "
    "runs counts. Every matching is verified by troth, outside the timer. The optimum is the weight that the exact "
    "libraries find; they are asked only where they are expected to need some seconds, since their time grows with "
    "vertices times edges."
)
TROTH = {"suitor@cpu": "troth on the CPU", "suitor@cuda": "troth on the GPU"}
# Small enough for the exact libraries: title and spec, by size.
EXACT = {
    "tiny": {
        "delaunay-200": "delaunay:n=60,seed=1",
        "bipartite-300": "bipartite:left=60,right=50,m=300,weights=integers,high=100,seed=2",
    },
    "small": {
        "delaunay-900": "delaunay:n=300,seed=1",
        "erdos-renyi-2k": "erdos-renyi:n=500,degree=8,seed=3",
        "bipartite-15k": "bipartite:left=3000,right=3000,m=15000,weights=integers,high=1000,seed=2",
    },
    "full": {
        "delaunay-2k": "delaunay:n=600,seed=1",
        "erdos-renyi-2k": "erdos-renyi:n=500,degree=8,seed=3",
        "delaunay-12k": "delaunay:n=4000,seed=4",
        "rmat-30k": "rmat:scale=12,edgefactor=8,weights=integers,high=1000,seed=5",
        "bipartite-15k": "bipartite:left=3000,right=3000,m=15000,weights=integers,high=1000,seed=2",
        "bipartite-50k": "bipartite:left=10000,right=10000,m=50000,seed=6",
        "mesh-20k": "grid:rows=100,cols=100,seed=7",
    },
}
LARGE = {
    "tiny": ("rmat-tiny",),
    "small": ("mesh-100k", "delaunay-100k", "social-200k", "rmat-130k", "erdos-renyi-130k", "bipartite-100k"),
    "full": (
        "delaunay-1m",
        "road-1m",
        "rgg-1m",
        "rmat-1m",
        "social-1m",
        "erdos-renyi-1m",
        "bipartite-1m",
        "structural-4m",
        "mesh-8m",
        "erdos-renyi-8m",
    ),
}
PATIENCE = {"tiny": 0.1, "small": 2.0, "full": 1.5}  # seconds after which a library is not run again
LONGEST = {"tiny": 0.2, "small": 5.0, "full": 12.0}  # seconds that an exact library may be expected to take
BIPARTITE = ("bipartite", "grid", "path")
NEAR = 1e-9  # of the weight: what rounding may change


def tasks(setting: Setting) -> list[Task]:
    graphs = {each.name: each.name for each in setting.instances}
    if not (setting.graphs or setting.folders):
        graphs = EXACT[setting.size] | {name: name for name in LARGE[setting.size] if name in graphs}
    able = [*setting.able(TROTH), *_peers(setting)]
    found, slow = [], {}
    for title, name in graphs.items():
        instance = setting.find(name)
        sides = instance.spec.startswith(BIPARTITE) or instance.family == "file"
        for engine in able:
            expected = 0.0
            if engine in peers.PEERS:
                expected = peers.seconds(engine, *instance.nominal)
                if peers.PEERS[engine].bipartite and not sides:
                    continue
            if expected > LONGEST[setting.size]:
                slow[engine] = slow.get(engine, 0) + 1
                continue
            found.append(Task(name, engine, {"title": title}, cost=0.2 + expected + instance.edges / 1e6))
    for engine, count in slow.items():
        reason = f"would take more than {LONGEST[setting.size]:g} s each"
        setting.leave_out(f"{peers.PEERS[engine].label} on {count} graph{'s' * (count != 1)}", reason)
    return found


def _peers(setting: Setting) -> list[str]:
    found = []
    for name in peers.PEERS:
        if not setting.wants(name):
            continue
        reason = peers.missing(name)
        if reason:
            setting.leave_out(name, reason)
        else:
            found.append(name)
    return found


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    import troth

    graph = setting.load(task.graph)
    run = _with_peer if task.engine in peers.PEERS else _with_troth
    tiny = troth.generate("path", n=64, weights="unit", dtype=graph.weights.dtype)
    run(tiny.to_scipy(), task.engine, setting)  # the first call imports and compiles
    matrix, mate, alone = graph.to_scipy(), None, []

    def once() -> None:
        nonlocal mate
        mate, spent = run(matrix, task.engine, setting)
        alone.append(spent)

    seconds = setting.repeat(once, budget=PATIENCE[setting.size])
    report = troth.verify(graph, mate, certify=False)
    if not report.valid:
        raise AssertionError(f"{task.engine}: {report.reason}")
    pairs = int((mate >= 0).sum()) // 2
    facts = {"n": graph.n, "m": graph.m, "weight": report.weight, "cardinality": pairs}
    return {"seconds": seconds, "alone": alone, **facts}


def _with_troth(matrix: Any, engine: str, setting: Setting) -> tuple[Any, float]:
    """Mates, and the seconds of matching alone."""
    import troth

    contender = engines.read(engine)
    words = {"seed": setting.seed, "threads": setting.threads}
    m = troth.match(matrix, algorithm=contender.algorithm, device=contender.device, **words)
    return m.mate, m.stats["seconds"]["kernels" if contender.device == "cuda" else "match"]


def _with_peer(matrix: Any, engine: str, setting: Setting) -> tuple[Any, float]:
    peer = peers.PEERS[engine]
    graph = peer.build(matrix, setting.workers)
    start = perf_counter()
    mate = peer.match(graph)
    return mate, perf_counter() - start


# ---- what it shows ----


def label(engine: str) -> str:
    """As figures call it."""
    return TROTH.get(engine) or peers.PEERS[engine].label


def present(records: list[dict[str, Any]], page: Page) -> None:
    graphs = _by_graph(records)
    exact = {title: found for title, found in graphs.items() if any(map(_is_exact, found))}
    _time_figures(graphs, exact, page)
    _weight_figure(exact, page)
    _speed(graphs, page)
    _weight(graphs, exact, page)
    page.table([_cells(title, engine, graphs[title]) for title in graphs for engine in graphs[title]], "All runs")


def _is_exact(engine: str) -> bool:
    return engine in peers.PEERS and peers.PEERS[engine].exact


def _by_graph(records: list[dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """``[title][engine]``: what was found, with the least seconds, whole and alone; graphs by edges."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    names = [*TROTH, *peers.PEERS]
    for record in sorted(records, key=lambda each: (each["result"]["m"], names.index(each["engine"]))):
        row = record["result"] | {"whole": min(record["seconds"]), "alone": min(record["result"]["alone"])}
        found.setdefault(record["params"]["title"], {})[record["engine"]] = row
    return found


def _time_figures(graphs: dict, exact: dict, page: Page) -> None:
    for name, chosen, shown, what in (
        ("time", graphs, lambda engine: not _is_exact(engine), "of libraries that approximate"),
        ("exact", exact, lambda engine: engine in TROTH or _is_exact(engine), "of exact libraries, and of troth"),
    ):
        rows = {
            title: {label(engine): found[engine]["whole"] for engine in found if shown(engine)}
            for title, found in chosen.items()
        }
        if not rows:
            continue
        figure, ax = figures.new(height=0.42 * len(rows) + 1.9)
        figures.dots(ax, rows)
        ax.set_xlabel("seconds, from a SciPy matrix to mates")
        figures.legend(ax)
        page.figure(figure, name, f"Time {what}, from a SciPy matrix to mates; graphs by their number of edges.")


def _optimum(found: dict[str, dict[str, Any]]) -> float:
    return max(row["weight"] for engine, row in found.items() if _is_exact(engine))


def _weight_figure(exact: dict, page: Page) -> None:
    rows = {
        title: {
            "troth" if engine in TROTH else label(engine): 100 * row["weight"] / _optimum(found)
            for engine, row in found.items()
            if not _is_exact(engine)
        }
        for title, found in exact.items()
    }
    if not any(rows.values()):
        return
    figure = figures.per_cent_of_optimum(rows, 0.42)
    page.figure(figure, "weight", "Weight in per cent of the optimum, where an exact library found it.")


def _ratios(graphs: dict, ours: str, theirs: str, what: str) -> dict[str, float]:
    """How many times as fast ours is, by graph."""
    both = {title: found for title, found in graphs.items() if ours in found and theirs in found}
    return {title: found[theirs][what] / found[ours][what] for title, found in both.items()}


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"


def _speed(graphs: dict, page: Page) -> None:
    rows = []
    for ours, name in TROTH.items():
        for theirs in peers.PEERS:
            whole = _ratios(graphs, ours, theirs, "whole")
            if not whole:
                continue
            low, high = min(whole, key=whole.get), max(whole, key=whole.get)
            middle = geometric_mean(whole.values())
            alone = geometric_mean(_ratios(graphs, ours, theirs, "alone").values())
            rows.append(
                {
                    "troth": name,
                    "against": label(theirs),
                    "graphs": len(whole),
                    "times as fast": middle,
                    "least": whole[low],
                    "on": low,
                    "most": whole[high],
                    "on ": high,
                    "matching alone": alone,
                }
            )
            if theirs in ("networkit-suitor", "rustworkx", "scipy"):
                page.finding(
                    f"{name} is {_times(whole[low])} to {_times(whole[high])} times as fast as {label(theirs)}, from "
                    f"matrix to mates, {_times(middle)} in the geometric mean of {len(whole)} graphs."
                )
    page.table(rows, "How many times as fast troth is, from matrix to mates (geometric means)")


def _weight(graphs: dict, exact: dict, page: Page) -> None:
    ours = {title: found[name]["weight"] for title, found in graphs.items() for name in TROTH if name in found}
    shares = {title: 100 * ours[title] / _optimum(found) for title, found in exact.items() if title in ours}
    if shares:
        low, high = min(shares, key=shares.get), max(shares, key=shares.get)
        page.finding(
            f"troth finds {shares[low]:.1f} ({low}) to {shares[high]:.1f} ({high}) per cent of the optimum on the "
            f"{len(shares)} graphs where that is known."
        )
    for theirs in ("networkit-suitor", "networkit-growing"):
        ratios = [
            100 * found[theirs]["weight"] / ours[t] for t, found in graphs.items() if theirs in found and t in ours
        ]
        if ratios:
            page.finding(
                f"{label(theirs)} finds {min(ratios):.1f} to {max(ratios):.1f} per cent of troth's weight on "
                f"{len(ratios)} graphs."
            )
    solved = [[row["weight"] for e, row in found.items() if _is_exact(e)] for found in exact.values()]
    several = [weights for weights in solved if len(weights) > 1]
    if several:
        agree = sum(max(weights) - min(weights) < NEAR * max(weights) for weights in several)
        page.finding(f"Several exact libraries solved {len(several)} graphs; on {agree} of them they agree.")


def _cells(title: str, engine: str, found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    row = found[engine]
    best = _optimum(found) if any(map(_is_exact, found)) else None
    return {
        "graph": title,
        "vertices": row["n"],
        "edges": row["m"],
        "library": label(engine),
        "milliseconds": 1e3 * row["whole"],
        "matching alone": 1e3 * row["alone"],
        "weight": row["weight"],
        "pairs": row["cardinality"],
        "% of the optimum": f"{100 * row['weight'] / best:.2f}" if best else None,
    }
