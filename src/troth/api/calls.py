"""``match`` and ``strongest``: the gate, then the request, then its result."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any, NamedTuple

from troth.api.checking import certify_mates
from troth.api.opening import as_graph
from troth.api.proof import (
    GAP,
    MOST_ROUNDS,
    Attempt,
    Certificate,
    Goal,
    first_to_reach,
    nearness,
    pursue,
    why_missed,
)
from troth.api.request import Placed, Request, make_request, perform
from troth.api.result import Matching
from troth.arrays import arrays_of, to_device, using
from troth.contract import Array, Progress, Result
from troth.engines import LEAST_EPS, is_for_ranks
from troth.errors import TrothError
from troth.gate.worth import read_purpose
from troth.graph import Graph
from troth.kernels.compiling import Stopwatch


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
    reward: float | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Matching:
    """A heavy matching of a graph, or with ``maximize=False`` a cheap one.

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
        "cpu", "cuda", "cuda:1", "mpi" (the ranks of an MPI job, which all call with the same graph), "mpi+cuda" (ranks
        with a GPU each, or that share one), or "auto": the GPU where the graph is there already, or where there is one
        and the graph has 2^20 stored entries or more and fits, and for "suitor" if copying it, whole or in batches, is
        likely to take less time than the CPU takes; else the CPU. The result does not depend on it.
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
        True: the weights are what pairs are worth, whatever they are called. Not given, the same, but a graph whose
        weights have the name of a cost, such as "distance", is refused. False: they are costs, and a pair is worth
        ``reward - cost``; pairs that cost the reward or more are not made.
    reward : int or float, optional
        With ``maximize=False``; by default the largest cost. More pairs are not favoured over cheaper ones: who wants
        as many as possible gives a larger reward.
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
    weights. At worst it takes O(m log Delta) on a CPU, also by ranks that share its memory; on a GPU a sort of the
    edges and O(m + n log n), where there is room for that; else, and with messages between ranks, O(m Delta). The
    auction's is maximal and never lighter than the stable one that it merges; where it ends before its ``rounds`` do,
    it has OPT / ((1 + eps) (1 + slack)) or more in a bipartite graph, and two thirds of that in any other.

    With ``maximize=False`` all of this is said of the sum of ``reward - cost``, of which a large reward makes the cost
    a small part. So the auction then begins anew with less ``eps`` until what is not proven is at most ``gap``, 0.02
    where it is not given, of the cost (``Matching.gap``), or else says what it is (``Matching.stats``). The other
    algorithms run once.

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
    job, agreed = _all_ranks(algorithm, device)
    with job:
        with agreed:
            request = make_request(algorithm, device, ties=ties, seed=seed, threads=threads, options=options)
            refuse_purpose(request, maximize, reward, graph)
            watch = Stopwatch()
            graph = as_graph(graph, maximize=maximize, reward=reward)
        return match_graph(request, graph, certify=certify, progress=progress, gate=watch)


def _all_ranks(algorithm: str, device: str) -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Where ranks match, two contexts: an accident of one in the first ends all, a refusal in the second is all's."""
    if not is_for_ranks(algorithm, str(device)):
        return nullcontext(), nullcontext()
    from troth.ranks.job import agreeing, ending_the_job, world

    comm = world()
    return ending_the_job(comm), agreeing(comm)


def refuse_purpose(request: Request, maximize: bool | None, reward: Any, graph: Any = None) -> None:
    """Refuse, before a graph is opened, a reward or a gap without costs."""
    made_of_costs = getattr(graph, "reward", None) is not None
    if read_purpose(maximize, reward) is None and not made_of_costs and request.given.get("gap") is not None:
        raise TrothError("gap is a part of the cost: say maximize=False (--minimize) too, or give a target")
    if request.given.get("gap") is not None and request.given.get("target") is not None:
        raise TrothError("target and gap both say how near: leave one out")


def match_graph(
    request: Request,
    graph: Graph,
    *,
    certify: bool = False,
    progress: Progress | None = None,
    gate: Stopwatch | None = None,
) -> Matching:
    """The matching that a request asks for; ``gate`` has run while the graph was made."""
    whole = gate or Stopwatch()
    before = 0.0 if gate is None else gate.lap()
    found = find_matching(request, graph, goal_of(request, graph), certify=certify, progress=progress)
    result, proof = found.result, found.proof
    stats = found.stats(before, whole)
    m = Matching(graph, result.mates, request.algorithm, found.place, request.ties, request.seed, stats, proof)
    if proof is not None:
        vars(m)["weight"] = proof.weight  # it would be added up once more
    return m


def goal_of(request: Request, graph: Graph, two_sides: bool = False) -> Goal | None:
    """What an auction is to prove by its own prices: the gap, where costs are minimised, or the target.

    A target for weights, if there are no two sides, is met by ``Request.nearer``.
    """
    target, gap = request.given.get("target"), request.given.get("gap")
    if target is not None and (two_sides or graph.reward is not None):
        return Goal(target=target)
    if graph.reward is not None and request.algorithm == "auction" and target is None:
        return Goal(gap=GAP if gap is None else gap, reward=graph.reward)
    return None


class Found(NamedTuple):
    """A matching where the graph is, where it was found, its proof if there is one, and what is to be said of it."""

    result: Result
    place: str
    proof: Certificate | None
    notes: list[str]

    def stats(self, gate: float, whole: Stopwatch) -> dict[str, Any]:
        """The stats of a result; ``gate`` are the seconds that the graph took, ``whole`` has run from the start."""
        whole.lap()
        compiled = {"compile": whole.compiled} if whole.compiled else {}
        stats = {**self.result.counts, "seconds": {"gate": gate, **compiled, **self.result.seconds}}
        return {**stats, "note": "; ".join(self.notes)} if self.notes else stats


def find_matching(
    request: Request,
    graph: Graph,
    goal: Goal | None = None,
    *,
    certify: bool = False,
    progress: Progress | None = None,
) -> Found:
    """What a request asks for, on its device; its mates and prices are where the graph is."""
    target = request.given.get("target") if goal is None else None

    def attempt(placed: Placed, asked: Request) -> tuple[tuple[Result, str], Certificate]:
        result, place = _run(asked, placed, progress)
        watch = Stopwatch()
        proof = certify_mates(placed.graph, result.mates, request.threads)  # where the matching was found
        return (_with_seconds(result, {**result.seconds, "certify": watch.lap()}), place), proof

    def work(placed: Placed) -> tuple[Result, str, Certificate | None, list[str | None]]:
        proof, notes = None, list[str | None]()
        if goal is not None:
            result, place, proof, missed = _pursue(request, placed, goal, progress)
            notes.append(missed)
        elif target is not None:
            attempts = (attempt(placed, asked) for asked in request.nearer(placed.engine))
            (result, place), proof = first_to_reach(target, attempts)
            notes.append(why_missed(target, proof))
        elif certify:
            (result, place), proof = attempt(placed, request)
        else:
            result, place = _run(request, placed, progress)
        if placed.graph is not graph:
            start = perf_counter()
            result = result._replace(mates=to_device(result.mates, graph.device))
            if result.prices is not None:
                result = result._replace(prices=to_device(result.prices, graph.device))
            copied = result.seconds["copy"] + perf_counter() - start
            result = _with_seconds(result, {**result.seconds, "copy": copied})
        return result, place, proof, notes

    (result, place, proof, notes), fell_back = perform(request, graph, work, batches=True)
    return Found(result, place, proof, [words for words in (fell_back, *notes) if words])


def _pursue(
    request: Request, placed: Placed, goal: Goal, progress: Progress | None
) -> tuple[Result, str, Certificate, str | None]:
    """Auctions until the goal is proven, each by its own prices; what to say where it is not.

    The seconds are those of all auctions and proofs.
    """
    chosen, spent = request.options_of(placed.engine), {"match": 0.0, "certify": 0.0}
    rounds = request.given.get("rounds", MOST_ROUNDS)

    def attempt(eps: float, slack: float) -> Attempt:
        result, place = _run(request.changed(eps=eps, slack=slack, rounds=rounds), placed, progress)
        watch = Stopwatch()
        proof = certify_mates(placed.graph, result.mates, request.threads, *nearness(eps), result.prices)
        spent["match"] += result.seconds["match"]
        spent["certify"] += watch.lap()
        with arrays_of(placed.graph.device) as xp:
            pairs = int(xp.count_nonzero(xp.asarray(result.mates) >= 0)) // 2
        result = result._replace(counts={**result.counts, "eps": eps})
        done = result.counts["rounds"]
        return Attempt((result, place), proof, pairs, done, rounds is None or done < rounds)

    best, attempts = pursue(goal, chosen["eps"], chosen["slack"], LEAST_EPS, attempt)
    result, place = best.found
    result = result._replace(counts={**result.counts, "attempts": attempts}, seconds={**result.seconds, **spent})
    return result, place, best.proof, goal.why_missed(best.proof, best.pairs)


def _run(request: Request, placed: Placed, progress: Progress | None) -> tuple[Result, str]:
    """Run the engine on a graph that is on its device; the result, and the name of the device.

    The seconds begin with those of the copy, if there was one.
    """
    engine, graph = placed.engine, placed.graph
    copied = {} if placed.copied is None else {"copy": placed.copied}
    if engine.on_ranks:
        from troth.mpi.result import match_whole

        result = match_whole(request, graph, progress)
        return _with_seconds(result, {**copied, **result.seconds}), engine.device
    if placed.card is not None:
        order, run = request.order_for(graph, on_gpu=True), engine.load_in_batches()
        with using(placed.card):
            watch = Stopwatch()
            result = run(graph, order, request.context(progress), memory=request.given.get("memory"))
            spent = watch.lap()
        return _with_seconds(result, {"match": spent, **result.seconds}), f"cuda:{placed.card}"
    order, run = request.order_for(graph), engine.load()
    with arrays_of(graph.device):
        watch = Stopwatch()
        result = run(graph, order, request.context(progress), **request.options_of(engine))
        spent = watch.lap()
    return _with_seconds(result, {**copied, "match": spent, **result.seconds}), graph.device


def _with_seconds(result: Result, seconds: dict[str, float]) -> Result:
    """The same result; in half of the time that ``_replace`` takes."""
    return Result(result.mates, result.counts, seconds, result.prices)


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
