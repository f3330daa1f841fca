"""Edge tables as Parquet files, through pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from troth.files import refusing
from troth.graph import Graph
from troth.inputs import Edges
from troth.io.tables import check_ids, edge_chunks
from troth.io.text import as_text
from troth.neighbours.packages import require
from troth.neighbours.tables import table_to_edges


def read(
    path: Path, *, base: int | None = None, columns: Sequence[str] | None = None, weight: str | None = None
) -> Edges:
    """Read a Parquet file; columns and ids follow the rules of ``neighbours/tables.py``."""
    parquet = require("pyarrow.parquet")
    with refusing(path, Exception):
        table = parquet.ParquetFile(path).read()
    return table_to_edges(table, columns, base, str(path), weight)


def write(graph: Graph, path: Path) -> None:
    """Write each edge once under the names source, target and weight; weights keep their type.

    What would not read back is refused.
    """
    pyarrow, parquet = require("pyarrow"), require("pyarrow.parquet")
    check_ids(graph, typed=True)
    chunks = list(edge_chunks(graph)) or [(graph.indices[:0], graph.indices[:0], graph.weights[:0])]
    columns = [np.concatenate(parts) for parts in zip(*chunks, strict=True)]
    columns[:2] = (as_text(ends) if ends.dtype.kind == "O" else ends for ends in columns[:2])
    parquet.write_table(pyarrow.table(dict(zip(("source", "target", "weight"), columns, strict=True))), path)
