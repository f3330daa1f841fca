"""Kernels on the CPU: compiled by g++ behind ``emulation.hpp``, and called by the host files as they are.

``emulated()`` is a context in which the host files given to it run without a GPU: arrays are NumPy's, kernels run a
thread after the other, in an order that ``seed`` chooses, the blocks of cooperative ones at one time. It finds wrong
arguments, wrong answers and lanes that do not meet; it knows nothing of memory that is out of bounds.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import subprocess
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np

from troth.graph import Graph
from troth.kernels.launch import OPTIONS, source

SHARED = 2**18  # bytes that a block may ask for: more than any GPU has
HEADER = Path(__file__).with_name("emulation.hpp")
FLAGS = ("-std=gnu++17", "-O1", "-w", "-fPIC", "-shared", "-ffp-contract=off", "-fno-strict-aliasing", "-pthread")


class Array(np.ndarray):
    """An array that has what host files ask of CuPy's."""

    @property
    def data(self):
        """Where it is, as CuPy has it."""
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self, out=None):
        """Itself, or a copy in ``out``."""
        if out is not None:
            out[:] = self
        return np.asarray(self) if out is None else out

    def set(self, values) -> None:
        """The values of another array."""
        assert values.dtype == self.dtype
        self[:] = values

    def sort(self, **more) -> None:
        """In place, in room that was made for it."""
        check_room_to_sort(self)
        super().sort(**more)


def array_of(found) -> Array:
    """The array, with CuPy's methods."""
    return found.view(Array)


def on_card(graph: Graph) -> Graph:
    """The graph, its arrays with what host files ask of CuPy's."""
    return Graph.trusted(*map(array_of, (graph.indptr, graph.indices, graph.weights)))


def fake_event(disable_timing: bool = False) -> SimpleNamespace:
    """An event that has come to pass."""
    return SimpleNamespace(record=lambda stream=None: None, synchronize=lambda: None)


def fake_stream(non_blocking: bool = False) -> SimpleNamespace:
    """A stream on which all is done at once."""
    return SimpleNamespace(ptr=0, wait_event=lambda event: None, synchronize=lambda: None)


class OutOfMemoryError(MemoryError):
    """CuPy's."""


class CUDARuntimeError(RuntimeError):
    """CuPy's."""


last_made = [0]  # bytes


def make_empty(shape, dtype) -> Array:
    """An array filled with a pattern."""
    last_made[0] = size = int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize
    return array_of(np.full(size, 0xA5, np.uint8)).view(dtype).reshape(shape)


def check_room_to_sort(keys, copied: int = 0) -> None:
    """The last array that was made is as large as what CuPy takes for a sort (``make_room_to_sort``)."""
    assert last_made[0] >= 2 * keys.shape[-1] * (8 + copied), "no room was made for a sort"
    last_made[0] = 0


def argsort(keys, **more) -> Array:
    """As NumPy's, in room that was made for it."""
    check_room_to_sort(keys, keys.itemsize)
    return array_of(np.argsort(keys, **more))


def lexsort(keys) -> Array:
    """As NumPy's, in room that was made for it."""
    check_room_to_sort(keys)
    return array_of(np.lexsort(keys))


fake_cupy = SimpleNamespace(
    empty=make_empty,
    zeros=lambda shape, dtype: array_of(np.zeros(shape, dtype)),
    full=lambda shape, value, dtype: array_of(np.full(shape, value, dtype)),
    asarray=lambda array: array_of(np.array(array)),
    empty_like=lambda array: array_of(np.empty_like(array)),
    lexsort=lexsort,
    argsort=argsort,
    cumsum=lambda array, **more: array_of(np.cumsum(array, **more)),
    diff=lambda array: array_of(np.diff(array)),
    cuda=SimpleNamespace(
        Device=lambda: SimpleNamespace(use=lambda: None),
        Event=fake_event,
        Stream=fake_stream,
        alloc_pinned_memory=bytearray,
        get_current_stream=fake_stream,
        get_elapsed_time=lambda start, stop: 0.0,
        memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
        runtime=SimpleNamespace(
            memcpyAsync=lambda target, source, size, kind, stream: ctypes.memmove(target, source, size),
            memcpyHostToDevice=1,
            memcpyDeviceToHost=2,
            CUDARuntimeError=CUDARuntimeError,
        ),
    ),
    get_default_memory_pool=lambda: SimpleNamespace(free_all_blocks=lambda: None),
)


@dataclass
class Pointer:
    """What CuPy has for a place in memory, which lives as long as this."""

    ptr: int
    memory: FakeMemory

    def __add__(self, size: int) -> Pointer:
        return Pointer(self.ptr + size, self.memory)


class FakeMemory:
    """``Memory`` of ``kernels/launch.py``, filled with a pattern; what lies behind an array is checked at the end."""

    def __init__(self, zeros, others) -> None:
        self.arrays = {
            name: np.full(-(-size // 16) * 2 + 8, 0xA5A5A5A5A5A5A5A5, np.uint64)
            for name, size in (zeros | others).items()
        }
        self.sizes, self.zeroed = zeros | others, list(zeros)

    @classmethod
    def laid_out(cls, layout):
        return cls(layout.zeros, layout.others)

    def addresses(self, names):
        return [self[name].ptr for name in names]

    def clear(self):
        for name in self.zeroed:
            self.arrays[name].view(np.uint8)[: self.sizes[name]] = 0
        return self

    def __getitem__(self, name):
        return Pointer(self.arrays[name].ctypes.data, self)

    def view(self, name, kind):
        return array_of(self.arrays[name].view(np.uint8)[: self.sizes[name]].view(kind))

    def fetch(self, name, kind):
        return np.array(self.view(name, kind))

    def __del__(self) -> None:
        for name, array in self.arrays.items():
            if not (array.view(np.uint8)[self.sizes[name] :] == 0xA5).all():
                print(f"emulation: something was written behind {name!r}", flush=True)
                FakeMemory.damage = True

    damage = False


class Kernel:
    """A kernel that is called as CuPy's are."""

    seed = 0

    def __init__(self, library, number: int, name: str) -> None:
        self.launch = getattr(library, f"emu_launch_{number}")
        sizes = (ctypes.c_int * 64)()
        count = getattr(library, f"emu_sizes_{number}")(sizes)
        self.name, self.sizes, self.kernel = name, sizes[:count], self

    def __call__(self, grid, block, args, enable_cooperative_groups: bool = False, shared_mem: int = 0) -> None:
        assert shared_mem <= SHARED
        assert len(grid) == len(block) == 1
        assert grid[0] > 0, self.name
        blobs = [self.blob(arg) for arg in args]
        assert [len(blob) for blob in blobs] == self.sizes, (self.name, [len(blob) for blob in blobs], self.sizes)
        buffers = [ctypes.create_string_buffer(blob, len(blob)) for blob in blobs]
        pointers = (ctypes.c_void_p * len(args))(*(ctypes.addressof(buffer) for buffer in buffers))
        self.launch(grid[0], block[0], int(enable_cooperative_groups), Kernel.seed, pointers)

    @staticmethod
    def blob(arg) -> bytes:
        """What CuPy would pass."""
        if hasattr(arg, "ptr"):
            return np.uint64(arg.ptr).tobytes()
        if isinstance(arg, np.ndarray) and arg.dtype.kind == "V":
            return arg.tobytes()
        if isinstance(arg, np.ndarray):
            assert arg.flags.c_contiguous
            return np.uint64(arg.ctypes.data).tobytes()
        return (np.int64(arg) if isinstance(arg, int) else arg).tobytes()


@cache
def load(stem: str, expressions: tuple[str, ...], constants: tuple[str, ...]) -> tuple[Kernel, ...]:
    """``load`` of ``kernels/launch.py``."""
    text = source(stem).replace('#line 1 "', '\n#line 1 "')
    text = re.sub(r"extern __shared__ (\w+) (\w+)\[\]", rf"__shared__ \1 \2[{SHARED} / sizeof(\1)]", text)
    # min, max and the like come from the header; nothing else is changed.
    lines = [f'#include "{HEADER}"', text]
    for i, name in enumerate(expressions):
        words = "unsigned grid, unsigned block, int together, unsigned seed, void** args"
        call = f"emu_launch({name}, grid, block, together, seed, args)"
        lines.append(f'extern "C" void emu_launch_{i}({words}) {{ {call}; }}')
        lines.append(f'extern "C" int emu_sizes_{i}(int* sizes) {{ return emu_sizes({name}, sizes); }}')
    code = "\n".join(lines)
    flags = (*FLAGS, *(option for option in (*OPTIONS, *constants) if option.startswith("-D")))
    digest = hashlib.sha256((code + HEADER.read_text() + str(flags)).encode()).hexdigest()[:24]
    folder = Path(tempfile.gettempdir()) / "troth-emulation"
    folder.mkdir(exist_ok=True)
    path = folder / f"{stem}-{digest}.so"
    if not path.exists():
        own = folder / f"{digest}-{os.getpid()}"  # ranks of a job may compile the same file
        own.with_suffix(".cpp").write_text(code)
        subprocess.run(["g++", *flags, f"{own}.cpp", "-o", f"{own}.so"], check=True)
        own.with_suffix(".so").replace(path)
        own.with_suffix(".cpp").unlink()
    library = ctypes.CDLL(str(path))
    return tuple(Kernel(library, i, name) for i, name in enumerate(expressions))


def launch(kernel, total: int, *args, block: int = 256) -> None:
    """``launch`` of ``kernels/launch.py``."""
    if total > 0:
        kernel((-(-total // block),), (block,), args)


def launch_cooperative(kernel, blocks: int, block: int, *args) -> None:
    """``launch_cooperative`` of ``kernels/launch.py``."""
    kernel.kernel((blocks,), (block,), args, enable_cooperative_groups=True)


def launch_shared(kernel, blocks: int, block: int, shared: int, *args) -> None:
    """``launch_shared`` of ``kernels/launch.py``."""
    kernel((blocks,), (block,), args, shared_mem=shared)


@contextmanager
def emulated(*modules, blocks: int = 2, seed: int = 0, shared: int = SHARED):
    """The host files run on the CPU; a device holds so many blocks, and a block may ask for so much shared memory."""
    fakes = {
        "cupy": lambda: fake_cupy,
        "load": load,
        "launch": launch,
        "launch_cooperative": launch_cooperative,
        "launch_shared": launch_shared,
        "most_shared": lambda: shared,
        "Memory": FakeMemory,
        "aligned": lambda array: array if array.ctypes.data % 16 == 0 else array_of(np.array(array)),
        "DeviceClock": lambda: SimpleNamespace(stop=lambda: 0.0, note=lambda: None, read=lambda: 0.0),
        "resident": lambda kernel, block: blocks,
    }
    Kernel.seed, FakeMemory.damage = seed, False
    with ExitStack() as stack:
        for module in modules:
            for name, fake in fakes.items():
                if hasattr(module, name):
                    stack.enter_context(mock.patch.object(module, name, fake))
        yield
    assert not FakeMemory.damage


# Of coarsening, so that small graphs have rows of every kind; one choice for all tests, since each is compiled anew.
SMALL_ROWS = {"MEDIUM": 64, "LONG": 256, "WORDS_EACH": 0}


def with_sizes(monkeypatch, module, *others, **sizes) -> None:
    """Numbers that a host file and its kernels agree on, changed in both; ``others`` have the constants too."""
    for name, size in sizes.items():
        for each in (module, *others):
            words = tuple(re.sub(rf"^-DHOST_{name}=.*", f"-DHOST_{name}={size}", word) for word in each.CONSTANTS)
            monkeypatch.setattr(each, "CONSTANTS", words)
            if hasattr(each, name):
                monkeypatch.setattr(each, name, size)
