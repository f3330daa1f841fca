"""What every rank of a job with ``device="mpi+cuda"`` runs: ``card_job.py WHERE NAME ...``, one test a function.

WHERE is ``card``, or ``emulated``: then the kernels run on the CPU (``tests/cuda/emulation.py``, whose folder is on the
path), arrays are on the host, and MPI, the rounds and everything else are as they are.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import count
from unittest import mock

import pytest
from job import load_cases, partitions, speaking

import troth
from troth import arrays, mpi
from troth.cli import _mpi, main
from troth.kernels import feeding
from troth.mpi import result
from troth.ranks import cards, part_auction, part_suitor, transfer

TIES = ("hash", "low", "high", "degree")
MPI_CUDA = "mpi+cuda"


@contextmanager
def on_cards(where: str, seed: int = 0, aware: bool = False):
    """Cards as they are, or none: kernels on the CPU, where MPI takes the arrays "on the card" if it is ``aware``."""
    if where == "card":
        yield
        return
    from emulation import emulated

    fakes = [
        (part_suitor, "using", lambda number: nullcontext()),
        (part_auction, "using", lambda number: nullcontext()),
        (cards, "count_devices", lambda: 1),
        (result, "need_card", lambda *_: None),
        (_mpi, "need_card", lambda *_: None),
        (transfer, "is_cuda_aware", lambda: aware),
    ]
    with ExitStack() as stack:
        stack.enter_context(emulated(part_auction, part_suitor, cards, transfer, feeding, seed=seed))
        for fake in fakes:
            stack.enter_context(mock.patch.object(*fake))
        yield


def agreement(comm, where: str, cases: str, every: str) -> None:
    """Each ``every``-th (graph, partition, tie rule) gives the mates, the weight and the pairs of the reference."""
    draw, turns = random.Random(5), count()
    for graph, seed, answers in load_cases(cases):
        for partition in partitions(comm, graph.n, draw):
            for ties in TIES:
                if next(turns) % int(every):
                    continue
                part, aware = mpi.from_graph(graph, partition=partition), draw.random() < 0.5
                with on_cards(where, draw.randrange(100), aware):
                    for _ in range(2):  # the second time the rows are there
                        m = mpi.match(part, device=MPI_CUDA, ties=ties, seed=seed)
                        mate, weight, pairs = answers[ties]
                        said = (graph, partition, ties, seed)
                        assert m.mate.tolist() == mate[part.own].tolist(), said
                        assert (m.weight, m.cardinality) == (weight, pairs), said


def auctions(comm, where: str, cases: str, every: str) -> None:
    """Each ``every``-th auction gives the mates of the reference."""
    draw = random.Random(29)
    for number, (graph, ties, seed, options, mate) in enumerate(load_cases(cases)):
        partition = draw.choice(list(partitions(comm, graph.n, draw)))
        if number % int(every) == 0:
            part = mpi.from_graph(graph, partition=partition)
            asked = {"algorithm": "auction", "ties": ties, "seed": seed, **options}
            with on_cards(where, draw.randrange(100), draw.random() < 0.5):
                m = mpi.match(part, device=MPI_CUDA, **asked)
            assert m.mate.tolist() == mate[part.own].tolist(), (graph, partition, asked)
            assert min(m.stats["bytes"], m.stats["messages"]) >= 0


def shapes(comm, where: str) -> None:
    """Long rows, dense graphs, and more items than a block looks through, of both engines."""
    for text, auctioned in (
        ("hubs:n=400,hubs=2,degree=300", True),
        ("rmat:scale=8,edgefactor=40,dtype=float64", True),
        ("complete:n=150,weights=integers,high=5,dtype=uint8", False),
        ("erdos-renyi:n=6000,degree=4", False),
    ):
        graph = troth.read(text)
        part = mpi.from_graph(graph, partition="hash")
        for algorithm in ("suitor", "auction") if auctioned else ("suitor",):
            right = troth.match(graph, device="cpu", algorithm=algorithm, threads=1).mate
            with on_cards(where):
                m = mpi.match(part, device=MPI_CUDA, algorithm=algorithm)
            assert m.whole().tolist() == right.tolist(), (text, algorithm)
    costs = troth.generate("bipartite", left=30, right=30, m=300)  # least cost: the prices of all ranks are the proof
    asked = {"algorithm": "auction", "maximize": False, "reward": 20}
    right = troth.match(costs, device="cpu", **asked)
    with on_cards(where):
        m = troth.match(costs, device=MPI_CUDA, **asked)
    assert (m.mate.tolist(), m.certificate, m.cost) == (right.mate.tolist(), right.certificate, right.cost)


def large(comm, where: str) -> None:
    """Graphs large enough for every path of the kernels, made by the ranks; certified on their CPUs."""
    for text in (
        "rmat:scale=16,edgefactor=16,seed=2",
        "rmat:scale=14,edgefactor=40,weights=integers,dtype=int64",
        "grid:rows=400,cols=500,weights=unit",
        "erdos-renyi:n=100000,degree=16,dtype=float64",
        "hubs:n=30000,hubs=3,degree=9000",
        "path:n=1500,weights=increasing",
        "bipartite:left=3000,right=2000,m=90000,weights=exponential",
    ):
        graph = troth.read(text)
        for partition, ties in (("block", "hash"), ("hash", "degree")):
            right = troth.match(graph, device="cpu", ties=ties)
            part = mpi.from_graph(graph, partition=partition)
            for way in ("pinned", "auto"):
                m = mpi.match(part, device=MPI_CUDA, ties=ties, transfer=way)
                assert m.whole().tolist() == right.mate.tolist(), (text, partition, ties, way)
        assert mpi.verify(part, m) == troth.verify(graph, right), text
        right = troth.match(graph, device="cpu", algorithm="auction")
        m = mpi.match(part, device=MPI_CUDA, algorithm="auction")
        assert m.whole().tolist() == right.mate.tolist(), text
    m = troth.match(graph, device=MPI_CUDA)  # all ranks with the whole graph
    assert (m.device, m.mate.tolist()) == (MPI_CUDA, troth.match(graph, device="cpu").mate.tolist())


def command_line(comm, where: str, folder: str) -> None:
    """Match and verify, as they are asked for in a shell; and an option that cannot be met, refused by all."""
    os.chdir(folder)
    run = speaking(comm)
    right = troth.match("rmat:scale=7,edgefactor=6", device="cpu")
    with on_cards(where):
        code, out, err = run("match", "rmat:scale=7,edgefactor=6", "-o", "mates.txt", "--json", device=MPI_CUDA)
        assert code == 0, err
        facts = json.loads(out)
        told = (facts["device"], facts["ranks"], facts["weight"], facts["pairs"])
        assert told == (MPI_CUDA, comm.size, right.weight, right.cardinality)
        assert troth.io.read_mates("mates.txt").tolist() == right.mate.tolist()
        assert "fine" in run("verify", "rmat:scale=7,edgefactor=6", "mates.txt", device=MPI_CUDA)[1]
        for words, reason in (
            (("-O", "transfer=fast"), "give auto or pinned or device"),
            (("-O", "share=no"), "has no option 'share'"),
            (("-a", "sync-poll"), "sync-poll has no engine on device='mpi+cuda': choose mpi"),
            (("-a", "greedy"), "greedy has no engine on device='mpi+cuda': choose cpu, cuda"),
        ):
            code, _, err = run("match", "path:n=9", *words, device=MPI_CUDA)
            assert (code, err.count("\n")) == (2, 1), err
            assert reason in err, err
        if where == "emulated":
            code, _, err = run("match", "path:n=9", "-O", "transfer=device", device=MPI_CUDA)
            assert (code, err.count("\n")) == (2, 1), err
            assert "needs an MPI that is CUDA-aware" in err


def no_card(comm, where: str) -> None:
    """One rank has no card: all refuse, and on the command line before the graph is read."""
    fakes = [(arrays, "count_devices", lambda: int(comm.rank != 1))]
    if where == "emulated":
        fakes.append((arrays, "cupy", lambda *_: None))
    graph, part = troth.generate("path", n=9), mpi.from_graph(troth.generate("path", n=9))
    said = 'rank 1: device="mpi+cuda": there is no CUDA device; choose device="mpi"'
    with ExitStack() as stack:
        for fake in fakes:
            stack.enter_context(mock.patch.object(*fake))
        for match, given in ((troth.match, graph), (mpi.match, part)):
            with pytest.raises(troth.TrothError) as refusal:
                match(given, device=MPI_CUDA)
            assert str(refusal.value) == said
        code, _, err = speaking(comm)("match", "no-such-file.mtx", device=MPI_CUDA)
        assert (code, err) == (2, f"troth: {said}\n"), err


def too_small(comm, where: str, folder: str) -> int:
    """One rank's card has no room: all leave with one line, and nothing is written."""
    import cupy

    if comm.rank == comm.size - 1:
        cupy.get_default_memory_pool().set_limit(size=1 << 16)
    return main(["match", "grid:rows=400,cols=400", "--device", MPI_CUDA, "-o", f"{folder}/mates.txt"])


def no_pinned_memory(comm, where: str, folder: str) -> None:
    """The driver of one rank gives no pinned memory: it says so in one line, and ends the job."""
    from emulation import CUDARuntimeError, fake_cupy

    def refuse(size: int):
        raise CUDARuntimeError("out of memory")

    with on_cards(where), ExitStack() as stack:
        if comm.rank == 1:
            stack.enter_context(mock.patch.object(fake_cupy.cuda, "alloc_pinned_memory", refuse))
        sys.exit(main(["match", "grid:rows=12,cols=12", "--device", MPI_CUDA, "-o", f"{folder}/mates.txt"]))


def failure(comm, where: str, how: str, folder: str) -> None:
    """A rank that is killed, or throws, when the first records have come."""
    take, calls = part_suitor.Rounds.take, count()

    def fail(self, values, came):
        if next(calls) == 1 and comm.rank == 1:
            if how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError("an accident")
        take(self, values, came)

    with on_cards(where), mock.patch.object(part_suitor.Rounds, "take", fail):
        sys.exit(main(["match", "grid:rows=12,cols=12", "--device", MPI_CUDA, "-o", f"{folder}/mates.txt"]))


if __name__ == "__main__":
    world = mpi.world()
    where, name, *words = sys.argv[1:]
    with mpi.ending_the_job(world):
        code = globals()[name](world, where, *words) or 0
    if world.rank == 0:
        print("to the end")
    sys.exit(code)
