"""Rows: sorted ones against their definition, and how a neighbour is found in one."""

import numpy as np
import pytest
from corpus import TIES, graphs, on_corpus, order_of
from hypothesis import given
from hypothesis import strategies as st

import troth
from troth.graph import Graph
from troth.order import priorities, weight_bits
from troth.rows import find, rows_of, sort_rows


def check_rows(graph: Graph, ties: str, threads: int) -> None:
    """Each row holds the same pairs as before, by decreasing (weight, priority)."""
    order = order_of(graph, ties)
    rank, bits = priorities(order, graph.n), weight_bits(graph.weights)
    rows = sort_rows(rows_of(graph), order, threads)
    for u in range(graph.n):
        row = slice(graph.indptr[u], graph.indptr[u + 1])
        pairs = zip(bits[row].tolist(), rank[graph.indices[row]].tolist(), graph.indices[row].tolist(), strict=True)
        best_first = [(weight, v) for weight, _, v in sorted(pairs, reverse=True)]
        assert list(zip(rows.bits[row].tolist(), rows.indices[row].tolist(), strict=True)) == best_first


@pytest.mark.parametrize("ties", TIES)
@on_corpus
def test_sorted_rows(graph, ties):
    check_rows(graph, ties, 1)


@given(graphs(), st.sampled_from(TIES))
def test_sorted_rows_of_random_graphs(graph, ties):
    check_rows(graph, ties, 2)


@pytest.mark.parametrize("weights", ["uniform", "unit", "integers"])
def test_sorted_long_rows(weights):
    """Rows of all lengths about the merging's powers of two, and a few long ones."""
    check_rows(troth.generate("rmat", scale=9, weights=weights), "hash", 2)
    check_rows(troth.generate("hubs", n=2000, hubs=2, degree=1000, weights=weights), "hash", 3)


@given(st.lists(st.integers(0, 50), unique=True), st.integers(-1, 51))
def test_find(row, v):
    row = sorted(row)
    padded = np.array([v, *row, v], np.int32)  # what lies outside of the row must not be found
    place = find(padded, np.uint64(1), np.uint64(1 + len(row)), v)
    assert place == (1 + row.index(v) if v in row else 1 + len(row))
