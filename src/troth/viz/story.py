"""A story: what one run of an algorithm did, frame by frame.

A story watches an engine (``interpret.py``, or ``ranks.py`` for the cluster) and keeps, between its frames, what can be
seen at each vertex: whether it has been processed, its mate, the neighbour that it points at, a note, its colour.
``frame`` records all of it, with the current vertices and those that they look at, a caption, and the line of the
pseudocode that was executed. A story only reads the engine's arrays: it decides nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence, Sized
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from troth.graph import Graph
from troth.order import MASK, Order, priorities
from troth.words import counted

UNPROCESSED, PROCESSED, MATCHED, CURRENT, CANDIDATE = "unprocessed", "processed", "matched", "current", "candidate"
Watching = Generator[None, Any, None]  # what ``on_NAME`` is where it also looks at the result, which it is sent
FEW = 6  # items that a caption lists; more are counted


class Vertex(NamedTuple):
    """What a frame shows of a vertex."""

    role: str  # one of the five above
    mate: int  # -1: none
    points: int  # the neighbour that its offer, its hand or its wish goes to; -1: none
    note: str = ""  # written beside it
    colour: str = ""  # "blue", "red" or neither


class Arrow(NamedTuple):
    """Something that happens in this frame only; ``kind`` is "ask", "refused", "notice", or "edge": without a head."""

    source: int
    target: int
    kind: str = "ask"


class Array(NamedTuple):
    """An array of the engine, as a row below the picture; items of 1 in ``shaded`` have another background."""

    name: str
    items: Sequence[str]
    shaded: Sequence[int] = ()


class Frame(NamedTuple):
    """What is shown at one moment."""

    line: int  # of the pseudocode; -1: none
    caption: str
    vertices: tuple[Vertex, ...]
    arrows: tuple[Arrow, ...] = ()
    arrays: tuple[Array, ...] = ()


class Story:
    """The base of all stories. Subclasses name the algorithm and its pseudocode, and watch: ``on_NAME``."""

    title = ""
    reference = ""
    lines: Mapping[str, str] = MappingProxyType({})  # the pseudocode; ``frame`` names a line by its key
    pointing = ""  # what an arrow that stands means; in the legend
    hands = False  # arrows reach to the middle of an edge, so that two can meet
    refusing = "refused or displaced"  # what a dashed arrow means; in the legend
    noting = ""  # what is written beside a vertex; in the legend
    ranks = 0  # of a job on a cluster
    owner: Sequence[int] | None = None  # the rank of each vertex there

    def __init__(self, graph: Graph, order: Order) -> None:
        self.graph = graph
        self.frames: list[Frame] = []
        self.processed: set[int] = set()
        self.mate, self.points = [-1] * graph.n, [-1] * graph.n
        self.note, self.colour = [""] * graph.n, [""] * graph.n
        self._by_priority = {rank: v for v, rank in enumerate(priorities(order, graph.n).tolist())}

    # ---- frames ----

    def frame(
        self,
        line: str,
        caption: str,
        current: Iterable[int] = (),
        candidate: Iterable[int] = (),
        arrows: Iterable[Arrow] = (),
        arrays: Iterable[Array] = (),
    ) -> None:
        """Add a frame; ``line`` is a key of ``lines``."""
        current, candidate = {int(v) for v in current}, {int(v) for v in candidate}

        def role(v: int) -> str:
            if v in current:
                return CURRENT
            if v in candidate:
                return CANDIDATE
            return MATCHED if self.mate[v] >= 0 else PROCESSED if v in self.processed else UNPROCESSED

        state = zip(self.mate, self.points, self.note, self.colour, strict=True)
        vertices = tuple(Vertex(role(v), *values) for v, values in enumerate(state))
        line_number = list(self.lines).index(line) if line else -1
        self.frames.append(Frame(line_number, caption, vertices, tuple(arrows), tuple(arrays)))

    def begin(self) -> None:
        """The first frame: nothing has happened."""
        self.frame("", f"{self.size()}; nothing has happened yet.")

    def end(self, mate: np.ndarray) -> None:
        """The last frame: the matching that the engine returned."""
        from troth.api.result import Matching

        self.mate = mate.tolist()
        self.points, self.colour = [-1] * self.graph.n, [""] * self.graph.n
        self.processed = set(range(self.graph.n))
        m = Matching(self.graph, mate, self.title)
        pairs = counted(m.cardinality, "pair", "pairs")
        self.frame(list(self.lines)[-1], f"Done: {pairs} of total weight {number(m.weight)}.")

    def vertex(self, key: int) -> int:
        """The vertex of an offer or a key: its lower half is a priority."""
        return self._by_priority[int(key) & int(MASK)]

    # ---- words ----

    def size(self) -> str:
        """Of the graph."""
        return f"{counted(self.graph.n, 'vertex', 'vertices')}, {counted(self.graph.m, 'edge', 'edges')}"

    def name(self, v: int) -> str:
        """The user's name of a vertex."""
        return str(v if self.graph.ids is None else self.graph.ids[v])

    def weight(self, u: int, v: int, digits: int = 4) -> str:
        """The weight of an edge."""
        start, stop = self.graph.indptr[u : u + 2]
        return number(self.graph.weights[start + np.searchsorted(self.graph.indices[start:stop], v)].item(), digits)

    def names(self, vertices: Iterable[int]) -> str:
        """Some vertices.

        >>> from troth.order import make_order
        >>> story = Story(Graph(np.zeros(8, np.int64), np.empty(0, np.int32), np.empty(0)), make_order())
        >>> story.names([2, 3, 5]), story.names(range(7))
        ('2, 3 and 5', '7 vertices')
        """
        return listing([self.name(v) for v in vertices], "vertices")

    def pairs(self, pairs: Iterable[tuple[int, int]]) -> str:
        """Some edges."""
        return listing([f"{self.name(u)}-{self.name(v)}" for u, v in pairs], "pairs")


def listing(words: list[str], plural: str) -> str:
    """Words in a sentence, or their number.

    >>> listing(["a"], "things"), listing(["a", "b"], "things"), listing([], "things")
    ('a', 'a and b', 'none')
    """
    if len(words) > FEW:
        return f"{len(words)} {plural}"
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words) or "none"


def plural(items: Sized, one: str, more: str) -> str:
    """The form of a word that goes with so many items."""
    return one if len(items) == 1 else more


def number(value: int | float, digits: int = 4) -> str:
    """A weight, short.

    >>> number(10), number(0.123456), number(2.0), number(1e300), number(0.123456, digits=2)
    ('10', '0.1235', '2', '1e+300', '0.12')
    """
    return str(value) if isinstance(value, int) else f"{value:.{digits}g}"
