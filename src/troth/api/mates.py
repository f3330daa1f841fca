"""Mates of any kind: an array of the host or of a GPU, a ``Matching``, or pairs; and whether they are a matching."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set
from numbers import Integral
from typing import Any

import numpy as np

from troth.arrays import as_cupy, cupy, is_on_device, to_host
from troth.contract import Array, Checks
from troth.engines import checks_of
from troth.errors import TrothError
from troth.graph import Graph


def checked_mates(graph: Graph, matching: Any, threads: int | None = None) -> tuple[Array, Array]:
    """The mates as a new int32 array where the graph lives, and the bits that each vertex holds; refuses no matching.

    ``matching`` is as for ``verify``, and the error names the first vertex whose mate is wrong.
    """
    with checks_of(graph, threads) as checks:
        return valid_mates(checks, graph, matching)


def matched_weight(graph: Graph, matching: Any) -> int | float:
    """The weight of a matching, as ``Matching.weight`` defines it; refuses no matching."""
    with checks_of(graph) as checks:
        return checks.matched_weight(*valid_mates(checks, graph, matching))


def valid_mates(checks: Checks, graph: Graph, matching: Any, prefix: str = "") -> tuple[Array, Array]:
    """What ``inspect`` finds, or a refusal with the reason."""
    mate, held, reason = inspect(checks, graph, matching)
    if reason:
        raise TrothError(prefix + reason)
    return mate, held


def why_no_mate(v: int, u: int, back: int, n: int) -> str:
    """What is wrong with u as the mate of v, where the mate of u is ``back`` (any number where u is no vertex).

    >>> why_no_mate(0, 2, 1, n=3)
    'vertex 0: its mate is 2, but the mate of 2 is 1'
    """
    if not -1 <= u < n:
        return f"vertex {v}: its mate {u} is not a vertex: 0 to {n - 1}, or -1 for none"
    if u == v:
        return f"vertex {v} is its own mate"
    if back != v:
        return f"vertex {v}: its mate is {u}, but the mate of {u} is {back}"
    return f"vertex {v}: its mate {u} is not a neighbour"


def why_wrong_shape(shape: tuple[int, ...], n: int) -> str:
    """The mates are not one number for each vertex."""
    return f"the mates have shape {shape}, the graph has {n} vertices"


def inspect(checks: Checks, graph: Graph, matching: Any) -> tuple[Array, Array, str]:
    """The mates as int32, the bits that each vertex holds, and why this is no matching (empty where it is one)."""
    if are_pairs(matching):
        matching, reason = mates_of_pairs(graph.n, graph.ids, matching)
        if reason:
            return None, None, reason
    mates = _mates_array(getattr(matching, "mate", matching), graph)
    if mates.shape != (graph.n,):
        return None, None, why_wrong_shape(mates.shape, graph.n)
    if mates.dtype.kind not in "iu" and mates.size:
        return None, None, f"the mates are {mates.dtype}, not integers"
    mate = _as_int32(mates)
    if graph.device != "cpu":
        mate = cupy().asarray(mate)
    held, v = checks.matched_bits(mate)
    if v == graph.n:
        return mate, held, ""
    u = mates[v].item()
    back = mates[u].item() if 0 <= u < graph.n else -1
    return None, None, why_no_mate(v, u, back, graph.n)


def _as_int32(mates: Array) -> Array:
    """Mates of any integer type as a new int32 array; what does not fit becomes -2, so that none wraps to a vertex."""
    mate = mates.astype(np.int32, order="C")
    if mates.dtype != np.int32:
        wrapped = mate.astype(mates.dtype) != mates
        if mates.dtype.kind == "u":
            wrapped |= mate < 0
        mate[wrapped] = -2
    return mate


def _mates_array(mates: Any, graph: Graph) -> Array:
    """Mates as an array of their own type: CuPy's where both they and the graph are on a GPU, else NumPy's."""
    if graph.device == "cpu" or not is_on_device(mates):
        return mates_on_host(mates)
    return as_cupy(mates, "the mates")


def mates_on_host(mates: Any) -> np.ndarray:
    """Mates as an array of NumPy, of their own type."""
    if is_on_device(mates):
        return to_host(mates)
    try:
        return np.asarray(mates)
    except ValueError:
        raise TrothError("mates must be one array of whole numbers, one for each vertex") from None


# ---- pairs ----


def are_pairs(matching: Any) -> bool:
    """Whether these are pairs of vertices rather than the mate of each.

    Pairs are a set, a dictionary (NetworkX's, of each node's mate), a list whose elements are pairs, or an array of two
    columns.

    >>> [are_pairs(x) for x in ({(0, 1)}, [(0, 1)], [1, 0], np.zeros((3, 2)), np.zeros(2))]
    [True, True, False, True, False]
    """
    if isinstance(matching, (Set, Mapping)):
        return True
    if isinstance(matching, (list, tuple)):
        first = matching[0] if matching else None
        return isinstance(first, (list, tuple, Set, np.ndarray)) and len(first) == 2
    shape = tuple(getattr(matching, "shape", ()))
    if len(shape) == 1 and matching.dtype.kind == "O":
        return are_pairs(list(matching))
    return len(shape) == 2 and shape[1] == 2


def mates_of_pairs(n: int, ids: np.ndarray | None, pairs: Any) -> tuple[np.ndarray, str]:
    """The mate of every vertex, from pairs by their ids; and why they are no matching (empty: they may be)."""
    none = np.full(n, -1, np.int32)
    if isinstance(pairs, Mapping):  # {u: v, v: u}
        pairs = {frozenset(pair) if pair[0] != pair[1] else pair for pair in pairs.items()}
    pairs = to_host(pairs) if hasattr(pairs, "shape") else [tuple(pair) for pair in pairs]
    if any(len(pair) != 2 for pair in pairs):
        return none, f"{next(pair for pair in pairs if len(pair) != 2)!r} is no pair"
    ends, unknown = _numbers_of(n, ids, pairs)
    if unknown is not None:
        pair = tuple(pairs[unknown // 2])
        name = pair[unknown % 2]
        return none, f"pair {_shown(pair)}: {_shown(name)} is not a vertex"
    row, col = ends.reshape(-1, 2).T
    if (row == col).any():
        return none, f"pair {_shown(tuple(pairs[int(np.argmax(row == col))]))}: a vertex is its own mate"
    times = np.bincount(ends, minlength=n)
    if times.max(initial=0) > 1:
        v = int(np.argmax(times > 1))
        return none, f"vertex {_shown(v if ids is None else ids[v])} is in {times[v]} pairs"
    mate = none
    mate[row], mate[col] = col, row
    return mate, ""


def _shown(thing: Any) -> str:
    """As Python shows it, without the types of NumPy."""
    if isinstance(thing, tuple):
        return f"({', '.join(map(_shown, thing))})"
    return repr(thing.item() if isinstance(thing, np.generic) else thing)


def _numbers_of(n: int, ids: np.ndarray | None, pairs: Any) -> tuple[np.ndarray, int | None]:
    """The vertex numbers of all ends, one pair after another, and the first end that is no vertex, or None."""
    if isinstance(pairs, np.ndarray) and pairs.dtype.kind in "iu" and (ids is None or ids.dtype.kind in "iu"):
        ends = pairs.reshape(-1)
        if ids is None:
            known, number = (ends >= 0) & (ends < n), ends
        elif len(ids):
            rising = np.argsort(ids, kind="stable")
            number = rising[np.minimum(np.searchsorted(ids, ends, sorter=rising), len(ids) - 1)]
            known = ids[number] == ends
        else:
            known, number = np.zeros(len(ends), bool), ends
        return number.astype(np.int64), None if known.all() else int(np.argmin(known))
    flat: list[Any] = [end for pair in (pairs.tolist() if isinstance(pairs, np.ndarray) else pairs) for end in pair]
    try:
        vertices = {} if ids is None else {name: v for v, name in enumerate(ids.tolist())}
        found = [vertices.get(end, -1) if ids is not None else _vertex(end, n) for end in flat]
    except TypeError:  # a list, which has no hash
        return np.empty(0, np.int64), next(at for at, end in enumerate(flat) if not isinstance(end, Hashable))
    return np.array(found, np.int64), found.index(-1) if -1 in found else None


def _vertex(number: Any, n: int) -> int:
    """The number itself, -1 where it is no vertex."""
    whole = isinstance(number, Integral) and not isinstance(number, bool)
    return int(number) if whole and 0 <= number < n else -1
