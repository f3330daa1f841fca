"""When a paper's claim is held: one rule for all experiments, which the report and docs/claims.md print.

Papers give a number, a formula, or a word such as "similar". What each of them asks for is decided here.
"""

from __future__ import annotations

VERDICTS = ("held", "exceeded", "not held", "differs", "not tested")
QUARTER = 0.25  # of a ratio of times: nearer is as the paper says, similar, or minor
POINTS = 0.10  # between two shares of the graphs
CLOSE = 0.01  # between a fraction and the formula for it, and between two places of its maximum
WEIGHT = 5  # per cent of a weight, or of a number of pairs: nearer is similar
IDEAL = 0.5  # of the ideal speedup: more is good scaling

RULE = (
    "One rule decides what is held. A number of times, a paper's “up to” included, is held where ours "
    f"is within {100 * QUARTER:.0f} per cent of it, exceeded above and not held below; a share of the graphs "
    f"likewise, within {100 * POINTS:.0f} points; a formula where what was measured is nowhere further from it than "
    f"{CLOSE}. Times are similar, and an effect is minor, within {100 * QUARTER:.0f} per cent; more is large, much or "
    f"significant. Weights and numbers of pairs are similar within {WEIGHT} per cent, and significantly lower beyond. "
    f"To scale well is to have more than {100 * IDEAL:.0f} per cent of the ideal speedup; some speedup is any. Better, "
    "worse, best and worst are meant in the mean over the graphs, by however little; most are more than half."
)


def reached(ours: float, theirs: float) -> str:
    """The verdict on a number of times.

    >>> reached(22, 20), reached(40, 20), reached(10, 20)
    ('held', 'exceeded', 'not held')
    """
    return "exceeded" if ours > (1 + QUARTER) * theirs else held(ours >= (1 - QUARTER) * theirs)


def reached_share(ours: float, theirs: float) -> str:
    """The verdict on a share of the graphs.

    >>> reached_share(0.85, 0.9), reached_share(0.75, 0.9), reached_share(0.75, 0.6)
    ('held', 'not held', 'exceeded')
    """
    return "exceeded" if ours > theirs + POINTS else held(ours >= theirs - POINTS)


def held(is_so: bool) -> str:
    """The verdict on what is so or is not."""
    return "held" if is_so else "not held"
