"""Jobs of MPI ranks: all engines on one graph, one weight; what cannot run is named; and the report's claims."""

from __future__ import annotations

import pytest
from undrawn import Undrawn

import troth
from bench import ranks
from bench.experiments import pgas, pgas_grain
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


def test_ranks_that_are_apart_send_what_others_share(mpiexec):
    graph = troth.read(pgas.GRAPHS["tiny"][pgas.BIPARTITE][0])
    names = ["suitor@mpi", *pgas_grain.ENGINES]
    asked = mpiexec, 2, {"sides": (graph, ranks.SIDES)}, names, 1, 0.0, 120.0
    together, apart = (ranks.measure(*asked, apart=where)["graphs"]["sides"]["engines"] for where in (False, True))
    assert together["suitor@mpi"]["messages"] == 0 < apart["suitor@mpi"]["messages"]
    fine, bulk = (apart[name] for name in ("sync-poll@mpi:batch=1", "sync-poll@mpi"))
    assert fine["bytes"] == bulk["bytes"] == 8 * fine["messages"] > 8 * bulk["messages"]
    assert {found["weight"] for found in (together | apart).values()} == {troth.match(graph, device="cpu").weight}


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


def about_grain(fine: float, apart: float, together: float = 2.0, notify: float = 1.0, bulk: float = 1.0) -> list[dict]:
    """Jobs of 1, 4 and 8 ranks: 4 are ``together``, or ``apart`` in distributed memory, times as fast as one.

    ``fine`` is what grain costs; in bulk 4 ranks are ``bulk`` times as fast again; notifying takes ``notify`` times.
    """
    found = []
    for memory, count in (
        (memory, count) for memory in (pgas_grain.SHARED, pgas_grain.DISTRIBUTED) for count in (1, 4, 8)
    ):
        gain = {1: 1.0}.get(count, apart if memory == pgas_grain.DISTRIBUTED else together)
        rows = {}
        for name in pgas_grain.ENGINES:
            single = name in pgas_grain.FINE.values()
            times = fine if single else 1.0
            sent = 0 if count == 1 else int(100 * times)
            spent = times * (notify if "notify" in name else 1.0) / (gain if single or count == 1 else gain * bulk)
            rows[name] = {"seconds": [spent], "bytes": 8 * sent, "messages": sent}
        graphs = {title: {"engines": rows} for title in pgas.GRAPHS["full"]}
        result = {"graphs": graphs, "crowded": count == 8}
        found.append({"params": {"ranks": count, "memory": memory}, "seconds": [], "result": result})
    return found


@pytest.mark.parametrize(("apart", "slows", "better"), [(0.5, "held", "held"), (3.0, "not held", "not held")])
def test_claims_on_distributed_memory(page, apart, slows, better):
    pgas.present(records(4.0, 2.0) + about_grain(7.0, apart), page)
    assert (
        page.verdicts("every variant slows down on the XT4") == [slows] * 2
    )  # bipartite and sparse: claims of their own
    assert page.verdicts("each variation scales better on the X1") == [better]
    assert page.verdicts("some speedup on the XT4") == ["held" if apart > 1 else "not held"]
    assert page.verdicts("perform better on the X1 than on the XT4") == [better]
    assert sum("takes 7.0 times as long" in finding for finding in page.findings) == 2


def test_the_grid_alone_decides_which_memory_scales_better(page):
    found = about_grain(7.0, 3.0)
    for record in found:
        if record["params"]["memory"] == pgas_grain.SHARED and record["params"]["ranks"] == 4:
            for row in record["result"]["graphs"][pgas_grain.GRID]["engines"].values():
                row["seconds"] = [each / 4 for each in row["seconds"]]
    pgas.present(found, page)
    (claim,) = [claim for claim in page.claims if "each variation scales better" in claim["paper"]]
    assert claim["verdict"] == "held"
    assert claim["measured"].count("2.67") == 4  # 8 over 3; on the other graphs 2 over 3


def test_single_references_decide_and_the_others_stand_beside(page):
    pgas.present(about_grain(7.0, 0.5, together=0.8, bulk=4.0), page)
    assert page.verdicts("some speedup on the X1") == ["not held"] * 2
    (claim,) = [claim for claim in page.claims if "grid: it scales well" in claim["paper"]]
    assert "sync-poll 0.80, async-poll 0.80" in claim["measured"].partition(" with single references; ")[0]
    assert "sync-poll 3.20, async-poll 3.20" in claim["measured"].partition(" with single references; ")[2]


def test_without_single_references_nothing_is_judged(page):
    """What was measured in bulk alone says nothing of the report's machines."""
    pgas.present(records(4.0, 2.0), page)
    judged = [claim for claim in page.claims if "section 7" in claim["paper"]]
    assert len(judged) == len(pgas_grain.SCALING) + 4
    assert {claim["verdict"] for claim in judged} == {"not tested"}
    assert all("python -m bench pgas" in claim["measured"] for claim in judged)


def test_ranks_without_cores_of_their_own_have_no_times():
    rows = pgas_grain._rows(about_grain(7.0, 2.0))
    assert {(row["ranks"], row["fine, s"] is None) for row in rows} == {(1, False), (4, False), (8, True)}
    assert all(row["fine, bytes"] == 8 * row["fine, messages"] for row in rows)


@pytest.fixture
def page():
    return Undrawn("pgas")


@pytest.mark.parametrize(
    ("speedup", "well", "some"), [(3.0, "held", "held"), (1.5, "not held", "held"), (0.5, *["not held"] * 2)]
)
def test_scaling_claims(page, speedup, well, some):
    pgas.present(about_grain(7.0, 0.5, together=speedup), page)
    assert page.verdicts("scales well") == [well] * 2  # grid and sparse graph
    assert page.verdicts("there is some speedup on the X1") == [some] * 2  # grid and bipartite: claims of their own
    assert page.verdicts("is not ideal") == ["held"]


@pytest.mark.parametrize(("notify", "expected"), [(2.0, "held"), (0.5, "not held")])
def test_polling_against_notifying(page, notify, expected):
    pgas.present(about_grain(7.0, 0.5, notify=notify), page)
    assert page.verdicts("polling variants perform better") == [expected] * 2  # in shared and in distributed memory
    assert page.claims[-1]["measured"].count(f"sync-notify over sync-poll {notify:.2f}") == 2  # in both ways


def test_jobs_without_some_engines_are_drawn(page):
    found = records(4.0, 1.0)
    for record in found:
        for graph in record["result"]["graphs"].values():
            graph["engines"] = {"sync-poll@mpi": graph["engines"]["sync-poll@mpi"], "suitor@mpi": {"error": "refused"}}
    pgas.present(found, page)
    assert page.figures == ["time", "sent"]
