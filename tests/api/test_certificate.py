"""The certificate is a proof: brute force finds nothing above its bound, and no rounding helps it."""

import json
import math
from fractions import Fraction

import networkx
import numpy as np
import pytest
from corpus import (
    HUGE,
    TIES,
    build,
    complete,
    corpus,
    exact_weight,
    graphs,
    greedy,
    grid,
    matchings,
    on_corpus,
    optimum,
    order_of,
    path,
    read_real,
)
from hypothesis import given
from hypothesis import strategies as st

from troth import reference
from troth.api.checking import certificate
from troth.api.proof import Certificate
from troth.errors import TrothError
from troth.graph import Graph

THREADS = (1, 2, 3, 7)
slides = corpus("slides")
best = [2, -1, 0, 4, 3]


def check_certificate(graph: Graph, mate, proof: Certificate, best: Fraction) -> None:
    """The three claims, in exact arithmetic."""
    weight = exact_weight(graph, mate)
    assert 0 <= proof.ratio <= 1
    assert Fraction(proof.ratio) * best <= weight  # what a reader takes from it
    if math.isfinite(proof.bound):
        assert Fraction(proof.bound) >= best
        assert Fraction(proof.ratio) * Fraction(proof.bound) <= min(weight, Fraction(proof.weight))
    if graph.weights.dtype.kind != "f":
        assert proof.weight == weight
        assert isinstance(proof.weight, int)
        assert isinstance(proof.bound, int)


@given(matchings(), st.integers(1, 40), st.sampled_from([0, 1e-4, 0.1]))
def test_certificates_are_proofs_for_any_matching(case, sweeps, tolerance):
    graph, mate = case
    proof = certificate(graph, mate, sweeps=sweeps, tolerance=tolerance)
    check_certificate(graph, mate, proof, optimum(graph))
    assert proof.sweeps <= sweeps


@given(graphs(max_n=9), st.sampled_from(TIES))
def test_certificates_of_dominant_matchings_prove_one_half(graph, ties):
    mate = greedy(graph, ties)
    proof = certificate(graph, mate)
    check_certificate(graph, mate, proof, optimum(graph))
    assert proof.ratio >= (0.5 if graph.weights.dtype.kind != "f" else 0.5 - 2**-50)  # floats are rounded to units


@on_corpus
def test_certificates_on_the_corpus(graph):
    mate = greedy(graph)
    proofs = {certificate(graph, mate, threads=threads) for threads in THREADS}
    assert len(proofs) == 1
    proof = proofs.pop()
    if graph.n <= 12:
        check_certificate(graph, mate, proof, optimum(graph))
    assert 0.5 <= proof.ratio <= 1
    assert math.isfinite(proof.bound)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("top", [5, 1000, 2**60])
def test_certificates_against_an_exact_solver(seed, top):
    rng = np.random.default_rng(seed)
    draws = rng.integers(0, 40, (150, 2)).tolist()
    pairs = sorted({(min(u, v), max(u, v)) for u, v in draws if u != v})
    graph = build([(u, v, int(rng.integers(1, top, endpoint=True))) for u, v in pairs], 40)
    solver = networkx.Graph()
    solver.add_weighted_edges_from((u, v, w) for (u, v), w in reference.edges(graph).items())
    best = sum(solver[u][v]["weight"] for u, v in networkx.max_weight_matching(solver))
    for mate in (greedy(graph), reference.luby(graph, seed), reference.blue_red(graph, order_of(graph))[0]):
        check_certificate(graph, mate, certificate(graph, mate), Fraction(best))


def test_more_sweeps_never_raise_the_bound():
    graph = grid(12, 12, lambda u, v: 1 + (u * 7 + v * 13) % 101)
    mate = greedy(graph)
    bounds = [certificate(graph, mate, sweeps=sweeps, tolerance=0).bound for sweeps in range(1, 25)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < bounds[0]
    default = certificate(graph, mate)
    assert default.sweeps < 20
    assert default.bound <= 1.001 * bounds[-1]


def test_a_perfect_answer_is_proven_perfect():
    path_graph = path([1, 10, 1])
    assert certificate(path_graph, greedy(path_graph)) == Certificate(
        10, 10, 1.0, certificate(path_graph, [-1, 2, 1, -1]).sweeps
    )
    for dtype in (np.int64, np.float32, np.float64):
        square = grid(10, 10, lambda u, v: 3, dtype)
        rows = [v ^ 1 for v in range(100)]
        assert certificate(square, rows).ratio == 1.0


def test_nothing_matched_proves_nothing():
    proof = certificate(slides, [-1] * 5)
    assert (proof.weight, proof.ratio) == (0, 0.0)
    assert proof.bound >= 15


def test_sums_beyond_the_floats_keep_their_ratio():
    graph = path([HUGE, 1.0, HUGE, HUGE], np.float64)
    mate = [1, 0, 3, 2, -1]
    proof = certificate(graph, mate)
    assert proof.weight == proof.bound == math.inf
    check_certificate(graph, mate, proof, optimum(graph))
    assert proof.ratio > 0.999


def test_denormals_are_told_apart():
    graph = path([5e-324, 1e-323, 5e-324, 5e-324], np.float64)
    mate = greedy(graph)
    proof = certificate(graph, mate, tolerance=0)
    check_certificate(graph, mate, proof, optimum(graph))
    assert proof.ratio == 1.0


def test_a_float_sum_that_rounds_up_is_not_believed():
    """1 + (1 + 2^-52) is 2 in floats (ties to even), and many such roundings add up; the ratio must not profit."""
    edges = [(2 * i, 2 * i + 1, 1 + (3 + i % 2) * 2**-52) for i in range(500)]
    graph = build(edges, dtype=np.float64)
    mate = [v ^ 1 for v in range(1000)]
    proof = certificate(graph, mate)
    check_certificate(graph, mate, proof, exact_weight(graph, mate))


@pytest.mark.parametrize(
    "options",
    [
        {"sweeps": 0},
        {"sweeps": 2.5},
        {"sweeps": True},
        {"tolerance": -1},
        {"tolerance": math.nan},
        {"tolerance": "a"},
        {"tolerance": None},
    ],
)
def test_impossible_options_are_refused(options):
    with pytest.raises(TrothError, match="or more"):
        certificate(slides, best, **options)


def test_integer_sums_do_not_overflow():
    graph = complete(40, lambda u, v: 2**63 - 1 - (u + v) % 2)
    mate = greedy(graph)
    proof = certificate(graph, mate)
    assert proof.weight == exact_weight(graph, mate) > 2**66
    assert proof.weight <= 20 * (2**63 - 1) <= proof.bound + 20


def test_known_optima_lie_below_the_bound(data):
    known = json.loads(data("optimum/real_graphs.json").read_text())["optima"]
    for name, facts in known.items():
        graph = read_real(data(name))
        proof = certificate(graph, greedy(graph))
        assert proof.bound >= facts["optimum"] * (1 - 1e-12)
        assert 0.75 < proof.ratio <= proof.weight / facts["optimum"] * (1 + 1e-12)
