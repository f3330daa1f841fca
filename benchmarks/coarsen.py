"""Coarsening: down to 1000 vertices on CPU threads and on a GPU, step by step, and against SciPy.

    python benchmarks/coarsen.py                       # everything (``make bench-coarsen``)
    python benchmarks/coarsen.py goals --threads 16    # some questions

Method: the least wall-clock time of several repeats, a fresh ``Graph`` for each; on the GPU the graph is made on the
card, and the device is idle before and after. Speed is edges of the finest graph a second, over all levels. What is
called conserved is compared in whole numbers.
"""

from __future__ import annotations

import os
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from _report import ask
from scipy.sparse import csr_array
from troth.bench.setting import Setting

import troth
from troth.cuda._device import is_available

HERE = Path(__file__).parent
GRAPHS = {
    "R-MAT 20 x 16": "rmat:scale=20,edgefactor=16",
    "grid 2000^2": "grid:rows=2000,cols=2000",
    "Erdos-Renyi 2^20, degree 16": "erdos-renyi:n=1048576,degree=16",
    "rgg 2^20": "rgg:n=1048576,degree=13",
    "stencil 100^3": "stencil:nx=100,ny=100,nz=100",
    "hubs": "hubs:n=1048576,hubs=8,degree=200000",
}
GOALS = dict.fromkeys(("R-MAT 20 x 16", "grid 2000^2"), (30e6, 2e9))  # edges a second on two cores, and on an H200
STEPS = ("match", "twohop", "contract")


def fresh(graph: troth.Graph) -> troth.Graph:
    """The same arrays; nothing that an earlier run found out is kept."""
    return troth.Graph(graph.indptr, graph.indices, graph.weights)


def wait() -> None:
    if is_available():
        import cupy

        cupy.cuda.get_current_stream().synchronize()


def down(graph: troth.Graph, repeats: int, **options) -> tuple[float, dict[str, float], list[troth.Level]]:
    """The least seconds of a hierarchy, the seconds of its steps in that run, and the levels."""
    best, steps = float("inf"), {}
    for attempt in range(repeats + 1):
        again, levels = fresh(graph), []  # what the last run made is given back: two hierarchies would need new memory
        wait()
        start = time.perf_counter()
        levels = troth.hierarchy(again, **options)
        wait()
        seconds = time.perf_counter() - start
        if attempt and seconds < best:  # the first compiles
            best = seconds
            steps = {step: sum(level.stats["seconds"][step] for level in levels[1:]) for step in STEPS}
    return best, steps, levels


def row_of(
    name: str,
    graph: troth.Graph,
    seconds: float,
    steps: dict[str, float],
    levels: list[troth.Level],
    goal: float | None,
) -> dict:
    entries = sum(level.graph.m for level in levels) / graph.m
    return {
        "graph": name,
        "n": graph.n,
        "m": graph.m,
        "levels": len(levels) - 1,
        "last n": levels[-1].graph.n,
        "edges of all levels / m": entries,
        "ms": 1e3 * seconds,
        **{step: 1e3 * value for step, value in steps.items()},
        "M edges/s": graph.m / seconds / 1e6,
        "goal": goal / 1e6 if goal else "",
    }


def goals(threads: int, repeats: int) -> list[dict]:
    """CPU threads, down to 1000 vertices."""
    rows = []
    for name, spec in GRAPHS.items():
        graph = troth.read(spec)
        found = down(graph, repeats, device="cpu", threads=threads)
        rows.append(row_of(name, graph, *found, GOALS.get(name, (None, None))[0]))
    return rows


def gpu(threads: int, repeats: int) -> list[dict]:
    """One GPU, down to 1000 vertices; the steps are the host's time."""
    rows = []
    for name, spec in GRAPHS.items() if is_available() else ():
        graph = troth.read(f"{spec},device=cuda")
        found = down(graph, repeats)
        rows.append(row_of(name, graph, *found, GOALS.get(name, (None, None))[1]))
        here = troth.hierarchy(graph.to("cpu"), device="cpu", threads=threads)
        for a, b in zip(found[-1][1:], here[1:], strict=True):
            assert (a.graph.weights.get() == b.graph.weights).all()
            assert (a.map.get() == b.map).all()
    return rows or [{"graph": "no CUDA device, or CuPy is not installed"}]


def types(threads: int, repeats: int) -> list[dict]:
    """Weight types on CPU threads, in M edges a second."""
    rows = []
    for name in GOALS:
        row = {"graph": name}
        for kind in ("", ",dtype=float64", ",weights=integers,dtype=int32", ",weights=unit"):
            graph = troth.read(GRAPHS[name] + kind)
            row[kind.lstrip(",") or "float32"] = graph.m / down(graph, repeats, device="cpu", threads=threads)[0] / 1e6
        rows.append(row)
    return rows


def peers(threads: int, repeats: int) -> list[dict]:
    """One contraction, in ms: troth against SciPy's P.T @ A @ P, which keeps the loops."""
    rows = []
    for name, spec in GRAPHS.items():
        graph = troth.read(spec)
        m = troth.match(graph, threads=threads)
        labels = m.labels()
        matrix = graph.to_scipy()
        aggregate = csr_array((np.ones(graph.n, np.float32), labels, np.arange(graph.n + 1)))
        best = {"troth": float("inf"), "scipy": float("inf")}
        for _ in range(repeats):
            start = time.perf_counter()
            level = troth.coarsen(graph, m, threads=threads)
            best["troth"] = min(best["troth"], 1e3 * (time.perf_counter() - start))
            start = time.perf_counter()
            product = aggregate.T @ matrix @ aggregate
            best["scipy"] = min(best["scipy"], 1e3 * (time.perf_counter() - start))
        product.setdiag(0)
        product.eliminate_zeros()
        assert product.nnz == len(level.graph.indices)
        rows.append({"graph": name, "m": graph.m, **best, "times faster": best["scipy"] / best["troth"]})
    return rows


def catalogue(threads: int, repeats: int) -> list[dict]:
    """Levels to 1000 vertices on all graphs of ``troth bench --catalogue`` that fit, on the GPU where there is one."""
    setting = Setting(size="full")
    return levels_of(setting, [each.name for each in setting.instances])


def levels_of(setting: Setting, names: list[str]) -> list[dict]:
    rows = []
    for name in names:
        graph = setting.load(name, "cuda" if setting.gpu else "cpu")
        start = time.perf_counter()
        levels = troth.hierarchy(graph)
        wait()
        seconds = time.perf_counter() - start
        last = levels[-1].graph.n
        rows.append(
            {"graph": name, "n": graph.n, "m": graph.m, "levels": len(levels) - 1, "last n": last, "s": seconds}
        )
    return rows


def conserves(threads: int, repeats: int) -> list[dict]:
    """What is conserved, in whole numbers, on small graphs of the families and the files of TROTH_DATA."""
    folder = Path(os.environ.get("TROTH_DATA", HERE.parent.parent / "shared" / "data"))
    files = sorted(path for part in ("matrices", "graphs") for path in folder.glob(f"{part}/*.gz"))
    families = (
        "rmat:scale=17",
        "grid:rows=500,cols=500",
        "path:n=300000",
        "delaunay:n=100000",
        "rgg:n=200000,degree=6",
        "erdos-renyi:n=200000,degree=2",
        "bipartite:left=100,right=200000,m=400000",
        "hubs:n=200000,hubs=4,degree=90000",
        "stencil:nx=40,ny=40,nz=40",
        "complete:n=2500",
    )
    rows = []
    for source in [*families, *files]:
        options = {"weights": "paper", "symmetrize": "max"} if isinstance(source, Path) else {}
        graph = troth.read(source, **options)
        whole = troth.Graph(graph.indptr, graph.indices, np.ones(len(graph.indices), np.int32))
        levels = troth.hierarchy(whole, threads=threads)
        rows.append(
            {
                "graph": source.name if isinstance(source, Path) else source,
                "n": graph.n,
                "m": graph.m,
                "levels": len(levels) - 1,
                "last n": levels[-1].graph.n,
                "conserved": str(conserved(levels)),
            }
        )
    return rows


def conserved(levels: list[troth.Level]) -> bool:
    """Whether no level loses vertex weight, or edge weight but for that inside of pairs; weights are integers."""
    for finer, level in pairwise(levels):
        graph = finer.graph
        same = np.repeat(level.map, np.diff(graph.indptr)) == level.map[graph.indices]
        if int(graph.weights.sum()) != int(level.graph.weights.sum()) + int(graph.weights[same].sum()):
            return False
        if int(level.graph.vertex_weights.sum()) != levels[0].graph.n:
            return False
    return True


QUESTIONS = {
    "goals": goals, "gpu": gpu, "types": types, "peers": peers, "catalogue": catalogue, "conserves": conserves
}  # fmt: skip


if __name__ == "__main__":
    ask(__doc__, QUESTIONS, "coarsen", threads=min(2, os.cpu_count() or 1), repeats=5)
