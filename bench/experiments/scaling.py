"""Time, memory and edges per second from ten thousand to a billion edges, against the time to read the graph once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import TYPE_CHECKING, Any

from bench import catalogue, engines, figures, memory
from bench.setting import Setting, Task, repeat
from bench.store import least

if TYPE_CHECKING:
    from bench.report import Page
    from troth.graph import Graph

NAME = "scaling"
TITLE = "How does it grow, from ten thousand to a billion edges?"
SOURCE = "our own question: that of whoever has a larger graph"
QUESTION = (
    "How do time and memory grow with the graph, how far above the floor is the time, and where is a GPU worth it? The "
    "floor is the time to read the graph's arrays once, which no algorithm can go below."
)
METHOD = (
    "Three families (R-MAT with 16 edges a vertex, Erdos-Renyi of degree 16, square grids), each in steps of four, as "
    "far as this machine's memory and cores go. Suitor runs on one thread, on all threads, and on the GPU with the "
    "graph on the card; the least of the runs counts. The CPU's floor is measured: all threads together read the three "
    "arrays. The GPU's floor is the bytes of the arrays and of the mates over the bandwidth of a plain copy. Memory is "
    "the peak that the system reports for a process of its own, less what that process held before matching; on the "
    "GPU, what the pool of memory grew by."
)
FAMILIES = {
    "R-MAT": "rmat:scale={scale},edgefactor=16",
    "Erdos-Renyi": "erdos-renyi:n={n},degree=16",
    "grid": "grid:rows={rows},cols={cols}",
}
SCALES = {"tiny": (6, 8), "small": (10, 12, 14, 16), "full": (10, 12, 14, 16, 18, 20, 22, 24, 26)}  # 2^(scale+4) edges
CONTENDERS = ("suitor@cpu:threads=1", "suitor@cpu", "suitor@cuda")
FLOORS = {"cpu": "floor@cpu", "cuda": "floor@cuda"}
MEMORY = "memory"
MOST_MEMORY = 2**26  # edges; a process of its own makes the graph again, on the CPU
MOST_ALONE = 2**27  # edges for one thread, which would take minutes beyond
HASTE = 4  # a measurement gets this part of the setting's patience
CHUNK = 2**17  # words that a thread reads at once
PLAIN_COPY = 2**28  # floats


def specs(setting: Setting) -> dict[str, list[str]]:
    """The graphs of each family, small ones first."""
    found: dict[str, list[str]] = {}
    families = list(FAMILIES.items())[: 1 if setting.size == "tiny" else None]
    for family, spec in families:
        for scale in SCALES[setting.size]:
            half = 2 ** ((scale + 3) // 2)
            text = spec.format(scale=scale, n=2 ** (scale + 1), rows=half, cols=2 ** (scale + 3) // half)
            if setting.size != "full" or catalogue.nominal(text)[1] <= setting.most_edges:
                found.setdefault(family, []).append(text)
    return found


def tasks(setting: Setting) -> list[Task]:
    able = setting.able(CONTENDERS)
    if setting.cores == 1:
        able = [name for name in able if name != CONTENDERS[0]]
    devices = sorted({engines.read(name).device for name in able})
    found = []
    for family, texts in specs(setting).items():
        for spec in texts:
            edges = catalogue.nominal(spec)[1]
            what = [name for name in able if name != CONTENDERS[0] or edges <= MOST_ALONE]
            what += [FLOORS[device] for device in devices]
            what += [MEMORY] if "suitor@cpu" in able and edges <= MOST_MEMORY else []
            found += [Task(spec, name, {"family": family}, cost=0.1 + edges / 2e7) for name in what]
    return found


def measure(task: Task, setting: Setting) -> dict[str, Any]:
    if task.engine == MEMORY:
        setting.let_go()  # the child holds the same graph
        return memory.measure(task.graph, "suitor", setting.workers)
    device = "cuda" if task.engine.endswith("cuda") else "cpu"
    graph = setting.load(task.graph, device)
    facts = {"n": graph.n, "m": graph.m}
    if task.engine in FLOORS.values():
        read = read_on_card if device == "cuda" else read_on_host
        return facts | {"seconds": read(graph, setting)}
    if device == "cpu":
        return facts | setting.match(graph, task.engine, budget=setting.patience / HASTE)
    return facts | {"device_bytes": card_bytes(graph)} | setting.match(graph, task.engine)


def card_bytes(graph: Graph) -> int:
    """What the card's pool grows by in one matching: its peak, since nothing is given back meanwhile."""
    import troth
    from troth.arrays import cupy

    pool = cupy().get_default_memory_pool()
    pool.free_all_blocks()
    before = pool.total_bytes()
    troth.match(graph, device="cuda")
    return pool.total_bytes() - before


def read_on_host(graph: Graph, setting: Setting) -> list[float]:
    """Seconds to read the graph's arrays once, by one thread or by all, whichever is faster."""
    import numpy as np

    arrays = [array.view(np.uint8) for array in (graph.indptr, graph.indices, graph.weights)]
    words = [array[: len(array) // 8 * 8].view(np.uint64) for array in arrays]
    parts = [array[at : at + CHUNK] for array in words for at in range(0, len(array), CHUNK)]
    alone = repeat(lambda: [np.bitwise_xor.reduce(array) for array in words], setting.repeats, setting.patience / HASTE)
    with ThreadPoolExecutor(setting.workers) as pool:
        team = repeat(lambda: list(pool.map(np.bitwise_xor.reduce, parts)), setting.repeats, setting.patience / HASTE)
    return min(alone, team, key=min)


def read_on_card(graph: Graph, setting: Setting) -> list[float]:
    """Seconds to read the arrays and write the mates at the bandwidth of a plain copy."""
    import numpy as np

    from troth.arrays import cupy

    cp = cupy()
    source = cp.zeros(PLAIN_COPY, np.float32)
    target = cp.empty_like(source)
    size = graph.indptr.nbytes + graph.indices.nbytes + graph.weights.nbytes + 4 * graph.n
    seconds = []
    for _ in range(setting.repeats):
        start, stop = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        cp.copyto(target, source)
        stop.record()
        stop.synchronize()
        copied = cp.cuda.get_elapsed_time(start, stop) / 1e3
        seconds.append(copied * size / (2 * source.nbytes))
    return seconds


# ---- what it shows ----


def present(records: list[dict[str, Any]], page: Page) -> None:
    rows = _rows(records)
    families = list(dict.fromkeys(row["family"] for row in rows))
    names = [name for name in (*CONTENDERS, *FLOORS.values()) if any(name in row for row in rows)]
    for name, unit, caption, value in (
        ("time", "seconds", "Time against edges; thin dots are the floors.", lambda row, name: row[name]),
        (
            "rate",
            "edges per second",
            "Edges per second against edges; thin dots are what the memory allows.",
            lambda row, name: row["m"] / row[name],
        ),
    ):
        figure, axes = figures.new(len(families), height=3.0, share=True)
        for ax, family in zip([axes] if len(families) == 1 else axes, families, strict=True):
            _lines(ax, [row for row in rows if row["family"] == family], names, value)
            ax.set_title(family, loc="left")
            ax.set_ylabel(unit)
        ax.set_xlabel("edges")
        figures.legend_below(figure)
        page.figure(figure, name, caption)
    _memory(rows, page)
    _findings(rows, page)
    page.table([_cells(row, names) for row in rows], "Seconds by graph")


def label(name: str) -> str:
    """As figures call it."""
    floors = {FLOORS["cpu"]: "floor: reading, CPU", FLOORS["cuda"]: "floor: reading, GPU"}
    return floors.get(name) or (engines.label(name) + (", all threads" if name == "suitor@cpu" else ""))


def _rows(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a graph: its size, the least seconds by engine, and bytes."""
    rows: dict[str, dict[str, Any]] = {}
    seconds = least(records)
    for record in records:
        row = rows.setdefault(record["graph"], {"graph": record["graph"], "family": record["params"]["family"]})
        row |= {"n": record["result"]["n"], "m": record["result"]["m"]}
        if record["engine"] == MEMORY:
            row |= {name: record["result"][name] for name in ("held", "peak")}
        else:
            row[record["engine"]] = seconds[record["graph"], record["engine"]]
            row["card"] = record["result"].get("device_bytes", row.get("card"))
    return sorted(rows.values(), key=lambda row: (list(FAMILIES).index(row["family"]), row["m"]))


def _lines(ax: Any, rows: list[dict[str, Any]], names: list[str], value: Any) -> None:
    for number, name in enumerate(names):
        shown = [row for row in rows if name in row]
        style = figures.style(number)
        if name in FLOORS.values():
            style |= {"marker": "", "linestyle": ":", "linewidth": 1.4}
        ax.plot([row["m"] for row in shown], [value(row, name) for row in shown], label=label(name), **style)
    ax.set_xscale("log")
    ax.set_yscale("log")


def _memory(rows: list[dict[str, Any]], page: Page) -> None:
    """Bytes a vertex beyond the graph, by family and device."""
    places = {
        "CPU": lambda row: row["peak"] - row["held"] if "peak" in row else None,
        "GPU": lambda row: row.get("card"),
    }
    figure, ax = figures.new()
    for number, (family, place) in enumerate(product(dict.fromkeys(row["family"] for row in rows), places)):
        found = [(row["n"], places[place](row)) for row in rows if row["family"] == family]
        found = [(n, size / n) for n, size in found if size is not None]
        if found:
            ax.plot(*zip(*found, strict=True), label=f"{family}, {place}", **figures.style(number))
    ax.set_xscale("log")
    ax.set_ylim(bottom=0)
    ax.set_xlabel("vertices")
    ax.set_ylabel("bytes a vertex, beyond the graph")
    figures.legend(ax)
    if ax.lines:
        page.figure(figure, "memory", "Peak memory that matching takes beyond the graph, per vertex.")
    for place, size in places.items():
        large = max((row for row in rows if size(row) is not None), key=lambda row: row["n"], default=None)
        if large:
            page.finding(
                f"{place}: beyond the graph, matching {large['graph']} took {size(large) / 2**20:,.1f} MiB at its "
                f"peak, {size(large) / large['n']:.1f} bytes a vertex."
            )


def _findings(rows: list[dict[str, Any]], page: Page) -> None:
    for name, floor in (("suitor@cpu", FLOORS["cpu"]), ("suitor@cuda", FLOORS["cuda"])):
        both = [row for row in rows if name in row and floor in row]
        if not both:
            continue
        large = max(both, key=lambda row: row["m"])
        ratios = sorted(row[name] / row[floor] for row in both if row["m"] >= 10**6) or [large[name] / large[floor]]
        page.finding(
            f"{label(name)}: {large['graph']} with {large['m']:,} edges takes {figures.duration(large[name])}, "
            f"{figures.count(large['m'] / large[name])} edges a second, {large[name] / large[floor]:.1f} times the "
            f"floor of {figures.duration(large[floor])}; from a million edges on, {ratios[0]:.1f} to {ratios[-1]:.1f} "
            "times."
        )
    both = [row for row in rows if "suitor@cpu" in row and "suitor@cuda" in row]
    if both:
        faster = [row for row in both if row["suitor@cuda"] < row["suitor@cpu"]]
        best = max(both, key=lambda row: row["suitor@cpu"] / row["suitor@cuda"])
        page.finding(
            f"The GPU is faster on {len(faster)} of {len(both)} graphs"
            + (f", from {min(row['m'] for row in faster):,} edges on" if faster else "")
            + f", and up to {best['suitor@cpu'] / best['suitor@cuda']:.0f} times as fast ({best['graph']})."
        )
    both = [row for row in rows if "suitor@cpu" in row and CONTENDERS[0] in row]
    if both:
        best = max(both, key=lambda row: row[CONTENDERS[0]] / row["suitor@cpu"])
        page.finding(
            f"All threads are up to {best[CONTENDERS[0]] / best['suitor@cpu']:.1f} times as fast as one "
            f"({best['graph']}); this machine has {page.machine.get('cores', 'some')} cores."
        )


def _cells(row: dict[str, Any], names: list[str]) -> dict[str, Any]:
    cells = {"graph": row["graph"], "vertices": row["n"], "edges": row["m"]}
    cells |= {label(name): row.get(name) for name in names}
    if "peak" in row:
        cells["bytes a vertex"] = (row["peak"] - row["held"]) / row["n"]
    return cells
