"""The auction on a GPU: every part of it as in the reference, for rows, paths and cycles of every length."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from auction_parts import first_difference
from corpus import DTYPES, TIES, drawn_with_hub, graphs, near_ties, on_corpus, order_of, wide_integers
from hypothesis import given
from hypothesis import strategies as st
from shapes import build, complete, cycle, grid, path, star

import troth
from troth import reference_auction
from troth.arrays import cupy
from troth.contract import Context
from troth.cuda import auction, augment, paths, walks
from troth.cuda.auction import ENTRIES, PIECE, run
from troth.graph import Graph

pytestmark = pytest.mark.gpu

RACES = 30
LENGTHS = sorted({ENTRIES, 100, 4 * PIECE + 5, *(size + more for size in (32 * ENTRIES, PIECE) for more in (-1, 0, 1))})


def check(graph: Graph, ties: str = "hash", seed: int = 0, **options) -> None:
    """Every part gives what the reference does."""
    assert first_difference(graph, order_of(graph, ties, seed), seed, **options) == ""


def uniform(rng, m):
    return rng.random(m, np.float32) + np.float32(0.01)


# ---- one answer ----


@on_corpus
@pytest.mark.parametrize("ties", TIES)
def test_corpus(graph, ties):
    check(graph, ties)


@given(graphs(40, DTYPES), st.sampled_from(TIES), st.integers(0, 9))
def test_any_graph(graph, ties, seed):
    check(graph, ties, seed)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(dtype):
    for seed in (0, 1):
        check(drawn_with_hub(300, 1500, lambda rng, m: rng.integers(1, 99, m).astype(dtype), seed), seed=seed)


@pytest.mark.parametrize("weigh", [near_ties, wide_integers, uniform])
def test_weights_over_a_wide_range(weigh):
    check(drawn_with_hub(900, 4000, weigh))


@pytest.mark.parametrize("eps", [1e-6, 0.02, 0.5])
@pytest.mark.parametrize("slack", [0, 0.01, 0.3])
@pytest.mark.parametrize("rounds", [0, 1, 2, 7, 32])
def test_options(eps, slack, rounds):
    check(drawn_with_hub(200, 900, uniform), eps=eps, slack=slack, rounds=rounds)


@pytest.mark.parametrize("polish", [0, 1, 5])
def test_rounds_of_exchanges(polish):
    graph = drawn_with_hub(400, 1500, lambda rng, m: rng.integers(1, 9, m))
    mate = run(graph.to("cuda"), order_of(graph), Context(), polish=polish).mates
    assert mate.get().tolist() == reference_auction.auction(graph, order_of(graph), polish=polish).tolist()


def test_rounds_without_a_limit():
    graph = drawn_with_hub(200, 900, uniform)
    mate, counts, *_ = run(graph.to("cuda"), order_of(graph), Context(), slack=0.0, rounds=None)
    wanted = reference_auction.auction(graph, order_of(graph), slack=0.0, rounds=10**9)
    assert mate.get().tolist() == wanted.tolist()
    assert counts["rounds"] == reference_auction.auction_prices(graph, order_of(graph), slack=0.0, rounds=10**9)[2]


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_no_edges(n):
    mate, counts, seconds, _ = run(build([], n).to("cuda"), order_of(build([], n)), Context())
    assert (mate.get().tolist(), counts, seconds) == ([-1] * n, {"rounds": 0}, {"kernels": 0.0})
    assert auction.prices(build([], n).to("cuda"), order_of(build([], n))).tolist() == [0] * n


# ---- rows of every length ----


@pytest.mark.parametrize("leaves", LENGTHS)
def test_stars(leaves):
    check(star([1 + (7 * i) % 101 for i in range(leaves)], np.float32))
    check(star([3] * leaves))


@pytest.mark.parametrize(("hubs", "leaves"), [(2, 60), (33, 32 * ENTRIES + 1), (5, PIECE + 1), (3, 2 * PIECE + 1)])
def test_hubs_that_share_their_leaves(hubs, leaves):
    weigh = lambda u, v: 1 + (u * 31 + v * 17) % 1009  # noqa: E731
    check(build([(u, hubs + v, weigh(u, v)) for u in range(hubs) for v in range(leaves)], dtype=np.float64))
    check(build([(u, hubs + v, 1) for u in range(hubs) for v in range(leaves)]))


def test_dense_and_sparse():
    check(complete(90, lambda u, v: 1))
    check(complete(70, lambda u, v: 1 + (u * 31 + v * 17) % 97, np.float32))
    check(grid(40, 41, lambda u, v: 1, np.uint8))
    check(grid(40, 41, lambda u, v: 1 + (u * v) % 7))


# ---- paths and cycles ----


def components(rng, oriented: bool, top: int) -> tuple[Graph, np.ndarray, np.ndarray]:
    """Paths and cycles of all lengths on scrambled vertices, with their firsts and seconds."""
    n = 3000
    names, at, edges = rng.permutation(n).tolist(), 0, []
    first, second = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    while at < n:
        chain = names[at : at + int(rng.choice([1, 2, 3, 4, 5, 30, 600]))]
        at += len(chain)
        closed = len(chain) > 2 and rng.random() < 0.5 and (oriented or len(chain) % 2 == 0)
        steps = list(zip(chain, chain[1:] + chain[:1], strict=True))[: len(chain) - (not closed)]
        for t, (u, v) in enumerate(steps):
            edges.append((u, v, int(rng.integers(1, top, endpoint=True)) if top else 1 + t))
            if oriented:
                first[u], second[v] = v, u
            else:
                side = (first, second)[t % 2]
                side[u], side[v] = v, u
    return build(edges, n), first, second


@pytest.mark.parametrize("oriented", [True, False])
@pytest.mark.parametrize("top", [0, 1, 3, 2**62])
@pytest.mark.parametrize(("limit", "spacing"), [(2048, 256), (100, 256), (100, 16), (7, 4), (1, 1)])
def test_paths_and_cycles(oriented, top, limit, spacing):
    graph, first, second = components(np.random.default_rng(limit), oriented, top)
    wanted = reference_auction.heaviest_on_paths(graph, 3, first, second).tolist()
    sides = cupy().asarray(first), cupy().asarray(second)
    with mock.patch.object(paths, "LIMIT", limit), mock.patch.object(paths, "SPACING", spacing):
        assert paths.heaviest_on_paths(graph.to("cuda"), 3, *sides, oriented=oriented).get().tolist() == wanted
        with mock.patch.object(paths, "SPARE", 5):  # perhaps too few splitters have room
            assert paths.heaviest_on_paths(graph.to("cuda"), 3, *sides).get().tolist() == wanted


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("rising", [False, True])
def test_long_paths_and_cycles(closed, rising):
    weights = range(1, 6001) if rising else [1 + i * 7919 % 13 for i in range(6000)]
    check((cycle if closed else path)(list(weights)))


def test_a_path_of_a_million_edges():
    """Two matchings that share no edge; from the end that has a first, every other edge is taken."""
    n = 2**20
    v = np.arange(n, dtype=np.int32)
    there = troth.generate("path", n=n, weights="unit", device="cuda")
    first, second = v ^ 1, ((v + 1) ^ 1) - 1
    second[0] = second[-1] = -1
    mate = paths.heaviest_on_paths(there, 0, cupy().asarray(first), cupy().asarray(second.astype(np.int32)))
    assert (mate.get() == first).all()


# ---- few blocks, races ----


@pytest.mark.parametrize("blocks", [1, 2])
def test_few_blocks(blocks):
    with (
        mock.patch.object(auction, "resident", return_value=blocks),
        mock.patch.object(augment, "resident", return_value=blocks),
        mock.patch.object(walks, "resident", return_value=blocks),
        mock.patch.object(paths, "resident", return_value=blocks),
        mock.patch.object(paths, "LIMIT", 20),
    ):
        check(drawn_with_hub(3000, 9000, uniform))
        check(grid(50, 50, lambda u, v: 1))
        check(star(list(range(1, 2 * PIECE + 9))))


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: complete(100, lambda u, v: 1), id="complete"),
        pytest.param(lambda: troth.generate("rmat", scale=12, weights="integers", high=3), id="rmat"),
        pytest.param(lambda: troth.generate("grid", rows=300, cols=300, weights="unit"), id="grid"),
        pytest.param(lambda: troth.generate("hubs", n=9000, hubs=5, degree=3000), id="hubs"),
    ],
)
def test_many_races_have_one_winner(make):
    graph = make()
    order, there = order_of(graph), graph.to("cuda")
    wanted = run(there, order, Context()).mates
    for _ in range(RACES):
        assert bool((run(there, order, Context(measured=False)).mates == wanted).all())


def test_the_graph_is_not_changed():
    graph = drawn_with_hub(900, 5000, uniform)
    there = graph.to("cuda")
    run(there, order_of(graph), Context())
    for name in ("indptr", "indices", "weights"):
        assert getattr(there, name).get().tolist() == getattr(graph, name).tolist()
