"""What a node has beside its rows: words of its own vertices and ghosts, and whom to tell of them.

Built once a graph, and kept while its rows are in the window. Memory, once a node: 17 bytes for each own vertex and
each ghost, 25 where prefixes are lossy, and 4 for each node that has a vertex as a ghost, and 4 for the vertex; each
rank has 4 bytes for each of its own vertices that is a ghost elsewhere, and for its share of the node's ghosts.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

from troth.kernels.jit import kernel
from troth.ranks.exchange import Neighbourhood, reduce, scatter_to_owners, sum_over
from troth.ranks.graph import DistGraph
from troth.ranks.node import LINE, SharedRows
from troth.ranks.node_offers import Audience, NodeRows
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
    rim: np.ndarray  # this rank's own vertices that other nodes have as ghosts
    ghosts: np.ndarray  # this rank's share of the node's ghosts
    changeable: int  # how many words of the node may have to be sent
    around: Neighbourhood


@kernel
def list_audience(starts, ranks, slot_of, told, lists):
    """The nodes that have each own vertex as a ghost, from the ranks that have: v has ranks[starts[v]:starts[v + 1]].

    They go to ``lists`` as ``Audience`` has them, if that has room, and told[v] is where, or -1; returns how long.
    """
    at = np.int64(0)
    for v in range(told.size):
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
        told[v] = at if count else np.int64(-1)
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

    rim, told = rim_of(graph), np.empty(graph.owned, np.int64)
    lists = np.empty(len(graph.boundary) + graph.owned, np.int32)
    ranks = graph.neighbours[rim.slots]
    lists = lists[: list_audience(rim.starts, ranks, slot_of_rank, told, lists)]
    ghosts, ghost_slots = _share_ghosts(here, graph, slot_of_rank)

    header = 1 + 2 * len(others)  # 0 is nowhere; then the lists of ghosts, which have one slot each
    before = header + (here.exscan(len(lists)) or 0)
    total, changeable = reduce(here, np.array([len(lists), np.count_nonzero(told >= 0) + len(ghosts)], np.int64))
    kinds = np.uint64, np.uint64, np.uint8, np.int64, np.int32
    lengths = graph.n, graph.n if lossy else 1, graph.n, graph.n, header + int(total)
    sizes = [-(-length * np.dtype(kind).itemsize // LINE) * LINE for kind, length in zip(kinds, lengths, strict=True)]
    shared = node.rows(graph, sum(sizes))
    if shared is None:
        return None
    arrays, at = [], 0
    for kind, length, size in zip(kinds, lengths, sizes, strict=True):
        arrays.append(shared.scratch[at : at + length * np.dtype(kind).itemsize].view(kind))
        at += size
    state, exact, marks, starts, all_lists = arrays

    starts[graph.own] = np.where(told >= 0, told + before, 0)
    starts[ghosts] = 1 + 2 * ghost_slots
    all_lists[before : before + len(lists)] = lists
    if here.rank == 0:
        all_lists[1:header] = np.stack([np.ones(len(others)), np.arange(len(others))], 1).ravel()
    node.sync()
    first, last = np.uint64(shared.first), np.uint64(shared.last)
    rows = NodeRows(*shared.rows, first, last, np.bool_(shared.full))
    around = Neighbourhood(nodes.comm, *nodes.partners(others))
    part = NodePart(
        shared, rows, state, exact, marks, Audience(starts, all_lists),
        graph.own[told >= 0], ghosts, int(changeable), around,
    )  # fmt: skip
    nodes.part = weakref.ref(graph), part
    return part


def _share_ghosts(here: Any, graph: DistGraph, slot_of_rank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """This rank's share of the node's ghosts, ascending, and the slots of their owners."""
    slots = slot_of_rank[graph.ghost_owner]
    ids, slots = graph.globals[graph.owned :][slots >= 0], slots[slots >= 0]
    shares = (ids.astype(np.int64) * here.size // max(graph.n, 1)).astype(np.int32)
    _, (ids, slots), _ = scatter_to_owners(here, shares, ids, slots)
    ghosts, places = np.unique(ids, return_index=True)
    return ghosts, slots[places].astype(np.int64)
