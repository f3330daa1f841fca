"""``pair_rows``: pairs of similar rows of a table, by a matching on the pairs of near ones."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from troth.api.alternating import improve
from troth.api.calls import find_matching, match_graph
from troth.api.candidates import METRICS, Candidates, distances, nearest_pairs, place_rows
from troth.api.checking import certify_mates
from troth.api.opening import as_graph
from troth.api.proof import nearness
from troth.api.request import Request, make_request
from troth.api.row_pairs import RowPairs
from troth.arrays import to_host
from troth.errors import TrothError
from troth.graph import Graph
from troth.inputs import Edges
from troth.neighbours.frames import Frame, as_frame, codes_of
from troth.neighbours.tables import package_of
from troth.validate import check, check_seed, check_threads, check_word, number, or_none, whole

LEAST_WORTH = 2.0**-40  # of the reward, for a pair at that very distance: it is still better than no pair
ERROR = 0.01  # of a near pair's distance: what a bid may be off
LEAST_EPS, MOST_EPS = 0.001, 0.002
PROMISE = 0.004  # of the best objective, between groups: eps, and slack for the rest
LOOSEN = 1e-4  # of all distances
ROUNDS, ROUNDS_OF_GROUPS = 500, 2**15  # of bids; without groups, more of them bring next to nothing
POLISH = 4
MOST_PLACE = 1e150  # whose square is still a float64


def pair_rows(
    X: Any,
    groups: Any = None,
    *,
    k: int = 10,
    caliper: float | None = None,
    exact: Any = None,
    on: Any = None,
    metric: str = "mahalanobis",
    reward: float | None = None,
    ids: Any = None,
    certify: bool = True,
    device: str = "auto",
    threads: int | None = None,
    seed: int = 0,
) -> RowPairs:
    """Pair similar rows of a table: any two, or one of each of two groups.

    Each row has its ``k`` nearest rows as candidates. A pair is worth ``reward - distance``, and the pairs returned are
    worth nearly as much in all as any set of candidates in which no row is in two pairs.

    Parameters
    ----------
    X : DataFrame, Table or array_like
        Of pandas, polars or pyarrow, or a NumPy array of two dimensions: a row for each thing, such as a person. Values
        that are missing or infinite are refused.
    groups : str or array_like, optional
        A column, or a value for each row, with two different values, such as treated and control: then pairs go between
        the two. The greater value (True, 1, "treated") is that of the table's first column. By default any two rows
        may be a pair.
    k : int, optional
        How many of the nearest rows are candidates; with groups, of the other group, for the rows of both. What is
        farther is never considered: see the notes.
    caliper : float, optional
        The largest distance of a pair.
    exact : str or list, optional
        Columns of any type in which the two rows of a pair are equal.
    on : str or list, optional
        The columns of the distance; by default all but those named elsewhere. They have numbers.
    metric : str, optional
        "mahalanobis" (standard deviations, without what columns have in common; between groups those within the groups)
        or "euclidean" (the columns as they are, in their units).
    reward : float, optional
        What a pair is worth before its distance is taken off. By default the caliper, or without one the largest
        distance of a candidate. A pair that is farther apart is not made. With a larger one, more pairs are made,
        farther apart; with a smaller one, fewer and nearer ones.
    ids : str or array_like, optional
        A column, or a value for each row, that names the rows in the result, each differently; by default the index of
        a pandas table, and the numbers of the rows, from 0 on, elsewhere.
    certify : bool, optional
        Whether to prove how near to the optimum the pairs are.
    device : str, optional
        Where to match: "cpu", "cuda", "cuda:1" or "auto", as in ``match``; the candidates are found on CPU threads.
    threads : int, optional
        By default as many as there are cores and work for them; the result does not depend on it.
    seed : int, optional
        Of the scramble that settles ties.

    Returns
    -------
    RowPairs
        Its ``table`` has the two ids and the distance of every pair; ``unpaired``, ``balance``, ``certificate`` and
        ``plot()`` are there too.

    Notes
    -----
    The same for any number of threads. Columns that are constant, or that follow from others, count nothing in the
    Mahalanobis distance. The certificate is about the candidates: a pair that is none of them is not seen. A larger
    ``k`` costs time and comes nearer to what is best among all pairs; with ``k = len(X) - 1`` all pairs are candidates.

    Time: the search for neighbours takes most of it. Beyond some 15 columns a tree compares each row with nearly every
    other, and the time grows with the square of the rows: choose columns by ``on=``, or fewer rows by ``exact=``.

    Examples
    --------
    >>> import pandas
    >>> people = pandas.DataFrame({"age": [30, 62, 41, 33, 60], "treated": [1, 1, 0, 0, 0]}, index=list("abcde"))
    >>> pairs = pair_rows(people, "treated", metric="euclidean")
    >>> pairs.table
      first second  distance
    0     a      d       3.0
    1     b      e       2.0
    >>> pairs.unpaired.index.tolist()
    ['c']
    """
    frame = as_frame(X)
    check_word("metric", metric, METRICS)
    k = check("k", k, whole(1))
    caliper = check("caliper", caliper, or_none(number(0), "a number of 0 or more, or None"))
    caliper = None if caliper == np.inf else caliper
    reward = check("reward", reward, or_none(number(0, MOST_PLACE), f"a number from 0 to {MOST_PLACE:g}, or None"))
    seed, threads = check_seed(seed), check_threads(threads)
    # Checked before any work is done; eps follows when the distances are known.
    request = make_request("auction", device, seed=seed, threads=threads, no_ranks="pairs of rows")
    start = perf_counter()
    plan = _plan(frame, groups, exact, on, ids)
    columns = np.column_stack([frame.numbers(place) for place in plan.on]) if frame.n else np.empty((0, len(plan.on)))
    places, directions = place_rows(columns, metric, plan.side)
    if np.abs(places).max(initial=0.0) > MOST_PLACE:
        raise TrothError(f"{frame.where}: distances are beyond float64; divide the columns, or metric='mahalanobis'")
    most = min(np.inf if caliper is None else caliper, np.inf if reward is None else reward)
    order, near = nearest_pairs(
        places, k=k, side=plan.side, stratum=plan.stratum, most=most, seed=seed, threads=threads
    )
    found = perf_counter()
    largest = float(near.distance.max(initial=0.0))
    reward = next((float(given) for given in (reward, caliper) if given is not None), largest) or 1.0
    graph = worth_of(near, reward, frame.n)
    made = perf_counter()
    eps = _eps(near, reward, frame.n)
    rounds = ROUNDS if plan.side is None else ROUNDS_OF_GROUPS
    mate, prices, stats = _match(
        request.changed(eps=eps, slack=PROMISE - eps, rounds=rounds, polish=POLISH), graph, reward
    )
    matched = perf_counter()
    proof = certify_mates(graph, mate, threads, *nearness(eps), prices) if certify else None
    rows = _in_rows(mate, order, plan.side)
    seconds = {"candidates": found - start, "graph": made - found, "match": matched - made}
    seconds["certify"] = perf_counter() - matched
    stats |= {"candidates": graph.m, "directions": directions, "seconds": seconds}
    return RowPairs(
        frame=frame,
        rows=rows,
        distance=distances(places, *rows.T),
        reward=reward,
        certificate=proof,
        stats=stats,
        columns=columns,
        names=[frame.names[place] for place in plan.on],
        side=plan.side,
        groups=plan.groups,
        ids=plan.ids,
    )


# ---- what was asked for ----


class _Plan(NamedTuple):
    """Which columns mean what: positions of the distance's, codes of the others."""

    on: list[int]
    side: np.ndarray | None  # 0 where a row is of the first group
    groups: tuple[Any, Any] | None
    stratum: np.ndarray | None
    ids: Any


def _plan(frame: Frame, groups: Any, exact: Any, on: Any, ids: Any) -> _Plan:
    taken = {frame.place(given, option) for option, given in (("groups", groups), ("ids", ids)) if _is_name(given)}
    strata = [frame.place(name, "exact") for name in _names(exact, "exact")]
    if on is None:
        chosen = [place for place in range(len(frame.names)) if place not in taken and place not in strata]
    else:
        chosen = [frame.place(name, "on") for name in _names(on, "on")]
    for place in chosen:
        if not frame.is_number(place):
            name = frame.names[place]
            raise TrothError(
                f"{frame.where}: column {name!r} has no numbers, so no distance; name it in exact=[...] where the two "
                "of a pair must be equal there, or choose the columns of the distance by on=[...]"
            )
    if not chosen:
        raise TrothError(f"{frame.where}: no column is left for the distance; name some by on=[...]")
    side, values = _sides(frame, groups)
    return _Plan(chosen, side, values, _strata(frame, strata), _ids(frame, ids))


def _is_name(given: Any) -> bool:
    """Whether it names a column, or is a value for each row."""
    return given is not None and (isinstance(given, (str, bytes)) or np.ndim(given) == 0)


def _names(given: Any, option: str) -> list[Any]:
    if given is None:
        return []
    names = [given] if _is_name(given) else list(given)
    if len({str(name) for name in names}) < len(names):
        raise TrothError(f"{option}={given!r}: give every column once")
    return names


def _values(frame: Frame, given: Any, option: str) -> tuple[Any, str]:
    """The column that an option names, or the values that it gives; and what messages call it."""
    if _is_name(given):
        place = frame.place(given, option)
        return frame.column(place), f"{frame.where}: column {frame.names[place]!r}"
    aligned = frame.package == package_of(given) == "pandas" and hasattr(given, "index")
    if aligned and not frame.data.index.equals(given.index):
        raise TrothError(f"{option}: its index is not that of the table; give it by .reindex(X.index)")
    return given, option


def _sides(frame: Frame, groups: Any) -> tuple[np.ndarray | None, tuple[Any, Any] | None]:
    """0 for the rows of the first group, 1 for those of the second; and the two values."""
    if groups is None:
        return None, None
    column, where = _values(frame, groups, "groups")
    codes, values = codes_of(column, where, frame.n)
    if len(values) != 2:
        few = ", ".join(map(repr, values[:4])) + (", ..." if len(values) > 4 else "")
        raise TrothError(f"{where}: groups have two different values, and here are {len(values)} ({few})")
    return 1 - codes, (values[1], values[0])


def _strata(frame: Frame, places: Sequence[int]) -> np.ndarray | None:
    """A number for each row, equal where all exact columns are."""
    stratum = None
    for place in places:
        codes, values = frame.codes(place)
        if stratum is not None:
            codes = np.unique(stratum * len(values) + codes, return_inverse=True)[1]
        stratum = codes
    return stratum


def _ids(frame: Frame, ids: Any) -> Any:
    """What names the rows: a column, an index or an array that can be indexed; each value once."""
    if ids is None:
        ids, where = (frame.data.index, "the index") if frame.package == "pandas" else (np.arange(frame.n), "")
    else:
        ids, where = _values(frame, ids, "ids")
        ids = ids if hasattr(ids, "dtype") or hasattr(ids, "type") else np.asarray(ids)
    if where:
        codes = codes_of(ids, where, frame.n)[0]
        _, first, count = np.unique(codes, return_index=True, return_counts=True)
        if (count > 1).any():
            one, two = np.flatnonzero(codes == codes[first[count > 1][0]])[:2].tolist()
            raise TrothError(f"{where}: rows {one} and {two} have the same id; name others by ids=, each row's its own")
    return ids


# ---- the matching ----


def worth_of(near: Candidates, reward: float, n: int) -> Graph:
    """The graph of the candidates, whose weights are what a pair is worth."""
    worth = np.maximum(reward - near.distance, LEAST_WORTH * reward)
    return as_graph(Edges(near.first, near.second, worth, n, where="the candidates"))


def _eps(near: Candidates, reward: float, n: int) -> float:
    """By what part of its worth a bid is raised: so little that it is next to nothing of a near pair's distance."""
    nearest = np.full(n, np.inf)
    np.minimum.at(nearest, near.first, near.distance)
    nearest = nearest[np.isfinite(nearest)]
    typical = float(nearest.mean()) if len(nearest) else 0.0
    return float(np.clip(ERROR * typical / reward, LEAST_EPS, MOST_EPS))


def _match(request: Request, graph: Graph, reward: float) -> tuple[np.ndarray, np.ndarray | None, dict[str, Any]]:
    """The mates, the prices that prove them to be near the optimum, and what was counted."""
    found = find_matching(request, graph)
    result = found.result
    stats = {"device": found.place, "eps": request.given["eps"], "rounds": result.counts["rounds"]}
    if found.notes:
        stats["note"] = "; ".join(found.notes)

    def pair_roots(edges: Edges) -> np.ndarray:
        small = make_request("auction", "cpu", seed=request.seed, threads=request.threads)
        return match_graph(small, as_graph(edges)).mate

    mate, counts = improve(graph, to_host(result.mates), reward, pair_roots, loosen=LOOSEN, seed=request.seed)
    return mate, None if result.prices is None else to_host(result.prices), stats | counts


def _in_rows(mate: np.ndarray, order: np.ndarray, side: np.ndarray | None) -> np.ndarray:
    """The pairs as rows of the table, in the order of the first ones; these are of the first group, or the smaller."""
    at = np.flatnonzero(mate > np.arange(len(mate)))
    one, other = order[at], order[mate[at]]
    swap = one > other if side is None else side[one] == 1
    pairs = np.stack((np.where(swap, other, one), np.where(swap, one, other)), axis=1)
    return pairs[np.argsort(pairs[:, 0])].astype(np.int64)
