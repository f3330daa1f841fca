"""The auction: what it promises, in exact arithmetic, and each of its steps against the reference's."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from corpus import (
    TIES,
    build,
    corpus,
    drawn,
    exact_weight,
    fractions,
    graphs,
    matchings,
    near_ties,
    on_corpus,
    optimum,
    order_of,
    wide_integers,
)
from hypothesis import example, given
from hypothesis import strategies as st

import troth
from troth import reference, reference_auction
from troth.cpu import prices
from troth.cpu.augment import Exchange, augment
from troth.cpu.paths import Links, match_paths
from troth.cpu.prices import NONE, PRIORITY_BITS, Workers, find_prices, make_bidding
from troth.graph import Graph
from troth.kernels import team
from troth.kernels.queue import new_batches
from troth.order import make_order, priorities
from troth.rows import number_rows_of
from troth.units import ROOM, make_units

THREADS = (1, 2, 3, 8)
ROUNDED = 1 - Fraction(1, 2**20)  # what float32 prices may cost
ENDLESS = 10**6  # rounds; the reference takes no None
BY_NUMBER = st.sampled_from(("hash", "low", "high"))  # for "degree" all is compiled anew: see test_agreement.py
RULES = st.sampled_from([(0.02, 0.01), (0.02, 0.0), (0.3, 0.0), (0.1, 0.5), (1.0, 0.0)])  # eps and slack
seeds = st.integers(0, 2**64 - 1)


def as_a_team():
    """Even tiny graphs are shared among the threads."""
    return patch.object(team, "SERIAL_BELOW", 0)


def in_units(graph: Graph, mate) -> int:
    """The weight of a matching in units, which is what engines compare."""
    weight = reference_auction.units(graph)
    return sum(weight[u][int(v)] for u, v in enumerate(mate) if v > u)


def two_sided(graph: Graph) -> Graph:
    """The edges between even and odd vertices."""
    kept = [(u, v, w) for (u, v), w in reference.edges(graph).items() if (u + v) % 2]
    return build(kept, graph.n, graph.weights.dtype)


# ---- what is promised ----


def check_promise(graph: Graph, eps: float, slack: float, share: Fraction = Fraction(2, 3), **options) -> None:
    m = troth.match(graph, algorithm="auction", device="cpu", eps=eps, slack=slack, rounds=None, **options)
    least = optimum(graph) * share / ((1 + Fraction(eps)) * (1 + Fraction(slack)))
    assert exact_weight(graph, m.mate) >= least * ROUNDED


@given(graphs(10), RULES, BY_NUMBER, seeds)
def test_two_thirds_of_nearly_all(graph, rule, ties, seed):
    check_promise(graph, *rule, ties=ties, seed=seed)


@given(graphs(10), RULES, seeds)
def test_nearly_all_where_there_are_two_sides(graph, rule, seed):
    check_promise(two_sided(graph), *rule, share=Fraction(1), polish=0, seed=seed)


@on_corpus
def test_the_promise_on_the_corpus(graph):
    if graph.n <= 14 or graph.m < graph.n:  # denormal and huge weights are among them
        check_promise(graph, 0.02, 0.02)


@given(graphs(), BY_NUMBER, seeds, st.integers(1, 4), st.integers(0, 2))
def test_maximal_and_never_below_the_stable_matching(graph, ties, seed, rounds, polish):
    words = {"ties": ties, "seed": seed, "device": "cpu"}
    m = troth.match(graph, algorithm="auction", rounds=rounds, polish=polish, **words)
    report = troth.verify(graph, m, certify=False)
    assert report
    assert not report.promises_dominance
    words["ties"] = "degree" if ties == "hash" else ties  # what the auction merges with
    assert in_units(graph, m.mate) >= in_units(graph, troth.match(graph, **words).mate)


@pytest.mark.parametrize("name", ["delaunay:n=3000", "rmat:scale=10", "bipartite:left=900,right=1100,m=6000"])
def test_heavy_in_practice(name):
    graph = troth.read(name)
    near, stable = (troth.match(graph, algorithm=name, device="cpu") for name in ("auction", "suitor"))
    assert near.weight > stable.weight  # weights do not tie, so no rule of ties matters
    assert troth.certificate(graph, near).ratio > 0.95


# ---- prices ----


@given(graphs(10), RULES, st.sampled_from([1, 2, 5, ENDLESS]), seeds)
@example(build([(u, v, 2.6) for u, v in combinations(range(6), 2) if u < 3], 6, np.float64), (1.0, 0.0), 2, 4)
def test_prices_bound_the_optimum(graph, rule, rounds, seed):
    """(1 + eps) times the weight of all arcs, and what is unmet, are twice the optimum or more, whenever it ends."""
    (eps, slack), order = rule, order_of(graph, seed=seed)
    prices, holder, done = reference_auction.auction_prices(graph, order, seed, eps, slack, rounds)
    assert done <= rounds
    scale = Fraction(2) ** -(1 - math.frexp(float(max(graph.weights.tolist(), default=1)))[1])
    price = [Fraction(float(p)) * scale for p in prices]
    weight = [{v: Fraction(w) for v, w in row} for row in reference.rows(graph)]
    arcs = sum((weight[u][v] for v, u in enumerate(holder.tolist()) if u >= 0), Fraction(0))
    without = set(range(graph.n)) - set(holder.tolist())
    unmet = sum((max([Fraction(0), *(w - price[v] for v, w in weight[u].items())]) for u in without), Fraction(0))
    assert (1 + Fraction(eps)) * arcs + unmet >= 2 * optimum(graph) * ROUNDED
    assert sum(price) <= (1 + Fraction(eps)) * arcs / ROUNDED  # nobody pays more than that for its item
    if done < rounds:
        assert unmet <= Fraction(slack) * sum(price) + graph.n * scale * (1 - ROUNDED)


def check_prices(graph: Graph, ties: str, seed: int, threads: int, eps=0.02, slack=0.02, rounds=32) -> None:
    order = order_of(graph, ties, seed)
    wanted, holder, done = reference_auction.auction_prices(graph, order, seed, eps, slack, rounds)
    with as_a_team():
        words, counts = find_prices(Workers(threads), make_bidding(graph, order, seed, eps), slack, rounds)
    assert (words >> PRIORITY_BITS).astype(np.uint32).view(np.float32).tolist() == wanted.tolist()
    by_priority = {rank: v for v, rank in enumerate(priorities(order, graph.n).tolist())}
    found = [-1 if word == NONE else by_priority[word % 2**32] for word in words.tolist()]
    assert found == holder.tolist()
    assert counts["rounds"] == done


@given(graphs(), BY_NUMBER, seeds, st.sampled_from(THREADS), RULES, st.sampled_from([1, 3, 32]))
def test_prices_are_the_reference_s(graph, ties, seed, threads, rule, rounds):
    if graph.m:  # the engine does not come so far without edges
        check_prices(graph, ties, seed, threads, *rule, rounds)


@pytest.mark.parametrize("weigh", [near_ties, wide_integers, fractions])
def test_prices_of_larger_graphs(weigh):
    graph = drawn(300, 900, weigh)
    for threads in THREADS:
        check_prices(graph, "hash", 5, threads)


@pytest.mark.parametrize("rounds", [66, 67, 301, 2000])
def test_prices_of_long_auctions(rounds, monkeypatch):
    """Five want one of three: after some rounds one worker goes on, a few rounds at a time."""
    monkeypatch.setattr(prices, "AT_A_TIME", 16)
    few, many = np.tile(np.arange(3), 5), np.repeat(np.arange(3, 8), 3)
    graph = troth.as_graph((few, many, 0.01 * np.random.default_rng(2).random(15) + 3))
    for eps, slack in ((0.004, 0.0), (0.004, 0.001)):
        check_prices(graph, "hash", 3, 2, eps, slack, rounds)
    _, counts = find_prices(Workers(1), make_bidding(graph, make_order("hash", 3), 3, 0.004), 0.0, rounds)
    assert counts["rounds"] == min(rounds, 370)


# ---- paths and cycles ----


@st.composite
def arcs(draw, most: int = 9) -> tuple[Graph, np.ndarray, np.ndarray]:
    """A graph, and for each vertex up to one item and up to one holder, as an auction leaves them; many weights tie."""
    n = draw(st.integers(2, most))
    wanted, kept = draw(st.permutations(range(n))), draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    item = [v if u != v and kept[u] else -1 for u, v in enumerate(wanted)]
    holder = [item.index(v) if v in item else -1 for v in range(n)]
    dtype = draw(st.sampled_from(["int32", "float64"]))
    pairs = sorted({(min(u, v), max(u, v)) for u, v in enumerate(item) if v >= 0})
    weights = draw(st.lists(st.integers(1, 4), min_size=len(pairs), max_size=len(pairs)))
    graph = build([(u, v, w) for (u, v), w in zip(pairs, weights, strict=True)], n, dtype)
    return graph, np.array(item, np.int32), np.array(holder, np.int32)


def check_paths(graph: Graph, seed: int, first, second, of_arcs: bool, threads=THREADS) -> np.ndarray:
    """The heaviest matching by the reference; the engine finds the same."""
    wanted = reference_auction.heaviest_on_paths(graph, seed, first, second)
    links = Links(number_rows_of(graph), make_units(graph, ROOM), first, second, of_arcs, make_order("hash", seed))
    for count in threads:
        team_of, mate = Workers(count), np.zeros(graph.n, np.int32)
        with as_a_team():
            match_paths(team_of, links, team_of.queue(graph.n), mate)
        assert mate.tolist() == wanted.tolist()
    return wanted


@given(arcs(), seeds)
def test_heaviest_on_arcs(made, seed):
    """The graph has no edges but the arcs, so its heaviest matching is theirs."""
    graph, item, holder = made
    mate = check_paths(graph, seed, item, holder, True, threads=(1, 3))
    assert exact_weight(graph, mate) == optimum(graph)
    assert troth.verify(graph, mate, certify=False).valid


@given(matchings(9, ("float32", "int64")), seeds, st.data())
def test_heaviest_on_two_matchings(made, seed, data):
    graph, one = made
    order = order_of(graph, data.draw(st.sampled_from(TIES)), seed)
    other = reference.greedy(graph, order)
    if not graph.m:
        return
    mate = check_paths(graph, seed, one, other, False, threads=(1, 3))
    edges = {(u, int(v)) for mates in (one, other) for u, v in enumerate(mates) if v >= 0}
    assert {(u, int(v)) for u, v in enumerate(mate) if v >= 0} <= edges
    both = [(u, v, w) for (u, v), w in reference.edges(graph).items() if (u, v) in edges]
    assert in_units(graph, mate) >= max(in_units(graph, one), in_units(graph, other))
    if graph.weights.dtype != np.int64:  # units of integers beyond 2^60 lose their last bits
        assert exact_weight(graph, mate) == optimum(build(both, graph.n, graph.weights.dtype))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 50, 51, 1001])
@pytest.mark.parametrize("weights", ["equal", "drawn"])
def test_one_cycle(n, weights):
    rng = np.random.default_rng(n)
    item = np.roll(np.arange(n, dtype=np.int32), -1)
    edges = [(min(u, v), max(u, v)) for u, v in enumerate(item.tolist())]
    weight = np.ones(n, int) if weights == "equal" else rng.integers(1, 9, n)
    graph = build([(u, v, w) for (u, v), w in dict(zip(edges, weight.tolist(), strict=True)).items()], n)
    mate = check_paths(graph, 7, item, np.roll(np.arange(n, dtype=np.int32), 1), True)
    if weights == "equal":
        assert np.count_nonzero(mate >= 0) == n - n % 2


# ---- exchanges ----


def check_exchanges(graph: Graph, ties: str, seed: int, mate: np.ndarray, threads=THREADS) -> np.ndarray:
    """Three rounds by the reference, of which the first is returned; the engine makes the same."""
    order, n = order_of(graph, ties, seed), graph.n
    wanted, looking = [(mate, set(range(n)))], None
    for _ in range(3):
        wanted.append(reference_auction.augment(graph, order, seed, wanted[-1][0], looking))
        looking = wanted[-1][1]
    for count in threads:
        team_of, changed = Workers(count), mate.copy()
        room = (team_of.room(n, kind) for kind in (np.float32, np.int32, np.uint64))
        gets, looks, touched = (team_of.room(n, np.int8) for _ in range(3))
        looks[:] = 1
        exchange = Exchange(changed, *room, team_of.queue(n), gets, looks, touched)
        bidding, units, batches = make_bidding(graph, order, seed), make_units(graph, ROOM), new_batches(count)
        for mates, claimed in wanted[1:]:
            with as_a_team():
                augment(team_of, bidding, units, batches, exchange)
            assert changed.tolist() == mates.tolist()
            assert set(np.flatnonzero(exchange.touched).tolist()) == claimed
            exchange = exchange._replace(looks=exchange.touched, touched=exchange.looks)
    return wanted[1][0]


@given(matchings(), BY_NUMBER, seeds)
def test_exchanges(made, ties, seed):
    graph, mate = made
    if not graph.m:
        return
    better = check_exchanges(graph, ties, seed, mate, threads=(1, 3))
    assert troth.verify(graph, better, certify=False).valid
    assert in_units(graph, better) >= in_units(graph, mate)
    if better.tolist() != mate.tolist():
        assert in_units(graph, better) > in_units(graph, mate)


@pytest.mark.parametrize("weigh", [near_ties, wide_integers, fractions])
def test_exchanges_in_larger_graphs(weigh):
    """From a poor matching, many at once."""
    graph = drawn(300, 900, weigh, seed=2)
    mate = reference.local(graph, order_of(graph), 0, "random")
    better = check_exchanges(graph, "hash", 3, mate)
    assert in_units(graph, better) > in_units(graph, mate)


def test_an_exchange_takes_both_sides():
    """The middle edge of a path is given up for the outer two: 5 for 4 and 4."""
    graph = build([(0, 1, 4), (1, 2, 5), (2, 3, 4)])
    mate, _ = reference_auction.augment(graph, order_of(graph), 0, np.array([-1, 2, 1, -1]))
    assert mate.tolist() == [1, 0, 3, 2]
    m = troth.match(graph, algorithm="auction")
    assert (m.weight, m.mate.tolist()) == (8, [1, 0, 3, 2])


# ---- options ----


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("eps", 0, "a number from 1e-06 to 1"),
        ("eps", 2, "a number from 1e-06 to 1"),
        ("eps", float("nan"), "a number from 1e-06 to 1"),
        ("eps", "small", "a number from 1e-06 to 1"),
        ("slack", -1, "a number"),
        ("slack", "some", "a number"),
        ("rounds", 0, "a whole number"),
        ("rounds", 1.5, "a whole number"),
        ("rounds", "many", "a whole number"),
        ("polish", -1, "a whole number"),
        ("polish", None, "a whole number"),
        ("target", 2, "a number from 0 to 1"),
        ("target", -0.1, "a number from 0 to 1"),
        ("target", "best", "a number from 0 to 1"),
    ],
)
def test_refusals(option, value, reason):
    with pytest.raises(troth.TrothError) as refusal:
        troth.match(corpus("slides"), algorithm="auction", **{option: value})
    assert str(refusal.value).startswith(f"auction: {option}={value!r} is not accepted: give {reason}")
    assert "\n" not in str(refusal.value)


def test_options_as_text():
    words = {"eps": "0.5", "slack": "0", "rounds": "none", "polish": "3", "target": "none"}
    values = {"eps": 0.5, "slack": 0, "rounds": None, "polish": 3}
    graph = troth.generate("rgg", n=300, degree=6, seed=2)
    found = [troth.match(graph, algorithm="auction", **given).mate.tolist() for given in (words, values)]
    assert found[0] == found[1]


def test_target_asks_for_more():
    graph = troth.generate("bipartite", left=300, right=300, m=2000, seed=1)
    rough = troth.match(graph, algorithm="auction", eps=0.5, slack=0.3, polish=0, certify=True)
    m = troth.match(graph, algorithm="auction", eps=0.5, slack=0.3, polish=0, target=0.97)
    assert m.certificate.ratio >= 0.97 > rough.certificate.ratio
    assert "note" not in m.stats
    missed = troth.match(graph, algorithm="auction", target=1.0)
    assert "the target 1 was not reached" in missed.stats["note"]
