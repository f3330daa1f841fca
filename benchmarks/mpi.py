"""troth on MPI ranks: strong and weak scaling of the five algorithms, what they send, and what a rank holds.

    python benchmarks/mpi.py                       # everything (``make bench-mpi``)
    python benchmarks/mpi.py strong --ranks 16     # one question, up to 16 ranks

Each question starts jobs of its own (``mpiexec``); the ranks make their parts of the graph in place, where no METIS is
asked for. A time is the slowest rank's, in milliseconds from a barrier to its mates, the least of several runs; the
first run, which compiles, is left out. Bytes and messages are the most that one rank sent. All engines of a job must
give the same weight, to the last bit.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from _report import ask

# The first three are those of the PGAS report; its "complete" bipartite graph is not complete.
REPORT = {
    "grid 256^2": ("grid:rows=256,cols=256", "block"),
    "bipartite 2048, every edge crosses": ("bipartite:left=1024,right=1024,m=139900", "sides"),
    "stencil, as large as crankseg, METIS": ("stencil:nx=19,ny=19,nz=19,unknowns=8", "metis"),
}
LARGER = {
    "grid 1000^2": ("grid:rows=1000,cols=1000", "block"),
    "Erdos-Renyi 2^18, degree 32": ("erdos-renyi:n=262144,degree=32", "block"),
    "R-MAT 18 x 16": ("rmat:scale=18,edgefactor=16", "block"),
    "stencil 60^3": ("stencil:nx=60,ny=60,nz=60", "block"),
}
ENGINES = {
    "suitor": ("suitor", {}),
    "sync-poll": ("sync-poll", {}),
    "async-poll": ("async-poll", {}),
    "sync-notify": ("sync-notify", {}),
    "async-notify": ("async-notify", {}),
    "sync-notify p2p": ("sync-notify", {"transport": "p2p"}),
    "async-notify p2p": ("async-notify", {"transport": "p2p"}),
}
MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or "mpiexec"


def job(ranks: int, spec: str, partition: str, repeats: int, names: list[str]) -> dict[str, dict]:
    """Run the engines on one graph in one job."""
    words = [MPIEXEC, "-n", str(ranks), sys.executable, __file__, "--job", spec, partition, str(repeats), *names]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def work(spec: str, partition: str, repeats: str, *names: str) -> None:
    """What every rank of a job does."""
    import numpy as np
    from mpi4py import MPI

    import troth
    from troth import mpi

    comm = MPI.COMM_WORLD
    if partition == "block" or comm.size == 1:
        graph = mpi.load(spec, comm)
    else:
        whole = troth.read(spec)
        sides = np.arange(whole.n, dtype=np.int64) * comm.size // whole.n  # blocks, none of which has both sides
        graph = mpi.from_graph(whole, comm, sides.astype(np.int32) if partition == "sides" else partition)
    results, weight = {}, None
    for name in names:
        algorithm, options = ENGINES[name]
        best = float("inf")
        for run in range(int(repeats) + 1):
            m = mpi.match(graph, algorithm, **options)
            if run:
                best = min(best, comm.allreduce(m.stats["seconds"]["match"], MPI.MAX))
        assert weight in (None, m.weight)
        weight = m.weight
        most = {key: comm.allreduce(m.stats[key], MPI.MAX) for key in ("bytes", "messages")}
        results[name] = {"ms": 1e3 * best, **most, "ghosts": comm.allreduce(len(graph.ghost_owner), MPI.MAX)}
        results[name]["graph_bytes"] = comm.allreduce(graph.nbytes(), MPI.MAX)
    if comm.rank == 0:
        print(json.dumps(results))


def counts_up_to(ranks: int) -> list[int]:
    return [count for count in (1, 2, 4, 8, 16, 32, 64) if count <= ranks]


def scaled(graphs: dict, ranks: int, repeats: int) -> list[dict]:
    rows = []
    for title, (spec, partition) in graphs.items():
        for count in counts_up_to(ranks):
            for name, found in job(count, spec, partition, repeats, list(ENGINES)).items():
                rows.append({"graph": title, "engine": name, "ranks": count, **found})
    return rows


def report(ranks: int, repeats: int) -> list[dict]:
    """the three graphs of the report, strong scaling"""
    return scaled(REPORT, ranks, repeats)


def strong(ranks: int, repeats: int) -> list[dict]:
    """larger graphs, strong scaling"""
    return scaled(LARGER, ranks, repeats)


def weak(ranks: int, repeats: int) -> list[dict]:
    """two million edges a rank, grids and Erdos-Renyi"""
    rows = []
    for count in counts_up_to(ranks):
        for title, spec in (
            ("grid", f"grid:rows={1000 * count},cols=1000"),
            ("Erdos-Renyi", f"erdos-renyi:n={250_000 * count},degree=16"),
        ):
            for name, found in job(count, spec, "block", repeats, list(ENGINES)).items():
                rows.append({"graph": title, "engine": name, "ranks": count, **found})
    return rows


def memory(ranks: int, repeats: int) -> list[dict]:
    """bytes of the largest part of a graph: falls as 1/P, plus ghosts"""
    rows = []
    for title, (spec, partition) in LARGER.items():
        for count in counts_up_to(ranks):
            found = job(count, spec, partition, 1, ["suitor"])["suitor"]
            rows.append({"graph": title, "ranks": count, "MB": found["graph_bytes"] / 1e6, "ghosts": found["ghosts"]})
    return rows


if __name__ == "__main__":
    if sys.argv[1:2] == ["--job"]:
        work(*sys.argv[2:])
    else:
        questions = {"report": report, "strong": strong, "weak": weak, "memory": memory}
        ask(__doc__, questions, "mpi", ranks=2, repeats=3)
