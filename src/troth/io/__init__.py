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

import importlib
import os
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from troth.errors import TrothError
from troth.graph import Edges, Graph, Matrix, as_graph, check_base, refuse_table_options
from troth.io.atomic import atomic_path
from troth.io.files import refusing
from troth.io.mates import read_mates, write_mates

__all__ = ["atomic_path", "read", "read_input", "read_mates", "write", "write_mates"]

FORMATS = {
    ".mtx": "matrixmarket",
    ".graph": "metis",
    ".metis": "metis",
    ".npz": "npz",
    ".csr": "csr",
    ".csv": "tables",
    ".tsv": "tables",
    ".txt": "tables",
    ".edgelist": "tables",
    ".parquet": "parquet",
}
GZIPPED = ("matrixmarket", "metis", "tables")
TABLES = ("tables", "parquet")


def read(source: str | os.PathLike, **options: Any) -> Graph:
    """Read a graph from a file, or make one of a family such as ``rmat:scale=18,edgefactor=16,seed=1``.

    Parameters
    ----------
    source
        a path whose extension is a known format, or the name of a family with its parameters
    **options
        those of ``as_graph``: weights, symmetrize, base, seed, columns

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "triangle.csv"
    >>> _ = path.write_text("0,1,2.5\\n1,2,3\\n2,0,1\\n")
    >>> read(path)
    Graph(n=3, m=3, weights=float64)
    """
    if isinstance(source, str):
        from troth.generate import from_spec, is_spec

        if is_spec(source) or (re.fullmatch(r"[^/\\]+:[^/\\]+=[^/\\]*", source) and not os.path.exists(source)):
            refuse_table_options(f"family {source!r}", options.pop("base", None), options.pop("columns", None))
            return as_graph(from_spec(source), **options)
    reading = {name: options.pop(name) for name in ("base", "columns") if name in options}
    with refusing(source):
        return as_graph(read_input(source, **reading), **options)


def read_input(
    path: str | os.PathLike, *, base: int | None = None, columns: tuple[str, ...] | None = None
) -> Matrix | Edges:
    """Read a file into what the gate takes. ``base`` and ``columns`` are for tables."""
    path, base = Path(path), check_base(base)
    name = format_of(path)
    with refusing(path):
        if not path.exists():
            raise TrothError(f"{path}: there is no such file")
        if name != "csr" and not path.is_file():
            raise TrothError(f"{path}: not a file but a folder or a device")
        if name != "csr" and path.stat().st_size == 0:
            raise TrothError(f"{path}: the file is empty")
        if name in TABLES:
            return _module(name).read(path, base=base, columns=columns)
        refuse_table_options(str(path), base, columns)
        return _module(name).read(path)


def write(graph: Graph, path: str | os.PathLike) -> None:
    """Write a graph in the format that the extension names, whole or not at all.

    Integers are exact in every format and floats read back as the same numbers. MatrixMarket, METIS and text tables
    store decimals, so their float32 comes back as float64. Vertex weights go into METIS and ``.csr``, ids into tables
    and ``.csr``; a table has no room for isolated vertices.
    """
    graph, path = as_graph(graph), Path(path)
    check_target(path)
    with atomic_path(path) as temporary:
        _module(format_of(path)).write(graph.to("cpu"), temporary)


def check_target(path: Path) -> None:
    """Refuse a name for a graph that has no format, and a .csr folder or file that holds something else."""
    if format_of(path) == "csr" and (other := _module("csr").in_the_way(path)):
        beside = "" if other == path else f" ({other.name!r} is there too)"
        raise TrothError(
            f"{path}: what stands there is not a .csr graph alone{beside}; remove it or choose another name"
        )


def format_of(path: Path) -> str:
    """The module of this package that reads and writes what the extension names."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    packed = suffixes[-1:] == [".gz"]
    suffix = suffixes[-1 - packed] if len(suffixes) > packed else ""
    name = FORMATS.get(suffix)
    if name is None or (packed and name not in GZIPPED):
        raise TrothError(f"{path}: unknown extension; known are {' '.join(FORMATS)}, and .gz of the text formats")
    return name


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"troth.io.{name}")
