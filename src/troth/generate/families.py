"""The graph families: functions from parameters and a seed to a CSR structure ``(indptr, indices)``.

Every structure is simple and symmetric, each row ascending. Three ways to make one:

- *lattices* (grid, stencil, path, complete) are one kernel: a vertex is an unknown of a node of a box of nodes, and it
  is joined to all unknowns of the nodes at given offsets. Offsets in lexicographic order make sorted rows;
- *points* (rgg, delaunay) lie on a square of 2^31 by 2^31, where squared distances are exact integers. They are
  numbered by cell, row after row of cells: neighbours have near numbers, as in a mesh, and rgg's rows come out sorted;
- *drawn edges* (rmat, erdos-renyi, bipartite, hubs): edge number e is a function of (seed, e); then loops and repeats
  go.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import isqrt, pi, prod

import numpy as np

from troth.cpu._jit import kernel
from troth.cpu.gate import edges_to_csr
from troth.errors import TrothError
from troth.generate.draw import below, share
from troth.graph import MAX_VERTICES
from troth.order import PLACE, hash2

Structure = tuple[np.ndarray, np.ndarray]


MOST_ENTRIES = 2**40


def check_vertices(family: str, n: int) -> None:
    if n > MAX_VERTICES:
        raise TrothError(f"{family}: {n} vertices are too many: choose sizes that make at most {MAX_VERTICES}")


def check_degree(family: str, n: int, degree: float) -> None:
    if degree > max(n - 1, 0):
        raise TrothError(f"{family}: degree={degree:g} with n={n}: choose a degree of at most n - 1")


def check_room(entries: float) -> None:
    """Give up at once on what no machine holds."""
    if entries > MOST_ENTRIES:
        raise MemoryError


def count_and_fill(n: int, kernel: Callable, *args) -> Structure:
    """CSR in two passes of ``kernel(first, last, *args, fill, indptr, indices)``: row lengths first, then the rows."""
    indptr = np.zeros(n + 1, np.int64)
    share(n, kernel, *args, False, indptr, np.empty(0, np.int32))
    np.cumsum(indptr, out=indptr)
    indices = np.empty(indptr[-1], np.int32)
    share(n, kernel, *args, True, indptr, indices)
    return indptr, indices


# ---- lattices ----

# Offsets (slow, middle, fast coordinate) in lexicographic order: the cross of 7 points and the cube of 27.
CUBE = np.array(list(product((-1, 0, 1), repeat=3)), np.int64)
CROSS = CUBE[np.abs(CUBE).sum(axis=1) <= 1]


@kernel
def _lattice(first, last, depth, height, width, unknowns, offsets, fill, indptr, indices):
    for v in range(first, last):
        node = v // unknowns
        z, y, x = node // (width * height), node // width % height, node % width
        at = indptr[v] if fill else 0
        for k in range(len(offsets)):
            dz, dy, dx = offsets[k, 0], offsets[k, 1], offsets[k, 2]
            if 0 <= z + dz < depth and 0 <= y + dy < height and 0 <= x + dx < width:
                u = (node + (dz * height + dy) * width + dx) * unknowns
                if fill:
                    for w in range(u, u + unknowns):
                        if w != v:
                            indices[at] = w
                            at += 1
                else:
                    at += unknowns - (u <= v < u + unknowns)
        if not fill:
            indptr[v + 1] = at


def lattice(family: str, shape: tuple[int, int, int], unknowns: int, offsets: np.ndarray) -> Structure:
    """A box of nodes, the last coordinate running fastest, each with ``unknowns`` vertices of consecutive numbers."""
    nodes = prod(shape)
    check_vertices(family, nodes * unknowns)
    check_room(nodes * min(nodes, len(offsets)) * unknowns**2)
    return count_and_fill(nodes * unknowns, _lattice, *shape, unknowns, offsets)


def grid(seed: np.uint64, rows: int, cols: int, layers: int) -> Structure:
    return lattice("grid", (layers, rows, cols), 1, CROSS)


def stencil(seed: np.uint64, nx: int, ny: int, nz: int, unknowns: int) -> Structure:
    return lattice("stencil", (nz, ny, nx), unknowns, CUBE)


def path(seed: np.uint64, n: int) -> Structure:
    return lattice("path", (1, 1, n), 1, CROSS)


def complete(seed: np.uint64, n: int) -> Structure:
    return lattice("complete", (1, 1, 1), n, CUBE)


# ---- points in the square ----

SIDE = 31  # bits of a coordinate: a squared distance fits 63


@kernel
def _point(seed, i):
    x = hash2(seed, PLACE, np.uint64(i), np.uint64(0)) >> np.uint64(64 - SIDE)
    y = hash2(seed, PLACE, np.uint64(i), np.uint64(1)) >> np.uint64(64 - SIDE)
    return np.int64(x), np.int64(y)


@kernel
def _cell(x, y, cells):
    return (y * cells >> SIDE) * cells + (x * cells >> SIDE)


@kernel
def _count_points(seed, n, cells, start):
    for i in range(n):
        x, y = _point(seed, i)
        start[_cell(x, y, cells) + 2] += 1


@kernel
def _place_points(seed, n, cells, start, points):
    """Put each point into its cell; ``start[c + 1]`` begins as the start of cell c and ends as its end."""
    for i in range(n):
        x, y = _point(seed, i)
        cell = _cell(x, y, cells) + 1
        points[start[cell], 0], points[start[cell], 1] = x, y
        start[cell] += 1


def scatter(seed: np.uint64, n: int, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """n random points in the order of their cells, of which there are ``cells`` a side, and where each cell starts."""
    start = np.zeros(cells * cells + 2, np.int64)
    points = np.empty((n, 2), np.int32)
    _count_points(seed, n, cells, start)
    np.cumsum(start, out=start)
    _place_points(seed, n, cells, start, points)
    return points, start[:-1]


@kernel
def _near(first, last, points, start, cells, reach, fill, indptr, indices):
    """Join points whose squared distance is below ``reach``; they lie in the 3 by 3 cells about each other."""
    for v in range(first, last):
        x, y = np.int64(points[v, 0]), np.int64(points[v, 1])
        cell = _cell(x, y, cells)
        row, col = cell // cells, cell % cells
        at = indptr[v] if fill else 0
        for r in range(max(row - 1, 0), min(row + 2, cells)):
            # Three cells in a row are one range of vertices.
            left, right = r * cells + max(col - 1, 0), r * cells + min(col + 1, cells - 1)
            for u in range(start[left], start[right + 1]):
                dx, dy = points[u, 0] - x, points[u, 1] - y
                if u != v and dx * dx + dy * dy < reach:
                    if fill:
                        indices[at] = u
                    at += 1
        if not fill:
            indptr[v + 1] = at


def rgg(seed: np.uint64, n: int, degree: float) -> Structure:
    check_degree("rgg", n, degree)
    check_room(n * degree)
    # A disc of area degree / (n - 1) holds `degree` of the other points on average.
    reach = min(int(degree / (pi * max(n - 1, 1)) * 4.0**SIDE), 2**63 - 1)
    # A cell is at least as wide as the radius, cells^2 * reach <= (2^31)^2, and there are no more cells than points.
    cells = max(1, isqrt(min(4**SIDE // max(reach, 1), n)))
    points, start = scatter(seed, n, cells)
    return count_and_fill(n, _near, points, start, cells, reach)


def delaunay(seed: np.uint64, n: int) -> Structure:
    from scipy.spatial import Delaunay

    points, _ = scatter(seed, n, isqrt(n))
    corners = Delaunay(points.astype(np.float64)).simplices
    return simple(corners.ravel(), np.roll(corners, -1, axis=1).ravel(), n)


# ---- drawn edges ----


def simple(row: np.ndarray, col: np.ndarray, n: int) -> Structure:
    """The CSR structure of the edges (row[e], col[e]) without loops and repeats."""
    ones = np.broadcast_to(np.uint8(1), len(row))  # one byte, seen as many
    indptr, indices, *_ = edges_to_csr(row, col, ones, n)
    return indptr, indices


def drawn(n: int, *draws: tuple) -> Structure:
    """The structure of drawn edges: each ``(count, kernel, *args)`` runs ``kernel(first, last, *args, row, col)``."""
    total = sum(count for count, *_ in draws)
    check_room(total)
    row, col = np.empty(total, np.int32), np.empty(total, np.int32)
    at = 0
    for count, fill, *args in draws:
        share(count, fill, *args, row[at : at + count], col[at : at + count])
        at += count
    return simple(row, col, n)


# Graph500's quadrants, as bounds on a 64-bit word: a = 0.57, a + b = 0.76, a + b + c = 0.95.
QUADRANTS = tuple(np.uint64(percent * 2**64 // 100) for percent in (57, 76, 95))


@kernel
def _draw_rmat(first, last, seed, scale, row, col):
    a, ab, abc = QUADRANTS
    for e in range(first, last):
        u, v = 0, 0
        for level in range(scale):
            word = hash2(seed, PLACE, np.uint64(e), np.uint64(level))
            u = u << 1 | (word >= ab)
            v = v << 1 | ((word >= a) ^ (word >= ab) ^ (word >= abc))
        row[e], col[e] = u, v


def rmat(seed: np.uint64, scale: int, edgefactor: int) -> Structure:
    """Chakrabarti, Zhan and Faloutsos, R-MAT: a recursive model for graph mining (doi:10.1137/1.9781611972740.43)."""
    return drawn(2**scale, (2**scale * edgefactor, _draw_rmat, seed, scale))


@kernel
def _draw_pairs(first, last, seed, n, row, col):
    for e in range(first, last):
        u = below(hash2(seed, PLACE, np.uint64(e), np.uint64(0)), n)
        v = below(hash2(seed, PLACE, np.uint64(e), np.uint64(1)), n - 1)
        row[e], col[e] = u, v + (v >= u)  # v is one of the others


def erdos_renyi(seed: np.uint64, n: int, degree: float) -> Structure:
    check_degree("erdos-renyi", n, degree)
    return drawn(n, (int(n * degree / 2), _draw_pairs, seed, n))


@kernel
def _draw_across(first, last, seed, left, right, row, col):
    for e in range(first, last):
        row[e] = below(hash2(seed, PLACE, np.uint64(e), np.uint64(0)), left)
        col[e] = left + below(hash2(seed, PLACE, np.uint64(e), np.uint64(1)), right)


def bipartite(seed: np.uint64, left: int, right: int, m: int) -> Structure:
    check_vertices("bipartite", left + right)
    return drawn(left + right, (m, _draw_across, seed, left, right))


SPARSE = 4  # average degree of the graph under the hubs


@kernel
def _draw_spokes(first, last, seed, n, hubs, degree, number, row, col):
    """Neighbour j of a hub comes from the j-th of ``degree`` equal parts of the other vertices, so none repeats."""
    for e in range(first, last):
        hub, j = e // degree * n // hubs, e % degree
        low, high = j * (n - 1) // degree, (j + 1) * (n - 1) // degree
        v = low + below(hash2(seed, PLACE, np.uint64(number + e), np.uint64(0)), high - low)
        row[e], col[e] = hub, v + (v >= hub)


def hubs(seed: np.uint64, n: int, hubs: int, degree: int) -> Structure:
    check_degree("hubs", n, degree)
    if hubs > n:
        raise TrothError(f"hubs: hubs={hubs} with n={n}: choose at most n hubs")
    pairs = n * SPARSE // 2
    return drawn(n, (pairs, _draw_pairs, seed, n), (hubs * degree, _draw_spokes, seed, n, hubs, degree, pairs))
