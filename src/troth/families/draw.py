"""From random words to numbers.

Every random number of a generated graph is a 64-bit word ``hash(seed, domain, ...)`` of ``order.py``, so it can be
computed alone, by any thread, rank or device. A word becomes a number by shifts and by the operations that IEEE 754
rounds correctly (+ - * /), hence the same bits on every machine; no library function such as ``log`` is used.
"""

from __future__ import annotations

import numpy as np

from troth.kernels.jit import kernel
from troth.order import mix64


@kernel
def below(word, bound):
    """A uniform integer in [0, bound), bound <= 2^53: the top 53 bits as a fraction, times the bound, rounded down.

    The fraction is at most 1 - 2^-53, and that times a bound of up to 2^53 never rounds up to the bound.
    """
    return np.int64(np.float64(np.int64(word >> np.uint64(11))) * 2.0**-53 * np.float64(bound))


@kernel
def uniform(word, bits):
    """A uniform multiple of 2^-bits in (0, 1], bits <= 53."""
    top = np.int64(word >> np.uint64(64 - bits)) + 1
    return np.float64(top) / np.float64(np.int64(1) << np.int64(bits))


@kernel
def exponential(word, bits):
    """An exponential variate of mean 1, by comparisons alone.

    A run of uniform numbers that starts with x and descends has j members or more with probability x^(j-1) / (j-1)!,
    so its length is odd with probability 1 - x + x^2/2 - ... = exp(-x). Try whole parts 0, 1, 2, ... and accept the
    first whose run is odd: each is passed over with probability 1/e, as it should be.
    J. von Neumann, Various techniques used in connection with random digits, NBS Applied Mathematics Series 12 (1951).
    """
    step = np.uint64(0)
    whole = 0.0
    while True:
        first = mix64(word ^ step)
        last = first
        odd = True
        step += np.uint64(1)
        fresh = mix64(word ^ step)
        while fresh < last:
            last = fresh
            odd = not odd
            step += np.uint64(1)
            fresh = mix64(word ^ step)
        if odd:
            return whole + uniform(first, bits)
        step += np.uint64(1)
        whole += 1.0
