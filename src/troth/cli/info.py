"""``troth info``: what a graph is like."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from troth.cli import _options as o
from troth.cli._report import graph_facts, graph_rows, show, waiting

if TYPE_CHECKING:
    from troth.graph import Graph


def info(
    graph: o.GraphName,
    seed: o.SeedOption = 0,
    reading: o.Reading = o.AS_IT_IS,
    json: o.Json = False,
) -> None:
    """Describe a graph: size, degrees, weights.

    Also its memory, and what was dropped or merged on reading.

    \b
    Examples:
      troth info graph.mtx.gz --weights abs
      troth info edges.csv --columns from,to,score --json
    """
    with waiting("reading"):
        said = replace(reading, maximize=reading.maximize is not False)  # nothing is matched: costs are shown as such
        g = o.read_graph(graph, said, seed)
    facts = {**graph_facts(graph, g), **_facts(g)}
    least, mean, greatest = facts["degree"].values()
    span = facts["weight_range"]
    rows = {
        **graph_rows(graph, g),
        "degree": f"{least:,} to {greatest:,}, {mean:.2f} on average; {facts['isolated']:,} isolated",
        "weight": f"{span[0]} to {span[1]}" if span else None,
        "vertex weights": facts["vertex_weights"],
        "memory": f"{facts['bytes']:,} bytes",
    }
    show(facts, rows, json)


def _facts(g: Graph) -> dict[str, Any]:
    import numpy as np

    degree = np.diff(g.indptr)
    arrays = (g.indptr, g.indices, g.weights, g.vertex_weights, g.ids)
    return {
        "degree": {
            "min": int(degree.min()) if g.n else 0,
            "mean": 2 * g.m / g.n if g.n else 0.0,
            "max": int(degree.max()) if g.n else 0,
        },
        "isolated": int(np.count_nonzero(degree == 0)),
        "weight_range": [g.weights.min(), g.weights.max()] if g.m else None,
        "vertex_weights": None if g.vertex_weights is None else g.vertex_weights.dtype.name,
        "ids": g.ids is not None,
        "bytes": sum(array.nbytes for array in arrays if array is not None),
    }
