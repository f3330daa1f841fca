"""The edges that offers leave undecided: kernels that g++ runs on the CPU, against the definition in plain Python."""

from __future__ import annotations

import platform
import random
import shutil
from unittest import mock

import emulation
import numpy as np
import pytest
from corpus import drawn_with_hub, near_ties, on_corpus, order_of, wide_integers
from emulation import array_of, emulated, on_card
from shapes import star

from troth import reference
from troth.cuda import undecided
from troth.graph import Graph
from troth.order import prefix, priorities, weight_bits

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="fibers are switched by instructions of x86-64"),
]


def some_offers(graph: Graph, order, count: int, seed: int) -> dict[int, int]:
    """The suitor of each vertex that has one, after so many offers of Suitor, in a random order."""
    rows, rank, draw = reference.rows(graph), priorities(order, graph.n).tolist(), random.Random(seed)
    suitor: dict[int, int] = {}
    waiting = list(range(graph.n))
    while waiting and count:
        u = waiting.pop(draw.randrange(len(waiting)))
        takers = [
            (w, rank[v], v)
            for v, w in rows[u]
            if v not in suitor or (w, rank[u]) > (dict(rows[v])[suitor[v]], rank[suitor[v]])
        ]
        if takers:
            v = max(takers)[2]
            waiting += [suitor[v]] if v in suitor else []
            suitor[v] = u
            count -= 1
    return suitor


def check(graph: Graph, ties: str, count: int, seed: int = 0) -> None:
    order = order_of(graph, ties, seed)
    rows, rank = [dict(row) for row in reference.rows(graph)], priorities(order, graph.n).tolist()
    suitor = some_offers(graph, order, count, seed)
    words = np.zeros(graph.n, np.uint64)
    bits = weight_bits(graph.weights)
    for v, u in suitor.items():
        place = graph.indptr[v] + list(rows[v]).index(u)
        words[v] = int(prefix(bits[place], order)) << 32 | rank[u]

    def may_take(v: int, u: int) -> bool:
        return v not in suitor or (rows[u][v], rank[u]) >= (rows[v][suitor[v]], rank[suitor[v]])

    expected = [[(v, w) for v, w in row.items() if may_take(v, u) and may_take(u, v)] for u, row in enumerate(rows)]
    for wide in (0, 2**62):
        with emulated(undecided, seed=seed), mock.patch.object(undecided, "WIDE", wide):
            left = undecided.undecided_edges(on_card(graph), order, array_of(words))
        assert reference.rows(left) == expected
        assert left.weights.dtype == graph.weights.dtype
        assert reference.greedy(left, order).tolist() == reference.greedy(graph, order).tolist()


@on_corpus
def test_corpus(graph):
    for seed, ties in enumerate(("hash", "low", "high")):
        check(graph, ties, [2, graph.n // 2, 10**9][seed], seed)


@pytest.mark.parametrize("weigh", [near_ties, wide_integers, lambda rng, m: rng.integers(1, 4, m).astype(np.uint16)])
def test_random_graphs_with_a_hub(weigh):
    for seed, count in enumerate((0, 20, 80, 10**9)):
        check(drawn_with_hub(90, 300, weigh, seed), "low" if seed % 2 else "hash", count, seed)


@pytest.mark.parametrize(("degree", "lanes"), [(undecided.LONG - 1, 1), (undecided.LONG, 32)])
def test_a_warp_goes_over_long_rows(degree, lanes):
    """One lane would read a hub's row alone, also where most rows are short."""
    graph, programs = star(range(1, degree + 1)), []

    def watched(stem, program, constants):
        programs.append(program[0])
        return emulation.load(stem, program, constants)

    with emulated(undecided), mock.patch.object(undecided, "load", watched):
        undecided.undecided_edges(on_card(graph), order_of(graph), array_of(np.zeros(graph.n, np.uint64)))
    assert programs == [f"count_undecided<u64, {lanes}>"]
