"""Our own questions about the auction: what it and a certificate cost, against Suitor on the same graph."""

from __future__ import annotations

from typing import Any

from bench.engines import read
from bench.experiments.cpu import GRAPHS as CPU_GRAPHS
from bench.experiments.gpu import GRAPHS as GPU_GRAPHS
from bench.experiments.gpu import LARGE, ROOM
from bench.questions import Question, Record, Row, alternate, by_name, milliseconds, over, sized, sizes, timed
from bench.questions import titles as titles_of
from bench.setting import Setting, Task

SCALED = "rmat:scale=22,edgefactor=16"
GOALS = dict(zip((GPU_GRAPHS | LARGE).values(), (2.5, 8.0, None, 6.0, 1.5, None, 120.0), strict=True))  # ms on an H200
title = titles_of(CPU_GRAPHS | GPU_GRAPHS | LARGE)


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    """Suitor, the auction and the certificate in turn; on a GPU the matchings by the clock of the kernels."""
    import troth

    contender = read(task.engine)
    graph, threads = setting.load(task.graph, contender.device), contender.threads or setting.threads
    graph.bits_range()
    clock = "kernels" if contender.device == "cuda" else "match"
    found: dict[str, Any] = {}

    def match(algorithm: str) -> float:
        words = {"algorithm": algorithm, "device": contender.device, "threads": threads, "seed": setting.seed}
        found[algorithm] = troth.match(graph, **words)
        return found[algorithm].stats["seconds"][clock]

    def certify() -> float:
        return timed(lambda: found.update(proof=troth.certificate(graph, found["auction"], threads=threads)))

    calls = {name: lambda name=name: match(name) for name in ("suitor", "auction")} | {"certificate": certify}
    times = alternate(setting, calls)
    m = found["auction"]
    report = troth.verify(graph, m, certify=False)
    if not report:
        raise AssertionError(report.reason)
    phases = m.stats.pop("seconds")
    gain = m.weight / found["suitor"].weight
    return sizes(graph) | {"times": times, "ratio": found["proof"].ratio, "gain": gain, "phases": phases, **m.stats}


def rows(records: list[Record]) -> list[Row]:
    """A row a graph and number of threads."""
    found = []
    for record in records:
        ms, result = milliseconds(record), record["result"]
        row = {"graph": title(record), "m": result["m"], "threads": read(record["engine"]).threads} | ms
        row |= {"auction / suitor": ms["auction"] / ms["suitor"]}
        row |= {"certificate / suitor": ms["certificate"] / ms["suitor"], "goal": GOALS.get(record["graph"])}
        found.append(row | {"rounds": result["rounds"], "gain": result["gain"], "proven": result["ratio"]})
    told = [name for name in (found[0] if found else ()) if any(row[name] is not None for row in found)]
    return [{name: row[name] for name in told} for row in found]


def gpu_tasks(setting: Setting) -> list[Task]:
    large = setting.size == "full" and setting.gpu and setting.gpu["memory"] >= ROOM
    return over([*GPU_GRAPHS.values(), *(LARGE.values() if large else ())], "auction@cuda")(setting)


def thread_tasks(setting: Setting) -> list[Task]:
    able = setting.able(f"auction@cpu:threads={count}" for count in setting.thread_counts)
    return [Task(sized(SCALED, setting.size), engine) for engine in able]


TOLD = ("auction / suitor", "certificate / suitor", "proven")
TURNS = "In turn, the least of several runs, in milliseconds. "
QUESTIONS = by_name(
    Question(
        "auction-cpu", "The auction and the certificate on CPU threads",
        "What do 99 % of the optimum, and the proof, cost on the CPU?",
        TURNS + "The goals: 6 times Suitor (grids and rgg 8), and 4 times for the certificate.",
        over(CPU_GRAPHS.values(), "auction@cpu"), measure, rows, TOLD,
    ),
    Question(
        "auction-threads", "The auction on more threads",
        "How does the auction scale?",
        TURNS + "The goal: 8 times as fast on 16 threads as on one.",
        thread_tasks, measure, rows, TOLD,
    ),
    Question(
        "auction-gpu", "The auction and the certificate on a GPU",
        "What do 99 % of the optimum, and the proof, cost on a card?",
        TURNS + "Matchings by the clock of the kernels, the certificate by the wall clock. Goals are for an H200.",
        gpu_tasks, measure, rows, TOLD,
    ),
)  # fmt: skip
