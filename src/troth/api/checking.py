"""Checks of a matching, and a proof of how good it is.

``verify`` tests what the engines promise: the matching is valid and maximal, and no edge outside it is heavier than the
matched edges at both of its ends (dominance). ``certificate`` bounds the optimum from above. For any y >= 0 with
y(u) + y(v) >= w(u, v) on every edge (a feasible dual of the matching problem), a matching M* weighs
sum over M* of w(u, v) <= sum over M* of y(u) + y(v) <= sum of y, since M* meets each vertex once at most.

The dual starts from y(v) = the weight matched at v, whose sum is twice the weight, and improves by damped Jacobi
sweeps: y'(v) = max(0, max_u (w(u, v) - y(u))), y <- (y + y') / 2. See ``cpu/checks.py`` for why it is feasible after
any sweep.

All work is done where the graph lives, by what ``contract.Checks`` lists, with the same result on every device.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from troth.api.opening import as_graph
from troth.arrays import as_cupy, cupy, is_on_device, to_host
from troth.contract import Array, Checks
from troth.engines import checks_of
from troth.engines import promises_dominance as engine_promises
from troth.errors import TrothError
from troth.graph import Graph
from troth.validate import check, check_threads, number, whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from troth.api.result import Matching

SWEEPS = 50
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Certificate:
    """A proof: no matching of this graph is heavier than ``bound``, so this one has ``ratio`` of the optimum or more.

    Attributes
    ----------
    weight : int or float
        The matching's weight (exact for integers).
    bound : int or float
        At least the weight of every matching; a whole number for integers, rounded up for floats.
    ratio : float
        weight / bound, rounded down.
    sweeps : int
        How many sweeps improved the dual.
    """

    weight: int | float
    bound: int | float
    ratio: float
    sweeps: int


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
    matching: Matching | ArrayLike,
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
    matching : Matching or array_like of int
        A ``Matching``, or the mates themselves: n integers, -1 where a vertex is unmatched, on the host or on a GPU.
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
    >>> path = Graph(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32), np.array([2, 2, 3, 3]))
    >>> verify(path, [-1, 2, 1])
    Report(valid=True, maximal=True, dominant=True, weight=3, bound=3, ratio=1.0, reason='', promises_dominance=False)
    >>> verify(path, [1, 0, -1]).reason
    'edge (1, 2) of weight 3 is heavier than the matched edges at its ends'
    >>> bool(verify(path, [-1, -1, -1]))
    False
    """
    threads = check_threads(threads)
    graph = as_graph(graph)
    if promises_dominance is None:
        algorithm = getattr(matching, "algorithm", None)
        promises_dominance = algorithm is not None and engine_promises(algorithm)
    with checks_of(graph, threads) as checks:
        mate, held, reason = _inspect(checks, graph, matching)
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
        Stop after a sweep that lowers the bound by less than ``tolerance`` of itself. What is left to gain about halves
        with each sweep, so the defaults usually stop after a dozen.
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

    Memory: two 64-bit numbers a vertex.

    Examples
    --------
    >>> path = Graph(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32), np.array([2, 2, 3, 3]))
    >>> certificate(path, [1, 0, -1])
    Certificate(weight=2, bound=3, ratio=0.6666666666666666, sweeps=13)
    """
    sweeps, tolerance = check("sweeps", sweeps, whole(1)), check("tolerance", tolerance, number(0))
    threads = check_threads(threads)
    graph = as_graph(graph)
    with checks_of(graph, threads) as checks:
        mate, held, reason = _inspect(checks, graph, matching)
        if reason:
            raise TrothError(f"no certificate without a matching: {reason}")
        return prove(checks, mate, held, sweeps, tolerance)


def checked_mates(graph: Graph, matching: Any, threads: int | None = None) -> tuple[Array, Array]:
    """The mates as a new int32 array where the graph lives, and the bits that each vertex holds; refuses no matching.

    ``matching`` is as for ``verify``, and the error names the first vertex whose mate is wrong.
    """
    with checks_of(graph, threads) as checks:
        mate, held, reason = _inspect(checks, graph, matching)
    if reason:
        raise TrothError(reason)
    return mate, held


def matched_weight(graph: Graph, matching: Any) -> int | float:
    """The weight of a matching, as ``Matching.weight`` defines it; refuses no matching."""
    with checks_of(graph) as checks:
        mate, held, reason = _inspect(checks, graph, matching)
        if reason:
            raise TrothError(reason)
        return checks.matched_weight(mate, held)


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


def prove(checks: Checks, mate: Array, held: Array, sweeps: int = SWEEPS, tolerance: float = TOLERANCE) -> Certificate:
    """The certificate of a valid matching."""
    weight = checks.matched_weight(mate, held)
    units, exponent = checks.start_dual(mate, held)  # the weight once more, rounded down, in units
    totals: list[int] = []
    while len(totals) < sweeps and (len(totals) < 2 or totals[-2] - totals[-1] > tolerance * totals[-1]):
        totals.append(checks.sweep_dual())
    total, done = totals[-1], len(totals)
    if isinstance(weight, int):
        whole_bound = total >> exponent  # the optimum is whole and at most total / 2^exponent
        ratio = _round_down(Fraction(weight, whole_bound)) if whole_bound else 1.0
        return Certificate(weight, whole_bound, ratio, done)
    unit = Fraction(2) ** -exponent
    bound = _round_up(total * unit)
    # From below in two ways: the units were rounded down, and the sum of floats may have rounded up or down.
    low = min(units * unit, Fraction(weight)) if math.isfinite(weight) else units * unit
    high = Fraction(bound) if math.isfinite(bound) else total * unit
    return Certificate(weight, bound, _round_down(low / high) if high else 1.0, done)


def not_valid(reason: str, promised: bool) -> Report:
    """The report on what is no matching."""
    return Report(False, False, False, reason=reason, promises_dominance=promised)


def why_no_mate(v: int, u: int, back: int, n: int) -> str:
    """What is wrong with u as the mate of v, where the mate of u is ``back`` (any number where u is no vertex).

    >>> why_no_mate(0, 2, 1, n=3)
    'vertex 0: its mate is 2, but the mate of 2 is 1'
    """
    if not -1 <= u < n:
        return f"vertex {v}: its mate {u} is not a vertex: 0 to {n - 1}, or -1 for none"
    if u == v:
        return f"vertex {v} is its own mate"
    if back != v:
        return f"vertex {v}: its mate is {u}, but the mate of {u} is {back}"
    return f"vertex {v}: its mate {u} is not a neighbour"


def why_wrong_shape(shape: tuple[int, ...], n: int) -> str:
    """The mates are not one number for each vertex."""
    return f"the mates have shape {shape}, the graph has {n} vertices"


def _round_down(x: Fraction) -> float:
    near = float(x)
    return near if near <= x else math.nextafter(near, -math.inf)


def _round_up(x: Fraction) -> float:
    try:
        near = float(x)
    except OverflowError:
        return math.inf
    return near if near >= x else math.nextafter(near, math.inf)


# ---- mates of any kind ----


def _inspect(checks: Checks, graph: Graph, matching: Any) -> tuple[Array, Array, str]:
    """The mates as int32, the bits that each vertex holds, and why this is no matching (empty where it is one)."""
    mates = _mates_array(getattr(matching, "mate", matching), graph)
    if mates.shape != (graph.n,):
        return None, None, why_wrong_shape(mates.shape, graph.n)
    if mates.dtype.kind not in "iu" and mates.size:
        return None, None, f"the mates are {mates.dtype}, not integers"
    mate = _as_int32(mates)
    if graph.device != "cpu":
        mate = cupy().asarray(mate)
    held, v = checks.matched_bits(mate)
    if v == graph.n:
        return mate, held, ""
    u = mates[v].item()
    back = mates[u].item() if 0 <= u < graph.n else -1
    return None, None, why_no_mate(v, u, back, graph.n)


def _as_int32(mates: Array) -> Array:
    """Mates of any integer type as a new int32 array; what does not fit becomes -2, so that none wraps to a vertex."""
    mate = mates.astype(np.int32, order="C")
    if mates.dtype != np.int32:
        wrapped = mate.astype(mates.dtype) != mates
        if mates.dtype.kind == "u":
            wrapped |= mate < 0
        mate[wrapped] = -2
    return mate


def _mates_array(mates: Any, graph: Graph) -> Array:
    """Mates as an array of their own type: CuPy's where both they and the graph are on a GPU, else NumPy's."""
    if graph.device == "cpu" or not is_on_device(mates):
        return mates_on_host(mates)
    return as_cupy(mates, "the mates")


def mates_on_host(mates: Any) -> np.ndarray:
    """Mates as an array of NumPy, of their own type."""
    if is_on_device(mates):
        return to_host(mates)
    try:
        return np.asarray(mates)
    except ValueError:
        raise TrothError("mates must be one array of whole numbers, one for each vertex") from None
