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
FIRST = {**LINES, "look": "    if u is free:  v ← its first free neighbour"}


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
        self._tell_choice(int(at.u), int((yield)))

    def _tell_choice(self, u: int, v: int) -> None:
        self.processed.add(u)
        if v < 0:
            self.frame("none", f"{self.name(u)} has no free neighbour, and stays alone.", [u])
            return
        caption = f"{self.name(u)} is free, and picks {self.name(v)}, its {self.manner} free neighbour."
        self.frame("look", caption, [u], [v], [Arrow(u, v)])
        self.chosen = u, v

    def _tell_pair(self) -> None:
        if self.chosen:
            u, v = self.chosen
            self.mate, self.chosen = self.array.tolist(), None
            self.frame("match", f"{self.name(u)} and {self.name(v)} match, at {self.weight(u, v)}.", [u], [v])


class LocalRandom(LocalWeighted):
    """The same with the first free neighbour of a row: the order of the vertices is all that is random."""

    title = "Local random"
    lines = FIRST
    manner = "first"

    def on_first_free(self, at) -> Watching:
        self._tell_pair()
        u, e = int(at.u), int((yield))
        self._tell_choice(u, int(at.rows.indices[e]) if e < at.rows.indptr[u + 1] else -1)
