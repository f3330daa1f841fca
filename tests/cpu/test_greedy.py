"""Greedy's order of the edges."""

import numpy as np
import pytest
from corpus import TIES, on_corpus, order_of

import troth
from troth import reference
from troth.cpu import greedy
from troth.order import HALF, MASK, priorities


def sorted_edges(graph, order, threads):
    """The edges in greedy's order, by vertex numbers."""
    place = {int(rank): v for v, rank in enumerate(priorities(order, graph.n))}
    ranks = greedy.sorted_ranks(graph, order, threads)
    return [tuple(sorted((place[int(rank >> HALF)], place[int(rank & MASK)]))) for rank in ranks]


def by_definition(graph, order):
    rank = priorities(order, graph.n).tolist()
    key = {(u, v): (w, max(rank[u], rank[v]), min(rank[u], rank[v])) for (u, v), w in reference.edges(graph).items()}
    return sorted(key, key=key.get, reverse=True)


@pytest.mark.parametrize("ties", TIES)
@on_corpus
def test_edges_come_in_decreasing_order(graph, ties):
    order = order_of(graph, ties)
    assert sorted_edges(graph, order, 2) == by_definition(graph, order)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(("weights", "high"), [("unit", 10), ("integers", 2), ("uniform", 10)])
def test_long_and_short_runs_of_equal_weights(ties, weights, high):
    """200000 edges: runs of all of them, of half of them, and of one or two."""
    graph = troth.generate("erdos-renyi", n=5000, degree=80, weights=weights, high=high)
    longest = np.unique(graph.weights, return_counts=True)[1].max() // 2
    assert (longest > greedy.LONG) == (weights != "uniform")
    order = order_of(graph, ties)
    for threads in (1, 3):
        assert sorted_edges(graph, order, threads) == by_definition(graph, order)
