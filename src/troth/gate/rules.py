"""What the two gates decide alike: the weight rule, types of sums, notes. Arrays are NumPy's or CuPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def apply_rule(rule: str, data: Any, xp: Any, count: int, draw: Callable, clean: Callable, absolute: Callable) -> Any:
    """The weights of the entries under ``rule``; ``data`` is None where there are no values.

    ``xp`` is NumPy or CuPy, ``draw(out)`` fills in random weights, ``clean(data)`` has a type that engines compare
    exactly.
    """
    if rule == "random" or (rule == "paper" and data is None):
        out = xp.empty(count, np.float32)
        draw(out)
        return out
    if rule == "unit" or data is None:
        return xp.ones(count, np.int32)
    data = clean(data)
    return data if rule == "keep" else clean(absolute(data))


def ignores_values(rule: str, pattern: bool) -> bool:
    """Whether the weights of a matrix under ``rule`` do not depend on its values."""
    return pattern or rule in ("unit", "random")


def has_least_integer(data: Any) -> bool:
    """Whether some number is the least of its signed type, whose absolute value only the unsigned type holds."""
    return data.dtype.kind == "i" and bool(data.size) and int(data.min()) == np.iinfo(data.dtype).min


def fits(total: Any, kind: np.dtype) -> bool:
    """Whether whole numbers, at least one, fit an integer type."""
    limits = np.iinfo(kind)
    return limits.min <= int(total.min()) and int(total.max()) <= limits.max


def type_of_both(symmetrize: str, kind: np.dtype) -> np.dtype:
    """The type in which the two directions of an edge are combined.

    >>> type_of_both("mean", np.dtype(np.int32)), type_of_both("max", np.dtype(np.int32))
    (dtype('float64'), dtype('int32'))
    """
    if kind.kind == "f" or symmetrize not in ("sum", "mean"):
        return kind
    return np.dtype(np.int64 if symmetrize == "sum" else np.float64)


def sum_may_overflow(symmetrize: str, data: Any) -> bool:
    """Whether the sum of two integers may be 2^63 or more."""
    whole = symmetrize == "sum" and data.dtype.kind != "f"
    return whole and max(int(data.max()), -int(data.min())) >= 2**62


def notes_of(**counts: int) -> dict[str, int]:
    """The notes on what was changed: those that count something.

    >>> notes_of(loops=0, repeats=3)
    {'repeats': 3}
    """
    return {name: int(count) for name, count in counts.items() if count}
