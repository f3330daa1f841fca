"""The exact sum of ``cpu/exact.py``, which has the steps of it for kernels, as a function."""

from __future__ import annotations

from troth.cpu.exact import add_to_limbs, clear_limbs, round_limbs
from troth.kernels.jit import kernel


@kernel
def add_all(terms, limbs):
    """The sum of some numbers."""
    clear_limbs(limbs)
    for x in terms:
        add_to_limbs(limbs, x)
    return round_limbs(limbs)
