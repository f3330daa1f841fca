"""Questions about the two ways to coarsen, by matchings and by clusters of strongest neighbours: levels, time, what a
bisection and a multigrid solver make of them; and what others take for the same."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.engines import read
from bench.questions import Question, Record, Row, alternate, by_name, milliseconds, over, sizes, timed
from bench.questions import titles as titles_of
from bench.setting import Setting, Task

CPU, GPU = "suitor@cpu", "suitor@cuda"
WAYS = ("matching", "strongest")
GRAPHS = {
    "R-MAT 20 x 16": "rmat:scale=20,edgefactor=16",
    "grid 2000^2": "grid:rows=2000,cols=2000",
    "same, equal weights": "grid:rows=2000,cols=2000,weights=unit",
    "Erdos-Renyi 2^20, degree 16": "erdos-renyi:n=1048576,degree=16",
    "rgg 2^20": "rgg:n=1048576,degree=13",
    "stencil 100^3": "stencil:nx=100,ny=100,nz=100",
    "hubs": "hubs:n=1048576,hubs=8,degree=200000",
    "path, increasing": "path:n=1048576,weights=increasing",
}
CUT = {
    "grid 100^2": "grid:rows=100,cols=100,weights=unit",
    "delaunay 10,000": "delaunay:n=10000,weights=unit",
    "rgg 10,000": "rgg:n=10000,degree=8,weights=unit",
    "stencil 20^3": "stencil:nx=20,ny=20,nz=20,weights=unit",
    "R-MAT 12": "rmat:scale=12,edgefactor=8,weights=unit",
}
TOOLS = {
    "grid 1000^2": "grid:rows=1000,cols=1000",
    "R-MAT 16": "rmat:scale=16",
    "rgg 2^18": "rgg:n=262144,degree=13",
}
PROBLEMS = ("Poisson", "anisotropic")
SEEDS = 10
title = titles_of(GRAPHS | CUT | TOOLS)


def fresh(graph: Any) -> Any:
    """The same graph, without what an earlier run found out about it."""
    import troth

    return troth.Graph.trusted(graph.indptr, graph.indices, graph.weights)


# ---- levels and time ----


def ways_measure(task: Task, setting: Setting) -> dict[str, Any]:
    import troth

    device = read(task.engine).device
    graph, made = setting.load(task.graph, device), {}

    def call(by: str) -> Callable[[], float]:
        def once() -> float:
            again = fresh(graph)
            made[by] = None  # what the last run made is given back
            words = {"by": by, "device": device} | ({"threads": setting.workers} if device == "cpu" else {})
            seconds = timed(lambda: made.update({by: troth.hierarchy(again, **words)}))
            levels = made[by]
            made[by] = len(levels) - 1, levels[-1].graph.n, sum(level.graph.m for level in levels)
            return seconds

        return once

    times = alternate(setting, {by: call(by) for by in WAYS})
    return sizes(graph) | {"times": times, "made": made}


def ways_rows(records: list[Record]) -> list[Row]:
    rows = []
    for record in records:
        result, ms = record["result"], milliseconds(record)
        row = {"graph": title(record), "device": read(record["engine"]).device, "m": result["m"]}
        for by in WAYS:
            levels, last, edges = result["made"][by]
            facts = {"levels": levels, "last n": last, "edges / m": edges / result["m"], "ms": ms[by]}
            row |= {f"{by}: {name}": value for name, value in facts.items()}
        rows.append(row | {"times faster": ms["matching"] / ms["strongest"]})
    return rows


# ---- what a bisection makes of them ----


def example(name: str) -> dict[str, Any]:
    """The functions of an example, which is not run."""
    path = Path(__file__).parents[2] / "examples" / name
    kept = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign)
    body = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, kept)]
    first = next(i for i, node in enumerate(body) if isinstance(node, ast.FunctionDef))
    body = [node for i, node in enumerate(body) if i < first or isinstance(node, ast.FunctionDef)]
    body = [node for node in body if "matplotlib" not in ast.unparse(node).partition("\n")[0]]
    names: dict[str, Any] = {}
    exec(compile(ast.Module(body, []), str(path), "exec"), names)
    return names


def cuts_measure(task: Task, setting: Setting) -> dict[str, Any]:
    """Mean and least cut over some seeds, by each way and by METIS."""
    import numpy as np

    graph, parts = setting.load(task.graph), example("bisection.py")
    cuts: dict[str, list[float]] = {
        by: [float(parts["cut_of"](graph, parts["bisect"](graph, seed, by))) for seed in range(SEEDS)] for by in WAYS
    }
    side = parts["metis"](graph)
    if side is not None:
        cuts["METIS"] = [float(parts["cut_of"](graph, side))]
    return sizes(graph) | {"cuts": {name: [float(np.mean(found)), min(found)] for name, found in cuts.items()}}


def cuts_rows(records: list[Record]) -> list[Row]:
    rows = []
    for record in records:
        row = {"graph": title(record), "n": record["result"]["n"]}
        for name in (*WAYS, "METIS"):
            mean, least = record["result"]["cuts"].get(name, (None, None))
            row |= {f"{name}: mean cut": mean} | ({} if name == "METIS" else {f"{name}: least": least})
        rows.append(row)
    return rows


# ---- what multigrid makes of them ----


def multigrid_tasks(setting: Setting) -> list[Task]:
    side = {"tiny": 30, "small": 200}.get(setting.size, 400)
    mesh = f"grid:rows={side},cols={side}"  # for its name alone
    return [Task(mesh, engine, {"problem": name, "side": side}) for engine in setting.able([CPU]) for name in PROBLEMS]


def multigrid_measure(task: Task, setting: Setting) -> dict[str, Any]:
    """Set-up, complexity and iterations of conjugate gradients to a residual of 1e-8, by who chooses the aggregates."""
    import numpy as np
    import pyamg
    from scipy.sparse.linalg import cg

    from troth.interop.pyamg import predefined_aggregates

    side, words = task.params["side"], {"threads": setting.workers, "device": "cpu"}
    stencil = pyamg.gallery.diffusion_stencil_2d(epsilon=0.001, theta=0, type="FD")
    A = pyamg.gallery.poisson((side, side), format="csr")
    if task.params["problem"] != "Poisson":
        A = pyamg.gallery.stencil_grid(stencil, (side, side), format="csr")

    def by_troth(**more: Any) -> Any:
        aggregates = predefined_aggregates(A, **words, **more)
        return pyamg.smoothed_aggregation_solver(A, aggregate=aggregates, smooth=None, max_levels=30)

    builds = {
        "matching": lambda: by_troth(),
        "strongest": lambda: by_troth(by="strongest", matchings=1, ties="hash"),
        "PyAMG pairwise": lambda: pyamg.pairwise_solver(A),
        "PyAMG standard": lambda: pyamg.smoothed_aggregation_solver(A, smooth=None),
    }
    times = alternate(setting, {name: lambda build=build: timed(build) for name, build in builds.items()})
    found, b = {}, np.random.default_rng(0).random(A.shape[0])
    for name, build in builds.items():
        solver, residuals = build(), []
        cg(A, b, rtol=1e-8, M=solver.aspreconditioner(), callback=residuals.append)
        found[name] = len(residuals), solver.operator_complexity(), len(solver.levels)
    return {"n": A.shape[0], "times": times, "found": found}


def multigrid_rows(records: list[Record]) -> list[Row]:
    rows = []
    for record in records:
        for name, ms in milliseconds(record).items():
            iterations, complexity, levels = record["result"]["found"][name]
            facts = {"levels": levels, "set-up, ms": ms, "complexity": complexity, "iterations": iterations}
            problem = f"{record['params']['problem']} {record['params']['side']}^2"
            rows.append({"problem": problem, "aggregates": name, **facts})
    return rows


# ---- what others take ----


def tools_measure(task: Task, setting: Setting) -> dict[str, Any]:
    """Down to 1000 vertices by troth; METIS' whole bisection; PyAMG's set-ups and SciPy's product for one level."""
    import numpy as np
    import pyamg
    import pymetis
    from scipy.sparse import csr_array, diags_array

    import troth

    graph, words = setting.load(task.graph), {"device": "cpu", "threads": setting.workers}
    matrix = graph.to_scipy().astype(float)
    laplacian = csr_array(diags_array(matrix.sum(axis=1) + 1e-3) - matrix)
    laplacian.indices, laplacian.indptr = laplacian.indices.astype(np.int32), laplacian.indptr.astype(np.int32)
    rows = pymetis.CSRAdjacency(graph.indptr, graph.indices)
    weights = np.maximum(1, (graph.weights * 1000).astype(np.int64))
    labels = troth.match(graph, **words).labels()
    aggregate = csr_array((np.ones(graph.n, np.float32), labels, np.arange(graph.n + 1)))
    plain = graph.to_scipy()
    calls = {
        **{by: lambda by=by: timed(troth.hierarchy, fresh(graph), by=by, **words) for by in WAYS},
        "METIS, whole bisection": lambda: timed(pymetis.part_graph, 2, rows, eweights=weights),
        "PyAMG pairwise": lambda: timed(pyamg.pairwise_solver, laplacian, max_coarse=1000),
        "PyAMG standard": lambda: timed(pyamg.smoothed_aggregation_solver, laplacian, smooth=None, max_coarse=1000),
        "SciPy, one P.T @ A @ P": lambda: timed(lambda: aggregate.T @ plain @ aggregate),
    }
    return sizes(graph) | {"times": alternate(setting, calls)}


def tools_rows(records: list[Record]) -> list[Row]:
    return [{"graph": title(record), "m": record["result"]["m"], **milliseconds(record)} for record in records]


QUESTIONS = by_name(
    Question(
        "coarsen-ways", "By matchings and by clusters",
        "How many levels and how much time do clusters of strongest neighbours save?",
        "troth.hierarchy by matching and by strongest down to 1000 vertices, in turn, on CPU threads, and on a GPU "
        "where there is one, which has the graph then; a fresh Graph for each run. Milliseconds.",
        over(GRAPHS.values(), CPU, GPU), ways_measure, ways_rows,
        ("matching: levels", "strongest: levels", "times faster"),
    ),
    Question(
        "coarsen-cuts", "Edge cuts by both ways",
        "What does a multilevel bisection make of the levels?",
        f"examples/bisection.py by both ways with {SEEDS} seeds, and METIS once, with the same balance. All weights 1.",
        over(CUT.values(), CPU), cuts_measure, cuts_rows, ("matching: mean cut", "strongest: mean cut"),
    ),
    Question(
        "coarsen-multigrid", "Multigrid by both ways",
        "How many iterations do aggregates of both ways take?",
        "PyAMG's solver with troth's aggregates (two matchings, or one step of clusters, a level) and with its own, "
        "unsmoothed; conjugate gradients to a residual of 1e-8. Set-up in milliseconds, on CPU threads.",
        multigrid_tasks, multigrid_measure, multigrid_rows, ("iterations",),
    ),
    Question(
        "coarsen-tools", "Coarsening beside what people use",
        "What do METIS, PyAMG and SciPy take?",
        "troth.hierarchy by both ways down to 1000 vertices, METIS' whole bisection through pymetis (coarsening is a "
        "part of it), PyAMG's set-ups down to 1000 unknowns of the Laplacian, which make the coarse matrices too, and "
        "one triple product of SciPy. In turn, on CPU threads; the others use one. Milliseconds.",
        over(TOOLS.values(), CPU), tools_measure, tools_rows, WAYS,
    ),
)  # fmt: skip
