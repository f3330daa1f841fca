"""Pictures: ``draw`` a graph and its matching, or the ``steps`` of an algorithm as a page."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {"draw": "drawing", "steps": "page"}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'troth.viz' has no attribute {name!r}")
    return getattr(import_module(f"troth.viz.{_HOME[name]}"), name)
