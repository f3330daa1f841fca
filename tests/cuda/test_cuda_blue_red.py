"""Blue-red on a GPU: the mates, fractions and rounds of the reference, by many blocks and by one."""

from __future__ import annotations

import json

import numpy as np
import pytest
from colours import check_rounds_that_just_pass, check_thousands_of_rounds, extreme_p
from corpus import DTYPES, TIES, build, corpus, graphs, on_corpus, order_of, star
from hypothesis import given, settings
from hypothesis import strategies as st

import troth
from troth import reference
from troth.contract import Context
from troth.cuda import blue_red
from troth.errors import TrothError
from troth.order import on_device

pytestmark = pytest.mark.gpu

MODES = ("weighted", "random")
MANY, ONE = 0, 10**9  # how much a single block may have to do: nothing, anything


def check(graph, seed=0, ties="hash", small=(MANY, ONE), **options):
    """Mates and fractions are those of the reference, with lists and without."""
    order, there = order_of(graph, ties, seed), graph.to("cuda")
    same = on_device(order, there.device)
    mate, fractions = reference.blue_red(graph, order, seed, **options)
    for most, lists in [*((most, True) for most in small), (MANY, False)]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(blue_red, "SMALL", most)
            found, stats, seconds, _ = blue_red.run(there, same, Context(seed=np.uint64(seed)), lists=lists, **options)
        assert found.dtype == np.int32
        assert found.get().tolist() == mate.tolist()
        assert stats["fractions"] == fractions
        assert stats["rounds"] == len(fractions)
        assert set(seconds) == {"kernels"}
    return stats


@pytest.mark.parametrize("mode", MODES)
@on_corpus
def test_corpus(graph, mode):
    for rounds in (None, 0, 1, 3):
        check(graph, 2**64 - 1, mode=mode, rounds=rounds)
    for ties in TIES:
        check(graph, ties=ties, mode=mode)


@settings(max_examples=50)
@given(
    graphs(dtypes=DTYPES),
    st.integers(0, 2**64 - 1),
    st.sampled_from(TIES),
    st.sampled_from(MODES),
    st.floats(0.05, 0.95),
)
def test_random_graphs(graph, seed, ties, mode, p):
    check(graph, seed, ties, mode=mode, p=p)


def wheel(leaves: int, dtype) -> troth.Graph:
    """Two hubs that know all of a cycle; four lanes look at a short row and a block at a hub's."""
    rim = [(2 + i, 2 + (i + 1) % leaves, 2 + i % 3) for i in range(leaves)]
    spokes = [(hub, 2 + i, 1 + (i + hub) % 90) for hub in (0, 1) for i in range(leaves)]
    return build(spokes + rim, dtype=dtype)


LONG = {
    "star": lambda dtype: star([1 + (7 * i) % 31 for i in range(1500)], dtype),
    "wheel": lambda dtype: wheel(300, dtype),
    "dense": lambda dtype: troth.generate("complete", n=530, weights="integers", high=100, dtype=dtype),
}


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
@pytest.mark.parametrize("name", LONG)
def test_long_rows(name, dtype):
    graph = LONG[name](dtype)
    check(graph, 1)
    if dtype == "uint8":  # lots do not look at weights
        check(graph, 1, mode="random")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weights", ["integers", "unit"])
def test_medium_graphs(dtype, weights):
    graph = troth.generate("rmat", scale=9, edgefactor=8, weights=weights, dtype=dtype)
    check(graph, 3)


def test_prefixes_that_are_lossy():
    """1, and weights from 2^60 on that differ in the last bits: the prefixes of the latter are equal."""
    check(build([(u, v, 1 if u + v == 1 else 2**60 + u * v % 7) for u in range(20) for v in range(u)]), 5)


@pytest.mark.parametrize("mode", MODES)
def test_many_blocks_and_one_meet(mode, monkeypatch):
    """Whatever one block takes on, however often it reports, however few counts are cleared at once."""
    graph = troth.generate("grid", rows=20, cols=30, weights="integers")
    whole = check(graph, 3, mode=mode)
    assert whole["rounds"] > 4
    for history, rows in ((1, 1), (2, 2), (4096, 3)):
        monkeypatch.setattr(blue_red, "HISTORY", history)
        monkeypatch.setattr(blue_red, "ROWS", rows)
        for rounds in (None, 1, 2, whole["rounds"] - 1, whole["rounds"], whole["rounds"] + 1):
            stats = check(graph, 3, mode=mode, rounds=rounds, small=(MANY, 500, 2500, ONE))
            assert stats["fractions"] == whole["fractions"][:rounds]


def test_more_vertices_than_threads(monkeypatch):
    monkeypatch.setattr(blue_red, "MOST_BLOCKS", 1)
    for mode in MODES:
        check(troth.generate("grid", rows=20, cols=30), 1, mode=mode)
        check(wheel(300, np.int32), 1, mode=mode)


def test_thousands_of_rounds():
    check_thousands_of_rounds(check, blue_red.HISTORY, small=(ONE,))


@extreme_p
def test_rounds_without_blue_or_red_just_pass(p):
    check_rounds_that_just_pass(check, p)


def test_a_probability_below_every_hash_is_refused():
    with pytest.raises(TrothError, match=r"p=2.7.*e-20 is not accepted: give 1e-19 or more"):
        troth.match(corpus("triangle"), algorithm="blue-red", device="cuda", p=2**-65)


def entries_to_read(graph, seed, **options) -> int:
    """In each round the rows of those who are free and had a free neighbour in the round before."""
    order, rows, total = order_of(graph, seed=seed), reference.rows(graph), 0
    listed, mate = set(range(graph.n)), np.full(graph.n, -1)
    for done in range(1, 1000):
        total += sum(len(rows[v]) for v in listed)
        alive = {v for v in listed if any(mate[u] < 0 for u, _ in rows[v])}
        mate, _ = reference.blue_red(graph, order, seed, rounds=done, **options)
        listed = {v for v in alive if mate[v] < 0}
        if not listed:
            return total
    raise AssertionError("too many rounds")


def test_vertices_drop_out():
    """The leaves of a star, once its centre is matched, while another edge takes its time."""
    graph = build([(0, 2 + i, 1 + i % 5) for i in range(40)] + [(1, 50, 1)])
    for seed in range(5):
        for options in ({}, {"p": 0.03}, {"p": 0.97, "mode": "random"}):
            answer = entries_to_read(graph, seed, **options)
            for small in (MANY, ONE):
                assert check(graph, seed, small=(small,), **options)["edges_read"] == answer
    graph = troth.generate("grid", rows=12, cols=12)
    assert check(graph)["edges_read"] == entries_to_read(graph, 0) < 2.5 * len(graph.indices)


def test_isolated_vertices_are_no_round():
    graph = build([(3, 700, 2)], 900)
    assert check(graph, 4)["rounds"] >= 1
    assert check(build([], 900))["rounds"] == 0


def test_stats_and_progress():
    graph, calls = corpus("grid-scrambled"), []
    m = troth.match(graph, algorithm="blue-red", device="cuda", progress=lambda *call: calls.append(call))
    assert m.stats["rounds"] == len(m.stats["fractions"]) > 0
    assert json.loads(json.dumps(m.to_dict()))["stats"]["edges_read"] > 0
    assert calls
    assert all(0 <= done <= total for _, done, total in calls)
