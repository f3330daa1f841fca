"""Coarsening: pairs of vertices become single ones, again and again, until a graph is small.

``coarsen`` contracts a matching once, ``hierarchy`` matches and contracts until few vertices are left. Weights of
parallel edges add up, loops go, vertex weights add up; so a vertex weight counts the original vertices inside, and what
is left of the edge weights is what runs between them. B. Hendrickson and R. Leland, A multilevel algorithm for
partitioning graphs, Supercomputing 1995.

Where a matching shrinks a graph by less than a quarter, vertices that are no neighbours are paired too, since stars
would lose one leaf at a time: first those with the same neighbours (leaves of one vertex, twins, lone vertices); if a
quarter is still not reached, those whose strongest neighbour is the same. D. LaSalle et al., Improving graph
partitioning for modern graphs and architectures, IA^3 2015.

``hierarchy(by="strongest")`` matches nothing: a vertex joins the cluster of its strongest neighbour, so that a level is
often three to five times smaller than the finer one, where matching makes it less than twice as small. M. S. Gilbert et
al., Performance-portable graph coarsening for efficient multilevel graph analysis, IPDPS 2021;
``reference.join_strongest`` says what troth makes of it.

All work is done where the graph lives, by what ``contract.Coarsening`` lists, with the same result: the same pairs, the
same numbers of the coarse vertices, the same bits of the weights (see ``cpu/coarsen.py`` for the order of additions),
for any number of threads. Clusters of strongest neighbours are found and contracted on the host alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from troth.api.mates import checked_mates
from troth.api.opening import as_graph
from troth.api.request import Placed, Request, make_request, perform
from troth.api.vertex_weights import are_light, read_limits, vertex_weights_of
from troth.arrays import arrays_of, to_device
from troth.contract import Array, Clusters, Coarsening, Progress
from troth.engines import clustering_of, coarsening_of
from troth.errors import TrothError
from troth.graph import Graph
from troth.order import Order, on_device
from troth.validate import check, check_threads, check_word, switch, whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from troth.api.result import Matching

TWO_HOP_BELOW = 0.25  # a level that shrinks by less gets pairs of vertices that are no neighbours
STOP_BELOW = 0.05  # one that shrinks by less is not worth keeping
WAYS = ("matching", "strongest")


@dataclass(frozen=True, eq=False, repr=False)
class Level:
    """A graph, and how it came from a finer one.

    Attributes
    ----------
    graph : Graph
        The graph of this level; its ``vertex_weights`` are the sums of the finer ones.
    map : ndarray of int32, or None at the finest level
        ``map[v]`` is the vertex of this graph that holds vertex v of the finer one.
    mate : ndarray of int32, or None at the finest level
        Who was paired with whom, as in ``Matching.mate``, be they neighbours or not. None too where the level came from
        clusters (``by="strongest"``): the map has all about them.
    stats : dict
        How many of the pairs (of clusters: of the vertices that joined others) came from where, and seconds.

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

        Parameters
        ----------
        x : array_like
            One value, or one row of values, a vertex. At the finest level it is returned as it is.

        Returns
        -------
        ndarray
        """
        if self.map is None:
            return x
        with arrays_of(self.graph.device) as xp:
            return self._sized(xp.asarray(x), self.graph.n)[self.map]

    def restrict(self, x: Any) -> Any:
        """Values of the finer vertices as values of this level's: sums over the vertices that each one holds.

        The transpose of ``project``. Sums of integers have 64 bits.

        Parameters
        ----------
        x : array_like
            One value, or one row of values, a vertex of the finer graph. At the finest level it is returned as it is.

        Returns
        -------
        ndarray
        """
        if self.map is None:
            return x
        with arrays_of(self.graph.device) as xp:
            x = self._sized(xp.asarray(x), len(self.map))
            if x.dtype.kind in "biu":
                x = x.astype(np.uint64 if x.dtype.kind == "u" else np.int64)
            if self.mate is None:
                return self._add_members(xp, x)
            first = xp.flatnonzero((self.mate < 0) | (self.mate > xp.arange(len(self.mate))))
            second = self.mate[first]
            out, paired = x[first], second >= 0
            out[paired] += x[second[paired]]
            return out

    def _add_members(self, xp: Any, x: Any) -> Any:
        """Sums over clusters of any size, members in ascending order: first ones, plus second ones, and so on."""
        by_cluster = xp.argsort(self.map, kind="stable")
        sizes = xp.bincount(self.map, minlength=self.graph.n)
        starts = xp.cumsum(sizes) - sizes
        out = x[by_cluster[starts]]
        for place in range(1, int(sizes.max(initial=0))):
            some = xp.flatnonzero(sizes > place)
            out[some] += x[by_cluster[starts[some] + place]]
        return out

    @staticmethod
    def _sized(x: Any, n: int) -> Any:
        if x.ndim == 0 or len(x) != n:
            raise TrothError(f"values of shape {x.shape} for {n} vertices: give one, or one row, for each")
        return x

    def __repr__(self) -> str:
        finer = "" if self.map is None else f", finer={len(self.map)}"
        return f"Level(n={self.graph.n}, m={self.graph.m}{finer})"


class Plan(NamedTuple):
    """What ``hierarchy`` was asked for beside the matching, checked."""

    stop: int
    levels: int | None
    max_vertex_weight: Any
    twohop: bool
    progress: Progress | None
    by: str = "matching"


def coarsen(graph: Any, matching: Matching | ArrayLike, *, threads: int | None = None) -> Level:
    """Contract the pairs of a matching.

    Parameters
    ----------
    graph : Graph or anything that ``as_graph`` takes
        The graph; its ``vertex_weights`` count as 1 each where there are none.
    matching : Matching or array_like of int
        A ``Matching`` of it, or the mates.
    threads : int, optional
        By default as many as there are cores and work for them; the result does not depend on it.

    Returns
    -------
    Level
        With the coarse graph and the map; on the GPU where the graph is.

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
    threads = check_threads(threads)
    graph = as_graph(graph)
    with coarsening_of(graph, threads) as coarsening:
        weights, start = vertex_weights_of(graph), perf_counter()
        clusters = coarsening.number_clusters(graph, checked_mates(graph, matching, threads)[0])
        coarse, place = _contract(coarsening, graph, clusters, weights)
        stats = {"pairs": graph.n - clusters.size, "seconds": {"contract": perf_counter() - start}}
    return Level(coarse, place, clusters.mate, stats)


def hierarchy(
    graph: Any,
    *,
    stop: int = 1000,
    by: str = "matching",
    algorithm: str = "suitor",
    device: str = "auto",
    ties: str = "hash",
    seed: int = 0,
    threads: int | None = None,
    max_vertex_weight: float | Sequence[float] | None = None,
    twohop: bool = True,
    levels: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> list[Level]:
    """Match and contract until ``stop`` vertices or fewer are left, or no more than a few can be paired.

    Parameters
    ----------
    graph : Graph or anything that ``as_graph`` takes
        The graph.
    stop : int, optional
        Contract no graph that has so few vertices.
    by : str, optional
        What becomes one vertex: the pairs of a "matching", or clusters of up to eight vertices, each of which joins its
        "strongest" neighbour's. Clusters need fewer levels.
    algorithm : str, optional
        As in ``match``; for ``by="matching"``.
    device : str, optional
        As in ``match``. Everything is done there, and the levels come back to where ``graph`` is. Clusters are made on
        the host.
    ties : str, optional
        As in ``match``.
    seed : int, optional
        As in ``match``.
    threads : int, optional
        As in ``match``. Device and threads do not change the result.
    max_vertex_weight : float or sequence of float, optional
        No vertices become one that weigh more together: a number, or one for each column of the vertex weights.
    twohop : bool, optional
        Pair vertices that are no neighbours where a matching alone shrinks a level by less than a quarter. With
        ``by="strongest"``: put those together, too, that have the same strongest neighbour, in whose cluster there is
        no room for all, and single vertices that have the same neighbours.
    levels : int, optional
        No more coarser levels than this.
    progress : callable, optional
        Called as ``progress("coarsen", done, total)`` after each level, in vertices.
    **options : dict
        The engine's own, as in ``match``.

    Returns
    -------
    list of Level
        From the finest, whose graph is ``graph`` itself, to the coarsest.

    Notes
    -----
    The vertex weights of every level add up to the same number, and the edge weights of a level are those of the finer
    one without the edges inside of pairs or clusters; in integers exactly. A level that would shrink by less than a
    twentieth ends the hierarchy. O(m log n) on graphs whose edges do not become fewer, O(n + m) on meshes.

    Examples
    --------
    >>> import troth
    >>> levels = troth.hierarchy(troth.generate("grid", rows=100, cols=100, weights="unit"), stop=100)
    >>> levels[0], levels[-1].graph.n <= 100, int(levels[-1].graph.vertex_weights.sum())
    (Level(n=10000, m=19800), True, 10000)
    >>> [len(troth.hierarchy(levels[0].graph, stop=100, by=by)) for by in ("matching", "strongest")]
    [10, 5]
    """
    plan = Plan(
        check("stop", stop, whole(1)),
        None if levels is None else check("levels", levels, whole(0)),
        max_vertex_weight,
        check("twohop", twohop, switch),
        progress,
        check_word("by", by, WAYS),
    )
    refuse_for_clusters(plan.by, algorithm, device, options)
    request = make_request(
        algorithm, device, ties=ties, seed=seed, threads=threads, options=options, no_ranks="hierarchies"
    )
    return build_hierarchy(request, as_graph(graph), plan)


def refuse_for_clusters(by: str, algorithm: str, device: str, options: Mapping[str, Any]) -> None:
    """Refuse what clusters of strongest neighbours have no use for."""
    if by == "strongest":
        if algorithm != "suitor" or options:
            name = "algorithm" if algorithm != "suitor" else next(iter(options))
            raise TrothError(f"by='strongest' matches nothing: leave {name} out, or choose by='matching'")
        if str(device).startswith("cuda"):
            raise TrothError(f"by='strongest' runs on CPU threads, not on {device}: choose device auto or cpu")


def build_hierarchy(request: Request, graph: Graph, plan: Plan) -> list[Level]:
    """The hierarchy that a request asks for, built on its device and brought to where the graph lives."""
    if plan.by == "strongest":
        here = graph.to("cpu")
        levels = _build_clusters(here, request, plan)
        if here is not graph:
            levels = [_moved(level, graph.device) for level in levels]
        return [Level(graph), *levels]

    def work(placed: Placed) -> list[Level]:
        with coarsening_of(placed.graph, request.threads) as coarsening:
            levels = _build(coarsening, placed, request, plan)
        if placed.graph is not graph:
            levels[1:] = [_moved(level, graph.device) for level in levels[1:]]
        return [Level(graph), *levels[1:]]

    return perform(request, graph, work, stay=True)[0]


def _moved(level: Level, device: str) -> Level:
    mate = None if level.mate is None else to_device(level.mate, device)
    return Level(level.graph.to(device), to_device(level.map, device), mate, level.stats)


def _build_clusters(graph: Graph, request: Request, plan: Plan) -> list[Level]:
    """The coarser levels of a graph on the host, by clusters of strongest neighbours."""
    levels, weights, finest = list[Level](), vertex_weights_of(graph), graph.n
    limits, clustering = read_limits(plan.max_vertex_weight, weights), clustering_of(graph, request.threads)
    seed = request.context().seed
    while graph.n > plan.stop and (plan.levels is None or len(levels) < plan.levels):
        clock = [perf_counter()]
        groups = clustering.join_strongest(graph, request.order_for(graph), seed, weights, limits, plan.twohop)
        clock.append(perf_counter())
        joined = graph.n - groups.size
        if joined < STOP_BELOW * graph.n:
            break
        coarse = _checked(*clustering.contract_clusters(graph, groups, weights))
        clock.append(perf_counter())
        seconds = dict(zip(("join", "contract"), np.diff(clock).tolist(), strict=True))
        stats = {"joined": joined, "twohop": groups.joined, "device": graph.device, "seconds": seconds}
        levels.append(Level(coarse, groups.coarse, None, stats))
        graph, weights = coarse, coarse.vertex_weights
        _report(plan, finest, graph)
    return levels


def _report(plan: Plan, finest: int, graph: Graph) -> None:
    """Say how far the vertices of the finest graph have come down."""
    if plan.progress is not None:
        plan.progress("coarsen", finest - graph.n, max(finest - plan.stop, finest - graph.n))


def _build(coarsening: Coarsening, placed: Placed, request: Request, plan: Plan) -> list[Level]:
    """The levels of a graph, where it lives."""
    engine, graph, device = placed.engine, placed.graph, placed.graph.device
    run, options, context = engine.load(), request.options_of(engine), replace(request.context(), measured=False)
    levels, weights, finest = [Level(graph)], vertex_weights_of(graph), graph.n
    limits = read_limits(plan.max_vertex_weight, weights)
    while graph.n > plan.stop and (plan.levels is None or len(levels) <= plan.levels):
        clock = [perf_counter()]
        order, light = request.order_for(graph), graph
        if limits is not None and not bool(are_light(weights, limits).all()):
            light = coarsening.fitting_edges(graph, weights, limits)
        there = light.to("cpu") if engine.device == "cpu" else light
        mate = run(there, on_device(order, there.device), context, **options).mates
        clusters = coarsening.number_clusters(graph, mate if there is light else to_device(mate, device))
        matched = graph.n - clusters.size
        clock.append(perf_counter())
        if plan.twohop:
            clusters = _pair_more(coarsening, graph, order, clusters, weights, limits)
        clock.append(perf_counter())
        if graph.n - clusters.size < STOP_BELOW * graph.n:
            break
        coarse, place = _contract(coarsening, graph, clusters, weights)
        clock.append(perf_counter())
        seconds = dict(zip(("match", "twohop", "contract"), np.diff(clock).tolist(), strict=True))
        pairs = graph.n - clusters.size
        stats = {"pairs": pairs, "twohop": pairs - matched, "device": device, "seconds": seconds}
        levels.append(Level(coarse, place, clusters.mate, stats))
        graph, weights = coarse, coarse.vertex_weights
        _report(plan, finest, graph)
    return levels


def _pair_more(
    coarsening: Coarsening, graph: Graph, order: Order, clusters: Clusters, weights: Array, limits: Array | None
) -> Clusters:
    """The clusters with pairs of vertices that are no neighbours, as far as that is needed; ``mate`` changes too."""
    for step in ("twins", "relatives"):
        if graph.n - clusters.size >= TWO_HOP_BELOW * graph.n:
            break
        vertices = clusters.alone
        if limits is not None:
            vertices = vertices[are_light(weights, limits)[vertices]]
        if step == "twins":
            coarsening.pair_twins(graph, vertices, clusters.mate)
        else:
            coarsening.pair_relatives(graph, order, vertices, clusters.mate)
        clusters = coarsening.number_clusters(graph, clusters.mate)
    return clusters


def _contract(coarsening: Coarsening, graph: Graph, clusters: Clusters, weights: Array) -> tuple[Graph, Array]:
    coarse, place, spilled = coarsening.contract(graph, clusters, weights)
    return _checked(coarse, spilled), place


def _checked(coarse: Graph, spilled: bool) -> Graph:
    """The coarse graph, unless a sum of weights was too great for its type."""
    if spilled:
        most = f"the greatest {coarse.weights.dtype}" if coarse.weights.dtype.kind == "f" else "2^63 - 1"
        raise TrothError(
            f"coarsening: parallel edges weigh more than {most} together; scale the weights, or use float64"
        )
    return coarse
