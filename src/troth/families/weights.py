"""Weights of generated graphs.

A weight is a function of the seed and of its edge alone, ``w(seed, min(u, v), max(u, v))``, so both directions agree
without looking at each other and any part of a graph can be weighted by itself. The exceptions are ``increasing``,
ranks, and ``near``, for which the points of the family are needed (``weigh_near`` of the device).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from troth.errors import TrothError
from troth.families.draw import below, exponential, uniform
from troth.kernels.jit import kernel
from troth.kernels.team import chunks, run_team, thread_count
from troth.order import WEIGHT, hash2

UNIT, INCREASING, UNIFORM, EXPONENTIAL, INTEGERS, TRAP, NEAR = range(7)
EPSILON = 2.0**-20  # of the trap: 1 + EPSILON is exact in float32
BLOCK = 1 << 16  # vertices or edges that a worker takes at a time; no result depends on it
DTYPES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
HIGH = 10  # the greatest weight of the rule "integers" where none is given


class Rule(NamedTuple):
    """A row of ``RULES``: the kernels' number for it, the type where none is asked for, what it does, and the one
    family that it is for, where it is not for all."""

    code: int
    dtype: str
    help: str
    family: str | None = None


RULES = {
    "uniform": Rule(UNIFORM, "float32", "uniform in (0, 1]"),
    "unit": Rule(UNIT, "float32", "every weight is 1"),
    "integers": Rule(INTEGERS, "int32", f"uniform whole numbers 1..high, high={HIGH} where not given"),
    "exponential": Rule(EXPONENTIAL, "float32", "exponential of mean 1: few heavy edges, many light ones"),
    "increasing": Rule(INCREASING, "int32", "1, 2, ..., m in the order of (u, v), u < v: on a path, one long chain"),
    "trap": Rule(
        TRAP, "float32", "1, 1+eps, 1 along vertices 4i..4i+3, else eps: on a path, greedy gets half of the best"
    ),
    "near": Rule(NEAR, "float32", "1 - (d / r)^2 for ends at distance d, r being the greatest: rgg alone", "rgg"),
}


def in_blocks(kernel: Callable, total: int, *args: Any) -> None:
    """Run a kernel on as many threads as there are blocks of work for them."""
    run_team(kernel, total, thread_count(None, total, BLOCK), *args, chunk=BLOCK)


@kernel
def edge_weight(code, seed, bits, high, u, v):
    """The weight of the edge u < v, as a float64 that is exact for whole numbers up to 2^53."""
    if code == TRAP:
        # 0 -1- 1 -(1+eps)- 2 -1- 3 -eps- 4 ...: greedy takes the middle of each group, the best matching its two sides.
        if v != u + 1 or u % 4 == 3:
            return EPSILON
        return 1.0 + EPSILON if u % 4 == 1 else 1.0
    word = hash2(seed, WEIGHT, np.uint64(u), np.uint64(v))
    if code == INTEGERS:
        return np.float64(1 + below(word, high))
    if code == EXPONENTIAL:
        return exponential(word, bits)
    return uniform(word, bits)


@kernel
def _weigh(worker, cursor, chunk, origin, code, seed, bits, high, indptr, indices, weights):
    """The weights of the rows of the vertices origin, origin + 1, ..."""
    for first, last in chunks(cursor, chunk, len(indptr) - 1):
        for i in range(first, last):
            u = origin + i
            for at in range(indptr[i], indptr[i + 1]):
                v = np.int64(indices[at])
                weights[at] = edge_weight(code, seed, bits, high, min(u, v), max(u, v))


@kernel
def _rank(indptr, indices, cursor, weights):
    """Number the edges u < v in row order. ``cursor[v]``, at first ``indptr[v]``, is where row v's next mirror goes.

    Mirrors reach row v in ascending order of u, which is the order of the row; when the loop comes to row v its smaller
    neighbours are done, and the cursor stands at its first larger one.
    """
    rank = 0
    for u in range(len(cursor)):
        for at in range(cursor[u], indptr[u + 1]):
            v = indices[at]
            rank += 1
            weights[at] = rank
            weights[cursor[v]] = rank
            cursor[v] += 1


def weight_type(rule: str, dtype: Any, high: int = HIGH) -> np.dtype:
    """The NumPy type of the weights, None being the rule's own, or an error where the rule's values do not fit it."""
    try:
        kind = np.dtype(RULES[rule].dtype if dtype is None else dtype).newbyteorder("=")
    except (TypeError, ValueError, SyntaxError):
        kind = np.dtype(object)
    if kind.name not in DTYPES:
        raise TrothError(f"dtype={dtype!r} is not a weight type: choose {', '.join(DTYPES)}")
    if RULES[rule].code in (UNIFORM, EXPONENTIAL, TRAP, NEAR) and kind.kind != "f":
        raise TrothError(f"weights={rule} are fractions and do not fit dtype={kind}: choose float32 or float64")
    if RULES[rule].code == INTEGERS:
        check_fit(rule, high, kind)
    return kind


def check_fit(rule: str, greatest: int, kind: np.dtype) -> None:
    """Refuse a type in which not all whole numbers up to the greatest weight are exact."""
    limit = 2 ** (np.finfo(kind).nmant + 1) if kind.kind == "f" else int(np.iinfo(kind).max)
    if greatest > limit:
        raise TrothError(f"weights={rule} reach {greatest}, beyond dtype={kind}: choose a wider type, such as int64")


def weigh(
    indptr: np.ndarray, indices: np.ndarray, rule: str, seed: np.uint64, kind: np.dtype, high: int, origin: int = 0
) -> np.ndarray:
    """Weights of a CSR structure by a rule of ``RULES`` for all families, in a type from ``weight_type``. O(n + m).

    Where the structure is a block of rows, ``origin`` is the vertex of its first; ranks need the whole.
    """
    code = RULES[rule].code
    if code == UNIT:
        return np.ones(len(indices), kind)
    weights = np.empty(len(indices), kind)
    if code == INCREASING:
        check_fit(rule, len(indices) // 2, kind)
        _rank(indptr, indices, indptr[:-1].copy(), weights)
    else:
        bits = 53 if kind == np.float64 else 24
        in_blocks(_weigh, len(indptr) - 1, origin, code, seed, bits, high, indptr, indices, weights)
    return weights
