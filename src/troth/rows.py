"""A vertex and its row: which one of the neighbours that it may choose does it choose?

Every algorithm here asks this question, and only the condition differs: the neighbour is free (``mate[v] == -1``), is
red (``colour[v] == RED``), or has proposed to me (``proposal[v] == u``). So ``heaviest`` and ``luckiest`` take an array
``state`` and the value ``wanted`` in it; with ``state`` None every neighbour will do. -1 means that there is none.

In one pass the state of a neighbour is read once, so that other threads may change it meanwhile: the answer is right
for what was read.

Nothing in the loop of ``heaviest`` depends on a comparison but a maximum: half of the neighbours being matched, or all
weights being equal, would otherwise cost a mispredicted branch every few entries, and twice to five times the time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from troth.graph import Graph
from troth.kernels.atomics import prefetch
from troth.kernels.jit import inlined, kernel, spliced
from troth.kernels.sort import merge_sort
from troth.kernels.team import chunks, run_team, worker_rows
from troth.order import ONE, PRIORITY_BITS, Order, mix64, prefix, priority, vertex, weight_bits

AHEAD = 8  # how many vertices before its own a row is fetched into the cache
NONE = np.uint64(0)  # no offer


class Rows(NamedTuple):
    """The arrays of a graph, with weights as unsigned integers, so that kernels take them as one argument."""

    indptr: np.ndarray
    indices: np.ndarray
    bits: np.ndarray


def rows_of(graph: Graph) -> Rows:
    """The rows of a graph; nothing is copied."""
    return Rows(graph.indptr, graph.indices, weight_bits(graph.weights))


class NumberRows(NamedTuple):
    """The arrays of a graph for kernels that add weights: floats as they are, integers as unsigned of their width.

    So ten types of weights make six compiled kernels.
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray


def number_rows_of(graph: Any) -> NumberRows:
    """The rows of a graph, or of a rank's part of one; nothing is copied."""
    weights = graph.weights if graph.weights.dtype.kind == "f" else weight_bits(graph.weights)
    return NumberRows(graph.indptr, graph.indices, weights)


@kernel
def find(indices, start, stop, v):
    """The place of v in the sorted indices[start:stop], or ``stop`` where it is absent."""
    end = stop
    while start < stop:
        middle = (start + stop) >> ONE
        if indices[middle] < v:
            start = middle + ONE
        else:
            stop = middle
    return start if start < end and indices[start] == v else end


@inlined
def entry_of(rows, u, v):
    """The entry of v in the row of u."""
    return find(rows.indices, np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + 1]), v)


@spliced
def fetch_row(rows, v):
    """Ask for the first cache lines of v's row."""
    start = np.uint64(rows.indptr[v])
    prefetch(rows.indices, start)
    prefetch(rows.bits, start)


@inlined
def may_choose(state, v, wanted):
    """Whether v is among those to choose from."""
    if state is None:  # known when compiling
        return True
    return state[v] == wanted


@spliced
def heaviest(rows, u, order, state, wanted):
    """The neighbour v of u with the largest (weight, priority(v)).

    A vertex is the inverse of its priority, so the largest offer is all there is to keep. Where offers hold a mere
    prefix of the weight (``order.lossy``), it decides if the two largest prefixes differ; if not, the weights do.
    """
    best = second = NONE
    if not order.lossy:
        for e in range(np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + 1])):
            v = np.uint32(rows.indices[e])
            offer = prefix(rows.bits[e], order) << PRIORITY_BITS | priority(order, v)
            best = max(best, offer if may_choose(state, v, wanted) else NONE)
    else:
        for e in range(np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + 1])):
            v = np.uint32(rows.indices[e])
            offer = prefix(rows.bits[e], order) << PRIORITY_BITS | priority(order, v)
            offer = offer if may_choose(state, v, wanted) else NONE
            second = max(second, min(best, offer))
            best = max(best, offer)
    if best and best >> PRIORITY_BITS == second >> PRIORITY_BITS:
        best = most = NONE  # the states are read anew, so the whole row counts again
        for e in range(np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + 1])):
            v = np.uint32(rows.indices[e])
            bits = np.uint64(rows.bits[e])
            if bits >= most and may_choose(state, v, wanted):
                offer = ONE << PRIORITY_BITS | priority(order, v)
                best = max(best, offer) if bits == most else offer
                most = bits
    return np.int32(vertex(order, best)) if best else np.int32(-1)


@spliced
def luckiest(rows, u, stream, state, wanted):
    """The neighbour v with the largest hash, of equal ones the smallest; ``stream`` hashes all that comes before v."""
    best = np.int32(-1)
    most = np.uint64(0)
    for e in range(np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + 1])):
        v = np.uint32(rows.indices[e])
        if state[v] == wanted:
            draw = mix64(stream ^ np.uint64(v))
            if best < 0 or draw > most:  # rows ascend, so the first of equals is the smallest
                best, most = np.int32(v), draw
    return best


# ---- sorted ----


@kernel
def sort_each(worker, cursor, chunk, order, spare_bits, spare_ranks, rows):
    """Sort every row, whose indices are uint32, in place: neighbours become priorities, are sorted, and turn back."""
    bits, ranks = rows.bits, rows.indices
    for first, last in chunks(cursor, chunk, len(rows.indptr) - 1):
        for v in range(first, last):
            start, stop = np.uint64(rows.indptr[v]), np.uint64(rows.indptr[v + 1])
            for e in range(start, stop):
                ranks[e] = priority(order, ranks[e])
            merge_sort(start, stop, bits, ranks, spare_bits[worker], spare_ranks[worker])
            for e in range(start, stop):
                ranks[e] = vertex(order, ranks[e])


def sort_rows(rows: Rows, order: Order, threads: int) -> Rows:
    """A copy of the rows, each in the order of decreasing key. O(m log Delta)."""
    n, indices, bits = len(rows.indptr) - 1, rows.indices.copy(), rows.bits.copy()
    longest = int(np.diff(rows.indptr).max(initial=0))
    spare = worker_rows(threads, longest, bits.dtype), worker_rows(threads, longest, np.uint32)
    run_team(sort_each, n, threads, order, *spare, Rows(rows.indptr, indices.view(np.uint32), bits))
    return Rows(rows.indptr, indices, bits)
