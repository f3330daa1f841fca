"""Mates files: text of n lines, line v holds the 0-based mate of v, or -1 where v is unmatched."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from troth.cuda._device import to_host
from troth.errors import TrothError
from troth.io.atomic import atomic_path, create_binary
from troth.io.files import load
from troth.io.text import join_cells, scan, to_cells


def read_mates(path: str | os.PathLike) -> np.ndarray:
    """Read a mates file as an int32 array; a line that is not one vertex number or -1 is refused."""
    path = Path(path)
    cells = scan(load(path), str(path))
    n = cells.value.size
    uneven = np.flatnonzero(np.diff(cells.line_start) != 1)
    if uneven.size:
        cells.refuse_line(int(uneven[0]), "a mates file has one number in each line")
    good = (cells.kind == 0) & (cells.value >= -1) & (cells.value < n)
    if not good.all():
        cells.refuse(int(np.argmin(good)), f"is not a mate: lines hold -1 or a vertex from 0 to {n - 1}")
    if n > np.iinfo(np.int32).max:
        raise TrothError(f"{path}: {n} lines, more than there can be vertices")
    return cells.value.astype(np.int32)


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
    write_parts((mate[begin : begin + 2**20] for begin in range(0, len(mate), 2**20)), path)


def write_parts(parts: Iterable[np.ndarray], path: str | os.PathLike) -> None:
    """``write_mates`` for mates that come part by part, in order."""
    with atomic_path(path) as temporary, create_binary(temporary) as stream:
        for part in parts:
            cells = to_cells(to_host(part))
            stream.write(join_cells(cells, np.full(len(cells), ord("\n"), np.uint8)))
