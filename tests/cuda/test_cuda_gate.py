"""The gate on a GPU against the gate on the CPU: equal arrays, equal notes, and the same words where it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from corpus import DTYPES, build, on_corpus
from gating import SQUARE, cleaned
from hypothesis import example, given, settings
from hypothesis import strategies as st

from troth.api.calls import match
from troth.api.checking import verify
from troth.api.opening import as_graph
from troth.arrays import cupy
from troth.cuda import gate
from troth.errors import TrothError
from troth.gate import cpu as cpu_gate
from troth.graph import SYMMETRIZE, WEIGHTS, Graph
from troth.inputs import Edges, Matrix, Sparse

pytestmark = pytest.mark.gpu

FORMATS = ("csr", "csc", "coo")
SOME = ("int8", "uint16", "int32", "int64", "uint64", "float32", "float64")
TILE = gate.TILE


def there(part):
    """An array, a matrix or a tuple of arrays on the GPU."""
    if isinstance(part, Sparse):
        return part.converted(cupy().asarray)
    if isinstance(part, Matrix):
        return Matrix(there(part.matrix), part.pattern, part.vertex_weights, part.ids, part.where, part.base)
    return tuple(cupy().asarray(array) for array in part) if isinstance(part, tuple) else cupy().asarray(part)


def outcome(obj, **options) -> Graph | str:
    try:
        return as_graph(obj, **options)
    except TrothError as refusal:
        return str(refusal)


def check_equal(wanted: Graph | str, found: Graph | str) -> None:
    """One graph, on the host and on the GPU, or one refusal."""
    if isinstance(wanted, str) or isinstance(found, str):
        assert wanted == found
        return
    assert found.device == "cuda:0"
    for name in ("indptr", "indices", "weights"):
        here, copy = getattr(wanted, name), getattr(found, name).get()
        assert here.dtype == copy.dtype
        assert np.array_equal(here, copy)
    assert wanted.notes == found.notes
    assert wanted.bits_range() == found.bits_range()


def agree(obj, **options) -> Graph | str:
    """What the CPU's gate makes of some arrays; the GPU's must make the same."""
    wanted = outcome(obj, **options)
    check_equal(wanted, outcome(there(obj), **options))
    return wanted


def compressed(kind: str, n: int, row, col, values) -> Sparse:
    """A matrix with exactly these entries, in the order in which they are given within a row."""
    if kind == "coo":
        return Sparse(kind, (n, n), values, row=row, col=col)
    major, minor = (row, col) if kind == "csr" else (col, row)
    by_major = np.argsort(major, kind="stable")
    indptr = np.searchsorted(major[by_major], np.arange(n + 1))
    return Sparse(kind, (n, n), values[by_major], indptr=indptr, indices=minor[by_major])


def drawn(n: int, m: int, dtype="float32", seed: int = 0):
    """m random edges, hubs among the first vertices, with loops and repeats; small weights, none of them 0."""
    rng = np.random.default_rng(seed)
    row, col = (n * rng.random((2, m)) ** 3).astype(np.int32)
    return row, col, rng.integers(1, 100, m).astype(dtype)


@pytest.fixture
def stays(monkeypatch):
    """Fails where the input goes to the host: that is for refusals."""

    def fail(*_):
        pytest.fail("the host was asked")

    monkeypatch.setattr(gate, "_on_host", fail)


# ---- any input at all ----


def values_of(dtype: str) -> st.SearchStrategy:
    """Few distinct numbers, among them 0, negative ones, the extremes, and rarely what is not finite."""
    kind = np.finfo(dtype) if dtype.startswith("float") else np.iinfo(dtype)
    pool = [0, 1, 2, 3, kind.max, kind.max // 2 if dtype.startswith(("i", "u")) else 0.1]
    if kind.min < 0:
        pool += [-1, -3, kind.min]
    if dtype.startswith("float"):
        pool += [-0.0, 0.3, kind.smallest_subnormal, 1e-3]
    common = st.sampled_from(pool[1:4] + pool[-1:])
    rare = st.sampled_from([np.nan, np.inf, -np.inf]) if dtype.startswith("float") else st.sampled_from(pool)
    return st.one_of(common, common, common, st.sampled_from(pool), common, common, common, rare)


@st.composite
def matrices(draw) -> Matrix:
    """Entries in any order with repeats; symmetric in half of the cases, so that most are accepted."""
    n, dtype = draw(st.integers(1, 7)), draw(st.sampled_from(SOME))
    places = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), values_of(dtype))
    found = draw(st.lists(places, max_size=14))
    if draw(st.booleans()):
        found = [entry for u, v, x in found for entry in ((u, v, x), (v, u, x))]
    if draw(st.booleans()):
        found = draw(st.permutations(found))
    row, col = (np.array([entry[k] for entry in found], draw(st.sampled_from(["int32", "int64"]))) for k in (0, 1))
    values = np.array([entry[2] for entry in found], dtype)
    return Matrix(compressed(draw(st.sampled_from(FORMATS)), n, row, col, values), pattern=draw(st.booleans()))


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
    assert gate.check(*there((indptr, indices, data))) == cpu_gate.check(indptr, indices, data)


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


@pytest.mark.parametrize(
    "indptr",
    [
        [0, 2, 1, 8, 9, 9],
        [1, 2, 5, 8, 9, 9],
        [0, 2, 5, 8, 9],
        [0, 2, 5, 8, 9, 9, 9],
        [0, 2, 5, 8, 9, 10],
        [0, 2**62, -(2**62), 8, 9, 9],
        [0, -1, 5, 8, 9, 9],
        [0, 2, 5, 8, 9, -1],
        [],
    ],
    ids=str,
)
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


# ---- edges ----


@pytest.mark.parametrize("blocks", [1, 2, 1000])
@pytest.mark.parametrize("count", [1, 31, TILE - 1, TILE, TILE + 1, 3 * TILE + 5])
def test_edges_of_every_length(stays, monkeypatch, count, blocks):
    monkeypatch.setattr(gate, "resident", lambda kernel, block: blocks)
    agree(drawn(300, count))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 255, 256, 257, 65536, 65537, 2**18 + 1])
def test_edges_of_every_width_of_the_ids(stays, n):
    row, col, weight = drawn(n, 300)
    row[7], col[7] = n - 1, max(0, n - 2)
    agree((row, col, weight))
    agree((row, col))


@pytest.mark.parametrize("dtype", [*DTYPES, None])
def test_edges_to_csr(dtype):
    row, col, weight = drawn(500, TILE + 100, dtype or "int8")
    weight = weight - np.array(50).astype(weight.dtype)  # below 0 or wrapped around; the greatest stays
    *wanted, loops, repeats = cpu_gate.edges_to_csr(row, col, weight, 600)
    given = there((row, col, weight))
    *found, drops, merged = gate.edges_to_csr(*given[:2], given[2] if dtype else None, 600)
    assert (loops, repeats) == (drops, merged)
    for here, copy in zip(wanted[: 3 if dtype else 2], found, strict=False):
        assert here.dtype == copy.dtype
        assert here.tolist() == copy.tolist()
    assert dtype or found[2] is None
    assert [array.tolist() for array in given] == [row.tolist(), col.tolist(), weight.tolist()]


def test_edges_to_csr_of_none_and_of_loops():
    cp = cupy()
    none = cp.empty(0, np.int32)
    for weight in (None, cp.empty(0, np.int16)):
        indptr, indices, weights, *counts = gate.edges_to_csr(none, none, weight, 4)
        assert (indptr.tolist(), len(indices), counts) == ([0] * 5, 0, [0, 0])
        assert weight is weights is None or weights.dtype == np.int16
    indptr, indices, weights, *counts = gate.edges_to_csr(*there((np.arange(3), np.arange(3))), None, 4)
    assert (indptr.tolist(), len(indices), weights, counts) == ([0] * 5, 0, None, [3, 0])


def test_a_long_run_of_parallel_edges(stays):
    count = TILE + 9
    row, col = np.arange(count) % 2, 1 - np.arange(count) % 2
    graph = agree((row, col, np.random.default_rng(0).random(count)))
    assert graph.notes == {"repeats": count - 1}


@pytest.mark.parametrize(
    ("edges", "options"),
    [
        (([0, 1], [1]), {}),
        (([0, 1], [1, 2], [1.0]), {}),
        (([0, 1], [1, 2], [[1.0, 2.0]]), {}),
        (([[0, 1]], [[1, 2]]), {}),
        (([0.0, 1.0], [1.0, 2.0]), {}),
        (([0.0, 1.0], [1.0, 2.0]), {"base": 1}),
        (([True], [False]), {}),
        (([0, -3], [1, 2]), {}),
        (([0, 1], [1, 2]), {"base": 1}),
        (([0], [2**31 - 1]), {}),
        (([0], [2**40]), {}),
        (([0, 1], [1, 2], [-1, 0]), {}),
        (([0, 1], [1, 2], [0.0, 0.0]), {}),
        (([0, 1, 2], [1, 2, 0], [1, np.nan, 1]), {}),
        ((np.array([2**64 - 1], np.uint64), np.array([0], np.uint64)), {}),
    ],
    ids=str,
)
def test_edges_that_are_refused(edges, options):
    assert isinstance(agree(tuple(np.array(part) for part in edges), **options), str)


def test_edges_with_a_given_number_of_vertices():
    row, col = np.array([0, 4]), np.array([1, 2])
    for n in (3, 5, 9):
        here, copy = (Edges(*pair, n=n, base=1, where="t") for pair in ((row, col), there((row, col))))
        check_equal(outcome(here), outcome(copy))


# ---- where arrays come from ----


class Foreign:
    """An array of another library, on the GPU."""

    def __init__(self, array):
        self.array = cupy().asarray(array)


class ByInterface(Foreign):
    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


class ByDLPack(Foreign):
    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("kind", [ByInterface, ByDLPack])
def test_arrays_of_other_libraries(stays, kind):
    edges = drawn(20, 60)
    check_equal(as_graph(edges), as_graph(tuple(kind(part) for part in edges)))
    check_equal(as_graph(edges[:2]), as_graph([kind(edges[0]), cupy().asarray(edges[1])]))
    graph = as_graph(edges)
    mates = kind(match(graph, device="cpu").mate)
    assert verify(graph, mates).dominant
    assert verify(graph.to("cuda"), mates).dominant


def test_arrays_of_the_host_and_of_the_gpu_are_not_mixed():
    row, col, weight = drawn(20, 60)
    device = there((row, col, weight))
    for edges, text in (
        ((device[0], col), "row is on cuda:0 but col on the host"),
        ((row, device[1], weight), "row is on the host but col on cuda:0"),
        ((*device[:2], weight), "row is on cuda:0 but weight on the host"),
        ((*device[:2], None), "row is on cuda:0 but weight on the host"),
    ):
        with pytest.raises(TrothError, match=text):
            as_graph(edges)


def test_strided_arrays():
    ends = np.array([[0, 1, 5.0], [1, 2, 7.0], [2, 0, 3.0], [2, 3, 2.0]])
    pairs = there(ends.astype(np.int32))
    found = as_graph((pairs[:, 0], pairs[:, 1], there(ends)[:, 2]))
    check_equal(as_graph((ends[:, 0].astype(int), ends[:, 1].astype(int), ends[:, 2])), found)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [*((kind, dtype) for kind in FORMATS for dtype in ("float32", "float64", "?")), ("dia", "float64")],
)
def test_sparse_matrices_of_cupy(kind, dtype):
    from cupyx.scipy import sparse as cusparse

    for matrix in (SQUARE, cleaned(SQUARE)):
        made = sp.csr_matrix(matrix.astype(dtype)).asformat(kind)
        copy = getattr(cusparse, f"{kind}_matrix")(made)
        check_equal(as_graph(made), as_graph(copy))
        check_equal(as_graph(made, weights="random", seed=4), as_graph(copy, weights="random", seed=4))
    matrix = SQUARE.copy()
    matrix[2, 1] = 6
    made = sp.csr_matrix(matrix).asformat(kind)
    copy = getattr(cusparse, f"{kind}_matrix")(made)
    for rule in (None, *SYMMETRIZE):
        check_equal(outcome(made, symmetrize=rule), outcome(copy, symmetrize=rule))
    with pytest.raises(TrothError, match="base and columns are for tables"):
        as_graph(copy, base=1)


def test_a_clean_matrix_is_not_copied():
    from cupyx.scipy import sparse as cusparse

    made = cusparse.csr_matrix(sp.csr_matrix(cleaned(SQUARE)))
    graph = as_graph(made)
    assert graph.indices.data.ptr == made.indices.data.ptr
    assert graph.weights.data.ptr == made.data.data.ptr
    assert graph.indptr.dtype == np.int64
    wide = Sparse("csr", (5, 5), made.data, indptr=made.indptr.astype(np.int64), indices=made.indices)
    assert as_graph(Matrix(wide)).indptr.data.ptr == wide.indptr.data.ptr


@given(matrices(), st.sampled_from(WEIGHTS))
def test_the_input_is_never_changed(matrix, rule):
    device = there(matrix)
    outcome(device, weights=rule, symmetrize="sum")
    for name in ("data", "indptr", "indices", "row", "col"):
        before, after = getattr(matrix.matrix, name), getattr(device.matrix, name)
        assert (before is None) == (after is None)
        if before is not None:
            assert after.get().tobytes() == before.tobytes()


@pytest.mark.parametrize("rule", ["abs", "unit", "random", "paper"])
def test_a_graph_with_other_weights(rule):
    row, col, weight = drawn(40, 300, "int16")
    graph = as_graph((row, col, weight))
    names, sizes = np.array([str(v) for v in range(40)]), np.arange(40)
    named = Graph(graph.indptr, graph.indices, graph.weights, sizes, names, graph.notes)
    again = as_graph(named.to("cuda"), weights=rule, seed=3)
    check_equal(as_graph(named, weights=rule, seed=3), again)
    assert again.ids is names
    assert again.vertex_weights.get().tolist() == sizes.tolist()
    empty = build([], 5).to("cuda")
    assert as_graph(empty, weights=rule).device == "cuda:0"
    assert as_graph(graph.to("cuda")).weights.dtype == np.int16


def test_the_callers_stream():
    cp, edges = cupy(), drawn(300, TILE + 5, "float64")
    wanted = as_graph(edges)
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        found = as_graph(there(edges))
        stream.synchronize()
    check_equal(wanted, found)


def test_a_second_device():
    cp = cupy()
    if cp.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("there is one CUDA device")
    edges = drawn(300, TILE + 5)
    with cp.cuda.Device(1):
        copies = there(edges)
    found = as_graph(copies, base=1)
    assert found.device == "cuda:1"
    check_equal(as_graph(edges, base=1), found.to("cuda:0"))
    with pytest.raises(TrothError, match="row is on cuda:1 but col on cuda:0"):
        as_graph((copies[0], there(edges[1])))


def test_what_is_no_graph():
    with pytest.raises(TrothError, match="wrap an adjacency matrix in cupyx"):
        as_graph(there(SQUARE))


@settings(max_examples=30)
@given(st.integers(1, 3000), st.integers(0, 2**32))
def test_a_sort_keeps_the_order_of_equal_keys(count, seed):
    rng = np.random.default_rng(seed)
    bits = int(rng.integers(1, 32))
    row, col = rng.integers(0, 2**bits, (2, count)) >> rng.integers(0, bits)
    keys, values = (row << 32 | col).astype(np.uint64), np.arange(count)
    for width, wanted in ((2 * bits, np.lexsort((col, row))), (bits, np.argsort(col, kind="stable"))):
        found, order = gate._sort(there(keys), there(values), bits, width)
        assert order.tolist() == wanted.tolist()
        assert found.tolist() == keys[wanted].tolist()
