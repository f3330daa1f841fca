"""Mates of any kind: an array of the host or of a GPU, or a ``Matching``; and whether they are a matching at all."""

from __future__ import annotations

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
