"""The auction on MPI ranks that each have a card: looks at rows by CUDA kernels, everything else on the host.

``reference_auction.py`` defines the auction; its steps by messages are those of ``auction.py``. On the card are the
rows, the prices of the local items, and what reads many rows: the bids of every round and the arms of the exchanges,
both the two best neighbours at given prices (``cuda/kernels/part_auction.cu``), and Suitor (``part_suitor.py``). On the
host are who wins a bid, paths, claims, walks and the completion, and all messages; a round takes bidders to the card,
and their two best neighbours back.

Memory on the card beside the part: 4 bytes for each vertex and ghost, and 40 for each bidder of a round.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.arrays import cupy, using
from troth.contract import Context, Result
from troth.cpu.prices import NONE, Bidding, bid_at, money, plain_prices, price_of
from troth.cuda.paths import SCALE
from troth.kernels.jit import kernel
from troth.kernels.launch import FLOATS, WARP, WORDS, define, launch, load, number_of, struct
from troth.order import ORDER_CONSTANTS, PRIORITY_BITS, Order, as_argument
from troth.ranks import part_suitor
from troth.ranks.auction import empty_result, run_by_messages
from troth.ranks.cards import PartOnCard, card_of, part_on_card
from troth.ranks.graph import DistGraph
from troth.ranks.job import agreeing
from troth.ranks.prices import Scans
from troth.ranks.rows import Part, rank_of
from troth.ranks.transfer import AUTO, goes_directly
from troth.units import value_factors

LANES = 8  # that read a row;
WIDE = 16  # one of more entries for each of them is read by a warp
CONSTANTS = (*ORDER_CONSTANTS, *define(LANES=LANES, WIDE=WIDE, SCALE_BYTES=SCALE.itemsize))
PROGRAMS = {number: (f"find_two<{number}>", "set_prices") for number in (*WORDS.values(), *FLOATS.values())}


def run(
    graph: DistGraph,
    order: Order,
    context: Context,
    *,
    eps: float = 0.02,
    slack: float = 0.02,
    rounds: int | None = 32,
    polish: int = 2,
    transfer: str = AUTO,
) -> Result:
    """The engine; see ``contract.py``."""
    if not graph.m:
        return empty_result(graph)
    card = card_of(context.comm)
    with agreeing(context.comm), using(card):  # a card may be too small
        goes_directly(transfer)
        on_card = part_on_card(graph, card, part_suitor.TILE)
    with using(card):
        return run_by_messages(
            graph,
            order,
            context,
            lambda bidding, part: CardScans(graph, bidding, part, on_card),
            lambda order: part_suitor.run(graph, order, context, transfer=transfer),
            eps=eps,
            slack=slack,
            rounds=rounds,
            polish=polish,
        )


@kernel
def make_bids(bidding, part, words, bidders, keys, entries, items, bids):
    """The bids of these bidders by their two best keys; returns unmet profit."""
    unmet = np.int64(0)
    for i in range(bidders.size):
        u = np.uint64(np.uint32(bidders[i]))
        best, second = keys[i, 0], keys[i, 1]
        items[i], bids[i] = 0, NONE
        if best != NONE:
            unmet += money(best)
            items[i] = part.indices[entries[i, 0]]
            rank, price = rank_of(part, bidding.order, u), price_of(words, np.uint64(items[i]))
            bids[i] = bid_at(bidding.eps, rank, best, second, price)
    return unmet


class CardScans(Scans):
    """The same looks on the card of a rank, on the current stream."""

    def __init__(self, graph: DistGraph, bidding: Bidding, part: Part, on_card: PartOnCard) -> None:
        self.bidding, self.part = bidding, part
        self.find_two, self.set_prices = load("part_auction", PROGRAMS[number_of(graph.weights.dtype)], CONSTANTS)
        rows = (on_card.memory[name] for name in ("indptr", "indices", "bits", "names"))
        self.rows = (*rows, struct(SCALE, *value_factors(graph)), as_argument(bidding.mixing), bidding.seed)
        self.on_card = on_card  # whose memory the rows are
        self.prices = cupy().zeros(len(graph.globals), np.float32)
        self.sizes = np.diff(part.indptr)

    def two_best(self, vertices: np.ndarray, prices: Any) -> tuple[np.ndarray, np.ndarray]:
        """The keys of the two best neighbours of own vertices at these prices, and their entries; 0 and -1: none."""
        cp, total = cupy(), len(vertices)
        keys, entries = cp.empty((total, 2), np.uint64), cp.empty((total, 2), np.int64)
        threads = -(-total * LANES // WARP) * WARP
        launch(self.find_two, threads, *self.rows, cp.asarray(vertices), np.int64(total), prices, keys, entries)
        return np.asarray(keys.get()), np.asarray(entries.get())

    def find_bids(self, words: np.ndarray, bidders: np.ndarray, items: np.ndarray, bids: np.ndarray) -> tuple[int, int]:
        keys, entries = self.two_best(bidders, self.prices)
        unmet = make_bids(self.bidding, self.part, words, bidders, keys, entries, items, bids)
        return int(unmet), int(self.sizes[bidders].sum())

    def change_words(self, vertices: np.ndarray, words: np.ndarray) -> None:
        cp, fresh = cupy(), plain_prices(words)
        launch(self.set_prices, len(fresh), cp.asarray(vertices), cp.asarray(fresh), np.int64(len(fresh)), self.prices)

    def find_arms(self, held: np.ndarray, looks: np.ndarray, profit: np.ndarray, entries: np.ndarray) -> None:
        vertices = np.flatnonzero(looks).astype(np.int32)
        keys, found = self.two_best(vertices, cupy().asarray(held))
        entries[:] = -1
        entries[vertices] = found
        profit[vertices] = (keys >> PRIORITY_BITS).astype(np.uint32).view(np.float32)
