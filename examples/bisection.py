"""
A multilevel bisection
======================

Cut a graph in two equal parts with few edges between them, in a hundred lines. ``troth.hierarchy`` makes the graph
small; the coarsest graph, of some hundred vertices, is cut by growing one part from a random vertex; and on the way
back every level improves the cut by moving vertices across it (Fiduccia and Mattheyses, 1982). METIS does the same with
years of tuning. Here it is the yardstick, if pymetis is installed.
"""

import heapq
import time

import matplotlib.pyplot as plt
import numpy as np

import troth

BALANCE = 1.03  # of the weight of one part to half of all
PATIENCE = 100  # moves that may make a cut worse before it gets better
TRIES = 8


def cut_of(graph: troth.Graph, side: np.ndarray) -> float:
    """The weight of the edges between the two parts."""
    row = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    return graph.weights[side[row] != side[graph.indices]].sum() / 2


def grow(graph: troth.Graph, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One part grows from a random vertex, always by the neighbour most tied to it, up to half of the weight."""
    side, tie, left = np.ones(graph.n, np.int8), np.zeros(graph.n), weights.sum() / 2
    heap = [(0.0, int(rng.integers(graph.n)))]
    while left > 0:
        v = heapq.heappop(heap)[1] if heap else int(rng.choice(np.flatnonzero(side)))
        if side[v] == 0:
            continue
        side[v] = 0
        left -= weights[v]
        for e in range(graph.indptr[v], graph.indptr[v + 1]):
            u = graph.indices[e]
            if side[u]:
                tie[u] += graph.weights[e]
                heapq.heappush(heap, (-tie[u], int(u)))
    return side


def refine(graph: troth.Graph, weights: np.ndarray, side: np.ndarray) -> np.ndarray:
    """Move vertices across the cut, each once, the greatest gain first; keep the best cut on the way, and repeat."""
    indptr, indices, w = graph.indptr, graph.indices, graph.weights
    row = np.repeat(np.arange(graph.n), np.diff(indptr))
    most, heaviest = BALANCE * weights.sum() / 2, weights.max()
    while True:
        across = np.where(side[row] != side[indices], w, -w.astype(float))
        gain = np.bincount(row, across, graph.n)
        part = [float(weights[side == s].sum()) for s in (0, 1)]
        border = np.unique(row[side[row] != side[indices]]) if max(part) <= most else np.arange(graph.n)
        heap = [(-gain[v], int(v)) for v in border]
        heapq.heapify(heap)
        moved, locked, total = [], np.zeros(graph.n, bool), 0.0
        best = (max(0.0, max(part) - max(most, heaviest)), 0.0, 0)  # too much weight, minus the gain, how many moves
        while heap and len(moved) - best[2] < PATIENCE:
            known, v = heapq.heappop(heap)
            here = side[v]
            if locked[v] or -known != gain[v] or part[1 - here] + weights[v] > max(most, part[here]):
                continue
            side[v], locked[v] = 1 - here, True
            part[here] -= weights[v]
            part[1 - here] += weights[v]
            total += gain[v]
            moved.append(v)
            best = min(best, (max(0.0, max(part) - most), -total, len(moved)))
            for e in range(indptr[v], indptr[v + 1]):
                u = indices[e]
                gain[u] += 2 * w[e] if side[u] == here else -2 * w[e]
                if not locked[u]:
                    heapq.heappush(heap, (-gain[u], int(u)))
        for v in moved[best[2] :]:
            side[v] ^= 1
        if best[2] == 0:
            return side


def bisect(graph: troth.Graph, seed: int = 0, by: str = "matching") -> np.ndarray:
    """The part, 0 or 1, of every vertex."""
    rng = np.random.default_rng(seed)
    levels = troth.hierarchy(graph, stop=200, by=by, seed=seed, max_vertex_weight=graph.n / 100)
    coarsest = levels[-1].graph
    weights = [
        np.ones(graph.n) if level.graph.vertex_weights is None else level.graph.vertex_weights for level in levels
    ]
    drafts = [refine(coarsest, weights[-1], grow(coarsest, weights[-1], rng)) for _ in range(TRIES)]
    side = min(drafts, key=lambda draft: cut_of(coarsest, draft))
    for level, finer, heavy in zip(levels[:0:-1], levels[-2::-1], weights[-2::-1], strict=True):
        side = refine(finer.graph, heavy, level.project(side))
    return side


def metis(graph: troth.Graph) -> np.ndarray | None:
    try:
        import pymetis
    except ImportError:
        return None
    rows = pymetis.CSRAdjacency(graph.indptr, graph.indices)
    same_balance = pymetis.Options(ufactor=round(1000 * (BALANCE - 1)))
    return np.array(pymetis.part_graph(2, rows, eweights=graph.weights, options=same_balance)[1])


print(f"{'':44}{'cut':>8}{'heavier part':>15}{'seconds':>10}")
for spec in ("grid:rows=100,cols=100", "delaunay:n=10000", "rgg:n=10000,degree=8", "stencil:nx=20,ny=20,nz=20"):
    graph = troth.read(f"{spec},weights=unit")
    for name, work in (("troth", bisect), ("METIS", metis)):
        start = time.perf_counter()
        side = work(graph)
        seconds = time.perf_counter() - start
        if side is not None:
            share = max(np.bincount(side)) / graph.n
            print(f"{spec + ', ' + name:44}{cut_of(graph, side):8.0f}{share:15.1%}{seconds:10.2f}")

# The vertices of a coarse graph, each a patch of the grid, and the two parts.
graph = troth.read("grid:rows=60,cols=60,weights=unit")
levels = troth.hierarchy(graph, stop=200)
patch = np.random.default_rng(0).permutation(levels[-1].graph.n)
for level in reversed(levels):
    patch = level.project(patch)
figure, axes = plt.subplots(1, 2, figsize=(7, 3.6), layout="constrained")
for ax, title, values in zip(axes, (f"{patch.max() + 1} vertices", "two parts"), (patch, bisect(graph)), strict=True):
    ax.imshow(values.reshape(60, 60), cmap="Spectral")
    ax.set_title(title)
    ax.axis("off")
plt.show()
