"""Writing a file whole or not at all: write to a temporary name beside it, then rename."""

from __future__ import annotations

import gzip
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path

from troth.errors import TrothError
from troth.files import refusing


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
    ``path`` is as it was. Readers see the old content or the new, never a part. A link stays, and what it leads to is
    replaced; a file keeps its mode.

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
    target = behind_link(path)
    mark = f".{os.getpid()}-{secrets.token_hex(4)}."
    beside = target.with_name("." + path.name.replace(".", mark, 1) if "." in path.name else f".{path.name}{mark}tmp")
    try:
        with refusing(path):
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
    return not path.exists() or path.is_file() or path.is_dir()


def behind_link(path: Path) -> Path:
    """What a link leads to in the end; any other path as it is."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _replace(new: Path, path: Path) -> None:
    """Rename ``new`` to ``path``. A folder cannot replace a full one in one step, so the old one steps aside first."""
    if not (new.is_dir() and path.is_dir()):
        os.replace(new, path)
        return
    old = new.with_name(new.name + ".old")
    os.rename(path, old)
    try:
        os.rename(new, path)
    except OSError:
        os.rename(old, path)
        raise
    _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
