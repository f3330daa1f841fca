"""Rounds and time when weights tie, by tie rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench import engines, figures
from bench.setting import Setting, Task
from bench.verdicts import held

if TYPE_CHECKING:
    from bench.report import Page

NAME = "ties"
TITLE = "What do equal weights cost?"
SOURCE = "Naim et al. 2015, section 2.1; the course project on handshaking and the PGAS report, their tie rules"
QUESTION = (
    "The papers break ties by vertex number: the larger, or the smaller, wins. On a path or a grid of equal weights "
    "each edge then waits for the one before it. How many rounds and how much time does that cost, and what does a "
    "scrambled order (hash) change?"
)
METHOD = (
    "Graphs whose weights tie (unit grids and paths, whole numbers up to 3) under the three tie rules, and the same "
    "graphs with random weights. Rounds are those of handshaking, the same on every machine: the longest chain of "
    "edges that wait for one another. Time is the least of the runs, and compared with that for random weights."
)
HASTE = 8  # a measurement gets this part of the setting's patience
RULES = ("hash", "low", "high")
RANDOM = "random weights"
# Shape: what the weights are, and the graph by size; {} is where the weights go.
SHAPES = {
    "path, unit": (
        "weights=unit",
        {"tiny": "path:n=300", "small": "path:n=4000", "full": "path:n=50000"},
    ),
    "grid, unit": (
        "weights=unit",
        {"tiny": "grid:rows=20,cols=20", "small": "grid:rows=300,cols=300", "full": "grid:rows=1000,cols=1000"},
    ),
    "R-MAT, 1 to 3": (
        "weights=integers,high=3",
        {"tiny": "rmat:scale=7", "small": "rmat:scale=14", "full": "rmat:scale=18"},
    ),
    "Erdos-Renyi, unit": (
        "weights=unit",
        {
            "tiny": "erdos-renyi:n=300,degree=8",
            "small": "erdos-renyi:n=50000,degree=8",
            "full": "erdos-renyi:n=1000000,degree=8",
        },
    ),
}
CONTENDERS = [
    f"{algorithm}@{device}"
    for device in ("cpu", "cuda")
    for algorithm in ("suitor", "locally-dominant", "handshake", "greedy")
]


def tasks(setting: Setting) -> list[Task]:
    able = setting.able(CONTENDERS)
    found = []
    for shape, (weights, sizes) in SHAPES.items():
        tied, random = f"{sizes[setting.size]},{weights}", sizes[setting.size]
        found += [Task(random, name, {"shape": shape, "ties": "hash", "weights": RANDOM}) for name in able]
        for rule in RULES:
            found += [Task(tied, name, {"shape": shape, "ties": rule, "weights": "equal"}) for name in able]
    return found


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    return setting.match(task.graph, task.engine, budget=setting.patience / HASTE, ties=task.params["ties"])


def present(records: list[dict[str, Any]], page: Page) -> None:
    rounds: dict[str, dict[str, float]] = {}
    seconds: dict[tuple[str, str, str], float] = {}
    mates: dict[tuple[str, str], set[str]] = {}
    for record in records:
        shape, random = record["params"]["shape"], record["params"]["weights"] == RANDOM
        rule = RANDOM if random else record["params"]["ties"]
        seconds[shape, record["engine"], rule] = min(record["seconds"])
        mates.setdefault((shape, rule), set()).add(record["result"]["mates"])
        if record["engine"].startswith("handshake"):
            rounds.setdefault(shape, {})[rule] = record["result"]["stats"]["rounds"]
    rounds = {
        shape: {rule: found[rule] for rule in (RANDOM, *RULES) if rule in found} for shape, found in rounds.items()
    }
    if rounds:
        figure, ax = figures.new()
        figures.bars(ax, rounds, log=True)
        ax.set_xlabel("rounds of handshaking")
        figures.legend(ax)
        page.figure(figure, "rounds", "Rounds of handshaking by tie rule, and with random weights on the same graph.")
        _rounds_finding(rounds, page)
    _times(seconds, page)
    agree = sum(len(found) == 1 for found in mates.values())
    page.claim(
        "ties must be broken consistently to prevent deadlocks, and vertex numbers do so (Naim et al., section 2.1)",
        f"under all three rules every engine stops, and on {agree} of {len(mates)} graphs and rules all of them give "
        "the same matching",
        held(agree == len(mates)),
    )
    page.table(
        [
            {"graph": shape, "engine": engines.label(name), "ties": rule, "milliseconds": 1e3 * spent}
            for (shape, name, rule), spent in seconds.items()
        ],
        "Time by graph, engine and rule",
    )


def _rounds_finding(rounds: dict[str, dict[str, float]], page: Page) -> None:
    for shape, found in rounds.items():
        numbered = max(found.get("low", 0), found.get("high", 0))
        if "hash" in found and numbered > 2 * found["hash"]:
            page.finding(
                f"{shape}: by vertex number handshaking needs {numbered:,} rounds, with scrambled priorities "
                f"{found['hash']:,}" + (f", with random weights {found[RANDOM]:,}." if RANDOM in found else ".")
            )


def _times(seconds: dict[tuple[str, str, str], float], page: Page) -> None:
    """Time over that for random weights, a figure for each device."""
    for device, place in engines.PLACE.items():
        ratios: dict[str, dict[str, float]] = {}
        for (shape, name, rule), spent in seconds.items():
            contender = engines.read(name)
            if contender.device == device and rule != RANDOM and (shape, name, RANDOM) in seconds:
                row = f"{shape}: {engines.SHORT[contender.algorithm]}"
                ratios.setdefault(row, {})[rule] = spent / seconds[shape, name, RANDOM]
        if not ratios:
            continue
        figure, ax = figures.new(height=0.3 * len(ratios) + 1.4)
        figures.dots(ax, ratios)
        ax.axvline(1, color=figures.INK, linewidth=0.8)
        ax.set_xlabel("time over that with random weights")
        figures.legend(ax, 3)
        page.figure(
            figure, f"time-{device}", f"{place}: time with equal weights over that with random weights, by rule."
        )
        worst = {
            rule: max((found[rule], row) for row, found in ratios.items() if rule in found)
            for rule in RULES
            if any(rule in found for found in ratios.values())
        }
        most = ", ".join(f"{ratio:.1f} times under {rule} ({row})" for rule, (ratio, row) in worst.items())
        page.finding(f"{place}: equal weights cost, as against random weights, at most {most}.")
