"""Blue-red on a GPU: vertices are coloured at random, blue ones propose, red ones respond.

Reference: B. O. Fagginger Auer and R. H. Bisseling, A GPU algorithm for greedy graph matching, Facing the Multicore
Challenge II, LNCS 7174 (2012), and their talk of 2011.

Invariant: a round is run by a list of free vertices, among them all that have a free neighbour. Those that turn out to
have none leave the list with the matched ones; when all are gone, the matching is maximal. Colours and lots are hashes
of (seed, round, vertices), so the result is that of ``reference.blue_red``, bit for bit.

The host reads five numbers a round. The last rounds have little to do: one block runs them all without the host.
Cost: O(m) a round over the rows of the listed vertices, and about log n rounds. Without ``lists`` every round considers
all vertices, a thread each, as in the talk, and free ones without a free neighbour read their rows again.
"""

from __future__ import annotations

import numpy as np

from troth.arrays import cupy
from troth.contract import Context, Result
from troth.graph import Graph
from troth.kernels.launch import BLOCK, WORDS, DeviceClock, bits_of, define, load, word_of
from troth.order import ORDER_CONSTANTS, Order, as_argument, for_order
from troth.words import BEST_P

LANES = (4, 16)  # how many lanes look at a row
MORE_LANES_FROM = 16  # entries a row, in the mean: then more lanes look at it
MOST_BLOCKS = 2**12  # a million threads are more than any device runs at one time
SMALL = 2**13  # vertices and entries; rounds with no more are for one block
HISTORY = 4096  # rounds after which that block reports
ROWS = 64  # rounds whose counts are cleared at once
COUNTS = ("blue", "red", "alive", "pairs", "entries")  # of a round
OUTCOME = ("rounds", "over", "entries")  # of that block; then come the pairs of each round
CONSTANTS = (*ORDER_CONSTANTS, *define(BLOCK=BLOCK, COUNTS=len(COUNTS), OUTCOME=len(OUTCOME)))

# Who draws lots does not look at the weights: there one type serves all.
PROGRAMS = {
    (word, lanes, weighted): (
        "colour_list",
        *(f"{name}<{word}, {lanes}, {str(weighted).lower()}>" for name in ("propose", "respond", "finish")),
    )
    for lanes in LANES
    for word, weighted in [*((word, True) for word in WORDS.values()), ("u8", False)]
}


def _blocks(threads: int) -> tuple[int]:
    return (min(-(-threads // BLOCK), MOST_BLOCKS),)


def run(
    graph: Graph,
    order: Order,
    context: Context,
    *,
    mode: str = "weighted",
    p: float = BEST_P,
    rounds: int | None = None,
    lists: bool = True,
) -> Result:
    """The engine; see ``contract.py``. ``counts["fractions"]``: the fraction of vertices matched after each round."""
    clock, cp, n, weighted = DeviceClock(), cupy(), graph.n, mode == "weighted"
    seed, blue_below = context.seed, np.uint64(int(p * 2**64))
    lanes = LANES[len(graph.indices) >= MORE_LANES_FROM * n]
    word = word_of(graph.weights) if weighted else "u8"
    program = PROGRAMS[word, lanes, weighted]
    colour_list, propose, respond, finish = load("blue_red", program, for_order(order, CONSTANTS))
    rows = (graph.indptr, graph.indices, bits_of(graph.weights), as_argument(order), seed)

    mate = cp.full(n, -1, np.int32)
    colour, proposal = cp.empty(n, np.uint8), cp.empty(n, np.int32)
    old, new = cp.empty(n, np.int32), cp.empty(n, np.int32)  # the lists
    before = None  # the counts of the last round, on the device
    found, read = list[int](), 0  # the pairs of each round, and the entries read
    listed, entries = n, len(graph.indices)  # who is free and not known to be dead, and the entries of the last round
    while listed and entries and (rounds is None or len(found) < rounds):
        context.report(2 * sum(found), n)
        r, fresh = np.uint64(len(found)), np.int32(before is None)
        if lists and listed + entries <= SMALL:
            limit = HISTORY if rounds is None else min(HISTORY, rounds - len(found))
            pair, outcome = cp.zeros((2, len(COUNTS)), np.uint64), cp.empty(len(OUTCOME) + limit, np.int64)
            state = (pair if fresh else before, np.int32(n), mate, colour, proposal, old, new, pair, outcome)
            finish((1,), (BLOCK,), (*rows, r, blue_below, np.int64(limit), fresh, *state))
            done, over, seen, *pairs = outcome.get().tolist()
            found += pairs[:done]
            read += seen
            if over:
                break
            before = pair[(done - 1) % 2]
            if done % 2:
                old, new = new, old
            continue
        if len(found) % ROWS == 0:
            table = cp.zeros((ROWS, len(COUNTS)), np.uint64)
        counts = table[len(found) % ROWS]
        given = (fresh, old, counts if fresh else before, np.int32(n))
        colour_list(_blocks(listed), (BLOCK,), (*given, mate, seed, r, blue_below, colour, proposal, new, counts))
        propose(_blocks(listed * lanes), (BLOCK,), (*rows, r, new, counts, colour, proposal))
        respond(_blocks(listed * lanes), (BLOCK,), (*rows, r, new, np.int32(n), counts, proposal, mate, colour))
        _, _, alive, pairs, entries = counts.get().tolist()
        read += entries
        if not alive:
            break
        found.append(pairs)
        if lists:
            listed = alive - 2 * pairs
            before, old, new = counts, new, old
    fractions = (2 * np.cumsum(found, dtype=np.int64) / max(n, 1)).tolist()
    return Result(mate, {"rounds": len(found), "fractions": fractions, "edges_read": read}, {"kernels": clock.stop()})
