"""``assign`` and least cost on a GPU: the graphs, the pairs, the proofs and the refusals of the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from device_gating import agree, check_equal, compressed, drawn
from hypothesis import given
from hypothesis import strategies as st

import troth
from troth.arrays import cupy
from troth.errors import TrothError
from troth.gate.entry import SYMMETRIZE
from troth.inputs import Matrix

pytestmark = pytest.mark.gpu

DENSE = np.array([[4.0, np.inf, 3, 0], [2, 0, 5, -np.inf], [3, 2, np.inf, 1]])


def both(here, there, **words) -> None:
    """One outcome on both devices."""
    found = []
    for given_as in (here, there):
        try:
            found.append(troth.assign(given_as, **words))
        except TrothError as refusal:
            found.append(str(refusal))
    if isinstance(found[0], str):
        assert found[0] == found[1]
        return
    mine, other = found
    check_equal(mine.matching.graph, other.matching.graph)
    assert mine.rows.tolist() == other.rows.tolist()
    assert mine.cols.tolist() == other.cols.tolist()
    assert mine.certificate == other.certificate
    assert (mine.weight, mine.cost, mine.gap) == (other.weight, other.cost, other.gap)
    assert not len(mine.rows) or (other.device, type(other.rows)) == ("cuda:0", cupy().ndarray)


@pytest.mark.parametrize("maximize", [True, False])
@pytest.mark.parametrize("kind", ["int8", "int64", "uint64", "float32", "float64", "?"])
def test_kinds_of_matrices(kind, maximize):
    import cupyx.scipy.sparse as csp

    rng = np.random.default_rng(3)
    shape = (40, 70)
    row, column = rng.integers(0, 40, 500), rng.integers(0, 70, 500)  # some places twice
    data = (rng.integers(0, 9, 500) if kind != "float64" else rng.random(500)).astype(kind)
    here = sp.coo_array((data, (row, column)), shape=shape)
    there = cupy().asarray
    if kind in ("float32", "float64", "?"):  # CuPy has no others
        coordinates = csp.coo_matrix((there(data), (there(row), there(column))), shape=shape)
        both(here, coordinates, maximize=maximize)
        if kind != "?":
            for form in ("csr", "csc"):
                tidy = here.asformat(form)
                matrix = getattr(csp, f"{form}_matrix")(
                    (there(tidy.data), there(tidy.indices), there(tidy.indptr)), shape=shape
                )
                both(tidy, matrix, maximize=maximize)
    dense = here.toarray()
    both(dense, there(dense), maximize=maximize)


@pytest.mark.parametrize("words", [{}, {"maximize": False}, {"maximize": False, "reward": 3}, {"target": 0.9999}])
def test_infinities_zeros_and_nothing(words):
    there = cupy().asarray
    both(DENSE, there(DENSE), **words)
    for odd in (np.full((2, 3), np.inf), np.zeros((0, 3)), np.ones((2, 2)), -np.ones((2, 2)), np.array([[1, np.nan]])):
        both(odd, there(odd), **words)
    both(np.ones(3), there(np.ones(3)), **words)
    both(np.ones((2, 2), complex), there(np.ones((2, 2), complex)), **words)


def test_tensors():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    dense = rng.random((20, 30))
    both(dense, torch.tensor(dense, device="cuda"), maximize=False)
    sparse = torch.tensor(np.where(dense > 0.5, dense, 0), device="cuda").to_sparse_coo()
    both(sp.coo_array(np.where(dense > 0.5, dense, 0)), sparse, maximize=False, reward=2)


def test_a_matrix_of_the_host_on_the_gpu():
    rng = np.random.default_rng(5)
    A = sp.random_array((300, 400), density=0.05, rng=rng)
    here, there = (troth.assign(A, maximize=False, reward=9, device=device) for device in ("cpu", "cuda"))
    assert (here.rows.tolist(), here.cols.tolist()) == (there.rows.tolist(), there.cols.tolist())
    assert (here.certificate, here.gap, here.stats["eps"]) == (there.certificate, there.gap, there.stats["eps"])
    assert isinstance(there.rows, np.ndarray)


# ---- the gate ----


@pytest.mark.parametrize("kind", ["int16", "int64", "float32", "float64"])
@pytest.mark.parametrize("reward", [None, 0, 40, 2.5, -1000])
def test_costs_become_worth(kind, reward):
    row, col, cost = drawn(30, 200, kind)
    agree((row, col, cost), maximize=False, reward=reward)
    one = compressed("csr", 30, row, col, cost)
    for word in SYMMETRIZE:
        agree(Matrix(one), maximize=False, reward=reward, symmetrize=word)


@given(st.integers(1, 6), st.data(), st.sampled_from([None, -2, 0, 7, 3.5]))
def test_any_edges_of_costs(n, data, reward):
    ids = st.integers(0, n - 1)
    found = data.draw(st.lists(st.tuples(ids, ids, st.integers(-3, 9)), max_size=12))
    row, col, cost = (np.array([edge[k] for edge in found], np.int64) for k in range(3))
    agree((row, col, cost), maximize=False, reward=reward)


def test_least_cost_on_the_gpu():
    rng = np.random.default_rng(6)
    edges = rng.integers(0, 300, 3000), rng.integers(300, 600, 3000), rng.random(3000)
    asked = {"maximize": False, "reward": 50.0, "algorithm": "auction"}
    here, there = (troth.match(edges, device=device, **asked) for device in ("cpu", "cuda"))
    assert here.mate.tolist() == there.mate.tolist()
    assert (here.certificate, here.gap, here.stats["attempts"]) == (
        there.certificate,
        there.gap,
        there.stats["attempts"],
    )
