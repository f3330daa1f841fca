"""Blue-red without a GPU: its kernels, run by g++ on the CPU, against the reference."""

from __future__ import annotations

import platform
import shutil

import numpy as np
import pytest
from corpus import drawn_with_hub, fractions, on_corpus, order_of
from emulation import emulated, on_card

import troth
from troth import reference
from troth.contract import Context
from troth.cuda import blue_red
from troth.graph import Graph

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="fibers are switched by instructions of x86-64"),
]
ROUNDS = ((0, True), (10**9, True), (0, False))  # what one block may do, and whether there are lists


def check(graph: Graph, monkeypatch, seed: int = 0, ties: str = "hash", **options) -> None:
    """Mates and fractions, by many blocks, by one, and with all vertices in every round."""
    order, there = order_of(graph, ties, seed), on_card(graph)
    mate, shares = reference.blue_red(graph, order, seed, **options)
    for most, lists in ROUNDS:
        monkeypatch.setattr(blue_red, "SMALL", most)
        with emulated(blue_red, seed=seed % 5):
            found = blue_red.run(there, order, Context(seed=np.uint64(seed)), lists=lists, **options)
        assert found.mates.tolist() == mate.tolist()
        assert found.counts["fractions"] == shares
        assert found.counts["rounds"] == len(shares)


@pytest.mark.parametrize("mode", ["weighted", "random"])
@on_corpus
def test_corpus(graph, mode, monkeypatch):
    for seed, rounds in enumerate((None, 0, 1, 3)):
        check(graph, monkeypatch, seed, mode=mode, rounds=rounds)


@pytest.mark.parametrize("mode", ["weighted", "random"])
def test_larger_graphs(mode, monkeypatch):
    """Rows that lanes, and rows that a block looks at; rounds in which most vertices are gone."""
    check(drawn_with_hub(700, 2500, fractions), monkeypatch, 3, "low", mode=mode)
    check(troth.generate("rmat", scale=8, edgefactor=24, dtype="float64"), monkeypatch, 1, mode=mode)
    check(troth.generate("hubs", n=300, hubs=2, degree=150), monkeypatch, 2, mode=mode, p=0.9)
