"""Our own questions about two sides: ``troth.assign`` against SciPy's exact solvers, by weight and by cost."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from bench.engines import read
from bench.questions import Question, Record, Row, alternate, by_name, milliseconds, timed
from bench.setting import Setting, Task

ENGINES = ("auction@cpu", "auction@cuda")
# Rows (as many as columns) by size, and entries a row, 0 for dense; SciPy takes minutes for the last one.
MATRICES: dict[str, tuple[dict[str, int], int]] = {
    "sparse, 20 a row": ({"tiny": 100, "small": 2000, "full": 10_000}, 20),
    "dense": ({"tiny": 30, "small": 500, "full": 2000}, 0),
    "dense, larger": ({"tiny": 50, "small": 1000, "full": 5000}, 0),
    "sparse, 10 a row": ({"tiny": 200, "small": 50_000, "full": 1_000_000}, 10),
}
ALONE = "sparse, 10 a row"
REWARD = 10.0  # ten times the largest cost: all rows are paired


def tasks(setting: Setting) -> list[Task]:
    able = setting.able(ENGINES)
    return [
        Task(engine=engine, params={"matrix": name, "rows": rows[setting.size]})
        for name, (rows, _) in MATRICES.items()
        for engine in able
    ]


@lru_cache(1)
def make(name: str, rows: int, seed: int) -> Any:
    """A matrix of numbers from (0, 1]; a sparse one has a permutation among its entries, so a full matching exists."""
    import numpy as np
    from scipy.sparse import coo_array

    rng, each = np.random.default_rng(seed), MATRICES[name][1]
    if not each:
        return 1 - rng.random((rows, rows))
    row = np.concatenate([np.repeat(np.arange(rows), each - 1), np.arange(rows)])
    column = np.concatenate([rng.integers(0, rows, rows * (each - 1)), rng.permutation(rows)])
    matrix = coo_array((np.ones(len(row)), (row, column)), shape=(rows, rows)).tocsr()
    matrix.data = 1 - rng.random(matrix.nnz)  # one for each place
    return matrix


def solve(matrix: Any, maximize: bool) -> Any:
    """SciPy's exact pairs, all of them."""
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import issparse
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    exact = min_weight_full_bipartite_matching if issparse(matrix) else linear_sum_assignment
    return matrix[exact(matrix, maximize=maximize)].sum()


def placed(matrix: Any, device: str) -> Any:
    """The matrix where the engine works on it."""
    from scipy.sparse import issparse

    if device == "cpu":
        return matrix
    from troth.arrays import cupy

    if not issparse(matrix):
        return cupy().asarray(matrix)
    from cupyx.scipy.sparse import csr_matrix

    parts = (cupy().asarray(part) for part in (matrix.data, matrix.indices, matrix.indptr))
    return csr_matrix(tuple(parts), shape=matrix.shape)


def measure(task: Task, setting: Setting, maximize: bool = True) -> dict[str, Any]:
    """The whole call, from the matrix where it is to the pairs; and SciPy, in turn, but for the largest matrix."""
    import troth

    name, rows = task.params["matrix"], task.params["rows"]
    contender, matrix = read(task.engine), make(name, rows, setting.seed)
    there, found = placed(matrix, contender.device), dict[str, Any]()
    words: dict[str, Any] = {} if maximize else {"maximize": False, "reward": REWARD}

    def ours() -> float:
        threads = contender.threads or setting.threads
        return timed(lambda: found.update(ours=troth.assign(there, device=contender.device, threads=threads, **words)))

    def theirs() -> float:
        return timed(lambda: found.update(theirs=solve(matrix, maximize)))

    times = alternate(setting, {"troth": ours} | ({} if name == ALONE else {"scipy": theirs}))
    pairs, proof = found["ours"], found["ours"].certificate
    result = {"entries": getattr(matrix, "nnz", rows * rows), "pairs": len(pairs.rows), "times": times}
    result |= {"ratio": proof.ratio, "eps": pairs.stats["eps"], "phases": pairs.stats["seconds"]}
    if not maximize:
        result |= {"gap": pairs.gap, "attempts": pairs.stats["attempts"]}
    if "theirs" in found:
        got = pairs.weight if maximize else pairs.cost
        result |= {"exact": float(found["theirs"]), "of exact": float(got / found["theirs"])}
    return result


def measure_cost(task: Task, setting: Setting) -> dict[str, Any]:
    return measure(task, setting, maximize=False)


def rows(records: list[Record]) -> list[Row]:
    """A row a matrix and device."""
    found = []
    for record in records:
        ms, result = milliseconds(record), record["result"]
        row = {"matrix": record["params"]["matrix"], "rows": record["params"]["rows"], "entries": result["entries"]}
        row |= {"device": read(record["engine"]).device, "pairs": result["pairs"], "troth, ms": ms["troth"]}
        row |= {"SciPy, ms": ms.get("scipy"), "times faster": ms["scipy"] / ms["troth"] if "scipy" in ms else None}
        row |= {"of SciPy's": result.get("of exact"), "proven": result["ratio"]}
        found.append(row | ({"gap": result["gap"], "attempts": result["attempts"]} if "gap" in result else {}))
    return found


METHOD = (
    "troth.assign, from the matrix (on a GPU: of CuPy, there) to the pairs, in turn with SciPy's "
    "min_weight_full_bipartite_matching (sparse) or linear_sum_assignment (dense), the least of several runs, in "
    "milliseconds. Numbers are uniform, and a full matching exists. "
)
QUESTIONS = by_name(
    Question(
        "assign-weight", "Two sides: the heaviest pairs",
        "How near is assign to SciPy's exact solvers, and how much faster?",
        METHOD + "The goals: 0.99 of their weight or more, 5 times faster on the sparse one, the largest in seconds.",
        tasks, measure, rows, ("times faster", "of SciPy's", "proven"),
    ),
    Question(
        "assign-cost", "Two sides: the cheapest pairs",
        "What does least cost take, where a gap of 2 per cent is proven?",
        METHOD + "The reward is ten times the largest cost, so that all rows are paired.",
        tasks, measure_cost, rows, ("times faster", "of SciPy's", "gap"),
    ),
)  # fmt: skip
