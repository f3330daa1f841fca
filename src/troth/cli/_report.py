"""What commands print: aligned rows for people, one JSON object for programs, a progress bar on stderr."""

from __future__ import annotations

import json
import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from troth.kernels.compiling import Stopwatch, is_compiling
from troth.words import as_json, at_least

if TYPE_CHECKING:
    from troth.api.checking import Report
    from troth.graph import Graph
    from troth.ranks.graph import DistGraph

PATIENCE = 1.0  # seconds before the bar appears
PHASES = ("read", "compile", "copy", "match", "kernels", "certify", "write")
COMPILING = "compiling for this machine, first run only"
NOTES = {
    "header": "the first row names the columns",
    "no header": "the first row is an edge, not a header",
    "padded": "{:,} numbers with zeros in front make all ids text",
    "loops": "{:,} loops dropped",
    "repeats": "{:,} repeated entries merged",
    "symmetrized": "directions combined",
    "nonpositive": "{:,} edges of weight <= 0 dropped",
    "costly": "{:,} edges that cost the reward or more dropped",
}


def print_rows(rows: dict[str, Any]) -> None:
    """One row for each name, aligned; rows of None are left out."""
    shown = {name: value for name, value in rows.items() if value is not None}
    width = max(map(len, shown))
    for name, value in shown.items():
        typer.echo(f"{typer.style(name.ljust(width), dim=True)}  {value}")


def print_json(value: Any) -> None:
    """One line of strict JSON."""
    typer.echo(json.dumps(as_json(value), allow_nan=False))


def show(facts: dict[str, Any], rows: dict[str, Any], json: bool) -> None:
    """Print the facts for programs, or the rows for people."""
    if json:
        print_json(facts)
    else:
        print_rows(rows)


def graph_facts(name: str, graph: Graph | DistGraph) -> dict[str, Any]:
    """What every command says of its graph, for JSON."""
    return {"graph": name, "n": graph.n, "m": graph.m, "weights": graph.weights.dtype.name, "notes": graph.notes}


def graph_rows(name: str, graph: Graph | DistGraph) -> dict[str, Any]:
    """The same for people."""
    notes = [NOTES.get(note, note + ": {:,}").format(count) for note, count in graph.notes.items()]
    named = graph.ids is not None
    return {
        "graph": name,
        "vertices": f"{graph.n:,}" + (", numbered in the order of their ids" if named else ""),
        "edges": f"{graph.m:,}, weights {graph.weights.dtype.name}",
        "on reading": ", ".join(notes) or None,
    }


def matching_rows(graph_rows: dict[str, Any], facts: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The facts of a matching for people; ``more`` rows stand below the algorithm."""
    covered = 200 * facts["pairs"] / facts["n"] if facts["n"] else 0.0
    counts = [f"{name.replace('_', ' ')} {n:,}" for name, n in facts["stats"].items() if isinstance(n, (int, float))]
    proof = facts["certificate"]
    from troth.io.pairs import is_pairs_file

    written = "file" if facts["output"] is not None and is_pairs_file(facts["output"]) else "mates"
    return {
        **graph_rows,
        "algorithm": "{algorithm} on {device}, ties {ties}, seed {seed}".format(**facts),
        **more,
        "counts": ", ".join(counts) or None,
        "pairs": f"{facts['pairs']:,}, {covered:.1f}% of the vertices",
        **cost_rows(facts),
        "weight": f"{facts['weight']:,}",
        "ratio": proof and ratio_row(proof["ratio"], proof["bound"]),
        "seconds": in_seconds({phase: facts["seconds"][phase] for phase in PHASES if phase in facts["seconds"]}),
        written: facts["output"],
    }


def cost_rows(facts: dict[str, Any]) -> dict[str, Any]:
    """What a matching costs, and how near to the least that is proven to be; nothing where weights are maximised."""
    if "cost" not in facts:
        return {}
    gap, reward = facts["gap"], facts["reward"]
    near = None if gap is None or gap == math.inf else f"at most {math.ceil(gap * 10**4) / 10**4} of the cost"
    return {"cost": f"{facts['cost']:,}, the reward of a pair being {reward:,}", "gap": near}


def ratio_row(ratio: float, bound: int | float) -> str:
    """What was proven, rounded such that it is true."""
    return f"at least {at_least(ratio)} of the optimum, which is at most {bound:,}"


def in_seconds(seconds: dict[str, float]) -> str:
    """Times by phase.

    >>> in_seconds({"read": 0.1234, "match": 2})
    'read 0.123, match 2.000'
    """
    return ", ".join(f"{phase} {spent:.3f}" for phase, spent in seconds.items())


@contextmanager
def waiting(phase: str) -> Iterator[Callable[..., None]]:
    """Show on a terminal, after a second, what is going on.

    Yields ``report(phase, done=0, total=0)``, which is also the ``progress`` of ``troth.match``; total 0 means unknown.
    The bar is drawn by a thread of its own and is gone at the end.
    """
    state, finished = [(phase, 0, 0)], threading.Event()

    def report(phase: str, done: int = 0, total: int = 0) -> None:
        state[0] = (phase, done, total)

    def show() -> None:
        if finished.wait(PATIENCE):
            return
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            SpinnerColumn,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
        )

        share = TaskProgressColumn(text_format_no_percentage="")  # where the total is known
        columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), share, TimeElapsedColumn()
        with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
            task = bar.add_task(phase, total=None)
            while True:
                name, done, total = (COMPILING, 0, 0) if is_compiling() else state[0]
                bar.tasks[0].total = total or None  # update would leave a total that is no longer known
                bar.update(task, description=name, completed=done, refresh=True)
                if finished.wait(0.1):
                    return

    if not sys.stderr.isatty():
        yield report
        return
    watcher = threading.Thread(target=show, name="troth-progress", daemon=True)
    watcher.start()
    try:
        yield report
    finally:
        finished.set()
        watcher.join()


class Clock:
    """Seconds by phase: ``lap`` names what has just ended. Compilation is a phase of its own."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._watch = Stopwatch()

    def lap(self, phase: str) -> None:
        self.seconds[phase] = self._watch.lap()
        if self._watch.compiled:
            self.seconds["compile"] = self._watch.compiled


def show_report(
    facts: dict[str, Any], rows: dict[str, Any], mates: Path, found: Report, clock: Clock, json: bool
) -> None:
    """Print what was found about the mates of a graph: its facts for JSON, its rows for people."""
    asked = "" if found.promises_dominance else " (not asked for)"
    told = {
        "mates": mates,
        "valid": _yes(found.valid),
        "maximal": _yes(found.maximal) if found.valid else None,
        "dominant": _yes(found.dominant) + asked if found.valid else None,
        "weight": f"{found.weight:,}" if found.weight is not None else None,
        "ratio": ratio_row(found.ratio, found.bound) if found.ratio is not None and found.bound is not None else None,
        "reason": found.reason or None,
        "seconds": in_seconds(clock.seconds),
        "result": "fine" if found.ok else "a check failed",
    }
    facts = {**facts, "mates": mates, "ok": found.ok, **asdict(found), "seconds": clock.seconds}
    show(facts, {**rows, **told}, json)


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"
