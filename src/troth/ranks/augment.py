"""Exchanges by messages: a round of ``cpu/augment.py`` for a graph in parts, with the same mates.

A pair {a, b}, a < b, is a centre, and so is a free vertex a; the owner of a decides for it. The owner of b sends it b's
arms. A claim to a vertex goes to its owner, which keeps the greatest; that of a pair is the greater of those of its two
vertices. An arm of b is claimed, and seen to be won, at the owner of b, where it leads to a local vertex.

A round takes 12 exchanges. Cost: 36 bytes for each pair across ranks, 32 for each ghost, and 12 a claim.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from troth.cpu.prices import NONE, Bidding, bits_of, mask_of, profit_of
from troth.kernels.jit import kernel
from troth.kernels.team import chunks
from troth.order import PRIORITY_BITS
from troth.ranks.exchange import sum_over
from troth.ranks.messages import Messages, greatest
from troth.ranks.prices import Scans, best_two, entry_in
from troth.ranks.rows import Part, entry_of, name_of, rank_of

ARMS = np.dtype([("profit", "f4", 2), ("to", "i4", 2), ("gain", "i8", 2)])
CHOICE = np.dtype([("arm", "i4"), ("claim", "u8")])


class Matched(NamedTuple):
    """What is matched at the local vertices."""

    mate: np.ndarray  # by global number, -1 where there is none
    at: np.ndarray  # its local number, of own vertices
    held: np.ndarray  # the weight as bidders count it
    weight: np.ndarray  # and in units; 0 where there is none


class Arms(NamedTuple):
    """The two best arms of the own vertices; -1: there is none."""

    profit: np.ndarray
    to: np.ndarray  # local numbers
    gain: np.ndarray  # the weight of the arm less what its end gives up, in units


class Wishes(NamedTuple):
    """The centres that would gain, by their own smaller vertex: their arms and claims."""

    centre: np.ndarray
    x: np.ndarray  # the local vertex to which the arm of a leads, or -1
    arm: np.ndarray  # which of b's arms, or -1
    claim: np.ndarray


@kernel
def hold(part, bidding, mate, entries, at, held):
    """The entries of the mates of own vertices, where they lead, and their weights as bidders count them."""
    for v in range(part.owned):
        entries[v], at[v], held[v] = -1, -1, np.float32(0.0)
        if mate[v] >= 0:
            entries[v] = entry_of(part, v, mate[v])
            at[v], held[v] = part.indices[entries[v]], bidding.rows.weights[entries[v]]


@kernel
def find_arms(worker, cursor, chunk, part, bidding, held, looks, profit, entries):
    """The two best arms of own vertices that look for them, and their profits; -1: there is none."""
    for start, stop in chunks(cursor, chunk, part.owned):
        for v in range(np.uint64(start), np.uint64(stop)):
            entries[v, 0] = entries[v, 1] = -1
            if not looks[v]:
                continue
            mask = mask_of(bidding.seed, name_of(part, v))
            best, second = best_two(bidding, part, mask, v, held)
            profit[v, 0], entries[v, 0] = profit_of(best), entry_in(bidding, part, v, best, mask)
            profit[v, 1], entries[v, 1] = profit_of(second), entry_in(bidding, part, v, second, mask)


@kernel
def choose_arms(part, order, matched, looks, arms, theirs, wishes):
    """The centres that would gain by the arms of a and, ``theirs``, of b; how many."""
    count = 0
    for a in range(part.owned):
        b = np.int64(matched.mate[a])
        if not looks[a] or 0 <= b < np.int64(name_of(part, a)):
            continue
        mine, yours = 0, 0
        x = arms.to[a, 0]
        if x >= 0 and part.names[x] == theirs.to[a, 0]:
            left = np.float32(arms.profit[a, 0] + theirs.profit[a, 1])
            if left >= np.float32(arms.profit[a, 1] + theirs.profit[a, 0]):
                yours = 1
            else:
                mine = 1
        x, y = arms.to[a, mine], theirs.to[a, yours]
        profit = np.float32(arms.profit[a, mine] + theirs.profit[a, yours])
        if np.float32(profit - matched.held[a]) > np.float32(0.0):
            gain = arms.gain[a, mine] + theirs.gain[a, yours] - matched.weight[a]
            if x >= 0 and y >= 0 and matched.mate[x] == y:
                gain += matched.weight[x]  # that pair is given up once
            if gain > 0:
                claim = bits_of(np.float32(np.float64(gain))) << PRIORITY_BITS | rank_of(part, order, a)
                wishes.centre[count], wishes.x[count], wishes.claim[count] = a, x, claim
                wishes.arm[count] = yours if y >= 0 else -1
                count += 1
    return count


def augment(
    messages: Messages,
    part: Part,
    bidding: Bidding,
    scans: Scans,
    weigh: Callable[[np.ndarray], np.ndarray],
    mate: np.ndarray,
    looks: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, int]:
    """One round, for the own vertices that look for arms, and if one of a pair does, so does the other.

    Returns their mates after it, by global number, who looks in the next round, and how many centres changed. ``weigh``
    returns the weights of entries, in units.
    """
    owned = len(mate)
    matched = match_local(messages, part, bidding, weigh, mate)
    profit, entries = np.empty((owned, 2), np.float32), np.empty((owned, 2), np.int64)
    scans.find_arms(matched.held, looks, profit, entries)
    to = np.where(entries >= 0, part.indices[entries], np.int32(-1)) if len(part.indices) else entries.astype(np.int32)
    arms = Arms(profit, to, weigh(entries) - np.where(to >= 0, matched.weight[to], 0))
    theirs = _bring_arms(messages, part, matched, looks, arms)
    wishes = Wishes(*(np.empty(owned, kind) for kind in (np.int32, np.int32, np.int32, np.uint64)))
    count = choose_arms(part, bidding.order, matched, looks, arms, theirs, wishes)
    wishes = Wishes(*(values[:count] for values in wishes))

    def tell_other(chosen: np.ndarray, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A record for the larger vertex of each pair among some centres, to its owner."""
        return messages.to_owners(matched.at[wishes.centre[chosen]], records)

    # Claims: of own pairs and of what the arms lead to.
    with_arm = np.flatnonzero(wishes.arm >= 0)
    sent = np.empty(len(with_arm), CHOICE)
    sent["arm"], sent["claim"] = wishes.arm[with_arm], wishes.claim[with_arm]
    larger, choices = tell_other(with_arm, sent)
    y, reach = arms.to[larger, choices["arm"]], wishes.x >= 0
    claimed = np.concatenate([wishes.centre, wishes.x[reach], y])
    claims = claim_pairs(
        messages, matched, claimed, np.concatenate([wishes.claim, wishes.claim[reach], choices["claim"]])
    )

    # A centre changes if it has all of them; the owner of b says where b's arm was lost.
    changes = (claims[wishes.centre] == wishes.claim) & (~reach | (claims[wishes.x] == wishes.claim))
    lost = claims[y] != choices["claim"]
    failed, _ = messages.to_owners(matched.at[larger[lost]], lost[lost])
    changes &= ~np.isin(wishes.centre, failed)

    # New mates of a and x, of b and y; whoever is left by one of these and has no new mate is free.
    chosen = np.flatnonzero(changes)
    pairs = chosen[matched.mate[wishes.centre[chosen]] >= 0]
    larger, arm = tell_other(pairs, wishes.arm[pairs])
    y = np.where(arm >= 0, arms.to[larger, np.maximum(arm, 0)], -1)
    one, other = np.concatenate([wishes.centre[chosen], larger]), np.concatenate([wishes.x[chosen], y])
    joins = other >= 0
    vertices = np.concatenate([one, other[joins]])
    mates = np.concatenate([np.where(joins, part.names[other], -1), part.names[one[joins]]]).astype(np.int32)
    joined, mates = messages.to_owners(vertices, mates)
    fresh = mate.copy()
    left, _ = messages.to_owners(matched.at[joined[mate[joined] >= 0]], mate[joined[mate[joined] >= 0]])
    fresh[left] = -1
    fresh[joined] = mates
    return fresh, claims[:owned] != NONE, sum_over(messages.comm, len(chosen))


def match_local(messages: Messages, part: Part, bidding: Bidding, weigh: Callable, mate: np.ndarray) -> Matched:
    """What is matched at all local vertices."""
    owned, local = len(mate), len(part.names)
    matched = Matched(*(np.empty(*what) for what in ((local, "i4"), (owned, "i4"), (local, "f4"), (local, "i8"))))
    matched.mate[:owned] = mate
    entries = np.empty(owned, np.int64)
    hold(part, bidding, mate, entries, matched.at, matched.held)
    matched.weight[:owned] = weigh(entries)
    for values in (matched.mate, matched.held, matched.weight):
        messages.all_to_ghosts(values)
    return matched


def _bring_arms(messages: Messages, part: Part, matched: Matched, looks: np.ndarray, arms: Arms) -> Arms:
    """For own vertices the arms of their mates that are larger, with global numbers; none elsewhere."""
    mate = matched.mate[: messages.owned]
    larger = np.flatnonzero(looks & (mate >= 0) & (mate < part.names[: messages.owned])).astype(np.int32)
    sent = np.empty(len(larger), ARMS)
    sent["profit"], sent["gain"] = arms.profit[larger], arms.gain[larger]
    sent["to"] = np.where(arms.to[larger] >= 0, part.names[arms.to[larger]], -1)
    places, came = messages.to_owners(matched.at[larger], sent)
    theirs = Arms(np.zeros_like(arms.profit), np.full_like(arms.to, -1), np.zeros_like(arms.gain))
    theirs.profit[places], theirs.to[places], theirs.gain[places] = came["profit"], came["to"], came["gain"]
    return theirs


def claim_pairs(messages: Messages, matched: Matched, vertices: np.ndarray, claims: np.ndarray) -> np.ndarray:
    """The greatest claim to the pair of each local vertex, NONE where there is none."""
    owned = messages.owned
    found = np.zeros(len(matched.mate), np.uint64)
    greatest(messages, vertices, claims, found)
    messages.all_to_ghosts(found)
    paired = matched.at >= 0
    found[:owned] = np.maximum(found[:owned], np.where(paired, found[matched.at], NONE))
    messages.all_to_ghosts(found)
    return found
