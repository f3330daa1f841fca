"""The gate after the weight rule, step by step: loops, repeats, the two directions, and what is not positive."""

from operator import add

import numpy as np
import pytest
import scipy.sparse as sp
from corpus import FLOATS
from gating import COMPRESSED, FORMATS, SQUARE, cleaned, dense, entries, refuse
from hypothesis import given
from hypothesis import strategies as st

from troth.api.opening import as_graph
from troth.gate.entry import SYMMETRIZE
from troth.inputs import Matrix

COMBINE = {"max": max, "min": min, "sum": add, "mean": lambda x, y: (x + y) / 2}


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
        refuse(matrix, rf"^the matrix: the matrix is {shape[0]} x {shape[1]}, not square; .*troth\.assign\(A\)")
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
