"""``troth convert``: read a graph in one format, write it in another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from troth.cli import _options as o
from troth.cli._report import graph_facts, graph_rows, show, waiting


def convert(
    graph: o.GraphName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write; the extension names the format.")],
    seed: o.SeedOption = 0,
    reading: o.Reading = o.AS_IT_IS,
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

    o.refuse_ranks("troth convert runs as one process: leave mpiexec out")
    o.check_output(file, graph=True)
    with waiting("reading") as report:
        g = o.read_graph(graph, reading, seed)
        report("writing")
        write_graph(g, file)
    show({**graph_facts(graph, g), "output": file}, {**graph_rows(graph, g), "file": file}, json)
