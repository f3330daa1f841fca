"""Real graphs in figures: what came from a file, by ``--folder``, has a colour of its own, which the legend names.

Where a graph is a line, a file's line has that colour; where it is a row, its name has; where it is a place on a curve,
a ring of that colour stands there, a small one in performance profiles. All files are one entry of the legend: tables
have them by name. Bars that are shares of graphs count files with the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bench.catalogue import is_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOUR = "#882255"  # wine, of P. Tol's muted scheme: darker than each of the colours of figures.py
WORDS = "real graphs (files)"
RING = {"color": COLOUR, "marker": "o", "markerfacecolor": "none", "markersize": 8, "linestyle": "none"}


def ring(ax: Axes, graphs: Sequence[str], x: Sequence[float], y: Sequence[float], size: float = 8) -> None:
    """Rings around the points of files, of those that stand for ``graphs``."""
    at = [place for place, graph in enumerate(graphs) if is_file(graph)]
    if at:
        ax.plot([x[place] for place in at], [y[place] for place in at], label=WORDS, **RING | {"markersize": size})


def colour_rows(ax: Axes) -> None:
    """The names of files along y in their colour; the rows have been named."""
    for label in ax.get_yticklabels():
        if is_file(label.get_text()):
            label.set_color(COLOUR)


def in_legend(ax: Axes) -> dict[str, Any]:
    """The entries of the axes for the legend, by name: those of all files are one, and rows that are files add it."""
    from matplotlib.lines import Line2D

    entries: dict[str, Any] = {}
    for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
        entries.setdefault(WORDS if is_file(name) else name, handle)
    if any(is_file(label.get_text()) for label in ax.get_yticklabels()):
        entries.setdefault(WORDS, Line2D([], [], **RING | {"marker": "s", "markerfacecolor": COLOUR}))
    if WORDS in entries:
        entries[WORDS] = entries.pop(WORDS)  # last
    return entries
