"""How a matching shows itself: ``repr`` computes nothing, and ``len``, iteration and HTML say what the mates say."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from corpus import build, corpus

from troth.api import result
from troth.api.checking import certificate
from troth.api.result import Matching

slides = corpus("slides")
MATES = np.array([2, -1, 0, 4, 3], np.int32)


def matching(graph=slides, mate=MATES, **facts):
    return Matching(graph, mate, "greedy", **facts)


def proven():
    return matching(certificate=certificate(slides, MATES))


def test_repr_computes_nothing(monkeypatch):
    sure = proven()

    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(result, "matched_weight", refuse)
    monkeypatch.setattr(Matching, "_mates", refuse)
    assert repr(matching()) == "Matching(n=5, algorithm='greedy', device='cpu')"
    assert repr(sure) == "Matching(weight=15, ratio>=0.8823, n=5, algorithm='greedy', device='cpu')"


def test_repr_shows_what_was_computed():
    m = matching()
    assert (m.weight, len(m)) == (15, 2)
    assert repr(m) == "Matching(pairs=2, weight=15, n=5, algorithm='greedy', device='cpu')"


def test_what_is_no_matching_is_shown_all_the_same():
    broken = Matching(slides, np.array([1, 2, 3, 4, 0], np.int32), "<b>")
    assert repr(broken) == "Matching(n=5, algorithm='<b>', device='cpu')"
    assert broken._repr_html_().startswith("<pre>Matching(")
    assert "&lt;b&gt;" in broken._repr_html_()


def test_html_shows_pairs_weight_and_ratio():
    text = proven()._repr_html_()
    facts = {"pairs": 2, "weight": 15, "certified ratio": "at least 0.8823", "algorithm": "greedy", "device": "cpu"}
    for name, fact in facts.items():
        assert f"<tr><th>{name}</th><td>{fact}</td></tr>" in text


def test_pairs_are_python_objects_in_the_users_ids():
    m = matching()
    assert list(m) == [(0, 2), (3, 4)]
    assert all(type(v) is int for pair in m for v in pair)
    names = build([(0, 1, 2), (1, 2, 3)]).replaced(ids=np.array(["ann", "bob", "cy"]))
    named = list(matching(names, np.array([-1, 2, 1], np.int32)))
    assert named == [("bob", "cy")]
    assert type(named[0][0]) is str


def test_a_matching_without_pairs_is_empty_and_false():
    nobody = matching(mate=np.full(5, -1, np.int32))
    assert not nobody
    assert list(nobody) == []
    assert matching()


def test_pickles_with_what_was_computed_and_stays_frozen():
    m = proven()
    assert m.weight == 15
    again = pickle.loads(pickle.dumps(m))
    assert (again.mate.tolist(), again.certificate) == (m.mate.tolist(), m.certificate)
    assert repr(again) == repr(m)
    with pytest.raises(FrozenInstanceError):
        again.seed = 1
