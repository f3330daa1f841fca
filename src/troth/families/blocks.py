"""Lattices a block of rows at a time, for graphs that are larger than memory.

A row of a lattice is a formula, and a weight a function of the two ends and the seed; so a block of rows needs none of
the others. Only the rule "increasing" needs all, for its weights are ranks.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from types import SimpleNamespace

import numpy as np

from troth.families import host
from troth.families.spec import FamilyRequest, read_request, split_spec
from troth.families.weights import INCREASING, RULES
from troth.inputs import RowBlocks

LATTICES = ("grid", "stencil", "path", "complete")
MOST = 2**24  # entries of a block, about

Lattice = tuple[tuple[int, int, int], int, np.ndarray]  # shape, unknowns, offsets: see ``host.lattice``


def row_blocks(text: str, most: int = MOST) -> RowBlocks | None:
    """The graph that a text names (see ``from_spec``) in blocks of at most so many entries, or of one row.

    None where it has to be made whole, or on a GPU.

    >>> found = row_blocks("path:n=5,weights=unit", most=10)
    >>> found.n, found.m, [indices.tolist() for _, indices, _ in found.blocks]
    (5, 4, [[1, 0, 2], [1, 3, 2, 4], [3]])
    """
    name, words = split_spec(text)
    if words.pop("device", "cpu") != "cpu":
        return None
    asked = read_request(name, **words)
    if asked.family not in LATTICES or RULES[asked.weights].code == INCREASING:
        return None
    with asked.fitting():  # the family checks its sizes, and asks for one lattice
        lattice: Lattice = asked.make(SimpleNamespace(lattice=lambda *wanted: wanted))  # type: ignore[assignment]
    n, entries = _sizes(*lattice)
    return RowBlocks(n, entries // 2, asked.kind, _blocks(asked, lattice, n, most))


def _sizes(shape: tuple[int, int, int], unknowns: int, offsets: np.ndarray) -> tuple[int, int]:
    """Vertices and entries: prod(shape - |d|) pairs of nodes are d apart, and no vertex is joined to itself."""
    pairs = sum(prod(max(side - abs(int(d)), 0) for side, d in zip(shape, each, strict=True)) for each in offsets)
    n = prod(shape) * unknowns
    return n, pairs * unknowns**2 - n


def _blocks(asked: FamilyRequest, lattice: Lattice, n: int, most: int) -> Iterator[tuple]:
    shape, unknowns, offsets = lattice
    degree = min(prod(shape), len(offsets)) * unknowns  # at most
    step = max(1, most // max(degree, 1))
    for first in range(0, n, step):
        indptr, indices = host.lattice(shape, unknowns, offsets, (first, min(first + step, n)))
        weights = host.weigh(indptr, indices, asked.weights, asked.seed, asked.kind, asked.high, first)
        yield indptr, indices, weights
