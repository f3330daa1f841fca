"""``troth show``: a page that plays an algorithm on a small graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from troth.cli import _options as o
from troth.cli._report import waiting
from troth.engines import ALGORITHMS
from troth.errors import TrothError
from troth.ranks.job import launched_rank


def show(
    graph: o.GraphName,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Write the page to this file.")] = Path(
        "steps.html"
    ),
    algorithm: Annotated[
        o.Algorithm,
        typer.Option("--algorithm", "-a", metavar="NAME", help=f"Which one to play: {', '.join(ALGORITHMS)}."),
    ] = o.SUITOR,
    ties: o.TiesOption = o.HASH,
    ranks: Annotated[
        int | None, typer.Option("--ranks", metavar="N", min=1, help="MPI ranks of a PGAS variant. [default: 3]")
    ] = None,
    partition: o.PartitionOption = None,
    seed: o.SeedOption = 0,
    option: o.Assignments = None,
    reading: o.Reading = o.AS_IT_IS,
) -> None:
    """Play an algorithm step by step, in a page for any browser.

    The graph has up to 200 vertices. Every frame is what the engine itself did: its kernels run in the Python
    interpreter and are watched. sync-poll, async-poll, sync-notify and async-notify run on MPI ranks of their own, so
    this command is not started by mpiexec.

    \b
    Examples:
      troth show grid:rows=4,cols=5,seed=2
      troth show graph.csv -a handshake --ties low -o hands.html
      troth show rgg:n=30,degree=4 -a async-notify --ranks 3 --partition block -o ranks.html
    """
    if launched_rank() is not None:
        raise TrothError("troth show starts its ranks itself: leave mpiexec out, and say --ranks")
    o.check_output(output, source=graph)
    options = o.read_assignments(option or ())
    with waiting("reading") as report:
        from troth.families import places_of
        from troth.io.atomic import atomic_path
        from troth.viz import steps

        g = o.read_graph(graph, reading, seed, report)
        report("watching")
        name = Path(graph).name.encode(errors="backslashreplace").decode()  # a file's name may be no text
        html = steps(
            g,
            algorithm=algorithm.value,
            ties=ties.value,
            seed=seed,
            ranks=ranks,
            partition=partition,
            positions=places_of(graph),
            name=name,
            **options,
        )
        with atomic_path(output) as beside:
            beside.write_text(html, encoding="utf-8")
    typer.echo(f"{output} is written; open it in a browser")
