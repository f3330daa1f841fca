"""NetworkX graphs as edges."""

from __future__ import annotations

import numpy as np
import pytest

from troth.api.opening import as_graph
from troth.errors import TrothError
from troth.neighbours.networkx import networkx_to_edges

networkx = pytest.importorskip("networkx")


def test_numbers_in_order_need_no_ids():
    edges = networkx_to_edges(networkx.path_graph(4))
    assert (edges.row.tolist(), edges.col.tolist(), edges.n) == ([0, 1, 2], [1, 2, 3], 4)
    assert edges.ids is None
    assert edges.weight is None


@pytest.mark.parametrize("nodes", [[2, 0, 1], ["x", "y", "z"], [(0, 0), (0, 1), "z"], [1.5, 7, 8]])
def test_ids_are_the_nodes_in_order(nodes):
    G = networkx.Graph()
    G.add_nodes_from(nodes)
    G.add_edge(nodes[2], nodes[0])
    edges = networkx_to_edges(G)
    assert [edges.ids[v] for v in range(3)] == nodes
    assert {int(edges.row[0]), int(edges.col[0])} == {0, 2}


def test_weights_loops_and_isolated_nodes():
    G = networkx.Graph()
    G.add_nodes_from(range(5))
    G.add_weighted_edges_from([(0, 1, 3), (1, 2, 2**60 + 1), (2, 2, 5)])
    G.add_edge(2, 3)
    edges = networkx_to_edges(G)
    assert edges.weight.dtype == np.int64
    assert sorted(edges.weight.tolist()) == [1, 3, 5, 2**60 + 1]
    graph = as_graph(G)
    assert (graph.n, graph.m, graph.notes) == (5, 3, {"loops": 1})
    G[0][1]["score"] = 0.5
    assert sorted(networkx_to_edges(G, weight="score").weight.tolist()) == [0.5, 1.0, 1.0, 1.0]


def test_the_attribute_is_chosen():
    G = networkx.Graph([("a", "b", {"cost": 3, "score": 1}), ("b", "c", {"cost": 1, "score": 2})])
    assert as_graph(G).weights.tolist() == [1] * 4  # no edge has a weight
    assert as_graph(G, weight="score").weights.tolist() == [1, 1, 2, 2]
    with pytest.raises(TrothError, match=r"attribute 'cost' is a cost by its name.*maximize=False.*maximize=True"):
        as_graph(G, weight="cost")
    assert as_graph(G, weight="cost", maximize=True).weights.tolist() == [3, 3, 1, 1]
    with pytest.raises(
        TrothError, match=r"no edge has the attribute 'scor' \(did you mean 'score'\?\); there are cost"
    ):
        as_graph(G, weight="scor")
    with pytest.raises(TrothError, match="the Graph: weight names a column of a table or an attribute"):
        as_graph(as_graph(G), weight="score")


def test_multigraphs_keep_parallel_edges_and_the_gate_the_heaviest():
    G = networkx.MultiGraph([(0, 1, {"weight": 2}), (0, 1, {"weight": 7}), (1, 2)])
    assert networkx_to_edges(G).weight.tolist() == [2, 7, 1]
    assert as_graph(G).weights.tolist() == [7, 7, 1, 1]


def test_refusals():
    with pytest.raises(TrothError, match=r"directed.*G\.to_undirected\(\)"):
        networkx_to_edges(networkx.DiGraph([(0, 1)]))
    with pytest.raises(TrothError, match="the NetworkX graph: base and columns are for tables"):
        as_graph(networkx.path_graph(3), base=1)
    for value in ("heavy", [1], 2**70, 1j):
        G = networkx.Graph([(0, 1), (1, 2, {"weight": value})])
        with pytest.raises(TrothError, match=r"'weight' of edge \(1, 2\) is not a real number"):
            networkx_to_edges(G)


def test_empty():
    assert (as_graph(networkx.Graph()).n, as_graph(networkx.empty_graph(3)).n) == (0, 3)


def test_whole_numbers_that_floats_do_not_hold():
    """Beside a float, NumPy rounds 2^53 + 1 to 2^53; alone, whole numbers are exact."""
    G = networkx.Graph()
    G.add_weighted_edges_from([(0, 1, 2**53), (1, 2, 2**53 + 1), (2, 3, 1)])
    assert as_graph(G).weights.max() == 2**53 + 1
    G[2][3]["weight"] = 0.5
    with pytest.raises(TrothError, match=r"'weight' of edge \(1, 2\), 9007199254740993, is no float"):
        as_graph(G)
    G[1][2]["weight"] = 2**54
    assert as_graph(G).weights.max() == 2**54
    with pytest.raises(TrothError, match="weight 9007199254740993 of edge 0 is no float"):
        as_graph(([0, 1], [1, 2], [2**53 + 1, 0.5]))
