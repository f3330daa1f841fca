"""The seeded families: structure by brute force, weights by rule, fixed checksums, and every refusal."""

from __future__ import annotations

import zlib
from itertools import combinations, product
from math import isqrt, pi

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from troth import reference
from troth.errors import TrothError
from troth.families import ALIASES, FAMILIES, RULES, from_spec, generate, is_spec
from troth.families.structures import scatter
from troth.gate.cpu import uniform_weight
from troth.order import PLACE, WEIGHT, hash_int, make_order

SMALL = (
    "grid:rows=5,cols=7",
    "grid:rows=3,cols=4,layers=5",
    "stencil:nx=4,ny=3,nz=2,unknowns=3",
    "rmat:scale=8,edgefactor=5",
    "erdos-renyi:n=200,degree=6.5",
    "rgg:n=300,degree=9",
    "delaunay:n=150",
    "bipartite:left=40,right=70,m=300",
    "path:n=33",
    "hubs:n=300,hubs=3,degree=120",
    "complete:n=17",
)
EMPTY = (
    "path:n=0",
    "path:n=1",
    "complete:n=0",
    "complete:n=1",
    "er:n=0,degree=0",
    "er:n=1,degree=0",
    "rgg:n=0,degree=0",
)


def edge_set(graph) -> set[tuple[int, int]]:
    return set(reference.edges(graph))


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


def checksum(graph) -> int:
    total = 0
    for array in (graph.indptr, graph.indices, graph.weights):
        total = zlib.crc32(array.astype(array.dtype.newbyteorder("<")).tobytes(), total)
    return total


# ---- structures ----


@pytest.mark.parametrize("spec", SMALL + EMPTY)
@pytest.mark.parametrize("rule", RULES)
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
    "spec", ["grid:rows=400,cols=700", "rmat:scale=14", "rgg:n=200000,degree=3", "hubs:n=90000,hubs=3,degree=80000"]
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
    "path:n=500,weights=exponential": 0xF6CF2E03,
    "path:n=500,weights=exponential,dtype=float64,seed=1": 0xBEFE0564,
    "path:n=500,weights=integers,high=1000,seed=1": 0x49626CD5,
    "path:n=9,weights=trap": 0x4DE7579D,
    "complete:n=40,weights=increasing": 0x939540AB,
}


@pytest.mark.parametrize(("spec", "expected"), CHECKSUMS.items())
def test_the_arrays_are_those_of_every_other_machine(spec, expected):
    assert checksum(from_spec(spec)) == expected


# ---- weights ----


@pytest.mark.parametrize(("dtype", "bits"), [("float32", 24), ("float64", 53)])
def test_uniform_weights_are_functions_of_seed_and_ends(dtype, bits):
    graph = generate("complete", n=40, seed=6, dtype=dtype)
    assert graph.weights.dtype == dtype
    for (u, v), w in reference.edges(graph).items():
        assert w == ((hash_int(6, WEIGHT, u, v) >> (64 - bits)) + 1) * 2.0**-bits


def test_uniform_is_the_random_rule_of_the_gate():
    graph = generate("complete", n=20, seed=8)
    assert all(w == uniform_weight(np.uint64(8), v, u) for (u, v), w in reference.edges(graph).items())


def test_types_where_none_is_asked_for():
    found = {rule: generate("path", n=3, weights=rule).weights.dtype.name for rule in RULES}
    whole = {"integers": "int32", "increasing": "int32"}
    assert found == {rule: whole.get(rule, "float32") for rule in RULES}


def test_unit_weights_in_every_type():
    for dtype in ("float32", "float64", "int8", "int64", "uint8", "uint64", np.int16, np.dtype(">i4")):
        weights = generate("path", n=4, weights="unit", dtype=dtype).weights
        assert weights.tolist() == [1] * 6
        assert weights.dtype == np.dtype(dtype).newbyteorder("=")


@pytest.mark.parametrize(
    ("high", "dtype"), [(None, "int32"), (1, "uint8"), (255, "uint8"), (2**53, "int64"), (2**53, "float64")]
)
def test_integers_reach_from_one_to_high(high, dtype):
    weights = generate("complete", n=120, weights="integers", high=high, dtype=dtype).weights
    assert weights.dtype == dtype
    assert weights.min() >= 1
    assert weights.max() <= (high or 10)
    assert (weights == weights.astype(np.int64)).all()
    if high is None:
        assert set(weights.tolist()) == set(range(1, 11))
    assert weights.max() > (high or 10) * 0.99


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exponential_has_the_exponential_distribution(dtype):
    from scipy.stats import kstest

    graph = generate("path", n=20001, weights="exponential", dtype=dtype)
    weights = graph.weights[::2].astype(float)
    # Both directions of an edge are neighbours in a path's rows: every second entry is one sample of an edge.
    assert kstest(weights, "expon").pvalue > 0.01
    assert weights.min() > 0
    assert weights.max() > 7


def test_increasing_numbers_the_edges_in_order():
    assert generate("path", n=5, weights="increasing").weights.tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    for spec in SMALL:
        graph = from_spec(f"{spec},weights=increasing")
        assert list(reference.edges(graph).values()) == list(range(1, graph.m + 1))


def best_on_path(weights: list[float]) -> float:
    """The heaviest set of edges of a path of which no two are consecutive."""
    before = best = 0.0
    for weight in weights:
        before, best = best, max(best, before + weight)
    return best


@pytest.mark.parametrize("ties", ["hash", "low", "high"])
def test_trap_holds_greedy_to_half(ties):
    groups = 25
    graph = generate("path", n=4 * groups, weights="trap")
    weights = reference.edges(graph)
    mate = reference.greedy(graph, make_order(ties))
    greedy = sum(w for (u, v), w in weights.items() if mate[u] == v)
    best = best_on_path(list(weights.values()))
    assert best == 2 * groups
    assert [int(mate[v]) for v in range(1, graph.n, 4)] == list(range(2, graph.n, 4))
    assert 0.5 <= greedy / best < 0.50001


# ---- words ----


def test_spec_and_call_agree():
    by_spec = from_spec(" grid:rows=4, cols=5,weights=integers ,high=99,dtype=int64,seed=-1".strip())
    by_call = generate("grid", rows=4, cols=np.int64(5), weights="integers", high=99, dtype=np.int64, seed=2**64 - 1)
    assert checksum(by_spec) == checksum(by_call)
    assert from_spec("path:n=3,device=cpu").device == "cpu"
    assert from_spec("path:n=1e3").n == from_spec("path:n=1000.0,").n == 1000


def test_is_spec():
    for name in (*FAMILIES, *ALIASES):
        assert is_spec(name)
        assert is_spec(f"{name}:n=3")
    for text in ("", "grid.mtx", "grids:rows=3", "./grid", "graph.csr", ":grid", "GRID"):
        assert not is_spec(text)


def test_the_table_describes_each_parameter():
    for family in FAMILIES.values():
        assert family.help
        assert all(param.name and param.help for param in family.params)


REFUSED = {
    "gird:rows=3": "'gird' is not a family: choose grid, stencil",
    "": "'' is not a family",
    "grid": "grid needs rows: write grid:rows=...,cols=...",
    "grid:rows=3": "grid needs cols",
    "grid:rows": "'rows' is not name=value",
    "grid:rows=": "'rows=' is not name=value",
    "grid:=3": "'=3' is not name=value",
    "grid:rows=3,rows=4,cols=1": "rows is given twice",
    "grid:rows=3,cols=3,depth=2": "grid has no parameter 'depth': it takes rows, cols, layers, weights,",
    "path:n=3,family=grid": "path has no parameter 'family'",
    "grid:rows=three,cols=3": "grid: rows='three' must be a whole number from 1",
    "grid:rows=2.5,cols=3": "rows='2.5' must be a whole number",
    "grid:rows=0,cols=3": "rows='0' must be a whole number from 1",
    "grid:rows=inf,cols=3": "rows='inf' must be",
    "path:n=-1": "n='-1' must be a whole number from 0 to 2147483647",
    "path:n=2147483648": "n='2147483648' must be",
    "rgg:n=10,degree=nan": "degree='nan' must be a number from 0",
    "rgg:n=10,degree=10": "rgg: degree=10 with n=10: choose a degree of at most n - 1",
    "er:n=10,degree=9.5": "erdos-renyi: degree=9.5 with n=10",
    "hubs:n=10,hubs=11,degree=2": "choose at most n hubs",
    "hubs:n=10,hubs=1,degree=10": "choose a degree of at most n - 1",
    "rmat:scale=31": "scale='31' must be a whole number from 1 to 30",
    "delaunay:n=2": "n='2' must be a whole number from 3",
    "grid:rows=65536,cols=65536": "grid: 4294967296 vertices are too many: choose sizes that make at most 2147483647",
    "bipartite:left=2e9,right=2e9,m=1": "bipartite: 4000000000 vertices are too many",
    "complete:n=2e9": "complete with n=2000000000 does not fit into memory: choose smaller sizes",
    "rmat:scale=30,edgefactor=65536": "does not fit into memory",
    "rgg:n=2e9,degree=1e9": "does not fit into memory",
    "path:n=3,weights=heavy": "path: weights='heavy' is not a rule: choose uniform, unit, integers",
    "path:n=3,seed=x": "seed='x' must be a whole number",
    "path:n=3,seed=18446744073709551616": "seed='18446744073709551616' must be",
    "path:n=3,high=5": "high is for weights=integers, not weights=uniform",
    "path:n=3,weights=integers,high=0": "high='0' must be a whole number from 1",
    "path:n=3,weights=integers,high=300,dtype=uint8": "reach 300, beyond dtype=uint8: choose a wider type",
    "path:n=3,weights=integers,high=16777217,dtype=float32": "reach 16777217, beyond dtype=float32",
    "path:n=300,weights=increasing,dtype=uint8": "reach 299, beyond dtype=uint8",
    "path:n=3,dtype=float16": "dtype='float16' is not a weight type: choose float32",
    "path:n=3,dtype=complex64": "dtype='complex64' is not a weight type",
    "path:n=3,dtype=nonsense": "dtype='nonsense' is not a weight type",
    "path:n=3,dtype=int32": "weights=uniform are fractions and do not fit dtype=int32: choose float32 or float64",
    "path:n=3,weights=trap,dtype=int8": "weights=trap are fractions",
    "path:n=3,weights=exponential,dtype=uint64": "weights=exponential are fractions",
    "path:n=3,device=gpu": "path: device='gpu' is not known: choose cpu, cuda or cuda:1",
    "path:n=3,device=auto": "device='auto' is not known",
    "path:n=3,device=cpu:0": "device='cpu:0' is not known",
    "path:n=3,device=cpu,device=cuda": "device is given twice",
    "path:n=-1,device=cuda": "n='-1' must be a whole number",  # before a GPU is looked for
    "path:n=3,device=cuda,dtype=float16": "dtype='float16' is not a weight type",
}


@pytest.mark.parametrize(("spec", "reason"), REFUSED.items())
def test_refusals_are_one_line_and_name_the_remedy(spec, reason):
    with pytest.raises(TrothError) as refusal:
        from_spec(spec)
    assert reason in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("value", [True, None, [3], "", 3 + 0j, float("nan"), 2.5])
def test_values_that_are_no_whole_numbers(value):
    with pytest.raises(TrothError):
        generate("path", n=value)
    with pytest.raises(TrothError):
        generate("path", n=3, seed=value)


@pytest.mark.parametrize(
    ("count", "device", "reason"),
    [
        (0, "cuda", "device='cuda': there is no CUDA device; choose device=\"cpu\""),
        (0, "cuda:1", "device='cuda:1': there is no CUDA device"),
        (1, "cuda:1", "device='cuda:1' is not there: choose cuda:0"),
        (2, "cuda:x", "device='cuda:x' is not there: choose cuda:0 to cuda:1"),
        (1, "cuda:", "device='cuda:' is not there"),
    ],
)
def test_a_gpu_that_is_not_there(count, device, reason, monkeypatch):
    monkeypatch.setattr("troth.arrays.count_devices", lambda: count)
    with pytest.raises(TrothError) as refusal:
        generate("path", n=3, device=device)
    assert reason in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_names_that_are_no_text():
    with pytest.raises(TrothError, match="is not a family"):
        generate(3, n=3)
    with pytest.raises(TrothError, match="is not a rule"):
        generate("path", n=3, weights=["unit"])
    for device in (None, 0, ["cpu"]):
        with pytest.raises(TrothError, match="is not known: choose cpu, cuda or cuda:1"):
            generate("path", n=3, device=device)
