"""What of a card's memory is used for what, where rows come in batches (``cuda/batches.py``), and where rows are cut.

A batch is whole tiles, as many as a buffer holds. In it are the low 32 bits of where its rows start, which tell all
differences, the indices and the weights.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from troth.arrays import in_gib, largest_piece
from troth.errors import DeviceMemoryError
from troth.graph import Graph
from troth.kernels.feeding import Copy
from troth.order import Order

TILE = 32  # rows whose entries stay together
BUFFERS = 3  # one is worked on, and copies need not wait for it to end
LARGEST = 2**28  # bytes of a buffer: more batches would cost no more
PARTS = 16  # of the memory left beside the words, one for a buffer
SPARED = 0.05  # of the free memory, for others
MOST_ENTRIES = 2**32 - 1  # of a batch, and of the leftovers: their places are 32-bit numbers
START = np.dtype("u4")  # the type of where a row starts
COUNTS = ("offers", "kept")  # what the kernels count
ALIGNED = 256
UNIT = 512  # bytes of CuPy's pool


class Batch(NamedTuple):
    """Rows ``start..stop - 1``, with entries ``first..last - 1``."""

    start: int
    stop: int
    first: int
    last: int


class Plan(NamedTuple):
    """Bytes of a buffer, how many entries may be left over, and may be in one batch, and the batches."""

    buffer: int
    leftovers: int
    entries: int
    batches: list[Batch]


def make_plan(graph: Graph, order: Order, memory: int | None) -> Plan:
    """How so many bytes, or most of what is free, are used, or a refusal that says how many are needed."""
    n, total, given = graph.n, len(graph.indices), "" if memory is None else f"memory={memory}: "
    memory = int(largest_piece() * (1 - SPARED)) if memory is None else memory
    entry = graph.indices.itemsize + graph.weights.itemsize
    words = sum(map(padded, word_bytes(n, bool(order.lossy)).values()))
    if order.classes is not None:
        words += -(-(int(order.mask) + 1) // UNIT) * UNIT
    buffer = min((memory - words) // PARTS // ALIGNED * ALIGNED, LARGEST, _buffer_of(n, total * entry))
    batches = cut(graph, buffer)
    if batches is None:
        longest = int(np.diff(np.append(graph.indptr[:-1:TILE], graph.indptr[-1])).max())
        buffer = _buffer_of(TILE, longest * entry)
        need = words + (BUFFERS + 2) * buffer
        if memory < need or longest > MOST_ENTRIES:
            words_of = f"this graph needs {in_gib(need)} on the card at least"
            raise DeviceMemoryError(f'{given}{words_of}; choose device="cpu", or give more')
        batches = cut(graph, buffer) or []
    entries = buffer // entry
    left = memory // UNIT * UNIT - words - BUFFERS * buffer - (padded(entries * 4) + padded(entries * (entry - 4)))
    return Plan(buffer, max(0, min((left - 2 * ALIGNED) // entry, MOST_ENTRIES, total)), entries, batches)


def padded(size: int) -> int:
    """The bytes that an array of so many takes."""
    return -(-size // ALIGNED) * ALIGNED


def word_bytes(n: int, lossy: bool) -> dict[str, int]:
    """The arrays that have an element for every vertex, or for every tile, and what the kernels count."""
    words = {"best": 8 * n, "choice": 4 * n, "first": 4 * n, "ends": 4 * (-(-n // TILE)), "control": 8 * len(COUNTS)}
    return words | ({"rank": 4 * n} if lossy else {})


def _buffer_of(rows: int, size: int) -> int:
    """Bytes that are enough for so many rows, whose entries take ``size``."""
    return padded(size + rows * START.itemsize + 4 * ALIGNED)


def cut(graph: Graph, buffer: int) -> list[Batch] | None:
    """Batches of whole tiles, each as large as a buffer of so many bytes can hold; None where it cannot hold a tile."""
    n, indptr, entry = graph.n, graph.indptr, graph.indices.itemsize + graph.weights.itemsize
    tiles, tile, batches = -(-n // TILE), 0, list[Batch]()

    def size_before(tile: int) -> int:
        row = min(n, tile * TILE)
        return int(indptr[row]) * entry + row * START.itemsize

    while tile < tiles:
        most = size_before(tile) + buffer - 4 * ALIGNED
        upto = bisect_right(range(tiles + 1), most, tile, key=size_before) - 1
        if upto <= tile:
            return None
        start, stop = tile * TILE, min(n, upto * TILE)
        batches.append(Batch(start, stop, int(indptr[start]), int(indptr[stop])))
        tile = upto
    return batches


def places_in_buffer(batch: Batch) -> tuple[int, int, int]:
    """Where in a buffer a batch has its starts, indices and weights."""
    at = padded(START.itemsize * (batch.stop - batch.start + 1))
    return 0, at, at + padded(4 * (batch.last - batch.first))


def copies_of(graph: Graph, batch: Batch, address: int) -> list[Copy]:
    """What is copied of a batch, and to where."""
    entries = slice(batch.first, batch.last)
    parts = graph.indptr[batch.start : batch.stop + 1], graph.indices[entries], graph.weights[entries]
    return [
        Copy(np.asarray(part), address + place, kind)
        for part, place, kind in zip(parts, places_in_buffer(batch), (START, None, None), strict=True)
        if len(part)
    ]
