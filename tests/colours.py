"""What blue-red does at extreme probabilities, on any device: ``check`` runs it and returns its counts."""

from __future__ import annotations

import pytest
from corpus import corpus

extreme_p = pytest.mark.parametrize("p", [1e-18, 1 - 2**-53])


def check_thousands_of_rounds(check, history: int, **options) -> None:
    """One edge, and blue so rare that the two ends seldom differ."""
    stats = check(corpus("one-edge"), 1, p=1e-4, **options)
    assert stats["rounds"] > history
    assert stats["fractions"][-2:] == [0.0, 1.0]


def check_rounds_that_just_pass(check, p: float) -> None:
    """Nobody is blue, or nobody is red."""
    stats = check(corpus("grid-equal"), 0, p=p, rounds=5)
    assert stats["fractions"] == [0.0] * 5
