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

from troth.api.device_choice import copying_pays
from troth.arrays import check_room, device_number, is_available, wait_for_device
from troth.contract import Context, Progress
from troth.engines import ALGORITHMS, LEAST_EPS, RANK_DEVICES, TABLE, Engine, find_engines
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
        """The engine on "cpu", "cuda", "mpi" or "mpi+cuda", where there is one that can do it."""
        return next((engine for engine in self.engines if engine.device == device), None)

    def engine_for(self, graph: Graph, once: bool = False) -> Engine:
        """The engine for a graph. "auto" is a GPU where the graph is on one, or is worth the copy to one.

        ``once``: for one matching, which Suitor finds on the CPU in the time of a copy.
        """
        if len(self.engines) == 1:
            return self.engines[0]
        on_gpu = graph.device != "cpu" or (len(graph.indices) >= WORTH_A_COPY and is_available())
        if on_gpu and once and graph.device == "cpu" and self.algorithm == "suitor":
            on_gpu = copying_pays(graph, self.ties, self.seed, self.threads)
        return self.engine_on("cuda" if on_gpu else "cpu") or self.engines[0]

    def options_of(self, engine: Engine) -> dict[str, Any]:
        """What the engine itself takes: the given options, the others at their defaults."""
        own = {name: value for name, value in self.given.items() if not engine.options[name].of_call}
        return {**engine.own_defaults, **own}

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

    def takes_batches(self, engine: Engine, graph: Graph) -> bool:
        """Whether an engine, with the given options, can match a graph whose rows stay on the host."""
        if not engine.in_batches or graph.device != "cpu":
            return False
        others = {name: value for name, value in self.given.items() if name != "memory"}
        return all(value == engine.options[name].default for name, value in others.items())

    def order_for(self, graph: Any, on_gpu: bool = False) -> Order:
        """The order of the neighbours in a graph; engines of a GPU look at the range of 64-bit weights alone.

        For a rank's part all ranks ask together. ``on_gpu``: for such an engine, though the graph is on the host.
        """
        on_gpu = on_gpu or getattr(graph, "device", "cpu") != "cpu"
        wide = not on_gpu or graph.weights.dtype.itemsize == 8
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
    elif first.on_ranks:
        from troth.ranks.job import world

        world()
    return Request(device, engines, given, check_ties(ties), check_seed(seed), check_threads(threads))


def _refuse_ranks(algorithm: str, device: str, who: str) -> None:
    local = dict.fromkeys(engine.algorithm for engine in TABLE if not engine.on_ranks)
    if algorithm in ALGORITHMS and algorithm not in local:
        raise TrothError(f"{algorithm} runs on MPI ranks, but {who} do not: choose {', '.join(local)}")
    if str(device) in RANK_DEVICES:
        raise TrothError(f"device={str(device)!r} runs on MPI ranks, but {who} do not: choose auto, cpu or cuda")


def refuse_of_call(engine: Engine, given: Mapping[str, Any], who: str) -> None:
    """Refuse the options that are met by ``match``, for ``who`` runs the engine itself."""
    for name, value in given.items():
        if engine.options[name].of_call and value != engine.options[name].default:
            raise TrothError(f"{engine.algorithm}: {name} is met by match alone, not by {who}: leave it out")


class Placed(NamedTuple):
    """A graph where an engine can work on it.

    ``copied``: the seconds that it took to bring it there, None on a CPU where it was there already. ``card``: the GPU
    to which the engine copies the rows of a graph of the host.
    """

    engine: Engine
    graph: Graph
    copied: float | None = None
    card: int | None = None


def perform(
    request: Request, graph: Graph, work: Callable[[Placed], T], *, stay: bool = False, batches: bool = False
) -> tuple[T, str | None]:
    """Do some work on the request's device, and say in words where it fell back to another.

    ``stay``: where the device is "auto" and the engine is the CPU's, a graph on a GPU is not brought to it.
    ``batches``: the work is one matching, and is done as well where rows come to a GPU in batches.
    """
    engine = request.engine_for(graph, once=batches)
    batches = batches and engine.device == "cuda" and request.takes_batches(engine, graph)
    if request.given.get("memory") is not None:
        if not batches:
            raise TrothError("memory is for graphs whose rows are on the host, without presort: leave it out")
        return work(_place_in_batches(request, engine, graph)), None
    try:
        if batches:
            check_room(_card(request, graph), _whole(graph), "the graph")
        return work(_place(request, engine, graph, stay)), None
    except DeviceMemoryError as error:
        refusal = DeviceMemoryError(str(error))  # which holds nothing of what the attempt has on the card
    return _fall_back(request, engine, graph, work, batches, refusal)


def _fall_back(
    request: Request, engine: Engine, graph: Graph, work: Callable[[Placed], T], batches: bool, refusal: TrothError
) -> tuple[T, str]:
    """Do the work in batches, or on the CPU where the device is "auto"; or else raise the refusal."""
    other = request.engine_on("cpu") if request.device == "auto" else None
    if batches:
        try:
            return work(_place_in_batches(request, engine, graph)), f"in batches, since {refusal}"
        except DeviceMemoryError as error:  # not even the words of all vertices fit, or no pinned memory is to be had
            refusal = DeviceMemoryError(f"{refusal}; nor in batches: {error}")
    if other is None or (other is engine and graph.device == "cpu"):
        raise refusal
    return work(_place(request, other, graph, False)), f"on the CPU, since {refusal}"


def _card(request: Request, graph: Graph) -> int:
    """The number of the GPU that is meant."""
    home = None if graph.device == "cpu" else device_number(graph.device)
    return device_number(request.device.replace("auto", "cuda"), home)


def _place(request: Request, engine: Engine, graph: Graph, stay: bool) -> Placed:
    """The graph on the device that is meant, and how long the copy took."""
    start = perf_counter()
    if engine.device != "cuda":
        there = graph if stay and request.device == "auto" else graph.to("cpu")
    elif graph.device != "cpu" and request.device in ("auto", "cuda", graph.device):
        there = graph
    else:
        number = _card(request, graph)
        there = graph.to(f"cuda:{number}")
        if there is not graph:
            wait_for_device(number)
    spent = perf_counter() - start
    return Placed(engine, there, None if there is graph and engine.device != "cuda" else spent)


def _place_in_batches(request: Request, engine: Engine, graph: Graph) -> Placed:
    number = _card(request, graph)
    check_room(number, 0, "a batch")
    return Placed(engine, graph, card=number)


def _whole(graph: Graph) -> int:
    """Bytes that Suitor needs on a card with the whole graph there (``cuda/suitor.py``)."""
    arrays = graph.indptr, graph.indices, graph.weights
    return sum(array.nbytes for array in arrays) + 50 * graph.n + 2 * len(graph.indices)
