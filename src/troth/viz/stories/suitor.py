"""Suitor: offers, refusals, displacements; beside each vertex its suitor and the offer, as Naim et al. show it (2016).

The engine has three ways to work, and each has its own pseudocode: first choices in a stream, then a queue (wide
weights: one vertex after another); in waves, where all weights are equal; and with sorted rows (``presort``), which is
Algorithm 3 of Naim et al. as they play it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from troth.cpu.offers import LOST, NONE
from troth.cpu.suitor_unbranched import STRETCH
from troth.order import ONE
from troth.viz.story import Arrow, Story, Watching

QUEUE = {
    "queue": "for all x in the queue:",
    "look": "    v ← the heaviest with offer(v) < w(x, v)",
    "none": "    if there is none:  x stays alone",
    "again": "    else:  suitor(v) ← x,  offer(v) ← w(x, v)",
    "push": "        who is left over joins the queue",
    "mates": "mate(v) ← suitor(v)",
}
IN_A_STREAM = {
    "choose": "for each u:  find its two heaviest neighbours",
    "each": "for each u:",
    "offer": "    v ← the first of them,  then the second",
    "compare": "    if offer(v) < w(u, v):",
    "take": "        suitor(v) ← u,  offer(v) ← w(u, v)",
    "displace": "        whom u displaced joins the queue",
    "refuse": "    else:  v refuses",
    "wait": "    if both refuse:  u joins the queue",
    **QUEUE,
}
IN_WAVES = {
    "each": "for each u, by falling priority:",
    "offer": "    if u holds an offer that stands:  u returns it",
    "take": "        suitor(v) ← u,  offer(v) ← w(u, v)",
    "displace": "        whom u displaced joins the queue",
    "refuse": "    else:  u joins the queue",
    **QUEUE,
}
DOWN_THE_ROWS = {
    "sort": "sort every row, the heaviest neighbour first",
    "each": "for each u:  current ← u",
    "offer": "    v ← the next neighbour of current",
    "refuse": "    while offer(v) > w(current, v):  v ← the next one",
    "take": "    suitor(v) ← current,  offer(v) ← w(current, v)",
    "displace": "    whom current displaced is the next current",
    "mates": "mate(v) ← suitor(v)",
}


class Suitor(Story):
    """Watches offers being made."""

    title = "Suitor"
    reference = "F. Manne and M. Halappanavar, IPDPS 2014; Md. Naim et al., HiPC 2015, Algorithm 3"
    lines = IN_A_STREAM
    pointing = "offer that stands"
    noting = "suitor : offer"
    looked = False  # whether offers are those of the queue, which a look has announced

    def on_propose_wave(self, at) -> None:
        self.lines, self.looked = IN_WAVES, False

    def on_propose_sorted(self, at) -> None:
        self.lines = DOWN_THE_ROWS
        self.frame("sort", "Every row is sorted; who refuses a vertex once refuses it for ever.")

    def on_choose(self, at) -> Watching:
        yield
        self.looked = False
        group = range(int(at.first), int(at.last))
        some = self.names(group) if len(group) < self.graph.n else "all vertices"
        self.frame("choose", f"The two heaviest neighbours of {some} are found in one pass.", group)

    def on_offer_first(self, at) -> Watching:
        again, _ = yield
        if at.best == NONE:
            self._is_alone(int(at.u))
        elif again == at.u:
            self.frame("wait", f"{self.name(at.u)} joins the queue and will look again.", [at.u])

    def on_offer_firsts(self, at) -> Watching:
        for u, key in enumerate(at.scratch.first[: at.count], int(at.first)):
            if key == NONE:
                self._is_alone(u)
        waiting, *_ = yield
        if waiting:
            late = [self.vertex(word) for word in at.scratch.queue[:waiting]]
            self.frame("wait", f"In the queue: {self.names(late)}.", late)

    def on_exchange(self, at) -> Watching:
        yield from self._offer(
            self.vertex(at.offer), int(at.v), at.offers.state[at.v], lambda held: LOST if held > at.offer else held
        )

    def on_make_offer(self, at) -> Watching:
        held = at.offers.state[at.v]
        yield from self._offer(self.vertex(at.offer), int(at.v), held, lambda displaced: displaced)

    def _is_alone(self, u: int) -> None:
        self.processed.add(u)
        self.frame("each", f"{self.name(u)} has no neighbour.", [u])

    def _offer(self, u: int, v: int, held: int, displaced_by: Callable[[Any], Any]) -> Watching:
        """An offer to v before it is answered, and after; the answer tells what it displaced, or LOST."""
        rival = self.vertex(held) if held else -1
        if not self.looked:
            holding = f", who holds {self.name(rival)}'s of {self.weight(rival, v)}" if rival >= 0 else ""
            caption = f"{self.name(u)} makes an offer of {self.weight(u, v)} to {self.name(v)}{holding}."
            self.frame("offer", caption, [u], [v], [Arrow(u, v)])
        displaced = displaced_by((yield))
        taken, displacing, refused = ("again", "push", "push") if self.looked else ("take", "displace", "refuse")
        if displaced == LOST:
            caption = f"{self._comparison(rival, u, v)}: {self.name(v)} refuses {self.name(u)}."
            self.frame(refused, caption, [u], [v], [Arrow(u, v, "refused")])
            return
        self.points[u], self.note[v] = v, f"{self.name(u)} : {self.weight(u, v, digits=3)}"
        self.processed.add(u)
        if displaced == NONE:
            self.frame(taken, f"{self.name(u)} is the suitor of {self.name(v)}, at {self.weight(u, v)}.", [u], [v])
            return
        self.points[rival] = -1
        self.processed.discard(rival)
        caption = f"{self._comparison(u, rival, v)}: {self.name(u)} displaces {self.name(rival)}, who must look again."
        self.frame(displacing, caption, [u], [v], [Arrow(rival, v, "refused")])

    def _comparison(self, winner: int, loser: int, v: int) -> str:
        """Why v prefers one offer to the other; so many digits that the weights differ, if they do."""
        more, less = ((self.weight(x, v, digits=17)) for x in (winner, loser))
        if more == less:
            return f"The offers are equal, and the tie rule prefers {self.name(winner)}"
        short = self.weight(winner, v), self.weight(loser, v)
        more, less = short if short[0] != short[1] else (more, less)
        return f"An offer of {more} beats one of {less}"

    def on_look(self, at) -> Watching:
        e = yield
        self._looked(int(at.u), int(at.rows.indices[e]) if e >= 0 else -1)

    def on_look_short(self, at) -> Watching:
        key = yield
        self._looked(int(at.u), self.vertex(key) if key else -1)

    def on_look_together(self, at) -> Watching:
        yield
        for u, key in zip(at.lookers[: at.waiting], at.scratch.first, strict=False):
            if at.rows.indptr[u + ONE] - at.rows.indptr[u] <= STRETCH:  # a long row was looked at alone
                self._looked(int(u), self.vertex(key) if key else -1)

    on_look_exactly = on_look
    on_look_long = on_look_short

    def _looked(self, u: int, v: int) -> None:
        if v < 0:
            self.processed.add(u)
            self.frame("none", f"{self.name(u)} finds nobody who would take its offer, and stays alone.", [u])
            return
        caption = f"{self.name(u)} looks at its row: of those who would take its offer, {self.name(v)} is the heaviest."
        self.frame("look", caption, [u], [v], [Arrow(u, v)])
        self.looked = True
