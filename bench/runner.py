"""Running experiments: what is stored is not measured again, and stopping anywhere loses at most one task."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from bench import experiments, machine
from bench.setting import Setting, Task
from bench.store import Store, strict
from troth.errors import TrothError
from troth.files import one_line


class Outcome(NamedTuple):
    """What a run did: tasks measured, tasks that were there already, that failed (a fault of the program), that are
    left, that could not be measured, and why not, by graph."""

    measured: int
    stored: int
    failed: int
    left: int
    refused: int
    reasons: dict[str, str]


def run(names: list[str], setting: Setting, store: Store, minutes: float | None = None) -> Outcome:
    """Run the tasks of the named experiments that the store lacks, until they are done or the time is up."""
    facts = machine.facts()
    run_id = time.strftime("%Y%m%dT%H%M%SZ-", time.gmtime()) + secrets.token_hex(3)
    modules = [experiments.load(name) for name in dict.fromkeys(map(experiments.records_of, names))]
    planned = [(module, task) for module in modules for task in module.tasks(setting)]
    setting.refuse_unknown_engines()
    common = {
        "size": setting.size,
        "machine": facts["name"],
        "seed": setting.seed,
        "repeats": setting.repeats,
        "threads": setting.workers,
        "commit": facts["commit"],
        "run": run_id,
    }
    lines = [
        {
            "record": "task",
            "experiment": module.NAME,
            "key": task.key,
            "graph": task.graph,
            "engine": task.engine,
            "params": strict(task.params),
            "origin": setting.find(task.graph).origin if task.graph else "",
            **common,
        }
        for module, task in planned
    ]
    pending = [at for at, line in enumerate(lines) if not store.has(line)]
    pending.sort(key=lambda at: _by_graph(planned[at][1], setting))
    stored = len(lines) - len(pending)
    header = {
        "record": "run",
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "experiments": names,
        **common,
        "machine": facts,
    }
    if pending:
        store.append(header | {"left_out": setting.left_out})
    known = len(setting.left_out)
    deadline = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    done: list[dict[str, Any]] = []
    with _bar(sum(planned[at][1].cost for at in pending), setting) as advance:
        for at in pending:
            if time.monotonic() > deadline:
                break
            module, task = planned[at]
            advance(f"{module.NAME} {task.graph} {task.engine}".strip())
            start = time.monotonic()
            line = lines[at] | _measure(module, task, setting)
            store.append(line | {"spent": time.monotonic() - start})
            done.append(line)
            advance(None, task.cost)
    if len(setting.left_out) > known:
        store.append(header | {"left_out": setting.left_out})
    failed = sum("fault" in line for line in done)
    reasons = [(line["graph"] or line["experiment"], line["error"]) for line in done if "error" in line]
    measured, refused = len(done) - len(reasons), len(reasons) - failed
    return Outcome(measured, stored, failed, len(pending) - len(done), refused, dict(reasons))


def _by_graph(task: Task, setting: Setting) -> tuple[int, str]:
    """The order of the tasks of all experiments together: a graph is made once, and small graphs come first."""
    return (setting.find(task.graph).edges, task.graph) if task.graph else (0, "")


def _measure(module: Any, task: Task, setting: Setting) -> dict[str, Any]:
    """The times and results of a task, or why there are none; a fault in one task must not cost the others.

    What cannot be done here ("error" alone) is an answer; a fault of the program is tried again by the next run.
    """
    try:
        result = dict(module.measure(task, setting))
    except (TrothError, MemoryError) as error:
        return {"error": one_line(error)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {one_line(error)}", "fault": True}
    return {"seconds": result.pop("seconds", []), "result": result}


@contextmanager
def _bar(total: float, setting: Setting) -> Iterator[Any]:
    """A bar on stderr with the time that is left; yields ``advance(words, cost)``. Nothing where no one looks."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.table import Column

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True)),  # cut, if need be
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    with Progress(*columns, console=console, transient=True, expand=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total or None)

        def advance(words: str | None, cost: float = 0.0) -> None:
            bar.update(task, advance=cost, **({} if words is None else {"description": words}))

        setting.progress = advance
        yield advance
