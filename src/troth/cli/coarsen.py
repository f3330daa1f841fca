"""``troth coarsen``: contract pairs or clusters until a graph is small; coarse graphs, and which vertex went where."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from troth.cli import _options as o
from troth.cli._report import Clock, graph_facts, graph_rows, in_seconds, show, waiting
from troth.cli.match import AlgorithmHelp
from troth.engines import TABLE
from troth.errors import TrothError
from troth.words import counted

if TYPE_CHECKING:
    from troth.api.levels import Level

EVERY = "{}"  # in a file's name: one file a level


class Way(StrEnum):
    """What is contracted."""

    matching = "matching"
    strongest = "strongest"


class LocalHelp(AlgorithmHelp):
    """Without MPI ranks, on which there are no hierarchies."""

    engines = tuple(engine for engine in TABLE if not engine.on_ranks)


def coarsen(
    graph: o.GraphName,
    stop: Annotated[
        int, typer.Option("--stop", metavar="N", min=1, help="Go on while there are more vertices.")
    ] = 1000,
    levels: Annotated[
        int | None, typer.Option("--levels", metavar="N", min=0, help="No more coarser levels than this.")
    ] = None,
    by: Annotated[
        Way, typer.Option("--by", help="Contract the pairs of a matching, or clusters of strongest neighbours.")
    ] = Way.matching,
    max_vertex_weight: Annotated[
        str | None,
        typer.Option(
            "--max-vertex-weight",
            metavar="W",
            help="Make no vertices one that weigh more together; W1,W2 where a vertex has two weights.",
        ),
    ] = None,
    twohop: Annotated[
        bool, typer.Option(help="Pair leaves, twins and relatives where a matching shrinks a level by less than 25%.")
    ] = True,
    algorithm: o.AlgorithmOption = o.SUITOR,
    device: o.LocalDeviceOption = "auto",
    ties: o.TiesOption = o.HASH,
    threads: o.ThreadsOption = None,
    seed: o.SeedOption = 0,
    option: o.Assignments = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the coarsest graph; with {} in the name, every level."
        ),
    ] = None,
    map_file: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="FILE",
            help="Write the map: line v holds the coarsest vertex that v went into; with {} in the name, one file for "
            "each level, from the one before.",
        ),
    ] = None,
    reading: o.Reading = o.AS_IT_IS,
    json: o.Json = False,
) -> None:
    """Contract matched pairs, or clusters, level by level, until a graph is small.

    Weights of parallel edges add up, and so do vertex weights, which count 1 where there are none; loops are dropped.
    METIS files and .csr folders keep the vertex weights. Prints the sizes of the levels.

    \b
    Examples:
      troth coarsen graph.mtx.gz -o coarse.graph --map map.txt
      troth coarsen rmat:scale=18 --stop 500 --max-vertex-weight 2000
      troth coarsen mesh.graph -o level-{}.csr --map map-{}.txt
      troth coarsen mesh.graph --by strongest
    """
    from troth.api.coarsening import build_hierarchy, refuse_for_clusters
    from troth.api.contracting import Plan

    o.refuse_ranks("troth coarsen runs as one process: leave mpiexec out")
    options = o.read_assignments(option or ())
    refuse_for_clusters(by.value, algorithm.value, options)
    request = o.request_of(
        algorithm.value, device, options, ties=ties.value, seed=seed, threads=threads, no_ranks="hierarchies"
    )
    limit = None if max_vertex_weight is None else _limit(max_vertex_weight)
    for file in (output, map_file):
        if file is not None and EVERY in str(file.parent):
            raise TrothError(f"{file}: {EVERY} stands for the level in the name of a file, not of a folder")
    _check_names(graph, *([] if file is None else [_numbered(file, 1)] for file in (output, map_file)))
    clock = Clock()
    with waiting("reading") as report:
        g = o.read_graph(graph, reading, seed, report)
        clock.lap("read")
        report("coarsening")
        found = build_hierarchy(request, g, Plan(stop, levels, limit, twohop, report, by.value))
        clock.lap("coarsen")
        if output is not None or map_file is not None:
            report("writing")
            output, map_file = _write(found, graph, output, map_file)
            clock.lap("write")
    way = {"algorithm": algorithm.value} if by is Way.matching else {}
    words = {"by": by.value, **way, "ties": ties.value, "seed": seed}
    facts = {**graph_facts(graph, g), **words, **_facts(found), "seconds": clock.seconds, "steps": _steps(found)}
    rows = {
        **graph_rows(graph, g),
        "algorithm": f"{way.get('algorithm', by.value)} on {facts['device']}, ties {ties.value}, seed {seed}",
        **{f"level {i}": _size(level) for i, level in enumerate(found[1:], 1)},
        "seconds": in_seconds(facts["seconds"]),
        "steps": in_seconds(facts["steps"]),
        "file": output,
        "map": map_file,
    }
    show({**facts, "output": output, "map": map_file}, rows, json)


def _limit(text: str) -> Any:
    """A number, or several with commas between them.

    >>> _limit("40"), _limit("1.5,7")
    (40, [1.5, 7])
    """
    try:
        limits = [int(word) if word.strip().isdecimal() else float(word) for word in text.split(",")]
    except ValueError:
        raise TrothError(
            f"--max-vertex-weight {text!r} is no number: give one, or one for each weight: 40,2.5"
        ) from None
    return limits[0] if len(limits) == 1 else limits


def _numbered(file: Path, level: int) -> Path:
    return Path(str(file).replace(EVERY, str(level)))


def _check_names(source: str, graphs: Iterable[Path], maps: Iterable[Path]) -> None:
    """Refuse files that could not be written, or of which one would replace another or the graph itself."""
    for name in graphs:
        o.check_output(name, graph=True, source=source)
    taken = {name.resolve() for name in graphs}
    for name in maps:
        o.check_output(name, source=source)
        if name.resolve() in taken:
            raise TrothError(f"--output and --map are both {name}: give two names")


def _write(
    levels: list[Level], source: str, output: Path | None, map_file: Path | None
) -> tuple[Path | None, Path | None]:
    """Write what is asked for; returns the two names, or None where {} stands for levels and there are none."""
    import numpy as np

    from troth.graph import Graph
    from troth.io import write_graph, write_mates

    coarser = list(enumerate(levels[1:], 1))
    graphs, maps = dict[Path, Graph](), dict[Path, Any]()
    if output is not None:
        chosen = coarser if EVERY in str(output) else [(0, levels[-1])]
        graphs = {_numbered(output, i): level.graph for i, level in chosen}
    if map_file is not None and EVERY in str(map_file):
        maps = {_numbered(map_file, i): level.map for i, level in coarser}
    elif map_file is not None:
        coarsest = np.arange(levels[-1].graph.n)
        for level in reversed(levels):
            coarsest = level.project(coarsest)
        maps = {map_file: coarsest}
    _check_names(source, graphs, maps)  # all of them, before the first is written
    for name, graph in graphs.items():
        write_graph(graph, name)
    for name, numbers in maps.items():
        write_mates(numbers, name)
    written = [file if coarser or EVERY not in str(file) else None for file in (output, map_file)]
    return written[0], written[1]


def _facts(levels: list[Level]) -> dict[str, Any]:
    from troth.api.vertex_weights import vertex_weights_of

    sizes = [
        {
            "n": level.graph.n,
            "m": level.graph.m,
            **{name: level.stats[name] for name in ("pairs", "joined") if name in level.stats},
            "twohop": level.stats["twohop"],
            "greatest_vertex_weight": vertex_weights_of(level.graph).max(axis=0),
        }
        for level in levels[1:]
    ]
    device = levels[1].stats["device"] if sizes else levels[0].graph.device
    return {"device": device, "levels": sizes}


def _steps(levels: list[Level]) -> dict[str, float]:
    """Seconds of coarsening by step, over all levels."""
    steps = dict.fromkeys(step for level in levels[1:] for step in level.stats["seconds"])
    return {step: sum(level.stats["seconds"][step] for level in levels[1:]) for step in steps}


def _size(level: Level) -> str:
    sizes = [counted(level.graph.n, "vertex", "vertices"), counted(level.graph.m, "edge", "edges")]
    if level.stats["twohop"]:
        what = ("pair", "pairs") if "pairs" in level.stats else ("vertex", "vertices")
        sizes.append(counted(level.stats["twohop"], *what) + " of no neighbours")
    return ", ".join(sizes)
