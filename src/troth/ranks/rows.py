"""The rows of a rank's own vertices, for compiled code: local numbers inside, global numbers where ranks compare."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.kernels.jit import inlined, kernel
from troth.order import priority_at, weight_bits
from troth.ranks.graph import DistGraph, bisect
from troth.units import Units, units_up


class Part(NamedTuple):
    """The arrays of a ``DistGraph`` as one argument of kernels; rows ascend by global number."""

    indptr: np.ndarray
    indices: np.ndarray
    bits: np.ndarray
    names: np.ndarray  # the global number of each local vertex
    owned: np.int64
    first: np.int64  # the first own vertex where the own ones are consecutive, else -1


def part_of(graph: DistGraph) -> Part:
    """The part of a rank; nothing is copied."""
    bits = weight_bits(graph.weights)
    return Part(graph.indptr, graph.indices, bits, graph.globals, np.int64(graph.owned), np.int64(graph.first))


@inlined
def name_of(part, v):
    """The global number of a local vertex; where the own ones are consecutive, no memory is read for them."""
    if part.first >= 0 and np.int64(v) < part.owned:
        return np.uint64(part.first + np.int64(v))
    return np.uint64(np.uint32(part.names[v]))


@inlined
def rank_of(part, order, v):
    """The priority of a local vertex; the order's classes are by local number."""
    return priority_at(order, name_of(part, v), v)


@kernel
def find_units(weights, units, entries, found):
    """found[i] = the weight of entries[i], in units; 0 where that is -1."""
    for i in range(entries.size):
        found[i] = units_up(weights[entries[i]], units) if entries[i] >= 0 else np.int64(0)


def weigh_entries(weights: np.ndarray, units: Units, entries: np.ndarray) -> np.ndarray:
    """The weights of some entries, in units; 0 where an entry is -1."""
    found = np.empty(entries.shape, np.int64)
    find_units(weights, units, entries.ravel(), found.reshape(-1))
    return found


@kernel
def own_place(part, name):
    """The local number of an own vertex, or -1 where the vertex is another rank's."""
    wanted = np.int64(name)
    if part.first >= 0:
        place = wanted - part.first
        return place if 0 <= place < part.owned else np.int64(-1)
    place = bisect(part.names[: part.owned], wanted)
    return place if place < part.owned and part.names[place] == wanted else np.int64(-1)


@kernel
def entry_of(part, v, name):
    """The entry of own vertex v's row that leads to the vertex of this global number, which is in the row."""
    wanted = np.int64(name)
    low, high = part.indptr[v], part.indptr[v + 1]
    while low < high:
        middle = (low + high) >> 1
        if np.int64(part.names[part.indices[middle]]) < wanted:
            low = middle + 1
        else:
            high = middle
    return low
