"""Mates files: text of n lines, line v holds the 0-based mate of v, or -1 where v is unmatched."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from troth.arrays import to_host
from troth.errors import TrothError
from troth.files import load
from troth.io.atomic import atomic_path, create_binary
from troth.io.text import Cells, join_cells, scan, scan_parts, to_cells

CHUNK = 2**20  # lines that are formatted at a time


def read_mates(path: str | os.PathLike) -> np.ndarray:
    """Read a mates file as an int32 array; a line that is not one vertex number or -1 is refused."""
    path = Path(path)
    cells = scan(load(path), str(path))
    n = cells.value.size
    if n > np.iinfo(np.int32).max:
        raise TrothError(f"{path}: {n} lines, more than there can be vertices")
    return _mates(cells, n).astype(np.int32)


def read_parts(path: str | os.PathLike, n: int) -> Iterator[np.ndarray]:
    """``read_mates`` for a graph of n vertices, in parts, in order; the caller counts the lines."""
    return (_mates(cells, n).astype(np.int32) for cells in scan_parts(Path(path)))


def _mates(cells: Cells, n: int) -> np.ndarray:
    wrong = f"is not a mate: lines hold -1 or a vertex from 0 to {n - 1}"
    return cells.one_a_line(-1, n - 1, "a mates file has one number in each line", wrong)


def write_mates(mate: np.ndarray, path: str | os.PathLike) -> None:
    """Write a mates file, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mates.txt"
    >>> write_mates(np.array([1, 0, -1]), path)
    >>> path.read_text(), read_mates(path).tolist()
    ('1\\n0\\n-1\\n', [1, 0, -1])
    """
    write_parts([mate], path)


def write_parts(parts: Iterable[np.ndarray], path: str | os.PathLike) -> None:
    """``write_mates`` for mates that come part by part, in order."""
    with atomic_path(path) as temporary, create_binary(temporary) as stream:
        for part in parts:
            for begin in range(0, len(part), CHUNK):
                cells = to_cells(to_host(part[begin : begin + CHUNK]))
                stream.write(join_cells(cells, np.full(len(cells), ord("\n"), np.uint8)))
