"""SciPy's ``.npz`` matrices. Pickles, which could run code, are refused and never loaded."""

from __future__ import annotations

from pathlib import Path

from troth.graph import Graph, Matrix
from troth.io.files import refusing


def read(path: Path) -> Matrix:
    """Read what ``scipy.sparse.save_npz`` wrote, in any of its formats."""
    from scipy.sparse import load_npz

    with refusing(path, Exception):
        matrix = load_npz(path)  # forbids pickles
        if matrix.format not in ("csr", "csc"):
            matrix = matrix.tocoo()
    return Matrix(matrix, where=str(path))


def write(graph: Graph, path: Path) -> None:
    """Write the adjacency matrix with ``scipy.sparse.save_npz``; weights keep their type and their bits."""
    from scipy.sparse import save_npz

    save_npz(path, graph.to_scipy())
