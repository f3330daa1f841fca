"""The checks fail for the right reason, and the certificate is a proof: brute force finds nothing above its bound."""

import json
import math
from fractions import Fraction

import networkx
import numpy as np
import pytest
from corpus import (
    DTYPES,
    FLOATS,
    HUGE,
    INTEGERS,
    TIES,
    TINY,
    build,
    complete,
    corpus,
    cycle,
    exact_weight,
    graphs,
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
from numba import njit

from troth import reference
from troth.api.checking import certificate, verify
from troth.api.proof import Certificate
from troth.api.result import Matching
from troth.cpu.checks import make_units, sweep, units_down, units_up
from troth.errors import TrothError
from troth.graph import Graph
from troth.kernels.team import new_cursor
from troth.rows import find, number_rows_of

THREADS = (1, 2, 3, 7)
slides = corpus("slides")
best = [2, -1, 0, 4, 3]


def greedy(graph, ties="hash"):
    return reference.greedy(graph, order_of(graph, ties))


# ---- validity ----


@pytest.mark.parametrize(
    ("mates", "reason"),
    [
        ([2, -1, 0, 4], "the mates have shape (4,), the graph has 5 vertices"),
        ([[2, -1, 0, 4, 3]], "the mates have shape (1, 5), the graph has 5 vertices"),
        (None, "the mates have shape (), the graph has 5 vertices"),
        ([2.0, -1.0, 0.0, 4.0, 3.0], "the mates are float64, not integers"),
        ([True, False, False, False, False], "the mates are bool, not integers"),
        ([2, -2, 0, 4, 3], "vertex 1: its mate -2 is not a vertex: 0 to 4, or -1 for none"),
        ([2, -1, 0, 5, 3], "vertex 3: its mate 5 is not a vertex: 0 to 4, or -1 for none"),
        ([2 + 2**32, -1, 0, 4, 3], "vertex 0: its mate 4294967298 is not a vertex: 0 to 4, or -1 for none"),
        ([2, 1, 0, 4, 3], "vertex 1 is its own mate"),
        ([2, 0, 0, 4, 3], "vertex 1: its mate is 0, but the mate of 0 is 2"),
        ([-1, -1, -1, 4, -1], "vertex 3: its mate is 4, but the mate of 4 is -1"),
        ([3, -1, -1, 0, -1], "vertex 0: its mate 3 is not a neighbour"),
    ],
)
def test_what_is_no_matching(mates, reason):
    for threads in THREADS:
        report = verify(slides, mates, threads=threads)
        assert not report
        assert not report.valid
        assert not report.maximal
        assert not report.dominant
        assert report.reason == reason
        assert (report.weight, report.bound, report.ratio) == (None, None, None)
    with pytest.raises(TrothError, match="no certificate without a matching") as refusal:
        certificate(slides, mates)
    assert reason in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_mates_of_any_integer_type(dtype):
    assert verify(slides, np.array(best, dtype)).ok
    assert verify(slides, np.array([*best, 0], dtype)[:-1]).ok
    assert verify(slides, np.repeat(np.array(best, dtype), 2)[::2]).ok


def test_unsigned_mates_have_no_free_vertices():
    pair = build([(0, 1, 3)])
    assert verify(pair, np.array([1, 0], np.uint64)).ok
    assert verify(slides, np.array(best, np.int64).astype(np.uint64)).reason.startswith(
        f"vertex 1: its mate {2**64 - 1}"
    )


@pytest.mark.parametrize("n", [0, 1, 5])
def test_graphs_without_edges(n):
    report = verify(build([], n), np.full(n, -1))
    assert report.ok
    assert report.dominant
    assert (report.weight, report.bound, report.ratio, report.reason) == (0, 0, 1.0, "")
    report = verify(build([], n, np.float64), [-1] * n)
    assert (report.weight, report.bound, report.ratio) == (0.0, 0.0, 1.0)


# ---- maximality and dominance ----


def test_a_free_edge_is_named():
    report = verify(slides, [-1, -1, -1, 4, 3])
    assert report.valid
    assert not report.maximal
    assert not report.dominant
    assert not report
    assert report.reason == "edge (0, 1) joins two unmatched vertices"


def test_dominance_fails_only_where_it_was_promised():
    mates = [1, 0, 3, 2, -1]  # a-b 4, c-d 7; d-e 10 and c-e 9 are heavier than both ends
    report = verify(slides, mates)
    assert report.ok
    assert report.maximal
    assert not report.dominant
    assert report.reason == "edge (2, 4) of weight 9 is heavier than the matched edges at its ends"
    assert not verify(slides, mates, promises_dominance=True).ok
    assert verify(slides, best, promises_dominance=True).ok


def test_dominance_is_compared_by_weight_alone():
    square = cycle([5, 5, 5, 5])
    assert verify(square, [1, 0, 3, 2], promises_dominance=True).ok
    assert verify(square, [3, 2, 1, 0], promises_dominance=True).ok


@pytest.mark.parametrize("algorithm", ["suitor", "greedy", "blue-red", "local-random"])
def test_the_engine_of_a_matching_says_what_it_promises(algorithm):
    matching = Matching(slides, np.array([1, 0, 3, 2, -1], np.int32), algorithm)
    report = verify(slides, matching)
    assert report.promises_dominance == (algorithm in ("suitor", "greedy"))
    assert report.ok != report.promises_dominance
    assert verify(slides, matching, promises_dominance=False).ok


@given(matchings())
def test_checks_equal_their_definitions(case):
    graph, mate = case
    weight = reference.edges(graph)
    held = [weight[min(v, u), max(v, u)] if u >= 0 else 0 for v, u in enumerate(mate.tolist())]
    free = [e for e in weight if mate[e[0]] < 0 and mate[e[1]] < 0]
    heavier = [(u, v) for (u, v), w in weight.items() if w > max(held[u], held[v])]
    for threads in THREADS:
        report = verify(graph, mate, certify=False, threads=threads)
        assert (report.valid, report.maximal, report.dominant) == (True, not free, not heavier)
        assert (report.bound, report.ratio) == (None, None)
        if free:
            assert report.reason == f"edge {min(free)} joins two unmatched vertices"
        elif heavier:
            assert report.reason.startswith(f"edge {min(heavier)} of weight {weight[min(heavier)]} is heavier")
        else:
            assert report.reason == ""


@pytest.mark.parametrize("ties", TIES)
@on_corpus
def test_greedy_passes_on_the_corpus(graph, ties):
    for threads in (1, 3):
        report = verify(graph, greedy(graph, ties), threads=threads, promises_dominance=True)
        assert report.ok
        assert report.reason == ""
        assert 0.5 <= report.ratio <= 1


def test_the_first_offence_is_the_same_for_any_threads():
    graph = grid(60, 60, lambda u, v: 1)
    mate = greedy(graph)
    pairs = [(u, v) for u, v in enumerate(mate.tolist()) if u < v]
    for u, v in pairs[5::7]:
        mate[u] = mate[v] = -1
    expected = verify(graph, mate, threads=1)
    assert expected.valid
    assert not expected.maximal
    mate_broken = mate.copy()
    mate_broken[[900, 1800, 3599]] = 0
    for threads in THREADS:
        assert verify(graph, mate, threads=threads) == expected
        assert verify(graph, mate_broken, threads=threads).reason.startswith("vertex 900:")


# ---- the certificate ----


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


def test_threads_are_checked():
    for threads in (0, -1, 2.0, "two"):
        with pytest.raises(TrothError, match="threads"):
            verify(slides, best, threads=threads)


@given(graphs(dtypes=DTYPES))
def test_units_fit(graph):
    """The greatest weight fills 62 or 63 bits, so that no sum of two and no average leaves 64."""
    units = make_units(graph)
    greatest = max(reference.edges(graph).values(), default=1)
    if graph.m:
        assert 2**61 <= Fraction(greatest) * Fraction(2) ** int(units.exponent) < 2**63
    if graph.weights.dtype.kind == "f":
        assert math.log2(units.first) + math.log2(units.second) == units.exponent


@njit
def in_units(weights, units, up, down):
    for e in range(len(weights)):
        up[e] = units_up(weights[e], units)
        down[e] = units_down(weights[e], units)


def units_of(graph):
    """The units, the weights as kernels see them, and both roundings."""
    units = make_units(graph)
    weights = number_rows_of(graph).weights
    up, down = np.empty(len(weights), np.int64), np.empty(len(weights), np.int64)
    in_units(weights, units, up, down)
    return units, weights, up.tolist(), down.tolist()


# Full mantissas around and far below one unit of a greatest weight near 1; three factors move them over the range.
spread = st.lists(st.builds(math.ldexp, st.floats(0.5, 1, exclude_max=True), st.integers(-75, 0)), min_size=8)


@given(spread, st.sampled_from([1.0, HUGE / 2, 2.0**-990]), st.sampled_from(FLOATS))
def test_units_of_floats_round_to_the_safe_side(values, factor, dtype):
    weights = np.array(values) * (factor if dtype == "float64" else 1)
    graph = path(weights.tolist(), dtype)
    units, _, up, down = units_of(graph)
    one = Fraction(2) ** -int(units.exponent)
    for w, high, low in zip(graph.weights.tolist(), up, down, strict=True):
        assert low * one <= Fraction(w) <= high * one
        assert high - low <= 1


def test_a_weight_that_underflows_is_one_unit_at_most():
    _, _, up, down = units_of(path([TINY, HUGE], np.float64))
    assert (up[0], down[0]) == (1, 0)


@given(graphs(dtypes=INTEGERS))
def test_units_of_integers_are_exact(graph):
    units, _, up, down = units_of(graph)
    assert up == down == [w << int(units.exponent) for w in graph.weights.tolist()]


@given(graphs(dtypes=DTYPES), st.data())
def test_one_sweep_from_anywhere_is_feasible(graph, data):
    """The lemma that the certificate rests on, up to the greatest y."""
    units, _, up, _ = units_of(graph)
    fresh = np.empty(graph.n, np.int64)
    values = st.integers(0, 2**63 - 1) | st.sampled_from([0, 1, 2**63 - 1])
    y = np.array(data.draw(st.lists(values, min_size=graph.n, max_size=graph.n)), np.int64)
    high, low = sweep(0, new_cursor(), 2, number_rows_of(graph), units, y, fresh)
    fresh = fresh.tolist()
    assert (int(high) << 32) + int(low) == sum(fresh)
    owner = np.repeat(np.arange(graph.n), np.diff(graph.indptr)).tolist()
    for u, v, w in zip(owner, graph.indices.tolist(), up, strict=True):
        assert fresh[u] + fresh[v] >= w


@given(st.lists(st.integers(0, 50), unique=True), st.integers(-1, 51))
def test_find(row, v):
    row = sorted(row)
    padded = np.array([v, *row, v], np.int32)  # what lies outside of the row must not be found
    place = find(padded, np.uint64(1), np.uint64(1 + len(row)), v)
    assert place == (1 + row.index(v) if v in row else 1 + len(row))


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
