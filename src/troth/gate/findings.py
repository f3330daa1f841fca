"""What one pass over a matrix finds, and how entries are combined: the same on the CPU and on a GPU."""

from __future__ import annotations

import secrets

import numpy as np

# Columns of what ``check`` returns. Where an index is OUTSIDE, UNSORTED, LOOPS and FINGERPRINT mean nothing.
COLUMNS = ("UNSORTED", "OUTSIDE", "LOOPS", "NONPOSITIVE", "NONFINITE", "FINGERPRINT", "LEAST", "GREATEST", "UNION")
UNSORTED, OUTSIDE, LOOPS, NONPOSITIVE, NONFINITE, FINGERPRINT, LEAST, GREATEST, UNION = range(len(COLUMNS))
# Of the fingerprint's hash; every process draws its own, so that no file can be made to pass.
SALT = (np.uint64(secrets.randbits(64)), np.uint64(secrets.randbits(64)))
MERGE = {"max": 0, "min": 1, "sum": 2, "mean": 3}


class RetryOnHost(Exception):  # noqa: N818
    """Not a refusal yet: the CPU's gate runs on a copy of the input, and writes the error if there is one."""


def bits_range(found: list[int]) -> tuple[int, int, int]:
    """Least, greatest and union of the weight bits among the columns."""
    return found[LEAST], found[GREATEST], found[UNION]
