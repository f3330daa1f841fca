"""``maximize=False``: a pair is worth ``reward - cost``; against exact optima, in every way to give a graph."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import troth
from troth.api.proof import Attempt, Certificate, Goal, cost_of, gap_of, pursue
from troth.errors import TrothError

EDGES = np.array([0, 0, 1, 2, 3]), np.array([1, 2, 2, 3, 4])
COSTS = np.array([4, 1, 0, -2, 5])


@st.composite
def graphs(draw):
    """Edges of a small graph, each once, and their costs: whole numbers."""
    n = draw(st.integers(2, 7))
    ends = draw(st.lists(st.sampled_from(list(combinations(range(n), 2))), unique=True, min_size=1, max_size=12))
    costs = draw(st.lists(st.integers(-4, 9), min_size=len(ends), max_size=len(ends)))
    row, col = np.array(ends).T
    return row, col, np.array(costs)


def matchings(row, col, costs):
    """Of every number of pairs the least cost."""
    least = {0: 0}
    ends = list(zip(row.tolist(), col.tolist(), costs.tolist(), strict=True))
    for pairs in range(1, len(ends) + 1):
        found = [
            sum(cost for *_, cost in chosen)
            for chosen in combinations(ends, pairs)
            if len({v for u, w, _ in chosen for v in (u, w)}) == 2 * pairs
        ]
        if not found:
            return least
        least[pairs] = min(found)
    return least


@given(graphs(), st.sampled_from([None, -1, 3, 50, 2.5]))
def test_the_gap_is_one(edges, reward):
    costs = edges[2]
    taken = int(costs.max()) if reward is None else reward
    if reward is None and (costs == taken).all():
        with pytest.raises(TrothError, match=f"every edge costs {taken}, which is the reward where none is given"):
            troth.match(edges, maximize=False)
        return
    m = troth.match(edges, maximize=False, reward=reward, algorithm="auction")
    least, k = matchings(*edges), len(m)
    assert m.graph.reward == taken
    assert m.weight == pytest.approx(k * taken - m.cost)
    assert m.cost >= least[k] - 1e-12
    assert m.cost - least[k] <= m.gap * abs(m.cost) + 1e-9 or m.gap == np.inf
    best = max(pairs * taken - cost for pairs, cost in least.items())
    assert m.certificate.bound >= best - 1e-9
    assert ("note" in m.stats) == (m.gap > 0.02)
    assert troth.verify(edges, m).ok  # of the costs, by the reward of the matching
    assert troth.verify(m.graph, m).weight == m.weight


def test_the_reward_decides_how_many_pairs():
    """A path of three edges, the cheap one in the middle."""
    path = np.arange(3), np.arange(1, 4), np.array([3, 1, 3])
    assert [(len(m), m.cost) for m in (troth.match(path, maximize=False, reward=r) for r in (3, 4))] == [(1, 1)] * 2
    many = troth.match(path, maximize=False, reward=6, algorithm="auction")
    assert (len(many), many.cost, many.gap) == (2, 6, 0.0)


# ---- where costs come from ----


def expected(reward):
    kept = reward > COSTS
    row, col = (ends[kept] for ends in EDGES)
    return troth.as_graph((row, col, reward - COSTS[kept]))


def same(graph: troth.Graph, other: troth.Graph) -> None:
    n = min(graph.n, other.n)  # an edge that is dropped may have named the last vertices
    assert graph.indptr[: n + 1].tolist() == other.indptr[: n + 1].tolist()
    assert graph.indices.tolist() == other.indices.tolist()
    assert graph.weights.tolist() == other.weights.tolist()


@pytest.mark.parametrize("kind", ["int8", "int64", "float32", "float64"])
def test_types(kind):
    """Whole costs stay whole, all others become float64; zeros and negative costs count."""
    graph = troth.as_graph((*EDGES, COSTS.astype(kind)), maximize=False)
    assert (graph.reward, type(graph.reward)) == ((5, int) if "int" in kind else (5.0, float))
    assert graph.weights.dtype == ("int64" if "int" in kind else "float64")
    assert graph.notes == {"costly": 1}
    same(graph, expected(5))
    assert troth.as_graph((*EDGES, COSTS.astype(kind)), maximize=False, reward=2.5).weights.dtype == "float64"


def test_the_largest_numbers():
    least = np.array([0]), np.array([1]), np.array([-(2**63)])
    with pytest.raises(TrothError, match=r"a cost is -2\^63"):
        troth.as_graph(least, maximize=False, reward=0)
    near = np.array([0, 1]), np.array([1, 2]), np.array([2**62, 2**62 - 1])
    assert troth.as_graph(near, maximize=False).weights.tolist() == [1, 1]
    assert troth.as_graph(near, maximize=False, reward=2**63 - 1).weights[0] == 2**63 - 1 - 2**62
    with pytest.raises(TrothError, match=r"is 2\^63 or more; scale the costs"):
        troth.as_graph(near, maximize=False, reward=2**63)


def test_parallel_edges_repeats_and_loops():
    row, col, costs = np.array([0, 1, 0, 2]), np.array([1, 0, 2, 2]), np.array([5, 2, 4, 90])
    graph = troth.as_graph((row, col, costs), maximize=False, reward=10)  # the cheapest of two stays
    assert graph.weights.tolist() == [8, 6, 8, 6]
    assert troth.as_graph((row, col, costs), maximize=False).reward == 4  # not that of the loop, nor the dearer one's
    matrix = sp.coo_array((costs, (row, col)), shape=(3, 3))
    both = sp.coo_array((np.concatenate([costs, costs]), (np.concatenate([row, col]), np.concatenate([col, row]))))
    twice = troth.as_graph(both, maximize=False)  # repeated entries add up: 7, 4 and a loop
    assert (twice.reward, twice.weights.tolist(), twice.notes["loops"]) == (7, [3, 3], 1)
    for word, cost in {"min": 2, "max": 5, "sum": 7, "mean": 3.5}.items():
        one = troth.as_graph(matrix, maximize=False, reward=10, symmetrize=word)
        assert 10 - one.weights[0] == cost


@pytest.mark.parametrize("algorithm", ["suitor", "auction"])
def test_other_libraries_files_and_families(algorithm, tmp_path):
    wanted = troth.match((*EDGES, COSTS), maximize=False, reward=6, algorithm=algorithm)
    G = nx.Graph()
    G.add_nodes_from(range(5))
    G.add_weighted_edges_from(zip(*(part.tolist() for part in (*EDGES, COSTS)), strict=True))
    table = tmp_path / "costs.csv"
    table.write_text("".join(f"{u},{v},{c}\n" for u, v, c in zip(*EDGES, COSTS, strict=True)))
    row, col = np.concatenate([EDGES[0], EDGES[1]]), np.concatenate([EDGES[1], EDGES[0]])
    matrix = sp.csr_array((np.tile(COSTS, 2), (row, col)), shape=(5, 5))
    for source in (G, str(table), table, matrix, matrix.tocoo(), matrix.tocsc()):
        m = troth.match(source, maximize=False, reward=6, algorithm=algorithm)
        same(m.graph, wanted.graph)
        assert (m.mate.tolist(), m.cost) == (wanted.mate.tolist(), wanted.cost)
    family = "path:n=9,weights=integers,high=7,seed=2"
    cheap = troth.match(family, maximize=False, reward=20, algorithm=algorithm)
    graph = troth.read(family)
    same(cheap.graph, troth.as_graph(graph, maximize=False, reward=20))
    assert set(graph.weights.tolist()) == set((20 - cheap.graph.weights).tolist())


def test_a_graph_of_costs_is_one_already():
    graph = troth.as_graph((*EDGES, COSTS), maximize=False, reward=6)
    assert troth.as_graph(graph, maximize=False) is graph
    assert troth.as_graph(graph, maximize=False, reward=6) is graph
    assert troth.match(graph).cost == troth.match(graph, maximize=False).cost
    assert troth.match(graph, algorithm="auction", gap=0.5).gap <= 0.5
    with pytest.raises(TrothError, match="its weights are 6 - cost already; for reward=7 give the costs"):
        troth.as_graph(graph, maximize=False, reward=7)


def test_nothing_is_worth_the_reward():
    """An answer where the reward was given; a refusal where it is the largest cost (``test_the_gap_is_one``)."""
    m = troth.match((*EDGES, COSTS), maximize=False, reward=-2)
    assert (len(m), m.cost, m.graph.notes) == (0, 0, {"costly": 5})
    assert troth.match((*EDGES, COSTS), maximize=False, reward=-2, algorithm="auction").gap == 0.0
    matrix = sp.csr_array(np.array([[0, 3], [3, 0]]))
    with pytest.raises(TrothError, match="every edge costs 3"):
        troth.match(matrix, maximize=False)
    assert len(troth.match(sp.csr_array((3, 3)), maximize=False)) == 0


# ---- what is told ----


def test_results_speak_of_costs():
    m = troth.match((*EDGES, COSTS), maximize=False, reward=6, certify=True)
    assert m.gap == gap_of(m.certificate, m.cost, m.graph.reward, m.cardinality)
    facts = m.to_dict()
    assert (facts["cost"], facts["reward"], facts["gap"]) == (m.cost, 6, m.gap)
    assert f"cost={m.cost}" in repr(m)
    assert "<th>cost</th>" in m._repr_html_()
    assert troth.match((*EDGES, COSTS)).cost is None
    assert "cost" not in troth.match((*EDGES, COSTS)).to_dict()
    assert troth.match((*EDGES, COSTS), maximize=False).gap is None  # without a certificate
    table = m.to_table("pyarrow").to_pydict()
    assert sum(table["cost"]) == m.cost
    assert list(table) == ["source", "target", "cost"]


def test_gaps_in_numbers():
    proof = Certificate(24, 25, 0.96, 3)
    assert gap_of(proof, 10, 10, 3) == 0.1
    assert gap_of(proof, -10, 10, 3) == 0.1
    assert gap_of(proof, 0, 10, 3) == np.inf
    assert gap_of(Certificate(25, 25, 1.0, 3), 0, 10, 3) == 0.0
    assert gap_of(Certificate(np.inf, np.inf, 0.9, 3), 10, 10.0, 3) == np.inf
    assert cost_of(2**60, 4, 2**62 - 3) == 3
    assert cost_of(0.5, 3, 1.25) == 0.25
    goal = Goal(gap=0.01, reward=10)
    assert goal.excess(proof, 3) == pytest.approx(1 / 6 / 0.01)
    assert "up to 0.1667 of the cost may be too much" in goal.why_missed(proof, 3)
    assert Goal(gap=0.5, reward=10).why_missed(proof, 3) is None
    assert Goal(target=0.96).excess(proof, 3) == 1.0


@pytest.mark.parametrize(
    ("missing", "rounds", "ended", "steps"),
    [
        (lambda eps: 50 * eps, 9, True, [0.02, 0.02 * 0.8 / 10]),  # 1.0 was missing, then 0.08
        (lambda eps: 1.1 * eps**0.5, 9, True, [0.02, 0.01, 0.005]),  # steps are half at least
        (lambda eps: 0.5, 9, True, [0.02, 0.02 / 6.25, 0.02 / 6.25**2]),  # it does not help
        (lambda eps: 50 * eps, 9, False, [0.02]),  # there is no time
        (lambda eps: 1e9 * eps, 2**12, True, [0.02]),  # it would take long, in vain
        (lambda eps: 1e9 * eps, 9, True, [0.02, 0.02 / 16, 0.02 / 256, 0.02 / 4096, 1e-6]),  # no less eps is to be had
    ],
)
def test_how_long_a_gap_is_pursued(missing, rounds, ended, steps):
    """One pair, of cost 1 and worth 1: 0.1 of that may be missing."""
    tried = []

    def attempt(eps, slack):
        tried.append(eps)
        assert slack == pytest.approx(2 * eps) or eps == 1e-6
        return Attempt(len(tried), Certificate(1.0, 1.0 + missing(eps), 0.5, 2), 1, rounds, ended)

    best, attempts = pursue(Goal(gap=0.1, reward=2.0), 0.02, 0.04, 1e-6, attempt)
    assert tried == pytest.approx(steps)
    assert attempts == len(tried)
    assert best.found == (1 if missing(1) == missing(2) else len(tried))


def test_a_large_reward_makes_a_plain_eps_useless():
    """Two per cent of reward - cost are many times the cost: what the auction is for, and other algorithms are not."""
    rng = np.random.default_rng(1)
    edges = rng.integers(0, 200, 2000), rng.integers(200, 400, 2000), rng.random(2000)
    plain = troth.match(edges, maximize=False, reward=100.0, certify=True)
    near = troth.match(edges, maximize=False, reward=100.0, algorithm="auction")
    assert len(near) >= len(plain)
    assert near.gap <= 0.02 < 1 < plain.gap
    assert near.stats["eps"] < 0.02
    assert near.stats["attempts"] > 1
    once = troth.match(edges, maximize=False, reward=100.0, algorithm="auction", gap=np.inf)
    assert (once.stats["attempts"], once.stats["eps"]) == (1, 0.02)
    assert near.cost < once.cost


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ({"reward": 1}, "reward=1 is for costs"),
        ({"maximize": True, "reward": 1}, "reward=1 is for costs"),
        ({"maximize": 0}, "maximize=0: give True"),
        ({"maximize": False, "reward": True}, "reward=True: give a number"),
        ({"maximize": False, "reward": np.nan}, "reward=nan: give a number"),
        ({"maximize": False, "gap": 0.1}, "suitor on cpu has no option 'gap'"),
        ({"algorithm": "auction", "gap": 0.1}, "gap is a part of the cost"),
        ({"algorithm": "auction", "maximize": False, "gap": 0.1, "target": 0.5}, "leave one out"),
    ],
)
def test_refusals(words, line):
    with pytest.raises(TrothError, match=line):
        troth.match((*EDGES, COSTS), **words)


def test_costs_that_are_no_numbers():
    with pytest.raises(TrothError, match=r"edge 1 \(0, 2\) has weight nan"):
        troth.match((*EDGES, np.array([1, np.nan, 1, 1, 1])), maximize=False)


def test_hierarchies_take_no_gap():
    with pytest.raises(TrothError, match="gap is met by match alone"):
        troth.hierarchy((*EDGES, COSTS), algorithm="auction", gap=0.1)


def test_a_reward_that_loses_the_costs_is_refused():
    """Rounded to the reward's last digits, every pair would seem to cost nothing, and that would be proven."""
    costs = np.random.default_rng(3).random((6, 6))
    with pytest.raises(TrothError, match="reward of the sum of all costs"):
        troth.assign(costs, maximize=False, reward=1e17)
    with pytest.raises(TrothError, match="loses these in float64"):
        troth.match((*EDGES, COSTS + 0.5), maximize=False, reward=1e17)
    found = troth.assign(costs, maximize=False, reward=float(costs.sum()))
    assert 0 < found.gap <= 0.02


def test_equal_costs_need_a_reward():
    with pytest.raises(TrothError, match="give a larger reward"):
        troth.assign(np.ones((3, 3)), maximize=False)
    assert troth.assign(np.ones((3, 3)), maximize=False, reward=2).cost == 3
    assert len(troth.assign(np.full((2, 2), np.inf), maximize=False).rows) == 0


def test_a_gap_that_is_missed_is_said_in_words_that_hold():
    goal = Goal(gap=0.01, reward=10)
    assert "nothing is proven" in goal.why_missed(Certificate(24, 34, 0.7, 3), 3)
