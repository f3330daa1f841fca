"""Locally-Dominant: candidates, and a queue of the matched whose neighbours look again."""

from __future__ import annotations

from troth.viz.story import Arrow, Story, Watching

LINES = {
    "process": "process(s):",
    "look": "    t ← candidate(s) ← heaviest free neighbour",
    "none": "    if there is none:  s stays alone",
    "mutual": "    if candidate(t) = s:",
    "match": "        match s and t",
    "all": "for each vertex v:  process(v)",
    "swap": "while Q, those matched meanwhile, is not empty:",
    "queue": "    for each neighbour v with candidate(v) in Q:",
    "again": "        process(v)",
    "end": "return mate",
}


class LocallyDominant(Story):
    """Watches vertices being processed."""

    title = "Locally-Dominant"
    reference = "R. Preis, STACS 1999; Md. Naim et al., HiPC 2015, Algorithms 1 and 2"
    lines = LINES
    pointing = "candidate"
    hands = True

    def on_process_queue(self, at) -> None:
        queue = at.work.queue.items[at.start : at.stop].tolist()
        caption = f"Q holds {self.names(queue)}. Whoever wanted one of them must look again."
        self.frame("queue", caption, queue)

    def on_find_candidate(self, at) -> Watching:
        t, _ = yield
        s, t = int(at.s), int(t)
        self.processed.add(s)
        self.points[s] = t
        if t < 0:
            self.frame("none", f"{self.name(s)} has no unmatched neighbour, and stays alone.", [s])
            return
        caption = f"{self.name(s)} looks: {self.name(t)}, at {self.weight(s, t)}, is its heaviest unmatched neighbour."
        self.frame("look", caption, [s], [t], [Arrow(s, t)])

    def on_process_vertex(self, at) -> Watching:
        t, _ = yield
        s, t = int(at.s), int(t)
        if t >= 0:
            self.mate[s], self.mate[t] = int(at.work.mate[s]), int(at.work.mate[t])
            caption = f"{self.name(t)} wants {self.name(s)} as well: no edge at either is heavier. They match."
            self.frame("match", caption, [s], [t])
