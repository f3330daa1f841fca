"""The page: whole by itself, the same for the same graph, and, in a real browser, what its buttons do and show."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from chromium import open_chromium
from corpus import build, corpus

import troth
from troth.cli import main
from troth.viz import steps
from troth.viz.stories import STORIES, tell
from troth.viz.stories.pgas import Pgas

CPU = [name for name, story in STORIES.items() if not issubclass(story, Pgas)]


def data(html: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="story">(.*?)</script>', html, re.DOTALL)[1])


def test_nothing_is_fetched():
    html = steps(corpus("slides"))
    assert not re.search(r"\b(src|href)\s*=|url\(|@import|https?://(?!www\.w3\.org/2000/svg)", html)


def test_same_graph_same_page():
    graph = troth.read("rgg:n=20,degree=4")
    assert steps(graph, algorithm="blue-red", seed=3) == steps(graph, algorithm="blue-red", seed=3)


def test_names_cannot_break_out():
    evil = replace(build([(0, 1, 3)]), ids=np.array(["</script><b>", 'x" onload="']))
    html = steps(evil, name="<i>&name</i>")
    assert data(html)["names"] == ["</script><b>", 'x" onload="']
    assert "&lt;i&gt;&amp;name&lt;/i&gt;" in html
    assert html.count("</script>") == 2


def test_frames_are_differences():
    graph = troth.read("grid:rows=3,cols=4")
    story, found = tell(graph), data(steps(graph))
    state: dict = {}
    for told, frame in zip(found["frames"], story.frames, strict=True):
        state |= told["set"]
        assert [tuple(state[str(v)]) for v in range(graph.n)] == list(frame.vertices)
        assert (told["line"], told["caption"]) == (frame.line, frame.caption)


# ---- the command line ----


def test_show(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert main(["show", "grid:rows=3,cols=4", "-a", "handshake", "--ties", "low"]) == 0
    assert capfd.readouterr().out == "steps.html is written; open it in a browser\n"
    assert [path.name for path in tmp_path.iterdir()] == ["steps.html"]
    html = (tmp_path / "steps.html").read_text(encoding="utf-8")
    assert "One-way handshaking <span>on grid:rows=3,cols=4</span>" in html


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are text there")
def test_show_takes_a_file_whose_name_is_no_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"bad\xff.csv")
    (tmp_path / name).write_text("0,1,2.5\n1,2,1.5\n")
    assert main(["show", name]) == 0
    assert "bad\\udcff.csv" in (tmp_path / "steps.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["path:n=300"], "300 vertices are too many"),
        (["path:n=5", "-O", "p=0.5"], "has no option 'p'"),
        (["path:n=5", "-o", "nowhere/steps.html"], "there is no folder"),
        (["path:n=5", "--ranks", "2"], "PGAS"),
    ],
)
def test_show_refuses(words, reason, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert main(["show", *words]) == 2
    said = capfd.readouterr().err
    assert reason in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_show_is_not_for_mpiexec(monkeypatch, capfd):
    monkeypatch.setenv("PMI_RANK", "0")
    assert main(["show", "path:n=5"]) == 2
    assert "say --ranks" in capfd.readouterr().err


# ---- in Chromium ----


@pytest.fixture(scope="module")
def chromium():
    yield from open_chromium()


class Player:
    """A page in the browser; what it says to the console and what it fetches are kept."""

    def __init__(self, browser, path, html: str, width: int = 1280, height: int = 800, **words) -> None:
        self.frames, self.names = data(html)["frames"], data(html)["names"]
        path.write_text(html, encoding="utf-8")
        self.url, self.complaints, self.requests = path.as_uri(), [], []
        self.page = browser.new_page(viewport={"width": width, "height": height}, **words)
        self.page.set_default_timeout(60_000)
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.open()

    def open(self, fragment: str = "") -> None:
        """Load the page anew, and wait until it is drawn."""
        self.page.goto("about:blank")
        self.page.goto(self.url + fragment)
        self.page.wait_for_function("!!document.querySelector('#count')?.textContent")

    def js(self, expression: str):
        """The value of an expression in the page."""
        return self.page.evaluate(expression)

    def press(self, key: str) -> None:
        """A key of the keyboard."""
        self.page.keyboard.press(key)

    def frame(self) -> int:
        """The number of the frame shown; caption, lit line and slider agree with it."""
        number, total = map(int, self.page.text_content("#count").split("/"))
        told = self.frames[number - 1]
        assert total == len(self.frames)
        assert self.page.text_content("#caption") == told["caption"]
        lit = "[...document.querySelectorAll('#code li')].findIndex((item) => item.classList.contains('lit'))"
        assert self.js(lit) == told["line"]
        assert int(self.page.input_value("#slider")) == number - 1
        return number

    def click(self, selector: str, part: float = 0.5) -> None:
        """In the middle of an element, or elsewhere along it."""
        box = self.page.locator(selector).bounding_box()
        self.page.mouse.click(box["x"] + part * box["width"], box["y"] + box["height"] / 2)

    def mates(self) -> list[int]:
        """From the edges that are drawn as matched."""
        found = "[...document.querySelectorAll('.edge.matched')].map((line) => line.dataset.ends)"
        mate = [-1] * len(self.names)
        for ends in self.js(found):
            u, v = map(int, ends.split())
            assert mate[u] == mate[v] == -1
            mate[u], mate[v] = v, u
        return mate


@pytest.fixture
def player(chromium, tmp_path):
    opened = []

    def make(html: str, **size) -> Player:
        opened.append(Player(chromium, tmp_path / "steps.html", html, **size))
        return opened[-1]

    yield make
    for shown in opened:
        assert shown.complaints == []
        assert shown.requests
        assert [url for url in shown.requests if not url.startswith("file:")] == []
        shown.page.close()


def test_buttons_and_slider(player):
    shown = player(steps(corpus("slides")))
    last = len(shown.frames)
    assert shown.frame() == 1
    for selector, number in (("#step", 2), ("#step", 3), ("#back", 2), ("#last", last), ("#first", 1)):
        shown.click(selector)
        assert shown.frame() == number
    shown.click("#slider", 0.998)
    assert shown.frame() == last
    assert shown.mates() == [2, -1, 0, 4, 3]


def test_keyboard(player):
    shown = player(steps(corpus("slides")))
    last = len(shown.frames)
    for key, number in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("End", last), ("Home", 1)):
        shown.press(key)
        assert shown.frame() == number
    shown.press("ArrowLeft")
    assert shown.frame() == 1  # nothing before the first


def test_playing(player):
    shown = player(steps(corpus("slides")))
    shown.js("document.querySelector('#pace').value = '150'")
    shown.press(" ")
    assert shown.js("document.querySelector('#play').ariaLabel") == "Pause"
    shown.page.wait_for_function(
        f"document.querySelector('#count').textContent === '{len(shown.frames)} / {len(shown.frames)}'"
    )
    assert shown.frame() == len(shown.frames)
    assert shown.js("document.querySelector('#play').ariaLabel") == "Play"
    shown.click("#play")  # again, from the start
    shown.page.wait_for_function("document.querySelector('#count').textContent.startsWith('2 ')")
    shown.press(" ")  # the focus is on the button, and still it is one stroke
    assert shown.js("document.querySelector('#play').ariaLabel") == "Play"


def test_displacement_is_drawn(player):
    shown = player(steps(replace(corpus("slides"), ids=np.array(list("abcde")))))
    number = next(i for i, frame in enumerate(shown.frames) if "displaces c" in frame["caption"]) + 1
    shown.open(f"#{number}")
    assert shown.frame() == number
    notes = shown.js("[...document.querySelectorAll('.note')].map((note) => note.textContent)")
    assert notes == ["b : 4", "", "a : 5", "", "d : 10"]
    arrows = shown.js("[...document.querySelectorAll('#picture .arrow')].map((a) => [a.dataset.arrow, a.classList[1]])")
    assert sorted(arrows) == [["0 2", "points"], ["1 0", "points"], ["2 4", "refused"], ["3 4", "points"]]
    roles = shown.js("[...document.querySelectorAll('.vertex')].map((vertex) => vertex.classList[1])")
    assert roles == ["processed", "processed", "unprocessed", "current", "candidate"]


def test_names_fit_into_their_discs(player):
    shown = player(
        steps(replace(corpus("slides"), ids=np.array(["a", "bob", "Charlotte-Amalie", "MMMMMMMM", "10000"])))
    )
    names = shown.js("[...document.querySelectorAll('.name')].map((name) => name.textContent)")
    assert names == ["a", "bob", "Charlo…", "MMMMMM…", "10000"]
    wide = "[...document.querySelectorAll('{}')].map((item) => item.getBBox().width)"
    assert max(shown.js(wide.format("#picture .name"))) < min(shown.js(wide.format("#picture .disc")))


def test_families_stand_at_their_own_points(player):
    shown = player(steps("grid:rows=2,cols=3"))
    found = shown.js(
        "[...document.querySelectorAll('.vertex')].map((vertex) => vertex.getBoundingClientRect().toJSON())"
    )
    x, y = (np.array([box[side] for box in found]).reshape(2, 3) for side in ("x", "y"))
    assert np.allclose(x[0], x[1])
    assert np.allclose(y, y[:, :1])
    assert (np.diff(x[0]) > 50).all()
    assert y[0, 0] < y[1, 0]  # the first row is on top


def test_disc_and_name_change_together(player):
    shown = player(steps(corpus("slides")))
    fills = "['.disc', '.name'].map((part) => getComputedStyle(document.querySelector('.vertex ' + part)).fill)"
    before = shown.js(fills)
    at_once = shown.js(f"(show({len(shown.frames) - 1}), {fills})")  # in the same turn, so nothing has faded yet
    shown.page.wait_for_timeout(300)
    assert before != at_once == shown.js(fills)


def test_little_motion(player):
    paces = "[...document.querySelector('#pace').options].map((choice) => choice.textContent)"
    assert player(steps(corpus("slides"))).js(paces) == ["slow", "normal", "fast", "very fast"]
    calm = player(steps(corpus("slides")), reduced_motion="reduce")
    assert calm.js(paces) == ["slow", "normal"]
    assert calm.page.input_value("#pace") == "3000"


SITE = (Path(__file__).parents[2] / "docs" / "_static" / "site.css").read_text(encoding="utf-8")
LEGEND = "[document.documentElement.scrollHeight, document.querySelector('aside').getBoundingClientRect().bottom]"


@pytest.mark.parametrize(("width", "wide"), [(358, ""), (640, ""), (895, "52.2rem"), (1216, "68rem")])
def test_legend_is_inside_the_frames_of_the_site(player, width, wide):
    """At 390, 700, 1280 and 1720 pixels the site's column is so wide; its style says how high the frame is."""
    rule = rf"@container \(min-width: {wide}\) {{" if wide else "container-type: inline-size; }"
    height = 16 * int(re.search(rule + r"\s*div\.steps iframe {[^}]*?height: (\d+)rem", SITE)[1])
    grid = "grid:rows=3,cols=4,weights=integers,seed=3"
    for graph, algorithm in ((grid, "suitor"), ("rgg:n=14,degree=4,seed=110", "auction")):
        shown = player(steps(graph, algorithm=algorithm, name=graph), width=width, height=height)
        whole, legend = shown.js(LEGEND)
        assert whole == height  # it does not scroll
        assert 0.6 * height < legend < height


@pytest.mark.parametrize("name", CPU)
def test_last_frame_is_the_matching(player, name):
    for graph in (troth.read("rgg:n=40,degree=5,seed=7"), corpus("two-components"), corpus("empty")):
        shown = player(steps(graph, algorithm=name))
        shown.press("End")
        assert shown.frame() == len(shown.frames)
        assert shown.mates() == troth.match(graph, algorithm=name, device="cpu").mate.tolist()


def area(path: str) -> float:
    """Of a polygon, M1,2L3,4...Z."""
    x, y = np.array([corner.split(",") for corner in path[1:-1].split("L")], float).T
    return abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2


def test_owners_are_regions(player):
    pytest.importorskip("mpi4py")
    graph = "grid:rows=3,cols=4"
    shown = player(steps(graph, algorithm="async-poll", ranks=2), width=390)
    shown.press("End")
    assert shown.mates() == troth.match(graph, device="cpu").mate.tolist()
    assert shown.js(f"{OVERLAPS}('.rank')") == [0, 0, 0]
    cells = "[...document.querySelectorAll('.region')].map((group) => group.childElementCount)"
    assert shown.js(cells)[:3] == [6, 6, 0]
    labels = shown.js("[...document.querySelectorAll('.rank')].map((label) => label.textContent)")
    assert labels == ["rank 0", "rank 1"]
    paths = shown.js("[...document.querySelectorAll('.region path')].map((path) => path.getAttribute('d'))")
    wide, high = shown.js("[picture.clientWidth, picture.clientHeight]")
    assert sum(map(area, paths)) == pytest.approx(wide * high)  # the cells fill the picture, and none lies on another


OVERLAPS = """((...kinds) => {
  const boxes = (selector) => [...document.querySelectorAll(selector)].filter((item) => item.textContent !== "" ||
    item.tagName === "rect").map((item) => item.getBoundingClientRect());
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  const all = kinds.flatMap(boxes);
  const frame = picture.getBoundingClientRect();
  const out = all.filter((box) => box.left < frame.left || box.right > frame.right || box.top < frame.top ||
    box.bottom > frame.bottom).length;
  return [all.filter((a, i) => all.some((b, j) => j < i && !apart(a, b))).length, out,
          document.documentElement.scrollWidth - document.documentElement.clientWidth];
})"""
ALL = f"{OVERLAPS}('.disc', '.note', '.weight')"


@pytest.mark.parametrize("width", [1280, 360])
def test_nothing_overlaps(player, width):
    shown = player(steps(corpus("slides")), width=width)
    for _ in shown.frames:
        assert shown.js(ALL) == [0, 0, 0]
        shown.press("ArrowRight")
    shown = player(steps(troth.read("rgg:n=30,degree=4")), width=width)
    shown.press("End")
    assert shown.js(f"{OVERLAPS}('.note')") == [0, 0, 0]
    for graph in (troth.read("grid:rows=4,cols=4"), "grid:rows=4,cols=4"):
        shown = player(steps(graph, algorithm="locally-dominant"), width=width)
        assert shown.js(ALL) == [0, 0, 0]
    for button in ("first", "back", "play", "step", "last"):
        right = shown.js(f"document.querySelector('#{button}').getBoundingClientRect().right")
        assert right <= width
