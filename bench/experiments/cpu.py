"""Our own questions about CPU threads: against NetworKit, and troth against itself."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tracemalloc
from time import process_time
from typing import Any

from bench.engines import read
from bench.machine import environment
from bench.questions import Question, Record, Row, alternate, by_name, milliseconds, over, sized, sizes, timed
from bench.questions import titles as titles_of
from bench.setting import Setting, Task

CPU = "suitor@cpu"
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
TIED = {
    "grid 1000^2": "grid:rows=1000,cols=1000",
    "R-MAT 18 x 16": "rmat:scale=18,edgefactor=16",
    "Erdos-Renyi 2^18 x 16": "erdos-renyi:n=262144,degree=16",
    "rgg 2^18": "rgg:n=262144,degree=13",
}
SCALED = {
    "R-MAT 22 x 16": "rmat:scale=22,edgefactor=16",
    "Erdos-Renyi 2^22 x 16": "erdos-renyi:n=4194304,degree=16",
}
CERTIFIED = (
    "rgg:n=50000,degree=10",
    "rmat:scale=14",
    "grid:rows=300,cols=300",
    "delaunay:n=30000",
    "erdos-renyi:n=30000,degree=16",
    "bipartite:left=20000,right=20000,m=200000",
    "stencil:nx=20,ny=20,nz=20",
)
ENGINES = ("suitor", "locally-dominant", "handshake", "greedy", "blue-red", "local-weighted")
TYPES = ("uint8", "int32", "float32", "int64", "float64")
title = titles_of(GRAPHS | TIED | SCALED)


def fresh(graph: Any) -> Any:
    """The same graph as new from the gate: nothing that an earlier run found out is kept."""
    import troth

    return troth.as_graph(graph.to_scipy())


def match_fresh(graph: Any, setting: Setting, **options: Any) -> float:
    """Seconds for one match of a graph that is as new from the gate, which is not timed."""
    import troth

    options = {"threads": setting.workers, "device": "cpu"} | options
    return timed(troth.match, fresh(graph), **options)


def evict() -> None:
    """Write more than caches hold, so that no run finds there what the one before has read of the same graph."""
    import numpy as np

    np.ones(2**24).sum()


# ---- NetworKit ----


def peers_tasks(setting: Setting) -> list[Task]:
    if not setting.peers["networkit"]:
        setting.leave_out("networkit", "it is not installed")
        return []
    return over(GRAPHS.values(), CPU)(setting)


def peers_measure(task: Task, setting: Setting) -> dict[str, Any]:
    import numpy as np
    from networkit.matching import SuitorMatcher

    import troth
    from bench.peers import PEERS

    narrow = setting.load(task.graph)
    wide = troth.as_graph(narrow.to_scipy().astype(np.float64))
    matrix = wide.to_scipy()
    built: list[Any] = []

    def build() -> None:
        built[:] = [PEERS["networkit-suitor"].build(matrix, setting.workers)]

    def cold(graph: Any, **options: Any) -> float:
        evict()
        return match_fresh(graph, setting, **options)

    def cold_from_scipy() -> float:
        evict()
        return timed(troth.match, matrix, device="cpu", threads=setting.workers)

    times = alternate(
        setting,
        {
            "networkit build": lambda: timed(build),  # a fresh graph for each run: where it lies in memory matters
            "networkit": lambda: timed(SuitorMatcher(built[0], False).run),
            "troth": lambda: cold(narrow),
            "troth, one thread": lambda: cold(narrow, threads=1),
            "troth, float64": lambda: cold(wide),
            "troth, ties=low": lambda: cold(narrow, ties="low"),
            "troth from scipy": cold_from_scipy,
        },
    )
    return sizes(narrow) | {"times": times}


def peers_rows(records: list[Record]) -> list[Row]:
    rows = []
    for record in records:
        ms = milliseconds(record)
        whole = ms["networkit build"] + ms["networkit"]
        rows.append(
            {
                "graph": title(record),
                "n": record["result"]["n"],
                "m": record["result"]["m"],
                "networkit run": ms["networkit"],
                "troth": ms["troth"],
                "times faster": ms["networkit"] / ms["troth"],
                "float64": ms["troth, float64"],
                "float64 / float32": ms["troth, float64"] / ms["troth"],
                "one thread": ms.get("troth, one thread"),
                "ties=low": ms.get("troth, ties=low"),
                "networkit build+run": whole,
                "troth from scipy": ms["troth from scipy"],
                "times faster, whole": whole / ms["troth from scipy"],
            }
        )
    return rows


# ---- ties and threads ----


def ties_tasks(setting: Setting) -> list[Task]:
    able = setting.able(f"{engine}@cpu" for engine in ENGINES)
    return [
        Task(sized(spec, setting.size), engine, {"ties": rule})
        for spec in TIED.values()
        for engine in able
        for rule in (("hash", "low", "high", "degree") if engine == CPU else ("hash",))
    ]


def ties_measure(task: Task, setting: Setting) -> dict[str, Any]:
    import troth

    varied = setting.load(task.graph)
    equal = troth.read(f"{task.graph},weights=unit")
    options = {"algorithm": read(task.engine).algorithm, "ties": task.params["ties"]}
    return {
        "times": alternate(
            setting,
            {
                "random": lambda: match_fresh(varied, setting, **options),
                "equal": lambda: match_fresh(equal, setting, **options),
            },
        )
    }


def ties_rows(records: list[Record]) -> list[Row]:
    rows = []
    for record in records:
        ms = milliseconds(record)
        engine = {"graph": title(record), "engine": read(record["engine"]).algorithm, "ties": record["params"]["ties"]}
        rows.append(engine | ms | {"equal / random": ms["equal"] / ms["random"]})
    return rows


def scaling_tasks(setting: Setting) -> list[Task]:
    able = setting.able(f"{CPU}:threads={count}" for count in setting.thread_counts)
    return [Task(sized(spec, setting.size), engine) for spec in SCALED.values() for engine in able]


def scaling_measure(task: Task, setting: Setting) -> dict[str, Any]:
    graph, threads = setting.load(task.graph), read(task.engine).threads
    times = alternate(setting, {"troth": lambda: match_fresh(graph, setting, threads=threads)})
    return sizes(graph) | {"times": times}


def scaling_rows(records: list[Record]) -> list[Row]:
    rows, alone = [], {}
    for record in sorted(records, key=lambda each: (each["graph"], read(each["engine"]).threads)):
        threads, ms = read(record["engine"]).threads, milliseconds(record)["troth"]
        if threads == 1:
            alone[record["graph"]] = ms
        row = {"graph": title(record), "m": record["result"]["m"], "threads": threads, "milliseconds": ms}
        rows.append(row | {"times one thread": alone[record["graph"]] / ms if record["graph"] in alone else None})
    return rows


# ---- memory, the gate, certificates, starting up ----


def memory_tasks(setting: Setting) -> list[Task]:
    spec = sized("erdos-renyi:n=1048576,degree=8", setting.size)
    return [Task(spec, engine, {"weights": kind}) for engine in setting.able([CPU]) for kind in TYPES]


def memory_measure(task: Task, setting: Setting) -> dict[str, Any]:
    import numpy as np

    import troth

    graph = setting.load(task.graph)
    weights = np.maximum(graph.weights.astype(np.float64) * 100, 1).astype(task.params["weights"])
    graph = fresh(troth.Graph(graph.indptr, graph.indices, weights))
    words = {"device": "cpu", "threads": setting.workers}
    troth.match(graph, **words)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        troth.match(graph, **words)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    return sizes(graph) | {"peak": peak}


def memory_rows(records: list[Record]) -> list[Row]:
    found = [(record["params"]["weights"], record["result"]) for record in records]
    return [{"weights": kind, "n": each["n"], "bytes a vertex": each["peak"] / each["n"]} for kind, each in found]


def gate_measure(task: Task, setting: Setting) -> dict[str, Any]:
    import numpy as np

    import troth

    matrix = troth.as_graph(setting.load(task.graph).to_scipy().astype(np.float64)).to_scipy()
    times = alternate(
        setting,
        {
            "copy": lambda: timed(lambda: (matrix.indptr.copy(), matrix.indices.copy(), matrix.data.copy())),
            "gate": lambda: timed(troth.as_graph, matrix),
        },
    )
    return {"m": matrix.nnz // 2, "times": times}


def gate_rows(records: list[Record]) -> list[Row]:
    found = [(record["result"]["m"], milliseconds(record)) for record in records]
    return [{"m": m, **ms, "gate / copy": ms["gate"] / ms["copy"]} for m, ms in found]


def certificates_measure(task: Task, setting: Setting) -> dict[str, Any]:
    import troth

    graph = setting.load(task.graph)
    words = {"device": "cpu", "threads": setting.workers}
    times = alternate(
        setting,
        {
            "match": lambda: timed(troth.match, graph, **words),
            "both": lambda: timed(troth.match, graph, certify=True, **words),
        },
    )
    return sizes(graph) | {"ratio": troth.match(graph, certify=True, **words).certificate.ratio, "times": times}


def certificates_rows(records: list[Record]) -> list[Row]:
    rows = []
    for record in records:
        ms, result = milliseconds(record), record["result"]
        row = {"graph": record["graph"], "m": result["m"], "ratio": result["ratio"], "match": ms["match"]}
        rows.append(row | {"certificate": ms["both"] - ms["match"]})
    return rows


def startup_tasks(setting: Setting) -> list[Task]:
    return [Task("", engine) for engine in setting.able([CPU])]


def startup_measure(task: Task, setting: Setting) -> dict[str, Any]:
    """A folder without compiled kernels stands for a new installation; compiling takes long, and tiny leaves it out."""
    edges = "(np.array([0, 1]), np.array([1, 2]), np.array([1.0, 2.0]))"
    match = ["-c", f"import numpy as np, troth; troth.match({edges}, device='cpu')"]

    def start(*words: str, **more: str) -> float:
        env = environment() | more
        return timed(subprocess.run, [sys.executable, *words], env=env, check=True, stdout=subprocess.DEVNULL)

    times = alternate(
        setting,
        {
            "python -c pass": lambda: start("-c", "pass"),
            "import troth": lambda: start("-c", "import troth"),
            "troth --help": lambda: start("-m", "troth", "--help"),
        },
    )
    if setting.size != "tiny":
        with tempfile.TemporaryDirectory() as cache:
            times["first match, compiling"] = [start(*match, NUMBA_CACHE_DIR=cache)]
            again = alternate(setting, {"cached": lambda: start(*match, NUMBA_CACHE_DIR=os.fspath(cache))})
            times["first match, cached"] = again["cached"]
    return {"times": times}


def startup_rows(records: list[Record]) -> list[Row]:
    found = [each for record in records for each in milliseconds(record).items()]
    return [{"what": what, "milliseconds": ms} for what, ms in found]


def reading_tasks(setting: Setting) -> list[Task]:
    spec = sized("erdos-renyi:n=1048576,degree=10,dtype=float64", setting.size)
    return [Task(spec, engine, {"format": name}) for engine in setting.able([CPU]) for name in ("csv", "txt", "mtx")]


def reading_measure(task: Task, setting: Setting) -> dict[str, Any]:
    """CPU time, since all of the readers but troth's work on one thread."""
    import pandas
    import scipy.io

    import troth

    graph = setting.load(task.graph)

    def by_pandas(path: str) -> Any:
        table = pandas.read_csv(path, names=["source", "target", "weight"], sep=sep, header=0 if sep == "," else None)
        return troth.as_graph(table)

    def spent(read: Any) -> float:
        start = process_time()
        read(path)
        return process_time() - start

    def by_scipy(path: str) -> Any:
        return troth.as_graph(scipy.io.mmread(path))

    form = task.params["format"]
    sep, other = ("," if form == "csv" else " "), (by_scipy if form == "mtx" else by_pandas)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"graph.{form}")
        troth.write(graph, path)
        times = alternate(setting, {"troth": lambda: spent(troth.read), "other": lambda: spent(other)})
        return sizes(graph) | {"bytes": os.path.getsize(path), "times": times}


def reading_rows(records: list[Record]) -> list[Row]:
    rows = []
    for record in records:
        ms, result = milliseconds(record), record["result"]
        row = {"format": record["params"]["format"], "m": result["m"], "MB": result["bytes"] / 1e6, **ms}
        rows.append(row | {"troth / other": ms["troth"] / ms["other"]})
    return rows


QUESTIONS = by_name(
    Question(
        "cpu-peers", "troth and NetworKit on CPU threads",
        "How long does NetworKit's fastest correct setting take, and how long troth's default?",
        "SuitorMatcher(G, False), since NetworKit's default setting wants sorted lists; alone, and from a SciPy "
        "matrix, which adds building NetworKit's graph or passing troth's gate. Milliseconds, least of repeats in "
        "turn; a fresh graph for each, of both.",
        peers_tasks, peers_measure, peers_rows, ("times faster", "times faster, whole", "float64 / float32"),
    ),
    Question(
        "cpu-ties", "Equal and random weights on CPU threads",
        "What does each engine take longer where all weights are equal?",
        "The same graph with random and with equal weights, in turn; Suitor under every tie rule. Milliseconds.",
        ties_tasks, ties_measure, ties_rows, ("equal / random",),
    ),
    Question(
        "cpu-scaling", "One thread and more",
        "How much faster are several threads?",
        "The default on two large graphs, a fresh Graph for each run. Milliseconds.",
        scaling_tasks, scaling_measure, scaling_rows, ("times one thread",),
    ),
    Question(
        "cpu-memory", "Memory beyond the graph, by type of weights",
        "How many bytes a vertex does matching take?",
        "The peak of all array memory that tracemalloc sees in a second call, less what was there before.",
        memory_tasks, memory_measure, memory_rows, ("bytes a vertex",),
    ),
    Question(
        "cpu-gate", "The gate and a plain copy",
        "What does it cost to check a clean SciPy matrix?",
        "A CSR matrix of eight million float64 edges through as_graph, against copying its three arrays. Milliseconds.",
        over(["erdos-renyi:n=1048576,degree=15.3"], CPU), gate_measure, gate_rows, ("gate / copy",),
    ),
    Question(
        "cpu-certificates", "Certified shares of the optimum",
        "How good are the matchings for certain, and what does the certificate cost?",
        "Generated graphs, and the files of --folder under the rule of Naim et al. Milliseconds; the certificate's are "
        "those of match with certify less those without.",
        over(CERTIFIED, CPU, files=True), certificates_measure, certificates_rows, ("ratio",),
    ),
    Question(
        "cpu-startup", "Starting up",
        "How long until the first answer?",
        "Processes of their own, from start to end: import, help, and the first match with and without compiled "
        "kernels on disk. Milliseconds.",
        startup_tasks, startup_measure, startup_rows, ("milliseconds",),
    ),
    Question(
        "cpu-reading", "Reading files of edges",
        "What does it cost to read a file, against pandas.read_csv or SciPy's mmread and the gate?",
        "Five million edges with weights of 17 digits, written by troth, read into a Graph in turn. Milliseconds of "
        "CPU time, of all threads together.",
        reading_tasks, reading_measure, reading_rows, ("troth / other",),
    ),
)  # fmt: skip
