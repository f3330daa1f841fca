"""The table of engines: which (algorithm, device) pairs exist and which options each takes.

The table is data and imports nothing heavy; an engine's module loads when it is first used. ``contract.py`` says what
an engine is. To add one, write the module and add a line here (``docs/adding-an-engine.md``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from troth.errors import TrothError
from troth.validate import MOST, Validator, amount, number, one_of, or_none, or_word, probability, switch, whole
from troth.words import BEST_P, GPU_SUITOR_VARIANTS, did_you_mean

if TYPE_CHECKING:
    from troth.contract import Checks, Clustering, Coarsening, EngineFunction
    from troth.graph import Graph

DEVICES = ("auto", "cpu", "cuda", "mpi", "mpi+cuda")
RANK_DEVICES = ("mpi", "mpi+cuda")


@dataclass(frozen=True)
class Option:
    """One engine option: its default, how a value (perhaps text) is read, what it means, and which variants have it.

    ``of_call``: it is met by who calls the engine, perhaps several times (``api/calls.py``).
    """

    default: Any
    read: Validator[Any]
    help: str
    variants: tuple[str, ...] = ()
    of_call: bool = False


@dataclass(frozen=True)
class Engine:
    """A row of the table.

    ``in_batches``: the function of a GPU's engine for graphs whose rows stay on the host.
    """

    algorithm: str
    device: str
    target: str
    help: str
    dominant: bool = True
    options: dict[str, Option] = field(default_factory=dict)
    in_batches: str = ""

    @property
    def on_ranks(self) -> bool:
        """Whether MPI ranks run it together."""
        return self.device.startswith("mpi")

    def load(self) -> EngineFunction:
        """The engine's function; its module is imported now."""
        return _function(self.target)

    def load_in_batches(self) -> EngineFunction:
        """The function for graphs whose rows stay on the host; its module is imported now."""
        return _function(self.in_batches)

    def load_module(self) -> ModuleType:
        """The engine's module, imported now."""
        return import_module(self.target.partition(":")[0])

    def defaults(self) -> dict[str, Any]:
        """The options where none is given."""
        return {name: option.default for name, option in self.options.items()}

    @cached_property
    def own_defaults(self) -> dict[str, Any]:
        """Those that the engine's function takes."""
        return {name: option.default for name, option in self.options.items() if not option.of_call}

    def read(self, given: dict[str, Any]) -> dict[str, Any]:
        """The given options, checked; a refusal where the engine has no such option or does not take the value."""
        if not given:
            return {}
        values = {name: self._read(name, value) for name, value in given.items()}
        chosen = {**self.defaults(), **values}
        for name, option in self.options.items():
            if chosen[name] != option.default and option.variants and chosen["variant"] not in option.variants:
                which = ", ".join(option.variants)
                raise TrothError(
                    f"{self.algorithm}: {name} is an option of some variants: give variant too, of {which}"
                )
        return values

    def _read(self, name: str, value: Any) -> Any:
        if name not in self.options:
            known = f"its options are {', '.join(self.options) or 'none'}"
            remedy = f"give troth.as_graph(g, {name}=...)" if name in GATE_OPTIONS else known
            raise TrothError(f"{self.algorithm} on {self.device} has no option {name!r}{self._hint(name)}: {remedy}")
        try:
            return self.options[name].read(value)
        except ValueError as error:
            raise TrothError(f"{self.algorithm}: {name}={value!r} is not accepted: give {error}") from None

    def _hint(self, name: str) -> str:
        """Who has an option that this engine lacks, or the option that is most like it, in brackets."""
        if name in (*GATE_OPTIONS, *CALL_OPTIONS):
            return ""
        rows = [row for row in TABLE if name in row.options]
        able = [row.algorithm + (f" on {row.device}" if row.algorithm == self.algorithm else "") for row in rows]
        if not able:
            return did_you_mean(name, (*self.options, *CALL_OPTIONS))
        return f" ({', '.join(dict.fromkeys(able))} {'has' if len(set(able)) == 1 else 'have'} it)"


def _function(target: str) -> EngineFunction:
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


GATE_OPTIONS = ("weights", "symmetrize", "base", "seed", "columns", "weight", "maximize")  # of as_graph
CALL_OPTIONS = ("algorithm", "device", "ties", "seed", "threads", "certify", "maximize", "progress")  # of match


COUNT_OR_NONE = or_none(whole(0, text=True), "a whole number or none")
SOME_OR_NONE = or_none(whole(1, MOST, text=True))
COUNT_OR_ADAPTIVE = or_word("adaptive", whole(0, text=True), "adaptive", "a whole number or adaptive")

PRESORT = Option(False, switch, "sort every neighbour list by weight first, then never look at an entry twice")

BLUE_RED = {
    "mode": Option("weighted", one_of("weighted", "random"), "propose to the heaviest or a random neighbour"),
    "p": Option(BEST_P, probability, "the probability of blue"),
    "rounds": Option(None, COUNT_OR_NONE, "stop after so many rounds"),
    "lists": Option(True, switch, "list who may still be matched; no: rounds consider all vertices, as in the talk"),
}


LEAST_EPS = 1e-6  # no bid is denormal

AUCTION = {
    "eps": Option(0.02, number(LEAST_EPS, 1, text=True), "by what part of its weight a bid is raised; less is nearer"),
    "slack": Option(0.02, number(0, text=True), "stop when profits that are not met are such a part of all prices"),
    "rounds": Option(32, SOME_OR_NONE, "stop after so many rounds of bids; none: when nobody bids"),
    "polish": Option(2, whole(0, MOST, text=True), "rounds of exchanges and walks"),
    "target": Option(
        None,
        or_none(number(0, 1, text=True)),
        "begin anew with half of eps and slack, up to four times, until this ratio is certified",
        of_call=True,
    ),
    "gap": Option(
        None,
        or_none(number(0, text=True)),
        "least cost: begin anew with less eps and slack until this part of the cost is certified; none: 0.02",
        of_call=True,
    ),
}

SHARE = Option(True, switch, "use shared memory; no: messages, even on one machine")

NODES = Option(None, SOME_OR_NONE, "behave as on so many machines; none: on as many as there are")
TRANSFER = Option(
    "auto",
    one_of("auto", "pinned", "device"),
    "what changed goes across by pinned host memory, or from a card's own where MPI is CUDA-aware; auto: where it is",
)

FINE = "1: each by itself"
POLL = {"batch": Option(0, whole(0, MOST, text=True), f"remote words read at once; 0: all; {FINE}")}
NOTIFY = {
    "transport": Option("rma", one_of("rma", "p2p"), "notices by one-sided operations, or as messages"),
    "capacity": Option(None, SOME_OR_NONE, "slots of a rank's queue; none: two for each crossing edge"),
}

TABLE: tuple[Engine, ...] = (
    Engine("suitor", "cpu", "troth.cpu.suitor:run", "proposals, Manne and Halappanavar", options={"presort": PRESORT}),
    Engine(
        "locally-dominant",
        "cpu",
        "troth.cpu.locally_dominant:run",
        "queue of matched vertices, Preis; Manne and Bisseling",
        options={"presort": PRESORT},
    ),
    Engine(
        "handshake",
        "cpu",
        "troth.cpu.handshake:run",
        "rounds of mutual strongest neighbours",
        options={"packed": Option(False, switch, "the six kernels of the course project, on packed lists of edges")},
    ),
    Engine("greedy", "cpu", "troth.cpu.greedy:run", "edges in decreasing order"),
    Engine(
        "blue-red",
        "cpu",
        "troth.cpu.blue_red:run",
        "random colours, blue proposes to red, Fagginger Auer and Bisseling",
        dominant=False,
        options=BLUE_RED,
    ),
    Engine(
        "auction",
        "cpu",
        "troth.cpu.auction:run",
        "rounds of bids, then the heaviest matching on their paths, merged and polished: about 99 % of the optimum",
        dominant=False,
        options=AUCTION,
    ),
    Engine("local-random", "cpu", "troth.cpu.local:run_random", "random order, first free neighbour", dominant=False),
    Engine(
        "local-weighted", "cpu", "troth.cpu.local:run_weighted", "random order, heaviest free neighbour", dominant=False
    ),
    Engine(
        "suitor",
        "cuda",
        "troth.cuda.suitor:run",
        "proposals on a GPU; Naim et al. for the variants",
        options={
            "variant": Option(
                "auto",
                one_of("auto", "plain", *GPU_SUITOR_VARIANTS),
                "auto: troth's own kernels; plain: the paper's loop, a thread a vertex; else one of Naim et al.",
            ),
            "threads_per_block": Option(
                128, whole(32, 1024, step=32, text=True), "of the four variants", GPU_SUITOR_VARIANTS
            ),
            "vertices_per_warp": Option(8, whole(1, 256, text=True), "of the four variants", GPU_SUITOR_VARIANTS),
            "balance_rounds": Option(
                "adaptive",
                COUNT_OR_ADAPTIVE,
                "rounds in which synclb and hybrid spread the load over a block's warps",
                GPU_SUITOR_VARIANTS,
            ),
            "presort": replace(PRESORT, variants=("auto", "plain")),
            "memory": Option(
                None,
                or_none(amount),
                "how much of the card to use, such as 8GB, for a graph whose rows stay on the host and come in batches;"
                " none: what is free, where the graph is larger",
                ("auto",),
                of_call=True,
            ),
        },
        in_batches="troth.cuda.batches:run",
    ),
    Engine(
        "locally-dominant",
        "cuda",
        "troth.cuda.locally_dominant:run",
        "one GPU thread for each vertex, queue of matched vertices",
        options={"presort": PRESORT},
    ),
    Engine(
        "handshake",
        "cuda",
        "troth.cuda.handshake:run",
        "the six kernels of the course project",
        options={"gpu_threads": Option(None, SOME_OR_NONE, "GPU threads of each kernel")},
    ),
    Engine("greedy", "cuda", "troth.cuda.greedy:run", "edges sorted on a GPU"),
    Engine("auction", "cuda", "troth.cuda.auction:run", "rounds of bids, on a GPU", dominant=False, options=AUCTION),
    Engine("blue-red", "cuda", "troth.cuda.blue_red:run", "random colours, on a GPU", dominant=False, options=BLUE_RED),
    Engine(
        "suitor",
        "mpi",
        "troth.ranks.suitor:run",
        "proposals: the ranks of a machine share memory, machines send each other packed rounds",
        options={"share": SHARE, "nodes": NODES},
    ),
    Engine(
        "auction",
        "mpi",
        "troth.ranks.auction:run",
        "rounds of bids, on ranks: in shared memory where all have it, else by messages",
        dominant=False,
        options={**AUCTION, "share": SHARE},
    ),
    Engine(
        "suitor",
        "mpi+cuda",
        "troth.ranks.part_suitor:run",
        "proposals on the card of each rank, sent across in packed rounds",
        options={"transfer": TRANSFER},
    ),
    Engine(
        "auction",
        "mpi+cuda",
        "troth.ranks.part_auction:run",
        "rounds of bids, on ranks: rows are read on the card of each, the rest is done on the host",
        dominant=False,
        options={**AUCTION, "transfer": TRANSFER},
    ),
    Engine(
        "sync-poll",
        "mpi",
        "troth.ranks.sync_poll:run",
        "Thorsen and Merkey: rounds, remote mates read in bulk",
        options=POLL,
    ),
    Engine(
        "async-poll",
        "mpi",
        "troth.ranks.async_poll:run",
        "Thorsen and Merkey: remote mates polled, no barrier",
        options=POLL,
    ),
    Engine(
        "sync-notify",
        "mpi",
        "troth.ranks.sync_notify:run",
        "Thorsen and Merkey: rounds, notices gathered and posted to queues",
        options={
            **NOTIFY,
            "batch": Option(0, whole(0, MOST, text=True), f"vertices worked off at once; 0: all; {FINE}"),
        },
    ),
    Engine(
        "async-notify",
        "mpi",
        "troth.ranks.async_notify:run",
        "Thorsen and Merkey: notices posted at once, no barrier",
        options={
            **NOTIFY,
            "batch": Option(1024, whole(0, MOST, text=True), f"vertices worked off between posts; 0: all; {FINE}"),
        },
    ),
)

ALGORITHMS = tuple(dict.fromkeys(engine.algorithm for engine in TABLE))


def promises_dominance(algorithm: str) -> bool:
    """Whether the algorithm promises that no edge outside the matching beats the matched edges at both of its ends."""
    return any(engine.algorithm == algorithm and engine.dominant for engine in TABLE)


_seen: tuple[tuple[Engine, ...], dict[str, dict[str, Engine]]] = TABLE, {}


def _rows_of(algorithm: str) -> dict[str, Engine]:
    """The rows of a known algorithm, by device; found once, but anew where the table is another, as in a test."""
    global _seen
    table, rows = _seen
    if table is not TABLE:
        _seen = table, rows = TABLE, {}
    if algorithm not in rows:
        rows[algorithm] = {engine.device: engine for engine in table if engine.algorithm == algorithm}
    return rows[algorithm]


def is_for_ranks(algorithm: str, device: str) -> bool:
    """Whether MPI ranks are asked for, by the device or by an algorithm that has no other engine.

    >>> is_for_ranks("suitor", "mpi+cuda"), is_for_ranks("suitor", "auto"), is_for_ranks("sync-poll", "auto")
    (True, False, True)
    """
    if str(device) in RANK_DEVICES:
        return True
    return algorithm in ALGORITHMS and _rows_of(algorithm).keys() <= set(RANK_DEVICES)


def find_engines(algorithm: str, device: str = "auto", given: Iterable[str] = ()) -> list[Engine]:
    """The rows for an algorithm on a device, best first, or a refusal that says what there is.

    For "auto" these are the rows on the CPU and on a GPU that have the options ``given``. Where there is none, the
    first row of the algorithm is left, whose refusal names the option.

    >>> [engine.device for engine in find_engines("greedy")]
    ['cpu', 'cuda']
    """
    if algorithm not in ALGORITHMS:
        hint = did_you_mean(algorithm, ALGORITHMS)
        raise TrothError(f"algorithm={algorithm!r} is not known{hint}: choose {', '.join(ALGORITHMS)}")
    kind, colon, _ = str(device).partition(":")
    if kind not in DEVICES or (kind in ("auto", *RANK_DEVICES) and colon):
        hint = did_you_mean("cuda" if kind == "gpu" else kind, DEVICES)
        raise TrothError(f"device={device!r} is not known{hint}: choose {', '.join(DEVICES)}")
    rows = _rows_of(algorithm)
    if kind == "auto":
        able = [rows[name] for name in ("cpu", "cuda") if name in rows and set(given) <= set(rows[name].options)]
        return able or [next(iter(rows.values()))]
    if kind not in rows:
        raise TrothError(f"{algorithm} has no engine on device={device!r}: choose {', '.join(rows)}")
    if kind == "cpu" and colon:
        raise TrothError(f"device={device!r} is not known: the CPU is just 'cpu'; use threads= for its threads")
    return [rows[kind]]


# ---- the parts that every device implements ----


@contextmanager
def checks_of(graph: Graph, threads: int | None = None) -> Iterator[Checks]:
    """The checks where the graph lives; its GPU is the current one meanwhile."""
    if graph.device == "cpu":
        from troth.cpu.checks import CpuChecks

        yield CpuChecks(graph, threads)
    else:
        from troth.arrays import device_number, using
        from troth.cuda.checks import CudaChecks

        with using(device_number(graph.device)):
            yield CudaChecks(graph)


@contextmanager
def clustering_of(graph: Graph, threads: int | None = None) -> Iterator[Clustering[Any]]:
    """The clustering where the graph lives; its GPU is the current one meanwhile."""
    if graph.device == "cpu":
        from troth.cpu.clusters import CpuClustering

        yield CpuClustering(graph, threads)
    else:
        from troth.arrays import device_number, using
        from troth.cuda.clusters import CudaClustering

        with using(device_number(graph.device)):
            yield CudaClustering()


@contextmanager
def coarsening_of(graph: Graph, threads: int | None = None) -> Iterator[Coarsening[Any]]:
    """The coarsening where the graph lives; its GPU is the current one meanwhile."""
    if graph.device == "cpu":
        from troth.cpu.coarsen import CpuCoarsening

        yield CpuCoarsening(graph, threads)
    else:
        from troth.arrays import device_number, using
        from troth.cuda.coarsen import CudaCoarsening

        with using(device_number(graph.device)):
            yield CudaCoarsening()
