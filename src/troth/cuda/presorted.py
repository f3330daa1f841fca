"""Locally-Dominant and Suitor on a GPU with sorted neighbour lists (``presort=True``).

Reference: Md. Naim, F. Manne, M. Halappanavar, A. Tumeo and J. Langguth, Optimizing approximate weighted matching on
Nvidia Kepler K40, HiPC 2015, section 2.1: the lists are sorted by decreasing weight first, and then no entry is looked
at twice. The kernels, one thread a vertex, are in ``kernels/presorted.cu``, with the invariant; the engines
``cuda/suitor.py`` and ``cuda/locally_dominant.py`` call this.

Cost: a sort of the 2 m entries, then O(n + m). Memory: a second copy of the rows and 8 bytes a vertex; while sorting,
32 bytes an entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.arrays import cupy
from troth.contract import Context, Result
from troth.graph import Graph
from troth.kernels.launch import WARP, WORDS, DeviceClock, bits_of, launch, load, word_of
from troth.order import ORDER_CONSTANTS as CONSTANTS
from troth.order import Order, as_argument, for_order

PROGRAMS: dict[Any, tuple[str, ...]] = {
    **{("sort", word): (f"list_keys<{word}>",) for word in WORDS.values()},
    **{("suitor", word): (f"walk_suitors<{word}>", "read_suitors") for word in WORDS.values()},
    "locally-dominant": ("walk_all", "walk_queue"),
}


def sort_rows(graph: Graph, order: Order) -> tuple[Any, Any]:
    """The neighbours and the bits of the weights, each row in the order of decreasing key."""
    cp, total, bits = cupy(), len(graph.indices), bits_of(graph.weights)
    keys = cp.empty((3, total), np.uint64)
    [list_keys] = load("presorted", PROGRAMS["sort", word_of(graph.weights)], for_order(order, CONSTANTS))
    rows = (graph.indptr, graph.indices, bits, np.int64(graph.n), np.int64(total))
    launch(list_keys, graph.n * WARP, *rows, as_argument(order), keys)
    places = cp.lexsort(keys)
    return graph.indices[places], bits[places]


def run_suitor(graph: Graph, order: Order, context: Context) -> Result:
    """The engine ``suitor`` with ``presort``; see ``contract.py``."""
    cp, n = cupy(), graph.n
    context.report(0, n)
    if not len(graph.indices):
        return Result(cp.full(n, -1, np.int32), {"rounds": 0}, {"kernels": 0.0})
    clock = DeviceClock()
    lists, list_bits = sort_rows(graph, order)
    seconds = {"sort": clock.stop()}
    clock = DeviceClock()
    walk, read = load("presorted", PROGRAMS["suitor", word_of(graph.weights)], for_order(order, CONSTANTS))
    state, mate, reached = cp.zeros(n, np.uint64), cp.empty(n, np.int32), graph.indptr[:-1].copy()
    rows, constants = (graph.indptr, graph.indices, bits_of(graph.weights)), as_argument(order)
    launch(walk, n, *rows, lists, list_bits, np.int64(n), constants, reached, state)
    launch(read, n, state, np.int64(n), constants, mate)
    seconds["kernels"] = clock.stop()
    context.report(n, n)
    return Result(mate, {"rounds": 1}, seconds)


def run_locally_dominant(graph: Graph, order: Order, context: Context) -> Result:
    """The engine ``locally-dominant`` with ``presort``; see ``contract.py``."""
    cp, n = cupy(), graph.n
    candidate, mate = cp.full(n, -1, np.int32), cp.full(n, -1, np.int32)
    queue, tail = cp.empty(n, np.int32), cp.zeros(1, np.uint32)
    rounds = start = stop = 0
    seconds = {"sort": 0.0, "kernels": 0.0}
    if len(graph.indices):
        clock = DeviceClock()
        lists, _ = sort_rows(graph, order)
        seconds["sort"] = clock.stop()
        clock = DeviceClock()
        walk_all, walk_queue = load("presorted", PROGRAMS["locally-dominant"], for_order(order, CONSTANTS))
        reached = graph.indptr[:-1].copy()
        state = (reached, candidate, mate, queue, tail)
        launch(walk_all, n, graph.indptr, lists, np.int64(n), *state)
        stop = int(tail.get()[0])
        while start < stop:
            launch(walk_queue, stop - start, graph.indptr, lists, np.int64(start), np.int64(stop), *state)
            start, stop = stop, int(tail.get()[0])
            rounds += 1
            context.report(start, n)
        seconds["kernels"] = clock.stop()
    context.report(n, n)
    return Result(mate, {"rounds": rounds, "queued": stop}, seconds)
