"""Blue-red: vertices are coloured at random, blue ones propose, red ones respond.

Reference: B. O. Fagginger Auer and R. H. Bisseling, A GPU algorithm for greedy graph matching, Facing the Multicore
Challenge II, LNCS 7174 (2012), and their talk of 2011.

Invariant: a round is run by the active vertices, those that are free and have a free neighbour; when there are none,
the matching is maximal. Colours and lots are hashes of (seed, round, vertices), so the result is a function of graph,
mode, p, seed and rounds alone (``reference.blue_red``).

The talk's pi is ``colour`` and ``mate`` here, and its sigma ``proposal``. No two threads write to one place: a
vertex writes its own colour and proposal, and a red one the mates of itself and of a blue one, who asked nobody else.
Cost: O(m) a round over the rows of active vertices, and about log n rounds. Without ``lists`` every round considers all
vertices, as in the talk.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.contract import Context, Result
from troth.graph import Graph
from troth.kernels.atomics import load
from troth.kernels.jit import kernel, spliced
from troth.kernels.queue import CHUNK, append, new_batches, new_queue
from troth.kernels.team import FAR, chunks, new_cursor, run_team, thread_count
from troth.order import COLOUR, PROPOSE, Order, hash2
from troth.rows import heaviest, luckiest, rows_of
from troth.words import BEST_P

SMALL = 1024  # active vertices; waking a team would cost more than a round with fewer
HISTORY = 4096  # rounds after which ``small_rounds`` reports
NEITHER, BLUE, RED = np.int8(0), np.int8(1), np.int8(2)


class Rule(NamedTuple):
    """What decides, besides the graph: colours are blue where their hash is below ``blue_below``."""

    seed: np.uint64
    blue_below: np.uint64
    weighted: bool
    order: Order


class Work(NamedTuple):
    """What the rounds write, one number a vertex; and the batches of the workers."""

    colour: np.ndarray
    proposal: np.ndarray
    mate: np.ndarray
    witness: np.ndarray  # the place of v's first free neighbour
    batches: np.ndarray


@kernel
def colour_active(worker, cursor, chunk, rows, rule, r, active, work, next_active):
    """Colour those who are still active, and pass them on; the others are neither blue nor red.

    A witness never goes back, so all rounds together read a row once.
    """
    colour, mate, kept = work.colour, work.mate, work.batches[0, worker]
    for first, last in chunks(cursor, chunk, active.tail[0]):
        stay = np.int64(0)
        for i in range(first, last):
            v = active.items[i]
            colour[v] = NEITHER
            work.proposal[v] = -1
            if mate[v] >= 0:
                continue
            e, stop = work.witness[v], rows.indptr[v + 1]
            while e < stop and mate[rows.indices[e]] >= 0:
                e += 1
            work.witness[v] = e
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
def propose(worker, cursor, chunk, rows, rule, r, active, work):
    """Every blue vertex proposes to a red neighbour, if it has one; returns the entries read."""
    read = 0
    for first, last in chunks(cursor, chunk, active.tail[0]):
        for i in range(first, last):
            v = active.items[i]
            if work.colour[v] == BLUE:
                work.proposal[v] = choose(rows, v, r, rule, work.colour, RED)
                read += rows.indptr[v + 1] - rows.indptr[v]
    return read


@kernel
def respond(worker, cursor, chunk, rows, rule, r, active, work):
    """Every red vertex takes one of the blue ones that proposed to it; returns the pairs and the entries read."""
    pairs = read = 0
    for first, last in chunks(cursor, chunk, active.tail[0]):
        for i in range(first, last):
            v = active.items[i]
            if work.colour[v] == RED:
                u = choose(rows, v, r, rule, work.proposal, v)
                if u >= 0:
                    work.mate[u], work.mate[v] = v, u
                    pairs += 1
                read += rows.indptr[v + 1] - rows.indptr[v]
    return pairs, read


@kernel
def small_rounds(worker, cursor, chunk, rows, rule, r, inner, active, spare, work, pairs):
    """Rounds r, r + 1, ... on one thread until ``pairs`` (of each round) is full, nobody is active, or an interrupt.

    The cursor is there for the interrupt; ``inner`` is that of the steps. Returns how many were run, and the entries
    read.
    """
    read = 0
    for done in range(len(pairs)):
        if load(cursor, np.uint64(0)) >= FAR:
            return done, read
        inner[0] = spare.tail[0] = 0
        colour_active(worker, inner, chunk, rows, rule, r, active, work, spare)
        active, spare = spare, active
        if active.tail[0] == 0:
            return done, read
        inner[0] = 0
        read += propose(worker, inner, chunk, rows, rule, r, active, work)
        inner[0] = 0
        pairs[done], seen = respond(worker, inner, chunk, rows, rule, r, active, work)
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
    lists: bool = True,
) -> Result:
    """The engine; see ``contract.py``. ``counts["fractions"]``: of the vertices, those matched after each round."""
    rule = Rule(context.seed, np.uint64(int(p * 2**64)), mode == "weighted", order)
    n, rows = graph.n, rows_of(graph)
    threads = thread_count(context.threads, n + len(graph.indices))
    colour, proposal, mate = np.zeros(n, np.int8), np.empty(n, np.int32), np.full(n, -1, np.int32)
    work = Work(colour, proposal, mate, graph.indptr[:-1].copy(), new_batches(threads))
    active, spare = everyone, others = new_queue(n, np.arange(n, dtype=np.int32)), new_queue(n)
    found, read = list[int](), 0  # the pairs of each round, and the entries read
    while rounds is None or len(found) < rounds:
        r, count = np.uint64(len(found)), int(active.tail[0])
        context.report(2 * sum(found), n)
        if lists and count <= SMALL:
            pairs = np.empty(HISTORY if rounds is None else min(HISTORY, rounds - len(found)), np.int64)
            given = (rows, rule, r, new_cursor(), active, spare, work, pairs)
            # By a thread other than this one, which waits for Ctrl-C.
            [(done, seen)] = run_team(small_rounds, count, 1, *given, chunk=CHUNK, serial_below=0)
            found += pairs[:done].tolist()
            read += seen
            if done < len(pairs):
                break
            if done % 2:
                active, spare = spare, active
            continue
        spare.tail[0] = 0
        run_team(colour_active, count, threads, rows, rule, r, active, work, spare)
        active, spare = spare, active
        count = int(active.tail[0])
        if not count:
            break
        read += sum(run_team(propose, count, threads, rows, rule, r, active, work))
        parts = run_team(respond, count, threads, rows, rule, r, active, work)
        found.append(sum(part[0] for part in parts))
        read += sum(part[1] for part in parts)
        if not lists:
            active, spare = everyone, others
    fractions = (2 * np.cumsum(found, dtype=np.int64) / max(n, 1)).tolist()
    counts = {"rounds": len(found), "fractions": fractions, "edges_read": read, "threads": threads}
    return Result(mate, counts, {})
