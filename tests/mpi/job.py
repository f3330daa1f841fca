"""What the MPI tests run under mpiexec: ``job.py NAME [ARGUMENT...]``, the same on every rank.

One job meets many graphs, since starting ranks is what costs; ``test_mpi.py`` makes the graphs and the right answers
once for all jobs. A failed assertion ends the job with a non-zero code; a job that came to its end says so on rank 0.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import re
import signal
import sys
import time
import tracemalloc
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict
from io import StringIO
from itertools import count, cycle, product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import troth
from troth import mpi
from troth.cli import main
from troth.mpi import loading
from troth.order import make_order
from troth.ranks import auction, node, nodes, shared, suitor_nodes
from troth.ranks.node_words import receive

TIES = ("hash", "low", "high", "degree")
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
GRAINS = (  # how much is read, worked off and posted at once
    ("sync-poll", {"batch": 1}),
    ("sync-poll", {"batch": 5}),
    ("async-poll", {"batch": 1}),
    ("async-poll", {"batch": 3}),
    ("sync-notify", {"batch": 1}),
    ("sync-notify", {"batch": 4}),
    ("async-notify", {"batch": 1}),
    ("async-notify", {"batch": 2}),
)
SHARED_TYPES = ("float32", "float64", "int64")  # those of the auction in shared memory: its kernels are the CPU's
DELAYED = tuple(engine for engine in (*ENGINES, *TINY, ("async-poll", {"batch": 1})) if engine[0].startswith("async"))
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


def partitions(comm, n: int, draw: random.Random):
    """All kinds; owners drawn at random leave some ranks with nothing."""
    crowd = max(1, comm.size // 2)
    yield "block"
    yield "hash"
    yield np.array([draw.randrange(comm.size) for _ in range(n)], np.int32)
    yield "metis"
    yield np.array([comm.size - 1 - draw.randrange(crowd) for _ in range(n)], np.int32)


def load_cases(name: str) -> list:
    """What ``test_mpi.py`` has prepared: tuples that begin with a graph."""
    return pickle.loads(Path(name).read_bytes())


def rules(graph) -> tuple[str, ...]:
    """The tie rules to try: engines are compiled anew for "degree", which wide weights alone meet."""
    return TIES if graph.weights.itemsize == 8 else TIES[:3]


def check(part, algorithm: str, options: dict, ties: str, seed: int, answers: dict) -> None:
    """The mates of the own vertices, the weight and the number of pairs are those of the reference."""
    mate, weight, pairs = answers[ties]
    m = mpi.match(part, algorithm=algorithm, ties=ties, seed=seed, **options)
    where = (part, algorithm, options, ties)
    assert m.mate.dtype == np.int32, where
    assert m.mate.tolist() == mate[part.own].tolist(), where
    assert (m.weight, m.cardinality) == (weight, pairs), where
    assert min(m.stats["bytes"], m.stats["messages"]) >= 0, where


def agreement(comm, cases: str, every: str, each: str) -> None:
    """Each ``every``-th (graph, partition), with ``each`` of the engines and tie rules."""
    draw, turns = random.Random(7), count()
    for graph, *right in load_cases(cases):
        for partition in partitions(comm, graph.n, draw):
            if next(turns) % int(every) == 0:
                part = mpi.from_graph(graph, partition=partition)
                for engine, ties in draw.sample(list(product(ENGINES, right[-1])), int(each)):
                    check(part, *engine, ties, *right)


NODE_FAMILIES = (  # long rows and short ones, ties, wide weights, and a side that is another node's
    "rmat:scale=10,edgefactor=8,seed=5",
    "grid:rows=40,cols=50",
    "grid:rows=30,cols=40,weights=unit",
    "erdos-renyi:n=3000,degree=12,dtype=float64",
    "erdos-renyi:n=2000,degree=30,weights=unit",
    "bipartite:left=600,right=500,m=6000,weights=integers",
    "path:n=3000,weights=increasing",
    "hubs:n=800,hubs=3,degree=200",
)


def several_nodes(comm, cases: str, every: str) -> None:
    """Ranks that behave as one, two and three nodes: each ``every``-th (graph, partition), and larger graphs."""
    draw, turns = random.Random(23), count()
    counts = range(1, min(3, comm.size) + 1)
    for graph, *right in load_cases(cases):
        for partition in partitions(comm, graph.n, draw):
            if next(turns) % int(every) == 0:
                part = mpi.from_graph(graph, partition=partition)
                for number in counts:
                    threads, ties = draw.choice((1, 1, 2)), draw.choice(list(right[-1]))
                    check(part, "suitor", {"nodes": number, "threads": threads}, ties, *right)
    for text in NODE_FAMILIES[:: 1 if comm.size < 4 else 3]:
        graph = troth.read(text)
        ties = draw.choice(rules(graph))
        answer = troth.match(graph, device="cpu", threads=1, ties=ties).mate
        for partition in ("block", "hash", "metis"):
            part = mpi.from_graph(graph, partition=partition)
            for number in counts:
                m = mpi.match(part, nodes=number, ties=ties)
                assert m.mate.tolist() == answer[part.own].tolist(), (text, partition, number, ties)
                assert m.stats.get("nodes", 1) == number
    for number, options in ((comm.size + 1, {}), (1, {"share": False})):
        with pytest.raises(troth.TrothError) as refusal:
            mpi.match(part, nodes=number, **options)
        reasons = comm.allgather(str(refusal.value))
        assert len(set(reasons)) == 1, reasons
        assert "nodes" in reasons[0], reasons


def grains(comm, cases: str, every: str) -> None:
    """Each ``every``-th (graph, partition) with all grains; in turn, requests of few words and of as many as may be."""
    draw, turns, most = random.Random(19), count(), shared.MOST_BLOCKS
    for graph, *right in load_cases(cases):
        for partition in partitions(comm, graph.n, draw):
            if next(turns) % int(every) == 0:
                part = mpi.from_graph(graph, partition=partition)
                shared.Words.most = draw.choice((2, most))
                for engine in GRAINS:
                    check(part, *engine, draw.choice(list(right[-1])), *right)
    shared.Words.most = most
    # A word that crosses is a message of its own, and no word is read that is not wanted.
    part = mpi.from_graph(troth.generate("complete", n=24, weights="integers"), partition="hash")
    for algorithm in ("sync-poll", "async-poll"):
        stats = mpi.match(part, algorithm=algorithm, batch=1).stats
        assert stats["bytes"] == 8 * stats["messages"], (algorithm, stats)


def many_words(comm) -> None:
    """Thousands of words from each owner, far apart: more than one request can carry."""
    graph = troth.generate("erdos-renyi", n=6000, degree=6)
    answer = troth.match(graph, device="cpu", threads=1).mate
    part = mpi.from_graph(graph, partition="hash")
    for algorithm, options in ENGINES:
        assert mpi.match(part, algorithm=algorithm, **options).mate.tolist() == answer[part.own].tolist(), algorithm


def auctions(comm, cases: str, every: str) -> None:
    """Each ``every``-th case by shared memory and by messages; and every ninth time the prices, without the rest."""
    draw, share_memory = random.Random(13), auction.node_of
    for number, (graph, ties, seed, options, mate, words) in enumerate(load_cases(cases)):
        partition = draw.choice(list(partitions(comm, graph.n, draw)))
        threads, share = draw.choice((1, 1, 2)), draw.random() < (0.5 if comm.size > 2 else 1)
        if number % int(every):
            continue
        part = mpi.from_graph(graph, partition=partition)
        asked = {"algorithm": "auction", "ties": ties, "seed": seed, **options}
        if graph.weights.dtype not in SHARED_TYPES:
            share = False
        for way in (share,) if comm.size > 2 else {share, False}:
            m = mpi.match(part, threads=threads, share=way, **asked)
            where = (graph, partition, asked, threads, way)
            assert (m.mate.dtype, m.mate.tolist()) == (np.int32, mate[part.own].tolist()), where
            assert min(m.stats["bytes"], m.stats["messages"]) >= 0, where
        for node_of in (share_memory, lambda comm: None) if number % 9 == 0 else ():
            auction.node_of = node_of
            assert auction.prices(part, make_order("hash", 0)).tolist() == words[part.own].tolist(), where
        auction.node_of = share_memory


def large_auctions(comm) -> None:
    """Long paths across ranks, ties, hubs, many walks: the mates and the certificate of one process, targets too."""
    for text, partition, ties, options in (
        ("path:n=3000,weights=unit", "hash", "low", {"rounds": 1, "polish": 0}),
        ("grid:rows=40,cols=50,weights=unit", "block", "hash", {"rounds": None}),
        ("rmat:scale=11,edgefactor=8,weights=integers", "hash", "high", {"target": 0.9999, "polish": 3}),
        ("hubs:n=300,hubs=2,degree=120", "hash", "hash", {"target": 0.5}),
        ("rgg:n=8000,degree=5,weights=unit", "hash", "degree", {"polish": 4}),
        ("rgg:n=8000,degree=5", "hash", "degree", {"polish": 4}),
    ):
        graph = troth.read(text)
        part = mpi.from_graph(graph, partition=partition)
        asked = {"algorithm": "auction", "ties": ties, **options}
        right = troth.match(graph, device="cpu", threads=1, **asked)
        for share in (True, False):
            m = mpi.match(part, share=share, **asked)
            assert m.whole().tolist() == right.mate.tolist(), (text, share)
            assert (m.certificate, m.stats.get("note")) == (right.certificate, right.stats.get("note")), (text, share)
        assert mpi.verify(part, m) == troth.verify(graph, right), text
    costs = troth.generate("bipartite", left=60, right=60, m=600)  # least cost: the prices of all ranks are the proof
    for share in (True, False):
        asked = {"algorithm": "auction", "maximize": False, "reward": 20}
        right, m = troth.match(costs, device="cpu", **asked), troth.match(costs, device="mpi", share=share, **asked)
        assert (m.mate.tolist(), m.certificate, m.cost) == (right.mate.tolist(), right.certificate, right.cost), share


def waves(comm) -> None:
    """Equal weights, and degrees of which some are rare: ranks that share memory go in waves together."""
    graph = troth.generate("erdos-renyi", n=20_000, degree=16, weights="unit")
    part = mpi.from_graph(graph)
    for ties in ("hash", "degree"):
        answer = troth.match(graph, device="cpu", threads=1, ties=ties).mate
        for options in ({}, {"threads": 2}, {"share": False}):
            assert mpi.match(part, ties=ties, **options).whole().tolist() == answer.tolist(), (ties, options)


def crowds(comm) -> None:
    """Dense graphs in which all want the same few: no rank reads on and on, whatever the rule of ties."""
    n = 300
    values = np.random.default_rng(1).random(n)
    u, v = np.triu_indices(n, 1)
    for weights in (np.ones(len(u)), values[u] * values[v], (values[u] * values[v]).astype(np.float32)):
        graph = troth.as_graph((u, v, weights))
        part = mpi.from_graph(graph)
        for ties in rules(graph):
            answer = troth.match(graph, device="cpu", threads=1, ties=ties).mate
            for threads in (1, 2):
                m = mpi.match(part, ties=ties, threads=threads)
                assert m.whole().tolist() == answer.tolist(), (graph, ties, threads)
                assert comm.allreduce(m.stats["edges_read"]) <= 8 * len(graph.indices), (graph, ties, threads)


def check_rows(part, graph) -> None:
    """The part has the rows of its own vertices, and no ghost is its own."""
    assert (part.n, part.m, part.weights.dtype) == (graph.n, graph.m, graph.weights.dtype)
    assert part.bits_range() == graph.bits_range()
    for i, u in enumerate(part.own.tolist()):
        row, whole = slice(*part.indptr[i : i + 2]), slice(*graph.indptr[u : u + 2])
        assert part.globals[part.indices[row]].tolist() == graph.indices[whole].tolist()
        assert part.weights[row].tolist() == graph.weights[whole].tolist()
    assert (part.ghost_owner != part.comm.rank).all()


def sources(comm, folder: str, cases: str) -> None:
    """Whatever ``troth.read`` takes, with whatever options: the graph that it gives, in parts; rank 0 has its names."""
    os.chdir(folder)
    splits = cycle(("block", "hash", "metis", "owners"))
    for name, options in load_cases(cases):
        graph = troth.read(name, **options)
        owners = np.arange(graph.n) * 5 % comm.size
        for partition in (next(splits), next(splits)):
            part = mpi.load(name, partition=owners if partition == "owners" else partition, **options)
            check_rows(part, graph)
            read_whole = part.notes == graph.notes and (part.ids is None) == (graph.ids is None)
            assert read_whole if comm.rank == 0 else (part.notes, part.ids) == ({}, None), (name, options)
        mate = troth.match(graph, device="cpu", threads=1).mate
        assert mpi.match(part).mate.tolist() == mate[part.own].tolist(), (name, options)
    matrix = graph.to_scipy() if comm.rank == 0 else None
    for given in (graph if comm.rank == 0 else None, matrix):
        check_rows(mpi.scatter(given, partition="hash"), graph)


def families(comm, folder: str) -> None:
    """Graphs made in place and graphs read by rows are those of one process; larger ones agree, too."""
    engines = cycle(ENGINES)
    for number, text in enumerate(FAMILIES):
        graph = troth.read(text)
        answer = troth.match(graph, device="cpu", threads=1).mate
        stored = Path(folder, f"{number}.csr")
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
            check_rows(part, graph)
            algorithm, options = next(engines)
            assert mpi.match(part, algorithm=algorithm, **options).whole().tolist() == answer.tolist()
    for owners in (f"{folder}/owners.txt", f"{folder}/owners.npy"):
        graph = troth.read(FAMILIES[0])
        if comm.rank == 0:
            values = np.arange(graph.n) * 7 % comm.size
            np.save(owners, values) if owners.endswith("npy") else np.savetxt(owners, values, "%d")
        comm.Barrier()
        part = mpi.load(FAMILIES[0], partition=owners)
        assert (part.own * 7 % comm.size == comm.rank).all()


def documented() -> list[tuple[str, dict, list[int]]]:
    """The table of docs/cluster.md: engine, options, bytes."""
    guide = Path(__file__).parents[2].joinpath("docs", "cluster.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `-a ([\w-]+)(?: -O (\w+)=(\w+))?` \|([\d| ]+)\|$", guide, re.MULTILINE)
    assert len(rows) == 7, guide
    return [(row[0], {row[1]: row[2]} if row[1] else {}, [int(size) for size in row[3].split("|")]) for row in rows]


def matching_fits(part, check: bool) -> None:
    """Matching takes no more than the guide says, of Python's memory and, in windows, of MPI's."""
    from mpi4py import MPI

    win, windows = MPI.Win, []

    def allocate(size: int, *args, **words):
        windows.append(size)
        return win.Allocate(size, *args, **words)

    MPI.Win = SimpleNamespace(Allocate=allocate)
    counts = part.owned, len(part.ghost_owner), len(part.boundary), part.crossing
    for algorithm, options, sizes in documented():
        windows.clear()
        tracemalloc.start()
        mpi.match(part, algorithm=algorithm, **options)
        peak = tracemalloc.get_traced_memory()[1] + sum(windows)
        tracemalloc.stop()
        assert not check or peak <= np.dot(sizes, counts), (part, algorithm, options, peak)
    MPI.Win = win


def memory(comm, folder: str) -> None:
    """The largest part is total / ranks, plus what a ghost takes; loading it takes at most as much again, and half.

    A part may be a fifth larger: blocks count a vertex as eight entries, for the time it takes, and memory does not.
    """
    loading.BATCH = 1 << 12  # as small against these graphs as the true one is against those that need a cluster
    # The first of each kind only compiles.
    for number, text in enumerate(
        ("grid:rows=2,cols=2,dtype=float64", "rmat:scale=3", "grid:rows=200,cols=250,dtype=float64", "rmat:scale=13")
    ):
        stored = f"{folder}/{number}.csr"
        if comm.rank == 0:
            troth.write(troth.read(text), stored)
            troth.write(troth.read(text), f"{folder}/{number}.npz")
        comm.Barrier()
        for ranks in (1, 2, 4) if number > 1 else (4,):
            some = comm.Split(comm.rank < ranks)
            for source, partition in (
                (text, "block"),
                (text, "hash"),
                (stored, "block"),
                (stored, "hash"),
                (f"{folder}/{number}.npz", "hash"),
            ):
                if comm.rank < ranks:
                    tracemalloc.start()
                    part = mpi.load(source, comm=some, partition=partition)
                    sizes = np.array([part.nbytes(), tracemalloc.get_traced_memory()[1], len(part.ghost_owner)])
                    tracemalloc.stop()
                    if source.endswith("npz") and comm.rank == 0:
                        sizes[1] = 0  # it held the whole graph
                    size, peak, ghosts = some.allreduce(sizes, np.maximum)
                    total = 12 * part.n + 2 * part.m * (4 + part.weights.itemsize)
                    bound = 1.2 * total / ranks + 20 * ghosts
                    assert number < 2 or (size <= bound and peak <= 2.5 * bound), (part, source, partition, size, peak)
                    if ranks == 4 and source == text and partition == ("block", "hash")[number % 2]:
                        matching_fits(part, number > 1)
            some.Free()


def verification(comm, cases: str, every: str) -> None:
    """The distributed checks say what ``troth.verify`` says, of matchings and of what is none."""
    draw = random.Random(3)
    for graph, checked in load_cases(cases)[:: int(every)]:
        for (mate, report), partition in zip(checked, partitions(comm, graph.n, draw), strict=True):
            part = mpi.from_graph(graph, partition=partition)
            found = mpi.verify(part, mate[part.own], promises_dominance=report.promises_dominance)
            assert found == report, (graph, mate, partition)


def tiny_queues(comm, cases: str) -> None:
    """Queues that overflow and are reset all the time."""
    draw = random.Random(11)
    for graph, *right in load_cases(cases):
        for partition in ("hash", np.array([draw.randrange(comm.size) for _ in range(graph.n)], np.int32)):
            part = mpi.from_graph(graph, partition=partition)
            for engine in TINY:
                check(part, *engine, draw.choice(list(right[-1])), *right)


def delays(comm, cases: str) -> None:
    """Small asynchronous cases in which every rank now and then waits before an operation."""
    same, own = random.Random(5), random.Random(comm.rank)

    def pause() -> None:
        if own.random() < 0.05:
            time.sleep(own.random() * 5e-4)

    shared.pause = pause
    for graph, *right in load_cases(cases):
        owners = np.array([same.randrange(comm.size) for _ in range(graph.n)], np.int32)
        part = mpi.from_graph(graph, partition=owners)
        for engine in DELAYED:
            check(part, *engine, same.choice(list(right[-1])), *right)


def refused_calls(comm, graph):
    """What Python alone can ask for, some of it of one rank only, and why all ranks refuse it."""

    def split(owners):
        return lambda: mpi.from_graph(graph, partition=owners)

    yield "troth.mpi.load takes a file or a family, not a Graph: scatter takes that", lambda: mpi.load(graph)
    yield "ranks have weights, not costs", lambda: mpi.load("path:n=9", maximize=False)
    yield "weights='uni' is not known", lambda: mpi.load("path:n=9", weights="uni")
    yield "a graph cannot be made from NoneType", lambda: mpi.scatter(None)
    owners = np.zeros(graph.n, np.int64)
    yield "the owners: int64 of shape (3,)", split(owners[:3])
    yield "the owners: int64 of shape (129,)", split(np.append(owners, 0))
    yield "rank 1: the owners: int64 of shape (127,)", split(owners[: graph.n - (comm.rank == 1)])
    yield "the owners: float64 of shape", split(owners + 0.5)
    yield "vertex 0 is owned by -1, but the ranks are 0 to 2", split(owners - 1)
    yield "rank 2: the owners: vertex 127 is owned by 3", split(np.append(owners[1:], 3))
    yield "partition of type list", split(owners.tolist())
    yield "partition='metis2' is not a file", split("metis2")
    other = troth.generate("path", n=9) if comm.rank == 1 else graph
    yield "rank 1: a graph of 9 vertices and 8 edges, but rank 0 has one of 128", lambda: mpi.from_graph(other)
    part = mpi.from_graph(graph)
    yield "rank 1: seed=None is not a whole number", lambda: mpi.match(part, seed=None if comm.rank == 1 else 0)
    turned = comm.Split(0, -comm.rank)
    yield "comm has other processes than the graph", lambda: mpi.match(part, comm=turned)


def speaking(comm):
    """``run(*words)``: the command line on all ranks, of which rank 0 alone speaks: its code, output and errors."""

    def run(*words: str, device: str = "mpi") -> tuple[int, str, str]:
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main([*words, "--device", device])
        codes, outs, errs = zip(*comm.allgather((code, out.getvalue(), err.getvalue())), strict=True)
        assert set(codes) == {code}, (words, codes, errs)
        assert not any(outs[1:] + errs[1:]), (words, outs, errs)
        return code, outs[0], errs[0]

    return run


def files(comm, folder: str, cases: str) -> None:
    """The command line reads on ranks what it reads alone, with the same words, and says who held the whole graph."""
    os.chdir(folder)
    run = speaking(comm)
    for (name, *words), known in load_cases(cases):
        code, out, err = run("match", name, *words, "--json", "-o", "pairs.csv")
        assert code == 0, err
        facts, same = json.loads(out), ("n", "m", "weights", "notes", "weight", "pairs")
        assert {key: facts[key] for key in same} == {key: known[key] for key in same}, name
        assert f"troth convert {name} graph.csr {' '.join(words)}".strip() in facts["note"]
        assert json.loads(run("verify", name, "pairs.csv", *words, "--json", "-a", "suitor")[1])["ok"], name
    assert "numbered in the order of their ids" in run("match", "names.csv")[1]
    assert "note" not in run("match", "graph.csr")[1]


def command_line(comm, folder: str, refused: str) -> None:
    """The command line on all ranks: rank 0 alone speaks, and what is refused is refused by all, in one line."""
    run = speaking(comm)
    os.chdir(folder)
    for words, reason in load_cases(refused):
        code, _, err = run(*words)
        assert (code, err.count("\n")) == (2, 1), (words, code, err)
        assert reason in err, (words, err)
    assert "not a folder" in run("match", "nowhere.csr", "-a", "sync-poll", device="auto")[2]

    graph = troth.read("g.csr")
    for reason, call in refused_calls(comm, graph):
        with pytest.raises(troth.TrothError) as refusal:
            call()
        reasons = comm.allgather(str(refusal.value))
        assert len(set(reasons)) == 1, reasons
        assert reason in reasons[0], (reason, reasons[0])

    m = troth.match(graph, device="cpu", certify=True)
    words = ("-a", "async-notify", "--partition", "hash", "--certify", "-o", "mates.txt", "--json")
    code, out, _ = run("match", "g.csr", *words)
    facts = json.loads(out)
    assert (code, facts["ranks"], facts["weight"], facts["pairs"]) == (0, comm.size, m.weight, m.cardinality)
    assert facts["certificate"]["ratio"] == m.certificate.ratio
    mate = troth.io.read_mates("mates.txt")
    assert mate.tolist() == m.mate.tolist()
    apart = mate.copy()
    apart[apart[np.argmax(apart >= 0)]] = -1
    for name, mates in (
        ("mates.txt", mate),
        ("apart.txt", apart),
        ("none.txt", mate * 0 - 1),
        ("few.txt", mate[:3] * 0),
    ):
        if comm.rank == 0:
            troth.io.write_mates(mates, name)
        comm.Barrier()
        for partition in ("block", "hash"):
            code, out, _ = run("verify", "g.csr", name, "-a", "suitor", "--partition", partition, "--json")
            right = asdict(troth.verify(graph, mates, promises_dominance=True))
            found = json.loads(out)
            assert {key: found[key] for key in right} == right, (name, out)
            assert (code, found["ok"]) == (int(name != "mates.txt"), name == "mates.txt")
    assert "fine" in run("verify", "g.csr", "mates.txt", "--no-certify")[1]

    if comm.rank == 0:  # a graph with names
        troth.write(graph.replaced(ids=np.array([f"v{v:03}" for v in range(graph.n)])), "named.csr")
    comm.Barrier()
    for name, right in (("g.csr", m), ("named.csr", troth.match(troth.read("named.csr"), device="cpu"))):
        assert run("match", name, "--partition", "hash", "-o", "pairs.csv")[0] == 0
        pairs = troth.io.read_pairs("pairs.csv", text=right.graph.ids is not None)
        assert pairs.tolist() == right.edges().tolist()
        assert "fine" in run("verify", name, "pairs.csv", "--partition", "hash")[1]
    if comm.rank == 0:
        Path("pairs.csv").write_text("source,target\nv000,v001\nv001,v002\n")
    comm.Barrier()
    code, out, _ = run("verify", "named.csr", "pairs.csv")
    assert code == 1
    assert "vertex 'v001' is in 2 pairs" in out


def refuse_neighbours(comm) -> None:
    """Where ranks are to be apart, as with MPICH they can be, no two share memory."""
    from mpi4py import MPI

    if "MPIR_CVAR_NOLOCAL" in os.environ and "MPICH" in MPI.Get_library_version():
        assert comm.Split_type(MPI.COMM_TYPE_SHARED).size == 1


def windows(comm) -> None:
    """Shared memory is given back when asked to, and, where it is large, when the next graph is loaded."""

    def holding(number: int) -> bool:
        return nodes.nodes_of(comm, number).node.window is not None

    nodes.KEPT, before = 0, nodes.KEPT
    graph = troth.generate("erdos-renyi", n=500, degree=6)
    answer = troth.match(graph, device="cpu", threads=1).mate.tolist()
    for number in (1, 2):
        part = mpi.from_graph(graph)
        m = mpi.match(part, nodes=number)
        other = mpi.from_graph(graph)
        assert holding(number)
        assert mpi.match(other, nodes=number).whole().tolist() == answer
        del part, m, other
        part = mpi.from_graph(graph)
        assert not holding(number)
        nodes.KEPT = before
        assert mpi.match(part, nodes=number).whole().tolist() == answer
        del part
        part = mpi.from_graph(graph)
        assert holding(number)
        nodes.KEPT = 0
        mpi.free()
        assert not holding(number)
        assert mpi.match(part, nodes=number).whole().tolist() == answer
        mpi.free(comm)
    nodes.KEPT = before
    part = mpi.from_graph(graph)
    mpi.match(part, nodes=2)
    sizes = comm.allgather(len(nodes.nodes_of(comm, 2).node.window.memory))
    nodes.KEPT = (before, 0)[comm.rank * 2 >= comm.size]  # as if the windows of the second node alone were large
    del part
    part = mpi.from_graph(graph)
    assert not holding(2), sizes
    assert comm.allreduce(1) == comm.size  # all ranks have met at the same places
    nodes.KEPT, fits = before, node._fits
    node._fits = lambda size: comm.rank > 0  # one machine has no room: all ranks send messages
    for number in (1, 2):
        m = mpi.match(part, nodes=number)
        assert (m.whole().tolist(), "nodes" in m.stats, holding(number)) == (answer, False, False)
    node._fits = fits


def larger_windows(comm) -> None:
    """A window that grows is given back before room is asked for: here there is room for one alone."""
    fits = node._fits
    for number in (1, 2):
        here = nodes.nodes_of(comm, number).node
        node._fits = lambda size, here=here: here.window is None
        for n in (500, 900):
            graph = troth.generate("erdos-renyi", n=n, degree=6)
            m = mpi.match(mpi.from_graph(graph), nodes=number)
            assert m.whole().tolist() == troth.match(graph, device="cpu", threads=1).mate.tolist()
            assert here.arrays is not None, (number, n)
    node._fits = fits

    node._fits = lambda size: False
    with pytest.raises(troth.TrothError, match=r"no room in /dev/shm .* transport=p2p"):
        mpi.match(mpi.from_graph(graph), algorithm="async-poll")
    m = mpi.match(mpi.from_graph(graph), algorithm="sync-notify", transport="p2p")
    assert m.whole().tolist() == troth.match(graph, device="cpu", threads=1).mate.tolist()
    node._fits = fits


def one_refusal(comm) -> None:
    """What one rank refuses before the graph is distributed, all refuse."""
    for reason, given, options in (
        ("nowhere.mtx: there is no such file", "nowhere.mtx", {}),
        ("seed", "path:n=30", {"seed": None}),
        ("bogus", "path:n=30", {"bogus": 1}),
    ):
        graph, more = (given, options) if comm.rank == 1 else ("path:n=30", {})
        with pytest.raises(troth.TrothError, match=f"rank 1: .*{reason}"):
            troth.match(graph, device="mpi", **more)


def disagreement(comm, what: str) -> None:
    """Rank 1 asks for something else than rank 0, or fails."""

    def fail(*_):
        if comm.rank == 1:
            raise RuntimeError("no way to say how far it is")

    graph, other = troth.generate("erdos-renyi", n=500, degree=6), comm.rank == 1
    if what == "nodes":
        mpi.match(mpi.from_graph(graph), **({"nodes": 2} if other else {}))
    elif what == "partition":
        mpi.from_graph(graph, partition="hash" if other else "block")
    elif what == "scattered":
        mpi.scatter(graph, partition="block" if other else "hash")
    elif what == "certify":
        part = mpi.from_graph(graph)
        mpi.verify(part, mpi.match(part), certify=other)
    elif what == "source":
        mpi.load("path:n=500" if other else "grid:rows=20,cols=25")
    else:
        troth.match(graph, device="mpi", progress=fail)


def own_communicators(comm) -> None:
    """What is made for a communicator goes when its user frees it; the others' stay."""
    from mpi4py import MPI

    graph = troth.generate("erdos-renyi", n=500, degree=6)
    answer = troth.match(graph, device="cpu", threads=1).mate.tolist()
    part, mapped = mpi.from_graph(graph, comm=comm), []
    assert mpi.match(part).whole().tolist() == answer
    for _ in range(4):
        own = comm.Dup()
        parts = [mpi.from_graph(graph, comm=own) for _ in range(3)]
        for number, some in zip((None, 1, 2), parts, strict=True):
            assert mpi.match(some, nodes=number).whole().tolist() == answer
        made = [nodes.nodes_of(own, number).node for number in (None, 1, 2)]
        assert all(here.window is not None for here in made)
        own.Free()
        assert all((here.window, here.comm) == (None, MPI.COMM_NULL) for here in made)
        mapped.append(len(files_in_memory()))
    assert len(set(mapped)) == 1, mapped
    assert nodes.nodes_of(comm).node.window is not None
    assert mpi.match(part).whole().tolist() == answer
    alone = MPI.COMM_SELF
    assert mpi.match(mpi.from_graph(graph, comm=alone)).mate.tolist() == answer


def finalized(comm) -> None:
    """MPI is ended by the program, with windows of all ranks, of one, and of a communicator that was never freed."""
    from mpi4py import MPI

    graph = troth.generate("erdos-renyi", n=500, degree=6)
    for own in (comm, MPI.COMM_SELF, comm.Dup()):
        mpi.match(mpi.from_graph(graph, comm=own))
    if comm.rank == 0:
        print("to the end")
    MPI.Finalize()
    os._exit(0)


def files_in_memory() -> list[str]:
    """What MPICH has in /dev/shm and this process maps; "(deleted)" where it has no name any more."""
    return re.findall(r"/dev/shm/mpich.*", Path("/proc/self/maps").read_text())


def failure(comm, how: str, way: str, folder: str) -> None:
    """The command line on a rank that fails in the middle of the matching."""
    calls = count(2 if way == "nodes" else 0)  # there the second receipt is in the middle

    def pause(*_) -> None:
        if next(calls) == 3:
            if how == "no folder" and comm.rank == 0:
                Path(folder).rmdir()
            elif how == "killed" and comm.rank == 1:
                Path(folder).with_name("files").write_text("\n".join(files_in_memory()))
                os.kill(os.getpid(), signal.SIGKILL)
            elif how in ("refuses", "throws") and comm.rank == 1:
                raise troth.TrothError("a refusal") if how == "refuses" else RuntimeError("an accident")

    engine = ("suitor", "-O", "nodes=2") if way == "nodes" else ("async-poll",)
    if way == "nodes":
        suitor_nodes.receive = lambda *given: (pause(), receive(*given))[1]
    shared.pause = pause
    words = ("match", "grid:rows=40,cols=40", "-a", *engine, "--device", "mpi", "-o", f"{folder}/mates.txt")
    sys.exit(main(words))


if __name__ == "__main__":
    world = mpi.world()
    name, *words = sys.argv[1:]
    with mpi.ending_the_job(world):
        refuse_neighbours(world)
        globals()[name](world, *words)
    if world.rank == 0:
        print("to the end")
