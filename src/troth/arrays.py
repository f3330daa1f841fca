"""Arrays of NumPy or CuPy: whether there is a GPU, which one is meant, and how arrays come to it and back.

CuPy is imported when a GPU is first asked for, or when the input already lives on one. What CuPy, torch, JAX, Numba and
others have on a GPU is taken as CuPy arrays without a copy: an array tells where it is through DLPack
(https://dmlc.github.io/dlpack) or through ``__cuda_array_interface__``. Both also order the work of two libraries: what
the other one has begun on the array is done before CuPy's current stream reads it.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib.util import find_spec
from types import ModuleType, TracebackType
from typing import Any

import numpy as np

from troth.errors import DeviceMemoryError, TrothError

DLPACK = (2, 13)  # DLPack's numbers of a device's own and of managed memory
INSTALL = 'pip install "troth[cuda13]" (or "troth[cuda12]" for a driver of CUDA 12)'


@cache
def cupy(device: str = "cuda", other: str = "cpu") -> ModuleType:
    """CuPy, or a refusal that says how to get it: what was asked for, and what can be chosen instead."""
    try:
        import cupy
    except ImportError as error:
        words = " ".join(str(error).split())  # CuPy explains itself over many lines
        reason = "CuPy is not installed" if find_spec("cupy") is None else f"CuPy does not load ({words})"
        raise TrothError(f'device="{device}": {reason}; {INSTALL}, or choose device="{other}"') from None
    return cupy


def need_card(device: str, other: str) -> None:
    """Refuse where there is no GPU for what was asked for; ``other`` can be chosen instead."""
    cupy(device, other)
    if not count_devices():
        raise TrothError(f'device="{device}": there is no CUDA device; choose device="{other}"')


def count_devices() -> int:
    """How many GPUs CuPy sees; an error where CuPy is missing, or made for a later driver."""
    cp = cupy()
    try:
        return cp.cuda.runtime.getDeviceCount()
    except cp.cuda.runtime.CUDARuntimeError as error:  # no driver, or none of its devices is visible
        if "InsufficientDriver" in str(error):
            raise TrothError(f"the GPU's driver is too old for this CuPy ({error}); renew it, or {INSTALL}") from None
        return 0


@cache
def is_available() -> bool:
    """Whether ``device="auto"`` may think of a GPU at all."""
    if find_spec("cupy") is None:
        return False
    try:
        return count_devices() > 0
    except TrothError:
        return False


def device_number(device: str, default: int | None = None) -> int:
    """The number in ``"cuda:1"``; ``"cuda"`` alone is ``default``, or else CuPy's current device."""
    kind, colon, text = device.partition(":")
    if kind != "cuda":
        raise TrothError(f"device={device!r} is not known: choose cpu, cuda or cuda:1")
    count = count_devices()
    if not count:
        raise TrothError(f'device={device!r}: there is no CUDA device; choose device="cpu"')
    if not colon:
        return cupy().cuda.Device().id if default is None else default
    if not text.isdecimal() or int(text) >= count:
        have = "cuda:0" if count == 1 else f"cuda:0 to cuda:{count - 1}"
        raise TrothError(f"device={device!r} is not there: choose {have}")
    return int(text)


def is_on_device(array: Any) -> bool:
    """Whether an array of any library lives on a GPU."""
    if hasattr(array, "__dlpack_device__"):
        return int(array.__dlpack_device__()[0]) in DLPACK
    return hasattr(array, "__cuda_array_interface__")


def device_of(array: Any) -> str:
    """Where an array of NumPy or CuPy is: "cpu", or "cuda:0"."""
    return f"cuda:{array.device.id}" if is_on_device(array) else "cpu"


def to_host(array: Any) -> np.ndarray:
    """A NumPy array of what may be on a GPU."""
    return as_cupy(array, "the array").get() if is_on_device(array) else np.asarray(array)


def packages_of(obj: Any) -> list[str]:
    """The packages of an object's class and of those it derives from, nearest first; by name, nothing is imported."""
    return [parent.__module__.partition(".")[0] for parent in type(obj).__mro__]


def plain(part: Any) -> Any:
    """A tensor without its gradient, bfloat16, which NumPy and CuPy lack, as float32; all else as it is."""
    if "torch" not in packages_of(part):
        return part
    part = part.detach()
    return part.float() if str(part.dtype) == "torch.bfloat16" else part


def as_cupy(part: Any, what: str) -> Any:
    """A CuPy array that shares the memory of an array on a GPU."""
    cp = cupy()
    if isinstance(part, cp.ndarray):
        return part
    try:
        return cp.from_dlpack(plain(part)) if hasattr(part, "__dlpack__") else cp.asarray(part)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        reason = str(error).partition("\n")[0]
        raise TrothError(f"{what} on the GPU, of type {type(part).__name__}, cannot be read: {reason}") from None


def to_device(array: Any, device: str) -> Any:
    """An array, of the host or of a GPU, on "cpu" or "cuda:1"; itself where it is there."""
    if device == "cpu":
        return to_host(array)
    with using(device_number(device)):
        return cupy().asarray(array)


def using(number: int) -> AbstractContextManager[ModuleType]:
    """Work on device ``number``, on the caller's stream of that device; running out of memory is one clear line."""
    return _Using(number)


class _Using:
    """The context of ``using``, which gives CuPy; a generator would take thrice as long, in every call on a GPU."""

    def __init__(self, number: int) -> None:
        self._number, self._device = number, cupy().cuda.Device(number)

    def __enter__(self) -> ModuleType:
        self._device.__enter__()
        return cupy()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            # CuPy's own derives from MemoryError, which a sort of CuPy's raises. NumPy's is of the host's memory, ours
            # of what no machine has.
            if isinstance(error, MemoryError) and packages_of(error)[0] not in ("numpy", "troth"):
                asked = re.search(r"allocating ([\d,]+) bytes", str(error))
                need = f"{in_gib(int(asked[1].replace(',', '')))} more" if asked else "more memory"
                raise _too_small(self._number, f"{need} is needed", *_room_on(self._number)) from None
        finally:
            self._device.__exit__(kind, error, at)


def wait_for_device(number: int) -> None:
    """Return when what the caller's stream of a device has begun is done."""
    with using(number):
        cupy().cuda.get_current_stream().synchronize()


def arrays_of(device: str) -> AbstractContextManager[ModuleType]:
    """NumPy for "cpu"; CuPy for "cuda:1", which is the current device meanwhile."""
    return nullcontext(np) if device == "cpu" else using(device_number(device))


def room() -> tuple[int, int]:
    """Bytes that can be had on the current device, within the limit of CuPy's pool, and bytes that it has."""
    cp = cupy()
    free, total = cp.cuda.runtime.memGetInfo()
    pool = cp.get_default_memory_pool()
    free += pool.free_bytes()
    limit = pool.get_limit()
    return max(0, min(free, limit - pool.used_bytes()) if limit else free), total


def largest_piece() -> int:
    """Bytes that can be had in one piece on the current device, after CuPy's pool has given back what it can."""
    pool = cupy().get_default_memory_pool()
    pool.free_all_blocks()
    return max(0, room()[0] - pool.free_bytes())  # what the pool still has are gaps between blocks in use


def _room_on(number: int) -> tuple[int, int]:
    """What ``room`` finds on a device, or a refusal where it cannot be used: others hold all of it, or one alone."""
    cp = cupy()
    try:
        with cp.cuda.Device(number):
            return room()
    except cp.cuda.runtime.CUDARuntimeError as error:
        raise DeviceMemoryError(f'cuda:{number} cannot be used ({error}); choose device="cpu", or free it') from None


def check_room(number: int, need: int, what: str) -> None:
    """Refuse before any work what cannot fit, and a device that cannot be used; ``need`` in bytes."""
    free, total = _room_on(number)
    if need > free:
        raise _too_small(number, f"{what} needs {in_gib(need)}", free, total)


def make_room_to_sort(xp: ModuleType, count: int, copied: int = 0) -> None:
    """Take what a sort of CuPy's will take, and give it back: so running out of memory is an error before the sort.

    Without the mend of https://github.com/cupy/cupy/issues/9894 a sort that finds no memory gives a wrong order. CuPy's
    pool keeps the block, from which the sort then gets all that it asks for: places of 8 bytes, twice, a key of
    ``copied`` bytes, twice (``argsort`` copies keys, ``lexsort`` and ``sort`` do not), and some counts.
    """
    if xp is not np:
        xp.empty(2 * count * (8 + copied) + count + 2**20, np.uint8)


def _too_small(number: int, need: str, free: int, total: int) -> DeviceMemoryError:
    room = f"{in_gib(free)} of {in_gib(total)} is free"
    return DeviceMemoryError(f'cuda:{number} is too small: {need} and {room}; choose device="cpu", or free some')


def in_gib(size: int) -> str:
    """A number of bytes for people.

    >>> in_gib(3 * 2**29), in_gib(5000)
    ('1.5 GiB', '4.9 KiB')
    """
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20)):
        if abs(size) >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size / 2**10:.1f} KiB"
