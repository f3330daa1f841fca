"""Reading and writing graphs: the extension chooses the format, one file here for each.

=============================================  ==========================================================
``.mtx``                                       MatrixMarket (``matrixmarket.py``)
``.graph``, ``.metis``                         METIS (``metis.py``)
``.npz``                                       SciPy sparse matrix (``npz.py``)
``.csr``                                       a folder of mapped arrays (``csr.py``)
``.csv``, ``.tsv``, ``.txt``, ``.edgelist``    a table of edges (``tables.py``)
``.parquet``                                   a table of edges (``parquet.py``)
=============================================  ==========================================================

The name ``-`` is standard input (``standard_input.py``). Text formats may be gzipped (``.mtx.gz``). Readers hand a
``Matrix`` or ``Edges`` to the gate, which checks the values; what is wrong with a file itself is refused here, in one
line with the file and the place. Matchings go to mates files (``mates.py``) and pairs files (``pairs.py``).
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from troth.errors import TrothError
from troth.files import refusing
from troth.graph import Graph
from troth.inputs import Edges, Matrix, RowBlocks, check_base, refuse_table_options
from troth.io import csr, matrixmarket, metis, npz, parquet, standard_input, tables
from troth.io.atomic import atomic_path
from troth.io.mates import read_mates, write_mates
from troth.io.pairs import check_pairs, is_pairs_file, read_pairs, write_pairs
from troth.validate import check_word

__all__ = [
    "atomic_path",
    "check_pairs",
    "is_pairs_file",
    "read_input",
    "read_mates",
    "read_pairs",
    "write_graph",
    "write_mates",
    "write_pairs",
]

FORMATS = {
    ".mtx": matrixmarket,
    ".graph": metis,
    ".metis": metis,
    ".npz": npz,
    ".csr": csr,
    ".csv": tables,
    ".tsv": tables,
    ".txt": tables,
    ".edgelist": tables,
    ".parquet": parquet,
}
NAMES = (*(suffix[1:] for suffix in FORMATS), "snap")  # of formats; SNAP's are tables with comments
GZIPPED = (matrixmarket, metis, tables)
TABLES = (tables, parquet)


def read_input(
    path: str | os.PathLike[str],
    *,
    base: int | None = None,
    columns: tuple[str, ...] | None = None,
    weight: str | None = None,
    format: str | None = None,
) -> Matrix | Edges:
    """Read a file, or standard input where the name is ``-``, into what the gate takes.

    ``base``, ``columns`` and ``weight`` are for tables; ``format`` is in place of the extension.
    """
    base, named = check_base(base), None if format is None else format_named(format)
    options = {"base": base, "columns": columns, "weight": weight}
    if str(path) == standard_input.NAME:
        with standard_input.kept() as file:
            form = named or FORMATS[standard_input.extension_of(file)]
            return replace(_read(file, form, options), where=standard_input.WHERE)
    return _read(Path(path), named or format_of(Path(path)), options)


def _read(path: Path, form: ModuleType, options: dict[str, Any]) -> Matrix | Edges:
    with refusing(path):
        if not path.exists():
            raise TrothError(f"{path}: there is no such file")
        if form is not csr and not path.is_file():
            raise TrothError(f"{path}: not a file but a folder or a device")
        if form is not csr and path.stat().st_size == 0:
            raise TrothError(f"{path}: the file is empty")
        if form in TABLES:
            return form.read(path, **options)
        refuse_table_options(str(path), *options.values())
        return form.read(path)


def write_graph(graph: Graph | RowBlocks, path: str | os.PathLike[str]) -> None:
    """Write a graph in the format that the extension names, whole or not at all; blocks of rows into ``.csr`` alone."""
    path = Path(path)
    with refusing(path):
        check_target(path)
    with atomic_path(path) as temporary:
        if isinstance(graph, RowBlocks):
            csr.write_blocks(graph, temporary)
        else:
            format_of(path).write(graph.to("cpu"), temporary)


def check_target(path: Path) -> None:
    """Refuse a name for a graph that has no format, and a .csr folder or file that holds something else."""
    if format_of(path) is csr and (other := csr.in_the_way(path)):
        beside = "" if other == path else f" ({other.name!r} is there too)"
        raise TrothError(
            f"{path}: what stands there is not a .csr graph alone{beside}; remove it or choose another name"
        )


def format_named(name: str) -> ModuleType:
    """The module of this package for the name of a format, such as "csv"."""
    return FORMATS["." + check_word("format", name, NAMES)] if name != "snap" else tables


def format_of(path: Path) -> ModuleType:
    """The module of this package that reads and writes what the extension names."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    packed = suffixes[-1:] == [".gz"]
    suffix = suffixes[-1 - packed] if len(suffixes) > packed else ""
    form = FORMATS.get(suffix)
    if form is None or (packed and form not in GZIPPED):
        raise TrothError(
            f"{path}: unknown extension; known are {' '.join(FORMATS)}, and .gz of the text formats; a file to be read "
            "may have any where format= (--format) names its format"
        )
    return form
