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
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

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


def prove(
    checks: Checks,
    mate: Array,
    held: Array,
    sweeps: int = SWEEPS,
    tolerance: float = TOLERANCE,
    prices: Array = None,
) -> Certificate:
    """The certificate of a valid matching; by the prices of the auction that found it, where these are given."""
    weight = checks.matched_weight(mate, held)
    units, exponent = checks.start_dual(mate, held, prices)  # the weight once more, rounded down, in units
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


# ---- least cost, and two sides: nearer and nearer, proven by the prices of the same auction ----

GAP = 0.02  # of the cost, where nothing is said
MOST_ROUNDS = 2**17  # of bids: a war of prices over an item goes on for about 1 / eps
ROUNDED = Fraction(1, 2**52)  # of a number, which two roundings change by less
ATTEMPTS = 12
LEAST_STEP, MOST_STEP = 1 / 16, 1 / 2  # by which eps and slack are lowered
STALLED = 0.9  # of what was missing two attempts before: less eps does not help any more
HOPELESS = 4  # times too much would be missing with the least eps; then long auctions, of
LONG = 2**12  # rounds or more, are not followed by longer ones


def cost_of(reward: int | float, pairs: int, weight: int | float) -> int | float:
    """The cost of some pairs that are worth ``weight``, each ``reward`` less its cost.

    >>> cost_of(10, 3, 24)
    6
    """
    if not math.isfinite(weight):
        return -weight
    cost = Fraction(reward) * pairs - Fraction(weight)
    return int(cost) if isinstance(reward, int) and isinstance(weight, int) else float(cost)


def gap_of(proof: Certificate, cost: int | float, reward: int | float, pairs: int) -> float:
    """What is not proven, as a part of the cost, rounded up.

    A matching of k' pairs is worth k' reward - cost' <= bound, and this one k reward - cost = weight. So
    cost' >= cost - (bound - weight) where k' = k, and where k' > k and the reward is positive. Of floats each
    reward - cost was rounded, in both matchings.

    >>> gap_of(Certificate(24, 25, 0.96, 3), 6, 10, 3)
    0.16666666666666669
    """
    if not (math.isfinite(proof.bound) and math.isfinite(proof.weight)):
        return math.inf
    missing = Fraction(proof.bound) - Fraction(proof.weight)
    if not isinstance(reward, int):
        missing = max(missing, Fraction(0)) + ROUNDED * (pairs * abs(Fraction(reward)) + abs(Fraction(cost)))
    if missing <= 0:
        return 0.0
    return _round_up(missing / abs(Fraction(cost))) if cost else math.inf


def nearness(eps: float) -> tuple[int, float]:
    """How many sweeps at most, and of what tolerance, go with the prices of an auction with this eps."""
    return SWEEPS, min(TOLERANCE, TOLERANCE * eps / 0.02)


class Goal(NamedTuple):
    """What is to be proven: ``target``, a part of the optimum; or that ``gap`` of the cost is all that is missing."""

    target: float | None = None
    gap: float | None = None
    reward: int | float = 0

    def excess(self, proof: Certificate, pairs: int) -> float:
        """How many times what is missing is more than what may be; 1 or less where the goal is reached."""
        if self.target is not None:
            missing, most = 1 - proof.ratio, 1 - self.target
        else:
            missing, most = self._gap(proof, pairs), self.gap or 0.0
        if missing <= most:
            return 1.0
        return missing / most if most else math.inf

    def why_missed(self, proof: Certificate, pairs: int) -> str | None:
        """In words that the goal was not reached; None where it was."""
        if self.target is not None:
            return why_missed(self.target, proof)
        found = self._gap(proof, pairs)
        if self.gap is None or found <= self.gap:
            return None
        proven = f"up to {found:.4g} of the cost may be too much" if found < 1 else "nothing is proven of the cost"
        return f"the gap {self.gap:g} was not reached: {proven}; a smaller reward helps"

    def _gap(self, proof: Certificate, pairs: int) -> float:
        return gap_of(proof, cost_of(self.reward, pairs, proof.weight), self.reward, pairs)


class Attempt(NamedTuple):
    """What an auction found, its proof, its number of pairs, how many rounds it had, and whether it ended by itself."""

    found: Any
    proof: Certificate
    pairs: int
    rounds: int
    ended: bool


def pursue(
    goal: Goal, eps: float, slack: float, least: float, attempt: Callable[[float, float], Attempt]
) -> tuple[Attempt, int]:
    """Auctions with less and less eps and slack until the goal is reached; the best of them, and how many there were.

    What is missing is about proportional to eps, so eps is lowered by what is too much, within limits. The end: the
    goal; ``least``; an auction that was not over after all its rounds; two attempts that brought little; or a long
    auction, where the goal is out of reach.
    """
    best: Attempt | None = None
    tried = list[float]()
    while len(tried) < ATTEMPTS:
        made = attempt(eps, slack)
        excess = goal.excess(made.proof, made.pairs)
        if best is None or (excess, -made.proof.ratio) < (min(tried), -best.proof.ratio):
            best = made
        tried.append(excess)
        stalled = len(tried) > 2 and min(tried[-2:]) > STALLED * min(tried[:-2])
        in_vain = made.rounds >= LONG and excess * least > HOPELESS * eps
        if excess <= 1 or eps <= least or not made.ended or stalled or in_vain:
            break
        step = min(MOST_STEP, max(LEAST_STEP, 0.8 / excess))
        eps, slack = max(least, eps * step), slack * step
    assert best is not None
    return best, len(tried)


def _round_down(x: Fraction) -> float:
    near = float(x)
    return near if near <= x else math.nextafter(near, -math.inf)


def _round_up(x: Fraction) -> float:
    try:
        near = float(x)
    except OverflowError:
        return math.inf
    return near if near >= x else math.nextafter(near, math.inf)
