"""Greedy: the GPU's kernels, run by g++ on the CPU, against the reference."""

from __future__ import annotations

import platform
import shutil

import pytest
from corpus import on_corpus, order_of
from emulation import emulated, on_card

from troth import reference
from troth.contract import Context
from troth.cuda import greedy

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="fibers are switched by instructions of x86-64"),
]


@on_corpus
def test_corpus(graph):
    for seed, ties in enumerate(("hash", "low", "high")):
        order = order_of(graph, ties, seed)
        with emulated(greedy, seed=seed):
            mates = greedy.run(on_card(graph), order, Context()).mates
        assert mates.tolist() == reference.greedy(graph, order).tolist()
