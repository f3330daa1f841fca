"""How much of the optimum every algorithm finds, and how much of it is proven."""

from __future__ import annotations

from statistics import mean, median
from typing import TYPE_CHECKING, Any

from bench import engines, figures, peers
from bench.setting import Setting, Task, digest
from bench.verdicts import QUARTER, WEIGHT, held

if TYPE_CHECKING:
    from bench.report import Page

NAME = "quality"
TITLE = "How heavy are the matchings?"
SOURCE = "Naim et al. 2015 and 2016, Thorsen and Merkey 2010: the guarantee of one half"
QUESTION = (
    "The algorithms promise half of the optimum. How much do they find, by algorithm and by family of graphs, and how "
    "much of that can be proven without knowing the optimum?"
)
METHOD = (
    "Small graphs of every family are solved exactly: bipartite ones (and grids, which are) by SciPy, the others by "
    "rustworkx or NetworkX; both the greatest weight and the largest number of pairs are found. Every algorithm is "
    "compared with them; those that draw lots are averaged over eight seeds. The certified ratio is what troth proves "
    "about its own matching, by a feasible dual: the optimum cannot be further away. It is also computed for large "
    "graphs of the catalogue, where no exact library would finish. Suitor, Locally-Dominant, handshaking and greedy "
    "give one and the same matching, which is checked."
)
SAME = ("suitor@cpu", "locally-dominant@cpu", "handshake@cpu", "greedy@cpu")
SAME_ON_GPU = ("suitor@cuda", "locally-dominant@cuda", "handshake@cuda", "greedy@cuda")
RANDOM = {
    "blue-red@cpu:mode=weighted": "blue-red, weighted",
    "blue-red@cpu:mode=random": "blue-red, random",
    "local-weighted@cpu": "local weighted",
    "local-random@cpu": "local random",
}
DOMINANT = "Suitor, LD, handshake, greedy"
OPTIMUM = "optimum"
SEEDS = 8
# Small enough for an exact library; {} is a number that grows with the size asked for.
FAMILIES = {
    "structural": "stencil:nx={a},ny={a},nz={a},unknowns=3,seed=1",
    "fem": "stencil:nx={b},ny={b},nz=3,unknowns=2,weights=exponential,seed=2",
    "mesh": "grid:rows={c},cols={c},seed=3",
    "delaunay": "delaunay:n={n},seed=4",
    "rgg": "rgg:n={n},degree=10,seed=5",
    "road": "delaunay:n={n},keep=0.45,weights=integers,high=10000,seed=6",
    "power": "rgg:n={n},degree=7,keep=0.4,seed=7",
    "circuit": "hubs:n={n},hubs=3,degree={k},seed=8",
    "web": "rmat:scale={s},edgefactor=8,weights=integers,high=100,seed=9",
    "social": "rmat:scale={t},edgefactor=24,weights=exponential,seed=10",
    "rmat": "rmat:scale={s},edgefactor=16,seed=11",
    "erdos-renyi": "erdos-renyi:n={n},degree=12,seed=12",
    "bipartite": "bipartite:left={m},right={m},m={e},weights=integers,high=1000,seed=13",
    "stencil": "stencil:nx={d},ny={d},nz={d},seed=14",
}
NUMBERS = {
    "tiny": {"a": 3, "b": 4, "c": 10, "d": 5, "n": 100, "k": 20, "s": 6, "t": 5, "m": 100, "e": 500},
    "small": {"a": 4, "b": 8, "c": 50, "d": 8, "n": 600, "k": 100, "s": 9, "t": 8, "m": 1000, "e": 5000},
    "full": {"a": 8, "b": 18, "c": 160, "d": 13, "n": 3000, "k": 400, "s": 12, "t": 11, "m": 8000, "e": 40000},
}
LARGE = {"tiny": 3_000, "small": 450_000, "full": 4_500_000}  # edges of the largest graphs of the catalogue here


def tasks(setting: Setting) -> list[Task]:
    same, lots = setting.able([*SAME, *SAME_ON_GPU]), setting.able(RANDOM)
    if peers.missing("rustworkx") and peers.missing("networkx"):
        setting.leave_out("optima of graphs that are not bipartite", "neither rustworkx nor NetworkX is installed")
    found = []
    for family, spec in _small(setting).items():
        words = {"family": family, "kind": "small"}
        found += [Task(spec, OPTIMUM, words)] * setting.wants(OPTIMUM)
        found += [Task(spec, name, words, 0.1) for name in (*same, *lots)]
    for family, name in _large(setting).items():
        words = {"family": family, "kind": "large"}
        cost = setting.find(name).edges / 1e6
        found += [Task(name, engine, words, cost) for engine in (*same[:1], *lots)]
    return found


def _small(setting: Setting) -> dict[str, str]:
    """A spec for every family, of those that are asked for."""
    families = {each.family for each in setting.instances} if setting.graphs else FAMILIES
    return {family: spec.format(**NUMBERS[setting.size]) for family, spec in FAMILIES.items() if family in families}


def _large(setting: Setting) -> dict[str, str]:
    """The largest graph of every family that is not too large; every file of the user."""
    found: dict[str, Any] = {}
    for each in setting.instances:
        family = each.name if each.family == "file" else each.family
        if each.edges <= LARGE[setting.size] and (family not in found or each.edges > found[family].edges):
            found[family] = each
    return {family: each.name for family, each in found.items()}


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    import troth

    if task.engine == OPTIMUM:
        graph = setting.load(task.graph)
        by, mate = peers.optimum(graph)
        report = troth.verify(graph, mate, certify=False)
        if not report.valid:
            raise AssertionError(f"{by}: {report.reason}")
        return {"n": graph.n, "m": graph.m, "by": by, "weight": report.weight, "cardinality": peers.most_pairs(graph)}
    contender = engines.read(task.engine)
    graph = setting.load(task.graph, contender.device)
    several = task.engine in RANDOM and task.params["kind"] == "small"
    words = {"threads": setting.threads, **contender.options}
    runs = []
    for seed in range(setting.seed, setting.seed + (SEEDS if several else 1)):
        m = troth.match(graph, algorithm=contender.algorithm, device=contender.device, seed=seed, certify=True, **words)
        if m.weight > m.certificate.bound:
            raise AssertionError(f"{task.engine}: weight {m.weight} is above its bound {m.certificate.bound}")
        runs.append(m)
    return {
        "n": graph.n,
        "m": graph.m,
        "weight": mean(m.weight for m in runs),
        "cardinality": mean(m.cardinality for m in runs),
        "ratio": mean(m.certificate.ratio for m in runs),
        "mates": digest(runs[-1].mate),
    }


# ---- what it shows ----


def label(engine: str) -> str:
    """As figures call it; the deterministic engines are one."""
    return RANDOM.get(engine, DOMINANT)


def present(records: list[dict[str, Any]], page: Page) -> None:
    parts: dict[str, dict[str, dict[str, dict[str, Any]]]] = {"small": {}, "large": {}}  # kind, family, engine
    for record in records:
        part = parts[record["params"]["kind"]]
        part.setdefault(record["params"]["family"], {})[record["engine"]] = record["result"] | {
            "graph": record["graph"]
        }
    shares = _shares(parts["small"], "weight")
    if shares:
        _optimum_figure(shares, page)
    _certified_figure(parts, page)
    if shares:
        _claims(shares, _shares(parts["small"], "cardinality"), page)
    _same_finding(parts["small"], page)
    _certified_finding(parts, page)
    rows = [_cells(kind, family, found) for kind, part in parts.items() for family, found in part.items()]
    page.table([row for found in rows for row in found], "Every algorithm on every graph")


def _shares(small: dict, what: str) -> dict[str, dict[str, float]]:
    """Per cent of the optimum, by family and algorithm."""
    found: dict[str, dict[str, float]] = {}
    for family, rows in small.items():
        for engine in [] if OPTIMUM not in rows else [name for name in rows if name != OPTIMUM]:
            found.setdefault(family, {})[label(engine)] = 100 * rows[engine][what] / rows[OPTIMUM][what]
    order = [DOMINANT, *RANDOM.values()]
    return {family: {name: row[name] for name in order if name in row} for family, row in found.items()}


def _optimum_figure(shares: dict, page: Page) -> None:
    figure = figures.per_cent_of_optimum(shares, 0.4)
    page.figure(figure, "optimum", "Weight in per cent of the optimum, by family and algorithm.")


def _dominant(rows: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    return next((rows[name] for name in (*SAME, *SAME_ON_GPU) if name in rows), None)


def _certified_figure(parts: dict, page: Page) -> None:
    shown: dict[str, dict[str, float]] = {}
    for family in dict.fromkeys([*parts["small"], *parts["large"]]):
        rows, large = parts["small"].get(family, {}), _dominant(parts["large"].get(family, {}))
        small, row = _dominant(rows), shown.setdefault(family, {})
        if small and OPTIMUM in rows:
            row["found, small graph"] = 100 * small["weight"] / rows[OPTIMUM]["weight"]
        if small:
            row["proven, small graph"] = 100 * small["ratio"]
        if large:
            row["proven, large graph"] = 100 * large["ratio"]
    if any(shown.values()):
        figure = figures.per_cent_of_optimum(shown, 0.36)
        page.figure(figure, "certified", f"{DOMINANT}: what is found of the optimum, and what of it is proven.")


def _claims(shares: dict, pairs: dict, page: Page) -> None:
    ours = {family: row[DOMINANT] for family, row in shares.items() if DOMINANT in row}
    if ours:
        least = min(ours, key=ours.get)
        fewest = min(row[DOMINANT] for row in pairs.values() if DOMINANT in row)
        page.claim(
            "the solution is at least half of an optimal one in terms of the cardinality and of the weight",
            f"at least {ours[least]:.1f} per cent of the weight ({least}) and {fewest:.1f} per cent of the pairs, on "
            f"{len(ours)} families",
            held(min(ours[least], fewest) >= 50),
        )
        page.claim(
            "greedy guarantees one half, but in practice is often much better",
            f"{median(ours.values()):.1f} per cent of the optimum in the middle of {len(ours)} families, from "
            f"{ours[least]:.1f} to {max(ours.values()):.1f}",
            held(median(ours.values()) > 50 * (1 + QUARTER)),
        )
    name = RANDOM["blue-red@cpu:mode=weighted"]
    ratios = [100 * row[name] / row[DOMINANT] for row in shares.values() if name in row and DOMINANT in row]
    if ratios:
        page.claim(
            "the weight of blue-red matching was significantly lower than that of Suitor and LD (Naim et al. 2015)",
            f"weighted blue-red finds {min(ratios):.1f} to {max(ratios):.1f} per cent of their weight, "
            f"{mean(ratios):.1f} on average",
            held(mean(ratios) < 100 - WEIGHT),
        )


def _same_finding(small: dict, page: Page) -> None:
    mates = [{rows[name]["mates"] for name in (*SAME, *SAME_ON_GPU) if name in rows} for rows in small.values()]
    engines_run = {name for rows in small.values() for name in (*SAME, *SAME_ON_GPU) if name in rows}
    if len(engines_run) > 1:
        agree = sum(len(found) == 1 for found in mates)
        if {"suitor@cpu", "greedy@cpu"} <= engines_run:
            labels = ", ".join(sorted(engines.label(name) for name in engines_run))
            page.claim(
                "if every vertex is the suitor of its heaviest neighbour that has no better offer, Suitor defines the "
                "same solution as Greedy (slide 4)",
                f"one and the same matching on {agree} of {len(mates)} graphs, by {labels}",
                held(agree == len(mates)),
            )
        page.finding(f"{len(engines_run)} engines give one and the same matching on {agree} of {len(mates)} graphs.")


def _certified_finding(parts: dict, page: Page) -> None:
    for kind, part in parts.items():
        ratios = {family: 100 * found["ratio"] for family, rows in part.items() if (found := _dominant(rows))}
        if ratios:
            low, high = min(ratios, key=ratios.get), max(ratios, key=ratios.get)
            page.finding(
                f"On {kind} graphs troth proves {ratios[low]:.1f} ({low}) to {ratios[high]:.1f} ({high}) per cent of "
                f"the optimum, {median(ratios.values()):.1f} in the middle of {len(ratios)} families."
            )


def _cells(kind: str, family: str, rows: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    best = rows.get(OPTIMUM)
    return [
        {
            "graph": row["graph"] if kind == "large" else family,
            "vertices": row["n"],
            "edges": row["m"],
            "algorithm": engines.label(engine) if engine != OPTIMUM else peers.PEERS[row["by"]].label,
            "weight": row["weight"],
            "% of the optimum": f"{100 * row['weight'] / best['weight']:.2f}" if best else None,
            "% proven": f"{100 * row['ratio']:.2f}" if "ratio" in row else None,
            "% of most pairs": f"{100 * row['cardinality'] / best['cardinality']:.2f}" if best else None,
        }
        for engine, row in rows.items()
    ]
