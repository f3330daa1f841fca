"""Stories: the last frame is the matching, every frame is possible, and displacements are shown, as by Naim et al."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from corpus import corpus, on_corpus, order_of

import troth
from troth.contract import Context
from troth.cpu.suitor import run
from troth.cpu.suitor_unbranched import STRETCH
from troth.engines import ALGORITHMS
from troth.viz.stories import STORIES, tell
from troth.viz.stories.auction import Auction
from troth.viz.stories.pgas import Pgas
from troth.viz.story import CANDIDATE, CURRENT, MATCHED, PROCESSED, UNPROCESSED

CPU = [name for name, home in STORIES.items() if not issubclass(home, Pgas)]
GRAPHS = (
    "grid:rows=4,cols=5",
    "rgg:n=70,degree=6,seed=4",
    "rmat:scale=6,edgefactor=4,weights=integers",
    "complete:n=19",
)


def mates(frame) -> list[int]:
    return [vertex.mate for vertex in frame.vertices]


def check(story, mate) -> None:
    """The last frame shows these mates; everything is on an edge and in the pseudocode.

    Nobody is ever divorced, but by the auction, which finds a matching and then a better one.
    """
    graph = story.graph
    assert mates(story.frames[-1]) == list(mate)
    row = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    edges = set(zip(row.tolist(), graph.indices.tolist(), strict=True))
    before = [-1] * graph.n
    for frame in story.frames:
        assert -1 <= frame.line < len(story.lines)
        assert frame.caption.endswith(".")
        now = mates(frame)
        assert isinstance(story, Auction) or all(old in (-1, new) for old, new in zip(before, now, strict=True))
        assert {(u, v) for u, v in enumerate(now) if v >= 0} <= edges
        assert {(u, vertex.points) for u, vertex in enumerate(frame.vertices) if vertex.points >= 0} <= edges
        assert {(u, v) for u, v, _ in frame.arrows} <= edges
        assert {vertex.role for vertex in frame.vertices} <= {UNPROCESSED, CURRENT, CANDIDATE, PROCESSED, MATCHED}
        before = now


def test_every_algorithm_has_a_story():
    assert set(STORIES) == set(ALGORITHMS)


@on_corpus
def test_corpus(graph):
    for name in CPU:
        check(tell(graph, name), troth.match(graph, algorithm=name, device="cpu").mate)


@pytest.mark.parametrize("name", CPU)
def test_families(name):
    for text in GRAPHS:
        graph = troth.read(text)
        for ties in ("low", "hash"):
            check(
                tell(graph, name, ties=ties, seed=5),
                troth.match(graph, algorithm=name, device="cpu", ties=ties, seed=5).mate,
            )


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("suitor", {"presort": True}),
        ("locally-dominant", {"presort": True}),
        ("blue-red", {"mode": "random", "p": 0.3}),
        ("handshake", {"packed": True}),
        ("blue-red", {"rounds": 1}),
        ("auction", {"rounds": 1, "polish": 0}),
        ("auction", {"rounds": 2, "slack": 0}),
        ("auction", {"eps": 0.3, "rounds": None, "slack": 1}),
    ],
)
def test_options(name, options):
    graph = troth.read(GRAPHS[1])
    story = tell(graph, name, **options)
    check(story, troth.match(graph, algorithm=name, device="cpu", **options).mate)
    assert not any(vertex.colour for vertex in story.frames[-1].vertices)


def test_every_look_is_shown_once():
    """Rows that are looked at together, and long ones, which go alone."""
    rng = np.random.default_rng(1)
    ends = [(0, v, 200 - v) for v in range(1, 120)] + [(1, v, 300 - v) for v in range(2, 90)]
    row, col, weight = np.array(ends + [(2, v, int(rng.integers(1, 400))) for v in range(3, 140)]).T
    graph = troth.as_graph((row, col, weight))
    assert np.diff(graph.indptr).max() > STRETCH
    said = " ".join(frame.caption for frame in tell(graph).frames)
    found = run(graph, order_of(graph), Context(1))
    looks = found.counts["scans"] - graph.n  # the first choices are counted as well
    assert looks > 5
    assert said.count("looks at its row") + said.count("finds nobody") == looks


# ---- the example of Naim et al.: a-b 4, a-c 5, c-d 7, c-e 9, d-e 10 ----

A, B, C, D, E = range(5)


def notes(frame) -> str:
    return " ".join(vertex.note.replace(" ", "") or "_" for vertex in frame.vertices)


def letters() -> troth.Graph:
    return replace(corpus("slides"), ids=np.array(list("abcde")))


BEGUN = ("_ _ _ _ _", "_ _ a:5 _ _", "b:4 _ a:5 _ _", "b:4 _ a:5 _ c:9", "b:4 _ a:5 _ d:10")  # until d displaces c


def test_slides_as_the_engine_goes():
    """In a stream: c is displaced at e once, and then displaces b at a."""
    story = tell(letters())
    said = [frame.caption for frame in story.frames]
    assert [caption for caption in said if "displaces" in caption] == [
        "An offer of 10 beats one of 9: d displaces c, who must look again.",
        "An offer of 5 beats one of 4: c displaces b, who must look again.",
    ]
    shown = [notes(frame) for frame in story.frames]
    assert list(dict.fromkeys(shown)) == [
        *BEGUN,
        "b:4 _ a:5 e:10 d:10",
        "c:5 _ a:5 e:10 d:10",
    ]
    displaced = next(frame for frame in story.frames if "displaces c" in frame.caption)
    assert [vertex.role for vertex in displaced.vertices] == [PROCESSED, PROCESSED, UNPROCESSED, CURRENT, CANDIDATE]
    assert displaced.arrows == ((C, E, "refused"),)
    assert mates(story.frames[-1]) == [C, -1, A, E, D]


def test_slides_as_they_are_printed():
    """With sorted rows the engine makes the steps that Naim et al. show, frame by frame, two misprints corrected."""
    shown = [notes(frame) for frame in tell(letters(), presort=True).frames]
    assert list(dict.fromkeys(shown)) == [
        *BEGUN,
        "b:4 _ a:5 c:7 d:10",
        "b:4 _ a:5 e:10 d:10",
        "c:5 _ a:5 e:10 d:10",
    ]


def test_hands_meet_before_they_match():
    frames = tell(corpus("slides"), "handshake").frames
    meeting = next(frame for frame in frames if "hands meet on 3-4" in frame.caption)
    assert (meeting.vertices[D].points, meeting.vertices[E].points) == (E, D)
    assert mates(meeting) == [-1] * 5
    assert mates(frames[frames.index(meeting) + 1]) == [-1, -1, -1, E, D]


def test_packed_lists_show_the_arrays_of_figure_5():
    """One round on the slides' example: d-e 10 is taken, and the edges a-b and a-c are packed."""
    story = tell(letters(), "handshake", packed=True, ties="low")
    told = [list(story.lines)[frame.line] for frame in story.frames[1:-1]]
    assert told[:7] == ["repeat", "scan", "collate", "check", "mark", "sum", "pack"]
    arrays = [{array.name: "".join(array.items) for array in frame.arrays} for frame in story.frames]
    scanned, summed, packed = arrays[2], arrays[6], arrays[7]
    assert (scanned["src"], scanned["dst"]) == ("aabcccddee", "bcaadececd")
    assert scanned["strongestDst"] == scanned["dst"]  # the last of each segment is its strongest already
    assert summed["keep_edges"] == "1111000000"
    assert summed["new_indices"] == "0123444444"
    assert (packed["new src"], packed["new dst"], packed["new weight"]) == ("aabc", "bcaa", "4545")
    assert story.frames[1].arrays[0].shaded == (1, 1, 0, 1, 1, 1, 0, 0, 1, 1)
    assert mates(story.frames[-1]) == [C, -1, A, E, D]


def test_blue_proposes_to_red():
    graph = troth.read(GRAPHS[1])
    frames = [frame for frame in tell(graph, "blue-red").frames if "propose" in frame.caption]
    asked = [(frame.vertices[u].colour, frame.vertices[v].colour) for frame in frames for u, v, _ in frame.arrows]
    assert len(asked) > 10
    assert set(asked) == {("blue", "red")}


def test_the_auction_tells_every_step():
    """Bids that win and lose, prices that only rise, and what becomes of the arcs."""
    story = tell(troth.read("rgg:n=14,degree=4,seed=110"), "auction")
    told = [list(story.lines)[frame.line] for frame in story.frames[1:]]
    assert list(dict.fromkeys(told)) == [line for line in story.lines if line not in ("repeat", "complete")]
    bidding = [frame for frame, line in zip(story.frames[1:], told, strict=True) if line in ("bid", "win")]
    paid = [[float(vertex.note or 0) for vertex in frame.vertices] for frame in bidding]
    assert (np.diff(paid, axis=0) >= 0).all()
    asked = {arrow[:2] for frame in bidding for arrow in frame.arrows if arrow.kind == "ask"}
    lost = {arrow[:2] for frame in bidding for arrow in frame.arrows if arrow.kind == "refused"}
    kept = {(u, vertex.points) for u, vertex in enumerate(bidding[-1].vertices) if vertex.points >= 0}
    assert lost < asked
    assert kept < asked
    assert len({v for _, v in kept}) == len(kept)  # an item has one bidder
    assert not any(vertex.note for vertex in story.frames[-1].vertices)


def test_the_auction_says_why_it_ends():
    graph = troth.read(GRAPHS[1])
    for words, options in (
        ("Everyone has an item or has left", {"slack": 0, "rounds": None}),
        ("could still gain is little", {"slack": 1}),
        ("That was the last round", {"rounds": 1}),
    ):
        ends = [frame.caption for frame in tell(graph, "auction", **options).frames if "auction ends" in frame.caption]
        assert len(ends) == 1
        assert words in ends[0]


def test_target_is_for_match():
    with pytest.raises(troth.TrothError, match="target") as refusal:
        tell(corpus("slides"), "auction", target=0.9)
    assert "\n" not in str(refusal.value)


def test_equal_weights_go_in_waves():
    story = tell(troth.generate("complete", n=12, weights="unit"))
    assert "by falling priority" in story.lines["each"]
    assert any("the tie rule prefers" in frame.caption for frame in story.frames)


@pytest.mark.parametrize("seed", [-1, 2**70])
def test_seeds_are_any_whole_numbers(seed):
    graph = troth.read(GRAPHS[0])
    story = tell(graph, "blue-red", seed=seed)
    assert [vertex.mate for vertex in story.frames[-1].vertices] == troth.match(
        graph, algorithm="blue-red", seed=seed
    ).mate.tolist()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"algorithm": "suitor", "ranks": 2}, "are for the four PGAS variants"),
        ({"algorithm": "simplex"}, "has no story"),
        ({"algorithm": "suitor", "variant": "synclb"}, "suitor on cpu has no option 'variant'"),
        ({"algorithm": "sync-poll", "ranks": 9}, "from 1 to 8"),
        ({"algorithm": "sync-poll", "ranks": "x"}, "ranks='x': give a whole number from 1 to 8"),
        ({"algorithm": "sync-poll", "ranks": 2.5}, "ranks=2.5"),
        ({"algorithm": "sync-poll", "partition": "nowhere"}, "^partition='nowhere' is not a file: choose block, "),
        ({"algorithm": "greedy", "seed": 1.5}, "seed"),
        ({"algorithm": "greedy", "ties": "even"}, "tie rule"),
    ],
)
def test_refusals(words, reason):
    with pytest.raises(troth.TrothError, match=reason):
        tell(corpus("slides"), **words)


def test_large_graphs_are_refused():
    with pytest.raises(troth.TrothError, match="201 vertices are too many"):
        tell(troth.generate("path", n=201))
