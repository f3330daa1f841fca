"""MPI engines, timed: a job of its own for each number of ranks, started with ``mpiexec``.

    mpiexec -n 4 python -m bench.ranks FOLDER

FOLDER holds ``job.json``, which says what to do, and the graphs as ``.csr`` folders, of which every rank reads its
rows. Rank 0 appends a line of JSON for each graph and for each engine on it to ``results.jsonl``, so that what is
finished stays when a job is stopped. A time is the slowest rank's, from a barrier to its mates; the first run, which
compiles, is not counted. Bytes and messages are the most that one rank sent. All engines must give one and the same
weight, to the last bit.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from bench.machine import environment
from troth.errors import TrothError

SIDES = "sides"  # the partition in which no block has both sides of a bipartite graph
ALONE = "suitor@cpu:threads=1"  # beside the engines, in a job of one rank
# With these words in the environment the ranks of one machine send messages as if each had a machine of its own: they
# share no memory. The first is for MPICH, the others are for Open MPI.
APART = {"MPIR_CVAR_NOLOCAL": "1", "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_osc": "^sm"}


def measure(
    mpiexec: str,
    ranks: int,
    graphs: dict[str, tuple],
    engines: list[str],
    repeats: int,
    patience: float,
    limit: float,
    apart: bool = False,
    alone: bool = True,
) -> dict[str, Any]:
    """Run engines on so many ranks; ``{"graphs": {title: facts | {"engines": {name: what was found}}}}``.

    ``graphs`` are (graph, partition) by title; a spec in place of a graph is made by the ranks, each its rows. An
    engine is repeated for ``patience`` seconds. A job is stopped after ``limit`` seconds, and what it has found until
    then is returned; refused where that is nothing. With ``apart`` the ranks share no memory; ``alone``: a job of one
    rank also times one thread without MPI.
    """
    from troth.io import csr

    with TemporaryDirectory() as name:
        folder = Path(name)
        sources = []
        for number, (title, (graph, partition)) in enumerate(graphs.items()):
            source = graph if isinstance(graph, str) else str(folder / f"{number}.csr")
            if source != graph:
                csr.write(graph, Path(source))
            sources.append([title, source, partition])
        job = {"graphs": sources, "engines": engines, "repeats": repeats, "patience": patience, "alone": alone}
        (folder / "job.json").write_text(json.dumps(job))
        reason = _run(
            [mpiexec, "-n", str(ranks), sys.executable, "-m", "bench.ranks", name], limit, APART if apart else {}
        )
        results = folder / "results.jsonl"
        lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    found: dict[str, Any] = {}
    for line in lines:
        engine, title = line.pop("engine"), line.pop("graph")
        if engine is None:
            found[title] = line | {"engines": {}}
        else:
            found[title]["engines"][engine] = line
    if not found:
        raise TrothError(f"the job of {ranks} ranks found nothing: {reason}")
    return {"graphs": found, **({"stopped": reason} if reason else {})}


def _run(words: list[str], limit: float, variables: dict[str, str]) -> str | None:
    """Run a job; why it ended early, if it did. mpiexec ends its ranks when it is told to end."""
    with subprocess.Popen(
        words, env=environment() | variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            _, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.communicate()
            return f"stopped after {limit:g} s"
        except BaseException:
            process.terminate()
            raise
    last = errors.strip().splitlines()[-1:] or ["no message"]
    return f"it ended with {process.returncode}: {last[0]}" if process.returncode else None


# ---- what every rank does ----


def main(folder: Path) -> None:
    """Load the graphs, run the engines on each, and write down what was found."""
    from mpi4py import MPI

    from troth import mpi

    comm = MPI.COMM_WORLD
    job = json.loads((folder / "job.json").read_text())

    def write(title: str, engine: str | None, found: dict[str, Any]) -> None:
        if comm.rank == 0:
            with open(folder / "results.jsonl", "a") as stream:
                stream.write(json.dumps({"graph": title, "engine": engine, **found}) + "\n")

    for title, source, partition in job["graphs"]:
        owners = _by_sides(Path(source), comm) if partition == SIDES else partition
        graph = mpi.load(source, comm=comm, partition=owners if comm.size > 1 else "block")
        facts = {
            "n": graph.n,
            "m": graph.m,
            "crossing": comm.allreduce(graph.crossing) / max(2 * graph.m, 1),
            "ghosts": comm.allreduce(len(graph.ghost_owner), MPI.MAX),
            "graph_bytes": comm.allreduce(graph.nbytes(), MPI.MAX),
        }
        write(title, None, facts)
        weights = set()
        for name in job["engines"] + ([ALONE] if comm.size == 1 and job["alone"] else []):
            try:
                found = (_alone if name == ALONE else _time)(graph, name, source, job["repeats"], job["patience"])
                weights.add(found["weight"])
            except TrothError as error:  # all ranks refuse alike
                found = {"error": str(error)}
            write(title, name, found)
        if len(weights) > 1:
            raise AssertionError(f"{title}: the engines differ: {sorted(weights)}")


def _by_sides(source: Path, comm: Any) -> str:
    """A file of owners: even blocks. Where the sides are equal and the number of ranks is even, every edge crosses."""
    import numpy as np

    path = source.with_suffix(".npy")
    if comm.rank == 0:
        n = len(np.load(source / "indptr.npy", mmap_mode="r")) - 1
        np.save(path, np.arange(n, dtype=np.int64) * comm.size // n)
    comm.Barrier()
    return str(path)


def _time(graph: Any, name: str, source: str, repeats: int, patience: float) -> dict[str, Any]:
    """One engine: every repeat, what a rank sent at most, and its rounds."""
    from mpi4py import MPI

    from bench.engines import read
    from troth import mpi

    contender, comm = read(name), graph.comm
    words = {"algorithm": contender.algorithm, "device": contender.device, **contender.options}
    m = mpi.match(graph, **words)  # compiles, and shares the graph where it is shared
    share = comm.allreduce(m.stats["seconds"].get("share", 0.0), MPI.MAX)
    seconds, begin, go_on = [], perf_counter(), True
    while go_on:
        m = mpi.match(graph, **words)
        seconds.append(comm.allreduce(m.stats["seconds"]["match"], MPI.MAX))
        go_on = comm.bcast(len(seconds) < repeats and perf_counter() - begin < patience)
    most = {key: comm.allreduce(m.stats[key], MPI.MAX) for key in ("bytes", "messages")}
    rounds = next((m.stats[key] for key in ("rounds", "polls", "turns") if key in m.stats), 0)
    return {"seconds": seconds, "share": share, **most, "rounds": rounds, "weight": m.weight}


def _alone(graph: Any, name: str, source: str, repeats: int, patience: float) -> dict[str, Any]:
    """``troth.match`` on one thread, without MPI."""
    import troth
    from bench.setting import repeat

    whole = troth.read(source)
    runs = []
    repeat(lambda: runs.append(troth.match(whole, device="cpu", threads=1)), repeats + 1, patience)
    seconds = [m.stats["seconds"]["match"] for m in runs[1:] or runs]
    return {"seconds": seconds, "share": 0.0, "bytes": 0, "messages": 0, "rounds": 0, "weight": runs[0].weight}


if __name__ == "__main__":
    from troth.ranks.job import ending_the_job, world

    with ending_the_job(world()):
        main(Path(sys.argv[1]))
