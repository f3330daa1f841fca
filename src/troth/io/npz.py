"""SciPy's ``.npz`` matrices. Pickles, which could run code, are refused and never loaded."""

from __future__ import annotations

from pathlib import Path
from zipfile import BadZipFile, ZipFile

from troth.errors import TrothError
from troth.files import refusing
from troth.graph import Graph
from troth.inputs import Matrix


def read(path: Path) -> Matrix:
    """Read what ``scipy.sparse.save_npz`` wrote, in any of its formats."""
    from scipy.sparse import load_npz

    from troth.gate.host import check_rising

    with refusing(path, Exception), open(path, "rb") as stream:
        try:
            names = ZipFile(stream).namelist()
        except BadZipFile:
            raise TrothError(f"{path}: not a whole .npz file; save one with scipy.sparse.save_npz") from None
        if not {"format.npy", "shape.npy", "data.npy"} <= set(names):
            raise TrothError(f"{path}: holds no sparse matrix; save one with scipy.sparse.save_npz")
        stream.seek(0)
        try:
            matrix = load_npz(stream)  # forbids pickles
        except ValueError as error:
            if "pickle" not in str(error):
                raise
            raise TrothError(
                f"{path}: holds a pickle, which could run code; save it with scipy.sparse.save_npz"
            ) from None
        if matrix.format not in ("csr", "csc"):
            if hasattr(matrix, "indptr"):  # blocks: SciPy trusts their rows in C
                check_rising(matrix.indptr, len(matrix.indptr) - 1, len(matrix.indices), str(path))
            matrix = matrix.tocoo()
    return Matrix(matrix, where=str(path))


def write(graph: Graph, path: Path) -> None:
    """Write the adjacency matrix with ``scipy.sparse.save_npz``; weights keep their type and their bits."""
    from scipy.sparse import save_npz

    save_npz(path, graph.to_scipy())
