"""The result: weight, pairs, clusters, and how it shows itself."""

import json
import math
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import numpy as np
import pytest
from corpus import HUGE, build, corpus, exact_weight, graphs, matchings, on_corpus, order_of
from hypothesis import given

from troth import reference
from troth.api.checking import certificate, verify
from troth.api.result import Matching
from troth.cpu.checks import BLOCK
from troth.errors import TrothError


def match(graph, **facts):
    return Matching(graph, reference.greedy(graph, order_of(graph)), "greedy", **facts)


slides = corpus("slides")


def test_slides_example():
    m = match(slides)
    assert m.weight == 15
    assert isinstance(m.weight, int)
    assert m.cardinality == 2
    assert m.edges().tolist() == [[0, 2], [3, 4]]
    assert m.edges().dtype == np.int32
    assert m.labels().tolist() == [0, 1, 0, 2, 2]
    assert repr(m) == "Matching(pairs=2, weight=15, n=5, algorithm='greedy', device='cpu')"


@on_corpus
def test_pairs_and_clusters_on_the_corpus(graph):
    m = match(graph)
    pairs = m.edges()
    assert pairs.shape == (m.cardinality, 2)
    assert all(u < v and m.mate[u] == v and m.mate[v] == u for u, v in pairs)
    assert pairs[:, 0].tolist() == sorted(pairs[:, 0].tolist())
    assert m.cardinality == np.count_nonzero(m.mate >= 0) / 2
    assert m.weight == pytest.approx(float(exact_weight(graph, m.mate)), rel=1e-12)
    assert "\n" not in repr(m)


@given(matchings())
def test_weight_is_exact_for_integers_and_close_for_floats(case):
    graph, mate = case
    weight = Matching(graph, mate, "any").weight
    exact = exact_weight(graph, mate)
    if graph.weights.dtype.kind != "f":
        assert weight == exact
    elif math.isfinite(weight):
        assert abs(Fraction(weight) - exact) <= exact * graph.n * Fraction(2) ** -53
    else:
        assert exact > HUGE


def test_float_sums_have_one_order():
    rng = np.random.default_rng(5)
    pairs = 3 * BLOCK + 17
    weights = (rng.random(pairs) * 10.0 ** rng.integers(-9, 9, pairs)).tolist()
    graph = build([(2 * i, 2 * i + 1, w) for i, w in enumerate(weights)], dtype=np.float64)
    mate = np.arange(2 * pairs, dtype=np.int32) ^ 1
    total = 0.0
    for first in range(0, pairs, BLOCK // 2):
        block = 0.0
        for w in weights[first : first + BLOCK // 2]:
            block += w
        total += block
    assert [verify(graph, mate, certify=False, threads=threads).weight for threads in (1, 2, 5)] == [total] * 3
    assert Matching(graph, mate, "any").weight == total


@given(graphs())
def test_labels_number_the_clusters_by_first_vertex(graph):
    m = match(graph)
    expected, seen = [], {}
    for v, u in enumerate(m.mate.tolist()):
        cluster = v if u < 0 else min(u, v)
        expected.append(seen.setdefault(cluster, len(seen)))
    assert m.labels().tolist() == expected
    assert m.labels().dtype == np.int32


@pytest.mark.parametrize(
    "ids",
    [np.array(["ann", "bob", "cid", "dee", "eve"]), np.array([10, 20, 30, 40, 50]), np.array([*"abcd", 7], object)],
)
def test_pairs_speak_the_names_of_the_graph(ids):
    pairs = match(replace(slides, ids=ids)).edges()
    assert pairs.tolist() == [[ids[0], ids[2]], [ids[3], ids[4]]]


def test_names_may_be_tuples():
    ids = np.empty(5, object)
    ids[:] = [(0, i) for i in range(5)]
    assert match(replace(slides, ids=ids)).edges().tolist() == [[(0, 0), (0, 2)], [(0, 3), (0, 4)]]


def test_to_dict_is_json():
    stats = {"rounds": np.int64(3), "matched": np.array([0.5, 1.0]), "seconds": 0.25}
    m = match(slides, seed=4, ties="low", stats=stats)
    proven = replace(m, certificate=certificate(slides, m.mate))
    facts = json.loads(json.dumps(proven.to_dict()))
    assert facts["certificate"].pop("sweeps") >= 1
    assert facts == {
        "algorithm": "greedy",
        "device": "cpu",
        "ties": "low",
        "seed": 4,
        "n": 5,
        "m": 5,
        "pairs": 2,
        "weight": 15,
        "certificate": {"weight": 15, "bound": proven.certificate.bound, "ratio": proven.certificate.ratio},
        "stats": {"rounds": 3, "matched": [0.5, 1.0], "seconds": 0.25},
    }
    assert m.to_dict()["certificate"] is None


def test_the_shown_ratio_is_not_rounded_up():
    m = match(build([(0, 1, 3)]))
    proof = replace(certificate(m.graph, m.mate), ratio=0.99999)
    assert "ratio>=0.9999," in repr(replace(m, certificate=proof))


def test_what_is_no_matching_has_no_weight():
    for mate in ([2, -1, -1, 4, 3], [9, -1, 0, 4, 3], [-2, -1, -1, 4, 3], [3, -1, -1, 0, -1]):
        with pytest.raises(TrothError, match="vertex 0"):
            _ = Matching(slides, np.array(mate, np.int32), "greedy").weight


def test_a_result_does_not_change():
    m = match(slides)
    with pytest.raises(FrozenInstanceError):
        m.mate = None


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "polars"])
def test_to_table(library):
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    table = match(slides).to_table(like=make({"x": [1]}))
    assert isinstance(table, type(make({"x": [1]})))
    assert [list(table[name].to_numpy()) for name in ("source", "target", "weight")] == [[0, 3], [2, 4], [5, 10]]
