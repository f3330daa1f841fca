"""``Matching``: the result of every engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from html import escape
from types import ModuleType
from typing import Any

import numpy as np

from troth.api.mates import checked_mates, matched_weight
from troth.api.proof import Certificate, cost_of, gap_of
from troth.arrays import arrays_of, as_cupy, device_of, is_on_device, to_host
from troth.graph import Graph
from troth.neighbours.tables import edges_to_table
from troth.words import as_json, at_least


@dataclass(frozen=True, eq=False, repr=False)
class Matching:
    """Pairs of adjacent vertices, no vertex in two of them.

    ``len(m)`` is the number of pairs, so a matching without any is false; ``for u, v in m`` goes over them. What is
    printed is what is known already: nothing is computed for it.

    Attributes
    ----------
    graph : Graph
        The graph.
    mate : ndarray of int32
        ``mate[v]`` is the vertex paired with v, -1 where v is unmatched; on the GPU where the input was.
    algorithm : str
        What was run.
    device : str
        Where it ran: "cpu", "cuda:0", "mpi" or "mpi+cuda".
    ties : str
        The tie rule.
    seed : int
        Of the scramble and of the random algorithms.
    stats : dict
        What the engine counted, and under "seconds" what took how long.
    certificate : Certificate or None
        How much of the optimum this is, proven; None where it was not asked for.

    Examples
    --------
    >>> path = Graph(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32), np.array([2, 2, 3, 3]))
    >>> m = Matching(path, np.array([-1, 2, 1], np.int32), "greedy")
    >>> m
    Matching(n=3, algorithm='greedy', device='cpu')
    >>> m.weight, len(m), list(m), m.labels().tolist()
    (3, 1, [(1, 2)], [0, 1, 1])
    >>> m
    Matching(pairs=1, weight=3, n=3, algorithm='greedy', device='cpu')
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
        """int or float: the sum of the matched weights.

        A Python int, exact, for integer weights. For floats a Python float: float64 sums over blocks of 4096 vertices,
        one pair after another by its smaller vertex, and then one block after another; so threads and devices do not
        change it.
        """
        return matched_weight(self.graph, self)

    @property
    def cost(self) -> int | float | None:
        """int, float or None: the sum of the costs where these are minimised (``maximize=False``).

        That is the reward for every pair, less the weight: exact for integers, and for floats as exact as the weight.
        """
        reward = self.graph.reward
        return None if reward is None else cost_of(reward, self.cardinality, self.weight)

    @property
    def gap(self) -> float | None:
        """float or None: of least cost with a certificate, the part of the cost that may be too much.

        No matching with as many pairs costs less than (1 - gap) of what this one does.
        """
        cost = self.cost
        reward, proof = self.graph.reward, self.certificate
        return (
            None if cost is None or reward is None or proof is None else gap_of(proof, cost, reward, self.cardinality)
        )

    @cached_property
    def cardinality(self) -> int:
        """int: the number of pairs."""
        with self._mates() as (xp, mate):
            return int(xp.count_nonzero(mate > xp.arange(len(mate), dtype=np.int32)))

    @contextmanager
    def _mates(self) -> Iterator[tuple[ModuleType, Any]]:
        """NumPy or CuPy, and the mates as an array of it; their GPU is the current one meanwhile."""
        mate = as_cupy(self.mate, "the mates") if is_on_device(self.mate) else np.asarray(self.mate)
        with arrays_of(device_of(mate)) as xp:
            yield xp, mate

    def edges(self) -> np.ndarray:
        """The pairs (u, v), u < v by vertex number, in the order of u.

        Returns
        -------
        ndarray of two columns
            Vertex numbers as int32, where the mates are; or, where the graph has ``ids``, these, as a NumPy array of
            their own type.
        """
        with self._mates() as (xp, mate):
            smaller = xp.flatnonzero(mate > xp.arange(len(mate), dtype=np.int32))
            pairs = xp.stack([smaller, mate[smaller]], axis=1).astype(np.int32)
        return pairs if self.graph.ids is None else np.asarray(self.graph.ids)[to_host(pairs)]

    def labels(self) -> np.ndarray:
        """A cluster number for every vertex: pairs and unmatched vertices are clusters, numbered by first vertex.

        Returns
        -------
        ndarray of int32
            Where the mates are.
        """
        with self._mates() as (xp, mate):
            first = (mate < 0) | (mate > xp.arange(len(mate), dtype=np.int32))
            label = xp.cumsum(first, dtype=np.int32) - np.int32(1)
            return xp.where(first, label, label[mate])

    def to_table(self, like: Any) -> Any:
        """The pairs as a table with the columns source, target and weight, of the library of ``like``, on the host.

        Where costs are minimised, the third column is cost.

        Parameters
        ----------
        like : str or table
            "pandas", "polars" or "pyarrow", or one of their tables, such as the one that was matched.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table

        Examples
        --------
        >>> import pandas, troth
        >>> likes = pandas.DataFrame({"source": ["ann", "bob"], "target": ["bob", "cy"], "weight": [2, 3]})
        >>> print(troth.match(likes).to_table(like=likes))
          source target  weight
        0    bob     cy       3
        """
        return edges_to_table(*pair_columns(self), like, value_name(self.graph))

    def to_dict(self) -> dict[str, Any]:
        """Everything but the mates, in types that JSON has.

        Returns
        -------
        dict
        """
        return {
            "algorithm": self.algorithm,
            "device": self.device,
            "ties": self.ties,
            "seed": self.seed,
            "n": self.graph.n,
            "m": self.graph.m,
            "pairs": self.cardinality,
            "weight": self.weight,
            **({} if self.cost is None else {"cost": self.cost, "reward": self.graph.reward, "gap": self.gap}),
            "certificate": asdict(self.certificate) if self.certificate else None,
            "stats": as_json(self.stats),
        }

    def __len__(self) -> int:
        return self.cardinality

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """The pairs that ``edges`` lists, as Python objects."""
        return map(tuple, to_host(self.edges()).tolist())

    def __repr__(self) -> str:
        found = vars(self)  # where what was computed is kept
        facts = [f"pairs={found['cardinality']}"] if "cardinality" in found else []
        if self.certificate is not None:
            facts += [f"weight={self.certificate.weight}", f"ratio>={at_least(self.certificate.ratio)}"]
        elif "weight" in found:
            facts.append(f"weight={found['weight']}")
        if self.graph.reward is not None and {"weight", "cardinality"} <= found.keys():
            facts.append(f"cost={self.cost}")
        facts += [f"n={self.graph.n}", f"algorithm={self.algorithm!r}", f"device={self.device!r}"]
        return f"Matching({', '.join(facts)})"

    def _repr_html_(self) -> str:
        """A small table for notebooks, which may compute what it shows."""
        try:
            facts = {"pairs": f"{self.cardinality:,}", "weight": f"{self.weight:,}"}
            if self.cost is not None:
                facts["cost"] = f"{self.cost:,}"
        except Exception:  # the mates may be no matching, or the device be full
            return f"<pre>{escape(repr(self))}</pre>"
        if self.certificate is not None:
            facts["certified ratio"] = f"at least {at_least(self.certificate.ratio)}"
        facts |= {"algorithm": self.algorithm, "device": self.device}
        rows = "".join(f"<tr><th>{name}</th><td>{escape(fact)}</td></tr>" for name, fact in facts.items())
        return f"<table><caption>Matching of {self.graph.n:,} vertices</caption>{rows}</table>"


def pair_columns(m: Matching) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pairs as three arrays on the host: the two ids, and the weight or, where that is made of one, the cost."""
    source, target = to_host(m.edges()).T
    mate, held = (to_host(array) for array in checked_mates(m.graph, m))
    values = held.view(m.graph.weights.dtype)[mate > np.arange(len(mate))]
    return source, target, values if m.graph.reward is None else m.graph.reward - values


def value_name(graph: Graph) -> str:
    """What the third of ``pair_columns`` is."""
    return "weight" if graph.reward is None else "cost"
