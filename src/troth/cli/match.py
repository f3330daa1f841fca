"""``troth match``: a heavy matching, its summary, its mates file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from troth.cli import _options as o
from troth.cli._report import Clock, graph_facts, graph_rows, matching_rows, show, waiting
from troth.engines import TABLE, Engine, is_for_ranks
from troth.errors import TrothError


class AlgorithmHelp(TyperCommand):
    """A command whose help ends with the table of algorithms and their options."""

    engines: tuple[Engine, ...] = TABLE

    def format_help(self, ctx, formatter) -> None:
        super().format_help(ctx, formatter)
        with formatter.section("Algorithms"):
            formatter.write_dl(_algorithms(self.engines))
        with formatter.section("Options of algorithms"):
            formatter.write_dl(_algorithm_options(self.engines))


def _algorithms(engines: tuple[Engine, ...]) -> list[tuple[str, str]]:
    """A line for each algorithm, as it runs on the CPU, and below it one for each other device."""
    lines = []
    for name in dict.fromkeys(engine.algorithm for engine in engines):
        first, *others = (engine for engine in engines if engine.algorithm == name)
        lines += [(name, first.help), *((f"  on {engine.device}", engine.help) for engine in others)]
    return lines


def _algorithm_options(engines: tuple[Engine, ...]) -> list[tuple[str, str]]:
    """A line for each option, and who has it: an algorithm on all of its devices, or on one of them."""
    devices: dict[tuple[str, str], dict[str, list[str]]] = {}
    for engine in engines:
        for name, option in engine.options.items():
            line = (f"-O {name}={str(option.default).lower()}", option.help)
            devices.setdefault(line, {}).setdefault(engine.algorithm, []).append(engine.device)

    def told(algorithm: str, able: list[str]) -> str:
        everywhere = able == [engine.device for engine in engines if engine.algorithm == algorithm]
        return algorithm if everywhere else f"{algorithm} on {', '.join(able)}"

    return [(left, f"{text} ({', '.join(told(*item) for item in of.items())})") for (left, text), of in devices.items()]


def match(
    graph: o.GraphName,
    algorithm: o.AlgorithmOption = o.SUITOR,
    device: o.DeviceOption = "auto",
    ties: o.TiesOption = o.HASH,
    threads: o.ThreadsOption = None,
    gpu_threads: o.GpuThreadsOption = None,
    partition: o.PartitionOption = None,
    seed: o.SeedOption = 0,
    certify: Annotated[
        bool, typer.Option("--certify", help="Prove how much of the optimum this matching has.")
    ] = False,
    reward: o.RewardOption = None,
    gap: o.GapOption = None,
    option: o.Assignments = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the mates, line v holds v's mate or -1; where FILE ends in .csv, .tsv or .parquet, the pairs "
            "as source,target,weight, by the ids of the input.",
        ),
    ] = None,
    reading: o.Reading = o.AS_IT_IS,
    json: o.Json = False,
) -> None:
    """Pick edges, no two sharing a vertex, of large total weight.

    suitor, locally-dominant, handshake and greedy give one and the same matching, at least half of the optimum, for any
    number of threads and on every device; auction gives one that is near the optimum. Prints a summary; the mates
    or the pairs go to a file.

    \b
    Examples:
      troth match graph.mtx.gz
      troth match laplacian.mtx --weights abs --certify -o mates.txt
      troth match likes.csv -o pairs.csv
      zcat edges.csv.gz | troth match - -o pairs.csv
      troth match graph.mtx.gz -a auction -O eps=0.01 -O rounds=none --certify
      troth match rmat:scale=20,seed=1 -a blue-red -O mode=random -O p=0.5 --seed 7
      troth match distances.csv --minimize --reward 3.5 -a auction --gap 0.01
      troth match input1.mtx -a handshake --ties low --device cuda --gpu-threads 1024 -o match1.txt
      mpiexec -n 4 troth match graph.csr --device mpi --partition block -o mates.txt
      mpiexec -n 4 troth match laplacian.mtx --device mpi --weights abs
      mpiexec -n 4 troth match graph.csr --device mpi+cuda
    """
    from troth.api.calls import match_graph, refuse_purpose
    from troth.api.result import pair_columns, value_name
    from troth.io import check_pairs, is_pairs_file, write_mates, write_pairs

    options, worth = o.read_assignments(option or ()), o.read_reward(reward)
    if gap is not None:
        if "gap" in options:
            raise TrothError("--gap and -O gap say the same; leave one")
        options["gap"] = gap
    common: dict[str, Any] = {"ties": ties.value, "seed": seed, "threads": threads, "gpu_threads": gpu_threads}
    ask = partial(o.request_of, algorithm.value, device, options, **common)
    if is_for_ranks(algorithm.value, device):
        o.refuse_costs(reading.maximize, reward, options.get("gap"))
        from troth.cli._mpi import GraphOnRanks, match_on_ranks

        match_on_ranks(GraphOnRanks(graph, reading, seed, partition or "block"), ask, certify, output, json)
        return
    o.refuse_ranks("say --device mpi, so that they share the work, or leave mpiexec out")
    request = ask()
    refuse_purpose(request, reading.maximize, worth)
    if partition is not None:
        raise TrothError("--partition is for --device mpi: leave it out")
    if output is not None:
        o.check_output(output, source=graph)
    clock = Clock()
    with waiting("reading") as report:
        g = o.read_graph(graph, reading, seed, report, worth)
        clock.lap("read")
        pairs = output is not None and is_pairs_file(output)
        if output is not None and pairs:
            check_pairs(output, g.ids)
        report("matching")
        m = match_graph(request, g, certify=certify, progress=report)
        clock.lap("match")
        if output is not None:
            report("writing")
            if pairs:
                write_pairs([pair_columns(m)], output, value_name(g))
            else:
                write_mates(m.mate, output)
            clock.lap("write")
    facts = {**graph_facts(graph, g), **m.to_dict()}
    stats = facts.pop("stats")
    ours = {"gate", "compile"}  # the gate was in read
    engine = {phase: spent for phase, spent in stats.pop("seconds").items() if phase not in ours}
    facts |= {"stats": stats, "seconds": {**clock.seconds, **engine}, "output": output}
    show(facts, matching_rows(graph_rows(graph, g), facts, note=stats.get("note")), json)
