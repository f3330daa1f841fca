"""A traced job: the real engine of a PGAS variant on real MPI ranks, each of which keeps a log.

``trace`` starts ``mpiexec -n RANKS python -m troth.viz.ranks FOLDER`` and returns the logs as one list. In every rank
the compiled steps (``ranks/steps.py``), the reads of remote words and the barriers and sums of all ranks are wrapped,
so that each leaves an event; nothing else differs from ``troth match --device mpi``.

An event has the time of the machine's clock: a write gets it before the word is published, a read after it has ended.
So whoever saw a word comes after the one who wrote it. Before each one-sided operation a rank waits for its own slot of
the clock; otherwise one rank might do everything before the next begins, and the page would show little. How the
asynchronous variants interleave still differs from run to run, as it does on a cluster; the mates do not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic_ns, sleep
from typing import Any

import numpy as np

from troth.errors import TrothError
from troth.graph import Graph
from troth.ranks.job import launched_rank, launcher
from troth.viz.interpret import watched

SLOT = 2_000_000  # nanoseconds
# Open MPI 4 and 5 refuse more ranks than cores unless these are set; a page need not be made fast.
CROWDED = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


# ---- in the caller's process ----


def trace(graph: Graph, ranks: int, words: dict[str, Any]) -> list[dict]:
    """The events of a job, in the order of the clock. The last ones, of kind "mates", are what the engine returned."""
    from troth.io import write_graph

    mpiexec = launcher()
    if mpiexec is None:
        raise TrothError(f'{words["algorithm"]} needs mpiexec to start its ranks: pip install "troth[mpi]"')
    with TemporaryDirectory(prefix="troth-") as name:
        folder = Path(name)
        write_graph(Graph.trusted(graph.indptr, graph.indices, graph.weights), folder / "graph.npz")
        (folder / "words.json").write_text(json.dumps(words))
        command = [mpiexec, "-n", str(ranks), sys.executable, "-m", "troth.viz.ranks", name]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | CROWDED)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith("troth: ")] or [done.stderr[-300:]]
            raise TrothError(f"the ranks failed: {said[0].removeprefix('troth: ')}")
        logs = [json.loads((folder / f"{rank}.json").read_text()) for rank in range(ranks)]
    return sorted((event for log in logs for event in log), key=lambda event: event["at"])


# ---- in every rank ----


class Log:
    """Watches one rank; vertices have their global numbers here."""

    def __init__(self, graph) -> None:
        self.graph, self.rank = graph, graph.comm.rank
        self.events: list[dict[str, Any]] = []
        self.known: dict[tuple[int, int], list[int]] = {}  # what was read last, by copy and vertex

    def add(self, kind: str, **values) -> None:
        self.events.append({"at": monotonic_ns(), "rank": self.rank, "kind": kind, **values})

    def names(self, places) -> list[int]:
        return self.graph.globals[places].tolist()

    def words(self, kind: str, places, word) -> None:
        """Own words have changed: (u, its mate or -1, matched)."""
        if len(places):
            self.add(kind, words=self._told(places, word))

    def _told(self, places, word) -> list[list[int]]:
        values = word[places]
        return np.column_stack([self.graph.globals[places], values >> 1, values & 1]).tolist()

    # the steps, by the names of their parameters

    def on_choose(self, at):
        found = yield
        self.words("choose", at.changed[:found], at.word)

    def on_match(self, at):
        _, found = yield
        self.words("match", at.matched[:found], at.word)

    def on_sweep(self, at):
        _, found = yield
        self.words("sweep", at.changed[:found], at.word)

    def on_choose_batch(self, at):
        yield
        self.words("choose", self._new(at, "changed", 0), at.word)
        self.words("match", self._new(at, "newly", 0), at.word)

    def on_answer_batch(self, at):
        matched, working = self._counts(at)
        yield
        self.words("match", self._new(at, "newly", matched), at.word)
        self._wake(at, working)

    def on_update(self, at, kind: str = "wake"):
        _, working = self._counts(at)
        yield
        self._wake(at, working, kind)

    def on_wake_all(self, at):
        return self.on_update(at, "notice")

    on_take_pushed = on_wake_all

    def _counts(self, at) -> tuple[int, int]:
        from troth.ranks import steps

        return int(at.lists.counts[steps.NEWLY]), int(at.lists.counts[steps.WORK])

    def _new(self, at, name: str, first: int) -> np.ndarray:
        from troth.ranks import steps

        return getattr(at.lists, name)[first : at.lists.counts[getattr(steps, name.upper())]]

    def _wake(self, at, first: int, kind: str = "wake") -> None:
        woken = self._new(at, "work", first)
        if len(woken):
            self.add(kind, vertices=self.names(woken))

    # what is not a compiled step

    def on_read(self, at):
        ghosts = at.self.graph.owned + np.flatnonzero(at.self.wanted)
        yield
        copy = getattr(at, "copy", 0)  # sync-poll has two copies, and reads both into one array
        told = self._told(ghosts, at.self.word)
        new = [word for word in told if word != self.known.get((copy, word[0]), [word[0], -1, 0])]
        self.known.update(((copy, word[0]), word) for word in new)
        if new:
            self.add("read", words=new)

    def on_notices(self, at):
        about, because, _ = yield
        if len(about):
            self.add("post", notices=np.column_stack([self.names(about), self.names(because)]).tolist())

    def on_barrier(self, at) -> None:
        self.add("barrier")

    def on_sum_over(self, at):
        self.add("sum")  # its time is that of the rank's arrival, as at a barrier
        event = self.events[-1]
        event["total"] = yield


def watch(engine, log: Log) -> None:
    """Wrap what the engine calls, where it looks it up."""
    from troth.ranks import notify, shared, steps

    places: list[tuple[Any, str]] = [(steps, name) for name in vars(steps) if hasattr(log, f"on_{name}")]
    places += [(engine, name) for name in ("barrier", "sum_over") if hasattr(engine, name)]
    places += [(shared.Words, "read"), (notify.Rank, "notices")]
    for place, name in places:
        setattr(place, name, watched(getattr(place, name), getattr(log, f"on_{name}")))


def take_turns(rank: int, ranks: int):
    """A ``pause`` that returns in this rank's next slot of the clock, once a slot."""
    used = 0

    def pause() -> None:
        nonlocal used
        now = monotonic_ns() // SLOT
        used = max(now, used + 1)
        used += (rank - used) % ranks
        sleep(max(0, used * SLOT - monotonic_ns()) / 1e9)

    return pause


def main(folder: Path) -> None:
    """Run the engine of ``words.json`` on ``graph.npz``, and leave the log."""
    from troth import mpi
    from troth.api.opening import read
    from troth.engines import find_engines
    from troth.ranks import shared

    world = mpi.world()
    with mpi.ending_the_job(world):
        words = json.loads((folder / "words.json").read_text())
        graph = mpi.from_graph(read(folder / "graph.npz"), comm=world, partition=words.pop("partition"))
        log = Log(graph)
        log.add("owner", vertices=graph.own.tolist())
        watch(find_engines(words["algorithm"], "mpi")[0].load_module(), log)
        shared.pause = take_turns(world.rank, world.size)
        m = mpi.match(graph, **words)
        log.add("mates", mates=np.column_stack([graph.own, m.mate]).tolist())
        (folder / f"{world.rank}.json").write_text(json.dumps(log.events))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except TrothError as error:  # all ranks have it, and one says it
        sys.exit(f"troth: {error}" if launched_rank() in (None, "0") else 2)
