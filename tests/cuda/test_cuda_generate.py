"""Graphs made on a GPU are those of the CPU, bit for bit: every family, every rule for weights, every type."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from troth.api.opening import write
from troth.cli import main
from troth.errors import DeviceMemoryError, TrothError
from troth.families import FAMILIES, RULES, from_spec, generate, host
from troth.families import cuda as module
from troth.families.cuda import CONSTANTS, DRAWS, PROGRAMS, TILE
from troth.families.weights import DTYPES
from troth.kernels.launch import launch, load
from troth.kernels.team import CALLER, run_team

pytestmark = pytest.mark.gpu

SPECS = (
    "grid:rows=5,cols=7",
    "grid:rows=1,cols=1",
    "grid:rows=1,cols=50",
    "grid:rows=2,cols=3,layers=4",
    "grid:rows=70,cols=60",
    "stencil:nx=4,ny=3,nz=2,unknowns=3",
    "stencil:nx=1,ny=9,nz=1",
    "stencil:nx=7,ny=6,nz=9",
    "stencil:nx=2,ny=2,nz=3,unknowns=37",
    "rmat:scale=1",
    "rmat:scale=9,edgefactor=12",
    "erdos-renyi:n=1,degree=0",
    "erdos-renyi:n=700,degree=0",
    "erdos-renyi:n=200,degree=6.5",
    "erdos-renyi:n=2,degree=1",
    "rgg:n=0,degree=0",
    "rgg:n=1,degree=0",
    "rgg:n=40,degree=0",
    "rgg:n=300,degree=9",
    "rgg:n=2000,degree=0.4",
    "rgg:n=90,degree=89",
    "delaunay:n=3",
    "delaunay:n=150",
    "bipartite:left=40,right=70,m=300",
    "bipartite:left=3,right=1,m=0",
    "path:n=0",
    "path:n=1",
    "path:n=2",
    "path:n=4099",
    "hubs:n=300,hubs=3,degree=120",
    "hubs:n=50,hubs=50,degree=49",
    "hubs:n=6000,hubs=1,degree=5500",
    "hubs:n=2,hubs=0,degree=1",
    "complete:n=0",
    "complete:n=1",
    "complete:n=2",
    "complete:n=91",
)


def assert_equal(there, here) -> None:
    assert there.device == "cuda:0"
    for name in ("indptr", "indices", "weights"):
        found, wanted = getattr(there, name).get(), getattr(here, name)
        assert found.dtype == wanted.dtype, name
        assert np.array_equal(found, wanted), name


def check(spec: str) -> None:
    assert_equal(from_spec(f"{spec},device=cuda"), from_spec(spec))


def test_every_family_is_tested():
    assert {spec.partition(":")[0] for spec in SPECS} == set(FAMILIES)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("seed", [0, -1])
def test_structures_are_those_of_the_cpu(spec, seed):
    check(f"{spec},seed={seed}")


sizes = st.integers(1, 6)


@settings(max_examples=40, deadline=None)
@given(sizes, sizes, sizes, st.integers(1, 3))
def test_lattices_of_all_shapes(nx, ny, nz, unknowns):
    check(f"grid:rows={nx},cols={ny},layers={nz},weights=increasing")
    check(f"stencil:nx={nx},ny={ny},nz={nz},unknowns={unknowns}")


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 150), st.floats(0, 1), st.integers(0, 2**64 - 1))
def test_points_of_all_densities(n, part, seed):
    check(f"rgg:n={n},degree={part * max(n - 1, 0)},seed={seed}")


# Arguments of draws for graphs that are too large for a test.
LARGE = {
    "rmat": (30,),
    "pairs": (2**31 - 1,),
    "across": (2**30, 2**30 - 1),
    "spokes": (2**31 - 1, 7, 2**10, 2**40),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("seed", [0, 2**64 - 1])
def test_draws_with_large_numbers(name, seed):
    import cupy as cp

    count, kernel = 7 * 2**10, load("families", PROGRAMS["drawn"], CONSTANTS)[DRAWS.index(name)]
    found, wanted = cp.empty((2, count), np.int32), np.empty((2, count), np.int32)
    words = (np.uint64(seed), *(np.int64(word) for word in LARGE[name]))
    launch(kernel, count, np.int64(count), *words, found[0], found[1])
    run_team(host.DRAWS[name], count, CALLER, 0, *words, wanted[0], wanted[1])
    assert np.array_equal(found.get(), wanted)


def test_quadrants_are_those_of_the_cpu():
    """To the last bit, which no drawn edge would show."""
    assert [int(bound) for bound in host.QUADRANTS] == [percent * 2**64 // 100 for percent in (57, 76, 95)]
    assert {f"-DHOST_{name}={bound}ull" for name, bound in zip(("A", "AB", "ABC"), host.QUADRANTS, strict=True)} <= set(
        CONSTANTS
    )


# ---- weights ----

FRACTIONS = ("uniform", "exponential", "trap")
WEIGHTED = [
    (name, dtype)
    for name, rule in RULES.items()
    for dtype in DTYPES
    if rule.family is None and (name not in FRACTIONS or dtype.startswith("float"))
]
TILES = "rmat:scale=10,edgefactor=9"  # rows of all lengths, empty ones too, over several tiles


def test_the_weighted_graph_spans_tiles():
    graph = from_spec(TILES)
    assert 3 * TILE < len(graph.indices) < 2**15
    assert np.diff(graph.indptr).min() == 0


@pytest.mark.parametrize(("rule", "dtype"), WEIGHTED)
def test_weights_are_those_of_the_cpu(rule, dtype):
    ranks_fit = rule != "increasing" or dtype not in ("int8", "uint8")
    for spec in (TILES, "hubs:n=6000,hubs=1,degree=5500") if ranks_fit else ("complete:n=16", "path:n=128"):
        check(f"{spec},weights={rule},dtype={dtype},seed=5")
    check(f"path:n=1,weights={rule},dtype={dtype}")


@pytest.mark.parametrize(
    ("high", "dtype"), [(1, "uint8"), (255, "uint8"), (2**31 - 1, "int32"), (2**53, "int64"), (2**53, "float64")]
)
def test_integers_up_to_high(high, dtype):
    check(f"complete:n=60,weights=integers,high={high},dtype={dtype}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exponential_weights_of_many_seeds(dtype):
    for seed in range(5):
        check(f"complete:n=120,weights=exponential,dtype={dtype},seed={seed}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.startswith("rgg")])
def test_near_weights(spec, dtype):
    check(f"{spec},weights=near,dtype={dtype},seed=5")
    check(f"rgg:n=30000,degree=11,weights=near,dtype={dtype},seed=-1")


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 150), st.floats(0, 1), st.integers(0, 2**64 - 1), st.sampled_from(["float32", "float64"]))
def test_near_weights_of_all_densities(n, part, seed, dtype):
    check(f"rgg:n={n},degree={part * max(n - 1, 0)},weights=near,seed={seed},dtype={dtype}")


def test_increasing_refuses_ranks_that_do_not_fit():
    with pytest.raises(TrothError, match="reach 299, beyond dtype=uint8"):
        from_spec("path:n=300,weights=increasing,dtype=uint8,device=cuda")


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_the_range_of_wide_weights_is_found(dtype):
    spec = f"{TILES},weights={'integers' if dtype == 'int64' else 'uniform'},dtype={dtype}"
    assert from_spec(f"{spec},device=cuda").bits_range() == from_spec(spec).bits_range()
    assert from_spec(f"path:n=1,dtype={dtype},weights=unit,device=cuda").bits_range() == (1, 1, 1)


# ---- devices, streams, memory, files ----


def test_numbered_device():
    assert_equal(generate("path", n=5, device="cuda:0"), generate("path", n=5))
    with pytest.raises(TrothError, match="device='cuda:4096' is not there"):
        generate("path", n=5, device="cuda:4096")


def test_a_stream_of_the_caller():
    import cupy as cp

    with cp.cuda.Stream(non_blocking=True):
        check(TILES)
        check("rgg:n=3000,degree=7,weights=increasing")


def test_no_room_is_one_line():
    with pytest.raises(DeviceMemoryError) as refusal:
        generate("bipartite", left=5, right=5, m=2**39, device="cuda")
    assert "cuda:0 is too small: 2048.0 GiB more is needed" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    with pytest.raises(TrothError, match="complete with n=2000000000 does not fit into memory: choose smaller sizes"):
        generate("complete", n=2 * 10**9, device="cuda")


def test_drawn_edges_can_be_freed_early(monkeypatch):
    """Whoever makes them a CSR structure has the only references: a local name and the argument of getrefcount."""
    make, counts = module.edges_to_csr, []

    def spy(row, col, weight, n):
        counts.extend((sys.getrefcount(row), sys.getrefcount(col)))
        return make(row, col, weight, n)

    monkeypatch.setattr(module, "edges_to_csr", spy)
    check("rmat:scale=5")
    check("hubs:n=30,hubs=2,degree=9")
    check("delaunay:n=9")
    assert len(counts) == 6
    assert max(counts) <= 2


def test_files_hold_the_graph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(from_spec("rmat:scale=6,device=cuda"), "there.csv")
    write(from_spec("rmat:scale=6"), "here.csv")
    assert main(["generate", "rmat", "scale=6", "device=cuda", "-o", "program.csv"]) == 0
    assert main(["generate", "rmat:scale=6,device=cuda", "-o", "program.csr"]) == 0
    here = (tmp_path / "here.csv").read_bytes()
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "program.csv").read_bytes() == here
    assert np.array_equal(np.load(tmp_path / "program.csr" / "weights.npy"), from_spec("rmat:scale=6").weights)
