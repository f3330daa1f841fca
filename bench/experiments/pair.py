"""Our own questions about pairs of rows: how long they take, and how near to the best they are."""

from __future__ import annotations

from time import process_time
from typing import Any

from bench.questions import Question, Record, Row, by_name
from bench.setting import Setting, Task

ROWS = {"tiny": (500,), "small": (20_000,), "full": (100_000, 1_000_000)}
EXACT = {"tiny": 100, "small": 2000, "full": 2000}  # rows that an exact solver is asked about
COLUMNS = (2, 8)
SHAPES = ("normal", "skewed", "whole numbers")
GOALS = {100_000: 10.0, 1_000_000: 120.0}  # seconds on two cores, for eight columns


def people(n: int, columns: int, shape: str, seed: int) -> tuple[Any, Any]:
    """A table of numbers and who is treated: the greater the first column, the likelier."""
    import numpy as np

    random = np.random.default_rng(seed)
    table = random.normal(size=(n, columns))
    treated = random.random(n) < 1 / (1 + np.exp(1 - table[:, 0]))
    shapes = {"normal": lambda x: x, "skewed": lambda x: np.exp(0.7 * x), "whole numbers": lambda x: np.rint(10 * x)}
    return shapes[shape](table), treated


def tasks(setting: Setting) -> list[Task]:
    return [
        Task(params={"rows": n, "columns": 8, "groups": groups}, cost=n / 1e4)
        for n in ROWS[setting.size]
        for groups in (False, True)
    ]


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    """Wall clock and CPU time of whole calls, the first of which, on a small table, compiles."""
    import troth

    def pair(rows: int) -> Any:
        X, treated = people(rows, task.params["columns"], "normal", setting.seed)
        groups = treated if task.params["groups"] else None
        return lambda: troth.pair_rows(X, groups, device="cpu", threads=setting.threads)

    pair(500)()
    call, found, cpu = pair(task.params["rows"]), [], []

    def once() -> None:
        start = process_time()
        found[:] = [call()]
        cpu.append(process_time() - start)

    seconds = setting.repeat(once)
    (pairs,) = found
    stats = {name: pairs.stats[name] for name in ("candidates", "rounds", "tree_rounds", "loosened_rounds")}
    return {
        "seconds": seconds,
        "cpu": min(cpu),
        "phases": pairs.stats["seconds"],
        "pairs": len(pairs),
        "ratio": pairs.certificate.ratio,
        **stats,
    }


def rows(records: list[Record]) -> list[Row]:
    """A row a table."""
    found = []
    for record in records:
        params, result = record["params"], record["result"]
        found.append(
            {
                "rows": params["rows"],
                "groups": "two" if params["groups"] else "none",
                "seconds": min(record["seconds"]),
                "goal": GOALS.get(params["rows"]),
                "CPU seconds": result["cpu"],
                "candidates, s": result["phases"]["candidates"],
                "matching, s": result["phases"]["match"],
                "certificate, s": result["phases"]["certify"],
                "pairs": result["pairs"],
                "proven": result["ratio"],
            }
        )
    return found


def optimum_tasks(setting: Setting) -> list[Task]:
    return [
        Task(params={"columns": columns, "shape": shape, "groups": groups, "caliper": caliper})
        for columns in COLUMNS
        for shape in SHAPES
        for groups in (False, True)
        for caliper in (False, True)
    ]


def optimum_measure(task: Task, setting: Setting) -> dict[str, Any]:
    """The same candidates for an exact solver; the caliper is the middle distance of a candidate."""
    import numpy as np

    import troth
    from bench.optima import solve
    from troth.api.candidates import nearest_pairs, place_rows
    from troth.api.pairing import worth_of

    params, n = task.params, EXACT[setting.size]
    X, treated = people(n, params["columns"], params["shape"], setting.seed)
    groups = treated if params["groups"] else None
    side = np.where(treated, 0, 1) if params["groups"] else None
    _, near = nearest_pairs(place_rows(X, "mahalanobis", side)[0], k=10, side=side)
    caliper = float(np.median(near.distance)) if params["caliper"] else None
    pairs = troth.pair_rows(X, groups, caliper=caliper, device="cpu", threads=setting.threads)
    within = near.distance <= pairs.reward
    near = near._make(part[within] for part in near)
    best = solve(worth_of(near, pairs.reward, n))
    least = best["pairs"] * pairs.reward - best["weight"]
    return {
        "objective": 100 * pairs.objective / best["weight"],
        "proven": 100 * pairs.certificate.ratio,
        "pairs": len(pairs),
        "pairs of the best": best["pairs"],
        "distance": 100 * (pairs.distance.sum() / least - 1) if least > 0 else 0.0,
        "by": best["by"],
    }


def optimum_rows(records: list[Record]) -> list[Row]:
    found = []
    for record in records:
        params, result = record["params"], record["result"]
        row: Row = {"columns": params["columns"], "shape": params["shape"]}
        row |= {"groups": "two" if params["groups"] else "none", "caliper": "yes" if params["caliper"] else "no"}
        row |= {"% of the best objective": result["objective"], "% proven": result["proven"]}
        row |= {"pairs": result["pairs"], "pairs of the best": result["pairs of the best"]}
        found.append(row | {"% longer": result["distance"]})
    return found


QUESTIONS = by_name(
    Question(
        "pair-rows", "Pairs of rows",
        "How long does it take to pair the rows of a table of eight columns?",
        "Normal columns, ten candidates a row, whole calls with certificate and balance left out. The goals, on two "
        "cores: 100,000 rows in 10 seconds, a million in 120.",
        tasks, measure, rows, ("seconds", "CPU seconds", "proven"),
    ),
    Question(
        "pair-optimum", "Pairs of rows and the best pairs",
        "How near to the best pairs of the same candidates does pair_rows come?",
        "Tables of 2,000 rows against an exact solver; the total distance is compared too, though the best objective "
        "may have a pair more or less. The goals: 99.5 % of the objective, and a distance at most 2 % longer.",
        optimum_tasks, optimum_measure, optimum_rows, ("% of the best objective", "% longer", "% proven"),
    ),
)  # fmt: skip
