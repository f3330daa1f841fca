"""Clusters of strongest neighbours and their contraction: the GPU's kernels, run by g++, against the reference."""

from __future__ import annotations

import platform
import shutil

import numpy as np
import pytest
from cluster_parts import expected_levels
from corpus import (
    DTYPES,
    build,
    complete,
    drawn_with_hub,
    fractions,
    graphs,
    on_corpus,
    order_of,
    same_graphs,
    star,
)
from emulation import SHARED, SMALL_ROWS, Kernel, array_of, emulated, with_sizes
from hypothesis import given, settings
from hypothesis import strategies as st

import troth
from troth.api.vertex_weights import read_limits, vertex_weights_of
from troth.cuda import clusters, coarsen, handshake, joining
from troth.cuda.clusters import CudaClustering
from troth.graph import Graph

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="fibers are switched by instructions of x86-64"),
]


def there(graph: Graph) -> Graph:
    """The graph, its arrays with what host files ask of CuPy's."""
    weights = np.ascontiguousarray(vertex_weights_of(graph))
    return Graph.trusted(*map(array_of, (graph.indptr, graph.indices, graph.weights, weights)))


def check(
    graph: Graph, ties: str = "hash", seed: int = 0, stop: int = 1, limit=None, twohop: bool = True, shared=SHARED
) -> None:
    """Every level is that of the reference; a sum that is too great is noticed."""
    bounds = read_limits(limit, vertex_weights_of(graph))
    bounds = None if bounds is None else array_of(bounds)
    try:
        wanted = expected_levels(graph, ties, seed, stop, limit, twohop)
    except OverflowError:
        return
    clustering, graph = CudaClustering(), there(graph)
    with emulated(clusters, joining, coarsen, handshake, seed=seed, shared=shared):
        for coarse, where, joined in wanted:
            order = order_of(graph, ties, seed)
            groups = clustering.join_strongest(graph, order, np.uint64(seed), graph.vertex_weights, bounds, twohop)
            assert (groups.coarse.dtype, groups.coarse.tolist()) == (np.int32, where.tolist())
            assert groups.joined == joined
            found, spilled = clustering.contract_clusters(graph, groups, graph.vertex_weights)
            assert spilled == (not np.isfinite(coarse.weights).all())
            if not spilled:
                same_graphs(found, coarse)
            graph = found


@on_corpus
def test_corpus(graph):
    for seed, twohop in enumerate((True, False)):
        check(graph, twohop=twohop, seed=seed)


@settings(max_examples=40)
@given(
    graphs(18, ("int8", "float32")),
    st.sampled_from(("hash", "low", "high")),
    st.sampled_from([None, 1, 2, 3, 7]),
    st.booleans(),
)
def test_any_graph(graph, ties, limit, twohop):
    check(graph, ties, 3, 2, limit, twohop)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(dtype):
    graph = troth.generate("rmat", scale=7, edgefactor=8)
    weights = (graph.weights * 9).astype(dtype) + np.array(1, dtype)
    check(Graph(graph.indptr, graph.indices, weights), stop=9)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: drawn_with_hub(1500, 5000, fractions), id="hub"),
        pytest.param(lambda: complete(70, lambda u, v: 1 / (1 + u * v % 13), np.float64), id="complete"),
        pytest.param(lambda: troth.generate("hubs", n=900, hubs=4, degree=400), id="hubs"),
        pytest.param(lambda: troth.generate("path", n=700, weights="increasing"), id="one long tree"),
        pytest.param(lambda: troth.generate("grid", rows=30, cols=30, weights="unit"), id="equal weights"),
        pytest.param(lambda: star([1 + i % 7 for i in range(500)]), id="star"),
    ],
)
@pytest.mark.parametrize("limit", [None, 20])
def test_trees_and_rows_of_every_size(make, limit):
    """Whole trees, pieces, stars that are split; rows that are short and marked."""
    check(make(), seed=5, stop=20, limit=limit)


@pytest.mark.parametrize("few", [coarsen.FEW_VERTICES, 0])
def test_rows_that_a_warp_sorts(few, monkeypatch):
    """As words of 32 bits, and of 64 where there are many vertices."""
    monkeypatch.setattr(coarsen, "FEW_VERTICES", few)
    with_sizes(monkeypatch, coarsen, joining, **SMALL_ROWS)
    check(troth.generate("hubs", n=900, hubs=4, degree=400), stop=20)
    check(complete(60, lambda u, v: 1 + u * v % 13), stop=3)


@pytest.mark.parametrize("near", [True, False])
def test_long_rows_among_many_vertices(near, monkeypatch):
    """A warp would sort them but for their length: here that of 65 entries and more."""
    pairs = 12_000
    weak = [(u, 4 + (977 * u + 5 * i) % (2 * pairs), 1 + i) for u in range(4) for i in range(20)]
    middle = [(u, u + 1, 1000 + u) for u in range(3)]
    graph = build([*middle, *weak, *((4 + 2 * i, 5 + 2 * i, 100 + i % 7) for i in range(pairs))])
    counted, contract = [], joining.contract_clusters

    def watched(graph, groups, vertex_weights):
        counted.append(groups.counted["longs"])
        return contract(graph, groups, vertex_weights)

    with_sizes(monkeypatch, coarsen, joining, **SMALL_ROWS)
    monkeypatch.setattr(joining, "contract_clusters", watched)
    check(graph, stop=2 * pairs, shared=SHARED if near else 0)
    assert counted == [1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("shared", [SHARED, 2600, 0])
@pytest.mark.parametrize("spread", [1, 50])
def test_the_longest_rows_are_marked_where_there_is_room(spread, shared, dtype, monkeypatch):
    """In shared memory, as many places at a time as have room; in memory; and where weights are far apart by lists."""
    with_sizes(monkeypatch, coarsen, joining, **SMALL_ROWS)
    far, launch = [], Kernel.__call__

    def watched(kernel, grid, block, args, **words):
        launch(kernel, grid, block, args, **words)
        if "merge_near" in kernel.name and block == (coarsen.NEAR_THREADS["marked"],):
            far.append(int(args[-1][coarsen.CONTROL.index("far")]))

    def draw(rng, m):
        if dtype is np.int64:
            return rng.integers(1, 2**55 if spread > 1 else 1000, m)
        return (rng.random(m) * 2.0 ** rng.integers(-spread, spread, m)).astype(dtype)

    monkeypatch.setattr(Kernel, "__call__", watched)
    check(drawn_with_hub(1500, 5000, draw), stop=300, shared=shared)
    wide = spread > 1 and dtype is not np.int64
    assert bool(far) == bool(shared)
    if shared == 2600 and wide:
        assert any(far)
    if not shared or not wide:
        assert not any(far)


@pytest.mark.parametrize("most", [0, 5, 100])
def test_lists_that_may_be_too_long_for_a_kernel(most, monkeypatch):
    """They are sorted by the host's library where they are, and step by step where they are not."""
    monkeypatch.setattr(clusters, "SORTED_IN_KERNEL", most)
    check(star([1 + i % 7 for i in range(300)]), stop=20)
    check(troth.generate("rmat", scale=7, edgefactor=2, weights="unit"), stop=9, seed=2, limit=6)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("twohop", [True, False])
def test_limits_for_several_columns(kind, twohop):
    graph = troth.generate("rgg", n=300, degree=7, seed=2)
    sizes = np.stack([1 + np.arange(300) % 3, 1 + np.arange(300) * 7 % 5], axis=1).astype(kind)
    graph = graph.replaced(vertex_weights=sizes * (kind(1) if kind is np.int64 else 0.1))
    limits = graph.vertex_weights.max(axis=0) * np.array([4, 9], kind)
    check(graph, stop=9, limit=limits, twohop=twohop)


@pytest.mark.parametrize("spread", [1, 60, 150])
def test_sums_are_exact_in_any_order(spread):
    """Numbers so far apart that two doubles do not hold their sum, in rows of every kind."""
    rng = np.random.default_rng(0)
    for n in (12, 60, 140):
        check(complete(n, lambda u, v: float(rng.random() * 2.0 ** rng.integers(-spread, spread)), np.float64), stop=3)
