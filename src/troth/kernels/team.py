"""A team of threads that run one compiled kernel together.

Kernels release the GIL, so plain Python threads run them side by side. This is used instead of Numba's ``prange``
because it is safe when several Python threads call troth at once, takes any number of threads in any call, answers
Ctrl-C, and compiles faster.

A kernel is ``kernel(worker, cursor, chunk, ...)``, inputs first and outputs last, and its outer loop is always

    for start, stop in chunks(cursor, chunk, n):

which takes chunks of 0..n-1 from the cursor that all workers share. Moving the cursor past the end is how a kernel is
stopped early, so an interrupt needs no second flag.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from troth.errors import TrothError
from troth.kernels.atomics import fetch_add, store
from troth.kernels.jit import generator, inlined
from troth.validate import MAX_THREADS

TICK = 0.1  # seconds between two looks at a running kernel: for Ctrl-C (needed on Windows) and for progress
FAR = np.int64(2**62)
SERIAL_BELOW = 256  # items; waking threads would cost more
CALLER = 0  # threads: the calling one
APART = 128  # bytes between what two threads write: a cache line, and the next, which processors fetch with it

_pool: ThreadPoolExecutor | None = None
_lock = threading.Lock()


def _forget_pool() -> None:
    global _pool, _lock
    _pool, _lock = None, threading.Lock()  # the parent's threads do not exist in a forked child


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def _get_pool() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="troth")  # threads start when first needed
        return _pool


def thread_count(threads: int | None, work: int, grain: int = 1 << 17) -> int:
    """How many threads to use: ``threads`` where given, else one for each ``grain`` units of work up to the cores."""
    return max(1, min(available_cores(), work // grain + 1)) if threads is None else int(threads)


def available_cores() -> int:
    """The cores that this process may use; ``TROTH_NUM_THREADS`` overrides."""
    if wish := os.environ.get("TROTH_NUM_THREADS", ""):
        if not wish.isdecimal() or not 1 <= int(wish) <= MAX_THREADS:
            raise TrothError(f"TROTH_NUM_THREADS={wish!r}: give a whole number from 1 to {MAX_THREADS}, or unset it")
        return int(wish)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        return os.cpu_count() or 1


def chunk_size(total: int, threads: int, largest: int = 2048) -> int:
    """Chunks small enough that every thread gets several, large enough that the cursor is rarely touched."""
    return max(1, min(largest, total // (16 * threads)))


def new_cursor() -> np.ndarray:
    """A shared cursor at 0, alone on its cache line."""
    return np.zeros(16, np.int64)


def worker_rows(threads: int, width: int, kind: DTypeLike, make: Callable[..., np.ndarray] = np.empty) -> np.ndarray:
    """A row of scratch for each worker, of ``width`` numbers and as many more as keep the next row's cache lines apart.

    Two threads that write to one line wait for each other at every write.
    """
    dtype = np.dtype(kind)
    return make((max(threads, 1), width + APART // dtype.itemsize), dtype)


@inlined
def take(cursor, chunk):
    """The start of the next chunk, perhaps at or past the end."""
    return fetch_add(cursor, np.uint64(0), np.int64(chunk))


@inlined
def stop_all(cursor):
    """No worker gets another chunk."""
    store(cursor, np.uint64(0), FAR)


@generator
def chunks(cursor, chunk, total):
    """The chunks (start, stop) of 0..total-1 that this worker gets: the loop of every kernel of a team."""
    start = take(cursor, chunk)
    while start < total:
        yield start, min(start + chunk, total)
        start = take(cursor, chunk)


def run_team(
    kernel: Callable,
    total: int,
    threads: int,
    *args: Any,
    chunk: int | None = None,
    serial_below: int | None = None,
    cursor: np.ndarray | None = None,
    progress: Callable[[int], None] | None = None,
) -> list:
    """Run ``kernel(worker, cursor, chunk, *args)`` for worker = 0..threads-1, who share the items 0..total-1.

    Parameters
    ----------
    threads
        CALLER: the calling thread works itself, and Ctrl-C has to wait for it
    chunk
        items that a worker takes at a time; by default what ``chunk_size`` says
    serial_below
        with fewer items than that, by default SERIAL_BELOW, the calling thread works itself as well
    cursor
        where others, say MPI ranks, take chunks of the same items: theirs
    progress
        called now and then, and at the end, with how many items were taken

    Returns
    -------
    What the workers return, in their order. After an interrupt the cursor is past the end: that stops the workers.
    """
    cursor = new_cursor() if cursor is None else cursor
    if threads == CALLER or total < (SERIAL_BELOW if serial_below is None else serial_below):
        found = [kernel(0, cursor, chunk or max(1, total), *args)]
        if progress is not None:
            progress(total)
        return found
    chunk = chunk or chunk_size(total, threads)
    if threads == 1 and threading.current_thread() is not threading.main_thread():
        return [kernel(0, cursor, chunk, *args)]
    pool, jobs = _get_pool(), list[Future]()
    try:
        jobs.extend(pool.submit(kernel, worker, cursor, chunk, *args) for worker in range(threads))
        while True:
            _, running = wait(jobs, TICK)
            if progress is not None:
                progress(int(cursor[0]))
            if not running:
                return [job.result() for job in jobs]
    except BaseException as error:
        if isinstance(error, RuntimeError) and not jobs:  # a thread that outlives the main one gets no helpers
            return [kernel(worker, cursor, chunk, *args) for worker in range(threads)]
        cursor[0] = FAR
        wait(jobs)
        raise
