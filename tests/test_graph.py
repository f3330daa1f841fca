"""The gate, step by step: the weight rule, loops, repeats, the two directions, and what is not positive."""

from operator import add

import numpy as np
import pytest
import scipy.sparse as sp
from corpus import DTYPES, FLOATS, INTEGERS, build, on_corpus
from gating import COMPRESSED, FORMATS, SQUARE, cleaned, dense, entries, refuse
from hypothesis import given
from hypothesis import strategies as st

from troth.api.opening import as_graph
from troth.gate.entry import SYMMETRIZE
from troth.graph import Graph
from troth.inputs import Edges, Matrix
from troth.order import WEIGHT, hash_int, weight_bits
from troth.validate import check_seed

COMBINE = {"max": max, "min": min, "sum": add, "mean": lambda x, y: (x + y) / 2}


# ---- step 1: the weight rule ----


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


# ---- steps 2 and 3: loops and repeats ----


@pytest.mark.parametrize("name", ["coo", "csr", "csc"])
def test_unsorted_rows_and_repeats_of_a_matrix_add_up(name):
    places = [(2, 0), (0, 2), (1, 2), (0, 1), (2, 1), (1, 0), (0, 2), (2, 0), (1, 1), (1, 1), (0, 2), (2, 0)]
    values = [1.5, 1.5, 4, 2, 4, 2, -1, -1, 7, 7, 3, 3]
    matrix = entries(3, places, values)
    if name != "coo":  # SciPy would add up
        row, col = (matrix.row, matrix.col) if name == "csr" else (matrix.col, matrix.row)
        by_row = np.argsort(row, kind="stable")
        parts = matrix.data[by_row], col[by_row], np.searchsorted(row[by_row], np.arange(4))
        matrix = (sp.csr_array if name == "csr" else sp.csc_array)(parts, shape=(3, 3))
    graph = as_graph(matrix)
    assert dense(graph).tolist() == [[0, 2, 3.5], [2, 0, 4], [3.5, 4, 0]]
    assert graph.notes == {"repeats": 5, "loops": 1}
    # The rule comes first: absolute values, ones and random numbers are added up.
    assert dense(as_graph(matrix, weights="abs"))[0].tolist() == [0, 2, 5.5]
    assert dense(as_graph(matrix, weights="unit"))[0].tolist() == [0, 1, 3]
    random = dense(as_graph(matrix, weights="random"))
    once = dense(as_graph(([0, 1, 0], [1, 2, 2]), weights="random"))
    assert random[0, 1] == once[0, 1]
    assert random[0, 2] == once[0, 2] + once[0, 2] + once[0, 2]


def test_the_same_numbers_added_in_the_same_order_agree():
    """A finite element assembly: k_ij and k_ji of each element in turn. Their sums must not differ by rounding."""
    rng = np.random.default_rng(1)
    u, v = np.triu_indices(40, 1)
    u, v = np.tile(u, 6), np.tile(v, 6)
    stiffness = rng.random(len(u))
    places = np.stack([[u, v], [v, u]], axis=2).reshape(2, -1)
    assembled = sp.coo_array((np.repeat(stiffness, 2), tuple(places)))
    graph = as_graph(assembled)
    assert graph.notes["repeats"] == 5 * 40 * 39
    assert dense(graph)[0, 1] == np.cumsum(stiffness[(u == 0) & (v == 1)])[-1]


def test_repeats_of_edges_keep_the_heaviest():
    row, col = np.array([0, 1, 0, 2, 2, 1, 1]), np.array([1, 0, 1, 2, 1, 2, 1])
    graph = as_graph((row, col, np.array([3, 8, -5, 1, 0, -2, 4])))
    assert dense(graph).tolist() == [[0, 8, 0], [8, 0, 0], [0, 0, 0]]
    assert graph.notes == {"loops": 2, "repeats": 3, "nonpositive": 1}
    assert as_graph((row, col), weights="unit").weights.tolist() == [1] * 4


def test_sums_of_repeats_that_are_not_finite_are_refused():
    matrix = entries(2, [(0, 1), (1, 0), (0, 1), (1, 0)], [1.5e308] * 4)
    refuse(matrix, r"entry \(0, 1\) is inf")


# ---- step 4: the two directions ----


def test_unequal_directions_are_named():
    matrix = SQUARE.copy()
    matrix[2, 1] = 6
    text = r"choose symmetrize=max, min, sum or mean$"
    for name in set(FORMATS) - {"csc"}:
        refuse(
            sp.csr_array(matrix).asformat(name), rf"^the matrix: entry \(1, 2\) is 7\.0 but \(2, 1\) is 6\.0; {text}"
        )
    refuse(sp.csc_array(matrix), rf"^the matrix: entry \(2, 1\) is 6\.0 but \(1, 2\) is 7\.0; {text}")
    refuse(
        Matrix(sp.csr_array(matrix), where="a.mtx", base=1), r"^a\.mtx: entry \(2, 3\) is 7\.0 but \(3, 2\) is 6\.0;"
    )
    matrix[2, 1] = 0
    refuse(sp.csr_array(matrix), r"entry \(1, 2\) is 7\.0 but \(2, 1\) is missing")
    refuse(sp.csr_array(matrix.T), r"entry \(1, 2\) is missing but \(2, 1\) is 7\.0")
    matrix[0, 3] = 1  # an earlier one
    refuse(sp.csr_array(matrix), r"entry \(0, 3\) is 1\.0 but \(3, 0\) is missing")
    refuse(sp.csr_array(np.triu(SQUARE)), r"entry \(0, 1\) is 5\.0 but \(1, 0\) is missing")


def test_entries_that_trade_places_are_not_symmetric():
    """Sums of the two triangles agree here, entries do not."""
    matrix = np.zeros((4, 4), np.int64)
    matrix[0, 1], matrix[1, 0], matrix[2, 3], matrix[3, 2] = 1, 2, 2, 1
    refuse(sp.csr_array(matrix), r"entry \(0, 1\) is 1 but \(1, 0\) is 2")
    moved = np.zeros((4, 4), np.int64)
    moved[0, 1] = moved[3, 2] = 5
    refuse(sp.csr_array(moved), r"entry \(0, 1\) is 5 but \(1, 0\) is missing")


def test_skew_symmetric():
    matrix = sp.csr_array(np.triu(SQUARE, 1) - np.triu(SQUARE, 1).T)
    refuse(matrix, r"entry \(0, 1\) is 5\.0 but \(1, 0\) is -5\.0")
    assert (dense(as_graph(matrix, weights="abs")) == cleaned(SQUARE)).all()


def test_both_zeros_are_equal():
    matrix = entries(3, [(0, 1), (1, 0), (1, 2), (2, 1)], [0.0, -0.0, 2.0, 2.0])
    for name in COMPRESSED:
        graph = as_graph(matrix.asformat(name))
        assert dense(graph).tolist() == [[0, 0, 0], [0, 0, 2], [0, 2, 0]]
        assert graph.notes == {"nonpositive": 1}


def test_an_explicit_zero_is_an_entry():
    matrix = entries(3, [(0, 1), (1, 2), (2, 1)], [0.0, 2.0, 2.0]).tocsr()
    refuse(matrix, r"entry \(0, 1\) is 0\.0 but \(1, 0\) is missing")
    assert as_graph(matrix, symmetrize="max").notes == {"symmetrized": 1, "nonpositive": 1}
    both = entries(3, [(0, 1), (1, 0), (1, 2), (2, 1)], [0, 0, 2, 2]).tocsr()
    assert as_graph(both).notes == {"nonpositive": 1}
    assert as_graph(both, weights="unit").m == 2


@pytest.mark.parametrize("rule", ["keep", "unit", "random"])
def test_the_zeros_within_a_block_are_no_entries(rule):
    matrix = cleaned(SQUARE)[:4, :4]
    for blocksize in [(1, 1), (2, 2), (2, 1), (1, 4), (4, 2)]:
        graph = as_graph(sp.bsr_array(matrix, blocksize=blocksize), weights=rule)
        assert ((dense(graph) > 0) == (matrix > 0)).all()
        assert graph.notes == {}


@st.composite
def two_directions(draw, values) -> tuple[int, dict[tuple[int, int], object]]:
    n = draw(st.integers(1, 6))
    places = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    return n, draw(st.dictionaries(places, values, max_size=20))


def combine(found: dict, rule: str) -> dict:
    """The edges {u, v}: w that must come out, a missing direction left out of account."""
    directions = {(u, v): [found[p] for p in ((u, v), (v, u)) if p in found] for u, v in found if u != v}
    if all(len(set(both)) == 1 and len(both) == 2 for both in directions.values()):
        return {place: both[0] for place, both in directions.items()}  # symmetric: nothing to do
    merged = {place: both[0] if len(both) == 1 else COMBINE[rule](*both) for place, both in directions.items()}
    return merged | {(v, u): w for (u, v), w in merged.items()}


@given(two_directions(st.integers(-3, 5)), st.sampled_from(SYMMETRIZE), st.sampled_from(COMPRESSED))
def test_symmetrize_small_integers(found, rule, name):
    check_symmetrize(*found, rule, name, np.int64)


@given(two_directions(st.integers(-3, 5)), st.sampled_from(SYMMETRIZE))
def test_symmetrize_floats(found, rule):
    check_symmetrize(*found, rule, "coo", np.float32)


@given(two_directions(st.integers(2**53 + 1, 2**62 - 1)), st.sampled_from(("max", "min", "sum")))
def test_symmetrize_is_exact_above_2_53(found, rule):
    check_symmetrize(*found, rule, "csr", np.int64)


def check_symmetrize(n, found, rule, name, dtype):
    matrix = entries(n, list(found), list(found.values()), dtype).asformat(name)
    wanted = combine(found, rule)
    edges = {place: w for place, w in wanted.items() if w > 0}
    if wanted and not edges:
        refuse(matrix, "no edge has a positive weight", symmetrize=rule)
        return
    graph = as_graph(matrix, symmetrize=rule)
    rows = np.repeat(np.arange(n), np.diff(graph.indptr)).tolist()
    assert dict(zip(zip(rows, graph.indices.tolist(), strict=True), graph.weights.tolist(), strict=True)) == edges
    assert graph.notes.get("nonpositive", 0) == (len(wanted) - len(edges)) // 2
    assert graph.notes.get("loops", 0) == sum(u == v for u, v in found)


def test_sums_of_narrow_integers_do_not_wrap_around():
    for dtype in ("int8", "uint8", "uint64"):
        graph = as_graph(sp.csr_array(np.array([[0, 100], [127, 0]], dtype)), symmetrize="sum")
        assert graph.weights.tolist() == [227, 227]
        assert graph.weights.dtype == np.int64
    assert as_graph(sp.csr_array(np.array([[0, 1], [2, 0]], np.int8)), symmetrize="max").weights.dtype == np.int8
    assert as_graph(sp.csr_array(np.array([[0, 1], [2, 0]], np.int8)), symmetrize="mean").weights.tolist() == [1.5, 1.5]


def test_sums_that_may_not_fit_are_refused():
    refuse(sp.csr_array(np.array([[0, 2**62], [1, 0]])), r"2\^63 or more; convert them to float64", symmetrize="sum")
    refuse(sp.csr_array(np.array([[0, 1.5e308], [1e308, 0]])), r"entry \(0, 1\) is inf", symmetrize="sum")


def test_the_mean_of_extremes():
    most, least = np.finfo(float).max, 5e-324
    for x, y, mean in ((most, most / 2, 0.75 * most), (most, -most / 2, most / 4), (least, 3 * least, 2 * least)):
        matrix = entries(4, [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3)], [x, y, least, least, 1.0])
        assert dense(as_graph(matrix, symmetrize="mean"))[[0, 1, 2], [1, 2, 3]].tolist() == [mean, least, 1.0]


def test_the_mean_rounds_alike_in_both_directions():
    rng = np.random.default_rng(2)
    for dtype in FLOATS:
        matrix = rng.random((30, 30)).astype(dtype)
        mean = dense(as_graph(sp.csr_array(matrix), symmetrize="mean"))
        np.testing.assert_allclose(mean + np.diag(matrix.diagonal()), (matrix + matrix.T) / 2, rtol=1e-6)


@pytest.mark.parametrize("rule", SYMMETRIZE)
def test_symmetrize_leaves_a_symmetric_matrix_alone(rule):
    graph = as_graph(sp.csr_array(SQUARE), symmetrize=rule)
    assert (dense(graph) == cleaned(SQUARE)).all()
    assert graph.notes == {"loops": 1}


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (1, 4), (0, 2)])
def test_rectangular_matrices_are_refused(shape):
    for name in ("csr", "coo"):
        matrix = sp.csr_array(np.ones(shape)).asformat(name)
        refuse(matrix, rf"^the matrix: the matrix is {shape[0]} x {shape[1]}, not square; .*\[\[0, A\], \[A\.T, 0\]\]")
    refuse(sp.coo_array(np.ones(3)), "not square")


# ---- step 5: nothing but positive weights ----


def test_a_laplacian_names_the_rule():
    laplacian = sp.csgraph.laplacian(sp.csr_array(cleaned(SQUARE)))
    for name in FORMATS:
        refuse(laplacian.asformat(name), r'^the matrix: no edge has a positive weight; weights="abs"')
    refuse(([0, 1], [1, 2], [-1, 0]), r'^the edges: no edge has a positive weight; weights="abs"')
    assert (dense(as_graph(laplacian, weights="abs")) == cleaned(SQUARE)).all()


def test_notes_count_edges_loops_and_entries():
    places = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (0, 3), (3, 0), (3, 0), (0, 3), (2, 2), (0, 0)]
    graph = as_graph(entries(4, places, [1, 1, -2, -2, 0, 0, 3, 3, 1, 1, 5, -5]))
    assert graph.notes == {"repeats": 2, "loops": 2, "nonpositive": 2}
    assert dense(graph).tolist() == [[0, 1, 0, 4], [1, 0, 0, 0], [0, 0, 0, 0], [4, 0, 0, 0]]
    assert as_graph(graph).notes is graph.notes


# ---- graphs ----


@on_corpus
def test_the_corpus_passes_the_gate_unchanged(graph):
    for name in ("csr", "coo"):
        again = as_graph(graph.to_scipy().asformat(name))
        for part in ("indptr", "indices", "weights"):
            assert getattr(again, part).dtype == getattr(graph, part).dtype
            assert (getattr(again, part) == getattr(graph, part)).all()
        assert again.notes == {}


def test_a_graph_is_taken_as_it_is():
    graph = as_graph(sp.csr_array(SQUARE))
    assert as_graph(graph) is graph
    assert as_graph(graph, symmetrize="sum", seed=4) is graph


def test_a_graph_gated_again_keeps_names_and_vertex_weights():
    path = build([(0, 1, 4), (1, 2, 6)])
    names, sizes = np.array(["a", "b", "c"]), np.array([3, 1, 2])
    graph = Graph(path.indptr, path.indices, path.weights, sizes, names)
    for rule, weights in (("abs", [4, 4, 6, 6]), ("unit", [1, 1, 1, 1])):
        again = as_graph(graph, weights=rule, symmetrize="sum")
        assert again.vertex_weights is sizes
        assert again.ids is names
        assert again.weights.tolist() == weights
    empty = Graph(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0))
    assert as_graph(empty, weights="unit").n == 0


@on_corpus
def test_range_of_the_weight_bits(graph):
    bits = weight_bits(graph.weights)
    wanted = (1, 1, 1)
    if len(bits):
        wanted = int(bits.min()), int(bits.max()), int(np.bitwise_or.reduce(bits))
    assert graph.bits_range() == wanted  # found on demand
    assert as_graph(graph.to_scipy()).bits_range() == wanted  # found on the way
    assert as_graph(graph.to_scipy(), weights="abs").bits_range() == wanted


def test_range_of_the_weight_bits_after_changes():
    for source, options in (
        (sp.csr_array(SQUARE), {}),
        (sp.csr_array(SQUARE - 4), {}),
        (sp.csr_array(np.triu(SQUARE)), {"symmetrize": "mean"}),
        (([0, 1, 2], [1, 2, 3], [0.25, -1.0, 9.0]), {}),
        (sp.random_array((300, 300), density=0.9, random_state=1), {"symmetrize": "max"}),  # several chunks
    ):
        graph = as_graph(source, **options)
        bits = graph.weights.view(np.uint64)
        assert graph.bits_range() == (bits.min(), bits.max(), np.bitwise_or.reduce(bits))


def test_repr_and_scipy():
    graph = as_graph(sp.csr_array(SQUARE))
    assert repr(graph) == "Graph(n=5, m=4, weights=float64)"
    matrix = graph.to_scipy()
    assert (matrix.toarray() == cleaned(SQUARE)).all()
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32  # as scipy.sparse.csgraph wants them
    assert np.shares_memory(matrix.indices, graph.indices)
    assert np.shares_memory(matrix.data, graph.weights)
