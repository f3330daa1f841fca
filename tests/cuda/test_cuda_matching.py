"""``Matching`` of a graph on a GPU: what the CPU says, in arrays of the GPU."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from corpus import DTYPES, build, corpus, matchings, on_corpus, order_of
from hypothesis import given

import troth
from troth import reference
from troth.api.checking import certificate
from troth.api.result import Matching
from troth.arrays import cupy
from troth.errors import TrothError

pytestmark = pytest.mark.gpu

slides = corpus("slides")


def pair(graph, mate=None) -> tuple[Matching, Matching]:
    """One matching on the host and on the GPU."""
    mate = reference.greedy(graph, order_of(graph)) if mate is None else mate
    here = Matching(graph, mate, "greedy")
    return here, Matching(graph.to("cuda"), cupy().asarray(mate), "greedy", "cuda:0")


def check(here: Matching, there: Matching) -> None:
    assert there.weight == here.weight
    assert type(there.weight) is type(here.weight)
    assert there.cardinality == here.cardinality
    assert type(there.cardinality) is int
    for name in ("edges", "labels"):
        found, wanted = getattr(there, name)(), getattr(here, name)()
        assert isinstance(found, cupy().ndarray)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        assert found.get().tolist() == wanted.tolist()
    assert repr(there) == repr(here).replace("'cpu'", "'cuda:0'")


@on_corpus
def test_corpus(graph):
    check(*pair(graph))


@given(matchings(dtypes=DTYPES))
def test_any_matching(case):
    check(*pair(*case))


def test_many_vertices():
    graph = troth.generate("grid", rows=100, cols=130)
    check(*pair(graph, troth.match(graph, device="cpu").mate))


@pytest.mark.parametrize("ids", [np.array(["ann", "bob", "cid", "dee", "eve"]), np.array([10, 20, 30, 40, 50])])
def test_names_are_on_the_host(ids):
    here, there = pair(slides.replaced(ids=ids))
    assert isinstance(there.edges(), np.ndarray)
    assert not hasattr(there.edges(), "__cuda_array_interface__")
    assert there.edges().tolist() == here.edges().tolist()
    assert there.labels().get().tolist() == here.labels().tolist()


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "polars"])
def test_to_table(library):
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    table = pair(slides)[1].to_table(like=make({"x": [1]}))
    assert isinstance(table, type(make({"x": [1]})))
    assert [list(table[name].to_numpy()) for name in ("source", "target", "weight")] == [[0, 3], [2, 4], [5, 10]]


def test_to_dict_is_json():
    _, there = pair(slides)
    stats = {"rounds": cupy().array([3, 4]), "note": "text", "seconds": {"match": 0.5, "each": [np.float32(0.25)]}}
    proof = certificate(there.graph, there.mate)
    facts = json.loads(json.dumps(replace(there, stats=stats, certificate=proof).to_dict()))
    assert facts["stats"] == {"rounds": [3, 4], "note": "text", "seconds": {"match": 0.5, "each": [0.25]}}
    assert (facts["n"], facts["m"], facts["pairs"], facts["weight"], facts["device"]) == (5, 5, 2, 15, "cuda:0")
    assert facts["certificate"]["bound"] == proof.bound


def test_mates_and_graph_may_live_apart():
    pytest.importorskip("pyarrow")
    here, there = pair(slides)
    for mixed in (replace(there, mate=here.mate), replace(here, mate=there.mate)):
        assert (mixed.weight, mixed.cardinality) == (15, 2)
        assert mixed.edges().tolist() == [[0, 2], [3, 4]]
        assert type(mixed.labels()) is type(mixed.mate)
        assert mixed.to_table("pyarrow")["weight"].to_pylist() == [5, 10]


def test_what_is_no_matching_has_no_weight():
    for mate in ([2, -1, -1, 4, 3], [9, -1, 0, 4, 3], [-2, -1, -1, 4, 3], [3, -1, -1, 0, -1]):
        with pytest.raises(TrothError, match="vertex 0"):
            _ = pair(slides, np.array(mate, np.int32))[1].weight


def test_match_on_a_graph_of_the_gpu():
    m = troth.match(build([(0, 1, 4), (1, 2, 7), (2, 3, 5)]).to("cuda"), algorithm="greedy", certify=True)
    assert isinstance(m.mate, cupy().ndarray)
    assert m.mate.tolist() == [-1, 2, 1, -1]
    assert m.certificate == certificate(m.graph.to("cpu"), [-1, 2, 1, -1])
    assert troth.verify(m.graph, m)
