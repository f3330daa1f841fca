"""Exact optima: kept with the results, or found by LEMON where it is installed.

    python -m bench.optima [--size tiny] [--folder FOLDER]

finds those that ``near-optimal`` needs and that are not kept yet, by ``lemon/optimum.cpp``, and keeps them in
``results/optima.json``, by the graph's name and a digest of its arrays. It needs g++ and LEMON (Debian and Ubuntu:
``apt-get install g++ liblemon-dev``); whoever runs the experiment needs neither.

LEMON computes with whole numbers. Whole weights go in as they are; fractions times the power of two that takes the
heaviest into 2^39..2^40, rounded (fewer bits where a sum would not fit). Uniform float32 weights, multiples of 2^-24,
are exact so; in general every weight is off by at most 2^-40 of the heaviest, and the matching that is found by at most
n times that. The weight that is kept is the sum of its true weights.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from bench import peers
from bench.cache import folder_of
from bench.store import KEPT
from troth.errors import TrothError
from troth.io.atomic import atomic_path

if TYPE_CHECKING:
    from troth.graph import Graph

FILE = KEPT / "optima.json"
SOURCE = Path(__file__).parent / "lemon" / "optimum.cpp"
HEADER = "#include <lemon/matching.h>\n"
BITS = 40  # of the heaviest weight, where weights are fractions
ROOM = 60  # bits of the sum of all weights of a matching: LEMON computes with four times as much in 63
LONGEST = 30.0  # seconds that an exact library may be expected to take where LEMON is not there


def optimum(name: str, graph: Graph) -> dict[str, Any]:
    """The weight and pairs of a heaviest matching, and by what they were found: kept, by LEMON, or by a library."""
    kept = known().get(key(name, graph))
    return kept or solve(graph)


def key(name: str, graph: Graph) -> str:
    """What an optimum is kept under: the graph's name and a digest of its arrays."""
    total = hashlib.blake2b(graph.weights.dtype.name.encode(), digest_size=8)
    for array in (graph.indptr, graph.indices, graph.weights):
        total.update(np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).view(np.uint8))
    return f"{name} {total.hexdigest()}"


@cache
def known() -> dict[str, dict[str, Any]]:
    """All that is kept."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def solve(graph: Graph) -> dict[str, Any]:
    """A heaviest matching, found now."""
    import troth

    by, mate = "LEMON", by_lemon(graph)
    if mate is None:
        name = peers.exact_peer(graph.to_scipy())
        if peers.seconds(name, graph.n, graph.m) > LONGEST:
            raise TrothError("its optimum is not kept, and LEMON is not here: apt-get install g++ liblemon-dev")
        by, mate = peers.optimum(graph)
    report = troth.verify(graph, mate, certify=False)
    if not report.valid:
        raise AssertionError(f"{by}: {report.reason}")
    return {"n": graph.n, "m": graph.m, "weight": report.weight, "pairs": int((mate >= 0).sum()) // 2, "by": by}


# ---- LEMON ----


@cache
def program() -> Path | None:
    """The compiled program, in the user's cache folder; None where g++ or LEMON is not installed."""
    compiler = shutil.which("g++")
    if not compiler:
        return None
    words = [compiler, "-O2", "-std=c++17"]
    there = subprocess.run([*words, "-fsyntax-only", "-x", "c++", "-"], input=HEADER, text=True, capture_output=True)
    if there.returncode:
        return None
    built = folder_of(None).parent / f"optimum-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:8]}"
    if not built.exists():
        built.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(built) as beside:
            subprocess.run([*words, "-o", str(beside), str(SOURCE)], check=True, capture_output=True)
    return built


def by_lemon(graph: Graph) -> np.ndarray | None:
    """The mates of a heaviest matching by LEMON, None where it is not installed."""
    built = program()
    if built is None:
        return None
    rows = np.repeat(np.arange(graph.n, dtype=np.int32), np.diff(graph.indptr))
    once = rows < graph.indices
    with tempfile.TemporaryDirectory() as folder:
        edges, mates = Path(folder) / "edges", Path(folder) / "mates"
        with open(edges, "wb") as stream:
            for part in (np.array([graph.n, graph.m]), rows[once], graph.indices[once], whole(graph.weights[once])):
                stream.write(part.tobytes())
        subprocess.run([built, edges, mates], check=True, capture_output=True)
        return np.fromfile(mates, np.int32)


def whole(weights: np.ndarray) -> np.ndarray:
    """Weights as 64-bit whole numbers: as they are, or scaled by a power of two and rounded.

    >>> whole(np.array([3, 1], np.uint8)).tolist(), (whole(np.array([0.25, 0.75])) >> 30).tolist()
    ([3, 1], [256, 768])
    """
    pairs = math.log2(max(len(weights), 1))  # no matching has more
    if weights.dtype.kind != "f" or not (weights % 1).any():
        if len(weights) and math.log2(float(weights.max())) + pairs > ROOM:
            raise TrothError("the weights are too large for LEMON's 64-bit sums")
        return weights.astype(np.int64)
    _, exponent = math.frexp(float(weights.max()))
    bits = min(BITS, int(ROOM - pairs))
    return np.rint(np.ldexp(weights.astype(np.float64), bits - exponent)).astype(np.int64)


# ---- keeping ----


def main(
    size: Annotated[list[str] | None, typer.Option("--size", help="By default all: tiny, small, full.")] = None,
    folder: Annotated[list[Path] | None, typer.Option("--folder", help="Also the files of these folders.")] = None,
) -> None:
    """Find the optima that near-optimal needs and that are not kept, by LEMON, and keep them."""
    from bench.catalogue import SIZES
    from bench.experiments import near_optimal
    from bench.setting import Setting

    if program() is None:
        raise TrothError("g++ and LEMON are needed: apt-get install g++ liblemon-dev")
    found = dict(known())
    for each in size or SIZES:
        setting = Setting(size=each, folders=folder or [])
        for name in near_optimal.graphs(setting).values():
            graph = setting.load(name)
            if key(name, graph) not in found:
                typer.echo(f"{name}: {graph.m} edges")
                found[key(name, graph)] = solve(graph)
                with atomic_path(FILE) as beside:
                    beside.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
