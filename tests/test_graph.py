"""``Graph``: taken as it is or gated again, the range of its weight bits, and how it shows itself."""

import numpy as np
import scipy.sparse as sp
from corpus import build, on_corpus
from gating import SQUARE, cleaned

from troth.api.opening import as_graph
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
