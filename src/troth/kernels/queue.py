"""A queue of vertices that several threads fill at once.

A worker gathers vertices in a batch of its own, say for one chunk of its work, and then appends the batch with one
atomic addition. So what is near in the graph stays near in the queue, and the shared length is rarely touched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.kernels.atomics import fetch_add
from troth.kernels.jit import kernel
from troth.kernels.team import APART

CHUNK = 2048  # the largest chunk that ``chunk_size`` makes


class VertexQueue(NamedTuple):
    """``items[: tail[0]]`` are in the queue."""

    items: np.ndarray
    tail: np.ndarray


def new_queue(capacity: int, items: np.ndarray | None = None) -> VertexQueue:
    """A queue with room for so many vertices, holding ``items`` or nothing."""
    queue = VertexQueue(np.empty(capacity, np.int32), np.zeros(16, np.int64))  # the length has a cache line of its own
    if items is not None:
        queue.items[: len(items)] = items
        queue.tail[0] = len(items)
    return queue


def new_batches(threads: int, kinds: int = 1) -> np.ndarray:
    """``batches[kind, worker]``: room for a chunk of pairs, and some more that is written but not counted."""
    return np.empty((kinds, threads, 2 * CHUNK + 16 + APART // 4), np.int32)


@kernel
def append(queue, batch, count):
    """Add the first ``count`` vertices of a batch to the queue."""
    at = fetch_add(queue.tail, np.uint64(0), np.int64(count))
    for i in range(count):
        queue.items[at + i] = batch[i]
