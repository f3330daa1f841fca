"""Clusters of strongest neighbours on a GPU: the levels of the CPU, bit for bit, without leaving the card."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cluster_parts import expected_levels
from corpus import DTYPES, TIES, build, complete, drawn_with_hub, fractions, graphs, on_corpus, star, wide_integers
from hypothesis import given
from hypothesis import strategies as st
from outcomes import outcome

import troth
from troth.arrays import cupy
from troth.cli import main
from troth.cuda import clusters as cuda
from troth.graph import Graph

pytestmark = pytest.mark.gpu

LIMITS = (None, 1, 2, 3.5, 9)


def same(there: troth.Level, here: troth.Level) -> None:
    """Equal arrays of equal types; those of ``there`` are on the card, where they were made."""
    assert (there.graph.device, there.mate, here.mate) == ("cuda:0", None, None)
    assert [there.stats[name] for name in ("joined", "twohop", "device")] == [
        *(here.stats[name] for name in ("joined", "twohop")),
        "cuda:0",
    ]
    for a, b in (
        *((getattr(there.graph, name), getattr(here.graph, name)) for name in ("indptr", "indices", "weights")),
        (there.graph.vertex_weights, here.graph.vertex_weights),
        (there.map, here.map),
    ):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.get().tobytes() == b.tobytes()


def check(graph: Graph, **options) -> None:
    """A hierarchy on both."""
    here = outcome(troth.hierarchy, graph, by="strongest", device="cpu", **options)
    there = outcome(troth.hierarchy, graph.to("cuda"), by="strongest", **options)
    if isinstance(here, str):
        assert there == here
        return
    assert len(there) == len(here)
    for a, b in zip(there[1:], here[1:], strict=True):
        same(a, b)


@on_corpus
def test_corpus(graph):
    for twohop in (True, False):
        check(graph, stop=1, twohop=twohop)


def test_the_reference():
    graph = troth.generate("rmat", scale=8, edgefactor=6, weights="integers")
    wanted = expected_levels(graph, "low", 4, 5, 30)
    words = {"ties": "low", "seed": 4, "stop": 5, "max_vertex_weight": 30}
    found = troth.hierarchy(graph, by="strongest", device="cuda", **words)
    for level, (coarse, where, joined) in zip(found[1:], wanted, strict=True):
        assert level.graph.weights.tobytes() == coarse.weights.tobytes()
        assert (level.map.tolist(), level.stats["twohop"]) == (where.tolist(), joined)


@given(graphs(20, DTYPES), st.sampled_from(TIES), st.sampled_from(LIMITS), st.booleans())
def test_any_hierarchy(graph, ties, limit, twohop):
    check(graph, stop=2, ties=ties, seed=3, max_vertex_weight=limit, twohop=twohop)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("weights", ["uniform", "unit", "integers"])
def test_ties(ties, weights):
    check(troth.generate("rmat", scale=13, edgefactor=7, weights=weights), stop=50, ties=ties)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(dtype):
    graph = troth.generate("rmat", scale=8, edgefactor=10)
    weights = (graph.weights * 9).astype(dtype) + np.array(1, dtype)
    check(Graph(graph.indptr, graph.indices, weights), stop=20)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: drawn_with_hub(4000, 15000, fractions), id="hub"),
        pytest.param(lambda: drawn_with_hub(14000, 20000, wide_integers), id="one marked row"),
        pytest.param(lambda: complete(90, lambda u, v: 1 / (1 + u * v % 13), np.float64), id="complete"),
        pytest.param(lambda: troth.generate("complete", n=900, weights="integers"), id="long rows"),
        pytest.param(lambda: troth.generate("hubs", n=12000, hubs=3, degree=9000), id="marked rows"),
        pytest.param(lambda: troth.generate("path", n=50000, weights="increasing"), id="one long tree"),
        pytest.param(lambda: troth.generate("grid", rows=300, cols=300, weights="unit"), id="equal weights"),
        pytest.param(lambda: build([(u, v, 1 + v % 5) for u in range(36) for v in range(36, 40 + u)]), id="lengths"),
        pytest.param(lambda: star([1 + i % 7 for i in range(9000)]), id="star"),
    ],
)
@pytest.mark.parametrize("limit", [None, 20])
def test_trees_and_rows_of_every_size(make, limit):
    check(make(), stop=20, seed=5, max_vertex_weight=limit)


def test_long_rows_among_many_vertices():
    """Rows of 600 and of 1100 entries that a block sorts, since their bitmaps would have thousands of empty words."""
    stars = [(0, v, 1 + v % 9) for v in range(2, 602)] + [(1, v, 1 + v % 7) for v in range(1000, 2100)]
    pairs = [(v, v + 1, 20 + v % 3) for v in range(2, 400_000, 2)]
    check(build([*stars, *pairs]), stop=300_000)


@pytest.mark.parametrize("most", [0, cuda.SORTED_IN_KERNEL])
def test_lists_are_sorted_by_the_kernel_or_by_cupy(most, monkeypatch):
    monkeypatch.setattr(cuda, "SORTED_IN_KERNEL", most)
    check(star([1 + i % 7 for i in range(9000)]), stop=2)
    check(build([(v % 50, v, 1 + v % 11) for v in range(50, 5000)], 9001), stop=2)
    check(troth.generate("rmat", scale=12, edgefactor=3), stop=100, max_vertex_weight=40)


def test_more_than_the_kernel_sorts():
    """Lone vertices and leaves beyond what one kernel sorts."""
    check(troth.generate("rmat", scale=20, edgefactor=1), stop=1000)
    check(troth.generate("hubs", n=600_000, hubs=2, degree=290_000), stop=1000)


@pytest.mark.parametrize("weights", [np.arange(30) * 2**50, np.arange(90).reshape(30, 3) / 7, np.arange(30) > 3])
def test_vertex_weights(weights):
    graph = troth.generate("grid", rows=5, cols=6).replaced(vertex_weights=weights)
    check(graph, stop=2)
    check(graph, stop=2, max_vertex_weight=weights.max(axis=0) * 1.5)


@pytest.mark.parametrize("limit", [1, 5, 17, 300])
def test_limits_on_larger_graphs(limit):
    check(troth.generate("rmat", scale=12, edgefactor=6), stop=10, max_vertex_weight=limit)


@pytest.mark.parametrize("spread", [1, 60, 150])
def test_sums_are_exact_in_any_order(spread):
    rng = np.random.default_rng(0)
    for n in (12, 60, 400):
        check(complete(n, lambda u, v: float(rng.random() * 2.0 ** rng.integers(-spread, spread)), np.float64), stop=3)
    small = np.float32(2.0**-149)  # no normal number, which arithmetic of 32 bits would take for 0
    check(complete(40, lambda u, v: small * (1 + u * v % 5), np.float32), stop=3)


def test_sums_that_do_not_fit():
    most = 2**63 - 1
    check(build([(0, 1, most), (2, 3, most), (0, 2, 2**62), (1, 3, 2**62)]), stop=1)
    for dtype in (np.float32, np.float64):
        top = float(np.finfo(dtype).max)
        check(build([(0, 1, top), (2, 3, top), (0, 2, top * 0.75), (1, 3, top * 0.75)], dtype=dtype), stop=1)


def test_the_levels_come_home():
    """A graph of the host is coarsened on the card, and its levels are on the host again; and the other way round."""
    graph = troth.generate("rgg", n=2000, degree=7)
    there, here = (troth.hierarchy(graph, by="strongest", stop=100, device=device) for device in ("cuda", "cpu"))
    assert there[0].graph is graph
    for a, b in zip(there[1:], here[1:], strict=True):
        assert (a.stats["device"], a.graph.device) == ("cuda:0", "cpu")
        assert isinstance(a.map, np.ndarray)
        assert (a.graph.weights == b.graph.weights).all()
        assert (a.map == b.map).all()
    on_card = graph.to("cuda")
    back = troth.hierarchy(on_card, by="strongest", stop=100, device="cpu")
    assert back[0].graph is on_card
    for a, b in zip(back[1:], here[1:], strict=True):
        assert (a.stats["device"], a.graph.device) == ("cpu", "cuda:0")
        assert a.graph.weights.get().tobytes() == b.graph.weights.tobytes()
        assert a.restrict(cupy().ones(len(a.map))).get().tolist() == b.restrict(np.ones(len(b.map))).tolist()


def test_work_goes_on_the_callers_stream():
    """The weights are made on a stream just before; nothing may run on another one."""
    cp = cupy()
    graph = troth.generate("grid", rows=300, cols=300)
    here = troth.hierarchy(graph, by="strongest", device="cpu")
    there = graph.to("cuda")
    troth.hierarchy(there, by="strongest")  # all is compiled now
    stream = cp.cuda.Stream(non_blocking=True)
    wait = cp.RawKernel(
        'extern "C" __global__ void wait(long long t) { long long s = clock64(); while (clock64() - s < t) {} }', "wait"
    )
    right = cp.asarray(graph.weights)
    with stream:
        weights = cp.ones_like(right)
        stream.synchronize()
        wait((1,), (1,), (np.int64(10**8),))  # some 50 ms, while a hierarchy needs few
        weights[...] = right
        found = troth.hierarchy(there.replaced(weights=weights, weight_range=None), by="strongest")
        for a, b in zip(found[1:], here[1:], strict=True):
            same(a, b)


def test_calls_from_several_threads():
    """On streams of their own, whose kernels may run side by side."""
    graph = troth.generate("rmat", scale=12, edgefactor=6)
    there, here = graph.to("cuda"), troth.hierarchy(graph, by="strongest", device="cpu", stop=50)

    def once(_):
        with cupy().cuda.Stream(non_blocking=True) as stream:
            levels = troth.hierarchy(there, by="strongest", stop=50)
            stream.synchronize()
            return levels

    with ThreadPoolExecutor(4) as pool:
        for levels in pool.map(once, range(12)):
            for a, b in zip(levels[1:], here[1:], strict=True):
                same(a, b)


def test_the_command_line(capfd, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    written = []
    for device, name in (("cuda", "cuda:0"), ("cpu", "cpu")):
        words = ("--by", "strongest", "--stop", "100", "-o", f"{device}.csr", "--device", device)
        assert main(["coarsen", "rmat:scale=12", *words]) == 0
        assert f"strongest on {name}, ties hash" in capfd.readouterr().out
        written.append(troth.read(f"{device}.csr").weights.tobytes())
    assert written[0] == written[1]
