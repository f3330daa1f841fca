"""The course project's programs: its arguments, its test cases and their answers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from troth.cli._course import get_matching, get_strongest

CASES = [(get_strongest, "strong"), (get_matching, "match")]


@pytest.mark.parametrize(("program", "answer"), CASES)
@pytest.mark.parametrize("case", range(1, 6))
def test_cases(data, tmp_path, program, answer, case):
    for threads in ("1", "3", "4096"):
        out = tmp_path / "out.txt"
        assert program([str(data(f"handshake/input{case}.mtx")), str(out), threads, "cpu"]) == 0
        assert out.read_text() == data(f"handshake/{answer}{case}.txt").read_text()


@pytest.mark.gpu
@pytest.mark.parametrize(("program", "answer"), CASES)
def test_cases_on_a_gpu(data, tmp_path, program, answer):
    out = tmp_path / "out.txt"
    assert program([str(data("handshake/input5.mtx")), str(out), "1024", "cuda"]) == 0
    assert out.read_text() == data(f"handshake/{answer}5.txt").read_text()


@pytest.mark.parametrize("name", ["gsn", "handshake"])
def test_modules_run(tmp_path, name):
    graph, out = tmp_path / "in.mtx", tmp_path / "out.txt"
    graph.write_text("%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 5\n3 2 7\n")
    subprocess.run([sys.executable, "-m", f"troth.{name}", graph, out, "2", "cpu"], check=True, capture_output=True)
    assert out.read_text() == {"gsn": "1\n2\n1\n", "handshake": "-1\n2\n1\n"}[name]


@pytest.mark.parametrize(("program", "_"), CASES)
@pytest.mark.parametrize(
    "args",
    [[], ["a", "b"], ["a", "b", "0"], ["a", "b", "-1"], ["a", "b", "many"], ["a", "b", "²"], ["a", "b", "1", "gpu"]],
)
def test_wrong_arguments_are_one_line(capsys, program, _, args):
    assert program(args) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "IN OUT THREADS [cpu|cuda]" in line


@pytest.mark.parametrize(("program", "_"), CASES)
def test_a_missing_file_is_one_line(capsys, tmp_path, program, _):
    assert program([str(tmp_path / "none.mtx"), str(tmp_path / "out"), "1", "cpu"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "none.mtx" in line
