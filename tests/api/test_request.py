"""Where "auto" sends a graph of the host."""

from __future__ import annotations

import numpy as np
import pytest

import troth
from bench.experiments.dense import dense_graph
from troth.api import device_choice, request
from troth.graph import Graph


@pytest.fixture
def cores(monkeypatch):
    return lambda count: monkeypatch.setattr(device_choice, "available_cores", lambda: count)


def copying_pays(graph, threads, ties="hash"):
    return device_choice.copying_pays(graph, ties, 0, threads)


def test_a_copy_pays_where_few_threads_would_match(cores):
    graph = troth.generate("rmat", scale=8, device="cpu", dtype="float64")
    for count, all_lose in ((1, True), (2, True), (16, False)):
        cores(count)
        assert copying_pays(graph, 1)
        assert copying_pays(graph, None) == all_lose
        assert not copying_pays(graph, 100)


def test_row_starts_are_copied_too(cores):
    """A copy of mostly empty rows does not pay."""
    cores(4)
    few = Graph(np.append(np.zeros(4000, np.int64), [1, 2]), np.array([4000, 3999], np.int32), np.ones(2))
    assert not copying_pays(few, 4)


@pytest.mark.parametrize("ties", ["hash", "low"])
def test_dense_graphs_go_to_the_gpu_where_all_want_the_same(cores, ties):
    """On the CPU such rows are read again and again, but for equal weights with scrambled ties: those go in waves."""
    cores(16)
    pays = {law: copying_pays(dense_graph(law, 2000), None, ties) for law in ("random", "product", "sum", "equal")}
    assert pays == {"random": False, "product": True, "sum": True, "equal": ties == "low"}


@pytest.mark.parametrize("pays", [True, False])
def test_the_estimate_decides_for_one_matching_by_suitor(monkeypatch, pays):
    graph = troth.generate("rmat", scale=8, device="cpu")
    monkeypatch.setattr(request, "WORTH_A_COPY", 0)
    monkeypatch.setattr(request, "is_available", lambda: True)
    monkeypatch.setattr(request, "copying_pays", lambda *_: pays)
    chosen = {
        (algorithm, once): request.make_request(algorithm).engine_for(graph, once=once).device
        for algorithm in ("suitor", "auction")
        for once in (True, False)
    }
    assert chosen.pop(("suitor", True)) == ("cuda" if pays else "cpu")
    assert set(chosen.values()) == {"cuda"}
