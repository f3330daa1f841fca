"""What a node has beside its rows: words of its own vertices and ghosts, and whom to tell of them.

Built once a graph, and kept while its rows are in the window. Memory, once a node: 17 bytes for each own vertex and
each ghost, 25 where prefixes are lossy, and 4 for each node that has a vertex as a ghost, and 4 for the vertex. Its
ranks share the words that are told in the first round evenly: 4 bytes for each such pair of a vertex and a node, on
the node that tells and on the one that is told. A matching takes as much again for a while, in the first round: some 20
bytes for each ghost, and 8 for each such pair.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

from troth.kernels.jit import kernel
from troth.ranks.exchange import Neighbourhood, reduce, scatter_to_owners, starts_of, sum_over
from troth.ranks.graph import DistGraph
from troth.ranks.node import LINE, SharedRows
from troth.ranks.node_offers import NodeRows
from troth.ranks.node_words import Audience
from troth.ranks.nodes import Nodes
from troth.ranks.rim import rim_of


class NodePart(NamedTuple):
    """One graph on a node."""

    shared: SharedRows
    rows: NodeRows
    state: np.ndarray  # words, by global number; shared, as are the next three
    exact: np.ndarray
    marks: np.ndarray
    audience: Audience
    told: np.ndarray  # own vertices whose words this rank sends in the first round, slot by slot; its share of them
    told_counts: np.ndarray  # how many to each slot
    ghosts: np.ndarray  # the ghosts whose words it is sent then, source by source; its share of the node's ghosts
    ghost_counts: np.ndarray  # how many from each source
    ghost_starts: np.ndarray  # where those of each slot begin
    changeable: int  # how many words of the node may have to be sent
    around: Neighbourhood


@kernel
def list_audience(starts, ranks, slot_of, places, lists):
    """The nodes that have each own vertex as a ghost, from the ranks that have: v has ranks[starts[v]:starts[v + 1]].

    They go to ``lists`` as ``Audience`` has them, if that has room, and places[v] is where, or -1; returns how long.
    """
    at = np.int64(0)
    for v in range(places.size):
        count = np.int64(0)
        for k in range(starts[v], starts[v + 1]):
            slot, known = slot_of[ranks[k]], False
            if slot < 0:
                continue
            for j in range(count):
                known = known or lists[at + 1 + j] == slot
            if not known:
                lists[at + 1 + count] = slot
                count += 1
        places[v] = at if count else np.int64(-1)
        if count:
            lists[at] = count
            at += count + 1
    return at


def node_part(nodes: Nodes, graph: DistGraph, lossy: bool) -> NodePart | None:
    """The part of a node, or None where some machine has no room for it; all ranks together."""
    kept = nodes.part
    mine = kept is not None and kept[0]() is graph
    if sum_over(nodes.comm, int(mine)) == nodes.comm.size and kept is not None:
        return kept[1]
    nodes.forget()
    node, here = nodes.node, nodes.node.comm
    near = np.zeros(nodes.count, np.int32)
    near[nodes.of_rank[graph.neighbours]] = 1
    near[nodes.index] = 0
    others = np.flatnonzero(reduce(here, near, "MAX"))  # the nodes that share edges with this one, by slot
    slot_of_node = np.full(nodes.count, -1, np.int32)
    slot_of_node[others] = np.arange(len(others), dtype=np.int32)
    slot_of_rank = slot_of_node[nodes.of_rank]

    rim, places = rim_of(graph), np.empty(graph.owned, np.int64)
    lists = np.empty(len(graph.boundary) + graph.owned, np.int32)
    ranks = graph.neighbours[rim.slots]
    lists = lists[: list_audience(rim.starts, ranks, slot_of_rank, places, lists)]
    has_list = places >= 0
    told, told_counts = _share_told(here, graph.own[has_list], places[has_list], lists, len(others))

    header = 1 + 2 * len(others)  # 0 is nowhere; then the lists of ghosts, which have one slot each
    before = header + (here.exscan(len(lists)) or 0)
    total = sum_over(here, len(lists))
    kinds = np.uint64, np.uint64, np.uint8, np.int64, np.int32
    lengths = graph.n, graph.n if lossy else 1, graph.n, graph.n, header + total
    sizes = [-(-length * np.dtype(kind).itemsize // LINE) * LINE for kind, length in zip(kinds, lengths, strict=True)]
    shared = node.rows(graph, sum(sizes))
    if shared is None:
        return None
    arrays, at = [], 0
    for kind, length, size in zip(kinds, lengths, sizes, strict=True):
        arrays.append(shared.scratch[at : at + length * np.dtype(kind).itemsize].view(kind))
        at += size
    state, exact, marks, starts, all_lists = arrays

    around = Neighbourhood(nodes.comm, *nodes.partners(others))
    ghosts, ghost_counts = around.exchange(told, told_counts)
    ghost_slots = np.repeat(slot_of_rank[around.sources], ghost_counts)
    ghost_starts = starts_of(np.bincount(ghost_slots, minlength=len(others)))
    changeable = sum_over(here, int(np.count_nonzero(has_list)) + len(ghosts))
    starts[graph.own] = np.where(has_list, places + before, 0)
    starts[ghosts] = 1 + 2 * ghost_slots.astype(np.int64)
    all_lists[before : before + len(lists)] = lists
    if here.rank == 0:
        all_lists[1:header] = np.stack([np.ones(len(others)), np.arange(len(others))], 1).ravel()
    node.sync()
    first, last = np.uint64(shared.first), np.uint64(shared.last)
    rows = NodeRows(*shared.rows, first, last, np.bool_(shared.full))
    part = NodePart(
        shared, rows, state, exact, marks, Audience(starts, all_lists),
        told, told_counts, ghosts, ghost_counts, ghost_starts, changeable, around,
    )  # fmt: skip
    nodes.part = weakref.ref(graph), part
    return part


def _share_told(
    here: Any, vertices: np.ndarray, places: np.ndarray, lists: np.ndarray, slots: int
) -> tuple[np.ndarray, np.ndarray]:
    """This rank's even share of all pairs of an own vertex and a slot that it is a ghost of, sorted by slot.

    The list of vertices[i] begins at places[i]. Returns the vertices, and how many there are of each slot.
    """
    is_slot = np.ones(len(lists), bool)
    is_slot[places] = False  # there stands how long a list is
    vertices, told = np.repeat(vertices, lists[places]), lists[is_slot]
    total, before = sum_over(here, len(told)), here.exscan(len(told)) or 0
    shares = (np.arange(before, before + len(told)) * here.size // max(total, 1)).astype(np.int32)
    _, (vertices, told), _ = scatter_to_owners(here, shares, vertices, told)
    return vertices[np.argsort(told, kind="stable")], np.bincount(told, minlength=slots)
