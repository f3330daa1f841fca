"""Tiny graphs that every engine meets, and Hypothesis strategies for random ones; built without the gate.

``CORPUS`` is a list of (name, function that builds the graph), ``on_corpus`` the decorator that runs a test on each,
``every_dtype`` that which gives it each type of weights, and ``graphs()`` a strategy. Engines are compiled anew for
each type of weights, so all but the ``USUAL`` ones are left to slow tests, or to those that name them. ``optimum`` is
the exact weight of a heaviest matching, by brute force.
"""

from __future__ import annotations

import gzip
from fractions import Fraction
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import strategies as st
from shapes import build, complete, cycle, grid, hub, path, star, trap

from troth import reference
from troth.api.opening import as_graph
from troth.graph import Graph
from troth.order import Order, make_order

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
DTYPES = INTEGERS + FLOATS
USUAL = ("int64", "uint64", "float32", "float64")
TIES = ("hash", "low", "high", "degree")
ULP = 2.0**-52
TINY = 5e-324  # the least positive float64, a denormal
HUGE = float(np.finfo(np.float64).max)


def _scrambled(u: int, v: int) -> int:
    return 1 + (u * 2654435761 + v * 40503) % 1009


CORPUS = [
    ("empty", lambda: build([])),
    ("one-vertex", lambda: build([], 1)),
    ("isolated-vertices", lambda: build([], 5)),
    ("one-edge", lambda: build([(0, 1, 3)])),
    ("one-edge-among-isolated", lambda: build([(2, 5, 3)], 8)),
    ("star", lambda: star([3, 1, 4, 1, 5, 5, 2])),
    ("path-even", lambda: path([2, 7, 1, 8, 2, 8, 1])),
    ("path-odd", lambda: path([5, 5, 5, 5])),
    ("path-increasing", lambda: path(range(1, 30))),
    ("path-decreasing-float32", lambda: path([1 / k for k in range(1, 30)], np.float32)),
    ("triangle", lambda: cycle([1, 1, 1])),
    ("cycle-odd", lambda: cycle([4, 2, 4, 2, 4, 4, 1])),
    ("cycle-even", lambda: cycle([6, 6, 6, 6, 6, 6])),
    ("complete-equal", lambda: complete(9, lambda u, v: 1)),
    ("complete-scrambled", lambda: complete(12, _scrambled, np.float64)),
    ("two-components", lambda: build([(0, 3, 2), (3, 4, 2), (1, 2, 9), (2, 5, 9), (1, 5, 8)], 7)),
    ("equal-float64", lambda: grid(6, 7, lambda u, v: 0.1, np.float64)),
    ("grid-scrambled", lambda: grid(8, 9, _scrambled, np.int16)),
    ("near-ties-float64", lambda: complete(10, lambda u, v: 1 + (u * v % 7) * ULP, np.float64)),
    ("near-ties-path", lambda: path([1 + k * ULP for k in range(20)], np.float64)),
    ("near-ties-and-huge", lambda: path([1.0, 1 + ULP, 1.0, 1 + ULP, HUGE / 8, 2.0, 1 + 2 * ULP], np.float64)),
    ("int64-last-bit", lambda: complete(9, lambda u, v: 2**53 + 1 + (u + v) % 2)),
    ("int64-greatest", lambda: cycle([2**63 - 1, 2**63 - 2, 2**63 - 3, 2**63 - 2, 2**63 - 1])),
    ("int64-wide-range", lambda: path([1, 2, 2**62, 2**62 + 1, 2**62, 3, 1])),
    ("uint64-half", lambda: star([2**63 - 1, 2**63 - 1, 1], np.uint64)),
    ("uint8-greatest", lambda: cycle([255, 254, 255, 1, 255], np.uint8)),
    ("int8-greatest", lambda: path([127, 126, 127, 127], np.int8)),
    ("uint32-greatest", lambda: cycle([2**32 - 1, 2**32 - 2, 2**32 - 1, 2**31, 2**31 - 1], np.uint32)),
    ("denormal", lambda: complete(7, lambda u, v: TINY * (1 + (u * v) % 5), np.float64)),
    ("denormal-float32", lambda: path([1e-45, 2e-45, 3e-45, 2e-45], np.float32)),
    ("huge", lambda: path([HUGE / 4, HUGE / 2, HUGE / 4], np.float64)),
    ("denormal-and-huge", lambda: path([TINY, HUGE / 2, TINY, 1.0, TINY, TINY], np.float64)),
    ("grid-equal", lambda: grid(7, 8, lambda u, v: 1)),
    ("trap", lambda: trap(6)),
    ("hub", lambda: hub(40)),
    # The worked example of Naim et al.: a-b 4, a-c 5, c-d 7, c-e 9, d-e 10 gives {d-e, a-c}.
    ("slides", lambda: build([(0, 1, 4), (0, 2, 5), (2, 3, 7), (2, 4, 9), (3, 4, 10)])),
]

RARE = {name for name, make in CORPUS if make().weights.dtype.name not in USUAL}


def _marks(rare: bool) -> list:
    return [pytest.mark.slow] if rare else []


on_corpus = pytest.mark.parametrize(
    "graph", [pytest.param(make(), id=name, marks=_marks(name in RARE)) for name, make in CORPUS]
)
every_dtype = pytest.mark.parametrize(
    "dtype", [pytest.param(dtype, marks=_marks(dtype not in USUAL)) for dtype in DTYPES]
)


def corpus(name: str) -> Graph:
    """One graph of the corpus, by name."""
    return dict(CORPUS)[name]()


# ---- larger ones, drawn; these go through the gate ----


def near_ties(rng, m: int) -> np.ndarray:
    """Weights that differ in their last bits, over so wide a range that prefixes lose those bits."""
    weights = 1 + rng.integers(0, 9, m) * ULP
    weights[:3] = 1e-300, 1e300, 1e-5
    return weights


def wide_integers(rng, m: int) -> np.ndarray:
    """The same in int64."""
    weights = 2**53 + rng.integers(0, 5, m)
    weights[:3] = 1, 2**63 - 1, 2**63 - 2
    return weights


def fractions(rng, m: int) -> np.ndarray:
    """Weights whose sums depend on their order."""
    return 1 / rng.integers(1, 99, m)


def drawn(n: int, m: int, weigh, seed: int = 0) -> Graph:
    """m random edges on n vertices; ``weigh(rng, m)``."""
    rng = np.random.default_rng(seed)
    return as_graph((rng.integers(0, n, m), np.append(rng.integers(0, n, m - 1), n - 1), weigh(rng, m)))


def drawn_with_hub(n: int, m: int, weigh, seed: int = 0) -> Graph:
    """m random edges on n vertices, and vertex 7 adjacent to every third one."""
    rng = np.random.default_rng(seed)
    spokes = np.arange(0, n, 3)
    row = np.concatenate([rng.integers(0, n, m), np.full(len(spokes), 7), [n - 2]])
    col = np.concatenate([rng.integers(0, n, m), spokes, [n - 1]])
    return as_graph((row, col, weigh(rng, len(row))))


def order_of(graph: Graph, ties: str = "hash", seed: int = 0) -> Order:
    """The order in which the engines see a graph."""
    return make_order(ties, seed, graph.bits_range(), graph)


def greedy(graph: Graph, ties: str = "hash") -> np.ndarray:
    """The mates that every greedy engine gives."""
    return reference.greedy(graph, order_of(graph, ties))


def same_graphs(a: Graph, b: Graph) -> None:
    """Equal arrays of equal types, vertex weights included."""
    for name in ("indptr", "indices", "weights", "vertex_weights"):
        x, y = getattr(a, name), getattr(b, name)
        assert (x.dtype, x.shape) == (y.dtype, y.shape), name
        assert x.tobytes() == y.tobytes(), name


def _weights(dtype: str) -> st.SearchStrategy:
    """Positive, finite numbers of a type; small ones often, so that a failing test is readable."""
    if dtype in FLOATS:
        kind = np.finfo(dtype)
        least, most = float(kind.smallest_subnormal), float(kind.max)
        anything = st.floats(least, most, width=kind.bits)
    else:
        most = min(int(np.iinfo(dtype).max), 2**63 - 1)
        anything = st.integers(1, most) | st.integers(most - 3, most)
    return st.integers(1, 5) | anything


def _nearby(w, dtype: str):
    """The next number of the type above w, or below where w is the greatest."""
    if dtype in FLOATS:
        scalar = np.dtype(dtype).type
        return float(np.nextafter(scalar(w), scalar(np.inf if w < np.finfo(dtype).max else 0)))
    return w + 1 if w < min(int(np.iinfo(dtype).max), 2**63 - 1) else w - 1


@st.composite
def graphs(draw, max_n: int = 12, dtypes=USUAL) -> Graph:
    """Random graphs of up to ``max_n`` vertices: few distinct weights, so ties and near-ties are the rule."""
    dtype = draw(st.sampled_from(dtypes))
    n = draw(st.integers(0, max_n))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=3 * n)) if pairs else []
    pool = draw(st.lists(_weights(dtype), min_size=1, max_size=4))
    pool += [_nearby(w, dtype) for w in pool[:2]]
    return build([(u, v, draw(st.sampled_from(pool))) for u, v in chosen], n, dtype)


@st.composite
def matchings(draw, max_n: int = 9, dtypes=USUAL) -> tuple[Graph, np.ndarray]:
    """A graph and any matching of it: maximal or not, heavy or not."""
    graph = draw(graphs(max_n, dtypes))
    owner = np.repeat(np.arange(graph.n), np.diff(graph.indptr)).tolist()
    edges = draw(st.permutations([(u, v) for u, v in zip(owner, graph.indices.tolist(), strict=True) if u < v]))
    mate = np.full(graph.n, -1, np.int32)
    for u, v in edges[: draw(st.integers(0, len(edges)))]:
        if mate[u] < 0 and mate[v] < 0:
            mate[u], mate[v] = v, u
    return graph, mate


def optimum(graph: Graph) -> Fraction:
    """The exact weight of a heaviest matching, in O(n 2^n): pair the first vertex with each other one, or with none."""
    weight: dict[tuple[int, int], Fraction] = {}
    for u in range(graph.n):
        for e in range(graph.indptr[u], graph.indptr[u + 1]):
            weight[u, int(graph.indices[e])] = Fraction(graph.weights[e].item())

    @cache
    def best(vertices: frozenset[int]) -> Fraction:
        if not vertices:
            return Fraction(0)
        first, *others = sorted(vertices)
        rest = vertices - {first}
        options = [weight[first, v] + best(rest - {v}) for v in others if (first, v) in weight]
        return max([best(rest), *options])

    return best(frozenset(range(graph.n)))


def exact_weight(graph: Graph, mate) -> Fraction:
    """The exact sum of the matched weights."""
    total = Fraction(0)
    for u in range(graph.n):
        for e in range(graph.indptr[u], graph.indptr[u + 1]):
            if u < graph.indices[e] == mate[u]:
                total += Fraction(graph.weights[e].item())
    return total


def read_real(path: Path) -> Graph:
    """|a_uv| of a matrix, the larger direction, without the diagonal; or a METIS graph with edge weights."""
    if ".graph" in path.name:
        with gzip.open(path, "rt") as file:
            lines = [line.split() for line in file if not line.startswith("%")]
        skip = 1 if lines[0][2].zfill(3)[1] == "1" else 0  # a vertex weight first
        rows = [(u, line[skip:]) for u, line in enumerate(lines[1 : 1 + int(lines[0][0])])]
        found = [(u, int(v) - 1, int(w)) for u, row in rows for v, w in zip(row[::2], row[1::2], strict=True)]
        return build([edge for edge in found if edge[0] < edge[1]], len(rows))
    matrix = scipy.io.mmread(path).tocoo()
    low, high = np.minimum(matrix.row, matrix.col), np.maximum(matrix.row, matrix.col)
    entries = sorted(zip(low.tolist(), high.tolist(), np.abs(matrix.data).tolist(), strict=True))
    heaviest = [list(group)[-1] for _, group in groupby(entries, key=lambda entry: entry[:2])]
    return build([(u, v, w) for u, v, w in heaviest if u < v and w > 0], matrix.shape[0], matrix.dtype)
