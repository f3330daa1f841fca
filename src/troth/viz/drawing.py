"""``draw``: a figure of a small graph and its matching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from troth.api.checking import verify
from troth.api.mates import mates_on_host
from troth.api.opening import as_graph
from troth.errors import TrothError
from troth.graph import Graph
from troth.neighbours.packages import pyplot_for
from troth.viz.labels import TURNS, Paper, along, around, measure
from troth.viz.layout import places_for
from troth.viz.story import number
from troth.words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from troth.api.result import Matching

MOST = 2000  # vertices; more cannot be told apart
NAMED, WEIGHED = 60, 24  # graphs with more vertices show no names, with more edges no weights
READABLE, LARGEST = 11.0, 20.0  # diameters in points: the least that a name fits into, and the largest disc
BARE = 8.0  # points: the largest disc without a name inside
SMALL = 5.0  # points: the least size of a name inside a disc
BESIDE, WEIGHT = 7.0, 8.0  # points: the size of a name beside its disc, and of a weight
BENDS = (0.0, 0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 0.45, -0.45)  # how far an edge leaves its straight line, in its lengths
MATCHED, OTHER, INK = "#d9480f", "#adb5bd", "#212529"


def draw(
    graph: Any,
    matching: Matching | ArrayLike | None = None,
    *,
    positions: ArrayLike | str | None = None,
    ax: Axes | None = None,
    labels: bool | None = None,
    legend: bool = True,
    title: str | None = None,
) -> Figure:
    """Draw a small graph, its matched edges in bold.

    Parameters
    ----------
    graph : Graph or anything that ``as_graph`` takes
        A graph of up to 2000 vertices. The text of a family (``"rgg:n=50,degree=5"``) is drawn at the family's own
        points: grid, rgg, delaunay, and bipartite in two columns.
    matching : Matching or array_like of int, optional
        A ``Matching`` of it, or mates; by default only the graph is drawn.
    positions : array_like or str, optional
        n rows of x and y; "columns" for a graph with two sides; or the text of a family whose points to take. By
        default those of the family, or else places whose distances follow those in the graph.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default those of a new figure.
    labels : bool, optional
        Write the vertices' names, and the weights where edges are few; by default where there is room.
    legend : bool, optional
        Say below the drawing what the marks mean.
    title : str, optional
        By default the number of pairs and their weight.

    Returns
    -------
    matplotlib.figure.Figure

    Notes
    -----
    Lines are wider for heavier edges. Unmatched vertices are hollow. A matched edge that would run through another
    vertex is bent around it. Places that nobody gives cost O(n^3) time.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("agg")
    >>> figure = draw(([0, 1, 2], [1, 2, 3], [4, 5, 4]), [-1, 2, 1, -1])
    >>> figure.axes[0].get_title()
    '1 pair, weight 5'
    """
    given, graph = graph, as_graph(graph).to("cpu")
    if graph.n > MOST:
        raise TrothError(
            f"draw: {graph.n} vertices cannot be told apart; at most {MOST}: draw a part, or a coarser graph"
        )
    mate, weight = _mates(graph, matching)
    places = places_for("draw", given, graph, positions)
    u, v, weights = edges_of(graph)
    matched = mate[u] == v
    ax = _new_axes(places) if ax is None else ax
    if title is None and matching is not None:
        pairs = int(np.count_nonzero(mate >= 0)) // 2
        digits = "," if isinstance(weight, int) else ",.6g"
        title = f"{counted(pairs, 'pair', 'pairs')}, weight {weight:{digits}}"
    ax.set_title(title or "", color=INK)
    if legend:
        _legend(ax, matching is not None, bool((mate < 0).any()), weights, matched)
    _frame(ax, places)
    room, least = _room(ax, places)
    named = (graph.n <= NAMED and room >= READABLE) if labels is None else labels
    names = [str(v if graph.ids is None else graph.ids[v]) for v in range(graph.n)] if named else []
    diameter = min(room, least)
    if not names or diameter < READABLE or min(_letters(name, diameter) for name in names) < SMALL:
        diameter = min(room, BARE)  # no name inside
    lines = np.stack([places[u], places[v]], axis=1)
    bold = _bent(lines[matched], places, (diameter / 2 + 2) / _points_a_unit(ax))
    w = weights.astype(float)
    width = np.clip(diameter / 12, 0.4, 1.0) * (0.5 + 1.5 * w / w.max(initial=np.finfo(float).tiny))
    _lines(ax, lines[~matched], OTHER, width[~matched], zorder=1)
    _lines(ax, bold, MATCHED, 2.5 * width[matched], zorder=2)
    _vertices(ax, mate, places, diameter)
    if names:
        bends = iter(bold)
        curves = [next(bends) if is_bold else line for line, is_bold in zip(lines, matched, strict=True)]
        _write(ax, names, mate, places, diameter, curves, weights, matched)
    return cast("Figure", ax.figure)


def _mates(g: Graph, m: Any) -> tuple[np.ndarray, int | float | None]:
    """The mates and their weight; what is no matching is refused."""
    if m is None:
        return np.full(g.n, -1), 0
    report = verify(g, m, certify=False)
    if not report.valid:
        raise TrothError(f"draw: {report.reason}")
    return mates_on_host(getattr(m, "mate", m)), report.weight


def edges_of(g: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every edge once, u < v, with its weight."""
    row = np.repeat(np.arange(g.n), np.diff(g.indptr))
    once = row < g.indices
    return row[once], g.indices[once], g.weights[once]


# ---- the frame and what stands about it ----


def _new_axes(places: np.ndarray) -> Any:
    """Of a figure as wide as a column, and no higher than the drawing needs."""
    pyplot = pyplot_for("draw")
    _, half = _box(places)
    return pyplot.subplots(figsize=(7, 7 * min(1, half[1] / half[0]) + 0.7), layout="constrained")[1]


def _box(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The middle of the drawing and half of its sides: a third as high as wide at least, so that a path is no line."""
    if not len(places):
        return np.zeros(2), np.ones(2)
    low, high = places.min(axis=0), places.max(axis=0)
    longer = float((high - low).max()) or 1.0
    return (low + high) / 2, 1.15 * np.maximum((high - low) / 2, longer / 6)


def _frame(ax: Any, places: np.ndarray) -> None:
    """Lay the axes out, with what stands about them, and put the drawing into their middle with equal scales.

    Limits are widened until the drawing fills the axes' box: axes that shrank instead would confuse the layout.
    """
    ax.axis("off")
    ax.figure.draw_without_rendering()
    (middle, half), box = _box(places), ax.get_window_extent()
    sides = np.array([box.width, box.height])
    half = sides / max((sides / half).min(), 1e-9)
    ax.set_xlim(middle[0] - half[0], middle[0] + half[0])
    ax.set_ylim(middle[1] - half[1], middle[1] + half[1])
    ax.set_aspect("equal")


def _legend(ax: Any, told: bool, free_ones: bool, weights: np.ndarray, matched: np.ndarray) -> None:
    """What the marks mean, as far as they occur; of a matching only where the user has told one."""
    from matplotlib.legend_handler import HandlerLine2D, HandlerPatch
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon

    disc: dict[str, Any] = {"marker": "o", "markersize": 6, "markeredgecolor": INK}
    pair = Line2D([], [], color=MATCHED, linewidth=3, markerfacecolor=INK, **disc)
    free = Line2D([], [], linestyle="none", markerfacecolor="white", **disc)
    edge = Line2D([], [], color=OTHER, linewidth=1.2)
    vary = len(weights) > 0 and weights.min() < weights.max()
    span = f"{_short(weights.min())} to {_short(weights.max())}" if vary else ""
    there = [
        (told and matched.any(), pair, "matched"),
        (told and free_ones, free, "free"),
        (told and not matched.all(), edge, "not matched"),
        (vary, Polygon([(0, 0)], color=OTHER), f"width = weight, {span}"),
    ]
    marks = {words: mark for seen, mark, words in there if seen}
    if marks:
        wide = ax.get_window_extent().width / ax.figure.dpi > 4.5  # inches
        handlers = {free: HandlerLine2D(numpoints=1), pair: HandlerLine2D(numpoints=2), Polygon: HandlerPatch(_wedge)}
        ax.legend(
            marks.values(),
            marks.keys(),
            loc="upper center",
            bbox_to_anchor=(0.5, 0),
            ncols=4 if wide else 2,
            frameon=False,
            labelcolor=INK,
            fontsize=9,
            handlelength=2.6,
            handler_map=handlers,
        )


def _wedge(*, xdescent: float, ydescent: float, width: float, height: float, **_: Any) -> Any:
    """A line that becomes wider, for the legend."""
    from matplotlib.patches import Polygon

    x, y = -xdescent, height / 2 - ydescent
    return Polygon([(x, y - 0.3), (x + width, y - 2.5), (x + width, y + 2.5), (x, y + 0.3)])


def _short(weight: Any) -> str:
    value = weight.item()
    return number(value if abs(value) < 1e5 else float(value), digits=3)


# ---- sizes and lines ----


def _points_a_unit(ax: Any) -> float:
    box = ax.get_window_extent()
    return min(box.width / np.ptp(ax.get_xlim()), box.height / np.ptp(ax.get_ylim())) * 72 / ax.figure.dpi


def _room(ax: Any, places: np.ndarray) -> tuple[float, float]:
    """For discs, in points: two thirds of the distance that most have to the nearest other; the least such distance."""
    if len(places) < 2:
        return LARGEST, LARGEST
    from scipy.spatial import cKDTree

    nearest = _points_a_unit(ax) * cKDTree(places).query(places, k=2)[0][:, 1]
    return float(np.clip(0.65 * np.quantile(nearest, 0.2), 1.7, LARGEST)), 0.95 * float(nearest.min())


def _bent(lines: np.ndarray, places: np.ndarray, reach: float) -> list[np.ndarray]:
    """The lines from place to place, bent where another place would be within ``reach``: the least bend that avoids it.

    What is nearer than that to an end of a line cannot be avoided, and only has to be as far from the rest.
    """
    bent = []
    for start, end in lines:
        far = np.linalg.norm(end - start) + reach  # of the middle: no curve goes farther
        near = places[np.linalg.norm(places - (start + end) / 2, axis=1) < far]
        strangers = near[(near != start).any(axis=1) & (near != end).any(axis=1)]
        ends = np.linalg.norm(strangers[:, None] - [start, end], axis=2).min(axis=1, initial=np.inf)
        wanted = np.minimum(reach, 0.9 * ends)
        best, most = np.array([start, end]), 0.0
        for bend in BENDS:
            curve = _curve(start, end, bend)
            clear = float((_distance(strangers, curve) / wanted).min(initial=1.0))
            if clear > most:
                best, most = curve, clear
            if most >= 1:
                break
        bent.append(best)
    return bent


def _curve(start: np.ndarray, end: np.ndarray, bend: float) -> np.ndarray:
    """A parabola that leaves the straight line by ``bend`` of its length in the middle."""
    if bend == 0:
        return np.array([start, end])
    share = np.linspace(0, 1, 17)[:, None]
    aside = np.array([start[1] - end[1], end[0] - start[0]])
    return start + share * (end - start) + 4 * bend * share * (1 - share) * aside


def _distance(points: np.ndarray, curve: np.ndarray) -> np.ndarray:
    """Of each point to the nearest of the curve's pieces."""
    start, step = curve[:-1], np.diff(curve, axis=0)
    share = ((points[:, None] - start) * step).sum(axis=2) / (step**2).sum(axis=1).clip(1e-300)
    foot = start + share.clip(0, 1)[..., None] * step
    return np.linalg.norm(points[:, None] - foot, axis=2).min(axis=1)


def _lines(ax: Any, lines: Any, colour: str, width: np.ndarray, zorder: int) -> None:
    from matplotlib.collections import LineCollection

    ax.add_collection(LineCollection(list(lines), colors=colour, linewidths=width, capstyle="round", zorder=zorder))


def _vertices(ax: Any, mate: np.ndarray, places: np.ndarray, diameter: float) -> None:
    """Discs, hollow where unmatched."""
    face = np.where(mate >= 0, INK, "white")
    line = 1.0 if diameter > 4 else 0.5
    ax.scatter(*places.T, s=diameter**2, c=face, edgecolors=INK, linewidths=line, zorder=3, clip_on=False)


# ---- words ----


def _write(
    ax: Any,
    names: list[str],
    mate: np.ndarray,
    places: np.ndarray,
    diameter: float,
    curves: list[np.ndarray],
    weights: np.ndarray,
    matched: np.ndarray,
) -> None:
    """Weights on the edges, where these are few; names inside the discs, or beside them where these are too small."""
    to_pixels, pixels = ax.transData.transform, ax.figure.dpi / 72
    discs = to_pixels(places) if len(places) else places
    lines = [to_pixels(curve) for curve in curves]
    radius = diameter / 2 * pixels
    paper = Paper(ax.get_window_extent().extents, discs, radius, lines, np.where(matched, 4.0, 1.0).tolist())
    if len(lines) <= WEIGHED:
        texts = [f"{w:.3g}" for w in weights.tolist()]
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
        for line, text, bold, size in zip(lines, texts, matched, measure(ax, texts, WEIGHT), strict=True):
            padded = size + 0.3 * WEIGHT * pixels
            spots = along(line, padded)
            spot = ax.transData.inverted().transform(spots[paper.write(spots, padded)])
            colour = MATCHED if bold else "#495057"
            ax.text(*spot, text, color=colour, fontsize=WEIGHT, ha="center", va="center", zorder=2.5, bbox=box)
    if diameter >= READABLE:
        for name, place, paired in zip(names, places, mate >= 0, strict=True):
            _name(ax, name, place, np.zeros(2), fontsize=_letters(name, diameter), color="white" if paired else INK)
        return
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2, foreground="white")]
    for name, place, disc, size in zip(names, places, discs, measure(ax, names, BESIDE), strict=True):
        spots = around(disc, radius, size)
        best = paper.write(spots, size)
        look: dict[str, Any] = {"fontsize": BESIDE, "color": INK, "path_effects": halo}
        if best >= TURNS:  # not beside its disc
            look["arrowprops"] = {"arrowstyle": "-", "color": "#868e96", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 0}
        _name(ax, name, place, (spots[best] - disc) / pixels, **look)


def _name(ax: Any, name: str, place: np.ndarray, lift: np.ndarray, **look: Any) -> None:
    """Of a vertex, its middle so many points from the vertex."""
    look |= {"ha": "center", "va": "center", "zorder": 4, "parse_math": False}
    ax.annotate(name, place, tuple(lift), textcoords="offset points", **look).set_in_layout(False)


def _letters(name: str, diameter: float) -> float:
    """The size in points of letters with which a name fits into a disc: one is about 0.6 as wide as high."""
    return min(0.5, 1.5 / max(len(name), 1)) * diameter
