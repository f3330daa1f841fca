"""Reading files: gzip is transparent, what goes wrong is refused in one line, and who wants to hears how far it is."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BufferedIOBase, BufferedReader, FileIO
from pathlib import Path
from typing import Any

from troth.errors import TrothError

BOM = b"\xef\xbb\xbf"  # what Windows puts before UTF-8
GZIP = b"\x1f\x8b"  # what a gzipped file starts with


@contextmanager
def refusing(where: object, *kinds: type[Exception]) -> Iterator[None]:
    """Turn what the system raises (and ``kinds``, what a foreign reader raises) into a one-line ``TrothError``."""
    failures: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, MemoryError, *kinds)
    try:
        yield
    except TrothError:
        raise
    except failures as error:
        raise TrothError(f"{where}: {one_line(error)}") from error


def one_line(error: BaseException) -> str:
    """The reason of an exception, printable and in one line."""
    if isinstance(error, MemoryError):
        return "this machine has not enough memory for it"
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return shortened(text, 200)


def shortened(text: str, most: int) -> str:
    """The text, cut after so many characters."""
    return text if len(text) <= most else text[:most] + "..."


def load(path: Path) -> bytes:
    """All bytes of a file, unpacked where it is gzipped, without a byte order mark."""
    with refusing(path), open_binary(path) as stream:
        return stream.read().removeprefix(BOM)


@contextmanager
def open_binary(path: Path) -> Iterator[BufferedIOBase]:
    """A file open for reading; gzip is transparent, under any name."""
    tell = _LISTENER.get()
    with open(path, "rb") if tell is None else BufferedReader(_Told(path, tell), STEP) as plain:
        if path.suffix.lower() != ".gz" and plain.peek(2)[:2] != GZIP:
            yield plain
            return
        with gzip.open(plain) as packed:
            yield packed


# ---- how far it is ----

Tell = Callable[[int, int], object]
STEP = 2**17  # bytes between two reports
_LISTENER: ContextVar[Tell | None] = ContextVar("listener", default=None)


@contextmanager
def listening(tell: Tell) -> Iterator[None]:
    """Call ``tell(done, total)`` with bytes of the files that are read meanwhile, of gzipped ones as they are stored.

    At the end of a file it is ``tell(0, 0)``: what goes on then has no measure.
    """
    token = _LISTENER.set(tell)
    try:
        yield
    finally:
        _LISTENER.reset(token)


class _Told(FileIO):
    """A file that says how much of it was read."""

    def __init__(self, path: Path, tell: Tell):
        super().__init__(path)
        self.size, self.tell_bytes = path.stat().st_size, tell

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer)
        done = self.tell()
        self.tell_bytes(*((done, self.size) if done < self.size else (0, 0)))
        return count

    def readall(self) -> bytes:
        whole, step = bytearray(), bytearray(STEP)
        while count := self.readinto(step):
            whole += step[:count]
        return bytes(whole)
