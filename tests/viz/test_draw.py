"""``troth.draw``: what is on the figure, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from corpus import on_corpus, path
from matplotlib.colors import to_hex

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
    """The segments by colour."""
    return {to_hex(part.get_colors()[0]): np.array(part.get_segments()) for part in figure.axes[0].collections[:2]}


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


def test_a_long_name_is_legible_beside_its_disc():
    named = replace(path([3]), ids=np.array(["Ann", "Charlotte"]))
    short, long, _ = troth.draw(named, [1, 0]).axes[0].texts
    assert (short.get_color(), short.get_position()) == ("white", (0, 0))
    assert long.get_color() == drawing.INK
    assert long.get_position()[1] > 0


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
