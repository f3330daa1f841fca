"""The Love plot: how far apart two sides are in each column, before and after pairing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from troth.neighbours.packages import pyplot_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BEFORE, AFTER, INK, LINE = "#868e96", "#d9480f", "#212529", "#dee2e6"
BALANCED = 0.1  # standard deviations: what is commonly called balanced


def love_plot(
    names: Sequence[str], before: np.ndarray, after: np.ndarray, of_groups: bool, ax: Axes | None = None
) -> Figure:
    """Draw it: a line for each column, the widest apart on top."""
    order = np.argsort(np.abs(before), kind="stable")
    axes: Any = ax
    if ax is None:
        _, axes = pyplot_for("plot").subplots(figsize=(6.5, 1.6 + 0.35 * len(order)), layout="constrained")
    height = np.arange(len(order))
    first, then = np.abs(before)[order], np.abs(after)[order]
    axes.hlines(height, np.minimum(first, then), np.maximum(first, then), color=LINE, linewidth=2, zorder=1)
    axes.plot(
        first, height, "o", color=BEFORE, markerfacecolor="white", label="before" if of_groups else "any two rows"
    )
    axes.plot(then, height, "o", color=AFTER, label="after" if of_groups else "the two of a pair")
    if of_groups:
        words = f"{BALANCED}, often called balanced"
        axes.axvline(BALANCED, color=INK, linewidth=0.8, linestyle=":", zorder=0, label=words)
    axes.set_yticks(height, [names[at] for at in order])
    axes.set_ylim(-0.6, len(order) - 0.4)
    axes.set_xlim(left=-0.02 * max(axes.get_xlim()[1], BALANCED))
    words = "standardised mean difference (absolute)" if of_groups else "mean difference of two rows"
    axes.set_xlabel(f"{words}, in standard deviations")
    axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    return cast("Figure", axes.figure)
