"""The experiments, one module each; ``bench`` says what a module holds."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from types import ModuleType

from troth.errors import TrothError

ORDER = (
    "sizes",
    "runtimes",
    "speedups",
    "variants",
    "tuning",
    "blue-red",
    "handshake",
    "pgas",
    "peers",
    "quality",
    "scaling",
    "ties",
)


def _module(name: str) -> str:
    return f"{__name__}.{name.replace('-', '_')}"


def names() -> list[str]:
    """The names of all experiments, in the order of the report."""
    return list(ORDER)


def load(name: str) -> ModuleType:
    """The module of an experiment.

    >>> load("sizes").NAME
    'sizes'
    """
    if name not in names():
        near = get_close_matches(name, names(), 1)
        said = f"the nearest is {near[0]} (--list has all)" if near else f"there are {', '.join(names())}"
        raise TrothError(f"{name!r} is not an experiment; {said}")
    return import_module(_module(name))


def records_of(name: str) -> str:
    """The experiment whose records this one presents: itself, or the one that it shares measurements with.

    >>> records_of("sizes")
    'sizes'
    """
    return getattr(load(name), "RECORDS", name)
