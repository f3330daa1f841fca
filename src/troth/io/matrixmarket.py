"""MatrixMarket files: large lists of coordinates a block at a time (``plain.py``), all others by ``scipy.io.mmread``.

Coordinate and array; real, integer and pattern; general, symmetric and skew-symmetric. SciPy expands the symmetric ones
to both triangles. What it misreads or crashes on is looked for first, which is a second pass over the text: hence the
other way, which takes half of the time, and leaves the expansion to the gate. The package fast_matrix_market, of which
SciPy has a copy, takes as long as SciPy or longer.

Boisvert, Pozo and Remington, "The Matrix Market exchange formats" (NISTIR 5935, 1996).
"""

from __future__ import annotations

import re
from concurrent.futures import Executor, ThreadPoolExecutor
from inspect import signature
from io import BufferedIOBase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from troth.errors import TrothError
from troth.files import BOM, one_line, open_binary, refusing, shortened
from troth.graph import Graph
from troth.inputs import MAX_VERTICES, Matrix, Sparse
from troth.io import plain
from troth.io.atomic import create_binary
from troth.kernels.jit import kernel

LARGE = 2**20  # bytes from which on the first way pays, for which a kernel is compiled
LONGEST_LINE = 2**16
BLOCK = 2**20
FORMATS = ("coordinate", "array")
FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
SYMMETRIES = ("general", "symmetric", "skew-symmetric")
NEWLINE, RETURN, SPACE, TAB, PLUS, MINUS, POINT, ZERO, NINE = (ord(c) for c in "\n\r \t+-.09")


class Head(NamedTuple):
    """What stands before the entries, as text, and what it says."""

    text: bytes
    form: str
    field: str
    symmetry: str
    shape: tuple[int, int]
    entries: int


def read(path: Path) -> Matrix:
    """Read a MatrixMarket file; the matrix keeps both directions as the file means them."""
    with refusing(path):
        matrix, head = _read_plain(path)
        if matrix is None:
            matrix, head = _read_by_scipy(path)
    return Matrix(matrix, pattern=head.field == "pattern", where=str(path), base=1)


def _read_plain(path: Path) -> tuple[Sparse | None, Head]:
    """The coordinates of a large file as they stand there; no matrix where anything is unusual, or wrong."""
    with open_binary(path) as stream:
        head = _check_head(stream, path)
        n, columns = head.shape
        usual = head.form == "coordinate" and head.field != "unsigned-integer" and head.symmetry != "skew-symmetric"
        if path.stat().st_size < LARGE or not usual or not 0 < n == columns <= MAX_VERTICES:
            return None, head
        whole, roles = head.field == "integer", [plain.FIRST, plain.SECOND, plain.WEIGHT]
        if head.field == "pattern":
            roles.pop()
        found = plain.read_columns(plain.blocks_of(stream), roles, real=not whole)
    if found is None or len(found.first) != head.entries:
        return None, head
    row, col, data = found
    if data is None:
        data = np.ones(len(row), np.int8)
    elif whole and data.dtype.kind == "f":
        return None, head
    if any(ids.min(initial=1) < 1 or ids.max(initial=1) > n for ids in (row, col)):
        return None, head
    row -= 1
    col -= 1
    return Sparse("coo", head.shape, data, row=row, col=col, mirrored=head.symmetry == "symmetric"), head


def _read_by_scipy(path: Path) -> tuple[Any, Head]:
    from scipy.io import mmread
    from scipy.sparse import coo_array

    arrays = {"spmatrix": False} if "spmatrix" in signature(mmread).parameters else {}  # from SciPy 1.15 on
    with open_binary(path) as stream, ThreadPoolExecutor(1) as worker:
        head = _check_head(stream, path)
        rows, columns = head.shape
        try:
            # Given an array, SciPy divides by its rows, and writes past the end of a symmetric one that is not square.
            square = rows == columns > 0
            return coo_array(mmread(_Lines(head, stream, worker), **arrays) if square else head.shape), head
        except Exception as error:
            reason = re.sub(r"^Line (\d+)", r"line \1", one_line(error))
            raise TrothError(f"{path}, {reason}" if reason.startswith("line") else f"{path}: {reason}") from error


# ---- the entries ----


class _Lines:
    """A stream of checked lines. SciPy drops the part of a line that it cannot read: of 1,5 and 1.0D+03 it takes the 1.

    It also reads past the end of a text that has zero bytes, or that does not end with a line end. While SciPy works, a
    thread unpacks and checks the next block.
    """

    def __init__(self, head: Head, stream: BufferedIOBase, worker: Executor):
        self.head, self.stream, self.worker = head, stream, worker
        self.lines, self.filled = head.text.count(b"\n"), 0
        self.ahead = worker.submit(lambda: head.text)

    def read(self, _size: int = -1) -> bytes:
        """The next block, empty at the end. SciPy asks for a kilobyte and takes what comes."""
        text, self.ahead = self.ahead.result(), self.worker.submit(self._block)
        return text

    def _block(self) -> bytes:
        text = self.stream.read(BLOCK) + self.stream.readline()
        if text and not text.endswith(b"\n"):
            text += b"\n"
        _, form, field, symmetry, (n, _), _ = self.head
        cells = ["row", "column"] * (form == "coordinate") + ["value"] * (field != "pattern")
        whole, triangle = field not in ("real", "double"), form == "array" and symmetry != "general"
        at, lines, filled = _first_wrong(np.frombuffer(text, np.uint8), len(cells), whole, len(cells) > 1 or triangle)
        self.lines += lines
        self.filled += filled
        wanted = n * (n + 1) // 2 if symmetry == "symmetric" else n * (n - 1) // 2
        if triangle and not text and self.filled != wanted:  # which SciPy does not see
            raise ValueError(f"{self.filled} lines of values, but a {symmetry} array of {n} rows has {wanted}")
        if at < len(text):
            line = text[text.rfind(b"\n", 0, at) + 1 : text.index(b"\n", at)].decode("latin-1").strip()
            remedy = "all whole numbers" if whole else "a value being a decimal such as -1.5e3"
            raise ValueError(f"line {self.lines + 1}: {shortened(line, 40)!r} is not '{' '.join(cells)}', {remedy}")
        return text


@kernel
def _skip_digits(text, at):
    while ZERO <= text[at] <= NINE:
        at += 1
    return at


@kernel
def _first_wrong(text, width, whole, strict):
    """Find the first line that is neither empty nor ``width`` numbers.

    Returns the place of the error (the size of the text where there is none), how many lines come before it, and how
    many of those are not empty. Numbers are whole; the last one of a line may be a decimal, or a word, which is left to
    SciPy, unless ``whole``. Only with ``strict`` is more than ``width`` numbers an error. The text must end with a line
    end, at which every loop in here stops.
    """
    at = cells = lines = filled = 0
    while at < text.size:
        if text[at] == NEWLINE:
            if 0 < cells < width or (cells > width and strict):
                break
            filled += cells > 0
            cells = 0
            lines += 1
            at += 1
            continue
        if text[at] == SPACE or text[at] == TAB or text[at] == RETURN:
            at += 1
            continue
        cells += 1
        if text[at] == MINUS:
            at += 1
        begin = at
        at = _skip_digits(text, at)
        count = at - begin
        if cells >= width and not whole:
            if text[at] == POINT:
                at = _skip_digits(text, at + 1)
                count = at - begin - 1
            if count > 0 and text[at] | 32 == ord("e"):
                at += 1
                if text[at] == PLUS or text[at] == MINUS:
                    at += 1
                begin = at
                at = _skip_digits(text, at)
                count = at - begin
            elif at == begin:
                while ord("a") <= text[at] | 32 <= ord("z"):
                    at += 1
                count = at - begin
        if count == 0 or text[at] > SPACE:
            break
    return at, lines, filled


# ---- the head ----


def _check_head(stream: BufferedIOBase, path: Path) -> Head:
    """Read up to the size line, and refuse a wrong one or a wrong banner."""
    lines = [stream.readline(LONGEST_LINE).removeprefix(BOM)]
    banner = lines[0].decode("latin-1").lower().split()
    if len(banner) != 5 or banner[0] not in ("%%matrixmarket", "%matrixmarket") or banner[1] != "matrix":
        raise TrothError(f"{path}, line 1: not a banner '%%MatrixMarket matrix FORMAT FIELD SYMMETRY'")
    form, field, symmetry = banner[2:]
    if field == "complex":
        raise TrothError(f"{path}, line 1: complex weights have no order; write their real parts or absolute values")
    for word, known in ((form, FORMATS), (field, FIELDS), (symmetry, SYMMETRIES)):
        if word not in known:
            raise TrothError(f"{path}, line 1: {word[:40]!r} is not one of {', '.join(known)}")
    if field == "pattern" and (form == "array" or symmetry == "skew-symmetric"):
        raise TrothError(f"{path}, line 1: a pattern cannot be {'an array' if form == 'array' else symmetry}")
    line = b"%"
    while line.startswith(b"%") or (line and not line.strip()):
        line = stream.readline(LONGEST_LINE)
        lines.append(line)
    number, sizes = len(lines), line.split()
    if len(sizes) != (3 if form == "coordinate" else 2) or not all(word.isdigit() for word in sizes):
        wanted = "rows columns entries" if form == "coordinate" else "rows columns"
        raise TrothError(f"{path}, line {number}: the size line must be '{wanted}' in whole numbers")
    if max(int(size) for size in sizes) >= 2**63:
        raise TrothError(f"{path}, line {number}: the sizes must fit 64 bits")
    if any(b"\0" in line for line in lines):
        raise TrothError(f"{path}: there are zero bytes in it, so it is no text")
    rows, columns, *entries = map(int, sizes)
    return Head(b"".join(lines), form, field, symmetry, (rows, columns), entries[0] if entries else rows * columns)


# ---- writing ----


def write(graph: Graph, path: Path) -> None:
    """Write the lower triangle as ``coordinate integer|real symmetric``; decimals read back as the same float64."""
    from scipy.io import mmwrite
    from scipy.sparse import tril

    field = "real" if graph.weights.dtype.kind == "f" else "integer"
    with create_binary(path) as stream:
        mmwrite(stream, tril(graph.to_scipy(), format="coo"), field=field, symmetry="symmetric")
