"""Greedy: edges in falling order, taken where both ends are free."""

from __future__ import annotations

from troth.viz.story import Arrow, Story, Watching

LINES = {
    "sort": "sort the edges by falling weight",
    "each": "for each edge {u, v}:",
    "take": "    if u and v are both free:  match them",
    "drop": "    else:  drop the edge",
    "end": "return mate",
}


class Greedy(Story):
    """Watches the two ends of each edge being found, and then what the engine has done with them."""

    title = "Greedy"
    reference = "D. Avis, Networks 13 (1983)"
    lines = LINES
    refusing = "dropped"

    def on_take_edges(self, at) -> Watching:
        self.frame("sort", f"The {self.graph.m} edges are sorted, the heaviest first; ties by the tie rule.")
        self.array = at.mate
        self.ends: list[int] = []
        self.dropped: list[Arrow] = []
        yield
        if self.ends:
            self._tell_edge()
        self._tell_dropped()

    def on_vertex(self, at) -> Watching:
        if len(self.ends) == 2:
            self._tell_edge()
        self.ends.append(int((yield)))

    def _tell_edge(self) -> None:
        """What became of the last edge; edges that drop out one after another are one frame."""
        u, v = self.ends
        self.ends = []
        if self.array[u] != v:
            self.dropped.append(Arrow(u, v, "refused"))
            return
        self._tell_dropped()
        caption = f"The next edge is {self.pairs([(u, v)])}, of weight {self.weight(u, v)}."
        self.frame("each", caption, [u, v], arrows=[Arrow(u, v, "edge")])
        self.mate = self.array.tolist()
        self.frame("take", f"{self.name(u)} and {self.name(v)} are both free: they match.")

    def _tell_dropped(self) -> None:
        if self.dropped:
            caption = "The next edge has a matched end, and drops out."
            if len(self.dropped) > 1:
                caption = f"Each of the next {len(self.dropped)} edges has a matched end; they drop out."
            self.frame("drop", caption, arrows=self.dropped)
        self.dropped = []
