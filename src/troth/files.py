"""Reading files: gzip is transparent, and what goes wrong is refused in one line."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path

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
    with open(path, "rb") as plain:
        if path.suffix.lower() != ".gz" and plain.peek(2)[:2] != GZIP:
            yield plain
            return
        with gzip.open(plain) as packed:
            yield packed
