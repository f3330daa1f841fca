"""Handshaking on a GPU: the course project's six kernels on worked arrays, then strongest neighbours and matchings."""

from __future__ import annotations

import json

import numpy as np
import pytest
from corpus import DTYPES, TIES, build, corpus, graphs, on_corpus, order_of, star
from hypothesis import given, settings
from hypothesis import strategies as st

import troth
from troth import reference
from troth.contract import Context
from troth.cpu import handshake as cpu
from troth.cuda import handshake
from troth.errors import DeviceMemoryError
from troth.order import make_order, on_device

pytestmark = pytest.mark.gpu

GPU_THREADS = (None, 1, 7, 32, 1000, 4096)
LOW = make_order("low")

with_threads = pytest.mark.parametrize("gpu_threads", GPU_THREADS)
with_sums = pytest.mark.parametrize("sums", [np.int32, np.int64])

# The edge list of the course project's sections 2.2 and 2.3: 0-2, 0-3, 1-3, ...; its weights are not symmetric.
SRC = [0, 0, 1, 2, 2, 2, 3, 3]
DST = [2, 3, 3, 0, 1, 3, 0, 2]
WEIGHT = [3, 1, 1, 3, 1, 2, 1, 2]


def device(values, dtype=np.int32):
    import cupy

    return cupy.array(values, dtype)


def room(like):
    import cupy

    return cupy.full_like(like, 99)


def scan(src, dst, weight, distance, order=LOW, gpu_threads=None):
    """One pass: the new destinations and weights, and the flag."""
    src, dst, weight, flag = device(src), device(dst), device(weight, np.asarray(weight).dtype), device([0])
    new_dst, new_weight = room(dst), room(weight)
    handshake.strongest_neighbour_scan(src, dst, new_dst, weight, new_weight, flag, distance, order, gpu_threads)
    return new_dst.get().tolist(), new_weight.get().tolist(), int(flag[0])


# ---- the six kernels ----


@with_threads
def test_scan_of_section_2_2(gpu_threads):
    """As printed but at index 5: there destination 3 of weight 2 beats 1 of weight 1, and 0 is two steps away."""
    found = scan(SRC, DST, WEIGHT, 1, gpu_threads=gpu_threads)
    assert found == ([2, 2, 3, 0, 0, 3, 0, 2], [3, 3, 1, 3, 3, 2, 1, 2], 1)
    assert scan(SRC, *found[:2], 2, gpu_threads=gpu_threads) == ([2, 2, 3, 0, 0, 0, 0, 2], [3, 3, 1, 3, 3, 3, 1, 2], 1)


@with_threads
def test_scan_of_segments_p_and_a(gpu_threads):
    segments, data = [0, 0, 0, 1, 2, 2, 3, 3, 3, 3], [6, 1, 9, 2, 7, 4, 2, 8, 3, 9]
    dst, weight, changed = scan(segments, range(10), data, 1, gpu_threads=gpu_threads)
    assert (weight, changed) == ([6, 6, 9, 2, 7, 7, 2, 8, 8, 9], 1)
    assert dst == [0, 0, 2, 3, 4, 4, 6, 7, 7, 9]
    assert scan(segments, dst, weight, 2, gpu_threads=gpu_threads) == (dst, weight, 0)


@with_threads
def test_scan_by_doubling_distances(gpu_threads):
    """The first of a segment of six is the strongest; the seventh item is of another segment."""
    src, dst, weight = [0] * 6 + [5], [1, 2, 3, 4, 6, 7, 0], [9, 1, 2, 1, 2, 1, 3]
    steps = [
        (1, [1, 1, 3, 3, 6, 6, 0], 1),
        (2, [1, 1, 1, 1, 3, 3, 0], 1),
        (4, [1, 1, 1, 1, 1, 1, 0], 1),
        (8, [1, 1, 1, 1, 1, 1, 0], 0),
    ]
    for distance, expected, changed in steps:
        dst, weight, flag = scan(src, dst, weight, distance, gpu_threads=gpu_threads)
        assert (dst, flag) == (expected, changed)
    assert weight == [9] * 6 + [3]


def test_scan_leaves_the_flag_where_nothing_changes():
    """Also where the stronger of two stands right already, and between segments."""
    assert scan([0, 0, 1], [1, 2, 0], [3, 4, 9], 1) == ([1, 2, 0], [3, 4, 9], 0)
    assert scan([0, 1, 2], [1, 2, 0], [9, 4, 3], 1) == ([1, 2, 0], [9, 4, 3], 0)
    assert scan([0, 0], [1, 1], [5, 3], 1) == ([1, 1], [5, 5], 0)  # only destinations count


@pytest.mark.parametrize(("ties", "winner"), [("low", 2), ("high", 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_scan_breaks_ties_by_the_order(ties, winner, dtype):
    """Two neighbours, 2 and 3, of weight 4 each: the smaller under the project's rule."""
    dst, _, changed = scan([1, 1], [2, 3], np.array([4, 4], dtype), 1, make_order(ties))
    assert (dst, changed) == ([2, winner], int(winner == 2))


def test_scan_compares_all_bits_of_a_weight():
    for small, large in [(1.0, 1 + 2.0**-52), (5e-324, 1e-323)]:
        assert scan([0, 0], [1, 2], np.array([large, small]), 1)[0] == [1, 1]
    assert scan([0, 0], [1, 2], np.array([2**63 - 1, 2**63 - 2]), 1)[0] == [1, 1]


@with_threads
def test_collate_of_section_2_3(gpu_threads):
    output = device([-1] * 5)
    handshake.collate_segments(device(SRC), device([2, 3, 0, 0, 1, 1, 0, 2]), output, gpu_threads)
    assert output.get().tolist() == [3, 0, 1, 2, -1]


@with_threads
def test_check_handshaking(gpu_threads):
    """The strongest neighbours of section 2.1: 0 and 4 point at each other, as do 1 and 2; 3 points at 4 in vain."""
    for before, after in [
        ([-1, -1, -1, -1, -1], [4, 2, 1, -1, 0]),
        ([-1, 3, -1, 1, -1], [4, 3, 1, 1, 0]),  # who is matched stays so, whoever points back
    ]:
        matches = device(before)
        handshake.check_handshaking(device([4, 2, 1, 4, 0]), matches, gpu_threads)
        assert matches.get().tolist() == after
    matches = device([-1, -1, -1])
    handshake.check_handshaking(device([-1, 2, 1]), matches, gpu_threads)  # nobody to point at
    assert matches.get().tolist() == [-1, 2, 1]


@with_sums
@with_threads
def test_mark_filter_edges(gpu_threads, sums):
    """0 and 2 are matched; of the four vertices' edges only that of 1 and 3 is left, but 3-1 is not in the list."""
    keep = device([9] * 9, sums)
    handshake.mark_filter_edges(device(SRC), device(DST), device([2, -1, 0, -1]), keep, gpu_threads)
    assert keep.get().tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 9]


@with_sums
@with_threads
def test_exclusive_prefix_sum(gpu_threads, sums):
    """keep = 1 0 1 1 0 1, and the place for the total, whose content does not count."""
    old = device([1, 0, 1, 1, 0, 1, 77], sums)
    steps = [
        (0, [0, 1, 0, 1, 1, 0, 1]),
        (1, [0, 1, 1, 1, 2, 1, 1]),
        (2, [0, 1, 1, 2, 3, 2, 3]),
        (4, [0, 1, 1, 2, 3, 3, 4]),
        (8, [0, 1, 1, 2, 3, 3, 4]),
    ]
    for distance, expected in steps:
        new = room(old)
        handshake.exclusive_prefix_sum(old, new, distance, gpu_threads)
        assert new.get().tolist() == expected
        old = new


@pytest.mark.parametrize("count", [1, 2, 3, 255, 256, 257, 1000])
def test_exclusive_prefix_sum_of_any_length(count):
    keep = np.random.default_rng(count).integers(0, 2, count)
    total = handshake._sum(device([*keep, 5]), device([0] * (count + 1)), 100)
    assert total.get().tolist() == [0, *np.cumsum(keep).tolist()]


@with_sums
@pytest.mark.parametrize("dtype", DTYPES)
@with_threads
def test_pack_graph(gpu_threads, dtype, sums):
    """Edges 0, 2, 3 and 5 of six are kept, in their order."""
    src, dst, weight = device([0, 0, 1, 1, 2, 4]), device([1, 2, 0, 4, 0, 1]), device([7, 5, 7, 3, 5, 3], dtype)
    edge_map = device([0, 1, 1, 2, 3, 3, 4], sums)
    new = device([99] * 5), device([99] * 5), device([99] * 5, dtype)
    handshake.pack_graph(new[0], src, new[1], dst, new[2], weight, edge_map, gpu_threads)
    assert [part.get().tolist() for part in new] == [[0, 1, 1, 4, 99], [1, 0, 4, 1, 99], [7, 7, 3, 3, 99]]


@pytest.mark.parametrize(
    ("gpu_threads", "blocks", "block"),
    [(1, 1, 1), (7, 1, 7), (256, 1, 256), (257, 2, 256), (1000, 4, 256), (4096, 16, 256)],
)
def test_so_many_threads_are_launched(gpu_threads, blocks, block):
    launches = []
    handshake._over(10, gpu_threads, lambda grid, threads, args: launches.append((grid, threads, args)), "items")
    assert launches == [((blocks,), (block,), ("items",))]


# ---- strongest neighbours ----


def check_strongest(graph, ties, gpu_threads=GPU_THREADS):
    order, there = order_of(graph, ties), graph.to("cuda")
    answer = reference.strongest(graph, order).tolist()
    for count in gpu_threads:
        found = handshake.strongest(there, on_device(order, there.device), count)
        assert found.dtype == np.int32
        assert found.get().tolist() == answer


@pytest.mark.parametrize("ties", TIES)
@on_corpus
def test_strongest(graph, ties):
    check_strongest(graph, ties)


@settings(max_examples=40)
@given(graphs(dtypes=DTYPES), st.sampled_from(TIES), st.sampled_from(GPU_THREADS))
def test_strongest_of_random_graphs(graph, ties, gpu_threads):
    check_strongest(graph, ties, (None, gpu_threads))


LONG = {  # with 4 and with 16 lanes a row
    "star": lambda dtype: star([1 + (7 * i) % 31 for i in range(1500)], dtype),
    "two-stars": lambda dtype: build(
        [(hub, 2 + i, 1 + (11 * i + hub) % 97) for hub in (0, 1) for i in range(129 + hub)], dtype=dtype
    ),
    "dense": lambda dtype: troth.generate("complete", n=530, weights="integers", high=100, dtype=dtype),
}


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
@pytest.mark.parametrize("name", LONG)
def test_strongest_in_long_rows(name, dtype):
    graph = LONG[name](dtype)
    for ties in TIES:
        check_strongest(graph, ties, (None, 1000))


def test_strongest_where_prefixes_are_coarse():
    """1, and weights from 2^60 on that differ in the last bits: the prefixes of the latter are equal."""
    graph = star([1] + [2**60 + i % 700 for i in range(1400)])
    check_strongest(graph, "hash")


def test_strongest_goes_to_the_cpu_where_the_gpu_is_too_small(monkeypatch):
    def refuse(*_):
        raise DeviceMemoryError("too small")

    monkeypatch.setattr("troth.api.request.WORTH_A_COPY", 0)
    monkeypatch.setattr("troth.graph.check_room", refuse)
    graph = corpus("triangle")
    assert np.array_equal(troth.strongest(graph), reference.strongest(graph, order_of(graph, "low")))
    for words in ({"device": "cuda"}, {"gpu_threads": 32}):
        with pytest.raises(DeviceMemoryError):
            troth.strongest(graph, **words)


@pytest.mark.parametrize("case", range(1, 6))
def test_course_cases(data, case):
    graph = troth.read(data(f"handshake/input{case}.mtx"))
    strong = np.loadtxt(data(f"handshake/strong{case}.txt"), int).tolist()
    matched = np.loadtxt(data(f"handshake/match{case}.txt"), int).tolist()
    for gpu_threads in GPU_THREADS:
        assert troth.strongest(graph, device="cuda", gpu_threads=gpu_threads).tolist() == strong
        m = troth.match(graph, algorithm="handshake", device="cuda", ties="low", gpu_threads=gpu_threads)
        assert m.mate.tolist() == matched


# ---- matchings ----


def check_match(graph, ties, gpu_threads=(None,)):
    """The mates of the reference, and the rounds of the CPU's engine, which are the course project's."""
    order, there = order_of(graph, ties), graph.to("cuda")
    answer = reference.greedy(graph, order).tolist()
    rounds = cpu.run(graph, order, Context()).counts
    for count in gpu_threads:
        mate, stats, *_ = handshake.run(there, on_device(order, there.device), Context(), gpu_threads=count)
        assert mate.dtype == np.int32
        assert mate.get().tolist() == answer
        assert (stats["rounds"], stats["edges"]) == (rounds["rounds"], rounds["edges"])


@on_corpus
def test_corpus(graph):
    for ties, gpu_threads in zip(TIES, [(None, 1), (7, 4096), (32, 1000), (None, 64)], strict=True):
        check_match(graph, ties, gpu_threads)


@settings(max_examples=30)
@given(graphs(dtypes=DTYPES), st.sampled_from(TIES), st.sampled_from(GPU_THREADS))
def test_random_graphs(graph, ties, gpu_threads):
    check_match(graph, ties, (gpu_threads,))


@pytest.mark.parametrize("weights", ["uniform", "unit", "integers"])
def test_medium_graphs(weights):
    graph = troth.generate("rmat", scale=10, edgefactor=8, weights=weights)
    check_match(graph, "hash", (None, 1000))


def test_sums_of_64_bits(monkeypatch):
    monkeypatch.setattr(handshake, "WIDE", 0)
    for name in ("one-edge", "hub", "grid-scrambled", "near-ties-float64"):
        check_match(corpus(name), "low", (None, 7))


def test_stats():
    graph = corpus("grid-scrambled")
    calls = []
    order = order_of(graph)
    context = Context(progress=lambda *call: calls.append(call))
    _, stats, seconds, _ = handshake.run(graph.to("cuda"), order, context)
    assert json.loads(json.dumps(stats)) == stats
    assert set(seconds) == {"kernels", "scan", "collate", "check", "mark", "sum", "pack"}
    assert all(spent > 0 for spent in seconds.values())
    # A scan of degree four ends after the pass of distance 4 at the latest, and needs two passes to see its end.
    assert stats["rounds"] <= stats["passes"] <= 3 * stats["rounds"]
    assert calls[0] == ("match", 0, graph.m)
    assert calls[-1] == ("match", graph.m, graph.m)
    assert all(0 <= done <= total for _, done, total in calls)


def test_the_graph_stays_as_it_was():
    graph = corpus("hub").to("cuda")
    before = graph.indices.get().tolist(), graph.weights.get().tolist()
    handshake.run(graph, order_of(corpus("hub")), Context())
    handshake.strongest(graph, order_of(corpus("hub")), 32)
    assert (graph.indices.get().tolist(), graph.weights.get().tolist()) == before
