"""Decimals to the nearest float64: ``mantissa * 10^power`` by one or two products of 64 bits.

A decimal ``s * 10^e`` with ``s <= 2^53`` and ``|e| <= 22`` takes one multiplication or division of floats, which rounds
correctly since both factors are floats (Clinger, doi:10.1145/93542.93557). Any other is multiplied in 128 bits by a
truncated power of five (Lemire, doi:10.1002/spe.2984). Where that leaves the rounding open, or the result is not a
normal float, nothing is answered: the caller turns to a slower conversion. Weights as programs print them have 17
digits, so most need the second way; NumPy's conversion of such a column takes longer than all the rest of its reading.
"""

from __future__ import annotations

import numpy as np

from troth.kernels.jit import inlined, step

LEAST, GREATEST = -342, 308  # powers of ten; beyond them every float of 64 bits is zero or infinite
EXACT = np.uint64(2**53)
POWERS = 10.0 ** np.arange(23)


def _powers_of_five() -> np.ndarray:
    """5^q for all q as two words, of which the first bit is set: cut off, or from -27 to -1 rounded up."""
    table = []
    for q in range(LEAST, GREATEST + 1):
        power = 5 ** abs(q)
        size = power.bit_length()
        bits = power << 128 >> size if q >= 0 else (1 << size + 127) // power + (q >= -27)
        table.append((bits >> 64, bits & 2**64 - 1))
    return np.array(table, np.uint64)


FIVES = _powers_of_five()
ALL = np.uint64(2**64 - 1)
LOW = np.uint64(2**32 - 1)
U0, U1, U3, U32, U52, U55, U63, U64 = (np.uint64(k) for k in (0, 1, 3, 32, 52, 55, 63, 64))


@inlined
def _product(a, b):
    """The high and the low word of a product of two words."""
    a1, a0, b1, b0 = a >> U32, a & LOW, b >> U32, b & LOW
    low, cross = a0 * b0, a1 * b0
    middle = (low >> U32) + (cross & LOW) + a0 * b1
    return a1 * b1 + (cross >> U32) + (middle >> U32), a * b


@inlined
def _leading_zeros(word):
    count = U0
    for bits in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(64 - bits) == U0:
            word <<= np.uint64(bits)
            count += np.uint64(bits)
    return count


@step
def to_bits(mantissa, power):
    """The bits of the float64 nearest to ``mantissa * 10^power``, a positive number; 0 where this cannot tell."""
    if mantissa == U0 or power < LEAST or power > GREATEST:
        return U0
    shift = _leading_zeros(mantissa)
    mantissa <<= shift
    high, low = _product(mantissa, FIVES[power - LEAST, 0])
    if high & (ALL >> U55) == ALL >> U55:  # what was cut off may carry into the bits that count
        more, _ = _product(mantissa, FIVES[power - LEAST, 1])
        low += more
        if low < more:
            high += U1
    if low == ALL and not -27 <= power <= 55:
        return U0
    upper = high >> U63
    kept = high >> (upper + np.uint64(9))  # 53 bits, and one to round by
    exponent = ((217706 * power) >> 16) + 63 + np.int64(upper) - np.int64(shift) + 1023
    if exponent <= 0:
        return U0
    if low <= U1 and -4 <= power <= 23 and kept & U3 == U1 and kept << (upper + np.uint64(9)) == high:
        kept -= U1  # half way between two floats: to the even one
    kept = (kept + (kept & U1)) >> U1
    if kept >> np.uint64(53):
        kept = U1 << U52
        exponent += 1
    if exponent >= 2047:
        return U0
    return kept & ((U1 << U52) - U1) | np.uint64(exponent) << U52


@step
def nearest(mantissa, power):
    """The float64 nearest to ``mantissa * 10^power``, and whether this can tell."""
    if mantissa <= EXACT and abs(power) <= 22:
        real = np.float64(mantissa)
        return (real / POWERS[-power] if power < 0 else real * POWERS[power]), True
    bits = np.uint64(to_bits(mantissa, power))
    return bits.view(np.float64), bits != U0
