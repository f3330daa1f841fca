"""The options that commands share, and what is read from them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from troth.engines import ALGORITHMS, DEVICES, TABLE, find_engines
from troth.errors import TrothError
from troth.validate import TIES

if TYPE_CHECKING:
    from troth.api.request import Request
    from troth.graph import Graph

# mypy wants the names written out, which are those of tables.
Algorithm = StrEnum("Algorithm", {name: name for name in ALGORITHMS})  # type: ignore[misc]
Ties = StrEnum("Ties", TIES)  # type: ignore[misc]
SUITOR, HASH, LOW = Algorithm("suitor"), Ties("hash"), Ties("low")
# The words of gate/entry.py, which is too heavy to import for a help text.
WeightRule = StrEnum("WeightRule", ["keep", "abs", "unit", "random", "paper"])
Merge = StrEnum("Merge", ["max", "min", "sum", "mean"])

COMMON = ("weights", "symmetrize", "base", "columns", "seed", "ties", "threads", "algorithm", "device")  # all take --

GraphName = Annotated[
    str,
    typer.Argument(metavar="GRAPH", help="A file, a .csr folder, a family: rmat:scale=18, or - for standard input."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]

SeedOption = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        help="Seed of the scramble of ties, of random weights and of random algorithms; a family has its own, seed=.",
    ),
]

AlgorithmOption = Annotated[
    Algorithm, typer.Option("--algorithm", "-a", metavar="NAME", help="How to match; see below.")
]
Assignments = Annotated[
    list[str] | None, typer.Option("-O", metavar="NAME=VALUE", help="An option of the algorithm; may be repeated.")
]
DeviceOption = Annotated[str, typer.Option("--device", metavar="NAME", help=f"Where to run: {', '.join(DEVICES)}.")]
LocalDeviceOption = Annotated[str, typer.Option("--device", metavar="NAME", help="Where to run: auto, cpu, cuda.")]
TiesOption = Annotated[
    Ties,
    typer.Option(
        "--ties",
        help="Which of two equally heavy neighbours is better: by a scramble, its number, or fewer neighbours.",
    ),
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        help="CPU threads; the result does not depend on it. [default: all cores; one for each MPI rank]",
    ),
]
GpuThreadsOption = Annotated[
    int | None,
    typer.Option(
        "--gpu-threads",
        metavar="N",
        min=1,
        help="GPU threads of each kernel of handshake; the result does not depend on it. [default: what fills the GPU]",
    ),
]
PartitionOption = Annotated[
    str | None,
    typer.Option(
        "--partition",
        metavar="NAME",
        help="Which MPI rank owns a vertex: block (balanced by edges and vertices), hash, metis, or a file of owners. "
        "[default: block]",
    ),
]


RewardOption = Annotated[
    str | None,
    typer.Option(
        "--reward",
        metavar="R",
        help="With --minimize: a pair is worth R less its cost, and is not made for R or more. "
        "[default: the largest cost]",
    ),
]
GapOption = Annotated[
    str | None,
    typer.Option(
        "--gap",
        metavar="G",
        help="With --minimize and auction: go on until the cost is proven to be within G of the least. [default: 0.02]",
    ),
]


@dataclass(frozen=True)
class Reading:
    """How a command reads its GRAPH; ``takes_reading`` makes an option of every field."""

    weights: Annotated[
        WeightRule,
        typer.Option(
            help="Keep the weights, take absolute values, set all to 1, draw them from (0, 1], or, as in the papers, "
            "take absolute values and draw those that are missing."
        ),
    ] = WeightRule.keep
    symmetrize: Annotated[
        Merge | None, typer.Option(help="How to combine the two directions of an unsymmetric matrix.")
    ] = None
    base: Annotated[
        int | None,
        typer.Option(metavar="0|1", min=0, max=1, help="Number of the first vertex in a table. [default: 0]"),
    ] = None
    columns: Annotated[
        str | None, typer.Option(metavar="A,B,W", help="Names of a table's source, target and weight columns.")
    ] = None
    format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What GRAPH is, whatever its extension: mtx, graph, npz, csv, tsv, txt, snap, parquet. "
            "[default: by the extension; of standard input by how it begins, else a table]",
        ),
    ] = None
    maximize: Annotated[
        bool | None,
        typer.Option(
            "--maximize/--minimize",
            help="The weights are what pairs are worth, or what they cost. [default: maximize, but a column whose "
            "name, such as distance, means a cost is refused]",
            show_default=False,
        ),
    ] = None


AS_IT_IS = Reading()


def takes_reading(command: Callable[..., None]) -> Callable[..., None]:
    """The command for typer: in place of its parameter ``reading``, the options that this is made of."""
    options = signature(Reading, eval_str=True).parameters

    @wraps(command)
    def run(**given: Any) -> None:
        command(reading=Reading(**{name: given.pop(name) for name in options}), **given)

    own = signature(command, eval_str=True).parameters.values()
    shown = [option for one in own for option in (options.values() if one.name == "reading" else [one])]
    run.__signature__ = Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in shown}
    return run


def read_graph(
    name: str, reading: Reading, seed: int, report: Callable[..., None], reward: int | float | None = None
) -> Graph:
    """The graph that GRAPH and the reading options mean; ``report`` hears how much of a file was read."""
    from troth.api.opening import read

    with telling(report):
        return read(name, **read_options(reading), seed=seed, reward=reward)


def read_options(reading: Reading) -> dict[str, Any]:
    """The options of ``troth.read`` that were given in words."""
    columns = None if reading.columns is None else tuple(reading.columns.split(","))
    return {**vars(reading), "columns": columns}


def telling(report: Callable[..., None]) -> AbstractContextManager[None]:
    """``report`` hears how much of the files was read that are read meanwhile."""
    from troth.files import listening

    def tell(done: int, total: int) -> None:
        report(f"reading {total / 1e6:,.1f} MB" if total else "reading", done, total)

    return listening(tell)


def convert_command(name: str, reading: Reading, seed: int) -> str:
    """The command that makes a ``.csr`` folder of what is read, of which every MPI rank reads its own rows.

    >>> convert_command("a b.mtx", Reading(weights=WeightRule.abs, base=1), 0)
    "troth convert 'a b.mtx' graph.csr --weights abs --base 1"
    """
    said = {option: value for option, value in vars(reading).items() if value != getattr(AS_IT_IS, option)}
    maximize = said.pop("maximize", None)
    words = [word for option, value in said.items() for word in (f"--{option}", str(value))]
    words += ["--maximize"] * bool(maximize) + ["--seed", str(seed)] * bool(seed and "weights" in said)
    return shlex.join(["troth", "convert", name, "graph.csr", *words])


def read_reward(text: str | None) -> int | float | None:
    """What ``--reward`` says: a whole number stays one, so that whole costs do.

    >>> read_reward("3"), read_reward("3.5")
    (3, 3.5)
    """
    if text is None:
        return None
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    raise TrothError(f"--reward {text} is not a number: give one, such as 3.5")


def refuse_costs(maximize: bool | None, reward: str | None, gap: str | None = None) -> None:
    """MPI ranks have weights, whatever these were made of."""
    if maximize is False or reward is not None or gap is not None:
        raise TrothError("--minimize, --reward and --gap are for one process: leave them out, or --device mpi")


def read_assignments(items: Iterable[str]) -> dict[str, str]:
    """What ``-O name=value`` says, in words.

    >>> read_assignments(["mode=random", "p=0.5"])
    {'mode': 'random', 'p': '0.5'}
    """
    values: dict[str, str] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not name or not equals:
            raise TrothError(f"-O {item!r} is not name=value, as in -O p=0.5")
        if name in COMMON:
            raise TrothError(f"-O {item} is no option of an algorithm: say --{name} {value}")
        if name in values:
            raise TrothError(f"-O {name} is given twice; leave one")
        values[name] = value
    return values


def request_of(
    algorithm: str,
    device: str,
    options: dict[str, str],
    *,
    ties: str,
    seed: int,
    threads: int | None,
    gpu_threads: int | None = None,
    no_ranks: str = "",
) -> Request:
    """What the options of a command ask for; refuses what cannot be met before any work is done for it."""
    from troth.api.request import make_request

    if gpu_threads is not None:
        if "gpu_threads" in options:
            raise TrothError("--gpu-threads and -O gpu_threads say the same; leave one")
        options = {**options, "gpu_threads": str(gpu_threads)}
        engine = find_engines(algorithm, device, options)[0]
        if "gpu_threads" not in engine.options:
            able = ", ".join(f"{row.algorithm} on {row.device}" for row in TABLE if "gpu_threads" in row.options)
            raise TrothError(f"{algorithm} on {engine.device} takes no --gpu-threads: choose {able}, or leave it out")
    return make_request(algorithm, device, ties=ties, seed=seed, threads=threads, options=options, no_ranks=no_ranks)


def refuse_ranks(remedy: str) -> None:
    """Refuse to be one of several processes that mpiexec started, of which each would do all and write the same file.

    All of them come to this, and rank 0 says it.
    """
    from troth.ranks.job import AgreedError, launched_together

    if said := launched_together():
        raise AgreedError(
            f"mpiexec or srun started several processes ({said}), of which each would do all of the work and write the "
            f"same files: {remedy}"
        )


def check_output(path: Path, graph: bool = False, source: str | None = None) -> None:
    """Refuse an output, a graph or else mates, that could not be written, before any work is done for it.

    ``source`` is the GRAPH where the output must not replace it.
    """
    from troth.files import refusing

    with refusing(path):
        _check_output(path, graph, source)


def _check_output(path: Path, graph: bool, source: str | None) -> None:
    from troth.io import check_target, csr, format_of
    from troth.io.atomic import behind_link, is_replaceable

    if str(path) == "-":
        raise TrothError("-: output goes to a file; give it a name, ./- where this one is meant")
    if not is_replaceable(path):
        raise TrothError(f"{path}: this is no file, nor can one be put there; choose another name")
    target = behind_link(path)
    folder = target.parent
    if graph:
        check_target(path)
    if not folder.is_dir():
        raise TrothError(f"{path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise TrothError(f"{path}: the folder {folder} is not writable")
    if source is not None and os.path.isdir(source) and folder.samefile(source):
        raise TrothError(f"{path}: this is a part of the graph; choose another name for the output")
    if not target.exists():
        return
    if not target.is_file() and not (graph and format_of(path) is csr):
        raise TrothError(f"{path}: a folder stands there; choose another name")
    if source is not None and os.path.exists(source) and target.samefile(source):
        raise TrothError(f"{path}: this is the graph itself; choose another name for the output")
