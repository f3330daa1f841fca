"""The graphs of the experiments: a table of named, seeded instances, and files of the user.

The papers measured matrices of a public collection. These instances are generated instead, in the same families, so
that every machine has the same graphs without a download. Lattices, Delaunay triangulations, random geometric graphs,
R-MAT, Erdos-Renyi and random bipartite graphs *are* what they are called. The others are stand-ins that share degrees
and shape with their namesakes, and nothing else:

- structural, fem: the 27-point pattern of finite elements with 3 or 6, or with 2 or 4 unknowns in each node;
- road: a Delaunay triangulation of which 45 % of the edges stay, so that the average degree is 2.7;
- power: a random geometric graph of degree 7 of which 40 % of the edges stay: average degree 2.8, many dead ends;
- circuit: a sparse random graph of degree 4 and a few nets, such as supply rails, that touch very many vertices;
- web, social: R-MAT with 8, and with 24 to 48, edges a vertex, and weights that repeat or that are skewed.

A spec is one of ``troth.generate``, plus the catalogue's own word ``keep``: the share of the edges that stay, chosen by
a hash of the edge. Vertices and edges in the table are nominal: exact for lattices, and before repeats go elsewhere.
"""

from __future__ import annotations

import hashlib
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from troth.errors import TrothError

if TYPE_CHECKING:
    from troth.graph import Graph

SIZES = ("tiny", "small", "full")
TINIEST, SMALL = 3_000, 1_300_000  # edges of the largest graphs of the sizes "tiny" and "small"
ROOM = 64  # bytes of main memory an edge, to make it, to hold it and to match it
A_CORE = 2**25  # edges a core, where there is no GPU: more would take hours
ENDINGS = (  # of the files of --folder; .txt alone is more often a text than a list of edges
    ".mtx", ".mtx.gz", ".graph", ".graph.gz", ".metis", ".metis.gz",
    ".edgelist", ".edgelist.gz", ".csv", ".csv.gz", ".txt.gz",
)  # fmt: skip

TINY = (
    ("structural", "tiny", "stencil:nx=4,ny=3,nz=3,unknowns=3,seed=1"),
    ("delaunay", "tiny", "delaunay:n=600,seed=2"),
    ("rmat", "tiny", "rmat:scale=8,edgefactor=8,seed=3"),
    ("road", "tiny", "delaunay:n=800,keep=0.45,seed=4"),
    ("bipartite", "tiny", "bipartite:left=300,right=300,m=1800,weights=integers,high=100,seed=5"),
)

TABLE = (
    ("structural", "100k", "stencil:nx=10,ny=10,nz=10,unknowns=3,seed=11"),
    ("structural", "400k", "stencil:nx=20,ny=16,nz=12,unknowns=3,weights=exponential,seed=12"),
    ("structural", "1m", "stencil:nx=16,ny=14,nz=12,unknowns=6,seed=13"),
    ("structural", "4m", "stencil:nx=33,ny=33,nz=33,unknowns=3,dtype=float64,seed=14"),
    ("structural", "15m", "stencil:nx=34,ny=32,nz=30,unknowns=6,weights=exponential,seed=15"),
    ("structural", "60m", "stencil:nx=82,ny=80,nz=78,unknowns=3,seed=16"),
    ("structural", "240m", "stencil:nx=82,ny=80,nz=78,unknowns=6,seed=17"),
    ("fem", "130k", "stencil:nx=16,ny=16,nz=10,unknowns=2,weights=exponential,seed=21"),
    ("fem", "800k", "stencil:nx=60,ny=60,nz=2,unknowns=4,seed=22"),
    ("fem", "1m", "stencil:nx=28,ny=28,nz=28,unknowns=2,dtype=float64,seed=23"),
    ("fem", "7m", "stencil:nx=52,ny=50,nz=50,unknowns=2,weights=exponential,seed=24"),
    ("fem", "27m", "stencil:nx=52,ny=50,nz=50,unknowns=4,seed=25"),
    ("fem", "110m", "stencil:nx=130,ny=128,nz=128,unknowns=2,seed=26"),
    ("mesh", "100k", "grid:rows=224,cols=224,seed=31"),
    ("mesh", "1m", "grid:rows=708,cols=708,weights=exponential,seed=32"),
    ("mesh", "3d-700k", "grid:rows=64,cols=64,layers=60,seed=33"),
    ("mesh", "8m", "grid:rows=2000,cols=2000,seed=34"),
    ("mesh", "3d-12m", "grid:rows=160,cols=160,layers=160,weights=integers,high=1000,seed=35"),
    ("mesh", "50m", "grid:rows=5000,cols=5000,seed=36"),
    ("delaunay", "100k", "delaunay:n=32768,seed=41"),
    ("delaunay", "400k", "delaunay:n=131072,weights=exponential,seed=42"),
    ("delaunay", "1m", "delaunay:n=350000,seed=43"),
    ("delaunay", "3m", "delaunay:n=1048576,seed=44"),
    ("delaunay", "6m", "delaunay:n=2097152,seed=45"),
    ("rgg", "200k", "rgg:n=32768,degree=12,seed=51"),
    ("rgg", "1m", "rgg:n=131072,degree=16,seed=52"),
    ("rgg", "3m", "rgg:n=524288,degree=13,weights=exponential,seed=53"),
    ("rgg", "15m", "rgg:n=2097152,degree=14,seed=54"),
    ("rgg", "60m", "rgg:n=8388608,degree=15,seed=55"),
    ("rgg", "260m", "rgg:n=33554432,degree=16,seed=56"),
    ("road", "100k", "delaunay:n=75000,keep=0.45,seed=61"),
    ("road", "700k", "delaunay:n=500000,keep=0.45,weights=integers,high=10000,seed=62"),
    ("road", "1m", "delaunay:n=900000,keep=0.45,seed=63"),
    ("road", "3m", "delaunay:n=2000000,keep=0.45,weights=exponential,seed=64"),
    ("power", "100k", "rgg:n=72000,degree=7,keep=0.4,seed=71"),
    ("power", "400k", "rgg:n=290000,degree=7,keep=0.4,weights=exponential,seed=72"),
    ("power", "1m", "rgg:n=860000,degree=7,keep=0.4,seed=73"),
    ("power", "6m", "rgg:n=4300000,degree=7,keep=0.4,dtype=float64,seed=74"),
    ("circuit", "100k", "hubs:n=45000,hubs=4,degree=5000,seed=81"),
    ("circuit", "500k", "hubs:n=220000,hubs=8,degree=10000,weights=exponential,seed=82"),
    ("circuit", "1m", "hubs:n=500000,hubs=6,degree=40000,seed=83"),
    ("circuit", "4m", "hubs:n=1600000,hubs=16,degree=60000,dtype=float64,seed=84"),
    ("circuit", "16m", "hubs:n=7000000,hubs=20,degree=100000,weights=exponential,seed=85"),
    ("web", "130k", "rmat:scale=14,edgefactor=8,weights=integers,high=100,seed=91"),
    ("web", "1m", "rmat:scale=17,edgefactor=8,weights=exponential,seed=92"),
    ("web", "8m", "rmat:scale=20,edgefactor=8,weights=integers,high=100,seed=93"),
    ("web", "33m", "rmat:scale=22,edgefactor=8,weights=exponential,seed=94"),
    ("web", "270m", "rmat:scale=25,edgefactor=8,weights=exponential,seed=95"),
    ("social", "200k", "rmat:scale=13,edgefactor=24,weights=exponential,seed=101"),
    ("social", "1m", "rmat:scale=15,edgefactor=36,seed=102"),
    ("social", "6m", "rmat:scale=17,edgefactor=48,weights=integers,high=5,seed=103"),
    ("social", "25m", "rmat:scale=20,edgefactor=24,weights=exponential,seed=104"),
    ("social", "130m", "rmat:scale=22,edgefactor=32,seed=105"),
    ("rmat", "130k", "rmat:scale=13,edgefactor=16,seed=111"),
    ("rmat", "1m", "rmat:scale=16,edgefactor=16,seed=112"),
    ("rmat", "4m", "rmat:scale=18,edgefactor=16,seed=113"),
    ("rmat", "17m", "rmat:scale=20,edgefactor=16,seed=114"),
    ("rmat", "67m", "rmat:scale=22,edgefactor=16,seed=115"),
    ("rmat", "270m", "rmat:scale=24,edgefactor=16,seed=116"),
    ("rmat", "1g", "rmat:scale=26,edgefactor=16,seed=117"),
    ("erdos-renyi", "130k", "erdos-renyi:n=16384,degree=16,seed=121"),
    ("erdos-renyi", "1m", "erdos-renyi:n=131072,degree=16,seed=122"),
    ("erdos-renyi", "8m", "erdos-renyi:n=1048576,degree=16,seed=123"),
    ("erdos-renyi", "34m", "erdos-renyi:n=4194304,degree=16,seed=124"),
    ("erdos-renyi", "130m", "erdos-renyi:n=8388608,degree=32,seed=125"),
    ("bipartite", "100k", "bipartite:left=20000,right=20000,m=100000,weights=integers,high=1000,seed=131"),
    ("bipartite", "1m", "bipartite:left=100000,right=60000,m=1000000,seed=132"),
    ("bipartite", "5m", "bipartite:left=500000,right=500000,m=5000000,weights=exponential,seed=133"),
    ("bipartite", "30m", "bipartite:left=2000000,right=1000000,m=30000000,seed=134"),
    ("stencil", "160k", "stencil:nx=24,ny=24,nz=24,seed=141"),
    ("stencil", "1m", "stencil:nx=46,ny=44,nz=44,weights=exponential,seed=142"),
    ("stencil", "6m", "stencil:nx=80,ny=80,nz=80,seed=143"),
    ("stencil", "50m", "stencil:nx=160,ny=160,nz=156,seed=144"),
    ("stencil", "210m", "stencil:nx=256,ny=254,nz=252,seed=145"),
)  # fmt: skip


class _Row(NamedTuple):
    name: str
    family: str
    spec: str


class Instance(_Row):
    """A graph of the catalogue, or a file: its name, its family, and the spec or path that it is made from."""

    @cached_property
    def nominal(self) -> tuple[int, int]:
        """Vertices and edges, known without making it; of a file, guessed from its size."""
        return _file_size(Path(self.spec)) if self.family == "file" else nominal(self.spec)

    @cached_property
    def origin(self) -> str:
        """What it is made from, the same on every machine: the spec, or a file's name and checksum."""
        if self.family != "file":
            return self.spec
        with open(self.spec, "rb") as stream:
            return f"{self.name} sha256={hashlib.file_digest(stream, 'sha256').hexdigest()[:16]}"

    @property
    def vertices(self) -> int:
        return self.nominal[0]

    @property
    def edges(self) -> int:
        return self.nominal[1]


def split(spec: str) -> tuple[str, float]:
    """A spec of ``troth.generate`` and the share of edges that stay.

    >>> split("delaunay:n=100,keep=0.45,seed=1")
    ('delaunay:n=100,seed=1', 0.45)
    """
    family, _, words = spec.partition(":")
    kept = [word for word in words.split(",") if not word.startswith("keep=")]
    keep = [word for word in words.split(",") if word.startswith("keep=")]
    return f"{family}:{','.join(kept)}", float(keep[0].removeprefix("keep=")) if keep else 1.0


def nominal(spec: str) -> tuple[int, int]:
    """Vertices and edges that a spec means, before loops and repeats go.

    >>> nominal("grid:rows=2,cols=3"), nominal("stencil:nx=2,ny=2,nz=2,unknowns=3")
    ((6, 7), (24, 276))
    >>> nominal("rmat:scale=10")
    (1024, 16384)
    """
    from troth.families.spec import read_request, split_spec

    plain, keep = split(spec)
    name, words = split_spec(plain)
    words.pop("device", None)
    n, m = _COUNTS[name](**read_request(name, **words).params)
    return n, int(m * keep)


def _lattice(shape: tuple[int, int, int], unknowns: int) -> tuple[int, int]:
    """Nodes that share a cell: along an axis of a nodes, 3 a - 2 ordered pairs are at most one apart."""
    n = int(np.prod(shape)) * unknowns
    return n, (unknowns**2 * int(np.prod([3 * side - 2 for side in shape])) - n) // 2


_COUNTS = {
    "grid": lambda rows, cols, layers: (
        rows * cols * layers, (rows - 1) * cols * layers + rows * (cols - 1) * layers + rows * cols * (layers - 1)
    ),
    "stencil": lambda nx, ny, nz, unknowns: _lattice((nx, ny, nz), unknowns),
    "rmat": lambda scale, edgefactor: (2**scale, 2**scale * edgefactor),
    "erdos-renyi": lambda n, degree: (n, int(n * degree / 2)),
    "rgg": lambda n, degree: (n, int(n * degree / 2)),
    "delaunay": lambda n: (n, 3 * n),
    "bipartite": lambda left, right, m: (left + right, m),
    "path": lambda n: (n, max(n - 1, 0)),
    "hubs": lambda n, hubs, degree: (n, 2 * n + hubs * degree),
    "complete": lambda n: (n, n * (n - 1) // 2),
}  # fmt: skip


def _file_size(path: Path) -> tuple[int, int]:
    """A guess from the bytes of a text file: about 16 an edge, 5 where packed."""
    edges = max(1, path.stat().st_size // (5 if path.suffix == ".gz" else 16))
    return edges, edges


def make(spec: str, device: str = "cpu") -> Graph:
    """The graph of a spec."""
    from troth.families import from_spec

    plain, keep = split(spec)
    graph = from_spec(plain if device == "cpu" or keep < 1 else f"{plain},device={device}")
    return graph if keep == 1 else thin(graph, keep).to(device)


def thin(graph: Graph, keep: float, seed: int = 0) -> Graph:
    """The graph with a share ``keep`` of its edges, chosen by a hash of (seed, u, v), with their weights.

    >>> from troth import generate
    >>> thin(generate("grid", rows=30, cols=30), 0.5).m
    859
    """
    from troth.families.weights import weigh
    from troth.graph import Graph

    draws = weigh(graph.indptr, graph.indices, "uniform", np.uint64(seed + 0x7468696E), np.dtype(np.float32), 0)
    stays = draws <= np.float32(keep)
    before = np.concatenate([[0], np.cumsum(stays, dtype=np.int64)])
    return Graph.trusted(before[graph.indptr], graph.indices[stays], graph.weights[stays])


def instances() -> list[Instance]:
    """All of the table, the tiny ones first."""
    return [Instance(f"{family}-{size}", family, spec) for family, size, spec in TINY + TABLE]


def most_edges(size: str, memory: int, cores: int, gpu: bool) -> int:
    """Edges of the largest graphs of a size: "full" is what memory holds, and what the cores can do in minutes.

    >>> most_edges("full", 2**34, 2, gpu=False), most_edges("full", 2**34, 2, gpu=True)
    (67108864, 268435456)
    """
    if size != "full":
        return TINIEST if size == "tiny" else SMALL
    return memory // ROOM if gpu else min(memory // ROOM, A_CORE * cores)


def of_size(size: str, most: int) -> list[Instance]:
    """The instances of a size, of up to ``most`` edges; the tiny ones are for tests and in no other size."""
    found = instances()
    return found[: len(TINY)] if size == "tiny" else [each for each in found[len(TINY) :] if each.edges <= most]


def is_file(name: str) -> bool:
    """Whether a graph of this name is a file, and so of the family "file".

    >>> is_file("karate.mtx.gz"), is_file("rmat-1m")
    (True, False)
    """
    return name.lower().endswith(ENDINGS)


def of_folder(folder: Path) -> list[Instance]:
    """Every MatrixMarket file, METIS file and list of edges of a folder."""
    if not folder.is_dir():
        raise TrothError(f"{folder}: there is no such folder")
    paths = sorted(path for path in folder.iterdir() if path.is_file() and is_file(path.name))
    if not paths:
        raise TrothError(f"{folder}: no MatrixMarket file, METIS file or list of edges there ({' '.join(ENDINGS)})")
    return [Instance(path.name, "file", str(path)) for path in paths]


def choose(found: list[Instance], patterns: list[str]) -> list[Instance]:
    """Those whose name or family is among the patterns, in which * stands for anything; all where there is none."""
    for pattern in patterns:
        if not any(fnmatchcase(each.name, pattern) or each.family == pattern for each in found):
            raise TrothError(f"--graphs {pattern}: no such graph or family at this size; --catalogue prints all")
    wanted = [each for each in found if any(fnmatchcase(each.name, p) or each.family == p for p in patterns)]
    return wanted if patterns else found
