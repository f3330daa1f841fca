"""GPU-Suitor in the four variants of Naim et al.: a warp a chunk of vertices, with or without balance between warps.

Reference: Md. Naim, F. Manne, M. Halappanavar, A. Tumeo and J. Langguth, Optimizing approximate weighted matching on
Nvidia Kepler K40, HiPC 2015, Algorithm 4 and section 4.

A warp takes ``vertices_per_warp`` consecutive vertices. In a round all 32 lanes read the row of one vertex after the
other; then each lane makes one vertex's offer; those who fail or are displaced are the warp's next round. The variants:

- ``nosync``: each warp goes on alone;
- ``synclb``: the warps of a block meet after every round, and in the first k rounds after the initial one all get
  equal numbers of waiting vertices, if one of them has over 25 per cent more or less than the average;
- ``syncnolb``: the warps of a block meet after every round, and none gives;
- ``hybrid``: as ``synclb`` for k rounds, then as ``nosync``.

k is ``balance_rounds``. The paper also has it "determined based on the number of vertices that haven't been the suitor
for other vertices yet": ``"adaptive"`` balances a block before a round as long as more than an eighth of its vertices
are waiting, so are nobody's suitor.

Invariant: that of Suitor (``cpu/suitor.py``), so all variants, whatever their numbers, have one result.

Memory: 12 bytes a vertex (word and mate), 20 where ``vertices_per_warp`` is above 32. Cost: O(m Delta) at worst.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from troth.arrays import cupy
from troth.contract import Context, Result
from troth.graph import Graph
from troth.kernels.launch import WARP, WORDS, DeviceClock, bits_of, define, launch, load, word_of
from troth.order import ORDER_CONSTANTS, Order, as_argument, for_order
from troth.words import GPU_SUITOR_VARIANTS

COUNTERS = 1024  # words of each count, so that few warps add to the same one
PARTS = 4  # counts: rounds, balanced, proposals, and quick warps and blocks in one
COUNTED = ("rounds", "balanced", "proposals", "quick_warps", "quick_blocks")
CONSTANTS = (*ORDER_CONSTANTS, *define(COUNTERS=COUNTERS))

# By width of the weights, whether equal prefixes are settled by the exact weights, and variant.
PROGRAMS = {
    (word, exact, variant): (f"gpu_suitor<{word}, {str(exact).lower()}, {variant.upper()}>", "read_mates")
    for word, exact, variant in product(WORDS.values(), (False, True), GPU_SUITOR_VARIANTS)
    if word == "u64" or not exact
}


def run(
    graph: Graph,
    order: Order,
    context: Context,
    variant: str = "nosync",
    threads_per_block: int = 128,
    vertices_per_warp: int = 8,
    balance_rounds: int | str = "adaptive",
) -> Result:
    """One variant; see ``contract.py``. The counts depend on who comes first; the mates never do.

    ``rounds`` is the most of any warp, ``balanced`` the most before which a block was balanced. Of the ``warps`` that
    begin with vertices ``quick_warps`` need less than ten rounds; in ``quick_blocks`` of ``blocks`` all do.
    """
    clock, cp, n = DeviceClock(), cupy(), graph.n
    if not len(graph.indices):
        mate, totals = cp.full(n, -1, np.int32), cp.zeros(len(COUNTED), np.uint64)
        size = {"warps": 0, "blocks": 0}
    else:
        mate, totals = cp.empty(n, np.int32), cp.empty(len(COUNTED), np.uint64)
        state, counts = cp.zeros(n, np.uint64), cp.zeros(PARTS * COUNTERS, np.uint64)
        warps = threads_per_block // WARP
        blocks = -(-n // (warps * vertices_per_warp))
        size = {"warps": -(-n // vertices_per_warp), "blocks": blocks}
        in_memory = vertices_per_warp > WARP  # a warp keeps 32 candidates in registers
        candidates = cp.empty(blocks * warps * vertices_per_warp if in_memory else 0, np.uint64)
        words = (np.int64(n), np.uint32(vertices_per_warp), np.int32(_limit(balance_rounds)))
        program = PROGRAMS[word_of(graph.weights), bool(order.lossy), variant]
        suitor, read_mates = load("suitor_variants", program, for_order(order, CONSTANTS))
        rows = (graph.indptr, graph.indices, bits_of(graph.weights), as_argument(order))
        shared = warps * vertices_per_warp * np.dtype(np.int32).itemsize
        suitor((blocks,), (threads_per_block,), (*rows, *words, candidates, state, counts), shared_mem=shared)
        launch(read_mates, n, state, counts, as_argument(order), np.int64(n), mate, totals)
    seconds = {"kernels": clock.stop()}
    context.report(n, n)
    return Result(mate, dict(zip(COUNTED, totals.tolist(), strict=True)) | size | {"variant": variant}, seconds)


def _limit(balance_rounds: int | str) -> int:
    """The k of the kernel."""
    return -1 if isinstance(balance_rounds, str) else min(balance_rounds, 2**31 - 1)
