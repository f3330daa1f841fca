"""Figures in one style: colours that survive colour blindness, markers and dashes that survive print.

A figure is as wide as a page's column and its letters are large enough to be read at a phone's width; put panels below
one another, not beside. Colours are written into the inline SVG as CSS variables, so that figures follow the page into
the dark (``report.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from bench import file_marks
from bench.catalogue import is_file
from troth.errors import TrothError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, GRID, PAPER = "#1b1f24", "#d5d9de", "#ffffff"
# M. Okabe and K. Ito, Color universal design, 2008; without yellow, which paper does not show.
COLOURS = {
    "blue": "#0072b2",
    "vermillion": "#d55e00",
    "green": "#009e73",
    "purple": "#cc79a7",
    "orange": "#e69f00",
    "sky": "#56b4e9",
    "ink": INK,
}
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "p", "h")
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++")
DASHES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.5, 1.2, 1.5)))
WIDTH, HEIGHT = 4.8, 3.5  # inches
AT = {"x": "bottom", "y": "left"}  # where an axis has its numbers
LETTERS = 11.0  # an inch holds, of the size of labels
STEPS = ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1, 3), (1,))  # within a decade, of numbers that are written out
SPANS = (8, 100, 1000, math.inf)  # of the axis, up to which these steps are taken


def pyplot() -> Any:
    """matplotlib, or a refusal that says how to get it; figures are never shown in windows."""
    try:
        import matplotlib
    except ImportError:
        raise TrothError('bench draws with matplotlib: pip install "troth[plot]"') from None
    matplotlib.use("agg", force=False)
    from matplotlib import pyplot

    return pyplot


STYLE = {
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.labelsize": 11,
    "legend.fontsize": 10,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "legend.frameon": False,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "svg.fonttype": "path",
    "path.simplify": True,
}


def new(panels: int = 1, height: float = HEIGHT, share: bool = False) -> tuple[Figure, Any]:
    """A figure and its axes, or a list of axes for several panels, one below another; ``share`` their x axis."""
    size = (WIDTH, height * panels)
    figure, axes = pyplot().subplots(panels, 1, figsize=size, layout="constrained", sharex=share)
    return figure, axes if panels == 1 else list(axes)


def style(number: int) -> dict[str, Any]:
    """Colour, marker and dashes of the number-th thing that is compared: no two of the first 84 are alike.

    >>> style(0)["color"], style(1)["marker"]
    ('#0072b2', 's')
    """
    colours = list(COLOURS.values())
    return {
        "color": colours[number % len(colours)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": DASHES[number % len(DASHES)],
    }


def styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """A style for each name, in their order; those that are files share a colour (``file_marks.py``)."""
    found, seen = {}, {True: 0, False: 0}
    for name in dict.fromkeys(names):
        of_file = is_file(name)
        found[name] = style(seen[of_file]) | ({"color": file_marks.COLOUR} if of_file else {})
        seen[of_file] += 1
    return found


def legend(ax: Axes, columns: int = 2) -> None:
    """Below the axes, where it covers nothing."""
    legend_below(ax.figure, columns)


def legend_below(figure: Figure, columns: int = 2) -> None:
    """One legend for all panels of a figure, below them; what stands alone is named in the title."""
    entries: dict[str, Any] = {}
    for ax in figure.axes:
        entries |= {name: handle for name, handle in file_marks.in_legend(ax).items() if name not in entries}
    if len(entries) == 1:
        (name,), ax = entries, figure.axes[0]
        ax.set_title(f"{ax.get_title('left')} {name}".strip(), loc="left")
    else:
        figure.legend(entries.values(), entries, loc="outside lower center", ncols=columns, handlelength=2.8)


def duration(seconds: float) -> str:
    """A time for a sentence.

    >>> duration(0.000123), duration(0.0456), duration(7.891)
    ('123 µs', '45.6 ms', '7.89 s')
    """
    for unit, scale in (("µs", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds:.3g} s"


def ratio(value: float) -> str:
    """How many times, for a sentence, in two digits.

    >>> ratio(1.234), ratio(0.0567), ratio(1234.5)
    ('1.2', '0.057', '1,200')
    """
    return f"{float(f'{value:.2g}'):,.12g}"


def count(number: float) -> str:
    """A large number for a sentence.

    >>> count(27_512_345), count(1.07e9), count(850)
    ('27.5 million', '1.07 billion', '850')
    """
    for word, scale in (("billion", 1e9), ("million", 1e6)):
        if number >= scale:
            return f"{number / scale:.3g} {word}"
    return f"{number:,.0f}"


def plain(axis: Any, steps: Sequence[float] | None = None) -> None:
    """Write the numbers of a logarithmic axis out (20, not 2 x 10^1), at ``steps``: more where it spans little."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = sorted(axis.get_view_interval())
    steps = steps or next(some for some, span in zip(STEPS, SPANS, strict=True) if high <= span * low)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(_written_out)
    if len(steps) > 1:
        axis.set_minor_locator(NullLocator())


def _written_out(value: float, _: Any) -> str:
    return f"{value:g}"


def sorted_curves(
    ax: Axes,
    values: Mapping[str, Sequence[float]],
    order: str | None = None,
    graphs: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """One curve a name, over instances, log scale: each in its own descending order, or all in that of ``order``.

    With ``order`` all sequences run over the same instances, and None marks a missing value. ``graphs`` names the
    instances of each sequence: those that are files are ringed.
    """

    def descending(series: Sequence[float]) -> list[int]:
        return sorted(range(len(series)), key=lambda at: -(series[at] or 0))

    marks = styles(values)
    for name, series in values.items():
        places = descending(values[order]) if order else [at for at in descending(series) if series[at]]
        shown = [math.nan if series[at] is None else series[at] for at in places]
        x, every = range(1, len(shown) + 1), max(1, len(shown) // 12)
        ax.plot(x, shown, label=name, markevery=every, **marks[name])
        if graphs:
            file_marks.ring(ax, [graphs[name][at] for at in places], x, shown)
    ax.set_yscale("log")
    whole_numbers(ax)


def whole_numbers(ax: Axes) -> None:
    """Whole numbers along x."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))


def fastest(times: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The least time of any engine by instance, of ``times[engine][instance]``.

    >>> fastest({"a": {"grid": 2.0, "path": 1.0}, "b": {"grid": 1.5}})
    {'grid': 1.5, 'path': 1.0}
    """
    instances = sorted({name for found in times.values() for name in found})
    return {name: min(found[name] for found in times.values() if name in found) for name in instances}


def performance_profile(
    ax: Axes,
    times: Mapping[str, Mapping[str, float]],
    most: float = 32.0,
    best: Mapping[str, float] | None = None,
) -> None:
    """For each engine, over x, the share of instances on which it is at most x times as slow as the best.

    ``times[engine][instance]`` in seconds; an instance that an engine lacks counts as never. Dolan and More, 2002.
    ``best`` is by instance, where others than these take part.
    """
    best = fastest(times) if best is None else best
    instances = sorted(best)
    marks = styles(times)
    for engine, found in times.items():
        named = sorted((found[name] / best[name], name) for name in found)
        ratios = [ratio for ratio, _ in named]
        x = [1.0, *ratios, max(most, ratios[-1] if ratios else 1.0)]
        y = [at / len(instances) for at in range(len(ratios) + 1)] + [len(ratios) / len(instances)]
        middle = min(len(x) - 2, len(x) // 2 + 1)
        ax.step(x, y, where="post", label=engine, markevery=[middle], **marks[engine])
        file_marks.ring(ax, [name for _, name in named], ratios, y[1:], size=4)
    ax.set_xscale("log", base=2)
    ax.set_xlim(1, most)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("times the best engine's time")
    ax.set_ylabel("share of the graphs")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def scaling(ax: Axes, lines: Mapping[str, Mapping[float, float]], ideal: bool = True, xlabel: str = "threads") -> None:
    """Seconds against threads or ranks, both logarithmic, each with its ideal (as thin dots) from its first point."""
    marks = styles(lines)
    for name, found in lines.items():
        x = sorted(found)
        ax.plot(x, [found[at] for at in x], label=name, **marks[name])
        if ideal and len(x) > 1:
            ax.plot(x, [found[x[0]] * x[0] / at for at in x], color=marks[name]["color"], linewidth=0.8, linestyle=":")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_xlabel(xlabel)
    ax.set_ylabel("seconds")


def bars(ax: Axes, values: Mapping[str, Mapping[str, float]], log: bool = False) -> None:
    """Horizontal bars: a group for each name of ``values``, a bar for each entry; long names stay legible."""
    groups = list(values)
    series = list(dict.fromkeys(name for found in values.values() for name in found))
    marks = styles(series)
    thick = 0.8 / max(len(series), 1)
    for number, name in enumerate(series):
        places = [at + number * thick for at, group in enumerate(groups) if name in values[group]]
        heights = [values[group][name] for group in groups if name in values[group]]
        hatch = HATCHES[number % len(HATCHES)]
        ax.barh(places, heights, thick, label=name, color=marks[name]["color"], hatch=hatch, edgecolor=PAPER)
    ax.set_yticks([at + 0.4 - thick / 2 for at in range(len(groups))], groups)
    file_marks.colour_rows(ax)
    ax.invert_yaxis()
    ax.grid(False, axis="y")
    if log:
        shown = [value for found in values.values() for value in found.values() if value > 0]
        ax.set_xscale("log")
        ax.set_xlim(left=min([*shown, math.inf]) / 2 if min([*shown, 1]) < 1 else 1)


def shares(ax: Axes, values: Mapping[str, Mapping[str, float]]) -> None:
    """A horizontal bar for each name of ``values``, cut into the shares that its entries have, in per cent."""
    marks = styles(name for found in values.values() for name in found)
    before = dict.fromkeys(values, 0.0)
    for number, (name, mark) in enumerate(marks.items()):
        parts = {row: 100 * found.get(name, 0.0) / sum(found.values()) for row, found in values.items()}
        hatch = HATCHES[number % len(HATCHES)]
        look = {"color": mark["color"], "hatch": hatch, "edgecolor": PAPER}
        told = name if any(parts.values()) else None  # a share that nobody has is not in the legend
        ax.barh(list(parts), list(parts.values()), 0.7, left=list(before.values()), label=told, **look)
        before = {row: before[row] + part for row, part in parts.items()}
    file_marks.colour_rows(ax)
    ax.invert_yaxis()
    ax.grid(False, axis="y")
    ax.set_xlim(0, 100)


def dots(ax: Axes, values: Mapping[str, Mapping[str, float]]) -> None:
    """A row for each name of ``values``, with a mark for each entry, on a log scale: for ratios."""
    rows = list(values)
    marks = styles(name for found in values.values() for name in found)
    for number, (name, mark) in enumerate(marks.items()):
        shift = 0.18 * (number - (len(marks) - 1) / 2)  # so that equal values do not hide one another
        places = [at + shift for at, row in enumerate(rows) if name in values[row]]
        shown = [values[row][name] for row in rows if name in values[row]]
        ax.plot(shown, places, label=name, color=mark["color"], marker=mark["marker"], linestyle="none", markersize=6)
    ax.set_yticks(range(len(rows)), rows)
    file_marks.colour_rows(ax)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xscale("log")
    plain(ax.xaxis)


def per_cent_of_optimum(values: Mapping[str, Mapping[str, float]], each: float) -> Figure:
    """Dots for weights in per cent of the optimum; a row is ``each`` inches high."""
    figure, ax = new(height=each * len(values) + 1.9)
    dots(ax, values)
    ax.set_xscale("linear")
    ax.set_xlabel("weight, in per cent of the optimum")
    legend(ax)
    return figure


def tidy(figure: Figure) -> None:
    """Break titles and labels that are too wide into lines, and write out the numbers of short logarithmic axes."""
    figure.draw_without_rendering()  # for the layout

    def fit(text: str, low: float, high: float, inches: float) -> str:
        """In lines that fit the paper where they are centred between low and high, shares of so many inches."""
        middle = (low + high) / 2
        return "\n".join(wrap(text, max(12, int(LETTERS * inches * 2 * min(middle, 1 - middle)))))

    for ax in figure.axes:
        box, (width, height) = ax.get_position(), figure.get_size_inches()
        ax.set_xlabel(fit(ax.get_xlabel(), box.x0, box.x1, width))
        ax.set_ylabel(fit(ax.get_ylabel(), box.y0, box.y1, height))
        for place in ("left", "center"):
            ax.set_title(fit(ax.get_title(place), box.x0, box.x1, width), loc=place)
        for axis in (ax.xaxis, ax.yaxis):
            _tidy_numbers(axis)


def _tidy_numbers(axis: Any) -> None:
    """Write out a short logarithmic axis; where numbers that are written out overlap, take fewer."""
    from matplotlib.ticker import LogFormatter

    low, high = sorted(axis.get_view_interval())
    short = 1e-5 < low <= high < min(1e5, 100 * low)
    if short and isinstance(axis.get_major_formatter(), LogFormatter):
        plain(axis)
    if axis.get_scale() == "log" and getattr(axis.get_major_formatter(), "func", None) is _written_out:
        fewer = iter(STEPS[1:])
        axis.figure.draw_without_rendering()
        while _overlap(axis) and (steps := next(fewer, None)):
            plain(axis, steps)
            axis.figure.draw_without_rendering()
        while _is_bare(axis):  # at most until there is room for 1 and 10
            low, high = sorted(axis.get_view_interval())
            getattr(axis.axes, f"set_{axis.axis_name}lim")(low / 1.25, high * 1.25)
            axis.figure.draw_without_rendering()


def _is_bare(axis: Any) -> bool:
    """Whether a logarithmic axis has no two numbers, though they are not left out on purpose; the figure is drawn."""
    wanted = axis.get_scale() == "log" and axis.get_tick_params().get(f"label{AT[axis.axis_name]}", True)
    return wanted and len(_label_boxes(axis)) < 2


def _overlap(axis: Any) -> bool:
    """Whether the labels of an axis's ticks overlap; the figure has been drawn."""
    boxes, along = _label_boxes(axis), int(axis.axis_name == "y")
    return any(first.max[along] > second.min[along] + 1 for first, second in pairwise(boxes))


def _label_boxes(axis: Any) -> list[Any]:
    """Where the labels of the ticks in view are, along the axis."""
    low, high = sorted(axis.get_view_interval())
    ticks = axis.get_major_ticks() + axis.get_minor_ticks()
    labels = [tick.label1 for tick in ticks if low <= tick.get_loc() <= high]
    shown = [label.get_window_extent() for label in labels if label.get_visible() and label.get_text().strip()]
    return sorted(shown, key=lambda box: box.min[int(axis.axis_name == "y")])


def crowded(figure: Figure) -> list[str]:
    """What cannot be read in a figure: axes without numbers, labels that overlap, and text that leaves the paper."""
    from matplotlib.text import Text

    figure.draw_without_rendering()
    paper, found, ticks = figure.bbox.padded(1), [], set()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            ticks |= {
                label
                for tick in axis.get_major_ticks() + axis.get_minor_ticks()
                for label in (tick.label1, tick.label2)
            }
            found += [f"labels along {axis.axis_name} overlap"] if _overlap(axis) else []
            found += [f"no two numbers along {axis.axis_name}"] if _is_bare(axis) else []
            out = any(box.x0 < paper.x0 or box.x1 > paper.x1 for box in _label_boxes(axis))
            found += [f"labels along {axis.axis_name} leave the figure"] if out else []
    for text in set(figure.findobj(Text)) - ticks:
        box = text.get_window_extent()
        inside = paper.x0 <= box.x0 and box.x1 <= paper.x1 and paper.y0 <= box.y0 and box.y1 <= paper.y1
        if text.get_visible() and text.get_text().strip() and not inside:
            found.append(f"{text.get_text()!r} leaves the figure")
    return found
