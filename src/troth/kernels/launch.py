"""From a ``.cu`` file to kernels that can be called, and what every launch needs.

A source is ``cuda/kernels/common.cuh`` followed by ``cuda/kernels/STEM.cu``, compiled at run time by NVRTC through
CuPy, which keeps the binaries on disk (``~/.cupy/kernel_cache``) and loads them once a device. Each host file lists in
``PROGRAMS`` the sets of kernels that it may load, so that a test can compile them all on a machine without a GPU, and
in ``CONSTANTS`` what its kernels must agree on with it: sizes, places and codes are written down in Python alone.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from typing import Any, SupportsInt

import numpy as np
from numpy.typing import DTypeLike

from troth.arrays import cupy
from troth.kernels.compiling import compiling

BLOCK = 256  # threads of a block where nothing speaks for another number
WARP = 32  # threads that run in step
OWN_SHARED = 1024  # bytes of shared memory that a kernel of `launch_shared` may declare

WORDS = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}  # the unsigned type in common.cuh by size in bytes
FLOATS = {4: "float", 8: "double"}
INCLUDE = r'^#include "(\w+\.cuh)"$'


def define(**constants: SupportsInt) -> tuple[str, ...]:
    """Options of the compiler by which a kernel file knows numbers of its host file: ``TILE`` is ``HOST_TILE`` there.

    >>> define(TILE=512, NOWHERE=2**63)
    ('-DHOST_TILE=512', '-DHOST_NOWHERE=9223372036854775808ull')
    """
    return tuple(
        f"-DHOST_{name}={int(value)}{'ull' if int(value) >= 2**63 else ''}" for name, value in constants.items()
    )


# No fused multiply-add: floats must round as on the CPU.
OPTIONS = ("-std=c++17", "--fmad=false", "-lineinfo", *define(WARP=WARP))


def source(stem: str) -> str:
    """The program text of ``cuda/kernels/STEM.cu``: behind ``common.cuh``, and behind what it includes."""
    folder = files("troth") / "cuda" / "kernels"
    text = (folder / f"{stem}.cu").read_text(encoding="utf-8")
    names = ("common.cuh", *re.findall(INCLUDE, text, re.MULTILINE))
    parts = [(name, (folder / name).read_text(encoding="utf-8")) for name in names]
    parts.append((f"{stem}.cu", re.sub(INCLUDE, r"// \g<0>", text, flags=re.MULTILINE)))
    return "\n".join(f'#line 1 "{name}"\n{text}' for name, text in parts)


@cache
def load(stem: str, expressions: tuple[str, ...], constants: tuple[str, ...]) -> tuple[Any, ...]:
    """Kernels of ``cuda/kernels/STEM.cu`` by their C++ names, such as ``"choose<u32, 4>"``.

    ``constants`` are the host file's ``CONSTANTS``. Called as ``kernel(grid, block, args)`` kernels run on the current
    stream.
    """
    module = cupy().RawModule(code=source(stem), options=(*OPTIONS, *constants), name_expressions=expressions)
    with compiling():
        return tuple(module.get_function(name) for name in expressions)


def launch(kernel: Callable, total: int, *args: Any, block: int = BLOCK) -> None:
    """Run a kernel on at least ``total`` threads, one for each item."""
    if total > 0:
        kernel((-(-total // block),), (block,), args)


def resident(kernel: Any, block: int) -> int:
    """How many blocks of a kernel the current device can hold at one time."""
    return _resident(kernel, block, cupy().cuda.runtime.getDevice())


@cache
def _resident(kernel: Any, block: int, number: int) -> int:
    driver, device = cupy().cuda.driver, cupy().cuda.Device(number)
    each = driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, block, 0)
    return each * device.attributes["MultiProcessorCount"]


def most_shared() -> int:
    """Bytes of shared memory that a block may ask for at launch, beside a little of its own."""
    return _most_shared(cupy().cuda.runtime.getDevice())


@cache
def _most_shared(number: int) -> int:
    return cupy().cuda.Device(number).attributes["MaxSharedMemoryPerBlockOptin"] - OWN_SHARED


def launch_shared(kernel: Any, blocks: int, block: int, shared: int, *args: Any) -> None:
    """Run a kernel whose blocks have so many bytes of shared memory beside their own."""
    _allow_shared(kernel, cupy().cuda.runtime.getDevice())
    kernel((blocks,), (block,), args, shared_mem=shared)


@cache
def _allow_shared(kernel: Any, number: int) -> None:
    """Without being asked a GPU gives a block no more than 48 KB."""
    kernel.max_dynamic_shared_size_bytes = _most_shared(number)


def launch_cooperative(kernel: Any, blocks: int, block: int, *args: Any) -> None:
    """Run a kernel whose blocks wait for each other: all of them run at one time, or the launch fails."""
    kernel.kernel((blocks,), (block,), args, enable_cooperative_groups=True)


@cache
def _spare_events(number: int) -> list[tuple[Any, Any]]:
    """Pairs of events of a device that no clock uses now: to make one takes longer than to record it."""
    return []


class DeviceClock:
    """Seconds on the device, from when this is made to ``note`` or ``stop``: points of the current stream.

    When it has been read, its events are another's.
    """

    def __init__(self) -> None:
        cuda = cupy().cuda
        self._spare = _spare_events(cuda.runtime.getDevice())
        try:
            self._start, self._stop = self._spare.pop()
        except IndexError:
            self._start, self._stop = cuda.Event(), cuda.Event()
        self._start.record()
        self._seconds: float | None = None

    def stop(self) -> float:
        """The seconds until now; the host waits until the device is here."""
        self.note()
        return self.read()

    def note(self) -> None:
        """Where the device will be when it comes here is the end, unless this is called again."""
        self._stop.record()

    def read(self) -> float:
        """The seconds until the end; the host waits until the device is there."""
        if self._seconds is None:
            self._stop.synchronize()
            self._seconds = cupy().cuda.get_elapsed_time(self._start, self._stop) / 1000
            self._spare.append((self._start, self._stop))
        return self._seconds


class _Argument(np.ndarray):
    """A struct that knows where it is. CuPy asks for that at every launch, and NumPy would describe the whole array."""

    __array_interface__: Any = None  # of each its own


def struct(kind: np.dtype, *values: float) -> np.ndarray:
    """A struct that kernels take by value, as plain bytes."""
    made = np.array([values], kind).view(f"V{kind.itemsize}").view(_Argument)
    made.__array_interface__ = {"data": (made.ctypes.data, True)}
    return made


class Layout:
    """Where arrays of so many bytes, of which some are to be zeros, are in one piece of memory."""

    def __init__(self, zeros: dict[str, int], others: dict[str, int]) -> None:
        self.zeros, self.others = zeros, others
        self.size = self.zeroed = 0
        self.places = {}
        for name, length in (zeros | others).items():
            self.places[name] = self.size, length
            self.size += -(-length // 256) * 256
            if name in zeros:
                self.zeroed = self.size


class Memory:
    """Several arrays in one piece of memory, of so many bytes each: one allocation, which lives as long as this.

    ``memory[name]`` points to an array, at a multiple of 256, for kernels (to which it is passed faster than a number);
    ``memory.view(name, kind)`` is a CuPy array. ``clear`` makes those of ``zeros`` 0.
    """

    def __init__(self, zeros: dict[str, int], others: dict[str, int]) -> None:
        self._take(Layout(zeros, others))

    @classmethod
    def laid_out(cls, layout: Layout) -> Memory:
        """The same, by a layout that serves many calls."""
        memory = cls.__new__(cls)
        memory._take(layout)
        return memory

    def _take(self, layout: Layout) -> None:
        self._places, self._zeroed, self._start = layout.places, layout.zeroed, cupy().cuda.alloc(layout.size)

    def clear(self) -> Memory:
        """Itself, with zeros where there shall be."""
        if self._zeroed:
            self._start.memset_async(0, self._zeroed)
        return self

    def __getitem__(self, name: str) -> Any:
        return self._start + self._places[name][0]

    def addresses(self, names: Iterable[str]) -> list[int]:
        """Where some of the arrays are."""
        start = self._start.ptr
        return [start + self._places[name][0] for name in names]

    def view(self, name: str, kind: DTypeLike) -> Any:
        """One of the arrays."""
        kind = np.dtype(kind)
        return cupy().ndarray((self._places[name][1] // kind.itemsize,), kind, self[name])

    def fetch(self, name: str, kind: DTypeLike) -> np.ndarray:
        """One of the arrays on the host, when the device has come here; the host waits once."""
        cuda, length = cupy().cuda, self._places[name][1]
        try:
            there = cuda.alloc_pinned_memory(length)
        except cuda.runtime.CUDARuntimeError:  # the driver gives none
            return self.view(name, kind).get()
        self[name].copy_to_host_async(ctypes.c_void_p(there.ptr), length)
        cuda.get_current_stream().synchronize()
        return np.frombuffer(there, np.dtype(kind), length // np.dtype(kind).itemsize)


def bits_of(weights: Any) -> Any:
    """Positive weights on the device as unsigned integers of the same width, without a copy."""
    return weights.view(np.dtype(f"u{weights.dtype.itemsize}"))


def numbers_of(weights: Any) -> Any:
    """The weights as kernels calculate with them: floats as they are, integers as the unsigned of their width."""
    return weights if weights.dtype.kind == "f" else bits_of(weights)


def aligned(array: Any) -> Any:
    """The array, copied where it does not start at a multiple of 16 bytes, as reads of four entries need."""
    return array if array.data.ptr % 16 == 0 else array.copy()


def word_of(weights: Any) -> str:
    """The name in ``common.cuh`` of the unsigned type that is as wide as the weights."""
    return WORDS[weights.dtype.itemsize]


def number_of(kind: np.dtype) -> str:
    """The C++ type in which kernels calculate with weights: a float, or the unsigned integer of their width."""
    return (FLOATS if kind.kind == "f" else WORDS)[kind.itemsize]
