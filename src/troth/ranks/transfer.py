"""Records between a card and MPI: by way of pinned host memory, or from one card's memory to another's.

An MPI library that is CUDA-aware takes arrays on a card as they are (``transfer="device"``); any other gets them in
pinned memory, which a card copies from and to at full speed (``"pinned"``). The extension that both MPICH and Open MPI
have, ``MPIX_Query_cuda_support``, says which one it is ("auto").
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from troth.arrays import cupy
from troth.errors import TrothError
from troth.kernels.feeding import pinned_memory
from troth.ranks.exchange import Neighbourhood, PendingExchange, PointToPoint
from troth.ranks.graph import DistGraph

AUTO, PINNED, DEVICE = "auto", "pinned", "device"


@cache
def is_cuda_aware() -> bool:
    """Whether the MPI library takes arrays on a card, as it says itself."""
    from mpi4py import MPI

    try:  # a symbol is looked for in what the module is linked with, too
        return bool(ctypes.CDLL(MPI.__file__).MPIX_Query_cuda_support())
    except (OSError, AttributeError):  # no such extension, as in MPI for Windows
        return False


def goes_directly(transfer: str) -> bool:
    """Whether records go from card to card, or a refusal where they cannot."""
    if transfer == DEVICE and not is_cuda_aware():
        raise TrothError("transfer='device' needs an MPI that is CUDA-aware, which this one is not: leave it out")
    return transfer != PINNED and is_cuda_aware()


class Carrier:
    """Records on the card, to and from the neighbour ranks; buffers grow as needed and are used again."""

    def __init__(self, around: Neighbourhood) -> None:
        self.around = around
        self.sent, self.found = (cupy().empty(0, np.uint32) for _ in range(2))

    def room(self, size: int) -> Any:
        """Room on the card for so many numbers to send; what was there is lost."""
        if size > len(self.sent):
            self.sent = cupy().empty(size, np.uint32)
        return self.sent[:size]

    def start(self, values: Any, counts: np.ndarray, width: int) -> PendingExchange:
        """Send ``counts[s]`` records of ``width`` numbers to neighbour s, once the card has written them."""
        raise NotImplementedError

    def end(self, pending: PendingExchange) -> tuple[Any, np.ndarray]:
        """What came, on the card, and how many records from each neighbour."""
        raise NotImplementedError

    def free(self) -> None:
        """Give the communicator back."""
        self.around.free()


class PinnedCarrier(Carrier):
    """By way of pinned host memory: two copies more."""

    def __init__(self, graph: DistGraph) -> None:
        super().__init__(graph.neighbourhood())
        self.buffers = [_pinned(0), _pinned(0)]  # what goes, what comes

    def _buffer(self, which: int, size: int) -> np.ndarray:
        if size > len(self.buffers[which]):
            self.buffers[which] = _pinned(size)
        return self.buffers[which][:size]

    def start(self, values: Any, counts: np.ndarray, width: int) -> PendingExchange:
        here = self._buffer(0, len(values))
        if len(values):
            values.get(out=here)  # the host waits for the kernels before, and for the copy
        return self.around.start(here, counts, width, lambda size, kind: self._buffer(1, size))

    def end(self, pending: PendingExchange) -> tuple[Any, np.ndarray]:
        values, came = pending.end()
        if len(values) > len(self.found):
            self.found = cupy().empty(len(values), np.uint32)
        if len(values):
            self.found[: len(values)].set(values)
        return self.found, came


class DirectCarrier(Carrier):
    """From card to card: MPI is given arrays on the card, each neighbour's in a message of its own.

    Open MPI does not take them in collective operations that go on by themselves.
    """

    def __init__(self, graph: DistGraph) -> None:
        super().__init__(PointToPoint(graph.comm, graph.neighbours))

    def _room_for_found(self, size: int, kind: Any) -> Any:
        if size > len(self.found):
            self.found = cupy().empty(size, kind)
        return self.found[:size]

    def start(self, values: Any, counts: np.ndarray, width: int) -> PendingExchange:
        cupy().cuda.get_current_stream().synchronize()  # MPI knows nothing of streams
        return self.around.start(values, counts, width, self._room_for_found)

    def end(self, pending: PendingExchange) -> tuple[Any, np.ndarray]:
        return pending.end()


def _pinned(size: int) -> np.ndarray:
    """So many 32-bit numbers in pinned memory."""
    return pinned_memory(max(4 * size, 4)).view(np.uint32)[:size]
