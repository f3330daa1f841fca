"""The gate's first step, the weight rule: types that stay, widen or are refused, random weights, what is not finite."""

import numpy as np
import pytest
import scipy.sparse as sp
from corpus import DTYPES, FLOATS, INTEGERS
from gating import FORMATS, SQUARE, cleaned, compressed, dense, refuse

from troth.api.opening import as_graph
from troth.inputs import Edges, Matrix
from troth.order import WEIGHT, hash_int
from troth.validate import check_seed


@pytest.mark.parametrize("dtype", DTYPES)
def test_weights_keep_their_type(dtype):
    most = min(np.iinfo(dtype).max, 2**63 - 1) if dtype in INTEGERS else np.finfo(dtype).max
    matrix = sp.csr_array(np.array([[0, most], [most, 0]], dtype))
    for graph in (as_graph(matrix), as_graph(matrix, weights="abs"), as_graph(([0], [1], np.array([most], dtype)))):
        assert graph.weights.dtype == dtype
        assert graph.weights.tolist() == [most, most]


@pytest.mark.parametrize(
    ("given_type", "kept_type"),
    [
        ("?", "uint8"),
        ("float16", "float32"),
        (">f8", "float64"),
        (">i4", "int32"),
        (">u2", "uint16"),
        (">f2", "float32"),
    ],
)
def test_weights_that_are_widened_or_turned(given_type, kept_type):
    weights = np.array([1, 1], given_type)
    for graph in (as_graph(([0, 1], [1, 2], weights)), as_graph(([0, 1], [1, 2], weights), weights="abs")):
        assert graph.weights.dtype == np.dtype(kept_type)
        assert graph.weights.dtype.isnative
        assert graph.weights.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("weight", "reason"),
    [
        (np.array([2**63], np.uint64), r"2\^63 or more; scale the weights or convert them to float64"),
        (np.array([1j]), r"complex weights have no order; take weights\.real or abs\(weights\)"),
        (np.array([1], object), "object are not accepted: convert to float64"),
        (np.array(["1"]), "not accepted: convert to float64"),
        (np.array([1], "m8[s]"), "not accepted: convert to float64"),
        pytest.param(
            np.array([1], np.longdouble),
            "not accepted: convert to float64",
            marks=pytest.mark.skipif(np.dtype("longdouble").itemsize == 8, reason="long double is double here"),
        ),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_weights_that_are_refused(weight, reason):
    refuse(([0], [1], weight), f"^the edges: .*{reason}")
    refuse(([0], [1], weight), reason, weights="abs")
    assert as_graph(([0], [1], weight), weights="unit").weights.tolist() == [1, 1]
    if weight.dtype.kind in "uc":
        refuse(sp.coo_array((np.repeat(weight, 2), ([0, 1], [1, 0]))), f"^the matrix: .*{reason}")


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_the_least_integer_has_an_absolute_value(dtype):
    least = np.iinfo(dtype).min
    graph = as_graph(([0, 1], [1, 2], np.array([least, 3], dtype)), weights="abs")
    assert graph.weights.tolist() == [-least, -least, 3, 3]
    assert graph.weights.dtype == np.dtype(dtype.replace("int", "uint"))


def test_the_absolute_value_of_the_least_int64_is_refused():
    refuse(([0], [1], np.array([-(2**63)])), r"2\^63 or more", weights="abs")


def test_rules_of_a_matrix():
    matrix = sp.csr_array(SQUARE * [[1, -1, 1, 1, 1], [-1, 1, 1, 1, 1], *[[1] * 5] * 3])
    assert dense(as_graph(matrix)).max() == 7
    assert dense(as_graph(matrix))[0, 1] == 0
    for rule in ("abs", "paper"):
        assert (dense(as_graph(matrix, weights=rule)) == cleaned(SQUARE)).all()
    assert (dense(as_graph(matrix, weights="unit")) == (cleaned(SQUARE) > 0)).all()
    assert ((dense(as_graph(matrix, weights="random")) > 0) == (cleaned(SQUARE) > 0)).all()


@pytest.mark.parametrize("name", ["csr", "csc", "coo"])
def test_the_rule_applies_after_repeats_are_added_up(name):
    """Three entries at (0, 1), two of which cancel, and two that cancel at (1, 2); the same in the other direction."""
    row, col = np.array([0, 0, 0, 1, 1]), np.array([1, 1, 1, 2, 2])
    values = np.array([-4.0, 9.0, -9.0, 5.0, -5.0])
    ends, values = (np.append(row, col), np.append(col, row)), np.append(values, values)
    matrix = Matrix(compressed(name, 3, *ends, values))
    assert dense(as_graph(matrix, weights="unit")).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    for rule in ("abs", "paper"):
        graph = as_graph(matrix, weights=rule)
        assert dense(graph).tolist() == [[0, 4, 0], [4, 0, 0], [0, 0, 0]]
        assert graph.notes == {"repeats": 6, "nonpositive": 1}
    once = as_graph(([0, 1], [1, 2]), weights="random", seed=2)
    assert (dense(as_graph(matrix, weights="random", seed=2)) == dense(once)).all()
    for rule, right in (("keep", "unit"), ("abs", "unit"), ("paper", "random")):
        graph = as_graph(Matrix(matrix.matrix, pattern=True), weights=rule, seed=2)
        assert graph.weights.tolist() == as_graph(once, weights=right, seed=2).weights.tolist()


@pytest.mark.parametrize("name", ["csr", "coo"])
def test_rules_of_a_pattern(name):
    matrix = sp.csr_array(cleaned(SQUARE)).asformat(name)
    for source in (Matrix(matrix, pattern=True), Edges(np.array([0, 1, 2, 0]), np.array([1, 2, 3, 2]), n=5)):
        for rule in ("keep", "abs", "unit"):
            assert (dense(as_graph(source, weights=rule)) == (cleaned(SQUARE) > 0)).all()
        paper, random = (as_graph(source, weights=rule, seed=3) for rule in ("paper", "random"))
        assert paper.weights.tolist() == random.weights.tolist()
        assert len(np.unique(random.weights)) == 4


def test_random_weights_are_a_function_of_seed_and_ends():
    def weight(seed, u, v):
        return ((hash_int(seed, WEIGHT, min(u, v), max(u, v)) >> 40) + 1) * 2.0**-24

    for name in FORMATS:
        graph = as_graph(sp.csr_array(SQUARE).asformat(name), weights="random", seed=11)
        rows = np.repeat(np.arange(5), np.diff(graph.indptr)).tolist()
        assert graph.weights.dtype == np.float32
        assert graph.weights.tolist() == [weight(11, u, v) for u, v in zip(rows, graph.indices.tolist(), strict=True)]
    triples = as_graph(([2, 3], [0, 2]), weights="random", seed=-1)  # other edges do not matter
    assert dense(triples)[0, 2] == weight(2**64 - 1, 0, 2)
    assert dense(triples)[2, 3] == weight(-1 % 2**64, 3, 2)


def test_random_weights_are_uniform():
    n = 40_000
    weights = as_graph((np.arange(n), np.arange(1, n + 1)), weights="random").weights
    assert weights.min() > 0
    assert weights.max() <= 1
    shares = np.histogram(weights, 10, (0, 1))[0] / len(weights)
    assert abs(shares - 0.1).max() < 0.008
    other = as_graph((np.arange(n), np.arange(1, n + 1)), weights="random", seed=1).weights
    assert abs(np.corrcoef(weights, other)[0, 1]) < 0.02


def test_seeds_are_any_whole_numbers():
    drawn = [
        as_graph(([0], [1]), weights="random", seed=seed).weights.tolist()
        for seed in (5, np.int64(5), np.uint8(5), 5 + 2**64, 5 - 2**64)
    ]
    assert drawn == [drawn[0]] * 5
    assert (check_seed(-7), check_seed(2**200), check_seed(np.uint64(2**63))) == (-7, 2**200, 2**63)
    for seed in (1.0, "1", None, np.float64(2)):
        refuse(([0], [1]), "seed=.* is not a whole number", weights="random", seed=seed)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", FLOATS)
def test_entries_that_are_not_finite_are_named(value, dtype):
    matrix = SQUARE.astype(dtype)
    matrix[2, 1] = value
    for name in FORMATS:
        refuse(sp.csr_array(matrix).asformat(name), rf"^the matrix: entry \(2, 1\) is {value}; .* finite")
    source = Matrix(sp.csr_array(matrix), where="bridge.mtx", base=1)
    refuse(source, rf"^bridge\.mtx: entry \(3, 2\) is {abs(value)};", weights="abs")
    edges = ([0, 1, 2], [1, 2, 0], np.array([1, value, 1], dtype))
    refuse(edges, rf"^the edges: edge 1 \(1, 2\) has weight {value}; weights must be finite")
    for rule in ("unit", "random"):
        assert as_graph(sp.csr_array(matrix), weights=rule).m == as_graph(edges, weights=rule).m + 1
    diagonal = SQUARE.astype(dtype)
    diagonal[3, 3] = value  # step 1 comes before loops are dropped
    refuse(sp.csr_array(diagonal), r"entry \(3, 3\)")
