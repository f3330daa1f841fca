"""What the MPI tests run under mpiexec: ``job.py NAME [ARGUMENT...]``, the same on every rank.

One job meets many graphs, since starting ranks is what costs. A failed assertion ends the job with a non-zero code; a
job that came to its end says so on rank 0.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import tracemalloc
from itertools import cycle
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from corpus import CORPUS, DTYPES, TIES, build, order_of

import troth
from troth import mpi, reference
from troth.mpi import shared, sources

ENGINES = (
    ("suitor", {}),
    ("suitor", {"threads": 2}),
    ("suitor", {"share": False}),
    ("suitor", {"share": False, "threads": 2}),
    ("sync-poll", {}),
    ("async-poll", {}),
    ("sync-notify", {}),
    ("async-notify", {}),
    ("sync-notify", {"transport": "p2p"}),
    ("async-notify", {"transport": "p2p"}),
)
TINY = (
    ("sync-notify", {"capacity": 1}),
    ("sync-notify", {"capacity": 2, "batch": 1}),
    ("async-notify", {"capacity": 1}),
    ("async-notify", {"capacity": 2, "batch": 1}),
    ("async-notify", {"capacity": 3, "batch": 4}),
)
FAMILIES = (
    "grid:rows=23,cols=31,weights=unit",
    "grid:rows=5,cols=6,layers=7",
    "stencil:nx=5,ny=4,nz=3,unknowns=2,weights=integers",
    "rmat:scale=9,edgefactor=8,seed=3",
    "erdos-renyi:n=900,degree=7,dtype=float64",
    "bipartite:left=64,right=48,m=900,weights=exponential",
    "path:n=400,weights=trap",
    "hubs:n=300,hubs=2,degree=120",
    "complete:n=40,weights=integers,high=255,dtype=uint8",
    "path:n=0",
)


def random_graph(draw: random.Random, most: int = 14):
    """A small graph of any weight type with few distinct weights, some of them neighbours in the last bit."""
    dtype = draw.choice(DTYPES)
    n = draw.randint(0, most)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        pool = [1.0, float(np.nextafter(kind.type(1), kind.type(2))), 2.5, float(np.finfo(kind).max / 8), 1e-30]
    else:
        most_weight = min(int(np.iinfo(kind).max), 2**63 - 1)
        pool = [1, 2, most_weight, most_weight - 1, most_weight // 3]
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    chosen = draw.sample(pairs, min(len(pairs), draw.randint(0, 3 * n)))
    return build([(u, v, draw.choice(pool)) for u, v in chosen], n, dtype)


def partitions(comm, n: int, draw: random.Random):
    """All kinds; owners drawn at random leave some ranks with nothing."""
    crowd = max(1, comm.size // 2)
    yield "block"
    yield "hash"
    yield np.array([draw.randrange(comm.size) for _ in range(n)], np.int32)
    yield "metis"
    yield np.array([comm.size - 1 - draw.randrange(crowd) for _ in range(n)], np.int32)


def check(graph, ties: str, partition, algorithm: str, options: dict, seed: int = 0, answer=None) -> None:
    """The mates, the weight and the number of pairs are those of the reference."""
    if answer is None:
        answer = reference.greedy(graph, order_of(graph, ties, seed))
    m = mpi.match(mpi.from_graph(graph, partition=partition), algorithm, ties=ties, seed=seed, **options)
    where = (graph, ties, partition, algorithm, options)
    assert m.whole().tolist() == list(answer), where
    serial = troth.Matching(graph, np.asarray(answer, np.int32), "greedy")
    assert (m.weight, m.cardinality) == (serial.weight, serial.cardinality), where
    assert m.mate.dtype == np.int32
    assert m.stats["bytes"] >= 0
    assert m.stats["messages"] >= 0


def agreement(comm, stride: str) -> None:
    """Every ``stride``-th of all (graph, tie rule, engine), each with the next kind of partition."""
    draw = random.Random(7)
    graphs = [(make(), 0) for _, make in CORPUS] + [(random_graph(draw), draw.getrandbits(64)) for _ in range(40)]
    case = 0
    for graph, seed in graphs:
        kinds = cycle(partitions(comm, graph.n, draw))
        for ties in TIES:
            answer = None
            for algorithm, options in ENGINES:
                partition = next(kinds)
                case += 1
                if case % int(stride) == 0:
                    answer = reference.greedy(graph, order_of(graph, ties, seed)) if answer is None else answer
                    check(graph, ties, partition, algorithm, options, seed, answer)


def families(comm, folder: str) -> None:
    """Graphs made in place and graphs read by rows are those of one process; larger ones agree, too."""
    engines = cycle(ENGINES)
    for number, text in enumerate(FAMILIES):
        graph = troth.read(text)
        answer = troth.match(graph, device="cpu", threads=1).mate
        stored = f"{folder}/{number}.csr"
        if comm.rank == 0:
            troth.write(graph, stored)
        comm.Barrier()
        for source, partition in (
            (text, "block"),
            (text, "hash"),
            (stored, "block"),
            (stored, "hash"),
            (stored, "metis"),
        ):
            part = mpi.load(source, partition=partition)
            assert (part.n, part.m) == (graph.n, graph.m)
            assert part.bits_range() == graph.bits_range()
            for i, u in enumerate(part.own.tolist()):
                row, whole = slice(*part.indptr[i : i + 2]), slice(*graph.indptr[u : u + 2])
                assert part.globals[part.indices[row]].tolist() == graph.indices[whole].tolist()
                assert part.weights[row].tolist() == graph.weights[whole].tolist()
            ghosts = part.globals[part.owned :]
            for g in range(len(ghosts)):
                assert part.ghost_owner[g] != comm.rank
            algorithm, options = next(engines)
            assert mpi.match(part, algorithm, **options).whole().tolist() == answer.tolist()
    for owners in (f"{folder}/owners.txt", f"{folder}/owners.npy"):
        graph = troth.read(FAMILIES[0])
        if comm.rank == 0:
            values = np.arange(graph.n) * 7 % comm.size
            np.save(owners, values) if owners.endswith("npy") else np.savetxt(owners, values, "%d")
        comm.Barrier()
        part = mpi.load(FAMILIES[0], partition=owners)
        assert (part.own * 7 % comm.size == comm.rank).all()
        check(graph, "high", owners, "sync-notify", {})


def memory(comm, folder: str) -> None:
    """The largest part is total / ranks, plus what a ghost takes; loading it takes at most as much again, and half."""
    sources.BATCH = 1 << 12  # as small against these graphs as the true one is against those that need a cluster
    # The first of each kind only compiles.
    for number, text in enumerate(("grid:rows=2,cols=2", "rmat:scale=3", "grid:rows=200,cols=250", "rmat:scale=13")):
        stored = f"{folder}/{number}.csr"
        if comm.rank == 0:
            troth.write(troth.read(text), stored)
        comm.Barrier()
        for ranks in (1, 2, 4):
            some = comm.Split(comm.rank < ranks)
            for source, partition in ((text, "block"), (text, "hash"), (stored, "block"), (stored, "hash")):
                if comm.rank < ranks:
                    tracemalloc.start()
                    part = mpi.load(source, some, partition)
                    sizes = np.array([part.nbytes(), tracemalloc.get_traced_memory()[1], len(part.ghost_owner)])
                    tracemalloc.stop()
                    size, peak, ghosts = some.allreduce(sizes, np.maximum)
                    total = 12 * part.n + 2 * part.m * (4 + part.weights.itemsize)
                    bound = 1.1 * total / ranks + 20 * ghosts
                    assert number < 2 or (size <= bound and peak <= 2.5 * bound), (part, source, partition, size, peak)
            some.Free()


def real(comm, *paths: str) -> None:
    """Graphs of the shared data, as large as a few thousand vertices."""
    engines, kinds = cycle(ENGINES), cycle(("block", "hash", "metis"))
    for path in paths:
        graph = troth.read(path, weights="paper", symmetrize="max")
        for ties in TIES:
            answer = troth.match(graph, device="cpu", ties=ties, threads=1).mate.tolist()
            for _ in ENGINES:
                check(graph, ties, next(kinds), *next(engines), answer=answer)


def verification(comm) -> None:
    """The distributed checks say what ``troth.verify`` says, of matchings and of what is none."""
    draw = random.Random(3)
    graphs = [make() for _, make in CORPUS] + [random_graph(draw) for _ in range(25)]
    for graph in graphs:
        kinds = partitions(comm, graph.n, draw)
        right = reference.greedy(graph, order_of(graph))
        wrong = [right.copy() for _ in range(4)]
        if graph.n > 1:
            wrong[0][:] = -1
            wrong[1][draw.randrange(graph.n)] = draw.randrange(-3, graph.n + 2)
            wrong[2][draw.randrange(graph.n)] = draw.randrange(graph.n)
            u, v = draw.sample(range(graph.n), 2)
            for x in (u, v):
                if wrong[3][x] >= 0:
                    wrong[3][wrong[3][x]] = -1
            wrong[3][u], wrong[3][v] = v, u
        for mate, partition in zip([right, *wrong], kinds, strict=True):
            part = mpi.from_graph(graph, partition=partition)
            for dominance in (False, True):
                found = mpi.verify(part, mate[part.own], promises_dominance=dominance)
                assert found == troth.verify(graph, mate, promises_dominance=dominance), (graph, mate, partition)


def tiny_queues(comm) -> None:
    """Queues that overflow and are reset all the time."""
    draw = random.Random(11)
    graphs = [dict(CORPUS)[name]() for name in ("complete-scrambled", "hub", "grid-scrambled", "near-ties-float64")]
    for graph in [*graphs, *(random_graph(draw) for _ in range(12))]:
        for algorithm, options in TINY:
            for partition in ("hash", np.array([draw.randrange(comm.size) for _ in range(graph.n)], np.int32)):
                check(graph, draw.choice(TIES), partition, algorithm, options)


def delays(comm, cases: str) -> None:
    """Small asynchronous cases in which every rank now and then waits before an operation."""
    same, own = random.Random(5), random.Random(comm.rank)

    def pause() -> None:
        if own.random() < 0.05:
            time.sleep(own.random() * 5e-4)

    shared.pause = pause
    engines = cycle([*(e for e in ENGINES if e[0].startswith("async")), *(e for e in TINY if e[0] == "async-notify")])
    for _ in range(int(cases)):
        graph = random_graph(same, 10)
        owners = np.array([same.randrange(comm.size) for _ in range(graph.n)], np.int32)
        check(graph, same.choice(TIES), owners, *next(engines))


def failure(comm, how: str, *words: str) -> None:
    """The command line on a rank that fails in the middle of the matching."""
    from troth.cli import main

    calls = iter(range(10**9))

    def pause() -> None:
        if comm.rank == 1 and next(calls) == 3:
            if how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise troth.TrothError("a refusal") if how == "refuses" else RuntimeError("an accident")

    shared.pause = pause
    sys.exit(main(["match", "grid:rows=40,cols=40", "--device", "mpi", *words]))


if __name__ == "__main__":
    world = mpi.world()
    name, *words = sys.argv[1:]
    with mpi.ending_the_job(world):
        globals()[name](world, *words)
    if world.rank == 0:
        print("to the end")
