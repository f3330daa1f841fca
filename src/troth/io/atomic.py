"""Writing a file or a folder whole or not at all: write to a temporary name beside it, then rename.

A folder cannot be renamed to a full one. Linux can exchange the two in one step (``renameat2``), so that at any time
there is one; on systems and file systems that cannot, the old folder steps aside first. Of several writers the last one
wins, and all of them succeed.
"""

from __future__ import annotations

import ctypes
import errno
import gzip
import os
import secrets
import shutil
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from io import BufferedIOBase
from pathlib import Path

from troth.errors import TrothError
from troth.files import refusing

ATTEMPTS = 1000  # to put a folder in the place of another, while other processes do the same
TAKEN = (errno.ENOTEMPTY, errno.EEXIST)  # what stands in the way of a folder is another one
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of Linux
ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]

_unfinished: set[Path] = set()  # the temporary files and folders of this process


@contextmanager
def create_binary(path: Path) -> Iterator[BufferedIOBase]:
    """A file open for writing; gzip is transparent, and the same content gives the same bytes (no name, no time)."""
    with open(path, "wb") as plain:
        if path.suffix.lower() != ".gz":
            yield plain
            return
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=plain, mtime=0) as packed:
            yield packed


@contextmanager
def atomic_path(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a fresh path beside ``path``, with the same extension, and rename it to ``path`` on success.

    The block writes a file, or makes a folder, at the yielded path. If it raises, whatever it left is removed and
    ``path`` is as it was, also where SIGTERM or SIGHUP end the process. Readers see the old content or the new, never a
    part. A link stays, and what it leads to is replaced; a file keeps its mode.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "answer.txt"
    >>> with atomic_path(target) as temporary:
    ...     _ = temporary.write_text("42")
    >>> target.read_text(), len(list(target.parent.iterdir()))
    ('42', 1)
    """
    path = Path(path)
    if not is_replaceable(path):
        raise TrothError(f"{path} is neither a file nor a folder; it cannot be replaced")
    with refusing(path):
        target = behind_link(path)
    beside = target.with_name(_temporary_name(path.name))
    try:
        with refusing(path), removed_if_ended(beside):
            yield beside
            if target.is_file() and beside.is_file():
                shutil.copymode(target, beside)
            _replace(beside, target)
    finally:
        _remove(beside)


def is_replaceable(path: Path) -> bool:
    """Whether nothing is there, a file or a folder. A process's streams are neither, even where they lead to a file."""
    if str(path.absolute()).startswith(("/dev/fd/", "/dev/std", "/proc/")):
        return False
    try:
        mode = path.stat().st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def behind_link(path: Path) -> Path:
    """What a link leads to in the end; any other path as it is."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _temporary_name(name: str) -> str:
    """A hidden name with the extensions of ``name`` that formats know, and never too long for a name.

    >>> _temporary_name("graph.mtx.gz").removesuffix(".mtx.gz").rpartition(".")[0]
    '.graph'
    """
    stem = name.lstrip(".").partition(".")[0][:40]
    suffixes = [suffix for suffix in Path(name).suffixes[-2:] if len(suffix) <= 12]
    return f".{stem}.{os.getpid()}-{secrets.token_hex(4)}{''.join(suffixes) or '.tmp'}"


@contextmanager
def removed_if_ended(path: Path) -> Iterator[None]:
    """Where nobody else handles SIGTERM and SIGHUP, they remove ``path`` before they end the process.

    Python handles signals in its main thread alone, so other threads leave them as they are.
    """

    def end(number: int, _: object) -> None:
        for unfinished in list(_unfinished):
            _remove(unfinished)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    _unfinished.add(path)
    heard = []
    if threading.current_thread() is threading.main_thread():
        heard = [number for number in ENDING if signal.getsignal(number) == signal.SIG_DFL]
    try:
        for number in heard:
            signal.signal(number, end)
        yield
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_DFL)
        _unfinished.discard(path)


def _replace(new: Path, path: Path) -> None:
    """Rename ``new`` to ``path``; a folder that stood there may be at ``new`` then."""
    for _ in range(ATTEMPTS):
        if new.is_dir() and path.is_dir():
            if _exchange(new, path) or _replace_in_two_steps(new, path):
                return
            continue
        try:
            os.replace(new, path)
        except OSError as error:
            if not new.is_dir() or error.errno not in TAKEN:
                raise
        else:
            return
    raise TrothError(f"{path} is replaced by others again and again")


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; whether that went well."""
    rename = _renameat2()
    if rename is None:
        return False
    return rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0


@cache
def _renameat2() -> Callable[..., int] | None:
    """Linux's own; None where the C library has none."""
    rename = None
    with suppress(AttributeError, OSError, TypeError):  # TypeError: there is no library of no name on Windows
        rename = ctypes.CDLL(None).renameat2
        rename.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return rename


def _replace_in_two_steps(new: Path, path: Path) -> bool:
    """The old folder steps aside, so that for a moment there is none. Whether no other process was faster."""
    old = new.with_name(f"{new.name}.old")
    try:
        os.rename(path, old)
    except FileNotFoundError:
        return False
    try:
        os.rename(new, path)
    except BaseException as error:
        if isinstance(error, OSError) and error.errno in TAKEN:
            return False
        with suppress(OSError):
            os.rename(old, path)
        raise
    finally:
        _remove(old)
    return True


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
