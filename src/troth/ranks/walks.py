"""Walks by messages: a round of ``cpu/walks.py`` for a graph in parts, with the same mates.

A walk is a record that travels, with all that it has met. The owner of z chooses what z takes, y, and sends the record
by way of the owner of y, which knows y's mate, to the owner of that, the next z. All walks go in step. Where a walk
ends, its claims are sent from, to the owners of the vertices that it has met; these answer whether the walk has all of
their pairs, and are told the new mates if it has.

A round takes up to 16 exchanges for the steps, and 10 more. Cost: 172 bytes a step for each walk that leaves a rank, 12
a claim, 32 for each ghost.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from troth.cpu.prices import NONE, Bidding, bits_of, price_of, value_of
from troth.cpu.walks import LIFT
from troth.kernels.jit import inlined, kernel
from troth.kernels.team import CALLER, chunks, run_team
from troth.order import PRIORITY_BITS, WALK, hash2, priority
from troth.ranks.augment import Matched, claim_pairs, match_local
from troth.ranks.exchange import sum_over
from troth.ranks.messages import Messages
from troth.ranks.rows import Part, name_of, rank_of
from troth.units import WALK_STEPS

MET = np.dtype([("name", "i4"), ("owner", "i4"), ("place", "i4"), ("mate", "i4")])  # and its mate after the walk
RECORD = np.dtype([("gain", "i8"), ("best", "i8"), ("rank", "u8"), ("length", "i4"), ("met", MET, WALK_STEPS + 1)])
CLAIM = np.dtype([("place", "i4"), ("claim", "u8")])
CHANGE = np.dtype([("place", "i4"), ("mate", "i4"), ("left", "i4")])  # what the mate that it leaves takes, or -1


@kernel
def find_starts(part, order, mate, words, starts, ranks):
    """The own free vertices that someone has asked for, and their priorities; how many."""
    found = 0
    for v in range(part.owned):
        if mate[v] < 0 and price_of(words, v) > 0:
            starts[found], ranks[found] = v, rank_of(part, order, v)
            found += 1
    return found


@inlined
def is_closed(met, name, mate):
    """Whether a vertex is where the walk began, or of a pair that it has given up."""
    closed = False
    for i in range(met.size):
        closed |= (name == met[i]) | (mate == met[i])
    return closed


@kernel
def take(worker, cursor, chunk, part, bidding, mate, words, turn, vertices, met, entries):
    """entries[i] = the entry that own vertices[i] takes, on a walk that has met ``met[i]``; -1 where there is none."""
    rows = bidding.rows
    for start, stop in chunks(cursor, chunk, vertices.size):
        for i in range(start, stop):
            z = vertices[i]
            mask = hash2(bidding.seed, WALK, turn, name_of(part, z)) >> PRIORITY_BITS
            best, entries[i] = NONE, -1
            for e in range(np.uint64(rows.indptr[z]), np.uint64(rows.indptr[z + 1])):
                v = rows.indices[e]
                cost = price_of(words, v) if mate[v] >= 0 else np.float32(0.0)
                worth = np.float32(np.float32(value_of(rows.weights[e], bidding) - cost) + LIFT)
                key = bits_of(worth) << PRIORITY_BITS | priority(bidding.mixing, name_of(part, v) ^ mask)
                if key > best and not is_closed(met[i], part.names[v], mate[v]):
                    best, entries[i] = key, e


def walk(
    messages: Messages,
    part: Part,
    bidding: Bidding,
    weigh: Callable[[np.ndarray], np.ndarray],
    mate: np.ndarray,
    words: np.ndarray,
    turn: int,
    threads: int,
) -> tuple[np.ndarray, np.ndarray, int]:
    """One round, for the mates of the own vertices, by global number, and the words of all local items.

    Returns the mates after it, whose pairs were claimed, and how many walks were made. ``weigh`` returns the weights of
    entries, in units.
    """
    matched = match_local(messages, part, bidding, weigh, mate)
    walks = _go(messages, part, bidding, weigh, matched, words, turn, threads)

    # Claims: of the vertex where a walk began and of the pairs that it gives up.
    number, step = np.nonzero(np.arange(WALK_STEPS + 1) <= walks["length"][:, None])
    met, gain = walks["met"][number, step], walks["best"].astype(np.float64).astype(np.float32)
    sent = np.empty(len(met), CLAIM)
    sent["place"] = met["place"]
    sent["claim"] = (gain.view(np.uint32).astype(np.uint64) << PRIORITY_BITS | walks["rank"])[number]
    by_owner, came, counts = messages.to_ranks(met["owner"], sent)
    claims = claim_pairs(messages, matched, came["place"], np.ascontiguousarray(came["claim"]))
    lost = messages.answer(claims[came["place"]] != came["claim"], counts)
    made = np.ones(len(walks), np.bool_)
    made[number[by_owner[lost]]] = False

    # New mates of all that a walk has met; what these leave takes the next one, and the last of all is free.
    after = walks["met"]["name"][number, np.minimum(step + 1, WALK_STEPS)]
    changes = np.empty(len(met), CHANGE)
    changes["place"], changes["mate"] = met["place"], met["mate"]
    changes["left"] = np.where(step < walks["length"][number], after, -1)
    chosen = made[number]
    _, came, _ = messages.to_ranks(met["owner"][chosen], changes[chosen])
    fresh, leaves = mate.copy(), mate[came["place"]] >= 0
    fresh[came["place"]] = came["mate"]
    left, mates = messages.to_owners(matched.at[came["place"][leaves]], came["left"][leaves])
    fresh[left] = mates
    return fresh, claims[: part.owned] != NONE, sum_over(messages.comm, int(np.count_nonzero(made)))


def _go(
    messages: Messages,
    part: Part,
    bidding: Bidding,
    weigh: Callable[[np.ndarray], np.ndarray],
    matched: Matched,
    words: np.ndarray,
    turn: int,
    threads: int,
) -> np.ndarray:
    """All walks of all ranks: those that end here and gain."""
    team = CALLER if threads == 1 else threads
    owner = np.concatenate([np.full(part.owned, messages.comm.rank, np.int32), messages.graph.ghost_owner])
    place = np.concatenate([np.arange(part.owned, dtype=np.int32), messages.graph.ghost_place])

    def meet(walks: np.ndarray, step: int, vertices: np.ndarray) -> None:
        """The vertex that each walk meets."""
        met = walks["met"][:, step]
        met["name"], met["owner"], met["place"] = part.names[vertices], owner[vertices], place[vertices]

    at, ranks = np.empty(part.owned, np.int32), np.empty(part.owned, np.uint64)
    count = find_starts(part, bidding.order, matched.mate, words, at, ranks)
    ended: list[np.ndarray] = []
    at, walks, step = at[:count], np.zeros(count, RECORD), 0
    walks["rank"] = ranks[:count]
    meet(walks, 0, at)
    while sum_over(messages.comm, len(at)) and step < WALK_STEPS:
        entries = np.empty(len(at), np.int64)
        met = np.ascontiguousarray(walks["met"]["name"][:, : step + 1])
        run_team(take, len(at), team, part, bidding, matched.mate, words, np.uint64(turn), at, met, entries)
        goes = entries >= 0
        ended.append(walks[~goes])
        walks, at, entries = walks[goes], at[goes], entries[goes]
        y, step = part.indices[entries], step + 1
        walks["gain"] += weigh(entries) - matched.weight[y]
        better = walks["gain"] > walks["best"]
        walks["best"][better], walks["length"][better] = walks["gain"][better], step
        meet(walks, step, y)
        walks["met"]["mate"][:, step] = part.names[at]
        if step == 1:
            walks["met"]["mate"][:, 0] = part.names[y]
        goes = matched.mate[y] >= 0
        ended.append(walks[~goes])
        y, walks = messages.to_owners(y[goes], walks[goes])
        at, walks = messages.to_owners(matched.at[y], walks)
    found = np.concatenate([*ended, walks])
    return found[found["length"] > 0]
