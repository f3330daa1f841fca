"""``Matching``: the result of every engine."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from troth.errors import TrothError
from troth.graph import Graph
from troth.verify import Certificate, on_host


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

    @property
    def _held(self) -> np.ndarray:
        """The bits of the weight matched at each vertex; not kept."""
        from troth.cpu.verify import matched_bits

        held, broken = matched_bits(self.graph, on_host(self.mate))
        if broken < self.graph.n:
            raise TrothError(f"vertex {broken}: its mate is no mate; troth.verify says why")
        return held

    @cached_property
    def weight(self) -> int | float:
        """The sum of the matched weights.

        A Python int, exact, for integer weights. For floats a Python float: float64 sums over blocks of 4096 vertices,
        one pair after another by its smaller vertex, and then one block after another; so threads and devices do not
        change it.
        """
        from troth.cpu.verify import matched_weight

        return matched_weight(self.graph, on_host(self.mate), self._held)

    @cached_property
    def cardinality(self) -> int:
        """The number of pairs."""
        return len(self._smaller)

    @property
    def _smaller(self) -> np.ndarray:
        """The smaller vertex of each pair, ascending."""
        mate = on_host(self.mate)
        return np.flatnonzero(mate > np.arange(len(mate)))

    def edges(self) -> np.ndarray:
        """The pairs (u, v), u < v by vertex number, in the order of u, as an array of two columns.

        Vertex numbers, or the names in ``graph.ids`` where the graph has them (an array of their own type).
        """
        smaller = self._smaller
        pairs = np.stack([smaller, on_host(self.mate)[smaller]], axis=1).astype(np.int32)
        return pairs if self.graph.ids is None else np.asarray(self.graph.ids)[pairs]

    def labels(self) -> np.ndarray:
        """A cluster number for every vertex: pairs and unmatched vertices are clusters, numbered by first vertex."""
        mate = on_host(self.mate)
        first = (mate < 0) | (mate > np.arange(len(mate)))
        label = np.cumsum(first, dtype=np.int32) - np.int32(1)
        return np.where(first, label, label[mate])

    def to_table(self, like: Any = None) -> Any:
        """The pairs as a table with the columns source, target and weight, of the library of ``like``."""
        from troth.interop.tables import edges_to_table

        source, target = self.edges().T
        weight = self._held.view(self.graph.weights.dtype)[self._smaller]
        return edges_to_table(source, target, weight, like)

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
            "stats": {
                name: value.tolist() if hasattr(value, "tolist") else value for name, value in self.stats.items()
            },
        }

    def __repr__(self) -> str:
        # Down to four digits: to the nearest would claim more than was proven.
        proven = f", ratio>={math.floor(self.certificate.ratio * 10**4) / 10**4}" if self.certificate else ""
        head = f"pairs={self.cardinality}, weight={self.weight}{proven}, n={self.graph.n}"
        return f"Matching({head}, algorithm={self.algorithm!r}, device={self.device!r})"
