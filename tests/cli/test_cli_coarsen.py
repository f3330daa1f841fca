"""``troth coarsen``: the levels, the files, the map."""

from __future__ import annotations

import re

import numpy as np
import pytest

import troth
from troth.io import read_mates


def test_summary(run):
    code, out, err = run("coarsen", "rmat:scale=11,seed=2", "--stop", 100)
    levels = troth.hierarchy(troth.read("rmat:scale=11,seed=2"), stop=100)
    assert (code, err) == (0, "")
    shown = [line for line in out.splitlines() if line.startswith("level")]
    for i, (line, level) in enumerate(zip(shown, levels[1:], strict=True), 1):
        assert f"level {i} " in line
        assert f" {level.graph.n:,} vertices, {level.graph.m:,} edges" in line
    assert "pairs of no neighbours" in out
    assert "suitor on cpu, ties hash, seed 0" in out


def test_the_coarsest_graph_and_the_map(run):
    found = run(
        "coarsen", "grid:rows=30,cols=40,weights=integers", "--stop", 50, "-o", "c.csr", "--map", "m.txt", "--json"
    ).json
    graph, coarse, where = troth.read("grid:rows=30,cols=40,weights=integers"), troth.read("c.csr"), read_mates("m.txt")
    assert (found["output"], found["map"], found["device"]) == ("c.csr", "m.txt", "cpu")
    assert found["levels"][-1]["n"] == coarse.n <= 50
    assert len(where) == graph.n
    assert np.bincount(where).tolist() == coarse.vertex_weights.tolist()
    assert found["levels"][-1]["greatest_vertex_weight"] == coarse.vertex_weights.max()
    row = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    across = where[row] != where[graph.indices]
    assert coarse.weights.sum() == graph.weights[across].sum()
    assert set(found["seconds"]) == {"read", "coarsen", "write"}
    assert set(found["steps"]) == {"match", "twohop", "contract"}


def test_every_level(run, tmp_path):
    found = run(
        "coarsen", "grid:rows=30,cols=30", "--stop", 9, "--levels", 3, "-o", "l{}.csr", "--map", "m{}.txt", "--json"
    ).json
    assert len(found["levels"]) == 3
    levels = troth.hierarchy(troth.read("grid:rows=30,cols=30"), stop=9, levels=3)
    for i, level in enumerate(levels[1:], 1):
        assert troth.read(f"l{i}.csr").weights.tolist() == level.graph.weights.tolist()
        assert (tmp_path / f"m{i}.txt").read_text() == "".join(f"{c}\n" for c in level.map)
    assert len(list(tmp_path.iterdir())) == 6


def test_a_graph_that_is_small_already(run):
    assert run("coarsen", "path:n=5,weights=unit", "-o", "same.csv", "--map", "m.txt").code == 0
    assert troth.read("same.csv").m == 4
    assert read_mates("m.txt").tolist() == [0, 1, 2, 3, 4]
    none = run("coarsen", "path:n=5", "-o", "level-{}.csr", "--map", "map-{}.txt", "--json").json
    assert (none["output"], none["map"]) == (None, None)


def test_the_help_has_no_ranks(run):
    assert not re.search("mpi|poll|notify", run("coarsen", "--help").out)


def test_a_level_that_cannot_be_written_stops_all(run, tmp_path):
    (tmp_path / "a-2.txt").mkdir()
    assert "a-2.txt: a folder" in run("coarsen", "path:n=99", "--stop", 9, "-o", "a-{}.txt").err
    assert len(list(tmp_path.iterdir())) == 1


def test_options_reach_the_hierarchy(run):
    spec = "hubs:n=2000,hubs=3,degree=900"
    heavy = run("coarsen", spec, "--stop", 10, "--max-vertex-weight", 7, "--json").json["levels"]
    assert max(level["greatest_vertex_weight"] for level in heavy) <= 7
    assert all(level["twohop"] == 0 for level in run("coarsen", spec, "--no-twohop", "--json").json["levels"])
    random = run("coarsen", spec, "-a", "blue-red", "-O", "mode=random", "--seed", 5, "--threads", 3, "--json").json
    levels = troth.hierarchy(troth.read(spec), algorithm="blue-red", mode="random", seed=5)
    assert [level["n"] for level in random["levels"]] == [level.graph.n for level in levels[1:]]
    near = run("coarsen", spec, "-a", "auction", "-O", "eps=0.1", "-O", "rounds=none", "--json").json
    levels = troth.hierarchy(troth.read(spec), algorithm="auction", eps=0.1, rounds=None)
    assert [level["m"] for level in near["levels"]] == [level.graph.m for level in levels[1:]]


def test_clusters(run):
    spec = "hubs:n=2000,hubs=3,degree=900"
    words = ("coarsen", spec, "--by", "strongest", "--stop", 50, "--max-vertex-weight", 40, "--ties", "low")
    found = run(*words, "--map", "map.txt", "--json").json
    levels = troth.hierarchy(troth.read(spec), by="strongest", stop=50, max_vertex_weight=40, ties="low")
    wanted = [(level.graph.n, level.stats["joined"], level.stats["twohop"]) for level in levels[1:]]
    assert [(level["n"], level["joined"], level["twohop"]) for level in found["levels"]] == wanted
    assert (found["by"], found["device"], set(found["steps"])) == ("strongest", "cpu", {"join", "contract"})
    assert "algorithm" not in found
    where = np.arange(levels[-1].graph.n)
    for level in reversed(levels):
        where = level.project(where)
    assert read_mates("map.txt").tolist() == where.tolist()
    out = run(*words).out
    assert "strongest on cpu" in out
    assert "vertices of no neighbours" in out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("absent.mtx", "--by", "strongest", "-a", "greedy"), "by='strongest' matches nothing: leave algorithm out"),
        (("absent.mtx", "--by", "luck"), "--by"),
        (("absent.mtx",), "absent.mtx: there is no such file"),
        (("absent.mtx", "-a", "auction", "-O", "target=0.9"), "target is met by match alone, not by hierarchies"),
        (("path:n=9", "--max-vertex-weight", "much"), "--max-vertex-weight 'much' is no number"),
        (("path:n=9", "--stop", 2, "--max-vertex-weight", "1,2"), "one for each column"),
        (("absent.mtx", "--device", "mpi"), "runs on MPI ranks"),
        (("absent.mtx", "-O", "luck=1"), "has no option 'luck'"),
        (("absent.mtx", "-o", "x.foo"), "x.foo: unknown extension"),
        (("absent.mtx", "-o", "nowhere/{}.csr"), "there is no folder nowhere"),
        (("absent.mtx", "--map", "nowhere/m.txt"), "there is no folder nowhere"),
        (("path:n=9", "--stop", 0), "--stop"),
        (("path:n=9", "-o", "level-{}/graph.csr"), "in the name of a file, not of a folder"),
        (("path:n=9", "-o", "same.txt", "--map", "same.txt"), "--output and --map are both same.txt"),
        (("path:n=9", "-o", "./a-{}.txt", "--map", "a-1.txt"), "--output and --map are both a-1.txt"),
        (("path:n=99", "--stop", 9, "-o", "a-{}.txt", "--map", "a-2.txt"), "--output and --map are both a-2.txt"),
    ],
)
def test_refusals(run, tmp_path, words, reason):
    code, out, err = run("coarsen", *words)
    assert (code, out) == (2, "")
    assert err.startswith("troth: ")
    assert reason in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())
