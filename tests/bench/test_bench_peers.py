"""The other libraries: their matchings are matchings, the exact ones are exact, and an absent one is left out."""

from __future__ import annotations

import json

import numpy as np
import pytest
from corpus import build, cycle, exact_weight, optimum, path, star

import troth
from bench import peers
from bench.experiments import peers as experiment
from bench.setting import Setting
from troth.errors import TrothError

GRAPHS = {
    "empty": build([], 3),
    "path": path([3, 5, 3]),
    "odd cycle": cycle([4, 4, 5, 4, 4]),
    "star": star([1, 7, 7, 2]),
    "fractions": path([0.3, 0.5, 0.3, 0.1], np.float32),
    "two sides, the larger cannot all be matched": build([(0, 3, 9), (1, 3, 8), (2, 3, 7), (0, 4, 1)], 5),
    "parts": build([(0, 1, 2), (2, 3, 5), (3, 4, 6), (4, 2, 5), (5, 6, 1)], 8),
}


def installed(name: str) -> peers.Peer:
    if peers.missing(name):
        pytest.skip(peers.missing(name))
    return peers.PEERS[name]


@pytest.mark.parametrize("graph", [pytest.param(graph, id=name) for name, graph in GRAPHS.items()])
@pytest.mark.parametrize("name", peers.PEERS)
def test_mates_of_a_peer(name, graph):
    peer, matrix = installed(name), graph.to_scipy()
    if peer.bipartite and peers.two_colours(matrix) is None:
        with pytest.raises(TrothError, match="bipartite"):
            peer.build(matrix, 1)
        return
    mate = peer.match(peer.build(matrix, 1))
    assert troth.verify(graph, mate, certify=False).valid
    found, best = exact_weight(graph, mate), optimum(graph)
    assert found == best if peer.exact else best <= 2 * found


@pytest.mark.parametrize("name", ["rustworkx", "networkx"])
def test_exact_peers_on_known_optima(name, data):
    peer = installed(name)
    for case in json.loads(data("optimum/small_cases.json").read_text())["cases"]:
        edges = [tuple(edge) for edge in case["edges"] if edge[2] > 0 and edge[0] != edge[1]]
        if edges:
            graph = build(edges, dtype=np.float64)
            assert float(exact_weight(graph, peer.match(peer.build(graph.to_scipy(), 1)))) == pytest.approx(
                case["optimum"]
            )


@pytest.mark.parametrize(("graph", "sides"), [(path([1, 1]), 2), (cycle([1] * 4), 2), (cycle([1] * 5), None)])
def test_sides(graph, sides):
    found = peers.two_colours(graph.to_scipy())
    if sides is None:
        assert found is None
    else:
        row = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
        assert (found[row] != found[graph.indices]).all()


def test_one_odd_cycle_among_bipartite_parts_is_seen():
    assert peers.two_colours(GRAPHS["parts"].to_scipy()) is None


def test_most_pairs_looks_at_no_weight():
    installed("rustworkx")
    assert peers.most_pairs(path([1, 5, 1])) == 2
    assert peers.most_pairs(cycle([1, 9, 9, 9, 1])) == 2


def test_optimum_says_who_found_it():
    installed("rustworkx")
    assert peers.optimum(GRAPHS["star"])[0] == "scipy"
    assert peers.optimum(GRAPHS["odd cycle"])[0] == "rustworkx"


def test_absent_library_is_left_out_and_named(monkeypatch):
    monkeypatch.setitem(peers.PEERS, "absent", peers.PEERS["networkx"]._replace(package="no_such_library"))
    setting = Setting(size="tiny")
    assert "absent" not in {task.engine for task in experiment.tasks(setting)}
    assert setting.left_out["absent"] == "no_such_library is not installed"


def test_exact_libraries_get_no_large_graph():
    asked = {task.graph for task in experiment.tasks(Setting(size="full")) if task.engine == "rustworkx"}
    assert "delaunay:n=600,seed=1" in asked
    assert not asked & set(experiment.LARGE["full"])


def test_graphs_can_be_chosen():
    tasks = experiment.tasks(Setting(size="tiny", graphs=["bipartite-tiny"], engines=["scipy", "suitor@cpu"]))
    assert [(task.graph, task.engine) for task in tasks] == [
        ("bipartite-tiny", "suitor@cpu"),
        ("bipartite-tiny", "scipy"),
    ]


def test_report_names_the_optimum_and_the_speed(tiny):
    [page] = [page for page in tiny.pages if page.experiment == "peers"]
    words = " ".join(page.findings)
    assert "per cent of the optimum" in words
