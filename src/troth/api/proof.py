"""A proof of how good a matching is: a feasible dual, found by sweeps over the graph.

For any y >= 0 with y(u) + y(v) >= w(u, v) on every edge (a feasible dual of the matching problem), a matching M* weighs
sum over M* of w(u, v) <= sum over M* of y(u) + y(v) <= sum of y, since M* meets each vertex once at most.

For any prices p >= 0, y(v) = (p(v) + max(0, max_u (w(u, v) - p(u)))) / 2 is feasible: the two ends of an edge get
half of p(u), of w - p(u), of p(v) and of w - p(v), or more. The prices of an auction (``reference_auction.py``) make
this sum small, and damped Jacobi sweeps make it smaller: y'(v) = max(0, max_u (w(u, v) - y(u))), y <- (y + y') / 2. The
first such sweep, from y = p, is the formula above; see ``cpu/checks.py`` for why y is feasible after any sweep.

Nor is a matching heavier than the greatest weight for every two vertices: the better bound where all weights are equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from troth.contract import Array, Checks
from troth.units import most_units

T = TypeVar("T")

SWEEPS = 50
TOLERANCE = 1e-3


@dataclass(frozen=True)
class Certificate:
    """A proof: no matching of this graph is heavier than ``bound``, so this one has ``ratio`` of the optimum or more.

    Attributes
    ----------
    weight : int or float
        The matching's weight (exact for integers).
    bound : int or float
        At least the weight of every matching; a whole number for integers, rounded up for floats.
    ratio : float
        weight / bound, rounded down.
    sweeps : int
        How many sweeps improved the dual.
    """

    weight: int | float
    bound: int | float
    ratio: float
    sweeps: int


def prove(checks: Checks, mate: Array, held: Array, sweeps: int = SWEEPS, tolerance: float = TOLERANCE) -> Certificate:
    """The certificate of a valid matching."""
    weight = checks.matched_weight(mate, held)
    units, exponent = checks.start_dual(mate, held)  # the weight once more, rounded down, in units
    totals: list[int] = []
    while len(totals) < sweeps and (len(totals) < 2 or totals[-2] - totals[-1] > tolerance * totals[-1]):
        totals.append(checks.sweep_dual())
    total, done = min(totals[-1], most_units(checks.graph)), len(totals)
    if 2 * units < total and checks.first_uncovered(held) is None:
        # Dominant, so the weight matched at each vertex is a feasible dual too; each is up to a unit more than counted.
        total = min(total, 2 * units if isinstance(weight, int) else 2 * units + checks.graph.n)
    if isinstance(weight, int):
        whole_bound = total >> exponent  # the optimum is whole and at most total / 2^exponent
        ratio = _round_down(Fraction(weight, whole_bound)) if whole_bound else 1.0
        return Certificate(weight, whole_bound, ratio, done)
    unit = Fraction(2) ** -exponent
    bound = _round_up(total * unit)
    # From below in two ways: the units were rounded down, and the sum of floats may have rounded up or down.
    low = min(units * unit, Fraction(weight)) if math.isfinite(weight) else units * unit
    high = Fraction(bound) if math.isfinite(bound) else total * unit
    return Certificate(weight, bound, _round_down(low / high) if high else 1.0, done)


def first_to_reach(target: float, attempts: Iterable[tuple[T, Certificate]]) -> tuple[T, Certificate]:
    """The first of some results whose certified ratio reaches the target; if none does, that of the greatest."""
    best: tuple[T, Certificate] | None = None
    for found, proof in attempts:
        if best is None or proof.ratio > best[1].ratio:
            best = found, proof
        if proof.ratio >= target:
            break
    assert best is not None
    return best


def why_missed(target: float | None, proof: Certificate | None) -> str | None:
    """In words that a target was not reached; None where it was, or where there is none."""
    if target is None or proof is None or proof.ratio >= target:
        return None
    return f"the target {target:g} was not reached: {proof.ratio:.4f} is proven, and the bound may be the limit"


def _round_down(x: Fraction) -> float:
    near = float(x)
    return near if near <= x else math.nextafter(near, -math.inf)


def _round_up(x: Fraction) -> float:
    try:
        near = float(x)
    except OverflowError:
        return math.inf
    return near if near >= x else math.nextafter(near, math.inf)
