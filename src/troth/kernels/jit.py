"""How kernels are compiled, and when they are compiled anew.

Kernels take flat arrays and allocate nothing, so they need no reference counts, and they release the GIL. Numba counts
references to every array that an inner function takes, with an atomic addition on a counter that all threads share; in
a loop over short rows that costs up to three times the work itself and stops threads from scaling. ``_nrt=False`` turns
it off, and makes an allocation in a kernel a compile error. The flag is private to Numba, so it is used with the
versions that were tested; with any other, kernels are compiled without it and are slower.

Numba keeps compiled kernels on disk, and renews those of a file when that file changes. A kernel also holds code and
constants of the modules that its own imports, so here it is renewed when one of these changes as well. Where there is
no place for them, or no room, the process keeps its kernels to itself, which one warning says.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from pickle import UnpicklingError
from threading import Event
from typing import Any

import numba
from numba.core import event
from numba.core.registry import CPUDispatcher

from troth.kernels import compiling

TESTED = (0, 62), (0, 68)  # the first and the last minor version of Numba with which ``_nrt=False`` was tested
LEAN = {"_nrt": False} if TESTED[0] <= numba.version_info.short <= TESTED[1] else {}
# What Python would need to call a step of a kernel: without it kernels compile in two thirds of the time.
UNWRAPPED = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True} if LEAN else {}

DAMAGED = EOFError, UnpicklingError, ValueError  # from a file of which a part is missing


class _Listener(event.Listener):
    def on_start(self, event: Any) -> None:
        compiling.begin()

    def on_end(self, event: Any) -> None:
        compiling.end()


event.register("numba:compile", _Listener())  # it is silent about code that was kept

PACKAGE = Path(__file__).parents[1]
IMPORT = re.compile(rf"^\s*from {PACKAGE.name}\b([\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


@cache
def _read(path: Path) -> tuple[bytes, tuple[Path, ...]]:
    """The digest of a source file, and the files of the package that it imports."""
    if not path.is_file():  # a name in a module, not a module
        return b"", ()
    text = path.read_text("utf-8")
    found = []
    for module, names in IMPORT.findall(text):
        folder = PACKAGE.joinpath(*module.split("."))
        found += [folder.with_suffix(".py"), *(folder / f"{name}.py" for name in re.findall(r"\w+", names))]
    return sha256(text.encode()).digest(), tuple(found)


@cache
def digest_sources(path: Path) -> str:
    """A digest of a source file and of all files of the package that it imports, directly or not."""
    seen, waiting = {}, [path]
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen[file], more = _read(file)
            waiting += more
    return sha256(b"".join(seen[file] for file in sorted(seen))).hexdigest()


class Step(CPUDispatcher):
    """A step of kernels, compiled without what a call from Python takes: such a call would end the process."""

    def __call__(self, *args: Any, **kws: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is a step of kernels, and only they can call it")


def _save(kept: Any, key: Any, code: Any) -> None:
    """Keep the code for one signature, in a file named after it, and only then list it.

    Numba numbers the files. Of two processes that compile two signatures of one kernel at once, both may take the same
    number, and a third that reads between their writes would run the one for the other.
    """
    name = kept._index_name.replace(".nbi", f".{sha256(repr(key).encode()).hexdigest()[:16]}.nbc")
    kept._save_data(name, code)
    try:
        listed = kept._load_index()
    except DAMAGED:
        listed = {}
    kept._save_index({**listed, key: name})


_warned = Event()


def _warn_once(reason: str) -> None:
    """Say, once a process, that compiled kernels are not kept."""
    if not _warned.is_set():
        _warned.set()
        message = f"{reason}, so every process compiles its kernels anew: let NUMBA_CACHE_DIR name a folder with room"
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def _forgiving(act: Callable[..., Any], place: str) -> Callable[..., Any]:
    """Read from or write to the cache in ``place``; where the system refuses, nothing was there, or nothing is kept."""

    def tried(*args: Any) -> Any:
        try:
            return act(*args)
        except OSError as error:
            _warn_once(f"compiled kernels cannot be kept in {place} ({error.strerror or error})")
            return None
        except DAMAGED:  # what is saved replaces it
            return None

    return tried


def _compiler(cache: bool = True, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        compile_with = partial(numba.njit, nogil=True, **LEAN, **options)
        try:
            dispatcher = compile_with(cache=cache)(function)
        except RuntimeError:  # no folder can be written to: neither NUMBA_CACHE_DIR, the package's own nor the user's
            _warn_once("there is no writable folder for compiled kernels")
            dispatcher = compile_with()(function)
        on_disk: Any = getattr(dispatcher, "_cache", None)
        # Numba looks at the version before it reads the rest, which may name types that are no more.
        kept = getattr(on_disk, "_cache_file", None)
        if kept is not None:  # there is none for generators, nor where Numba is told not to compile
            on_disk.load_overload = _forgiving(on_disk.load_overload, on_disk.cache_path)
            on_disk.save_overload = _forgiving(on_disk.save_overload, on_disk.cache_path)
            kept._version = f"{kept._version} {digest_sources(Path(function.__code__.co_filename))}"
            if LEAN:  # of a version that was tested
                kept.save = partial(_save, kept)
        if options.get("no_cpython_wrapper") and isinstance(dispatcher, CPUDispatcher):
            dispatcher.__class__ = Step
        return dispatcher

    return compiled


kernel = _compiler()
step = _compiler(**UNWRAPPED)  # of a kernel, too long to be inlined
inlined = _compiler(forceinline=True, **UNWRAPPED)  # small steps of a kernel
spliced = _compiler(inline="always")  # the same before types are known: for hot loops
generator = _compiler(cache=False, forceinline=True)  # part of kernels; Numba cannot use one that it kept on disk
