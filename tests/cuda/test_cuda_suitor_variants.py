"""The four variants of GPU-Suitor: one answer for all numbers, rounds as in Algorithm 4, and the balance of a block."""

from __future__ import annotations

from functools import cache
from itertools import chain

import numpy as np
import pytest
from corpus import DTYPES, TIES, corpus, drawn_with_hub, graphs, near_ties, on_corpus, order_of
from hypothesis import given
from hypothesis import strategies as st
from shapes import build, complete, cycle, grid, hub, path, star

import troth
from troth import reference
from troth.arrays import cupy
from troth.contract import Context
from troth.cuda.suitor_variants import CONSTANTS, COUNTED, run
from troth.graph import Graph
from troth.kernels.launch import OPTIONS, source
from troth.order import on_device, priorities
from troth.words import GPU_SUITOR_VARIANTS as VARIANTS

pytestmark = pytest.mark.gpu

BLOCKS = (32, 128, 192, 256, 1024)
CHUNKS = (1, 2, 8, 33, 256)
BALANCE = (0, 1, 3, "adaptive")
RACES = 100

every_variant = pytest.mark.parametrize("variant", VARIANTS)


def small_integers(rng, m):
    return rng.integers(1, 6, m).astype(np.int32)


@cache
def contested(weigh) -> tuple[Graph, list]:
    """A graph where offers are displaced all the time, and its mates with ties="hash"."""
    graph = drawn_with_hub(600, 2000, weigh)
    return graph, reference.greedy(graph, order_of(graph)).tolist()


def check(graph: Graph, ties: str = "hash", wanted: list | None = None, variants=VARIANTS, **numbers) -> dict:
    """All variants give the reference's mates; returns the last one's counts."""
    order, there = order_of(graph, ties), graph.to("cuda")
    wanted = reference.greedy(graph, order).tolist() if wanted is None else wanted
    order = on_device(order, there.device)
    for variant in variants:
        mate, stats, seconds, _ = run(there, order, Context(), variant=variant, **numbers)
        assert mate.get().tolist() == wanted, (variant, numbers)
        assert set(seconds) == {"kernels"}
    return stats


# ---- one answer ----


@on_corpus
@pytest.mark.parametrize("ties", TIES)
def test_corpus(graph, ties):
    check(graph, ties, threads_per_block=64, vertices_per_warp=2)
    check(graph, ties)


@given(
    graphs(40, DTYPES),
    st.sampled_from(TIES),
    st.sampled_from(VARIANTS),
    st.sampled_from(BLOCKS),
    st.sampled_from(CHUNKS),
    st.sampled_from(BALANCE),
)
def test_any_graph(graph, ties, variant, block, chunk, k):
    check(graph, ties, variants=[variant], threads_per_block=block, vertices_per_warp=chunk, balance_rounds=k)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(dtype):
    graph = drawn_with_hub(200, 700, lambda rng, m: rng.integers(1, 9, m).astype(dtype))
    for ties in TIES:
        check(graph, ties)


@every_variant
@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("weigh", [small_integers, near_ties])
def test_every_number(variant, chunk, weigh):
    graph, wanted = contested(weigh)
    assert bool(order_of(graph).lossy) == (weigh is near_ties)
    for block in BLOCKS:
        for k in BALANCE:
            numbers = {"threads_per_block": block, "vertices_per_warp": chunk, "balance_rounds": k}
            check(graph, "hash", wanted, [variant], **numbers)


def test_balance_for_ever():
    graph, wanted = contested(small_integers)
    check(graph, "hash", wanted, balance_rounds=10**12)


@pytest.mark.parametrize("ties", TIES)
def test_stars(ties):
    """A hub in reach of all: every leaf makes it an offer, and all but one are refused for good."""
    rng = np.random.default_rng(3)
    check(star(rng.integers(1, 40, 1500), np.int32), ties)
    check(star(near_ties(rng, 700), np.float64), ties, vertices_per_warp=33)
    check(hub(900), ties)
    check(build([(c, v, 1 + v % 5) for c in (0, 1, 63, 500) for v in range(64, 500)]), ties, vertices_per_warp=64)


@every_variant
@pytest.mark.parametrize("weights", [range(1, 2000), range(2000, 1, -1)])
def test_long_chains(variant, weights):
    """Each pair depends on the next one, from the heavy end to the light one."""
    graph = path(weights)
    ends = range(1999, 0, -2) if weights[0] == 1 else range(1, 2000, 2)
    wanted = np.full(2000, -1)
    for v in ends:
        wanted[v], wanted[v - 1] = v - 1, v
    stats = check(graph, "hash", wanted.tolist(), [variant])
    assert stats["rounds"] > 1
    assert stats["proposals"] >= 2000


@pytest.mark.parametrize("ties", TIES)
def test_equal_weights(ties):
    check(grid(23, 19, lambda u, v: 5, np.uint8), ties)
    check(complete(70, lambda u, v: 7), ties, vertices_per_warp=33)
    check(complete(70, lambda u, v: 0.1, np.float64), ties, threads_per_block=32, vertices_per_warp=1)


def test_the_greatest_offer_of_all():
    """All 64 bits of an offer are ones: vertex 0 of ties="low" with the greatest weight of 32 bits."""
    weights = np.array([2**32 - 1, 2**32 - 1, 2**32 - 2, 2**32 - 1, 1], np.uint32)
    for graph in (cycle(weights, np.uint32), star(weights, np.uint32), complete(20, lambda u, v: 2**32 - 1, np.uint32)):
        for ties in TIES:
            check(graph, ties)


@every_variant
@pytest.mark.parametrize("kind", ["complete", "rmat", "lossy"])
def test_many_races_have_one_winner(variant, kind):
    graph = {
        "complete": lambda: complete(130, lambda u, v: 1),
        "rmat": lambda: troth.generate("rmat", scale=10, weights="integers", high=3),
        "lossy": lambda: drawn_with_hub(900, 3000, near_ties),
    }[kind]()
    wanted = troth.match(graph, algorithm="greedy", device="cpu").mate.tolist()
    order, there = order_of(graph), graph.to("cuda")
    for turn in range(RACES):
        mate = run(there, order, Context(), variant=variant, vertices_per_warp=(8, 2, 40)[turn % 3]).mates
        assert mate.get().tolist() == wanted


# ---- rounds ----


def play_alone(graph: Graph, order) -> tuple[list, list[int], int]:
    """Algorithm 4 with one warp: all look, then all make their offers; mates, who waits after each round, offers."""
    rank, row = priorities(order, graph.n).tolist(), reference.rows(graph)
    held, suitor = [(0, 0)] * graph.n, [-1] * graph.n
    looking, waiting, offers = list(range(graph.n)), [], 0
    while looking:
        willing = [[(w, rank[v], v) for v, w in row[u] if (w, rank[u]) > held[v]] for u in looking]
        again = []
        for u, found in zip(looking, willing, strict=True):
            if not found:
                continue
            weight, _, v = max(found)
            if (weight, rank[u]) > held[v]:
                again += [suitor[v]] if suitor[v] >= 0 else []
                held[v], suitor[v] = (weight, rank[u]), u
            else:
                again.append(u)
            offers += 1
        looking = again
        waiting.append(len(again))
    return suitor, waiting, offers


@every_variant
@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(corpus("slides"), id="slides"),
        pytest.param(path(range(1, 60)), id="chain"),
        pytest.param(hub(40), id="hub"),
        pytest.param(complete(50, lambda u, v: 1), id="complete"),
        pytest.param(corpus("near-ties-and-huge"), id="lossy"),
        pytest.param(grid(12, 15, lambda u, v: 1 + u * v % 7), id="grid"),
    ],
)
def test_the_rounds_of_one_warp(graph, variant):
    """Nobody else makes offers, so the counts are those of the pseudocode, whatever the order of the lanes."""
    order = order_of(graph)
    wanted, waiting, offers = play_alone(graph, order)
    for k in BALANCE:
        numbers = {"threads_per_block": 32, "vertices_per_warp": 256, "balance_rounds": k}
        mate, stats, *_ = run(graph.to("cuda"), order, Context(), variant=variant, **numbers)
        balanced = sum(8 * left > graph.n for left in waiting) if k == "adaptive" else min(k, len(waiting) - 1)
        assert mate.get().tolist() == wanted
        assert stats == {
            "rounds": len(waiting),
            "balanced": balanced if variant in ("synclb", "hybrid") else 0,
            "proposals": offers,
            "quick_warps": int(len(waiting) < 10),
            "quick_blocks": int(len(waiting) < 10),
            "warps": 1,
            "blocks": 1,
            "variant": variant,
        }


@every_variant
@pytest.mark.parametrize("n", [0, 1, 1000])
def test_no_edges(n, variant):
    graph = build([], n)
    mate, stats, *_ = run(graph.to("cuda"), order_of(graph), Context(), variant=variant)
    assert mate.get().tolist() == [-1] * n
    assert stats == dict.fromkeys((*COUNTED, "warps", "blocks"), 0) | {"variant": variant}


def test_progress_ends_at_the_end():
    seen = []
    graph = corpus("hub")
    run(graph.to("cuda"), order_of(graph), Context(progress=lambda *words: seen.append(words)))
    assert seen[-1] == ("match", graph.n, graph.n)


# ---- the balance of a block ----

SPREAD = """
__global__ void spread(const u32* before, u32 per_warp, i32* vertices, u32* after) {
    extern __shared__ i32 chunks[];
    __shared__ u32 loads[WARP];
    u32 warps = blockDim.x / WARP, warp = threadIdx.x / WARP, total = 0;
    for (u32 i = threadIdx.x; i < warps * per_warp; i += blockDim.x) chunks[i] = vertices[i];
    if (threadIdx.x < warps) loads[threadIdx.x] = before[threadIdx.x];
    __syncthreads();
    for (u32 w = 0; w < warps; ++w) total += loads[w];
    after[warp] = even_out(loads, total, warps, warp, per_warp, chunks);
    __syncthreads();
    for (u32 i = threadIdx.x; i < warps * per_warp; i += blockDim.x) vertices[i] = chunks[i];
}
"""


@cache
def spread():
    code, options = source("suitor_variants") + SPREAD, (*OPTIONS, *CONSTANTS)
    module = cupy().RawModule(code=code, options=options, name_expressions=("spread",))
    return module.get_function("spread")


def loads_of(rng, warps: int, most: int) -> np.ndarray:
    """Any loads, one warp with all of it, or loads that are nearly even."""
    even = rng.integers(0, most + 1)
    return np.clip(
        [
            rng.integers(0, most + 1, warps),
            np.where(np.arange(warps) == rng.integers(warps), most, 0),
            even + rng.integers(-1, 2, warps),
        ][rng.integers(3)],
        0,
        most,
    )


@pytest.mark.parametrize("warps", [1, 2, 4, 6, 8, 32])
@pytest.mark.parametrize("room", CHUNKS)
def test_even_out(warps, room):
    cp, rng = cupy(), np.random.default_rng(warps * room)
    for _ in range(12):
        before = loads_of(rng, warps, room)
        total = int(before.sum())
        vertices = np.arange(warps * room, dtype=np.int32).reshape(warps, room)
        args = (cp.asarray(before.astype(np.uint32)), np.uint32(room))
        moved, after = cp.asarray(vertices.ravel()), cp.zeros(warps, np.uint32)
        spread()((1,), (32 * warps,), (*args, moved, after), shared_mem=4 * warps * room)
        moved, after = moved.get().reshape(warps, room), after.get()

        assert after.max() <= room
        kept = [row[:size].tolist() for row, size in zip(vertices, before, strict=True)]
        now = [row[:size].tolist() for row, size in zip(moved, after, strict=True)]
        assert sorted(chain.from_iterable(now)) == sorted(
            chain.from_iterable(kept)
        )  # none is lost, none is there twice
        shares = np.full(warps, total // warps) + (np.arange(warps) < total % warps)
        deviates = any(4 * warps * load > 5 * total or 4 * warps * load < 3 * total for load in before.tolist())
        assert after.tolist() == (shares if deviates else before).tolist()
        for old, new in zip(kept, now, strict=True):
            shared = min(len(old), len(new))
            assert new[:shared] == old[:shared]
