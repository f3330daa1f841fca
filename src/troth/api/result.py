"""``Matching``: the result of every engine."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from troth.api.checking import Certificate, checked_mates, matched_weight
from troth.arrays import arrays_of, as_cupy, device_of, is_on_device, to_host
from troth.graph import Graph
from troth.neighbours.tables import edges_to_table
from troth.words import as_json


@dataclass(frozen=True, eq=False, repr=False)
class Matching:
    """Pairs of adjacent vertices, no vertex in two of them.

    Attributes
    ----------
    graph : the graph
    mate : int32 array, ``mate[v]`` is the vertex paired with v, -1 where v is unmatched; on the GPU where the input was
    algorithm, device, ties, seed : what was run
    stats : what the engine counted and timed
    certificate : how much of the optimum this is, proven; None where it was not asked for

    Examples
    --------
    >>> path = Graph(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32), np.array([2, 2, 3, 3]))
    >>> m = Matching(path, np.array([-1, 2, 1], np.int32), "greedy")
    >>> m
    Matching(pairs=1, weight=3, n=3, algorithm='greedy', device='cpu')
    >>> m.edges().tolist(), m.labels().tolist()
    ([[1, 2]], [0, 1, 1])
    """

    graph: Graph
    mate: np.ndarray
    algorithm: str
    device: str = "cpu"
    ties: str = "hash"
    seed: int = 0
    stats: dict[str, Any] = field(default_factory=dict)
    certificate: Certificate | None = None

    @cached_property
    def weight(self) -> int | float:
        """The sum of the matched weights.

        A Python int, exact, for integer weights. For floats a Python float: float64 sums over blocks of 4096 vertices,
        one pair after another by its smaller vertex, and then one block after another; so threads and devices do not
        change it.
        """
        return matched_weight(self.graph, self)

    @cached_property
    def cardinality(self) -> int:
        """The number of pairs."""
        with self._mates() as (xp, mate):
            return int(xp.count_nonzero(mate > xp.arange(len(mate), dtype=np.int32)))

    @contextmanager
    def _mates(self) -> Iterator[tuple[ModuleType, Any]]:
        """NumPy or CuPy, and the mates as an array of it; their GPU is the current one meanwhile."""
        mate = as_cupy(self.mate, "the mates") if is_on_device(self.mate) else np.asarray(self.mate)
        with arrays_of(device_of(mate)) as xp:
            yield xp, mate

    def edges(self) -> np.ndarray:
        """The pairs (u, v), u < v by vertex number, in the order of u, as an array of two columns, where the mates are.

        Vertex numbers, or the names in ``graph.ids`` where the graph has them (a NumPy array of their own type).
        """
        with self._mates() as (xp, mate):
            smaller = xp.flatnonzero(mate > xp.arange(len(mate), dtype=np.int32))
            pairs = xp.stack([smaller, mate[smaller]], axis=1).astype(np.int32)
        return pairs if self.graph.ids is None else np.asarray(self.graph.ids)[to_host(pairs)]

    def labels(self) -> np.ndarray:
        """A cluster number for every vertex: pairs and unmatched vertices are clusters, numbered by first vertex.

        The array is where the mates are.
        """
        with self._mates() as (xp, mate):
            first = (mate < 0) | (mate > xp.arange(len(mate), dtype=np.int32))
            label = xp.cumsum(first, dtype=np.int32) - np.int32(1)
            return xp.where(first, label, label[mate])

    def to_table(self, like: Any) -> Any:
        """The pairs as a table with the columns source, target and weight, of the library of ``like``, on the host.

        Parameters
        ----------
        like
            "pandas", "polars" or "pyarrow", or one of their tables, such as the one that was matched

        Examples
        --------
        >>> import pandas, troth
        >>> likes = pandas.DataFrame({"source": ["ann", "bob"], "target": ["bob", "cy"], "weight": [2, 3]})
        >>> print(troth.match(likes).to_table(like=likes))
          source target  weight
        0    bob     cy       3
        """
        source, target = to_host(self.edges()).T
        mate, held = (to_host(array) for array in checked_mates(self.graph, self))
        held = held.view(self.graph.weights.dtype)
        return edges_to_table(source, target, held[mate > np.arange(len(mate))], like)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the mates, in types that JSON has."""
        return {
            "algorithm": self.algorithm,
            "device": self.device,
            "ties": self.ties,
            "seed": self.seed,
            "n": self.graph.n,
            "m": self.graph.m,
            "pairs": self.cardinality,
            "weight": self.weight,
            "certificate": asdict(self.certificate) if self.certificate else None,
            "stats": as_json(self.stats),
        }

    def __repr__(self) -> str:
        # Down to four digits: to the nearest would claim more than was proven.
        proven = f", ratio>={math.floor(self.certificate.ratio * 10**4) / 10**4}" if self.certificate else ""
        head = f"pairs={self.cardinality}, weight={self.weight}{proven}, n={self.graph.n}"
        return f"Matching({head}, algorithm={self.algorithm!r}, device={self.device!r})"
