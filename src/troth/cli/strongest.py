"""``troth strongest``: the heaviest neighbour of every vertex, the first step of handshaking."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from troth.cli import _options as o
from troth.cli._report import Clock, graph_facts, in_seconds, print_json, waiting


def strongest(
    graph: o.GraphName,
    device: o.LocalDeviceOption = "auto",
    ties: o.TiesOption = o.LOW,
    threads: o.ThreadsOption = None,
    gpu_threads: o.GpuThreadsOption = None,
    seed: o.SeedOption = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file instead of printing.")
    ] = None,
    reading: o.Reading = o.AS_IT_IS,
    json: o.Json = False,
) -> None:
    """Find the heaviest neighbour of every vertex.

    Line v holds the neighbour of v, -1 where it has none; the time goes to stderr. With --gpu-threads the kernels of
    the course project run, each on so many threads.

    \b
    Examples:
      troth strongest input1.mtx -o strong1.txt
      troth strongest input1.mtx --device cuda --gpu-threads 1024 -o strong1.txt
      troth strongest grid:rows=3,cols=3
    """
    from troth.api.calls import strongest_of
    from troth.io import write_mates

    o.refuse_ranks("troth strongest runs as one process: leave mpiexec out")
    request = o.request_of(
        "handshake", device, {}, ties=ties.value, seed=seed, threads=threads, gpu_threads=gpu_threads
    )
    if output is not None:
        o.check_output(output, source=graph)
    clock = Clock()
    with waiting("reading") as report:
        g = o.read_graph(graph, reading, seed)
        clock.lap("read")
        report("looking")
        found = strongest_of(request, g)
        clock.lap("strongest")
        if output is not None:
            report("writing")
            write_mates(found, output)
            clock.lap("write")
    if json:
        shown = {"output": output} if output is not None else {"strongest": found}
        print_json({**graph_facts(graph, g), "ties": ties.value, "seconds": clock.seconds, **shown})
        return
    typer.echo(f"seconds: {in_seconds(clock.seconds)}", err=True)
    if output is None:
        sys.stdout.writelines(f"{v}\n" for v in found.tolist())
