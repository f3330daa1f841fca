"""Clusters of strongest neighbours on a GPU: those of ``cpu/clusters.py``, for a graph whose arrays are CuPy's.

Reference: M. S. Gilbert, S. Acer, E. G. Boman, K. Madduri and S. Rajamanickam, Performance-portable graph coarsening
for efficient multilevel graph analysis, IPDPS 2021; ``reference.join_strongest`` says what troth makes of it.

Invariant: the *label* of a vertex is a member of its cluster, the same for all members; what races are counts, and
bytes that become 1.

``find_trees`` finds trees, cuts those that are too large, and lists what is in pieces that still are; ``split_groups``
sorts these by their parents and labels them part by part, and after ``list_singles``, which hashes the rows of single
vertices, these too. In each the blocks meet between its steps. Where so few vertices may be listed that a kernel can
sort them, ``join_few`` is all of this at once, since a launch takes longer than its work; else the host asks how many
they are, and CuPy sorts where they are too many.

Memory: some 50 bytes a vertex, and 32 more where members are weighed. Cost: O(n + m); O(k log k) for k vertices that
are listed.

All functions work on the current device, which is that of the graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.arrays import cupy, make_room_to_sort
from troth.cpu.clusters import part_of
from troth.cuda import joining
from troth.cuda.coarsen import CONTROL as OF_ROWS
from troth.cuda.coarsen import KEYED_BYTES, SORTED_IN_KERNEL, THREADS, CudaCoarsening, launch_meeting, vertex_kind
from troth.cuda.handshake import strongest
from troth.cuda.joining import Groups
from troth.graph import Graph
from troth.kernels.launch import Memory, define, load
from troth.order import CUT, ORDER_CONSTANTS, Order
from troth.words import MOST_JOINED

# What is counted, a word each; ``kernels/clusters.cu`` says what. Those of the rows come first.
COUNTED = ("large", "left", "singles", "joined", "found", "split", "between", "listed", "paired")
CONTROL = (*OF_ROWS, *COUNTED)
CONSTANTS = (
    *ORDER_CONSTANTS,
    *define(THREADS=THREADS, KEYED_BYTES=KEYED_BYTES, MOST_JOINED=MOST_JOINED, CUT=CUT),
    *define(**{name.upper(): CONTROL.index(name) for name in COUNTED}),
)
PROGRAMS: dict[Any, tuple[str, ...]] = {
    "singles": ("list_singles",),
    **{("few", kind): (f"join_few<{kind}>",) for kind in ("i64", "double")},
    **{("trees", kind): (f"find_trees<{kind}>", f"split_groups<{kind}>") for kind in ("i64", "double")},
}


def _sort(keyed: Any, count: int) -> Any:
    """Listed vertices, which ascend, in the order of their keys."""
    cp, listed = cupy(), keyed[: 2 * count].reshape(count, 2)
    make_room_to_sort(cp, count, 8)
    return listed[cp.argsort(listed[:, 0], kind="stable")]


class CudaClustering(CudaCoarsening):
    """Clusters of strongest neighbours on the current GPU (see ``contract.Clustering``)."""

    def join_strongest(
        self,
        graph: Graph,
        order: Order,
        seed: np.uint64,
        vertex_weights: Any,
        limits: Any | None,
        twohop: bool,
    ) -> Groups:
        """The clusters of a graph; no cluster of two or more weighs more than the limits."""
        light, weighed, control = graph, False, cupy().zeros(len(CONTROL), np.uint64)
        if limits is not None:
            if not bool((vertex_weights <= part_of(limits, 2)).all()):
                light = self.fitting_edges(graph, vertex_weights, limits)
            # Else rounding makes no tree too heavy.
            weighed = not bool((vertex_weights <= part_of(limits, 2 * MOST_JOINED)).all())
        best = strongest(light, order)
        label = _find_labels(graph, best, seed, vertex_weights, limits, weighed, twohop, control)
        return joining.number_clusters(graph, label, control, CONTROL)

    def contract_clusters(self, graph: Graph, groups: Groups, vertex_weights: Any) -> tuple[Graph, bool]:
        """The coarse graph, and whether a sum was too great for its type."""
        return joining.contract_clusters(graph, groups, vertex_weights)


def _find_labels(
    graph: Graph,
    best: Any,
    seed: np.uint64,
    vertex_weights: Any,
    limits: Any | None,
    weighed: bool,
    twohop: bool,
    control: Any,
) -> Any:
    """A label of every vertex; ``weighed``: trees and pieces may be too heavy."""
    cp, n = cupy(), graph.n
    kind, columns = vertex_kind(vertex_weights)
    if limits is None:
        columns, limits = np.int64(0), vertex_weights
    label, alone, weights = cp.empty(n, np.int32), cp.empty(n, np.uint8), (vertex_weights, limits)

    zeros = {"members": 4 * n, "pieces": 4 * n, "pointed": n, "beaten": n}
    others = {"large": n, "slots": 4 * MOST_JOINED * n if weighed else 0}
    lists = {"keyed": KEYED_BYTES * max(n, 2 * min(n, SORTED_IN_KERNEL)), "sums": 16 * -(-n // THREADS)}
    memory = Memory(zeros, {"parent": 4 * n} | others | lists).clear()
    scratch = label, alone, *(memory[name] for name in ("parent", *zeros, *others, *lists)), control
    heavy, rows = columns if weighed else np.int64(0), (graph.indptr, graph.indices)
    if n <= SORTED_IN_KERNEL:
        (join_few,) = load("clusters", PROGRAMS["few", kind], CONSTANTS)
        launch_meeting(
            join_few, n, np.int64(n), columns, heavy, np.int64(twohop), seed, best, *weights, *rows, *scratch
        )
        return label

    find_trees, split_groups = load("clusters", PROGRAMS["trees", kind], CONSTANTS)
    (list_singles,) = load("clusters", PROGRAMS["singles"], CONSTANTS)

    def split(name: str, rooted: bool) -> None:
        """Label what is listed, part by part."""
        count, keyed = int(control[CONTROL.index(name)]), memory["keyed"]
        if count > SORTED_IN_KERNEL:
            keyed = _sort(memory.view("keyed", np.uint64), count)
        if count:
            words = (np.int64(word) for word in (count > SORTED_IN_KERNEL, rooted, twohop))
            given = np.int64(count), columns, *words, *weights, label, alone
            launch_meeting(split_groups, count, *given, keyed, control)

    launch_meeting(find_trees, n, np.int64(n), heavy, seed, best, *weights, *scratch)
    split("left", True)
    if twohop:
        launch_meeting(list_singles, n, np.int64(n), alone, *rows, memory["keyed"], memory["sums"], control)
        split("singles", False)
    return label
