"""``troth verify``: check a mates file, or a pairs file, against its graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from troth.cli import _options as o
from troth.cli._report import Clock, graph_facts, graph_rows, show_report, waiting
from troth.engines import RANK_DEVICES
from troth.errors import TrothError


def verify(
    graph: o.GraphName,
    mates: Annotated[Path, typer.Argument(metavar="MATES", help="What match -o wrote: mates, or pairs in a table.")],
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
        str,
        typer.Option("--device", metavar="NAME", help="Where to check: cpu, or, under mpiexec, mpi (or mpi+cuda)."),
    ] = "cpu",
    threads: o.ThreadsOption = None,
    partition: o.PartitionOption = None,
    seed: o.SeedOption = 0,
    reward: o.RewardOption = None,
    reading: o.Reading = o.AS_IT_IS,
    json: o.Json = False,
) -> None:
    """Check that mates, or pairs, are a maximal matching of a graph.

    Valid: mates agree with each other and with the edges. Maximal: no edge joins two unmatched vertices. Dominant: no
    edge is heavier than the matched edges at both of its ends. Exits with 1 where a check fails, and says which vertex
    or edge.

    \b
    Examples:
      troth verify graph.mtx.gz mates.txt
      troth verify likes.csv pairs.csv
      troth verify graph.mtx.gz mates.txt --algorithm suitor --no-certify
      troth verify distances.csv mates.txt --minimize --reward 3.5
      mpiexec -n 4 troth verify graph.csr mates.txt --device mpi
    """
    import troth
    from troth.engines import promises_dominance
    from troth.io import is_pairs_file, read_mates, read_pairs

    if str(mates) == "-":
        raise TrothError("-: mates and pairs come from a file, standard input is for the graph; ./- is a file")
    promised, worth = algorithm is not None and promises_dominance(algorithm), o.read_reward(reward)
    if device in RANK_DEVICES:
        o.refuse_costs(reading.maximize, reward)
        if threads is not None:
            raise TrothError("--threads is for --device cpu: a rank checks its part by one thread")
        from troth.cli._mpi import GraphOnRanks, verify_on_ranks

        source = GraphOnRanks(graph, reading, seed, partition or "block")
        ok = verify_on_ranks(source, mates, certify, promised, json)
    elif device not in ("cpu", "auto"):
        raise TrothError(f"--device {device}: mates files are checked on cpu or mpi")
    elif partition is not None:
        raise TrothError("--partition is for --device mpi: leave it out")
    else:
        o.refuse_ranks("say --device mpi, so that they share the work, or leave mpiexec out")
        clock = Clock()
        with waiting("reading") as report:
            told = None if is_pairs_file(mates) else read_mates(mates)
            g = o.read_graph(graph, reading, seed, report, worth)
            if told is None:
                told = read_pairs(mates, text=g.ids is not None and g.ids.dtype.kind not in "iu")
            clock.lap("read")
            report("checking")
            found = troth.verify(g, told, certify=certify, threads=threads, promises_dominance=promised)
            clock.lap("verify")
        show_report(graph_facts(graph, g), graph_rows(graph, g), mates, found, clock, json)
        ok = found.ok
    if not ok:
        raise typer.Exit(1)
