"""Handshaking on packed lists of edges: the arrays of the course project's figure 5, pass by pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.viz.story import Array, Story, Watching, number

LINES = {
    "repeat": "repeat",
    "scan": "    scan segments for the strongest, at distances 1, 2, 4, …",
    "collate": "    strongNeighbor[v] ← the last of v's segment",
    "check": "    who point at each other match",
    "mark": "    keep_edges ← 1 where both ends are unmatched",
    "sum": "    new_indices ← exclusive prefix sum of keep_edges",
    "pack": "    move the edges that are kept to new_indices",
    "until": "until no edge is left",
    "end": "return matches",
}


class HandshakeArrays(Story):
    """Watches the six kernels, with what they read and write shown below the picture."""

    title = "One-way handshaking, packed"
    reference = "Efficient Parallel Graph Matching, a course project of 2020, figure 5"
    lines = LINES
    pointing = "extended hand"
    hands = True
    rounds = 0

    def on_scan(self, at) -> Watching:
        """The list of edges of a new round."""
        self.rounds += 1
        self.segments = at.src.tolist()
        self.columns = {
            "src": [self.name(v) for v in self.segments],
            "dst": [self.name(v) for v in at.dst.tolist()],
            "weight": [number(w) for w in at.weight.tolist()],
        }
        self.processed = set(self.segments)
        edges = "edges, each in both directions" if len(at.src) > 2 else "edge, in both directions"
        self.told("repeat", f"Round {self.rounds} begins with a list of {len(at.src) // 2} {edges}.")
        yield

    def on_strongest_neighbour_scan(self, at) -> Watching:
        yield
        self.columns["strongestDst"] = [self.name(v) for v in at.new_dst.tolist()]
        self.columns["strongestWeight"] = [number(w) for w in at.new_weight.tolist()]
        what = "some" if at.made_changes[0] else "none: the scan ends"
        self.told("scan", f"Each looks at the one {at.distance} before it in its segment; {what} changed.")

    def on_collate_segments(self, at) -> Watching:
        yield
        here = set(self.segments)
        self.points = [int(s) if v in here else -1 for v, s in enumerate(at.output)]
        self.told("collate", "The last of each segment is that vertex's strongest neighbour.", here)

    def on_check_handshaking(self, at) -> Watching:
        before = at.matches.copy()
        yield
        newly = [(u, int(v)) for u, v in enumerate(at.matches) if v > u and before[u] < 0]
        shaking = [x for pair in newly for x in pair]
        self.mate = at.matches.tolist()
        for v in shaking:
            self.points[v] = -1
        self.told("check", f"Hands meet on {self.pairs(newly)}: they match.", shaking)

    def on_mark_filter_edges(self, at) -> Watching:
        yield
        self.kept = at.keep_edges[:-1].tolist()
        self.columns["keep_edges"] = list(map(str, self.kept))
        self.told("mark", f"{sum(self.kept)} of {len(self.kept)} entries stay: those with no matched end.")

    def on_sum_up(self, at) -> Watching:
        found = yield
        self.columns["new_indices"] = list(map(str, found[:-1].tolist()))
        self.told(
            "sum", f"The sum of what stands before is where an edge goes; the last sum, {found[-1]}, is how many."
        )
        if not found[-1]:
            self.told("until", "No edge is left.")

    def on_pack_graph(self, at) -> Watching:
        yield
        self.segments = at.new_src.tolist()
        self.columns = {
            "new src": [self.name(v) for v in self.segments],
            "new dst": [self.name(v) for v in at.new_dst.tolist()],
            "new weight": [number(w) for w in at.new_weight.tolist()],
        }
        self.told("pack", "The edges that are kept move together.")

    def told(self, line: str, caption: str, current: Any = ()) -> None:
        """A frame with the arrays; the entries of every other segment are shaded."""
        starts = np.flatnonzero(np.diff(self.segments, prepend=-1))
        shaded = tuple((np.searchsorted(starts, np.arange(len(self.segments)), "right") % 2).tolist())
        self.frame(line, caption, current, arrays=[Array(*item, shaded) for item in self.columns.items()])
