"""The heaviest matching of edges that are paths and cycles: each vertex has up to two, to its *first* and its *second*.

Two matchings make such edges, and so do the arcs of an auction, from a bidder to its item (its first) and back from the
item to the bidder (its second). ``reference_auction.py`` defines which of several heaviest matchings it is.

Along a path d(t) = max(0, w(t) - d(t - 1)) is what edge t gains; edge t is taken if d(t) > 0 and edge t + 1 is not. So
a *run* of edges with d > 0 up to one with d = 0, or the end, is taken every other edge from its last one back: it is
decided as soon as it ends, by walking back over it, and nothing need be kept. Weights are in units (``units.py``).

A worker walks a path alone. Paths are tens of edges long, in most graphs; where all weights are equal, thousands.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.cpu.prices import Workers
from troth.kernels.jit import inlined, kernel
from troth.kernels.queue import VertexQueue, append, new_batches
from troth.kernels.team import chunks
from troth.order import Order, priority
from troth.rows import NumberRows, entry_of
from troth.units import Units, units_up

UNKNOWN = np.int32(-2)  # the mate of a vertex that no walk has reached


class Links(NamedTuple):
    """The graph, the edges (-1: none), whether they are arcs, and the order of the ends of a path."""

    rows: NumberRows
    units: Units
    first: np.ndarray
    second: np.ndarray
    arcs: bool
    mixing: Order


@kernel
def weight_of(rows, units, u, v):
    """The weight of the edge between u and v, in units; 0 where v is -1."""
    if v < 0:
        return np.int64(0)
    return units_up(rows.weights[entry_of(rows, u, v)], units)


@inlined
def onward(links, x, came):
    """Where the path goes from x, for one who came from ``came`` (-1: begins at x); -1 at its end."""
    return links.second[x] if links.first[x] == came else links.first[x]


@kernel
def take_run(links, x, ahead, edges, mate):
    """Decide a run of so many edges that ends at x, before ``ahead``: every other one is taken, from the last back."""
    while edges > 0:
        y = onward(links, x, ahead)
        mate[x], mate[y] = y, x
        if edges == 1:
            return
        ahead, x = y, onward(links, y, x)
        edges -= 2
    mate[x] = -1


@kernel
def take_path(links, x, came, edges, mate):
    """Decide the path of so many edges (-1: to its end) that begins at x, away from ``came``."""
    run, gain = 0, np.int64(0)
    ahead = onward(links, x, came)
    while edges != 0 and ahead >= 0:
        gain = max(np.int64(0), weight_of(links.rows, links.units, x, ahead) - gain)
        run += 1
        if gain == 0:
            take_run(links, x, ahead, run - 1, mate)
            run = 0
        came, x = x, ahead
        ahead = onward(links, x, came)
        edges -= 1
    take_run(links, x, ahead, run, mate)


@kernel
def weigh_path(links, x, came, edges):
    """The weight of the heaviest matching on a path of so many edges, modulo 2^64."""
    total, gain = np.uint64(0), np.int64(0)
    for _ in range(edges):
        ahead = onward(links, x, came)
        gain = max(np.int64(0), weight_of(links.rows, links.units, x, ahead) - gain)
        total += np.uint64(gain)
        came, x = x, ahead
    return total


@kernel
def begins_here(links, v):
    """Whether the path of which v is an end is walked from v."""
    mine = links.first[v] >= 0
    if links.arcs:
        return mine
    came, x = np.int32(-1), v
    while True:
        ahead = onward(links, x, came)
        if ahead < 0:
            break
        came, x = x, ahead
    theirs = links.first[x] >= 0
    if mine != theirs:
        return mine
    return priority(links.mixing, np.uint64(v)) > priority(links.mixing, np.uint64(x))


@kernel
def settle_pairs(worker, cursor, chunk, links, batches, mate, ends):
    """Pairs are matched, the ends of paths are listed, and vertices with an edge are UNKNOWN otherwise."""
    batch = batches[0, worker]
    for start, stop in chunks(cursor, chunk, mate.size):
        found = np.int64(0)
        for v in range(start, stop):
            first, second = links.first[v], links.second[v]
            mate[v] = first if first == second else UNKNOWN
            batch[found] = v
            found += (first < 0) != (second < 0)
        append(ends, batch, found)


@kernel
def settle_paths(worker, cursor, chunk, links, ends, mate):
    """The paths that begin at one of the ends."""
    for start, stop in chunks(cursor, chunk, ends.tail[0]):
        for i in range(start, stop):
            if begins_here(links, ends.items[i]):
                take_path(links, ends.items[i], np.int32(-1), -1, mate)


@kernel
def settle_cycles(worker, cursor, chunk, links, mate):
    """The cycles, by the vertex of greatest priority on each: who meets a greater one on its way round leaves it.

    The two weights, with the first edge and without it, are large; their difference is at most that of two edges, so
    it is right modulo 2^64. A vertex that is found UNKNOWN may be decided meanwhile by the one that is to decide it.
    """
    for start, stop in chunks(cursor, chunk, mate.size):
        for v in range(start, stop):
            if mate[v] != UNKNOWN:
                continue
            rank = priority(links.mixing, np.uint64(v))
            came, x, edges = np.int32(v), links.first[v], np.int64(1)
            while x != v and priority(links.mixing, np.uint64(x)) < rank:
                came, x = x, onward(links, x, came)
                edges += 1
            if x != v:
                continue
            one = links.first[v]
            two = onward(links, one, np.int32(v))
            inside = np.uint64(weight_of(links.rows, links.units, v, one)) + weigh_path(links, two, one, edges - 3)
            if np.int64(inside - weigh_path(links, one, np.int32(v), edges - 1)) > 0:
                mate[v], mate[one] = one, v
                take_path(links, two, one, edges - 3, mate)
            else:
                take_path(links, one, np.int32(v), edges - 1, mate)


def match_paths(workers: Workers, links: Links, ends: VertexQueue, mate: np.ndarray) -> None:
    """Find the heaviest matching; ``ends`` is room for a queue of vertices."""
    n = len(mate)
    workers.empty(ends)
    workers.run(settle_pairs, n, links, new_batches(workers.threads), mate, ends)
    workers.run(settle_paths, int(ends.tail[0]), links, ends, mate)
    workers.run(settle_cycles, n, links, mate)
