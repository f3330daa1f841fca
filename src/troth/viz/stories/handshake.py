"""Handshaking: hands extended, hands shaken, and those who look again."""

from __future__ import annotations

import numpy as np

from troth.viz.story import Story, Watching, plural

LINES = {
    "extend": "each extends a hand to its strongest neighbour",
    "repeat": "repeat",
    "check": "    two who extend their hands to each other match",
    "pack": "    the edges of matched vertices are dropped",
    "again": "    who pointed at a matched one looks again",
    "until": "until no edge is left",
    "end": "return mate",
}


class Handshake(Story):
    """Watches whole rounds, since all vertices act at once."""

    title = "One-way handshaking"
    reference = "J. Cohen and P. Castonguay, GTC 2012, as a course project of 2020 has it"
    lines = LINES
    pointing = "extended hand"
    hands = True

    def on_find_strongest(self, at) -> Watching:
        yield
        self.points = at.strongest.tolist()
        self.processed = set(range(self.graph.n))
        caption = "All vertices at once extend a hand to their strongest neighbour."
        self.frame("extend", caption, (v for v, s in enumerate(self.points) if s >= 0))

    def on_check_handshaking(self, at) -> Watching:
        before = at.work.mate.copy()
        yield
        newly = [(u, int(v)) for u, v in enumerate(at.work.mate) if v > u and before[u] < 0]
        shaking = [x for pair in newly for x in pair]
        self.frame("check", f"Round {int(at.r) + 1}: hands meet on {self.pairs(newly)}.", shaking)
        self.mate = at.work.mate.tolist()
        for v in shaking:
            self.points[v] = -1
        self.frame("pack", "They match, and the other edges at them drop out.")

    def on_look_again(self, at) -> Watching:
        before = at.work.strongest.copy()
        yield
        again = [v for v, s in enumerate(at.work.strongest) if s != before[v]]
        self.points = np.where(at.work.mate < 0, at.work.strongest, -1).tolist()
        if again:
            nobody = [v for v in again if self.points[v] < 0]
            looks = plural(
                again, "looks again: its strongest neighbour is", "look again: their strongest neighbours are"
            )
            found = f" {self.names(nobody)} {plural(nobody, 'finds', 'find')} nobody." if nobody else ""
            caption = f"{self.names(again)} {looks} matched.{found}"
            self.frame("again", caption, again, {self.points[v] for v in again} - {-1})
