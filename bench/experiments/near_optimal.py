"""How near to the optimum slower algorithms come, beside Suitor: weight, what of it is proven, and time."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from bench import engines, figures
from bench.questions import sized
from bench.setting import Setting, Task, digest

if TYPE_CHECKING:
    from bench.report import Page

NAME = "near-optimal"
TITLE = "How near to the optimum, and at what cost?"
SOURCE = "our own question; GPA is of Maue and Sanders 2007, 2-augmentations are of Pettie and Sanders 2004"
QUESTION = (
    "Suitor is fast and promises one half. How much heavier are the matchings of better algorithms, how much of the "
    "optimum is that, how much of it is proven, and how long do they take?"
)
METHOD = (
    "Suitor; GPA, which grows paths and even cycles from heavy edges and matches each as heavily as possible; both "
    "with 2-augmentations until none gains; and the auction, where this version has it. Suitor and the auction are "
    "engines of troth, on all threads; the others are plain versions of our own, compiled by Numba, on one thread, "
    "timed from the graph to the mates. The optimum was found by LEMON, with a dual solution that proves it, and is "
    "kept with the results, by graph and digest; fractions were scaled to whole numbers of 40 bits for that. The "
    "proven share is what troth certifies of a matching without knowing the optimum. Milliseconds, least of the "
    "repeats."
)
OPTIMUM = "optimum"
SUITOR = "suitor@cpu"
OURS = {"gpa": "GPA", "suitor+2aug": "Suitor + 2-augmentations", "gpa+2aug": "GPA + 2-augmentations"}
AUCTION = "auction"
NEAR = 99.0  # per cent of the optimum: what is asked of the auction
GRAPHS = {
    "grid": "grid:rows=250,cols=250",
    "R-MAT": "rmat:scale=15,edgefactor=16",
    "R-MAT, integers 1..10": "rmat:scale=15,edgefactor=16,weights=integers",
    "Erdos-Renyi": "erdos-renyi:n=65536,degree=16",
    "rgg, nearer is heavier": "rgg:n=65536,degree=13,weights=near",
    "rgg": "rgg:n=65536,degree=13",
    "stencil": "stencil:nx=32,ny=32,nz=32",
    "bipartite": "bipartite:left=32768,right=32768,m=262144",
    "hubs": "hubs:n=65536,hubs=8,degree=10000",
    "trap": "path:n=65536,weights=trap",
    "grid, equal": "grid:rows=250,cols=250,weights=unit",
    "Erdos-Renyi, equal": "erdos-renyi:n=65536,degree=16,weights=unit",
    "rgg, equal": "rgg:n=65536,degree=13,weights=unit",
    "Delaunay, equal": "delaunay:n=65536,weights=unit",
}
LARGEST = {"tiny": 3_000, "small": 200_000, "full": 2_000_000}  # edges, about, of a file


def graphs(setting: Setting) -> dict[str, str]:
    """Graphs by title: those above, and the files; or what ``--graphs`` asks for."""
    if setting.graphs:
        return {each.name: each.name for each in setting.instances}
    files = [each for each in setting.instances if each.family == "file" and each.edges <= LARGEST[setting.size]]
    return {title: sized(spec, setting.size) for title, spec in GRAPHS.items()} | {
        each.name: each.name for each in files
    }


def auctions() -> list[str]:
    """The auction's engines in the table, but for those on ranks."""
    from troth.engines import TABLE

    return [f"{each.algorithm}@{each.device}" for each in TABLE if each.algorithm == AUCTION and not each.on_ranks]


def tasks(setting: Setting) -> list[Task]:
    able = [*setting.able([SUITOR]), *filter(setting.wants, OURS), *setting.able(auctions())]
    names = [OPTIMUM] * setting.wants(OPTIMUM) + able
    return [
        Task(name, engine, {"title": title}, cost=0.1 + setting.find(name).edges / 1e6)
        for title, name in graphs(setting).items()
        for engine in names
    ]


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    if task.engine == OPTIMUM:
        from bench import optima

        return optima.optimum(task.graph, setting.load(task.graph))
    found = _with_troth(task, setting) if "@" in task.engine else _with_ours(task, setting)
    if not 0 < found["ratio"] <= 1:
        raise AssertionError(f"{task.engine}: a ratio of {found['ratio']} was certified")
    return found


def _with_troth(task: Task, setting: Setting) -> dict[str, Any]:
    import troth

    contender = engines.read(task.engine)
    graph = setting.load(task.graph, contender.device)
    words = {"seed": setting.seed, "threads": setting.threads, **contender.options}
    m = troth.match(graph, algorithm=contender.algorithm, device=contender.device, certify=True, **words)
    found = setting.match(graph, task.engine)  # after a first call that compiles what this graph needs
    names = ("seconds", "weight", "cardinality", "mates", "stats")
    return {"n": graph.n, "m": graph.m, "ratio": m.certificate.ratio} | {name: found[name] for name in names}


def _with_ours(task: Task, setting: Setting) -> dict[str, Any]:
    import troth
    from bench.contenders import CONTENDERS

    graph, run = setting.load(task.graph), CONTENDERS[task.engine]
    mate = run(graph)  # the first call compiles
    seconds = setting.repeat(lambda: run(graph))
    report = troth.verify(graph, mate, threads=setting.threads)
    if not report.valid:
        raise AssertionError(f"{task.engine}: {report.reason}")
    pairs = int((mate >= 0).sum()) // 2
    facts = {"n": graph.n, "m": graph.m, "weight": report.weight, "cardinality": pairs, "ratio": report.ratio}
    return {"seconds": seconds, **facts, "mates": digest(mate)}


# ---- what it shows ----


def label(engine: str) -> str:
    """As tables call it."""
    if engine in OURS:
        return OURS[engine]
    algorithm, _, device = engine.partition("@")
    return f"{algorithm.capitalize()}{'' if device == 'cpu' else f' on {engines.PLACE[device]}'}"


def present(records: list[dict[str, Any]], page: Page) -> None:
    found: dict[str, dict[str, dict[str, Any]]] = {}  # title, engine
    for record in records:
        row = record["result"] | {"ms": 1e3 * min(record["seconds"], default=0.0)}
        found.setdefault(record["params"]["title"], {})[record["engine"]] = row
    found = {title: found[title] for title in sorted(found, key=_place)}
    names = [name for name in _order(records) if name != OPTIMUM]
    shares = {title: _shares(rows, names) for title, rows in found.items()}
    if any(shares.values()):
        page.figure(
            figures.per_cent_of_optimum({title: row for title, row in shares.items() if row}, 0.4),
            "optimum",
            "Weight in per cent of the optimum, by graph and algorithm.",
        )
    for name in names:
        _finding(label(name), {title: row[label(name)] for title, row in shares.items() if label(name) in row}, page)
    _proven(names, found, page)
    page.table([_line(title, rows, names, shares[title]) for title, rows in found.items()], "By graph", opened=True)
    cells = [
        _cells(title, name, rows[name], shares[title])
        for title, rows in found.items()
        for name in names
        if name in rows
    ]
    page.table(cells, "Every algorithm on every graph")


def _order(records: list[dict[str, Any]]) -> list[str]:
    """The engines in the order of the tasks."""
    there = {record["engine"] for record in records}
    return [name for name in (OPTIMUM, SUITOR, *OURS) if name in there] + sorted(there - {OPTIMUM, SUITOR, *OURS})


def _place(title: str) -> tuple[int, str]:
    """Our own graphs in their order, then files by name."""
    return (list(GRAPHS).index(title) if title in GRAPHS else len(GRAPHS)), title


def _shares(rows: dict[str, dict[str, Any]], names: list[str]) -> dict[str, float]:
    """Per cent of the optimum, by label; empty where the optimum is not known."""
    if OPTIMUM not in rows:
        return {}
    return {label(name): 100 * rows[name]["weight"] / rows[OPTIMUM]["weight"] for name in names if name in rows}


def _finding(name: str, shares: dict[str, float], page: Page) -> None:
    if shares:
        low, high = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
        near = sum(share >= NEAR for share in shares.values())
        page.finding(
            f"{name} finds {shares[low]:.2f} ({low}) to {shares[high]:.2f} ({high}) per cent of the optimum, "
            f"{median(shares.values()):.2f} in the middle of {len(shares)} graphs; {NEAR:g} or more on {near} of them."
        )


def _proven(names: list[str], found: dict[str, dict[str, dict[str, Any]]], page: Page) -> None:
    ratios = {label(name): [100 * rows[name]["ratio"] for rows in found.values() if name in rows] for name in names}
    said = [f"{name} {min(each):.1f} to {max(each):.1f}" for name, each in ratios.items() if each]
    if said:
        page.finding(f"Per cent of the optimum that is proven without knowing it: {'; '.join(said)}.")


def _line(title: str, rows: dict[str, dict[str, Any]], names: list[str], shares: dict[str, float]) -> dict[str, Any]:
    """A graph: share, proven share and time of every algorithm, in one cell each."""
    from bench.report import show

    first = next(iter(rows.values()))
    line = {"graph": title, "vertices": first["n"], "edges": first["m"]}
    for name in names:
        row = rows.get(name)
        parts = [
            f"{shares[label(name)]:.2f} %" if label(name) in shares else "",
            f"{100 * row['ratio']:.1f} % proven" if row else "",
            f"{show(row['ms'])} ms" if row else "",
        ]
        line[label(name)] = ", ".join(filter(None, parts))
    return line


def _cells(title: str, name: str, row: dict[str, Any], shares: dict[str, float]) -> dict[str, Any]:
    return {
        "graph": title,
        "vertices": row["n"],
        "edges": row["m"],
        "algorithm": label(name),
        "weight": row["weight"],
        "% of the optimum": f"{shares[label(name)]:.3f}" if label(name) in shares else None,
        "% proven": f"{100 * row['ratio']:.2f}",
        "pairs": row["cardinality"],
        "milliseconds": row["ms"],
    }
