"""The oracle against itself, against the papers' examples and against known optima."""

import gzip
import json

import numpy as np
import pytest
import scipy.io
from corpus import TIES, build, corpus, exact_weight, graphs, grid, on_corpus, optimum, order_of, read_real
from hypothesis import given
from hypothesis import strategies as st

from troth import reference
from troth.errors import TrothError
from troth.order import COLOUR, PROPOSE, hash_int, priorities

MODES = ("weighted", "random")
tie_rules = st.sampled_from(TIES)
seeds = st.integers(0, 2**64 - 1)


def check_matching(graph, mate):
    """Mates agree, each pair is an edge, and no edge has two free ends."""
    assert mate.dtype == np.int32
    for u, row in enumerate(reference.rows(graph)):
        neighbours = [v for v, _ in row]
        assert mate[u] == -1 or (mate[u] in neighbours and mate[mate[u]] == u)
        assert mate[u] >= 0 or all(mate[v] >= 0 for v in neighbours)


@pytest.mark.parametrize("ties", TIES)
@on_corpus
def test_greedy_equals_dominating(graph, ties):
    order = order_of(graph, ties)
    mate = reference.greedy(graph, order)
    check_matching(graph, mate)
    assert reference.dominating(graph, order).tolist() == mate.tolist()


@given(graphs(), tie_rules, seeds)
def test_greedy_equals_dominating_on_random_graphs(graph, ties, seed):
    order = order_of(graph, ties, seed)
    assert reference.greedy(graph, order).tolist() == reference.dominating(graph, order).tolist()


@given(graphs(), tie_rules, seeds)
def test_greedy_is_stable(graph, ties, seed):
    """No edge is preferred, by the key of each end, to the mates of both ends; that is what makes the answer unique."""
    order = order_of(graph, ties, seed)
    rank = priorities(order, graph.n).tolist()
    mate = reference.greedy(graph, order)
    row = [dict(pairs) for pairs in reference.rows(graph)]

    def key(u, v):
        return (row[u][v], rank[v]) if v >= 0 else (0, -1)

    for u, v in reference.edges(graph):
        assert key(u, v) <= key(u, mate[u]) or key(v, u) <= key(v, mate[v])


@given(graphs(max_n=9), tie_rules)
def test_greedy_is_at_least_half_of_the_optimum(graph, ties):
    weight = exact_weight(graph, reference.greedy(graph, order_of(graph, ties)))
    assert weight <= optimum(graph) <= 2 * weight


@on_corpus
def test_luby_is_maximal(graph):
    for seed in range(3):
        check_matching(graph, reference.luby(graph, seed))


def test_luby_is_blind_to_weights_and_takes_few_rounds():
    square = grid(20, 20, lambda u, v: 1)
    values = grid(20, 20, lambda u, v: u + v)
    mates = [reference.luby(square, seed).tolist() for seed in range(4)]
    assert mates[0] == reference.luby(values, 0).tolist()
    assert len({tuple(mate) for mate in mates}) == 4


def test_slides_example():
    graph = corpus("slides")
    for ties in TIES:
        order = order_of(graph, ties)
        assert reference.greedy(graph, order).tolist() == [2, -1, 0, 4, 3]
        assert reference.strongest(graph, order).tolist() == [2, 0, 4, 4, 3]


@given(graphs(), tie_rules)
def test_strongest_is_the_heaviest_neighbour(graph, ties):
    order = order_of(graph, ties)
    rank = priorities(order, graph.n)
    for found, row in zip(reference.strongest(graph, order), reference.rows(graph), strict=True):
        if not row:
            assert found == -1
            continue
        tied = [v for v, w in row if w == max(w for _, w in row)]
        assert found == max(tied, key=lambda v: rank[v])


def test_ties_are_broken_by_the_rule():
    star = build([(0, 3, 5), (1, 3, 5), (2, 3, 5)])
    assert reference.greedy(star, order_of(star, "low")).tolist() == [3, -1, -1, 0]
    assert reference.greedy(star, order_of(star, "high")).tolist() == [-1, -1, 3, 2]


# ---- blue-red and the local baselines ----


@pytest.mark.parametrize("mode", MODES)
@on_corpus
def test_blue_red_and_local_are_maximal(graph, mode):
    order = order_of(graph)
    mate, matched = reference.blue_red(graph, order, seed=3, mode=mode)
    check_matching(graph, mate)
    check_matching(graph, reference.local(graph, order, seed=3, mode=mode))
    assert matched == sorted(matched)
    assert bool(matched) == bool(graph.m)
    if matched:
        assert matched[-1] == np.count_nonzero(mate >= 0) / graph.n


@pytest.mark.parametrize("mode", MODES)
def test_blue_red_stops_after_the_rounds(mode):
    graph = grid(8, 8, lambda u, v: 1 + (u * v) % 3)
    order = order_of(graph)
    whole, matched = reference.blue_red(graph, order, 5, mode)
    assert len(matched) > 2
    for rounds in range(len(matched) + 2):
        mate, partial = reference.blue_red(graph, order, 5, mode, rounds=rounds)
        assert partial == matched[:rounds]
        assert np.array_equal(mate[mate >= 0], whole[mate >= 0])


def test_one_blue_red_round_by_hand():
    """Round 0 of the definition on a complete graph: colours, proposals and responses from the raw hashes."""
    n, seed, p = 8, 11, 0.4
    graph = build([(u, v, 1) for u in range(n) for v in range(u + 1, n)])
    blue = [v for v in range(n) if hash_int(seed, COLOUR, 0, v) / 2**64 < p]
    red = [v for v in range(n) if v not in blue]
    assert blue
    assert red
    expected = [-1] * n
    target = {u: max(red, key=lambda v: hash_int(seed, PROPOSE, 0, u, v)) for u in blue}
    for v in set(target.values()):
        u = max((u for u in blue if target[u] == v), key=lambda u: hash_int(seed, PROPOSE, 0, v, u))
        expected[u], expected[v] = v, u
    mate, matched = reference.blue_red(graph, order_of(graph), seed, "random", p, rounds=1)
    assert mate.tolist() == expected
    assert matched == [sum(x >= 0 for x in expected) / n]


def test_seeds_matter_to_random_modes_only_where_they_should():
    graph = grid(6, 6, lambda u, v: 1)
    order = order_of(graph)
    for run in (
        lambda seed: reference.blue_red(graph, order, seed, "random")[0],
        lambda seed: reference.local(graph, order, seed, "random"),
        lambda seed: reference.local(graph, order, seed, "weighted"),
    ):
        assert run(1).tolist() == run(1).tolist()
        assert len({tuple(run(seed).tolist()) for seed in range(5)}) > 1


@pytest.mark.parametrize("p", [0, 1, -0.5, 1.5, float("nan")])
def test_impossible_probabilities_are_refused(p):
    graph = corpus("triangle")
    with pytest.raises(TrothError, match="between 0 and 1"):
        reference.blue_red(graph, order_of(graph), p=p)


def test_unknown_modes_are_refused():
    graph = corpus("triangle")
    for run in (reference.blue_red, reference.local):
        with pytest.raises(TrothError, match="weighted or random"):
            run(graph, order_of(graph), mode="heavy")


# ---- the shared data ----


def check_half(graph, best):
    for ties in TIES:
        weight = exact_weight(graph, reference.greedy(graph, order_of(graph, ties)))
        assert weight <= best * (1 + 1e-12)  # real optima are stated as rounded sums
        assert best <= 2 * weight


def test_small_known_optima(data):
    cases = json.loads(data("optimum/small_cases.json").read_text())["cases"]
    assert len(cases) >= 32
    for case in cases:
        edges = [tuple(edge) for edge in case["edges"] if edge[2] > 0 and edge[0] != edge[1]]
        whole = all(isinstance(w, int) for _, _, w in edges)
        check_half(build(edges, dtype=np.int64 if whole else np.float64), case["optimum"])


def read_edges(path):
    """``e u v w`` lines, vertices from 1."""
    with gzip.open(path, "rt") as file:
        rows = [line.split()[1:] for line in file if line.startswith("e")]
    return build([(int(u) - 1, int(v) - 1, int(w)) for u, v, w in rows])


def read_optimum(path):
    with gzip.open(path, "rt") as file:
        return int(next(line for line in file if line.startswith("s")).split()[1])


@pytest.mark.parametrize("family", ["chain", "random", "sparse_delta", "triangles"])
def test_known_optima(data, family):
    files = sorted(data("optimum").glob(f"{family}_*.edge.gz"))
    assert len(files) == 2
    for path in files:
        check_half(read_edges(path), read_optimum(data(f"optimum/{path.name.replace('.edge.', '.out.')}")))


def test_real_optima(data):
    known = json.loads(data("optimum/real_graphs.json").read_text())["optima"]
    for name, facts in known.items():
        graph = read_real(data(name))
        assert (graph.n, graph.m) == (facts["n"], facts["m"])
        weight = exact_weight(graph, reference.greedy(graph, order_of(graph)))
        assert weight <= facts["optimum"] * (1 + 1e-12)
        assert facts["optimum"] <= 2 * weight


@pytest.mark.parametrize("case", range(1, 6))
def test_course_cases(data, case):
    """The published answers of the handshaking project, whose ties go to the smaller id."""
    matrix = scipy.io.mmread(data(f"handshake/input{case}.mtx")).tocoo()
    upper = matrix.row < matrix.col
    columns = (matrix.row[upper], matrix.col[upper], matrix.data[upper])
    graph = build(list(zip(*(column.tolist() for column in columns), strict=True)), matrix.shape[0], np.int64)
    order = order_of(graph, "low")
    assert reference.greedy(graph, order).tolist() == np.loadtxt(data(f"handshake/match{case}.txt"), int).tolist()
    assert reference.strongest(graph, order).tolist() == np.loadtxt(data(f"handshake/strong{case}.txt"), int).tolist()
