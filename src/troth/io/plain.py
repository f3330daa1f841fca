"""Columns of numbers from a text, a block of lines at a time: two ids and, if any, a weight of every row.

A *plain* text is one in which every row has the same number of cells, the ids are whole numbers of up to 18 digits, not
such as 007, and weights are what ``text.py`` calls INTEGER or REAL. Almost all large files are. They are read in one
pass, and only the columns grow; ids take 32 bits where all of them fit. At the first row that is not plain the answer
is None, and the reader of the format takes the file from its beginning, in its own way; it knows the words of a refusal
too. So there is one meaning of a text, and it is not here.

This takes as long as the readers of pyarrow and pandas do, half a second of CPU time for 5 million weighted edges, and
a third of their memory. They have other meanings of quotes, blanks, comments and zeros in front: neither is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BufferedIOBase
from typing import NamedTuple

import numpy as np

from troth.io.text import INTEGER, NEWLINE, NINE, PADDED, QUOTE, REAL, ZERO, is_blank, read_number, skip_blanks
from troth.kernels.jit import inlined, kernel

BLOCK = 2**20  # bytes read at a time
IGNORED, FIRST, SECOND, WEIGHT = -1, 0, 1, 2  # what a column is
MOST_DIGITS = 18  # of an id: 10^18 < 2^63
NARROW = np.iinfo(np.int32).max


class Columns(NamedTuple):
    """Ids as int32 or int64; weights as int64 where all are whole and ``real`` was not asked for, else as float64."""

    first: np.ndarray
    second: np.ndarray
    weight: np.ndarray | None


@inlined
def _read_id(text, at):
    """The whole number at ``at``, and where it ends; no end (0) where it is not plain."""
    begin, found = at, np.int64(0)
    while ZERO <= text[at] <= NINE:
        found = found * 10 + (text[at] - ZERO)
        at += 1
        if at - begin > MOST_DIGITS:
            return found, 0
    if at == begin or (text[begin] == ZERO and at > begin + 1):
        return found, 0
    return found, at


@inlined
def _end_of_cell(text, at, sep):
    """Where a cell without quotes ends; no end (0) where it has some."""
    while text[at] != NEWLINE and text[at] != sep and not (sep == 0 and is_blank(text[at])):
        if text[at] == QUOTE:
            return 0
        at += 1
    return at


@kernel
def _read_block(text, sep, comment1, comment2, roles, whole, ids, value, real):
    """Fill in a column of ``ids`` and a value for each row; ``real`` is ``value`` seen as floats.

    The text must end with a line end, at which every loop in here stops. Returns how many rows there are, or -1 at
    one that is not plain, and whether all weights so far are whole numbers. ``whole`` says whether they were before.
    """
    at = rows = 0
    while at < text.size:
        at = skip_blanks(text, at, sep)
        if text[at] == NEWLINE:
            at += 1
            continue
        if text[at] == comment1 or text[at] == comment2:
            while text[at] != NEWLINE:
                at += 1
            continue
        for cell in range(roles.size):
            role, begin = roles[cell], at
            if text[at] == NEWLINE:
                return -1, whole
            if role in (FIRST, SECOND):
                ids[role, rows], at = _read_id(text, at)
            else:
                at = _end_of_cell(text, at, sep)
            if at == 0:
                return -1, whole
            if role == WEIGHT:
                end = at
                while end > begin and is_blank(text[end - 1]):
                    end -= 1
                kind, integer, decimal = read_number(text, begin, end)
                if kind == REAL and whole:
                    whole = False
                    for row in range(rows):
                        real[row] = np.float64(value[row])
                if kind == REAL:
                    real[rows] = decimal
                elif kind != INTEGER and kind != PADDED:
                    return -1, whole
                elif whole:
                    value[rows] = integer
                else:
                    real[rows] = np.float64(integer)
            end = at
            at = skip_blanks(text, at, sep)
            if cell == roles.size - 1:
                if text[at] != NEWLINE:
                    return -1, whole
            elif sep != 0:
                if text[at] != sep:
                    return -1, whole
                at = skip_blanks(text, at + 1, sep)
            elif at == end:
                return -1, whole
        rows += 1
        at += 1
    return rows, whole


def read_columns(
    blocks: Iterable[bytes], roles: Sequence[int], *, sep: str = "", comments: bytes = b"\n\n", real: bool = False
) -> Columns | None:
    """The columns of a text that comes in blocks of whole lines; None where it is not plain.

    ``roles`` says what each column is; ``real`` that weights are floats even where all are whole.

    >>> read_columns([b"0 1 5\\n", b"1 2 .5\\n"], [FIRST, SECOND, WEIGHT])
    Columns(first=array([0, 1], dtype=int32), second=array([1, 2], dtype=int32), weight=array([5. , 0.5]))
    """
    wanted, mark, whole = np.array(roles), ord(sep) if sep else 0, not real
    first, second = np.empty(0, np.int32), np.empty(0, np.int32)
    weight = np.empty(0, np.int64 if whole else np.float64)
    ids, value = np.empty((2, 0), np.int64), np.empty(0, np.int64)
    for block in blocks:
        lines = block.count(b"\n")
        if lines > len(value):
            ids, value = np.empty((2, lines), np.int64), np.empty(lines, np.int64)
        text = np.frombuffer(block, np.uint8)
        rows, whole = _read_block(text, mark, *comments, wanted, whole, ids, value, value.view(np.float64))
        if rows < 0:
            return None
        first, second = _appended(first, ids[0, :rows]), _appended(second, ids[1, :rows])
        if WEIGHT in roles:
            weight = _appended(weight, value[:rows].view(np.int64 if whole else np.float64))
    return Columns(first, second, weight if WEIGHT in roles else None)


def _appended(column: np.ndarray, more: np.ndarray) -> np.ndarray:
    """A column, which is given up, and what comes below it; of another type only where that is needed."""
    if column.dtype == np.int32 and more.max(initial=0) > NARROW:
        column = column.astype(np.int64)
    elif column.dtype == np.int64 and more.dtype == np.float64:
        column = column.astype(np.float64)
    size = len(column)
    column.resize(size + len(more), refcheck=False)  # where memory is mapped, its pages move and are not copied
    column[size:] = more
    return column


def blocks_of(stream: BufferedIOBase, begun: bytes = b"") -> Iterator[bytes]:
    """``begun`` and what follows in a stream as blocks of whole lines. A thread reads, and unpacks, the next one."""

    def following(begun: bytes = b"") -> bytes:
        text = b"".join((begun, stream.read(BLOCK), stream.readline()))
        return text if not text or text.endswith(b"\n") else text + b"\n"

    with ThreadPoolExecutor(1) as worker:
        ahead = worker.submit(following, begun)
        while text := ahead.result():
            ahead = worker.submit(following)
            yield text
