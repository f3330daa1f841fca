"""Least cost as greatest weight: a pair is worth ``reward - cost``, and one that costs the reward or more is not made.

A matching of k pairs that cost c in all is worth k reward - c. So among matchings with as many pairs the heaviest is
the cheapest, and one pair more is worth up to ``reward`` of further cost. Arrays are NumPy's or CuPy's.

Whole costs stay whole (int64) where the reward is whole; all others are taken to float64, where a difference of two
numbers is 0 only if they are equal: an edge of a cost below the reward stays an edge.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from troth.errors import TrothError

EXACT = 2**53  # whole numbers up to this are exact as float64
LOST = 2.0**-20  # of the largest cost: what a reward may round off it


class LeastCost(NamedTuple):
    """Weights are costs, and are to be turned into worth; the reward is the largest cost where it is None."""

    reward: int | float | None = None


def read_purpose(maximize: Any, reward: Any) -> LeastCost | None:
    """What ``maximize`` and ``reward`` say; None where weights are maximised.

    >>> read_purpose(False, 3), read_purpose(None, None)
    (LeastCost(reward=3), None)
    >>> read_purpose(True, 3)
    Traceback (most recent call last):
    troth.errors.TrothError: reward=3 is for costs: say maximize=False (--minimize) too
    """
    if maximize is not None and not isinstance(maximize, (bool, np.bool_)):
        raise TrothError(f"maximize={maximize!r}: give True (heaviest pairs) or False (cheapest pairs)")
    if maximize is None or maximize:
        if reward is not None:
            raise TrothError(f"reward={reward!r} is for costs: say maximize=False (--minimize) too")
        return None
    if reward is None:
        return LeastCost()
    if isinstance(reward, bool) or not isinstance(reward, Real) or not math.isfinite(reward):
        raise TrothError(f"reward={reward!r}: give a number, which a pair's cost is taken from")
    return LeastCost(int(reward) if isinstance(reward, Integral) else float(reward))


def negated(costs: Any, where: str) -> Any:
    """Costs with the other sign, so that of parallel edges the cheapest is the heaviest; no number is lost."""
    if costs.dtype.kind == "f":
        return -costs
    if costs.size and int(costs.min()) == -(2**63):
        raise TrothError(f"{where}: a cost is -2^63; scale the costs or convert them to float64")
    return -costs.astype(np.int64)


def worth_of(costs: Any, purpose: LeastCost, where: str) -> tuple[Any, int | float]:
    """``reward - cost``, or 0 where that is less, as int64 or float64; and the reward. At least one cost is given."""
    reward = costs.max().item() if purpose.reward is None else purpose.reward
    if costs.dtype.kind != "f" and (isinstance(reward, int) or reward.is_integer()):
        reward, least = int(reward), int(costs.min())
        if not -(2**63) <= reward < 2**63 or reward - least >= 2**63:
            raise TrothError(f"{where}: the reward {reward} less the cost {least} is 2^63 or more; scale the costs")
        return reward - costs.astype(np.int64).clip(None, reward), reward
    if costs.dtype.kind != "f" and max(-int(costs.min()), int(costs.max())) > EXACT:
        raise TrothError(f"{where}: costs above 2^53 with a reward of {reward}: give a whole reward")
    costs = costs.astype(np.float64, copy=False)
    try:
        reward = float(reward)
    except OverflowError:
        reward = math.inf
    if not math.isfinite(reward - costs.min().item()):
        raise TrothError(f"{where}: the reward less the least cost is not a finite number; scale the costs")
    least, most = costs.min().item(), abs(costs).max().item()
    if np.spacing(reward - least) > LOST * most > 0:
        raise TrothError(
            f"{where}: a reward of {reward:g} less costs of up to {most:g} loses these in float64; as many pairs as "
            "possible are made with a reward of the sum of all costs"
        )
    return reward - costs.clip(None, reward), reward


def refuse_worthless(where: str, purpose: LeastCost, reward: int | float) -> None:
    """No pair is worth anything: an answer where the user gave the reward, a refusal where nobody did."""
    if purpose.reward is None:
        raise TrothError(
            f"{where}: every edge costs {reward}, which is the reward where none is given, and a pair at that cost is "
            "worth nothing; give a larger reward"
        )
