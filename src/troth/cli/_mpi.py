"""``troth match`` and ``troth verify`` on ranks (``mpi`` or ``mpi+cuda``): all run this; rank 0 speaks and writes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from troth.api.checking import not_valid
from troth.arrays import need_card
from troth.cli._options import Reading, check_output, convert_command, read_options, telling
from troth.cli._report import Clock, graph_facts, graph_rows, matching_rows, show, show_report, waiting
from troth.io import check_pairs, is_pairs_file, write_pairs
from troth.ranks.job import agreeing, ending_the_job, launched_rank, world
from troth.ranks.nodes import check_count

if TYPE_CHECKING:
    from troth.api.request import Request
    from troth.ranks.graph import DistGraph

SUMMED = ("bytes", "messages", "proposals", "scans", "edges_read", "records")


@dataclass(frozen=True)
class GraphOnRanks:
    """GRAPH, and how ranks are to read and to split it."""

    name: str
    reading: Reading
    seed: int
    partition: str

    def load(self, comm: Any, report: Callable[..., None]) -> DistGraph:
        """This rank's part; all ranks together."""
        from troth import mpi

        with telling(report):
            options = read_options(self.reading)
            return mpi.load(self.name, comm=comm, partition=self.partition, seed=self.seed, **options)

    def in_parts(self) -> bool:
        """Whether every rank reads or makes its own rows."""
        from troth.mpi.loading import is_read_in_parts

        options = read_options(self.reading)
        del options["maximize"]  # folders and families have no names that could mean a cost
        return is_read_in_parts(self.name, options)

    def stored_ids(self) -> np.ndarray | None:
        """The ids of a ``.csr`` folder, checked as where one process reads it."""
        from troth.families.spec import is_spec
        from troth.io.csr import read_ids

        return None if is_spec(self.name) or not self.in_parts() else read_ids(self.name)

    def note(self, comm: Any, command: str) -> str | None:
        """What a reader of the summary should know of how the ranks came to their rows."""
        if launched_rank() is None:
            return f"one rank, since mpiexec did not start it: mpiexec -n 4 troth {command} ..."
        if comm.size == 1 or self.in_parts():
            return None
        remedy = convert_command(self.name, self.reading, self.seed)
        return f"rank 0 held the whole graph and sent the others their rows; of a folder each reads its own: {remedy}"


def match_on_ranks(
    source: GraphOnRanks, ask: Callable[[], Request], certify: bool, output: Path | None, json: bool
) -> None:
    """Load, match, certify, write. A rank that fails ends the job, and no output is left.

    ``ask`` makes the request, which all ranks agree to refuse.
    """
    comm = world()
    with ending_the_job(comm):
        with agreeing(comm):
            request = ask()
            check_count(comm, request.given.get("nodes"))
            if request.engines[0].device == "mpi+cuda":
                need_card(request.engines[0].device, "mpi")
            if output is not None and comm.rank == 0:
                check_output(output, source=source.name)
                if is_pairs_file(output):
                    check_pairs(output, source.stored_ids())
        graph, facts = _match(comm, source, request, certify, output)
    if comm.rank == 0:
        ranks = f"{comm.size:,}, partition {source.partition}"
        show(facts, matching_rows(graph_rows(source.name, graph), facts, ranks=ranks, note=facts["note"]), json)


def verify_on_ranks(source: GraphOnRanks, mates: Path, certify: bool, promised: bool, json: bool) -> bool:
    """Load and check; a rank has its rows and keeps the mates of its own vertices. Whether all is fine.

    Rank 0 reads a pairs file, and every rank gets n mates.
    """
    from troth import mpi

    comm, clock = mpi.world(), Clock()
    with mpi.ending_the_job(comm), _waiting(comm, "reading") as report:
        graph = source.load(comm, report)
        clock.lap("read")
        report("checking")
        told, reason = _own_of_pairs(graph, source, mates) if is_pairs_file(mates) else (mates, "")
        if reason:
            found = not_valid(reason, promised)
        else:
            found = mpi.verify(graph, told, certify=certify, promises_dominance=promised)
        clock.lap("verify")
        mpi.free(comm)
    if comm.rank == 0:
        name, ranks = source.name, f"{comm.size:,}, partition {source.partition}"
        job = {"device": "mpi", "ranks": comm.size, "partition": source.partition, "note": source.note(comm, "verify")}
        rows = {**graph_rows(name, graph), "ranks": ranks, "note": job["note"]}
        show_report({**graph_facts(name, graph), **job}, rows, mates, found, clock, json)
    return found.ok


def _ids(graph: DistGraph, source: GraphOnRanks) -> np.ndarray | None:
    """The ids of the vertices, on rank 0."""
    return source.stored_ids() if graph.ids is None else graph.ids


def _own_of_pairs(graph: DistGraph, source: GraphOnRanks, path: Path) -> tuple[np.ndarray, str]:
    """The mates of the own vertices from a pairs file; and why its pairs are no matching, the same on all ranks."""
    from troth.api.mates import mates_of_pairs
    from troth.io import read_pairs

    comm, mates, reason = graph.comm, np.empty(graph.n, np.int32), ""
    with agreeing(comm):
        if comm.rank == 0:
            ids = _ids(graph, source)
            pairs = read_pairs(path, text=ids is not None and ids.dtype.kind not in "iu")
            mates, reason = mates_of_pairs(graph.n, ids, pairs)
    comm.Bcast(mates)
    return mates[graph.own], comm.bcast(reason)


def _waiting(comm, phase: str) -> AbstractContextManager:
    """The bar of the first rank; the others report to nobody."""
    return waiting(phase) if comm.rank == 0 else nullcontext(lambda *_: None)


def _match(
    comm: Any, source: GraphOnRanks, request: Request, certify: bool, output: Path | None
) -> tuple[DistGraph, dict[str, Any]]:
    from mpi4py import MPI

    from troth import mpi
    from troth.io.mates import write_parts
    from troth.mpi.result import match_until

    clock, proof = Clock(), None
    with _waiting(comm, "reading") as report:
        graph = source.load(comm, report)
        clock.lap("read")
        pairs = output is not None and is_pairs_file(output)
        with agreeing(comm):
            if output is not None and pairs and graph.ids is not None:  # read by rank 0, which has them
                check_pairs(output, graph.ids)
        report("matching")
        m = match_until(request, graph, comm)
        clock.lap("match")
        if certify:
            report("certifying")
            proof = mpi.verify(graph, m)
            clock.lap("certify")
        if output is not None:
            report("writing")
            parts: Iterator[Any] = m.pairs() if pairs else m.chunks()
            if comm.rank:
                deque(parts, maxlen=0)  # sends this rank's own
            elif pairs:
                ids = _ids(graph, source)
                write_pairs(((u, v, w) if ids is None else (ids[u], ids[v], w) for u, v, w in parts), output)
            else:
                write_parts(parts, output)
            clock.lap("write")
    mpi.free(comm)
    totals = {key: comm.allreduce(m.stats[key]) for key in SUMMED if key in m.stats}
    memory = comm.allreduce(graph.nbytes(), MPI.MAX)
    ghosts = comm.allreduce(len(graph.ghost_owner), MPI.MAX)
    stats = {key: value for key, value in m.stats.items() if key not in (*SUMMED, "seconds", "note")}
    facts = {
        **graph_facts(source.name, graph),
        "algorithm": request.algorithm,
        "device": request.engines[0].device,
        "ranks": comm.size,
        "partition": source.partition,
        "ties": request.ties,
        "seed": request.seed,
        "pairs": m.cardinality,
        "weight": m.weight,
        "certificate": proof and {"weight": proof.weight, "bound": proof.bound, "ratio": proof.ratio},
        "note": "; ".join(note for note in (source.note(comm, "match"), m.stats.get("note")) if note) or None,
        "stats": {**stats, **totals, "most_ghosts": ghosts, "most_graph_bytes": memory},
        "seconds": {**clock.seconds, "match": m.stats["seconds"]["match"]},
        "output": output,
    }
    return graph, facts
