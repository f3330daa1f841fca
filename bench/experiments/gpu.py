"""Our own questions about one GPU: the default against the floor, the papers' engines, and what is around it."""

from __future__ import annotations

from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from bench import catalogue, figures
from bench.engines import read
from bench.experiments.scaling import read_on_card
from bench.questions import Question, Record, Row, alternate, by_name, milliseconds, over, sized, sizes, timed
from bench.questions import titles as titles_of
from bench.setting import Setting, Task, digest
from bench.verdicts import held
from troth.engines import promises_dominance
from troth.words import GPU_SUITOR_VARIANTS

if TYPE_CHECKING:
    from bench.report import Page

GPU = "suitor@cuda"
GRAPHS = {
    "R-MAT 20 x 16": "rmat:scale=20,edgefactor=16",
    "R-MAT 22 x 16": "rmat:scale=22,edgefactor=16",
    "Erdos-Renyi 2^20, degree 16": "erdos-renyi:n=1048576,degree=16",
    "Erdos-Renyi 2^22, degree 16": "erdos-renyi:n=4194304,degree=16",
    "grid 2000^2": "grid:rows=2000,cols=2000",
    "grid 1000^2, equal": "grid:rows=1000,cols=1000,weights=unit",
}
LARGE = {"R-MAT 26 x 16": "rmat:scale=26,edgefactor=16"}
GOALS = dict(zip((GRAPHS | LARGE).values(), (0.25, 0.80, 0.14, 0.50, 0.14, 0.08, 16.0), strict=True))  # ms on an H200
HOST = {  # graphs of the host, and how much of the card is used for them
    "R-MAT 26 x 16": ("rmat:scale=26,edgefactor=16", 6e9),
    "Erdos-Renyi 2^24, degree 16": ("erdos-renyi:n=16777216,degree=16", 1e9),
    "grid 5000^2": ("grid:rows=5000,cols=5000", 7e8),
}
PINNED = 2**30  # bytes of the pinned memory that is copied again and again
ROOM = 80e9  # bytes of a card that holds the large graph
CONTENDERS = {
    "auto": GPU,
    **{variant: f"{GPU}:variant={variant}" for variant in ("plain", *GPU_SUITOR_VARIANTS)},
    **{name: f"{name}@cuda" for name in ("locally-dominant", "handshake", "greedy")},
    **{f"blue-red {mode}": f"blue-red@cuda:mode={mode}" for mode in ("weighted", "random")},
}
TYPES = {"float32": "", "float64": ",dtype=float64", "int64": f",weights=integers,high={2**53},dtype=int64"}
title = titles_of(GRAPHS | LARGE | {name: spec for name, (spec, _) in HOST.items()})


# ---- the default against the floor ----


def goals_measure(task: Task, setting: Setting) -> dict[str, Any]:
    graph = setting.load(task.graph, "cuda")
    return sizes(graph) | {"floor": read_on_card(graph, setting)} | setting.match(graph, task.engine)


def goals_rows(records: list[Record]) -> list[Row]:
    rows = []
    for record in records:
        result, auto = record["result"], 1e3 * min(record["seconds"])
        floor, call = (1e3 * min(result[name]) if result[name] else None for name in ("floor", "call"))
        row = {"graph": title(record), "n": result["n"], "m": result["m"], "auto": auto, "call": call, "floor": floor}
        rows.append(row | {"auto / floor": auto / floor, "goal": GOALS.get(record["graph"])})
    return rows


def size_tasks(setting: Setting) -> list[Task]:
    if setting.size == "full" and setting.gpu and setting.gpu["memory"] < ROOM:
        setting.leave_out("gpu-size", f"this card has less than {ROOM / 1e9:.0f} GB")
        return []
    return over(LARGE.values(), GPU)(setting)


def size_measure(task: Task, setting: Setting) -> dict[str, Any]:
    import troth

    setting.let_go()
    generate = timed(catalogue.make, task.graph, "cuda")
    found = goals_measure(task, setting)
    graph = setting.load(task.graph, "cuda")
    mate, reports = troth.match(graph, device="cuda").mate, []
    verify = timed(lambda: reports.append(troth.verify(graph, mate)))
    proof = {"ratio": reports[0].ratio, "ok": bool(reports[0])}
    return found | proof | {"times": {"generate": [generate], "verify": [verify]}}


def size_rows(records: list[Record]) -> list[Row]:
    return [
        row | milliseconds(record) | {name: record["result"][name] for name in ("ratio", "ok")}
        for record, row in zip(records, goals_rows(records), strict=True)
    ]


# ---- graphs of the host ----


def batches_tasks(setting: Setting) -> list[Task]:
    if setting.size == "full" and setting.memory < ROOM:
        setting.leave_out("gpu-batches", f"this machine has less than {ROOM / 1e9:.0f} GB")
        return []
    able = setting.able([GPU])
    of = {"full": 1}.get(setting.size, 0)  # smaller graphs: half of their bytes
    return [
        Task(sized(spec, setting.size), engine, {"memory": int(of * memory)})
        for spec, memory in HOST.values()
        for engine in able
    ]


def batches_measure(task: Task, setting: Setting) -> dict[str, Any]:
    """Match on the card, then from the host in batches, and copy as many bytes from pinned memory, in turn."""
    import troth
    from troth.arrays import cupy

    setting.let_go()
    there = catalogue.make(task.graph, "cuda")
    on_card = digest(troth.match(there, device="cuda").mate)
    graph = there.to("cpu")
    del there
    setting.let_go()
    size = sum(array.nbytes for array in (graph.indptr, graph.indices, graph.weights))
    memory = task.params["memory"] or 10**6 + size // 2
    pool, last = cupy().get_default_memory_pool(), []

    def match() -> None:
        last[:] = [troth.match(graph, device="cuda", memory=memory, threads=setting.threads)]

    def batches() -> float:
        pool.set_limit(size=memory)
        try:
            return timed(match)
        finally:
            pool.set_limit(size=0)

    times = alternate(setting, {"pinned": lambda: copy_pinned(size), "batches": batches})
    stats = dict(last[0].stats)
    phases = stats.pop("seconds")
    cpu = timed(troth.match, graph, device="cpu", threads=setting.threads)
    same = digest(last[0].mate) == on_card
    return sizes(graph) | {
        "bytes": size, "memory": memory, "times": times, "phases": phases, "stats": stats, "same": same, "cpu": cpu,
    }  # fmt: skip


def copy_pinned(size: int) -> float:
    """Seconds in which so many bytes go from pinned memory to the card, at the rate of a few large copies."""
    from troth.arrays import cupy

    cp = cupy()
    piece = min(size, PINNED)
    source, target = cp.cuda.alloc_pinned_memory(piece), cp.cuda.alloc(piece)

    def copy() -> None:
        for at in range(0, size, piece):
            target.copy_from_host_async(source.ptr, min(piece, size - at))

    return timed(copy)


def batches_rows(records: list[Record]) -> list[Row]:
    rows = []
    for record in records:
        result, ms = record["result"], milliseconds(record)
        stats, phases = result["stats"], result["phases"]
        row = {"graph": title(record), "GB": result["bytes"] / 1e9, "GB of the card": result["memory"] / 1e9, **ms}
        row |= {"share": ms["pinned"] / ms["batches"], "GB/s": result["bytes"] / 1e6 / ms["batches"]}
        row |= {name: stats.get(name) for name in ("batches", "passes", "rounds", "waiting")}
        row["most left, %"] = 100 * stats["leftovers"] / (2 * result["m"])
        row |= {f"{name}, ms": 1e3 * spent for name, spent in phases.items() if name not in ("gate", "compile")}
        rows.append(row | {"cpu, ms": 1e3 * result["cpu"], "one matching": result["same"]})
    return rows


# ---- engines and types ----


def engines_tasks(setting: Setting) -> list[Task]:
    able = setting.able(CONTENDERS.values())
    return [Task(sized(spec, setting.size), engine) for spec in GRAPHS.values() for engine in able]


def engines_measure(task: Task, setting: Setting) -> dict[str, Any]:
    return setting.match(task.graph, task.engine)


def engines_rows(records: list[Record]) -> list[Row]:
    short = {engine: name for name, engine in CONTENDERS.items()}
    rows: dict[str, Row] = {}
    mates: dict[str, set[str]] = {}
    for record in sorted(records, key=lambda each: list(short).index(each["engine"])):
        row = rows.setdefault(title(record), {"graph": title(record)})
        row[short[record["engine"]]] = 1e3 * min(record["seconds"])
        if "mates" in record["result"] and promises_dominance(read(record["engine"]).algorithm):
            mates.setdefault(title(record), set()).add(record["result"]["mates"])
    for graph, row in rows.items():
        row["nosync / auto"] = row["nosync"] / row["auto"] if {"nosync", "auto"} <= set(row) else None
        row["one matching"] = len(mates[graph]) == 1 if graph in mates else None
    return list(rows.values())


def engines_judge(rows: list[Row], page: Page) -> None:
    """Naim et al. change two things from GPU-LD to GPU-Suitor, the algorithm and who reads a row; here one alone."""
    times = {row["graph"]: row["nosync"] / row["plain"] for row in rows if {"nosync", "plain"} <= set(row)}
    if times:
        faster, mean = [graph for graph, ratio in times.items() if ratio < 1], geometric_mean(times.values())
        page.claim(
            "a warp that reads the row of a vertex has benefits over GPU-LD's thread a vertex (sections 3.1, 6)",
            f"of Suitor itself, a warp a vertex (NoSync) takes {mean:.2f} times as long as a thread a vertex "
            f'(variant="plain") in the geometric mean, {figures.ratio(min(times.values()))} to '
            f"{figures.ratio(max(times.values()))}; it is faster on {len(faster)} of {len(times)} graphs"
            + (f", {', '.join(faster)}" if faster else ""),
            held(mean < 1),
            "on rows of a few entries most threads of a warp have nothing to read",
        )


def types_tasks(setting: Setting) -> list[Task]:
    plain = [sized(spec, setting.size) for spec in GRAPHS.values() if "weights=" not in spec]
    able = setting.able([GPU])
    return [
        Task(spec + words, engine, {"of": spec, "type": name})
        for spec in plain
        for name, words in TYPES.items()
        for engine in able
    ]


def types_rows(records: list[Record]) -> list[Row]:
    rows: dict[str, Row] = {}
    for record in records:
        of = record["params"]["of"]
        row = rows.setdefault(of, {"graph": title({"graph": of}), **dict.fromkeys(TYPES)})
        row[record["params"]["type"]] = 1e3 * min(record["seconds"])
    for row in rows.values():
        for name in ("float64", "int64"):
            row[f"{name} / float32"] = row[name] / row["float32"] if row[name] and row["float32"] else None
    return list(rows.values())


# ---- before and after the matching ----


def gate_measure(task: Task, setting: Setting) -> dict[str, Any]:
    import cupyx.scipy.sparse as csp
    import numpy as np

    import troth
    from troth.arrays import cupy

    cp, graph = cupy(), setting.load(task.graph, read(task.engine).device)
    indptr = graph.indptr.astype(np.int32)
    matrix = csp.csr_matrix((graph.weights, graph.indices, indptr), shape=(graph.n, graph.n))
    entries = cp.arange(len(graph.indices))
    row = (cp.searchsorted(graph.indptr, entries, side="right") - 1).astype(np.int32)
    once = row < graph.indices
    edges = (row[once], graph.indices[once], graph.weights[once])
    del entries, row, once
    calls = {
        name: lambda given=given: timed(troth.match, given, device="cuda")
        for name, given in {"matching": graph, "from csr": matrix, "from edges": edges}.items()
    }
    return {"times": alternate(setting, calls)}


def gate_rows(records: list[Record]) -> list[Row]:
    rows = []
    for record in records:
        ms = milliseconds(record)
        ratios = {f"{name} / matching": ms[f"from {name}"] / ms["matching"] for name in ("csr", "edges")}
        rows.append({"graph": title(record), **ms, **ratios})
    return rows


def checks_measure(task: Task, setting: Setting) -> dict[str, Any]:
    import troth

    graph = setting.load(task.graph, "cuda")
    m = troth.match(graph, device="cuda")
    times = alternate(
        setting,
        {
            "verify": lambda: timed(troth.verify, graph, m, certify=False),
            "with certificate": lambda: timed(troth.verify, graph, m),
        },
    )
    report = troth.verify(graph, m)
    return {"ratio": report.ratio, "ok": bool(report), "times": times}


def checks_rows(records: list[Record]) -> list[Row]:
    facts = ("ratio", "ok")
    return [
        {"graph": title(record), **milliseconds(record), **{name: record["result"][name] for name in facts}}
        for record in records
    ]


ON_CARD = "Graphs are made on the card. Milliseconds on the device, between the first launch and the end of the last; "
WALL = "Milliseconds of the wall clock, the device idle before and after, least of repeats in turn."
QUESTIONS = by_name(
    Question(
        "gpu-goals", "The default on a GPU, the floor and the goals",
        "How far is the default from reading the graph once?",
        ON_CARD + "call is the wall clock of troth.match. The floor is reading indptr, indices and weights and writing "
        "the mates once at the bandwidth of a plain copy. The goals were set for an H200.",
        over(GRAPHS.values(), GPU), goals_measure, goals_rows, ("auto", "auto / floor"),
    ),
    Question(
        "gpu-engines", "The papers' engines on a GPU",
        "How long do the engines of the papers take on the same graphs?",
        ON_CARD + "every matching is verified, and all engines but blue-red must give the same one.",
        engines_tasks, engines_measure, engines_rows, ("nosync / auto",),
        SOURCE="our own question, and Naim et al. 2015, sections 3.1 and 6", judge=engines_judge,
    ),
    Question(
        "gpu-types", "Types of weights on a GPU",
        "What do float64 and int64 cost against float32?",
        ON_CARD + "least of several runs.",
        types_tasks, engines_measure, types_rows, ("float64 / float32", "int64 / float32"),
    ),
    Question(
        "gpu-gate", "From arrays on the card to mates",
        "What does the gate add to the matching?",
        "A CSR matrix, and arrays of edges, that are on the card already. " + WALL,
        over(GRAPHS.values(), GPU), gate_measure, gate_rows, ("csr / matching", "edges / matching"),
    ),
    Question(
        "gpu-checks", "Verifying on a GPU",
        "What do the check and the certificate cost on the card?",
        WALL,
        over(GRAPHS.values(), GPU), checks_measure, checks_rows, ("verify", "with certificate", "ratio"),
    ),
    Question(
        "gpu-size", "A billion edges on one GPU",
        "Can a billion edges be generated, matched and verified on one card?",
        ON_CARD + "generate and verify are milliseconds of the wall clock, once. Needs a card of 80 GB or more.",
        size_tasks, size_measure, size_rows, ("auto", "auto / floor", "generate", "verify"),
    ),
    Question(
        "gpu-batches", "Graphs of the host in batches",
        "How near to a plain copy of the same bytes from pinned memory does matching come, with rows on the host?",
        "Graphs are made on the card and taken to pageable memory of the host. batches is `memory=`, with that limit "
        "on CuPy's pool; pinned copies as many bytes; share is pinned / batches. " + WALL + " Of the last run: the "
        "time in which rows are waited for (copy), kernels run (kernels), a thread fills pinned memory (staging), the "
        "leftovers are settled (settle) and the mates come back (mates). cpu is one call on all cores.",
        batches_tasks, batches_measure, batches_rows, ("share", "GB/s"),
    ),
)  # fmt: skip
