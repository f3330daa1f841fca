"""Figures: styles that differ, profiles that are right, and labels that can be read."""

from __future__ import annotations

import pytest

import troth
from bench import figures, file_marks


@pytest.fixture
def styled():
    plt = figures.pyplot()
    with plt.rc_context(figures.STYLE):
        yield
    plt.close("all")


def test_no_two_styles_are_alike():
    seen = [tuple(map(str, figures.style(number).values())) for number in range(84)]
    assert len(set(seen)) == 84
    lines = [(look["color"], str(look["linestyle"])) for look in map(figures.style, range(28))]
    assert len(set(lines)) == 28  # without markers too
    first = [figures.style(number) for number in range(len(figures.COLOURS))]
    assert len({style["color"] for style in first}) == len({style["marker"] for style in first}) == len(first)


def test_performance_profile(styled):
    figure, ax = figures.new()
    figures.performance_profile(ax, {"a": {"g": 1.0, "h": 4.0}, "b": {"g": 2.0, "h": 1.0}, "c": {"g": 1.0}})
    lines = {line.get_label(): line for line in ax.get_lines()}

    def share(name: str, at: float) -> float:
        x, y = lines[name].get_data()
        return max(value for place, value in zip(x, y, strict=True) if place <= at)

    assert [share("a", x) for x in (1, 2, 4)] == [0.5, 0.5, 1.0]
    assert [share("b", x) for x in (1, 2, 4)] == [0.5, 1.0, 1.0]
    assert share("c", 32) == 0.5  # what an engine lacks counts as never
    assert file_marks.WORDS not in lines
    assert not figures.crowded(figure)


def test_performance_profiles_ring_files(styled):
    _, ax = figures.new()
    figures.performance_profile(ax, {"a": {"g.mtx": 2.0, "h": 1.0}, "b": {"g.mtx": 1.0, "h": 3.0}})
    rings = [line.get_data() for line in ax.get_lines() if line.get_label() == file_marks.WORDS]
    assert [(list(x), list(y)) for x, y in rings] == [([2.0], [1.0]), ([1.0], [0.5])]


def test_sorted_curves_in_the_order_of_one(styled):
    _, ax = figures.new()
    figures.sorted_curves(ax, {"a": [1.0, 3.0, 2.0], "b": [10.0, None, 20.0]}, order="a")
    first, second = (list(line.get_ydata()) for line in ax.get_lines())
    assert first == [3.0, 2.0, 1.0]
    assert second[1:] == [20.0, 10.0]


def test_helpers_draw_what_can_be_read(styled):
    values = {f"a rather long name, {row}": {"hash": 1.0 + row, "low": 30.0} for row in range(4)}
    for draw, words in (
        (figures.bars, (values, True)),
        (figures.dots, (values,)),
        (figures.scaling, ({"a": {1: 4.0, 2: 2.5, 16: 1.0}},)),
    ):
        figure, ax = figures.new()
        draw(ax, *words)
        figures.legend(ax)
        assert not figures.crowded(figure)


def legend_of(figure) -> dict:
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    return dict(zip(names, legend.legend_handles, strict=True))


def test_files_have_a_colour_of_their_own_and_one_entry(styled):
    looks = figures.styles(["rmat-1m", "karate.mtx.gz", "grid", "power.graph.gz"])
    colours = {name: look["color"] for name, look in looks.items()}
    assert colours["karate.mtx.gz"] == colours["power.graph.gz"] == file_marks.COLOUR not in figures.COLOURS.values()
    assert looks["karate.mtx.gz"] != looks["power.graph.gz"]
    assert looks["grid"] == figures.style(1)  # as if there were no files
    figure, ax = figures.new()
    figures.scaling(ax, {name: {1: 2.0, 2: 1.0} for name in looks})
    figures.legend(ax)
    found = legend_of(figure)
    assert list(found) == ["rmat-1m", "grid", file_marks.WORDS]
    assert found[file_marks.WORDS].get_color() == file_marks.COLOUR


def test_rows_and_points_of_files_have_that_colour(styled):
    for draw in (figures.dots, figures.bars, figures.shares):
        figure, ax = figures.new()
        draw(ax, {"grid": {"a": 1.0, "b": 2.0}, "karate.mtx.gz": {"a": 3.0, "b": 4.0}})
        figures.legend(ax)
        rows = {label.get_text(): label.get_color() for label in ax.get_yticklabels()}
        assert rows == {"grid": figures.INK, "karate.mtx.gz": file_marks.COLOUR}
        assert list(legend_of(figure)) == ["a", "b", file_marks.WORDS]
        assert not figures.crowded(figure)
    figure, ax = figures.new()
    figures.sorted_curves(ax, {"a": [1.0, 3.0, 2.0]}, graphs={"a": ["grid", "karate.mtx", "rmat"]})
    _, rings = ax.get_lines()
    assert (rings.get_label(), list(rings.get_ydata()), list(rings.get_xdata())) == (file_marks.WORDS, [3.0], [1])


def test_crowded_finds_what_cannot_be_read(styled):
    figure, ax = figures.new()
    ax.set_xticks([0, 0.01, 1], ["a long label", "another label", "c"])
    ax.text(2.0, 0.5, "outside", transform=ax.transAxes, in_layout=False)
    found = figures.crowded(figure)
    assert "labels along x overlap" in found
    assert "'outside' leaves the figure" in found


@pytest.mark.parametrize("span", [(0.0013, 0.008), (1.1, 1.3), (12, 80), (0.00012, 0.019), (0.3, 3000), (65, 95)])
def test_logarithmic_axes_have_numbers(styled, span):
    figure, ax = figures.new()
    figures.dots(ax, {"first": {"a": span[0], "b": span[1]}, "second": {"a": span[1], "b": span[0]}})
    figures.tidy(figure)
    assert not figures.crowded(figure)
    ax.set_xticks([0.5 * sum(span)], ["one"])
    ax.set_xticks([], minor=True)
    assert "no two numbers along x" in figures.crowded(figure)


def test_what_stands_alone_is_in_the_title_and_in_no_legend(styled):
    for values, names, title in (
        ({"a": [2.0, 1.0]}, [], "x against a"),
        ({"a": [2.0, 1.0], "b": [3.0, 1.0]}, ["a", "b"], "x against"),
    ):
        figure, ax = figures.new()
        figures.sorted_curves(ax, values)
        ax.set_title("x against", loc="left")
        figures.legend(ax)
        assert [text.get_text() for legend in figure.legends for text in legend.get_texts()] == names
        assert ax.get_title("left") == title
    figure, ax = figures.new()
    figures.shares(ax, {"row": {"few": 3.0, "none": 0.0, "many": 4.0}})
    figures.legend(ax)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["few", "many"]


def test_without_matplotlib_one_line_says_so(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(troth.TrothError, match=r"troth\[plot\]"):
        figures.pyplot()
