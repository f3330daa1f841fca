"""What a thousand ranks would do, on paper, from the counts of weak scaling on few.

    python benchmarks/mpi_model.py benchmarks/results/mpi-16-ranks.json [--ranks 1024]

    time(P) = time(Q) + talk(P) - talk(Q),  talk(P) = rounds(P) * 2 * log2(P) * a + messages(P) * a + bytes(P) / b

- Q is the largest number of ranks that was measured. time(Q) has the work on two million edges and their ghosts, and
  how the ranks of one machine slow each other down in its memory.
- a = 2 microseconds a message (and a step of a reduction), b = 1 GB/s a rank: a node of 32 ranks on 200 Gb/s.
- The asynchronous variants have no reduction in their loops, so their rounds cost nothing but messages.
- On a grid cut into strips a rank has two neighbours, whatever P is: messages and bytes in a round are those measured.
- In an Erdos-Renyi graph a rank has P - 1 neighbours, so messages grow as P - 1; and a vertex of degree d is a ghost of
  (P - 1) * (1 - (1 - 1/P)^d) ranks, so bytes grow as that.
- rounds grow by a constant with each doubling of P, as measured between the two largest numbers of ranks.

The model leaves out contention in the network and stragglers.
"""

from __future__ import annotations

import argparse
import json
from math import log2
from pathlib import Path

from _report import show

LATENCY, BANDWIDTH, DEGREE = 2e-6, 1e9, 16


def ghosthood(ranks: int) -> float:
    """Of how many ranks a vertex of an Erdos-Renyi graph is a ghost."""
    return (ranks - 1) * (1 - (1 - 1 / ranks) ** DEGREE)


def talk(engine: str, ranks: int, rounds: float, messages: float, sent: float) -> float:
    """Milliseconds that a rank spends on communication."""
    reductions = 0.0 if engine.startswith("async") else rounds * 2 * log2(ranks)
    return 1e3 * ((reductions + messages) * LATENCY + sent / BANDWIDTH)


def predict(rows: list[dict], ranks: int) -> dict:
    """One engine on one graph: what was measured, and what the model says."""
    by_ranks = {row["ranks"]: row for row in rows}
    one, last = by_ranks[1], by_ranks[max(by_ranks)]
    before, engine = by_ranks[last["ranks"] // 2], last["engine"]
    growth = max(0, last["rounds"] - before["rounds"]) * log2(ranks / last["ranks"])
    rounds = last["rounds"] + (0 if engine.startswith("async") else growth)
    wider = fuller = 1.0
    if last["graph"] != "grid":
        wider, fuller = (ranks - 1) / (last["ranks"] - 1), ghosthood(ranks) / ghosthood(last["ranks"])
    messages, sent = last["messages"] * wider * rounds / max(1, last["rounds"]), last["bytes"] * fuller
    talks = talk(engine, ranks, rounds, messages, sent)
    talked = talk(engine, last["ranks"], last["rounds"], last["messages"], last["bytes"])
    return {
        "graph": last["graph"],
        "engine": engine,
        "1 rank, ms": one["ms"],
        f"{last['ranks']} ranks, ms": last["ms"],
        "rounds": round(rounds),
        "messages": round(messages),
        "MB": sent / 1e6,
        "talk, ms": talks,
        f"{ranks} ranks, ms": last["ms"] + talks - talked,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--ranks", type=int, default=1024)
    options = parser.parse_args()
    rows = [row for row in json.loads(options.results.read_text())["weak"] if row["engine"] != "cpu, one thread"]
    groups = dict.fromkeys((row["graph"], row["engine"]) for row in rows)
    table = [
        predict([row for row in rows if (row["graph"], row["engine"]) == group], options.ranks)
        for group in groups
        if group[1] != "suitor"  # shared memory ends at the machine's edge; across it, Suitor sends messages
    ]
    show(f"{options.ranks} ranks, two million edges each, on paper", table)


if __name__ == "__main__":
    main()
