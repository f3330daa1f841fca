"""Suitor on a GPU: troth's own kernels. The four variants of Naim et al. are in ``suitor_variants.py``.

Reference: F. Manne and M. Halappanavar, IPDPS 2014; Md. Naim et al., HiPC 2015; ``cpu/suitor.py`` for the algorithm and
why its result does not depend on any order of events.

Three kernels, and nothing read back in between:

1. ``propose_all`` streams the graph once. A vertex makes an offer to its heaviest neighbour, found without a look at
   anyone's offer, or else to the second heaviest. On random weights most of these offers stand for good.
2. ``settle`` goes on in rounds, for those whose offers failed or were displaced, until none is left. Its blocks all run
   at one time and meet between rounds, so the host need not know how many there are. A warp takes 32 waiting vertices,
   and whom they displace waits in its shared memory; there are few rounds, since a warp that has a full 32 of its own
   takes those, and in the end every warp finishes what it has.
3. ``mates`` turns offers into mates.

Rows are read by groups of 1, 2, 4 or 8 lanes, according to the mean degree, four entries at a time; longer ones by a
warp; those above 512 entries are cut into pieces, so that no hub is one warp's alone. A vertex that looks again reads
only keys between the offer that it holds and the neighbour that refused it last: the window needs no gather, and only
the best two in it are asked.

Memory: 44 bytes a vertex, and up to 1/16 byte an entry for long rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.cuda import suitor_variants
from troth.cuda._device import cupy
from troth.cuda._launch import as_argument, bits_of, launch, launch_together, load, resident, word_of
from troth.graph import Graph
from troth.order import Order

# As in suitor.cu.
BLOCK = 256
LONG, PIECE = 512, 1024
ITEM, CHOICE, CONTROL = 16, 24, 7  # bytes, bytes, 64-bit words

# Lanes that read a row together, by the least mean degree for which they do.
GROUPS = ((24, 8), (12, 4), (5, 2), (0, 1))

PROGRAMS = {
    (word, group, coarse): (
        f"propose_all<{word}, {group}, {str(coarse).lower()}>",
        f"settle<{word}, {group}, {str(coarse).lower()}>",
        "mates",
    )
    for word in ("u8", "u16", "u32", "u64")
    for _, group in GROUPS
    for coarse in ((False, True) if word == "u64" else (False,))
}


def aligned(array: Any) -> Any:
    """The array, copied where it does not start at a multiple of 16 bytes, as reads of four entries need."""
    return array if array.data.ptr % 16 == 0 else array.copy()


def run(
    graph: Graph,
    order: Order,
    *,
    threads=None,
    seed=0,
    progress=None,
    variant="auto",
    threads_per_block=128,
    vertices_per_warp=8,
    balance_rounds="adaptive",
) -> tuple[Any, dict]:
    """The engine; see ``engines.py``."""
    if variant != "auto":
        return suitor_variants.run(
            graph,
            order,
            variant=variant,
            threads_per_block=threads_per_block,
            vertices_per_warp=vertices_per_warp,
            balance_rounds=balance_rounds,
            progress=progress,
        )
    cp = cupy()
    n, total = graph.n, len(graph.indices)
    if progress is not None:
        progress("match", 0, n)
    if not total:
        return cp.full(n, -1, np.int32), {"rounds": 0}
    group = next(lanes for least, lanes in GROUPS if total >= least * n)
    word = word_of(graph.weights)
    propose_all, settle, mates = load("suitor", PROGRAMS[word, group, bool(order.coarse) and word == "u64"])

    most_longs = total // LONG + 1
    most_pieces = total // PIECE + most_longs
    words = cp.zeros(n + CONTROL, np.uint64)
    state, control = words[:n], words[n:]
    queue = cp.empty(2 * n * ITEM, np.uint8)
    longs = cp.empty(2 * most_longs * ITEM, np.uint8)
    owners = cp.empty(2 * most_pieces, np.uint32)
    pieces = cp.empty(most_pieces * CHOICE, np.uint8)
    mate = cp.empty(n, np.int32)

    constants = as_argument(order)
    rows = (graph.indptr, aligned(graph.indices), aligned(bits_of(graph.weights)), np.int64(n), np.int64(total), constants)
    blocks = min(resident(propose_all, BLOCK), -(-n // BLOCK))
    propose_all((blocks,), (BLOCK,), (*rows, state, queue, longs, owners, control))
    blocks = min(resident(settle, BLOCK), -(-n // BLOCK))
    sizes = (np.int64(most_longs), np.int64(most_pieces))
    launch_together(settle, blocks, BLOCK, *rows, *sizes, state, queue, longs, owners, pieces, control)
    launch(mates, n, state, np.int64(n), constants, mate)
    # The second half of the last word of Control: read when the clock has stopped.
    return mate, {"rounds": control.view(np.uint32)[13]}
