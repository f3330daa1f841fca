"""Every engine returns the mates of ``reference.py``: on all graphs, tie rules, weight types and numbers of threads.

The engines come from the table, so a new row is tested here as it is added; those on a GPU are marked ``gpu``, and the
MPI ones, which need a launcher, have tests of their own.
"""

from __future__ import annotations

import json
from collections.abc import Container
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
import scipy.io
from corpus import CORPUS, DTYPES, RARE, TIES, ULP, build, corpus, exact_weight, graphs, order_of, read_real
from hypothesis import given, settings
from hypothesis import strategies as st

import troth
from troth import reference, reference_auction
from troth.engines import TABLE, Engine
from troth.graph import Graph
from troth.kernels import team

THREADS = (1, 2, 3, 8)

# Options worth a case of their own, by the option's name; the case without options comes first.
VARIANTS = {
    "presort": [{"presort": True}],
    "memory": [{"memory": "1GB"}],
    "packed": [{"packed": True}],
    "variant": [
        {"variant": "nosync"},
        {"variant": "synclb", "threads_per_block": 192, "vertices_per_warp": 33},
        {"variant": "syncnolb", "threads_per_block": 256, "vertices_per_warp": 1},
        {"variant": "hybrid", "balance_rounds": 2},
    ],
    "gpu_threads": [{"gpu_threads": 7}, {"gpu_threads": 4096}],
    "eps": [{"eps": 0.3, "slack": 0, "rounds": 5, "polish": 4}],
    "mode": [{"mode": "random"}, {"p": 0.1}, {"p": 0.9, "mode": "random"}, {"rounds": 2}],
}


def params(wanted=lambda engine: True) -> list:
    """Each (engine, options)."""
    found = []
    for engine in TABLE:
        if engine.on_ranks or not wanted(engine):
            continue
        marks = [pytest.mark.gpu] if engine.device == "cuda" else []
        for options in [{}, *(one for name in engine.options for one in VARIANTS.get(name, []))]:
            words = [engine.algorithm, engine.device, *(f"{name}={value}" for name, value in options.items())]
            found.append(pytest.param(engine, options, marks=marks, id="-".join(words)))
    return found


def cases(wanted=lambda engine: True) -> pytest.MarkDecorator:
    """Parametrise by (engine, options)."""
    return pytest.mark.parametrize(("engine", "options"), params(wanted))


def cases_on(name: str, values: dict, rare: Container[str]) -> pytest.MarkDecorator:
    """Parametrise by a graph, or its name, and (engine, options); ``rare``: those with weights of a rare type.

    On a CPU engines are compiled anew for these, so all but Suitor meet them in slow tests; so does packed handshaking,
    which looks at all edges for every link, the longest chain.
    """
    found = []
    for (key, value), param in product(values.items(), params()):
        engine, options = param.values
        left = key in rare and engine.device == "cpu" and (engine.algorithm, options) != ("suitor", {})
        left |= key == "path-increasing" and "packed" in options
        marks = [*param.marks, pytest.mark.slow] if left else param.marks
        found.append(pytest.param(value, engine, options, marks=marks, id=f"{key}-{param.id}"))
    return pytest.mark.parametrize((name, "engine", "options"), found)


def thread_counts(engine: Engine) -> tuple[int, ...]:
    """CPU threads make no difference on a GPU."""
    return THREADS if engine.device == "cpu" else (1,)


def tie_rules(engine: Engine, graph: Graph) -> tuple[str, ...]:
    """Those to try: engines are compiled anew for "degree", so it is left to wide weights, and to slow tests."""
    wide = graph.weights.dtype.itemsize == 8 and engine.algorithm != "auction"
    return tuple(rule for rule in TIES if rule != "degree" or wide)


every_engine = cases()
deterministic = cases(lambda engine: engine.dominant)


def mates(engine: Engine, options: dict, graph: Graph, ties: str = "hash", seed: int = 0, threads=None) -> list[int]:
    """What an engine answers."""
    m = troth.match(
        graph, algorithm=engine.algorithm, device=engine.device, ties=ties, seed=seed, threads=threads, **options
    )
    mate = np.asarray(m.mate)
    assert mate.dtype == np.int32
    return mate.tolist()


def expected(engine: Engine, options: dict, graph: Graph, ties: str = "hash", seed: int = 0) -> list[int]:
    """What the reference answers."""
    order = order_of(graph, ties, seed)
    if engine.dominant:
        return reference.greedy(graph, order).tolist()
    if engine.algorithm == "blue-red":
        return reference.blue_red(graph, order, seed, **options)[0].tolist()
    if engine.algorithm == "auction":
        return reference_auction.auction(graph, order, seed, **options).tolist()
    return reference.local(graph, order, seed, engine.algorithm.removeprefix("local-")).tolist()


# ---- small graphs ----


@cases_on("graph", {name: make() for name, make in CORPUS}, RARE)
def test_corpus(graph, engine, options, monkeypatch):
    for ties in tie_rules(engine, graph):
        answer = expected(engine, options, graph, ties)
        for threads in thread_counts(engine):
            # A team even for a triangle.
            monkeypatch.setattr(team, "SERIAL_BELOW", 0 if threads > 1 else team.SERIAL_BELOW)
            assert mates(engine, options, graph, ties, threads=threads) == answer


@every_engine
@settings(max_examples=40)
@given(graphs(), st.sampled_from(TIES), st.integers(0, 2**64 - 1), st.sampled_from(THREADS))
def test_random_graphs(engine, options, graph, ties, seed, threads):
    ties = ties if ties in tie_rules(engine, graph) else "hash"
    assert mates(engine, options, graph, ties, seed, threads) == expected(engine, options, graph, ties, seed)


@pytest.mark.slow
@every_engine
@settings(max_examples=40)
@given(graphs(dtypes=DTYPES), st.sampled_from(TIES), st.integers(0, 2**64 - 1), st.sampled_from(THREADS))
def test_random_graphs_of_all_weight_types(engine, options, graph, ties, seed, threads):
    assert mates(engine, options, graph, ties, seed, threads) == expected(engine, options, graph, ties, seed)


@cases(lambda engine: engine.algorithm == "auction")
@settings(max_examples=20)
@given(graphs(dtypes=["int64"]), st.integers(0, 2**64 - 1), st.sampled_from(THREADS))
def test_the_auction_by_degrees(engine, options, graph, seed, threads):
    assert mates(engine, options, graph, "degree", seed, threads) == expected(engine, options, graph, "degree", seed)


def test_seeds_are_taken_modulo_2_to_the_64():
    graph = corpus("grid-equal")
    for algorithm in ("suitor", "blue-red", "auction", "local-random"):
        assert (
            troth.match(graph, algorithm=algorithm, seed=2**64 + 5).mate.tolist()
            == troth.match(graph, algorithm=algorithm, seed=5).mate.tolist()
        )


# ---- graphs large enough for every path of the engines ----


def reweighted(graph: Graph, weigh) -> Graph:
    """The same structure; ``weigh`` maps the weights, both directions alike."""
    return Graph(graph.indptr, graph.indices, weigh(graph.weights))


def integers(scale: int = 10) -> Graph:
    """R-MAT with weights 1..10, the raw material of ties."""
    return troth.generate("rmat", scale=scale, edgefactor=8, weights="integers", dtype="int64")


MEDIUM = {
    "rmat": lambda: troth.generate("rmat", scale=11, edgefactor=8),
    "rmat-float64": lambda: troth.generate("rmat", scale=11, edgefactor=8, dtype="float64"),
    "rmat-unit": lambda: troth.generate("rmat", scale=11, edgefactor=8, weights="unit"),
    "grid-unit": lambda: troth.generate("grid", rows=60, cols=60, weights="unit"),
    "hubs": lambda: troth.generate("hubs", n=3000, hubs=3, degree=1500, weights="integers", high=3),
    "path-increasing": lambda: troth.generate("path", n=4001, weights="increasing"),
    "path-trap": lambda: troth.generate("path", n=4001, weights="trap"),
    "erdos-renyi-integers": lambda: troth.generate("erdos-renyi", n=3000, degree=8, weights="integers"),
    "complete-uint8": lambda: troth.generate("complete", n=100, weights="integers", high=255, dtype="uint8"),
    "near-ties-float64": lambda: reweighted(integers(), lambda w: 1.0 + w * ULP),
    "int64-above-2^53": lambda: reweighted(integers(), lambda w: w + 2**53),
    # The range is so wide that the prefixes of all heavy weights are equal.
    "coarse-prefixes": lambda: reweighted(integers(), lambda w: np.where(w == 1, 1, w + 2**60)),
}


@cache
def medium(name: str) -> Graph:
    return MEDIUM[name]()


@cache
def medium_answer(name: str, ties: str, engine_key: tuple, options: tuple) -> list[int]:
    engine = next(row for row in TABLE if (row.algorithm, row.device) == engine_key)
    return expected(engine, dict(options), medium(name), ties)


def answer_of(name: str, ties: str, engine: Engine, options: dict) -> list[int]:
    """The reference's answer, computed once for all deterministic engines."""
    if engine.dominant:
        return medium_answer(name, ties, ("greedy", "cpu"), ())
    return medium_answer(name, ties, (engine.algorithm, engine.device), tuple(options.items()))


@cases_on("name", {name: name for name in MEDIUM}, {"complete-uint8"})
def test_medium_graphs(name, engine, options):
    for ties, threads in (("hash", 1), ("hash", 4), ("low", 2), ("high", 3), ("degree", 2)):
        if ties not in tie_rules(engine, medium(name)):
            continue
        assert mates(engine, options, medium(name), ties, threads=threads) == answer_of(name, ties, engine, options)


@deterministic
def test_many_equal_weights(engine, options):
    """More ties in one run than any engine takes at once."""
    graph = troth.generate("grid", rows=200, cols=200, weights="unit")
    answer = troth.match(graph, algorithm="suitor", threads=1)
    assert troth.verify(graph, answer)
    for threads in (1, 2):
        assert mates(engine, options, graph, threads=threads) == answer.mate.tolist()


@every_engine
def test_runs_repeat(engine, options):
    for name in ("rmat", "grid-unit", "hubs"):
        answer = answer_of(name, "hash", engine, options)
        for _ in range(10):
            assert mates(engine, options, medium(name), threads=4) == answer


@every_engine
def test_calls_from_several_python_threads(engine, options):
    names = ("rmat", "grid-unit", "hubs", "near-ties-float64", "path-trap") * 4
    with ThreadPoolExecutor(6) as pool:
        found = pool.map(lambda name: mates(engine, options, medium(name), threads=2), names)
        for name, mate in zip(names, found, strict=True):
            assert mate == answer_of(name, "hash", engine, options)


# ---- what an engine says besides the mates ----


@every_engine
def test_stats_and_progress(engine, options):
    graph, calls = medium("rmat"), []
    m = troth.match(
        graph,
        algorithm=engine.algorithm,
        device=engine.device,
        threads=2,
        progress=lambda *call: calls.append(call),
        **options,
    )
    assert calls
    for phase, done, total in calls:
        assert isinstance(phase, str)
        assert 0 <= done <= total
    stats = json.loads(json.dumps(m.to_dict()))["stats"]
    if engine.device == "cpu":
        assert stats["threads"] == 2
        assert stats["edges_read"] > 0
    else:
        assert m.device == "cuda:0"
        assert stats["rounds"] > 0
        assert stats["seconds"]["kernels"] > 0
    assert all(seconds >= 0 for seconds in stats["seconds"].values())


@every_engine
def test_verification_agrees(engine, options):
    graph = medium("rmat")
    m = troth.match(graph, algorithm=engine.algorithm, device=engine.device, **options)
    report = troth.verify(graph, m)
    assert report.valid
    if options.get("rounds") is None:
        assert report
    assert report.promises_dominance == engine.dominant


# ---- the papers and the shared data ----


@deterministic
def test_slides_example(engine, options):
    for ties in TIES:
        assert mates(engine, options, corpus("slides"), ties) == [2, -1, 0, 4, 3]


def read_course(path) -> Graph:
    """An input of the handshaking project: a symmetric matrix whose stored entries are the upper triangle."""
    matrix = scipy.io.mmread(path).tocoo()
    upper = matrix.row < matrix.col
    columns = (matrix.row[upper], matrix.col[upper], matrix.data[upper].astype(np.int64))
    return build(list(zip(*(column.tolist() for column in columns), strict=True)), matrix.shape[0])


@deterministic
@pytest.mark.parametrize("case", range(1, 6))
def test_course_cases(data, case, engine, options):
    graph = read_course(data(f"handshake/input{case}.mtx"))
    answer = np.loadtxt(data(f"handshake/match{case}.txt"), int).tolist()
    for threads in thread_counts(engine):
        assert mates(engine, options, graph, "low", threads=threads) == answer


@pytest.mark.parametrize("case", range(1, 6))
def test_course_strongest(data, case):
    graph = read_course(data(f"handshake/input{case}.mtx"))
    answer = np.loadtxt(data(f"handshake/strong{case}.txt"), int).tolist()
    for threads in THREADS:
        assert troth.strongest(graph, threads=threads).tolist() == answer


@cache
def real(path) -> tuple[Graph, list[int], Fraction]:
    """A graph of the shared data, the reference's answer, and its exact weight."""
    graph = read_real(path)
    mate = reference.greedy(graph, order_of(graph)).tolist()
    return graph, mate, exact_weight(graph, mate)


@deterministic
def test_real_graphs_with_known_optima(data, engine, options):
    known = json.loads(data("optimum/real_graphs.json").read_text())["optima"]
    assert len(known) >= 18
    for name, facts in known.items():
        graph, answer, weight = real(data(name))
        assert mates(engine, options, graph, threads=2) == answer
        assert weight <= facts["optimum"] * (1 + 1e-12)  # real optima are stated as rounded sums
        assert facts["optimum"] <= 2 * weight


@deterministic
@pytest.mark.parametrize("name", ["matrices/poisson_100x100.mtx.gz", "matrices/hep-th.mtx.gz"])
def test_real_matrices(data, name, engine, options):
    """One with nothing but ties, one whose weights are float64 of many sizes."""
    graph, answer, _ = real(data(name))
    for threads in (1, 3):
        assert mates(engine, options, graph, threads=threads) == answer
