"""What an experiment is given: how large, which graphs and engines, how often, and what this machine can do."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from bench import cache, catalogue, engines, machine
from bench.catalogue import Instance
from troth.errors import TrothError
from troth.validate import check_threads

if TYPE_CHECKING:
    from troth.graph import Graph

REPEATS = 10  # the paper's: at least ten runs, of which the least counts
PATIENCE = {"tiny": 0.2, "small": 5.0, "full": 20.0}  # seconds after which a measurement is not repeated further
LONG = 1000  # entries of a list of counts, such as edges left by round; longer ones are not stored
PEERS = ("networkit", "networkx", "rustworkx", "scipy")


@dataclass(frozen=True)
class Task:
    """One measurement: on a graph, by an engine, with the experiment's own parameters.

    ``graph`` is the name of an instance or a spec, ``engine`` a contender's name; either may be empty. ``cost`` is for
    the estimate of time alone: about the seconds it takes, or any number in proportion.
    """

    graph: str = ""
    engine: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    cost: float = 1.0

    @property
    def key(self) -> str:
        """What names it within its experiment.

        >>> Task("rmat-1m", "suitor@cpu", {"ties": "low"}).key
        'rmat-1m|suitor@cpu|ties=low'
        """
        return "|".join([self.graph, self.engine, *(f"{name}={value}" for name, value in self.params.items())])


@dataclass
class Setting:
    """How the experiments run. Everything an experiment asks of its surroundings goes through here."""

    size: str = "small"
    graphs: list[str] = field(default_factory=list)
    engines: list[str] = field(default_factory=list)
    repeats: int = REPEATS
    seed: int = 0
    threads: int | None = None
    folders: list[Path] = field(default_factory=list)
    cache: Path | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    progress: Callable[[str], None] = lambda words: None  # the runner's: shows what is going on

    def __post_init__(self) -> None:
        self._held: dict[tuple[str, str], Graph] = {}
        self._warm: set[tuple] = set()
        self._known: set[str] = set()  # patterns of --engines that some contender or peer fits

    # ---- what this machine can do ----

    @property
    def cores(self) -> int:
        return machine.cores()

    @property
    def workers(self) -> int:
        """CPU threads of an engine that is not told otherwise."""
        from troth.kernels.team import available_cores

        return check_threads(self.threads) or available_cores()

    @property
    def thread_counts(self) -> list[int]:
        """1, 2, 4, ... and all cores."""
        return sorted({min(2**at, self.cores) for at in range(self.cores.bit_length() + 1)})

    @property
    def memory(self) -> int:
        """Bytes of main memory."""
        return machine.memory()

    @property
    def gpu(self) -> dict[str, Any] | None:
        """``{"name": ..., "memory": bytes}``, or None."""
        return machine.gpu()

    @cached_property
    def mpiexec(self) -> str | None:
        """The program that starts MPI jobs, where mpi4py is there too."""
        return engines.mpiexec()

    @cached_property
    def peers(self) -> dict[str, bool]:
        """Which other libraries are installed."""
        return {name: find_spec(name) is not None for name in PEERS}

    @property
    def most_edges(self) -> int:
        """Edges of the largest graph that this size means on this machine."""
        return catalogue.most_edges(self.size, self.memory, self.cores, self.gpu is not None)

    @property
    def patience(self) -> float:
        """Seconds after which a measurement is not repeated further."""
        return PATIENCE[self.size]

    # ---- what to run ----

    def wants(self, engine: str) -> bool:
        """Whether ``--engines`` asks for a contender or peer, by name (* stands for anything), algorithm or device."""
        if not self.engines:
            return True
        algorithm, _, rest = engine.partition("@")
        words = (engine, engine.partition(":")[0], algorithm, rest.partition(":")[0])
        fits = {pattern for pattern in self.engines for word in words if word and fnmatchcase(word, pattern)}
        self._known |= fits
        return bool(fits)

    def refuse_unknown_engines(self) -> None:
        """After all tasks are planned: a pattern of ``--engines`` that nothing fits is a mistake."""
        for pattern in self.engines:
            if pattern not in self._known:
                raise TrothError(
                    f"--engines {pattern}: these experiments have no such engine; name one by suitor@cpu, suitor, cuda"
                )

    def able(self, names: Iterable[str]) -> list[str]:
        """The contenders among these that are wanted and that this machine can run; notes why others are left out."""
        found = []
        for name in names:
            if not self.wants(name):
                continue
            reason = engines.missing(name, self.cores)
            if reason:
                self.leave_out(name, reason)
            else:
                found.append(name)
        return found

    def leave_out(self, what: str, reason: str) -> None:
        """Have the report name something that could not be measured here."""
        self.left_out[what] = reason

    @cached_property
    def instances(self) -> list[Instance]:
        """The graphs of this size, and those of ``--folder``, as far as ``--graphs`` asks for them."""
        found = catalogue.of_size(self.size, self.most_edges)
        for folder in self.folders:
            found = found + catalogue.of_folder(folder)
        return catalogue.choose(found, self.graphs)

    def between(self, least: int, most: int) -> list[Instance]:
        """The instances with so many edges; what was asked for by name, or is a file of the user's, of any size."""
        return [
            each
            for each in self.instances
            if self.graphs or each.family == "file" or self.size == "tiny" or least <= each.edges <= most
        ]

    def find(self, name: str) -> Instance:
        """The instance of a name; a spec is an instance of its own."""
        for each in self.instances + catalogue.instances():
            if each.name == name:
                return each
        from troth.families import is_spec

        if not is_spec(name):
            raise TrothError(f"{name!r} is not a graph of the catalogue; --catalogue prints all")
        return Instance(name, name.partition(":")[0], name)

    def load(self, name: str, device: str = "cpu") -> Graph:
        """The graph of an instance or a spec, on a device. The latest graph is held: order tasks by graph."""
        if (name, device) in self._held:
            return self._held[name, device]
        if any(held != name for held, _ in self._held):
            self.let_go()
        if self._held:
            graph = next(iter(self._held.values())).to(device)
        else:
            self.progress(f"making {name}")
            graph = self._make(self.find(name)).to(device)
            if graph.m == 0:
                raise TrothError("the graph has no edges")
        self._held[name, device] = graph
        return graph

    def _make(self, instance: Instance) -> Graph:
        """A GPU makes most graphs faster than a disk gives them; what the CPU must make or thin out is kept."""
        slow = instance.family == "file" or "delaunay:" in instance.spec or "keep=" in instance.spec
        if self.gpu and not slow:
            return catalogue.make(instance.spec, "cuda")
        if instance.name == instance.spec:
            return catalogue.make(instance.spec)
        return cache.load(instance, cache.folder_of(self.cache))

    def let_go(self) -> None:
        """Let go of the graphs that are held, on a GPU too."""
        self._held.clear()
        gc.collect()
        if self.gpu:
            from troth.arrays import cupy

            cupy().get_default_memory_pool().free_all_blocks()

    # ---- how to measure ----

    def repeat(self, call: Callable[[], Any], repeats: int | None = None, budget: float | None = None) -> list[float]:
        """Seconds of every repeat of a call; at least one, and none more once ``budget`` seconds have passed."""
        return repeat(call, repeats or self.repeats, self.patience if budget is None else budget)

    def match(self, graph: Graph | str, engine: str, budget: float | None = None, **words: Any) -> dict[str, Any]:
        """Time a contender on a graph, or the name of one, on its device, as the paper does: matching alone.

        Returns ``seconds`` (every repeat: of the engine on the CPU, of the kernels on a GPU), ``call`` (the wall clock
        of the same calls of ``troth.match``), ``weight``, ``cardinality``, ``mates`` (a digest, equal where the
        matchings are), ``stats`` (counts) and ``phases`` (seconds by phase) of the last. ``budget`` is that of
        ``repeat``; ``words`` go to ``troth.match``, such as ``ties="low"``. The last matching is verified, outside the
        timer.
        """
        import troth

        contender = engines.read(engine)
        graph = self.load(graph, contender.device) if isinstance(graph, str) else graph
        words = {"seed": self.seed, "threads": contender.threads or self.threads, **contender.options, **words}
        clock = "kernels" if contender.device == "cuda" else "match"

        def once(g: Graph):
            return troth.match(g, algorithm=contender.algorithm, device=contender.device, **words)

        kind = (engine, graph.weights.dtype.name, graph.device)
        if kind not in self._warm:  # the first call compiles; which kernels, a smaller graph would not show
            once(graph)
            self._warm.add(kind)
        graph.bits_range()
        last: list[Any] = [None]
        seconds: list[float] = []

        def call() -> None:
            last[0] = None  # not two results at once
            last[0] = once(graph)
            seconds.append(last[0].stats["seconds"][clock])

        calls = self.repeat(call, budget=budget)
        m = last[0]
        report = troth.verify(graph, m, certify=False)
        if not report:
            raise AssertionError(f"{engine}: {report.reason}")
        phases = m.stats.pop("seconds")
        counts = {name: value for name, value in m.stats.items() if not isinstance(value, list) or len(value) <= LONG}
        return {
            "seconds": seconds,
            "call": calls,
            "weight": m.weight,
            "cardinality": m.cardinality,
            "mates": digest(m.mate),
            "stats": counts,
            "phases": phases,
        }


def repeat(call: Callable[[], Any], repeats: int, budget: float = float("inf")) -> list[float]:
    """Seconds of every repeat of a call; at least one, and none more once ``budget`` seconds have passed.

    >>> len(repeat(lambda: None, 3))
    3
    """
    seconds: list[float] = []
    begin = perf_counter()
    while len(seconds) < repeats and (not seconds or perf_counter() - begin < budget):
        start = perf_counter()
        call()
        seconds.append(perf_counter() - start)
    return seconds


def digest(mate: Any) -> str:
    """A short hash of mates, wherever they are: equal where the matchings are equal."""
    import numpy as np

    from troth.arrays import to_host

    return hashlib.blake2b(np.ascontiguousarray(to_host(mate), dtype=np.int32), digest_size=8).hexdigest()
