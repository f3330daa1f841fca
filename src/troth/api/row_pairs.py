"""``RowPairs``: the result of ``pair_rows``, with the balance of the columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from troth.api.love_plot import love_plot
from troth.api.proof import Certificate
from troth.neighbours.frames import Frame
from troth.neighbours.tables import package_of
from troth.words import at_least, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class RowPairs:
    """Pairs of similar rows; ``len(pairs)`` is their number.

    Attributes
    ----------
    rows : ndarray of two columns
        The numbers of the rows of each pair, from 0 on; with groups the first is of the first group.
    distance : ndarray of float64
        Of each pair.
    reward : float
        What a pair is worth before its distance is taken off.
    certificate : Certificate or None
        Of the objective, the sum of ``reward - distance``: how much of the best set of candidates this is, proven.
    stats : dict
        "candidates" (how many pairs were considered), the "device", and under "seconds" what took how long.
    groups : tuple or None
        The values of the first and the second group.
    names : list of str
        The columns of the distance.
    frame : Frame
        The table.
    columns : ndarray of float64
        The numbers in its columns ``names``.
    side : ndarray or None
        0 for the rows of the first group, 1 for those of the second.
    ids : Index, Series, ChunkedArray or ndarray
        What names the rows.
    """

    frame: Frame
    rows: np.ndarray
    distance: np.ndarray
    reward: float
    certificate: Certificate | None
    names: list[str]
    columns: np.ndarray
    ids: Any
    side: np.ndarray | None = None
    groups: tuple[Any, Any] | None = None
    stats: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def table(self) -> Any:
        """A table of the kind of X: ``first`` and ``second``, the ids of the two rows, and their ``distance``.

        For a NumPy array, an array with these three fields.
        """
        first, second = (_taken(self.ids, side) for side in self.rows.T)
        return self.frame.make({"first": first, "second": second, "distance": self.distance})

    @cached_property
    def unpaired_rows(self) -> np.ndarray:
        """ndarray of int64: the numbers of the rows that are in no pair."""
        alone = np.ones(self.frame.n, bool)
        alone[self.rows] = False
        return np.flatnonzero(alone)

    @cached_property
    def unpaired(self) -> Any:
        """The rows of X that are in no pair, as a table of the same kind."""
        return self.frame.take(self.unpaired_rows)

    @cached_property
    def objective(self) -> float:
        """float: what all pairs are worth, the sum of ``reward - distance``."""
        return float((self.reward - self.distance).sum())

    @cached_property
    def balance(self) -> Any:
        """A table of the kind of X: how far apart the two sides are in each column, ``before`` and ``after``.

        With groups: standardised mean differences, the mean of the first group less that of the second, in standard
        deviations of the column (the root of the mean of the two groups' variances, before pairing in both cases);
        after pairing, of the paired rows. Without groups: the mean distance of two rows in the column, in standard
        deviations of the column; of any two rows before, and of the two rows of a pair after.
        """
        before, after = self._means() if self.groups is not None else self._apart()
        return self.frame.make({"column": np.array(self.names, dtype=str), "before": before, "after": after})

    def _means(self) -> tuple[np.ndarray, np.ndarray]:
        one, other = (self.columns[self.side == which] for which in (0, 1))
        scale = np.sqrt((_variance(one) + _variance(other)) / 2)
        before = _ratio(one.mean(axis=0) - other.mean(axis=0), scale)
        first, second = (self.columns[side] for side in self.rows.T)
        after = _ratio((first - second).mean(axis=0), scale) if len(self) else np.full(len(scale), np.nan)
        return before, after

    def _apart(self) -> tuple[np.ndarray, np.ndarray]:
        n, scale = self.frame.n, np.sqrt(_variance(self.columns))
        place = 2 * np.arange(n)[:, None] - (
            n - 1
        )  # how often a value of this rank is the greater one, less the smaller
        total = (place * np.sort(self.columns, axis=0)).sum(axis=0) if n else np.zeros(len(scale))
        before = _ratio(total / max(1, n * (n - 1) / 2), scale)
        first, second = (self.columns[side] for side in self.rows.T)
        after = _ratio(np.abs(first - second).mean(axis=0), scale) if len(self) else np.full(len(scale), np.nan)
        return before, after

    def plot(self, ax: Axes | None = None) -> Figure:
        """Draw the balance of every column before and after, a Love plot.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on; by default those of a new figure.

        Returns
        -------
        matplotlib.figure.Figure
        """
        before, after = self._means() if self.groups is not None else self._apart()
        return love_plot(self.names, before, after, self.groups is not None, ax)

    def __repr__(self) -> str:
        facts = [
            counted(len(self), "pair", "pairs"),
            f"{len(self.unpaired_rows):,} of {counted(self.frame.n, 'row', 'rows')} unpaired",
            f"distance {self.distance.sum():,.6g} in all",
            f"{self.stats['candidates']:,} candidates",
        ]
        if self.certificate is not None:
            facts.append(f"at least {at_least(self.certificate.ratio)} of the best objective")
        return f"RowPairs({', '.join(facts)})"


def _taken(ids: Any, rows: np.ndarray) -> Any:
    """The ids of some rows, as their library has them."""
    if package_of(ids) == "pandas" and hasattr(ids, "iloc"):
        return ids.iloc[rows].array
    return ids.take(rows) if package_of(ids) in ("pandas", "pyarrow") else ids[rows]


def _variance(columns: np.ndarray) -> np.ndarray:
    return columns.var(axis=0, ddof=1) if len(columns) > 1 else np.zeros(columns.shape[1])


def _ratio(difference: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Differences in units of a scale; without scatter 0 where there is none, else infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference == 0, 0.0, difference / scale)
