"""``Graph``: taken as it is or gated again, the range of its weight bits, and how it shows itself."""

import numpy as np
import pytest
import scipy.sparse as sp
from corpus import build, on_corpus
from gating import SQUARE, cleaned

from troth.api.opening import as_graph
from troth.errors import TrothError
from troth.graph import Graph
from troth.order import weight_bits


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


EDGE = {"indptr": [0, 1, 2], "indices": [1, 0], "weights": [2.5, 2.5]}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"indptr": [0, 2, 1]}, "indptr is not a rising sequence"),
        ({"indices": [1, 2]}, "a neighbour is no vertex"),
        ({"indices": [1, 1]}, "a vertex is its own neighbour"),
        ({"indptr": [0, 2, 2], "indices": [1, 1]}, "a row is not ascending, or has a neighbour twice"),
        ({"weights": [2.5, 3.5]}, "the two directions of some edge differ"),
        ({"weights": [0.0, 0.0]}, "a weight is not positive"),
        ({"weights": [np.inf, np.inf]}, "a weight is not finite"),
        ({"weights": [2.5]}, "the lengths of indptr, indices and weights do not fit"),
        ({"weights": np.array([2**63, 2**63], np.uint64)}, r"a weight is 2\^63 or more"),
        ({"weights": np.array([1j, 1j])}, "weights of type complex128 have no exact order"),
    ],
)
def test_arrays_that_are_no_graph(change, reason):
    arrays = EDGE | change
    kinds = {"indptr": np.int64, "indices": np.int32, "weights": None}
    with pytest.raises(TrothError, match=f"^these arrays are no graph: {reason}.*; troth.as_graph makes one$"):
        Graph(**{name: np.asarray(arrays[name], kind) for name, kind in kinds.items()})


def test_the_greatest_whole_number_that_is_a_weight():
    weights = np.full(2, 2**63 - 1, np.uint64)
    graph = Graph(np.array([0, 1, 2]), np.array([1, 0], np.int32), weights)
    assert graph.bits_range() == (2**63 - 1,) * 3


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
