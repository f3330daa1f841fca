"""The course's programs on a GPU: ``troth strongest`` is gsn, ``troth match -a handshake`` is match."""

from __future__ import annotations

import json

import pytest
from corpus import TIES

import troth
from troth.cli import main
from troth.engines import TABLE
from troth.io import read_mates

pytestmark = pytest.mark.gpu

CASES = range(1, 6)
GPU_THREADS = (1, 7, 32, 1000, 4096)
HANDSHAKE = ("match", "-a", "handshake", "--ties", "low")


@pytest.fixture
def run(capfd, monkeypatch, tmp_path):
    """``run("match", "g.mtx")`` in an empty folder: what was printed on stdout and on stderr, and the exit code."""
    monkeypatch.chdir(tmp_path)

    def call(*args) -> tuple[str, str, int]:
        capfd.readouterr()
        code = main([str(arg) for arg in args])
        return *capfd.readouterr(), code

    return call


@pytest.mark.parametrize("case", CASES)
def test_gsn(run, data, tmp_path, case):
    graph, answer = data(f"handshake/input{case}.mtx"), data(f"handshake/strong{case}.txt").read_text()
    for options in ([], *(["--gpu-threads", count] for count in GPU_THREADS)):
        out, err, code = run("strongest", graph, "--device", "cuda:0", "--ties", "low", *options, "-o", "out.txt")
        assert (out, code) == ("", 0)
        assert err.startswith("seconds: read ")
        assert (tmp_path / "out.txt").read_text() == answer


@pytest.mark.parametrize("case", CASES)
def test_match(run, data, tmp_path, case):
    graph, answer = data(f"handshake/input{case}.mtx"), data(f"handshake/match{case}.txt").read_text()
    for options in ([], *(["--gpu-threads", count] for count in GPU_THREADS)):
        out, err, code = run(*HANDSHAKE, graph, "--device", "cuda:0", *options, "-o", "out.txt")
        assert (err, code) == ("", 0)
        assert "handshake on cuda:0, ties low" in out
        assert (tmp_path / "out.txt").read_text() == answer


def test_seconds_of_copies_and_kernels(run):
    out, _, _ = run(*HANDSHAKE, "grid:rows=9,cols=9", "--device", "cuda", "-o", "out.txt")
    seconds = next(line for line in out.splitlines() if line.startswith("seconds"))
    phases = [part.split()[-2] for part in seconds.split(",")]
    assert [phase for phase in phases if phase != "compile"] == ["read", "copy", "match", "kernels", "write"]
    found = json.loads(run(*HANDSHAKE, "grid:rows=9,cols=9", "--device", "cuda", "--json")[0])
    assert {"copy", "kernels", "scan", "collate", "check", "mark", "sum", "pack"} <= set(found["seconds"])


def test_gpu_threads_mean_a_gpu(run):
    """With --device auto, and also as an option of the engine."""
    for options in (["--gpu-threads", 64], ["-O", "gpu_threads=64"]):
        assert json.loads(run(*HANDSHAKE, "path:n=9", *options, "--json")[0])["device"] == "cuda:0"
    assert run("strongest", "path:n=3,weights=unit", "--gpu-threads", 64)[0] == "1\n0\n1\n"


@pytest.mark.parametrize("algorithm", [engine.algorithm for engine in TABLE if engine.device == "cuda"])
def test_mates_are_those_of_the_cpu(run, algorithm):
    spec = "rmat:scale=8,weights=integers,seed=3"
    for device in ("cpu", "cuda"):
        assert run("match", spec, "-a", algorithm, "--device", device, "--seed", 5, "-o", f"{device}.txt")[2] == 0
    assert read_mates("cuda.txt").tolist() == read_mates("cpu.txt").tolist()
    assert run("verify", spec, "cuda.txt", "-a", algorithm)[2] == 0


def test_strongest_is_that_of_the_cpu(run):
    spec = "rmat:scale=8,weights=integers,seed=3"
    for ties in TIES:
        answer = "".join(f"{v}\n" for v in troth.strongest(troth.read(spec), device="cpu", ties=ties, seed=5))
        for options in ([], ["--gpu-threads", 1000]):
            out, _, _ = run("strongest", spec, "--device", "cuda", "--ties", ties, "--seed", 5, *options)
            assert out == answer


@pytest.mark.parametrize("command", ["match", "strongest"])
def test_graphs_that_are_made_on_the_gpu(run, tmp_path, command):
    """Their mates are on the GPU too, and reach the file all the same."""
    for name, words in (("there", ",device=cuda"), ("here", "")):
        _, _, code = run(command, f"grid:rows=9,cols=9{words}", "-o", f"{name}.txt")
        assert code == 0
    assert (tmp_path / "there.txt").read_text() == (tmp_path / "here.txt").read_text()


@pytest.mark.parametrize("command", ["match", "strongest"])
def test_a_device_that_is_not_there(run, command):
    out, err, code = run(command, "absent.mtx", "--device", "cuda:99")
    assert (out, code) == ("", 2)
    assert err.startswith("troth: device='cuda:99' is not there: choose cuda:0")
    assert err.count("\n") == 1
