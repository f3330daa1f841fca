"""Blue-red: colour, propose, respond, match, the steps of Fagginger Auer and Bisseling."""

from __future__ import annotations

from troth.cpu.blue_red import BLUE, RED
from troth.viz.story import Arrow, Story, Watching, plural

COLOURS = {int(BLUE): "blue", int(RED): "red"}

LINES = {
    "repeat": "repeat",
    "colour": "    colour:  blue with probability p, else red",
    "propose": "    propose:  each blue vertex to a red neighbour",
    "respond": "    respond:  each red vertex takes one proposal",
    "match": "    match:  those who agree",
    "until": "until no free vertex has a free neighbour",
    "end": "return mate",
}


class BlueRed(Story):
    """Watches whole steps of a round, since all vertices act at once."""

    title = "Blue-red"
    reference = "B. O. Fagginger Auer and R. H. Bisseling, LNCS 7174 (2012)"
    lines = LINES
    pointing = "proposal"

    def on_colour_active(self, at) -> Watching:
        yield
        self.colour = [COLOURS.get(colour, "") for colour in at.work.colour.tolist()]
        self.points = [-1] * self.graph.n
        self.processed = {v for v, colour in enumerate(self.colour) if not colour}
        blue, red = (self.colour.count(word) for word in ("blue", "red"))
        if blue + red:
            self.frame("colour", f"Round {int(at.r) + 1}: {blue} blue and {red} red, by lot.")

    def on_propose(self, at) -> Watching:
        yield
        self.points = at.work.proposal.tolist()
        asking = [v for v, red in enumerate(self.points) if red >= 0]
        arrows = [Arrow(v, self.points[v]) for v in asking]
        caption = f"{self.names(asking)} {plural(asking, 'proposes to a red neighbour', 'propose to red neighbours')}."
        if not asking:
            caption = "No blue vertex has a red neighbour."
        self.frame("propose", caption, asking, {self.points[v] for v in asking}, arrows)

    def on_respond(self, at) -> Watching:
        self.answers: list[tuple[int, int]] = []
        yield
        self.mate = at.work.mate.tolist()
        if self.answers:
            self.points = [-1] * self.graph.n
            self.frame("match", f"Matched in this round: {self.pairs(self.answers)}.")

    def on_choose(self, at) -> Watching:
        """Red vertices choose while ``respond`` runs; blue ones have chosen before."""
        y = int((yield))
        if self.colour[at.x] == "red" and y >= 0:
            self.answers.append((int(at.x), y))
            caption = f"{self.name(at.x)} takes the proposal of {self.name(y)}, at {self.weight(at.x, y)}."
            self.frame("respond", caption, [at.x], [y], [Arrow(int(at.x), y)])
