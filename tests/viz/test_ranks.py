"""Stories of real MPI jobs: the mates of the engine, owners, and words that are read after they were written."""

from __future__ import annotations

import shutil

import pytest
from corpus import corpus, path
from test_stories import check

import troth
from troth.ranks.job import launcher
from troth.viz import steps
from troth.viz.stories import tell

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(launcher() is None, reason="there is no mpiexec")

CASES = [
    ("sync-poll", 3, "block", {}),
    ("sync-notify", 3, "hash", {}),
    ("async-notify", 3, "block", {}),
    ("async-poll", 2, "hash", {}),
    ("sync-notify", 2, "block", {"transport": "p2p"}),
    ("async-notify", 2, "block", {"transport": "p2p", "batch": 4}),
    ("async-notify", 3, "hash", {"capacity": 1}),
]


@pytest.mark.parametrize(("name", "ranks", "partition", "options"), CASES)
def test_last_frame(name, ranks, partition, options):
    graph = troth.read("rgg:n=40,degree=5,seed=2")
    story = tell(graph, name, ranks=ranks, partition=partition, **options)
    check(story, troth.match(graph, device="cpu").mate)
    assert sorted(set(story.owner)) == list(range(ranks))
    if partition == "block":
        assert story.owner == sorted(story.owner)
    if not options:
        lit = {list(story.lines)[frame.line] for frame in story.frames if frame.line >= 0}
        assert set(story.lines) - lit <= {"repeat", "while"}


def test_slides():
    story = tell(corpus("slides"), "async-notify", ties="high")
    check(story, [2, -1, 0, 4, 3])
    said = [frame.caption for frame in story.frames]
    told = next(i for i, caption in enumerate(said) if "notifies the owner" in caption)
    assert any("is matched" in caption for caption in said[:told])


def test_ranks_that_fail_say_why_once(tmp_path):
    owners = tmp_path / "owners.txt"
    owners.write_text("0\n1\n7\n0\n1\n")
    with pytest.raises(troth.TrothError, match=r"^the ranks failed: .*owners.txt") as refusal:
        tell(corpus("slides"), "sync-poll", partition=owners)
    assert str(refusal.value).count("owners.txt") == 1


def test_the_page_counts_ranks_without_vertices():
    html = steps(path([3]), algorithm="sync-poll", ranks=4, name=7)
    assert "2 vertices, 1 edge · ties hash, seed 0 · 4 ranks · partition block" in html
    assert "<span>on 7</span>" in html


def test_without_mpiexec(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *words, **more: None)
    with pytest.raises(troth.TrothError, match=r"pip install .troth\[mpi\]"):
        tell(corpus("slides"), "sync-poll")
