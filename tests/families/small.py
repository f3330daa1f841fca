"""What the tests of the families share: one small graph of each, their edges, and a checksum of their arrays."""

from __future__ import annotations

import zlib

from troth import reference
from troth.families import RULES

SMALL = (
    "grid:rows=5,cols=7",
    "grid:rows=3,cols=4,layers=5",
    "stencil:nx=4,ny=3,nz=2,unknowns=3",
    "rmat:scale=8,edgefactor=5",
    "erdos-renyi:n=200,degree=6.5",
    "rgg:n=300,degree=9",
    "delaunay:n=150",
    "bipartite:left=40,right=70,m=300",
    "path:n=33",
    "hubs:n=300,hubs=3,degree=120",
    "complete:n=17",
)


def rules_of(spec: str) -> list[str]:
    """The rules for weights that a spec's family takes."""
    return [name for name, rule in RULES.items() if rule.family in (None, spec.partition(":")[0])]


def edge_set(graph) -> set[tuple[int, int]]:
    return set(reference.edges(graph))


def checksum(graph) -> int:
    total = 0
    for array in (graph.indptr, graph.indices, graph.weights):
        total = zlib.crc32(array.astype(array.dtype.newbyteorder("<")).tobytes(), total)
    return total
