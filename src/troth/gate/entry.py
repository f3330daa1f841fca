"""The gate: a ``Matrix`` or ``Edges`` becomes a ``Graph`` where its arrays are, or is refused.

``host.py`` and ``device.py`` take the five steps, with the kernels of ``cpu.py`` and ``cuda.py``; both leave the same
notes, and refuse in the same words.
"""

from __future__ import annotations

import numpy as np

from troth.arrays import is_on_device
from troth.errors import TrothError
from troth.gate.worth import LeastCost
from troth.graph import Graph
from troth.inputs import Edges, Matrix

WEIGHTS = ("keep", "abs", "unit", "random", "paper")
SYMMETRIZE = ("max", "min", "sum", "mean")
VALUELESS = ("unit", "random")  # the rules that do not look at the values


def make_graph(
    source: Matrix | Edges,
    *,
    weights: str = "keep",
    symmetrize: str | None = None,
    seed: int = 0,
    purpose: LeastCost | None = None,
    said: bool = False,
) -> Graph:
    """The graph of a matrix or of edges; the options are those of ``as_graph``, checked.

    ``said``: the user said whether more is better.
    """
    if source.cost is not None and not said and purpose is None and weights not in VALUELESS:
        raise TrothError(
            f"{source.where}: {source.cost}, of which less is better, but a heavy matching takes the most: say "
            "maximize=False (--minimize) to pair at least cost, or maximize=True (--maximize) if more is better"
        )
    array = getattr(source.matrix, "data", None) if isinstance(source, Matrix) else source.row
    if is_on_device(array):
        from troth.gate import device as gate
    else:
        from troth.gate import host as gate  # type: ignore[no-redef]
    number = np.uint64(seed % 2**64)
    if isinstance(source, Matrix):
        return gate.from_matrix(source, weights, symmetrize, number, purpose)
    return gate.from_edges(source, weights, number, purpose)
