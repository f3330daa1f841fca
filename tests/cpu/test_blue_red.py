"""What is special to blue-red: the fractions, the rounds, and extreme probabilities."""

import numpy as np
import pytest
from colours import check_rounds_that_just_pass, check_thousands_of_rounds, extreme_p
from corpus import corpus, graphs, on_corpus, order_of
from hypothesis import given
from hypothesis import strategies as st

import troth
from troth import reference
from troth.contract import Context
from troth.cpu import blue_red
from troth.errors import TrothError

MODES = ("weighted", "random")


def check(graph, seed, threads=1, lists=True, **options):
    """Mates and fractions are those of the reference."""
    order = order_of(graph, seed=seed)
    mate, fractions = reference.blue_red(graph, order, seed, **options)
    found, stats, *_ = blue_red.run(graph, order, Context(threads, np.uint64(seed)), lists=lists, **options)
    assert found.tolist() == mate.tolist()
    assert stats["fractions"] == fractions
    assert stats["rounds"] == len(fractions)
    return stats


@pytest.mark.parametrize("mode", MODES)
@on_corpus
def test_fractions(graph, mode):
    for seed in (0, 2**64 - 1):
        for rounds in (None, 0, 1, 3):
            for lists in (True, False):
                check(graph, seed, 1 + seed % 3, lists, mode=mode, rounds=rounds)


@given(
    graphs(), st.integers(0, 2**64 - 1), st.sampled_from(MODES), st.floats(0.05, 0.95), st.integers(1, 4), st.booleans()
)
def test_fractions_of_random_graphs(graph, seed, mode, p, threads, lists):
    check(graph, seed, threads, lists, mode=mode, p=p)


@pytest.mark.parametrize("mode", MODES)
def test_small_and_large_rounds_meet(mode, monkeypatch):
    """Whatever the number of active vertices that one thread takes on, and wherever the rounds end."""
    graph = troth.generate("rmat", scale=10, weights="integers")
    whole = check(graph, 3, mode=mode)
    for small in (0, 50, 10**9):
        for history in (1, 2, 4096):
            monkeypatch.setattr(blue_red, "SMALL", small)
            monkeypatch.setattr(blue_red, "HISTORY", history)
            for rounds in (None, 1, whole["rounds"] - 1, whole["rounds"], whole["rounds"] + 1):
                stats = check(graph, 3, threads=2, mode=mode, rounds=rounds)
                assert stats["fractions"] == whole["fractions"][:rounds]


def test_thousands_of_rounds():
    check_thousands_of_rounds(check, blue_red.HISTORY)


@extreme_p
def test_rounds_without_blue_or_red_just_pass(p):
    check_rounds_that_just_pass(check, p)


def test_a_probability_below_every_hash_is_refused():
    graph = corpus("triangle")
    with pytest.raises(TrothError, match=r"p=2.7.*e-20 is not accepted: give 1e-19 or more"):
        troth.match(graph, algorithm="blue-red", p=2**-65)


def test_vertices_drop_out():
    """After the first round only the rows of vertices that are free and have a free neighbour are read."""
    graph = troth.generate("grid", rows=50, cols=50)
    stats = check(graph, 0)
    assert stats["rounds"] > 5
    assert stats["edges_read"] < 2.5 * len(graph.indices)
