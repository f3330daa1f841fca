"""``draw``: a figure of a small graph and its matching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from troth.api.checking import verify
from troth.api.mates import mates_on_host
from troth.api.opening import as_graph
from troth.errors import TrothError
from troth.graph import Graph
from troth.viz.layout import place
from troth.words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from troth.api.result import Matching

MOST = 2000  # vertices; more cannot be told apart
NAMED, WEIGHED = 60, 24  # graphs with more vertices show no names, with more edges no weights
READABLE, LARGEST = 11.0, 20.0  # diameters in points: the least that a name fits into, and the largest disc
SMALL = 5.0  # points: the least size of a name
MATCHED, OTHER, INK = "#d9480f", "#adb5bd", "#212529"


def draw(
    graph: Any,
    matching: Matching | ArrayLike | None = None,
    *,
    positions: ArrayLike | None = None,
    ax: Axes | None = None,
    labels: bool | None = None,
    title: str | None = None,
) -> Figure:
    """Draw a small graph, its matched edges in bold.

    Parameters
    ----------
    graph : Graph or anything that ``as_graph`` takes
        A graph of up to 2000 vertices.
    matching : Matching or array_like of int, optional
        A ``Matching`` of it, or mates; by default only the graph is drawn.
    positions : array_like, optional
        n rows of x and y; by default places whose distances follow those in the graph.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default those of a new figure.
    labels : bool, optional
        Write the vertices' names, and the weights where edges are few; by default where there is room.
    title : str, optional
        By default the number of pairs and their weight.

    Returns
    -------
    matplotlib.figure.Figure

    Notes
    -----
    Lines are wider for heavier edges. Unmatched vertices are hollow. Places cost O(n^3) time.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("agg")
    >>> figure = draw(([0, 1, 2], [1, 2, 3], [4, 5, 4]), [-1, 2, 1, -1])
    >>> figure.axes[0].get_title()
    '1 pair, weight 5'
    """
    graph = as_graph(graph).to("cpu")
    if graph.n > MOST:
        raise TrothError(
            f"draw: {graph.n} vertices cannot be told apart; at most {MOST}: draw a part, or a coarser graph"
        )
    mate, weight = _mates(graph, matching)
    places = _places(graph, positions)
    ax = _new_axes() if ax is None else ax
    u, v, weights = edges_of(graph)
    w = weights.astype(float)
    matched = mate[u] == v
    segments = np.stack([places[u], places[v]], axis=1)
    _frame(ax, places)
    diameter = _diameter(ax, places)
    named = (graph.n <= NAMED and diameter >= READABLE) if labels is None else labels
    diameter = max(diameter, READABLE) if named else min(diameter, 8)
    width = np.clip(diameter / 12, 0.4, 1.0) * (0.5 + 1.5 * w / w.max(initial=np.finfo(float).tiny))
    _lines(ax, segments[~matched], OTHER, width[~matched], zorder=1)
    _lines(ax, segments[matched], MATCHED, 2.5 * width[matched], zorder=2)
    _vertices(ax, graph, mate, places, diameter, named)
    if named and graph.m <= WEIGHED:
        _weights(ax, segments.mean(axis=1), weights, matched)
    if title is None and matching is not None:
        pairs = int(np.count_nonzero(mate >= 0)) // 2
        digits = "," if isinstance(weight, int) else ",.6g"
        title = f"{counted(pairs, 'pair', 'pairs')}, weight {weight:{digits}}"
    ax.set_title(title or "", color=INK)
    return cast("Figure", ax.figure)


def _mates(g: Graph, m: Any) -> tuple[np.ndarray, int | float | None]:
    """The mates and their weight; what is no matching is refused."""
    if m is None:
        return np.full(g.n, -1), 0
    report = verify(g, m, certify=False)
    if not report.valid:
        raise TrothError(f"draw: {report.reason}")
    return mates_on_host(getattr(m, "mate", m)), report.weight


def _places(g: Graph, positions: Any) -> np.ndarray:
    if positions is None:
        return place(g)
    try:
        places = np.asarray(positions, dtype=float)
    except (TypeError, ValueError):
        places = np.empty(0)
    if g.n == places.size == 0:
        return np.empty((0, 2))
    if places.shape != (g.n, 2) or not np.isfinite(places).all():
        raise TrothError(f"draw: positions must be {g.n} rows of two finite numbers")
    return places


def edges_of(g: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every edge once, u < v, with its weight."""
    row = np.repeat(np.arange(g.n), np.diff(g.indptr))
    once = row < g.indices
    return row[once], g.indices[once], g.weights[once]


def _new_axes() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise TrothError('draw needs matplotlib: pip install "troth[plot]"') from None
    return pyplot.subplots(figsize=(7, 7), layout="constrained")[1]


def _frame(ax: Any, places: np.ndarray) -> None:
    """Equal scales, no axes, and at least a third as high as wide, so that a path is not a mere line."""
    ax.set_aspect("equal")
    ax.axis("off")
    if len(places):
        low, high = places.min(axis=0), places.max(axis=0)
        half = np.maximum((high - low) / 2, max((high - low).max() / 6, 0.5)) * 1.1
        middle = (low + high) / 2
        ax.set_xlim(middle[0] - half[0], middle[0] + half[0])
        ax.set_ylim(middle[1] - half[1], middle[1] + half[1])


def _diameter(ax: Any, places: np.ndarray) -> float:
    """Of the discs, in points: two thirds of the distance that most vertices have to the nearest other."""
    if len(places) < 2:
        return LARGEST
    from scipy.spatial import cKDTree

    box = ax.get_window_extent()
    points = min(box.width / np.ptp(ax.get_xlim()), box.height / np.ptp(ax.get_ylim())) * 72 / ax.figure.dpi
    nearest = cKDTree(places).query(places, k=2)[0][:, 1]
    return float(np.clip(0.65 * points * np.quantile(nearest, 0.2), 1.7, LARGEST))


def _lines(ax: Any, segments: np.ndarray, colour: str, width: np.ndarray, zorder: int) -> None:
    from matplotlib.collections import LineCollection

    ax.add_collection(LineCollection(list(segments), colors=colour, linewidths=width, capstyle="round", zorder=zorder))


def _vertices(ax: Any, g: Graph, mate: np.ndarray, places: np.ndarray, diameter: float, named: bool) -> None:
    """Discs, hollow where unmatched; names, where there are some, inside, or above where they are too long."""
    face = np.where(mate >= 0, INK, "white")
    line = 1.0 if diameter > 4 else 0.5
    ax.scatter(*places.T, s=diameter**2, c=face, edgecolors=INK, linewidths=line, zorder=3, clip_on=False)
    if named:
        from matplotlib.patheffects import withStroke

        halo = [withStroke(linewidth=2, foreground="white")]
        for v, place in enumerate(places):
            name = str(v if g.ids is None else g.ids[v])
            size = min(0.5, 1.5 / max(len(name), 1)) * diameter  # a letter is about 0.6 as wide as high
            inside = {"fontsize": size, "color": "white" if mate[v] >= 0 else INK, "va": "center"}
            above = {"fontsize": SMALL + 2, "color": INK, "va": "bottom", "path_effects": halo}
            lift, words = (0, inside) if size >= SMALL else (diameter / 2 + 1, above)
            words |= {"ha": "center", "zorder": 4, "parse_math": False}
            ax.annotate(name, place, (0, lift), textcoords="offset points", **words)


def _weights(ax: Any, middles: np.ndarray, weights: np.ndarray, matched: np.ndarray) -> None:
    for (x, y), w, bold in zip(middles, weights.tolist(), matched, strict=True):
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
        colour = MATCHED if bold else "#495057"
        ax.text(x, y, f"{w:.3g}", color=colour, fontsize=8, ha="center", va="center", zorder=2.5, bbox=box)
