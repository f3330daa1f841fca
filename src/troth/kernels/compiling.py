"""Compilation in this process: whether kernels are being compiled now, and how long that took so far.

Numba (``jit.py``) and NVRTC (``launch.py``) compile a kernel when it is first called, and keep it on disk. Who measures
or waits wants to tell that from the work itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class _Compiling:
    """Kernels compile others that they call: only the outermost counts."""

    def __init__(self) -> None:
        self.depth, self.seconds, self.start = 0, 0.0, 0.0

    def begin(self) -> None:
        if not self.depth:
            self.start = perf_counter()
        self.depth += 1

    def end(self) -> None:
        self.depth -= 1
        if not self.depth:
            self.seconds += perf_counter() - self.start


_COMPILING = _Compiling()
begin, end = _COMPILING.begin, _COMPILING.end


def is_compiling() -> bool:
    """Whether a kernel is being compiled now."""
    return _COMPILING.depth > 0


@contextmanager
def compiling() -> Iterator[None]:
    """What goes on here is compilation."""
    begin()
    try:
        yield
    finally:
        end()


class Stopwatch:
    """Seconds of work since this was made, or since the last lap; ``compiled`` are those of compilation, in all."""

    def __init__(self) -> None:
        self.compiled = 0.0
        self._last, self._before = perf_counter(), _COMPILING.seconds

    def lap(self) -> float:
        """The seconds since the last lap, without those of compilation."""
        now, compiled = perf_counter(), _COMPILING.seconds
        spent, more = now - self._last, compiled - self._before
        self._last, self._before = now, compiled
        self.compiled += more
        return spent - more
