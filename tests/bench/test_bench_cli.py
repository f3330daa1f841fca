"""``python -m bench``: lists, refusals, merging and drawing again."""

from __future__ import annotations

import json
import re

import pytest

from bench import catalogue, experiments
from bench.__main__ import main
from bench.store import FILE, Store
from troth.errors import TrothError


def test_list_prints_names_one_a_line(capfd):
    assert main(["--list"]) == 0
    assert capfd.readouterr().out.split() == experiments.names()


def test_catalogue_prints_the_table(capfd, monkeypatch):
    monkeypatch.setattr(catalogue, "make", None)  # it must not make a graph to print its size
    assert main(["--catalogue"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 1 + len(catalogue.instances())
    row = next(line for line in lines if line.startswith("rmat-1m "))
    assert row.split() == ["rmat-1m", "rmat", "65,536", "1,048,576", "rmat:scale=16,edgefactor=16,seed=112"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["siezs", "-o", "x"], "the nearest is sizes"),
        (["qqq", "-o", "x"], "there are sizes, runtimes, "),
        (["sizes"], "--output"),
        (["sizes", "-o", ""], "--output"),
        (["sizes", "-o", "file"], "file: not a folder"),
        (["sizes", "-o", "taken"], "taken/figures: not a folder"),
        (["ties", "-o", "x", "--engines", "nope@cpu"], "--engines nope@cpu: these experiments have no such engine"),
        (["ties", "-o", "x", "--size", "tiny", "--threads", "9999"], "threads=9999"),
        (["sizes", "-o", "x", "--folder", "nowhere"], "nowhere: there is no such folder"),
        (["sizes", "-o", "x", "--graphs", "nothing"], "--graphs nothing"),
        (["sizes", "-o", "x", "--size", "huge"], "--size"),
        (["--report-only", "-o", "x"], "no results there yet"),
        (["--report-only", "-o", "x", "--merge", "y"], "y: no results there"),
        (["--report-only", "-o", "x", "--merge", "file"], "file: no results there"),
        (["--report-only", "-o", "x", "sizes"], "leave out names"),
        (["--report-only", "-o", "x", "--size", "small"], "leave out --size"),
    ],
)
def test_refusals_in_one_line(words, says, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("{}\n")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "figures").write_text("")
    assert main(words) == 2
    message = capfd.readouterr().err
    assert says in message
    assert message.count("\n") == 1
    assert not (tmp_path / "x").exists()  # nothing was measured


def test_files_that_cannot_be_measured_are_named(tmp_path, graphs, capfd):
    """And guesses of their sizes are marked; the others are drawn."""
    head = "%%MatrixMarket matrix coordinate real general\n"
    texts = {"diagonal": "2 2 1\n1 1 5\n", "empty": "0 0 0\n", "fine": "2 2 1\n1 2 5\n", "torn": "2 2 9\n"}
    for name, text in texts.items():
        (tmp_path / f"{name}.mtx").write_text(head + text)
    words = ["--folder", str(tmp_path), "-o", str(tmp_path / "out"), "--cache", str(graphs), "--size", "tiny"]
    experiments = ["runtimes", "variants", "blue-red", "peers", "handshake", "sizes"]
    assert main([*experiments, *words, "--graphs", "file", "--repeats", "1", "--engines", "cpu"]) == 0
    out = capfd.readouterr().out
    assert "could not be measured: diagonal.mtx, empty.mtx: the graph has no edges" in out
    assert "could not be measured: torn.mtx: " in out
    assert main(["--catalogue", "--folder", str(tmp_path)]) == 0
    assert re.search(r"fine.mtx +file +~\d+ +~\d+", capfd.readouterr().out)


def test_lines_that_are_no_results_are_passed_over(tmp_path, graphs, capfd):
    assert main(["sizes", "--size", "tiny", "--cache", str(graphs), "-o", str(tmp_path)]) == 0
    lines = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    run, task = lines[0], lines[1]
    wrong = [{"record": "run"}, {"record": "task"}, run | {"machine": "x"}, run | {"left_out": {"a": []}}, [1]]
    wrong += [task | {"size": "huge"}, task | {"key": ["a"]}, task | {"machine": None}, task | {"experiment": "new"}]
    wrong += [{name: value for name, value in task.items() if name != "origin"}, task | {"result": None}]
    with open(tmp_path / FILE, "a") as stream:
        stream.writelines(json.dumps(line) + "\n" for line in wrong)
    capfd.readouterr()
    assert main(["--report-only", "-o", str(tmp_path)]) == 0
    assert f"passed over {len(wrong)} lines" in capfd.readouterr().err


def test_run_merge_and_draw_again(tmp_path, graphs, capfd):
    run = ["sizes", "--size", "tiny", "--cache", str(graphs), "-o", str(tmp_path / "one")]
    assert main(run) == 0
    assert "5 measured, 0 were there, 0 failed, 0 left" in capfd.readouterr().out
    assert main(run) == 0
    assert "0 measured, 5 were there, 0 failed, 0 left" in capfd.readouterr().out
    assert main(["--report-only", "--merge", str(tmp_path / "one"), "-o", str(tmp_path / "two")]) == 0
    assert "5 tasks taken in" in capfd.readouterr().out
    pages = [(tmp_path / name / "index.html").read_text(encoding="utf-8") for name in ("one", "two")]
    assert pages[0] == pages[1]


def test_results_are_packed_alike_and_read_again(tmp_path, graphs):
    words = ["--report-only", "-o", str(tmp_path / "one"), "--pack"]
    assert main(["sizes", "--size", "tiny", "--cache", str(graphs), "-o", str(tmp_path / "one")]) == 0
    packed = [tmp_path / name / "x.jsonl.gz" for name in ("two", "three")]
    for path in packed:
        path.parent.mkdir()
        assert main([*words, str(path)]) == 0
    assert packed[0].read_bytes() == packed[1].read_bytes()
    assert Store(tmp_path / "two").tasks == Store(tmp_path / "one").tasks
    packed[0].write_bytes(packed[0].read_bytes()[:-9])
    with pytest.raises(TrothError, match=r"x.jsonl.gz: "):
        Store(tmp_path / "two")


def test_options_reach_the_run(tmp_path, graphs, capfd):
    words = ["ties", "--size", "tiny", "--engines", "greedy@cpu,suitor@cuda", "--repeats", "1", "--seed", "3"]
    assert main([*words, "--threads", "1", "--cache", str(graphs), "-o", str(tmp_path)]) == 0
    text = (tmp_path / FILE).read_text()
    assert '"engine": "greedy@cpu"' in text
    assert "handshake@cpu" not in text
    assert '"seed": 3, "repeats": 1, "threads": 1' in text
