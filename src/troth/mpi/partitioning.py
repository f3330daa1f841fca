"""How a partition is asked for: "block", "hash", "metis", a file of owners, or an array of them.

METIS itself needs the whole graph: it runs on rank 0, which is the one step that does not fit a graph larger than one
machine's memory.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from troth.errors import TrothError
from troth.files import refusing
from troth.io.text import scan_parts
from troth.ranks.job import AgreedError, agreeing
from troth.ranks.partition import Blocks, Hashed, Partition, Table, even_blocks, my_lines

NAMES = ("block", "hash", "metis")
Owners = str | os.PathLike[str] | np.ndarray  # how a partition is asked for


def share_of_owners(comm: Any, n: int, where: Path | str, parts: Iterable[np.ndarray]) -> np.ndarray:
    """This rank's share of n owners, checked: entry v is the rank that owns vertex v."""
    share, came = my_lines(comm, n, parts)
    most = comm.size - 1
    if came != n:
        raise AgreedError(f"{where}: {came} owners, but the graph has {n} vertices")
    with agreeing(comm):
        wrong = np.flatnonzero((share < 0) | (share > most))
        if len(wrong):
            v = even_blocks(n, comm.size).starts[comm.rank] + wrong[0]
            raise TrothError(f"{where}: vertex {v} is owned by {share[wrong[0]]}, but the ranks are 0 to {most}")
    return share.astype(np.int32)


def _read(path: Path, most: int) -> Iterator[np.ndarray]:
    for cells in scan_parts(path):
        uneven, wrong = "a file of owners has one number in each line", f"is no owner: the ranks are 0 to {most}"
        yield cells.one_a_line(0, most, uneven, wrong)


def _mapped(path: Path, n: int) -> Iterator[np.ndarray]:
    with refusing(path, ValueError):
        owners = np.load(path, mmap_mode="r", allow_pickle=False)
    yield from _whole(path, n, owners)


def _whole(where: Path | str, n: int, owners: np.ndarray) -> Iterator[np.ndarray]:
    if owners.shape != (n,) or owners.dtype.kind not in "iu":
        raise TrothError(f"{where}: {owners.dtype} of shape {owners.shape}, but owners are {n} whole numbers")
    yield owners


def metis_owners(comm: Any, indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Owners by METIS: parts of equal size with few edges between them. Needs the whole graph."""
    try:
        import pymetis
    except ImportError:
        raise TrothError('partition="metis" needs pymetis: pip install "troth[partition]", or choose "block"') from None
    n = len(indptr) - 1
    if comm.size == 1 or n < comm.size:
        return np.arange(n, dtype=np.int32) % comm.size
    print(f"troth: METIS holds the whole graph ({n:,} vertices) on rank 0", file=sys.stderr)
    _, owners = pymetis.part_graph(comm.size, pymetis.CSRAdjacency(indptr, indices))
    return np.asarray(owners, np.int32)


def scattered(comm: Any, n: int, make: Callable[[], np.ndarray]) -> np.ndarray:
    """This rank's share of n owners that rank 0 makes."""
    from mpi4py import MPI

    places, owners = even_blocks(n, comm.size), None
    with agreeing(comm):
        if comm.rank == 0:
            owners = np.ascontiguousarray(make(), np.int32)
    counts = np.diff(places.starts)
    share = np.empty(counts[comm.rank], np.int32)
    comm.Scatterv([owners, counts, places.starts[:-1], MPI.INT32_T] if comm.rank == 0 else None, share)
    return share


def name_of_owners(name: Any) -> str:
    """What all ranks must ask for alike: the name of a partition, or what kind of owners is given."""
    if isinstance(name, (str, os.PathLike)):
        return str(name) if name in NAMES else "a file of owners"
    return f"owners of type {type(name).__name__}"


def check_name(name: Any) -> None:
    """Refuse what is neither the name of a partition nor a file."""
    if not isinstance(name, (str, os.PathLike)):
        raise TrothError(f"partition of type {type(name).__name__}: give a name, a file, or an array of owners")
    if name not in NAMES and not Path(name).is_file():
        raise TrothError(f"partition={str(name)!r} is not a file: choose {', '.join(NAMES)}, or a file of owners")


def make_partition(
    name: Owners,
    comm: Any,
    n: int,
    blocks: Callable[[], Blocks],
    whole: Callable[[], tuple[np.ndarray, np.ndarray]] | None,
) -> Partition:
    """The partition of a name, "block", "hash", "metis" or a file of owners, or of an array of owners.

    ``blocks`` makes the balanced blocks, ``whole`` the (indptr, indices) of the whole graph for METIS; None where no
    rank can have it.
    """
    if isinstance(name, np.ndarray):
        return Table(comm, n, share_of_owners(comm, n, "the owners", _whole("the owners", n, name)))
    if name == "block":
        return blocks()
    if name == "hash":
        return Hashed(n, comm.size)
    with agreeing(comm):
        check_name(name)
        if name == "metis" and whole is None:
            raise TrothError('partition="metis" needs a whole graph: generate it to a .csr folder first')
    if name == "metis" and whole is not None:
        return Table(comm, n, scattered(comm, n, lambda: metis_owners(comm, *whole())))
    path = Path(name)
    parts = _mapped(path, n) if path.suffix == ".npy" else _read(path, comm.size - 1)
    return Table(comm, n, share_of_owners(comm, n, path, parts))
