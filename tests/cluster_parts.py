"""Levels of clusters of strongest neighbours as the reference makes them, for the tests of every device."""

from __future__ import annotations

import numpy as np
from corpus import order_of

from troth import reference
from troth.graph import Graph

TWENTIETH = 0.05  # a level that shrinks by less is not made


def expected_levels(graph: Graph, ties: str = "hash", seed: int = 0, stop: int = 1, limit=None, twohop: bool = True):
    """What ``hierarchy(by="strongest")`` promises, by the reference: graphs, maps, and how many joined no neighbour."""
    found = []
    limits = None if limit is None else np.array(limit)
    while graph.n > stop:
        clusters, joined = reference.join_strongest(graph, order_of(graph, ties, seed), seed, limits, twohop)
        if graph.n - len(clusters) < TWENTIETH * graph.n:
            break
        graph, where = reference.contract_clusters(graph, clusters)
        found.append((graph, where, joined))
        if not np.isfinite(graph.weights).all():
            break
    return found
