"""Candidates: which rows are near enough to be paired, and how far they are apart.

*Distance.* ``euclidean`` is that of the columns as they are. ``mahalanobis`` is that after a linear map which makes the
columns uncorrelated, each of variance 1; between two groups the variances and correlations are those within the groups,
so that what is to be balanced does not count as scatter. Where a column is constant, or columns depend on each other,
the directions without scatter count nothing (a pseudo-inverse).

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
FLAT = 1e-10  # variance of a direction, as a part of the greatest, that counts as none
SHIFTS, JITTER = 3, 2.0**-20  # directions in which equal rows are shifted, and how far, as a part of the diameter
CHUNK = 2**18  # pairs whose distances are calculated at once


class Candidates(NamedTuple):
    """Pairs of rows that may be paired, some of them twice, and their distances."""

    first: np.ndarray
    second: np.ndarray
    distance: np.ndarray


def place_rows(columns: np.ndarray, metric: str, side: np.ndarray | None) -> tuple[np.ndarray, int]:
    """Places whose straight distance is that of the metric, and how many directions have scatter."""
    if metric == "euclidean" or not len(columns):
        return columns, columns.shape[1]
    middle = columns - columns.mean(axis=0)
    middle /= np.maximum(np.abs(middle).max(axis=0), np.finfo(float).tiny)  # squares of any column can be added up
    within = middle.copy()
    for one in (0, 1):
        if side is not None and (side == one).any():
            within[side == one] -= within[side == one].mean(axis=0)
    spare = 1 if side is None else 2
    scale = np.sqrt((within**2).sum(axis=0) / max(1, len(within) - spare))
    scale[scale <= 1e-12] = np.inf  # constant, but for rounding
    correlation = (within / scale).T @ (within / scale) / max(1, len(within) - spare)
    variance, direction = np.linalg.eigh(correlation)
    kept = variance > FLAT * max(variance.max(initial=0.0), 1e-300)
    if not kept.any():
        return np.zeros((len(columns), 1)), 0
    return _mapped(middle, (direction[:, kept] / np.sqrt(variance[kept])) / scale[:, None]), int(kept.sum())


def _mapped(columns: np.ndarray, into: np.ndarray) -> np.ndarray:
    """``columns @ into``, the same for equal rows wherever they stand, which a library's product does not promise."""
    places = np.zeros((len(columns), into.shape[1]))
    for to in range(into.shape[1]):
        for of in range(into.shape[0]):
            places[:, to] += columns[:, of] * into[of, to]
    return places


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
    """Whether rows repeat: then so do their products with a random vector."""
    products = np.sort(_mapped(places, np.random.default_rng(0).random((places.shape[1], 1)))[:, 0])
    return bool((products[1:] == products[:-1]).any())
