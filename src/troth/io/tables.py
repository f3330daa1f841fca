"""Edge tables as text: one row an edge, cells apart by comma, semicolon, tab or blanks, whatever the extension says.

Lines starting with ``#`` or ``%`` are comments, cells may be quoted, and a header is recognised (see ``_has_header``).
Which columns are meant and how ids become vertices is the same as for tables in memory: see ``troth.interop.tables``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from troth.errors import TrothError
from troth.graph import Edges, Graph
from troth.interop.tables import choose_columns, decode, make_edges, well_known
from troth.io.atomic import create_binary
from troth.io.files import load
from troth.io.text import BIG, TEXT, Cells, join_cells, scan, to_cells

COMMENTS = b"#%"
CHUNK = 2**18  # rows formatted at a time


def read(path: Path, *, base: int | None = None, columns: Sequence[str] | None = None) -> Edges:
    """Read a table in two passes over its bytes; text ids take one more and a sort."""
    data = load(path)
    cells = scan(data, str(path), sep=_separator(data), comments=COMMENTS)
    rows = np.flatnonzero(np.diff(cells.line_start))
    if rows.size == 0:
        raise TrothError(f"{path}: no rows; a table of edges has one row for each edge")
    width = np.diff(cells.line_start)[rows]
    uneven = np.flatnonzero(width != width[0])
    if uneven.size:
        at = int(uneven[0])
        cells.refuse_line(int(rows[at]), f"{width[at]} cells, but the first row has {width[0]}")
    count = int(width[0])
    names = decode(cells.names(slice(count))[0], str(path)).tolist() if (cells.kind[:count] == TEXT).any() else None
    if names is not None and not _has_header(cells, names, columns):
        names = None
    first = count if names is not None else 0
    source, target, weight = choose_columns(str(path), count, names, columns)
    ends = _ids(cells, *(slice(first + column, None, count) for column in (source, target)))
    values = None if weight is None else cells.numbers(slice(first + weight, None, count))
    return make_edges(*ends, values, base=base, where=str(path))


def _separator(data: bytes) -> str:
    """The first of comma, semicolon and tab that is in the first row; otherwise blanks."""
    row = re.search(rb"^[ \t\r]*[^#%\s].*$", data, re.MULTILINE)
    return next((sep for sep in ",;\t" if row and sep.encode() in row[0].strip()), "")


def _has_header(cells: Cells, names: list[str], columns: Sequence[str] | None) -> bool:
    """Whether the first row, which has text in it, names columns.

    It does where it has names asked for or well-known ones, or where all of it is text and some stands over a number.
    """
    if well_known(names) or (columns is not None and set(names) & set(columns)):
        return True
    above, below = cells.kind[: len(names)], cells.kind[len(names) : 2 * len(names)]
    return bool((above == TEXT).all() and (below != TEXT).any())


def _ids(cells: Cells, *columns: slice) -> list[np.ndarray]:
    """The columns of ids: numbers where all are, otherwise text, as are numbers beyond 64 bits."""
    text = any((cells.kind[column] >= BIG).any() for column in columns)
    return cells.names(*columns) if text else [cells.numbers(column) for column in columns]


def write(graph: Graph, path: Path) -> None:
    """Write each edge once, smaller vertex number first, under the graph's ids.

    ``.csv`` and ``.tsv`` get a header, the others blanks and none. A table has no room for isolated vertices.
    """
    suffix = next(suffix.lower() for suffix in reversed(path.suffixes) if suffix.lower() != ".gz")
    sep = {".csv": ",", ".tsv": "\t"}.get(suffix, " ")
    with create_binary(path) as stream:
        if sep != " ":
            stream.write(f"source{sep}target{sep}weight\n".encode())
        for source, target, weight in edge_chunks(graph):
            columns = [_quoted(to_cells(column)) for column in (source, target, weight)]
            cells = np.column_stack([column.astype(f"S{max(c.dtype.itemsize for c in columns)}") for column in columns])
            tails = np.tile(np.frombuffer(f"{sep}{sep}\n".encode(), np.uint8), len(source))
            stream.write(join_cells(cells.ravel(), tails))


def edge_chunks(graph: Graph):
    """Yield (source ids, target ids, weights) of about CHUNK arcs at a time, each edge once."""
    for begin in range(0, len(graph.indices), CHUNK):
        arcs = np.arange(begin, min(begin + CHUNK, len(graph.indices)))
        row, col = np.searchsorted(graph.indptr, arcs, "right") - 1, graph.indices[arcs]
        upper = row < col
        row, col = row[upper], col[upper].astype(np.int64)
        if graph.ids is not None:
            row, col = graph.ids[row], graph.ids[col]
        yield row, col, graph.weights[arcs[upper]]


def _quoted(cells: np.ndarray) -> np.ndarray:
    """Quote the cells that hold a separator, a quote or a comment character."""
    special = np.zeros(len(cells), bool)
    for byte in b' ,;\t"#%':
        special |= np.char.find(cells, bytes([byte])) >= 0
    if not special.any():
        return cells
    escaped = np.char.replace(cells, b'"', b'""')
    return np.where(special, np.char.add(np.char.add(b'"', escaped), b'"'), cells)
