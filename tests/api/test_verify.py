"""``verify``: the checks fail for the right reason, and find what their definitions say."""

import numpy as np
import pytest
from corpus import TIES, build, corpus, cycle, greedy, grid, matchings, on_corpus
from hypothesis import given

from troth import match, reference
from troth.api.checking import certificate, verify
from troth.api.result import Matching
from troth.errors import TrothError

THREADS = (1, 2, 3, 7)
slides = corpus("slides")
best = [2, -1, 0, 4, 3]


# ---- validity ----


@pytest.mark.parametrize(
    ("mates", "reason"),
    [
        ([2, -1, 0, 4], "the mates have shape (4,), the graph has 5 vertices"),
        ([[2, -1, 0, 4, 3]], "the mates have shape (1, 5), the graph has 5 vertices"),
        (None, "the mates have shape (), the graph has 5 vertices"),
        ([2.0, -1.0, 0.0, 4.0, 3.0], "the mates are float64, not integers"),
        ([True, False, False, False, False], "the mates are bool, not integers"),
        ([2, -2, 0, 4, 3], "vertex 1: its mate -2 is not a vertex: 0 to 4, or -1 for none"),
        ([2, -1, 0, 5, 3], "vertex 3: its mate 5 is not a vertex: 0 to 4, or -1 for none"),
        ([2 + 2**32, -1, 0, 4, 3], "vertex 0: its mate 4294967298 is not a vertex: 0 to 4, or -1 for none"),
        ([2, 1, 0, 4, 3], "vertex 1 is its own mate"),
        ([2, 0, 0, 4, 3], "vertex 1: its mate is 0, but the mate of 0 is 2"),
        ([-1, -1, -1, 4, -1], "vertex 3: its mate is 4, but the mate of 4 is -1"),
        ([3, -1, -1, 0, -1], "vertex 0: its mate 3 is not a neighbour"),
    ],
)
def test_what_is_no_matching(mates, reason):
    for threads in THREADS:
        report = verify(slides, mates, threads=threads)
        assert not report
        assert not report.valid
        assert not report.maximal
        assert not report.dominant
        assert report.reason == reason
        assert (report.weight, report.bound, report.ratio) == (None, None, None)
    with pytest.raises(TrothError, match="no certificate without a matching") as refusal:
        certificate(slides, mates)
    assert reason in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_mates_of_any_integer_type(dtype):
    assert verify(slides, np.array(best, dtype)).ok
    assert verify(slides, np.array([*best, 0], dtype)[:-1]).ok
    assert verify(slides, np.repeat(np.array(best, dtype), 2)[::2]).ok


# ---- pairs ----


def networkx_path():
    networkx = pytest.importorskip("networkx")
    G = networkx.Graph()
    G.add_weighted_edges_from([("a", "b", 4), ("b", (0, 1), 5), ((0, 1), 7, 4)])  # names of any kind
    return networkx, G


def test_what_networkx_finds():
    networkx, G = networkx_path()
    found = networkx.max_weight_matching(G)
    report = verify(G, found)
    assert (report.ok, report.weight, report.ratio) == (True, 8, 1.0)
    assert verify(G, list(found)) == report
    assert verify(G, {u: v for pair in found for u, v in (pair, pair[::-1])}) == report
    assert verify(G, {frozenset(pair) for pair in found}) == report
    assert certificate(G, found).weight == 8
    assert verify(G, match(G).edges()).weight == 5
    assert verify(G, set(match(G))).weight == 5
    assert verify(G, set()).reason == "edge (0, 1) joins two unmatched vertices"


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        ([("a", "c")], "pair ('a', 'c'): 'c' is not a vertex"),
        ([("a", (0, 1))], "vertex 0: its mate 2 is not a neighbour"),
        ([("a", "b"), ("b", (0, 1))], "vertex 'b' is in 2 pairs"),
        ([("a", "b"), ("b", "a")], "vertex 'a' is in 2 pairs"),
        ([("a", "a")], "pair ('a', 'a'): a vertex is its own mate"),
        ([("a", "b"), ("a",)], "('a',) is no pair"),
        ([("a", ["b"])], "pair ('a', ['b']): ['b'] is not a vertex"),
        ({"a": "a"}, "pair ('a', 'a'): a vertex is its own mate"),
    ],
)
def test_what_are_no_pairs(pairs, reason):
    report = verify(networkx_path()[1], pairs)
    assert (report.valid, report.reason) == (False, reason)


@pytest.mark.parametrize("kind", [np.array, list, lambda pairs: set(map(tuple, pairs))])
def test_pairs_of_numbers(kind):
    assert verify(slides, kind([[0, 2], [3, 4]])) == verify(slides, best)
    assert verify(slides, kind([[0, 5]])).reason == "pair (0, 5): 5 is not a vertex"
    assert verify(slides, kind([[0, -1]])).reason == "pair (0, -1): -1 is not a vertex"
    named = slides.replaced(ids=np.array([40, 10, 30, 20, 0]))
    assert verify(named, kind([[40, 30], [20, 0]])) == verify(slides, best)
    assert verify(named, kind([[40, 31]])).reason == "pair (40, 31): 31 is not a vertex"


def test_unsigned_mates_have_no_free_vertices():
    pair = build([(0, 1, 3)])
    assert verify(pair, np.array([1, 0], np.uint64)).ok
    assert verify(slides, np.array(best, np.int64).astype(np.uint64)).reason.startswith(
        f"vertex 1: its mate {2**64 - 1}"
    )


@pytest.mark.parametrize("n", [0, 1, 5])
def test_graphs_without_edges(n):
    report = verify(build([], n), np.full(n, -1))
    assert report.ok
    assert report.dominant
    assert (report.weight, report.bound, report.ratio, report.reason) == (0, 0, 1.0, "")
    report = verify(build([], n, np.float64), [-1] * n)
    assert (report.weight, report.bound, report.ratio) == (0.0, 0.0, 1.0)


# ---- maximality and dominance ----


def test_a_free_edge_is_named():
    report = verify(slides, [-1, -1, -1, 4, 3])
    assert report.valid
    assert not report.maximal
    assert not report.dominant
    assert not report
    assert report.reason == "edge (0, 1) joins two unmatched vertices"


def test_dominance_fails_only_where_it_was_promised():
    mates = [1, 0, 3, 2, -1]  # a-b 4, c-d 7; d-e 10 and c-e 9 are heavier than both ends
    report = verify(slides, mates)
    assert report.ok
    assert report.maximal
    assert not report.dominant
    assert report.reason == "edge (2, 4) of weight 9 is heavier than the matched edges at its ends"
    assert not verify(slides, mates, promises_dominance=True).ok
    assert verify(slides, best, promises_dominance=True).ok


def test_dominance_is_compared_by_weight_alone():
    square = cycle([5, 5, 5, 5])
    assert verify(square, [1, 0, 3, 2], promises_dominance=True).ok
    assert verify(square, [3, 2, 1, 0], promises_dominance=True).ok


@pytest.mark.parametrize("algorithm", ["suitor", "greedy", "blue-red", "auction", "local-random"])
def test_the_engine_of_a_matching_says_what_it_promises(algorithm):
    matching = Matching(slides, np.array([1, 0, 3, 2, -1], np.int32), algorithm)
    report = verify(slides, matching)
    assert report.promises_dominance == (algorithm in ("suitor", "greedy"))
    assert report.ok != report.promises_dominance
    assert verify(slides, matching, promises_dominance=False).ok


@given(matchings())
def test_checks_equal_their_definitions(case):
    graph, mate = case
    weight = reference.edges(graph)
    held = [weight[min(v, u), max(v, u)] if u >= 0 else 0 for v, u in enumerate(mate.tolist())]
    free = [e for e in weight if mate[e[0]] < 0 and mate[e[1]] < 0]
    heavier = [(u, v) for (u, v), w in weight.items() if w > max(held[u], held[v])]
    for threads in THREADS:
        report = verify(graph, mate, certify=False, threads=threads)
        assert (report.valid, report.maximal, report.dominant) == (True, not free, not heavier)
        assert (report.bound, report.ratio) == (None, None)
        if free:
            assert report.reason == f"edge {min(free)} joins two unmatched vertices"
        elif heavier:
            assert report.reason.startswith(f"edge {min(heavier)} of weight {weight[min(heavier)]} is heavier")
        else:
            assert report.reason == ""


@pytest.mark.parametrize("ties", TIES)
@on_corpus
def test_greedy_passes_on_the_corpus(graph, ties):
    for threads in (1, 3):
        report = verify(graph, greedy(graph, ties), threads=threads, promises_dominance=True)
        assert report.ok
        assert report.reason == ""
        assert 0.5 <= report.ratio <= 1


def test_the_first_offence_is_the_same_for_any_threads():
    graph = grid(60, 60, lambda u, v: 1)
    mate = greedy(graph)
    pairs = [(u, v) for u, v in enumerate(mate.tolist()) if u < v]
    for u, v in pairs[5::7]:
        mate[u] = mate[v] = -1
    expected = verify(graph, mate, threads=1)
    assert expected.valid
    assert not expected.maximal
    mate_broken = mate.copy()
    mate_broken[[900, 1800, 3599]] = 0
    for threads in THREADS:
        assert verify(graph, mate, threads=threads) == expected
        assert verify(graph, mate_broken, threads=threads).reason.startswith("vertex 900:")


def test_threads_are_checked():
    for threads in (0, -1, 2.0, "two"):
        with pytest.raises(TrothError, match="threads"):
            verify(slides, best, threads=threads)
