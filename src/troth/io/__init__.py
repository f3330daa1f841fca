"""Reading and writing graphs: the extension chooses the format, one file here for each.

=============================================  ==========================================================
``.mtx``                                       MatrixMarket (``matrixmarket.py``)
``.graph``, ``.metis``                         METIS (``metis.py``)
``.npz``                                       SciPy sparse matrix (``npz.py``)
``.csr``                                       a folder of mapped arrays (``csr.py``)
``.csv``, ``.tsv``, ``.txt``, ``.edgelist``    a table of edges (``tables.py``)
``.parquet``                                   a table of edges (``parquet.py``)
=============================================  ==========================================================

Text formats may be gzipped (``.mtx.gz``). Readers hand a ``Matrix`` or ``Edges`` to the gate, which checks the values;
what is wrong with a file itself is refused here, in one line with the file and the place.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

from troth.errors import TrothError
from troth.files import refusing
from troth.graph import Graph
from troth.inputs import Edges, Matrix, check_base, refuse_table_options
from troth.io import csr, matrixmarket, metis, npz, parquet, tables
from troth.io.atomic import atomic_path
from troth.io.mates import read_mates, write_mates

__all__ = ["atomic_path", "read_input", "read_mates", "write_graph", "write_mates"]

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
GZIPPED = (matrixmarket, metis, tables)
TABLES = (tables, parquet)


def read_input(
    path: str | os.PathLike[str], *, base: int | None = None, columns: tuple[str, ...] | None = None
) -> Matrix | Edges:
    """Read a file into what the gate takes. ``base`` and ``columns`` are for tables."""
    path, base = Path(path), check_base(base)
    form = format_of(path)
    with refusing(path):
        if not path.exists():
            raise TrothError(f"{path}: there is no such file")
        if form is not csr and not path.is_file():
            raise TrothError(f"{path}: not a file but a folder or a device")
        if form is not csr and path.stat().st_size == 0:
            raise TrothError(f"{path}: the file is empty")
        if form in TABLES:
            return form.read(path, base=base, columns=columns)
        refuse_table_options(str(path), base, columns)
        return form.read(path)


def write_graph(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Write a graph in the format that the extension names, whole or not at all."""
    path = Path(path)
    with refusing(path):
        check_target(path)
    with atomic_path(path) as temporary:
        format_of(path).write(graph.to("cpu"), temporary)


def check_target(path: Path) -> None:
    """Refuse a name for a graph that has no format, and a .csr folder or file that holds something else."""
    if format_of(path) is csr and (other := csr.in_the_way(path)):
        beside = "" if other == path else f" ({other.name!r} is there too)"
        raise TrothError(
            f"{path}: what stands there is not a .csr graph alone{beside}; remove it or choose another name"
        )


def format_of(path: Path) -> ModuleType:
    """The module of this package that reads and writes what the extension names."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    packed = suffixes[-1:] == [".gz"]
    suffix = suffixes[-1 - packed] if len(suffixes) > packed else ""
    form = FORMATS.get(suffix)
    if form is None or (packed and form not in GZIPPED):
        raise TrothError(f"{path}: unknown extension; known are {' '.join(FORMATS)}, and .gz of the text formats")
    return form
