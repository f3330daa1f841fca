"""Seeded graphs made on a GPU: the arrays of ``troth.generate`` on the CPU, bit for bit.

The module does for a GPU what ``families/host.py`` does for the CPU: ``lattice``, ``near``, ``drawn``, ``simple``,
``weigh`` and ``weigh_near`` take the same arguments. All of it is integers, and doubles that are rounded as on the CPU
(see the kernels).

``Graph.weight_range`` is left to be found when it is first asked for: only engines ask, and only for 64-bit weights,
where it is one pass over them at the speed of the memory.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from troth.arrays import cupy, make_room_to_sort
from troth.families.host import QUADRANTS, SIDE
from troth.families.weights import EXPONENTIAL, INCREASING, INTEGERS, RULES, TRAP, UNIT, check_fit
from troth.gate.cuda import edges_to_csr
from troth.kernels.launch import BLOCK, FLOATS, WORDS, define, launch, load, number_of
from troth.order import ORDER_CONSTANTS

Structure = tuple[Any, Any]  # indptr and indices, CuPy arrays

TILE = 4096  # entries of a block
CONSTANTS = (
    *ORDER_CONSTANTS,
    *define(TILE=TILE, SIDE=SIDE, EXPONENTIAL=EXPONENTIAL, INTEGERS=INTEGERS, TRAP=TRAP),
    *define(**dict(zip(("A", "AB", "ABC"), QUADRANTS, strict=True))),
)

DRAWS = ("rmat", "pairs", "across", "spokes")

PROGRAMS = {
    "lattice": ("count_lattice", "fill_lattice"),
    "near": ("number_points", "place_points", "join_near<false>", "join_near<true>"),
    "drawn": tuple(f"draw_{name}" for name in DRAWS),
    **{f"near {kind}": ("number_points", "place_points", f"weigh_near<{kind}>") for kind in FLOATS.values()},
    **{
        kind: (f"weigh<{kind}>", "count_upper", f"number_edges<{kind}>") for kind in (*FLOATS.values(), *WORDS.values())
    },
}


def launch_tiles(kernel: Any, n: int, entries: int, *args: Any) -> None:
    """Run a kernel that takes a tile of entries a block."""
    launch(kernel, -(-entries // TILE) * BLOCK, np.int64(n), np.int64(entries), *args)


def room(indptr: Any) -> Any:
    """An array for the entries; ``indptr[v + 1]``, at first the length of row v, becomes where it ends."""
    cp, ends = cupy(), indptr[1:]
    if ends.size:
        cp.cumsum(ends, out=ends)
    return cp.empty(int(indptr[-1]), np.int32)


def lattice(shape: tuple[int, int, int], unknowns: int, offsets: np.ndarray) -> Structure:
    """A box of nodes, the last coordinate running fastest, each with ``unknowns`` vertices of consecutive numbers.

    Offsets (dz, dy, dx), each -1, 0 or 1, become a set of 27 bits.
    """
    cp, n = cupy(), prod(shape) * unknowns
    count, fill = load("families", PROGRAMS["lattice"], CONSTANTS)
    bits = sum(1 << int(9 * dz + 3 * dy + dx + 13) for dz, dy, dx in offsets)
    box = tuple(np.uint32(size) for size in (*shape, unknowns, bits))
    indptr = cp.zeros(n + 1, np.int64)
    launch(count, n, np.int64(n), *box, indptr)
    indices = room(indptr)
    launch_tiles(fill, n, len(indices), *box, indptr, indices)
    return indptr, indices


def scatter(number: Any, place: Any, seed: np.uint64, n: int, cells: int) -> tuple[Any, Any]:
    """n random points in the order of their cells and where each cell starts, by the two kernels that find them."""
    cp = cupy()
    keys, points = cp.empty(n, np.uint64), cp.empty(n, np.uint64)
    start = cp.empty(cells * cells + 1, np.int32)
    launch(number, n, np.int64(n), seed, np.int64(cells), keys)
    make_room_to_sort(cp, n)
    keys.sort()
    launch(place, n, np.int64(n), seed, np.int64(cells), keys, points, start)
    return points, start


def near(seed: np.uint64, n: int, cells: int, reach: int) -> Structure:
    """n random points, joined where their squared distance is below ``reach``; a cell is at least that wide."""
    cp = cupy()
    if not n:
        return cp.zeros(1, np.int64), cp.empty(0, np.int32)
    number, place, count, fill = load("families", PROGRAMS["near"], CONSTANTS)
    points, start = scatter(number, place, seed, n, cells)
    given = (np.int64(n), np.int64(cells), np.int64(reach), points, start)
    indptr = cp.zeros(n + 1, np.int64)
    launch(count, n, *given, indptr, start)  # the last argument is for filling
    indices = room(indptr)
    launch(fill, n, *given, indptr, indices)
    return indptr, indices


def weigh_near(indptr: Any, indices: Any, seed: np.uint64, cells: int, reach: int, kind: np.dtype) -> Any:
    """The rule "near" for the structure that ``near`` makes: 1 - d^2 / reach, in (0, 1]."""
    n, entries = len(indptr) - 1, len(indices)
    weights = cupy().empty(entries, kind)
    if entries:
        number, place, by_distance = load("families", PROGRAMS[f"near {number_of(kind)}"], CONSTANTS)
        points, _ = scatter(number, place, seed, n, cells)
        launch_tiles(by_distance, n, entries, np.int64(reach), points, indptr, indices, weights)
    return weights


def drawn(n: int, *draws: tuple) -> Structure:
    """The structure of drawn edges: each ``(name, count, seed, *sizes)`` is one of ``DRAWS`` and its arguments."""
    cp = cupy()
    kernels = dict(zip(DRAWS, load("families", PROGRAMS["drawn"], CONSTANTS), strict=True))
    total = sum(count for _, count, *_ in draws)
    row, col = cp.empty(total, np.int32), cp.empty(total, np.int32)
    at = 0
    for name, count, seed, *sizes in draws:
        words = np.int64(count), seed, *(np.int64(size) for size in sizes)
        launch(kernels[name], count, *words, row[at : at + count], col[at : at + count])
        at += count
    # edges_to_csr gets the only references, so that it can free the edges as soon as it has read them.
    ends = [col, row]
    del row, col
    return edges_to_csr(ends.pop(), ends.pop(), None, n)[:2]


def simple(row: np.ndarray, col: np.ndarray, n: int) -> Structure:
    """The CSR structure of the host's edges (row[e], col[e]) without loops and repeats."""
    cp = cupy()
    return edges_to_csr(cp.asarray(row, np.int32), cp.asarray(col, np.int32), None, n)[:2]


def weigh(indptr: Any, indices: Any, rule: str, seed: np.uint64, kind: np.dtype, high: int) -> Any:
    """Weights of a CSR structure by a rule of ``RULES``, in a type from ``weight_type``."""
    cp, code, n, entries = cupy(), RULES[rule].code, len(indptr) - 1, len(indices)
    if code == INCREASING:
        check_fit(rule, entries // 2, kind)
    if code == UNIT or not entries:
        return cp.ones(entries, kind)
    by_rule, count_upper, number_edges = load("families", PROGRAMS[number_of(kind)], CONSTANTS)
    weights = cp.empty(entries, kind)
    if code == INCREASING:
        upper = cp.empty(n, np.int64)
        launch(count_upper, n, np.int64(n), indptr, indices, upper)
        cp.cumsum(upper, out=upper)
        launch_tiles(number_edges, n, entries, indptr, indices, upper, weights)
    else:
        launch_tiles(by_rule, n, entries, np.int32(code), seed, np.int64(high), indptr, indices, weights)
    return weights
