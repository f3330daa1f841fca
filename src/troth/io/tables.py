"""Edge tables as text: one row an edge, cells apart by comma, semicolon, tab or blanks, whatever the extension says.

Lines starting with ``#`` or ``%`` are comments, cells may be quoted, and a header is recognised (see ``_header``).
Which columns are meant and how ids become vertices is the same as for tables in memory: see ``neighbours/tables.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from troth.errors import TrothError
from troth.files import load
from troth.graph import Graph
from troth.inputs import Edges
from troth.io.atomic import create_binary
from troth.io.text import BIG, INTEGER, TEXT, Cells, distinct_text, join_cells, scan, stack_cells, to_cells
from troth.names import object_array
from troth.neighbours.tables import check_columns, choose_columns, cost_of, decode, make_edges, well_known

COMMENTS = b"#%"
CHUNK = 2**18  # rows formatted at a time


def read(
    path: Path, *, base: int | None = None, columns: Sequence[str] | None = None, weight: str | None = None
) -> Edges:
    """Read a table in two passes over its bytes; text ids take one more and a sort."""
    columns = check_columns(columns)
    cells, names, notes, count, first = _rows(path, [*(columns or ()), *([] if weight is None else [str(weight)])])
    source, target, value = choose_columns(str(path), count, names, columns, weight)
    picks = [slice(first + column, None, count) for column in (source, target)]
    tail, head = _ids(cells, *picks)
    if tail.dtype.kind in "SO" and all((cells.kind[pick] < BIG).all() for pick in picks):
        notes["padded"] = sum(int(np.count_nonzero(cells.padded[pick])) for pick in picks)
    values = None if value is None else cells.numbers(slice(first + value, None, count))
    edges = make_edges(tail, head, values, base=base, where=str(path))
    return replace(edges, notes=notes, cost=cost_of(names, value))


def read_ends(path: Path, text: bool) -> list[np.ndarray]:
    """The two columns of ids of a table, as text or as numbers; nothing else is looked at."""
    cells, names, _, count, first = _rows(path, ())
    source, target, _ = choose_columns(str(path), count, names, None)
    picks = [slice(first + column, None, count) for column in (source, target)]
    if text:
        return [decode(column, str(path)) for column in cells.names(*picks)]
    return [cells.numbers(pick) for pick in picks]


def _rows(path: Path, asked: Sequence[str]) -> tuple[Cells, list[str] | None, dict[str, int], int, int]:
    """The cells of a table, the names of its columns, notes, how many columns there are, and its first cell below."""
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
    names, notes = _header(cells, count, asked)
    return cells, names, notes, count, count if names is not None else 0


def _separator(data: bytes) -> str:
    """The first of comma, semicolon and tab that is in the first row outside of quotes; otherwise blanks."""
    row = re.search(rb"^[ \t\r]*[^#%\s].*$", data, re.MULTILINE)
    bare = re.sub(rb'"[^"]*"', b"", row[0].strip()) if row else b""
    return next((sep for sep in ",;\t" if sep.encode() in bare), "")


def _header(cells: Cells, count: int, asked: Sequence[str]) -> tuple[list[str] | None, dict[str, int]]:
    """The names in the first row, None where it is an edge, and a note where that is a guess.

    The row is a header where it has a name that was asked for, and where all of it is text and either two of the names
    are well known or some stand over numbers. A number among them, such as a year, is taken for a name where two names
    are well known and stand over numbers.
    """
    above, below = cells.kind[:count], cells.kind[count : 2 * count]
    if not (above == TEXT).any():
        return None, {}
    names = decode(cells.names(slice(count))[0], cells.where).tolist()
    if set(names) & set(asked):
        return names, {}
    ends = well_known(names)
    if (above != TEXT).any():
        if ends is None:
            return None, {}
        over_numbers = below.size > 0 and (below[list(ends)] != TEXT).all()
        return (names, {}) if over_numbers else (None, {"no header": 1})
    if (below != TEXT).any():
        return names, {}
    if ends is None:
        return None, {}
    return names, {"header": 1} if below.size else {}


def _ids(cells: Cells, *columns: slice) -> list[np.ndarray]:
    """The columns of ids: numbers where all are, otherwise text, as are numbers beyond 64 bits and such as 007."""
    text = any((cells.kind[column] >= BIG).any() or cells.padded[column].any() for column in columns)
    return cells.names(*columns) if text else [cells.numbers(column) for column in columns]


def write(graph: Graph, path: Path) -> None:
    """Write each edge once, smaller vertex number first, under the graph's ids.

    ``.csv`` and ``.tsv`` get a header, the others blanks and none. A table has no room for isolated vertices. What
    would not read back is refused.
    """
    sep = separator_of(path)
    if sep == " " and graph.m == 0:
        raise TrothError("a graph without edges is an empty file, which nothing reads: write .csv or .mtx")
    check_ids(graph)
    with create_binary(path) as stream:
        write_rows(stream, sep, ("source", "target", "weight") if sep != " " else (), edge_chunks(graph))


def separator_of(path: Path) -> str:
    """What stands between the cells of a file by its extension."""
    suffix = next(suffix.lower() for suffix in reversed(path.suffixes) if suffix.lower() != ".gz")
    return {".csv": ",", ".tsv": "\t"}.get(suffix, " ")


def write_rows(stream: Any, sep: str, header: Sequence[str], chunks: Iterable[Sequence[np.ndarray]]) -> None:
    """Write columns that come some rows at a time, below a header if there is one."""
    if header:
        stream.write((sep.join(header) + "\n").encode())
    parts = ([column[at : at + CHUNK] for column in chunk] for chunk in chunks for at in range(0, len(chunk[0]), CHUNK))
    for part in parts:
        columns = [_quoted(to_cells(column)) for column in part]
        ends = np.frombuffer((sep * (len(columns) - 1) + "\n").encode(), np.uint8)
        stream.write(join_cells(stack_cells(columns), np.tile(ends, len(part[0]))))


def check_ids(graph: Graph, typed: bool = False) -> None:
    """Refuse ids that would not read back: those with line ends, and text such as 1.5 or -2, which reads as a number.

    ``typed``: the format has a type for text, as Parquet does, so that only some characters are refused.
    """
    if graph.ids is None or (graph.ids.dtype.kind in "iu" and graph.ids.min(initial=0) >= 0):
        return
    ids = graph.ids[np.diff(graph.indptr) > 0]
    never = re.compile("[\0\ud800-\udfff]" if typed else "[\n\r\0\ud800-\udfff]")  # half a pair is not in UTF-8
    broken = [not name or never.search(name) is not None for name in map(str, ids)]
    names = distinct_text(ids)
    if not any(broken) and not (typed and ids.dtype.kind in "OU"):
        cells = scan(join_cells(_quoted(to_cells(names)), np.full(len(names), ord("\n"), np.uint8)), "the ids")
        if _ids(cells, slice(None))[0].dtype.kind not in "SO":
            broken = (cells.kind != INTEGER) | (cells.value < 0) | (cells.value.astype(str) != names)
    if any(broken):
        name = str(ids[np.argmax(broken)])
        raise TrothError(f"id {name!r} would not read back from a table; write .csr, which keeps all ids")


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
    if cells.dtype.kind == "O":
        quote = re.compile(rb'[ ,;\t"#%]').search
        return object_array([b'"' + cell.replace(b'"', b'""') + b'"' if quote(cell) else cell for cell in cells])
    special = np.zeros(len(cells), bool)
    for byte in b' ,;\t"#%':
        special |= np.char.find(cells, bytes([byte])) >= 0
    if not special.any():
        return cells
    escaped = np.char.replace(cells, b'"', np.array(b'""'))  # bare bytes would be cut to the width of the cells
    return np.where(special, np.char.add(np.char.add(b'"', escaped), b'"'), cells)
