"""troth as a NetworkX backend: the same answers as NetworkX's own functions, and NetworkX's own tests."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import troth

nx = pytest.importorskip("networkx")
CHECKS = ("is_matching", "is_maximal_matching", "is_perfect_matching")
TYPES = (nx.Graph, nx.DiGraph)


@pytest.fixture(autouse=True)
def cached_conversions():
    """NetworkX warns that a converted graph is kept with the graph; here that is meant."""
    with nx.config(warnings_to_ignore={"cache"}):
        yield


@st.composite
def graphs_and_pairs(draw):
    """A small graph with loops, and pairs that may be edges or not, share nodes, or be no pairs at all."""
    nodes = ["a", "b", (1, 2), 3, 4.5]
    ends = st.tuples(st.sampled_from(nodes), st.sampled_from(nodes))
    G = draw(st.sampled_from(TYPES))()
    G.add_nodes_from(nodes)
    G.add_edges_from(draw(st.lists(ends, max_size=10)))
    some = ends if not G.size() else st.one_of(st.sampled_from(list(G.edges())), ends)
    return G, draw(st.lists(some | st.sampled_from([("a", "z"), ("b",)]), max_size=4))


def outcome(name: str, backend: str, G, matching):
    try:
        answer = getattr(nx, name)(G, matching, backend=backend)
        return type(answer), answer
    except nx.NetworkXError as error:
        return str(error)


@pytest.mark.parametrize("name", CHECKS)
@given(case=graphs_and_pairs())
def test_checks_answer_as_networkx_does(name, case):
    G, pairs = case
    for matching in (pairs, set(pairs), {pair[0]: pair[-1] for pair in pairs}):
        assert outcome(name, "troth", G, matching) == outcome(name, "networkx", G, matching)


@pytest.mark.parametrize("name", CHECKS)
def test_nodes_without_a_hash_are_not_in_the_graph(name):
    for pairs in ([([], 1)], [(0, 1), (1, 2), ([], 3)]):  # an error, and a no before it
        assert outcome(name, "troth", nx.path_graph(4), pairs) == outcome(name, "networkx", nx.path_graph(4), pairs)


@given(case=graphs_and_pairs(), seed=st.integers(-5, 2**70))
def test_matchings_are_maximal(case, seed):
    G = nx.Graph(case[0])
    matching = nx.maximal_matching(G, backend="troth", seed=seed)
    assert nx.is_maximal_matching(G, matching)
    assert matching == nx.maximal_matching(G, backend="troth", seed=seed)
    assert matching == nx.approximation.min_maximal_matching(G, backend="troth", seed=seed)


@given(case=graphs_and_pairs())
def test_without_a_seed_earlier_nodes_come_first(case):
    G = nx.Graph()
    G.add_nodes_from(range(5))
    G.add_edges_from(sorted(nx.convert_node_labels_to_integers(case[0]).edges()))
    G = nx.Graph({u: sorted(G[u]) for u in G})
    assert nx.maximal_matching(G, backend="troth") == nx.maximal_matching(G, backend="networkx")


def test_the_seed_chooses():
    G = nx.cycle_graph(12)
    found = {frozenset(nx.maximal_matching(G, backend="troth", seed=seed)) for seed in range(5)}
    assert len(found) > 1


def test_nodes_are_those_of_the_graph():
    names = ["trailing\0", "", "0", 0, (1, (2,)), frozenset({3})]
    G = nx.Graph(combinations(names, 2))
    matching = nx.maximal_matching(G, backend="troth")
    assert sorted(map(names.index, (node for pair in matching for node in pair))) == list(range(6))


def test_a_graph_that_changed_is_converted_again():
    G = nx.path_graph(2)
    assert nx.maximal_matching(G, backend="troth") == {(0, 1)}
    G.add_edge(2, 3)
    assert nx.maximal_matching(G, backend="troth") == {(0, 1), (2, 3)}


@pytest.mark.parametrize("make", [nx.DiGraph, nx.MultiGraph])
def test_other_kinds_of_graphs_are_refused(make):
    G = make([(0, 1)])
    with pytest.raises(nx.NetworkXNotImplemented):
        nx.maximal_matching(G, backend="troth")
    with pytest.raises(NotImplementedError, match="for the given arguments"):
        nx.approximation.min_maximal_matching(G, backend="troth")


def test_parallel_edges_do_not_matter_to_checks():
    G = nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 3)])
    assert nx.is_perfect_matching(G, {(0, 1), (2, 3)}, backend="troth")
    assert not nx.is_maximal_matching(G, {(0, 1)}, backend="troth")


def test_the_optimum_stays_with_networkx():
    G = nx.path_graph(4)
    with pytest.raises(NotImplementedError, match="not implemented by 'troth'"):
        nx.max_weight_matching(G, backend="troth")
    with nx.config.backend_priority(algos=["troth"]):
        assert len(nx.max_weight_matching(G, maxcardinality=True)) == 2
    nx.set_edge_attributes(G, {(0, 1): 2, (1, 2): 3, (2, 3): 2}, "weight")
    assert troth.match(nx.relabel_nodes(G, "abcd".__getitem__)).edges().tolist() == [["b", "c"]]


def test_checks_do_not_convert_a_graph_by_themselves():
    G = nx.path_graph(4)
    with nx.config.backend_priority(algos=["troth"]):
        assert nx.is_matching(G, {(0, 1)})
        assert "backends" not in G.__networkx_cache__
        nx.maximal_matching(G)
        assert "troth" in G.__networkx_cache__["backends"]
        assert nx.is_matching(G, {(0, 1)})


def test_the_documentation_names_the_backend():
    assert "seed : int, optional" in nx.maximal_matching.__doc__
    assert "troth : " in nx.is_matching.__doc__


def test_importing_networkx_loads_nothing_heavy():
    code = """
import sys, networkx
assert "troth" in networkx.utils.backends.backend_info
assert not {"troth.graph", "numpy", "numba", "scipy"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def run_networkx_tests(folder, *arguments: str, **variables: str) -> str:
    """What pytest prints of NetworkX's tests, each of its graphs converted to the backend."""
    files = ["tests.test_matching", "approximation.tests.test_matching", "approximation.tests.test_dominating_set"]
    options = ["-q", "-W", "error", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder), *arguments]
    names = (f"networkx.algorithms.{name}" for name in files)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--pyargs", *names],
        env={**os.environ, "NETWORKX_TEST_BACKEND": "troth", **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_networkx_s_own_tests_of_the_functions(tmp_path):
    """A function that is not taken over would make NetworkX mark its test as an expected failure."""
    others = "not max_weight_matching and not min_weight_matching and not MaxWeight and not dominating"
    printed = run_networkx_tests(tmp_path, "-k", others)
    assert "passed" in printed
    assert "xfailed" not in printed


def test_networkx_s_own_tests_around_the_functions(tmp_path):
    """The rest of these files, NetworkX itself helping out with what is not taken over."""
    printed = run_networkx_tests(tmp_path, NETWORKX_FALLBACK_TO_NX="1")
    assert "failed" not in printed
