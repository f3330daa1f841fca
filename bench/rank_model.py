"""What a thousand ranks would do, on paper, from the counts of weak scaling on few.

    time(P) = time(Q) + talk(P) - talk(Q),  talk(P) = rounds(P) * 2 * log2(P) * a + messages(P) * a + bytes(P) / b

- Q is the largest number of ranks that was measured. time(Q) has the work on two million edges and their ghosts, and
  how the ranks of one machine slow each other down in its memory.
- a = 2 microseconds a message (and a step of a reduction), b = 1 GB/s a rank: a node of 32 ranks on 200 Gb/s.
- The asynchronous variants have no reduction in their loops, so their rounds cost nothing but messages.
- On a grid cut into strips a rank has two neighbours, whatever P is: messages and bytes in a round are those measured.
- In an Erdos-Renyi graph a rank has P - 1 neighbours, so messages grow as P - 1; and a vertex of degree d is a ghost of
  (P - 1) * (1 - (1 - 1/P)^d) ranks, so bytes grow as that.
- rounds grow by a constant with each doubling of P, as measured between the two largest numbers of ranks.

The model leaves out contention in the network and stragglers. ``card_model.py`` has the same for ranks with a GPU.
"""

from __future__ import annotations

from math import log2
from typing import Any

LATENCY, BANDWIDTH, DEGREE, RANKS = 2e-6, 1e9, 16, 1024
NOT_ACROSS = ("Suitor (the default)", "one thread, no MPI")  # shared memory ends at the machine's edge


def on_paper(rows: list[dict[str, Any]], ranks: int = RANKS) -> list[dict[str, Any]]:
    """The model's table, of the rows of weak scaling: an engine that was measured on 1, Q / 2 and Q ranks."""
    groups: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for row in rows:
        if row["engine"] not in NOT_ACROSS:
            groups.setdefault((row["graph"], row["engine"]), {})[row["ranks"]] = row
    return [predict(found, ranks) for found in groups.values() if {1, max(found) // 2} <= set(found)]


def ghosthood(ranks: int) -> float:
    """Of how many ranks a vertex of an Erdos-Renyi graph is a ghost.

    >>> round(ghosthood(2), 3), round(ghosthood(1024), 2)
    (1.0, 15.87)
    """
    return (ranks - 1) * (1 - (1 - 1 / ranks) ** DEGREE)


def talk(engine: str, ranks: int, rounds: float, messages: float, sent: float) -> float:
    """Milliseconds that a rank spends on communication."""
    reductions = 0.0 if engine.startswith("async") else rounds * 2 * log2(ranks)
    return 1e3 * ((reductions + messages) * LATENCY + sent / BANDWIDTH)


def predict(by_ranks: dict[int, dict[str, Any]], ranks: int) -> dict[str, Any]:
    """One engine on one graph: what was measured, and what the model says."""
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
