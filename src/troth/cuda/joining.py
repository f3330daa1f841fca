"""Contraction of clusters on a GPU: ``cpu/joining.py`` for a graph whose arrays are CuPy's; the same graphs.

Invariant: clusters are numbered in the order of their first members, and members ascend; weights add up exactly
(``kernels/exact.cuh``), so the order in which threads come to a sum has no say in it.

``number_clusters`` gathers the members of each cluster in 32 bytes, which is one sector of memory, counts, meets, and
then knows every number and where each row has room. The entries of all rows go there as coarse neighbours and weights;
what comes after reads and writes rows that lie in one piece, and puts them in order in the four ways of ``coarsen.py``,
by their lengths. A level of short rows is five kernels; the host reads twice: how many vertices and rows of each kind
there are, and how many entries are left.

Memory beside the two graphs: some 60 bytes a vertex; that of the entries once more, and of the weights twice; for
marked rows 8 bytes an entry and, for each that is worked on, a quarter of a byte a coarse vertex. Cost: O(n + m).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from troth.arrays import cupy
from troth.cuda.coarsen import (
    CONTROL,
    GROUP,
    KEYED_BYTES,
    LONG,
    MEDIUM,
    NEAR_THREADS,
    ROW_CONSTANTS,
    THREADS,
    TILE,
    TOTALS,
    Marking,
    launch_meeting,
    lists_of_rows,
    merge_listed,
    vertex_kind,
)
from troth.graph import Graph
from troth.kernels.launch import FLOATS, WARP, Memory, define, launch, load, number_of
from troth.order import ORDER_CONSTANTS
from troth.words import MOST_JOINED

CONSTANTS = (*ORDER_CONSTANTS, *ROW_CONSTANTS, *define(KEYED_BYTES=KEYED_BYTES, MOST_JOINED=MOST_JOINED))
LIMBS = {"float": 3, "double": 4, "u64": 3}  # words of a sum that all threads of a block add to, by its type
SUMS = {number: number if number in FLOATS.values() else "u64" for number in TOTALS}  # in what weights are summed
PROGRAMS: dict[Any, tuple[str, ...]] = {
    "clusters": ("number_clusters",),
    **{("vertices", kind): (f"place_rows<{kind}>",) for kind in ("i64", "double")},
    **{("gather", number): (f"gather_rows<{number}>",) for number in TOTALS},
    **{
        ("rows", total): (
            f"merge_short<{total}>",
            *(f"merge_sorted<{total}, {key}, {WARP}, {MEDIUM}>" for key in ("u32", "u64")),
            f"merge_sorted<{total}, u64, {THREADS}, {LONG}>",
            *(f"merge_near<{total}, {threads}>" for threads in NEAR_THREADS.values()),
            f"merge_marked<{total}>",
            f"move_rows<{word}>",
        )
        for total, word in (("float", "u32"), ("double", "u64"), ("u64", "u64"))
    },
}


class Groups(NamedTuple):
    """Clusters, numbered, and what is known of their rows; ``kernels/joining.cu`` has the details."""

    coarse: Any  # the cluster of every vertex
    size: int  # how many there are
    joined: int  # vertices that joined others without an edge
    counted: dict[str, int]  # by the names of ``control``, as far as it is known
    control: Any  # the same on the device
    memory: Memory  # all other arrays


def number_clusters(graph: Graph, label: Any, control: Any, names: tuple[str, ...]) -> Groups:
    """The clusters of vertices that have equal labels; ``control`` begins with the words of ``CONTROL``."""
    n = graph.n
    lists = lists_of_rows(len(graph.indices))
    each = {"at": 8 * n, "starts": 4 * (n + 1), "members": 4 * n, "room": 8 * (n + 1)}
    rest = {"slots": 4 * MOST_JOINED * n, "sums": 16 * -(-n // THREADS)}
    memory, coarse = Memory({"sizes": 4 * n}, each | lists | rest).clear(), cupy().empty(n, np.int32)
    (kernel,) = load("joining", PROGRAMS["clusters"], CONSTANTS)
    arrays = (memory[name] for name in (*each, *lists, "sizes", *rest))
    launch_meeting(kernel, n, np.int64(n), label, graph.indptr, coarse, *arrays, control)
    counted = dict(zip(names, control.tolist(), strict=True))
    return Groups(coarse, counted["count"], counted["joined"], counted, control, memory)


def contract_clusters(graph: Graph, groups: Groups, vertex_weights: Any) -> tuple[Graph, bool]:
    """The coarse graph, and whether a sum was too great for its type."""
    cp, count, memory = cupy(), groups.size, groups.memory
    kind = graph.weights.dtype if graph.weights.dtype.kind == "f" else np.dtype(np.int64)
    indptr = cp.empty(count + 1, np.int64)
    merged = _merge(graph, groups, kind.itemsize, indptr)

    new_vertex_weights = cp.empty((count, *vertex_weights.shape[1:]), vertex_weights.dtype)
    name, columns = vertex_kind(vertex_weights)
    (place_rows,) = load("joining", PROGRAMS["vertices", name], CONSTANTS)
    members = memory["starts"], memory["members"], vertex_weights, new_vertex_weights
    launch_meeting(place_rows, count, np.int64(count), columns, *members, indptr, memory["sums"], groups.control)
    counted = dict(zip(CONTROL, groups.control.tolist(), strict=False))
    total = counted["total"]
    indices, weights = cp.empty(total, np.int32), cp.empty(total, kind)
    *_, move_rows = load("joining", PROGRAMS["rows", SUMS[number_of(graph.weights.dtype)]], CONSTANTS)
    arrays = memory["room"], indptr, merged["indices"], merged["weights"], indices, weights
    launch(move_rows, -(-total // TILE) * WARP, np.int64(count), np.int64(total), *arrays)
    return Graph.trusted(indptr, indices, weights, new_vertex_weights), bool(counted["spilled"])


def _merge(graph: Graph, groups: Groups, size: int, lengths: Any) -> Memory:
    """All rows in order, where there is room, with weights of so many bytes; fills in their lengths."""
    count, entries, memory, counted = groups.size, len(graph.indices), groups.memory, groups.counted
    number = number_of(graph.weights.dtype)
    short, *listed, _ = load("joining", PROGRAMS["rows", SUMS[number]], CONSTANTS)
    (gather,) = load("joining", PROGRAMS["gather", number], CONSTANTS)
    marking = Marking(count, LIMBS[SUMS[number]])
    bitmaps = each = 0
    if not marking.near or SUMS[number] != "u64":  # else no row is far
        bitmaps = 4 * marking.words * marking.markers(listed[-1], counted["marked"])
        each = 4 * counted["marked_entries"]
    marks = {"counted": bitmaps, "ends": each, "order": each, "far": 4 * counted["marked"]}
    rows = {"indices": 4 * entries, "gathered": size * entries, "weights": size * entries}
    merged = Memory({"bitmaps": bitmaps}, marks | rows).clear()
    given = memory["room"], merged["indices"], merged["gathered"], merged["weights"], lengths, groups.control

    fine = np.int64(graph.n), np.int64(entries), graph.indptr, graph.indices, graph.weights, groups.coarse, memory["at"]
    launch(gather, -(-entries // TILE) * WARP, *fine, merged["indices"], merged["gathered"])
    launch(short, count * GROUP, np.int64(count), *given)
    scratch = [merged[name] for name in ("bitmaps", "counted", "ends", "order")]
    merge_listed(marking, listed, counted, memory, scratch, [merged["far"]], *given)
    return merged
