"""Every kernel once, on small graphs, for compute-sanitizer:

compute-sanitizer --tool memcheck python tests/cuda/sanitize.py
compute-sanitizer --tool racecheck python tests/cuda/sanitize.py
"""

from __future__ import annotations

import numpy as np

import troth
from troth.arrays import cupy
from troth.cuda import suitor

WAYS = ("matching", "strongest")
ENGINES = [
    ("suitor", {}),
    *(("suitor", {"variant": name}) for name in ("plain", "nosync", "synclb", "syncnolb", "hybrid")),
    ("suitor", {"variant": "synclb", "vertices_per_warp": 40}),
    ("locally-dominant", {}),
    ("handshake", {}),
    ("handshake", {"gpu_threads": 40}),
    ("greedy", {}),
    ("blue-red", {}),
    ("blue-red", {"mode": "random"}),
]
FAMILIES = (
    "rmat:scale=8,edgefactor=8",
    "hubs:n=1500,hubs=2,degree=1200,weights=integers,high=4",
    "grid:rows=20,cols=20,weights=unit",
    "erdos-renyi:n=300,degree=6,dtype=float64",
    "stencil:nx=4,ny=4,nz=4,weights=increasing,dtype=int64",
    "rgg:n=200,degree=6,weights=exponential",
    "bipartite:left=50,right=60,m=300,weights=trap",
    "complete:n=40,weights=integers,dtype=uint8",
    "path:n=100,dtype=float64",
)


def graphs() -> list[troth.Graph]:
    """Each family as it is, and one graph whose 64-bit weights share prefixes."""
    made = [troth.read(f"{spec},device=cuda") for spec in FAMILIES]
    for g, spec in zip(made, FAMILIES, strict=True):
        assert (g.weights.get() == troth.read(spec).weights).all(), spec
    near = made[0].weights.view(np.uint32).astype(np.int64) % 5 + 1
    made.append(troth.Graph(made[0].indptr, made[0].indices, cupy().where(near == 1, near, near + 2**60)))
    return made


def through_the_gate(g: troth.Graph) -> None:
    """Clean, dirty and undirected."""
    import cupyx.scipy.sparse as csp

    cp = cupy()
    if g.weights.dtype.kind == "f":
        places, shape = (g.indices, g.indptr.astype(np.int32)), (g.n, g.n)
        assert troth.as_graph(csp.csr_matrix((g.weights, *places), shape=shape)).m == g.m
        assert troth.as_graph(csp.csr_matrix((-g.weights, *places), shape=shape), weights="abs").m == g.m
    row = cp.asarray(np.repeat(np.arange(g.n), np.diff(g.indptr.get())))
    edges = troth.as_graph((row, g.indices, g.weights))
    assert edges.m == g.m
    shuffled = cp.asarray(np.random.default_rng(0).permutation(len(row)))
    again = troth.as_graph((row[shuffled], g.indices[shuffled], g.weights[shuffled]))
    assert bool((again.indices == edges.indices).all())
    assert bool((again.weights == edges.weights).all())


def through_levels() -> None:
    """By both ways: rows of every length, pairs of no neighbours, and a limit."""
    for spec in (
        "hubs:n=6000,hubs=2,degree=5000",
        "hubs:n=200000,hubs=2,degree=600",
        "rmat:scale=9,edgefactor=8,weights=integers",
        "complete:n=300",
    ):
        there, here = troth.read(f"{spec},device=cuda"), troth.read(spec)
        for by, limit in ((by, limit) for by in WAYS for limit in (None, 20)):
            words = {"by": by, "stop": 50, "max_vertex_weight": limit}
            pairs = zip(troth.hierarchy(there, **words), troth.hierarchy(here, device="cpu", **words), strict=True)
            assert all((a.graph.weights.get() == b.graph.weights).all() for a, b in pairs), spec


def main() -> None:
    through_levels()
    for g in graphs():
        through_the_gate(g)
        host = g.to("cpu")
        for plan in (0, 10**9):  # both plans of the default engine
            suitor.DENSE = plan
            for algorithm, options in ENGINES:
                m = troth.match(g, algorithm=algorithm, device="cuda", **options)
                assert bool(troth.verify(g, m)), (g, algorithm, options)
                if not options:
                    assert (m.mate.get() == troth.match(host, algorithm=algorithm, device="cpu").mate).all(), algorithm
        for memory in (10**6, 10**8):
            m = troth.match(host, device="cuda", memory=memory)
            assert (m.mate == troth.match(host, device="cpu").mate).all(), (g, memory)
        troth.strongest(g)
        troth.strongest(g, gpu_threads=33)
        assert (len(m.labels()), len(m.edges()), m.weight > 0) == (g.n, m.cardinality, True)
    print("all kernels ran")


if __name__ == "__main__":
    main()
