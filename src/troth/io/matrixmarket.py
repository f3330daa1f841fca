"""MatrixMarket files through ``scipy.io.mmread``, guarded against what SciPy lets pass or dies of.

Coordinate and array; real, integer and pattern; general, symmetric and skew-symmetric. SciPy expands the symmetric ones
to both triangles. Boisvert, Pozo and Remington, "The Matrix Market exchange formats" (NISTIR 5935, 1996).
"""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path
from typing import BinaryIO

import numpy as np

from troth.errors import TrothError
from troth.graph import Graph, Matrix
from troth.io.atomic import create_binary
from troth.io.files import one_line, open_binary, refusing

LONGEST_LINE = 2**16
FORMATS = ("coordinate", "array")
FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
SYMMETRIES = ("general", "symmetric", "skew-symmetric")


def read(path: Path) -> Matrix:
    """Read a MatrixMarket file; the matrix keeps both directions as the file means them."""
    from scipy.io import mmread
    from scipy.sparse import coo_array

    arrays = {"spmatrix": False} if "spmatrix" in signature(mmread).parameters else {}  # from SciPy 1.15 on
    with refusing(path), open_binary(path) as stream:
        field, shape = _check_head(stream, path)
    try:
        with open_binary(path) as stream:
            # Given an array, SciPy divides by its rows, and writes past the end of a symmetric one that is not square.
            matrix = coo_array(mmread(_Lines(stream), **arrays) if shape[0] == shape[1] > 0 else shape)
    except Exception as error:
        reason = re.sub(r"^Line (\d+)", r"line \1", one_line(error))
        raise TrothError(f"{path}, {reason}" if reason.startswith("line") else f"{path}: {reason}") from error
    return Matrix(matrix, pattern=field == "pattern", where=str(path), base=1)


class _Lines:
    """A stream that ends with a line end and holds no zero bytes: SciPy reads on past the memory of a text without."""

    def __init__(self, stream: BinaryIO):
        self.stream = stream
        self.ended = False

    def read(self, size: int = -1) -> bytes:
        chunk = self.stream.read(size)
        if b"\0" in chunk:
            raise ValueError("there are zero bytes in it, so it is no text")
        if not chunk and not self.ended:
            self.ended = True
            return b"\n"
        return chunk


def _check_head(stream: BinaryIO, path: Path) -> tuple[str, tuple[int, int]]:
    """Refuse a wrong banner or size line; returns the field and the shape."""
    banner = stream.readline(LONGEST_LINE).decode("latin-1").lower().split()
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
    number, line = 1, b"%"
    while line.startswith(b"%") or (line and not line.strip()):
        number, line = number + 1, stream.readline(LONGEST_LINE)
    sizes = line.split()
    if len(sizes) != (3 if form == "coordinate" else 2) or not all(word.isdigit() for word in sizes):
        wanted = "rows columns entries" if form == "coordinate" else "rows columns"
        raise TrothError(f"{path}, line {number}: the size line must be '{wanted}' in whole numbers")
    if max(int(size) for size in sizes) >= 2**63:
        raise TrothError(f"{path}, line {number}: the sizes must fit 64 bits")
    return field, (int(sizes[0]), int(sizes[1]))


def write(graph: Graph, path: Path) -> None:
    """Write the lower triangle as ``coordinate integer|real symmetric``; decimals read back as the same float64."""
    from scipy.io import mmwrite
    from scipy.sparse import coo_array

    row = np.repeat(np.arange(graph.n, dtype=np.int32), np.diff(graph.indptr))
    lower = graph.indices < row
    data = graph.weights[lower]
    matrix = coo_array((data, (row[lower], graph.indices[lower])), shape=(graph.n, graph.n))
    field = "real" if data.dtype.kind == "f" else "integer"
    with create_binary(path) as stream:
        mmwrite(stream, matrix, field=field, symmetry="symmetric")
