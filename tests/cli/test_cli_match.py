"""``troth match`` and ``troth strongest``."""

from __future__ import annotations

import numpy as np
import pytest

import troth
from troth.api import calls
from troth.api.result import Matching
from troth.io import read_mates

DETERMINISTIC = ("suitor", "locally-dominant", "handshake", "greedy")


def test_summary_without_output_has_no_mates(run, trap, tmp_path):
    code, out, err = run("match", trap)
    assert (code, err) == (0, "")
    rows = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert rows["vertices"] == "4"
    assert rows["edges"] == "3, weights int64"
    assert rows["pairs"] == "1, 50.0% of the vertices"
    assert rows["weight"] == "5"
    assert rows["seconds"].startswith("read ")
    assert "ratio" not in rows
    assert list(tmp_path.iterdir()) == [trap]


def test_summary_tells_device_note_and_phases(run, trap, monkeypatch):
    def match(request, graph, **_):
        seconds = {"gate": 9.0, "copy": 0.25, "match": 0.5, "kernels": 0.125, "scan": 0.0625}
        stats = {"rounds": 3, "note": "on the CPU, since the GPU is too small", "seconds": seconds}
        return Matching(graph, np.array([-1, 2, 1, -1], np.int32), "suitor", "cuda:0", "low", 0, stats)

    monkeypatch.setattr(calls, "match_graph", match)
    rows = dict(line.split(maxsplit=1) for line in run("match", trap).out.splitlines())
    assert rows["algorithm"] == "suitor on cuda:0, ties low, seed 0"
    assert rows["note"] == "on the CPU, since the GPU is too small"
    assert rows["counts"] == "rounds 3"
    assert rows["seconds"].split(", ")[1:] == ["copy 0.250", "match 0.500", "kernels 0.125"]


def test_options_of_engines_stay_as_given(run, trap, monkeypatch):
    """The defaults of one device's engine must not be asked of another's."""
    asked = []
    match = calls.match_graph
    monkeypatch.setattr(
        calls, "match_graph", lambda request, *args, **words: asked.append(request) or match(request, *args, **words)
    )
    run("match", trap)
    run("match", trap, "-O", "presort=yes")
    assert [request.given.get("presort") for request in asked] == [None, True]


def test_certificate_is_rounded_down(run, tmp_path):
    (tmp_path / "path.csv").write_text("0,1,4\n1,2,6\n2,3,5\n")
    assert "at least 0.6666 of the optimum, which is at most 9\n" in run("match", "path.csv", "--certify").out


@pytest.mark.parametrize("algorithm", DETERMINISTIC)
def test_mates_file_equals_the_library(run, algorithm):
    spec = "rmat:scale=8,weights=integers,seed=3"
    assert run("match", spec, "-a", algorithm, "-o", "mates.txt", "--seed", 5).code == 0
    mate = troth.match(troth.read(spec), seed=5).mate
    assert np.array_equal(read_mates("mates.txt"), mate)
    assert run("verify", spec, "mates.txt", "-a", algorithm).code == 0


def test_json_has_everything_but_the_mates(run, trap):
    found = run("match", trap, "--certify", "--json", "-o", "mates.txt", "--ties", "high", "--threads", 2).json
    assert found["graph"] == str(trap)
    assert (found["n"], found["m"], found["weights"], found["pairs"], found["weight"]) == (4, 3, "int64", 1, 5)
    assert (found["algorithm"], found["device"], found["ties"], found["seed"]) == ("suitor", "cpu", "high", 0)
    assert found["certificate"] == {**found["certificate"], "weight": 5, "bound": 8, "ratio": 0.625}
    assert found["output"] == "mates.txt"
    assert {"read", "match", "certify", "write"} <= set(found["seconds"])
    assert "mate" not in found


def test_infinite_weight_is_null_in_json(run, tmp_path):
    (tmp_path / "huge.csv").write_text("0,1,1.7e308\n2,3,1.7e308\n")
    assert run("match", "huge.csv", "--json").json["weight"] is None


def test_notes_of_the_gate_are_told(run, tmp_path):
    (tmp_path / "g.csv").write_text("0,1,2\n1,0,3\n2,2,1\n3,4,-1\n")
    out = run("match", "g.csv").out
    assert "1 loops dropped, 1 repeated entries merged, 1 edges of weight <= 0 dropped" in out
    assert run("match", "g.csv", "--json").json["notes"] == {"loops": 1, "repeats": 1, "nonpositive": 1}


def test_engine_options(run):
    arguments = ("match", "grid:rows=9,cols=9", "-a", "blue-red", "-o", "mates.txt", "--seed", 7)
    assert run(*arguments, "-O", "mode=random", "-O", "p=0.25").code == 0
    mate = troth.match(troth.read("grid:rows=9,cols=9"), algorithm="blue-red", seed=7, mode="random", p=0.25).mate
    assert np.array_equal(read_mates("mates.txt"), mate)
    auction = ("match", "grid:rows=9,cols=9", "-a", "auction", "-O", "eps=0.01", "-O", "rounds=none", "-o", "near.txt")
    assert run(*auction).code == 0
    mate = troth.match(troth.read("grid:rows=9,cols=9"), algorithm="auction", eps=0.01, rounds=None).mate
    assert np.array_equal(read_mates("near.txt"), mate)


def test_target_is_certified(run):
    found = run("match", "bipartite:left=200,right=200,m=1500", "-a", "auction", "-O", "target=0.95", "--json").json
    assert found["certificate"]["ratio"] >= 0.95


def test_random_weights_follow_the_seed(run):
    weight = [run("match", "path:n=50", "--weights", "random", "--seed", s, "--json").json["weight"] for s in (1, 2, 1)]
    assert weight[0] == weight[2] != weight[1]


def test_output_replaces_a_file(run, trap, tmp_path):
    (tmp_path / "mates.txt").write_text("something much longer than the mates of four vertices\n" * 9)
    assert run("match", trap, "-o", "mates.txt").code == 0
    assert (tmp_path / "mates.txt").read_text() == "-1\n2\n1\n-1\n"
    assert sorted(tmp_path.iterdir()) == [tmp_path / "mates.txt", trap]


def test_empty_graph(run, tmp_path):
    assert run("match", "path:n=0", "--certify", "-o", "mates.txt").code == 0
    assert (tmp_path / "mates.txt").read_text() == ""


@pytest.mark.parametrize("case", range(1, 6))
def test_cs314_cases(run, data, tmp_path, case):
    graph = data(f"handshake/input{case}.mtx")
    done = run("strongest", graph, "-o", "strong.txt")
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("seconds: read ")
    assert (tmp_path / "strong.txt").read_text() == data(f"handshake/strong{case}.txt").read_text()
    assert run("match", graph, "-a", "handshake", "--ties", "low", "-o", "match.txt").code == 0
    assert (tmp_path / "match.txt").read_text() == data(f"handshake/match{case}.txt").read_text()


def test_strongest_prints_lines(run, trap):
    assert run("strongest", trap).out == "1\n2\n1\n2\n"
    assert run("strongest", "path:n=3,weights=unit", "--ties", "high").out == "1\n2\n1\n"
    assert run("strongest", "path:n=3,weights=unit").out == "1\n0\n1\n"
    assert run("strongest", "path:n=1").out == "-1\n"


def test_strongest_json(run, trap):
    assert run("strongest", trap, "--json").json["strongest"] == [1, 2, 1, 2]
    found = run("strongest", trap, "--json", "-o", "strong.txt").json
    assert found["output"] == "strong.txt"
    assert "strongest" not in found


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.tsv", "pairs.parquet"])
@pytest.mark.parametrize("graph", ["likes.csv", "likes.csr", "likes.parquet"])
def test_pairs_by_the_ids_of_the_input(run, tmp_path, graph, name):
    pytest.importorskip("pyarrow")
    (tmp_path / "likes.csv").write_text("source,target,weight\nann,bob,2\nbob,cy,3\ncy,dee,2.5\n")
    if graph != "likes.csv":
        assert run("convert", "likes.csv", graph).code == 0
    assert run("match", graph, "-o", name).code == 0
    assert troth.io.read_pairs(tmp_path / name, text=True).tolist() == [["bob", "cy"]]
    assert run("verify", graph, name).code == 0
    facts = run("verify", graph, name, "--json").json
    assert (facts["ok"], facts["weight"]) == (True, 3.0)
    if name == "pairs.csv":
        assert (tmp_path / name).read_text() == "source,target,weight\nbob,cy,3.0\n"


def test_pairs_of_a_table_that_counts_from_1(run, tmp_path):
    (tmp_path / "edges.txt").write_text("1 2 5\n2 3 7\n")
    assert run("match", "edges.txt", "--base", "1", "-o", "pairs.csv").code == 0
    assert (tmp_path / "pairs.csv").read_text() == "source,target,weight\n2,3,7\n"
    assert run("match", "edges.txt", "--base", "1", "-o", "mates.txt").code == 0
    assert (tmp_path / "mates.txt").read_text() == "-1\n2\n1\n"
    for made in ("pairs.csv", "mates.txt"):
        assert run("verify", "edges.txt", made, "--base", "1").code == 0


def test_pairs_that_are_no_matching(run, tmp_path):
    (tmp_path / "pairs.csv").write_text("source,target\n0,1\n1,2\n")
    code, out, _ = run("verify", "path:n=4", "pairs.csv")
    assert code == 1
    assert "vertex 1 is in 2 pairs" in out


# ---- least cost ----


def test_least_cost(run, tmp_path):
    (tmp_path / "costs.csv").write_text("0,1,3\n1,2,1\n2,3,3\n")
    told = run("match", "costs.csv", "--minimize", "--certify")
    assert (told.code, told.err) == (0, "")
    rows = dict(line.split(maxsplit=1) for line in told.out.splitlines())
    assert rows["on"] == "reading  2 edges that cost the reward or more dropped"
    assert rows["cost"] == "1, the reward of a pair being 3"
    assert (rows["pairs"], rows["weight"], rows["gap"]) == ("1, 50.0% of the vertices", "2", "at most 0.0 of the cost")
    facts = run("match", "costs.csv", "--minimize", "--reward", "6.5", "-a", "auction", "--gap", "0.01", "--json").json
    assert (facts["pairs"], facts["cost"], facts["reward"]) == (2, 6.0, 6.5)
    assert facts["gap"] <= 0.01
    assert run("match", "costs.csv", "--minimize", "--reward", "3.5", "-o", "mates.txt").code == 0
    assert run("verify", "costs.csv", "mates.txt", "--minimize", "--reward", "3.5", "-a", "suitor").code == 0
    assert run("verify", "costs.csv", "mates.txt", "-a", "suitor").code == 1  # of weights it would be a poor one
    plain = run("match", "costs.csv", "--maximize", "--json").json
    assert plain == {**run("match", "costs.csv", "--json").json, "seconds": plain["seconds"]}
    assert "cost" not in plain


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--reward", "3"], "reward=3 is for costs: say maximize=False (--minimize) too"),
        (["--maximize", "--reward", "3"], "reward=3 is for costs"),
        (["--minimize", "--reward", "much"], "--reward much is not a number: give one, such as 3.5"),
        (["--minimize", "--gap", "0.1"], "suitor on cpu has no option 'gap'"),
        (["-a", "auction", "--gap", "0.1"], "gap is a part of the cost"),
        (["-a", "auction", "--minimize", "--gap", "low"], "auction: gap='low' is not accepted"),
        (["-a", "auction", "--minimize", "--gap", "0.1", "-O", "gap=0.2"], "--gap and -O gap say the same"),
        (["--minimize", "--device", "mpi"], "are for one process: leave them out, or --device mpi"),
    ],
)
def test_least_cost_is_refused(run, trap, words, line):
    code, out, err = run("match", trap, *words)
    assert (code, out) == (2, "")
    assert line in err
    assert err.count("\n") == 1


def test_pairs_and_their_costs(run, tmp_path):
    (tmp_path / "roads.csv").write_text("u,v,distance\na,b,3\nb,c,1\nc,d,3\n")
    assert "--minimize" in run("match", "roads.csv").err
    assert run("match", "roads.csv", "--minimize", "--reward", "9", "-o", "pairs.csv").code == 0
    assert (tmp_path / "pairs.csv").read_text() == "source,target,cost\nb,c,1\n"
    assert run("verify", "roads.csv", "pairs.csv", "--minimize", "--reward", "9").code == 0
    assert run("match", "roads.csv", "--maximize", "-o", "pairs.csv").code == 0
    assert (tmp_path / "pairs.csv").read_text() == "source,target,weight\na,b,3\nc,d,3\n"
