"""``troth match`` and ``troth verify`` with ``--device mpi``: every rank runs this; rank 0 speaks and writes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from troth.api.checking import not_valid
from troth.cli._options import check_output
from troth.cli._report import Clock, graph_facts, graph_rows, matching_rows, show, show_report, waiting
from troth.errors import TrothError
from troth.io import check_pairs, is_pairs_file, write_pairs
from troth.ranks.job import agreeing, ending_the_job, launched_rank, world

if TYPE_CHECKING:
    from troth.api.request import Request
    from troth.ranks.graph import DistGraph

SUMMED = ("bytes", "messages", "proposals", "scans", "edges_read", "records")


def match_on_ranks(
    name: str, ask: Callable[[], Request], certify: bool, partition: str, output: Path | None, json: bool
) -> None:
    """Load, match, certify, write. A rank that fails ends the job, and no output is left.

    ``ask`` makes the request, which all ranks agree to refuse.
    """
    comm = world()
    with ending_the_job(comm):
        with agreeing(comm):
            request = ask()
            if output is not None and comm.rank == 0:
                check_output(output, source=name)
                if is_pairs_file(output):
                    check_pairs(output, _ids(name))
        graph, facts = _match(comm, name, request, certify, partition, output)
    if comm.rank == 0:
        ranks = f"{comm.size:,}, partition {partition}"
        show(facts, matching_rows(graph_rows(name, graph), facts, ranks=ranks, note=facts["note"]), json)


def verify_on_ranks(name: str, mates: Path, certify: bool, promised: bool, partition: str, json: bool) -> bool:
    """Load and check; a rank reads its rows and keeps the mates of its own vertices. Whether all is fine.

    Of a pairs file every rank reads the whole.
    """
    from troth import mpi

    comm, clock = mpi.world(), Clock()
    with mpi.ending_the_job(comm), _waiting(comm, "reading") as report:
        graph = mpi.load(name, comm=comm, partition=partition)
        clock.lap("read")
        report("checking")
        told, reason = _own_of_pairs(graph, name, mates) if is_pairs_file(mates) else (mates, "")
        if reason:
            found = not_valid(reason, promised)
        else:
            found = mpi.verify(graph, told, certify=certify, promises_dominance=promised)
        clock.lap("verify")
    if comm.rank == 0:
        job = {"device": "mpi", "ranks": comm.size, "partition": partition, "note": _note("verify")}
        rows = {**graph_rows(name, graph), "ranks": f"{comm.size:,}, partition {partition}", "note": job["note"]}
        show_report({**graph_facts(name, graph), **job}, rows, mates, found, clock, json)
    return found.ok


def _ids(name: str) -> np.ndarray | None:
    """The ids of a ``.csr`` folder; families have none, and what cannot be opened is refused when it is loaded."""
    from troth.families.spec import is_spec
    from troth.io.csr import open_csr

    try:
        return None if is_spec(name) else open_csr(name).ids
    except TrothError:
        return None


def _own_of_pairs(graph: DistGraph, name: str, path: Path) -> tuple[np.ndarray, str]:
    """The mates of the own vertices from a pairs file; and why its pairs are no matching, the same on all ranks."""
    from troth.api.mates import mates_of_pairs
    from troth.io import read_pairs

    with agreeing(graph.comm):
        ids = _ids(name)
        mates, reason = mates_of_pairs(
            graph.n, ids, read_pairs(path, text=ids is not None and ids.dtype.kind not in "iu")
        )
    return mates[graph.own], reason


def _waiting(comm, phase: str) -> AbstractContextManager:
    """The bar of the first rank; the others report to nobody."""
    return waiting(phase) if comm.rank == 0 else nullcontext(lambda phase: None)


def _note(command: str) -> str | None:
    alone = f"one rank, since mpiexec did not start it: mpiexec -n 4 troth {command} ..."
    return alone if launched_rank() is None else None


def _match(
    comm: Any, name: str, request: Request, certify: bool, partition: str, output: Path | None
) -> tuple[DistGraph, dict[str, Any]]:
    from mpi4py import MPI

    from troth import mpi
    from troth.io.mates import write_parts
    from troth.mpi.result import match_until

    clock, proof = Clock(), None
    with _waiting(comm, "reading") as report:
        graph = mpi.load(name, comm=comm, partition=partition)
        clock.lap("read")
        report("matching")
        m = match_until(request, graph, comm)
        clock.lap("match")
        if certify:
            report("certifying")
            proof = mpi.verify(graph, m)
            clock.lap("certify")
        if output is not None:
            report("writing")
            pairs = is_pairs_file(output)
            parts: Iterator[Any] = m.pairs() if pairs else m.chunks()
            if comm.rank:
                deque(parts, maxlen=0)  # sends this rank's own
            elif pairs:
                ids = _ids(name)
                write_pairs(((u, v, w) if ids is None else (ids[u], ids[v], w) for u, v, w in parts), output)
            else:
                write_parts(parts, output)
            clock.lap("write")
    totals = {key: comm.allreduce(m.stats[key]) for key in SUMMED if key in m.stats}
    memory = comm.allreduce(graph.nbytes(), MPI.MAX)
    ghosts = comm.allreduce(len(graph.ghost_owner), MPI.MAX)
    stats = {key: value for key, value in m.stats.items() if key not in (*SUMMED, "seconds", "note")}
    facts = {
        **graph_facts(name, graph),
        "algorithm": request.algorithm,
        "device": "mpi",
        "ranks": comm.size,
        "partition": partition,
        "ties": request.ties,
        "seed": request.seed,
        "pairs": m.cardinality,
        "weight": m.weight,
        "certificate": proof and {"weight": proof.weight, "bound": proof.bound, "ratio": proof.ratio},
        "note": "; ".join(note for note in (_note("match"), m.stats.get("note")) if note) or None,
        "stats": {**stats, **totals, "most_ghosts": ghosts, "most_graph_bytes": memory},
        "seconds": {**clock.seconds, "match": m.stats["seconds"]["match"]},
        "output": output,
    }
    return graph, facts
