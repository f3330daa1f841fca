"""The table of engines: which (algorithm, device) pairs exist and which options each takes.

The table is data and imports nothing heavy; an engine's module loads when it is first used. An engine is a function

    run(graph, order, *, threads, seed, progress, **options) -> (mate, stats)     on the CPU and on a GPU
    run(graph, order, *, comm, threads, **options) -> (mate, stats)               on MPI ranks

that trusts the graph, which is on its device, and the options, and returns an int32 mate array, on its device too (on
ranks: of the rank's own vertices), and a dict of counts. Where an engine has these counts they mean the same:
``rounds``; ``scans``, looks at a row; ``edges_read``, stored entries read; ``proposals``; ``threads``; and ``seconds``,
a dict by phase. To add an engine, write the module and add a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from numbers import Integral
from typing import Any

from troth.errors import TrothError

DEVICES = ("auto", "cpu", "cuda", "mpi")
TIES = ("hash", "low", "high")
MAX_THREADS = 1024
BEST_P = 0.53406  # the probability of blue at which a round of blue-red matches most (Fagginger Auer and Bisseling)


@dataclass(frozen=True)
class Option:
    """One engine option: its default, how a value (perhaps text) is read, what it means, and which variants have it."""

    default: Any
    read: Callable[[Any], Any]
    help: str
    variants: tuple[str, ...] = ()


def switch(value: Any) -> bool:
    """True or False, also as text."""
    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    try:
        return words[str(value).lower()]
    except KeyError:
        raise ValueError("true or false") from None


def choice(*names: str) -> Callable[[Any], str]:
    """One of some words."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in names:
            raise ValueError(" or ".join(names))
        return value

    return read


def probability(value: Any) -> float:
    """A number strictly between 0 and 1."""
    try:
        p = float(value)
    except (TypeError, ValueError, OverflowError):
        p = 0.0
    if not 0.0 < p < 1.0:
        raise ValueError("a number between 0 and 1, both excluded")
    if p < 2.0**-64:  # of the colours, which are random words of 64 bits, none would be blue
        raise ValueError("1e-19 or more")
    return p


def count_or_none(value: Any) -> int | None:
    """A whole number, 0 or more, or None."""
    if value is None or str(value).lower() == "none":
        return None
    if isinstance(value, bool) or not str(value).isdecimal():
        raise ValueError("a whole number or none")
    return int(value)


@dataclass(frozen=True)
class Engine:
    """A row of the table."""

    algorithm: str
    device: str
    target: str
    help: str
    dominant: bool = True
    options: dict[str, Option] = field(default_factory=dict)

    def load(self) -> Callable:
        """The engine's function; its module is imported now."""
        module, _, name = self.target.partition(":")
        return getattr(import_module(module), name)


def whole(least: int, most: int, step: int = 1) -> Callable[[Any], int]:
    """A whole number in a range, a multiple of ``step``."""

    def read(value: Any) -> int:
        number = int(str(value)) if str(value).isdecimal() and not isinstance(value, bool) else -1
        if not least <= number <= most or number % step:
            multiple = f", a multiple of {step}" if step > 1 else ""
            raise ValueError(f"a whole number from {least} to {most}{multiple}")
        return number

    return read


def count_or_adaptive(value: Any) -> int | str:
    """A whole number, 0 or more, or the word adaptive."""
    if value == "adaptive":
        return value
    if isinstance(value, bool) or not str(value).isdecimal():
        raise ValueError("a whole number or adaptive")
    return int(value)


def some_or_none(value: Any) -> int | None:
    """A whole number, 1 or more, or None."""
    return None if value is None or str(value).lower() == "none" else whole(1, 2**31 - 1)(value)


PRESORT = Option(False, switch, "sort every neighbour list by weight first, then never look at an entry twice")

BLUE_RED = {
    "mode": Option("weighted", choice("weighted", "random"), "propose to the heaviest or a random neighbour"),
    "p": Option(BEST_P, probability, "the probability of blue"),
    "rounds": Option(None, count_or_none, "stop after so many rounds"),
}


NOTIFY = {
    "transport": Option("rma", choice("rma", "p2p"), "notices by one-sided operations, or as messages"),
    "capacity": Option(None, some_or_none, "slots of a rank's queue; none: two for each crossing edge"),
}

NAIM = ("nosync", "synclb", "syncnolb", "hybrid")

TABLE = (
    Engine("suitor", "cpu", "troth.cpu.suitor:run", "proposals, Manne and Halappanavar", options={"presort": PRESORT}),
    Engine(
        "locally-dominant",
        "cpu",
        "troth.cpu.locally_dominant:run",
        "queue of matched vertices, Preis; Manne and Bisseling",
        options={"presort": PRESORT},
    ),
    Engine("handshake", "cpu", "troth.cpu.handshake:run", "rounds of mutual strongest neighbours"),
    Engine("greedy", "cpu", "troth.cpu.greedy:run", "edges in decreasing order"),
    Engine(
        "blue-red",
        "cpu",
        "troth.cpu.blue_red:run",
        "random colours, blue proposes to red, Fagginger Auer and Bisseling",
        dominant=False,
        options=BLUE_RED,
    ),
    Engine("local-random", "cpu", "troth.cpu.local:run_random", "random order, random free neighbour", dominant=False),
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
                choice("auto", *NAIM),
                "troth's own kernels, or one of the four of Naim et al.",
            ),
            "threads_per_block": Option(128, whole(32, 1024, 32), "of the four variants", NAIM),
            "vertices_per_warp": Option(8, whole(1, 256), "of the four variants", NAIM),
            "balance_rounds": Option(
                "adaptive",
                count_or_adaptive,
                "rounds in which synclb and hybrid spread the load over a block's warps",
                NAIM,
            ),
        },
    ),
    Engine("locally-dominant", "cuda", "troth.cuda.locally_dominant:run", "a GPU thread a vertex, queue of matched"),
    Engine(
        "handshake",
        "cuda",
        "troth.cuda.handshake:run",
        "the six kernels of the CS 314 project",
        options={"gpu_threads": Option(None, some_or_none, "GPU threads of each kernel")},
    ),
    Engine("greedy", "cuda", "troth.cuda.greedy:run", "edges sorted on a GPU"),
    Engine("blue-red", "cuda", "troth.cuda.blue_red:run", "random colours, on a GPU", dominant=False, options=BLUE_RED),
    Engine(
        "suitor",
        "mpi",
        "troth.mpi.suitor:run",
        "proposals: in shared memory where all ranks have it, else sent across in packed rounds",
        options={"share": Option(True, switch, "use shared memory; no: messages, even on one machine")},
    ),
    Engine("sync-poll", "mpi", "troth.mpi.sync_poll:run", "Thorsen and Merkey: rounds, remote mates read in bulk"),
    Engine("async-poll", "mpi", "troth.mpi.async_poll:run", "Thorsen and Merkey: remote mates polled, no barrier"),
    Engine(
        "sync-notify",
        "mpi",
        "troth.mpi.sync_notify:run",
        "Thorsen and Merkey: rounds, notices gathered and posted to queues",
        options={**NOTIFY, "batch": Option(0, whole(0, 2**31 - 1), "vertices worked off at once; 0: all")},
    ),
    Engine(
        "async-notify",
        "mpi",
        "troth.mpi.async_notify:run",
        "Thorsen and Merkey: notices posted at once, no barrier",
        options={**NOTIFY, "batch": Option(1024, whole(0, 2**31 - 1), "vertices worked off between posts; 0: all")},
    ),
)

ALGORITHMS = tuple(dict.fromkeys(engine.algorithm for engine in TABLE))


def check_device(engine: Engine, device: str) -> None:
    """Refuse a GPU or an MPI that is not there before any work is done for it."""
    if engine.device == "cuda":
        from troth.cuda._device import device_number

        device_number(device.replace("auto", "cuda"))
    elif engine.device == "mpi":
        from troth.mpi import world

        world()


def check_ties(ties: Any) -> None:
    """Refuse what is no tie rule."""
    if ties not in TIES:
        raise TrothError(f"ties={ties!r} is not a tie rule: choose {', '.join(TIES)}")


def check_threads(threads: Any) -> None:
    """Refuse what is no number of CPU threads."""
    whole = isinstance(threads, Integral) and not isinstance(threads, bool)
    if threads is not None and not (whole and 1 <= threads <= MAX_THREADS):
        raise TrothError(f"threads={threads!r}: give a whole number from 1 to {MAX_THREADS}, or None for all cores")


def promises_dominance(algorithm: str) -> bool:
    """Whether the algorithm promises that no edge outside the matching beats the matched edges at both of its ends."""
    return any(engine.algorithm == algorithm and engine.dominant for engine in TABLE)


def find_engine(algorithm: str, device: str = "auto", given: Iterable[str] = (), prefer: str = "cpu") -> Engine:
    """The row for an algorithm on a device, or a refusal that says what there is.

    "auto" is the row on ``prefer`` where there is one that has the options ``given``, and else another that has them.

    >>> find_engine("greedy").device
    'cpu'
    """
    if algorithm not in ALGORITHMS:
        raise TrothError(f"algorithm={algorithm!r} is not known: choose {', '.join(ALGORITHMS)}")
    kind, colon, _ = str(device).partition(":")
    if kind not in DEVICES or (kind in ("auto", "mpi") and colon):
        raise TrothError(f"device={device!r} is not known: choose {', '.join(DEVICES)}")
    rows = {engine.device: engine for engine in TABLE if engine.algorithm == algorithm}
    if kind == "auto":
        able = [name for name in (prefer, "cpu", "cuda") if name in rows and set(given) <= set(rows[name].options)]
        return rows[able[0]] if able else next(iter(rows.values()))
    if kind not in rows:
        raise TrothError(f"{algorithm} has no engine on device={device!r}: choose {', '.join(rows)}")
    if kind == "cpu" and colon:
        raise TrothError(f"device={device!r} is not known: the CPU is just 'cpu'; use threads= for its threads")
    return rows[kind]


def read_options(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """All options of an engine: the given ones checked, the others at their defaults."""
    values = {name: option.default for name, option in engine.options.items()}
    for name, value in given.items():
        if name not in engine.options:
            from troth.graph import as_graph

            known = f"its options are {', '.join(engine.options) or 'none'}"
            remedy = f"give troth.as_graph(g, {name}=...)" if name in as_graph.__kwdefaults__ else known
            raise TrothError(f"{engine.algorithm} on {engine.device} has no option {name!r}: {remedy}")
        try:
            values[name] = engine.options[name].read(value)
        except ValueError as error:
            raise TrothError(f"{engine.algorithm}: {name}={value!r} is not accepted: give {error}") from None
    for name, option in engine.options.items():
        if values[name] != option.default and option.variants and values["variant"] not in option.variants:
            which = ", ".join(option.variants)
            raise TrothError(f"{engine.algorithm}: {name} is an option of some variants: give variant too, of {which}")
    return values
