"""``match`` and ``strongest``: the gate, then the table, then a ``Matching``."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from troth.engines import Engine, check_device, check_threads, check_ties, find_engine, read_options
from troth.errors import DeviceMemoryError
from troth.graph import Graph, as_graph, check_seed
from troth.matching import Matching

Progress = Callable[[str, int, int], None]

WORTH_A_COPY = 2**20  # stored entries; "auto" leaves smaller graphs of the host on the host


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
        "local-random" and "local-weighted" give others, each a function of graph, options and seed alone. "sync-poll",
        "async-poll", "sync-notify" and "async-notify" are for MPI ranks, and give the first one
    device
        "cpu", "cuda", "cuda:1", "mpi" (the ranks of an MPI job, which all call with the same graph), or "auto": the GPU
        where the graph is there already, or where there is one and the graph has 2^20 stored entries or more and fits;
        else the CPU. The result does not depend on it.
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
        the engine's own: ``troth match --help`` lists them

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
    .. [1] F. Manne and M. Halappanavar, New effective multithreaded matching algorithms, IPDPS 2014.

    Examples
    --------
    >>> import numpy as np
    >>> m = match((np.array([0, 0, 2, 2, 3]), np.array([1, 2, 3, 4, 4]), np.array([4, 5, 7, 9, 10])))
    >>> m.mate.tolist(), m.weight
    ([2, -1, 0, 4, 3], 15)
    """
    engine = find_engine(algorithm, device, options)
    device = str(device)  # a torch.device too
    read_options(engine, options)
    check_device(engine, device)
    check_ties(ties)
    check_threads(threads)
    seed = check_seed(seed)
    clock = [perf_counter()]
    graph = as_graph(g)
    clock.append(perf_counter())
    note = None
    if device == "auto":
        engine = find_engine(algorithm, device, options, prefer=_best_device(graph))
    try:
        mate, stats = _run(engine, device, graph, ties, seed, threads, progress, options)
    except DeviceMemoryError as error:
        engine = find_engine(algorithm, "auto", options)
        if device != "auto" or engine.device != "cpu":
            raise
        note = f"on the CPU, since {error}"
        mate, stats = _run(engine, "cpu", graph, ties, seed, threads, progress, options)
    stats["seconds"] = {"gate": clock[1] - clock[0], **stats["seconds"]}
    if note:
        stats["note"] = note
    where = engine.device if engine.device != "cuda" else stats.pop("device")
    certificate = None
    if certify:
        from troth.verify import certificate as certify_matching

        start = perf_counter()
        certificate = certify_matching(graph, mate, threads=threads)
        stats["seconds"]["certify"] = perf_counter() - start
    return Matching(graph, mate, algorithm, where, ties, seed, stats, certificate)


def _best_device(graph: Graph) -> str:
    """Where "auto" goes: to the graph if that is on a GPU, and to a GPU with a graph that is worth the copy."""
    if graph.device != "cpu":
        return "cuda"
    if len(graph.indices) < WORTH_A_COPY:
        return "cpu"
    from troth.cuda._device import is_available

    return "cuda" if is_available() else "cpu"


def _run(engine: Engine, device: str, graph: Graph, ties, seed, threads, progress, options) -> tuple[Any, dict]:
    """Take the graph to the engine's device, run, and take the mates back to where the graph lives."""
    from troth.order import make_order  # compiled code: loaded only once the request is known to be sound

    chosen = read_options(engine, options)
    words = {"threads": threads, "seed": np.uint64(seed % 2**64), "progress": progress, **chosen}
    if engine.device == "cpu" and graph.device == "cpu":
        order, run = make_order(ties, seed, graph.bits_range()), engine.load()
        start = perf_counter()
        mate, stats = run(graph, order, **words)
        stats["seconds"] = {"match": perf_counter() - start, **stats.get("seconds", {})}
        return mate, stats
    if engine.device == "mpi":
        from troth.mpi.matching import match_whole

        return match_whole(graph, engine.algorithm, ties, seed, threads, options, progress)
    if engine.device == "cpu":
        start = perf_counter()
        there = graph.to("cpu")
        copied = perf_counter() - start
        mate, stats = _run(engine, "cpu", there, ties, seed, threads, progress, options)
        from troth.cuda.transfer import to_device

        stats["seconds"] = {"copy": copied, **stats["seconds"]}
        return to_device(mate, graph.device), stats
    from troth.cuda.transfer import run_there

    return run_there(engine, device, graph, ties, seed, words)


def strongest(
    g: Any,
    device: str = "auto",
    ties: str = "low",
    seed: int = 0,
    threads: int | None = None,
    gpu_threads: int | None = None,
) -> np.ndarray:
    """The heaviest neighbour of every vertex, -1 where there is none: the first step of handshaking.

    Reads the graph once. Among equal weights the tie rule decides; "low" is that of the CS 314 project. With
    ``gpu_threads`` the project's own kernels run, each on so many GPU threads.

    Examples
    --------
    >>> import numpy as np
    >>> strongest((np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([3, 3, 1]))).tolist()
    [1, 0, 0]
    """
    given = {} if gpu_threads is None else {"gpu_threads": gpu_threads}
    engine = find_engine("handshake", device, given)
    device = str(device)
    chosen = read_options(engine, given)
    check_device(engine, device)
    check_ties(ties)
    check_threads(threads)
    seed = check_seed(seed)
    graph = as_graph(g)
    if device == "auto":
        engine = find_engine("handshake", device, given, prefer=_best_device(graph))
    if engine.device == "cuda":
        from troth.cuda.transfer import strongest_there

        try:
            return strongest_there(device, graph, ties, seed, chosen.get("gpu_threads"))
        except DeviceMemoryError:
            if device != "auto" or given:
                raise
    from troth.cpu.handshake import strongest as run
    from troth.order import make_order

    there = graph.to("cpu")
    found = run(there, make_order(ties, seed, there.bits_range()), threads=threads)
    if graph is there:
        return found
    from troth.cuda.transfer import to_device

    return to_device(found, graph.device)
