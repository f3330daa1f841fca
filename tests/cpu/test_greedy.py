"""Greedy's order of the edges."""

import numpy as np
import pytest
from corpus import TIES, on_corpus, order_of

import troth
from troth import reference
from troth.cpu import greedy
from troth.order import MASK, PRIORITY_BITS, priorities


def sorted_edges(graph, order, threads):
    """The edges in greedy's order, by vertex numbers."""
    place = {int(rank): v for v, rank in enumerate(priorities(order, graph.n))}
    ranks = greedy.sorted_ranks(graph, order, threads)
    return [tuple(sorted((place[int(rank >> PRIORITY_BITS)], place[int(rank & MASK)]))) for rank in ranks]


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
@pytest.mark.parametrize("rule", [{"weights": "unit"}, {"weights": "integers", "high": 2}, {"weights": "uniform"}])
def test_long_and_short_runs_of_equal_weights(ties, rule):
    """150000 edges: one run, two runs, and runs of one or two edges."""
    graph = troth.generate("erdos-renyi", n=5000, degree=60, **rule)
    row, upper = np.repeat(np.arange(graph.n), np.diff(graph.indptr)), np.zeros(len(graph.indices), bool)
    upper[:] = row < graph.indices
    weight = graph.weights[upper]
    longest = np.unique(weight, return_counts=True)[1].max()
    assert (longest > greedy.LONG) == (rule["weights"] != "uniform")
    order = order_of(graph, ties)
    ends = np.sort(priorities(order, graph.n)[[row[upper], graph.indices[upper]]], axis=0)
    rank = ends[1] << PRIORITY_BITS | ends[0]
    answer = rank[np.lexsort((rank, weight))[::-1]]
    for threads in (1, 3):
        assert np.array_equal(greedy.sorted_ranks(graph, order, threads), answer)
