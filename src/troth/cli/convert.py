"""``troth convert``: read a graph in one format, write it in another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from troth.cli import _options as o
from troth.cli._report import graph_facts, graph_rows, print_json, print_rows, waiting


def convert(
    graph: o.GraphName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write; the extension names the format.")],
    seed: o.SeedOption = 0,
    weights: o.WeightsOption = o.WeightRule.keep,
    symmetrize: o.SymmetrizeOption = None,
    base: o.BaseOption = None,
    columns: o.ColumnsOption = None,
    json: o.Json = False,
) -> None:
    """Write a graph in another format.

    It is written as troth sees it: undirected, simple, of positive weights.

    \b
    Examples:
      troth convert graph.mtx.gz graph.csr
      troth convert web.mtx web.graph --weights unit --symmetrize max
    """
    from troth.io import write_graph

    o.check_output(file, graph=True)
    with waiting("reading") as report:
        g = o.read_graph(graph, weights, symmetrize, base, columns, seed)
        report("writing")
        write_graph(g, file)
    if json:
        print_json({**graph_facts(graph, g), "output": file})
    else:
        print_rows({**graph_rows(graph, g), "file": file})
