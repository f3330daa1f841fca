"""troth: heavy matchings in big weighted graphs, the same on every engine.

>>> import troth
>>> g = troth.generate("grid", rows=100, cols=100, seed=1)
>>> m = troth.match(g, certify=True)
>>> bool(troth.verify(g, m)), m.certificate.ratio > 0.5
(True, True)
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

# Everything loads when it is first used, so that ``import troth`` costs next to nothing.
_HOME = {
    "Certificate": "verify",
    "Graph": "graph",
    "Level": "coarsen",
    "Matching": "matching",
    "Report": "verify",
    "TrothError": "errors",
    "as_graph": "graph",
    "certificate": "verify",
    "coarsen": "coarsen",
    "draw": "viz",
    "generate": "generate",
    "hierarchy": "coarsen",
    "match": "api",
    "read": "io",
    "strongest": "api",
    "verify": "verify",
    "write": "io",
}
_PACKAGES = ("interop", "mpi", "viz")

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"troth.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'troth' has no attribute {name!r}")
    value = getattr(import_module(f"troth.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES])


class _Package(ModuleType):
    """``troth.coarsen``, ``generate`` and ``verify`` are functions that live in submodules of the same name.

    Importing such a submodule would put the module in the function's place; the function stays.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HOME and isinstance(value, ModuleType):
            value = getattr(value, name, value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
