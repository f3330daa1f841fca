"""troth on MPI ranks: strong and weak scaling of all engines, what they send, and what a rank holds.

    python benchmarks/mpi.py                       # everything (``make bench-mpi``)
    python benchmarks/mpi.py strong --ranks 16     # one question, up to 16 ranks

Graphs are made once, as ``.csr`` folders of which every rank reads its rows; those of weak scaling are made in place.
Each number of ranks is a job of its own (``mpiexec``). A time is the slowest rank's, in milliseconds from a barrier to
its mates, the least of several runs. The first run, which compiles, is left out; ``share`` is what copying the rows to
shared memory took in it, once a graph. Bytes and messages are the most that one rank sent, ``graph_bytes`` the most
that one holds, which falls as 1/P, plus ghosts. "cpu, one thread" is ``troth.match(threads=1)`` in the job of one rank.
All engines of a job must give the same weight, to the last bit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from time import perf_counter

from _report import ask

from troth.mpi import launcher

# The first three are those of the PGAS report; its "complete" bipartite graph is not complete.
REPORT = {
    "grid 256^2": ("grid:rows=256,cols=256", "block"),
    "bipartite 2048, every edge crosses": ("bipartite:left=1024,right=1024,m=139575", "sides"),
    "stencil, as large as crankseg, METIS": ("stencil:nx=19,ny=19,nz=19,unknowns=8", "metis"),
}
LARGER = {
    "grid 1000^2": ("grid:rows=1000,cols=1000", "block"),
    "Erdos-Renyi 2^18, degree 32": ("erdos-renyi:n=262144,degree=32", "block"),
    "R-MAT 18 x 16": ("rmat:scale=18,edgefactor=16", "block"),
}
BIG = {
    "grid 2000^2": ("grid:rows=2000,cols=2000", "block"),
    "stencil 100^3": ("stencil:nx=100,ny=100,nz=100", "block"),
    "rgg 2^20, degree 16": ("rgg:n=1048576,degree=16", "block"),
    "Erdos-Renyi 2^22, degree 32": ("erdos-renyi:n=4194304,degree=32", "block"),
    "R-MAT 22 x 16": ("rmat:scale=22,edgefactor=16", "block"),
}
DEFAULT = {"suitor": ("suitor", {}), "suitor, messages": ("suitor", {"share": False})}
ENGINES = {
    **DEFAULT,
    "sync-poll": ("sync-poll", {}),
    "async-poll": ("async-poll", {}),
    "sync-notify": ("sync-notify", {}),
    "async-notify": ("async-notify", {}),
    "sync-notify p2p": ("sync-notify", {"transport": "p2p"}),
    "async-notify p2p": ("async-notify", {"transport": "p2p"}),
}
ENOUGH = 3.0  # seconds; no further repeats after them
MPIEXEC = launcher() or "mpiexec"


@cache
def stored(spec: str) -> str:
    """The graph as a ``.csr`` folder."""
    import troth

    folder = Path(_scratch().name) / f"{len(list(Path(_scratch().name).iterdir()))}.csr"
    troth.write(troth.read(spec), folder)
    return str(folder)


@cache
def _scratch() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory()


def job(ranks: int, source: str, partition: str, repeats: int, names) -> dict[str, dict]:
    """Run the engines on one graph in one job."""
    words = [MPIEXEC, "-n", str(ranks), sys.executable, __file__, "--job", source, partition, str(repeats), *names]
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def work(source: str, partition: str, repeats: str, *names: str) -> None:
    """What every rank of a job does."""
    import numpy as np
    from mpi4py import MPI

    import troth
    from troth import mpi

    comm = MPI.COMM_WORLD
    if partition == "sides":  # blocks, none of which has both sides of a bipartite graph
        n = mpi.load(source, comm).n
        partition = f"{source}.owners.npy"
        if comm.rank == 0:
            np.save(partition, np.arange(n, dtype=np.int64) * comm.size // n)
        comm.Barrier()
    graph = mpi.load(source, comm, partition if comm.size > 1 else "block")
    results, weight = {}, None
    for name in names:
        algorithm, options = ENGINES[name]
        seconds, share, begin = [], 0.0, perf_counter()
        for run in range(int(repeats) + 1):
            m = mpi.match(graph, algorithm, **options)
            if run:
                seconds.append(comm.allreduce(m.stats["seconds"]["match"], MPI.MAX))
            else:
                share = comm.allreduce(m.stats["seconds"].get("share", 0.0), MPI.MAX)
            if run and comm.bcast(perf_counter() - begin > ENOUGH):
                break
        assert weight in (None, m.weight)
        weight = m.weight
        most = {key: comm.allreduce(m.stats[key], MPI.MAX) for key in ("bytes", "messages")}
        results[name] = {"ms": 1e3 * min(seconds), "share": 1e3 * share, **most}
        results[name]["rounds"] = next((m.stats[key] for key in ("rounds", "polls", "turns") if key in m.stats), 0)
        results[name]["ghosts"] = comm.allreduce(len(graph.ghost_owner), MPI.MAX)
        results[name]["graph_bytes"] = comm.allreduce(graph.nbytes(), MPI.MAX)
    if comm.size == 1:
        whole = troth.read(source)
        runs = [troth.match(whole, device="cpu", threads=1) for _ in range(int(repeats) + 1)]
        assert runs[0].weight == weight
        least = 1e3 * min(m.stats["seconds"]["match"] for m in runs)
        nothing = dict.fromkeys(("share", "bytes", "messages", "rounds", "ghosts"), 0)
        results["cpu, one thread"] = {
            "ms": least,
            **nothing,
            "graph_bytes": sum(a.nbytes for a in (whole.indptr, whole.indices, whole.weights)),
        }
    if comm.rank == 0:
        print(json.dumps(results))


def counts_up_to(ranks: int) -> list[int]:
    return [count for count in (1, 2, 4, 8, 16, 32, 64) if count <= ranks]


def scaled(graphs: dict, engines, ranks: int, repeats: int) -> list[dict]:
    rows, serial = [], {}
    for title, (spec, partition) in graphs.items():
        for count in counts_up_to(ranks):
            found = job(count, stored(spec), partition, repeats, engines)
            serial.setdefault(title, found.get("cpu, one thread", {}).get("ms"))
            for name, result in found.items():
                speedup = {"over one thread": serial[title] / result["ms"]}
                rows.append({"graph": title, "engine": name, "ranks": count, **speedup, **result})
    return rows


def report(ranks: int, repeats: int) -> list[dict]:
    """the three graphs of the report, strong scaling"""
    return scaled(REPORT, ENGINES, ranks, repeats)


def strong(ranks: int, repeats: int) -> list[dict]:
    """larger graphs, strong scaling"""
    return scaled(LARGER, ENGINES, ranks, repeats)


def big(ranks: int, repeats: int) -> list[dict]:
    """big graphs, strong scaling of the default"""
    return scaled(BIG, DEFAULT, ranks, repeats)


def weak(ranks: int, repeats: int) -> list[dict]:
    """two million edges a rank, grids and Erdos-Renyi, made in place"""
    rows = []
    for count in counts_up_to(ranks):
        for title, spec in (
            ("grid", f"grid:rows={1000 * count},cols=1000"),
            ("Erdos-Renyi", f"erdos-renyi:n={250_000 * count},degree=16"),
        ):
            for name, found in job(count, spec, "block", repeats, ENGINES).items():
                rows.append({"graph": title, "engine": name, "ranks": count, **found})
    return rows


if __name__ == "__main__":
    if sys.argv[1:2] == ["--job"]:
        work(*sys.argv[2:])
    else:
        questions = {"report": report, "strong": strong, "big": big, "weak": weak}
        ask(__doc__, questions, "mpi", ranks=2, repeats=5)
