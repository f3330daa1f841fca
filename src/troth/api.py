"""``match`` and ``strongest``: the gate, then the table, then a ``Matching``."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from troth.engines import find_engine, read_options
from troth.graph import as_graph, check_seed
from troth.matching import Matching

Progress = Callable[[str, int, int], None]


def match(
    g: Any,
    algorithm: str = "suitor",
    device: str = "auto",
    ties: str = "hash",
    seed: int = 0,
    threads: int | None = None,
    certify: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Matching:
    """A heavy matching of a graph.

    Parameters
    ----------
    g
        a ``Graph``, or anything that ``as_graph`` takes
    algorithm
        "suitor", "locally-dominant", "handshake" and "greedy" give one and the same matching, bit for bit; "blue-red",
        "local-random" and "local-weighted" give others, each a function of graph, options and seed alone
    device
        "auto" or "cpu"
    ties
        which of two neighbours of equal weight is better: "hash" (by a seeded scramble of the ids; fast whatever the
        weights), "low" or "high" (by the id)
    seed
        of the scramble and of the random algorithms
    threads
        by default as many as there are cores and work for them; the result does not depend on it
    certify
        also compute a proof of how close to optimal this matching is (``Matching.certificate``)
    progress
        called as ``progress(phase, done, total)`` now and then
    **options
        the engine's own (see ``engines.py``)

    Returns
    -------
    Matching

    Notes
    -----
    The deterministic algorithms reach at least half of the optimum weight, their matching is maximal, and no edge
    outside it is heavier than the matched edges at both of its ends. Suitor looks about 1.5 times at each row on random
    weights, and takes O(m Delta) at worst; with ``presort=True`` O(m log Delta) at worst.

    References
    ----------
    F. Manne and M. Halappanavar, New effective multithreaded matching algorithms, IPDPS 2014.

    Examples
    --------
    >>> import numpy as np
    >>> m = match((np.array([0, 0, 2, 2, 3]), np.array([1, 2, 3, 4, 4]), np.array([4, 5, 7, 9, 10])))
    >>> m.mate.tolist(), m.weight
    ([2, -1, 0, 4, 3], 15)
    """
    engine = find_engine(algorithm, device)
    chosen = read_options(engine, options)
    seed = check_seed(seed)
    clock = [perf_counter()]
    graph = as_graph(g)
    clock.append(perf_counter())
    from troth.order import make_order  # compiled code: loaded only once the request is known to be sound

    order = make_order(ties, seed, graph.bits_range())
    run = engine.load()
    clock.append(perf_counter())
    mate, stats = run(graph, order, threads=threads, seed=np.uint64(seed % 2**64), progress=progress, **chosen)
    clock.append(perf_counter())
    stats["seconds"] = {"gate": clock[1] - clock[0], "match": clock[3] - clock[2], **stats.get("seconds", {})}
    certificate = None
    if certify:
        from troth.verify import certificate as certify_matching

        certificate = certify_matching(graph, mate, threads=threads)
        stats["seconds"]["certify"] = perf_counter() - clock[3]
    return Matching(graph, mate, algorithm, engine.device, ties, seed, stats, certificate)


def strongest(g: Any, device: str = "auto", ties: str = "low", seed: int = 0, threads: int | None = None) -> np.ndarray:
    """The heaviest neighbour of every vertex, -1 where there is none: the first step of handshaking.

    Reads the graph once. Among equal weights the tie rule decides; "low" is that of the CS 314 project.

    Examples
    --------
    >>> import numpy as np
    >>> strongest((np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([3, 3, 1]))).tolist()
    [1, 0, 0]
    """
    find_engine("handshake", device)
    seed = check_seed(seed)
    graph = as_graph(g)
    from troth.cpu.handshake import strongest as run
    from troth.order import make_order

    return run(graph, make_order(ties, seed, graph.bits_range()), threads=threads)
