"""CSR structures on the CPU: what ``structures.py`` asks of a device, in Numba.

A device is a module with ``lattice``, ``near``, ``drawn``, ``simple``, ``weigh`` and ``weigh_near``; the other one is
``families/cuda.py``, whose arrays are the same, bit for bit. Arguments are checked already.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from troth.families.draw import below
from troth.families.weights import in_blocks, weigh
from troth.gate.cpu import edges_to_csr
from troth.kernels.jit import inlined, kernel
from troth.kernels.team import chunks
from troth.order import PLACE, hash2

__all__ = ["drawn", "lattice", "near", "scatter", "simple", "weigh", "weigh_near"]

Structure = tuple[np.ndarray, np.ndarray]


def count_and_fill(kernel: Callable, n: int, *args) -> Structure:
    """CSR in two passes of ``kernel(..., *args, fill, indptr, indices)``: row lengths first, then the rows."""
    indptr = np.zeros(n + 1, np.int64)
    in_blocks(kernel, n, *args, False, indptr, np.empty(0, np.int32))
    np.cumsum(indptr, out=indptr)
    indices = np.empty(indptr[-1], np.int32)
    in_blocks(kernel, n, *args, True, indptr, indices)
    return indptr, indices


# ---- lattices ----


@inlined
def lattice_row(v, shape, unknowns, offsets, fill, at, indices):
    """The entries of vertex v, written from ``at`` on or only counted; returns where they end."""
    depth, height, width = shape
    node = v // unknowns
    z, y, x = node // (width * height), node // width % height, node % width
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
    return at


@kernel
def _lattice(worker, cursor, chunk, origin, shape, unknowns, offsets, fill, indptr, indices):
    """The rows of the vertices origin, origin + 1, ..."""
    for first, last in chunks(cursor, chunk, len(indptr) - 1):
        for i in range(first, last):
            at = indptr[i] if fill else 0
            at = lattice_row(origin + i, shape, unknowns, offsets, fill, at, indices)
            if not fill:
                indptr[i + 1] = at


def lattice(
    shape: tuple[int, int, int], unknowns: int, offsets: np.ndarray, rows: tuple[int, int] | None = None
) -> Structure:
    """A box of nodes, the last coordinate running fastest, each with ``unknowns`` vertices of consecutive numbers.

    A vertex is joined to all unknowns of the nodes at the offsets, which are in lexicographic order and hold zero.
    ``rows``: of these vertices alone, the first and the one behind the last.
    """
    first, last = rows or (0, prod(shape) * unknowns)
    return count_and_fill(_lattice, last - first, first, shape, unknowns, offsets)


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
def _near(worker, cursor, chunk, points, start, cells, reach, fill, indptr, indices):
    """Join points whose squared distance is below ``reach``; they lie in the 3 by 3 cells about each other."""
    for first, last in chunks(cursor, chunk, len(indptr) - 1):
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


def near(seed: np.uint64, n: int, cells: int, reach: int) -> Structure:
    """n random points, joined where their squared distance is below ``reach``; a cell is at least that wide."""
    points, start = scatter(seed, n, cells)
    return count_and_fill(_near, n, points, start, cells, reach)


@kernel
def _weigh_near(worker, cursor, chunk, points, reach, indptr, indices, weights):
    for first, last in chunks(cursor, chunk, len(indptr) - 1):
        for v in range(first, last):
            x, y = np.int64(points[v, 0]), np.int64(points[v, 1])
            for at in range(indptr[v], indptr[v + 1]):
                u = indices[at]
                dx, dy = points[u, 0] - x, points[u, 1] - y
                weights[at] = np.float64(reach - (dx * dx + dy * dy)) / np.float64(reach)


def weigh_near(
    indptr: np.ndarray, indices: np.ndarray, seed: np.uint64, cells: int, reach: int, kind: np.dtype
) -> np.ndarray:
    """The rule "near" for the structure that ``near`` makes: 1 - d^2 / reach, in (0, 1].

    Squared distances d^2 < reach are whole numbers; two conversions, the quotient and the type of the weights round.
    """
    points, _ = scatter(seed, len(indptr) - 1, cells)
    weights = np.empty(len(indices), kind)
    in_blocks(_weigh_near, len(indptr) - 1, points, reach, indptr, indices, weights)
    return weights


# ---- drawn edges ----


# Graph500's quadrants, as bounds on a 64-bit word: a = 0.57, a + b = 0.76, a + b + c = 0.95.
QUADRANTS = tuple(np.uint64(percent * 2**64 // 100) for percent in (57, 76, 95))


@kernel
def _draw_rmat(worker, cursor, chunk, origin, seed, scale, row, col):
    a, ab, abc = QUADRANTS
    for first, last in chunks(cursor, chunk, len(row)):
        for i in range(first, last):
            u, v = 0, 0
            for level in range(scale):
                word = hash2(seed, PLACE, np.uint64(origin + i), np.uint64(level))
                u = u << 1 | (word >= ab)
                v = v << 1 | ((word >= a) ^ (word >= ab) ^ (word >= abc))
            row[i], col[i] = u, v


@kernel
def _draw_pairs(worker, cursor, chunk, origin, seed, n, row, col):
    for first, last in chunks(cursor, chunk, len(row)):
        for i in range(first, last):
            e = np.uint64(origin + i)
            u = below(hash2(seed, PLACE, e, np.uint64(0)), n)
            v = below(hash2(seed, PLACE, e, np.uint64(1)), n - 1)
            row[i], col[i] = u, v + (v >= u)  # v is one of the others


@kernel
def _draw_across(worker, cursor, chunk, origin, seed, left, right, row, col):
    for first, last in chunks(cursor, chunk, len(row)):
        for i in range(first, last):
            e = np.uint64(origin + i)
            row[i] = below(hash2(seed, PLACE, e, np.uint64(0)), left)
            col[i] = left + below(hash2(seed, PLACE, e, np.uint64(1)), right)


@kernel
def _draw_spokes(worker, cursor, chunk, origin, seed, n, hubs, degree, number, row, col):
    """Neighbour j of a hub comes from the j-th of ``degree`` equal parts of the other vertices, so none repeats."""
    for first, last in chunks(cursor, chunk, len(row)):
        for i in range(first, last):
            e = origin + i
            hub, j = e // degree * n // hubs, e % degree
            low, high = j * (n - 1) // degree, (j + 1) * (n - 1) // degree
            v = low + below(hash2(seed, PLACE, np.uint64(number + e), np.uint64(0)), high - low)
            row[i], col[i] = hub, v + (v >= hub)


# Each draws as many edges as ``row`` and ``col`` have room for, from edge number ``origin`` on.
DRAWS = {"rmat": _draw_rmat, "pairs": _draw_pairs, "across": _draw_across, "spokes": _draw_spokes}


def drawn(n: int, *draws: tuple) -> Structure:
    """The structure of drawn edges: each ``(name, count, *args)`` is a kernel of ``DRAWS`` and its arguments."""
    total = sum(count for _, count, *_ in draws)
    row, col = np.empty(total, np.int32), np.empty(total, np.int32)
    at = 0
    for name, count, *args in draws:
        in_blocks(DRAWS[name], count, 0, *args, row[at : at + count], col[at : at + count])
        at += count
    return simple(row, col, n)


def simple(row: np.ndarray, col: np.ndarray, n: int) -> Structure:
    """The CSR structure of the edges (row[e], col[e]) without loops and repeats."""
    ones = np.broadcast_to(np.uint8(1), len(row))  # one byte, seen as many
    indptr, indices, *_ = edges_to_csr(row, col, ones, n)
    return indptr, indices
