"""The radix sort against Python's, and sorted rows against their definition."""

import numpy as np
import pytest
from corpus import TIES, graphs, on_corpus, order_of
from hypothesis import given
from hypothesis import strategies as st

import troth
from troth.graph import Graph
from troth.kernels import sort
from troth.kernels.sort import radix_sort
from troth.order import priorities, weight_bits
from troth.rows import rows_of, sort_rows

UNSIGNED = ("uint8", "uint16", "uint32", "uint64")


@st.composite
def unsigned(draw):
    dtype = draw(st.sampled_from(UNSIGNED))
    most = int(np.iinfo(dtype).max)
    some = draw(st.lists(st.integers(0, most), min_size=1, max_size=5))
    return np.array(draw(st.lists(st.sampled_from(some) | st.integers(0, most), max_size=60)), dtype)


@pytest.fixture(scope="module")
def tiny_shares():
    """A thread for every key."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sort, "SHARE", 1)
        yield


@pytest.mark.usefixtures("tiny_shares")
@given(unsigned(), st.sampled_from((1, 2, 5)), st.booleans())
def test_radix_sort_is_a_stable_sort(keys, threads, descending):
    places = sorted(range(len(keys)), key=lambda i: -int(keys[i]) if descending else int(keys[i]))
    found = radix_sort(keys.copy(), np.arange(len(keys)), threads, descending)
    assert found[0].tolist() == keys[places].tolist()
    assert found[1].tolist() == places
    assert radix_sort(keys.copy(), None, threads, descending)[0].tolist() == keys[places].tolist()


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
