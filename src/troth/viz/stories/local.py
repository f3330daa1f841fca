"""Local greedy: vertices one by one, in random order; a baseline of Fagginger Auer and Bisseling."""

from __future__ import annotations

from troth.viz.story import Arrow, Story, Watching

LINES = {
    "each": "for each vertex u, in random order:",
    "look": "    if u is free:  v ← its heaviest free neighbour",
    "none": "        if there is none:  u stays alone",
    "match": "        else:  match u and v",
    "end": "return mate",
}
BY_LOT = {**LINES, "look": "    if u is free:  v ← a free neighbour, by lot"}


class LocalWeighted(Story):
    """Watches each free vertex choose, and then what the engine has done with the two."""

    title = "Local weighted"
    reference = "B. O. Fagginger Auer and R. H. Bisseling, LNCS 7174 (2012)"
    lines = LINES
    manner = "heaviest"
    chosen: tuple[int, int] | None = None

    def on_visit_vertices(self, at) -> Watching:
        self.array = at.mate
        first = ", ".join(map(self.name, at.visit[:8].tolist()))
        self.frame("each", f"The vertices will come in the order {first}{', …' if len(at.visit) > 8 else ''}.")
        yield
        self._tell_pair()

    def on_heaviest(self, at) -> Watching:
        self._tell_pair()
        u, v = int(at.u), int((yield))
        self.processed.add(u)
        if v < 0:
            self.frame("none", f"{self.name(u)} has no free neighbour, and stays alone.", [u])
            return
        caption = f"{self.name(u)} is free, and picks {self.name(v)}, its {self.manner} free neighbour."
        self.frame("look", caption, [u], [v], [Arrow(u, v)])
        self.chosen = u, v

    on_luckiest = on_heaviest

    def _tell_pair(self) -> None:
        if self.chosen:
            u, v = self.chosen
            self.mate, self.chosen = self.array.tolist(), None
            self.frame("match", f"{self.name(u)} and {self.name(v)} match, at {self.weight(u, v)}.", [u], [v])


class LocalRandom(LocalWeighted):
    """The same with lots."""

    title = "Local random"
    lines = BY_LOT
    manner = "luckiest"
