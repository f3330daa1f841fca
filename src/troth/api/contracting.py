"""The levels of a hierarchy, by either way: match and contract pairs, or find clusters and contract these.

All work is done where the graph lives, by what ``contract.Coarsening`` and ``contract.Clustering`` list. A level is
checked before the next is made: it must be small enough to be worth keeping, and no sum of weights too great.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from troth.api.levels import Level
from troth.api.request import Placed, Request
from troth.api.vertex_weights import are_light, read_limits, vertex_weights_of
from troth.arrays import to_device
from troth.contract import Array, Clustering, Clusters, Coarsening, Progress
from troth.errors import TrothError
from troth.graph import Graph
from troth.order import Order, make_order, on_device

TWO_HOP_BELOW = 0.25  # a level that shrinks by less gets pairs of vertices that are no neighbours
STOP_BELOW = 0.05  # one that shrinks by less is not worth keeping


class Plan(NamedTuple):
    """What ``hierarchy`` was asked for beside the matching, checked."""

    stop: int
    levels: int | None
    max_vertex_weight: Any
    twohop: bool
    progress: Progress | None
    by: str = "matching"


# ---- by clusters of strongest neighbours ----


def by_strongest(clustering: Clustering, graph: Graph, request: Request, plan: Plan) -> list[Level]:
    """The coarser levels of a graph, by clusters of strongest neighbours."""
    levels, weights, finest = list[Level](), vertex_weights_of(graph), graph.n
    limits, seed = read_limits(plan.max_vertex_weight, weights), request.context().seed
    while graph.n > plan.stop and (plan.levels is None or len(levels) < plan.levels):
        clock = [perf_counter()]
        groups = clustering.join_strongest(graph, _order_for(graph, request), seed, weights, limits, plan.twohop)
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


def _order_for(graph: Graph, request: Request) -> Order:
    """The order in which neighbours are looked at; a GPU compares the weights themselves, whatever their range."""
    if graph.device == "cpu":
        return request.order_for(graph)
    return on_device(make_order(request.ties, request.seed, graph=graph), graph.device)


# ---- by matchings ----


def by_matching(coarsening: Coarsening, placed: Placed, request: Request, plan: Plan) -> list[Level]:
    """The coarser levels of a graph, by pairs of a matching."""
    engine, graph, device = placed.engine, placed.graph, placed.graph.device
    run, options, context = engine.load(), request.options_of(engine), replace(request.context(), measured=False)
    levels, weights, finest = list[Level](), vertex_weights_of(graph), graph.n
    limits = read_limits(plan.max_vertex_weight, weights)
    while graph.n > plan.stop and (plan.levels is None or len(levels) < plan.levels):
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
        coarse, place = contract_pairs(coarsening, graph, clusters, weights)
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


def contract_pairs(coarsening: Coarsening, graph: Graph, clusters: Clusters, weights: Array) -> tuple[Graph, Array]:
    """The coarse graph, and the coarse vertex of every vertex."""
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


def _report(plan: Plan, finest: int, graph: Graph) -> None:
    """Say how far the vertices of the finest graph have come down."""
    if plan.progress is not None:
        plan.progress("coarsen", finest - graph.n, max(finest - plan.stop, finest - graph.n))
