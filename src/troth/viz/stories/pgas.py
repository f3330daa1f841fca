"""The four variants of Thorsen and Merkey: what each rank wants, reads, matches and tells the others.

The events come from a job of real ranks (``ranks.py``). A vertex points at the one that it wants, by its own rank's
word; that others know of it later is what these algorithms are about, and the frames of reading show when they do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.viz.ranks import trace
from troth.viz.story import Arrow, Story, listing, plural

FIRST = {
    "first": "for each own u:  mate(u) ← heaviest candidate",
    "start": "barrier",
}
SYNC_POLL = {
    **FIRST,
    "repeat": "repeat",
    "read": "    read the words of other ranks",
    "match": "    each own u with mate(mate(u)) = u is matched",
    "barrier": "    barrier",
    "gone": "    read which vertices of other ranks are matched",
    "choose": "    for each own u:  mate(u) ← heaviest candidate",
    "sum": "until no rank has a vertex left",
    "end": "return mate",
}
ASYNC_POLL = {
    **FIRST,
    "while": "while an own vertex u is left:",
    "read": "    read the words of other ranks",
    "choose": "    if mate(u) is gone:  mate(u) ← heaviest candidate",
    "match": "    if mate(mate(u)) = u:  u is matched, and leaves",
    "end": "return mate",
}
WORK = {
    "choose": "    u from the work:  mate(u) ← heaviest candidate",
    "read": "    read the word of mate(u), if another rank's",
    "match": "    if mate(mate(u)) = u:  u is matched",
    "wake": "    who wanted u joins the work,",
    "post": "    or its owner, another rank, is notified",
}
SYNC_NOTIFY = {
    "repeat": "repeat",
    **WORK,
    "barrier": "    when the work is done:  barrier",
    "notice": "    who is named in a notice joins the work",
    "sum": "until no rank has work or notices left",
    "end": "return mate",
}
ASYNC_NOTIFY = {
    "while": "while an own vertex is left:",
    **WORK,
    "notice": "    who is named in a notice joins the work",
    "end": "return mate",
}
VARIANTS = {
    "sync-poll": SYNC_POLL,  # rounds, remote words read in bulk
    "async-poll": ASYNC_POLL,  # no barrier: look again and again
    "sync-notify": SYNC_NOTIFY,  # rounds, notices gathered
    "async-notify": ASYNC_NOTIFY,  # notices at once, no barrier
}


class Pgas(Story):
    """Replays the events of a job."""

    reference = "A. Thorsen and P. Merkey, CS-TR-10-02, Michigan Technological University 2010"
    pointing = "wanted mate"
    hands = True

    def replay(self, ranks: int, words: dict[str, Any]) -> None:
        """Run the job and tell it."""
        self.title, self.lines = words["algorithm"], VARIANTS[words["algorithm"]]
        self.ranks, self.met = ranks, 0
        self.first: set[int] = set()
        events = trace(self.graph, ranks, words)
        owner = np.empty(self.graph.n, np.int64)
        mate = np.full(self.graph.n, -1, np.int32)
        for event in events:
            if event["kind"] == "owner":
                owner[event["vertices"]] = event["rank"]
            elif event["kind"] == "mates":
                for v, found in event["mates"]:
                    mate[v] = found
        self.owner = owner.tolist()
        self.begin()
        for event in events:
            tell = getattr(self, f"tell_{event['kind']}", None)
            if tell:
                tell(f"Rank {event['rank']}", event)
        self.end(mate)

    def tell_choose(self, who: str, event: dict) -> None:
        for u, v, _ in event["words"]:
            self.points[u] = v
            self.processed.add(u)
        wanting = [u for u, v, _ in event["words"] if v >= 0]
        alone = [u for u, v, _ in event["words"] if v < 0]
        line = "choose" if event["rank"] in self.first or "first" not in self.lines else "first"
        self.first.add(event["rank"])
        if wanting:
            wishes = listing([f"{self.name(u)} wants {self.name(self.points[u])}" for u in wanting], "vertices choose")
            arrows = [Arrow(u, self.points[u]) for u in wanting]
            self.frame(line, f"{who}: {wishes}.", wanting, {self.points[u] for u in wanting}, arrows)
        if alone:
            caption = f"{who}: {self.names(alone)} {plural(alone, 'has', 'have')} no candidate left."
            self.frame(line, caption, alone)

    def tell_match(self, who: str, event: dict) -> None:
        for u, v, _ in event["words"]:
            self.points[u] = self.mate[u] = v
        found = [u for u, _, _ in event["words"]]
        each = listing([f"{self.name(self.mate[u])} wants {self.name(u)}" for u in found], "wishes are returned")
        caption = f"{who}: {each} as well; {self.names(found)} {plural(found, 'is', 'are')} matched."
        self.frame("match", caption, found)

    def tell_sweep(self, who: str, event: dict) -> None:
        changed = [word for word in event["words"] if not word[2] or self.points[word[0]] != word[1]]
        matched = [word for word in event["words"] if word[2]]
        if changed:
            self.tell_choose(who, {**event, "words": changed})
        if matched:
            self.tell_match(who, {**event, "words": matched})

    def tell_read(self, who: str, event: dict) -> None:
        read = [u for u, _, _ in event["words"]]
        told = []
        for u, v, matched in event["words"]:
            said = f"wants {self.name(v)}" if v >= 0 else "wants nobody"
            told.append(f"{self.name(u)} {f'is matched with {self.name(v)}' if matched else said}")
        line = "gone" if "gone" in self.lines and event["words"][0][2] else "read"
        self.frame(line, f"{who} reads: {listing(told, 'words are new')}.", candidate=read)

    def tell_wake(self, who: str, event: dict) -> None:
        looks = plural(event["vertices"], "looks again: the one it wanted is", "look again: those they wanted are")
        caption = f"{who}: {self.names(event['vertices'])} {looks} matched."
        self.processed.difference_update(event["vertices"])
        self.frame("wake", caption, event["vertices"])

    def tell_notice(self, who: str, event: dict) -> None:
        self.processed.difference_update(event["vertices"])
        self.frame("notice", f"{who} has a notice: look at {self.names(event['vertices'])} again.", event["vertices"])

    def tell_post(self, who: str, event: dict) -> None:
        arrows = [Arrow(u, x, "notice") for x, u in event["notices"]]
        about = self.names(dict.fromkeys(x for x, _ in event["notices"]))
        caption = f"{who} notifies the owner of {about}: look again."
        self.frame("post", caption, {a.source for a in arrows}, {a.target for a in arrows}, arrows)

    def tell_barrier(self, who: str, event: dict) -> None:
        if self._all_here():
            line = "start" if "start" in self.lines and self.frames[-1].line <= 0 else "barrier"
            self.frame(line, "All ranks have come to the barrier: what was written before it can be read now.")

    def tell_sum(self, who: str, event: dict) -> None:
        if self._all_here():
            self.frame("sum", f"The ranks count together what is left: {event['total']}.")

    def _all_here(self) -> bool:
        """Whether this is the last of the ranks to come to a meeting."""
        self.met += 1
        return self.met % self.ranks == 0
