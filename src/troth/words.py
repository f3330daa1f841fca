"""Words and numbers that several layers share."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

MOST_JOINED = 8  # vertices that become one at a time where each joins its strongest neighbour
BEST_P = 0.53406  # the probability of blue at which a round of blue-red matches most (Fagginger Auer and Bisseling)
GPU_SUITOR_VARIANTS = ("nosync", "synclb", "syncnolb", "hybrid")  # of Naim et al.
# A name with one of these words in it is that of a cost: less of it is better.
COST_WORDS = frozenset(
    (
        *("cost", "costs", "distance", "distances", "dist", "length", "lengths", "len", "dissimilarity", "price"),
        *(
            "fare",
            "penalty",
            "expense",
            "duration",
            "latency",
            "delay",
            "traveltime",
            "km",
            "miles",
            "metres",
            "meters",
        ),
    )
)


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


def means_cost(name: Any) -> bool:
    """Whether the name of a column or of an attribute is that of a cost, of which less is better.

    >>> [means_cost(name) for name in ("weight", "Distance", "edge_length", "travelTime", "distanced", "lens")]
    [False, True, True, True, False, False]
    """
    text = str(name)
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", text)
    words = {part.lower() for part in parts} | {"".join(parts).lower()}
    return not COST_WORDS.isdisjoint(words)


def did_you_mean(word: Any, known: Iterable[Any]) -> str:
    """The known word that is most like one that is not known, in brackets with a blank before; "" where none is.

    >>> did_you_mean("suiter", ["auction", "suitor"]), did_you_mean("x", ["suitor"])
    (" (did you mean 'suitor'?)", '')
    """
    from difflib import get_close_matches

    plain = {str(name).lower().replace("_", "-"): str(name) for name in known}
    near = get_close_matches(str(word).lower().replace("_", "-"), plain, n=1, cutoff=0.6)
    return f" (did you mean {plain[near[0]]!r}?)" if near else ""
