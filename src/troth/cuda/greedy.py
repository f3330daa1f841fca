"""Global greedy on a GPU: sort the edges, then take them in parallel rounds.

Reference: D. Avis, A survey of heuristics for the weighted matching problem, Networks 13 (1983). The rounds are those
of G. Blelloch, J. Fineman and J. Shun, Greedy sequential maximal independent set and matching are parallel on average,
SPAA 2012.

The sort is exact: by rank (max priority, min priority), then, stably, by the bits of the weights. In a round every
vertex finds the first edge left at it, an edge that is first at both of its ends is taken, and edges with a taken end
are dropped; what is left stays in order.

Invariant: the taken edges are those of serial greedy. Serial greedy, at an edge that is first at both ends among those
that are left, finds both ends free: every earlier edge at them was dropped, so it touches an edge that greedy took
before it, and was refused. An edge that is dropped touches a taken one that is earlier. The first of all edges left is
first at its ends, so every round takes one; on random orders O(log^2 m) rounds do, and equal weights with ties by id
make long chains and as many rounds.

Memory: about 50 bytes an edge while sorting. Cost: O(n + m) for the sort and for each round O(edges left).
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from troth.arrays import cupy, make_room_to_sort
from troth.contract import Context, Result
from troth.graph import Graph
from troth.kernels.launch import WORDS, DeviceClock, bits_of, define, launch, load, word_of
from troth.order import ORDER_CONSTANTS, Order, as_argument, for_order

NONE = 2**63 - 1  # no edge
CONSTANTS = (*ORDER_CONSTANTS, *define(NONE=NONE))
PROGRAMS = {
    word: ("list_above", f"list_edges<{word}>", "name_ends", "claim", "take", "drop") for word in WORDS.values()
}


def _load(graph: Graph, order: Order) -> tuple[Any, ...]:
    return load("greedy", PROGRAMS[word_of(graph.weights)], for_order(order, CONSTANTS))


def sorted_ends(graph: Graph, order: Order) -> Any:
    """Both ends of every edge, in one uint64 each, by decreasing (weight, rank)."""
    cp, n, m = cupy(), graph.n, graph.m
    list_above, list_edges, name_ends, *_ = _load(graph, order)
    bits, constants = bits_of(graph.weights), as_argument(order)
    above = cp.empty(n + 1, np.int64)
    launch(list_above, n, np.int32(n), graph.indptr, graph.indices, above)
    above = cp.cumsum(above)
    keys, ranks = cp.empty(m, bits.dtype), cp.empty(m, np.uint64)
    launch(list_edges, m, np.int32(n), np.int64(m), above, graph.indptr, graph.indices, bits, constants, keys, ranks)
    make_room_to_sort(cp, m, 8)
    by_rank = cp.argsort(ranks)  # a radix sort
    keys = keys[by_rank]
    make_room_to_sort(cp, m, keys.itemsize)
    by_weight = cp.argsort(keys, kind="stable")
    ends = cp.empty(m, np.uint64)
    launch(name_ends, m, np.int64(m), by_rank, by_weight, ranks, constants, ends)
    return ends


def run(graph: Graph, order: Order, context: Context) -> Result:
    """The engine; see ``contract.py``. The host reads one count a round."""
    kernels, cp, m = DeviceClock(), cupy(), graph.m
    clock = [perf_counter()]
    if context.progress is not None:
        context.progress("sort", 0, m)
    mate, rounds = cp.full(graph.n, -1, np.int32), 0
    ends: Any = sorted_ends(graph, order) if m else None
    cp.cuda.get_current_stream().synchronize()
    clock.append(perf_counter())
    left = m
    if m:
        *_, claim, take, drop = _load(graph, order)
        first, kept = cp.full(graph.n, NONE, np.int64), cp.empty(m, np.bool_)
    while left:
        count = np.int64(left)
        launch(claim, left, count, ends, first)
        launch(take, left, count, ends, first, mate)
        launch(drop, left, count, ends, mate, first, kept)
        ends = ends[kept[:left]]
        left, rounds = len(ends), rounds + 1
        context.report(m - left, m)
    clock.append(perf_counter())
    seconds = {"kernels": kernels.stop(), "sort": clock[1] - clock[0], "rounds": clock[2] - clock[1]}
    return Result(mate, {"rounds": rounds}, seconds)
