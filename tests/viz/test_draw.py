"""``troth.draw``: what is on the figure, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from corpus import on_corpus, path
from matplotlib.colors import to_hex
from matplotlib.text import Text
from scipy.spatial import Delaunay

import troth
from troth.order import make_order
from troth.reference import greedy
from troth.viz import drawing
from troth.viz.layout import place


@pytest.fixture(autouse=True)
def pyplot():
    """Pyplot without a screen, and no figure left behind."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def lines(figure) -> dict[str, np.ndarray]:
    """The two ends of each line by colour."""
    found = {}
    for part in figure.axes[0].collections[:2]:
        found[to_hex(part.get_colors()[0])] = np.array([(line[0], line[-1]) for line in part.get_segments()])
    return found


def widths(figure, which: int) -> list[float]:
    return np.asarray(figure.axes[0].collections[which].get_linewidths()).tolist()


@on_corpus
def test_every_edge_is_drawn_once(graph):
    mate = greedy(graph, make_order())
    figure = troth.draw(graph, mate)
    found = lines(figure)
    pairs = np.count_nonzero(mate >= 0) // 2
    assert len(found.get(drawing.MATCHED, ())) == pairs
    assert len(found.get(drawing.OTHER, ())) == graph.m - pairs
    assert figure.axes[0].get_title().startswith(f"{pairs} pair")
    figure.canvas.draw()  # every artist can be rendered


def test_matched_edges_join_mates():
    g = troth.generate("grid", rows=4, cols=5, seed=1)
    m = greedy(g, make_order())
    where = np.array([(v % 5, v // 5) for v in range(g.n)])
    segments = lines(troth.draw(g, m, positions=where))[drawing.MATCHED]
    drawn = {tuple(int(x + 5 * y) for x, y in segment) for segment in segments}
    assert drawn == {(u, int(v)) for u, v in enumerate(m) if u < v}


def test_heavier_edges_are_wider_and_matched_ones_bold():
    figure = troth.draw(path([1, 9, 2, 3]), [-1, 2, 1, -1, -1])
    thin, bold = widths(figure, 0), widths(figure, 1)
    assert thin == sorted(thin)
    assert len(set(thin)) == 3
    assert bold[0] > max(thin)


def test_names_and_weights_where_there_is_room():
    texts = [text.get_text() for text in troth.draw(path([4, 7]), [-1, 2, 1]).axes[0].texts]
    assert sorted(texts) == ["0", "1", "2", "4", "7"]
    named = troth.as_graph(([0], [1], [3]), base=0)
    assert [t.get_text() for t in troth.draw(named, labels=False).axes[0].texts] == []
    assert not troth.draw(troth.generate("path", n=100)).axes[0].texts


def test_long_names_are_legible_beside_their_discs():
    long, short = (replace(path([3]), ids=np.array(["Ann", name])) for name in ("Charlotte", "Bob"))
    inside = [text for text in troth.draw(short, [1, 0]).axes[0].texts if text.get_text() != "3"]
    assert [(text.get_color(), text.get_position()) for text in inside] == [("white", (0, 0))] * 2
    beside = [text for text in troth.draw(long, [1, 0]).axes[0].texts if text.get_text() != "3"]
    assert {text.get_color() for text in beside} == {drawing.INK}
    assert all(text.get_position()[1] > 0 for text in beside)


def boxes(figure) -> list:
    """Of all words in the drawing, in pixels."""
    figure.draw_without_rendering()
    return [Text.get_window_extent(text) for text in figure.axes[0].texts]  # without the line to a name's vertex


def test_words_do_not_overlap():
    rng = np.random.default_rng(0)
    names = np.array(["".join(rng.choice(list("aeimorst"), 9)) for _ in range(40)])
    crowd = replace(troth.read("rgg:n=40,degree=6,seed=4"), ids=names)
    for figure in (
        troth.draw(crowd, troth.match(crowd), positions="rgg:n=40,degree=6,seed=4", labels=True),
        troth.draw("complete:n=7", labels=True),
        troth.draw("path:n=9,weights=trap", labels=True),
    ):
        found = boxes(figure)
        assert len(found) > 8
        for k, box in enumerate(found):
            assert not any(box.overlaps(other) for other in found[:k])


def test_matched_edges_avoid_other_vertices():
    """The middle one of three in a row is no end of the edge between the others."""
    figure = troth.draw(([0, 0], [1, 2], [1, 5]), [2, -1, 0], positions=[(0, 0), (1, 0), (2, 0)])
    (curve,) = figure.axes[0].collections[1].get_segments()
    assert np.array_equal(curve[[0, -1]], [(0, 0), (2, 0)])
    assert np.linalg.norm(curve - [1, 0], axis=1).min() > 0.1
    clear = troth.draw(([0, 0], [1, 2], [1, 5]), [2, -1, 0], positions=[(0, 0), (1, 1), (2, 0)])
    assert len(clear.axes[0].collections[1].get_segments()[0]) == 2  # straight


def legend_of(figure) -> list[str]:
    found = figure.axes[0].get_legend()
    return [] if found is None else [text.get_text() for text in found.get_texts()]


def test_legend_says_what_occurs():
    assert legend_of(troth.draw(path([1, 9, 2]), [-1, 2, 1, -1])) == [
        "matched", "free", "not matched", "width = weight, 1 to 9"]  # fmt: skip
    assert legend_of(troth.draw(path([3]), [1, 0])) == ["matched"]
    assert legend_of(troth.draw(path([1, 9]))) == ["width = weight, 1 to 9"]
    assert legend_of(troth.draw(path([2, 2]))) == []
    assert legend_of(troth.draw(path([1, 9]), [1, 0, -1], legend=False)) == []


# ---- own places ----


def discs(figure) -> np.ndarray:
    return np.asarray(figure.axes[0].collections[2].get_offsets())


def test_families_are_drawn_at_their_own_points():
    assert discs(troth.draw("grid:rows=2,cols=3")).tolist() == [[0, 0], [1, 0], [2, 0], [0, -1], [1, -1], [2, -1]]
    columns = discs(troth.draw("bipartite:left=2,right=3,m=5"))
    assert columns[:, 0].tolist() == [0, 0, 1, 1, 1]
    assert (np.diff(columns[:2, 1]) < 0).all()
    spec = "rgg:n=60,degree=6,seed=5,weights=near"
    points, g = discs(troth.draw(spec)), troth.read(spec)
    far = np.linalg.norm(points[:, None] - points, axis=2)
    u, v, w = drawing.edges_of(g)
    assert np.allclose(w, 1 - far[u, v] ** 2 / (6 / (np.pi * 59)), atol=1e-6)  # their weights know the distances
    assert np.array_equal(points, discs(troth.draw(g, positions=spec)))
    triangles, points = troth.read("delaunay:n=30"), discs(troth.draw("delaunay:n=30"))
    again = Delaunay(points).simplices
    pairs = {tuple(sorted(map(int, pair))) for corners in again for pair in combinations(corners, 2)}
    assert pairs == set(zip(*(ends.tolist() for ends in drawing.edges_of(triangles)[:2]), strict=True))


def test_two_columns_of_any_graph_with_two_sides():
    g = troth.as_graph(([0, 1, 2, 4], [3, 3, 5, 5], [1, 2, 3, 4]))
    assert discs(troth.draw(g, positions="columns"))[:, 0].tolist() == [0, 0, 0, 1, 0, 1]


def test_axes_and_title_of_the_caller(pyplot):
    figure, ax = pyplot.subplots()
    assert troth.draw(path([1]), ax=ax, title="mine") is figure
    assert ax.get_title() == "mine"


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_tiny_graphs(n, tmp_path):
    troth.draw(troth.generate("path", n=n)).savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"graph": troth.generate("path", n=2001)}, "2001 vertices cannot be told apart; at most 2000"),
        ({"graph": path([1, 2]), "matching": [1, 0, 5]}, "its mate 5 is not a vertex"),
        ({"graph": path([1, 2]), "matching": [2, -1, 0]}, "not a neighbour"),
        ({"graph": path([1, 2]), "positions": [(0, 0), (1, 1)]}, "positions must be 3 rows of two finite numbers"),
        ({"graph": path([1, 2]), "positions": [(0, 0), (1, 1), (np.nan, 0)]}, "positions must be 3 rows"),
        ({"graph": path([1, 2]), "positions": ["a", "b", "c"]}, "positions must be 3 rows"),
        ({"graph": path([1, 2]), "positions": [(0, 1, 2), (0, 1, 2)]}, "positions must be 3 rows"),
        ({"graph": path([1, 2]), "positions": range(6)}, "positions must be 3 rows"),
        ({"graph": path([1, 2]), "positions": "rgg:n=4,degree=2"}, "positions must be 3 rows"),
        ({"graph": path([1, 2]), "positions": "complete:n=3"}, "'complete:n=3' says no places"),
        ({"graph": "complete:n=3", "positions": "columns"}, "this graph has an odd cycle"),
    ],
)
def test_refusals(arguments, reason):
    with pytest.raises(troth.TrothError, match=reason):
        troth.draw(**arguments)


def test_names_are_no_formulas(tmp_path):
    g = replace(path([1, 2]), ids=np.array(["$x_{$", "a$b$c", "\\frac"]))
    troth.draw(g).savefig(tmp_path / "names.png")  # would raise where they were read as mathematics


def test_without_matplotlib_the_remedy_is_told():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import troth\n"
        "try: troth.draw(([0], [1]))\n"
        "except troth.TrothError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == 'draw needs matplotlib: pip install "troth[plot]"\n'


# ---- places ----


def test_path_is_laid_out_straight_in_unit_steps():
    places = place(troth.generate("path", n=20))
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    assert np.allclose(steps, 1, atol=0.05)
    assert abs(np.linalg.norm(places[-1] - places[0]) - 19) < 0.5


@on_corpus
def test_vertices_are_apart_and_places_repeat(graph):
    places = place(graph)
    assert places.shape == (graph.n, 2)
    assert np.isfinite(places).all()
    apart = np.linalg.norm(places[:, None] - places, axis=2) + np.eye(graph.n)
    assert apart.min(initial=1) > 1e-3
    assert np.array_equal(places, place(graph))


@pytest.mark.gpu
def test_a_graph_on_a_gpu():
    g = troth.generate("grid", rows=3, cols=3)
    there = troth.match(g.to("cuda"))
    assert troth.draw(there.graph, there).axes[0].get_title() == troth.draw(g, troth.match(g)).axes[0].get_title()


def test_vertices_do_not_hide_each_other():
    """Also where all distances are equal, and the axes of the layout are any two of many."""
    for graph in (
        troth.generate("complete", n=200),
        troth.generate("rgg", n=200, degree=4),
        troth.generate("path", n=60),
    ):
        places = place(graph)
        assert places.shape == (graph.n, 2)
        apart = np.linalg.norm(places[:, None] - places, axis=2) + 9 * np.eye(graph.n)
        assert apart.min() > 0.3
