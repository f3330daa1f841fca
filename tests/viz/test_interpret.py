"""Interpreted engines: the mates and counts of the compiled ones, and watchers that see what passes."""

from __future__ import annotations

import numpy as np
import pytest
from corpus import TIES, corpus, drawn, near_ties, on_corpus, order_of

from troth.contract import Context
from troth.cpu import locally_dominant, suitor
from troth.engines import TABLE
from troth.viz.interpret import interpret

CASES = [
    (engine, options)
    for engine in TABLE
    if engine.device == "cpu"
    for options in ({}, *({name: value} for name, value in (("presort", True), ("mode", "random"))))
    if set(options) <= set(engine.options)
]
on_engines = pytest.mark.parametrize(
    ("engine", "options"), CASES, ids=[" ".join([engine.algorithm, *options]) for engine, options in CASES]
)


def same(engine, options, graph, ties="hash") -> None:
    of_engine = {name: option.default for name, option in engine.options.items() if not option.of_call}
    context, chosen = Context(1, np.uint64(3)), {**of_engine, **options}
    compiled, plain = (
        run(graph, order_of(graph, ties), context, **chosen) for run in (engine.load(), interpret(engine.load(), None))
    )
    assert plain.mates.tolist() == compiled.mates.tolist()
    assert plain.counts == compiled.counts


@on_corpus
def test_equals_the_compiled_engine(graph):
    for engine, options in CASES:
        same(engine, options, graph)


@on_engines
@pytest.mark.parametrize("ties", TIES)
def test_wide_weights_and_tie_rules(engine, options, ties):
    same(engine, options, drawn(60, 150, near_ties), ties)


class Watcher:
    """Counts offers."""

    def __init__(self):
        self.made, self.won = [], 0

    def on_exchange(self, at):
        self.made.append(int(at.v))
        held = yield
        self.won += at.offer > held

    def on_suitors_to_mates(self, at):
        self.state = at.state.copy()


def test_watchers_see_arguments_and_results():
    graph, watcher = corpus("slides"), Watcher()
    stats = interpret(suitor.run, watcher)(graph, order_of(graph), Context(1)).counts
    assert len(watcher.made) == stats["proposals"]
    assert watcher.won == 6
    assert np.count_nonzero(watcher.state) == 4


def test_the_compiled_engine_stays_as_it_is():
    before = dict(vars(locally_dominant))
    graph = corpus("slides")
    interpret(locally_dominant.run, Watcher())(graph, order_of(graph), Context(1))
    assert vars(locally_dominant) == before
