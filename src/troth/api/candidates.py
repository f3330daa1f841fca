"""Candidates: which rows are near enough to be paired, and how far they are apart.

*Distance.* ``euclidean`` is that of the columns as they are. ``mahalanobis`` is that after a linear map which makes the
columns uncorrelated, each of variance 1; between two groups the variances and correlations are those within the groups,
so that what is to be balanced does not count as scatter. A column that is constant, or follows from those before it,
counts nothing.

*Nearest rows* are found by SciPy's k-d tree on threads. Three things make that fast and fair:

- rows are renumbered in the order of a first tree, so that rows asked for one after another are near each other in
  memory (half of the time on 100,000 rows of 8 columns, and more on larger tables);
- rows that must be equal somewhere (*strata*) get one more coordinate, in which two strata are farther apart than any
  two rows of one; a bound on the distance then keeps the search inside. So 20,000 small strata cost no more than one;
- where rows repeat, three more coordinates shift them a little, at random. All rows of one place would otherwise be
  told the same k neighbours, and all but k of them would stay alone. (Nearest neighbours on a line fall into small
  parts, of which the odd ones leave a row alone; in three directions they hang together.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

METRICS = ("mahalanobis", "euclidean")
LEAF = 32  # rows in a leaf of the tree
CONSTANT, DEPENDENT = 1e-12, 1e-6  # deviations, of the widest value and of the column's own, that count as none
SHIFTS, JITTER = 3, 2.0**-20  # directions in which equal rows are shifted, and how far, as a part of the diameter
CHUNK = 2**18  # pairs whose distances are calculated at once


class Candidates(NamedTuple):
    """Pairs of rows that may be paired, some of them twice, and their distances."""

    first: np.ndarray
    second: np.ndarray
    distance: np.ndarray


def place_rows(columns: np.ndarray, metric: str, side: np.ndarray | None) -> tuple[np.ndarray, int]:
    """Places whose straight distance is that of the metric, and how many directions have scatter.

    The map is the inverse of Cholesky's factor of the correlations, calculated column by column: the same bits on every
    machine, for equal rows wherever they stand, which products of matrices do not promise.
    """
    if metric == "euclidean" or not len(columns):
        return columns, columns.shape[1]
    middle = [_centred(column) for column in columns.T]
    within = [_within(column, side) for column in middle]
    free = max(1, len(columns) - (1 if side is None else 2))
    places: list[np.ndarray] = []
    scatter: list[np.ndarray] = []  # of the places, within the groups
    for column, inner in zip(middle, within, strict=True):
        deviation = np.sqrt((inner * inner).sum() / free)
        if deviation <= CONSTANT:
            continue
        place, rest = column / deviation, inner / deviation
        for before, known in zip(places, scatter, strict=True):  # what the columns before say already
            shared = (rest * known).sum() / free
            place, rest = place - shared * before, rest - shared * known
        left = np.sqrt((rest * rest).sum() / free)
        if left > DEPENDENT:
            places.append(place / left)
            scatter.append(rest / left)
    return np.column_stack(places) if places else np.zeros((len(columns), 1)), len(places)


def _centred(column: np.ndarray) -> np.ndarray:
    """A column less its mean, as a part of its widest value, whose squares can be added up; zeros for a constant."""
    if np.ptp(column) <= CONSTANT * np.abs(column).max():
        return np.zeros(len(column))
    column = column / np.abs(column).max()
    column = column - column.mean()
    return column / np.abs(column).max()


def _within(column: np.ndarray, side: np.ndarray | None) -> np.ndarray:
    """A column less the mean of its group."""
    if side is None:
        return column
    means = [column[side == which].mean() if (side == which).any() else 0.0 for which in (0, 1)]
    return column - np.where(side == 0, *means)


def distances(places: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The distances of pairs of rows."""
    found = np.empty(len(first))
    for start in range(0, len(first), CHUNK):
        part = slice(start, start + CHUNK)
        apart = places[first[part]] - places[second[part]]
        found[part] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    return found


def nearest_pairs(
    places: np.ndarray,
    *,
    k: int,
    side: np.ndarray | None = None,
    stratum: np.ndarray | None = None,
    most: float = np.inf,
    seed: int = 0,
    threads: int | None = None,
) -> tuple[np.ndarray, Candidates]:
    """Every row and the ``k`` rows nearest to it, on the other side where there are sides, at ``most`` so far apart.

    Returns an order of the rows in which near rows stand together, and the candidates by their places in that order.
    """
    n = len(places)
    size = float(np.sqrt((np.ptp(places, axis=0) ** 2).sum())) if n else 0.0
    coordinates = [places]
    repeated = _has_repeats(places)
    if repeated:
        shifts = np.random.default_rng(seed % 2**64).random((n, SHIFTS))
        coordinates.append(shifts * JITTER * (size or 1.0))
    bound = min(most, size) * (1 + 2.0**-10) + 4 * JITTER * (size or 1.0)  # the search must not miss the farthest
    if stratum is not None:
        coordinates.append((stratum * (4 * bound))[:, None])
    points = np.ascontiguousarray(np.hstack(coordinates))
    from scipy.spatial import cKDTree

    order = cKDTree(points, leafsize=LEAF).indices if n else np.empty(0, np.int64)
    points, workers = points[order], -1 if threads is None else threads
    if side is None:
        found = [_ask(points, None, None, k, bound, workers)]
    else:
        one, other = (np.flatnonzero(side[order] == which) for which in (0, 1))
        found = [_ask(points, one, other, k, bound, workers), _ask(points, other, one, k, bound, workers)]
    first, second, apart = (np.concatenate(parts) for parts in zip(*found, strict=True))
    if repeated:
        apart = distances(places[order], first, second)
    near = apart <= most
    return order, Candidates(first[near], second[near], apart[near])


def _ask(
    points: np.ndarray, asking: np.ndarray | None, asked: np.ndarray | None, k: int, bound: float, workers: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ``k`` nearest of those who are asked, for each who asks; None: all, but not themselves."""
    from scipy.spatial import cKDTree

    own = asked is None
    theirs = points if asked is None else points[asked]
    mine = points if asking is None else points[asking]
    k = min(k, len(theirs) - own)
    if k < 1 or not len(mine):
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    tree = cKDTree(theirs, leafsize=LEAF)
    apart, near = tree.query(mine, k=np.arange(1, k + own + 1), distance_upper_bound=bound, workers=workers)
    who = np.repeat(np.arange(len(mine)), k + own)
    apart, near = apart.ravel(), near.ravel()
    there = near < len(theirs)  # the others are beyond the bound
    if own:
        there &= near != who
    who, near, apart = who[there], near[there], apart[there]
    return (who if asking is None else asking[who]), (near if asked is None else asked[near]), apart


def _has_repeats(places: np.ndarray) -> bool:
    """Whether rows repeat: then so do sums of their columns with random factors."""
    factors = np.random.default_rng(0).random((places.shape[1],))
    sums = np.zeros(len(places))
    for at, factor in enumerate(factors):
        sums += factor * places[:, at]
    sums.sort()
    return bool((sums[1:] == sums[:-1]).any())
