"""Jobs of MPI ranks: all engines on one graph, one weight; what cannot run is named; and the report's claims."""

from __future__ import annotations

import pytest
from undrawn import Undrawn

import troth
from bench import ranks
from bench.experiments import pgas
from bench.setting import Setting
from troth.errors import TrothError


@pytest.fixture(scope="module")
def mpiexec():
    found = Setting().mpiexec
    if found is None:
        pytest.skip("mpi4py or mpiexec is not installed")
    return found


@pytest.fixture(scope="module")
def job(mpiexec):
    graph = troth.read(pgas.GRAPHS["tiny"][pgas.BIPARTITE][0])
    names = ["suitor@mpi", "sync-notify@mpi:transport=p2p", "sync-poll@mpi:no_such_option=1"]
    return graph, ranks.measure(mpiexec, 2, {"sides": (graph, ranks.SIDES)}, names, 2, 0.0, 120.0)["graphs"]["sides"]


def test_every_edge_crosses_between_the_sides(job):
    graph, found = job
    assert (found["n"], found["m"], found["crossing"]) == (graph.n, graph.m, 1.0)
    assert found["ghosts"] == graph.n // 2


def test_engines_of_a_job_find_what_one_process_finds(job):
    graph, found = job
    for name in ("suitor@mpi", "sync-notify@mpi:transport=p2p"):
        assert found["engines"][name]["weight"] == troth.match(graph, device="cpu").weight
        assert len(found["engines"][name]["seconds"]) == 1  # no patience
    assert found["engines"]["sync-notify@mpi:transport=p2p"]["messages"] > 0


def test_an_engine_that_refuses_is_named_and_the_others_run(job):
    assert "no option" in job[1]["engines"]["sync-poll@mpi:no_such_option=1"]["error"]


def test_a_job_that_would_never_end_is_stopped(mpiexec):
    graph = troth.generate("path", n=4)
    try:
        reason = ranks.measure(mpiexec, 2, {"path": (graph, "block")}, ["suitor@mpi"], 10**9, 1e9, 1.0)["stopped"]
    except TrothError as error:  # it had found nothing yet
        reason = str(error)
    assert "stopped after 1 s" in reason


def test_a_job_that_cannot_start_says_why():
    graph = troth.generate("path", n=4)
    with pytest.raises(TrothError, match="ended with"):
        ranks.measure("false", 2, {"path": (graph, "block")}, ["suitor@mpi"], 1, 0.0, 10.0)


def test_without_mpi_the_experiment_is_left_out(monkeypatch):
    setting = Setting(size="tiny")
    monkeypatch.setattr(type(setting), "mpiexec", None)
    assert pgas.tasks(setting) == []
    assert pgas.NAME in setting.left_out


# ---- claims ----


def records(speedup: float, notify: float) -> list[dict]:
    """Jobs of 1 and 16 ranks in which all variants gain ``speedup``, and notifying takes ``notify`` times polling."""
    found = []
    for count in (1, 16):
        rows = {}
        for name in pgas.LABELS:
            spent = (notify if "notify" in name else 1.0) / (1 if count == 1 else speedup)
            sent = 0 if count == 1 else 100
            rows[name] = {"seconds": [spent], "share": 0.0, "bytes": sent, "messages": sent, "rounds": 3, "weight": 1.0}
        facts = {"n": 10, "m": 20, "crossing": 0.5, "ghosts": 3, "graph_bytes": 100}
        graphs = {title: facts | {"engines": rows} for title in pgas.GRAPHS["full"]}
        found.append(
            {"params": {"ranks": count}, "graph": "", "engine": "", "seconds": [], "result": {"graphs": graphs}}
        )
    return found


@pytest.fixture
def page():
    return Undrawn("pgas")


@pytest.mark.parametrize(
    ("speedup", "well", "some"), [(9.0, "held", "held"), (2.0, "not held", "held"), (0.5, *["not held"] * 2)]
)
def test_scaling_claims(page, speedup, well, some):
    pgas.present(records(speedup, notify=2.0), page)
    assert page.verdicts("scales well") == [well] * 2  # grid and sparse graph
    assert page.verdicts("bipartite, every edge") == [some]


@pytest.mark.parametrize(("notify", "expected"), [(2.0, "held"), (0.5, "not held")])
def test_polling_against_notifying(page, notify, expected):
    pgas.present(records(4.0, notify), page)
    assert page.verdicts("polling variants perform better") == [expected]


def test_jobs_without_some_engines_are_drawn(page):
    found = records(4.0, 1.0)
    for record in found:
        for graph in record["result"]["graphs"].values():
            graph["engines"] = {"sync-poll@mpi": graph["engines"]["sync-poll@mpi"], "suitor@mpi": {"error": "refused"}}
    pgas.present(found, page)
    assert page.figures == ["time", "sent"]
