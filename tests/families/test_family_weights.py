"""The weights of the families: every rule, its type, its range and its distribution."""

from __future__ import annotations

import numpy as np
import pytest
from corpus import TIES
from small import SMALL, edge_set

from troth import reference
from troth.families import RULES, from_spec, generate
from troth.families.structures import cells_and_reach, scatter
from troth.gate.cpu import uniform_weight
from troth.order import WEIGHT, hash_int, make_order


@pytest.mark.parametrize(("dtype", "bits"), [("float32", 24), ("float64", 53)])
def test_uniform_weights_are_functions_of_seed_and_ends(dtype, bits):
    graph = generate("complete", n=40, seed=6, dtype=dtype)
    assert graph.weights.dtype == dtype
    for (u, v), w in reference.edges(graph).items():
        assert w == ((hash_int(6, WEIGHT, u, v) >> (64 - bits)) + 1) * 2.0**-bits


def test_uniform_is_the_random_rule_of_the_gate():
    graph = generate("complete", n=20, seed=8)
    assert all(w == uniform_weight(np.uint64(8), v, u) for (u, v), w in reference.edges(graph).items())


def test_types_where_none_is_asked_for():
    found = {rule: generate("rgg", n=9, degree=4, weights=rule).weights.dtype.name for rule in RULES}
    whole = {"integers": "int32", "increasing": "int32"}
    assert found == {rule: whole.get(rule, "float32") for rule in RULES}


def test_unit_weights_in_every_type():
    for dtype in ("float32", "float64", "int8", "int64", "uint8", "uint64", np.int16, np.dtype(">i4")):
        weights = generate("path", n=4, weights="unit", dtype=dtype).weights
        assert weights.tolist() == [1] * 6
        assert weights.dtype == np.dtype(dtype).newbyteorder("=")


@pytest.mark.parametrize(
    ("high", "dtype"), [(None, "int32"), (1, "uint8"), (255, "uint8"), (2**53, "int64"), (2**53, "float64")]
)
def test_integers_reach_from_one_to_high(high, dtype):
    weights = generate("complete", n=120, weights="integers", high=high, dtype=dtype).weights
    assert weights.dtype == dtype
    assert weights.min() >= 1
    assert weights.max() <= (high or 10)
    assert (weights == weights.astype(np.int64)).all()
    if high is None:
        assert set(weights.tolist()) == set(range(1, 11))
    assert weights.max() > (high or 10) * 0.99


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exponential_has_the_exponential_distribution(dtype):
    from scipy.stats import kstest

    graph = generate("path", n=20001, weights="exponential", dtype=dtype)
    weights = graph.weights[::2].astype(float)
    # Both directions of an edge are neighbours in a path's rows: every second entry is one sample of an edge.
    assert kstest(weights, "expon").pvalue > 0.01
    assert weights.min() > 0
    assert weights.max() > 7


def test_increasing_numbers_the_edges_in_order():
    assert generate("path", n=5, weights="increasing").weights.tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    for spec in SMALL:
        graph = from_spec(f"{spec},weights=increasing")
        assert list(reference.edges(graph).values()) == list(range(1, graph.m + 1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "degree", "seed"), [(300, 9, 5), (50, 49, 2**64 - 1), (2000, 0.5, 1), (2, 1, 3)])
def test_near_weights_fall_with_the_distance(n, degree, seed, dtype):
    """Squared distances are exact, as Python's integers have them."""
    cells, reach = cells_and_reach(n, degree)
    points = scatter(np.uint64(seed), n, cells)[0].tolist()
    graph = generate("rgg", n=n, degree=degree, weights="near", seed=seed, dtype=dtype)
    assert edge_set(graph) == edge_set(generate("rgg", n=n, degree=degree, seed=seed))
    for (u, v), w in reference.edges(graph).items():
        square = sum((a - b) ** 2 for a, b in zip(points[u], points[v], strict=True))
        assert 0 <= square < reach
        assert w == np.dtype(dtype).type(float(reach - square) / float(reach))
        assert 0 < w <= 1


def test_near_weights_reach_from_zero_to_one():
    weights = generate("rgg", n=20000, degree=12, weights="near").weights
    assert weights.min() < 1e-4
    assert weights.max() > 1 - 1e-4
    assert abs(weights.mean() - 0.5) < 0.01  # a disc has half of its points beyond r / sqrt(2)


def best_on_path(weights: list[float]) -> float:
    """The heaviest set of edges of a path of which no two are consecutive."""
    before = best = 0.0
    for weight in weights:
        before, best = best, max(best, before + weight)
    return best


@pytest.mark.parametrize("ties", TIES)
def test_trap_holds_greedy_to_half(ties):
    groups = 25
    graph = generate("path", n=4 * groups, weights="trap")
    weights = reference.edges(graph)
    mate = reference.greedy(graph, make_order(ties, graph=graph))
    greedy = sum(w for (u, v), w in weights.items() if mate[u] == v)
    best = best_on_path(list(weights.values()))
    assert best == 2 * groups
    assert [int(mate[v]) for v in range(1, graph.n, 4)] == list(range(2, graph.n, 4))
    assert 0.5 <= greedy / best < 0.50001
