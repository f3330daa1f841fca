"""What goes into the gate: formats, index types and layouts, damaged matrices, triples, and what is no graph."""

import numpy as np
import pytest
import scipy.sparse as sp
from corpus import FLOATS
from gating import COMPRESSED, FORMATS, NOT_RISING, SQUARE, cleaned, dense, refuse
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from troth.api.opening import as_graph
from troth.inputs import Edges, Matrix

SOME_DTYPES = ("int8", "uint16", "int64", "uint64", "float32", "float64")


def damaged(**arrays) -> sp.csr_array:
    """The square in CSR form, with some of its arrays replaced behind SciPy's back."""
    matrix = sp.csr_array(SQUARE)
    for name, array in arrays.items():
        setattr(matrix, name, np.asarray(array))
    return matrix


# ---- formats, index types and layouts ----


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format(name, kind):
    graph = as_graph(kind(SQUARE).asformat(name))
    assert (dense(graph) == cleaned(SQUARE)).all()
    assert (graph.n, graph.m, graph.notes) == (5, 4, {"loops": 1})


@st.composite
def symmetric(draw, dtype: str, max_n: int = 7) -> np.ndarray:
    """A symmetric dense matrix of few distinct values: zeros, negative ones, and the extremes of the type."""
    n = draw(st.integers(1, max_n))
    kind = np.finfo(dtype) if dtype in FLOATS else np.iinfo(dtype)
    most = min(kind.max, 2**63 - 1)
    pool = [0, 0, 1, 2, 3, most, kind.min if dtype in FLOATS else max(kind.min, -most)]
    upper = draw(st.lists(st.sampled_from(pool), min_size=n * n, max_size=n * n))
    matrix = np.triu(np.array(upper, dtype).reshape(n, n))
    return np.maximum(matrix, matrix.T) if dtype.startswith("u") else matrix + np.triu(matrix, 1).T


@given(st.data(), st.sampled_from(SOME_DTYPES), st.sampled_from(FORMATS))
def test_any_symmetric_matrix_in_any_format(data, dtype, name):
    matrix = data.draw(symmetric(dtype))
    source = sp.csr_array(matrix).asformat(name)
    if name == "coo":  # rows from last to first, each backwards
        source = sp.coo_array((source.data[::-1], (source.row[::-1], source.col[::-1])), source.shape)
    wanted = cleaned(matrix)
    if np.any(matrix - np.diag(matrix.diagonal())) and not wanted.any():
        refuse(source, 'no edge has a positive weight; weights="abs"')
        return
    graph = as_graph(source)
    assert graph.weights.dtype == dtype
    assert (dense(graph) == wanted).all()


@pytest.mark.parametrize("name", COMPRESSED)
@pytest.mark.parametrize(
    "kinds", ["int32 int64", "int64 int32", "int64 int64", "int32 int32", "uint8 uint16", ">i4 >i8"]
)
def test_index_types(kinds, name):
    matrix = sp.csr_array(SQUARE).asformat(name)
    matrix.indptr, matrix.indices = map(np.ndarray.astype, (matrix.indptr, matrix.indices), kinds.split())
    assert (dense(as_graph(matrix)) == cleaned(SQUARE)).all()


def test_strided_and_read_only_arrays():
    matrix = damaged(
        data=np.repeat(sp.csr_array(SQUARE).data, 2)[::2], indices=np.repeat(sp.csr_array(SQUARE).indices, 3)[::3]
    )
    graph = as_graph(matrix)
    assert (dense(graph) == cleaned(SQUARE)).all()
    ends = np.array([[0, 1, 5.0], [1, 2, 7.0], [2, 0, 3.0], [2, 3, 2.0]])
    pairs = ends.astype(np.int32)
    assert (dense(as_graph((pairs[:, 0], pairs[:, 1], ends[:, 2]))) == cleaned(SQUARE)[:4, :4]).all()
    for name in COMPRESSED:
        clean = sp.csr_array(cleaned(SQUARE)).asformat(name)
        for array in (clean.data, clean.indices, clean.indptr):
            array.flags.writeable = False
        assert (dense(as_graph(clean)) == cleaned(SQUARE)).all()
        assert (dense(as_graph(clean, weights="abs")) == cleaned(SQUARE)).all()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("options", [{}, {"weights": "abs"}, {"symmetrize": "max"}, {"weights": "random"}], ids=str)
def test_the_input_is_never_changed(name, options):
    matrix = SQUARE.copy()
    matrix[1, 0] = 5.0 if "symmetrize" not in options else -4.0
    source = sp.csr_array(matrix).asformat(name)
    if name == "csr":  # unsorted
        source.indices[:2], source.data[:2] = source.indices[1::-1].copy(), source.data[1::-1].copy()
    before = source.copy()
    as_graph(source, **options)
    for kept in ("data", "indices", "indptr", "row", "col", "rows", "offsets"):
        if hasattr(before, kept):
            assert (getattr(source, kept) == getattr(before, kept)).all()
    row, col, weight = np.array([0, 0, 1]), np.array([1, 1, 1]), np.array([2.0, -1.0, 4.0])
    copies = row.copy(), col.copy(), weight.copy()
    as_graph((row, col, weight), base=0, **options)
    assert all((part == copy).all() for part, copy in zip((row, col, weight), copies, strict=True))


@pytest.mark.parametrize("name", COMPRESSED)
def test_a_clean_matrix_is_not_copied(name):
    matrix = sp.csr_array(cleaned(SQUARE)).asformat(name)
    graph = as_graph(matrix)
    assert np.shares_memory(graph.indices, matrix.indices)
    assert np.shares_memory(graph.weights, matrix.data)
    matrix.indptr = matrix.indptr.astype(np.int64)
    assert np.shares_memory(as_graph(matrix).indptr, matrix.indptr)


def test_subclasses_are_what_they_extend():
    class Stiffness(sp.csr_array):
        pass

    assert as_graph(Stiffness(SQUARE)).m == 4


@pytest.mark.parametrize("name", COMPRESSED)
def test_arrays_longer_than_the_matrix(name):
    matrix = sp.csr_array(SQUARE).asformat(name)
    matrix.indices, matrix.data = np.append(matrix.indices, [77, -1]), np.append(matrix.data, [np.nan, 1])
    assert (dense(as_graph(matrix)) == cleaned(SQUARE)).all()
    graph = as_graph(matrix, weights="random")
    assert len(graph.weights) == 8


def test_no_vertices_and_no_edges():
    for source in (sp.csr_array((0, 0)), sp.coo_array((0, 0)), ([], []), ([], [], [])):
        graph = as_graph(source)
        assert (graph.n, graph.m, graph.indptr.tolist(), graph.bits_range()) == (0, 0, [0], (1, 1, 1))
    for name in FORMATS:
        graph = as_graph(sp.csr_array((3, 3)).asformat(name))
        assert (graph.n, graph.m, graph.notes) == (3, 0, {})


def test_a_diagonal_is_an_edgeless_graph():
    for diagonal in ([1.0, 2.0, 3.0], [-1.0, 0.5, -2.0]):
        graph = as_graph(sp.diags_array(diagonal))
        assert (graph.n, graph.m, graph.notes) == (3, 0, {"loops": 3})


# ---- damaged matrices ----


@pytest.mark.parametrize("indptr", [*NOT_RISING, [0, 2**31 - 1, -(2**31), 8, 9, 9]], ids=str)
def test_indptr_that_does_not_rise(indptr):
    for rule in ("keep", "random"):
        refuse(damaged(indptr=np.array(indptr, np.int32)), "indptr is not a rising sequence", weights=rule)


def test_arrays_shorter_than_indptr_says():
    matrix = sp.csr_array(SQUARE)
    refuse(damaged(data=matrix.data[:-1]), "indptr is not a rising sequence")
    refuse(damaged(indices=matrix.indices[:-1]), "indptr is not a rising sequence")


@pytest.mark.parametrize("column", [5, 2**31 - 1, -1, -(2**31), 2**32, 2**40, -(2**40)])
def test_columns_out_of_range(column):
    indices = sp.csr_array(SQUARE).indices.astype(np.int64)
    indices[4] = column
    kind = np.int32 if -(2**31) <= column < 2**31 else np.int64
    for rule in ("keep", "random"):
        matrix = damaged(indices=indices.astype(kind))
        refuse(matrix, rf"^the matrix: row 1 has column {column}, outside 0\.\.4$", weights=rule)
    refuse(Matrix(matrix, where="m.npz", base=1), rf"^m\.npz: row 2 has column {column + 1}, outside 1\.\.5$")
    sideways = sp.csc_array(SQUARE)
    sideways.indices = indices.astype(kind)
    refuse(sideways, rf"^the matrix: column 1 has row {column}, outside 0\.\.4$")


@pytest.mark.parametrize("name", ["indptr", "indices"])
def test_indices_that_are_not_whole_numbers(name):
    array = getattr(sp.csr_array(SQUARE), name)
    refuse(damaged(**{name: array.astype(float)}), "whole numbers, not float64")
    refuse(damaged(**{name: array.reshape(-1, 1)}), "one-dimensional")


def test_coordinates_out_of_range():
    for u, v in [(5, 0), (-1, 0), (0, 5), (0, -1)]:
        matrix = sp.coo_array(SQUARE)
        row, col = matrix.row.copy(), matrix.col.copy()
        row[3], col[3] = u, v
        matrix.row, matrix.col = row, col
        refuse(matrix, rf"^the matrix: entry \({u}, {v}\) is outside of a matrix of 5 x 5$")
    for u, v in [(2**32, 0), (0, 2**32)]:  # 0 in 32 bits
        matrix = sp.coo_array((np.ones(2), ([1, u], [2, v])), shape=(2**33, 2**33))
        matrix._shape = (5, 5)
        refuse(matrix, rf"^the matrix: entry \({u}, {v}\) is outside")


def test_coordinates_of_unequal_lengths():
    matrix = sp.coo_array(SQUARE)
    matrix.data = matrix.data[:4]
    refuse(matrix, "9 rows, 9 columns and 4 values")


# ---- triples and other inputs ----


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda part: np.array(part, np.uint16)])
@pytest.mark.parametrize("base", [None, 0, 1])
def test_triples(kind, base):
    first = base or 0
    row, col = [first + 0, first + 3, first + 1], [first + 1, first + 2, first + 3]
    arrays = list if kind not in (list, tuple) else tuple
    for triple in ((kind(row), kind(col)), arrays((kind(row), kind(col), kind([4, 1, 2])))):
        graph = as_graph(triple, base=base)
        assert (graph.n, graph.m, graph.ids, graph.notes) == (4, 3, None, {})
        assert dense(graph)[0, 1] == (4 if len(triple) == 3 else 1)
    assert as_graph((kind(row), kind(col), [1.5, 2, 3]), base=base).weights.dtype == np.float64


def test_triples_that_are_refused():
    one = "row, col and weight must be one-dimensional and of one length, not"
    refuse(([0, 1], [1]), f"{one} 2, 1$")
    refuse(([0, 1], [1, 2], [1.0]), f"{one} 2, 2, 1$")
    refuse(([0, 1], [1, 2], [[1.0, 2.0]]), one)
    refuse(([0, 1], [1, 2], None), one)
    refuse(([[0, 1]], [[1, 2]]), r"one-dimensional arrays of whole numbers, not int64 of shape \(1, 2\)")
    refuse(([[0], [1, 2]], [1, 2]), "one-dimensional arrays of numbers")
    refuse((0, 1), "one-dimensional")
    refuse(([0.0, 1.0], [1.0, 2.0]), "whole numbers, not float64")
    refuse((["a"], ["b"]), "whole numbers")
    refuse(([True], [False]), "whole numbers, not bool")
    refuse(([0, -3], [1, 2]), r"^the edges: edge 1 names vertex -3; ids start at 0$")
    refuse(([0, 1], [1, 2]), r"^the edges: edge 0 names vertex 0; ids start at 1$", base=1)
    refuse(([0], [2**31 - 1]), r"at most 2147483647 vertices are supported: renumber them")
    refuse((np.array([2**64 - 1], np.uint64), [0]), "vertex 18446744073709551615; at most 2147483647")
    refuse(
        Edges(np.array([0, 4]), np.array([1, 2]), n=3, base=1, where="t.csv"), r"^t\.csv: edge 1 names vertex 5, but"
    )


@pytest.mark.parametrize("obj", [[[0, 1], [1, 0]], [(0, 1, 5), (1, 2, 3), (2, 0, 4)], [(0, 1)] * 5, [[0], np.ones(1)]])
def test_lists_of_lists_are_refused(obj):
    refuse(obj, r"a list of lists or tuples .* tuple\(zip\(\*edges\)\)")


def test_edges_know_their_vertices_and_names():
    names = np.array(["a", "b", "c"])
    graph = as_graph(Edges(np.array([0]), np.array([2]), np.array([7]), 3, names))
    assert (graph.n, graph.ids) == (3, names)


@pytest.mark.parametrize("obj", [SQUARE, np.asmatrix(SQUARE), np.zeros((3, 4)), np.arange(3)])
def test_dense_arrays_are_refused(obj):
    refuse(obj, r"dense array .* scipy\.sparse\.csr_array")


@pytest.mark.parametrize("obj", [None, 3, {}, (), ([0],), ([0], [1], [2], [3]), object(), b"graph.mtx"])
def test_other_things_are_refused(obj):
    refuse(obj, f"a graph cannot be made from {type(obj).__name__}: give a SciPy sparse matrix")


def test_files_and_families_by_name(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("1,2,2.5\n2,4,3\n")
    for name in (path, str(path)):
        graph = as_graph(name, base=1, weights="unit")
        assert (graph.n, graph.ids.tolist(), graph.weights.tolist()) == (3, [1, 2, 4], [1, 1, 1, 1])
    assert as_graph("grid:rows=3,cols=4").n == 12
    refuse("no-such-graph", "unknown extension")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"weights": "absolute"}, "weights='absolute' is not known: choose keep, abs, unit, random, paper"),
        ({"weights": None}, "weights=None is not known"),
        ({"symmetrize": "average"}, "symmetrize='average' is not known: choose None, max, min, sum, mean"),
        ({"symmetrize": True}, "symmetrize=True is not known"),
        ({"base": 2}, "base=2 is not known: choose None, 0, 1"),
        ({"base": "1"}, "base='1' is not known"),
        ({"base": 1.0}, "base=1.0 is not known"),
        ({"base": True}, "base=True is not known"),
    ],
)
def test_unknown_options(options, text):
    refuse(([0], [1]), f"^{text}", **options)


def test_a_forged_symmetry_is_noticed():
    # Two lone entries whose hashes would cancel if the hash were linear in place and value, with known multipliers.
    place, value, word = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 2**64
    above, below = (0 << 32) | 1, (2 << 32) | 3
    first = 0x7000000000000001
    second = (first + (above - below) * place * pow(value, -1, word)) % word
    weights = np.array([first, second], np.uint64).view(np.float64)
    matrix = sp.csr_array((np.abs(weights), ([0, 3], [1, 2])), shape=(4, 4))
    refuse(matrix, "choose symmetrize")


def test_integer_repeats_never_wrap_around():
    row, col = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0])
    for dtype, entry in ((np.int8, 100), (np.int64, 2**40), (np.uint16, 60000)):
        matrix = sp.coo_array((np.full(4, entry, dtype), (row, col)), shape=(2, 2))
        assert as_graph(matrix).weights.tolist() == [2 * entry] * 2
    ones = sp.coo_array((np.ones(600, bool), (np.repeat([0, 1], 300), np.repeat([1, 0], 300))), shape=(2, 2))
    assert as_graph(ones).weights.tolist() == [1, 1]  # as SciPy adds up what is true
    for dtype in (np.int64, np.uint64):
        refuse(sp.coo_array((np.full(4, 2**62, dtype), (row, col)), shape=(2, 2)), "add up to 2\\^63 or more")


def test_what_a_graph_noted_stays_noted():
    graph = as_graph(([0, 0, 1], [1, 1, 1], [1.0, 2.0, 3.0]))
    assert graph.notes == {"loops": 1, "repeats": 1}
    assert as_graph(graph, weights="unit").notes == graph.notes


def test_zeros_alone_get_another_remedy_than_negative_weights():
    refuse(([0], [1], [0.0]), 'all are 0; weights="unit"')
    refuse(([0], [1], [-1.0]), 'weights="abs"')


def test_masked_arrays_are_refused():
    refuse(([0], [1], np.ma.array([5.0], mask=[True])), "masked")


def test_base_and_columns_are_for_tables():
    for obj in (sp.eye_array(3, format="csr"), as_graph(([0], [1])), "path:n=4"):
        for option in ({"base": 0}, {"columns": ("u", "v")}):
            refuse(obj, "base and columns are for tables", **option)
    refuse(([1], [2]), "^the edges: columns are for tables", base=1, columns=("u", "v"))
    assert as_graph(([1], [2]), base=np.int64(1)).n == 2


# ---- distances ----


@pytest.mark.parametrize("made", ["dok_matrix", "coo_matrix"])
@pytest.mark.parametrize("name", ["dok", "coo", "csr", "csc"])
def test_distances_of_scipy_spatial_are_no_weights(made, name):
    tree = cKDTree(np.random.default_rng(1).random((30, 2)))
    matrix = tree.sparse_distance_matrix(tree, 0.4, output_type=made).asformat(name)
    refuse(matrix, "every vertex has a stored 0 on the diagonal, as in a matrix of distances.*maximize=False")
    graph = as_graph(matrix, maximize=True)
    assert graph.notes == {"loops": 30}
    some = matrix.tocoo()
    some.data[np.flatnonzero(some.row == some.col)[0]] = 1.0  # not all are 0
    assert as_graph(some.asformat(name)).m == graph.m
