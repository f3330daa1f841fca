"""Contenders: an engine with its threads and options, as one word that results, figures and ``--engines`` share.

``suitor@cpu``, ``suitor@cpu:threads=2``, ``suitor@cuda:variant=nosync,vertices_per_warp=16``.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, NamedTuple

from troth.arrays import is_available
from troth.engines import RANK_DEVICES, find_engines
from troth.errors import TrothError
from troth.ranks.job import launcher

SHORT = {"suitor": "Suitor", "locally-dominant": "LD", "handshake": "Handshake", "greedy": "Greedy"}
PLACE = {"cpu": "CPU", "cuda": "GPU", "mpi": "MPI", "mpi+cuda": "MPI+GPU"}


class Contender(NamedTuple):
    """An algorithm on a device with options; ``threads`` None means those of the setting."""

    algorithm: str
    device: str
    threads: int | None
    options: dict[str, str]

    @property
    def label(self) -> str:
        """As figures call it: GPU-Suitor, CPU-LD with 2 threads."""
        name = f"{PLACE[self.device]}-{SHORT.get(self.algorithm, self.algorithm)}"
        words = [f"{self.threads} thread{'s' * (self.threads != 1)}"] if self.threads else []
        words += [value if key in ("variant", "mode", "transport") else f"{key}={value}" for key, value in
                  self.options.items()]  # fmt: skip
        return ", ".join([name, *words])


def read(name: str) -> Contender:
    """The contender that a word names.

    >>> read("suitor@cpu:threads=2").label
    'CPU-Suitor, 2 threads'
    >>> read("locally-dominant@cuda").label
    'GPU-LD'
    """
    head, _, tail = name.partition(":")
    algorithm, _, device = head.partition("@")
    options: dict[str, Any] = dict(word.split("=", 1) for word in filter(None, tail.split(",")))
    threads = options.pop("threads", None)
    (engine,) = find_engines(algorithm, device or "cpu")
    engine.read(options)
    return Contender(algorithm, engine.device, None if threads is None else int(threads), options)


def label(name: str) -> str:
    """The label of a contender, or the name itself where it is none (a peer's, for example)."""
    return read(name).label if "@" in name else name


def grouped(left_out: dict[str, str]) -> list[str]:
    """What was left out, a line for each reason; an engine stands for its variants where all of them are.

    >>> grouped({"suitor@cuda": "no GPU", "greedy@cuda": "no GPU", "suitor@cuda:variant=nosync": "no GPU"})
    ['suitor@cuda, greedy@cuda: no GPU']
    """
    reasons: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        if ":" not in name or left_out.get(name.partition(":")[0]) != reason:
            reasons.setdefault(reason, []).append(name)
    return [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]


def mpiexec() -> str | None:
    """The program that starts MPI jobs, where mpi4py is there too."""
    return launcher() if find_spec("mpi4py") else None


def missing(name: str, cores: int) -> str | None:
    """Why this machine cannot run a contender, or None where it can."""
    contender = read(name)
    if contender.threads and contender.threads > cores:
        return f"this machine has {cores} core{'s' * (cores != 1)}"
    if contender.device in RANK_DEVICES:  # ranks are processes of their own: this one must not start MPI
        if mpiexec() is None:
            return "mpi4py or mpiexec is not installed"
        return "there is no GPU" if contender.device == "mpi+cuda" and not is_available() else None
    from troth.api.request import make_request

    try:
        make_request(contender.algorithm, contender.device)
    except TrothError as error:
        return str(error).split("; ")[0].partition(": ")[2] or str(error)
    return None
