"""Packages that troth does without until they are asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from troth.errors import TrothError


def require(package: str) -> Any:
    """Import a package of tables, or say what to install."""
    try:
        return import_module(package)
    except ImportError as error:
        extra = "polars" if package == "polars" else '"troth[tables]"'
        raise TrothError(f"{package} is not installed: pip install {extra}") from error


def pyplot_for(call: str) -> Any:
    """matplotlib's pyplot, or a refusal of the call that needs it."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise TrothError(f'{call} needs matplotlib: pip install "troth[plot]"') from None
    return pyplot
