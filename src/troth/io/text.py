"""Text to cells: one compiled scan that METIS files, tables and mates files share; and cells to text.

A text is lines of cells. A *separator* of 0 means any run of blanks; another one (comma, tab, semicolon) is strict, so
that two in a row enclose an empty cell. Lines that start with a comment character are skipped; empty lines are kept as
lines without cells. A cell in double quotes may contain the separator, and ``""`` in it is one quote.

The scan yields, for every cell, a *kind* and a 64-bit *value*:

========  ==================================================================
INTEGER   an integer of 64 bits; the value
REAL      a decimal that one rounding gives exactly; the bits of a float64
HARD      any other decimal, NaN or infinity; the offset of the cell
BIG       an integer beyond 64 bits; the offset of the cell
TEXT      anything else, the empty cell included; the offset of the cell
========  ==================================================================

A decimal ``s * 10^e`` with ``s <= 2^53`` and ``|e| <= 22`` is REAL: both factors are floats, so the one multiplication
or division rounds correctly (Clinger, doi:10.1145/93542.93557). HARD cells are left to NumPy, which does so too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import NoReturn

import numpy as np

from troth.errors import TrothError
from troth.files import BOM, open_binary, refusing, shortened
from troth.kernels.jit import kernel
from troth.names import is_wasteful, object_array, text_array

INTEGER, REAL, HARD, BIG, TEXT, PADDED = range(6)  # PADDED: an INTEGER such as 007, while scanning
COUNT, OFFSETS, NUMBERS = range(3)  # what a scan stores: nothing, the offset of every cell, or its value

NEWLINE, RETURN, SPACE, TAB, QUOTE = (ord(c) for c in '\n\r \t"')
PLUS, MINUS, POINT, ZERO, NINE = (ord(c) for c in "+-.09")
POWERS = 10.0 ** np.arange(23)
EXACT = np.uint64(2**53)
TEN = np.uint64(10)
NAMES = np.array([b"nan", b"inf", b"infinity"]).view(np.uint8).reshape(3, 8)  # the words among numbers, in lower case


# ---- the scan ----


@kernel
def _is_blank(byte):
    return byte in (SPACE, TAB, RETURN)


@kernel
def _skip_blanks(data, at, sep):
    while at < data.size and data[at] != sep and _is_blank(data[at]):
        at += 1
    return at


@kernel
def _closing_quote(data, at, sep):
    """Where the quote opened at ``at`` closes, if that ends the cell; otherwise -1."""
    at += 1
    while at < data.size and data[at] != NEWLINE:
        if data[at] != QUOTE:
            at += 1
        elif at + 1 < data.size and data[at + 1] == QUOTE:
            at += 2
        else:
            after = _skip_blanks(data, at + 1, sep)
            ends = after == data.size or data[after] == NEWLINE or data[after] == sep or (sep == 0 and after > at + 1)
            return at if ends else -1
    return -1


@kernel
def _cell(data, at, sep):
    """(begin, end, next) of the cell at ``at``: its content without quotes and blanks, and where to go on."""
    closing = _closing_quote(data, at, sep) if data[at] == QUOTE else -1
    if closing >= 0:
        begin, end, at = at + 1, closing, _skip_blanks(data, closing + 1, sep)
    else:
        begin = at
        while at < data.size and data[at] != NEWLINE and not (_is_blank(data[at]) if sep == 0 else data[at] == sep):
            at += 1
        end = at
        while end > begin and _is_blank(data[end - 1]):
            end -= 1
    if sep != 0 and at < data.size and data[at] == sep:
        at += 1
    return begin, end, at


@kernel
def _is_name(data, begin, end):
    for word in range(len(NAMES)):
        length = 0
        while length < 8 and NAMES[word, length] != 0:
            length += 1
        same = length == end - begin
        for i in range(min(length, end - begin)):
            same &= data[begin + i] | 32 == NAMES[word, i]
        if same:
            return True
    return False


@kernel
def _digits(data, at, end, mantissa, used):
    """Read digits into ``mantissa`` while ``used``, the count of significant ones, stays below 20."""
    while at < end and ZERO <= data[at] <= NINE:
        if used > 0 or data[at] != ZERO:
            used += 1
            if used <= 19:  # 10^19 < 2^64
                mantissa = mantissa * TEN + np.uint64(data[at] - ZERO)
        at += 1
    return at, mantissa, used


@kernel
def _number(data, begin, end):
    """(kind, integer, real) of the cell data[begin:end]."""
    at = begin
    negative = at < end and data[at] == MINUS
    if at < end and (data[at] == MINUS or data[at] == PLUS):
        at += 1
    first = at
    at, mantissa, used = _digits(data, at, end, np.uint64(0), 0)
    count = at - first
    if at == end and count > 0:
        limit = np.uint64(2**63) if negative else np.uint64(2**63 - 1)
        if used > 19 or mantissa > limit:
            return BIG, 0, 0.0
        kind = INTEGER if count == max(used, 1) else PADDED
        return kind, (-np.int64(mantissa) if negative else np.int64(mantissa)), 0.0

    power = np.int64(0)
    if at < end and data[at] == POINT:
        at, mantissa, used = _digits(data, at + 1, end, mantissa, used)
        power = count + first + 1 - at  # minus the digits after the point
        count -= power
    if count == 0:
        return (HARD if _is_name(data, first, end) else TEXT), 0, 0.0
    if at < end and data[at] | 32 == ord("e"):
        at += 1
        down = at < end and data[at] == MINUS
        if at < end and (data[at] == MINUS or data[at] == PLUS):
            at += 1
        begin = at
        at, size, used_here = _digits(data, at, end, np.uint64(0), 0)
        if at == begin:
            return TEXT, 0, 0.0
        exponent = np.int64(size) if used_here <= 6 else 10**6
        power += -exponent if down else exponent
    if at != end:
        return TEXT, 0, 0.0
    if used <= 19:
        while mantissa > EXACT and mantissa % TEN == 0:
            mantissa //= TEN
            power += 1
    if used > 19 or mantissa > EXACT or abs(power) > 22:
        return HARD, 0, 0.0
    real = np.float64(mantissa)
    real = real / POWERS[-power] if power < 0 else real * POWERS[power]
    return REAL, 0, (-real if negative else real)


@kernel
def _scan(data, sep, comment1, comment2, mode, value, real, kind, line_start):
    """Fill the arrays as ``mode`` says; ``real`` is ``value`` seen as floats. Returns how many cells and lines."""
    at = cells = lines = 0
    while at < data.size:
        at = _skip_blanks(data, at, sep)
        if at < data.size and (data[at] == comment1 or data[at] == comment2):
            while at < data.size and data[at] != NEWLINE:
                at += 1
            at += 1
            continue
        if mode != COUNT:
            line_start[lines] = cells
        lines += 1
        while at < data.size and data[at] != NEWLINE:
            offset = at
            begin, end, at = _cell(data, at, sep)
            if mode == OFFSETS:
                value[cells] = offset
            elif mode == NUMBERS:
                kind[cells], integer, decimal = _number(data, begin, end)
                if kind[cells] == INTEGER or kind[cells] == PADDED:
                    value[cells] = integer
                elif kind[cells] == REAL:
                    real[cells] = decimal
                else:
                    value[cells] = offset
            cells += 1
            at = _skip_blanks(data, at, sep)
        at += 1
    if mode != COUNT:
        line_start[lines] = cells
    return cells, lines


@kernel
def _copy_cells(data, offsets, sep, starts, out, ends):
    """Copy the content of each cell to where it starts in ``out``, or nothing where ``out`` is empty; where it ends."""
    for i in range(offsets.size):
        begin, end, _ = _cell(data, offsets[i], sep)
        quoted = begin > offsets[i]
        to = starts[i]
        while begin < end:
            if out.size:
                out[to] = data[begin]
            begin += 2 if quoted and data[begin] == QUOTE else 1
            to += 1
        ends[i] = to


# ---- cells as columns ----


@dataclass
class Cells:
    """The cells of a text: ``kind`` and ``value`` (see above), and the first cell of each line in ``line_start``.

    ``padded`` marks the integers with zeros in front; ``before`` is how many lines of the file come before the text.
    """

    where: str
    data: np.ndarray
    sep: int
    comments: bytes
    value: np.ndarray
    kind: np.ndarray
    line_start: np.ndarray
    padded: np.ndarray
    before: int = 0

    def one_a_line(self, least: int, most: int, uneven: str, wrong: str) -> np.ndarray:
        """The numbers of lines that hold one each, from ``least`` to ``most``; other lines are refused in two ways."""
        odd = np.flatnonzero(np.diff(self.line_start) != 1)
        if odd.size:
            self.refuse_line(int(odd[0]), uneven)
        good = (self.kind == INTEGER) & (self.value >= least) & (self.value <= most)
        if not good.all():
            self.refuse(int(np.argmin(good)), wrong)
        return self.value

    def numbers(self, pick: slice | np.ndarray) -> np.ndarray:
        """Chosen cells as int64 where all are integers, else as float64, each rounded correctly."""
        kind = self.kind[pick]
        if not kind.any():
            return self.value[pick]
        bad = np.flatnonzero(kind >= BIG)
        if bad.size:
            cell = int(np.arange(self.kind.size)[pick][bad[0]])
            big = self.kind[cell] == BIG
            self.refuse(cell, "is an integer beyond 64 bits: scale the weights" if big else "is not a number")
        value = self.value[pick]
        result = np.where(kind == INTEGER, value.astype(np.float64), value.view(np.float64))
        hard = kind == HARD
        if hard.any():
            result[hard] = self.texts(value[hard]).astype(np.float64)
        return result

    def offsets(self) -> np.ndarray:
        """Where each cell starts in the text."""
        offsets = np.empty_like(self.value)
        _scan(
            self.data, self.sep, *self.comments, OFFSETS, offsets, offsets.view(np.float64), self.kind, self.line_start
        )
        return offsets

    def texts(self, offsets: np.ndarray) -> np.ndarray:
        """The cells at ``offsets`` as an array of bytes; of objects where one width for all would be too much."""
        count, lengths = len(offsets), np.empty(len(offsets), np.int64)
        _copy_cells(self.data, offsets, self.sep, np.zeros(count, np.int64), np.empty(0, np.uint8), lengths)
        width, total = max(int(lengths.max(initial=0)), 1), int(lengths.sum())
        wasteful = is_wasteful(count, width, total)
        ends = np.cumsum(lengths) if wasteful else width * np.arange(1, count + 1)
        starts = ends - (lengths if wasteful else width)
        out = np.zeros(int(ends[-1]) if count else 0, np.uint8)
        _copy_cells(self.data, offsets, self.sep, starts, out, ends)
        if not wasteful:
            return out.view(f"S{width}")
        text = out.tobytes()
        return object_array([text[begin:end] for begin, end in zip(starts.tolist(), ends.tolist(), strict=True)])

    def names(self, *picks: slice) -> list[np.ndarray]:
        """Chosen columns as arrays of UTF-8 bytes (see ``texts``)."""
        if not self.data.all():
            raise TrothError(f"{self.where}: there are zero bytes in it, so it is no text in UTF-8")
        offsets = self.offsets()
        return [self.texts(offsets[pick]) for pick in picks]

    def line_number(self, line: int) -> int:
        """The number that an editor gives to the ``line``-th line that is no comment."""
        lines = self.data.tobytes().split(b"\n")
        for number, text in enumerate(lines, self.before + 1):
            first = text.lstrip()[:1]
            line -= not first or first not in self.comments
            if line < 0:
                return number
        return self.before + len(lines)

    def refuse(self, cell: int, reason: str) -> NoReturn:
        """Raise a ``TrothError`` that shows the cell and its line."""
        text = self.texts(self.offsets()[cell : cell + 1])[0].decode("utf-8", "replace")
        line = int(np.searchsorted(self.line_start, cell, "right")) - 1
        raise TrothError(f"{self.where}, line {self.line_number(line)}: {shortened(text, 40)!r} {reason}")

    def refuse_line(self, line: int, reason: str) -> NoReturn:
        """Raise a ``TrothError`` that names the ``line``-th line that is no comment."""
        raise TrothError(f"{self.where}, line {self.line_number(line)}: {reason}")


def scan(data: bytes, where: str, *, sep: str = "", comments: bytes = b"%%") -> Cells:
    """Split a text into cells and read the numbers among them, in two passes over the bytes.

    Examples
    --------
    >>> cells = scan(b"% a comment\\n1 2 0.5\\n\\n3 4 x\\n", "example")
    >>> cells.line_start.tolist(), cells.numbers(slice(0, 3)).tolist()
    ([0, 3, 3, 6], [1.0, 2.0, 0.5])
    >>> cells.numbers(slice(3, 6))
    Traceback (most recent call last):
    troth.errors.TrothError: example, line 4: 'x' is not a number
    """
    text = np.frombuffer(data, np.uint8)
    mark = ord(sep) if sep else 0
    none = np.empty(0, np.int64)
    size, lines = _scan(text, mark, *comments, COUNT, none, none.view(np.float64), none.view(np.uint8), none)
    value, kind, line_start = np.empty(size, np.int64), np.empty(size, np.uint8), np.empty(lines + 1, np.int64)
    _scan(text, mark, *comments, NUMBERS, value, value.view(np.float64), kind, line_start)
    padded = kind == PADDED
    kind[padded] = INTEGER
    return Cells(where, text, mark, comments, value, kind, line_start, padded)


def scan_parts(path: Path, size: int = 2**22) -> Iterator[Cells]:
    """``scan`` of a file in parts of whole lines, of about ``size`` bytes each, so that nobody holds all of it."""
    with refusing(path), open_binary(path) as stream:
        rest, lines = stream.read(len(BOM)).removeprefix(BOM), 0
        while block := stream.read(size):
            text, end, rest = (rest + block).rpartition(b"\n")
            if end:
                yield replace(scan(text + end, str(path)), before=lines)
                lines += text.count(b"\n") + 1
        if rest:
            yield replace(scan(rest, str(path)), before=lines)


# ---- cells to text ----


def as_text(names: np.ndarray) -> np.ndarray:
    """Names of any kind, tuples included, as an array of text (see ``names.py``)."""
    return text_array([str(name) for name in names]) if names.dtype.kind == "O" else names.astype(str)


def distinct_text(ids: np.ndarray) -> np.ndarray:
    """Ids as text; refused where two become the same, as 5 and "5" do."""
    names, times = np.unique(text := as_text(ids), return_counts=True)
    if len(names) < len(text):
        name = str(names[np.argmax(times)])
        raise TrothError(f"the ids of two vertices are {name!r} as text, so files cannot tell them apart; rename one")
    return text


def to_cells(column: np.ndarray) -> np.ndarray:
    """Numbers or names as an array of bytes, or of such objects where names are objects.

    Floats get the shortest decimals that read back as the same float64.
    """
    if column.dtype.kind == "f":
        return column.astype(np.float64).astype("S32")
    if column.dtype.kind in "iu":
        width = max((len(str(int(x))) for x in (column.min(), column.max())), default=1) if column.size else 1
        return column.astype(f"S{width}")
    text = as_text(column)
    return object_array([name.encode() for name in text]) if text.dtype.kind == "O" else np.char.encode(text, "utf-8")


def stack_cells(columns: Sequence[np.ndarray]) -> np.ndarray:
    """The cells of columns, row by row."""
    objects = any(column.dtype.kind == "O" for column in columns)
    kind = "O" if objects else f"S{max(column.dtype.itemsize for column in columns)}"
    return np.column_stack([column.astype(kind) for column in columns]).ravel()


def join_cells(cells: np.ndarray, tails: np.ndarray) -> bytes:
    """Concatenate cells, each followed by its one-byte tail (a separator or a line end)."""
    if cells.dtype.kind == "O":
        return b"".join(chain.from_iterable(zip(cells, tails.astype(np.uint8).view("S1"), strict=True)))
    width = cells.dtype.itemsize
    padded = np.empty((len(cells), width + 1), np.uint8)
    padded[:, :width] = np.ascontiguousarray(cells).view(np.uint8).reshape(len(cells), width)
    padded[:, width] = tails
    return padded[padded != 0].tobytes()
