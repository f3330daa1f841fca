"""Real MPI jobs: the same mates for any number of ranks, any partition and tie rule; and what a failing rank does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import troth

pytest.importorskip("mpi4py")

JOB = Path(__file__).with_name("job.py")
MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
LIMIT = 240  # seconds; a job that hangs is a failure
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec")


def launch(ranks: int, *command, cwd=None) -> subprocess.CompletedProcess:
    words = [MPIEXEC, "-n", str(ranks), sys.executable, *map(str, command)]
    return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, cwd=cwd)


def run_job(ranks: int, name: str, *words) -> None:
    done = launch(ranks, JOB, name, *words)
    assert done.returncode == 0, done.stderr
    assert "to the end" in done.stdout


# More ranks than cores wait for each other at every step, so they meet a part of the cases.
@pytest.mark.parametrize(("ranks", "stride"), [(1, 5), (2, 2), (3, 2), (5, 9), (8, 17)])
def test_agreement(ranks, stride):
    run_job(ranks, "agreement", stride)


@pytest.mark.parametrize("ranks", [1, 3])
def test_families_and_folders(ranks, tmp_path):
    run_job(ranks, "families", tmp_path)


def test_memory_falls_with_the_ranks(tmp_path):
    run_job(4, "memory", tmp_path)


@pytest.mark.parametrize("ranks", [1, 3])
def test_verification(ranks):
    run_job(ranks, "verification")


def test_real_graphs(data):
    names = ("494_bus.mtx.gz", "netscience.mtx.gz", "poisson_100x100.mtx.gz", "bcsstk13.mtx.gz")
    run_job(3, "real", *(data(f"matrices/{name}") for name in names), data("graphs/lesmis.graph.gz"))


def test_tiny_queues():
    run_job(3, "tiny_queues")


def test_random_delays():
    run_job(3, "delays", 1000)


# ---- the command line ----


def test_mates_file(tmp_path):
    text = "rmat:scale=9,edgefactor=8"
    troth.write(troth.read(text), tmp_path / "g.csr")
    words = ("-m", "troth", "match", "g.csr", "--device", "mpi", "-a", "async-notify", "--certify", "--json")
    done = launch(3, *words, "--partition", "hash", "-o", "mates.txt", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    m = troth.match(troth.read(text), device="cpu", certify=True)
    assert troth.io.read_mates(tmp_path / "mates.txt").tolist() == m.mate.tolist()
    assert (facts["weight"], facts["pairs"], facts["ranks"]) == (m.weight, m.cardinality, 3)
    assert facts["certificate"]["ratio"] == m.certificate.ratio
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.csr", "mates.txt"]


def test_without_mpiexec(tmp_path):
    words = [sys.executable, "-m", "troth", "match", "path:n=5", "--device", "mpi", "-o", "mates.txt"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "OMPI", "SLURM"))}
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, cwd=tmp_path, env=clean)
    assert done.returncode == 0, done.stderr
    assert "one rank, since mpiexec did not start it" in done.stdout
    assert len((tmp_path / "mates.txt").read_text().splitlines()) == 5


def test_without_mpi4py(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(troth.TrothError, match=r"pip install .troth\[mpi\]"):
        troth.match(troth.generate("path", n=4), "sync-poll", "mpi")


@pytest.mark.parametrize("how", ["throws", "refuses", "killed"])
def test_a_rank_that_fails_ends_the_job(how, tmp_path):
    done = launch(3, JOB, "failure", how, "-a", "async-poll", "-o", tmp_path / "mates.txt")
    assert done.returncode != 0
    assert "to the end" not in done.stdout
    assert not list(tmp_path.iterdir())
    if how != "killed":
        assert "rank 1" in done.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["g.mtx"], "troth convert g.mtx graph.csr first"),
        (["delaunay:n=50"], "is not generated in parts"),
        (["path:n=9,weights=increasing"], "ranks among all edges"),
        (["path:n=9", "--partition", "nowhere"], "not a file"),
        (["path:n=9", "--partition", "metis"], "needs a whole graph"),
        (["path:n=9", "--weights", "abs"], "troth convert"),
        (["path:n=9", "-a", "sync-poll", "-O", "capacity=3"], "no option 'capacity'"),
        (["path:n=9", "-a", "async-notify", "-O", "capacity=0"], "from 1 to"),
        (["path:n=9", "-a", "greedy"], "has no engine on device='mpi'"),
    ],
)
def test_refusals(words, reason, capfd, monkeypatch, tmp_path):
    from troth.cli import main

    monkeypatch.chdir(tmp_path)
    assert main(["match", *words, "--device", "mpi"]) == 2
    said = capfd.readouterr().err
    assert reason in said
    assert said.count("\n") == 1


def test_damaged_folder(tmp_path):
    from troth.cli import main

    folder = tmp_path / "g.csr"
    troth.write(troth.generate("path", n=6), folder)
    weights = np.load(folder / "weights.npy")
    weights[0] *= 2
    np.save(folder / "weights.npy", weights)
    assert main(["match", str(folder), "--device", "mpi"]) == 2
