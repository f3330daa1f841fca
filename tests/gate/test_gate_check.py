"""The one pass over a matrix: what it finds, against plain NumPy, wherever its pieces of entries begin and end."""

import numpy as np
import pytest
from scipy.sparse import csr_array, triu

from troth.gate.cpu import ROOM, SHORT, STRIDE, check
from troth.gate.findings import COLUMNS, FINGERPRINT, LOOPS, OUTSIDE, UNSORTED, bits_range

# Around every length at which the loops change, twice in a row, and a row of several pieces.
LENGTHS = (
    sorted({0, 1, 2, SHORT, SHORT + 1, STRIDE, STRIDE + 1, ROOM - 1, ROOM, ROOM + 1, 2 * ROOM, 2 * ROOM + 7} | {3}) * 2
)


def symmetric(seed: int) -> csr_array:
    """A matrix whose first rows have these lengths or more, with weights of 64 random bits."""
    rng, n = np.random.default_rng(seed), 2 * ROOM + 50
    first = rng.permutation(LENGTHS)
    upper = [
        (u, v) for u, length in enumerate(first) for v in rng.choice(np.arange(len(first), n), length, replace=False)
    ]
    row, col = np.array(upper).T
    half = csr_array((rng.random(len(row)) + 0.5, (row, col)), shape=(n, n))
    return csr_array(half + half.T)


def place_of(matrix: csr_array, rng: np.random.Generator) -> tuple[int, int]:
    """A row of at least two entries, and one of its entries that is not the first."""
    row = int(rng.choice(np.flatnonzero(np.diff(matrix.indptr) > 1)))
    return row, int(rng.integers(matrix.indptr[row] + 1, matrix.indptr[row + 1]))


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("seed", range(3))
def test_a_clean_matrix_is_clean_and_its_range_known(seed, kind):
    matrix = symmetric(seed)
    narrow = np.empty(matrix.nnz, np.int32)
    found = check(matrix.indptr.astype(np.int64), matrix.indices.astype(kind), matrix.data, narrow)
    bits = matrix.data.view(np.uint64)
    assert bits_range(found) == (bits.min(), bits.max(), np.bitwise_or.reduce(bits))
    assert not any(found[: COLUMNS.index("LEAST")])
    assert (narrow == matrix.indices).all()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("fault", [UNSORTED, OUTSIDE, LOOPS, FINGERPRINT])
def test_one_fault_anywhere_is_found(fault, seed):
    matrix, rng = symmetric(seed), np.random.default_rng(seed)
    indptr, indices, data = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data.copy()
    row, e = place_of(matrix, rng)
    if fault == UNSORTED:
        indices[e] = indices[e - 1]
    elif fault == OUTSIDE:
        indices[e] = rng.choice([-1, len(indptr) - 1, 2**40, -(2**40)])
    elif fault == LOOPS:
        indices[e] = row
    else:
        data[e] = np.nextafter(data[e], 2)
    found = check(indptr, indices, data)
    wanted = {LOOPS: np.count_nonzero(indices == np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))), OUTSIDE: 1}
    assert found[fault] == wanted.get(fault, found[fault]) > 0
    assert found[FINGERPRINT]


@pytest.mark.parametrize(
    ("bad", "nonpositive", "nonfinite"), [(0.0, 1, 0), (-2.0, 1, 0), (np.inf, 0, 1), (np.nan, 1, 1)]
)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_one_weight_that_is_none_is_counted(kind, bad, nonpositive, nonfinite):
    matrix = symmetric(1)
    data = matrix.data.astype(kind)
    data[1000] = bad
    found = dict(zip(COLUMNS, check(matrix.indptr.astype(np.int64), matrix.indices, data), strict=True))
    assert (found["NONPOSITIVE"], found["NONFINITE"]) == (nonpositive, nonfinite)


def test_entries_of_two_triangles_that_agree_have_no_fingerprint():
    matrix = symmetric(2)
    upper = triu(matrix, 1, format="csr")
    assert check(matrix.indptr.astype(np.int64), matrix.indices, matrix.data)[FINGERPRINT] == 0
    assert check(upper.indptr.astype(np.int64), upper.indices, upper.data)[FINGERPRINT] != 0
