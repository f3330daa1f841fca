"""A backend for NetworkX.

The backend takes over what it can keep the promises of: ``maximal_matching``, ``approximation.min_maximal_matching``,
``is_matching``, ``is_maximal_matching`` and ``is_perfect_matching``. ``max_weight_matching`` promises an optimum, so it
stays with NetworkX. A maximal matching does not look at weights, so graphs are converted with unit weights; for a heavy
one call ``troth.match(G)``, whose ``edges()`` are pairs of NetworkX's own nodes.

NetworkX finds this module, which is the backend, through the entry points in ``pyproject.toml``, and what it may know
before loading it in ``networkx_info.py``. Reference: https://networkx.org/documentation/stable/reference/backends.html
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np

from troth.api.calls import match
from troth.api.checking import Report, verify
from troth.api.opening import as_graph
from troth.inputs import Edges
from troth.neighbours.networkx import ends_of


class BackendGraph:
    """A NetworkX graph and its conversion; NetworkX keeps it with the graph until that changes.

    Parameters
    ----------
    G : networkx.Graph
        Of any of its four kinds.

    Attributes
    ----------
    origin : networkx.Graph
        The NetworkX graph.
    nodes : list
        Its nodes in order.
    number : dict
        The position of each node.
    graph : Graph
        Undirected, simple, unit weights.
    """

    __networkx_backend__ = "troth"

    def __init__(self, G: Any) -> None:
        self.origin = G
        self.nodes = list(G)
        self.number = {node: v for v, node in enumerate(self.nodes)}
        row, col = ends_of(G, self.number)
        self.graph = as_graph(Edges(row, col, n=len(self.nodes), where="the NetworkX graph"))

    def is_directed(self) -> bool:
        return self.origin.is_directed()

    def is_multigraph(self) -> bool:
        return self.origin.is_multigraph()


def convert_from_nx(G: Any, **_: Any) -> BackendGraph:
    """A NetworkX graph as one of this backend.

    Parameters
    ----------
    G : networkx.Graph
        The graph.
    **_ : dict
        Which attributes to keep; they do not matter to any function of the backend.

    Returns
    -------
    BackendGraph
    """
    return BackendGraph(G)


def convert_to_nx(result: Any, **_: Any) -> Any:
    """What NetworkX's users see.

    Parameters
    ----------
    result : object
        What a function of the backend returned.
    **_ : dict
        Not looked at.

    Returns
    -------
    object
        The graph that was converted, and any other result as it is.
    """
    return result.origin if isinstance(result, BackendGraph) else result


def can_run(name: str, args: tuple, kwargs: dict) -> bool | str:
    """Whether this backend has an answer.

    Parameters
    ----------
    name : str
        Of the function.
    args : tuple
        What it is called with.
    kwargs : dict
        What it is called with by name.

    Returns
    -------
    bool or str
        True, or the reason why not.
    """
    G = _graph(args, kwargs)
    if name == "min_maximal_matching" and (G.is_directed() or G.is_multigraph()):
        return "maximal matchings are of undirected simple graphs"
    return True


def should_run(name: str, args: tuple, kwargs: dict) -> bool | str:
    """Whether NetworkX, when free to choose, does well to call this backend.

    Parameters
    ----------
    name : str
        Of the function.
    args : tuple
        What it is called with.
    kwargs : dict
        What it is called with by name.

    Returns
    -------
    bool or str
        True, or the reason why not.
    """
    converted = "troth" in (getattr(_graph(args, kwargs), "__networkx_cache__", None) or {}).get("backends", {})
    if name.startswith("is_") and not converted:
        return "a check takes less time than the conversion of the graph"
    return True


def _graph(args: tuple, kwargs: dict) -> Any:
    return args[0] if args else kwargs["G"]


def maximal_matching(G: BackendGraph, *, seed: int | None = None) -> set[tuple]:
    """A maximal matching: no edge can be added.

    Parameters
    ----------
    G : BackendGraph
        The converted graph.
    seed : int, optional
        Chooses among the maximal matchings. Without one, edges of earlier nodes come first, as in NetworkX: the answer
        is that of NetworkX where the neighbours of each node were added in the order of the nodes.

    Returns
    -------
    set of tuple
        Pairs of nodes.

    Examples
    --------
    >>> import networkx as nx
    >>> G = nx.Graph([(1, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5)])
    >>> sorted(nx.maximal_matching(G, backend="troth"))
    [(1, 2), (3, 5)]
    """
    found = match(G.graph, ties="low") if seed is None else match(G.graph, ties="hash", seed=seed)
    return {(G.nodes[u], G.nodes[v]) for u, v in found.edges().tolist()}


def min_maximal_matching(G: BackendGraph, *, seed: int | None = None) -> set[tuple]:
    """A maximal matching, which has at most twice as many edges as the smallest one.

    Parameters
    ----------
    G : BackendGraph
        The converted graph.
    seed : int, optional
        As in ``maximal_matching``.

    Returns
    -------
    set of tuple
        Pairs of nodes.
    """
    return maximal_matching(G, seed=seed)


def is_matching(G: BackendGraph, matching: dict | Iterable) -> bool:
    """Whether these are edges, no two of which share a node.

    Parameters
    ----------
    G : BackendGraph
        The converted graph.
    matching : dict or iterable of pairs
        Pairs of nodes, or a dictionary with each node's mate.

    Returns
    -------
    bool
    """
    return _checked(G, matching)[0].valid


def is_maximal_matching(G: BackendGraph, matching: dict | Iterable) -> bool:
    """Whether these are edges, no two of which share a node, and no edge can be added.

    Parameters
    ----------
    G : BackendGraph
        The converted graph.
    matching : dict or iterable of pairs
        Pairs of nodes, or a dictionary with each node's mate.

    Returns
    -------
    bool
    """
    return _checked(G, matching)[0].maximal


def is_perfect_matching(G: BackendGraph, matching: dict | Iterable) -> bool:
    """Whether these are edges that meet each node once.

    Parameters
    ----------
    G : BackendGraph
        The converted graph.
    matching : dict or iterable of pairs
        Pairs of nodes, or a dictionary with each node's mate.

    Returns
    -------
    bool
    """
    report, covered = _checked(G, matching)
    return report.valid and covered == len(G.nodes)


def _checked(G: BackendGraph, matching: dict | Iterable) -> tuple[Report, int]:
    """What ``troth.verify`` says of some pairs, and how many nodes they cover.

    As in NetworkX the first pair at fault decides: one that is no edge, or whose node is taken, is a no; one that is no
    pair, or has a node that is not in the graph, is an error.
    """
    from networkx.algorithms.matching import matching_dict_to_set

    pairs = list(matching_dict_to_set(matching) if isinstance(matching, dict) else matching)
    error = _first_error(G, pairs)
    ends = np.fromiter(map(G.number.__getitem__, chain.from_iterable(pairs)), np.int64).reshape(-1, 2)
    row, col = ends.T
    mate = np.full(len(G.nodes), -1, np.int64)
    mate[row], mate[col] = col, row
    covered = int(np.count_nonzero(mate >= 0))
    if covered < ends.size:
        return Report(False, False, False, reason="a node is there twice"), covered
    if G.is_directed() and not all(G.origin.has_edge(u, v) for u, v in pairs):
        return Report(False, False, False, reason="an edge points the other way"), covered
    report = verify(G.graph, mate, certify=False)
    if error and report.valid:
        raise error
    return report, covered


def _first_error(G: BackendGraph, pairs: list) -> Exception | None:
    """NetworkX's error for the first element that is no pair of nodes; it and all after it are taken off the list."""
    from networkx import NetworkXError

    known = G.origin.has_node  # says no to what has no hash
    if set(map(len, pairs)) <= {2} and all(map(known, chain.from_iterable(pairs))):
        return None
    at = next(i for i, pair in enumerate(pairs) if len(pair) != 2 or not all(map(known, pair)))
    pair = pairs[at]
    del pairs[at:]
    if len(pair) != 2:
        return NetworkXError(f"matching has non-2-tuple edge {pair}")
    return NetworkXError(f"matching contains edge {pair} with node not in G")
