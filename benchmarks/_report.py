"""What the benchmark programs share: the command line, the tables, and results as JSON with machine and commit."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from troth.bench.machine import facts

HERE = Path(__file__).parent


def show(title: str, rows: list[dict]) -> None:
    """Print one table."""
    table = Table(title=title, title_justify="left")
    for column in rows[0]:
        table.add_column(column, justify="left" if isinstance(rows[0][column], str) else "right")
    for row in rows:
        table.add_row(*(f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values()))
    Console(width=200).print(table)


def ask(title: str, questions: dict[str, Callable], stem: str, **defaults: int) -> None:
    """Ask the questions that the command line names, print the answers and keep them in results/STEM.json.

    ``defaults`` are options with whole numbers, which every question gets in this order.
    """
    parser = argparse.ArgumentParser(description=title.splitlines()[0])
    parser.add_argument("questions", nargs="*", choices=[*questions, []], help="by default all")
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--output", type=Path, default=HERE / "results" / f"{stem}.json")
    options = parser.parse_args()
    numbers = {name: getattr(options, name) for name in defaults}
    results = {"machine": facts(), **numbers}
    for name in options.questions or questions:
        results[name] = questions[name](*numbers.values())
        show(f"{name}: {questions[name].__doc__.splitlines()[0]}", results[name])
    options.output.parent.mkdir(parents=True, exist_ok=True)
    partial = options.output.with_suffix(".part")
    partial.write_text(json.dumps(results, indent=1) + "\n")
    partial.replace(options.output)
