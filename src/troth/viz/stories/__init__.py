"""One story an algorithm: the pseudocode, and which of the engine's steps make a frame."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from troth.engines import find_engine, read_options, whole
from troth.errors import TrothError
from troth.graph import Graph, check_seed
from troth.viz.story import Story

MOST = 200  # vertices; a page of more shows nothing to anybody
MOST_RANKS = 8  # whose regions have colours of their own
STORIES = {
    "suitor": "suitor:Suitor",
    "locally-dominant": "locally_dominant:LocallyDominant",
    "handshake": "handshake:Handshake",
    "greedy": "greedy:Greedy",
    "blue-red": "blue_red:BlueRed",
    "local-random": "local:LocalRandom",
    "local-weighted": "local:LocalWeighted",
    "sync-poll": "pgas:SyncPoll",
    "async-poll": "pgas:AsyncPoll",
    "sync-notify": "pgas:SyncNotify",
    "async-notify": "pgas:AsyncNotify",
}


def tell(
    graph: Graph,
    algorithm: str = "suitor",
    ties: str = "hash",
    seed: int = 0,
    ranks: int | None = None,
    partition: str | None = None,
    **options: Any,
) -> Story:
    """Run an algorithm on a small graph and watch it; the parameters are those of ``steps``."""
    from troth.order import make_order

    if algorithm not in STORIES:
        raise TrothError(f"algorithm={algorithm!r} has no story: choose {', '.join(STORIES)}")
    module, _, name = STORIES[algorithm].partition(":")
    engine = find_engine(algorithm, "mpi" if module == "pgas" else "cpu")
    if graph.n > MOST:
        raise TrothError(f"{graph.n} vertices are too many to be watched, at most {MOST}: show a smaller graph")
    chosen = read_options(engine, options)
    seed = check_seed(seed)
    graph = graph.to("cpu")
    order = make_order(ties, seed, graph.bits_range())
    story = getattr(import_module(f"troth.viz.stories.{module}"), name)(graph, order)
    if engine.device == "mpi":
        if "batch" in chosen and "batch" not in options:
            chosen["batch"] = 1  # one vertex at a time
        words = {"algorithm": algorithm, "ties": ties, "seed": seed, "partition": _partition(partition), **chosen}
        story.replay(_ranks(ranks), words)
        return story
    if ranks is not None or partition is not None:
        raise TrothError(f"{algorithm} runs on one machine: ranks and a partition are for the four PGAS variants")
    from troth.viz.interpret import interpret

    story.begin()
    words = {"threads": 1, "seed": np.uint64(seed % 2**64), "progress": None}
    mate, _ = interpret(engine.load(), story)(graph, order, **words, **chosen)
    story.end(mate)
    return story


def _ranks(ranks: int | None) -> int:
    try:
        return whole(1, MOST_RANKS)(3 if ranks is None else ranks)
    except ValueError as error:
        raise TrothError(f"ranks={ranks!r}: give {error}") from None


def _partition(name: str | None) -> str:
    """Who owns a vertex; refused here, since the ranks would each say it."""
    from troth.mpi.partition import check_name

    name = "block" if name is None else str(name)
    check_name(name)
    return name
