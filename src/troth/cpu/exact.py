"""Sums of positive numbers that do not depend on the order of their terms: exact, and rounded to float64 once.

Two doubles hold a sum: the rounded one, and what rounding lost (D. E. Knuth, The Art of Computer Programming, volume 2,
section 4.2.2: the error of an addition is a double, found by five more additions). While what is lost adds up exactly,
the two together are the exact sum, and adding them rounds it correctly. That fails only where terms differ by a factor
of 2^50 and more; then the second becomes NaN, and ``sum_exactly`` adds the terms as whole numbers of 2100 bits.

Integers are added as they are, and stay at 2^63 once they are there: that is too much.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from troth.kernels.jit import inlined, step
from troth.order import MASK, ONE

TOO_MUCH = np.uint64(2**63)  # what a sum of integers becomes where it is that or more
LIMBS = 70  # of 32 bits each, in words of 64
LIMB = np.uint64(32)
IN_LIMB = np.uint64(31)
LIMB_BITS = np.uint64(5)  # of a bit's number
FRACTION = np.uint64(52)
FRACTION_MASK = np.uint64(2**52 - 1)
EXPONENT = np.uint64(0x7FF)
ZERO = np.uint64(0)


@intrinsic
def bits_of(typingctx, x):
    """The bits of a float64."""
    return types.uint64(types.float64), lambda context, builder, signature, args: builder.bitcast(
        args[0], ir.IntType(64)
    )


@intrinsic
def float_of(typingctx, bits):
    """The float64 of some bits."""
    return types.float64(types.uint64), lambda context, builder, signature, args: builder.bitcast(
        args[0], ir.DoubleType()
    )


def add_term(sums, at, term):
    """Add a term to the sum in sums[at] and sums[at + 1]; compiled code only."""
    raise NotImplementedError("add_term is for compiled code")


@overload(add_term, inline="always")
def _add_term(sums, at, term):
    if isinstance(sums.dtype, types.Float):
        return _add_float
    return _add_integer


def _add_float(sums, at, term):
    old, lost, x = sums[at], sums[at + ONE], np.float64(term)
    new = old + x
    part = new - old
    error = (old - (new - part)) + (x - part)
    more = lost + error
    part = more - lost
    good = (lost - (more - part)) + (error - part) == 0.0
    sums[at] = new
    sums[at + ONE] = more if good else np.nan


def _add_integer(sums, at, term):
    total = sums[at] + np.uint64(term)
    sums[at] = total if total < TOO_MUCH else TOO_MUCH


# ---- as whole numbers ----


@inlined
def clear_limbs(limbs):
    """Start a sum: 0."""
    for i in range(LIMBS):
        limbs[i] = ZERO


@inlined
def add_to_limbs(limbs, x):
    """Add a float64 as a multiple of 2^-1074."""
    bits = bits_of(x)
    exponent, whole = bits >> FRACTION & EXPONENT, bits & FRACTION_MASK
    if exponent:
        whole |= ONE << FRACTION
        exponent -= ONE
    k, shift = exponent >> LIMB_BITS, exponent & IN_LIMB
    low, high = (whole & MASK) << shift, (whole >> LIMB) << shift
    limbs[k] += low & MASK
    limbs[k + ONE] += (low >> LIMB) + (high & MASK)
    limbs[k + ONE + ONE] += high >> LIMB


@inlined
def bit(limbs, i):
    """Bit i of a number whose limbs have 32 bits."""
    return limbs[i >> LIMB_BITS] >> (i & IN_LIMB) & ONE


@step
def round_limbs(limbs):
    """The sum as a float64, to the nearest, to the even one of two; infinity where it is too great."""
    carry, top = ZERO, ZERO
    for i in range(np.uint64(LIMBS)):
        carry += limbs[i]
        limbs[i] = carry & MASK
        carry >>= LIMB
    for i in range(np.uint64(LIMBS * 32)):
        if bit(limbs, i):
            top = i
    if top <= FRACTION:
        return float_of(limbs[0] | limbs[1] << LIMB)
    last, whole = top - FRACTION, ZERO  # the last bit that is kept
    for i in range(last, top):
        whole |= bit(limbs, i) << (i - last)
    below = False
    for i in range(last - ONE):
        below |= bit(limbs, i) != ZERO
    up = bit(limbs, last - ONE) and (below or whole & ONE)
    bits = ((last + ONE) << FRACTION) + whole + (ONE if up else ZERO)
    return float_of(min(bits, EXPONENT << FRACTION))
