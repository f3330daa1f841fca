"""``troth verify``, ``info``, ``generate`` and ``convert``."""

from __future__ import annotations

import numpy as np
import pytest

import troth
from troth.families import COMMON, FAMILIES, RULES


def equal(a: troth.Graph, b: troth.Graph) -> bool:
    """Whether two graphs have the same arrays, but for the type of the weights."""
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("indptr", "indices", "weights"))


# ---- verify ----


@pytest.mark.parametrize(
    ("mates", "reason"),
    [
        ("1 0 -1 3", "vertex 3 is its own mate"),
        ("2 -1 0 -1", "vertex 0: its mate 2 is not a neighbour"),
        ("1 -1 -1 -1", "vertex 0: its mate is 1, but the mate of 1 is -1"),
        ("1 0 -1 -1", "edge (2, 3) joins two unmatched vertices"),
        ("-1 2 1", "the graph has 4 vertices"),
    ],
)
def test_wrong_mates_fail_with_1_and_a_reason(run, trap, tmp_path, mates, reason):
    (tmp_path / "mates.txt").write_text(mates.replace(" ", "\n") + "\n")
    code, out, err = run("verify", trap, "mates.txt")
    assert (code, err) == (1, "")
    assert reason in out
    assert out.splitlines()[-1].split(maxsplit=1) == ["result", "a check failed"]
    done = run("verify", trap, "mates.txt", "--device", "auto", "--json")
    assert done.code == 1
    assert done.json["ok"] is False
    assert reason in done.json["reason"]


def test_dominance_counts_only_where_it_was_promised(run, trap, tmp_path):
    (tmp_path / "best.txt").write_text("1\n0\n3\n2\n")  # the optimum, 4 + 4, but the edge of weight 5 beats both
    done = run("verify", trap, "best.txt")
    assert done.code == 0
    assert "at least 1.0 of the optimum, which is at most 8" in done.out
    assert run("verify", trap, "best.txt", "-a", "local-random").code == 0
    assert run("verify", trap, "best.txt", "-a", "suitor").code == 1
    found = run("verify", trap, "best.txt", "--no-certify", "--json").json
    assert (found["ok"], found["dominant"], found["weight"], found["ratio"]) == (True, False, 8, None)


@pytest.mark.parametrize("text", ["1\n0\nx\n-1\n", "1\n0\n-2\n-1\n", "1 0\n3\n2\n", "1\n0\n4\n-1\n"])
def test_what_is_no_mates_file_is_bad_input(run, trap, tmp_path, text):
    (tmp_path / "mates.txt").write_text(text)
    code, out, err = run("verify", trap, "mates.txt")
    assert (code, out) == (2, "")
    assert err.startswith("troth: mates.txt")
    assert err.count("\n") == 1


# ---- info ----


def test_info(run, tmp_path):
    (tmp_path / "star.csv").write_text("0,1,2.5\n0,2,0.25\n0,4,1\n3,3,1\n")
    code, out, _ = run("info", "star.csv")
    assert code == 0
    rows = dict(line.split("  ", 1) for line in out.splitlines())
    rows = {name: value.strip() for name, value in rows.items()}
    assert rows["degree"] == "0 to 3, 1.20 on average; 1 isolated"
    assert rows["weight"] == "0.25 to 2.5"
    assert rows["on reading"] == "1 loops dropped"
    found = run("info", "star.csv", "--json").json
    assert (found["n"], found["m"], found["isolated"], found["notes"]) == (5, 3, 1, {"loops": 1})
    assert found["degree"] == {"min": 0, "mean": 1.2, "max": 3}
    assert found["weight_range"] == [0.25, 2.5]
    assert found["bytes"] == 6 * 8 + 6 * 4 + 6 * 8


@pytest.mark.parametrize("spec", ["path:n=0", "path:n=1"])
def test_info_of_nothing(run, spec):
    assert run("info", spec).code == 0
    found = run("info", spec, "--json").json
    assert (found["m"], found["weight_range"], found["degree"]["max"]) == (0, None, 0)


def test_reading_options(run, tmp_path):
    (tmp_path / "g.csv").write_text("score,from,to\n-3,1,2\n5,2,3\n")
    found = run("info", "g.csv", "--columns", "from,to,score", "--base", 1, "--weights", "abs", "--json").json
    assert (found["n"], found["m"], found["weight_range"]) == (3, 2, [3, 5])
    (tmp_path / "g.mtx").write_text("%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 2 3\n2 1 5\n")
    assert run("info", "g.mtx").code == 2
    assert run("info", "g.mtx", "--symmetrize", "sum", "--json").json["weight_range"] == [8, 8]
    assert run("info", "g.mtx", "--weights", "unit", "--json").json["weight_range"] == [1, 1]


def test_text_ids_are_mentioned(run, tmp_path):
    (tmp_path / "g.csv").write_text("source,target\nanna,bert\n")
    out = run("info", "g.csv").out
    assert "vertices    2, numbered in the order of their ids" in out
    assert "on reading  the first row names the columns" in out
    assert run("info", "g.csv", "--json").json["ids"] is True


# ---- generate ----


@pytest.mark.parametrize(
    "words",
    [("rmat:scale=6,seed=2",), ("rmat", "scale=6", "seed=2"), ("rmat:scale=6", "seed=2"), ("rmat:seed=2", "scale=6")],
)
def test_generate_takes_a_spec_or_words(run, words):
    code, out, err = run("generate", *words, "-o", "g.csr")
    assert (code, err) == (0, "")
    assert equal(troth.read("g.csr"), troth.generate("rmat", scale=6, seed=2))
    assert "g.csr" in out


@pytest.mark.parametrize("name", ["g.mtx", "g.mtx.gz", "g.graph", "g.npz", "g.csr", "g.tsv", "g.parquet"])
def test_generate_and_convert_write_every_format(run, name):
    spec = "grid:rows=3,cols=4,weights=integers,seed=1"
    found = run("generate", spec, "-o", name, "--json").json
    assert found == {"graph": spec, "n": 12, "m": 17, "weights": "int32", "notes": {}, "output": name}
    assert equal(troth.read(name), troth.read(spec))
    assert run("convert", name, "again.csr", "--json").json["output"] == "again.csr"
    assert equal(troth.read("again.csr"), troth.read(spec))


def test_help_lists_families_and_rules(run):
    out = run("generate", "--help").out
    for name, family in FAMILIES.items():
        assert f"  {name} " in out
        assert all(param.name in out for param in family.params)
    assert all(f"  {word} " in out for word in [*COMMON, *RULES])


# ---- convert ----


def test_convert_cleans_and_replaces(run, tmp_path):
    (tmp_path / "g.csv").write_text("0,1,-2\n1,2,3\n")
    assert run("convert", "g.csv", "g.CSR", "--weights", "abs").code == 0
    assert run("convert", "g.csv", "g.CSR", "--weights", "unit").code == 0
    assert troth.read("g.CSR").weights.tolist() == [1, 1, 1, 1]
    assert run("convert", "g.csv", "g.CSR").code == 0
    assert troth.read("g.CSR").m == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.CSR", "g.csv"]
