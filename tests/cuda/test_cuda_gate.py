"""The gate on a GPU against the gate on the CPU: equal arrays, equal notes, and the same words where it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from corpus import DTYPES, on_corpus
from device_gating import (
    FORMATS,
    SOME,
    TILE,
    agree,
    drawn,
    matrices,
    there,
    values_of,
)
from gating import NOT_RISING, SQUARE, compressed
from hypothesis import example, given
from hypothesis import strategies as st

from troth.arrays import cupy
from troth.gate import cpu as cpu_gate
from troth.gate import cuda as gate
from troth.gate.entry import SYMMETRIZE, WEIGHTS
from troth.gate.findings import FINGERPRINT, LOOPS, OUTSIDE, UNSORTED
from troth.inputs import Matrix, Sparse

pytestmark = pytest.mark.gpu


# ---- any input at all ----


@given(matrices(), st.sampled_from(WEIGHTS), st.sampled_from((None, *SYMMETRIZE)), st.integers(0, 3))
def test_any_matrix(matrix, rule, symmetrize, seed):
    agree(matrix, weights=rule, symmetrize=symmetrize, seed=seed)


@given(matrices(), st.sampled_from(SYMMETRIZE))
def test_any_matrix_made_symmetric(matrix, symmetrize):
    matrix.pattern = False
    agree(matrix, symmetrize=symmetrize)


@st.composite
def edge_lists(draw):
    n, dtype = draw(st.integers(1, 9)), draw(st.sampled_from(SOME))
    ids = st.integers(0, n - 1)
    found = draw(st.lists(st.tuples(ids, ids, values_of(dtype)), max_size=14))
    kinds = draw(st.sampled_from([("int32", "int32"), ("int64", "int64"), ("int32", "uint8"), ("uint64", "uint64")]))
    row, col = (np.array([edge[k] for edge in found], kind) for k, kind in enumerate(kinds))
    weight = np.array([edge[2] for edge in found], dtype)
    return (row, col, weight) if draw(st.booleans()) else (row, col)


@given(edge_lists(), st.sampled_from(WEIGHTS), st.sampled_from((None, 0, 1)), st.integers(-1, 1))
@example((np.array([0]), np.array([0]), np.array([-1.0])), "keep", None, 0)
@example((np.array([1, 0]), np.array([0, 1]), np.array([-0.0, 0.0])), "keep", None, 0)
def test_any_edges(edges, rule, base, seed):
    agree(edges, weights=rule, base=base, seed=seed)


# ---- the weight rule and the types ----


@pytest.mark.parametrize("dtype", [*DTYPES, "?", "float16"])
@pytest.mark.parametrize("rule", WEIGHTS)
def test_types(stays, dtype, rule):
    row, col, weight = drawn(30, 200, dtype)
    agree((row, col, weight), weights=rule, seed=5)
    both = compressed("csr", 30, np.append(row, col), np.append(col, row), np.append(weight, weight))
    agree(Matrix(both), weights=rule, seed=5)


@pytest.mark.parametrize(
    "weight", [np.array([2**63], np.uint64), np.array([1j]), np.array([1j], np.complex64)], ids=lambda w: str(w.dtype)
)
def test_types_that_are_refused(weight):
    ends = np.array([0]), np.array([1])
    for rule in ("keep", "abs"):
        assert isinstance(agree((*ends, weight), weights=rule), str)
        matrix = compressed("csr", 2, np.array([0, 1]), np.array([1, 0]), np.repeat(weight, 2))
        assert isinstance(agree(Matrix(matrix), weights=rule), str)
    assert agree((*ends, weight), weights="unit").m == 1


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_the_least_integer(dtype):
    row, col = np.array([0, 1]), np.array([1, 2])
    agree((row, col, np.array([np.iinfo(dtype).min, 3], dtype)), weights="abs")


@on_corpus
def test_span(graph):
    if graph.m:
        assert gate.span(cupy().asarray(graph.weights)) == cpu_gate.span(graph.weights)
    assert graph.to("cuda").bits_range() == graph.bits_range()


# ---- the check of a matrix ----


def check_check(indptr, indices, data) -> None:
    indptr, indices = np.asarray(indptr, np.int64), np.asarray(indices, np.int32)
    found, wanted = gate.check(*there((indptr, indices, data))), cpu_gate.check(indptr, indices, data)
    if wanted[OUTSIDE]:  # then the others of the indices mean nothing
        for column in (UNSORTED, LOOPS, FINGERPRINT):
            found[column] = wanted[column]
    assert found == wanted


@pytest.mark.parametrize("blocks", [1, 3, 1000])
@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_the_columns_of_a_check(monkeypatch, dtype, blocks):
    """Rows of every length, empty ones at both ends and between, in one block's part and across many."""
    monkeypatch.setattr(gate, "resident", lambda kernel, block: blocks)
    rng = np.random.default_rng(3)
    for lengths in ([1], [0, 0, 5, 0], [TILE], [TILE - 1, 2], [0] * 600 + [3] + [0] * 700, rng.integers(0, 3, 2000)):
        lengths = np.append(lengths, [0, 2 * TILE + 77, 1, 0, 0, 1, 2048, 0])
        indptr = np.append(0, np.cumsum(lengths))
        n, total = len(lengths), indptr[-1]
        data = rng.integers(-1, 9, total).astype(dtype)
        check_check(indptr, rng.integers(-1, n + 1, total), data)
        clean = np.sort(rng.integers(0, n, total))
        check_check(indptr, clean, np.abs(data) + np.ones_like(data))
    if dtype != "int8":
        data[::100] = np.nan
        data[50::100] = -np.inf
        check_check(indptr, clean, data)


@pytest.mark.parametrize("indptr", [*NOT_RISING, [0, 2**62, -(2**62), 8, 9, 9]], ids=str)
def test_indptr_that_does_not_rise(indptr):
    square = sp.csr_array(SQUARE)
    for rule in ("keep", "random"):
        matrix = Sparse("csr", (5, 5), square.data, indptr=np.array(indptr, np.int64), indices=square.indices)
        assert "not a rising sequence" in agree(Matrix(matrix), weights=rule)


@pytest.mark.parametrize("column", [5, 2**31 - 1, -1, -(2**31), 2**32, 2**40, -(2**40)])
def test_columns_out_of_range(column):
    square = sp.csr_array(SQUARE)
    indices = square.indices.astype(np.int64)
    indices[4] = column
    for kind in ("csr", "csc"):
        for dtype in [np.int64, np.int32][: 2 if -(2**31) <= column < 2**31 else 1]:
            matrix = Sparse(kind, (5, 5), square.data, indptr=square.indptr, indices=indices.astype(dtype))
            for rule in ("keep", "random"):
                assert "outside 1..5" in agree(Matrix(matrix, where="m", base=1), weights=rule)
    row = sp.coo_array(SQUARE).row.astype(np.int64)
    row[3] = column
    for pair in ((row, indices % 5), (indices % 5, row)):
        assert "outside of a matrix" in agree(Matrix(Sparse("coo", (5, 5), square.data, row=pair[0], col=pair[1])))


def test_damaged_matrices():
    square = sp.csr_array(SQUARE)
    parts = {"data": square.data, "indptr": square.indptr, "indices": square.indices}
    for name, array in (
        ("data", square.data[:-1]),
        ("indices", square.indices[:-1]),
        ("indices", square.indices.astype(float)),
        ("indptr", square.indptr.astype(float)),
        ("indices", square.indices.reshape(-1, 1)),
    ):
        assert isinstance(agree(Matrix(Sparse("csr", (5, 5), **(parts | {name: array})))), str)
    assert "not square" in agree(Matrix(Sparse("csr", (5, 6), **parts)))
    entries = {"data": square.data[:4], "row": square.indices, "col": square.indices}
    assert "4 values" in agree(Matrix(Sparse("coo", (5, 5), **entries)))
    longer = {"data": np.append(square.data, [np.nan, 1]), "indices": np.append(square.indices, [77, -1])}
    for rule in ("keep", "random"):
        assert agree(Matrix(Sparse("csr", (5, 5), **(parts | longer))), weights=rule).m == 4


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", FORMATS)
def test_entries_that_are_not_finite_are_named(kind, value):
    matrix = SQUARE.copy()
    matrix[2, 1] = value
    square = sp.coo_array(matrix)
    made = Matrix(compressed(kind, 5, square.row, square.col, square.data), where="bridge.mtx", base=1)
    assert f"entry (3, 2) is {value}" in agree(made)
    assert agree(made, weights="unit").m == 4


# ---- repeats, directions, what is dropped ----


@pytest.mark.parametrize("kind", FORMATS)
def test_repeats_are_added_up_in_the_order_in_which_they_are_stored(stays, kind):
    """Floats whose sum depends on the order; a_ij and a_ji get the same numbers in turn."""
    rng = np.random.default_rng(1)
    for dtype in ("float32", "float64"):
        row, col = np.repeat(rng.integers(0, 20, (2, 700)), 2, axis=1)
        row[1::2], col[1::2] = col[1::2].copy(), row[1::2].copy()
        values = np.repeat(10.0 ** rng.uniform(-6, 6, 700), 2).astype(dtype)
        matrix = Matrix(compressed(kind, 20, row, col, values))
        graph = agree(matrix)
        assert graph.notes["repeats"] == 1400 - len(np.unique(20 * row + col))
    assert set(agree(Matrix(compressed(kind, 20, row, col, np.ones(1400, bool)))).weights.tolist()) == {1}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("rule", WEIGHTS)
def test_the_rule_applies_after_repeats_are_added_up(stays, kind, rule):
    """With a pattern, too; many repeats of either sign, as in ``tests/gate``."""
    rng = np.random.default_rng(2)
    row, col = rng.integers(0, 20, (2, 700))
    values = rng.integers(-3, 4, 700).astype("float32")
    matrix = compressed(kind, 20, np.append(row, col), np.append(col, row), np.append(values, values))
    for pattern in (False, True):
        graph = agree(Matrix(matrix, pattern), weights=rule, seed=3)
        assert rule not in ("unit", "random") or graph.weights.max() <= 1


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "float64"])
def test_sums_that_do_not_fit(dtype):
    """Small integers become int64; 64-bit ones are refused; floats become infinite, which is refused."""
    most = np.iinfo("int64").max if dtype.endswith("64") else np.iinfo(dtype).max
    value = np.finfo(dtype).max if dtype == "float64" else most
    places = np.array([0, 1, 0, 1]), np.array([1, 0, 1, 0])
    for kind in FORMATS:
        made = Matrix(compressed(kind, 2, *places, np.full(4, value, dtype)))
        found = agree(made)
        assert isinstance(found, str) if dtype.endswith("64") else found.weights.tolist() == [2 * most] * 2
    once = Matrix(compressed("csr", 2, places[0][:2], places[1][:2], np.array([value, 1], dtype)))
    for rule in SYMMETRIZE:
        assert isinstance(agree(once, symmetrize=rule), str) == (rule == "sum" and dtype in ("int64", "uint64"))


def test_both_zeros_are_equal():
    places = np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1])
    for kind in FORMATS:
        for rule in (None, *SYMMETRIZE):
            made = Matrix(compressed(kind, 3, *places, np.array([0.0, -0.0, 2.0, 2.0])))
            assert agree(made, symmetrize=rule).notes == {"nonpositive": 1}


def test_means_round_once(stays):
    """The mean of two float32 is rounded from double precision; that of a number and itself is the number."""
    tiny = np.finfo("float32").smallest_subnormal
    places = np.array([0, 1, 1, 2, 2, 3]), np.array([1, 0, 2, 1, 3, 2])
    values = np.array([tiny, tiny, 1, 1 + 2**-23, 3 * tiny, 2 * tiny], np.float32)
    agree(Matrix(compressed("csr", 4, *places, values)), symmetrize="mean")


@pytest.mark.parametrize("rule", ["max", "min", "sum", "mean"])
def test_denormal_numbers_count(stays, rule):
    """They are greater than 0, unequal to each other, and add up."""
    tiny = np.finfo("float32").smallest_subnormal
    places = np.array([0, 1, 1, 2, 2, 2, 3]), np.array([1, 0, 2, 1, 1, 3, 2])
    values = np.array([tiny, 3 * tiny, 5 * tiny, tiny, tiny, -tiny, tiny], np.float32)
    for weights in ("keep", "abs"):
        agree(Matrix(compressed("csr", 4, *places, values)), symmetrize=rule, weights=weights)
    agree((np.array([0, 1, 0]), np.array([1, 2, 1]), np.array([tiny, 2 * tiny, 7 * tiny], np.float32)))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("rule", [None, *SYMMETRIZE])
def test_a_matrix_of_many_tiles(stays, kind, rule):
    row, col, values = drawn(3000, 3 * TILE + 5, "float64", seed=2)
    values[::50] *= -1
    if rule is None:
        row, col, values = np.append(row, col), np.append(col, row), np.append(values, values)
    graph = agree(Matrix(compressed(kind, 3000, row, col, values)), symmetrize=rule)
    assert {"repeats", "loops", "nonpositive"} <= set(graph.notes)


def test_a_diagonal_is_an_edgeless_graph(stays):
    places = np.arange(3), np.arange(3)
    for kind in FORMATS:
        graph = agree(Matrix(compressed(kind, 3, *places, np.array([-1.0, 0.5, 2.0]))))
        assert graph.notes == {"loops": 3}
    assert agree(places).notes == {"loops": 3}


def test_no_vertices_and_no_edges():
    none = np.empty(0, np.int32)
    for kind in FORMATS:
        for n in (0, 3):
            assert agree(Matrix(compressed(kind, n, none, none, np.empty(0)))).n == n
    assert agree((none, none)).n == agree((none, none, np.empty(0))).n == 0
