"""Graphs as NetworkX has them, and back."""

import sys

import numpy as np
import pytest
from corpus import build, on_corpus

from troth.api.opening import as_graph
from troth.errors import TrothError

networkx = pytest.importorskip("networkx")


@on_corpus
def test_there_and_back(graph):
    if not graph.m:
        return
    again = as_graph(graph.to_networkx())
    assert (again.n, again.m) == (graph.n, graph.m)
    assert again.indices.tolist() == graph.indices.tolist()
    assert again.weights.tolist() == graph.weights.tolist()


def test_nodes_are_the_users_ids_and_isolated_ones_stay():
    graph = build([(0, 2, 5)], n=4).replaced(ids=np.array(["ann", "bob", "cy", "dan"]))
    G = graph.to_networkx()
    assert list(G) == ["ann", "bob", "cy", "dan"]
    assert list(G.edges(data="weight")) == [("ann", "cy", 5)]
    assert all(type(node) is str for node in G)


def test_a_missing_networkx_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(TrothError, match=r"troth\[networkx\]"):
        build([(0, 1, 1)]).to_networkx()
