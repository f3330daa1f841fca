"""Auction: bids, prices and items; then paths and cycles, the merge with the stable matching, exchanges, walks."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from troth.cpu.prices import NONE
from troth.order import PRIORITY_BITS
from troth.viz.story import Arrow, Story, Watching, listing, number, plural
from troth.words import counted

LINES = {
    "repeat": "repeat",
    "bid": "    who has no item bids for its best one",
    "win": "    the greatest bid wins and is the price",
    "until": "until little profit is left to gain",
    "arcs": "bidders and items make paths and cycles",
    "choose": "    take the heaviest matching of each",
    "stable": "so do this matching and a stable one",
    "merge": "    take the heaviest matching of each",
    "arms": "pairs and free vertices want others",
    "exchange": "    who gains most nearby gets them",
    "walk": "    free vertices look for each other",
    "complete": "free neighbours match",
    "end": "return mate",
}


class Auction(Story):
    """Watches whole rounds, since all bidders act at once, and then each step."""

    title = "Auction"
    reference = "D. Bertsekas, Annals of Operations Research 14 (1988); S. Pettie and P. Sanders, IPL 91 (2004)"
    lines = LINES
    pointing = "bidder and its item"
    refusing = "lost, displaced or given up"
    noting = "price"
    rounds = 0

    # ---- the auction ----

    def on_find_prices(self, at) -> Watching:
        self.scale = at.bidding.first, at.bidding.second
        self.bids: list[tuple[int, int, str]] = []
        self.waiting: list[int] = []
        yield
        without = [v for v, item in enumerate(self.points) if item < 0 and v not in self.processed]
        reason = "Everyone has an item or has left"
        if self.waiting:
            reason = f"What {self.names(self.waiting)} could still gain is little beside all prices"
        elif without:
            reason = f"That was the last round, though {self.names(without)} {plural(without, 'has', 'have')} no item"
        self.frame("until", f"{reason}: the auction ends.", self.waiting or without)

    def on_bid_first(self, at) -> Watching:
        self.processed = {v for v in range(self.graph.n) if at.bidding.rows.indptr[v] == at.bidding.rows.indptr[v + 1]}
        yield
        self._tell_round("all bid for their heaviest neighbour", at.words)

    def on_bid_again(self, at) -> Watching:
        yield
        count = int(at.round.bidders.tail[0])
        bidders, bids = at.round.bidders.items[:count].tolist(), at.round.bids[:count].tolist()
        self.waiting = sorted(u for u, bid in zip(bidders, bids, strict=True) if bid != NONE)
        left = sorted(u for u, bid in zip(bidders, bids, strict=True) if bid == NONE)
        if left:
            self.processed.update(left)
            finds = plural(left, "finds no item that is worth its price, and leaves", "find none, and leave")
            self.frame("bid", f"{self.names(left)} {finds}.", left)

    def on_make_bids(self, at) -> Watching:
        yield
        self.waiting = []
        each = [f"{self.name(u)} bids {price} for {self.name(v)}" for u, v, price in self.bids]
        self._tell_round(listing(each, "bids"), at.words)

    def on_commit(self, at) -> None:
        self.bids.append((self.vertex(at.bid), int(at.v), self._price(at.bid)))

    def _price(self, word: Any) -> str:
        """The price in a word, as weights are written."""
        price = float(np.uint32(word >> PRIORITY_BITS).view(np.float32))
        return number(price / self.scale[0] / self.scale[1], digits=3)

    def _tell_round(self, what: str, words: np.ndarray) -> None:
        """The bids of a round, and what the items' words say after it."""
        bids, self.bids = self.bids, []
        if not bids:
            return
        self.rounds += 1
        bidders, items = {u for u, _, _ in bids}, {v for _, v, _ in bids}
        asked = [Arrow(u, v) for u, v, _ in bids]
        self.frame("bid", f"Round {self.rounds}: {what}.", bidders, items, asked)
        before = list(self.points)
        self.points = [-1] * self.graph.n
        for v, word in enumerate(words):
            if word != NONE:
                self.points[self.vertex(word)], self.note[v] = v, self._price(word)
        winners, losers = (sorted(u for u in bidders if (self.points[u] >= 0) is won) for won in (True, False))
        displaced = [u for u, v in enumerate(before) if v >= 0 and self.points[u] < 0]
        caption = f"{self.names(winners)} {plural(winners, 'gets its item', 'get their items')}"
        if losers:
            caption += f"; {self.names(losers)} {plural(losers, 'loses', 'lose')}"
        if displaced:
            caption += f"; {self.names(displaced)} {plural(displaced, 'is', 'are')} displaced"
        lost = [Arrow(u, v, "refused") for u, v, _ in asked if u in losers]
        lost += [Arrow(u, before[u], "refused") for u in displaced]
        self.frame("win", f"{caption}.", winners, arrows=lost)

    # ---- paths and cycles ----

    def on_match_paths(self, at) -> Watching:
        first, second = at.links.first.tolist(), at.links.second.tolist()
        shapes = _shapes(first, second)
        if at.links.arcs:
            self.frame("arcs", f"Bidders and items make {shapes}.")
        else:
            stable = [Arrow(u, v, "edge") for u, v in enumerate(second) if v > u]
            self.frame("stable", f"A stable matching, marked here, and this one make {shapes}.", arrows=stable)
        yield
        before, self.mate = self.mate, at.mate.tolist()
        self.points, self.note = [-1] * self.graph.n, [""] * self.graph.n
        caption = "The heaviest matching of them"
        if at.links.arcs:
            self.frame("choose", f"{caption} has {self._size()}.")
        elif self.mate == before:
            self.frame("merge", f"{caption} is the one before.")
        else:
            changed = [v for v, mate in enumerate(self.mate) if mate != before[v]]
            self.frame("merge", f"{caption} has {self._size()}: {self.names(changed)} changed.", changed)

    def _size(self) -> str:
        return counted(sum(mate >= 0 for mate in self.mate) // 2, "pair", "pairs")

    # ---- exchanges ----

    def on_augment(self, at) -> Watching:
        again = not at.exchange.looks.all()
        changed = yield
        if not changed and again:
            self.frame("arms", "Those whose pairs were wanted look again, and none would gain.")
        elif not changed:
            self.frame("arms", "No pair and no free vertex would gain by better neighbours.")

    def on_change(self, at) -> Watching:
        mate, count = self.mate, int(at.exchange.centres.tail[0])
        centres = sorted(zip(at.exchange.centres.items[:count].tolist(), at.exchange.gets.tolist(), strict=False))
        arms, got = [], []
        for a, gets in centres:
            sides = [v for v in (a, mate[a]) if v >= 0 and at.exchange.arm[v] >= 0]
            arms += [Arrow(v, int(at.exchange.arm[v]), "ask" if gets else "refused") for v in sides]
            got += [a] if gets else []
        yield
        if not centres:
            return
        would = listing([self._centre(a) for a, _ in centres], "pairs or free vertices")
        caption = f"{would} would gain by better neighbours"
        if len(got) < len(centres):
            caption += "; dashed is what another gets, who gains more"
        current = {v for a, _ in centres for v in (a, mate[a]) if v >= 0}
        self.frame("arms", f"{caption}.", current, {v for _, v, _ in arms} - current, arms)
        self.mate = at.exchange.mate.tolist()
        changed = [v for v, other in enumerate(self.mate) if other != mate[v]]
        taken = [(v, self.mate[v]) for v in changed if self.mate[v] > v]
        self.frame("exchange", f"New pairs are {self.pairs(taken)}.", changed)

    def on_make_walks(self, at) -> Watching:
        mate, count = self.mate, int(at.exchange.centres.tail[0])
        starts = list(zip(at.exchange.centres.items[:count].tolist(), at.exchange.gets[:count].tolist(), strict=True))
        taken, met = [], list[int]()
        for f, steps in sorted(starts):
            z = f
            for _ in range(steps):
                y = int(at.exchange.arm[z])
                taken.append(Arrow(z, y, "ask"))
                z = mate[y]
            met += [f] if steps else []
        yield
        if met:
            caption = f"{self.names(met)}: a walk along edges that pay gains more than it gives up."
            self.frame("walk", caption, met, (), taken)
            self.mate = at.exchange.mate.tolist()
            changed = [v for v, other in enumerate(self.mate) if other != mate[v]]
            pairs = [(v, self.mate[v]) for v in changed if self.mate[v] > v]
            self.frame("walk", f"New pairs are {self.pairs(pairs)}.", changed)

    def _centre(self, a: int) -> str:
        return self.pairs([(a, self.mate[a])]) if self.mate[a] >= 0 else self.name(a)

    def on_shake_hands(self, at) -> Watching:
        before = self.mate
        yield
        self.mate = at.mate.tolist()
        found = [(v, mate) for v, mate in enumerate(self.mate) if mate > v and before[v] < 0]
        if found:
            caption = f"{self.pairs(found)}: each was free, and the other's heaviest free neighbour. They match."
            self.frame("complete", caption, [v for pair in found for v in pair])


def _shapes(first: list[int], second: list[int]) -> str:
    """How many paths, cycles and pairs the edges to ``first`` and ``second`` make; -1 is no edge.

    >>> _shapes([1, 2, -1, 4, 3, -1], [-1, 0, 1, 4, 3, -1])
    '1 path and 1 pair'
    """
    found: Counter[str] = Counter()
    seen = set[int]()
    for v, ends in enumerate(zip(first, second, strict=True)):
        if v in seen or max(ends) < 0:
            continue
        around, waiting = {v}, [v]
        while waiting:
            x = waiting.pop()
            more = {first[x], second[x]} - {-1} - around
            around |= more
            waiting += more
        seen |= around
        closed = all(min(first[x], second[x]) >= 0 for x in around)
        found["path" if not closed else "pair" if len(around) == 2 else "cycle"] += 1
    return listing([counted(found[one], one, f"{one}s") for one in ("path", "cycle", "pair") if found[one]], "")
