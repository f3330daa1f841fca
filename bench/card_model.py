"""What several cards would do, on paper, from ranks that share one; nothing here was run on more than one card.

    time(P) = time(1) / P + rounds(P) * r + messages(P) * a + bytes(P) / b

- time(1) is that of one rank, which sends nothing. A P-th of the graph is taken to need a P-th of it: the cards are
  equal, a part is still large enough to fill one, and parts are of equal size.
- r, what a round costs beside its bytes (kernels that find, pack and take records, copies of a few bytes, waiting), is
  (time(Q) - time(1)) / rounds(Q) of the grid in strips, where next to nothing is sent, Q being the most ranks that were
  measured. They shared a card, so r is too large if anything; it is at least 0.
- rounds grow by a constant with each doubling of P, as measured between Q / 2 and Q.
- On a grid in strips a rank has two neighbours, whatever P is: messages and bytes in a round are those measured.
- In an Erdos-Renyi graph a rank has P - 1 neighbours, and a vertex is a ghost of ``ghosthood(P)`` ranks
  (``rank_model.py``): bytes grow as that, over P.
- R-MAT graphs are left out: no such law holds for them.
- Eight cards with NVLink, an MPI that is CUDA-aware: 450 GB/s a card each way, half of the 900 GB/s of the data sheet
  (NVIDIA H200 Tensor Core GPU, 2024), a = 2 microseconds.
- 64 nodes of one card: 50 GB/s, the 400 Gb/s of the data sheet (NVIDIA ConnectX-7, 2023), a = 2 microseconds; 12 bytes
  of a record also go twice over PCIe 5.0 x16, 64 GB/s each way, since records are in pinned host memory.

The model leaves out contention, stragglers, hubs, and a reduction's 2 log2(P) steps of a microsecond or two a round.
"""

from __future__ import annotations

from math import log2
from typing import Any

from bench.rank_model import LATENCY, ghosthood

NVLINK, NETWORK, PCIE = 450e9, 50e9, 64e9  # bytes a second, one way
SYSTEMS = {"8 cards, NVLink": (8, 1 / NVLINK), "64 nodes, 400 Gb/s": (64, 1 / NETWORK + 2 / PCIE)}  # cards, s a byte


def cards_on_paper(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The model's table, of the rows of ``mpi-cards``: graphs that were measured on 1, Q / 2 and Q ranks."""
    groups: dict[str, dict[int, dict[str, Any]]] = {}
    for row in rows:
        if row["ranks"]:
            groups.setdefault(row["graph"], {})[row["ranks"]] = row
    ready = {graph: found for graph, found in groups.items() if max(found) > 2 and {1, max(found) // 2} <= set(found)}
    grid = next((found for graph, found in ready.items() if graph.startswith("grid")), None)
    if grid is None:
        return []
    last = grid[max(grid)]
    each = max(0.0, last["ms"] - grid[1]["ms"]) / last["rounds"]
    able = {graph: found for graph, found in ready.items() if graph.startswith(("grid", "Erdos-Renyi"))}
    return [predict(found, each, *words) for found in able.values() for words in SYSTEMS.items()]


def predict(by_ranks: dict[int, dict[str, Any]], each: float, system: str, words: tuple[int, float]) -> dict[str, Any]:
    """One graph on one system; ``each`` are the milliseconds of a round beside its bytes."""
    most, (cards, a_byte) = max(by_ranks), words
    one, before, last = by_ranks[1], by_ranks[most // 2], by_ranks[most]
    rounds = last["rounds"] + max(0, last["rounds"] - before["rounds"]) * log2(cards / most)
    wider = fuller = 1.0
    if not last["graph"].startswith("grid"):
        wider, fuller = (cards - 1) / (most - 1), ghosthood(cards) / ghosthood(most) * most / cards
    messages, sent = last["messages"] * wider * rounds / last["rounds"], last["bytes"] * fuller
    parts = {
        "work, ms": one["ms"] / cards,
        "rounds, ms": rounds * each,
        "talk, ms": 1e3 * (messages * LATENCY + sent * a_byte),
    }
    return {
        "graph": last["graph"],
        "system": system,
        "1 rank, ms": one["ms"],
        "rounds": round(rounds),
        "MB": sent / 1e6,
        **parts,
        "on paper, ms": sum(parts.values()),
    }
