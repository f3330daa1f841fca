"""troth on one GPU: against the floor, against the engines of the documents, and against itself.

    python benchmarks/gpu.py                    # everything (``make bench-gpu``)
    python benchmarks/gpu.py goals types        # some questions

Method: graphs are made on the card. A time is the least of several runs, in milliseconds on the device, between the
first launch and the end of the last (``stats["seconds"]["kernels"]``); "call" is the wall clock of ``troth.match``.
The floor is reading ``indptr``, ``indices`` and ``weights`` and writing the mates once at the bandwidth of a plain
copy, which is measured first. Every matching is compared with that of the default engine.
"""

from __future__ import annotations

import time

import cupy as cp
import numpy as np
from _report import ask

import troth
from troth.engines import NAIM

GRAPHS = {
    "R-MAT 20 x 16": "rmat:scale=20,edgefactor=16",
    "R-MAT 22 x 16": "rmat:scale=22,edgefactor=16",
    "Erdos-Renyi 2^20, degree 16": "erdos-renyi:n=1048576,degree=16",
    "Erdos-Renyi 2^22, degree 16": "erdos-renyi:n=4194304,degree=16",
    "grid 2000^2": "grid:rows=2000,cols=2000",
    "grid 1000^2, equal": "grid:rows=1000,cols=1000,weights=unit",
}
GOALS = dict(zip(GRAPHS, (0.25, 0.80, 0.14, 0.50, 0.14, 0.08), strict=True))  # ms on an H200
LARGE, LARGE_GOAL = "rmat:scale=26,edgefactor=16", 16.0


def on_card(spec: str) -> troth.Graph:
    return troth.read(f"{spec},device=cuda")


def milliseconds(work, repeats: int) -> float:
    """The least wall-clock time of several calls; the device is idle before and after each."""
    best = float("inf")
    for _ in range(repeats):
        cp.cuda.get_current_stream().synchronize()
        start = time.perf_counter()
        work()
        cp.cuda.get_current_stream().synchronize()
        best = min(best, time.perf_counter() - start)
    return 1e3 * best


def measure(graph: troth.Graph, repeats: int, check=None, **options) -> tuple[float, cp.ndarray]:
    """The least time on the device, and the mates; ``check`` are the mates that they must equal."""
    times = []
    for _ in range(repeats + 1):  # the first compiles
        m = troth.match(graph, device="cuda", **options)
        times.append(1e3 * m.stats["seconds"]["kernels"])
    assert check is None or bool((m.mate == check).all()), options
    return min(times[1:]), m.mate


def bandwidth() -> float:
    """Bytes a second of a plain copy, read and written."""
    source = cp.zeros(2**28, np.float32)
    target = cp.empty_like(source)
    best = float("inf")
    for _ in range(5):
        start, stop = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        cp.copyto(target, source)
        stop.record()
        stop.synchronize()
        best = min(best, cp.cuda.get_elapsed_time(start, stop))
    return 2 * source.nbytes / (best / 1e3)


def floor_of(graph: troth.Graph, rate: float) -> float:
    """Milliseconds to read the graph and write the mates once."""
    return 1e3 * (graph.indptr.nbytes + graph.indices.nbytes + graph.weights.nbytes + 4 * graph.n) / rate


def goals(repeats: int) -> list[dict]:
    """The default engine against the floor and the goals."""
    rate, rows = bandwidth(), []
    for name, spec in GRAPHS.items():
        graph = on_card(spec)
        auto, _ = measure(graph, 3 * repeats)
        call = milliseconds(lambda graph=graph: troth.match(graph, device="cuda"), repeats)
        least = floor_of(graph, rate)
        row = {"graph": name, "n": graph.n, "m": graph.m, "auto": auto, "call": call, "floor": least}
        rows.append(row | {"auto / floor": auto / least, "goal": GOALS[name]})
        del graph
    return rows


def engines(repeats: int) -> list[dict]:
    """The engines of the documents on the same graphs."""
    rows = []
    for name, spec in GRAPHS.items():
        graph = on_card(spec)
        auto, mate = measure(graph, repeats)
        row = {"graph": name, "auto": auto}
        for variant in NAIM:
            row[variant] = measure(graph, repeats, mate, variant=variant)[0]
        row["nosync / auto"] = row["nosync"] / auto
        for algorithm in ("locally-dominant", "handshake", "greedy"):
            row[algorithm] = measure(graph, min(repeats, 3), mate, algorithm=algorithm)[0]
        for mode in ("weighted", "random"):
            row[f"blue-red {mode}"] = measure(graph, min(repeats, 3), algorithm="blue-red", mode=mode)[0]
        rows.append(row)
    return rows


def types(repeats: int) -> list[dict]:
    """Weight types: float64 and int64 against float32."""
    rows = []
    for name, spec in GRAPHS.items():
        if "equal" in name:
            continue
        row = {"graph": name, "float32": measure(on_card(spec), repeats)[0]}
        row["float64"] = measure(on_card(f"{spec},dtype=float64"), repeats)[0]
        whole = f"{spec},weights=integers,high={2**53},dtype=int64"
        row["int64"] = measure(on_card(whole), repeats)[0]
        rows.append(
            row
            | {"float64 / float32": row["float64"] / row["float32"], "int64 / float32": row["int64"] / row["float32"]}
        )
    return rows


def gate(repeats: int) -> list[dict]:
    """From arrays on the card to mates, gate included, against the matching alone."""
    import cupyx.scipy.sparse as csp

    rows = []
    for name, spec in GRAPHS.items():
        graph = on_card(spec)
        alone = milliseconds(lambda graph=graph: troth.match(graph, device="cuda"), repeats)
        shape = (graph.n, graph.n)
        matrix = csp.csr_matrix((graph.weights, graph.indices, graph.indptr.astype(np.int32)), shape=shape)
        entries = cp.arange(len(graph.indices))
        row = (cp.searchsorted(graph.indptr, entries, side="right") - 1).astype(np.int32)
        once = row < graph.indices
        edges = (row[once], graph.indices[once], graph.weights[once])
        del entries, row, once
        csr = milliseconds(lambda matrix=matrix: troth.match(matrix, device="cuda"), repeats)
        coo = milliseconds(lambda edges=edges: troth.match(edges, device="cuda"), repeats)
        rows.append(
            {
                "graph": name,
                "matching": alone,
                "from csr": csr,
                "from edges": coo,
                "csr / matching": csr / alone,
                "edges / matching": coo / alone,
            }
        )
        del graph, matrix, edges
    return rows


def checks(repeats: int) -> list[dict]:
    """verify and its certificate on the card."""
    rows = []
    for name, spec in GRAPHS.items():
        graph = on_card(spec)
        m = troth.match(graph, device="cuda")
        plain = milliseconds(lambda graph=graph, m=m: troth.verify(graph, m, certify=False), repeats)
        start = time.perf_counter()
        report = troth.verify(graph, m)
        rows.append(
            {
                "graph": name,
                "verify": plain,
                "with certificate": 1e3 * (time.perf_counter() - start),
                "ratio": report.ratio,
                "ok": str(bool(report)),
            }
        )
    return rows


def size(repeats: int) -> list[dict]:
    """A billion edges: generated, matched and verified on the card."""
    rate = bandwidth()
    start = time.perf_counter()
    graph = on_card(LARGE)
    cp.cuda.get_current_stream().synchronize()
    made = time.perf_counter() - start
    auto, mate = measure(graph, repeats)
    start = time.perf_counter()
    report = troth.verify(graph, mate)
    least = floor_of(graph, rate)
    row = {"graph": LARGE, "n": graph.n, "m": graph.m, "generate s": made, "auto": auto, "floor": least}
    row |= {"auto / floor": auto / least, "goal": LARGE_GOAL, "verify s": time.perf_counter() - start}
    return [row | {"ratio": report.ratio, "ok": str(bool(report))}]


QUESTIONS = {"goals": goals, "engines": engines, "types": types, "gate": gate, "checks": checks, "size": size}


if __name__ == "__main__":
    ask(__doc__, QUESTIONS, "gpu", repeats=5)
