"""A queue that several threads fill at once.

Each worker gathers items in a buffer of its own and moves them to the queue by one atomic addition when it is full, and
at the end (``flush``). So what was near in the graph stays near in the queue, and the shared counter is rarely touched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from troth.cpu._atomics import fetch_add

ROOM = 240  # items that a worker gathers


class Queue(NamedTuple):
    """``items[: tail[0]]`` are in the queue; ``buffers[worker]`` is a count and the items gathered, on its own lines."""

    items: np.ndarray
    tail: np.ndarray
    buffers: np.ndarray


def new_queue(capacity: int, threads: int) -> Queue:
    """An empty queue of vertices for the workers 0..threads-1."""
    return Queue(np.empty(capacity, np.int32), np.zeros(1, np.int64), np.zeros((threads, 256), np.int32))


@njit(nogil=True, cache=True, inline="always")
def push(queue, worker, v):
    """Append v."""
    own = queue.buffers[worker]
    own[0] += 1
    own[own[0]] = v
    if own[0] == ROOM:
        flush(queue, worker)


@njit(nogil=True, cache=True)
def flush(queue, worker):
    """Move what the worker has gathered to the queue."""
    own = queue.buffers[worker]
    at = fetch_add(queue.tail, np.uint64(0), np.int64(own[0]))
    for i in range(own[0]):
        queue.items[at + i] = own[i + 1]
    own[0] = 0
