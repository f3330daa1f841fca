"""A level of a hierarchy: a coarse graph, and how values go up and down between it and the finer one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from troth.arrays import arrays_of, make_room_to_sort
from troth.errors import TrothError
from troth.graph import Graph


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
        make_room_to_sort(xp, len(x), 8)
        by_cluster = xp.argsort(self.map, kind="stable")
        sizes = xp.bincount(self.map, minlength=self.graph.n)
        starts = xp.cumsum(sizes) - sizes
        out = x[by_cluster[starts]]
        for place in range(1, int(sizes.max()) if len(sizes) else 0):
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
