"""The fraction of the vertices that one round of blue-red matching matches: expected, and measured.

In a random graph of n vertices each pair is an edge with probability d, and each vertex is blue with probability p.
With N red vertices that get a proposal the fraction is 2 E(N) / n. Fagginger Auer and Bisseling 2011 (slides) have

- ``limit``, their equation (2), for n to infinity and any density;
- ``finite``, their formula before the limit. It divides by the *mean* number of red neighbours, and takes the proposals
  of different vertices for independent.

``exact`` needs neither. Given that r vertices are red, a blue one proposes to a given red one with probability
(1 - (1 - d)^r) / r: it has a red neighbour with probability 1 - (1 - d)^r, and all r are alike. Whom it asks depends on
its own edges alone, so blue vertices are independent, and E(N | r) = r (1 - (1 - (1 - (1 - d)^r) / r)^(n - r)).
"""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from troth.words import BEST_P as P

if TYPE_CHECKING:
    from bench.setting import Setting
    from troth.graph import Graph

OVER = sorted({P, *(round(0.05 * i, 2) for i in range(1, 20)), *(round(0.42 + 0.02 * i, 2) for i in range(12))})
RUNS = 4  # for each p


def limit(p: Any) -> Any:
    """Equation (2) of the talk.

    >>> print(round(limit(P), 4))
    0.6357
    """
    return 2 * (1 - p) * (1 - np.exp(-p / (1 - p)))


def best_p() -> float:
    """Where ``limit`` is greatest. With x = p / (1 - p) it is 2 (1 - exp(-x)) / (1 + x), so (2 + x) exp(-x) = 1 there.

    >>> round(best_p(), 5)
    0.53406
    """
    from scipy.optimize import brentq

    x = brentq(lambda x: (2 + x) * np.exp(-x) - 1, 0.5, 3)
    return x / (1 + x)


def finite(p: Any, n: int, d: float) -> Any:
    """The talk's formula for n vertices and density d.

    >>> print(round(finite(P, 10**6, 0.01) - limit(P), 3))
    -0.0
    """
    return 2 * (1 - p) * (1 - (1 - p * d / (1 + (1 - p) * (d * (n - 1) - 1))) ** (n - 1))


def exact(p: float, n: int, d: float) -> float:
    """The expected fraction, as the head of this file has it.

    >>> round(exact(0.5, 2, 1.0), 12)  # two vertices with an edge: matched where their colours differ
    0.5
    """
    from scipy.stats import binom

    r = np.arange(1, n)
    asked = (1 - (1 - d) ** r) / r
    return float(2 / n * np.sum(binom.pmf(r, n, 1 - p) * r * (1 - (1 - asked) ** (n - r))))


def top(p: Any, fraction: Any) -> float:
    """Where a measured curve is greatest: the vertex of a parabola through the points near the top.

    >>> print(round(top([0.4, 0.5, 0.6], [0.5, 0.6, 0.5]), 6))
    0.5
    """
    p, fraction = np.asarray(p), np.asarray(fraction)
    near = abs(p - p[np.argmax(fraction)]) < 0.13
    a, b, _ = np.polyfit(p[near], fraction[near], 2)
    return float(-b / (2 * a))


def copies(n: int, d: float, count: int, seed: int) -> Graph:
    """So many random graphs of n vertices and density d beside one another: one run is as many samples."""
    from scipy.sparse import coo_array

    from troth.api.opening import as_graph

    u, v = np.triu_indices(n, 1)
    copy, edge = np.nonzero(np.random.default_rng(seed).random((count, len(u))) < d)
    ends = copy * n + u[edge], copy * n + v[edge]
    return as_graph(coo_array((np.ones(len(copy), np.int32), ends), shape=(n * count, n * count)), symmetrize="max")


def over_p(graph: Graph, device: str, setting: Setting) -> dict[str, list[float]]:
    """The fraction that the first round matches, over p, averaged over a few seeds."""
    import troth

    found = []
    for p in OVER:
        words = {"mode": "random", "p": p, "rounds": 1, "threads": setting.threads}
        runs = [
            troth.match(graph, algorithm="blue-red", device=device, seed=setting.seed + i, **words) for i in range(RUNS)
        ]
        found.append(mean(2 * m.cardinality / graph.n for m in runs))
    return {"p": OVER, "fraction": found}
