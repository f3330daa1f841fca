"""``match`` and ``strongest``: the gate, then the request, then its result."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from troth.api.checking import certify_mates
from troth.api.opening import as_graph
from troth.api.proof import Certificate, first_to_reach, why_missed
from troth.api.request import Placed, Request, make_request, perform
from troth.api.result import Matching
from troth.arrays import arrays_of, to_device
from troth.contract import Array, Progress, Result
from troth.errors import TrothError
from troth.graph import Graph
from troth.validate import check_maximize


def match(
    graph: Any,
    *,
    algorithm: str = "suitor",
    device: str = "auto",
    ties: str = "hash",
    seed: int = 0,
    threads: int | None = None,
    certify: bool = False,
    maximize: bool | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Matching:
    """A heavy matching of a graph.

    Parameters
    ----------
    graph : Graph or anything that ``as_graph`` takes
        The graph.
    algorithm : str, optional
        "suitor", "locally-dominant", "handshake" and "greedy" give one and the same matching, bit for bit; "auction"
        gives a heavier one, near the optimum; "blue-red", "local-random" and "local-weighted" give others; each of
        these is a function of graph, options and seed alone. "sync-poll", "async-poll", "sync-notify" and
        "async-notify" are for MPI ranks, and give the first one.
    device : str, optional
        "cpu", "cuda", "cuda:1", "mpi" (the ranks of an MPI job, which all call with the same graph), or "auto": the GPU
        where the graph is there already, or where there is one and the graph has 2^20 stored entries or more and fits;
        else the CPU. The result does not depend on it.
    ties : str, optional
        Which of two neighbours of equal weight is better: "hash" (by a seeded scramble of the ids; fast whatever the
        weights), "low" or "high" (by the id), "degree" (fewer neighbours, then the scramble; heavier where many tie).
    seed : int, optional
        Of the scramble and of the random algorithms.
    threads : int, optional
        By default as many as there are cores and work for them; the result does not depend on it.
    certify : bool, optional
        Also compute a proof of how close to optimal this matching is (``Matching.certificate``).
    maximize : bool, optional
        True: heavier is better, whatever the weights are called. Not given, the same, but a graph whose weights have
        the name of a cost, such as "distance", is refused.
    progress : callable, optional
        Called as ``progress(phase, done, total)`` now and then.
    **options : dict
        The engine's own: ``troth match --help`` lists them.

    Returns
    -------
    Matching

    Notes
    -----
    The deterministic algorithms reach at least half of the optimum weight, their matching is maximal, and no edge
    outside it is heavier than the matched edges at both of its ends. Suitor looks about 1.5 times at each row on random
    weights, and takes O(m Delta) at worst; with ``presort=True`` O(m log Delta) at worst. The auction's is maximal and
    never lighter than the stable one that it merges; where it ends before its ``rounds`` do, it has
    OPT / ((1 + eps) (1 + slack)) or more in a bipartite graph, and two thirds of that in any other.

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
    request = make_request(algorithm, device, ties=ties, seed=seed, threads=threads, options=options)
    start = perf_counter()
    if check_maximize(maximize) is False:  # MERGE: least cost comes with the branch of assign; this refusal goes then
        raise TrothError("maximize=False is not there yet: give weights of which more is better, such as 1 / cost")
    graph = as_graph(graph, maximize=maximize)
    return match_graph(request, graph, certify=certify, progress=progress, gate=perf_counter() - start)


def match_graph(
    request: Request,
    graph: Graph,
    *,
    certify: bool = False,
    progress: Progress | None = None,
    gate: float = 0.0,
) -> Matching:
    """The matching that a request asks for; ``gate`` are the seconds that the graph took."""

    target = request.given.get("target")

    def attempt(placed: Placed, asked: Request) -> tuple[tuple[Result, str], Certificate]:
        result, place = _run(asked, placed, progress)
        start = perf_counter()  # where the matching was found
        proof = certify_mates(placed.graph, result.mates, request.threads)
        return (result._replace(seconds={**result.seconds, "certify": perf_counter() - start}), place), proof

    def work(placed: Placed) -> tuple[Result, str, Certificate | None]:
        proof = None
        if target is not None:
            attempts = (attempt(placed, asked) for asked in request.nearer(placed.engine))
            (result, place), proof = first_to_reach(target, attempts)
        elif certify:
            (result, place), proof = attempt(placed, request)
        else:
            result, place = _run(request, placed, progress)
        seconds = dict(result.seconds)
        if placed.engine.device == "cuda" or placed.graph is not graph:
            seconds = {"copy": placed.copied, **seconds}
        if placed.graph is not graph:
            start = perf_counter()
            result = result._replace(mates=to_device(result.mates, graph.device))
            seconds["copy"] += perf_counter() - start
        return result._replace(seconds=seconds), place, proof

    (result, place, proof), note = perform(request, graph, work)
    stats = {**result.counts, "seconds": {"gate": gate, **result.seconds}}
    if notes := [words for words in (note, why_missed(target, proof)) if words]:
        stats["note"] = "; ".join(notes)
    m = Matching(graph, result.mates, request.algorithm, place, request.ties, request.seed, stats, proof)
    if proof is not None:
        vars(m)["weight"] = proof.weight  # it would be added up once more
    return m


def _run(request: Request, placed: Placed, progress: Progress | None) -> tuple[Result, str]:
    """Run the engine on a graph that is on its device; the result, and the name of the device."""
    engine, graph = placed.engine, placed.graph
    if engine.device == "mpi":
        from troth.mpi.result import match_whole

        return match_whole(request, graph, progress), "mpi"
    order, run = request.order_for(graph), engine.load()
    with arrays_of(graph.device):
        start = perf_counter()
        result = run(graph, order, request.context(progress), **request.options_of(engine))
        spent = perf_counter() - start
    return result._replace(seconds={"match": spent, **result.seconds}), graph.device


def strongest(
    graph: Any,
    *,
    device: str = "auto",
    ties: str = "low",
    seed: int = 0,
    threads: int | None = None,
    gpu_threads: int | None = None,
) -> Array:
    """The heaviest neighbour of every vertex, -1 where there is none: the first step of handshaking.

    Reads the graph once.

    Parameters
    ----------
    graph : Graph or anything that ``as_graph`` takes
        The graph.
    device : str, optional
        As in ``match``.
    ties : str, optional
        Which of two neighbours of equal weight is taken; "low" is the rule of the course project that handshaking
        comes from.
    seed : int, optional
        Of the scramble, for ``ties="hash"`` and ``ties="degree"``.
    threads : int, optional
        By default as many as there are cores and work for them.
    gpu_threads : int, optional
        Use the course project's own kernels, each on so many GPU threads.

    Returns
    -------
    ndarray of int32
        Where the graph is.

    Examples
    --------
    >>> import numpy as np
    >>> strongest((np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([3, 3, 1]))).tolist()
    [1, 0, 0]
    """
    given = {} if gpu_threads is None else {"gpu_threads": gpu_threads}
    request = make_request("handshake", device, ties=ties, seed=seed, threads=threads, options=given)
    return strongest_of(request, as_graph(graph))


def strongest_of(request: Request, graph: Graph) -> Array:
    """The strongest neighbours that a request for handshaking asks for."""

    def work(placed: Placed) -> Array:
        there = placed.graph
        with arrays_of(there.device):
            if there.device == "cpu":
                from troth.cpu.handshake import strongest as find

                found = find(there, request.order_for(there), request.threads)
            else:
                from troth.cuda.handshake import strongest as find_on_gpu

                found = find_on_gpu(there, request.order_for(there), request.given.get("gpu_threads"))
        return found if there is graph else to_device(found, graph.device)

    return perform(request, graph, work)[0]
