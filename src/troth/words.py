"""Words and numbers that several layers share."""

from __future__ import annotations

import math
from typing import Any

BEST_P = 0.53406  # the probability of blue at which a round of blue-red matches most (Fagginger Auer and Bisseling)
GPU_SUITOR_VARIANTS = ("nosync", "synclb", "syncnolb", "hybrid")  # of Naim et al.


def counted(number: int, one: str, more: str) -> str:
    """A number of things.

    >>> counted(1, "vertex", "vertices"), counted(1200, "edge", "edges")
    ('1 vertex', '1,200 edges')
    """
    return f"{number:,} {one if number == 1 else more}"


def at_least(ratio: float) -> str:
    """A proven ratio, rounded down, since to the nearest would claim more than was proven.

    >>> at_least(0.99999), at_least(1.0)
    ('0.9999', '1.0')
    """
    return str(math.floor(ratio * 10**4) / 10**4)


def as_json(value: Any) -> Any:
    """The value in types that JSON has; an infinite sum becomes null, for JSON has no infinity.

    >>> as_json({"bound": math.inf, 2: (1, "x")})
    {'bound': None, '2': [1, 'x']}
    """
    if isinstance(value, dict):
        return {str(name): as_json(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if hasattr(value, "tolist"):
        return as_json(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
