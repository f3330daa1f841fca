"""troth on the CPU against NetworKit, and against itself: one table a question, all from one run.

    python benchmarks/cpu.py                     # everything (``make bench-cpu``)
    python benchmarks/cpu.py peers ties          # some questions
    python benchmarks/cpu.py --threads 16 scaling

Method: the minimum of several repeats, a fresh ``Graph`` for every repeat, repeats of the compared programs
interleaved, so that both see the same machine. Times are wall-clock milliseconds. Results go to benchmarks/results as
JSON with the machine, the versions and the commit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from _report import ask

import troth

HERE = Path(__file__).parent
ENGINES = ("suitor", "locally-dominant", "handshake", "greedy", "blue-red", "local-weighted")

# The graphs of the comparison, as families; {} is where the weights go.
GRAPHS = {
    "grid 1500^2": "grid:rows=1500,cols=1500",
    "R-MAT 18 x 16": "rmat:scale=18,edgefactor=16",
    "R-MAT 18, integers": "rmat:scale=18,edgefactor=16,weights=integers",
    "Erdos-Renyi 2^20 x 16": "erdos-renyi:n=1048576,degree=16",
    "rgg 2^19": "rgg:n=524288,degree=13",
    "stencil 80^3": "stencil:nx=80,ny=80,nz=80",
    "hubs": "hubs:n=524288,hubs=8,degree=100000",
    "grid 1500^2, equal": "grid:rows=1500,cols=1500,weights=unit",
    "path 10^6, increasing": "path:n=1000000,weights=increasing",
}


def milliseconds(work, repeats: int = 7) -> float:
    """The least time of several calls."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return 1e3 * best


def fresh(graph: troth.Graph) -> troth.Graph:
    """The same graph as new from the gate: nothing that an earlier run found out is kept."""
    return troth.as_graph(graph.to_scipy())


def match_fresh(graph: troth.Graph, **options) -> float:
    """Milliseconds for one match of a fresh graph; the gate is not timed."""
    graph = fresh(graph)
    return milliseconds(lambda: troth.match(graph, **options), 1)


def networkit_graph(matrix):
    """NetworKit's graph of a SciPy matrix, by its fastest constructor; it wants 64-bit ids."""
    import networkit as nk

    upper = sp.triu(matrix, 1, format="coo")
    row, col = (part.astype(np.uint64) for part in (upper.row, upper.col))
    data = (upper.data.astype(np.float64), (row, col))
    return nk.GraphFromCoo(data, n=matrix.shape[0], weighted=True, directed=False)


def peers(threads: int) -> list[dict]:
    """troth's default against NetworKit's fastest correct setting, run alone and from a SciPy matrix."""
    import networkit as nk

    nk.setNumberOfThreads(threads)
    rows = []
    for name, spec in GRAPHS.items():
        narrow = troth.read(spec)
        wide = troth.as_graph(narrow.to_scipy().astype(np.float64))
        matrix = wide.to_scipy()
        build = milliseconds(lambda matrix=matrix: networkit_graph(matrix), 2)
        theirs = networkit_graph(matrix)

        def run_theirs(theirs=theirs):
            nk.matching.SuitorMatcher(theirs, False).run()

        best = dict.fromkeys(("networkit", "float32", "float64", "from scipy"), float("inf"))
        for _ in range(5):
            once = {
                "networkit": milliseconds(run_theirs, 2),
                "float32": min(match_fresh(narrow, threads=threads) for _ in range(2)),
                "float64": min(match_fresh(wide, threads=threads) for _ in range(2)),
                "from scipy": milliseconds(lambda a=matrix: troth.match(a, threads=threads), 2),
            }
            best = {label: min(best[label], once[label]) for label in best}
        rows.append(
            {
                "graph": name,
                "n": narrow.n,
                "m": narrow.m,
                "networkit run": best["networkit"],
                "troth": best["float32"],
                "times faster": best["networkit"] / best["float32"],
                "float64": best["float64"],
                "float64 / float32": best["float64"] / best["float32"],
                "networkit build+run": build + best["networkit"],
                "troth from scipy": best["from scipy"],
                "times faster, whole": (build + best["networkit"]) / best["from scipy"],
            }
        )
    return rows


def ties(threads: int) -> list[dict]:
    """Equal weights against random weights on the same graph, for every engine; suitor under all tie rules."""
    rows = []
    for name, spec in (
        ("grid 1000^2", "grid:rows=1000,cols=1000"),
        ("R-MAT 18 x 16", "rmat:scale=18,edgefactor=16"),
        ("Erdos-Renyi 2^18 x 16", "erdos-renyi:n=262144,degree=16"),
        ("rgg 2^18", "rgg:n=262144,degree=13"),
    ):
        varied, equal = troth.read(spec), troth.read(f"{spec},weights=unit")
        for engine in ENGINES:
            for rule in ("hash", "low", "high") if engine == "suitor" else ("hash",):
                options = {"algorithm": engine, "ties": rule, "threads": threads}
                best = [float("inf"), float("inf")]
                for _ in range(4):
                    for i, graph in enumerate((varied, equal)):
                        best[i] = min(best[i], match_fresh(graph, **options))
                rows.append(
                    {
                        "graph": name,
                        "engine": engine,
                        "ties": rule,
                        "random": best[0],
                        "equal": best[1],
                        "equal / random": best[1] / best[0],
                    }
                )
    return rows


def scaling(threads: int) -> list[dict]:
    """One core against all of them."""
    rows = []
    for name, spec in (
        ("R-MAT 22 x 16", "rmat:scale=22,edgefactor=16"),
        ("Erdos-Renyi 2^22 x 16", "erdos-renyi:n=4194304,degree=16"),
    ):
        graph = troth.read(spec)
        counts = sorted({1, 2, 4, 8, threads} & set(range(1, threads + 1)))
        times = {k: min(match_fresh(graph, threads=k) for _ in range(5)) for k in counts}
        rows += [
            {"graph": name, "m": graph.m, "threads": k, "time": t, "times one thread": times[1] / t}
            for k, t in times.items()
        ]
    return rows


def memory(threads: int) -> list[dict]:
    """Bytes a vertex that matching takes beyond the graph: the peak of all array memory (tracemalloc sees NumPy's)."""
    rows = []
    graph = troth.read("erdos-renyi:n=1048576,degree=8")
    for dtype in ("uint8", "int32", "float32", "int64", "float64"):
        weights = np.maximum(graph.weights.astype(np.float64) * 100, 1).astype(dtype)
        g = fresh(troth.Graph(graph.indptr, graph.indices, weights))
        troth.match(g, threads=threads)
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        result = troth.match(g, threads=threads)
        peak = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
        del result
        rows.append({"weights": dtype, "n": g.n, "bytes a vertex": peak / g.n})
    return rows


def gate(threads: int) -> list[dict]:
    """A clean SciPy CSR matrix of 8 million float64 edges through the gate, against copying its arrays."""
    matrix = troth.as_graph(troth.read("erdos-renyi:n=1048576,degree=15.3").to_scipy().astype(np.float64)).to_scipy()
    troth.as_graph(matrix)
    copy = milliseconds(lambda: (matrix.indptr.copy(), matrix.indices.copy(), matrix.data.copy()))
    check = milliseconds(lambda: troth.as_graph(matrix))
    return [{"m": matrix.nnz // 2, "copy": copy, "gate": check, "gate / copy": check / copy}]


def certificates(threads: int) -> list[dict]:
    """The certified share of the optimum, and its cost, on generated graphs and on those of TROTH_DATA."""
    folder = Path(os.environ.get("TROTH_DATA", HERE.parent.parent / "shared" / "data"))
    files = sorted(path for part in ("matrices", "graphs") for path in folder.glob(f"{part}/*.gz"))
    families = (
        "rgg:n=50000,degree=10",
        "rmat:scale=14",
        "grid:rows=300,cols=300",
        "delaunay:n=30000",
        "erdos-renyi:n=30000,degree=16",
        "bipartite:left=20000,right=20000,m=200000",
        "stencil:nx=20,ny=20,nz=20",
    )
    rows = []
    for source in [*families, *files]:
        options = {"weights": "paper", "symmetrize": "max"} if isinstance(source, Path) else {}
        graph = troth.read(source, **options)
        match = milliseconds(lambda g=graph: troth.match(g, threads=threads), 3)
        both = milliseconds(lambda g=graph: troth.match(g, threads=threads, certify=True), 3)
        ratio = troth.match(graph, threads=threads, certify=True).certificate.ratio
        name = source.name if isinstance(source, Path) else source
        rows.append({"graph": name, "m": graph.m, "ratio": ratio, "match": match, "certificate": both - match})
    ratios = [row["ratio"] for row in rows]
    rows.append({"graph": f"all {len(ratios)}: least", "m": 0, "ratio": min(ratios), "match": 0.0, "certificate": 0.0})
    rows.append({"graph": "median", "m": 0, "ratio": float(np.median(ratios)), "match": 0.0, "certificate": 0.0})
    return rows


def startup(threads: int) -> list[dict]:
    """Starting up: import, help, and the first match with and without compiled kernels on disk."""
    match = "import numpy as np, troth; troth.match((np.array([0, 1]), np.array([1, 2]), np.array([1.0, 2.0])))"
    with tempfile.TemporaryDirectory() as cache:
        cold = {**os.environ, "NUMBA_CACHE_DIR": cache}
        commands = {
            "python -c pass": (["-c", "pass"], os.environ, 5),
            "import troth": (["-c", "import troth"], os.environ, 5),
            "troth --help": (["-m", "troth", "--help"], os.environ, 3),
            "first match, compiling": (["-c", match], cold, 1),
            "first match, cached": (["-c", match], cold, 3),
        }
        return [
            {"what": what, "time": milliseconds(lambda a=a, e=e: call([sys.executable, *a], e), repeats)}
            for what, (a, e, repeats) in commands.items()
        ]


def call(command: list[str], env) -> None:
    """Run a program to its end, quietly."""
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)


QUESTIONS = {
    "peers": peers,
    "ties": ties,
    "scaling": scaling,
    "memory": memory,
    "gate": gate,
    "certificates": certificates,
    "startup": startup,
}


if __name__ == "__main__":
    ask(__doc__, QUESTIONS, "cpu", threads=min(2, os.cpu_count() or 1))
