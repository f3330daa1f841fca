"""SciPy's ``.npz`` matrices. Pickles, which could run code, are refused and never loaded."""

from __future__ import annotations

from pathlib import Path

from troth.errors import TrothError
from troth.graph import Graph, Matrix
from troth.io.files import refusing


def read(path: Path) -> Matrix:
    """Read what ``scipy.sparse.save_npz`` wrote, in any of its formats."""
    from scipy.sparse import load_npz

    with refusing(path, Exception), open(path, "rb") as stream:
        try:
            matrix = load_npz(stream)  # forbids pickles
        except ValueError as error:
            if "pickle" not in str(error):
                raise
            raise TrothError(
                f"{path}: holds a pickle, which could run code; save it with scipy.sparse.save_npz"
            ) from None
        if hasattr(matrix, "indptr"):
            _check_rising(matrix, path)
        if matrix.format not in ("csr", "csc"):
            matrix = matrix.tocoo()
    return Matrix(matrix, where=str(path))


def _check_rising(matrix, path: Path) -> None:
    """SciPy trusts ``indptr`` in C, and its own check takes differences, which can wrap around."""
    indptr = matrix.indptr
    if indptr[0] != 0 or indptr[-1] > len(matrix.indices) or (indptr[1:] < indptr[:-1]).any():
        raise TrothError(f"{path}: indptr is not a rising sequence from 0 to the number of entries")


def write(graph: Graph, path: Path) -> None:
    """Write the adjacency matrix with ``scipy.sparse.save_npz``; weights keep their type and their bits."""
    from scipy.sparse import save_npz

    save_npz(path, graph.to_scipy())
