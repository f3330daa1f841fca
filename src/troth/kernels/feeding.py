"""Arrays on their way from host memory to a GPU: threads copy them into pinned memory, and the card fetches them there.

The arrays may be any of the host's, also mapped from a file. Only pinned memory reaches the full speed of the bus, and
only from there do copies run beside kernels. So every thread has two pieces of pinned memory: while the card fetches
one, the thread fills the other, and the piece is still in the processor's cache when the card asks for it.

Batches go in turn to as many buffers on the card as there are. Who works on a batch calls ``wait_for`` before, and
``release`` when its buffer may be overwritten. Copies have a stream of their own, on which nothing else is done.

``send`` copies whole arrays in this way, and ``fetch`` one from the card to the host.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from troth.arrays import cupy, in_gib
from troth.errors import DeviceMemoryError
from troth.kernels.team import TICK, available_cores

PIECE = 2**22  # bytes of pinned memory; each costs some 15 microseconds of Python
SMALL_PIECE = 2**18  # where the driver does not give as much
SLOTS = 2  # pieces of a thread
MOST_THREADS = 12  # more do not fill the bus any better
WORTH_THREADS = 2**25  # bytes of an array; a smaller one is copied by the driver


class Copy(NamedTuple):
    """Numbers of the host, the address on the card to which they go, and their type there, if it is another.

    Of integers that are wider here than there the low bits arrive.
    """

    source: np.ndarray  # flat
    target: int
    kind: Any = None

    @property
    def size(self) -> int:
        """Bytes on the card."""
        return len(self.source) * np.dtype(self.kind or self.source.dtype).itemsize

    def pieces(self, size: int) -> Iterator[Copy]:
        """Parts that have so many bytes on the card, the last one perhaps fewer."""
        kind = np.dtype(self.kind or self.source.dtype)
        length = size // kind.itemsize
        for at in range(0, len(self.source), length):
            yield Copy(self.source[at : at + length], self.target + at * kind.itemsize, kind)


def pinned_memory(size: int) -> np.ndarray:
    """So many bytes of pinned memory, or a refusal where the driver gives none."""
    cp = cupy()
    try:
        return np.frombuffer(cp.cuda.alloc_pinned_memory(size), np.uint8, size)
    except cp.cuda.runtime.CUDARuntimeError as error:
        words = f"{in_gib(size)} of pinned host memory cannot be had ({error})"
        raise DeviceMemoryError(f'{words}; choose device="cpu", or free some') from None


class Feeder:
    """Copies batches of ``Copy`` to the current device, on threads; a context, at whose end nothing is under way.

    ``ready`` is a point of the caller's stream: the buffers are not written to before.
    """

    def __init__(self, batches: Sequence[Sequence[Copy]], buffers: int, threads: int) -> None:
        cp = cupy()
        self.staging = 0.0  # seconds of all threads in which they filled pinned memory
        self.threads = max(1, min(threads, MOST_THREADS))
        self._batches, self._free = batches, buffers  # batches below _free have a buffer
        self._piece = min(PIECE, max((copy.size for batch in batches for copy in batch), default=1))
        try:
            self._pinned = pinned_memory(self._piece * SLOTS * self.threads)
        except DeviceMemoryError:  # slowly, then
            self.threads, self._piece = 1, min(SMALL_PIECE, self._piece)
            self._pinned = pinned_memory(self._piece * SLOTS)
        self._left = [sum(1 for copy in batch for _ in copy.pieces(self._piece)) for batch in batches]
        self._there = [cp.cuda.Event(disable_timing=True) for _ in batches]
        self._todo, self._changed = self._pieces(), threading.Condition()
        self._stopped = False
        self._error: BaseException | None = None
        self._device = cp.cuda.Device()
        self._stream = cp.cuda.Stream(non_blocking=True)
        ready = cp.cuda.Event(disable_timing=True)
        ready.record()
        self._stream.wait_event(ready)
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="troth-feeder")

    def __enter__(self) -> Feeder:
        try:
            for worker in range(self.threads):
                self._pool.submit(self._work, worker)
        except BaseException:  # a thread could not be started: those that were would wait for ever
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._pool.shutdown()
        self._stream.synchronize()  # pinned memory is in use until then

    def wait_for(self, batch: int) -> None:
        """The current stream goes on when a batch is on the card; the host, when all its copies are under way."""
        with self._changed:
            while self._left[batch] and self._error is None:
                self._changed.wait(TICK)
            if self._error is not None:
                raise self._error
        cupy().cuda.get_current_stream().wait_event(self._there[batch])

    def release(self) -> None:
        """The buffer of the oldest batch may be overwritten: the caller has waited for whoever read it."""
        with self._changed:
            self._free += 1
            self._changed.notify_all()

    def _pieces(self) -> Iterator[tuple[int, Copy]]:
        for number, batch in enumerate(self._batches):
            for copy in batch:
                for piece in copy.pieces(self._piece):
                    yield number, piece

    def _take(self) -> tuple[int, Copy] | None:
        """The next piece, once its batch has a buffer; None where there is none, or where all shall stop."""
        with self._changed:
            piece = next(self._todo, None)
            if piece is not None:
                while piece[0] >= self._free and not self._stopped:
                    self._changed.wait()
            return None if self._stopped else piece

    def _work(self, worker: int) -> None:
        try:
            self._device.use()
            self._copy_pieces(self._pinned.reshape(self.threads, SLOTS, self._piece)[worker])
        except BaseException as error:
            with self._changed:
                self._error, self._stopped = self._error or error, True
                self._changed.notify_all()

    def _copy_pieces(self, slots: np.ndarray) -> None:
        runtime, staging, turn = cupy().cuda.runtime, 0.0, 0
        places = [slot.ctypes.data for slot in slots]
        fetched: list[Any] = [cupy().cuda.Event(disable_timing=True) for _ in slots]
        while (piece := self._take()) is not None:
            number, copy = piece
            slot, event, size = slots[turn], fetched[turn], copy.size
            event.synchronize()  # the card has fetched what was here before
            start = perf_counter()
            np.copyto(slot[:size].view(copy.kind), copy.source, casting="unsafe")
            staging += perf_counter() - start
            runtime.memcpyAsync(copy.target, places[turn], size, runtime.memcpyHostToDevice, self._stream.ptr)
            event.record(self._stream)
            turn = (turn + 1) % SLOTS
            with self._changed:
                self._left[number] -= 1
                if not self._left[number]:
                    self._there[number].record(self._stream)  # now, before others send more of the next batches
                    self._changed.notify_all()
        with self._changed:
            self.staging += staging


def send(array: np.ndarray) -> Any:
    """An array of the host on the current device."""
    cp = cupy()
    if array.nbytes < WORTH_THREADS:
        return cp.asarray(array)
    there, array = cp.empty(array.shape, array.dtype), np.ascontiguousarray(array)
    try:
        with Feeder([[Copy(array.reshape(-1), there.data.ptr)]], 1, available_cores()) as feeder:
            feeder.wait_for(0)
    except DeviceMemoryError:  # there is no pinned memory to be had
        there.set(array)
    return there


def fetch(array: Any) -> np.ndarray:
    """A flat array of the current device on the host; threads copy it from pinned memory, where the card puts it."""
    cuda, threads = cupy().cuda, max(1, min(available_cores(), MOST_THREADS))
    if array.nbytes < WORTH_THREADS:
        return np.asarray(array.get())
    try:
        pinned = pinned_memory(threads * PIECE)
    except DeviceMemoryError:  # there is none to be had
        return np.asarray(array.get())
    found = np.empty(array.shape, array.dtype)
    target, slots = found.view(np.uint8), pinned.reshape(threads, PIECE)
    device, ready = cuda.Device(), cuda.Event(disable_timing=True)
    ready.record()
    stream = cuda.Stream(non_blocking=True)
    stream.wait_event(ready)

    def copy(worker: int) -> None:
        device.use()
        slot, there = slots[worker], cuda.Event(disable_timing=True)
        for at in range(worker * PIECE, array.nbytes, threads * PIECE):
            piece = target[at : at + PIECE]
            words = slot.ctypes.data, array.data.ptr + at, len(piece), cuda.runtime.memcpyDeviceToHost
            cuda.runtime.memcpyAsync(*words, stream.ptr)
            there.record(stream)
            there.synchronize()
            np.copyto(piece, slot[: len(piece)])

    with ThreadPoolExecutor(threads, thread_name_prefix="troth-fetch") as pool:
        list(pool.map(copy, range(threads)))
    return found
