"""Locally-Dominant on a GPU (GPU-LD): a thread a vertex, and a launch for each queue of matched vertices.

Reference: Md. Naim, F. Manne, M. Halappanavar, A. Tumeo and J. Langguth, Optimizing approximate weighted matching on
Nvidia Kepler K40, HiPC 2015, Algorithms 1 and 2; M. Halappanavar et al., IJHPCA 26(4), 2012: "the CPU initiates the
kernel call considering the number of eligible vertices enqueued".

Invariant: between two launches the candidate of an unmatched vertex is its heaviest unmatched neighbour (-1: none), or
a matched one that is in Q_C and will make it look again. ``kernels/locally_dominant.cu`` says why no race breaks it.

Q_C and Q_N are stretches of one array, since a vertex is queued once, when it is matched; to swap them is to move on.
Weights are compared by their exact bits. Memory: 12 bytes a vertex. Cost: O(n + m Delta) at worst.
"""

from __future__ import annotations

import numpy as np

from troth.arrays import cupy
from troth.contract import Context, Result
from troth.cuda.presorted import run_locally_dominant
from troth.graph import Graph
from troth.kernels.launch import WORDS, DeviceClock, bits_of, launch, load, word_of
from troth.order import ORDER_CONSTANTS as CONSTANTS
from troth.order import Order, as_argument, for_order

PROGRAMS = {word: (f"process_all<{word}>", f"process_queue<{word}>") for word in WORDS.values()}


def run(graph: Graph, order: Order, context: Context, *, presort: bool = False) -> Result:
    """The engine; see ``contract.py``. The rounds depend on who comes first; the mates never do."""
    if presort:
        return run_locally_dominant(graph, order, context)
    clock, cp, n = DeviceClock(), cupy(), graph.n
    candidate, mate = cp.full(n, -1, np.int32), cp.full(n, -1, np.int32)
    queue, tail = cp.empty(n, np.int32), cp.zeros(1, np.uint32)
    rounds = start = stop = 0
    if len(graph.indices):
        process_all, process_queue = load(
            "locally_dominant", PROGRAMS[word_of(graph.weights)], for_order(order, CONSTANTS)
        )
        rows = (graph.indptr, graph.indices, bits_of(graph.weights), as_argument(order))
        launch(process_all, n, *rows, np.int64(n), candidate, mate, queue, tail)
        stop = int(tail.get()[0])
    while start < stop:
        launch(process_queue, stop - start, *rows, np.int64(start), np.int64(stop), candidate, mate, queue, tail)
        start, stop = stop, int(tail.get()[0])
        rounds += 1
        context.report(start, n)
    context.report(n, n)
    return Result(mate, {"rounds": rounds, "queued": stop}, {"kernels": clock.stop()})
