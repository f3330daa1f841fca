"""Vertex weights of graphs that are coarsened, and the limits that pairs of them keep to."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from troth.arrays import cupy, is_on_device, to_host
from troth.errors import TrothError
from troth.graph import Graph


def vertex_weights_of(graph: Graph) -> Any:
    """One or more int64 or float64 a vertex, not negative, that add up to a number which they can hold."""
    xp, weights = np if graph.device == "cpu" else cupy(), graph.vertex_weights
    if weights is None:
        return np.broadcast_to(np.int64(1), graph.n) if xp is np else xp.ones(graph.n, np.int64)
    weights = to_host(weights) if xp is np else xp.asarray(weights)
    if weights.dtype.kind not in "biuf" or weights.shape[:1] != (graph.n,):
        raise TrothError(
            f"vertex weights: {weights.dtype} of shape {weights.shape}; give {graph.n} numbers, or rows of numbers"
        )
    wide: Any = weights.astype(np.float64 if weights.dtype.kind == "f" else np.int64, order="C", copy=False)
    if not bool((wide >= 0).all()):  # an unsigned number of 2^63 or more is negative now
        raise TrothError("vertex weights: one is negative, NaN, or 2^63 or more; give numbers from 0 on")
    if wide.dtype == np.float64:
        with np.errstate(over="ignore"):
            fit = xp.isfinite(wide.sum(axis=0))
    else:  # sums of halves cannot overflow
        fit = (wide >> 32).sum(axis=0) + ((wide & (2**32 - 1)).sum(axis=0) >> 32) < 2**31
    if not bool(fit.all()):
        raise TrothError("vertex weights: together they are too great for a number of 64 bits; scale them")
    return wide


def read_limits(value: Any, weights: Any) -> Any:
    """``max_vertex_weight`` in the type of the weights and where they are; None where there is none."""
    if value is None:
        return None
    try:
        given = np.broadcast_to(np.asarray(value, object), weights.shape[1:])
        positive = all(limit > 0 for limit in given.ravel().tolist())
    except (TypeError, ValueError):
        raise TrothError(
            f"max_vertex_weight={value!r}: give a number, or one for each column of the vertex weights"
        ) from None
    if not positive:
        raise TrothError(f"max_vertex_weight={value!r}: give a positive number")
    whole = weights.dtype == np.int64
    most, narrow = (2**63 - 1, math.floor) if whole else (sys.float_info.max, float)
    fitting = [most if limit >= most else narrow(limit) for limit in given.ravel().tolist()]
    limits = np.array(fitting, weights.dtype).reshape(given.shape)
    return cupy().asarray(limits) if is_on_device(weights) else limits


def are_light(weights: Any, limits: Any) -> Any:
    """Which vertices weigh no more than half of the limit: any two of them fit."""
    half = limits // 2 if weights.dtype == np.int64 else limits / 2
    light = weights <= half
    return light if light.ndim == 1 else light.all(axis=1)
