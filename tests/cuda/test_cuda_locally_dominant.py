"""Locally-Dominant on a GPU: one answer whatever the threads see of each other, and rounds that end."""

from __future__ import annotations

import numpy as np
import pytest
from corpus import DTYPES, TIES, corpus, drawn, graphs, near_ties, on_corpus, order_of
from hypothesis import given
from hypothesis import strategies as st
from shapes import build, complete, grid, hub, path, star

import troth
from troth import reference
from troth.contract import Context
from troth.cuda.locally_dominant import run
from troth.graph import Graph
from troth.order import on_device

pytestmark = pytest.mark.gpu

RACES = 100


def check(graph: Graph, ties: str = "hash") -> dict:
    """The reference's mates; returns the counts."""
    order = order_of(graph, ties)
    there = graph.to("cuda")
    mate, stats, seconds, _ = run(there, on_device(order, there.device), Context())
    wanted = reference.greedy(graph, order)
    assert mate.get().tolist() == wanted.tolist()
    assert set(stats) == {"rounds", "queued"}
    assert set(seconds) == {"kernels"}
    assert stats["queued"] == np.count_nonzero(wanted >= 0)
    assert bool(stats["rounds"]) == bool(stats["queued"])
    assert stats["rounds"] <= stats["queued"]
    return stats


@on_corpus
@pytest.mark.parametrize("ties", TIES)
def test_corpus(graph, ties):
    check(graph, ties)


@given(graphs(40, DTYPES), st.sampled_from(TIES))
def test_any_graph(graph, ties):
    check(graph, ties)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(dtype):
    graph = drawn(300, 1200, lambda rng, m: rng.integers(1, 9, m).astype(dtype))
    for ties in TIES:
        check(graph, ties)


@pytest.mark.parametrize("ties", TIES)
def test_the_last_bits_of_wide_weights(ties):
    check(drawn(600, 4000, near_ties), ties)
    check(drawn(600, 4000, lambda rng, m: 2**53 + rng.integers(0, 5, m)), ties)


def test_a_chain_takes_one_pair_a_round_at_worst():
    """Increasing weights: a pair frees one vertex, which wakes the next; who looks late may find it free already."""
    mate, stats, *_ = run(path(range(1, 2000)).to("cuda"), order_of(path(range(1, 2000))), Context())
    assert mate.get().tolist() == [v ^ 1 for v in range(2000)]
    assert 1 <= stats["rounds"] <= 1000
    assert stats["queued"] == 2000


def test_slides_example():
    """d-e is dominant at once; it wakes c, who finds a."""
    stats = check(corpus("slides"))
    assert 1 <= stats["rounds"] <= 2


@pytest.mark.parametrize("ties", TIES)
def test_stars(ties):
    """A matched hub wakes all of its leaves; one thread does."""
    rng = np.random.default_rng(4)
    check(star(rng.integers(1, 40, 1500), np.int32), ties)
    check(hub(900), ties)
    check(build([(c, v, 1 + v % 5) for c in (0, 1, 63, 500) for v in range(64, 500)]), ties)


@pytest.mark.parametrize("ties", TIES)
def test_equal_weights(ties):
    check(grid(23, 19, lambda u, v: 5, np.uint8), ties)
    check(complete(70, lambda u, v: 0.1, np.float64), ties)


@pytest.mark.parametrize("kind", ["complete", "rmat", "near-ties"])
def test_many_races_have_one_winner(kind):
    graph = {
        "complete": lambda: complete(130, lambda u, v: 1),
        "rmat": lambda: troth.generate("rmat", scale=10, weights="integers", high=3),
        "near-ties": lambda: drawn(900, 5000, near_ties),
    }[kind]()
    wanted = troth.match(graph, algorithm="greedy", device="cpu").mate.tolist()
    order, there = order_of(graph), graph.to("cuda")
    for _ in range(RACES):
        mate = run(there, order, Context()).mates
        assert mate.get().tolist() == wanted


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_no_edges(n):
    assert check(build([], n)) == {"rounds": 0, "queued": 0}


def test_progress_never_turns_back():
    seen = []
    graph = grid(20, 20, lambda u, v: 1 + u * v % 7)
    run(graph.to("cuda"), order_of(graph), Context(progress=lambda *words: seen.append(words)))
    done = [count for _, count, _ in seen]
    assert done == sorted(done)
    assert seen[-1] == ("match", graph.n, graph.n)
