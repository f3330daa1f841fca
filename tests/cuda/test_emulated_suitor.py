"""The default Suitor without a GPU: its kernels, run by g++ on the CPU, in all plans and where `settle` ends early."""

from __future__ import annotations

import platform
import shutil
from contextlib import ExitStack
from unittest import mock

import numpy as np
import pytest
from corpus import drawn_with_hub, near_ties, on_corpus, order_of, wide_integers
from emulation import OutOfMemoryError, emulated, fake_cupy, on_card
from shapes import complete, grid, path

import troth
from troth import reference
from troth.contract import Context, Result
from troth.cuda import presorted, suitor, undecided
from troth.cuda.suitor import LONG
from troth.graph import Graph

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="fibers are switched by instructions of x86-64"),
]
PLANS = {
    "chase": {"FEW_KERNELS_UP_TO": 0, "DENSE": 2**62},
    "few kernels": {"FEW_KERNELS_UP_TO": 2**62, "DENSE_WITH_FEW": 0},
    "all kernels": {"FEW_KERNELS_UP_TO": 0, "DENSE": 0, "MATES_AT_ONCE_UP_TO": 0},
}
NO_PATIENCE = {"PATIENCE": 0, "LOOKS": 0, "VERY_DENSE": 2**62}
NO_ENTRIES = {"WIDE_LOOKS": 0, "WIDE_LOOKS_WITH_FEW": 0, "VERY_DENSE": 0}


def run(graph: Graph, order, constants: dict[str, int], seed: int = 0) -> Result:
    there = on_card(graph)
    with ExitStack() as stack:
        stack.enter_context(emulated(suitor, presorted, undecided, seed=seed))
        for name, value in constants.items():
            stack.enter_context(mock.patch.object(suitor, name, value))
        return suitor.run(there, order, Context())


def check(
    graph: Graph, ties: str = "hash", seed: int = 0, bounds: tuple = ({}, NO_PATIENCE | NO_ENTRIES, NO_PATIENCE)
) -> None:
    order = order_of(graph, ties, seed)
    expected = reference.greedy(graph, order).tolist()
    for name, plan in PLANS.items():
        for bound in bounds:
            assert run(graph, order, plan | bound, seed).mates.tolist() == expected, (name, bound)


def test_progress_ends_at_the_end():
    graph, told = grid(7, 8, lambda u, v: u + v), []
    with emulated(suitor, presorted, undecided):
        suitor.run(on_card(graph), order_of(graph), Context(progress=lambda *some: told.append(some)))
    assert told == [("match", 0, graph.n), ("match", graph.n, graph.n)]


@on_corpus
def test_corpus(graph):
    check(graph, ("hash", "low", "high")[graph.n % 3], graph.n % 4)


@pytest.mark.parametrize("weigh", [near_ties, wide_integers, lambda rng, m: rng.integers(1, 4, m).astype(np.uint8)])
def test_hubs(weigh):
    """Rows of every kind: short ones, of a team, and in pieces."""
    check(drawn_with_hub(LONG + 300, 1500, weigh), "low", 1)


@pytest.mark.parametrize("ties", ["hash", "low"])
def test_where_everybody_wants_the_same(ties):
    for graph in (complete(70, lambda u, v: 3), complete(60, lambda u, v: u * v + 1), grid(9, 11, lambda u, v: 1)):
        check(graph, ties)


def test_a_long_chain_ends_early_and_is_right_all_the_same():
    """The edges that are left are looked at twice, to find them, and then sorted."""
    graph = path(range(1, 3000))
    order = order_of(graph)
    result = run(graph, order, {"PATIENCE": 300})
    assert result.counts["edges_read"] > 3 * len(graph.indices)
    assert result.mates.tolist() == reference.greedy(graph, order).tolist()


@pytest.mark.parametrize("little", [0, 2**14])
def test_unmeasured(little):
    """A small graph is settled without a bound, and nothing is read back."""
    graph = troth.generate("rmat", scale=8, weights="integers", high=3)
    order = order_of(graph)
    there = on_card(graph)
    for name, plan in PLANS.items():
        with ExitStack() as stack:
            stack.enter_context(emulated(suitor, presorted, undecided))
            for constant, value in (plan | NO_PATIENCE | {"UNBOUNDED_UP_TO": little}).items():
                stack.enter_context(mock.patch.object(suitor, constant, value))
            result = suitor.run(there, order, Context(measured=False))
        assert result.mates.tolist() == reference.greedy(graph, order).tolist(), name
        assert (result.counts == {}) == bool(little)


@pytest.mark.parametrize(
    ("where", "name", "error"),
    [
        pytest.param(suitor, "undecided_edges", OutOfMemoryError, id="for the edges"),
        pytest.param(presorted, "make_room_to_sort", OutOfMemoryError, id="to sort them"),
        pytest.param(fake_cupy, "lexsort", MemoryError, id="in the sort"),  # as CuPy 14 says it
    ],
)
def test_without_room_to_begin_anew(where, name, error):
    graph = troth.generate("rmat", scale=8, weights="integers", high=3)
    order = order_of(graph)
    for plan in PLANS.values():
        with mock.patch.object(where, name, side_effect=error) as asked:
            result = run(graph, order, plan | NO_PATIENCE)
        assert asked.called
        assert result.mates.tolist() == reference.greedy(graph, order).tolist()
