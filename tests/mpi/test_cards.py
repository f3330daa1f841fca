"""Real MPI jobs whose ranks have cards: the same mates as everywhere, and what a failing rank does.

Without a GPU the kernels run on the CPU, compiled by g++; tests marked ``gpu`` run them on a card, which all ranks
share where there is one alone.
"""

from __future__ import annotations

import os
import pickle
import platform
import random
import shutil
import sys
from pathlib import Path

import pytest
from corpus import CORPUS, TIES, order_of
from test_mpi import AUCTIONS, MPIEXEC, launch, random_graph, solved

import troth
from troth import reference_auction
from troth.arrays import is_available

pytest.importorskip("mpi4py")

JOB = Path(__file__).with_name("card_job.py")
slow, gpu = pytest.mark.slow, pytest.mark.gpu
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec")
WHERE = [
    pytest.param(
        "emulated",
        marks=pytest.mark.skipif(
            shutil.which("g++") is None or platform.machine() != "x86_64",
            reason="emulation needs g++ and x86-64",
        ),
    ),
    pytest.param("card", marks=gpu),
]


@pytest.fixture(autouse=True)
def _emulation_is_found(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(JOB.parents[1] / "cuda"), prepend=os.pathsep)


@pytest.fixture(scope="session")
def cases(tmp_path_factory):
    """The corpus and random graphs, with the right answers for every tie rule."""
    draw = random.Random(23)
    graphs = [solved(make()) for _, make in CORPUS]
    graphs += [solved(random_graph(draw), draw.getrandbits(64)) for _ in range(40)]
    path = tmp_path_factory.mktemp("cards") / "cases"
    path.write_bytes(pickle.dumps(graphs))
    return path


@pytest.fixture(scope="session")
def auctioned(tmp_path_factory):
    """Some of the corpus and random graphs, each with a tie rule, a seed and options, and the reference's mates."""
    draw, found = random.Random(31), []
    graphs = [make() for _, make in CORPUS[::3]] + [random_graph(draw, draw.choice((14, 40))) for _ in range(30)]
    for graph in graphs:
        ties, seed, options = draw.choice(TIES), draw.choice((0, draw.getrandbits(64))), draw.choice(AUCTIONS)
        mate = reference_auction.auction(graph, order_of(graph, ties, seed), seed, **options)
        found.append((graph, ties, seed, options, mate))
    path = tmp_path_factory.mktemp("auctions") / "cases"
    path.write_bytes(pickle.dumps(found))
    return path


def run_job(ranks: int, where: str, name: str, *words) -> None:
    done = launch(ranks, JOB, where, name, *words)
    assert done.returncode == 0, done.stderr
    assert "to the end" in done.stdout


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(
    ("ranks", "every"),
    [
        (2, 23),
        (3, 59),
        pytest.param(1, 60, marks=slow),
        pytest.param(2, 3, marks=slow),
        pytest.param(5, 11, marks=slow),
    ],
)
def test_agreement(ranks, every, where, cases):
    run_job(ranks, where, "agreement", cases, every)


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(
    ("ranks", "every"),
    [(2, 9), pytest.param(1, 14, marks=slow), pytest.param(2, 1, marks=slow), pytest.param(4, 2, marks=slow)],
)
def test_auctions(ranks, every, where, auctioned):
    run_job(ranks, where, "auctions", auctioned, every)


@pytest.mark.parametrize("where", WHERE)
@slow
@pytest.mark.parametrize("ranks", [2, 3])
def test_shapes(ranks, where):
    run_job(ranks, where, "shapes")


@gpu
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_large_graphs(ranks):
    run_job(ranks, "card", "large")


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("ranks", [1, 3])
def test_command_line(ranks, where, tmp_path):
    run_job(ranks, where, "command_line", tmp_path)


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("how", ["killed", "throws"])
def test_a_rank_that_fails_ends_the_job(how, where, tmp_path):
    done = launch(3, JOB, where, "failure", how, tmp_path)
    assert done.returncode != 0
    assert "to the end" not in done.stdout
    assert list(tmp_path.iterdir()) == []
    if how == "throws":
        assert "troth: rank 1 failed: RuntimeError: an accident" in done.stderr


@pytest.mark.parametrize("where", WHERE)
def test_a_rank_without_a_card_is_told_of_by_all(where):
    run_job(2, where, "no_card")


@pytest.mark.parametrize("where", WHERE[:1])
def test_no_pinned_memory(where, tmp_path):
    done = launch(2, JOB, where, "no_pinned_memory", tmp_path)
    assert done.returncode == 2, done.stderr
    assert "troth: rank 1: 0.0 KiB of pinned host memory cannot be had (out of memory)" in done.stderr
    assert list(tmp_path.iterdir()) == []


@gpu
def test_a_card_that_is_too_small_is_refused_by_all(tmp_path):
    done = launch(2, JOB, "card", "too_small", tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("troth: ") == 1
    assert "rank 1: cuda:" in done.stderr
    assert "is too small" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(is_available(), reason="there is a GPU")
def test_without_a_card(tmp_path):
    """One line, by agreement, and code 2; from Python too."""
    words = ["-m", "troth", "match", "path:n=9", "--device", "mpi+cuda", "-o", "mates.txt"]
    done = launch(2, *words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith('troth: device="mpi+cuda": ')
    assert 'choose device="mpi"' in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(troth.TrothError, match='choose device="mpi"'):
        troth.match(troth.generate("path", n=4), device="mpi+cuda")


@pytest.mark.parametrize("device", ["cuda", "mpi+cuda:1", "mpi+gpu"])
def test_devices_that_are_not_for_ranks(device):
    with pytest.raises(troth.TrothError, match="device="):
        troth.mpi.match(troth.mpi.from_graph(troth.generate("path", n=4)), device=device)
    assert sys.modules["troth.mpi"]
