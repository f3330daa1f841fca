"""A story: what one run of an algorithm did, frame by frame.

A story watches an engine (``interpret.py``, or ``ranks.py`` for the cluster) and keeps, between its frames, what can be
seen at each vertex: whether it has been processed, its mate, the neighbour that it points at, a note, its colour.
``frame`` takes a picture of it all, with the current vertices and those that they look at, a caption, and the line of
the pseudocode that was executed. A story only reads the engine's arrays: it decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from troth.graph import Graph
from troth.order import Order

UNPROCESSED, PROCESSED, MATCHED, CURRENT, CANDIDATE = "unprocessed", "processed", "matched", "current", "candidate"
FEW = 6  # items that a caption lists; more are counted


class Vertex(NamedTuple):
    """What a frame shows of a vertex."""

    role: str  # one of the five above
    mate: int  # -1: none
    points: int  # where its standing offer, its hand or its wish goes; -1: nowhere
    note: str = ""  # written beside it
    colour: str = ""  # "blue", "red" or neither


class Arrow(NamedTuple):
    """Something that happens in this frame only: ``kind`` is "ask", "refused" or "notice"."""

    source: int
    target: int
    kind: str = "ask"


class Frame(NamedTuple):
    """One picture."""

    line: int  # of the pseudocode
    caption: str
    vertices: tuple[Vertex, ...]
    arrows: tuple[Arrow, ...] = ()


class Story:
    """The base of all stories. Subclasses name the algorithm and its pseudocode, and watch: ``on_NAME``."""

    title = ""
    reference = ""
    lines: Sequence[str] = ()
    pointing = ""  # what an arrow that stands means; in the legend
    hands = False  # arrows reach to the middle of an edge, so that two can meet
    noting = ""  # what is written beside a vertex; in the legend
    owner: Sequence[int] | None = None  # the rank of each vertex, on a cluster

    def __init__(self, graph: Graph, order: Order, options: dict[str, Any]) -> None:
        self.graph, self.order, self.options = graph, order, options
        self.frames: list[Frame] = []
        self.processed: set[int] = set()
        self.mate, self.points = [-1] * graph.n, [-1] * graph.n
        self.note, self.colour = [""] * graph.n, [""] * graph.n

    # ---- frames ----

    def frame(
        self,
        line: int,
        caption: str,
        current: Iterable[int] = (),
        candidate: Iterable[int] = (),
        arrows: Iterable[Arrow] = (),
    ) -> None:
        """Take a picture."""
        current, candidate = {int(v) for v in current}, {int(v) for v in candidate}

        def role(v: int) -> str:
            if v in current:
                return CURRENT
            if v in candidate:
                return CANDIDATE
            return MATCHED if self.mate[v] >= 0 else PROCESSED if v in self.processed else UNPROCESSED

        state = zip(self.mate, self.points, self.note, self.colour, strict=True)
        vertices = tuple(Vertex(role(v), *values) for v, values in enumerate(state))
        self.frames.append(Frame(line, caption, vertices, tuple(arrows)))

    def begin(self) -> None:
        """The first frame: nothing has happened."""
        self.frame(-1, f"{self.graph.n} vertices, {self.graph.m} edges; nothing has happened yet.")

    def end(self, mate: np.ndarray) -> None:
        """The last frame: the matching that the engine returned."""
        from troth.matching import Matching

        self.mate = mate.tolist()
        self.points = [-1] * self.graph.n
        self.processed = set(range(self.graph.n))
        m = Matching(self.graph, mate, self.title)
        pairs = f"{m.cardinality} pair{'' if m.cardinality == 1 else 's'}"
        self.frame(len(self.lines) - 1, f"Done: {pairs} of total weight {number(m.weight)}.")

    # ---- words ----

    def name(self, v: int) -> str:
        """The user's name of a vertex."""
        return str(v if self.graph.ids is None else self.graph.ids[v])

    def weight(self, u: int, v: int) -> str:
        """The weight of an edge."""
        start, stop = self.graph.indptr[u : u + 2]
        return number(self.graph.weights[start + np.searchsorted(self.graph.indices[start:stop], v)].item())

    def names(self, vertices: Iterable[int]) -> str:
        """Some vertices.

        >>> graph = Graph(np.zeros(8, np.int64), np.empty(0, np.int32), np.empty(0))
        >>> Story(graph, None, {}).names([2, 3, 5]), Story(graph, None, {}).names(range(7))
        ('2, 3 and 5', '7 vertices')
        """
        return listing([self.name(v) for v in vertices], "vertices")

    def pairs(self, pairs: Iterable[tuple[int, int]]) -> str:
        """Some edges."""
        return listing([f"{self.name(u)}–{self.name(v)}" for u, v in pairs], "pairs")


def listing(words: list[str], plural: str) -> str:
    """Words in a sentence, or their number.

    >>> listing(["a"], "things"), listing(["a", "b"], "things"), listing([], "things")
    ('a', 'a and b', 'none')
    """
    if len(words) > FEW:
        return f"{len(words)} {plural}"
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words) or "none"


def number(value: int | float) -> str:
    """A weight, short.

    >>> number(10), number(0.123456), number(2.0), number(1e300)
    ('10', '0.1235', '2', '1e+300')
    """
    return str(value) if isinstance(value, int) else f"{value:.4g}"
