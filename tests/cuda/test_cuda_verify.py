"""Checks on a GPU: the reports and certificates of the CPU, field by field, wherever the mates come from."""

from __future__ import annotations

import numpy as np
import pytest
from corpus import (
    DTYPES,
    FLOATS,
    HUGE,
    TINY,
    build,
    complete,
    corpus,
    greedy,
    grid,
    matchings,
    on_corpus,
    path,
    star,
)
from hypothesis import given
from hypothesis import strategies as st

import troth
from troth import reference
from troth.api.checking import certificate, verify
from troth.api.opening import as_graph
from troth.api.result import Matching
from troth.arrays import cupy
from troth.cpu.checks import BLOCK, CpuChecks
from troth.cuda.checks import CONSTANTS, LANE_ENTRIES, PIECE, PROGRAMS, CudaChecks, split_rows
from troth.errors import TrothError
from troth.graph import Graph
from troth.kernels.launch import load

pytestmark = pytest.mark.gpu

slides = corpus("slides")


def check(graph: Graph, mate, **options):
    """The CPU's report, for mates on the host and on the GPU; returns it."""
    there, report = graph.to("cuda"), verify(graph, mate)
    assert verify(there, mate) == report
    assert verify(there, cupy().asarray(mate)) == report
    assert verify(graph, cupy().asarray(mate)) == report
    if report.valid:
        assert verify(there, mate, certify=False) == verify(graph, mate, certify=False)
        assert certificate(there, mate, **options) == certificate(graph, mate, **options)
        assert dual(CudaChecks(there), cupy().asarray(mate)) == dual(CpuChecks(graph), mate)
    return report


def dual(checks, mate) -> tuple[int, ...]:
    """The whole numbers behind a certificate: the weight, the exponent, and the sums after four sweeps."""
    held, broken = checks.matched_bits(mate)
    assert broken == checks.graph.n
    return *checks.start_dual(mate, held), *(checks.sweep_dual() for _ in range(4))


# ---- the same reports ----


@on_corpus
def test_corpus(graph):
    assert check(graph, greedy(graph)).dominant
    check(graph, reference.luby(graph, 3))
    check(graph, np.full(graph.n, -1, np.int32))


@given(matchings(20, DTYPES), st.integers(1, 40), st.sampled_from([0, 1e-4, 0.1]))
def test_any_matching(case, sweeps, tolerance):
    check(*case, sweeps=sweeps, tolerance=tolerance)


@given(matchings(dtypes=DTYPES), st.data())
def test_any_mates(case, data):
    """Mates that someone damaged in one or two places."""
    graph, mate = case
    for _ in range(data.draw(st.integers(1, 2)) if graph.n else 0):
        mate[data.draw(st.integers(0, graph.n - 1))] = data.draw(st.integers(-3, graph.n + 1))
    check(graph, mate)


def rmat(scale: int, **options) -> Graph:
    return troth.generate("rmat", scale=scale, edgefactor=8, **options)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: rmat(10), id="rmat-float32"),
        pytest.param(lambda: rmat(9, weights="integers", high=40), id="rmat-integers"),
        pytest.param(lambda: rmat(8, dtype="float64", seed=2), id="rmat-float64"),
        pytest.param(lambda: grid(40, 50, lambda u, v: 1 + (u * v) % 7), id="grid"),
        pytest.param(lambda: complete(90, lambda u, v: 1 + (u * 31 + v * 17) % 97, np.float32), id="complete"),
    ],
)
def test_larger_graphs(make):
    graph = make()
    mate = troth.match(graph, device="cpu").mate
    assert check(graph, mate).ok
    check(graph, troth.match(graph, algorithm="local-random", device="cpu").mate)
    some = np.flatnonzero(mate >= 0)[:7]
    mate = mate.copy()
    mate[some], mate[mate[some]] = -1, -1
    assert not check(graph, mate).ok


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(dtype):
    graph = rmat(6)
    weights = (graph.weights * 100).astype(dtype) + np.array(1, dtype)
    graph = Graph(graph.indptr, graph.indices, weights)
    assert check(graph, greedy(graph)).ok
    check(graph, reference.luby(graph, 1))


# ---- long rows ----


def wheel(spokes: int, centre: int, heavy: int) -> tuple[Graph, np.ndarray]:
    """A free centre among matched pairs, and one spoke that is heavier than the pair at its end."""
    outside = [v for v in range(spokes + 1) if v != centre]
    pairs = list(zip(outside[::2], outside[1::2], strict=True))
    edges = [(u, v, 10) for u, v in pairs] + [(centre, v, 20 if v == heavy else 5) for v in outside]
    mate = np.full(spokes + 1, -1, np.int32)
    for u, v in pairs:
        mate[u], mate[v] = v, u
    return build(edges), mate


SPOKES = 3 * PIECE + 2 * LANE_ENTRIES


@pytest.mark.parametrize("centre", [0, 1500, SPOKES])
@pytest.mark.parametrize("heavy", [1, 31, 32, 127, 128, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 77, SPOKES - 1])
def test_the_one_heavy_edge_of_a_long_row_is_found(centre, heavy):
    graph, mate = wheel(SPOKES, centre, heavy)
    report = verify(graph.to("cuda"), mate, certify=False)
    ends = min(centre, heavy), max(centre, heavy)
    assert report.reason == f"edge {ends} of weight 20 is heavier than the matched edges at its ends"
    assert (report.valid, report.maximal, report.dominant) == (True, True, False)


@pytest.mark.parametrize("degree", [1, 127, 128, 129, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 4 * PIECE + 33])
def test_rows_of_all_lengths(degree):
    graph = star([1 + (7 * i) % 101 for i in range(degree)])
    check(graph, greedy(graph))
    check(graph, np.full(graph.n, -1, np.int32))


def test_many_long_rows():
    graph = troth.generate("hubs", n=3000, hubs=9, degree=500)
    assert check(graph, troth.match(graph, device="cpu").mate).ok
    check(graph, reference.luby(graph))


def test_rows_that_are_long_even_for_a_warp():
    """The mean degree asks for whole warps, and still the rows of one side are cut."""
    left, right = 40, 32 * LANE_ENTRIES + 20
    row, col = np.divmod(np.arange(left * right), right)
    graph = as_graph((row, left + col, (1 + (row * 7 + col * 13) % 1009).astype(np.float64)))
    shift, longest, long_row, *_ = split_rows(
        graph.to("cuda"), load("checks", PROGRAMS["dual", "double"], CONSTANTS)[0]
    )
    assert (shift, longest, sorted(long_row.tolist())) == (5, 32 * LANE_ENTRIES, list(range(left)))
    mate = troth.match(graph, device="cpu").mate
    assert certificate(graph.to("cuda"), mate, sweeps=3) == certificate(graph, mate, sweeps=3)


# ---- what is no matching ----


@pytest.mark.parametrize(
    "mates",
    [
        [2, -1, 0, 4],
        [[2, -1, 0, 4, 3]],
        [2.0, -1.0, 0.0, 4.0, 3.0],
        [True, False, False, False, False],
        [2, -2, 0, 4, 3],
        [2, -1, 0, 5, 3],
        [2 + 2**32, -1, 0, 4, 3],
        [2 - 2**32, -1, 0, 4, 3],
        [2, 1, 0, 4, 3],
        [2, 0, 0, 4, 3],
        [-1, -1, -1, 4, -1],
        [3, -1, -1, 0, -1],
        np.array([2, 2**64 - 1, 0, 4, 3], np.uint64),
        np.array([2, 2**32 - 1, 0, 4, 3], np.uint32),
        np.array([2, 255, 0, 4, 3], np.uint8),
    ],
)
def test_what_is_no_matching(mates):
    report = check(slides, np.array(mates))
    assert not report.valid
    with pytest.raises(TrothError, match="no certificate without a matching") as refusal:
        certificate(slides.to("cuda"), cupy().asarray(mates))
    assert report.reason in str(refusal.value)


def test_mates_that_no_gpu_can_hold():
    for mates in (None, ["a", "b", "c", "d", "e"], np.array([2, None, 0, 4, 3])):
        report = verify(slides.to("cuda"), mates)
        assert not report.valid
        assert report == verify(slides, mates)


def test_the_first_broken_vertex_is_named():
    graph = grid(40, 40, lambda u, v: 1 + (u + v) % 3)
    mate, there = greedy(graph), graph.to("cuda")
    rng = np.random.default_rng(1)
    for _ in range(20):
        wrong = mate.copy()
        wrong[rng.choice(graph.n, 3, replace=False)] = graph.n
        report = verify(there, wrong)
        assert not report.valid
        assert report == verify(graph, wrong)


# ---- where mates come from ----


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, ">i4"])
def test_mates_of_any_integer_type(dtype):
    there, mates = slides.to("cuda"), np.array([2, -1, 0, 4, 3], dtype)
    assert verify(there, mates).ok
    assert verify(there, np.repeat(mates, 2)[::2]).ok
    if dtype != ">i4":
        assert verify(there, cupy().asarray(mates)).ok
        assert verify(there, cupy().repeat(cupy().asarray(mates), 2)[::2]).ok
    assert verify(build([(0, 1, 3)]).to("cuda"), cupy().array([1, 0], np.uint64)).ok


class Foreign:
    """An array of another library, known only by the protocol."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


def test_arrays_of_other_libraries():
    mates = Foreign(cupy().array([2, -1, 0, 4, 3], np.int32))
    assert verify(slides.to("cuda"), mates).ok
    assert verify(slides, mates).ok


def test_matchings_decide_about_dominance():
    there = slides.to("cuda")
    poor = cupy().array([1, 0, 3, 2, -1], np.int32)
    assert verify(there, Matching(there, poor, "blue-red")).ok
    assert not verify(there, Matching(there, poor, "suitor")).ok


def test_the_current_stream():
    graph = grid(20, 20, lambda u, v: 1 + (u * v) % 5)
    with cupy().cuda.Stream(non_blocking=True):
        check(graph, greedy(graph))


# ---- numbers ----


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_sums_have_one_order(dtype):
    rng = np.random.default_rng(5)
    pairs = 2 * BLOCK + 17
    weights = (rng.random(pairs) * 10.0 ** rng.integers(-9, 9, pairs)).tolist()
    graph = build([(2 * i, 2 * i + 1, w) for i, w in enumerate(weights)], dtype=dtype)
    mate = np.arange(2 * pairs, dtype=np.int32) ^ 1
    assert verify(graph.to("cuda"), mate, certify=False).weight == verify(graph, mate, certify=False).weight
    mate[rng.choice(pairs, 3000) * 2] = -1
    mate[np.append(mate[::2] < 0, False).repeat(2)[: 2 * pairs]] = -1
    assert verify(graph.to("cuda"), mate, certify=False).weight == verify(graph, mate, certify=False).weight


def test_integer_sums_do_not_overflow():
    graph = complete(40, lambda u, v: 2**63 - 1 - (u + v) % 2)
    assert check(graph, greedy(graph)).weight > 2**66


def test_floats_at_both_ends_of_the_range():
    for weights in ([HUGE, 1.0, HUGE, HUGE], [TINY, 2 * TINY, TINY, 3 * TINY], [TINY, HUGE, TINY, 1.0, TINY]):
        graph = path(weights, np.float64)
        check(graph, greedy(graph), tolerance=0)
        check(graph, np.full(graph.n, -1, np.int32), tolerance=0)
    graph = path([1e-45, 3e-45, 1e-38, 1e-45, 3e38], np.float32)
    check(graph, greedy(graph), tolerance=0)
