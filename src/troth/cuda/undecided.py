"""The edges that offers leave undecided, as a graph: where Suitor goes on for long, it begins anew on these.

Words of Suitor only grow, and in the end they are mutual: the mate of v is at least as good as the suitor that v holds.
So an edge that is worse than what one of its ends holds is in no stable matching of this order, and may go. The matched
edges stay. A matching that is stable among all edges is so among some that have it, and there is only one: the graph
that is left has the same matching.

``kernels/undecided.cu`` has the kernels. Cost: two looks at each row. Memory: what is left, and 8 bytes a vertex.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.arrays import cupy
from troth.graph import Graph
from troth.kernels.launch import WARP, WORDS, bits_of, launch, load, word_of
from troth.order import ORDER_CONSTANTS as CONSTANTS
from troth.order import Order, as_argument, for_order

WIDE, LONG = 16, 512  # mean and greatest degree from which a warp goes over a row, and not a lane

PROGRAMS: dict[Any, tuple[str, ...]] = {
    (word, lanes): (f"count_undecided<{word}, {lanes}>", f"copy_undecided<{word}, {lanes}>")
    for word in WORDS.values()
    for lanes in (1, WARP)
}


def undecided_edges(graph: Graph, order: Order, state: Any) -> Graph:
    """The graph of the edges that may still be matched, on the same vertices; ``state`` are the words of Suitor."""
    cp, n, total = cupy(), graph.n, len(graph.indices)
    wide = total >= WIDE * n or int(cp.diff(graph.indptr).max()) >= LONG
    lanes = WARP if wide else 1
    count, copy = load("undecided", PROGRAMS[word_of(graph.weights), lanes], for_order(order, CONSTANTS))
    arguments = (graph.indptr, graph.indices, bits_of(graph.weights), np.int64(n), as_argument(order), state)
    starts = cp.zeros(n + 1, np.int64)
    launch(count, n * lanes, *arguments, starts)
    starts = cp.cumsum(starts)
    left = int(starts[-1])
    indices, weights = cp.empty(left, np.int32), cp.empty(left, graph.weights.dtype)
    launch(copy, n * lanes, *arguments, starts, indices, bits_of(weights))
    return Graph.trusted(starts, indices, weights)
