"""``troth match`` and ``troth verify`` with ``--device mpi``: every rank runs this; rank 0 speaks and writes."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from troth.cli._options import check_output, request_of
from troth.cli._report import Clock, in_seconds, print_json, print_rows, show_report, waiting
from troth.ranks.job import agreeing, ending_the_job, launched_rank, world
from troth.words import at_least

if TYPE_CHECKING:
    from troth.api.request import Request

SUMMED = ("bytes", "messages", "proposals", "scans", "records")


def match_on_ranks(
    name: str,
    asked: tuple[str, str, dict[str, str]],
    common: dict[str, Any],
    certify: bool,
    partition: str,
    output: Path | None,
    json: bool,
) -> None:
    """Load, match, certify, write. A rank that fails ends the job, and no output is left.

    ``asked`` and ``common`` are the arguments of ``request_of``, which all ranks agree to refuse.
    """
    comm = world()
    with ending_the_job(comm):
        with agreeing(comm):
            request = request_of(*asked, **common)
            if output is not None and comm.rank == 0:
                check_output(output, source=name)
        facts = _match(comm, name, request, certify, partition, output)
    if comm.rank == 0:
        if json:
            print_json(facts)
        else:
            print_rows(_rows(facts))


def verify_on_ranks(name: str, mates: Path, certify: bool, promised: bool, partition: str, json: bool) -> bool:
    """Load and check; a rank reads its rows and keeps the mates of its own vertices. Whether all is fine."""
    from troth import mpi

    comm, clock = mpi.world(), Clock()
    with mpi.ending_the_job(comm), _waiting(comm, "reading") as report:
        graph = mpi.load(name, comm=comm, partition=partition)
        clock.lap("read")
        report("checking")
        found = mpi.verify(graph, mates, certify=certify, promises_dominance=promised)
        clock.lap("verify")
    if comm.rank == 0:
        facts = _graph_facts(name, graph)
        job = {"device": "mpi", "ranks": comm.size, "partition": partition, "note": _note("verify")}
        rows = {**_graph_rows(facts), "ranks": f"{comm.size:,}, partition {partition}", "note": job["note"]}
        show_report({**facts, **job}, rows, mates, found, clock, json)
    return found.ok


def _waiting(comm, phase: str) -> AbstractContextManager:
    """The bar of the first rank; the others report to nobody."""
    return waiting(phase) if comm.rank == 0 else nullcontext(lambda phase: None)


def _note(command: str) -> str | None:
    alone = f"one rank, since mpiexec did not start it: mpiexec -n 4 troth {command} ..."
    return alone if launched_rank() is None else None


def _graph_facts(name: str, graph) -> dict[str, Any]:
    return {"graph": name, "n": graph.n, "m": graph.m, "weights": graph.weights.dtype.name}


def _graph_rows(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "graph": facts["graph"],
        "vertices": f"{facts['n']:,}",
        "edges": f"{facts['m']:,}, weights {facts['weights']}",
    }


def _match(
    comm: Any, name: str, request: Request, certify: bool, partition: str, output: Path | None
) -> dict[str, Any]:
    from troth import mpi
    from troth.io.mates import write_parts
    from troth.mpi.result import match_parts

    clock, proof = Clock(), None
    with _waiting(comm, "reading") as report:
        graph = mpi.load(name, comm=comm, partition=partition)
        clock.lap("read")
        report("matching")
        m = match_parts(request, graph, comm)
        clock.lap("match")
        if certify:
            report("certifying")
            proof = mpi.verify(graph, m)
            clock.lap("certify")
        if output is not None:
            report("writing")
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
    return {
        **_graph_facts(name, graph),
        "algorithm": request.algorithm,
        "device": "mpi",
        "ranks": comm.size,
        "partition": partition,
        "ties": request.ties,
        "seed": request.seed,
        "pairs": m.cardinality,
        "weight": m.weight,
        "certificate": proof and {"weight": proof.weight, "bound": proof.bound, "ratio": proof.ratio},
        "note": _note("match"),
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
        **_graph_rows(facts),
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
