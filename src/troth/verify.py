"""Checks of a matching, and a proof of how good it is.

``verify`` tests what the engines promise: the matching is valid and maximal, and no edge outside it is heavier than the
matched edges at both of its ends (dominance). ``certificate`` bounds the optimum from above. For any y >= 0 with
y(u) + y(v) >= w(u, v) on every edge (a feasible dual of the matching problem), a matching M* weighs
sum over M* of w(u, v) <= sum over M* of y(u) + y(v) <= sum of y, since M* meets each vertex once at most.

The dual starts from y(v) = the weight matched at v, whose sum is twice the weight, and improves by damped Jacobi
sweeps: y'(v) = max(0, max_u (w(u, v) - y(u))), y <- (y + y') / 2. See ``cpu/verify.py`` for why it is feasible after
any sweep.

All work is done where the graph lives, by ``cpu/verify.py`` or ``cuda/verify.py``, with the same result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from troth.cuda._device import cupy, device_number, is_on_device, to_host, using
from troth.errors import TrothError
from troth.graph import Graph, as_graph

if TYPE_CHECKING:
    from troth.matching import Matching

SWEEPS = 50
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Certificate:
    """A proof: no matching of this graph is heavier than ``bound``, so this one has ``ratio`` of the optimum or more.

    Attributes
    ----------
    weight : the matching's weight (exact for integers)
    bound : at least the weight of every matching; a whole number for integers, rounded up for floats
    ratio : weight / bound, rounded down
    sweeps : how many sweeps improved the dual
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
    valid : mates agree with each other and with the edges
    maximal : no edge joins two unmatched vertices
    dominant : no edge is heavier than the matched edges at both of its ends; a free end counts as 0
    weight : the matching's weight (exact for integers); None where the matching is not valid
    bound, ratio : as in ``Certificate``; None there, and where no certificate was asked for
    reason : the first vertex or edge, by number, that fails the first failing check; empty where there is none
    promises_dominance : whether ``dominant`` decides ``ok``
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
    matching: Matching | Any,
    *,
    certify: bool = True,
    threads: int | None = None,
    promises_dominance: bool | None = None,
) -> Report:
    """Check a matching and, unless told otherwise, certify its ratio.

    Parameters
    ----------
    graph
        a ``Graph`` or anything that ``as_graph`` accepts
    matching
        a ``Matching``, or the mates themselves: n integers, -1 where a vertex is unmatched, on the host or on a GPU
    certify
        whether to compute ``bound`` and ``ratio`` too
    threads
        by default as many as there are cores and work for them; for graphs on the host
    promises_dominance
        whether an edge that dominates is a failure or only reported. By default the engine of a ``Matching`` decides,
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
    graph = graph if isinstance(graph, Graph) else as_graph(graph)
    if promises_dominance is None:
        promises_dominance = _engine_promises_dominance(matching)
    with kernels_of(graph) as kernels:
        mate, held, reason = _inspect(kernels, graph, matching, threads)
        if reason:
            return Report(False, False, False, reason=reason, promises_dominance=promises_dominance)

        heavier, free = kernels.first_uncovered(graph, held, threads), None
        if heavier:  # an edge between two free vertices is heavier than nothing: without any heavier one there is none
            reason = why_not_dominant(*heavier, _weight(graph, *heavier))
            most = (held > 0).astype(held.dtype) * held.dtype.type(np.iinfo(held.dtype).max)
            free = kernels.first_uncovered(graph, most, threads)
        if free:
            reason = why_not_maximal(*free)
        if certify:
            proof = certificate_by(kernels, graph, mate, held, SWEEPS, TOLERANCE, threads)
            numbers = (proof.weight, proof.bound, proof.ratio)
        else:
            numbers = (kernels.matched_weight(graph, mate, held, threads), None, None)
    return Report(True, free is None, heavier is None, *numbers, reason, promises_dominance)


def certificate(
    graph: Graph,
    mate: Any,
    *,
    sweeps: int = SWEEPS,
    tolerance: float = TOLERANCE,
    threads: int | None = None,
) -> Certificate:
    """Bound the optimum by a feasible dual; the matching need not be dominant or maximal.

    Parameters
    ----------
    graph, mate
        as for ``verify``; mates that are no matching are an error
    sweeps, tolerance
        stop after ``sweeps`` sweeps, or after one that lowers the bound by less than ``tolerance`` of itself. What is
        left to gain about halves with each sweep, so the defaults usually stop after a dozen.

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
    if isinstance(sweeps, bool) or not isinstance(sweeps, (int, np.integer)) or sweeps < 1:
        raise TrothError(f"sweeps={sweeps!r}: give a whole number of 1 or more")
    number = isinstance(tolerance, (int, float, np.integer, np.floating)) and not isinstance(tolerance, bool)
    if not number or not tolerance >= 0:
        raise TrothError(f"tolerance={tolerance!r}: give a number of 0 or more")
    graph = graph if isinstance(graph, Graph) else as_graph(graph)
    with kernels_of(graph) as kernels:
        mate, held, reason = _inspect(kernels, graph, mate, threads)
        if reason:
            raise TrothError(f"no certificate without a matching: {reason}")
        return certificate_by(kernels, graph, mate, held, int(sweeps), tolerance, threads)


def _engine_promises_dominance(matching: Any) -> bool:
    algorithm = getattr(matching, "algorithm", None)
    if algorithm is None:
        return False
    from troth.engines import promises_dominance

    return promises_dominance(algorithm)


@contextmanager
def kernels_of(graph: Graph, stem: str = "verify") -> Iterator[ModuleType]:
    """The kernels where the graph lives: ``cpu/STEM.py``, or ``cuda/STEM.py`` with its GPU as the current one."""
    if graph.device == "cpu":
        yield import_module(f"troth.cpu.{stem}")
    else:
        with using(device_number(graph.device)):
            yield import_module(f"troth.cuda.{stem}")


def checked_mates(graph: Graph, matching: Any, threads: int | None = None) -> tuple[Any, Any]:
    """The mates as a new int32 array where the graph lives, and the bits that each vertex holds; refuses no matching.

    ``matching`` is as for ``verify``, and the error names the first vertex whose mate is wrong.
    """
    with kernels_of(graph) as kernels:
        mate, held, reason = _inspect(kernels, graph, matching, threads)
    if reason:
        raise TrothError(reason)
    return mate, held


def _inspect(kernels: ModuleType, graph: Graph, matching: Any, threads: int | None) -> tuple[Any, Any, str]:
    """The mates as int32, the bits that each vertex holds, and why this is no matching (empty where it is one)."""
    mates = _mates_array(getattr(matching, "mate", matching), graph)
    if why := _no_mates(graph, mates):
        return None, None, why
    mate = _mates_near(graph, mates)
    held, v = kernels.matched_bits(graph, mate, threads)
    if v == graph.n:
        return mate, held, ""
    u = mates[v].item()
    back = mates[u].item() if 0 <= u < graph.n else -1
    return None, None, why_no_mate(v, u, back, graph.n)


# ---- the reasons in words, which the ranks of a cluster give too ----


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


def why_not_dominant(u: int, v: int, weight: int | float) -> str:
    """The edge {u, v} is heavier than what either end holds."""
    return f"edge ({u}, {v}) of weight {weight} is heavier than the matched edges at its ends"


def why_not_maximal(u: int, v: int) -> str:
    """The edge {u, v} could be added."""
    return f"edge ({u}, {v}) joins two unmatched vertices"


# ---- mates of any kind ----


def _no_mates(graph: Graph, mates: Any) -> str:
    """Why an array cannot hold a whole number for each vertex; empty where it can."""
    if mates.shape != (graph.n,):
        return why_wrong_shape(mates.shape, graph.n)
    if mates.dtype.kind not in "iu" and mates.size:
        return f"the mates are {mates.dtype}, not integers"
    return ""


def _mates_near(graph: Graph, mates: Any) -> Any:
    """An array of mates, of any integer type, as a new int32 array where the graph lives."""
    mate = mates.astype(np.int32, order="C")
    if mates.dtype != np.int32:
        # What does not fit becomes -2, so that no number wraps into a vertex.
        wrapped = mate.astype(mates.dtype) != mates
        if mates.dtype.kind == "u":
            wrapped |= mate < 0
        mate[wrapped] = -2
    return mate if graph.device == "cpu" else cupy().asarray(mate)


def _mates_array(mates: Any, graph: Graph) -> Any:
    """Mates as an array of their own type: CuPy's where both they and the graph are on a GPU, else NumPy's."""
    if graph.device == "cpu" or not is_on_device(mates):
        return mates_on_host(mates)
    from troth.interop.cupy import as_cupy

    return as_cupy(mates, "the mates")


def mates_on_host(mates: Any) -> np.ndarray:
    """Mates as an array of NumPy, of their own type."""
    if is_on_device(mates):
        return to_host(mates)
    try:
        return np.asarray(mates)
    except ValueError:
        raise TrothError("mates must be one array of whole numbers, one for each vertex") from None


def _weight(graph: Graph, u: int, v: int) -> int | float:
    start, stop = int(graph.indptr[u]), int(graph.indptr[u + 1])
    return graph.weights[start + int((graph.indices[start:stop] < v).sum())].item()


def certificate_by(kernels, graph, mate, held, sweeps, tolerance, threads) -> Certificate:
    """The certificate of a valid matching, by the kernels of a device."""
    weight = kernels.matched_weight(graph, mate, held, threads)
    units, total, exponent, done = kernels.dual(graph, mate, held, sweeps, tolerance, threads)
    if isinstance(weight, int):
        bound = total >> exponent  # the optimum is whole and at most total / 2^exponent
        return Certificate(weight, bound, _round_down(Fraction(weight, bound)) if bound else 1.0, done)
    unit = Fraction(2) ** -exponent
    bound = _round_up(total * unit)
    # From below in two ways: the units were rounded down, and the sum of floats may have rounded up or down.
    low = min(units * unit, Fraction(weight)) if math.isfinite(weight) else units * unit
    high = Fraction(bound) if math.isfinite(bound) else total * unit
    return Certificate(weight, bound, _round_down(low / high) if high else 1.0, done)


def _round_down(x: Fraction) -> float:
    near = float(x)
    return near if near <= x else math.nextafter(near, -math.inf)


def _round_up(x: Fraction) -> float:
    try:
        near = float(x)
    except OverflowError:
        return math.inf
    return near if near >= x else math.nextafter(near, math.inf)
