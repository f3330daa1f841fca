"""The gate on a GPU: lists of edges, and arrays from wherever they come; compared with the gate on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from corpus import DTYPES, build
from device_gating import (
    FORMATS,
    TILE,
    agree,
    check_equal,
    drawn,
    matrices,
    outcome,
    there,
)
from gating import SQUARE, cleaned
from hypothesis import given, settings
from hypothesis import strategies as st

from troth.api.calls import match
from troth.api.checking import verify
from troth.api.opening import as_graph
from troth.arrays import cupy
from troth.errors import TrothError
from troth.gate import cpu as cpu_gate
from troth.gate import cuda as gate
from troth.gate.entry import SYMMETRIZE, WEIGHTS
from troth.graph import Graph
from troth.inputs import Edges, Matrix, Sparse

pytestmark = pytest.mark.gpu


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
    copy = there(matrix)
    outcome(copy, weights=rule, symmetrize="sum")
    for name in ("data", "indptr", "indices", "row", "col"):
        before, after = getattr(matrix.matrix, name), getattr(copy.matrix, name)
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
        found, places = gate.sort_keys(there(keys), there(values), bits, width)
        assert places.tolist() == wanted.tolist()
        assert found.tolist() == keys[wanted].tolist()
