"""``.csr`` folders: the arrays of a graph as NumPy files that are mapped, not read.

A folder holds ``indptr.npy`` (int64, n + 1), ``indices.npy`` (int32, 2 m), ``weights.npy`` (2 m), where the graph has
them ``vertex_weights.npy`` and ``ids.npy``, and ``meta.json``::

    {"format": "troth-csr", "version": 1, "n": 4, "m": 3, "weights": "float64"}

Names that NumPy's text of one width would not keep, or not in a reasonable size (see ``names.py``), stand one after the
other in UTF-8 in ``names.npy`` (uint8), and where each ends in ``name_ends.npy`` (int64, n), in place of ``ids.npy``;
such a folder has version 2.

Opening one costs nothing; the system loads the pages that are touched. So each process of a cluster reads its own rows.

A graph is replaced by another as a whole folder (``atomic.py``), never file by file, so the layout stays that of plain
NumPy files, which other programs may map, too. A reader that finds another folder after opening its files than before
opens them again: it has the arrays of one graph. What it has mapped stays, also where the files are removed.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from io import BufferedIOBase
from pathlib import Path
from time import monotonic, sleep
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from troth.errors import TrothError
from troth.files import refusing
from troth.graph import Graph
from troth.inputs import Matrix, RowBlocks
from troth.io.text import distinct_text
from troth.names import object_array

FORMAT, PLAIN, WITH_NAMES = "troth-csr", 1, 2  # and the versions
EXTRA = {"vertex_weights": "numbers", "ids": "numbers or text in one column"}  # arrays that may be there
ARRAYS = ("indptr", "indices", "weights", *EXTRA)
NAMES = {"meta.json", *(f"{name}.npy" for name in (*ARRAYS, "names", "name_ends"))}
PATIENCE = 10.0  # seconds for others to stop replacing a folder

T = TypeVar("T")


class Names(NamedTuple):
    """Names of any length, mapped: their text in UTF-8, and where each ends."""

    text: np.ndarray
    ends: np.ndarray
    where: Path

    def read(self) -> np.ndarray:
        """The names as objects."""
        text, ends = self.text.tobytes(), self.ends.tolist()
        if ends != sorted(ends) or (ends and (ends[0] < 0 or ends[-1] != len(text))):
            raise TrothError(f"{self.where}: name_ends.npy is not a rising sequence to the length of names.npy")
        with refusing(self.where / "names.npy", UnicodeDecodeError):
            pairs = zip([0, *ends], ends, strict=False)
            return object_array([text[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairs])


class CSR(NamedTuple):
    """A ``.csr`` folder as mapped arrays; ``vertex_weights`` and ``stored_ids`` are None where it has none."""

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    vertex_weights: np.ndarray | None
    stored_ids: np.ndarray | Names | None
    meta: dict

    @property
    def ids(self) -> np.ndarray | None:
        """The names of the vertices; those of any length are read, which takes time."""
        return self.stored_ids.read() if isinstance(self.stored_ids, Names) else self.stored_ids


def open_csr(path: str | Path, mode: Literal["r", "c"] = "r") -> CSR:
    """Map the arrays of a ``.csr`` folder, and check their types, their lengths and the two ends of ``indptr``.

    Entries are not looked at: ``as_graph`` does that, or the code that reads its own rows. ``mode`` is NumPy's: "r", or
    "c" for arrays that may be written to without changing the files.
    """
    path = Path(path)
    return _of_one_folder(path, lambda: _open(path, mode))


def _of_one_folder(path: Path, look: Callable[[], T]) -> T:
    """What ``look`` finds in a folder, or its refusal; it looks again where the folder was replaced meanwhile."""
    end = monotonic() + PATIENCE
    while True:
        before = _identity(path)
        try:
            found = look()
        except FileNotFoundError:  # what was there a moment ago
            pass
        except TrothError:
            if _identity(path) == before:
                raise
        else:
            if _identity(path) == before:
                return found
        if monotonic() > end:
            raise TrothError(f"{path} is replaced by others again and again")
        sleep(1e-3)


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells one folder from another under the same name; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns


def _open(path: Path, mode: Literal["r", "c"]) -> CSR:
    meta = _meta(path)
    n, arcs = meta["n"], 2 * meta["m"]
    indptr = _map(path, "indptr", mode, n + 1, "int64")
    indices = _map(path, "indices", mode, arcs, "int32")
    weights = _map(path, "weights", mode, arcs, meta["weights"])
    if indptr[0] != 0 or indptr[-1] != arcs:
        raise TrothError(f"{path}: indptr.npy runs from {indptr[0]} to {indptr[-1]}, not from 0 to {arcs}")
    vertex_weights, ids = (_map(path, name, mode, n) if (path / f"{name}.npy").exists() else None for name in EXTRA)
    if meta["version"] == WITH_NAMES:
        text, ends = _map(path, "names", mode, None, "uint8"), _map(path, "name_ends", mode, n, "int64")
        return CSR(indptr, indices, weights, vertex_weights, Names(text, ends, path), meta)
    return CSR(indptr, indices, weights, vertex_weights, ids, meta)


def in_the_way(path: Path) -> Path | None:
    """What would be lost if a graph were written here: the first file that is no part of a graph, or the path itself.

    None where nothing would be. Files whose names begin with a dot, such as .DS_Store, do not count.
    """
    return _of_one_folder(path, lambda: _in_the_way(path))


def _in_the_way(path: Path) -> Path | None:
    if not path.exists():
        return None
    try:
        _meta(path)
    except TrothError:
        return path if path.exists() else None
    others = (entry for entry in sorted(path.iterdir()) if entry.name not in NAMES)
    return next((entry for entry in others if not (entry.name.startswith(".") and entry.is_file())), None)


def _meta(path: Path) -> dict:
    if not path.is_dir():
        raise TrothError(
            f"{path}: not a folder; a .csr graph is a folder of indptr.npy, indices.npy, weights.npy, meta.json"
        )
    where = path / "meta.json"
    if not where.exists():
        raise TrothError(f"{path}: no meta.json; a .csr graph holds indptr.npy, indices.npy, weights.npy, meta.json")
    with refusing(where, ValueError, RecursionError):
        meta = json.loads(where.read_bytes())
    known = isinstance(meta, dict) and meta.get("format") == FORMAT and meta.get("version") in (PLAIN, WITH_NAMES)
    if not known:
        raise TrothError(f'{where}: not a graph of "format": "{FORMAT}", "version": {PLAIN} or {WITH_NAMES}')
    counted = all(type(count) is int and 0 <= count < 2**62 for count in (meta.get("n"), meta.get("m")))
    if not counted or not isinstance(meta.get("weights"), str):
        raise TrothError(f"{where}: n and m must be whole numbers, and weights the name of a type")
    return meta


def _map(path: Path, name: str, mode: Literal["r", "c"], length: int | None, dtype: str | None = None) -> np.ndarray:
    """One array, mapped: flat, of this length if any, and of type ``dtype``, or else as ``EXTRA`` says."""
    where = path / f"{name}.npy"
    with refusing(where, Exception):
        array = np.asarray(_load(where, mode))
        kinds = "iuf" if name == "vertex_weights" else "iufU"
        fits = array.dtype == np.dtype(dtype) if dtype else array.dtype.kind in kinds
    lengths = array.shape[:1] if length is None else (length,)
    if not fits or array.ndim == 0 or array.shape[:1] != lengths or (array.ndim > 1 and name != "vertex_weights"):
        wanted = f"{'one row' if length is None else length} of {dtype or EXTRA[name]}"
        raise TrothError(f"{where}: holds {array.dtype} of shape {array.shape}, but meta.json says {wanted}")
    return array


def _load(where: Path, mode: Literal["r", "c"]) -> np.ndarray:
    """The array of a file, mapped. What is larger than memory cannot be written to, since Linux keeps room for that."""
    try:
        return np.load(where, mmap_mode=mode, allow_pickle=False)
    except OSError as error:
        if mode == "r" or error.errno != errno.ENOMEM:
            raise
        return np.load(where, mmap_mode="r", allow_pickle=False)


def read(path: Path) -> Matrix:
    """The folder as a matrix that shares the mapped arrays."""
    # Copy on write, since Numba compiles again for arrays that are read-only.
    found = open_csr(path, mode="c")
    ids = found.ids  # once: names of any length are read here
    _check_vertices(found.vertex_weights, ids, path)
    matrix = shared_matrix(found.indptr, found.indices, found.weights)
    return Matrix(matrix, vertex_weights=found.vertex_weights, ids=ids, where=str(path))


def read_ids(path: str | Path) -> np.ndarray | None:
    """The names of the vertices of a folder, checked; None where it has none."""
    ids = open_csr(path).ids
    _check_vertices(None, ids, Path(path))
    return ids


def _check_vertices(weights: np.ndarray | None, ids: np.ndarray | None, path: Path) -> None:
    """Refuse vertex weights below 0 or not finite, and an id of two vertices. Ids that ascend need no sort."""
    if weights is not None and not (good := np.isfinite(weights) & (weights >= 0)).all():
        v = int(np.argwhere(~good)[0, 0])
        raise TrothError(f"{path}: vertex {v} weighs {weights[v]}; vertex weights are finite, and 0 or more")
    if ids is not None and not (ids[1:] > ids[:-1]).all() and len(np.unique(ids)) < len(ids):
        raise TrothError(f"{path}: two vertices have the same id in ids.npy")


def shared_matrix(indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray):
    """A ``csr_array`` of these very arrays; SciPy's constructor would copy some to make the index types equal."""
    from scipy.sparse import csr_array

    n = len(indptr) - 1
    matrix = csr_array((n, n), dtype=np.int8)
    matrix.indptr, matrix.indices, matrix.data = indptr, indices, weights
    return matrix


def write(graph: Graph, path: Path) -> None:
    """Make the folder. Ids are stored as numbers or as text."""
    path.mkdir()
    arrays = {name: array for name in ARRAYS if (array := getattr(graph, name)) is not None}
    version = PLAIN
    if graph.ids is not None and graph.ids.dtype.kind == "O":
        arrays["ids"] = distinct_text(graph.ids)
        if arrays["ids"].dtype.kind == "O":
            parts = [name.encode("utf-8", "surrogatepass") for name in arrays.pop("ids")]
            arrays["names"] = np.frombuffer(b"".join(parts), np.uint8)
            arrays["name_ends"] = np.cumsum([len(part) for part in parts], dtype=np.int64)
            version = WITH_NAMES
    for name, array in arrays.items():
        with _create(path / f"{name}.npy", array.shape, array.dtype) as stream:
            _append(stream, array)
    _write_meta(path, version, graph.n, graph.m, graph.weights.dtype)


def write_blocks(graph: RowBlocks, path: Path) -> None:
    """Make the folder that ``write`` makes of the whole graph, with one block of it in memory at a time."""
    path.mkdir()
    kinds: dict[str, tuple[int, np.dtype]] = {
        "indptr": (graph.n + 1, np.dtype(np.int64)),
        "indices": (2 * graph.m, np.dtype(np.int32)),
        "weights": (2 * graph.m, graph.kind),
    }
    with ExitStack() as stack:
        indptr, indices, weights = (
            stack.enter_context(_create(path / f"{name}.npy", (length,), kind))
            for name, (length, kind) in kinds.items()
        )
        end = 0
        _append(indptr, np.zeros(1, np.int64))
        for block in graph.blocks:
            _append(indptr, block[0][1:] + end)
            _append(indices, block[1])
            _append(weights, block[2])
            end += len(block[1])
    _write_meta(path, PLAIN, graph.n, graph.m, graph.kind)


def _write_meta(path: Path, version: int, n: int, m: int, kind: np.dtype) -> None:
    meta = {"format": FORMAT, "version": version, "n": n, "m": m, "weights": kind.name}
    (path / "meta.json").write_text(json.dumps(meta) + "\n", encoding="utf-8")


@contextmanager
def _create(path: Path, shape: tuple[int, ...], kind: np.dtype) -> Iterator[BufferedIOBase]:
    """A file as ``numpy.save`` begins it, to which the numbers are to be appended."""
    with open(path, "wb") as stream:
        header = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, header)
        yield stream


def _append(stream: BufferedIOBase, array: np.ndarray) -> None:
    """As ``numpy.save`` does, which tells of a full disk only how many numbers were written."""
    stream.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
