"""``steps``: a self-contained page of HTML that plays an algorithm on a small graph, step by step.

The frames come from a story (``story.py``), that is, from a run of the real engine; the script in the page
(``page.js``) draws them and knows no algorithm. The page needs no network.
"""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from troth.api.opening import as_graph
from troth.graph import Graph
from troth.viz.drawing import edges_of
from troth.viz.layout import places_for
from troth.viz.stories import tell
from troth.viz.story import CANDIDATE, CURRENT, MATCHED, PROCESSED, UNPROCESSED, Story, Vertex, number
from troth.words import counted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

WEIGHED = 120  # graphs with more edges show no weights
INDENT = 4  # blanks in front of each inner line of pseudocode


def steps(
    graph: Any,
    *,
    algorithm: str = "suitor",
    ties: str = "hash",
    seed: int = 0,
    ranks: int | None = None,
    partition: str | None = None,
    positions: ArrayLike | str | None = None,
    name: str | None = None,
    **options: Any,
) -> str:
    """A page that plays an algorithm on a graph of up to 200 vertices.

    Parameters
    ----------
    graph : Graph or anything that ``as_graph`` takes
        The graph.
    algorithm : str, optional
        As in ``troth.match``; the four PGAS variants need mpiexec.
    ties : str, optional
        As in ``troth.match``.
    seed : int, optional
        As in ``troth.match``.
    ranks : int, optional
        Processes of a PGAS variant, by default 3.
    partition : str, optional
        Who owns a vertex in a PGAS variant, by default "block".
    positions : array_like or str, optional
        Where the vertices are, as in ``troth.draw``.
    name : str, optional
        Of the graph, for the title.
    **options : dict
        The engine's own: ``troth match --help`` lists them.

    Returns
    -------
    str
        HTML, with all that it needs inside.

    Notes
    -----
    The engine runs in the Python interpreter instead of compiled code, on one thread, and is watched; a PGAS variant
    runs as a job of real ranks, each of which keeps a log.

    Examples
    --------
    >>> html = steps(([0, 0, 2, 2, 3], [1, 2, 3, 4, 4], [4, 5, 7, 9, 10]))
    >>> "3 displaces 2" in html
    True
    """
    source, graph = graph, as_graph(graph).to("cpu")
    places = places_for("steps", source, graph, positions)
    story = tell(graph, algorithm, ties=ties, seed=seed, ranks=ranks, partition=partition, **options)
    given = [f"{key} {value}" for key, value in options.items()]
    job = [counted(story.ranks, "rank", "ranks"), f"partition {partition or 'block'}"] if story.ranks else []
    facts = [story.size(), f"ties {ties}, seed {seed}", *job, *given]
    name = str(name or "a graph")
    home = files("troth.viz")
    return Template(home.joinpath("page.html").read_text(encoding="utf-8")).substitute(
        title=escape(f"{story.title} on {name}"),
        algorithm=escape(story.title),
        graph=escape(name),
        facts=escape(" · ".join(facts)),
        reference=escape(story.reference),
        code=_code(story),
        legend=_legend(story),
        style=home.joinpath("page.css").read_text(encoding="utf-8"),
        script=home.joinpath("page.js").read_text(encoding="utf-8"),
        story=_data(graph, story, places),
    )


def _data(graph: Graph, story: Story, places: np.ndarray) -> str:
    """What the script needs, as JSON that cannot end the element around it."""
    u, v, weights = edges_of(graph)
    heaviest = float(weights.max()) if len(weights) else 1.0
    labels = [number(w, digits=3) if graph.m <= WEIGHED else "" for w in weights.tolist()]
    thick = [round(1 + 2.5 * (w / heaviest), 2) for w in weights.astype(float).tolist()]
    data = {
        "names": [story.name(v) for v in range(graph.n)],
        "places": np.round(places * [1, -1], 4).tolist(),  # y grows downwards in the page
        "edges": list(zip(u.tolist(), v.tolist(), thick, labels, strict=True)),
        "owner": story.owner,
        "hands": story.hands,
        "frames": _frames(story),
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _frames(story: Story) -> list[dict]:
    """Every frame as its difference from the one before."""
    frames = []
    before: tuple[Vertex | None, ...] = (None,) * story.graph.n
    for line, caption, vertices, arrows, arrays in story.frames:
        changed = {v: vertex for v, vertex in enumerate(vertices) if vertex != before[v]}
        shown = {"line": line, "caption": caption, "set": changed, "arrows": arrows}
        frames.append(shown | {"arrays": arrays} if arrays else shown)
        before = vertices
    return frames


def _code(story: Story) -> str:
    items = []
    for text in story.lines.values():
        depth = (len(text) - len(text.lstrip())) // INDENT
        items.append(f'      <li style="--depth:{depth}"><span>{escape(text.strip())}</span></li>')
    return "\n".join(items)


def _legend(story: Story) -> str:
    """The marks that occur in the story."""
    seen = {vertex.role for frame in story.frames for vertex in frame.vertices}
    coloured = {vertex.colour for frame in story.frames for vertex in frame.vertices}
    kinds = {arrow.kind for frame in story.frames for arrow in frame.arrows}
    disc = '<g class="{}" transform="translate(12 10)"><circle class="ring" r="11"/><circle class="disc" r="7"/></g>'
    square = '<g class="{}" transform="translate(12 10)"><rect class="disc" x="-7" y="-7" width="14" height="14"/></g>'
    line = '<path class="arrow {0}" d="M0,10H15"/><path class="head {0}" d="M24,10l-10,5v-10z"/>'
    hand = '<path class="arrow hand {0}" d="M2,10H18"/><circle class="head {0}" cx="19" cy="10" r="4"/>'
    arrow = hand if story.hands else line
    marks = [(role in seen, disc.format(role), role) for role in (UNPROCESSED, CURRENT, CANDIDATE, PROCESSED, MATCHED)]
    marks += [
        ("blue" in coloured, disc.format("blue"), "blue"),
        ("red" in coloured, square.format("red"), "red"),
        (bool(story.pointing), arrow.format("points"), story.pointing),
        ("refused" in kinds, '<path class="arrow refused" d="M0,10H24"/>', story.refusing),
        ("notice" in kinds, line.format("notice"), "notice"),
    ]
    items = [f"      <li><svg>{mark}</svg>{escape(text)}</li>" for there, mark, text in marks if there]
    if story.noting:
        items.append(f"      <li><b>{escape(story.noting)}</b> beside a vertex</li>")
    return "\n".join(items)
