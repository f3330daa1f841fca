"""``troth bench``: lists, refusals, merging and drawing again."""

from __future__ import annotations

import pytest

from troth.bench import catalogue, experiments
from troth.bench.store import FILE
from troth.cli import main


def test_list_prints_names_one_a_line(capfd):
    assert main(["bench", "--list"]) == 0
    assert capfd.readouterr().out.split() == experiments.names()


def test_catalogue_prints_the_table(capfd, monkeypatch):
    monkeypatch.setattr(catalogue, "make", None)  # it must not make a graph to print its size
    assert main(["bench", "--catalogue"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 1 + len(catalogue.instances())
    row = next(line for line in lines if line.startswith("rmat-1m "))
    assert row.split() == ["rmat-1m", "rmat", "65,536", "1,048,576", "rmat:scale=16,edgefactor=16,seed=112"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["siezs", "-o", "x"], "the nearest is sizes"),
        (["sizes"], "--output"),
        (["sizes", "-o", "x", "--folder", "nowhere"], "nowhere: there is no such folder"),
        (["sizes", "-o", "x", "--graphs", "nothing"], "--graphs nothing"),
        (["sizes", "-o", "x", "--size", "huge"], "--size"),
        (["--report-only", "-o", "x"], "no results there yet"),
        (["--report-only", "-o", "x", "--merge", "y"], "y: no results there"),
    ],
)
def test_refusals_in_one_line(words, says, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert main(["bench", *words]) == 2
    message = capfd.readouterr().err
    assert says in message
    assert message.count("\n") == 1


def test_run_merge_and_draw_again(tmp_path, graphs, capfd):
    run = ["bench", "sizes", "--size", "tiny", "--cache", str(graphs), "-o", str(tmp_path / "one")]
    assert main(run) == 0
    assert "5 measured, 0 were there, 0 failed, 0 left" in capfd.readouterr().out
    assert main(run) == 0
    assert "0 measured, 5 were there, 0 failed, 0 left" in capfd.readouterr().out
    assert main(["bench", "--report-only", "--merge", str(tmp_path / "one"), "-o", str(tmp_path / "two")]) == 0
    assert "5 tasks taken in" in capfd.readouterr().out
    pages = [(tmp_path / name / "index.html").read_text(encoding="utf-8") for name in ("one", "two")]
    assert pages[0] == pages[1]


def test_options_reach_the_run(tmp_path, graphs, capfd):
    words = ["bench", "ties", "--size", "tiny", "--engines", "greedy@cpu,suitor@cuda", "--repeats", "1", "--seed", "3"]
    assert main([*words, "--threads", "1", "--cache", str(graphs), "-o", str(tmp_path)]) == 0
    text = (tmp_path / FILE).read_text()
    assert '"engine": "greedy@cpu"' in text
    assert "handshake@cpu" not in text
    assert '"seed": 3, "repeats": 1, "threads": 1' in text
