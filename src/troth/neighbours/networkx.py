"""NetworkX graphs as edges, and back."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from troth.errors import TrothError
from troth.files import shortened
from troth.inputs import Edges, first_rounded
from troth.names import object_array, text_array
from troth.neighbours.scipy import rows_to_scipy
from troth.words import did_you_mean, means_cost

if TYPE_CHECKING:
    import networkx


def networkx_to_edges(G: Any, weight: str | None = None) -> Edges:
    """Edges of a NetworkX ``Graph`` or ``MultiGraph``, vertices in the order of ``G.nodes``.

    Parameters
    ----------
    G
        an undirected graph; parallel edges stay, loops too (the gate deals with both)
    weight
        the edge attribute that holds weights, which some edge has; by default "weight", and if no edge has that the
        graph is a pattern. An edge without it weighs 1

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
    name, nodes, n = "weight" if weight is None else weight, list(G), len(G)
    row, col = ends_of(G, {node: v for v, node in enumerate(nodes)})
    weights = _weights([value for *_, value in G.edges(data=name)], G, name)
    if weights is None and weight is not None and len(row):
        there = sorted({str(key) for *_, attributes in G.edges(data=True) for key in attributes})
        known = f"there are {shortened(', '.join(there), 100)}" if there else "edges have none"
        raise TrothError(f"{where}: no edge has the attribute {weight!r}{did_you_mean(weight, there)}; {known}")
    ids = None if nodes == list(range(n)) else _names(nodes)
    cost = f"attribute {name!r} is a cost by its name" if weights is not None and means_cost(name) else None
    return Edges(row, col, weights, n, ids, where, cost=cost)


def ends_of(G: Any, number: dict[Any, int]) -> np.ndarray:
    """The two ends of every edge, as vertex numbers in two rows."""
    ends = np.fromiter(map(number.__getitem__, chain.from_iterable(G.edges())), np.int64)
    return np.ascontiguousarray(ends.reshape(-1, 2).T)


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
    if (place := first_rounded(values, weights)) is not None:
        edge = next(islice(G.edges(), place, None))
        raise TrothError(
            f"the NetworkX graph: {name!r} of edge {edge!r}, {values[place]}, is no float, but others are: "
            "make all of them whole numbers, or floats"
        )
    return weights


def _is_number(value: Any) -> bool:
    return np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biuf"


def _names(nodes: list) -> np.ndarray:
    """Node names as numbers or text where all are, otherwise as the objects themselves."""
    if all(type(node) is str for node in nodes):
        return text_array(nodes)
    if all(type(node) is int and abs(node) < 2**63 for node in nodes):
        return np.asarray(nodes)
    return object_array(nodes)


def edges_to_networkx(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, ids: np.ndarray | None
) -> networkx.Graph:
    """The NetworkX graph of some rows: nodes are ``ids``, or numbers; each edge has its weight."""
    try:
        import networkx
    except ImportError:
        raise TrothError('to_networkx needs NetworkX: pip install "troth[networkx]"') from None
    from scipy.sparse import triu

    upper = triu(rows_to_scipy(indptr, indices, weights), format="coo")
    names = range(len(indptr) - 1) if ids is None else ids.tolist()
    ends = zip(upper.row.tolist(), upper.col.tolist(), upper.data.tolist(), strict=True)
    G = networkx.Graph()
    G.add_nodes_from(names)
    G.add_weighted_edges_from((names[u], names[v], weight) for u, v, weight in ends)
    return G
