"""``troth generate``: write a graph of a seeded family."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from troth.cli import _options as o
from troth.cli._report import graph_facts, graph_rows, show, waiting


class FamilyHelp(TyperCommand):
    """A command whose help ends with the table of families, which is loaded only when it is shown."""

    def format_help(self, ctx, formatter) -> None:
        from troth.families import ALIASES, COMMON, FAMILIES, RULES

        super().format_help(ctx, formatter)
        with formatter.section("Families"):
            formatter.write_dl([(_signature(name, family.params), family.help) for name, family in FAMILIES.items()])
            formatter.write_text(", ".join(f"{short} is short for {name}" for short, name in ALIASES.items()))
        with formatter.section("All families also take"):
            formatter.write_dl(list(COMMON.items()))
        with formatter.section("Rules for weights="):
            formatter.write_dl([(name, rule.help) for name, rule in RULES.items()])


def _signature(name: str, params: Iterable[Any]) -> str:
    words = (p.name if p.default is None else f"{p.name}={p.default}" for p in params)
    return f"{name} {' '.join(words)}"


def generate(
    family: Annotated[str, typer.Argument(metavar="FAMILY", help="Its name, or name:parameter=value,...")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write; the extension names the format.")
    ],
    parameters: Annotated[
        list[str] | None, typer.Argument(metavar="PARAMETER=VALUE", help="Or its parameters here.")
    ] = None,
    json: o.Json = False,
) -> None:
    """Write a graph of a seeded family.

    The same words give the same graph on every machine. Wherever a GRAPH is named, family:parameter=value,... also
    stands for it, without a file.

    \b
    Examples:
      troth generate rmat:scale=10 -o g.mtx
      troth generate grid rows=1000 cols=1000 weights=unit -o grid.csr
      troth generate er n=1e5 degree=16 weights=integers high=100 seed=7 -o er.graph.gz
    """
    from troth.families import from_spec
    from troth.families.blocks import row_blocks
    from troth.graph import Graph
    from troth.io import csr, format_of, write_graph

    o.refuse_ranks("troth generate runs as one process: leave mpiexec out")
    o.check_output(output, graph=True)
    name, _, given = family.partition(":")
    spec = f"{name}:{','.join(filter(None, [given, *(parameters or ())]))}"
    with waiting("generating") as report:
        blocks = row_blocks(spec) if format_of(output) is csr else None
        if blocks is not None:
            report("generating and writing")
            write_graph(blocks, output)
            g = Graph.trusted(*csr.open_csr(output)[:3])
        else:
            g = from_spec(spec)
            report("writing")
            write_graph(g, output)
    show({**graph_facts(spec, g), "output": output}, {**graph_rows(spec, g), "file": output}, json)
