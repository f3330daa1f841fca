"""Locally-Dominant and Suitor on a GPU with sorted neighbour lists (``presort=True``).

Reference: Md. Naim, F. Manne, M. Halappanavar, A. Tumeo and J. Langguth, Optimizing approximate weighted matching on
Nvidia Kepler K40, HiPC 2015, section 2.1: the lists are sorted by decreasing weight first, and then no entry is looked
at twice. The kernels, one thread a vertex, are in ``kernels/presorted.cu``, with the invariant; the engines
``cuda/suitor.py`` and ``cuda/locally_dominant.py`` call this.

A chain of vertices that displace each other is one thread's walk, and a link costs it about a microsecond. So Suitor's
walks end after some looks, and what is left of the chains moves at one time, by pointer doubling; then threads walk
again, twice as far. A chain of any length costs a few walks; where doubling does not help, all walks together are at
most twice as long as one that does not end.

Cost: a sort of the 2 m entries, then O(n + m), and O(n log n) where chains are long. Memory: a second copy of the rows
and 12 bytes a vertex, with long chains 29; while sorting, 41 bytes an entry,
or 29 where weights have 32 bits or fewer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.arrays import cupy, make_room_to_sort
from troth.contract import Context, Result
from troth.graph import Graph
from troth.kernels.launch import WARP, WORDS, DeviceClock, bits_of, launch, load, word_of
from troth.order import ORDER_CONSTANTS as CONSTANTS
from troth.order import Order, as_argument, for_order

FIRST_WALK = 1024  # looks: about a millisecond


def key_of(word: str) -> str:
    """The type in which weights of a type, priorities and vertices are sorted.

    >>> key_of("u8"), key_of("u64")
    ('u32', 'u64')
    """
    return "u64" if word == "u64" else "u32"


PROGRAMS: dict[Any, tuple[str, ...]] = {
    **{("sort", word): (f"list_keys<{word}, {key_of(word)}>",) for word in WORDS.values()},
    **{
        ("suitor", word): (f"walk_suitors<{word}>", f"look_ahead<{word}>", f"follow_jumps<{word}>")
        for word in WORDS.values()
    },
    "all words": ("note_standing", "double_jumps", "read_suitors"),
    "locally-dominant": ("walk_all", "walk_queue"),
}


def sort_rows(graph: Graph, order: Order) -> tuple[Any, Any]:
    """The neighbours and the bits of the weights, each row in the order of decreasing key."""
    cp, total, bits = cupy(), len(graph.indices), bits_of(graph.weights)
    keys = cp.empty((3, total), np.uint64 if bits.dtype.itemsize == 8 else np.uint32)
    [list_keys] = load("presorted", PROGRAMS["sort", word_of(graph.weights)], for_order(order, CONSTANTS))
    rows = (graph.indptr, graph.indices, bits, np.int64(graph.n), np.int64(total))
    launch(list_keys, graph.n * WARP, *rows, as_argument(order), keys)
    make_room_to_sort(cp, total)
    places = cp.lexsort(keys)
    del keys  # room for what is returned
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
    mate, walks = _walk(graph, lists, list_bits, order)
    seconds["kernels"] = clock.stop()
    context.report(n, n)
    return Result(mate, {"rounds": walks}, seconds)


def _walk(graph: Graph, lists: Any, list_bits: Any, order: Order) -> tuple[Any, int]:
    """Walks, and between them jumps, until nobody waits: the mates, and how many walks there were."""
    cp, n, constants = cupy(), graph.n, as_argument(order)
    names, chosen = PROGRAMS["suitor", word_of(graph.weights)] + PROGRAMS["all words"], for_order(order, CONSTANTS)
    walk, look_ahead, follow, note, double, read = load("presorted", names, chosen)
    rows = (graph.indptr, graph.indices, bits_of(graph.weights), lists, list_bits, np.int64(n), constants)
    state, standing, reached = cp.zeros(n, np.uint64), cp.full(n, -1, np.int32), graph.indptr[:-1].copy()
    ahead: Any = None
    marked: Any = None
    jumps: Any = None
    most, walks = FIRST_WALK, 0
    while True:
        walks += 1
        stopped = cp.zeros(1, np.uint32)
        launch(walk, n, *rows, standing, np.int64(most), reached, state, stopped)
        if not int(stopped.get()[0]):
            break
        most *= 2
        if ahead is None:
            ahead, marked = cp.empty(n, np.int64), cp.empty(n, np.uint8)
            jumps = cp.empty(n, np.int32), cp.empty(n, np.int32)
        standing.fill(-1)
        launch(note, n, state, np.int64(n), constants, standing)
        launch(look_ahead, n, *rows, state, standing, reached, ahead, jumps[0], marked)
        rounds = n.bit_length()
        more = cp.zeros(rounds + 1, np.uint32)
        for k in range(rounds):
            launch(double, n, jumps[k % 2], np.int64(n), np.int64(k), jumps[(k + 1) % 2], marked, more)
        launch(follow, n, *rows, ahead, marked, reached, state)
        standing.fill(-1)
        launch(note, n, state, np.int64(n), constants, standing)
    mate = cp.empty(n, np.int32)
    launch(read, n, state, np.int64(n), constants, mate)
    return mate, walks


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
