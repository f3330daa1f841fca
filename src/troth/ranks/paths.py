"""The heaviest matching on paths and cycles that run across ranks: each is brought to one rank, and decided there.

A rank's own vertices on a path make *pieces*, which lead to other ranks at one end or both. A piece has two *ways* out.
Who comes into a piece by one goes on by the other, so a way has a next one, on another rank, or none. Pointers to
ways are doubled: in round k a way knows the least label among the 2^k pieces ahead of it, and where these end. When no
label changes in a round, every label is the least of all ahead; the less of a piece's two names the path, and the rank
to which it goes. (Let no way of a cycle change its label in round k. Then it is at most the label 2^k ahead, and so
around the cycle; so all those that are some number of steps of 2^k apart are equal, and their 2^k pieces are all.)

A path that is all on one rank stays there. What came together is solved by ``cpu/paths.py``.

Cost: about log2(pieces of the longest path) rounds with 20 bytes for each way, and 32 bytes for each vertex of a path
that crosses. Memory: a path of n vertices would be one rank's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from troth.cpu.paths import Links, match_paths
from troth.cpu.prices import Workers
from troth.kernels.jit import inlined, kernel
from troth.order import MASK, PRIORITY_BITS, Order, make_order, priority
from troth.ranks.exchange import reduce
from troth.ranks.messages import Messages
from troth.ranks.rows import Part, entry_of
from troth.rows import NumberRows
from troth.units import Units

NO_VERTEX = np.int32(2**31 - 1)  # behind all neighbours in a row
LINK = np.dtype([("name", "i4"), ("ends", "i4", 2), ("weights", "i8", 2)])  # a vertex, its edges (-1: none), in units
ENTRANCE = np.dtype([("name", "i4"), ("rank", "i4"), ("way", "i4")])
WAY = np.dtype([("rank", "i4"), ("way", "i4"), ("label", "u8")])


class Pieces:
    """The pieces of paths that lead to other ranks; way 2 p + s leaves piece p at side s."""

    def __init__(self, owned: int) -> None:
        self.of = np.full(owned, -1, np.int32)  # the piece of each own vertex
        self.ends = np.empty((owned, 2), np.int32)  # its two end vertices,
        self.ghosts = np.empty((owned, 2), np.int32)  # and where they lead, -1 where the path ends
        self.count = 0


@kernel
def find_links(part, vertices, first, second, entries, local):
    """The entries of the edges of some own vertices, and the local numbers of their other ends."""
    for i in range(vertices.size):
        v = vertices[i]
        for side in range(2):
            end = first[v] if side == 0 else second[v]
            entries[i, side] = local[v, side] = -1
            if end >= 0:
                entries[i, side] = entry_of(part, v, end)
                local[v, side] = part.indices[entries[i, side]]


@inlined
def other_end(local, x, came):
    """Where the path goes from x, for one who came from ``came``."""
    return local[x, 1] if local[x, 0] == came else local[x, 0]


@kernel
def find_pieces(vertices, owned, local, of, ends, ghosts):
    """The pieces among some own vertices; how many there are."""
    count = 0
    for i in range(vertices.size):
        x = vertices[i]
        if of[x] >= 0 or max(local[x, 0], local[x, 1]) < owned:
            continue
        came = local[x, 0] if local[x, 0] >= owned else local[x, 1]
        ends[count, 0], ghosts[count, 0] = x, came
        while True:
            of[x] = count
            ahead = other_end(local, x, came)
            if not 0 <= ahead < owned:
                break
            came, x = x, ahead
        ends[count, 1], ghosts[count, 1] = x, ahead
        count += 1
    return count


@kernel
def rank_names(order, names, ranks):
    """ranks[i] = the priority of names[i]."""
    for i in range(names.size):
        ranks[i] = priority(order, np.uint64(np.uint32(names[i])))


def match_on_paths(
    messages: Messages,
    part: Part,
    weigh: Callable[[np.ndarray], np.ndarray],
    first: np.ndarray,
    second: np.ndarray,
    arcs: bool,
    mixing: Order,
    threads: int,
) -> np.ndarray:
    """The mates of the own vertices in the heaviest matching, from their firsts and seconds; all by global number.

    ``weigh`` returns the weights of entries, in units.
    """
    mate, rest = np.where(first == second, first, np.int32(-1)), np.flatnonzero(first != second).astype(np.int32)
    entries, local = np.empty((len(rest), 2), np.int64), np.empty((len(mate), 2), np.int32)
    find_links(part, rest, first, second, entries, local)
    links = np.empty(len(rest), LINK)
    links["name"], links["weights"] = part.names[rest], weigh(entries)
    links["ends"][:, 0], links["ends"][:, 1] = first[rest], second[rest]
    pieces = Pieces(len(mate))
    pieces.count = find_pieces(rest, len(mate), local, pieces.of, pieces.ends, pieces.ghosts)

    rank = messages.comm.rank
    goes, across = np.full(len(rest), rank, np.int32), pieces.of[rest]
    goes[across >= 0] = (_label(messages, part, mixing, pieces) & MASK).astype(np.int32)[across[across >= 0]]
    away = goes != rank
    by_owner, came, counts = messages.to_ranks(goes[away], links[away])
    here = np.flatnonzero(~away)
    found = solve_links(np.concatenate([links[here], came]), arcs, mixing, threads)
    mate[rest[here]] = found[: len(here)]
    mate[rest[away][by_owner]] = messages.answer(found[len(here) :], counts)
    return mate


def _label(messages: Messages, part: Part, mixing: Order, pieces: Pieces) -> np.ndarray:
    """For each piece ``priority << 32 | rank`` of the least piece on its path, by the priority of an end."""
    rank, count = messages.comm.rank, pieces.count
    ends, ghosts = pieces.ends[:count], pieces.ghosts[:count]
    ways = np.empty(2 * count, WAY)
    ways["rank"], ways["way"] = rank, -1
    least = np.empty(count, np.uint64)
    rank_names(mixing, part.names[ends[:, 0]], least)
    ways["label"] = np.repeat(least << PRIORITY_BITS | np.uint64(rank), 2)

    # Who comes by side s leaves by the other: that is the next way of the one who stands before side s.
    piece, side = np.nonzero(ghosts >= 0)
    enter = np.empty(len(piece), ENTRANCE)
    enter["name"], enter["rank"], enter["way"] = part.names[ends[piece, side]], rank, 2 * piece + 1 - side
    places, came = messages.to_owners(ghosts[piece, side], enter)
    piece = pieces.of[places]
    beyond = part.names[np.maximum(ghosts[piece], 0)]
    side = np.where((ends[piece, 0] == places) & (ghosts[piece, 0] >= 0) & (beyond[:, 0] == came["name"]), 0, 1)
    ways["rank"][2 * piece + side], ways["way"][2 * piece + side] = came["rank"], came["way"]

    while True:
        going = np.flatnonzero(ways["way"] >= 0)
        by_owner, asked, counts = messages.to_ranks(ways["rank"][going], ways["way"][going])
        ahead = np.empty(len(going), WAY)
        ahead[by_owner] = messages.answer(ways[asked], counts)
        changed = np.count_nonzero(ahead["label"] < ways["label"][going])
        ahead["label"] = np.minimum(ahead["label"], ways["label"][going])
        ways[going] = ahead
        if not reduce(messages.comm, np.array([changed], np.int64))[0]:
            return ways["label"].reshape(count, 2).min(axis=1)


def solve_links(links: np.ndarray, arcs: bool, mixing: Order, threads: int) -> np.ndarray:
    """The mates, by global number, in the heaviest matching on whole paths and cycles.

    ``cpu/paths.py`` gets a graph of these edges, whose vertices are numbered by their priorities.
    """
    n = len(links)
    if not n:
        return np.empty(0, np.int32)
    ranks = np.empty(n, np.uint64)
    rank_names(mixing, links["name"], ranks)
    by_rank = np.argsort(ranks)
    links = links[by_rank]
    by_name = np.argsort(links["name"]).astype(np.int32)
    ends = by_name[np.searchsorted(links["name"][by_name], links["ends"]) % n]
    ends[links["ends"] < 0] = NO_VERTEX
    rising = np.argsort(ends, axis=1)
    weights = np.take_along_axis(links["weights"], rising, axis=1).ravel().view(np.uint64)
    rows = NumberRows(2 * np.arange(n + 1), np.take_along_axis(ends, rising, axis=1).ravel(), weights)
    ends[links["ends"] < 0] = -1
    workers, mate = Workers(threads), np.empty(n, np.int32)
    first, second = np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])
    given = Links(rows, Units(np.int64(0), 1.0, 1.0), first, second, arcs, make_order("high"))
    match_paths(workers, given, workers.queue(n), mate)
    found = np.empty(n, np.int32)
    found[by_rank] = np.where(mate >= 0, links["name"][mate], -1)
    return found
