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

All work is done where the graph lives (``contracting.py``), with the same result: the same pairs, the
same numbers of the coarse vertices, the same bits of the weights (see ``cpu/coarsen.py`` for the order of additions),
for any number of threads; between clusters weights add up exactly (``cpu/exact.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from troth.api.contracting import Plan, by_matching, by_strongest, contract_pairs
from troth.api.levels import Level
from troth.api.mates import checked_mates
from troth.api.opening import as_graph
from troth.api.request import Placed, Request, make_request, perform
from troth.api.vertex_weights import vertex_weights_of
from troth.arrays import to_device
from troth.contract import Progress
from troth.engines import clustering_of, coarsening_of
from troth.errors import TrothError
from troth.graph import Graph
from troth.validate import check, check_threads, check_word, switch, whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from troth.api.result import Matching

WAYS = ("matching", "strongest")


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
    >>> import numpy as np
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
        coarse, place = contract_pairs(coarsening, graph, clusters, weights)
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
        As in ``match``. Everything is done there, and the levels come back to where ``graph`` is.
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
    refuse_for_clusters(plan.by, algorithm, options)
    request = make_request(
        algorithm, device, ties=ties, seed=seed, threads=threads, options=options, no_ranks="hierarchies"
    )
    return build_hierarchy(request, as_graph(graph), plan)


def refuse_for_clusters(by: str, algorithm: str, options: Mapping[str, Any]) -> None:
    """Refuse what clusters of strongest neighbours have no use for."""
    if by == "strongest" and (algorithm != "suitor" or options):
        name = "algorithm" if algorithm != "suitor" else next(iter(options))
        raise TrothError(f"by='strongest' matches nothing: leave {name} out, or choose by='matching'")


def build_hierarchy(request: Request, graph: Graph, plan: Plan) -> list[Level]:
    """The hierarchy that a request asks for, built on its device and brought to where the graph lives."""

    def work(placed: Placed) -> list[Level]:
        there = placed.graph
        if plan.by == "strongest":
            with clustering_of(there, request.threads) as clustering:
                levels = by_strongest(clustering, there, request, plan)
        else:
            with coarsening_of(there, request.threads) as coarsening:
                levels = by_matching(coarsening, placed, request, plan)
        return [Level(graph), *(levels if there is graph else [_moved(level, graph.device) for level in levels])]

    return perform(request, graph, work, stay=True)[0]


def _moved(level: Level, device: str) -> Level:
    """The same level, with its arrays on "cpu" or "cuda:1"."""
    mate = None if level.mate is None else to_device(level.mate, device)
    return Level(level.graph.to(device), to_device(level.map, device), mate, level.stats)
