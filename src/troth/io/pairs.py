"""Pairs files: a table with the columns source, target and weight, one row a pair, in the ids of the input.

``.csv`` and ``.tsv``, also gzipped, and ``.parquet``; any other name is that of a mates file (``mates.py``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from troth.errors import TrothError
from troth.files import refusing
from troth.io import tables
from troth.io.atomic import atomic_path, create_binary
from troth.io.text import as_text, distinct_text
from troth.neighbours.packages import require
from troth.neighbours.tables import ids_of_table

FORMATS = (".csv", ".tsv", ".parquet")
Chunk = tuple[np.ndarray, np.ndarray, np.ndarray]


def is_pairs_file(path: str | os.PathLike[str]) -> bool:
    """Whether the name is that of a pairs file.

    >>> is_pairs_file("pairs.csv"), is_pairs_file("pairs.tsv.gz"), is_pairs_file("mates.txt")
    (True, True, False)
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes[-2:]]
    packed = suffixes[-1:] == [".gz"]
    suffix = suffixes[-1 - packed] if len(suffixes) > packed else ""
    return suffix in FORMATS and not (packed and suffix == ".parquet")


def check_pairs(path: str | os.PathLike[str], ids: np.ndarray | None = None) -> None:
    """Refuse a pairs file that could not be written: without pyarrow, or of ids that would not read back."""
    if packed := Path(path).suffix.lower() == ".parquet":
        require("pyarrow.parquet")
    if ids is None or ids.dtype.kind in "iu":
        return
    never = re.compile("[\0\ud800-\udfff]" if packed else "[\n\r\0\ud800-\udfff]")
    for name in distinct_text(ids).tolist():
        if not name or never.search(name):
            raise TrothError(f"{path}: id {name!r} would not read back from it; write the mates to a .txt file")


def write_pairs(chunks: Iterable[Chunk], path: str | os.PathLike[str], name: str = "weight") -> None:
    """Write pairs that come as some sources, targets and weights at a time, whole or not at all.

    ``name`` is that of the third column: "weight" or "cost".

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "pairs.csv"
    >>> write_pairs([(np.array(["bob"]), np.array(["cy"]), np.array([3]))], path)
    >>> path.read_text(), read_pairs(path, text=True).tolist()
    ('source,target,weight\\nbob,cy,3\\n', [['bob', 'cy']])
    """
    path, header = Path(path), ("source", "target", name)
    with atomic_path(path) as temporary:
        if path.suffix.lower() == ".parquet":
            pyarrow, parquet = require("pyarrow"), require("pyarrow.parquet")
            columns = [np.concatenate(parts) for parts in zip(*chunks, strict=True)]
            columns[:2] = (as_text(ends) if ends.dtype.kind not in "iu" else ends for ends in columns[:2])
            parquet.write_table(pyarrow.table(dict(zip(header, columns, strict=True))), temporary)
            return
        with create_binary(temporary) as stream:
            tables.write_rows(stream, tables.separator_of(path), header, chunks)


def read_pairs(path: str | os.PathLike[str], text: bool = False) -> np.ndarray:
    """The ids of a pairs file in two columns, as text or as numbers; the weights are not looked at."""
    path = Path(path)
    if path.suffix.lower() == ".parquet":
        parquet = require("pyarrow.parquet")
        with refusing(path, Exception):
            table = parquet.ParquetFile(path).read()
        source, target = ids_of_table(table, str(path))
        columns = [as_text(column) if text else column for column in (source, target)]
    else:
        columns = tables.read_ends(path, text)
    pairs = np.column_stack(columns)
    if not text and pairs.dtype.kind not in "iu" and pairs.size:
        raise TrothError(f"{path}: its ids are not whole numbers, but those of the graph are")
    return pairs if pairs.size else pairs.astype(np.int64)
