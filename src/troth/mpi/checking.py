"""``verify`` on a distributed graph: the checks and the certificate of ``troth.verify``, with the same results."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from troth.api.checking import Report, judge, not_valid
from troth.api.mates import why_no_mate, why_wrong_shape
from troth.engines import promises_dominance as engine_promises
from troth.errors import TrothError
from troth.io.mates import read_parts
from troth.mpi.result import DistMatching
from troth.ranks.checks import RankChecks, known
from troth.ranks.graph import DistGraph
from troth.ranks.job import agree_on, agreeing, ending_the_job
from troth.ranks.partition import even_blocks, look_up, my_lines

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def verify(
    graph: DistGraph,
    matching: DistMatching | ArrayLike | str | os.PathLike[str],
    *,
    certify: bool = True,
    promises_dominance: bool | None = None,
) -> Report:
    """Check a matching of a distributed graph and certify its ratio; all ranks together, and all get the report.

    Parameters
    ----------
    graph : DistGraph
        The rank's part of the graph.
    matching : DistMatching, array_like of int, str or path
        A ``DistMatching``, the mates of the rank's own vertices by global number, or the name of a mates file, which
        every rank reads in parts and of which it keeps its share.
    certify : bool, optional
        Whether to compute ``bound`` and ``ratio`` too.
    promises_dominance : bool, optional
        Whether an edge that dominates is a failure or only reported; by default what the algorithm of a
        ``DistMatching`` promises.

    Returns
    -------
    Report
    """
    if promises_dominance is None:
        promises_dominance = isinstance(matching, DistMatching) and engine_promises(matching.algorithm)
    path = matching if isinstance(matching, (str, os.PathLike)) else None
    with ending_the_job(graph.comm):
        asked = {"matching": "mates" if path is None else "a file", "certify": certify}
        agree_on(graph.comm, asked | {"promises_dominance": promises_dominance})
        if path is not None:
            own, lines = read_own(graph, path)
            if lines != graph.n:
                return not_valid(why_wrong_shape((lines,), graph.n), promises_dominance)
        else:
            own = np.asarray(getattr(matching, "mate", matching))
        with agreeing(graph.comm):
            if own.shape != (graph.owned,) or (own.dtype.kind not in "iu" and own.size):
                raise TrothError(f"mates of type {own.dtype} and shape {own.shape} for {graph.owned} own vertices")
        mate = np.empty(len(graph.globals), np.int64)
        mate[: graph.owned] = own
        mate[: graph.owned][own >= graph.n] = -2  # so that no number wraps into a mate
        checks = RankChecks(graph)
        checks.to_ghosts(mate)
        held, v = checks.matched_bits(mate)
        if v < graph.n:
            report = not_valid(_why_broken(graph, own, v), promises_dominance)
        else:
            report = judge(checks, mate, held, certify, promises_dominance)
        checks.free()
    return report


def read_own(graph: DistGraph, path: str | os.PathLike[str]) -> tuple[np.ndarray, int]:
    """The mates of the own vertices from a mates file, and how many lines that has; all ranks together.

    A rank reads the file up to the end of its even share of the lines. Whoever owns a vertex asks the rank that has its
    line.
    """
    share, lines = my_lines(graph.comm, graph.n, read_parts(path, graph.n))
    return look_up(graph.comm, even_blocks(graph.n, graph.comm.size), share, graph.own), lines


def _why_broken(graph: DistGraph, own: np.ndarray, v: int) -> str:
    """Why the mate of v is no mate; all ranks together."""

    def mate_of(vertex: int) -> int:
        place = int(np.searchsorted(graph.own, vertex))
        mine = place < graph.owned and graph.own[place] == vertex
        return known(graph.comm, int(own[place]) if mine else None)

    u = mate_of(v)
    return why_no_mate(v, u, mate_of(u) if 0 <= u < graph.n else -1, graph.n)
