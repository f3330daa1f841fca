"""The table of experiments: the papers' and our own questions; ``bench`` says what each of them holds."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from troth.errors import TrothError

if TYPE_CHECKING:
    from bench.questions import Question

# The papers' experiments, a module each; and our own questions, several in a module.
PAPERS = (
    "sizes",
    "runtimes",
    "speedups",
    "variants",
    "balance",
    "tuning",
    "blue-red",
    "handshake",
    "pgas",
    "luby",
    "peers",
    "quality",
    "near-optimal",
    "scaling",
    "ties",
)
OURS = {
    "cpu": ("peers", "ties", "scaling", "memory", "gate", "certificates", "startup", "reading"),
    "dense": ("reads",),
    "mapped": ("largest",),
    "gpu": ("goals", "engines", "types", "gate", "checks", "size", "batches"),
    "devices": ("choice",),
    "auction": ("cpu", "threads", "gpu"),
    "assign": ("weight", "cost"),
    "pair": ("rows", "optimum"),
    "coarsen": ("goals", "types", "peers", "catalogue", "conserves", "ways", "cuts", "multigrid", "tools"),
    "mpi": ("strong", "weak", "nodes", "cards"),
}
ORDER = (*PAPERS, *(f"{module}-{name}" for module, found in OURS.items() for name in found))


def names() -> list[str]:
    """The names of all experiments, in the order of the report."""
    return list(ORDER)


def load(name: str) -> ModuleType | Question:
    """The module of an experiment, or the question, which has the same words.

    >>> load("sizes").NAME
    'sizes'
    """
    if name not in names():
        near = get_close_matches(name, names(), 1)
        said = f"the nearest is {near[0]} (--list has all)" if near else f"there are {', '.join(names())}"
        raise TrothError(f"{name!r} is not an experiment; {said}")
    module, _, question = name.partition("-")
    if question in OURS.get(module, ()):
        return import_module(f"{__name__}.{module}").QUESTIONS[name]
    return import_module(f"{__name__}.{name.replace('-', '_')}")


def records_of(name: str) -> str:
    """The experiment whose records this one presents: itself, or the one that it shares measurements with.

    >>> records_of("sizes")
    'sizes'
    """
    return getattr(load(name), "RECORDS", name)
