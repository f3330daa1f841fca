"""The table of families, ``generate``, and the text form ``family:name=value,...``.

Every value is checked here against its row of the table; the functions of ``structures.py`` check only what concerns
two values together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from troth.errors import TrothError
from troth.families import host, structures
from troth.families.weights import DTYPES, HIGH, NEAR, RULES, weight_type
from troth.graph import Graph
from troth.inputs import MAX_VERTICES
from troth.words import did_you_mean

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class Param(NamedTuple):
    """A parameter of a family: ``default`` None means that it must be given; a value lies in ``least..most``."""

    name: str
    help: str
    default: int | None = None
    least: int = 1
    most: int = MAX_VERTICES
    kind: type = int


class Family(NamedTuple):
    """A row of ``FAMILIES``: ``make(on, seed, **params)`` returns ``(indptr, indices)``; see ``structures.py``.

    ``places(seed, **params)``, where the family has them, are x and y of every vertex.
    """

    make: Callable[..., Any]
    help: str
    params: tuple[Param, ...]
    places: Callable[..., np.ndarray | None] | None = None


_N = Param("n", "vertices", least=0)
_DEGREE = Param("degree", "average degree", least=0, kind=float)

FAMILIES = {
    "grid": Family(
        structures.grid,
        "a box of vertices, each joined to the next along every axis",
        (Param("rows", "rows"), Param("cols", "columns"), Param("layers", "layers; 1 makes a plane grid", 1)),
        structures.grid_places,
    ),
    "stencil": Family(
        structures.stencil,
        "27-point finite elements: the unknowns of nodes that share a cell are all coupled",
        (
            Param("nx", "nodes along x, the fastest"),
            Param("ny", "nodes along y"),
            Param("nz", "nodes along z"),
            Param("unknowns", "vertices of each node", 1),
        ),
    ),
    "rmat": Family(
        structures.rmat,
        "Graph500's recursive matrix: skewed degrees, hubs at the low numbers",
        (
            Param("scale", "2^scale vertices", most=30),
            Param("edgefactor", "drawn edges per vertex, before loops and repeats go", 16, most=2**16),
        ),
    ),
    "erdos-renyi": Family(
        structures.erdos_renyi, "n * degree / 2 edges drawn uniformly, repeats removed", (_N, _DEGREE)
    ),
    "rgg": Family(
        structures.rgg,
        "random points in the unit square, joined where they are near",
        (_N, _DEGREE._replace(help="average degree away from the border")),
        structures.rgg_places,
    ),
    "delaunay": Family(
        structures.delaunay,
        "Delaunay triangulation of random points in the unit square",
        (_N._replace(least=3),),
        structures.delaunay_places,
    ),
    "bipartite": Family(
        structures.bipartite,
        "edges drawn uniformly between two sides, repeats removed",
        (
            Param("left", "vertices of the left side, numbered first"),
            Param("right", "vertices of the right side"),
            Param("m", "drawn edges", least=0, most=2**53),
        ),
        structures.bipartite_places,
    ),
    "path": Family(structures.path, "vertices in a line", (_N,)),
    "hubs": Family(
        structures.hubs,
        f"a random graph of average degree {structures.SPARSE} and a few vertices of very large degree",
        (
            _N._replace(least=2),
            Param("hubs", "hubs, spread evenly over the numbers", least=0),
            Param("degree", "drawn edges of each hub"),
        ),
    ),
    "complete": Family(structures.complete, "all pairs of vertices", (_N,)),
}

ALIASES = {"er": "erdos-renyi"}

COMMON = {
    "weights": f"one of {', '.join(RULES)}",
    "seed": "a whole number",
    "dtype": f"type of the weights, one of {', '.join(DTYPES)}",
    "high": f"greatest weight of weights=integers ({HIGH})",
    "device": "where it is made and stays: cpu, cuda or cuda:1 (cpu)",
}

_SEED = Param("seed", COMMON["seed"], least=-(2**63), most=2**64 - 1)
_HIGH = Param("high", COMMON["high"], most=2**53)


def generate(
    family: str,
    *,
    weights: str = "uniform",
    seed: int = 0,
    dtype: DTypeLike | None = None,
    high: int | None = None,
    device: str = "cpu",
    **params: float | str,
) -> Graph:
    """A graph of a seeded family.

    The arrays are a function of the arguments alone: the same on every machine, for any number of threads and on a GPU.
    (One exception: where four points of ``delaunay`` lie within rounding of one circle, Qhull picks the diagonal.) Time
    and memory are linear in the vertices and drawn edges, but for the time of ``delaunay``, O(n log n).

    Parameters
    ----------
    family : str
        "grid", "stencil", "rmat", "erdos-renyi" (or "er"), "rgg", "delaunay", "bipartite", "path", "hubs" or
        "complete"; ``troth generate --help`` lists the parameters of each.
    weights : str, optional
        "uniform" in (0, 1], "unit" (all 1), "integers" from 1 to ``high``, "exponential" of mean 1, "increasing" (1,
        2, ... in the order of the edges), "trap", for which greedy gets half of the optimum on a path, or, for "rgg"
        alone, "near": 1 - (d / r)^2 for ends at distance d, where points nearer than r are joined.
    seed : int, optional
        From -2^63 to 2^64 - 1.
    dtype : dtype_like, optional
        Type of the weights; by default float32, or int32 for "integers" and "increasing".
    high : int, optional
        The greatest weight of the rule "integers".
    device : str, optional
        "cpu", or "cuda" or "cuda:1" for a graph that is made on a GPU and stays there. The triangles of "delaunay" are
        made on the CPU all the same, and copied.
    **params : int, float or str
        The family's own, as numbers or as text.

    Returns
    -------
    Graph

    Examples
    --------
    >>> generate("grid", rows=2, cols=3)
    Graph(n=6, m=7, weights=float32)
    >>> generate("path", n=5, weights="increasing").weights.tolist()
    [1, 1, 2, 2, 3, 3, 4, 4]
    >>> generate("complete", n=4, weights="integers", high=3, dtype="uint8", seed=7).indices.tolist()
    [1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2]
    """
    asked = read_request(family, weights=weights, seed=seed, dtype=dtype, high=high, **params)
    on, there = _device(asked.family, str(device))
    with asked.fitting(), there:  # a GPU without room raises an error of its own
        indptr, indices = asked.make(on)
        return Graph.trusted(indptr, indices, asked.weigh(on, indptr, indices))


class FamilyRequest(NamedTuple):
    """What the arguments of ``generate`` mean, checked: a family, its parameters, and how its edges are weighted."""

    family: str
    params: dict[str, int | float]
    weights: str
    seed: np.uint64
    kind: np.dtype
    high: int

    def make(self, on: Any) -> tuple[Any, Any]:
        """The structure, made by ``on`` (see ``structures.py``)."""
        return FAMILIES[self.family].make(on, self.seed, **self.params)

    def weigh(self, on: Any, indptr: Any, indices: Any) -> Any:
        """The weights of that structure, made by ``on``."""
        if RULES[self.weights].code == NEAR:
            return structures.near_weights(on, (indptr, indices), self.seed, self.kind, **self.params)
        return on.weigh(indptr, indices, self.weights, self.seed, self.kind, self.high)

    @contextmanager
    def fitting(self) -> Iterator[None]:
        """Refuse in one line what does not fit into memory."""
        try:
            yield
        except MemoryError:
            sizes = ", ".join(f"{key}={value}" for key, value in self.params.items())
            raise TrothError(f"{self.family} with {sizes} does not fit into memory: choose smaller sizes") from None


def read_request(
    family: str, *, weights: str = "uniform", seed: int = 0, dtype: Any = None, high: int | None = None, **params: Any
) -> FamilyRequest:
    """Check the arguments of ``generate``; values may be text."""
    name = _family(family)
    if not isinstance(weights, str) or weights not in RULES:
        raise TrothError(f"{name}: weights={weights!r} is not a rule: choose {', '.join(RULES)}")
    if RULES[weights].family not in (None, name):
        others = ", ".join(rule for rule, row in RULES.items() if row.family is None)
        raise TrothError(f"{name}: weights={weights} is for {RULES[weights].family} alone: choose {others}")
    if high is not None and weights != "integers":
        raise TrothError(f"{name}: high is for weights=integers, not weights={weights}: leave it out")
    values = _values(name, params)
    number = np.uint64(_number(name, _SEED, seed) % 2**64)
    most = HIGH if high is None else int(_number(name, _HIGH, high))
    return FamilyRequest(name, values, weights, number, weight_type(weights, dtype, most), most)


def _device(name: str, device: str) -> tuple[ModuleType, AbstractContextManager]:
    """The module that makes graphs on a device, and the context in which it does so."""
    if device == "cpu":
        return host, nullcontext()
    if device.partition(":")[0] != "cuda":
        raise TrothError(f"{name}: device={device!r} is not known: choose cpu, cuda or cuda:1")
    from troth.arrays import device_number, using

    there = using(device_number(device))
    from troth.families import cuda

    return cuda, there


def is_spec(text: str) -> bool:
    """Whether the text names a family: its name, followed by the end or a colon.

    >>> is_spec("grid:rows=3,cols=3"), is_spec("er"), is_spec("grid.mtx")
    (True, True, False)
    """
    name = text.partition(":")[0]
    return name in FAMILIES or name in ALIASES


def from_spec(text: str) -> Graph:
    """The graph that a text names, such as ``grid:rows=1000,cols=1000,weights=unit,seed=1``; see ``generate``.

    >>> from_spec("stencil:nx=2,ny=2,nz=2,unknowns=3,weights=unit")
    Graph(n=24, m=276, weights=float32)
    """
    name, words = split_spec(text)
    return generate(name, **words)


def places_of(text: Any) -> np.ndarray | None:
    """Where the vertices of the graph lie that a text names, n rows of x and y; None where the text says nothing of it.

    >>> places_of("grid:rows=2,cols=2").tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, -1.0], [1.0, -1.0]]
    >>> places_of("rmat:scale=3"), places_of("graph.mtx")
    (None, None)
    """
    if not isinstance(text, str) or not is_spec(text):
        return None
    name, words = split_spec(text)
    words.pop("device", None)
    asked = read_request(name, **words)
    places = FAMILIES[asked.family].places
    return None if places is None else places(asked.seed, **asked.params)


def split_spec(text: str) -> tuple[str, dict[str, Any]]:
    """The family that a text names, and its words.

    >>> split_spec("grid:rows=3,cols=4")
    ('grid', {'rows': '3', 'cols': '4'})
    """
    name, _, rest = text.partition(":")
    words: dict[str, Any] = {}
    for item in filter(None, rest.split(",")):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not key or not equals or not value:
            raise TrothError(f"{text!r}: {item!r} is not name=value; write for example grid:rows=1000,cols=1000")
        if key in words:
            raise TrothError(f"{text!r}: {key} is given twice; leave one")
        words[key] = value
    name = _family(name)
    _check_names(name, words)
    return name, words


def _family(name: Any) -> str:
    """The family's full name."""
    if not isinstance(name, str) or not is_spec(name) or ":" in name:
        hint = did_you_mean(name, (*FAMILIES, *ALIASES))
        raise TrothError(f"{name!r} is not a family{hint}: choose {', '.join(FAMILIES)}")
    return ALIASES.get(name, name)


def _check_names(name: str, given: Iterable[str]) -> None:
    takes = [param.name for param in FAMILIES[name].params] + list(COMMON)
    for key in given:
        if key not in takes:
            hint = did_you_mean(key, takes)
            raise TrothError(f"{name} has no parameter {key!r}{hint}: it takes {', '.join(takes)}")


def _values(name: str, given: Mapping[str, Any]) -> dict[str, int | float]:
    """The family's parameters, complete and checked."""
    _check_names(name, given)
    params = FAMILIES[name].params
    values = {}
    for param in params:
        value = given.get(param.name, param.default)
        if value is None:
            needs = ",".join(f"{each.name}=..." for each in params if each.default is None)
            raise TrothError(f"{name} needs {param.name}: write {name}:{needs}")
        values[param.name] = _number(name, param, value)
    return values


def _number(name: str, param: Param, value: Any) -> int | float:
    """The value, perhaps text, as a number of the parameter's kind and range; 1e6 is a whole number."""
    try:
        number = _as_number(value) if isinstance(value, str) else value
        exact = param.kind(number)
        fine = not isinstance(value, (bool, np.bool_)) and exact == number and param.least <= exact <= param.most
    except (TypeError, ValueError, OverflowError):
        fine = False
    if not fine:
        what = "a whole number" if param.kind is int else "a number"
        raise TrothError(f"{name}: {param.name}={value!r} must be {what} from {param.least} to {param.most}")
    return exact


def _as_number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
