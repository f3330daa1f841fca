"""Prices by messages: the auction of ``cpu/prices.py`` for a graph in parts, with the same words.

The owner of an item has its word, and so has every rank that has it as a ghost: as it was when the round began. A
round: (1) own active bidders look for the item of greatest profit, and what they bid at most for each item goes to its
owner; (2) the owners take the greatest bids, and tell the new words to all ranks that have the item; (3) a bidder has
lost if the word is not its bid, and a holder is displaced if its word is another's: both are found where the bidder
is. Two exchanges and one sum of whole numbers a round.

Memory: 4 bytes an entry and 16 for each local vertex. Cost: 12 bytes for each item a rank bids for, and for each word
that changes and each rank that has it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from troth.cpu.prices import (
    NONE,
    Bidding,
    bid_at,
    item_of,
    make_bidding,
    mask_of,
    money,
    price_of,
    value_of,
)
from troth.kernels.jit import inlined, kernel, spliced
from troth.kernels.team import chunks
from troth.order import ONE, PRIORITY_BITS, Order, priority, vertex
from troth.ranks.exchange import reduce
from troth.ranks.graph import DistGraph
from troth.ranks.messages import Messages, greatest
from troth.ranks.rows import Part, entry_of, name_of, own_place, part_of, rank_of
from troth.rows import NumberRows


class Scans(Protocol):
    """Looks at the rows of a rank's own vertices: on its CPU (``scans.py``) or on its card (``part_auction.py``)."""

    def find_bids(self, words: np.ndarray, bidders: np.ndarray, items: np.ndarray, bids: np.ndarray) -> tuple[int, int]:
        """An item and a bid for each of these bidders (NONE: it leaves); returns unmet profit and entries read."""

    def change_words(self, vertices: np.ndarray, words: np.ndarray) -> None:
        """Some local items have new words, before the next bids."""

    def find_arms(self, held: np.ndarray, looks: np.ndarray, profit: np.ndarray, entries: np.ndarray) -> None:
        """The two best arms of own vertices that look for them, and their profits; -1: there is none."""


@kernel
def find_values(bidding, values):
    """values[e] = the weight of entry e as bidders count it."""
    for e in range(values.size):
        values[e] = value_of(bidding.rows.weights[e], bidding)


def make_part_bidding(graph: DistGraph, order: Order, seed: int, eps: float) -> tuple[Bidding, Part]:
    """The rules for a rank's part, and the part, with weights as bidders count them: kernels have one type of them."""
    given, values = make_bidding(graph, order, seed, eps), np.empty(len(graph.indices), np.float32)
    find_values(given, values)
    rows = NumberRows(graph.indptr, graph.indices, values)
    return given._replace(rows=rows, first=1.0, second=1.0), part_of(graph)._replace(bits=values.view(np.uint32))


@spliced
def best_two(bidding, part, mask, u, prices):
    """As ``cpu/prices.py`` has it, for own u: ``prices`` are by local number, the scramble is by global number."""
    rows = bidding.rows
    best = second = NONE
    for e in range(np.uint64(rows.indptr[u]), np.uint64(rows.indptr[u + ONE])):
        v = np.uint64(np.uint32(rows.indices[e]))
        profit = np.float32(value_of(rows.weights[e], bidding) - price_of(prices, v))
        above = np.uint64(np.uint32(max(np.int32(0), profit.view(np.int32))))
        key = above << PRIORITY_BITS | priority(bidding.mixing, name_of(part, v) ^ mask)
        second = max(second, min(best, key))
        best = max(best, key)
    return best, second


@inlined
def entry_in(bidding, part, u, key, mask):
    """The entry of the item in a key; -1 where its profit is 0."""
    return entry_of(part, u, item_of(bidding.mixing, key, mask)) if key >> PRIORITY_BITS != NONE else np.int64(-1)


@kernel
def look(worker, cursor, chunk, bidding, part, words, bidders, items, bids):
    """The bidders of a round find an item and a bid (NONE: they leave); returns unmet profit and entries read."""
    unmet = read = np.int64(0)
    for start, stop in chunks(cursor, chunk, bidders.size):
        for i in range(start, stop):
            u = np.uint64(np.uint32(bidders[i]))
            mask = mask_of(bidding.seed, name_of(part, u))
            best, second = best_two(bidding, part, mask, u, words)
            read += part.indptr[u + ONE] - part.indptr[u]
            items[i], bids[i] = 0, NONE
            if best >> PRIORITY_BITS != NONE:
                unmet += money(best)
                items[i] = part.indices[entry_in(bidding, part, u, best, mask)]
                rank, price = rank_of(part, bidding.order, u), price_of(words, np.uint64(items[i]))
                bids[i] = bid_at(bidding.eps, rank, best, second, price)
    return unmet, read


@kernel
def take_words(part, order, vertices, fresh, words, displaced):
    """words[v] = the new word of local v; own holders that lose v are listed: (how many, what own v cost more)."""
    lost, paid = 0, np.int64(0)
    for i in range(vertices.size):
        v = vertices[i]
        old, words[v] = words[v], fresh[i]
        if old != NONE:
            u = own_place(part, vertex(order, old))
            if u >= 0:
                displaced[lost] = u
                lost += 1
        if v < part.owned:
            paid += money(fresh[i]) - money(old)
    return lost, paid


def find_prices(
    messages: Messages, bidding: Bidding, part: Part, scans: Scans, slack: float, rounds: int | None
) -> tuple[np.ndarray, dict[str, int]]:
    """Hold the auction; the words of all local items, and counts."""
    local = len(part.names)
    words, kept = np.zeros(local, np.uint64), np.zeros(local, np.uint64)
    active = np.arange(part.owned, dtype=np.int32)
    done = looks = edges = paid = more = 0
    while rounds is None or done < rounds:
        items, bids = np.empty(len(active), np.int32), np.empty(len(active), np.uint64)
        unmet, read = scans.find_bids(words, active, items, bids)
        looks, edges = looks + len(active), edges + read
        count, unmet, more = reduce(messages.comm, np.array([len(active), unmet, more], np.int64)).tolist()
        paid += more
        if not count or float(unmet) <= slack * float(paid):
            break
        made = bids != NONE
        changed = greatest(messages, items[made], bids[made], kept)
        fresh = kept[changed]
        kept[changed] = NONE
        ghosts, told = messages.to_ghosts(changed, fresh)
        vertices, fresh = np.concatenate([changed, ghosts]), np.concatenate([fresh, told])
        displaced = np.empty(len(vertices), np.int32)
        lost, more = take_words(part, bidding.order, vertices, fresh, words, displaced)
        scans.change_words(vertices, fresh)
        active = np.concatenate([active[made & (words[items] != bids)], displaced[:lost]])
        done += 1
    return words, {"rounds": done, "scans": looks, "edges_read": edges}
