"""The expectation of one round of blue-red matching: against all graphs and colours of few vertices, and measured."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from bench import one_round
from bench.setting import Setting

P = (0.2, one_round.P, 0.8)


def by_hand(p: float, n: int, d: float) -> float:
    """2 E(N) / n: every graph, every colouring; the chance that a red vertex is asked by nobody is a product."""
    pairs, total = list(combinations(range(n), 2)), 0.0
    for there in product((False, True), repeat=len(pairs)):
        edges = {pair for pair, is_there in zip(pairs, there, strict=True) if is_there}
        likely = d ** len(edges) * (1 - d) ** (len(pairs) - len(edges))
        for blue in product((False, True), repeat=n):
            chance = likely * p ** sum(blue) * (1 - p) ** (n - sum(blue))
            near = [[v for v in range(n) if tuple(sorted((u, v))) in edges] for u in range(n)]
            red = [[v for v in near[u] if not blue[v]] for u in range(n)]
            asked = [1 - np.prod([1 - 1 / len(red[u]) for u in near[v] if blue[u]]) for v in range(n) if not blue[v]]
            total += chance * sum(asked)
    return 2 * total / n


@pytest.mark.parametrize("d", [0.3, 1.0])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_exact_is_what_all_cases_add_up_to(n, d):
    for p in P:
        assert one_round.exact(p, n, d) == pytest.approx(by_hand(p, n, d))


@pytest.mark.parametrize("p", P)
def test_both_formulas_go_to_the_limit(p):
    for formula in (one_round.finite, one_round.exact):
        apart = [abs(formula(p, n, 0.5) - one_round.limit(p)) for n in (10, 100, 1000, 10_000)]
        assert apart == sorted(apart, reverse=True)
        assert apart[-1] < 1e-3


def test_limit_is_greatest_at_the_slides_choice():
    p = np.linspace(0.01, 0.99, 9801)
    assert p[np.argmax(one_round.limit(p))] == pytest.approx(one_round.P, abs=1e-4)
    assert one_round.best_p() == pytest.approx(one_round.P, abs=5e-6)


@pytest.mark.parametrize(("n", "d"), [(8, 1.0), (32, 0.1)])
def test_measured_fraction_is_the_exact_one(n, d):
    """20,000 vertices in copies, four runs for each p: a standard error of about 0.002."""
    graph = one_round.copies(n, d, 20_000 // n, seed=1)
    found = one_round.over_p(graph, "cpu", Setting(size="tiny", threads=1))
    expected = [one_round.exact(p, n, d) for p in found["p"]]
    assert np.abs(np.subtract(found["fraction"], expected)).max() < 0.02


def test_copies_are_apart_and_as_dense_as_asked():
    graph = one_round.copies(10, 0.4, 300, seed=3)
    row = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    assert (row // 10 == graph.indices // 10).all()
    assert graph.m / (300 * 45) == pytest.approx(0.4, abs=0.02)
