"""``troth verify``: check a mates file against its graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from troth.cli import _options as o
from troth.cli._report import Clock, graph_facts, graph_rows, show_report, waiting
from troth.errors import TrothError


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
    device: Annotated[
        str, typer.Option("--device", metavar="NAME", help="Where to check: cpu, or, under mpiexec, mpi.")
    ] = "cpu",
    threads: o.ThreadsOption = None,
    partition: o.PartitionOption = None,
    seed: o.SeedOption = 0,
    maximize: o.MaximizeOption = None,
    reward: o.RewardOption = None,
    reading: o.Reading = o.AS_IT_IS,
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
      troth verify distances.csv mates.txt --minimize --reward 3.5
      mpiexec -n 4 troth verify graph.csr mates.txt --device mpi
    """
    import troth
    from troth.engines import promises_dominance
    from troth.io import read_mates

    promised, worth = algorithm is not None and promises_dominance(algorithm), o.read_reward(reward)
    if device == "mpi":
        o.refuse_reading(reading)
        o.refuse_costs(maximize, reward)
        if threads is not None:
            raise TrothError("--threads is for --device cpu: a rank checks its part by one thread")
        from troth.cli._mpi import verify_on_ranks

        ok = verify_on_ranks(graph, mates, certify, promised, partition or "block", json)
    elif device not in ("cpu", "auto"):
        raise TrothError(f"--device {device}: mates files are checked on cpu or mpi")
    elif partition is not None:
        raise TrothError("--partition is for --device mpi: leave it out")
    else:
        clock = Clock()
        with waiting("reading") as report:
            mate = read_mates(mates)
            g = o.read_graph(graph, reading, seed, maximize, worth)
            clock.lap("read")
            report("checking")
            found = troth.verify(g, mate, certify=certify, threads=threads, promises_dominance=promised)
            clock.lap("verify")
        show_report(graph_facts(graph, g), graph_rows(graph, g), mates, found, clock, json)
        ok = found.ok
    if not ok:
        raise typer.Exit(1)
