"""Suitor on a GPU, troth's own kernels: one answer for both plans, rows of every length, and races without a trace."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from corpus import DTYPES, TIES, ULP, corpus, drawn_with_hub, graphs, near_ties, on_corpus, order_of, wide_integers
from hypothesis import given
from hypothesis import strategies as st
from shapes import build, complete, cycle, grid, hub, path, star

import troth
from troth import reference
from troth.arrays import cupy
from troth.contract import Context
from troth.cuda import suitor
from troth.cuda.suitor import CONSTANTS, LONG, PIECE, SHORT, run
from troth.graph import Graph
from troth.kernels.launch import source
from troth.order import on_device

pytestmark = pytest.mark.gpu

RACES = 100
PLANS = {"chase": 2**62, "propose_all": 0}  # values of DENSE
LENGTHS = sorted({1, 5000, *(size + more for size in (32, SHORT, LONG, PIECE, 2 * PIECE) for more in (-1, 0, 1))})

every_tie = pytest.mark.parametrize("ties", TIES)


def unit(rng, m):
    return np.ones(m, np.int32)


def small_integers(rng, m):
    return rng.integers(1, 6, m).astype(np.uint8)


def uniform(rng, m):
    return rng.random(m, np.float32) + np.float32(0.01)


every_weight = pytest.mark.parametrize("weigh", [unit, small_integers, uniform, near_ties, wide_integers])
lossy_weight = pytest.mark.parametrize("weigh", [near_ties, wide_integers])


def weighed(pairs, weigh, n: int | None = None) -> Graph:
    """The graph of some (u, v) with drawn weights."""
    weights = weigh(np.random.default_rng(len(pairs)), max(3, len(pairs)))[: len(pairs)]
    return build([(u, v, w) for (u, v), w in zip(pairs, weights.tolist(), strict=True)], n, weights.dtype)


def drawn(n: int, m: int, weigh) -> Graph:
    return drawn_with_hub(n, m, weigh, seed=m)


def check(graph: Graph, ties: str = "hash", seed: int = 0, wanted: list | None = None) -> None:
    """Both plans, and the paper's loop, give the reference's mates."""
    order, there = order_of(graph, ties, seed), graph.to("cuda")
    wanted = reference.greedy(graph, order).tolist() if wanted is None else wanted
    order = on_device(order, there.device)
    for name, dense in PLANS.items():
        with mock.patch.object(suitor, "DENSE", dense):
            mate = run(there, order, Context()).mates
        assert mate.dtype == np.int32
        assert mate.get().tolist() == wanted, name
    mate, counts, seconds, _ = run(there, order, Context(), variant="plain")
    assert (mate.dtype, counts, set(seconds)) == (np.int32, {"variant": "plain"}, {"kernels"})
    assert mate.get().tolist() == wanted, "plain"


# ---- one answer ----


@on_corpus
@every_tie
def test_corpus(graph, ties):
    check(graph, ties)


@given(graphs(40, DTYPES), st.sampled_from(TIES), st.integers(0, 9))
def test_any_graph(graph, ties, seed):
    check(graph, ties, seed)


@pytest.mark.parametrize("dtype", DTYPES)
@every_tie
def test_every_type(dtype, ties):
    for seed in (0, 1):
        check(drawn(300, 1500, lambda rng, m: rng.integers(1, 9, m).astype(dtype)), ties, seed)


@pytest.mark.parametrize("n", [1, 2, 3, 31, 32, 33, 63, 65, 255, 256, 257, 1000, 1031])
@every_tie
def test_groups_that_are_not_full(n, ties):
    weights = np.random.default_rng(n).integers(1, 4, n - 1)
    check(build([(i, i + 1, w) for i, w in enumerate(weights.tolist())], n), ties)


@pytest.mark.parametrize("n", [1, 6, 40, 300, 2000])
def test_vertices_without_edges(n):
    """At the end, at the beginning, and everywhere."""
    small = corpus("complete-scrambled")
    after = Graph(np.append(small.indptr, np.full(n, small.indptr[-1])), small.indices, small.weights)
    before = Graph(np.append(np.zeros(n, np.int64), small.indptr), small.indices + np.int32(n), small.weights)
    for graph in (after, before, build([(0, n + 5, 3)], n + 6), build([], n)):
        check(graph)


# ---- rows of every length ----


@pytest.mark.parametrize("leaves", LENGTHS)
@every_weight
def test_stars(leaves, weigh):
    for ties in TIES:
        check(weighed([(0, 1 + i) for i in range(leaves)], weigh), ties)


@pytest.mark.parametrize("leaves", [length for length in LENGTHS if length > 2])
@every_tie
def test_wheels(leaves, ties):
    check(hub(leaves), ties)
    spokes = [(0, 1 + i) for i in range(leaves)]
    rim = [(1 + i, 1 + (i + 1) % leaves) for i in range(leaves)]
    for weigh in (unit, uniform, near_ties):
        check(weighed(spokes + rim, weigh), ties)


@pytest.mark.parametrize("length", [2, SHORT, SHORT + 1, LONG, LONG + 1, PIECE + 3])
@pytest.mark.parametrize("weigh", [small_integers, uniform, near_ties])
def test_rows_that_begin_and_end_anywhere(length, weigh):
    """Entries are read by fours; the hub's row begins behind rows of one entry, or ends where all entries do."""
    for place in (0, 1, 2, 3, length - 1, length):
        check(weighed([(place, v) for v in range(length + 1) if v != place], weigh))


@pytest.mark.parametrize("degree", [SHORT - 1, SHORT, SHORT + 1, SHORT + 2, 60])
@every_weight
def test_every_row_is_of_middle_length(degree, weigh):
    """All pairs at most so far apart on a ring: a warp has many rows at a time that are not short."""
    n = 150
    pairs = [(u, (u + step) % n) for u in range(n) for step in range(1, degree // 2 + 1)]
    pairs += [(u, u + n // 2) for u in range(n // 2)] if degree % 2 else []
    graph = weighed(pairs, weigh)
    assert set(np.diff(graph.indptr)) == {degree}
    check(graph)


@pytest.mark.parametrize(("hubs", "leaves"), [(2, SHORT + 1), (5, 100), (33, LONG), (7, LONG + 1), (3, 2 * PIECE + 1)])
@every_weight
def test_hubs_that_share_their_leaves(hubs, leaves, weigh):
    check(weighed([(u, hubs + v) for u in range(hubs) for v in range(leaves)], weigh))


@pytest.mark.parametrize("length", [SHORT, LONG, LONG + 1, PIECE + 1])
@pytest.mark.parametrize("lossy", [False, True])
@every_tie
def test_hubs_that_agree(length, lossy, ties):
    """All hubs want the same leaf, those who lose it the next one: a hub looks again and again."""
    hubs = 9
    edges = [(u, hubs + v, 1 + v // 3 * (ULP if lossy else 1)) for u in range(hubs) for v in range(length)]
    graph = build([*edges, (hubs + length, hubs + length + 1, 1e300 if lossy else 1)], dtype=np.float64)
    assert bool(order_of(graph).lossy) == lossy
    check(graph, ties)


@pytest.mark.parametrize("leaves", [3, SHORT, 200, LONG + 1])
@pytest.mark.parametrize("lossy", [False, True])
def test_a_chain_of_hubs(leaves, lossy):
    """Neighbouring hubs depend on each other, from the heavy end to the light one, and look again round after round."""
    hubs = 14
    spine = [(i, i + 1, 1 + (9 + i) * (ULP if lossy else 1)) for i in range(hubs - 1)]
    light = [(i, hubs + i * leaves + v, 0.5 + v % 4 / 64) for i in range(hubs) for v in range(leaves)]
    far = hubs * (leaves + 1)
    graph = build([*spine, *light, (far, far + 1, 1e300 if lossy else 1)], dtype=np.float64)
    assert bool(order_of(graph).lossy) == lossy
    for ties in TIES:
        check(graph, ties)


def test_thresholds_are_those_of_the_kernels():
    """Lists are as long as these numbers say."""
    text = source("suitor")
    for name, value in (("SHORT", SHORT), ("LONG", LONG), ("PIECE", PIECE)):
        assert text.count(f" {name} = HOST_{name};") == 1
        assert f"-DHOST_{name}={value}" in CONSTANTS


# ---- weights ----


@every_tie
@lossy_weight
@pytest.mark.parametrize(("n", "m"), [(60, 900), (900, 2500), (2500, 20_000)])
def test_lossy_prefixes_are_settled_exactly(n, m, weigh, ties):
    graph = drawn(n, m, weigh)
    assert order_of(graph).lossy
    check(graph, ties)


@every_tie
def test_prefixes_that_are_exact_in_wide_types(ties):
    graph = drawn(900, 4000, lambda rng, m: rng.integers(1, 4, m).astype(float))
    assert not order_of(graph).lossy
    wanted = reference.greedy(graph, order_of(graph, ties)).tolist()
    for kind in ("float64", "float32", "int64", "uint64", "uint16"):
        check(Graph(graph.indptr, graph.indices, graph.weights.astype(kind)), ties, wanted=wanted)


def test_the_greatest_offer_of_all():
    """All 64 bits of an offer are ones: vertex 0 of ties="low" with the greatest weight of 32 bits."""
    most = 2**32 - 1
    weights = np.array([most, most, most - 1, most, 1], np.uint32)
    long = star(np.full(LONG + 5, most, np.uint32), np.uint32)
    for graph in (
        cycle(weights, np.uint32),
        star(weights, np.uint32),
        complete(40, lambda u, v: most, np.uint32),
        long,
    ):
        for ties in TIES:
            check(graph, ties)


@pytest.mark.parametrize("n", [5, SHORT + 1, SHORT + 2, 90, 150])
@every_tie
def test_complete_graphs_of_equal_weights(n, ties):
    check(complete(n, lambda u, v: 7), ties)
    check(complete(n, lambda u, v: 0.1, np.float64), ties)


@every_tie
def test_meshes_of_equal_weights(ties):
    check(grid(37, 29, lambda u, v: 5, np.uint8), ties)


@pytest.mark.parametrize("kind", ["int16", "float64", "lossy"])
@pytest.mark.parametrize("rising", [True, False])
def test_long_chains(kind, rising):
    """Each pair depends on the next one, from the heavy end to the light one."""
    n = 3001
    weights = list(range(1, n)) if rising else list(range(n - 1, 0, -1))
    if kind == "lossy":
        far = [(n, n + 1, 1e300)]
        graph = build([(i, i + 1, 1 + w * ULP) for i, w in enumerate(weights)] + far, dtype=np.float64)
        assert order_of(graph).lossy
    else:
        graph = path(weights, kind)
    wanted = np.arange(graph.n) ^ 1
    if rising:
        wanted[1:n] = np.arange(n - 1) ^ 1
        wanted[1:n] += 1
        wanted[0] = -1
    else:
        wanted[n - 1] = -1
    if kind == "lossy":
        wanted[n:] = n + 1, n
    for ties in TIES:
        check(graph, ties, wanted=wanted.tolist())


# ---- memory ----


def shifted(array, bytes_off: int):
    """A copy of an array on the GPU that begins so many bytes behind a multiple of 512."""
    cp, size = cupy(), array.dtype.itemsize
    room = cp.zeros(len(array) + bytes_off // size, array.dtype)
    room[bytes_off // size :] = cp.asarray(array)
    return room[bytes_off // size :]


@pytest.mark.parametrize("off", [8, 16, 24, 40])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_arrays_that_begin_anywhere(dtype, off):
    graph = drawn(700, 4000, lambda rng, m: rng.integers(1, 9, m).astype(dtype))
    order = order_of(graph)
    wanted = reference.greedy(graph, order).tolist()
    size = np.dtype(dtype).itemsize
    for indices, weights in ((off, 0), (0, off), (off + 4, off + size), (4, size)):
        there = Graph(shifted(graph.indptr, off), shifted(graph.indices, indices), shifted(graph.weights, weights))
        assert any(array.data.ptr % 32 for array in (there.indptr, there.indices, there.weights))
        for dense in PLANS.values():
            with mock.patch.object(suitor, "DENSE", dense):
                assert run(there, order, Context()).mates.get().tolist() == wanted
        assert run(there, order, Context(), variant="plain").mates.get().tolist() == wanted


def test_the_graph_is_not_changed():
    for weigh in (uniform, near_ties):
        graph = drawn(900, 5000, weigh)
        there = graph.to("cuda")
        with mock.patch.object(suitor, "DENSE", 0):
            run(there, order_of(graph), Context())
        run(there, order_of(graph), Context())
        run(there, order_of(graph), Context(), variant="plain")
        for name in ("indptr", "indices", "weights"):
            assert getattr(there, name).get().tolist() == getattr(graph, name).tolist()


# ---- many vertices, few blocks, races ----


def threads_at_a_time() -> int:
    """An upper bound of how many threads the device runs at one time."""
    attributes = cupy().cuda.Device().attributes
    return attributes["MultiProcessorCount"] * attributes["MaxThreadsPerMultiProcessor"]


@pytest.mark.parametrize(("family", "weights"), [("grid", "unit"), ("grid", "integers"), ("rgg", "uniform")])
def test_more_vertices_than_threads(family, weights):
    n = 2 * threads_at_a_time() + 77
    shape = {"rows": 64, "cols": n // 64 + 1} if family == "grid" else {"n": n, "degree": 14}
    high = {"high": 3} if weights == "integers" else {}
    graph = troth.generate(family, weights=weights, **shape, **high)
    for ties in ("hash", "high", "degree"):
        check(graph, ties, wanted=troth.match(graph, device="cpu", ties=ties).mate.tolist())


@pytest.mark.parametrize("blocks", [1, 2])
@every_weight
def test_few_blocks(blocks, weigh):
    """As on a small device: more vertices wait than there are threads."""
    with mock.patch.object(suitor, "resident", return_value=blocks):
        for graph in (drawn(5000, 16_000, weigh), complete(90, lambda u, v: 3), grid(50, 60, lambda u, v: 1)):
            for ties in TIES:
                check(graph, ties)


RACY = {
    "complete": lambda: complete(100, lambda u, v: 1),
    "rmat": lambda: troth.generate("rmat", scale=10, weights="integers", high=3),
    "hubs": lambda: weighed([(u, 6 + v) for u in range(6) for v in range(LONG + 9)], small_integers),
    "lossy": lambda: drawn(900, 4000, near_ties),
    "lossy-hubs": lambda: weighed([(u, 5 + v) for u in range(5) for v in range(LONG + 9)], wide_integers),
}


@pytest.mark.parametrize("kind", RACY)
def test_many_races_have_one_winner(kind):
    graph = RACY[kind]()
    wanted = troth.match(graph, algorithm="greedy", device="cpu").mate
    order, there = order_of(graph), graph.to("cuda")
    for turn in range(RACES):
        with mock.patch.object(suitor, "DENSE", list(PLANS.values())[turn % 2]):
            assert (run(there, order, Context()).mates.get() == wanted).all()
        assert (run(there, order, Context(), variant="plain").mates.get() == wanted).all()


# ---- through the front door ----


@pytest.mark.parametrize("options", [{}, {"variant": "auto"}])
def test_match(options):
    graph, seen = drawn(500, 3000, uniform), []
    for ties in TIES:
        m = troth.match(graph, device="cuda", ties=ties, seed=3, progress=lambda *words: seen.append(words), **options)
        assert m.mate.tolist() == reference.greedy(graph, order_of(graph, ties, 3)).tolist()
        assert type(m.stats["rounds"]) is int
        assert seen
        assert all(phase == "match" and 0 <= done <= total == graph.n for phase, done, total in seen)
        assert troth.verify(graph, m)


@pytest.mark.parametrize("graph", [corpus("hub"), build([], 5), build([], 0)], ids=str)
def test_match_by_the_papers_loop(graph):
    seen = []
    m = troth.match(graph, device="cuda", variant="plain", progress=lambda *words: seen.append(words))
    assert m.mate.tolist() == reference.greedy(graph, order_of(graph)).tolist()
    assert m.stats["variant"] == "plain"
    assert isinstance(m.stats["seconds"]["kernels"], float)
    assert seen[-1] == ("match", graph.n, graph.n)
    assert troth.verify(graph, m)
    with pytest.raises(troth.TrothError, match="threads_per_block is an option of some variants"):
        troth.match(graph, device="cuda", variant="plain", threads_per_block=64)


def test_rounds_of_a_graph_without_edges():
    stats = troth.match(build([], 5), device="cuda").stats
    assert stats["rounds"] == 0
    assert type(stats["rounds"]) is int
