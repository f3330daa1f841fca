"""NetworkX graphs as edges."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from troth.errors import TrothError
from troth.graph import Edges


def networkx_to_edges(G: Any, weight: str = "weight") -> Edges:
    """Edges of a NetworkX ``Graph`` or ``MultiGraph``, vertices in the order of ``G.nodes``.

    Parameters
    ----------
    G
        an undirected graph; parallel edges stay, loops too (the gate deals with both)
    weight
        the edge attribute that holds weights; an edge without it weighs 1, and if none has it the graph is a pattern

    Examples
    --------
    >>> import networkx
    >>> G = networkx.Graph([("a", "b", {"weight": 2.5}), ("b", "c")])
    >>> edges = networkx_to_edges(G)
    >>> edges.row.tolist(), edges.col.tolist(), edges.weight.tolist(), edges.ids.tolist()
    ([0, 1], [1, 2], [2.5, 1.0], ['a', 'b', 'c'])
    """
    where = "the NetworkX graph"
    if G.is_directed():
        raise TrothError(f"{where} is directed, and matchings are of undirected graphs: give G.to_undirected()")
    nodes, n = list(G), len(G)
    number = {node: v for v, node in enumerate(nodes)}
    ends = np.fromiter((number[node] for node in chain.from_iterable(G.edges())), np.int64).reshape(-1, 2)
    values = [value for *_, value in G.edges(data=weight)]
    ids = None if nodes == list(range(n)) else _names(nodes)
    return Edges(ends[:, 0], ends[:, 1], _weights(values, G, weight), n, ids, where)


def _weights(values: list, G: Any, name: str) -> np.ndarray | None:
    present = sum(value is not None for value in values)
    if not present:
        return None
    if present < len(values):
        values = [1 if value is None else value for value in values]
    weights = np.asarray(values) if all(np.ndim(value) == 0 for value in values) else np.empty(0, object)
    if weights.dtype.kind not in "biuf":
        edge = next((edge for edge, x in zip(G.edges(), values, strict=True) if not _is_number(x)), "of some edge")
        raise TrothError(f"the NetworkX graph: {name!r} of edge {edge!r} is not a real number of at most 64 bits")
    return weights


def _is_number(value: Any) -> bool:
    return np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biuf"


def _names(nodes: list) -> np.ndarray:
    """Node names as numbers or text where all are, otherwise as the objects themselves."""
    if all(type(node) is str for node in nodes) or all(type(node) is int and abs(node) < 2**63 for node in nodes):
        return np.asarray(nodes)
    names = np.empty(len(nodes), object)
    names[:] = nodes
    return names
