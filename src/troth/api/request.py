"""One request, decided once: which engine, on which device, with which options.

``make_request`` checks all that a user said, before any work is done for it. ``perform`` is the one place that takes a
graph to the request's device, works there, and falls back to the CPU where a GPU is too small and the device was left
open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from troth.arrays import device_number, is_available, wait_for_device
from troth.contract import Context, Progress
from troth.engines import ALGORITHMS, LEAST_EPS, TABLE, Engine, find_engines
from troth.errors import DeviceMemoryError, TrothError
from troth.graph import Graph
from troth.order import Order, make_order
from troth.validate import check_seed, check_threads, check_ties

T = TypeVar("T")

WORTH_A_COPY = 2**20  # stored entries; "auto" leaves smaller graphs of the host on the host


@dataclass(frozen=True)
class Request:
    """What a user asked for, checked.

    ``engines`` are those that can do it, of which the graph decides where ``device`` is "auto"; ``given`` are the
    options that were given.
    """

    device: str
    engines: tuple[Engine, ...]
    given: Mapping[str, Any]
    ties: str
    seed: int
    threads: int | None

    @property
    def algorithm(self) -> str:
        """The algorithm's name."""
        return self.engines[0].algorithm

    def engine_on(self, device: str) -> Engine | None:
        """The engine on "cpu", "cuda" or "mpi", where there is one that can do it."""
        return next((engine for engine in self.engines if engine.device == device), None)

    def engine_for(self, graph: Graph) -> Engine:
        """The engine for a graph. "auto" is a GPU where the graph is on one, or is worth the copy to one."""
        if len(self.engines) == 1:
            return self.engines[0]
        on_gpu = graph.device != "cpu" or (len(graph.indices) >= WORTH_A_COPY and is_available())
        return self.engine_on("cuda" if on_gpu else "cpu") or self.engines[0]

    def options_of(self, engine: Engine) -> dict[str, Any]:
        """What the engine itself takes: the given options, the others at their defaults."""
        chosen = {**engine.defaults(), **self.given}
        return {name: value for name, value in chosen.items() if not engine.options[name].of_call}

    def nearer(self, engine: Engine) -> Iterator[Request]:
        """The same, and then four times an auction with half of ``eps`` and ``slack`` and twice the rounds."""
        chosen = self.options_of(engine)
        for halving in range(5):
            given = {"eps": max(LEAST_EPS, chosen["eps"] / 2**halving), "slack": chosen["slack"] / 2**halving}
            if chosen["rounds"] is not None:
                given["rounds"] = chosen["rounds"] * 2**halving
            yield self.changed(**given)

    def changed(self, **given: Any) -> Request:
        """The same with other options of the engine."""
        return replace(self, given={**self.given, **given})

    def order_for(self, graph: Any) -> Order:
        """The order of the neighbours in a graph; engines of a GPU look at the range of 64-bit weights alone.

        For a rank's part all ranks ask together.
        """
        wide = getattr(graph, "device", "cpu") == "cpu" or graph.weights.dtype.itemsize == 8
        return make_order(self.ties, self.seed, graph.bits_range() if wide else (1, 1), graph)

    def context(self, progress: Progress | None = None, comm: Any = None) -> Context:
        """What the engine is told."""
        return Context(self.threads, np.uint64(self.seed % 2**64), progress, comm)


def make_request(
    algorithm: str = "suitor",
    device: str = "auto",
    *,
    ties: str = "hash",
    seed: int = 0,
    threads: int | None = None,
    options: Mapping[str, Any] | None = None,
    no_ranks: str = "",
) -> Request:
    """The request for what a user said, or a refusal in one line; needs no graph.

    ``no_ranks`` names those, such as "hierarchies", for whom MPI ranks are no device, nor calls of ``match`` a step.
    """
    if no_ranks:
        _refuse_ranks(algorithm, device, no_ranks)
    given = dict(options or {})
    engines = tuple(find_engines(algorithm, device, given))
    first, device = engines[0], str(device)  # a torch.device too
    given = first.read(given)
    if no_ranks:
        refuse_of_call(first, given, no_ranks)
    if first.device == "cuda":
        device_number(device.replace("auto", "cuda"))
    elif first.device == "mpi":
        from troth.ranks.job import world

        world()
    return Request(device, engines, given, check_ties(ties), check_seed(seed), check_threads(threads))


def _refuse_ranks(algorithm: str, device: str, who: str) -> None:
    local = dict.fromkeys(engine.algorithm for engine in TABLE if engine.device != "mpi")
    if algorithm in ALGORITHMS and algorithm not in local:
        raise TrothError(f"{algorithm} runs on MPI ranks, but {who} do not: choose {', '.join(local)}")
    if str(device) == "mpi":
        raise TrothError(f"device='mpi' runs on MPI ranks, but {who} do not: choose auto, cpu or cuda")


def refuse_of_call(engine: Engine, given: Mapping[str, Any], who: str) -> None:
    """Refuse the options that are met by ``match``, for ``who`` runs the engine itself."""
    for name, value in given.items():
        if engine.options[name].of_call and value != engine.options[name].default:
            raise TrothError(f"{engine.algorithm}: {name} is met by match alone, not by {who}: leave it out")


class Placed(NamedTuple):
    """A graph where an engine can work on it."""

    engine: Engine
    graph: Graph
    copied: float  # seconds


def perform(request: Request, graph: Graph, work: Callable[[Placed], T], *, stay: bool = False) -> tuple[T, str | None]:
    """Do some work on the request's device, and say in words where it fell back to another.

    ``stay``: where the device is "auto" and the engine is the CPU's, a graph on a GPU is not brought to it.
    """
    engine = request.engine_for(graph)
    try:
        return work(_place(request, engine, graph, stay)), None
    except DeviceMemoryError as error:
        other = request.engine_on("cpu")
        if request.device != "auto" or other is None or (other is engine and graph.device == "cpu"):
            raise
        return work(_place(request, other, graph, False)), f"on the CPU, since {error}"


def _place(request: Request, engine: Engine, graph: Graph, stay: bool) -> Placed:
    """The graph on the device that is meant, and how long the copy took."""
    start = perf_counter()
    if engine.device == "cuda":
        home = None if graph.device == "cpu" else device_number(graph.device)
        number = device_number(request.device.replace("auto", "cuda"), home)
        there = graph.to(f"cuda:{number}")
        if there is not graph:
            wait_for_device(number)
    else:
        there = graph if stay and request.device == "auto" else graph.to("cpu")
    return Placed(engine, there, perf_counter() - start)
