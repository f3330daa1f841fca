"""The graph families: functions from parameters and a seed to a CSR structure ``(indptr, indices)``.

Every structure is simple and symmetric, each row ascending. Three ways to make one:

- *lattices* (grid, stencil, path, complete) are one kernel: a vertex is an unknown of a node of a box of nodes, and it
  is joined to all unknowns of the nodes at given offsets. Offsets in lexicographic order make sorted rows;
- *points* (rgg, delaunay) lie on a square of 2^31 by 2^31, where squared distances are exact integers. They are
  numbered by cell, row after row of cells: neighbours have near numbers, as in a mesh, and rgg's rows come out sorted;
- *drawn edges* (rmat, erdos-renyi, bipartite, hubs): edge number e is a function of (seed, e); then loops and repeats
  go.

The families are defined here once for all devices. Each function takes ``on``, the module that has the loops for one
device: ``host.py`` or ``cuda.py``.
"""

from __future__ import annotations

from itertools import product
from math import isqrt, pi, prod
from types import ModuleType
from typing import Any

import numpy as np

from troth.errors import TrothError
from troth.families.host import SIDE, scatter
from troth.inputs import MAX_VERTICES

Structure = tuple[Any, Any]


MOST_ENTRIES = 2**40


def check_vertices(family: str, n: int) -> None:
    if n > MAX_VERTICES:
        raise TrothError(f"{family}: {n} vertices are too many: choose sizes that make at most {MAX_VERTICES}")


def check_degree(family: str, n: int, degree: float) -> None:
    if degree > max(n - 1, 0):
        raise TrothError(f"{family}: degree={degree:g} with n={n}: choose a degree of at most n - 1")


class TooManyEntriesError(MemoryError):
    """A graph that no machine holds."""


def check_room(entries: float) -> None:
    """Give up at once on what no machine holds."""
    if entries > MOST_ENTRIES:
        raise TooManyEntriesError


# ---- lattices ----

# Offsets (slow, middle, fast coordinate) in lexicographic order: the cross of 7 points and the cube of 27.
CUBE = np.array(list(product((-1, 0, 1), repeat=3)), np.int64)
CROSS = CUBE[np.abs(CUBE).sum(axis=1) <= 1]


def lattice(on: ModuleType, family: str, shape: tuple[int, int, int], unknowns: int, offsets: np.ndarray) -> Structure:
    nodes = prod(shape)
    check_vertices(family, nodes * unknowns)
    check_room(nodes * min(nodes, len(offsets)) * unknowns**2)
    return on.lattice(shape, unknowns, offsets)


def grid(on: ModuleType, seed: np.uint64, rows: int, cols: int, layers: int) -> Structure:
    return lattice(on, "grid", (layers, rows, cols), 1, CROSS)


def stencil(on: ModuleType, seed: np.uint64, nx: int, ny: int, nz: int, unknowns: int) -> Structure:
    return lattice(on, "stencil", (nz, ny, nx), unknowns, CUBE)


def path(on: ModuleType, seed: np.uint64, n: int) -> Structure:
    return lattice(on, "path", (1, 1, n), 1, CROSS)


def complete(on: ModuleType, seed: np.uint64, n: int) -> Structure:
    return lattice(on, "complete", (1, 1, 1), n, CUBE)


# ---- points in the square ----


def rgg(on: ModuleType, seed: np.uint64, n: int, degree: float) -> Structure:
    check_degree("rgg", n, degree)
    check_room(n * degree)
    return on.near(seed, n, *cells_and_reach(n, degree))


def near_weights(on: ModuleType, structure: Structure, seed: np.uint64, kind: np.dtype, **params: Any) -> Any:
    """Weights of rgg by the rule "near"."""
    return on.weigh_near(*structure, seed, *cells_and_reach(**params), kind)


def cells_and_reach(n: int, degree: float) -> tuple[int, int]:
    """Cells a side, and the least squared distance at which points are not joined."""
    # A disc of area degree / (n - 1) holds `degree` of the other points on average.
    reach = min(int(degree / (pi * max(n - 1, 1)) * 4.0**SIDE), 2**63 - 1)
    # A cell is at least as wide as the radius, cells^2 * reach <= (2^31)^2, and there are no more cells than points.
    cells = max(1, isqrt(min(4**SIDE // max(reach, 1), n)))
    return cells, reach


def delaunay(on: ModuleType, seed: np.uint64, n: int) -> Structure:
    """The triangles are made on the CPU, by Qhull, whatever the device."""
    from scipy.spatial import Delaunay

    points, _ = scatter(seed, n, isqrt(n))
    corners = Delaunay(points.astype(np.float64)).simplices
    return on.simple(corners.ravel(), np.roll(corners, -1, axis=1).ravel(), n)


# ---- drawn edges ----


def drawn(on: ModuleType, n: int, *draws: tuple) -> Structure:
    check_room(sum(count for _, count, *_ in draws))
    return on.drawn(n, *draws)


def rmat(on: ModuleType, seed: np.uint64, scale: int, edgefactor: int) -> Structure:
    """Chakrabarti, Zhan and Faloutsos, R-MAT: a recursive model for graph mining (doi:10.1137/1.9781611972740.43)."""
    return drawn(on, 2**scale, ("rmat", 2**scale * edgefactor, seed, scale))


def erdos_renyi(on: ModuleType, seed: np.uint64, n: int, degree: float) -> Structure:
    check_degree("erdos-renyi", n, degree)
    return drawn(on, n, ("pairs", int(n * degree / 2), seed, n))


def bipartite(on: ModuleType, seed: np.uint64, left: int, right: int, m: int) -> Structure:
    check_vertices("bipartite", left + right)
    return drawn(on, left + right, ("across", m, seed, left, right))


SPARSE = 4  # average degree of the graph under the hubs


def hubs(on: ModuleType, seed: np.uint64, n: int, hubs: int, degree: int) -> Structure:
    check_degree("hubs", n, degree)
    if hubs > n:
        raise TrothError(f"hubs: hubs={hubs} with n={n}: choose at most n hubs")
    pairs = n * SPARSE // 2
    return drawn(on, n, ("pairs", pairs, seed, n), ("spokes", hubs * degree, seed, n, hubs, degree, pairs))


# ---- where vertices lie, for pictures ----


def grid_places(seed: np.uint64, rows: int, cols: int, layers: int) -> np.ndarray | None:
    """Row 0 is on top; a box of several layers has no places in a plane."""
    if layers > 1:
        return None
    row, col = np.divmod(np.arange(rows * cols), cols)
    return np.column_stack([col, -row]).astype(float)


def rgg_places(seed: np.uint64, n: int, degree: float) -> np.ndarray:
    return points_in_square(seed, n, cells_and_reach(n, degree)[0])


def delaunay_places(seed: np.uint64, n: int) -> np.ndarray:
    return points_in_square(seed, n, isqrt(n))


def points_in_square(seed: np.uint64, n: int, cells: int) -> np.ndarray:
    """The points of ``scatter``, in the unit square."""
    return scatter(seed, n, cells)[0] / 2.0**SIDE


def bipartite_places(seed: np.uint64, left: int, right: int, m: int) -> np.ndarray:
    """Two columns, each side from top to bottom."""
    return two_columns(np.arange(left + right) >= left)


def two_columns(on_right: np.ndarray) -> np.ndarray:
    """A column for each side, as high as they are apart, its vertices evenly spread in their order.

    >>> two_columns(np.array([False, True, True])).tolist()
    [[0.0, 0.5], [1.0, 0.75], [1.0, 0.25]]
    """
    places = np.column_stack([on_right, on_right]).astype(float)
    for side in (on_right, ~on_right):
        count = int(np.count_nonzero(side))
        places[side, 1] = 1 - (np.arange(count) + 0.5) / (count or 1)
    return places
