"""Clusters of strongest neighbours on CPU threads: heavy-edge coarsening that does not depend on who comes first.

Reference: M. S. Gilbert, S. Acer, E. G. Boman, K. Madduri and S. Rajamanickam, Performance-portable graph coarsening
for efficient multilevel graph analysis, IPDPS 2021. There a vertex joins the cluster of its strongest neighbour as far
as that has been found already. Here clusters are defined by the graph (``reference.join_strongest``): trees of vertices
that point to their strongest neighbours; where a tree has too many members or is too heavy, pieces of it, cut off where
a random number is the greatest of its neighbourhood; where these are too large, the vertices that point to one.

Invariant: the *label* of a vertex is a member of its cluster, the same for all members. Steps that race count members
or take a maximum, so their order does not matter. Cost: O(n + m); what is in trees that are too large is sorted, and
where there are limits, all is, in O(n) a byte of the numbers. Some 40 bytes a vertex.
"""

from __future__ import annotations

import numpy as np

from troth.cpu import coarsen
from troth.cpu.coarsen import CpuCoarsening, columns, hash_rows, in_blocks, place_blocks, threads_for
from troth.cpu.handshake import strongest
from troth.cpu.joining import Groups, gather_members, merge_clusters, new_limbs
from troth.cpu.merging import new_blocks, new_scratch
from troth.graph import Graph
from troth.kernels.atomics import fetch_add, fetch_max, load
from troth.kernels.jit import inlined, kernel
from troth.kernels.sort import radix_sort
from troth.kernels.team import chunks, run_team
from troth.order import CUT, ONE, Order, hash1
from troth.rows import NumberRows, number_rows_of, rows_of
from troth.words import MOST_JOINED

NO_TREE = np.int32(-1)  # a root that is too far away: the tree is too large


# ---- trees ----


@kernel
def find_parents(worker, cursor, chunk, best, parent, alone):
    """parent[v] = the strongest neighbour; v itself for a root: the smaller of a pair, or a vertex without one."""
    for start, stop in chunks(cursor, chunk, len(best)):
        for v in range(start, stop):
            u = best[v]
            alone[v] = u < 0
            parent[v] = v if u < 0 or (v < u and best[np.uint64(u)] == v) else u


@inlined
def count_member(root, members):
    """Count one more member, as long as that decides whether there are too many."""
    if load(members, np.uint64(root)) <= MOST_JOINED:
        fetch_add(members, np.uint64(root), np.int32(1))


@kernel
def find_trees(worker, cursor, chunk, parent, label, members):
    """label[v] = the root of v's tree, or NO_TREE; members[r] = how many there are, or that there are too many."""
    for start, stop in chunks(cursor, chunk, len(parent)):
        for v in range(start, stop):
            root = np.int32(v)
            for _ in range(MOST_JOINED):  # one that is as far away has too many below it
                root = parent[np.uint64(root)]
            if parent[np.uint64(root)] == root:
                label[v] = root
                count_member(root, members)
            else:
                label[v] = NO_TREE


@kernel
def weigh_groups(worker, cursor, chunk, keys, vertices, weights, limits, members):
    """Of vertices in the order of their labels: mark the labels whose members are too heavy, by too many members."""
    for start, stop in chunks(cursor, chunk, len(keys)):
        for i in range(start, stop):
            if i > 0 and keys[i - 1] == keys[i]:
                continue
            good = True
            for j in range(weights.shape[1]):
                total, k = weights[np.uint64(vertices[i]), j], i + 1
                while k < len(keys) and keys[k] == keys[i]:
                    total += weights[np.uint64(vertices[k]), j]
                    k += 1
                good &= k == i + 1 or total <= limits[j]
            if not good:
                members[np.uint64(keys[i])] = MOST_JOINED + 1


@kernel
def mark_large(worker, cursor, chunk, vertices, label, members, large):
    """large[i] = 1 where the label of vertices[i] has too many members."""
    for start, stop in chunks(cursor, chunk, len(vertices)):
        for i in range(start, stop):
            root = label[np.uint64(vertices[i])]
            large[i] = root < 0 or members[np.uint64(root)] > MOST_JOINED


# ---- pieces of trees that are too large ----


@inlined
def is_cuttable(best, pointed, v):
    """Whether v may be cut off: some vertex points to it that it does not point to."""
    u = np.uint64(v)
    return pointed[u] and best[np.uint64(best[u])] != v


@kernel
def mark_pointed(worker, cursor, chunk, vertices, best, pointed):
    """pointed[u] = 1 where some v points to u, and u not to v."""
    for start, stop in chunks(cursor, chunk, len(vertices)):
        for i in range(start, stop):
            u = best[np.uint64(vertices[i])]
            if best[np.uint64(u)] != vertices[i]:
                pointed[np.uint64(u)] = 1


@kernel
def find_rivals(worker, cursor, chunk, vertices, best, pointed, seed, rival):
    """rival[v] = the greatest number of the children that may be cut off from v."""
    for start, stop in chunks(cursor, chunk, len(vertices)):
        for i in range(start, stop):
            v = vertices[i]
            u = best[np.uint64(v)]
            if is_cuttable(best, pointed, v) and is_cuttable(best, pointed, u):
                fetch_max(rival, np.uint64(u), hash1(seed, CUT, np.uint64(v)) | ONE)


@kernel
def cut_trees(worker, cursor, chunk, vertices, best, pointed, seed, rival, parent):
    """A vertex whose number is greater than those of its rivals becomes the root of what is below: its own parent."""
    for start, stop in chunks(cursor, chunk, len(vertices)):
        for i in range(start, stop):
            v = vertices[i]
            if is_cuttable(best, pointed, v):
                number, u = hash1(seed, CUT, np.uint64(v)) | ONE, best[np.uint64(v)]
                above = hash1(seed, CUT, np.uint64(u)) | ONE
                if number > rival[np.uint64(v)] and (number > above or not is_cuttable(best, pointed, u)):
                    parent[np.uint64(v)] = v


@kernel
def find_pieces(worker, cursor, chunk, vertices, parent, label, members):
    """label[v] = the root of v's piece, and its members; pieces are as deep as random numbers rise and fall."""
    for start, stop in chunks(cursor, chunk, len(vertices)):
        for i in range(start, stop):
            root = vertices[i]
            while parent[np.uint64(root)] != root:
                root = parent[np.uint64(root)]
            label[np.uint64(vertices[i])] = root
            count_member(root, members)


@kernel
def split_groups(keys, vertices, rooted, twohop, weights, limits, total, label, alone):
    """Of vertices in the order of their keys: label those of one key part by part; how many joined others unpointed.

    ``alone`` says which ones are a part by themselves.

    With ``rooted``, keys are vertices: a part with the vertex that the others point to stays together in any case.
    """
    joined, first, place, has_root = 0, 0, 0, False
    for i in range(len(keys) + 1):
        place = 0 if i == 0 or i == len(keys) or keys[i - 1] != keys[i] else place + 1
        good = i < len(keys) and place % MOST_JOINED > 0
        for j in range(len(limits) if good else 0):
            good &= total[j] + weights[np.uint64(vertices[i]), j] <= limits[j]
        if not good:
            for k in range(first, i):
                label[np.uint64(vertices[k])] = vertices[first if has_root or twohop else k]
                alone[np.uint64(vertices[k])] = i == first + 1
            joined += i - first - 1 if twohop and not has_root and i > first else 0
            first, has_root = i, False
        if i < len(keys):
            has_root |= rooted and keys[i] == vertices[i]
            for j in range(len(limits)):
                w = weights[np.uint64(vertices[i]), j]
                total[j] = total[j] + w if good else w
    return joined


# ---- numbers ----


@kernel
def count_sizes(worker, cursor, chunk, label, sizes, nearest):
    """sizes[r] = how many have label r, and nearest[r] = n - v for the first of them, v."""
    for start, stop in chunks(cursor, chunk, len(label)):
        for v in range(start, stop):
            r, place = np.uint64(label[v]), np.uint32(len(label) - v)
            fetch_add(sizes, r, np.int32(1))
            if load(nearest, r) < place:
                fetch_max(nearest, r, place)


@kernel
def count_first(worker, cursor, chunk, label, nearest, counts):
    """counts[b] = how many vertices of chunk b are the first of their cluster."""
    for start, stop in chunks(cursor, chunk, len(label)):
        count = 0
        for v in range(start, stop):
            count += nearest[np.uint64(label[v])] == np.uint32(len(label) - v)
        counts[start // chunk] = count


@kernel
def number_labels(worker, cursor, chunk, label, nearest, sizes, blocks, number, starts):
    """number[r] = the coarse vertex of label r, in the order of first members; starts[c + 1] = its size."""
    for start, stop in chunks(cursor, chunk, len(label)):
        c = blocks[start // chunk]
        for v in range(start, stop):
            r = np.uint64(label[v])
            if nearest[r] == np.uint32(len(label) - v):
                number[r] = c
                starts[c + 1] = sizes[r]
                c += 1


@kernel
def list_members(worker, cursor, chunk, label, number, placed, groups):
    """The coarse vertex of every vertex, and the members of each, in any order."""
    for start, stop in chunks(cursor, chunk, len(label)):
        for v in range(start, stop):
            c = np.uint64(number[np.uint64(label[v])])
            groups.coarse[v] = c
            groups.members[np.uint64(groups.starts[c] + fetch_add(placed, c, np.int32(1)))] = v


# ---- the device's part ----


class CpuClustering(CpuCoarsening):
    """Clusters of strongest neighbours on CPU threads (see ``contract.Clustering``)."""

    def join_strongest(
        self,
        graph: Graph,
        order: Order,
        seed: np.uint64,
        vertex_weights: np.ndarray,
        limits: np.ndarray | None,
        twohop: bool,
    ) -> Groups:
        """The clusters of a graph; no cluster of two or more weighs more than the limits."""
        threads, weights = threads_for(self.threads, graph.n + len(graph.indices)), columns(vertex_weights)
        bounds = np.empty(0, weights.dtype) if limits is None else np.atleast_1d(limits)
        light = graph
        if limits is not None and not (weights <= part_of(bounds, 2)).all():
            light = self.fitting_edges(graph, vertex_weights, limits)
        best = strongest(light, order, threads or 1)
        label, alone = np.empty(graph.n, np.int32), np.empty(graph.n, np.uint8)
        joined = _label(best, seed, weights, bounds, twohop, threads, label, alone)
        if twohop:
            single = np.flatnonzero(alone).astype(np.int32)
            keys = np.empty(len(single), np.uint64)
            in_blocks(hash_rows, len(single), threads, rows_of(graph), single, keys)
            joined += _split(keys, single, False, True, weights, bounds, threads, label, alone)
        return _number(label, joined, threads)

    def contract_clusters(self, graph: Graph, groups: Groups, vertex_weights: np.ndarray) -> tuple[Graph, bool]:
        """The coarse graph, and whether a sum was too great for its type."""
        threads, count = threads_for(self.threads, graph.n + len(graph.indices)), groups.size
        coarse_weights = np.empty((count, *vertex_weights.shape[1:]), vertex_weights.dtype)
        in_blocks(gather_members, count, threads, columns(vertex_weights), groups, columns(coarse_weights))
        rows, blocks = _wide(number_rows_of(graph)), new_blocks(count, coarsen.ROWS, *self._room)
        kind = np.dtype(np.float64 if rows.weights.dtype.kind == "f" else np.uint64)
        scratch = *new_scratch(max(threads, 1), count, kind), new_limbs(max(threads, 1))
        given = rows, groups, kind.type(0), *scratch, blocks
        run_team(merge_clusters, count, threads, *given, chunk=coarsen.ROWS, serial_below=coarsen.ROWS + 1)
        return place_blocks(blocks, coarse_weights, threads)


def _wide(rows: NumberRows) -> NumberRows:
    """The rows with integers of 64 bits: a copy of the finest graph's weights, for fewer kernels to compile."""
    return rows if rows.weights.dtype.kind == "f" else rows._replace(weights=rows.weights.astype(np.uint64, copy=False))


def part_of(limits: np.ndarray, count: int) -> np.ndarray:
    """A part of the limits such that so many of them keep to these."""
    return limits // count if limits.dtype == np.int64 else limits / count


def _label(
    best: np.ndarray,
    seed: np.uint64,
    weights: np.ndarray,
    limits: np.ndarray,
    twohop: bool,
    threads: int,
    label: np.ndarray,
    alone: np.ndarray,
) -> int:
    """Find a label of every vertex, and who is alone; how many joined others to which they do not point."""
    n = len(best)
    parent, members = np.empty(n, np.int32), np.zeros(n, np.int32)
    in_blocks(find_parents, n, threads, best, parent, alone)
    in_blocks(find_trees, n, threads, parent, label, members)
    left = _too_large(np.arange(n, dtype=np.int32), label, members, weights, limits, threads)
    if not len(left):
        return 0
    pointed, rival = np.zeros(n, np.uint8), np.zeros(n, np.uint64)
    in_blocks(mark_pointed, len(left), threads, left, best, pointed)
    in_blocks(find_rivals, len(left), threads, left, best, pointed, seed, rival)
    in_blocks(cut_trees, len(left), threads, left, best, pointed, seed, rival, parent)
    members = np.zeros(n, np.int32)
    in_blocks(find_pieces, len(left), threads, left, parent, label, members)
    left = _too_large(left, label, members, weights, limits, threads)
    return _split(parent[left].view(np.uint32), left, True, twohop, weights, limits, threads, label, alone)


def _too_large(
    vertices: np.ndarray,
    label: np.ndarray,
    members: np.ndarray,
    weights: np.ndarray,
    limits: np.ndarray,
    threads: int,
) -> np.ndarray:
    """Those of the vertices whose label has too many members, or too heavy ones."""
    large = np.empty(len(vertices), np.bool_)
    in_blocks(mark_large, len(vertices), threads, vertices, label, members, large)
    if len(limits) and not (weights <= part_of(limits, 2 * MOST_JOINED)).all():  # else rounding makes none too heavy
        few = vertices[~large]
        keys, listed = radix_sort(label[few].view(np.uint32), few, max(threads, 1))
        in_blocks(weigh_groups, len(keys), threads, keys, listed, weights, limits, members)
        in_blocks(mark_large, len(vertices), threads, vertices, label, members, large)
    return vertices[large]


def _split(
    keys: np.ndarray,
    vertices: np.ndarray,
    rooted: bool,
    twohop: bool,
    weights: np.ndarray,
    limits: np.ndarray,
    threads: int,
    label: np.ndarray,
    alone: np.ndarray,
) -> int:
    """Label vertices, which ascend, part by part of those with equal keys."""
    if len(keys) < coarsen.SMALL:
        places = np.argsort(keys, kind="stable")
        keys, vertices = keys[places], vertices[places]
    else:
        keys, vertices = radix_sort(keys, vertices, max(threads, 1))
    return split_groups(keys, vertices, rooted, twohop, weights, limits, np.zeros_like(limits), label, alone)


def _number(label: np.ndarray, joined: int, threads: int) -> Groups:
    """The clusters of vertices that have equal labels, numbered by their first members."""
    n = len(label)
    sizes, nearest, number = np.zeros(n, np.int32), np.zeros(n, np.uint32), np.empty(n, np.int32)
    in_blocks(count_sizes, n, threads, label, sizes, nearest)
    blocks = np.zeros(-(-n // coarsen.BLOCK) + 1, np.int64)
    in_blocks(count_first, n, threads, label, nearest, blocks[1:])
    np.cumsum(blocks, out=blocks)
    starts = np.zeros(blocks[-1] + 1, np.int64)
    in_blocks(number_labels, n, threads, label, nearest, sizes, blocks, number, starts)
    np.cumsum(starts, out=starts)
    groups = Groups(np.empty(n, np.int32), starts, np.empty(n, np.int32), joined)
    in_blocks(list_members, n, threads, label, number, np.zeros(groups.size, np.int32), groups)
    return groups
