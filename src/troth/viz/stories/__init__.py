"""One story an algorithm: the pseudocode, and which of the engine's steps make a frame."""

from __future__ import annotations

from typing import Any

from troth.api.request import make_request, refuse_of_call
from troth.errors import TrothError
from troth.graph import Graph
from troth.mpi.partitioning import check_name
from troth.validate import check, whole
from troth.viz.interpret import interpret
from troth.viz.stories.auction import Auction
from troth.viz.stories.blue_red import BlueRed
from troth.viz.stories.greedy import Greedy
from troth.viz.stories.handshake import Handshake
from troth.viz.stories.handshake_arrays import HandshakeArrays
from troth.viz.stories.local import LocalRandom, LocalWeighted
from troth.viz.stories.locally_dominant import LocallyDominant
from troth.viz.stories.pgas import VARIANTS, Pgas
from troth.viz.stories.suitor import Suitor
from troth.viz.story import Story

MOST = 200  # vertices; more could not be told apart on a page
MOST_RANKS = 8  # there are so many colours for the regions of ranks
STORIES: dict[str, type[Story]] = {
    "suitor": Suitor,
    "locally-dominant": LocallyDominant,
    "handshake": Handshake,
    "greedy": Greedy,
    "blue-red": BlueRed,
    "auction": Auction,
    "local-random": LocalRandom,
    "local-weighted": LocalWeighted,
    **dict.fromkeys(VARIANTS, Pgas),
}


def tell(
    graph: Graph,
    algorithm: str = "suitor",
    *,
    ties: str = "hash",
    seed: int = 0,
    ranks: int | None = None,
    partition: str | None = None,
    **options: Any,
) -> Story:
    """Run an algorithm on a small graph and watch it; the parameters are those of ``steps``."""
    if algorithm not in STORIES:
        raise TrothError(f"algorithm={algorithm!r} has no story: choose {', '.join(STORIES)}")
    kind = STORIES[algorithm]
    device = "mpi" if issubclass(kind, Pgas) else "cpu"
    request = make_request(algorithm, device, ties=ties, seed=seed, threads=1, options=options)
    refuse_of_call(request.engines[0], request.given, "stories")
    if graph.n > MOST:
        raise TrothError(f"{graph.n} vertices are too many to be watched, at most {MOST}: show a smaller graph")
    graph, engine = graph.to("cpu"), request.engines[0]
    order, chosen = request.order_for(graph), request.options_of(engine)
    if chosen.get("packed"):
        kind = HandshakeArrays
    story = kind(graph, order)
    if isinstance(story, Pgas):
        if "batch" in chosen and "batch" not in options:
            chosen["batch"] = 1  # one vertex at a time
        name = "block" if partition is None else str(partition)
        check_name(name)  # refused here, once; otherwise every rank would refuse it
        count = check("ranks", 3 if ranks is None else ranks, whole(1, MOST_RANKS, text=True))
        story.replay(count, {"algorithm": algorithm, "ties": ties, "seed": request.seed, "partition": name, **chosen})
        return story
    if ranks is not None or partition is not None:
        raise TrothError(f"{algorithm} runs on one machine: ranks and a partition are for the four PGAS variants")
    story.begin()
    story.end(interpret(engine.load(), story)(graph, order, request.context(), **chosen).mates)
    return story
