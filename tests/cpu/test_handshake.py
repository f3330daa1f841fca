"""What is special to handshaking: strongest neighbours, and the edges left after each round."""

import numpy as np
import pytest
from corpus import TIES, corpus, graphs, on_corpus, order_of
from hypothesis import given
from hypothesis import strategies as st

import troth
from troth import reference
from troth.contract import Context
from troth.cpu import handshake


def edges_left(graph, order):
    """The project's loop: point at the strongest, match those who point back, drop their edges; in plain Python."""
    rank = reference.priorities(order, graph.n).tolist()
    rows = [dict(row) for row in reference.rows(graph)]
    left = []
    while any(rows):
        strongest = [max(row, key=lambda v, row=row: (row[v], rank[v])) if row else -1 for row in rows]
        matched = {v for v, s in enumerate(strongest) if s >= 0 and strongest[s] == v}
        rows = [
            {} if v in matched else {u: w for u, w in row.items() if u not in matched} for v, row in enumerate(rows)
        ]
        left.append(sum(map(len, rows)) // 2)
    return left


@pytest.mark.parametrize("ties", TIES)
@on_corpus
def test_strongest(graph, ties):
    order = order_of(graph, ties)
    for threads in (1, 2, 5):
        assert handshake.strongest(graph, order, threads).tolist() == reference.strongest(graph, order).tolist()


@given(graphs(), st.sampled_from(TIES))
def test_strongest_of_random_graphs(graph, ties):
    order = order_of(graph, ties)
    assert handshake.strongest(graph, order).tolist() == reference.strongest(graph, order).tolist()


@pytest.mark.parametrize("ties", TIES)
@on_corpus
def test_rounds_are_those_of_the_project(graph, ties):
    order = order_of(graph, ties)
    left = edges_left(graph, order)
    for threads in (1, 2, 8):
        stats = handshake.run(graph, order, Context(threads)).counts
        assert stats["edges"] == left
        assert stats["rounds"] == len(left)


@pytest.mark.parametrize("weights", ["uniform", "unit", "integers"])
def test_rounds_do_not_depend_on_threads(weights, monkeypatch):
    graph = troth.generate("rmat", scale=11, edgefactor=8, weights=weights)
    order = order_of(graph)
    left = edges_left(graph, order)
    scans = set()
    for threads in (1, 2, 4):
        for small in (0, handshake.SMALL, 10**9):
            monkeypatch.setattr(handshake, "SMALL", small)
            stats = handshake.run(graph, order, Context(threads)).counts
            assert stats["edges"] == left
            scans.add((stats["scans"], stats["edges_read"], stats["visits"]))
    assert len(scans) == 1


def test_slides_example_round_by_round():
    """d-e first, which leaves a-b and a-c; then a-c."""
    stats = handshake.run(corpus("slides"), order_of(corpus("slides")), Context()).counts
    assert stats["edges"] == [2, 0]


def test_only_those_look_again_whose_strongest_neighbour_was_matched():
    """On a path of increasing weights that is one vertex a round."""
    graph = troth.generate("path", n=2001, weights="increasing")
    stats = handshake.run(graph, order_of(graph), Context()).counts
    assert stats["rounds"] == 1000
    assert stats["scans"] == 2001 + 1000


CHAINS = {
    "increasing": lambda n: troth.generate("path", n=n, weights="increasing"),
    "decreasing": lambda n: troth.as_graph((np.arange(n - 1), np.arange(1, n), np.arange(n - 1, 0, -1))),
    "caterpillar": lambda n: troth.as_graph(caterpillar(n // 2)),
    "star of chains": lambda n: troth.as_graph(star_of_chains(n)),
}


def caterpillar(k):
    """A spine of increasing weights whose vertices have a light leaf each."""
    spine, leaves = np.arange(k - 1), np.arange(k)
    weight = np.concatenate([spine + 2, np.ones(k, int)])
    return np.concatenate([spine, leaves]), np.concatenate([spine + 1, leaves + k]), weight


def star_of_chains(n):
    """A hub that is joined to the end of every chain of 50, by heavier edges than those of the chains."""
    place = np.arange(1, n)
    before = np.where(place % 50 == 1, 0, place - 1)
    return before, place, np.where(before == 0, n + place, n - place % 50)


@pytest.mark.parametrize("name", CHAINS)
def test_all_rounds_together_read_and_visit_a_small_multiple_of_the_graph(name):
    """However many rounds there are: a counter for each kind of step, on a team and on one thread."""
    for n in (1000, 4000):
        graph = CHAINS[name](n)
        found = handshake.run(graph, order_of(graph), Context(2))
        assert found.mates.tolist() == reference.greedy(graph, order_of(graph)).tolist()
        size = graph.n + len(graph.indices)
        assert found.counts["edges_read"] <= 4 * size
        assert found.counts["visits"] <= 4 * size
