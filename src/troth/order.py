"""The one order: how every engine compares two neighbours.

Vertex u prefers neighbour v by the key ``(w(u, v), priority(v))``, larger wins. ``priority`` is a bijection on 32-bit
vertex ids, so no two neighbours of u are equal, the preferences have no cycles, and exactly one matching is stable.

Everything that compares works on unsigned integers:

- the *bits* of a weight: the unsigned view of its own type. Weights are positive past the gate, so the bits of a float
  (IEEE 754) and of an integer are both in the order of the weights;
- the *prefix* of a weight, 32 bits wide, 1 or more: the bits themselves where they fit, otherwise
  ``((bits - low) >> drop) + 1``, which never reverses an order but may merge neighbours;
- an *offer*: ``prefix << 32 | priority`` in one 64-bit word; 0 is "no offer". Offers with equal prefixes of wide
  weights are settled by the exact bits (see ``cpu/suitor.py``).

The tie rules "hash", "low" and "high" are one formula with other constants, so one compiled kernel serves them all:
``x = v ^ flip;  x = mul1 * x;  x ^= x >> shift;  x = mul2 * x`` (modulo 2^32). With shift 16 each step can be undone,
hence the bijection; with shift 32 and multipliers 1 only the flip is left: v for "high", ~v for "low".

"degree" puts the *class* of a vertex above its scramble: ``(most - min(degree, most)) << bits | scramble``. The
scramble is the same formula modulo 2^bits, with as few bits as tell n vertices apart, and a shift of half of them. So
the vertex is found from the lower bits alone. ``most`` is the greatest class, 255 or what the bits leave room for:
degrees of ``most`` and more count as equal. Classes are an array of a byte a vertex; kernels are compiled for orders
with it and for orders without it, so that the other rules pay nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, SupportsInt

import numpy as np
from numba import types
from numba.extending import overload

from troth.arrays import to_device
from troth.kernels.jit import inlined
from troth.kernels.launch import define, struct

MASK = np.uint64(0xFFFFFFFF)
PRIORITY_BITS = np.uint64(32)
ONE = np.uint64(1)

MANY = 2**16  # distinct weights, of which few would be equal
MOST_CLASS = 255  # the greatest class of a vertex that fits a byte

# Domains of the counter-based random function, so that no two uses of one seed share a stream; 5 is not in use.
TIE, COLOUR, PROPOSE, VISIT, _, WEIGHT, PLACE, OWNER, BID, WALK, CUT = (np.uint64(tag) for tag in range(1, 12))


class Order(NamedTuple):
    """Constants of ``priority``, its inverse and ``prefix``, all uint64, and the classes: one argument of kernels."""

    flip: np.uint64
    mul1: np.uint64
    mul2: np.uint64
    inv1: np.uint64
    inv2: np.uint64
    shift: np.uint64
    low: np.uint64  # the smallest weight's bits
    drop: np.uint64  # how many trailing bits of a wide weight the prefix loses
    lossy: np.uint64  # 1 where unequal weights may have equal prefixes
    bits: np.uint64  # of the scramble; the class of a vertex is above them
    mask: np.uint64  # so many ones
    classes: Any = None  # for "degree", a uint8 array where the graph is: larger for fewer neighbours


def make_order(ties: str = "hash", seed: int = 0, weight_range: tuple[int, ...] = (1, 1), graph: Any = None) -> Order:
    """The order for a tie rule, a seed, and the least and greatest weight bits of a graph (``Graph.bits_range``).

    A third number in ``weight_range`` is the union (bitwise or) of all weight bits: where it ends in as many zeros as
    the prefix drops, nothing is lost. So integers, ones and widened float32 in a float64 array have exact prefixes.

    "degree" needs the graph, or the part of one that a rank has; then all ranks call this together.

    >>> order = make_order("low")
    >>> priorities(order, 3).tolist() == [2**32 - 1, 2**32 - 2, 2**32 - 3]
    True
    """
    if ties != "degree":
        return _constants(ties, seed, weight_range, 32)
    bits = max(1, (graph.n - 1).bit_length())
    most = min(MOST_CLASS, 2 ** (32 - bits) - 1)
    return _constants(ties, seed, weight_range, bits)._replace(classes=graph.degree_classes(most))


@lru_cache(maxsize=64)
def _constants(ties: str, seed: int, weight_range: tuple[int, ...], bits: int) -> Order:
    """An order without classes, whose scramble has so many bits."""
    low, high, *union = weight_range
    # The greatest prefix, ((high - low) >> drop) + 1, must stay below 2^32.
    drop = max(0, int(high - low).bit_length() - 32)
    if ((high - low) >> drop) + 1 >= 2**32:
        drop += 1
    lossy = bool(drop) and (not union or union[0] % 2**drop != 0)
    mask = 2**bits - 1
    if ties in ("hash", "degree"):
        # Odd multipliers from the seed; any odd number has an inverse modulo 2^32, and so modulo 2^bits.
        flip, mul1, mul2 = (hash_int(seed, TIE, word) >> 32 for word in range(3))
        flip, mul1, mul2, shift = flip & mask, mul1 | 1, mul2 | 1, (bits + 1) // 2
    else:
        flip, mul1, mul2, shift = (mask if ties == "low" else 0), 1, 1, 32
    inverses = pow(mul1, -1, 2**32), pow(mul2, -1, 2**32)
    words = (flip, mul1, mul2, *inverses, shift, low, drop, lossy, bits, mask)
    return Order(*(np.uint64(word) for word in words))


def by_degree(order: Order, seed: int, graph: Any) -> Order:
    """The order "degree" in place of "hash" where weights are likely to tie; any other stays.

    That is where there are at most 2^16 numbers from the least weight to the greatest, counting only those that end in
    as many zero bits as all weights do: small integers, or floats of few digits. (For a rank's part, all ranks
    together.)
    """
    least, greatest, union = graph.bits_range()
    step = union & -union
    if order.classes is not None or not is_scrambled(order) or (greatest - least) // step >= MANY:
        return order
    made = make_order("degree", seed, graph=graph)
    return made._replace(low=order.low, drop=order.drop, lossy=order.lossy)


def is_scrambled(order: Order) -> bool:
    """Whether priorities are not in the order of the ids: "hash" and "degree"."""
    return bool(order.shift < 32)


def on_device(order: Order, device: str) -> Order:
    """The order for a graph on "cpu" or "cuda:1"; there are mask + 1 classes on a GPU."""
    if order.classes is None:
        return order
    room, classes = int(order.mask) + 1 - len(order.classes), order.classes
    if device != "cpu" and room:
        classes = np.pad(classes, (0, room))
    return order._replace(classes=to_device(classes, device))


_FIELDS = ("classes", "low", "drop", "lossy", "flip", "mul1", "mul2", "inv1", "inv2", "fold", "shift", "bits", "mask")
_ORDER = np.dtype([(name, "u8" if name in ("classes", "low") else "u4") for name in _FIELDS], align=True)


# What every kernel file must agree on with this one.
DOMAINS = {"COLOUR": COLOUR, "PROPOSE": PROPOSE, "WEIGHT": WEIGHT, "PLACE": PLACE, "BID": BID, "WALK": WALK}
ORDER_CONSTANTS = define(ORDER_BYTES=_ORDER.itemsize, **DOMAINS)


def for_order(order: Order, constants: tuple[str, ...]) -> tuple[str, ...]:
    """A host file's ``CONSTANTS`` for programs that are given this order: that of "degree" takes longer to compute."""
    return constants if order.classes is None else (*constants, *define(DEGREE=1))


def as_argument(order: Order) -> np.ndarray:
    """The order as a struct that kernels take by value; ``order`` has to live until they are launched."""
    return _as_argument(order) if order.classes is None else _pack(order)


def _pack(order: Order) -> np.ndarray:
    words = order._asdict()
    words["classes"] = 0 if order.classes is None else order.classes.data.ptr
    words["fold"], words["shift"] = (2**32 - 1, order.shift) if is_scrambled(order) else (0, 16)
    return struct(_ORDER, *(int(words[name]) for name in _FIELDS))


_as_argument = lru_cache(maxsize=8)(_pack)


@inlined
def priority(order, v):
    """The rank of vertex v among equals, as a uint64 below 2^32."""
    return _rank(order, order.classes, v, v)


@inlined
def priority_at(order, name, place):
    """``priority`` of the vertex that the whole graph has as ``name``, and the order's classes as ``place``."""
    return _rank(order, order.classes, name, place)


@inlined
def _rank(order, classes, name, place):
    if classes is None:  # known when compiling
        return _scramble(order, MASK, name)
    return np.uint64(classes[np.uint64(place)]) << order.bits | _scramble(order, order.mask, name)


@inlined
def _scramble(order, mask, v):
    x = np.uint64(v) ^ order.flip
    x = (x * order.mul1) & mask
    x ^= x >> order.shift
    return (x * order.mul2) & mask


@inlined
def vertex(order, rank):
    """The inverse of ``priority``, from the low 32 bits of ``rank``: x ^ (x >> shift) is its own inverse."""
    return _vertex(order, order.classes, rank)


@inlined
def _vertex(order, classes, rank):
    return _unscramble(order, MASK if classes is None else order.mask, rank)


@inlined
def _unscramble(order, mask, rank):
    x = (np.uint64(rank) * order.inv2) & mask
    x ^= x >> order.shift
    x = (x * order.inv1) & mask
    return x ^ order.flip


def priorities(order: Order, n: int) -> np.ndarray:
    """``priority`` of 0..n-1 as a uint64 array."""
    return priorities_of(order, np.arange(n))


def priorities_of(order: Order, vertices: np.ndarray) -> np.ndarray:
    """``priority`` of some vertices as a uint64 array."""
    x = vertices.astype(np.uint64) ^ order.flip
    x = (x * order.mul1) & order.mask
    x ^= x >> order.shift
    x = (x * order.mul2) & order.mask
    return x if order.classes is None else x | order.classes[vertices].astype(np.uint64) << order.bits


def prefix(bits, order):
    """The order-preserving 32-bit image of a weight's bits, which decide by their type whether they are wide."""
    return ((bits - order.low) >> order.drop) + ONE if bits.dtype == np.uint64 else np.uint64(bits)


@overload(prefix, inline="always")
def _prefix(bits, order):
    if bits == types.uint64:
        return lambda bits, order: ((bits - order.low) >> order.drop) + ONE
    return lambda bits, order: np.uint64(bits)


def weight_bits(weights: np.ndarray) -> np.ndarray:
    """Positive weights as unsigned integers of the same width and in the same order, without a copy."""
    return weights.view(np.dtype(f"u{weights.dtype.itemsize}"))


# ---- the counter-based random function: the same number on every machine, thread and device ----


@inlined
def mix64(x):
    """Steele, Lea and Flood's SplitMix64: the x-th word of a stream of 64-bit words (doi:10.1145/2660193.2660195)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inlined
def hash1(seed, domain, a):
    """hash(seed, a) of one use (``domain``), uniform on 64 bits. All arguments are uint64."""
    return mix64(mix64(seed ^ (domain << np.uint64(56))) ^ a)


@inlined
def hash2(seed, domain, a, b):
    """hash(seed, a, b); not symmetric in a and b."""
    return mix64(hash1(seed, domain, a) ^ b)


@inlined
def hash3(seed, domain, a, b, c):
    """hash(seed, a, b, c)."""
    return mix64(hash2(seed, domain, a, b) ^ c)


def mix64_int(x: int) -> int:
    """``mix64`` in plain integers, for the reference and for constants."""
    word = 2**64 - 1
    x = (x + 0x9E3779B97F4A7C15) & word
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & word
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & word
    return x ^ (x >> 31)


def hash_int(seed: int, domain: SupportsInt, *words: int) -> int:
    """``hash1``, ``hash2`` and ``hash3`` in plain integers."""
    state = mix64_int(seed % 2**64 ^ int(domain) << 56)
    for word in words:
        state = mix64_int(state ^ int(word))
    return state
