"""Graphs on disk: ``.csr`` folders with a checksum, under the user's cache folder.

An entry is named after the graph and a hash of its spec, so a changed spec is another entry. Its ``checksum.json``
holds the SHA-256 of every array; an entry that does not agree, or cannot be read, is made again. Arrays are
read, not mapped: pages that the system brings in later would be timed with the matching.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np

from bench.catalogue import Instance, make
from troth.errors import TrothError
from troth.graph import Graph
from troth.io import csr
from troth.io.atomic import atomic_path

SUM = "checksum.json"
MARGIN = 2  # times the bytes of a graph that the disk must have free to keep it


def folder_of(given: Path | None) -> Path:
    """Where graphs are kept: what is given, TROTH_CACHE, or ``troth/graphs`` in the user's cache folder."""
    if given or os.environ.get("TROTH_CACHE"):
        return Path(given or os.environ["TROTH_CACHE"])
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "troth" / "graphs"


def load(instance: Instance, folder: Path) -> Graph:
    """The graph of an instance: from the cache where it is there and whole, else made, and kept where there is room."""
    if instance.family == "file":
        from troth.api.opening import read

        return read(instance.spec, weights="paper", symmetrize="max")
    entry = folder / f"{instance.name}-{hashlib.sha256(instance.spec.encode()).hexdigest()[:8]}.csr"
    found = _open(entry)
    if found is not None:
        return found
    graph = make(instance.spec)
    _keep(graph, entry)
    return graph


def checksums(graph: Graph) -> dict[str, str]:
    """SHA-256 of the arrays of a graph."""
    arrays = {"indptr": graph.indptr, "indices": graph.indices, "weights": graph.weights}
    return {name: hashlib.sha256(array.view(np.uint8)).hexdigest() for name, array in arrays.items()}


def _open(entry: Path) -> Graph | None:
    """The graph of an entry, or None where that is absent or damaged."""
    try:
        found = csr.open_csr(entry)
        graph = Graph(*(np.array(array) for array in (found.indptr, found.indices, found.weights)))
        return graph if json.loads((entry / SUM).read_text()) == checksums(graph) else None
    except (OSError, ValueError):  # a TrothError is a ValueError too
        return None


def _keep(graph: Graph, entry: Path) -> None:
    """Write an entry whole or not at all; a disk that is full or read-only only costs the time to make it again."""
    size = graph.indptr.nbytes + graph.indices.nbytes + graph.weights.nbytes
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(entry.parent).free < MARGIN * size:
            return
        with atomic_path(entry) as beside:
            csr.write(graph, beside)
            (beside / SUM).write_text(json.dumps(checksums(graph)) + "\n")
    except (OSError, TrothError):
        return
