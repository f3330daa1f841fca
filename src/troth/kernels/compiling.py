"""Compilation in this process: whether kernels are being compiled now, and how long that took so far.

Numba (``jit.py``) and NVRTC (``launch.py``) compile a kernel when it is first called, and keep it on disk. Who measures
or waits wants to tell that from the work itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class _Compiling:
    """The time in which some thread compiles: kernels compile those that they call, and threads those that they run."""

    def __init__(self) -> None:
        self.depth, self.seconds, self.start, self.lock = 0, 0.0, 0.0, threading.Lock()

    def begin(self) -> None:
        with self.lock:
            if not self.depth:
                self.start = perf_counter()
            self.depth += 1

    def end(self) -> None:
        with self.lock:
            self.depth -= 1
            if not self.depth:
                self.seconds += perf_counter() - self.start

    def until(self, now: float) -> float:
        """The seconds up to now, those of what is not yet compiled too."""
        with self.lock:
            return self.seconds + (max(0.0, now - self.start) if self.depth else 0.0)


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
        self.compiled, self._last = 0.0, perf_counter()
        self._before = _COMPILING.until(self._last)

    def lap(self) -> float:
        """The seconds since the last lap, without those of compilation."""
        now = perf_counter()
        compiled = _COMPILING.until(now)
        spent, more = now - self._last, min(compiled - self._before, now - self._last)
        self._last, self._before = now, compiled
        self.compiled += more
        return spent - more
