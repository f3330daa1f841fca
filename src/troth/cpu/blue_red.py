"""Blue-red: vertices are coloured at random, blue ones propose, red ones respond.

Reference: B. O. Fagginger Auer and R. H. Bisseling, A GPU algorithm for greedy graph matching, Facing the Multicore
Challenge II, LNCS 7174 (2012), and their slides of 2011.

Invariant: a round is run by the active vertices, those that are free and have a free neighbour; when there are none,
the matching is maximal. Colours and lots are hashes of (seed, round, vertices), so the result is a function of graph,
mode, p, seed and rounds alone (``reference.blue_red``).

The slides' pi is ``colour`` and ``mate`` here, and their sigma ``proposal``. No two threads write to one place: a
vertex writes its own colour and proposal, and a red one the mates of itself and of a blue one, who asked nobody else.
Cost: O(m) a round over the rows of active vertices, and about log n rounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.contract import Context, Result
from troth.graph import Graph
from troth.kernels.atomics import load
from troth.kernels.jit import kernel, spliced
from troth.kernels.queue import CHUNK, append, new_batches, new_queue
from troth.kernels.team import FAR, new_cursor, over, take, thread_count
from troth.kernels.team import run as run_team
from troth.order import COLOUR, PROPOSE, Order, hash2
from troth.rows import heaviest, luckiest, rows_of
from troth.words import BEST_P

SMALL = 1024  # active vertices; a round with fewer is over before a team is awake
HISTORY = 4096  # rounds after which ``small_rounds`` reports
NEITHER, BLUE, RED = np.int8(0), np.int8(1), np.int8(2)


class Rule(NamedTuple):
    """What decides, besides the graph: colours are blue where their hash is below ``blue_below``."""

    seed: np.uint64
    blue_below: np.uint64
    weighted: bool
    order: Order


@kernel
def colour_active(worker, cursor, chunk, r, rule, active, rows, mate, batches, witness, colour, proposal, next_active):
    """Colour those who are still active, and pass them on; the others are neither blue nor red.

    ``witness[v]`` is the place of v's first free neighbour. It never goes back, so all rounds together read a row once.
    """
    count = active.tail[0]
    kept = batches[0, worker]
    while True:
        first = take(cursor, chunk)
        if first >= count:
            return
        stay = np.int64(0)
        for i in range(first, min(first + chunk, count)):
            v = active.items[i]
            colour[v] = NEITHER
            proposal[v] = -1
            if mate[v] >= 0:
                continue
            e, stop = witness[v], rows.indptr[v + 1]
            while e < stop and mate[rows.indices[e]] >= 0:
                e += 1
            witness[v] = e
            if e < stop:
                colour[v] = BLUE if hash2(rule.seed, COLOUR, r, np.uint64(v)) < rule.blue_below else RED
                kept[stay] = v
                stay += 1
        append(next_active, kept, stay)


@spliced
def choose(rows, x, r, rule, state, wanted):
    """The neighbour y that x picks: the largest (w(x, y), priority(y)), or the largest hash(seed, r, x, y)."""
    if rule.weighted:
        return heaviest(rows, x, rule.order, state, wanted)
    return luckiest(rows, x, hash2(rule.seed, PROPOSE, r, np.uint64(x)), state, wanted)


@kernel
def propose(worker, cursor, chunk, r, rule, active, rows, colour, proposal):
    """Every blue vertex proposes to a red neighbour, if it has one; returns the entries read."""
    count = active.tail[0]
    read = 0
    while True:
        first = take(cursor, chunk)
        if first >= count:
            return read
        for i in range(first, min(first + chunk, count)):
            v = active.items[i]
            if colour[v] == BLUE:
                proposal[v] = choose(rows, v, r, rule, colour, RED)
                read += rows.indptr[v + 1] - rows.indptr[v]


@kernel
def respond(worker, cursor, chunk, r, rule, active, rows, colour, proposal, mate):
    """Every red vertex takes one of the blue ones that proposed to it; returns the pairs and the entries read."""
    count = active.tail[0]
    pairs = read = 0
    while True:
        first = take(cursor, chunk)
        if first >= count:
            return pairs, read
        for i in range(first, min(first + chunk, count)):
            v = active.items[i]
            if colour[v] == RED:
                u = choose(rows, v, r, rule, proposal, v)
                if u >= 0:
                    mate[u], mate[v] = v, u
                    pairs += 1
                read += rows.indptr[v + 1] - rows.indptr[v]


@kernel
def small_rounds(worker, cursor, inner, r, rule, active, spare, rows, batches, witness, colour, proposal, mate, pairs):
    """Rounds r, r + 1, ... on one thread until ``pairs`` (of each round) is full, nobody is active, or an interrupt.

    Returns how many were run, and the entries read.
    """
    read = 0
    for done in range(len(pairs)):
        if load(cursor, np.uint64(0)) >= FAR:
            return done, read
        inner[0] = spare.tail[0] = 0
        colour_active(worker, inner, CHUNK, r, rule, active, rows, mate, batches, witness, colour, proposal, spare)
        active, spare = spare, active
        if active.tail[0] == 0:
            return done, read
        inner[0] = 0
        read += propose(worker, inner, CHUNK, r, rule, active, rows, colour, proposal)
        inner[0] = 0
        pairs[done], seen = respond(worker, inner, CHUNK, r, rule, active, rows, colour, proposal, mate)
        read += seen
        r += np.uint64(1)
    return len(pairs), read


def run(
    graph: Graph,
    order: Order,
    context: Context,
    *,
    mode: str = "weighted",
    p: float = BEST_P,
    rounds: int | None = None,
) -> Result:
    """The engine; see ``contract.py``. ``counts["fractions"]`` are the fractions of vertices matched after each round."""
    rule = Rule(context.seed, np.uint64(int(p * 2**64)), mode == "weighted", order)
    n, rows = graph.n, rows_of(graph)
    threads = thread_count(context.threads, n + len(graph.indices))
    mate, proposal, colour = np.full(n, -1, np.int32), np.empty(n, np.int32), np.zeros(n, np.int8)
    active, spare, witness = new_queue(n, np.arange(n, dtype=np.int32)), new_queue(n), graph.indptr[:-1].copy()
    batches = new_batches(threads)
    found, read = [], 0  # the pairs of each round, and the entries read
    while rounds is None or len(found) < rounds:
        r, count = np.uint64(len(found)), int(active.tail[0])
        context.report(2 * sum(found), n)
        if count <= SMALL:
            pairs = np.empty(HISTORY if rounds is None else min(HISTORY, rounds - len(found)), np.int64)
            cursor, state = new_cursor(), (batches, witness, colour, proposal, mate, pairs)
            [(done, seen)] = run_team(
                1, small_rounds, cursor, new_cursor(), r, rule, active, spare, rows, *state, cursor=cursor
            )
            found += pairs[:done].tolist()
            read += seen
            if done < len(pairs):
                break
            if done % 2:
                active, spare = spare, active
            continue
        spare.tail[0] = 0
        over(count, threads, colour_active, r, rule, active, rows, mate, batches, witness, colour, proposal, spare)
        active, spare = spare, active
        count = int(active.tail[0])
        if not count:
            break
        read += sum(over(count, threads, propose, r, rule, active, rows, colour, proposal))
        parts = over(count, threads, respond, r, rule, active, rows, colour, proposal, mate)
        found.append(sum(part[0] for part in parts))
        read += sum(part[1] for part in parts)
    fractions = (2 * np.cumsum(found, dtype=np.int64) / max(n, 1)).tolist()
    counts = {"rounds": len(found), "fractions": fractions, "edges_read": read, "threads": threads}
    return Result(mate, counts, {})
