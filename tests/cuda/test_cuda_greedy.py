"""Greedy on a GPU: the exact order of the edges, and rounds that take what serial greedy takes."""

from __future__ import annotations

import numpy as np
import pytest
from corpus import DTYPES, TIES, ULP, build, complete, graphs, grid, hub, on_corpus, order_of, path, star
from hypothesis import given
from hypothesis import strategies as st

import troth
from troth import reference
from troth.contract import Context
from troth.cuda.greedy import run, sorted_ends
from troth.graph import Graph
from troth.order import on_device

pytestmark = pytest.mark.gpu


def check(graph: Graph, ties: str = "hash", seed: int = 0) -> dict:
    """The reference's mates; returns the counts."""
    order = order_of(graph, ties, seed)
    there = graph.to("cuda")
    mate, stats, seconds, _ = run(there, on_device(order, there.device), Context())
    assert mate.dtype == np.int32
    assert mate.get().tolist() == reference.greedy(graph, order).tolist()
    assert set(stats) == {"rounds"}
    assert set(seconds) == {"kernels", "sort", "rounds"}
    assert bool(stats["rounds"]) == bool(graph.m)
    return stats


@on_corpus
@pytest.mark.parametrize("ties", TIES)
def test_corpus(graph, ties):
    check(graph, ties)


@given(graphs(30, DTYPES), st.sampled_from(TIES), st.integers(0, 9))
def test_any_graph(graph, ties, seed):
    check(graph, ties, seed)


@given(graphs(dtypes=DTYPES), st.sampled_from(TIES))
def test_the_order_of_the_edges(graph, ties):
    order = order_of(graph, ties)
    key = reference._edge_keys(graph, order)
    if graph.m:
        there = graph.to("cuda")
        words = sorted_ends(there, on_device(order, there.device)).get().tolist()
        ends = [tuple(sorted((word >> 32, word % 2**32))) for word in words]
        assert ends == sorted(key, key=key.get, reverse=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ties", TIES)
def test_every_type(dtype, ties):
    graph = troth.generate("rmat", scale=7, edgefactor=6)
    weights = (graph.weights * 9).astype(dtype) + np.array(1, dtype)
    check(Graph(graph.indptr, graph.indices, weights), ties)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: troth.generate("rmat", scale=10, edgefactor=8), id="rmat"),
        pytest.param(lambda: troth.generate("hubs", n=2000, hubs=3, degree=900), id="hubs"),
        pytest.param(lambda: grid(30, 40, lambda u, v: 1), id="grid"),
        pytest.param(lambda: star([1 + i % 5 for i in range(3000)]), id="star"),
        pytest.param(lambda: hub(700), id="wheel"),
        pytest.param(lambda: complete(40, lambda u, v: 1 + (u * v) % 5 * ULP, np.float64), id="near-ties"),
        pytest.param(lambda: build([(5, 4000, 1), (17, 3999, 2), (17, 18, 2)], 5000), id="isolated"),
    ],
)
def test_larger_graphs(make):
    graph = make()
    for ties in TIES:
        check(graph, ties)


def test_a_chain_takes_a_round_for_each_pair():
    assert check(path(range(1, 101)))["rounds"] == 50
    assert check(path([1] * 100), "low")["rounds"] == 50
    assert check(build([(2 * i, 2 * i + 1, 1 + i % 7) for i in range(500)]))["rounds"] == 1


def test_match():
    graph, seen = grid(20, 30, lambda u, v: 1 + (u * v) % 9), []
    for ties in TIES:
        m = troth.match(graph, algorithm="greedy", device="cuda", ties=ties, progress=lambda *words: seen.append(words))
        assert m.mate.tolist() == troth.match(graph, algorithm="greedy", device="cpu", ties=ties).mate.tolist()
        assert {"sort", "rounds"} <= set(m.stats["seconds"])
        assert seen[-1] == ("match", graph.m, graph.m)
