"""The seeded families: structure by brute force, what seeds and threads decide, and fixed checksums."""

from __future__ import annotations

from itertools import combinations, product
from math import isqrt, pi

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import SMALL, checksum, edge_set, rules_of

from troth import reference
from troth.families import FAMILIES, from_spec, generate
from troth.families.structures import scatter
from troth.order import PLACE, hash_int

EMPTY = (
    "path:n=0",
    "path:n=1",
    "complete:n=0",
    "complete:n=1",
    "er:n=0,degree=0",
    "er:n=1,degree=0",
    "rgg:n=0,degree=0",
)


def assert_gate_holds(graph) -> None:
    """What everything past the gate trusts."""
    assert (graph.indptr.dtype, graph.indices.dtype) == (np.int64, np.int32)
    assert graph.indptr[0] == 0
    assert graph.indptr[-1] == len(graph.indices) == len(graph.weights)
    there = {}
    for u, row in enumerate(reference.rows(graph)):
        names = [v for v, _ in row]
        assert names == sorted(set(names))
        assert u not in names
        there |= {(u, v): w for v, w in row}
    assert all(there[v, u] == w and 0 < w < float("inf") for (u, v), w in there.items())


# ---- structures ----


@pytest.mark.parametrize(("spec", "rule"), [(spec, rule) for spec in SMALL + EMPTY for rule in rules_of(spec)])
def test_every_family_passes_the_gate(spec, rule):
    assert_gate_holds(from_spec(f"{spec},weights={rule},seed=3"))


def test_every_family_is_tested():
    assert {spec.partition(":")[0] for spec in SMALL} == set(FAMILIES)


sizes = st.integers(1, 5)


@settings(max_examples=30, deadline=None)
@given(sizes, sizes, sizes)
def test_grid_joins_unit_steps(rows, cols, layers):
    places = list(product(range(layers), range(rows), range(cols)))
    expected = {
        (u, v)
        for (u, a), (v, b) in combinations(enumerate(places), 2)
        if sum(abs(x - y) for x, y in zip(a, b, strict=True)) == 1
    }
    assert edge_set(generate("grid", rows=rows, cols=cols, layers=layers)) == expected


@settings(max_examples=30, deadline=None)
@given(sizes, sizes, sizes, st.integers(1, 3))
def test_stencil_couples_all_unknowns_of_near_nodes(nx, ny, nz, unknowns):
    places = [place for place in product(range(nz), range(ny), range(nx)) for _ in range(unknowns)]
    expected = {
        (u, v)
        for (u, a), (v, b) in combinations(enumerate(places), 2)
        if max(abs(x - y) for x, y in zip(a, b, strict=True)) <= 1
    }
    assert edge_set(generate("stencil", nx=nx, ny=ny, nz=nz, unknowns=unknowns)) == expected


def test_known_counts():
    assert generate("grid", rows=30, cols=40).m == 30 * 39 + 29 * 40
    assert generate("path", n=10).m == 9
    assert generate("complete", n=50).m == 50 * 49 // 2
    cube = generate("stencil", nx=20, ny=15, nz=22, unknowns=8, weights="unit", dtype="uint8")
    # (3 nx - 2) ordered pairs of near nodes along an axis, itself included.
    assert (cube.n, 2 * cube.m) == (52800, 58 * 43 * 64 * 8**2 - 52800)


def draw_below(seed, e, word, bound):
    return int((hash_int(seed, PLACE, e, word) >> 11) * 2.0**-53 * bound)


def other(u, v):
    """The edge from u to the v-th of the other vertices."""
    v += v >= u
    return min(u, v), max(u, v)


def drawn_pairs(seed, n, count):
    return {other(draw_below(seed, e, 0, n), draw_below(seed, e, 1, n - 1)) for e in range(count)}


def test_erdos_renyi_edges_are_functions_of_their_numbers():
    assert edge_set(generate("erdos-renyi", n=60, degree=10, seed=9)) == drawn_pairs(9, 60, 300)


def test_hubs_edges_are_functions_of_their_numbers():
    expected = drawn_pairs(9, 61, 122)
    for i, j in product(range(3), range(40)):
        low, high = j * 60 // 40, (j + 1) * 60 // 40
        expected.add(other(i * 61 // 3, low + draw_below(9, 122 + 40 * i + j, 0, high - low)))
    assert edge_set(generate("hubs", n=61, hubs=3, degree=40, seed=9)) == expected


def test_bipartite_edges_are_functions_of_their_numbers():
    expected = {(draw_below(9, e, 0, 20), 20 + draw_below(9, e, 1, 30)) for e in range(100)}
    assert edge_set(generate("bipartite", left=20, right=30, m=100, seed=9)) == expected


def rmat_edge(seed, e, scale):
    u = v = 0
    for level in range(scale):
        word = hash_int(seed, PLACE, e, level)
        quadrant = sum(word >= percent * 2**64 // 100 for percent in (57, 76, 95))
        u, v = 2 * u + quadrant // 2, 2 * v + quadrant % 2
    return u, v


def test_rmat_edges_are_functions_of_their_numbers():
    drawn = [rmat_edge(4, e, 6) for e in range(3 * 2**6)]
    assert any(u == v for u, v in drawn), "a loop must be there to be dropped"
    expected = {(min(e), max(e)) for e in drawn if e[0] != e[1]}
    assert edge_set(generate("rmat", scale=6, edgefactor=3, seed=4)) == expected


def test_rmat_has_the_skew_of_its_quadrants():
    graph = generate("rmat", scale=12, edgefactor=1, weights="unit")
    top = sum(u < 2048 and v < 2048 for u, v in edge_set(graph)) / graph.m
    assert abs(top - 0.57) < 0.05


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 120), st.integers(0, 50), st.integers(0, 2**64 - 1))
def test_rgg_joins_exactly_the_near_points(n, degree, seed):
    degree = min(degree, max(n - 1, 0))
    reach = min(int(degree / (pi * max(n - 1, 1)) * 4.0**31), 2**63 - 1)

    def near(cells):
        """All near pairs when the points are numbered by so many cells a side."""
        points = scatter(np.uint64(seed), n, cells)[0].astype(np.int64)
        distance = ((points[:, None] - points) ** 2).sum(axis=2)
        return set(zip(*(ends.tolist() for ends in np.nonzero(np.triu(distance < reach, 1))), strict=True))

    # How many cells there are is rgg's own affair; the edges must be right for one numbering.
    edges = edge_set(generate("rgg", n=n, degree=degree, seed=seed))
    assert any(edges == near(cells) for cells in range(1, isqrt(n) + 2))


def test_rgg_has_the_asked_degree():
    graph = generate("rgg", n=20000, degree=12)
    assert abs(2 * graph.m / graph.n - 12) < 0.5


def test_points_are_numbered_by_cell():
    points, start = scatter(np.uint64(5), 500, 10)
    cell = (points[:, 1].astype(np.int64) * 10 >> 31) * 10 + (points[:, 0].astype(np.int64) * 10 >> 31)
    assert (np.diff(cell) >= 0).all()
    assert np.array_equal(start, np.searchsorted(cell, np.arange(101)))
    drawn = {(hash_int(5, PLACE, i, 0) >> 33, hash_int(5, PLACE, i, 1) >> 33) for i in range(500)}
    assert {(x, y) for x, y in points.tolist()} == drawn


def test_delaunay_is_a_triangulation_that_holds_nearest_neighbours():
    from scipy.spatial import ConvexHull

    n = 400
    graph = generate("delaunay", n=n, seed=2)
    points = scatter(np.uint64(2), n, 20)[0].astype(float)
    assert graph.m == 3 * n - 3 - len(ConvexHull(points).vertices)
    distance = ((points[:, None] - points) ** 2).sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    nearest = {(min(u, v), max(u, v)) for u, v in enumerate(distance.argmin(axis=1).tolist())}
    assert nearest <= edge_set(graph)


def test_hubs_have_their_degree_and_the_rest_is_sparse():
    graph = generate("hubs", n=1000, hubs=4, degree=700)
    degree = np.diff(graph.indptr)
    assert (degree[::250] >= 700).all()
    assert np.delete(degree, np.s_[::250]).max() < 40
    assert generate("hubs", n=50, hubs=50, degree=49).m == 50 * 49 // 2


# ---- seeds, threads, checksums ----


@pytest.mark.parametrize("spec", SMALL)
def test_a_seed_decides_everything(spec):
    one, again, other = (from_spec(f"{spec},seed={seed}") for seed in (1, 1, 2))
    assert checksum(one) == checksum(again)
    assert checksum(one) != checksum(other)


@pytest.mark.parametrize(
    "spec",
    [
        "grid:rows=400,cols=700",
        "rmat:scale=14",
        "rgg:n=200000,degree=3",
        "rgg:n=200000,degree=3,weights=near",
        "hubs:n=90000,hubs=3,degree=80000",
    ],
)
def test_threads_do_not_matter(spec, monkeypatch):
    sums = set()
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("TROTH_NUM_THREADS", threads)
        sums.add(checksum(from_spec(spec)))
    assert len(sums) == 1


CHECKSUMS = {
    "grid:rows=5,cols=7": 0x16292B8C,
    "grid:rows=3,cols=4,layers=5": 0x4289DD37,
    "stencil:nx=4,ny=3,nz=2,unknowns=3": 0xB5CEE70F,
    "rmat:scale=8,edgefactor=5": 0xB491714B,
    "erdos-renyi:n=200,degree=6.5": 0x1A063523,
    "rgg:n=300,degree=9": 0x5013D9FD,
    "delaunay:n=150": 0xEDFEDA8B,
    "bipartite:left=40,right=70,m=300": 0xF95FB1AA,
    "path:n=33": 0xFD9DA10C,
    "hubs:n=300,hubs=3,degree=120": 0xCE192337,
    "complete:n=17": 0x256197FF,
    "rmat:scale=10,seed=1": 0xFCCF6A99,
    "rgg:n=5000,degree=7,seed=1,dtype=float64": 0xAE7ADD24,
    "rgg:n=5000,degree=7,weights=near": 0xDA635E53,
    "rgg:n=5000,degree=7,weights=near,dtype=float64,seed=1": 0xC6753F54,
    "path:n=500,weights=exponential": 0xF6CF2E03,
    "path:n=500,weights=exponential,dtype=float64,seed=1": 0xBEFE0564,
    "path:n=500,weights=integers,high=1000,seed=1": 0x49626CD5,
    "path:n=9,weights=trap": 0x4DE7579D,
    "complete:n=40,weights=increasing": 0x939540AB,
}


@pytest.mark.parametrize(("spec", "expected"), CHECKSUMS.items())
def test_the_arrays_are_those_of_every_other_machine(spec, expected):
    assert checksum(from_spec(spec)) == expected
