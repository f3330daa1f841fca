"""Where "auto" sends a graph of the host for one matching by Suitor: to a GPU, or to the CPU's threads.

Both can be told beforehand, since Suitor reads every entry about one and a half times. What cannot be seen from the
sizes is whether the vertices of a dense graph all want the same few neighbours: then rows are read again and again, and
in the end sorted, on both devices. So a few vertices are asked for their best neighbour.

The constants were measured on a 16-core Xeon with an H200; ``python -m bench devices-choice`` shows what follows.
"""

from __future__ import annotations

import numpy as np

from troth.graph import Graph
from troth.kernels.feeding import WORTH_THREADS
from troth.kernels.team import available_cores
from troth.order import make_order, priorities_of

# One thread matches 120 to 200 million entries a second, 16 threads seven to nine times as many; a vertex with
# neighbours takes as long as seven entries.
ENTRIES_A_SECOND, OF_EACH, ENTRIES_OF_VERTEX = 185e6, 0.5, 7
# The driver copies an array, or threads do after a start; each fills so many bytes of pinned memory a second.
DRIVER, START, BYTES_A_SECOND, BUS = 7e9, 3e-3, 6e9, 20e9
# Dense graphs whose vertices want the same few: seconds an entry on a GPU, and on the CPU where all weights are equal,
# which is one thread's work, in waves by a scrambled priority and otherwise; else so many times as long on the CPU.
CROWDED_GPU, CROWDED_EQUAL, CROWDED_EQUAL_UNSCRAMBLED, CROWDED = 2.8e-9, 2.2e-9, 7e-9, 10
DENSE = 256  # mean degree from which vertices are asked
ASKED = 16
FEW = 4  # different best neighbours, at most, of those asked in a crowded graph


def copying_pays(graph: Graph, ties: str, seed: int, threads: int | None) -> bool:
    """Whether copying the rows of a graph to a GPU, and matching there, is likely to take less than the CPU.

    All cores copy, whatever the number of threads that match.
    """
    entries, copying = len(graph.indices), seconds_to_copy(graph)
    pace = ENTRIES_A_SECOND * max(1.0, OF_EACH * (threads or available_cores()))
    if entries < DENSE * graph.n or not is_crowded(graph, ties, seed):
        return copying < (entries + ENTRIES_OF_VERTEX * min(graph.n, entries)) / pace
    least, greatest, _ = graph.bits_range()
    on_cpu = CROWDED * entries / pace
    if least == greatest:
        on_cpu = entries * (CROWDED_EQUAL_UNSCRAMBLED if ties in ("low", "high") else CROWDED_EQUAL)
    return copying + CROWDED_GPU * entries < on_cpu


def seconds_to_copy(graph: Graph) -> float:
    """How long the arrays are on their way, about."""
    pace = min(BUS, BYTES_A_SECOND * available_cores())
    sizes = (array.nbytes for array in (graph.indptr, graph.indices, graph.weights))
    return sum(size / DRIVER if size < WORTH_THREADS else START + size / pace for size in sizes)


def is_crowded(graph: Graph, ties: str, seed: int) -> bool:
    """Whether some vertices, evenly spread, have hardly more than one best neighbour between them."""
    order, favourites = make_order(ties, seed, graph=graph), set()
    for v in np.linspace(0, graph.n - 1, min(ASKED, graph.n)).astype(np.int64).tolist():
        row = slice(int(graph.indptr[v]), int(graph.indptr[v + 1]))
        neighbours, weights = graph.indices[row], graph.weights[row]
        if len(weights):
            heaviest = neighbours[weights == weights.max()]
            favourites.add(int(heaviest[np.argmax(priorities_of(order, heaviest))]))
    return len(favourites) <= FEW
