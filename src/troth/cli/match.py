"""``troth match``: a heavy matching, its summary, its mates file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from troth.cli import _options as o
from troth.cli._report import Clock, graph_facts, graph_rows, in_seconds, print_json, print_rows, waiting
from troth.engines import TABLE, Engine, find_engines
from troth.errors import TrothError
from troth.words import at_least

if TYPE_CHECKING:
    from troth.api.result import Matching


PHASES = ("read", "copy", "match", "kernels", "certify", "write")


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
    option: Annotated[
        list[str] | None, typer.Option("-O", metavar="NAME=VALUE", help="An option of the algorithm; may be repeated.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the mates: line v holds v's mate or -1."),
    ] = None,
    weights: o.WeightsOption = o.WeightRule.keep,
    symmetrize: o.SymmetrizeOption = None,
    base: o.BaseOption = None,
    columns: o.ColumnsOption = None,
    json: o.Json = False,
) -> None:
    """Pick edges, no two sharing a vertex, of large total weight.

    suitor, locally-dominant, handshake and greedy give one and the same matching, at least half of the optimum, for any
    number of threads and on every device. Prints a summary; the mates go to a file.

    \b
    Examples:
      troth match graph.mtx.gz
      troth match laplacian.mtx --weights abs --certify -o mates.txt
      troth match rmat:scale=20,seed=1 -a blue-red -O mode=random -O p=0.5 --seed 7
      troth match input1.mtx -a handshake --ties low --device cuda --gpu-threads 1024 -o match1.txt
      mpiexec -n 4 troth match graph.csr --device mpi --partition block -o mates.txt
    """
    from troth.api.calls import match_graph
    from troth.io import write_mates

    options = o.read_assignments(option or ())
    common: dict[str, Any] = {"ties": ties.value, "seed": seed, "threads": threads, "gpu_threads": gpu_threads}
    if find_engines(algorithm.value, device, options)[0].device == "mpi":
        o.refuse_reading(weights, symmetrize, base, columns)
        from troth.cli._mpi import match_on_ranks

        match_on_ranks(graph, (algorithm.value, device, options), common, certify, partition or "block", output, json)
        return
    request = o.request_of(algorithm.value, device, options, **common)
    if partition is not None:
        raise TrothError("--partition is for --device mpi: leave it out")
    if output is not None:
        o.check_output(output, source=graph)
    clock = Clock()
    with waiting("reading") as report:
        g = o.read_graph(graph, weights, symmetrize, base, columns, seed)
        clock.lap("read")
        report("matching")
        m = match_graph(request, g, certify=certify, progress=report)
        if output is not None:
            report("writing")
            clock.lap("match")
            write_mates(m.mate, output)
            clock.lap("write")
    facts = _facts(graph, m, clock, output)
    if json:
        print_json(facts)
    else:
        print_rows(_rows(graph, m, facts))


def _facts(name: str, m: Matching, clock: Clock, output: Path | None) -> dict[str, Any]:
    facts = {**graph_facts(name, m.graph), **m.to_dict()}
    stats = dict(facts.pop("stats"))
    engine = {phase: spent for phase, spent in stats.pop("seconds").items() if phase != "gate"}  # the gate was in read
    return {**facts, "stats": stats, "seconds": {**clock.seconds, **engine}, "output": output}


def _rows(name: str, m: Matching, facts: dict[str, Any]) -> dict[str, Any]:
    covered = 200 * m.cardinality / m.graph.n if m.graph.n else 0.0
    proof = m.certificate
    counts = [f"{name.replace('_', ' ')} {n:,}" for name, n in facts["stats"].items() if isinstance(n, (int, float))]
    phases = {phase: facts["seconds"][phase] for phase in PHASES if phase in facts["seconds"]}
    return {
        **graph_rows(name, m.graph),
        "algorithm": f"{m.algorithm} on {m.device}, ties {m.ties}, seed {m.seed}",
        "note": facts["stats"].get("note"),
        "counts": ", ".join(counts) or None,
        "pairs": f"{m.cardinality:,}, {covered:.1f}% of the vertices",
        "weight": f"{m.weight:,}",
        "ratio": proof and f"at least {at_least(proof.ratio)} of the optimum, which is at most {proof.bound:,}",
        "seconds": in_seconds(phases),
        "mates": facts["output"],
    }
