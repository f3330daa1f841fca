"""Families by their words: specifications equal calls, and every refusal names the remedy."""

from __future__ import annotations

import numpy as np
import pytest
from small import checksum

from troth.errors import TrothError
from troth.families import ALIASES, FAMILIES, from_spec, generate, is_spec


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
    "gird:rows=3": "'gird' is not a family (did you mean 'grid'?): choose grid, stencil",
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
    "rgg:n=3,degree=1,weights=near,dtype=int32": "weights=near are fractions",
    "delaunay:n=9,weights=near": "delaunay: weights=near is for rgg alone: choose uniform, unit,",
    "er:n=9,degree=2,weights=near": "erdos-renyi: weights=near is for rgg alone",
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
