"""``assign``: pairs of rows and columns of a matrix, by the auction on the bipartite graph that they make.

An auction is at its best on two sides. Its guarantee is OPT / ((1 + eps) (1 + slack)) there, and its prices prove it:
in a bipartite graph the least bound that prices can give is the optimum itself (Egerváry), so with less ``eps``
the proof comes as near as one likes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from troth.api.calls import find_matching, goal_of, refuse_purpose
from troth.api.checking import certify_mates
from troth.api.proof import MOST_ROUNDS, Certificate, gap_of, nearness
from troth.api.request import make_request
from troth.api.result import Matching
from troth.arrays import arrays_of, as_cupy, is_on_device, packages_of, plain
from troth.contract import Progress
from troth.errors import TrothError
from troth.gate.sides import two_sides
from troth.gate.worth import read_purpose
from troth.graph import Graph
from troth.inputs import Matrix
from troth.kernels.compiling import Stopwatch
from troth.words import at_least


@dataclass(frozen=True, eq=False, repr=False)
class Assignment:
    """Pairs of a row and a column, none of them in two pairs; ``rows, cols = troth.assign(A)`` takes it apart.

    Attributes
    ----------
    rows, cols : ndarray of int64
        The pairs, by ascending row; on the GPU where the matrix was.
    shape : tuple of int
        How many rows and columns there are.
    matching : Matching
        The same pairs, of the graph whose vertices are the rows and then the columns.
    prices : ndarray of float32 or None
        What the auction ended with, a number for each row and then each column; the certificate starts from them.
    """

    rows: np.ndarray
    cols: np.ndarray
    shape: tuple[int, int]
    matching: Matching
    prices: np.ndarray | None = None

    @property
    def weight(self) -> int | float:
        """int or float: what the pairs are worth: their weights, or ``reward - cost`` of each, added up."""
        return self.matching.weight

    @property
    def cost(self) -> int | float | None:
        """int, float or None: what the pairs cost, where costs are minimised."""
        return self.matching.cost

    @property
    def reward(self) -> int | float | None:
        """int, float or None: what costs were taken from."""
        return self.matching.graph.reward

    @cached_property
    def certificate(self) -> Certificate:
        """Certificate: a proof of how much of the optimum ``weight`` is; found when it is first asked for."""
        if self.matching.certificate is not None:
            return self.matching.certificate
        near, threads = nearness(self.stats["eps"]), self.stats.get("threads")
        return certify_mates(self.matching.graph, self.matching, threads, *near, self.prices)

    @property
    def gap(self) -> float | None:
        """float or None: where costs are minimised, the part of the cost that may be too much, proven.

        No pairs, as many as these, cost less than (1 - gap) of what these do.
        """
        if self.cost is None or self.reward is None:
            return None
        return gap_of(self.certificate, self.cost, self.reward, len(self.rows))

    @property
    def stats(self) -> dict[str, Any]:
        """dict: what the auction counted, and under "seconds" what took how long."""
        return self.matching.stats

    @property
    def device(self) -> str:
        """str: where it ran: "cpu", "cuda:0", "mpi" or "mpi+cuda"."""
        return self.matching.device

    def __iter__(self) -> Iterator[np.ndarray]:
        """``rows``, then ``cols``."""
        return iter((self.rows, self.cols))

    def __repr__(self) -> str:
        facts = [f"pairs={len(self.rows)}", f"weight={self.weight}"]
        facts += [] if self.cost is None else [f"cost={self.cost}"]
        proof = self.matching.certificate or vars(self).get("certificate")
        facts += [] if proof is None else [f"ratio>={at_least(proof.ratio)}"]
        return f"Assignment({', '.join(facts)}, shape={self.shape}, device={self.device!r})"


def assign(
    A: Any,
    *,
    maximize: bool = True,
    reward: float | None = None,
    device: str = "auto",
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Assignment:
    """Pair rows with columns, each at most once: the heaviest pairs, or the cheapest, as nearly as is asked.

    Parameters
    ----------
    A : array or sparse matrix
        Of any shape. Sparse: SciPy's or CuPy's of any format, or a torch tensor; what is not stored is forbidden, a
        stored zero is an entry, and entries at one place add up. Dense: an array of NumPy, CuPy or torch, or nested
        lists; every number is an entry. In both, infinity (of either sign) forbids a pair, and NaN is an error.
    maximize : bool, optional
        True: entries are what pairs are worth, and those of 0 or less are of no use. False: they are costs, negative
        ones too, and a pair is worth ``reward - cost``; pairs that cost the reward or more are not made.
    reward : int or float, optional
        With ``maximize=False``; by default the largest cost. More pairs are not favoured over cheaper ones: who wants
        as many as possible gives a larger reward.
    device : str, optional
        As in ``match``. The pairs do not depend on it.
    seed : int, optional
        Of the scramble that settles ties.
    threads : int, optional
        By default as many as there are cores and work for them; the pairs do not depend on it.
    progress : callable, optional
        Called as ``progress(phase, done, total)`` now and then.
    **options : dict
        Of the auction: ``eps`` and ``slack``, 0.02 each; ``rounds``; ``polish``. ``target``, a ratio such as 0.999:
        begin anew with less ``eps`` until it is certified. ``gap``, with ``maximize=False``: the same until what is not
        certified is such a part of the cost, 0.02 where it is not given.

    Returns
    -------
    Assignment
        ``rows, cols, weight, cost, certificate``; ``rows, cols = assign(A)`` works as with SciPy's
        ``linear_sum_assignment``.

    Notes
    -----
    The pairs have OPT / ((1 + eps) (1 + slack)) or more of the greatest weight, usually well above 99 % of it, and the
    certificate proves how much. Not every row need be paired: a pair is made for what it is worth, and a cheaper one
    may take the place of two. Where a ``target`` or ``gap`` is not reached, ``stats["note"]`` says so, and
    ``certificate`` and ``gap`` say what is proven.

    Time: a few passes over the entries, and more with less ``eps``; memory: 24 bytes an entry, since weights
    are held as int64 or float64, once by rows and once by columns.

    Examples
    --------
    >>> A = [[4, 1, 3], [2, 0, 5], [3, 2, 2]]
    >>> rows, cols = assign(A)
    >>> rows.tolist(), cols.tolist()
    ([0, 1, 2], [0, 2, 1])
    >>> cheap = assign(A, maximize=False)
    >>> cheap.rows.tolist(), cheap.cols.tolist(), cheap.cost, cheap.gap
    ([0, 1, 2], [1, 0, 2], 5, 0.0)
    """
    request = make_request("auction", device, seed=seed, threads=threads, options={"rounds": MOST_ROUNDS, **options})
    purpose = read_purpose(maximize, reward)
    refuse_purpose(request, maximize, reward)
    watch = Stopwatch()
    given, where = _recognise(A)
    shape = tuple(given.matrix.shape if isinstance(given, Matrix) else given.shape)
    if len(shape) != 2:
        raise TrothError(f"{where} has {len(shape)} dimensions: give rows and columns")
    graph = two_sides(given, purpose, where)
    gate = watch.lap()
    found = find_matching(request, graph, goal_of(request, graph, two_sides=True), progress=progress)
    rows, cols = _pairs(graph, found.result.mates, shape[0])
    stats = {"eps": request.options_of(request.engines[0])["eps"], **found.stats(gate, watch)}
    m = Matching(graph, found.result.mates, "auction", found.place, "hash", request.seed, stats, found.proof)
    return Assignment(rows, cols, shape, m, found.result.prices)


def _pairs(graph: Graph, mates: Any, first: int) -> tuple[Any, Any]:
    """Rows and columns of the pairs, by row; ``first`` is the number of rows."""
    with arrays_of(graph.device) as xp:
        of_rows = mates[:first]
        rows = xp.flatnonzero(of_rows >= 0)
        return rows, of_rows[rows].astype(np.int64) - first


def _recognise(A: Any) -> tuple[Any, str]:
    """A ``Matrix`` or a dense array of NumPy or CuPy, and what to call it in a refusal."""
    packages = set(packages_of(A))
    if "torch" in packages:
        from troth.neighbours.torch import tensor_to_array, torch_to_matrix

        where = "the torch tensor"
        return (tensor_to_array(A.detach()) if str(A.layout) == "torch.strided" else torch_to_matrix(A)), where
    if not packages.isdisjoint(("scipy", "cupyx")) and hasattr(A, "tocoo"):
        return Matrix(A), "the matrix"
    if is_on_device(A):
        return as_cupy(A, "the matrix"), "the matrix"
    if isinstance(A, np.ma.MaskedArray):
        raise TrothError("the matrix: masked arrays are not taken; A.filled(numpy.inf) forbids what is masked")
    if not (isinstance(A, np.ndarray) or (isinstance(A, (list, tuple)) and packages <= {"builtins"})):
        remedy = "table.to_numpy()" if not packages.isdisjoint(("pandas", "polars", "pyarrow")) else "an array"
        raise TrothError(f"assign takes a matrix, sparse or dense, not {type(A).__name__}: give {remedy}")
    try:
        return np.asarray(plain(A)), "the matrix"
    except ValueError:
        raise TrothError("the matrix: its rows have unequal lengths; forbid pairs by infinity") from None
