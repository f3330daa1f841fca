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
SHORT, LONG, PIECE = 32, 512, 1024
ITEM, KEY, CONTROL = 16, 16, 16 * 8  # bytes; a key has 8 or 16
TURNS = 8  # times more blocks than run at a time, where blocks take unequal time
DENSE = 12  # mean degree from which rows that are not short have a kernel of their own

_WIDE = np.dtype([(name, "u8") for name in ("middles", "longs", "owners", "done", "best")] + [
    (name, "i8") for name in ("most_middles", "most_longs", "most_pieces")
])

KERNELS = ("chase", "propose_all", "look_wide", "look_again", "settle")
PROGRAMS = {
    (word, coarse): (*(f"{name}<{word}, {str(coarse).lower()}>" for name in KERNELS), "mates")
    for word, coarse in (("u8", False), ("u16", False), ("u32", False), ("u64", False), ("u64", True))
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
    word = word_of(graph.weights)
    programs = load("suitor", PROGRAMS[word, bool(order.coarse) and word == "u64"])
    chase, propose_all, look_wide, look_again, settle, mates = programs

    # One piece of memory, cut into what starts as zeros and what does not.
    places = -(-n // 32) * 32
    middles, longs = min(n, total // SHORT + 1), total // LONG + 1
    pieces = total // PIECE + longs
    zeros = {"state": 8 * n, "control": CONTROL, "done": 3 * longs * 4}
    others = {
        "queue": 2 * places * ITEM,
        "early": middles * ITEM,
        "losers": places // 32 * 4,
        "middles": 3 * middles * ITEM,
        "longs": 3 * longs * ITEM,
        "owners": 3 * pieces * 4,
        "best": 3 * pieces * KEY,
    }
    size, at = 0, {}
    for name, length in (zeros | others).items():
        at[name] = size
        size += -(-length // 256) * 256
    memory, mate = cp.empty(size, np.uint8), cp.empty(n, np.int32)
    memory[: at["queue"]].fill(0)
    at = {name: memory.data.ptr + place for name, place in at.items()}
    state, control, losers, early = at["state"], at["control"], at["losers"], at["early"]
    slots, later = at["queue"], at["queue"] + places * ITEM  # its two sides

    constants = as_argument(order)
    wide = np.array([(*(at[name] for name in _WIDE.names[:5]), middles, longs, pieces)], _WIDE)
    arrays = (graph.indptr, aligned(graph.indices), aligned(bits_of(graph.weights)))
    rows = (*arrays, n, total, constants, wide)
    most = -(-n // BLOCK)

    def run_on(kernel, turns, *args):
        kernel((min(resident(kernel, BLOCK) * turns, most),), (BLOCK,), (*rows, *args))

    if total < DENSE * n:
        turn = 0
        run_on(chase, TURNS, state, slots, control)
    else:
        turn = 1
        run_on(propose_all, TURNS, state, slots, losers, control)
        run_on(look_wide, 1, state, early, control)
        run_on(look_again, 1, 0, slots, losers, places, early, state, later, control)
        run_on(look_again, 1, 1, slots, losers, 0, later, state, slots, control)
    blocks = min(resident(settle, BLOCK), most)
    launch_together(settle, blocks, BLOCK, *rows, turn, places, state, slots, control)
    launch(mates, n, state, n, constants, mate)
    # The last word of Control, read when the clock has stopped.
    rounds = memory[control - memory.data.ptr :][: CONTROL].view(np.uint32)[-1]
    return mate, {"rounds": rounds}
