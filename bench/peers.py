"""Other libraries that compute matchings, each behind two functions: a symmetric SciPy matrix in, mates out.

``build`` turns the matrix into the library's own graph by its fastest way, ``match`` matches; times of both together
are from the user's data to mates. A library is imported when it is used, and where it is not installed it is left out.

- NetworKit: the Suitor algorithm on plain lists, and on lists that it sorts first; path growing. All reach one half.
  (11.2.2 crashes on 32-bit ids, so ids are widened.)
- NetworkX, rustworkx: the heaviest matching, by Edmonds' blossoms. rustworkx compares integers: fractions are scaled to
  40 bits.
- SciPy: the heaviest matching of a bipartite graph, as an assignment. Its solver matches *every* row, so each row gets
  a column of its own that is worth nothing, and all values are raised by one constant, which changes no comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from troth.errors import TrothError

if TYPE_CHECKING:
    from troth.graph import Graph

SCALE = 2.0**40  # of the greatest weight, where a library compares integers


class Peer(NamedTuple):
    """A library's algorithm. ``pace``: seconds for each vertex times edge, 0 where the time is nearly linear."""

    label: str
    package: str
    build: Callable[[Any, int], Any]
    match: Callable[[Any], np.ndarray]
    exact: bool = False
    bipartite: bool = False
    pace: float = 0.0


def seconds(name: str, vertices: int, edges: int) -> float:
    """About how long an exact peer takes; 0 for the others.

    >>> seconds("networkx", 600, 1800) > seconds("rustworkx", 600, 1800) > seconds("networkit-suitor", 600, 1800)
    True
    """
    return PEERS[name].pace * vertices * edges


def missing(name: str) -> str | None:
    """Why a peer cannot run here, or None where it can."""
    package = PEERS[name].package
    return None if find_spec(package) else f"{package} is not installed"


def optimum(graph: Graph) -> tuple[str, np.ndarray]:
    """The fastest exact peer that is installed, and the heaviest matching that it finds."""
    matrix = graph.to_scipy()
    name = exact_peer(matrix)
    return name, PEERS[name].match(PEERS[name].build(matrix, 1))


def most_pairs(graph: Graph) -> int:
    """The number of pairs of a largest matching."""
    matrix = graph.to_scipy()
    sides = two_colours(matrix)
    if sides is not None:
        from scipy.sparse.csgraph import maximum_bipartite_matching

        return int((maximum_bipartite_matching(matrix[~sides][:, sides]) >= 0).sum())
    matrix.data = np.ones(len(matrix.data), np.int64)
    name = exact_peer(matrix)
    return int((PEERS[name].match(PEERS[name].build(matrix, 1)) >= 0).sum()) // 2


def exact_peer(matrix: Any) -> str:
    """The fastest exact peer for a graph among those that are installed."""
    names = ["rustworkx", "networkx"] if two_colours(matrix) is None else ["scipy"]
    for name in names:
        if not missing(name):
            return name
    raise TrothError("no exact matching without an exact library: pip install rustworkx")


def two_colours(matrix: Any) -> np.ndarray | None:
    """The side of every vertex (a Boolean array) where the graph is bipartite, else None.

    In the double cover each edge uv becomes u0-v1 and u1-v0. It keeps the two copies of a vertex apart, in two
    components, exactly where no odd cycle joins them.
    """
    from scipy.sparse import block_array, csr_array
    from scipy.sparse.csgraph import connected_components

    n = matrix.shape[0]
    pattern = csr_array((np.ones(matrix.nnz, np.int8), matrix.indices, matrix.indptr), shape=matrix.shape)
    cover = block_array([[None, pattern], [pattern, None]], format="csr") if n else pattern
    _, label = connected_components(cover, directed=False)
    first, second = label[:n], label[n:]
    return first > second if (first != second).all() else None


def _mates(n: int, pairs: Any) -> np.ndarray:
    mate = np.full(n, -1, np.int32)
    ends = np.array(list(pairs), np.int64).reshape(-1, 2)
    mate[ends[:, 0]], mate[ends[:, 1]] = ends[:, 1], ends[:, 0]
    return mate


def _upper(matrix: Any) -> Any:
    from scipy.sparse import triu

    return triu(matrix, 1, format="coo")


# ---- NetworKit ----


def _networkit(matrix: Any, threads: int) -> Any:
    import networkit

    networkit.setNumberOfThreads(threads)
    upper = _upper(matrix)
    ends = upper.row.astype(np.uint64), upper.col.astype(np.uint64)
    return networkit.GraphFromCoo((upper.data.astype(np.float64), ends), n=matrix.shape[0], weighted=True)


def _networkit_mates(matcher: Any) -> np.ndarray:
    matcher.run()
    return np.asarray(matcher.getMatching().getVector(), np.uint64).astype(np.int32)  # none is 2^64 - 1


def _networkit_suitor(graph: Any) -> np.ndarray:
    from networkit.matching import SuitorMatcher

    return _networkit_mates(SuitorMatcher(graph, False))


def _networkit_sorted(graph: Any) -> np.ndarray:
    import networkit

    networkit.graphtools.sortEdgesByWeight(graph, True)
    return _networkit_mates(networkit.matching.SuitorMatcher(graph, True))


def _networkit_growing(graph: Any) -> np.ndarray:
    from networkit.matching import PathGrowingMatcher

    return _networkit_mates(PathGrowingMatcher(graph))


# ---- NetworkX ----


def _networkx(matrix: Any, threads: int) -> Any:
    import networkx

    return networkx.from_scipy_sparse_array(matrix)


def _networkx_mates(graph: Any) -> np.ndarray:
    import networkx

    return _mates(len(graph), networkx.max_weight_matching(graph))


# ---- rustworkx ----


def _rustworkx(matrix: Any, threads: int) -> Any:
    import rustworkx

    upper = _upper(matrix)
    weight = upper.data
    if weight.dtype.kind == "f" and len(weight):
        weight = np.rint(weight.astype(np.float64) * (SCALE / float(weight.max()))).astype(np.int64)
    graph = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from(range(matrix.shape[0]))
    graph.add_edges_from(list(zip(upper.row.tolist(), upper.col.tolist(), weight.tolist(), strict=True)))
    return graph


def _rustworkx_mates(graph: Any) -> np.ndarray:
    import rustworkx

    return _mates(graph.num_nodes(), rustworkx.max_weight_matching(graph, weight_fn=int))


# ---- SciPy ----


def _scipy(matrix: Any, threads: int) -> tuple:
    from scipy.sparse import diags_array, hstack

    sides = two_colours(matrix)
    if sides is None:
        raise TrothError("SciPy matches bipartite graphs alone")
    rows, columns = sorted((np.flatnonzero(~sides), np.flatnonzero(sides)), key=len)
    values = matrix[rows][:, columns].astype(np.float64)
    raise_by = values.data.max(initial=1.0)
    values.data += raise_by
    return hstack([values, diags_array(np.full(len(rows), raise_by))], format="csr"), rows, columns


def _scipy_mates(problem: tuple) -> np.ndarray:
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    values, rows, columns = problem
    row, column = min_weight_full_bipartite_matching(values, maximize=True)
    real = column < len(columns)
    return _mates(len(rows) + len(columns), np.column_stack([rows[row[real]], columns[column[real]]]))


PEERS = {
    "networkit-suitor": Peer("NetworKit Suitor", "networkit", _networkit, _networkit_suitor),
    "networkit-sorted": Peer("NetworKit sorted Suitor", "networkit", _networkit, _networkit_sorted),
    "networkit-growing": Peer("NetworKit path growing", "networkit", _networkit, _networkit_growing),
    "networkx": Peer("NetworkX (exact)", "networkx", _networkx, _networkx_mates, exact=True, pace=4e-6),
    "rustworkx": Peer("rustworkx (exact)", "rustworkx", _rustworkx, _rustworkx_mates, exact=True, pace=8e-8),
    "scipy": Peer("SciPy (exact)", "scipy", _scipy, _scipy_mates, exact=True, bipartite=True, pace=2e-9),
}
