"""``Graph``: the compressed sparse row form of an undirected, simple graph with positive weights.

Everything past the gate trusts these arrays: both directions are stored with equal weights, each row is sorted by
neighbour and free of repeats, there are no loops, and no weight is zero, negative, infinite or NaN.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from troth.arrays import check_room, cupy, device_number, device_of, is_on_device, packages_of, to_host, using
from troth.errors import TrothError
from troth.gate.findings import FINGERPRINT, GREATEST, LOOPS, NONFINITE, NONPOSITIVE, OUTSIDE, UNSORTED
from troth.inputs import MAX_VERTICES, Matrix, Sparse
from troth.neighbours.networkx import edges_to_networkx
from troth.neighbours.scipy import rows_to_scipy

if TYPE_CHECKING:
    import networkx
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An undirected, simple, positively weighted graph in CSR form.

    ``as_graph``, ``read`` and ``generate`` make one of anything. The constructor takes arrays that are a graph already,
    and refuses those that are not: one pass over them. A graph may share arrays with what it was made of, and
    keeps what was found of them, so they must not be changed.

    Attributes
    ----------
    indptr : ndarray of int64, length n + 1
        Where each row begins, and the end of the last. All arrays are NumPy's, or CuPy's where the graph is on a GPU.
    indices : ndarray of int32, length 2 m
        The neighbours, each row ascending.
    weights : ndarray, length 2 m
        The weight of every entry, in its own type.
    vertex_weights : ndarray, length n, or None
        One number, or one row of numbers, a vertex.
    ids : ndarray, length n, or None
        The user's names of the vertices, None where they are the numbers themselves.
    notes : dict of str to int
        What the gate changed (``{"loops": 4}``).
    reward : int, float or None
        Where the graph was made of costs (``maximize=False``): a weight is ``reward - cost``. None in all others.

    Examples
    --------
    >>> Graph(np.array([0, 1, 2]), np.array([1, 0], np.int32), np.array([0.5, 0.5]))
    Graph(n=2, m=1, weights=float64)
    >>> Graph(np.array([0, 1, 1]), np.array([1], np.int32), np.array([0.5]))
    Traceback (most recent call last):
    troth.errors.TrothError: these arrays are no graph: the two directions of some edge differ; troth.as_graph makes one
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    vertex_weights: np.ndarray | None = None
    ids: np.ndarray | None = None
    notes: dict[str, int] = field(default_factory=dict)
    weight_range: tuple[int, int, int] | None = field(default=None, init=False)
    reward: int | float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if reason := _why_no_graph(self.indptr, self.indices, self.weights):
            raise TrothError(f"these arrays are no graph: {reason}; troth.as_graph makes one")

    @classmethod
    def trusted(
        cls,
        indptr: Any,
        indices: Any,
        weights: Any,
        vertex_weights: Any = None,
        ids: np.ndarray | None = None,
        notes: dict[str, int] | None = None,
        weight_range: tuple[int, int, int] | None = None,
        reward: int | float | None = None,
    ) -> Graph:
        """A graph of arrays that are known to be one; nothing is checked. For the gate and what stands behind it.

        Parameters
        ----------
        indptr, indices, weights, vertex_weights, ids : ndarray
            The attributes of the graph.
        notes : dict of str to int, optional
            What the gate changed.
        weight_range : tuple of int, optional
            What ``bits_range`` returns, where that is known already.
        reward : int or float, optional
            What costs were taken from, where the weights were made of them.

        Returns
        -------
        Graph
        """
        graph = object.__new__(cls)
        notes = {} if notes is None else notes
        values = (indptr, indices, weights, vertex_weights, ids, notes, weight_range, reward)
        for name, value in zip(cls.__dataclass_fields__, values, strict=True):
            object.__setattr__(graph, name, value)
        return graph

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1

    @property
    def m(self) -> int:
        """Number of undirected edges."""
        return len(self.indices) // 2

    @cached_property
    def device(self) -> str:
        """Where the arrays are: "cpu", or "cuda:0"."""
        return device_of(self.indptr)

    def __repr__(self) -> str:
        place = "" if self.device == "cpu" else f", device={self.device!r}"
        return f"Graph(n={self.n}, m={self.m}, weights={self.weights.dtype}{place})"

    def replaced(self, **changes: Any) -> Graph:
        """The same graph with some attributes changed; nothing is checked.

        Parameters
        ----------
        **changes : object
            Attributes by name.

        Returns
        -------
        Graph
        """
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Graph.trusted(**{**values, **changes})

    def to(self, device: str) -> Graph:
        """The same graph on "cpu", "cuda" or "cuda:1"; itself where it is there already.

        Parameters
        ----------
        device : str
            "cpu", "cuda" (CuPy's current device) or "cuda:1"; a ``torch.device`` too.

        Returns
        -------
        Graph
        """
        device = str(device)
        if device == self.device or (device == "cuda" and self.device != "cpu"):
            return self
        if device == "cpu":
            return self._converted(to_host)
        number = device_number(device)
        arrays = self.indptr, self.indices, self.weights, self.vertex_weights
        check_room(number, sum(array.nbytes for array in arrays if array is not None), "the graph")
        from troth.kernels.feeding import send

        with using(number):
            return self._converted(send if self.device == "cpu" else cupy().asarray)

    def _converted(self, convert: Any) -> Graph:
        names = ["indptr", "indices", "weights"]  # the users' names stay on the host: they may be text
        if self.vertex_weights is not None:
            names.append("vertex_weights")
        return self.replaced(**{name: convert(getattr(self, name)) for name in names})

    def bits_range(self) -> tuple[int, int, int]:
        """Least, greatest and union (bitwise or) of the weight bits (see ``order.py``); ones where there is no edge."""
        if self.weight_range is None:
            found = _kernels(self.weights).span(self.weights) if self.weights.size else (1, 1, 1)
            object.__setattr__(self, "weight_range", found)
            return found
        return self.weight_range

    def degree_classes(self, most: int) -> np.ndarray:
        """``most - min(degree, most)`` of every vertex, as uint8: larger for fewer neighbours (see ``order.py``).

        Parameters
        ----------
        most : int
            At most 255.

        Returns
        -------
        ndarray of uint8
        """
        return _kernels(self.indptr).degree_classes(self.indptr, most)

    def to_scipy(self) -> csr_array:
        """The adjacency matrix, which shares ``indices`` and ``weights``; a graph on a GPU is copied.

        Returns
        -------
        scipy.sparse.csr_array
        """
        host = self.to("cpu")
        return rows_to_scipy(host.indptr, host.indices, host.weights)

    def to_networkx(self) -> networkx.Graph:
        """The graph as NetworkX has it: nodes are ``ids`` where there are some, edges have the attribute "weight".

        Returns
        -------
        networkx.Graph

        Examples
        --------
        >>> import troth
        >>> G = troth.generate("path", n=3, weights="unit").to_networkx()
        >>> list(G.edges(data="weight"))
        [(0, 1, 1.0), (1, 2, 1.0)]
        """
        host = self.to("cpu")
        return edges_to_networkx(host.indptr, host.indices, host.weights, host.ids)

    def to_matrix(self) -> Matrix:
        """What the gate takes, with the arrays where they are."""
        matrix = Sparse("csr", (self.n, self.n), self.weights, indptr=self.indptr, indices=self.indices)
        return Matrix(matrix, False, self.vertex_weights, self.ids)


def _kernels(array: Any) -> Any:
    """The kernels of the gate for where an array is."""
    if is_on_device(array):
        from troth.gate import cuda

        return cuda
    from troth.gate import cpu

    return cpu


def _why_no_graph(indptr: Any, indices: Any, weights: Any) -> str:
    """What is wrong with the arrays of a graph; empty where nothing is."""
    for name, array, kind in (("indptr", indptr, np.int64), ("indices", indices, np.int32), ("weights", weights, None)):
        known = not {"numpy", "cupy"}.isdisjoint(packages_of(array))
        if not known or array.ndim != 1 or not array.flags.c_contiguous or (kind and array.dtype != kind):
            return f"{name} is not a flat array" + (f" of {np.dtype(kind).name}" if kind else "")
    if len({array.device.id if is_on_device(array) else None for array in (indptr, indices, weights)}) > 1:
        return "indptr, indices and weights are not on one device"
    if weights.dtype.kind not in "iuf" or weights.dtype.itemsize > 8 or weights.dtype == np.float16:
        return f"weights of type {weights.dtype} have no exact order"
    n, entries = len(indptr) - 1, len(indices)
    if not 0 <= n <= MAX_VERTICES or entries != len(weights):
        return "the lengths of indptr, indices and weights do not fit"
    if int(indptr[0]) != 0 or int(indptr[-1]) != entries or bool((indptr[1:] < indptr[:-1]).any()):
        return "indptr is not a rising sequence from 0 to the number of entries"
    if not entries:
        return ""
    with using(indptr.device.id) if is_on_device(indptr) else nullcontext():
        found = _kernels(indptr).check(indptr, indices, weights)
    reasons = {
        OUTSIDE: "a neighbour is no vertex",
        UNSORTED: "a row is not ascending, or has a neighbour twice",
        NONFINITE: "a weight is not finite",
        LOOPS: "a vertex is its own neighbour",
        NONPOSITIVE: "a weight is not positive",
        FINGERPRINT: "the two directions of some edge differ",
    }
    too_much = "a weight is 2^63 or more" if weights.dtype == np.uint64 and found[GREATEST] >= 2**63 else ""
    return next((reason for column, reason in reasons.items() if found[column]), too_much)
