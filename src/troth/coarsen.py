"""Coarsening: pairs of vertices become single ones, again and again, until a graph is small.

``coarsen`` contracts a matching once, ``hierarchy`` matches and contracts until few vertices are left. Weights of
parallel edges add up, loops go, vertex weights add up; so a vertex weight counts the original vertices inside, and what
is left of the edge weights is what runs between them. B. Hendrickson and R. Leland, A multilevel algorithm for
partitioning graphs, Supercomputing 1995.

Where a matching shrinks a graph by less than a quarter, vertices that are no neighbours are paired too, since stars
would lose one leaf at a time: first those with the same neighbours (leaves of one vertex, twins, lone vertices); if a
quarter is still not reached, those whose strongest neighbour is the same. D. LaSalle et al., Improving graph
partitioning for modern graphs and architectures, IA^3 2015.

All work is done by ``cpu/coarsen.py`` or ``cuda/coarsen.py``, with the same result: the same pairs, the same numbers of
the coarse vertices, the same bits of the weights (see there for the order of additions), for any number of threads.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from troth.cuda._device import cupy, device_number, is_on_device, to_host, using
from troth.engines import (
    ALGORITHMS,
    TABLE,
    Engine,
    check_device,
    check_threads,
    check_ties,
    find_engine,
    read_options,
    switch,
)
from troth.errors import DeviceMemoryError, TrothError
from troth.graph import Graph, as_graph, check_seed
from troth.order import make_order
from troth.verify import checked_mates, kernels_of

if TYPE_CHECKING:
    from troth.api import Progress
    from troth.matching import Matching

QUARTER = 0.25  # a level that shrinks by less gets two-hop pairs
PROGRESS = 0.05  # one that shrinks by less is not worth keeping


@dataclass(frozen=True, eq=False, repr=False)
class Level:
    """A graph, and how it came from a finer one.

    Attributes
    ----------
    graph : the graph of this level; its ``vertex_weights`` are the sums of the finer ones
    map : int32 array, ``map[v]`` is the vertex of this graph that holds vertex v of the finer one; None at the finest
    mate : who was paired with whom, as in ``Matching.mate``, be they neighbours or not; None at the finest
    stats : how many of the pairs came from where, and seconds

    Examples
    --------
    >>> import troth
    >>> path = troth.as_graph((np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([1, 5, 2])))
    >>> level = troth.coarsen(path, troth.match(path))
    >>> level, level.map.tolist(), level.graph.vertex_weights.tolist()
    (Level(n=3, m=2, finer=4), [0, 1, 1, 2], [1, 2, 1])
    >>> level.restrict([1.0, 2.0, 3.0, 4.0]).tolist(), level.project([7, 8, 9]).tolist()
    ([1.0, 5.0, 4.0], [7, 8, 8, 9])
    """

    graph: Graph
    map: np.ndarray | None = None
    mate: np.ndarray | None = None
    stats: dict[str, Any] = field(default_factory=dict)

    def project(self, x: Any) -> Any:
        """Values of this level's vertices as values of the finer ones: each gets that of the vertex which holds it.

        ``x`` has one value, or one row of values, a vertex. At the finest level it is returned as it is.
        """
        if self.map is None:
            return x
        with self._arrays() as xp:
            return self._sized(xp.asarray(x), self.graph.n)[self.map]

    def restrict(self, x: Any) -> Any:
        """Values of the finer vertices as values of this level's: sums over the vertices that each one holds.

        The transpose of ``project``. Sums of integers have 64 bits. At the finest level ``x`` is returned as it is.
        """
        if self.map is None:
            return x
        with self._arrays() as xp:
            x = self._sized(xp.asarray(x), len(self.map))
            if x.dtype.kind in "biu":
                x = x.astype(np.uint64 if x.dtype.kind == "u" else np.int64)
            first = xp.flatnonzero((self.mate < 0) | (self.mate > xp.arange(len(self.mate))))
            second = self.mate[first]
            out, paired = x[first], second >= 0
            out[paired] += x[second[paired]]
            return out

    @contextmanager
    def _arrays(self) -> Iterator[ModuleType]:
        """NumPy, or CuPy with the level's GPU as the current one."""
        if self.graph.device == "cpu":
            yield np
        else:
            with using(device_number(self.graph.device)):
                yield cupy()

    @staticmethod
    def _sized(x: Any, n: int) -> Any:
        if x.ndim == 0 or len(x) != n:
            raise TrothError(f"values of shape {x.shape} for {n} vertices: give one, or one row, for each")
        return x

    def __repr__(self) -> str:
        finer = "" if self.map is None else f", finer={len(self.map)}"
        return f"Level(n={self.graph.n}, m={self.graph.m}{finer})"


class Plan(NamedTuple):
    """What ``hierarchy`` was asked for, checked; the same on every device."""

    stop: int
    levels: int | None
    ties: str
    seed: int
    threads: int | None
    max_vertex_weight: Any
    twohop: bool
    progress: Progress | None


def coarsen(g: Any, m: Matching | Any, threads: int | None = None) -> Level:
    """Contract the pairs of a matching.

    Parameters
    ----------
    g
        a ``Graph``, or anything that ``as_graph`` takes; its ``vertex_weights`` count as 1 each where there are none
    m
        a ``Matching`` of it, or an array of mates
    threads
        by default as many as there are cores and work for them; the result does not depend on it

    Returns
    -------
    Level
        with the coarse graph and the map; on the GPU where the graph is

    Notes
    -----
    Coarse vertices are numbered in the order of their first members, as in ``Matching.labels``. Integer weights add up
    exactly, as int64, and a sum of 2^63 or more is an error; floats keep their type, and up to four parallel edges are
    added in float64 and rounded once. Vertex weights are int64 or float64, in as many columns as there were. O(n + m).

    Examples
    --------
    >>> import troth
    >>> square = troth.as_graph((np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3]), np.array([9, 1, 9, 2])))
    >>> level = troth.coarsen(square, [1, 0, 3, 2])
    >>> level.map.tolist(), level.graph.weights.tolist()
    ([0, 0, 1, 1], [3, 3])
    """
    graph = as_graph(g)
    weights = _vertex_weights(graph)
    with kernels_of(graph, "coarsen") as kernels:
        start = perf_counter()
        clusters = kernels.number(checked_mates(graph, m, threads)[0], threads, graph)
        coarse, where = _contract(kernels, graph, clusters, weights, kernels.new_room(graph), threads)
        stats = {"pairs": graph.n - clusters.size, "seconds": {"contract": perf_counter() - start}}
    return Level(coarse, where, clusters.mate, stats)


def hierarchy(
    g: Any,
    stop: int = 1000,
    algorithm: str = "suitor",
    device: str = "auto",
    ties: str = "hash",
    seed: int = 0,
    threads: int | None = None,
    max_vertex_weight: Any = None,
    twohop: bool = True,
    levels: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> list[Level]:
    """Match and contract until ``stop`` vertices or fewer are left, or no more than a few can be paired.

    Parameters
    ----------
    g
        a ``Graph``, or anything that ``as_graph`` takes
    stop
        contract no graph that has so few vertices
    algorithm, device, ties, seed, threads, **options
        as in ``match``. Everything is done on the device, and the levels come back to where ``g`` is. Device and
        threads do not change the result.
    max_vertex_weight
        no two vertices are paired that weigh more together: a number, or one for each column of the vertex weights
    twohop
        pair vertices that are no neighbours where a matching alone shrinks a level by less than a quarter
    levels
        no more coarser levels than this
    progress
        called as ``progress("coarsen", done, total)`` after each level, in vertices

    Returns
    -------
    list of Level
        from the finest, whose graph is ``g`` itself, to the coarsest

    Notes
    -----
    The vertex weights of every level add up to the same number, and the edge weights of a level are those of the finer
    one without the edges inside of pairs; in integers exactly. A level that would shrink by less than a twentieth ends
    the hierarchy. O(m log n) on graphs whose edges do not become fewer, O(n + m) on meshes.

    Examples
    --------
    >>> import troth
    >>> levels = troth.hierarchy(troth.generate("grid", rows=100, cols=100, weights="unit"), stop=100)
    >>> levels[0], levels[-1].graph.n <= 100, int(levels[-1].graph.vertex_weights.sum())
    (Level(n=10000, m=19800), True, 10000)
    """
    stop, levels = whole_number("stop", stop), None if levels is None else whole_number("levels", levels, 0)
    engine = find_local_engine(algorithm, device, options)
    device = str(device)
    seed = check_seed(seed)
    check_ties(ties)
    check_threads(threads)
    try:
        twohop = switch(twohop)
    except ValueError as error:
        raise TrothError(f"twohop={twohop!r}: give {error}") from None
    graph = as_graph(g)
    plan = Plan(stop, levels, ties, seed, threads, max_vertex_weight, twohop, progress)
    if device != "auto":
        return _build_there(graph, device, engine, options, plan)
    from troth.api import _best_device

    engine = find_engine(algorithm, device, options, prefer=_best_device(graph))
    there = graph.device if graph.device != "cpu" else engine.device
    try:
        return _build_there(graph, there, engine, options, plan)
    except DeviceMemoryError:
        engine = find_engine(algorithm, device, options)
        if engine.device != "cpu" or there == "cpu":
            raise
        return _build_there(graph, "cpu", engine, options, plan)


def find_local_engine(algorithm: str, device: str, options: dict[str, Any]) -> Engine:
    """The engine that matches the levels; refuses, before any work, what there is not, and MPI ranks."""
    local = dict.fromkeys(engine.algorithm for engine in TABLE if engine.device != "mpi")
    if algorithm in ALGORITHMS and algorithm not in local:
        raise TrothError(f"{algorithm} runs on MPI ranks, but hierarchies do not: choose {', '.join(local)}")
    engine = find_engine(algorithm, device, options)
    if engine.device == "mpi":
        raise TrothError("device='mpi' runs on MPI ranks, but hierarchies do not: choose auto, cpu or cuda")
    read_options(engine, options)
    check_device(engine, str(device))
    return engine


def whole_number(name: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise TrothError(f"{name}={value!r}: give a whole number of {least} or more")
    return int(value)


def _build_there(graph: Graph, device: str, engine: Engine, options: dict, plan: Plan) -> list[Level]:
    """Build the levels on a device, and take them back to where the graph lives."""
    there = graph.to(device)
    with kernels_of(there, "coarsen") as kernels:
        levels = _build(kernels, there, engine, read_options(engine, options), plan)
    if there is not graph:
        levels[1:] = [_moved(level, graph.device) for level in levels[1:]]
    return [Level(graph), *levels[1:]]


def _moved(level: Level, device: str) -> Level:
    if device == "cpu":
        arrays = to_host(level.map), to_host(level.mate)
    else:
        from troth.cuda.transfer import to_device

        arrays = to_device(level.map, device), to_device(level.mate, device)
    return Level(level.graph.to(device), *arrays, level.stats)


def _build(kernels: ModuleType, graph: Graph, engine: Engine, options: dict, plan: Plan) -> list[Level]:
    """The levels of a graph, where it lives."""
    order_of = cache(make_order)  # on a GPU most levels have the same
    levels, weights, device = [Level(graph)], _vertex_weights(graph), graph.device
    limits, room, finest = _limits(plan.max_vertex_weight, weights), None, graph.n
    while graph.n > plan.stop and (plan.levels is None or len(levels) <= plan.levels):
        clock = [perf_counter()]
        # The engines of a GPU look at the range of the weights only where these have 64 bits.
        spread = graph.bits_range() if device == "cpu" or graph.weights.dtype.itemsize == 8 else (1, 1)
        order = order_of(plan.ties, plan.seed, spread)
        light = graph
        if limits is not None and not bool(_is_light(weights, limits).all()):
            light = kernels.fitting_edges(graph, weights, limits, plan.threads)
        mate = _mates(engine, light, order, plan.threads, plan.seed, options)
        clusters = kernels.number(mate, plan.threads, graph)
        matched = graph.n - clusters.size
        clock.append(perf_counter())
        if plan.twohop:
            clusters = _pair_more(kernels, graph, order, clusters, weights, limits, plan.threads)
        clock.append(perf_counter())
        if graph.n - clusters.size < PROGRESS * graph.n:
            break
        room = kernels.new_room(graph) if len(levels) == 1 else room
        coarse, where = _contract(kernels, graph, clusters, weights, room, plan.threads)
        clock.append(perf_counter())
        seconds = dict(zip(("match", "twohop", "contract"), np.diff(clock).tolist(), strict=True))
        pairs = graph.n - clusters.size
        stats = {"pairs": pairs, "twohop": pairs - matched, "device": device, "seconds": seconds}
        levels.append(Level(coarse, where, clusters.mate, stats))
        graph, weights = coarse, coarse.vertex_weights
        if plan.progress is not None:
            plan.progress("coarsen", finest - graph.n, max(finest - plan.stop, finest - graph.n))
    return levels


def _pair_more(kernels, graph, order, clusters, weights, limits, threads) -> Any:
    """The clusters with pairs of vertices that are no neighbours, as far as that is needed; ``mate`` changes too."""
    for step in ("twins", "relatives"):
        if graph.n - clusters.size >= QUARTER * graph.n:
            break
        vertices = clusters.alone
        if limits is not None:
            vertices = vertices[_is_light(weights, limits)[vertices]]
        if step == "twins":
            kernels.pair_twins(graph, vertices, clusters.mate, threads)
        else:
            kernels.pair_relatives(graph, order, vertices, clusters.mate, threads)
        clusters = kernels.number(clusters.mate, threads, graph)
    return clusters


def _mates(engine: Engine, graph: Graph, order: Any, threads: int | None, seed: int, options: dict) -> Any:
    """The mates of one level, where it lives."""
    there = graph.to("cpu") if engine.device == "cpu" else graph
    mate, _ = engine.load()(there, order, threads=threads, seed=np.uint64(seed % 2**64), progress=None, **options)
    return mate if there is graph else cupy().asarray(mate)


def _contract(kernels, graph, clusters, weights, room, threads) -> tuple[Graph, Any]:
    coarse, where, spilled = kernels.contract(graph, clusters, weights, room, threads)
    if spilled:
        most = f"the greatest {coarse.weights.dtype}" if coarse.weights.dtype.kind == "f" else "2^63 - 1"
        raise TrothError(
            f"coarsening: parallel edges weigh more than {most} together; scale the weights, or use float64"
        )
    return coarse, where


def _vertex_weights(graph: Graph) -> Any:
    """One or more int64 or float64 a vertex, not negative, that add up to a number which they can hold."""
    xp, weights = np if graph.device == "cpu" else cupy(), graph.vertex_weights
    if weights is None:
        return np.broadcast_to(np.int64(1), graph.n) if xp is np else xp.ones(graph.n, np.int64)
    weights = to_host(weights) if xp is np else xp.asarray(weights)
    if weights.dtype.kind not in "biuf" or weights.shape[:1] != (graph.n,):
        raise TrothError(
            f"vertex weights: {weights.dtype} of shape {weights.shape}; give {graph.n} numbers, or rows of numbers"
        )
    wide = weights.astype(np.float64 if weights.dtype.kind == "f" else np.int64, order="C", copy=False)
    if not bool((wide >= 0).all()):  # an unsigned number of 2^63 or more is negative now
        raise TrothError("vertex weights: one is negative, NaN, or 2^63 or more; give numbers from 0 on")
    if wide.dtype == np.float64:
        with np.errstate(over="ignore"):
            fit = xp.isfinite(wide.sum(axis=0))
    else:  # sums of halves cannot overflow
        fit = (wide >> 32).sum(axis=0) + ((wide & (2**32 - 1)).sum(axis=0) >> 32) < 2**31
    if not bool(fit.all()):
        raise TrothError("vertex weights: together they are too great for a number of 64 bits; scale them")
    return wide


def _limits(value: Any, weights: Any) -> Any:
    """``max_vertex_weight`` in the type of the weights and where they are; None where there is none."""
    if value is None:
        return None
    try:
        given = np.broadcast_to(np.asarray(value, object), weights.shape[1:])
        positive = all(limit > 0 for limit in given.ravel().tolist())
    except (TypeError, ValueError):
        raise TrothError(
            f"max_vertex_weight={value!r}: give a number, or one for each column of the vertex weights"
        ) from None
    if not positive:
        raise TrothError(f"max_vertex_weight={value!r}: give a positive number")
    if weights.dtype == np.int64:
        most = 2**63 - 1
        limits = [most if limit >= most else math.floor(limit) for limit in given.ravel().tolist()]
    else:
        most = sys.float_info.max
        limits = [most if limit >= most else float(limit) for limit in given.ravel().tolist()]
    limits = np.array(limits, weights.dtype).reshape(given.shape)
    return cupy().asarray(limits) if is_on_device(weights) else limits


def _is_light(weights: Any, limits: Any) -> Any:
    """Which vertices weigh no more than half of the limit: any two of them fit."""
    half = limits // 2 if weights.dtype == np.int64 else limits / 2
    light = weights <= half
    return light if light.ndim == 1 else light.all(axis=1)
