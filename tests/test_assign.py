"""``troth.assign``: two sides, against SciPy's exact solvers; every kind of matrix, every refusal."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

import troth
from troth.errors import TrothError

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")
PROMISE = 1.02 * 1.02 * (1 + 1e-5)  # of the defaults; prices are float32


@st.composite
def matrices(draw, least: int = -3, most: int = 9):
    """A dense array of floats, infinite where a pair is forbidden."""
    rows, columns = draw(st.integers(0, 6)), draw(st.integers(0, 6))
    entry = st.one_of(st.just(np.inf), st.integers(least, most))
    values = draw(st.lists(entry, min_size=rows * columns, max_size=rows * columns))
    return np.array(values, float).reshape(rows, columns)


def sparse(dense: np.ndarray, kind=np.float64, form: str = "csr"):
    """What is finite, stored; zeros too."""
    row, column = np.nonzero(np.isfinite(dense))
    return sp.coo_array((dense[row, column].astype(kind), (row, column)), shape=dense.shape).asformat(form)


def optimum(worth: np.ndarray) -> float:
    """The greatest sum of worth, of pairs as many as one likes."""
    useful = np.where(np.isfinite(worth), np.maximum(worth, 0), 0)
    return useful[linear_sum_assignment(useful, maximize=True)].sum()


def check(found: troth.Assignment, worth: np.ndarray) -> None:
    """The pairs are pairs, each worth something; the promise is kept, and the proof is one."""
    rows, cols = found
    assert (np.diff(rows) > 0).all()
    assert len(set(cols.tolist())) == len(cols) == len(rows)
    chosen = worth[rows, cols]
    assert np.isfinite(chosen).all()
    assert (chosen > 0).all()
    assert found.weight == pytest.approx(chosen.sum(), rel=1e-12)
    best = optimum(worth)
    assert found.weight * PROMISE >= best
    proof = found.certificate
    assert proof.weight == found.weight
    assert proof.bound >= best * (1 - 1e-12)
    assert proof.ratio <= Fraction(found.weight) / Fraction(proof.bound) if proof.bound else proof.ratio == 1.0


@given(matrices())
def test_the_promise_is_kept(dense):
    worth = np.where(np.isfinite(dense), dense, -np.inf)
    check(troth.assign(dense), worth)
    whole = troth.assign(sparse(dense, np.int64))
    check(whole, worth)
    assert isinstance(whole.weight, int)


@given(matrices(), st.sampled_from([None, -2, 0, 4, 20, 3.5]))
def test_least_cost(dense, reward):
    costs = dense[np.isfinite(dense)]
    taken = reward if reward is not None else costs.max() if costs.size else 0
    for given_as in (dense, sparse(dense, np.int64)):
        if reward is None and costs.size and costs.min() == costs.max():
            with pytest.raises(TrothError, match="give a larger reward"):
                troth.assign(given_as, maximize=False)
            continue
        found = troth.assign(given_as, maximize=False, reward=reward)
        check(found, taken - dense)
        assert found.reward == taken
        assert found.cost == pytest.approx(dense[found.rows, found.cols].sum(), abs=1e-12)
        # Costs of so many pairs and no fewer: each pair more is worth a reward that nothing outweighs.
        k = len(found.rows)
        least = least_cost(dense, k)
        assert found.cost - least <= found.gap * abs(found.cost) + 1e-9 or found.gap == np.inf
        assert ("note" in found.stats) == (found.gap > 0.02)


def least_cost(dense: np.ndarray, pairs: int) -> float:
    """The least cost of so many pairs: those who are left over are paired with rows and columns that are added."""
    rows, columns = dense.shape
    size = rows + columns - pairs
    wide = np.full((size, size), 1e6)
    wide[:rows, :columns] = np.where(np.isfinite(dense), dense, 1e6)
    wide[rows:, :columns] = wide[:rows, columns:] = 0
    return wide[linear_sum_assignment(wide)].sum()


def test_against_a_full_matching_of_scipy():
    rng = np.random.default_rng(5)
    n, each = 400, 8
    row = np.concatenate([np.repeat(np.arange(n), each), np.arange(n)])
    column = np.concatenate([rng.integers(0, n, n * each), rng.permutation(n)])
    A = sp.coo_array((rng.random(len(row)) + 0.01, (row, column)), shape=(n, n)).tocsr()
    i, j = min_weight_full_bipartite_matching(A, maximize=True)
    found = troth.assign(A)
    assert found.weight >= 0.99 * A[i, j].sum()
    near = troth.assign(A, target=0.9995)
    assert near.certificate.ratio >= 0.9995
    assert near.weight >= 0.9995 * A[i, j].sum()
    assert near.stats["eps"] < 0.02
    assert "note" not in near.stats
    i, j = min_weight_full_bipartite_matching(A)
    full = troth.assign(A, maximize=False, reward=20.0)
    assert len(full.rows) == n
    assert full.gap <= 0.02
    assert A[i, j].sum() <= full.cost * (1 + 1e-12)
    assert full.cost * (1 - full.gap) <= A[i, j].sum()
    nearer = troth.assign(A, maximize=False, reward=20.0, gap=0.001)
    assert nearer.gap <= 0.001
    assert nearer.cost <= full.cost


# ---- what people have ----

DENSE = np.array([[4.0, np.inf, 3, 0], [2, 0, 5, np.inf], [3, 2, np.inf, 1]])


def same(found: troth.Assignment, other: troth.Assignment) -> None:
    assert found.rows.tolist() == other.rows.tolist()
    assert found.cols.tolist() == other.cols.tolist()
    assert found.weight == other.weight
    assert found.shape == other.shape


@pytest.mark.parametrize("maximize", [True, False])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_formats_of_scipy(form, kind, maximize):
    stored = DENSE.copy()
    if form in ("bsr", "dia"):  # blocks and diagonals are stored whole, so that zeros in them are no entries
        stored[stored == 0] = np.inf
    A = kind(sparse(stored)).asformat(form)
    same(troth.assign(A, maximize=maximize), troth.assign(stored, maximize=maximize))


@pytest.mark.parametrize("kind", ["int8", "uint16", "int32", "uint64", "float16", "float32", ">f8", ">i4"])
def test_types(kind):
    whole = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    for maximize in (True, False):
        forms = (np.asarray,) if kind[0] == ">" or kind == "float16" else (np.asarray, sp.csr_array, sp.csc_array)
        for form in forms:  # SciPy has not all types
            found = troth.assign(form(whole.astype(kind)), maximize=maximize)
            same(found, troth.assign(whole, maximize=maximize))
            assert type(found.weight) is (float if "f" in kind else int)


def test_booleans_lists_and_strides():
    yes = np.array([[True, False], [True, True]])
    assert troth.assign(yes).weight == troth.assign(sp.csr_array(yes)).weight == 2
    same(troth.assign(DENSE.tolist()), troth.assign(DENSE))
    same(troth.assign(np.asfortranarray(DENSE)), troth.assign(DENSE))
    same(troth.assign(np.repeat(DENSE, 2, axis=1)[:, ::2]), troth.assign(DENSE))


@pytest.mark.filterwarnings("ignore:.*[Ss]parse")
def test_tensors():
    torch = pytest.importorskip("torch")
    stored = sparse(DENSE)
    parts = (torch.tensor(part) for part in (stored.indptr, stored.indices, stored.data))
    tensor = torch.sparse_csr_tensor(*parts, DENSE.shape, check_invariants=True)
    wanted = troth.assign(DENSE, maximize=False)
    for given_as in (torch.tensor(DENSE, requires_grad=True), tensor, tensor.to_sparse_coo(), tensor.to_sparse_csc()):
        same(troth.assign(given_as, maximize=False), wanted)


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_repeated_entries_add_up_first(form):
    row, column, data = [0, 0, 1, 1], [0, 0, 1, 0], [3, -2, 4, 9]
    A = sp.coo_array((np.array(data, np.int8), (row, column)), shape=(2, 2))
    if form != "coo":
        A = sp.csr_array((A.data, [0, 0, 1, 0], [0, 2, 4]), shape=(2, 2)) if form == "csr" else A
        A = sp.csc_array((A.data[[0, 1, 3, 2]], [0, 0, 1, 1], [0, 3, 4]), shape=(2, 2)) if form == "csc" else A
    found = troth.assign(A, maximize=False, reward=100)
    assert (found.cost, found.matching.graph.notes) == (5, {"repeats": 1})
    wide = sp.coo_array((np.array([100, 100], np.int8), ([0, 0], [0, 0])), shape=(1, 1))
    assert troth.assign(wide).weight == 200


def test_zeros():
    """Stored, they are entries: of cost 0, or of no use."""
    A = sp.coo_array((np.array([0.0, 5.0]), ([0, 1], [0, 1])), shape=(2, 3))
    assert troth.assign(A).rows.tolist() == [1]
    assert troth.assign(A, maximize=False, reward=6).cost == 5
    assert troth.assign(A, maximize=False).rows.tolist() == [0]  # at the largest cost a pair is worth nothing


def test_infinities_of_either_sign_are_forbidden():
    found = troth.assign([[np.inf, 1.0], [-np.inf, 2.0]], maximize=False, reward=9)
    assert (found.rows.tolist(), found.cols.tolist(), found.cost) == ([0], [1], 1.0)
    assert found.matching.graph.notes == {"forbidden": 2}
    stored = sp.csr_array((np.array([np.inf, 1.0]), ([0, 0], [0, 1])), shape=(1, 2))
    assert troth.assign(stored).cols.tolist() == [1]
    assert troth.assign([[np.inf]], maximize=False).rows.tolist() == []


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 3)])
def test_no_pairs(shape):
    for found in (troth.assign(sp.csr_array(shape)), troth.assign(sp.coo_array(shape), maximize=False)):
        rows, cols = found
        assert len(rows) == len(cols) == found.weight == 0
        assert found.certificate.ratio == 1.0
    assert troth.assign(-np.ones(shape)).weight == 0
    assert len(troth.assign(np.ones(shape), maximize=False, reward=1).rows) == 0  # all cost the reward


def test_what_is_told():
    found = troth.assign([[4, 1, 3], [2, 0, 5], [3, 2, 2]], maximize=False)
    assert repr(found) == "Assignment(pairs=3, weight=10, cost=5, ratio>=1.0, shape=(3, 3), device='cpu')"
    plain = troth.assign([[2.0]])
    assert repr(plain) == "Assignment(pairs=1, weight=2.0, shape=(1, 1), device='cpu')"
    assert plain.cost is None
    assert plain.gap is None
    assert plain.reward is None
    assert plain.certificate is plain.certificate
    assert plain.certificate.ratio == 1.0
    assert plain.matching.certificate is None  # nothing is proven before it is asked for


def test_threads_and_seeds():
    rng = np.random.default_rng(2)
    A = sp.random_array((300, 200), density=0.1, rng=rng)
    wanted = troth.assign(A, maximize=False, reward=3, gap=0.001)
    found = troth.assign(A, maximize=False, reward=3, gap=0.001, threads=3)
    same(found, wanted)
    assert found.certificate == wanted.certificate
    assert troth.assign(A, seed=7).weight == pytest.approx(troth.assign(A).weight, rel=0.02)


def test_a_target_that_cannot_be_reached_is_told():
    rng = np.random.default_rng(3)
    found = troth.assign(rng.random((60, 60)), target=1.0, eps=1e-4)
    assert found.certificate.ratio >= 0.999
    assert found.certificate.ratio == 1.0 or "was not reached" in found.stats["note"]


@pytest.mark.parametrize(
    ("A", "words", "line"),
    [
        ([[1.0, np.nan]], {}, r"the matrix: entry \(0, 1\) is nan; give a number, or infinity to forbid the pair"),
        (sp.csr_array([[0, 0], [np.nan, 1]]), {}, r"entry \(1, 0\) is nan"),
        (sp.csc_array([[0, 0], [2, np.nan]]), {}, r"entry \(1, 1\) is nan"),
        (np.ones(3), {}, "the matrix has 1 dimensions: give rows and columns"),
        (sp.coo_array(np.ones(3)), {}, "the matrix has 1 dimensions"),
        ([[1], [2, 3]], {}, "its rows have unequal lengths"),
        ([["a"]], {}, "weights of type <U1 are not accepted"),
        (np.ones((1, 1), complex), {}, "complex weights have no order"),
        (np.ma.masked_array([[1.0]]), {}, r"A.filled\(numpy.inf\) forbids what is masked"),
        ("graph.mtx", {}, "assign takes a matrix, sparse or dense, not str"),
        (troth.generate("path", n=3), {}, "not Graph"),
        ([[1]], {"reward": 3}, r"reward=3 is for costs: say maximize=False \(--minimize\) too"),
        ([[1]], {"maximize": False, "reward": np.inf}, "reward=inf: give a number"),
        ([[1]], {"maximize": False, "reward": "3"}, "reward='3': give a number"),
        ([[1]], {"maximize": "min"}, r"maximize='min': give True \(heaviest pairs\) or False \(cheapest pairs\)"),
        ([[1]], {"gap": 0.1}, "gap is a part of the cost"),
        ([[1]], {"maximize": False, "gap": 0.1, "target": 0.9}, "leave one out"),
        ([[1]], {"gap": -1, "maximize": False}, "gap=-1 is not accepted"),
        ([[1]], {"weights": "abs"}, "auction on cpu has no option 'weights'"),
        ([[-(2**62)]], {"maximize": False, "reward": 2**62}, r"less the cost -\d+ is 2\^63 or more; scale the costs"),
        ([[2**60]], {"maximize": False, "reward": 0.5}, "give a whole reward"),
        ([[-1e308]], {"maximize": False, "reward": 1.7e308}, "is not a finite number; scale the costs"),
    ],
)
def test_refusals(A, words, line):
    with pytest.raises(TrothError, match=line) as refused:
        troth.assign(A, **words)
    assert "\n" not in str(refused.value)


def test_tables_are_not_guessed():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TrothError, match=r"not DataFrame: give table.to_numpy\(\)"):
        troth.assign(pandas.DataFrame({"source": [0], "target": [1]}))


def test_compressed_entries_outside():
    broken = sp.csr_array(np.ones((2, 2)))
    broken.indices[1] = 7
    with pytest.raises(TrothError, match="an entry has column 7, but there are 2 columns"):
        troth.assign(broken)
