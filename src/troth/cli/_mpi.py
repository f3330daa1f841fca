"""``troth match --device mpi``: every rank runs this; rank 0 speaks and writes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import typer

from troth.cli._report import Clock, at_least, in_seconds, print_json, print_rows
from troth.errors import TrothError

# Set by mpiexec (Hydra, PMIx, Open MPI) and by srun.
LAUNCHED = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
SUMMED = ("bytes", "messages", "proposals", "scans", "records")


def match_on_ranks(
    name: str,
    algorithm: str,
    ties: str,
    threads: int | None,
    seed: int,
    certify: bool,
    options: dict[str, str],
    partition: str,
    output: Path | None,
    json: bool,
) -> None:
    """Load, match, certify, write. A rank that fails ends the job, and no output is left."""
    from troth.cli._options import check_output
    from troth.mpi import ending_the_job, world
    from troth.mpi.sources import check_source

    comm = world()
    try:
        check_source(name)
    except TrothError:  # every rank finds it, without asking another: one of them says it
        if comm.rank == 0:
            raise
        raise typer.Exit(2) from None
    with ending_the_job(comm):
        if output is not None and comm.rank == 0:
            check_output(output)
        facts = _match(comm, name, algorithm, ties, threads, seed, certify, options, partition, output)
    if comm.rank == 0:
        if json:
            print_json(facts)
        else:
            print_rows(_rows(facts))


def _match(comm, name, algorithm, ties, threads, seed, certify, options, partition, output) -> dict[str, Any]:
    from troth import mpi
    from troth.io.mates import write_parts

    clock = Clock()
    graph = mpi.load(name, comm, partition)
    clock.lap("read")
    m = mpi.match(graph, algorithm, ties=ties, seed=seed, threads=threads, **options)
    clock.lap("match")
    proof = None
    if certify:
        proof = mpi.verify(graph, m)
        clock.lap("certify")
    if output is not None:
        parts = m.chunks()
        if comm.rank == 0:
            write_parts(parts, output)
        else:
            for _ in parts:
                pass
        clock.lap("write")
    totals = {key: comm.allreduce(m.stats[key]) for key in SUMMED if key in m.stats}
    memory = comm.allreduce(graph.nbytes(), _most())
    ghosts = comm.allreduce(len(graph.ghost_owner), _most())
    stats = {key: value for key, value in m.stats.items() if key not in SUMMED and key != "seconds"}
    launched = any(word in os.environ for word in LAUNCHED)
    return {
        "graph": name,
        "n": graph.n,
        "m": graph.m,
        "weights": graph.weights.dtype.name,
        "algorithm": algorithm,
        "device": "mpi",
        "ranks": comm.size,
        "partition": partition,
        "ties": ties,
        "seed": seed,
        "pairs": m.cardinality,
        "weight": m.weight,
        "certificate": proof and {"weight": proof.weight, "bound": proof.bound, "ratio": proof.ratio},
        "note": None if launched else "one rank, since mpiexec did not start it: mpiexec -n 4 troth match ...",
        "stats": {**stats, **totals, "most_ghosts": ghosts, "most_graph_bytes": memory},
        "seconds": {**clock.seconds, "match": m.stats["seconds"]["match"]},
        "output": output,
    }


def _most() -> Any:
    from mpi4py import MPI

    return MPI.MAX


def _rows(facts: dict[str, Any]) -> dict[str, Any]:
    covered = 200 * facts["pairs"] / facts["n"] if facts["n"] else 0.0
    proof = facts["certificate"]
    counts = [f"{name.replace('_', ' ')} {n:,}" for name, n in facts["stats"].items() if isinstance(n, (int, float))]
    return {
        "graph": facts["graph"],
        "vertices": f"{facts['n']:,}",
        "edges": f"{facts['m']:,}, weights {facts['weights']}",
        "algorithm": f"{facts['algorithm']} on mpi, ties {facts['ties']}, seed {facts['seed']}",
        "ranks": f"{facts['ranks']:,}, partition {facts['partition']}",
        "note": facts["note"],
        "counts": ", ".join(counts),
        "pairs": f"{facts['pairs']:,}, {covered:.1f}% of the vertices",
        "weight": f"{facts['weight']:,}",
        "ratio": proof and f"at least {at_least(proof['ratio'])} of the optimum, which is at most {proof['bound']:,}",
        "seconds": in_seconds(facts["seconds"]),
        "mates": facts["output"],
    }
