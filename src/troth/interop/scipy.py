"""SciPy: heavy entries of a sparse matrix to its diagonal, so that a direct solver exchanges fewer rows.

A transversal is a choice of n entries of an n x n matrix, one in each row and column; a permutation of the rows brings
it to the diagonal. Duff and Koster seek the one of largest product: a matching of rows and columns of largest weight,
an entry weighing log |a_ij|. Here it is a near-optimal one, by an auction, found in a few passes over the entries.

Scales of rows and columns change the product of all transversals alike, but not the order in which a matching takes
entries. So entries are compared after rows and columns are scaled to geometric mean 1, as well as a few sweeps do it.
Invariant: the scales that are returned are powers of two, so scaling rounds nothing.

References: I. Duff and J. Koster, On algorithms for permuting large entries to the diagonal of a sparse matrix, SIAM J.
Matrix Anal. Appl. 22, 2001; M. Naim et al., Optimizing approximate weighted matching on Nvidia Kepler K40, HiPC 2015.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from troth.api.calls import match
from troth.api.opening import as_graph
from troth.errors import TrothError
from troth.inputs import Edges

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

SWEEPS = 3  # over rows and columns; more of them change the means by little
NEARER: dict[str, Any] = {"eps": 0.01, "slack": 0.005, "rounds": 100}  # than by default: all weights have a shift
LARGEST_EXPONENT = 1022  # of a power of two whose inverse is a normal float64 too


class HeavyPermutation(NamedTuple):
    """Which rows come first, and by what rows and columns are scaled.

    Attributes
    ----------
    rows : ndarray of int
        ``A[rows]`` has the heavy entries on its diagonal.
    row_scale, column_scale : ndarray of float64
        Powers of two; scaled, no entry exceeds 1, and each column has one of 1/2 or more, as far as scales from 2^-1022
        to 2^1022 can bring that about.
    completed : int
        How many rows the matching had left free.
    """

    rows: np.ndarray
    row_scale: np.ndarray
    column_scale: np.ndarray
    completed: int

    def apply(self, A: Any) -> csc_array:
        """The matrix, scaled and permuted.

        Parameters
        ----------
        A : sparse array or matrix
            The one that the permutation is of.

        Returns
        -------
        scipy.sparse.csc_array
            The format that ``splu`` wants.
        """
        from scipy.sparse import coo_array, csr_array

        scaled = coo_array(A)
        if scaled.shape != (len(self.rows), len(self.rows)):
            what = " x ".join(map(str, scaled.shape))
            raise TrothError(f"a permutation of {len(self.rows)} rows, but a matrix of {what}: give the one it is of")
        scaled.sum_duplicates()
        # The exponents are added first: a product of two scales alone, or of one and an entry, could leave the range.
        exponent = (np.frexp(self.row_scale)[1] - 1)[scaled.row] + (np.frexp(self.column_scale)[1] - 1)[scaled.col]
        values = scaled.data.astype(np.complex128 if A.dtype.kind == "c" else np.float64)
        for part in (values.real, values.imag) if values.dtype.kind == "c" else (values,):
            np.ldexp(part, exponent, out=part)
        scaled = csr_array((values, (scaled.row, scaled.col)), shape=A.shape)
        return scaled[self.rows].tocsc()


def heavy_permutation(A: Any) -> HeavyPermutation:
    """Rows permuted such that large entries are on the diagonal, and scales for rows and columns.

    Parameters
    ----------
    A : sparse array or matrix
        Square, of any of SciPy's formats, real or complex.

    Returns
    -------
    HeavyPermutation

    Raises
    ------
    TrothError
        Where the matrix is structurally singular: no permutation has a diagonal without zeros

    Notes
    -----
    An entry weighs the logarithm of its size relative to its row and column, shifted to be positive. The auction
    (``troth.match`` with ``algorithm="auction"``) finds a matching of rows and columns that has nearly all of the
    largest total weight. Where it leaves rows free, SciPy's ``maximum_flow`` completes it to a perfect one, changing
    few of its pairs. So the product of the diagonal is large, not the largest. The cost beyond the completion is a few
    passes over the entries.

    To solve A x = b, factor the permuted matrix, and permute and scale the two sides alike, as in the example.

    Examples
    --------
    >>> from scipy.sparse import csc_array
    >>> from scipy.sparse.linalg import splu
    >>> A = csc_array([[1e-9, 4.0, 0.0], [2.0, 1.0, 0.0], [0.0, 3.0, 5.0]])
    >>> heavy = heavy_permutation(A)
    >>> heavy.rows.tolist()
    [1, 0, 2]
    >>> b = np.array([4.0, 3.0, 8.0])
    >>> lu = splu(heavy.apply(A), diag_pivot_thresh=0.0)
    >>> x = heavy.column_scale * lu.solve((heavy.row_scale * b)[heavy.rows])
    >>> np.allclose(A @ x, b)
    True
    """
    magnitude = _magnitude(A)
    n, col = magnitude.shape[0], magnitude.indices
    row = np.repeat(np.arange(n), np.diff(magnitude.indptr))
    weight, row_scale = _centred(np.log2(magnitude.data), row, col, n)
    weight += 1.0 - weight.min(initial=0.0)
    graph = as_graph(Edges(row, n + col, weight, n=2 * n, where="the matrix"))
    mate = match(graph, algorithm="auction", **NEARER).mate[:n]
    column_of = np.where(mate >= 0, mate - n, -1)
    completed = int(np.count_nonzero(mate < 0))
    if completed:
        column_of = _complete(row, col, column_of)

    row_exponent = np.clip(np.rint(row_scale).astype(np.int64), -LARGEST_EXPONENT, LARGEST_EXPONENT)
    largest = np.full(n, -LARGEST_EXPONENT)
    np.maximum.at(largest, col, np.frexp(magnitude.data)[1] + row_exponent[row])
    return HeavyPermutation(np.argsort(column_of), _power(row_exponent), _power(-largest), completed)


def _magnitude(A: Any) -> csr_array:
    """The absolute values of a matrix that can be permuted: square, finite, each entry once, none of them zero."""
    from scipy.sparse import csr_array, issparse

    if not issparse(A) or A.ndim != 2 or A.shape[0] != A.shape[1]:
        what = " x ".join(map(str, A.shape)) if issparse(A) else type(A).__name__
        raise TrothError(f"heavy_permutation takes a square sparse matrix of SciPy, not {what}")
    magnitude = csr_array(A, dtype=np.result_type(A.dtype, np.float64), copy=True)
    magnitude.sum_duplicates()
    with np.errstate(over="ignore"):  # of long doubles; what is too large is refused below
        magnitude = abs(magnitude).astype(np.float64)
    magnitude.eliminate_zeros()
    if not np.isfinite(magnitude.data).all():
        at = int(np.argmin(np.isfinite(magnitude.data)))
        i = int(np.searchsorted(magnitude.indptr, at, side="right")) - 1
        raise TrothError(f"the matrix: entry ({i}, {magnitude.indices[at]}) is not a finite number")
    return magnitude


def _centred(size: np.ndarray, row: np.ndarray, col: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms with mean 0 in each column and nearly so in each row, and what was added to the rows for that."""
    entries = [np.maximum(np.bincount(line, minlength=n), 1) for line in (row, col)]
    row_scale = np.zeros(n)
    for _ in range(SWEEPS):
        mean = np.bincount(row, size, n) / entries[0]
        row_scale -= mean
        size = size - mean[row]
        mean = np.bincount(col, size, n) / entries[1]
        size = size - mean[col]
    return size, row_scale


def _complete(row: np.ndarray, col: np.ndarray, column_of: np.ndarray) -> np.ndarray:
    """A column for every row, by augmenting paths from the matching: units of flow from free rows to free columns.

    A unit goes from a row to a column along an entry, and back along a matched one, which it frees. (SciPy's
    ``maximum_bipartite_matching`` would start anew, and can take exponential time: scipy/scipy#26147.)
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    n = len(column_of)
    matched = column_of[row] == col
    free_rows, free_columns = (np.flatnonzero(np.bincount(line[matched], minlength=n) == 0) for line in (row, col))
    source, sink = 2 * n, 2 * n + 1
    tail = np.concatenate([np.where(matched, n + col, row), np.full(len(free_rows), source), n + free_columns])
    head = np.concatenate([np.where(matched, row, n + col), free_rows, np.full(len(free_columns), sink)])
    network = csr_array((np.ones(len(tail), np.int32), (tail, head)), shape=(2 * n + 2, 2 * n + 2))
    flow = maximum_flow(network, source, sink).flow.tocoo()
    taken = (flow.data > 0) & (flow.row < n) & (flow.col < source)
    complete = column_of.copy()
    complete[flow.row[taken]] = flow.col[taken] - n
    if (complete < 0).any():
        raise TrothError(
            f"the matrix is structurally singular: at most {np.count_nonzero(complete >= 0)} of its {n} rows can bring "
            f"an entry to the diagonal; row {np.argmin(complete)} is left over"
        )
    return complete


def _power(exponent: np.ndarray) -> np.ndarray:
    return np.ldexp(1.0, np.clip(exponent, -LARGEST_EXPONENT, LARGEST_EXPONENT))
