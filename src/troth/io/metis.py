"""METIS graphs: the ``.graph`` files of METIS, Chaco, KaHIP, Scotch's converters and the DIMACS10 challenge.

The first line is ``n m [fmt [ncon]]``; line v then holds what ``fmt`` says of vertex v, numbered from 1::

    [size] [weight 1 ... weight ncon] neighbour [weight] neighbour [weight] ...

The digits of ``fmt`` switch on vertex sizes, vertex weights and edge weights. Every edge stands in the lines of both of
its ends, so the neighbours number 2 m, and a file that disagrees with its header is refused. An empty line is an
isolated vertex; so is a line missing at the end. Vertex sizes are ignored. Lines starting with ``%`` are comments.
Karypis and Kumar, METIS manual 5.1, section 4.1.1.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from troth.errors import TrothError
from troth.files import load
from troth.graph import Graph
from troth.inputs import MAX_VERTICES, Matrix
from troth.io.atomic import create_binary
from troth.io.csr import shared_matrix
from troth.io.text import INTEGER, Cells, join_cells, scan, to_cells

CHUNK = 2**18  # arcs formatted at a time


class Header(NamedTuple):
    line: int  # its number among the lines that are not comments
    n: int
    m: int
    sizes: bool
    constraints: int
    weighted: bool


def read(path: Path) -> Matrix:
    """Read a METIS file in two passes; ``vertex_weights`` is (n,) for one constraint and (n, ncon) for several."""
    cells = scan(load(path), str(path))
    header = _header(cells)
    first, n, lead, step = header.line + 1, header.n, header.sizes + header.constraints, 1 + header.weighted
    bound = _vertex_bounds(cells, first, n)  # cells of vertex v: bound[v] to bound[v + 1]
    spare = np.diff(bound) - lead
    if spare.min(initial=0) < 0:
        cells.refuse_line(first + int(np.argmax(spare < 0)), f"the line of a vertex must start with {lead} weights")
    if header.weighted and (spare & 1).any():
        cells.refuse_line(first + int(np.argmax(spare & 1)), "neighbours and weights do not pair up")
    indptr = (bound - bound[0] - lead * np.arange(n + 1)) // step
    if indptr[-1] != 2 * header.m:
        raise TrothError(
            f"{path}: the header says {header.m} edges, so {2 * header.m} neighbours, but the lines hold {indptr[-1]}"
        )
    at = _arc_cells(bound, lead)
    indices = _neighbours(cells, at[::step], n)
    weights = cells.numbers(at[1::step]) if header.weighted else np.ones(indices.size, np.int8)
    matrix = shared_matrix(indptr, indices, weights)
    vertex_weights = _vertex_weights(cells, bound, header)
    return Matrix(matrix, pattern=not header.weighted, vertex_weights=vertex_weights, where=str(path), base=1)


def _header(cells: Cells) -> Header:
    filled = np.flatnonzero(np.diff(cells.line_start))
    if filled.size == 0:
        raise TrothError(f"{cells.where}: there is no header line: METIS files start with 'n m [fmt [ncon]]'")
    line = int(filled[0])
    begin, end = cells.line_start[line : line + 2].tolist()
    kind, value = cells.kind[begin:end], cells.value[begin:end].tolist()
    if len(value) < 2 or kind.any() or min(value) < 0:
        cells.refuse_line(line, "the header must be 'n m [fmt [ncon]]' in whole numbers")
    n, m, fmt, ncon = [*value, 0, 0][:4]  # some programs write more
    if max(n, ncon) > MAX_VERTICES:
        cells.refuse_line(line, f"more than {MAX_VERTICES} vertices or constraints")
    digits = f"{fmt:03d}"
    if len(digits) > 3 or not set(digits) <= set("01"):
        cells.refuse_line(line, f"fmt is {fmt}, but it must be up to three digits of 0 and 1")
    sizes, vertices, edges = (digit == "1" for digit in digits)
    return Header(line, n, m, sizes, max(ncon, 1) if vertices else 0, edges)


def _vertex_bounds(cells: Cells, first: int, n: int) -> np.ndarray:
    """Where the cells of each vertex line begin, and where the last ones end; missing lines are empty."""
    bound = cells.line_start[first : first + n + 1]
    if bound.size == n + 1 and bound[n] < cells.value.size:
        cells.refuse(int(bound[n]), f"stands after the line of vertex {n}, the last one")
    return np.concatenate((bound, np.full(n + 1 - bound.size, cells.value.size)))


def _arc_cells(bound: np.ndarray, lead: int) -> np.ndarray:
    """Cells of neighbours and edge weights. Without the leading ones they alternate through the whole file."""
    at = np.arange(bound[0], bound[-1])
    if lead == 0:
        return at
    keep = np.ones(at.size, bool)
    for column in range(lead):
        keep[bound[:-1] - bound[0] + column] = False
    return at[keep]


def _neighbours(cells: Cells, at: np.ndarray, n: int) -> np.ndarray:
    vertex = cells.value[at]
    good = (cells.kind[at] == INTEGER) & (vertex >= 1) & (vertex <= n)
    if not good.all():
        cells.refuse(int(at[np.argmin(good)]), f"is not a neighbour: vertices are numbered 1 to {n}")
    return (vertex - 1).astype(np.int32)


def _vertex_weights(cells: Cells, bound: np.ndarray, header: Header) -> np.ndarray | None:
    if header.constraints == 0:
        return None
    at = (bound[:-1, None] + np.arange(header.sizes, header.sizes + header.constraints)).ravel()
    weights = cells.numbers(at)
    good = (weights >= 0) & (weights < np.inf)
    if not good.all():
        cells.refuse(int(at[np.argmin(good)]), "is not a vertex weight: finite and not negative")
    return weights if header.constraints == 1 else weights.reshape(header.n, header.constraints)


def write(graph: Graph, path: Path) -> None:
    """Write a METIS file, with vertex weights where the graph has them, and edge weights unless all of them are 1."""
    weighted = bool((graph.weights != 1).any())
    vertex_weights = None if graph.vertex_weights is None else graph.vertex_weights.reshape(graph.n, -1)
    constraints = 0 if vertex_weights is None else vertex_weights.shape[1]
    fmt = f" 0{int(constraints > 0)}{int(weighted)}" if weighted or constraints else ""
    ncon = f" {constraints}" if constraints > 1 else ""
    # Whole lines of about CHUNK arcs at a time.
    cuts = np.searchsorted(graph.indptr, np.arange(0, len(graph.indices), CHUNK))
    cuts = np.unique(np.append(cuts, (0, graph.n))).tolist()
    with create_binary(path) as stream:
        stream.write(f"{graph.n} {graph.m}{fmt}{ncon}\n".encode())
        for begin, end in pairwise(cuts):
            stream.write(_lines(graph, vertex_weights, weighted, begin, end))


def _lines(graph: Graph, vertex_weights: np.ndarray | None, weighted: bool, begin: int, end: int) -> bytes:
    """The lines of vertices begin..end-1. An empty line is one empty cell."""
    indptr = graph.indptr[begin : end + 1]
    arcs = slice(int(indptr[0]), int(indptr[-1]))
    lead, step = 0 if vertex_weights is None else vertex_weights.shape[1], 1 + weighted
    size = np.maximum(lead + step * np.diff(indptr), 1)
    start = np.cumsum(size) - size
    # Arc i of the chunk, of row r, is cell start[r] + lead + step * (i - indptr[r]).
    place = np.repeat(start + lead - step * (indptr[:-1] - indptr[0]), np.diff(indptr))
    place += step * np.arange(arcs.stop - arcs.start)

    columns = [(place, to_cells(graph.indices[arcs].astype(np.int64) + 1))]
    if weighted:
        columns.append((place + 1, to_cells(graph.weights[arcs])))
    if vertex_weights is not None:
        columns += [(start + j, to_cells(vertex_weights[begin:end, j])) for j in range(lead)]
    cells = np.zeros(int(size.sum()), f"S{max(column.dtype.itemsize for _, column in columns)}")
    for places, column in columns:
        cells[places] = column
    tails = np.full(cells.size, ord(" "), np.uint8)
    tails[start + size - 1] = ord("\n")
    return join_cells(cells, tails)
