"""How kernels are compiled.

Kernels take flat arrays and allocate nothing, so they need no reference counts, and they release the GIL. Numba counts
references to every array that an inner function takes, with an atomic addition on a counter that all threads share; in
a loop over short rows that costs up to three times the work itself and stops threads from scaling. ``_nrt=False`` turns
it off, and makes an allocation in a kernel a compile error.
"""

from numba import njit

kernel = njit(nogil=True, cache=True, _nrt=False)
inlined = njit(nogil=True, cache=True, _nrt=False, forceinline=True)  # small steps of a kernel
spliced = njit(nogil=True, cache=True, _nrt=False, inline="always")  # the same before types are known: for hot loops
