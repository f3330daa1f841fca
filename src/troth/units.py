"""Weights in units of a power of two: whole numbers, in which sums are exact and comparisons the same everywhere.

Integers are shifted; floats are rounded up (down, for the weight of a matching whose ratio is proven).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

WALK_STEPS = 8  # of an auction's walks
ROOM = 3  # bits: an exchange adds up five weights and a walk eight, and so many of 60 bits stay below 2^63


class Units(NamedTuple):
    """One unit is 2^-exponent: w in units is ``w << exponent`` for integers and ``w * first * second`` for floats.

    Two factors whose product is 2^exponent, which itself may be beyond the floats.
    """

    exponent: np.int64
    first: float
    second: float


def make_units(graph: Any, room: int = 0) -> Units:
    """Units in which a graph's greatest weight, on ranks that of all, is just below 2^63 (floats: at most 2^62).

    With ``room`` it is so many bits less, so that several weights can be added up. Integers beyond that lose their
    last bits.
    """
    if graph.weights.dtype.kind != "f":
        return Units(np.int64(63 - room - graph.bits_range()[1].bit_length()), 1.0, 1.0)
    exponent = 62 - room - math.frexp(greatest_weight(graph))[1]
    return Units(np.int64(exponent), *factors_of(exponent))


def greatest_weight(graph: Any) -> float:
    """A graph's greatest weight, on ranks that of all; ones where there is no edge."""
    dtype = graph.weights.dtype
    return float(np.array([graph.bits_range()[1]], f"u{dtype.itemsize}").view(dtype)[0])


def factors_of(exponent: int) -> tuple[float, float]:
    """Two factors whose product is 2^exponent."""
    return math.ldexp(1.0, exponent // 2), math.ldexp(1.0, exponent - exponent // 2)


def value_factors(graph: Any) -> tuple[float, float]:
    """Two factors that make weights values, the greatest in [1, 2)."""
    return factors_of(1 - math.frexp(greatest_weight(graph))[1])


def most_units(graph: Any) -> int:
    """What no matching exceeds, in units: the greatest weight for every two vertices."""
    units = make_units(graph)
    if graph.weights.dtype.kind != "f":
        return graph.n // 2 * (graph.bits_range()[1] << int(units.exponent))
    return graph.n // 2 * math.ceil(greatest_weight(graph) * units.first * units.second)


def units_up(w, units):
    """A weight in units, rounded up, 1 or more; compiled code only."""
    raise NotImplementedError("units_up is for compiled code")


def units_down(w, units):
    """A weight in units, rounded down; compiled code only."""
    raise NotImplementedError("units_down is for compiled code")


@overload(units_up, inline="always")
def _units_up(w, units):
    # The product is exact, or it underflowed, perhaps to 0, and w is far below one unit: then 1 is w rounded up.
    if isinstance(w, types.Float):
        return lambda w, units: max(np.int64(1), np.int64(math.ceil(np.float64(w) * units.first * units.second)))
    return lambda w, units: (
        np.int64(w) << units.exponent if units.exponent >= 0 else max(np.int64(1), np.int64(w) >> -units.exponent)
    )


@overload(units_down, inline="always")
def _units_down(w, units):
    if isinstance(w, types.Float):
        return lambda w, units: np.int64(np.float64(w) * units.first * units.second)
    return lambda w, units: np.int64(w) << units.exponent
