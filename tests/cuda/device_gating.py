"""Inputs on a GPU and on the host, and what the two gates make of them, compared."""

from __future__ import annotations

import numpy as np
from gating import compressed
from hypothesis import strategies as st

from troth.api.opening import as_graph
from troth.arrays import cupy
from troth.errors import TrothError
from troth.gate import cuda as gate
from troth.graph import Graph
from troth.inputs import Matrix, Sparse

FORMATS = ("csr", "csc", "coo")
SOME = ("int8", "uint16", "int32", "int64", "uint64", "float32", "float64")
TILE = gate.TILE


def there(part):
    """An array, a matrix or a tuple of arrays on the GPU."""
    if isinstance(part, Sparse):
        return part.converted(cupy().asarray)
    if isinstance(part, Matrix):
        return Matrix(there(part.matrix), part.pattern, part.vertex_weights, part.ids, part.where, part.base)
    return tuple(cupy().asarray(array) for array in part) if isinstance(part, tuple) else cupy().asarray(part)


def outcome(obj, **options) -> Graph | str:
    try:
        return as_graph(obj, **options)
    except TrothError as refusal:
        return str(refusal)


def check_equal(wanted: Graph | str, found: Graph | str) -> None:
    """One graph, on the host and on the GPU, or one refusal."""
    if isinstance(wanted, str) or isinstance(found, str):
        assert wanted == found
        return
    assert found.device == "cuda:0"
    for name in ("indptr", "indices", "weights"):
        here, copy = getattr(wanted, name), getattr(found, name).get()
        assert here.dtype == copy.dtype
        assert np.array_equal(here, copy)
    assert wanted.notes == found.notes
    assert wanted.bits_range() == found.bits_range()


def agree(obj, **options) -> Graph | str:
    """What the CPU's gate makes of some arrays; the GPU's must make the same."""
    wanted = outcome(obj, **options)
    check_equal(wanted, outcome(there(obj), **options))
    return wanted


def drawn(n: int, m: int, dtype="float32", seed: int = 0):
    """m random edges, hubs among the first vertices, with loops and repeats; small weights, none of them 0."""
    rng = np.random.default_rng(seed)
    row, col = (n * rng.random((2, m)) ** 3).astype(np.int32)
    return row, col, rng.integers(1, 100, m).astype(dtype)


def values_of(dtype: str) -> st.SearchStrategy:
    """Few distinct numbers, among them 0, negative ones, the extremes, and rarely what is not finite."""
    kind = np.finfo(dtype) if dtype.startswith("float") else np.iinfo(dtype)
    pool = [0, 1, 2, 3, kind.max, kind.max // 2 if dtype.startswith(("i", "u")) else 0.1]
    if kind.min < 0:
        pool += [-1, -3, kind.min]
    if dtype.startswith("float"):
        pool += [-0.0, 0.3, kind.smallest_subnormal, 1e-3]
    common = st.sampled_from(pool[1:4] + pool[-1:])
    rare = st.sampled_from([np.nan, np.inf, -np.inf]) if dtype.startswith("float") else st.sampled_from(pool)
    return st.one_of(common, common, common, st.sampled_from(pool), common, common, common, rare)


@st.composite
def matrices(draw) -> Matrix:
    """Entries in any order with repeats; symmetric in half of the cases, so that most are accepted."""
    n, dtype = draw(st.integers(1, 7)), draw(st.sampled_from(SOME))
    places = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), values_of(dtype))
    found = draw(st.lists(places, max_size=14))
    if draw(st.booleans()):
        found = [entry for u, v, x in found for entry in ((u, v, x), (v, u, x))]
    if draw(st.booleans()):
        found = draw(st.permutations(found))
    row, col = (np.array([entry[k] for entry in found], draw(st.sampled_from(["int32", "int64"]))) for k in (0, 1))
    values = np.array([entry[2] for entry in found], dtype)
    return Matrix(compressed(draw(st.sampled_from(FORMATS)), n, row, col, values), pattern=draw(st.booleans()))
