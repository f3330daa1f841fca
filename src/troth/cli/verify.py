"""``troth verify``: check a mates file against its graph."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from troth.cli import _options as o
from troth.cli._report import Clock, at_least, graph_facts, graph_rows, in_seconds, print_json, print_rows, waiting


def verify(
    graph: o.GraphName,
    mates: Annotated[Path, typer.Argument(metavar="MATES", help="n lines, line v holds the mate of v, or -1.")],
    algorithm: Annotated[
        o.Algorithm | None,
        typer.Option(
            "--algorithm",
            "-a",
            metavar="NAME",
            help="What made the mates; where it promises dominance, that is checked too.",
        ),
    ] = None,
    certify: Annotated[bool, typer.Option(help="Prove how much of the optimum the matching has.")] = True,
    threads: o.ThreadsOption = None,
    seed: o.SeedOption = 0,
    weights: o.WeightsOption = o.WeightRule.keep,
    symmetrize: o.SymmetrizeOption = None,
    base: o.BaseOption = None,
    columns: o.ColumnsOption = None,
    json: o.Json = False,
) -> None:
    """Check that a mates file is a maximal matching of a graph.

    Valid: mates agree with each other and with the edges. Maximal: no edge joins two unmatched vertices. Dominant: no
    edge is heavier than the matched edges at both of its ends. Exits with 1 where a check fails, and says which vertex
    or edge.

    \b
    Examples:
      troth verify graph.mtx.gz mates.txt
      troth verify graph.mtx.gz mates.txt --algorithm suitor --no-certify
    """
    import troth
    from troth.engines import promises_dominance
    from troth.io import read_mates

    clock = Clock()
    with waiting("reading") as report:
        mate = read_mates(mates)
        g = o.read_graph(graph, weights, symmetrize, base, columns, seed)
        clock.lap("read")
        report("checking")
        promised = algorithm is not None and promises_dominance(algorithm)
        found = troth.verify(g, mate, certify=certify, threads=threads, promises_dominance=promised)
        clock.lap("verify")
    if json:
        print_json({**graph_facts(graph, g), "mates": mates, "ok": found.ok, **asdict(found), "seconds": clock.seconds})
    else:
        print_rows(
            {
                **graph_rows(graph, g),
                "mates": mates,
                "valid": _yes(found.valid),
                "maximal": _yes(found.maximal) if found.valid else None,
                "dominant": _yes(found.dominant) + ("" if promised else " (not asked for)") if found.valid else None,
                "weight": f"{found.weight:,}" if found.weight is not None else None,
                "ratio": f"at least {at_least(found.ratio)} of the optimum, which is at most {found.bound:,}"
                if found.ratio is not None
                else None,
                "reason": found.reason or None,
                "seconds": in_seconds(clock.seconds),
                "result": "fine" if found.ok else "a check failed",
            }
        )
    if not found.ok:
        raise typer.Exit(1)


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"
