"""Heavy entries to the diagonal: a permutation without zeros there, scaled, and a refusal where there is none."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse.csgraph import min_weight_full_bipartite_matching, structural_rank
from scipy.sparse.linalg import splu

from troth.errors import TrothError
from troth.interop.scipy import heavy_permutation

ENTRIES = st.sampled_from([0.0, 0.0, 1.0, -3.0, 1e-200, 1e200, -7e-13, 5e-324])


def check(A: sp.sparray) -> None:
    """What the docstring promises of any matrix that is not structurally singular."""
    heavy, n = heavy_permutation(A), A.shape[0]
    assert sorted(heavy.rows) == list(range(n))
    assert np.all(A.toarray()[heavy.rows].diagonal())
    for scale in (heavy.row_scale, heavy.column_scale):
        assert np.isfinite(scale).all()
        assert (np.frexp(scale)[0] == 0.5).all()
    scaled = abs(heavy.apply(A).toarray())
    if np.ptp(np.frexp(abs(A.tocsr().data))[1]) < 500:  # beyond, a scaled entry may be too small for a float64
        assert np.all(scaled.diagonal())
    if all(1e-300 < scale < 1e300 for scale in (*heavy.row_scale, *heavy.column_scale)):
        assert scaled.max() <= 1
        assert scaled.max(axis=0).min() >= 0.5


@given(arrays(np.float64, st.integers(1, 6).map(lambda n: (n, n)), elements=ENTRIES))
def test_a_full_diagonal_or_a_refusal(dense):
    A = sp.csr_array(dense)
    if structural_rank(A) == len(dense):
        check(A)
    else:
        with pytest.raises(TrothError, match="structurally singular: at most") as refusal:
            heavy_permutation(A)
        assert f"at most {structural_rank(A)} of its {len(dense)} rows" in str(refusal.value)


def shuffled(n: int, seed: int, heavy: float = 10.0) -> tuple[sp.csr_array, np.ndarray]:
    """Random entries, one in each row and column ``heavy`` times the others or more, and where those are."""
    rng = np.random.default_rng(seed)
    place = rng.permutation(n)
    A = sp.random_array((n, n), density=4 / n, rng=rng).tolil()
    A[np.arange(n), place] = heavy * rng.uniform(1, 2, n) * rng.choice([-1, 1], n)
    return A.tocsr(), place


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dia", "bsr"])
def test_dominant_entries_come_to_the_diagonal(kind):
    A, place = shuffled(50, seed=3)
    heavy = heavy_permutation(A.asformat(kind))
    assert (place[heavy.rows] == np.arange(50)).all()
    assert heavy.completed == 0


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, np.complex64, np.longdouble, np.clongdouble, bool])
def test_types(dtype):
    A = sp.csr_array(np.array([[0, 1, 2], [-128 % 2**7, 0, 3], [3, 1, 0]]).astype(dtype))
    check(A)
    if np.dtype(dtype).kind == "c":
        A.data *= 1j
        assert (heavy_permutation(A).rows == heavy_permutation(abs(A)).rows).all()


def test_a_column_far_below_the_others_stays():
    A = np.random.default_rng(1).uniform(1, 2, (10, 10)) * 1e100
    A[:, 0] = 1e-290
    assert heavy_permutation(sp.csr_array(A)).apply(sp.csr_array(A)).toarray().all()


def test_the_least_integer_is_heavy():
    A = sp.csr_array(np.array([[1, -128], [1, 127]], np.int8))
    assert heavy_permutation(A).rows.tolist() == [1, 0]


def test_scaling():
    rng = np.random.default_rng(1)
    A = shuffled(40, seed=2)[0]
    A = sp.diags_array(10.0 ** rng.uniform(-60, 60, 40)) @ A @ sp.diags_array(10.0 ** rng.uniform(-60, 60, 40))
    heavy = heavy_permutation(A)
    scaled = abs(heavy.apply(A))
    assert scaled.max() <= 1
    assert scaled.max(axis=0).toarray().min() >= 0.5
    unscaled = sp.diags_array(1 / heavy.row_scale[heavy.rows]) @ heavy.apply(A) @ sp.diags_array(1 / heavy.column_scale)
    assert (unscaled.toarray() == A.toarray()[heavy.rows]).all()  # not a bit is lost


def log_product(A: sp.csr_array, row, col) -> float:
    return float(np.log(np.abs(A.toarray()[row, col])).sum())


@pytest.mark.parametrize("seed", range(4))
def test_the_product_is_large(seed):
    """Nearly the largest product, in its logarithm; a few rows are completed, and that costs most of what is lost."""
    rng = np.random.default_rng(seed)
    A = shuffled(200, seed)[0]
    A.data = np.exp(rng.normal(0, 3, A.nnz))
    heavy = heavy_permutation(A)
    assert 0 < heavy.completed <= 5
    logs = A.copy()
    logs.data = np.log(A.data) + 100  # SciPy takes zeros for missing entries
    best = log_product(A, *min_weight_full_bipartite_matching(logs, maximize=True))
    assert log_product(A, heavy.rows, np.arange(200)) > 0.9 * best


def test_a_completion_that_scipy_s_matching_would_not_survive():
    """A free row before a path with an exit, and before a ladder without: there are 2^40 ways down the ladder."""
    levels = 40
    entries = [(i, i + j, 9 - 8 * j) for i in range(levels) for j in (0, 1)]
    rungs = [levels + 1 + 2 * i for i in range(levels)]  # columns; their rows are one less, for the path has one more
    entries += [(column - 1 + a, column + a, 9) for column in rungs for a in (0, 1)]
    entries += [(column - 1 + a, column + 2 + b, 1) for column in rungs[:-1] for a in (0, 1) for b in (0, 1)]
    free = 3 * levels
    entries += [(free, 0, 1), (free, rungs[0], 1), (free, rungs[0] + 1, 1)]
    row, col, value = np.array(entries).T
    A = sp.csr_array((value, (row, col)), shape=(free + 1, free + 1))
    heavy = heavy_permutation(A)
    assert heavy.completed == 1
    assert A.toarray()[heavy.rows].diagonal().all()


def test_the_input_stays_and_repeats_add_up():
    A = sp.coo_array(([1.0, -1.0, 2.0, 3.0, 4.0], ([0, 0, 0, 1, 1], [0, 0, 1, 0, 1])), shape=(2, 2)).tocsr()
    raw = sp.csr_array((np.array([1.0, -1.0, 2.0, 3.0]), np.array([0, 0, 1, 0]), np.array([0, 3, 4])), shape=(2, 2))
    before = raw.data.copy()
    assert heavy_permutation(raw).rows.tolist() == [1, 0]
    assert (raw.data == before).all()
    assert raw.nnz == 4
    assert heavy_permutation(A).rows.tolist() == [1, 0]


def test_static_pivoting_solves():
    A, _ = shuffled(300, seed=5)
    b = A @ np.ones(300)
    heavy = heavy_permutation(A)
    lu = splu(heavy.apply(A), diag_pivot_thresh=0.0)
    assert (lu.perm_r == lu.perm_c).all()
    x = heavy.column_scale * lu.solve((heavy.row_scale * b)[heavy.rows])
    assert np.allclose(x, 1, atol=1e-9)


def test_empty():
    heavy = heavy_permutation(sp.csr_array((0, 0)))
    assert len(heavy.rows) == len(heavy.row_scale) == heavy.completed == 0


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (sp.csr_array((2, 3)), "not 2 x 3"),
        (np.eye(2), "not ndarray"),
        (sp.csr_array([[1.0, np.nan], [0.0, 1.0]]), r"entry \(0, 1\) is not a finite number"),
        (sp.csr_array([[1.0, 2.0], [0.0, 0.0]]), "at most 1 of its 2 rows"),
    ],
)
def test_refusals(matrix, words):
    with pytest.raises(TrothError, match=words) as refusal:
        heavy_permutation(matrix)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("shape", [(2, 2), (4, 4), (3, 4)])
def test_a_matrix_of_another_size_is_refused(shape):
    with pytest.raises(TrothError, match=f"of 3 rows, but a matrix of {shape[0]} x {shape[1]}"):
        heavy_permutation(sp.eye_array(3)).apply(sp.eye_array(*shape))
