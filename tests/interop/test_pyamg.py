"""Aggregates from a troth hierarchy: PyAMG's shapes and types, strong neighbours, and solvers that converge."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import cg

from troth.errors import TrothError
from troth.interop.pyamg import pairwise_aggregation, predefined_aggregates, strength_graph

pyamg = pytest.importorskip("pyamg")
from pyamg.aggregation import pairwise  # noqa: E402
from pyamg.aggregation.aggregate import pairwise_aggregation as theirs  # noqa: E402
from pyamg.gallery import diffusion_stencil_2d, linear_elasticity, poisson, stencil_grid  # noqa: E402

GRID = poisson((24, 24), format="csr")
SKEW = sp.csr_array(stencil_grid(diffusion_stencil_2d(epsilon=0.001, theta=0.5, type="FE"), (24, 24), format="csr"))
matrices = pytest.mark.parametrize("A", [GRID, SKEW], ids=["poisson", "skew"])


@pytest.mark.parametrize("matchings", [1, 2, 3])
@matrices
def test_a_partition_into_small_aggregates(A, matchings):
    T, roots = pairwise_aggregation(A, matchings=matchings)
    sizes = np.asarray(T.sum(axis=0)).ravel()
    assert (np.diff(T.indptr) == 1).all()
    assert sizes.min() >= 1
    assert sizes.max() <= 2**matchings
    assert T.shape[1] < 1.2 * A.shape[0] / 2**matchings
    assert T.indices[roots].tolist() == list(range(T.shape[1]))


@matrices
def test_pairs_are_strong_neighbours(A):
    strong = strength_graph(A).to_scipy()
    T, _ = pairwise_aggregation(A, matchings=1)
    inside = (T @ T.T - sp.eye_array(A.shape[0])).tocoo()
    inside.eliminate_zeros()
    assert strong.toarray()[inside.row, inside.col].all()


@pytest.mark.parametrize("compute_P", [False, True])
def test_what_comes_back_is_what_pyamg_gives(compute_P):
    blocks = linear_elasticity((6, 6), format="bsr")[0]
    for A in (poisson((4,), format="csr"), GRID, blocks, GRID.astype(np.float32)):
        for matchings in (1, 2):
            T, roots = pairwise_aggregation(A, matchings=matchings, compute_P=compute_P)
            other, other_roots = theirs(A, matchings, compute_P=compute_P)
            assert (type(T), T.dtype, T.format, T.shape[0]) == (type(other), other.dtype, other.format, other.shape[0])
            assert len(roots) == T.shape[1] // getattr(T, "blocksize", (1, 1))[1]
            assert len(other_roots) == other.shape[1] // getattr(other, "blocksize", (1, 1))[1]
            if A.shape[0] == 4:
                assert (T.toarray() == other.toarray()).all()


def iterations(A, ml) -> int:
    count = []
    x, info = cg(A, np.ones(A.shape[0]), rtol=1e-8, maxiter=200, M=ml.aspreconditioner(), callback=count.append)
    assert info == 0
    assert np.linalg.norm(A @ x - 1) <= 1e-6 * np.sqrt(A.shape[0])
    return len(count)


@matrices
def test_a_drop_in_for_the_solver(A, monkeypatch):
    wanted = iterations(A, pairwise.pairwise_solver(A))
    monkeypatch.setattr(pairwise, "pairwise_aggregation", pairwise_aggregation)
    assert iterations(A, pairwise.pairwise_solver(A)) <= 1.2 * wanted


@pytest.mark.parametrize("smooth", [None, "jacobi"])
@matrices
def test_all_levels_from_one_hierarchy(A, smooth):
    steps = predefined_aggregates(A, max_coarse=20)
    ml = pyamg.smoothed_aggregation_solver(A, aggregate=steps, smooth=smooth)
    sizes = [level.A.shape[0] for level in ml.levels]
    assert len(sizes) == len(steps) + 1
    assert sizes[-2] > 20 >= sizes[-1]
    assert iterations(A, ml) <= 1.2 * iterations(A, pairwise.pairwise_solver(A))


def test_blocks_stay_whole():
    A, candidates = linear_elasticity((12, 12), format="bsr")
    T, _ = pairwise_aggregation(A)
    assert (T.format, T.blocksize) == ("bsr", (2, 2))
    steps = predefined_aggregates(A, max_coarse=20)
    ml = pyamg.smoothed_aggregation_solver(A, candidates, aggregate=steps)
    assert ml.levels[1].A.shape[0] == candidates.shape[1] * steps[0][1]["AggOp"].shape[1]
    assert iterations(A, ml) < 60


def test_a_function_of_options():
    hashed = [pairwise_aggregation(GRID, ties="hash", seed=seed, threads=2)[0].indices.tolist() for seed in (0, 0, 1)]
    assert hashed[0] == hashed[1]
    assert hashed[0] != hashed[2]


def test_nothing_is_strong():
    T, roots = pairwise_aggregation(sp.csr_array(sp.eye_array(5)))
    assert (T.toarray() == np.eye(5)).all()
    assert roots.tolist() == list(range(5))
    A = poisson((4,), format="csr")
    ml = pyamg.smoothed_aggregation_solver(A, aggregate=predefined_aggregates(A, max_coarse=10))
    assert ml.levels[-1].A.shape == (4, 4)


def test_refusals():
    for matrix in (GRID.tocoo(), np.eye(3)):
        with pytest.raises(TrothError, match="takes a CSR or BSR matrix, not"):
            pairwise_aggregation(matrix)
    with pytest.raises(TrothError, match="matchings=0"):
        predefined_aggregates(GRID, matchings=0)
    for options, reason in (
        ({"matchings": -1}, "matchings=-1: give a whole number"),
        ({"matchings": None}, "matchings=None"),
        ({"matchings": 1.5}, "matchings=1.5"),
        ({"levels": 1}, "give matchings=1"),
        ({"theta": np.nan}, "theta=nan: give a number from 0 to 1"),
    ):
        with pytest.raises(TrothError, match=reason):
            pairwise_aggregation(GRID, **options)
    for matrix, reason in (
        (sp.csr_array((2, 3)), "a square matrix, not one of 2 x 3"),
        (GRID.astype(int), "a matrix of finite floats"),
        (GRID * np.nan, "a matrix of finite floats"),
        (GRID.astype(complex), "choose norm='abs'"),
    ):
        with pytest.raises(TrothError, match=reason):
            pairwise_aggregation(matrix)
