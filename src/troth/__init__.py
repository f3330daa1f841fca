"""troth: heavy matchings in big weighted graphs, the same on every engine.

>>> import troth
>>> g = troth.generate("grid", rows=100, cols=100, seed=1)
>>> m = troth.match(g, certify=True)
>>> bool(troth.verify(g, m)), m.certificate.ratio > 0.5
(True, True)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Everything loads when it is first used, so that ``import troth`` costs next to nothing; ``__init__.pyi`` says the same
# to editors and type checkers.
_HOME = {
    "Assignment": "api.assigning",
    "Certificate": "api.proof",
    "Graph": "graph",
    "Level": "api.levels",
    "Matching": "api.result",
    "Report": "api.checking",
    "RowPairs": "api.row_pairs",
    "TrothError": "errors",
    "as_graph": "api.opening",
    "assign": "api.assigning",
    "certificate": "api.checking",
    "coarsen": "api.coarsening",
    "draw": "viz",
    "generate": "families",
    "hierarchy": "api.coarsening",
    "match": "api.calls",
    "pair_rows": "api.pairing",
    "read": "api.opening",
    "strongest": "api.calls",
    "verify": "api.checking",
    "write": "api.opening",
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
