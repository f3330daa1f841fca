"""PyAMG: aggregates of vertices from a troth hierarchy.

Aggregation-based multigrid makes one coarse unknown of a few strongly coupled ones. Pairwise aggregation matches them,
contracts the pairs and, for aggregates of four, does so again. ``pairwise_aggregation`` does this as PyAMG's function
of that name does, for one level; ``predefined_aggregates`` does it for all levels at once, from one hierarchy.

Strengths are PyAMG's: couplings relative to the largest of their row, weak ones left out. Contraction adds them up, as
the Galerkin product adds up couplings, so a second matching needs no coarse matrix. Of equal strengths those between
smaller numbers come first (``ties="low"``): on regular meshes that makes regular aggregates.

Reference: Y. Notay, An aggregation-based algebraic multigrid method, ETNA 37, 2010.
"""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from troth.api.coarsening import hierarchy
from troth.api.levels import Level
from troth.api.opening import as_graph
from troth.errors import TrothError
from troth.graph import Graph
from troth.validate import check, whole

if TYPE_CHECKING:
    from scipy.sparse import bsr_array, csr_array


def pairwise_aggregation(
    A: Any, *, matchings: int = 2, theta: float = 0.25, norm: str = "min", compute_P: bool = False, **options: Any
) -> tuple[csr_array | bsr_array, np.ndarray]:
    """Aggregates of up to ``2 ** matchings`` unknowns; takes and returns what PyAMG's function of this name does.

    Parameters
    ----------
    A : csr_array, csr_matrix, bsr_array or bsr_matrix
        A square matrix of SciPy; the blocks of a BSR matrix are aggregated whole.
    matchings : int, optional
        How often pairs are contracted.
    theta : float, optional
        Of PyAMG's ``classical_strength_of_connection``: from which share of a row's largest coupling on one is strong.
    norm : str, optional
        Of the same: "min" compares couplings by sign and size, "abs" by size.
    compute_P : bool, optional
        Return an interpolation in the type of A rather than integers.
    **options : dict
        Of ``troth.hierarchy``, such as ``ties``, ``seed`` and ``threads``.

    Returns
    -------
    T : csr_array or bsr_array
        One column an aggregate.
    roots : ndarray of int
        The first unknown of each aggregate.

    Examples
    --------
    >>> from pyamg.gallery import poisson
    >>> T, roots = pairwise_aggregation(poisson((4,), format="csr"), matchings=1)
    >>> T.toarray().tolist(), roots.tolist()
    ([[1, 0], [1, 0], [0, 1], [0, 1]], [0, 2])
    """
    from scipy.sparse import bsr_array

    if "levels" in options:
        raise TrothError(f"aggregation takes no levels={options['levels']!r}: give matchings={options['levels']!r}")
    options["levels"] = check("matchings", matchings, whole(0))
    T = _operator(hierarchy(strength_graph(A, theta=theta, norm=norm), **_defaults(options)))
    roots = np.unique(T.indices, return_index=True)[1]
    T = T.astype(A.dtype) if compute_P else T
    if A.format == "bsr":
        block = np.identity(A.blocksize[0], T.dtype)
        shape = tuple(len(block) * size for size in T.shape)
        T = bsr_array((np.tile(block, (len(T.indices), 1, 1)), T.indices, T.indptr), shape=shape)
    return T, roots


def predefined_aggregates(
    A: Any, *, matchings: int = 2, theta: float = 0.25, norm: str = "min", max_coarse: int = 10, **options: Any
) -> list[tuple[str, dict[str, csr_array]]]:
    """Aggregates for every level of a solver, as the argument ``aggregate=`` of PyAMG's solvers.

    One hierarchy, made of the strengths in A alone, serves all levels: none of them looks at its matrix again.

    Parameters
    ----------
    A : csr_array, csr_matrix, bsr_array or bsr_matrix
        A square matrix of SciPy.
    matchings : int, optional
        As in ``pairwise_aggregation``.
    theta : float, optional
        As in ``pairwise_aggregation``.
    norm : str, optional
        As in ``pairwise_aggregation``.
    max_coarse : int, optional
        No level that has so few unknowns is made coarser.
    **options : dict
        Of ``troth.hierarchy``; ``by="strongest", matchings=1, ties="hash"`` makes one step of clusters a level.

    Returns
    -------
    list of tuple
        For each level but the last ``("predefined", {"AggOp": T})``.

    Examples
    --------
    >>> import pyamg
    >>> A = pyamg.gallery.poisson((50, 50), format="csr")
    >>> ml = pyamg.smoothed_aggregation_solver(A, aggregate=predefined_aggregates(A), smooth=None)
    >>> [level.A.shape[0] for level in ml.levels]
    [2500, 625, 157, 41, 12, 7]
    """
    matchings = check("matchings", matchings, whole(1))
    levels = hierarchy(strength_graph(A, theta=theta, norm=norm), **_defaults({"stop": max_coarse, **options}))
    starts = range(0, max(len(levels) - 1, 1), matchings)  # PyAMG wants one step at least, be it of aggregates of one
    steps = [levels[start : start + matchings + 1] for start in starts]
    return [("predefined", {"AggOp": _operator(step)}) for step in steps]


def strength_graph(A: Any, *, theta: float = 0.25, norm: str = "min") -> Graph:
    """The graph of strong couplings: of the two directions of an edge the stronger one counts.

    Parameters
    ----------
    A : csr_array, csr_matrix, bsr_array or bsr_matrix
        A square matrix of SciPy; each block of a BSR matrix is a vertex.
    theta : float, optional
        As in ``pairwise_aggregation``.
    norm : str, optional
        As in ``pairwise_aggregation``.

    Returns
    -------
    Graph
    """
    from pyamg.strength import classical_strength_of_connection
    from scipy.sparse import issparse

    if not issparse(A) or A.format not in ("csr", "bsr"):
        what = f"a {A.format} matrix" if issparse(A) else type(A).__name__
        raise TrothError(f"aggregation takes a CSR or BSR matrix, not {what}: convert it with tocsr()")
    if A.shape[0] != A.shape[1]:
        raise TrothError(f"aggregation takes a square matrix, not one of {A.shape[0]} x {A.shape[1]}")
    if A.dtype.kind not in "fc" or not np.isfinite(A.data).all():
        raise TrothError("aggregation takes a matrix of finite floats: convert it with astype(float), and look for NaN")
    if A.dtype.kind == "c" and norm == "min":
        raise TrothError("norm='min' compares signs, which complex numbers have not: choose norm='abs'")
    if not isinstance(theta, Real) or not 0 <= theta <= 1:  # nor NaN, by which nothing would be strong
        raise TrothError(f"theta={theta!r}: give a number from 0 to 1")
    strength = classical_strength_of_connection(A, theta=theta, block=A.format == "bsr", norm=norm)
    return as_graph(strength, symmetrize="max", maximize=True)


def _defaults(options: dict[str, Any]) -> dict[str, Any]:
    """No two-hop pairs: unknowns that are not coupled have nothing to say to each other."""
    return {"stop": 1, "ties": "low", "twohop": False, **options}


def _operator(levels: list[Level]) -> csr_array:
    """A row for each vertex of the first level, with one entry: in the column of the last level's that holds it."""
    from scipy.sparse import csr_array

    n, size = levels[0].graph.n, levels[-1].graph.n
    cluster = np.arange(size, dtype=np.int32)
    for level in reversed(levels[1:]):
        cluster = level.project(cluster)
    return csr_array((np.ones(n, np.int32), cluster, np.arange(n + 1, dtype=np.int32)), shape=(n, size))
