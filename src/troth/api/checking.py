"""Checks of a matching, and a proof of how good it is.

``verify`` tests what the engines promise: the matching is valid and maximal, and no edge outside it is heavier than the
matched edges at both of its ends (dominance). ``certificate`` bounds the optimum from above (see ``proof.py``).

All work is done where the graph lives, by what ``contract.Checks`` lists, with the same result on every device.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from troth.api.mates import inspect, valid_mates
from troth.api.opening import as_graph
from troth.api.proof import SWEEPS, TOLERANCE, Certificate, prove
from troth.api.result import Matching
from troth.contract import Array, Checks
from troth.engines import checks_of
from troth.engines import promises_dominance as engine_promises
from troth.graph import Graph
from troth.validate import check, check_threads, number, whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Report:
    """What ``verify`` found. It is true (``if verify(...)``) where ``ok`` is.

    Attributes
    ----------
    valid : bool
        Mates agree with each other and with the edges.
    maximal : bool
        No edge joins two unmatched vertices.
    dominant : bool
        No edge is heavier than the matched edges at both of its ends; a free end counts as 0.
    weight : int, float or None
        The matching's weight (exact for integers); None where the matching is not valid.
    bound, ratio : int, float or None
        As in ``Certificate``; None where the matching is not valid, and where no certificate was asked for.
    reason : str
        The first vertex or edge, by number, that fails the first failing check; empty where there is none.
    promises_dominance : bool
        Whether ``dominant`` decides ``ok``.
    """

    valid: bool
    maximal: bool
    dominant: bool
    weight: int | float | None = None
    bound: int | float | None = None
    ratio: float | None = None
    reason: str = ""
    promises_dominance: bool = False

    @property
    def ok(self) -> bool:
        """Valid, maximal, and dominant where that was promised."""
        return self.valid and self.maximal and (self.dominant or not self.promises_dominance)

    def __bool__(self) -> bool:
        return self.ok


def verify(
    graph: Any,
    matching: Matching | ArrayLike | Iterable[Any],
    *,
    certify: bool = True,
    threads: int | None = None,
    promises_dominance: bool | None = None,
) -> Report:
    """Check a matching and, unless told otherwise, certify its ratio.

    Parameters
    ----------
    graph : Graph or anything that ``as_graph`` takes
        The graph.
    matching : Matching, array_like of int, or pairs
        A ``Matching``; the mates themselves: n integers, -1 where a vertex is unmatched, on the host or on a GPU; or
        pairs by the graph's own ids: a set or list of pairs, as NetworkX has, a dictionary of mates, or an array of two
        columns, as ``Matching.edges`` gives.
    certify : bool, optional
        Whether to compute ``bound`` and ``ratio`` too.
    threads : int, optional
        By default as many as there are cores and work for them; for graphs on the host.
    promises_dominance : bool, optional
        Whether an edge that dominates is a failure or only reported. By default the engine of a ``Matching`` decides,
        and for bare mates it is only reported.

    Returns
    -------
    Report
        The same for any number of threads and on every device. Cost: a few passes over the edges, and one more for each
        sweep of the certificate.

    Examples
    --------
    >>> import troth
    >>> path = troth.Graph(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32), np.array([2, 2, 3, 3]))
    >>> verify(path, [-1, 2, 1])
    Report(valid=True, maximal=True, dominant=True, weight=3, bound=3, ratio=1.0, reason='', promises_dominance=False)
    >>> verify(path, [1, 0, -1]).reason
    'edge (1, 2) of weight 3 is heavier than the matched edges at its ends'
    >>> bool(verify(path, [-1, -1, -1])), bool(verify(path, {(2, 1)}))
    (False, True)
    """
    threads = check_threads(threads)
    graph = _graph_of(graph, matching)
    if promises_dominance is None:
        algorithm = getattr(matching, "algorithm", None)
        promises_dominance = algorithm is not None and engine_promises(algorithm)
    with checks_of(graph, threads) as checks:
        mate, held, reason = inspect(checks, graph, matching)
        if reason:
            return not_valid(reason, promises_dominance)
        return judge(checks, mate, held, certify, promises_dominance)


def certificate(
    graph: Any,
    matching: Matching | ArrayLike,
    *,
    sweeps: int = SWEEPS,
    tolerance: float = TOLERANCE,
    threads: int | None = None,
) -> Certificate:
    """Bound the optimum by a feasible dual; the matching need not be dominant or maximal.

    Parameters
    ----------
    graph : Graph or anything that ``as_graph`` takes
        The graph.
    matching : Matching or array_like of int
        As for ``verify``; mates that are no matching are an error.
    sweeps : int, optional
        Stop after so many sweeps.
    tolerance : float, optional
        Stop after a sweep that lowers the bound by less than ``tolerance`` of itself. Sweeps start from the prices of
        an auction, so the defaults usually stop after a few.
    threads : int, optional
        By default as many as there are cores and work for them; for graphs on the host.

    Returns
    -------
    Certificate

    Notes
    -----
    All arithmetic is on whole numbers, so the result is a proof and does not depend on threads or device: weights in
    units of a power of two, integers exactly and floats rounded up (one unit is below 2^-60 of the greatest weight),
    averages rounded up. For integers the bound is rounded down, for the optimum is whole. Where the weights of floats
    add up to more than the greatest float64, ``weight`` and ``bound`` are infinite and ``ratio`` is still right.

    The bound depends on the graph alone: the auction has its default options, the scramble and seed 0, whatever engine
    found the matching.

    Memory: two 64-bit numbers a vertex, and 28 bytes more while prices are found.

    Examples
    --------
    >>> import troth
    >>> path = troth.Graph(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32), np.array([2, 2, 3, 3]))
    >>> certificate(path, [1, 0, -1])
    Certificate(weight=2, bound=3, ratio=0.6666666666666666, sweeps=3)
    """
    sweeps, tolerance = check("sweeps", sweeps, whole(1)), check("tolerance", tolerance, number(0))
    threads = check_threads(threads)
    return certify_mates(_graph_of(graph, matching), matching, threads, sweeps, tolerance)


def _graph_of(graph: Any, matching: Any) -> Graph:
    """The graph that a matching is to be checked on: of costs with the matching's own reward, if it was of least cost.

    ``m.graph`` itself has such weights already.
    """
    reward = getattr(getattr(matching, "graph", None), "reward", None)
    return as_graph(graph) if reward is None else as_graph(graph, maximize=False, reward=reward)


def certify_mates(
    graph: Graph,
    matching: Any,
    threads: int | None,
    sweeps: int = SWEEPS,
    tolerance: float = TOLERANCE,
    prices: Array = None,
) -> Certificate:
    """The certificate of a matching, of which nothing but the mates is checked; ``prices`` as in ``prove``."""
    with checks_of(graph, threads) as checks:
        mate, held = valid_mates(checks, graph, matching, "no certificate without a matching: ")
        return prove(checks, mate, held, sweeps, tolerance, prices)


# ---- on any device, and on ranks ----


def judge(checks: Checks, mate: Array, held: Array, certify: bool, promised: bool) -> Report:
    """The report on a valid matching."""
    heavier, free, reason = checks.first_uncovered(held), None, ""
    if heavier:  # an edge between two free vertices is heavier than nothing: without any heavier one there is none
        reason = "edge ({}, {}) of weight {} is heavier than the matched edges at its ends".format(*heavier)
        most = (held > 0).astype(held.dtype) * held.dtype.type(np.iinfo(held.dtype).max)
        free = checks.first_uncovered(most)
    if free:
        reason = f"edge ({free[0]}, {free[1]}) joins two unmatched vertices"
    bound = ratio = None
    if certify:
        proof = prove(checks, mate, held)
        weight, bound, ratio = proof.weight, proof.bound, proof.ratio
    else:
        weight = checks.matched_weight(mate, held)
    return Report(True, free is None, heavier is None, weight, bound, ratio, reason, promised)


def not_valid(reason: str, promised: bool) -> Report:
    """The report on what is no matching."""
    return Report(False, False, False, reason=reason, promises_dominance=promised)
