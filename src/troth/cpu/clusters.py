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

from typing import NamedTuple

import numpy as np

from troth.cpu import coarsen
from troth.cpu.coarsen import CpuCoarsening, columns, hash_rows, in_blocks, threads_for
from troth.cpu.handshake import strongest
from troth.cpu.joining import Groups, gather_members, merge_clusters, new_limbs
from troth.graph import Graph
from troth.kernels.atomics import fetch_add, fetch_max, load
from troth.kernels.jit import inlined, kernel
from troth.kernels.sort import radix_sort
from troth.kernels.team import chunks
from troth.order import CUT, ONE, Order, hash1
from troth.rows import NumberRows, number_rows_of, rows_of
from troth.words import MOST_JOINED

NO_TREE = np.int32(-1)  # a root that is too far away: the tree is too large


class Labels(NamedTuple):
    """The clusters while they are found: ``label[v]`` is a member of v's; other arrays are by vertex, or by label."""

    label: np.ndarray
    place: np.ndarray  # of v among those of its label, in any order
    alone: np.ndarray  # whether v is a cluster by itself
    members: np.ndarray  # of a label: how many have it, or that there are too many
    nearest: np.ndarray  # of a label: n - v for the first of them, v


def new_labels(n: int) -> Labels:
    """Room for so many vertices, none of which has a label."""
    label, place, alone = (np.empty(n, kind) for kind in (np.int32, np.uint8, np.bool_))
    return Labels(label, place, alone, np.zeros(n, np.int32), np.zeros(n, np.uint32))


# ---- trees ----


@inlined
def give_label(labels, v, root):
    """v gets a label, whose members are counted as long as that decides whether there are too many."""
    r, first = np.uint64(root), np.uint32(len(labels.label) - v)
    labels.label[v] = root
    if load(labels.members, r) <= MOST_JOINED:
        labels.place[v] = fetch_add(labels.members, r, np.int32(1))
    if load(labels.nearest, r) < first:
        fetch_max(labels.nearest, r, first)


@kernel
def find_trees(worker, cursor, chunk, best, labels):
    """The label of a vertex is the root of its tree, or NO_TREE.

    Who points to its strongest neighbour is on a way that ends at two who point to each other, of whom the smaller is
    the root; a vertex without a neighbour is a tree by itself.
    """
    for start, stop in chunks(cursor, chunk, len(best)):
        for v in range(start, stop):
            labels.label[v] = NO_TREE
            below, above = np.int32(v), best[v]
            labels.alone[v] = above < 0
            if above < 0:
                give_label(labels, v, v)
                continue
            for _ in range(MOST_JOINED + 1):  # one that is as far away has too many below it
                again = best[np.uint64(above)]
                if again == below:
                    give_label(labels, v, min(below, above))
                    break
                below, above = above, again


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
def mark_large(worker, cursor, chunk, vertices, labels, large):
    """large[i] = 1 where the label of vertices[i], or of i where none are given, has too many members."""
    for start, stop in chunks(cursor, chunk, len(large)):
        for i in range(start, stop):
            root = labels.label[np.uint64(i if vertices is None else vertices[i])]
            large[i] = root < 0 or labels.members[np.uint64(root)] > MOST_JOINED


# ---- pieces of trees that are too large ----


@inlined
def is_cuttable(best, pointed, v):
    """Whether v may be cut off: some vertex points to it that it does not point to."""
    u = np.uint64(v)
    return pointed[u] and best[np.uint64(best[u])] != v


@kernel
def point(worker, cursor, chunk, vertices, best, parent, pointed, labels):
    """parent[v] = the strongest neighbour, or v itself for a root; no label of these has members any more.

    pointed[u] = 1 where some v points to u, and u not to v.
    """
    for start, stop in chunks(cursor, chunk, len(vertices)):
        for i in range(start, stop):
            v = vertices[i]
            u = best[np.uint64(v)]
            mutual = best[np.uint64(u)] == v
            parent[np.uint64(v)] = v if mutual and v < u else u
            if not mutual:
                pointed[np.uint64(u)] = 1
            labels.members[np.uint64(v)] = labels.nearest[np.uint64(v)] = 0


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
def find_pieces(worker, cursor, chunk, vertices, parent, labels):
    """The label of a vertex is the root of its piece; pieces are as deep as random numbers rise and fall."""
    for start, stop in chunks(cursor, chunk, len(vertices)):
        for i in range(start, stop):
            root = vertices[i]
            while parent[np.uint64(root)] != root:
                root = parent[np.uint64(root)]
            give_label(labels, np.uint64(vertices[i]), root)


@kernel
def split_groups(keys, vertices, rooted, twohop, weights, limits, total, labels):
    """Of vertices in the order of their keys: label those of one key part by part; how many joined others unpointed.

    With ``rooted``, keys are vertices: a part with the vertex that the others point to stays together in any case.
    """
    n, joined, first, place, has_root = len(labels.label), 0, 0, 0, False
    for i in range(len(keys) + 1):
        place = 0 if i == 0 or i == len(keys) or keys[i - 1] != keys[i] else place + 1
        good = i < len(keys) and place % MOST_JOINED > 0
        for j in range(len(limits) if good else 0):
            good &= total[j] + weights[np.uint64(vertices[i]), j] <= limits[j]
        if not good:
            together = has_root or twohop
            for k in range(first, i):
                v, r = np.uint64(vertices[k]), np.uint64(vertices[first if together else k])  # the first of its part
                labels.label[v], labels.place[v] = r, k - first if together else 0
                labels.alone[v] = i == first + 1
                labels.members[r], labels.nearest[r] = i - first if together else 1, n - r
            joined += i - first - 1 if twohop and not has_root and i > first else 0
            first, has_root = i, False
        if i < len(keys):
            has_root |= rooted and keys[i] == vertices[i]
            for j in range(len(limits)):
                w = weights[np.uint64(vertices[i]), j]
                total[j] = total[j] + w if good else w
    return joined


# ---- numbers ----


@inlined
def is_first(labels, v):
    """Whether v is the first of its cluster."""
    return labels.nearest[np.uint64(labels.label[v])] == np.uint32(len(labels.label) - v)


@kernel
def count_first(worker, cursor, chunk, labels, firsts, sizes):
    """firsts[b] = how many vertices of chunk b are the first of their cluster, sizes[b] = how many those have."""
    for start, stop in chunks(cursor, chunk, len(labels.label)):
        count = size = 0
        for v in range(start, stop):
            first = is_first(labels, v)
            count += first
            size += labels.members[np.uint64(labels.label[v])] if first else 0
        firsts[start // chunk], sizes[start // chunk] = count, size


@kernel
def number_labels(worker, cursor, chunk, labels, firsts, sizes, number, starts):
    """number[r] = the coarse vertex of label r, in the order of first members; its members begin at starts[c]."""
    for start, stop in chunks(cursor, chunk, len(labels.label)):
        c, at = firsts[start // chunk], sizes[start // chunk]
        for v in range(start, stop):
            if is_first(labels, v):
                r = np.uint64(labels.label[v])
                number[r], starts[c] = c, at
                at += labels.members[r]
                c += 1


@kernel
def list_members(worker, cursor, chunk, labels, number, groups):
    """The coarse vertex of every vertex, and the members of each, in any order."""
    for start, stop in chunks(cursor, chunk, len(labels.label)):
        for v in range(start, stop):
            c = np.uint64(number[np.uint64(labels.label[v])])
            groups.coarse[v] = c
            groups.members[np.uint64(groups.starts[c] + labels.place[v])] = v


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
        labels = new_labels(graph.n)
        joined = _label(best, seed, weights, bounds, twohop, threads, labels)
        if twohop:
            single = np.flatnonzero(labels.alone).astype(np.int32)
            keys = np.empty(len(single), np.uint64)
            in_blocks(hash_rows, len(single), threads, rows_of(graph), single, keys)
            joined += _split(keys, single, False, True, weights, bounds, threads, labels)
        return _number(labels, joined, threads)

    def contract_clusters(self, graph: Graph, groups: Groups, vertex_weights: np.ndarray) -> tuple[Graph, bool]:
        """The coarse graph, and whether a sum was too great for its type."""
        threads, count = threads_for(self.threads, graph.n + len(graph.indices)), groups.size
        coarse_weights = np.empty((count, *vertex_weights.shape[1:]), vertex_weights.dtype)
        in_blocks(gather_members, count, threads, columns(vertex_weights), groups, columns(coarse_weights))
        rows, limbs = _wide(number_rows_of(graph)), new_limbs(max(threads, 1))
        return self._merge(merge_clusters, rows, groups, coarse_weights, threads, limbs)


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
    labels: Labels,
) -> int:
    """Find a label of every vertex; how many joined others to which they do not point."""
    n = len(best)
    in_blocks(find_trees, n, threads, best, labels)
    left = _too_large(None, labels, weights, limits, threads)
    if not len(left):
        return 0
    parent, pointed, rival = np.empty(n, np.int32), np.zeros(n, np.uint8), np.zeros(n, np.uint64)
    in_blocks(point, len(left), threads, left, best, parent, pointed, labels)
    in_blocks(find_rivals, len(left), threads, left, best, pointed, seed, rival)
    in_blocks(cut_trees, len(left), threads, left, best, pointed, seed, rival, parent)
    in_blocks(find_pieces, len(left), threads, left, parent, labels)
    left = _too_large(left, labels, weights, limits, threads)
    return _split(parent[left].view(np.uint32), left, True, twohop, weights, limits, threads, labels)


def _too_large(
    vertices: np.ndarray | None, labels: Labels, weights: np.ndarray, limits: np.ndarray, threads: int
) -> np.ndarray:
    """Those of the vertices, by default of all, whose label has too many members, or too heavy ones."""
    large = np.empty(len(labels.label) if vertices is None else len(vertices), np.bool_)
    in_blocks(mark_large, len(large), threads, vertices, labels, large)
    if len(limits) and not (weights <= part_of(limits, 2 * MOST_JOINED)).all():  # else rounding makes none too heavy
        few = _chosen(vertices, ~large)
        keys, listed = radix_sort(labels.label[few].view(np.uint32), few, max(threads, 1))
        in_blocks(weigh_groups, len(keys), threads, keys, listed, weights, limits, labels.members)
        in_blocks(mark_large, len(large), threads, vertices, labels, large)
    return _chosen(vertices, large)


def _chosen(vertices: np.ndarray | None, marks: np.ndarray) -> np.ndarray:
    """The marked ones of the vertices, or of all."""
    return np.flatnonzero(marks).astype(np.int32) if vertices is None else vertices[marks]


def _split(
    keys: np.ndarray,
    vertices: np.ndarray,
    rooted: bool,
    twohop: bool,
    weights: np.ndarray,
    limits: np.ndarray,
    threads: int,
    labels: Labels,
) -> int:
    """Label vertices, which ascend, part by part of those with equal keys."""
    if len(keys) < coarsen.SMALL:
        places = np.argsort(keys, kind="stable")
        keys, vertices = keys[places], vertices[places]
    else:
        keys, vertices = radix_sort(keys, vertices, max(threads, 1))
    return split_groups(keys, vertices, rooted, twohop, weights, limits, np.zeros_like(limits), labels)


def _number(labels: Labels, joined: int, threads: int) -> Groups:
    """The clusters of vertices that have equal labels, numbered by their first members."""
    n = len(labels.label)
    before = np.zeros(
        (2, -(-n // coarsen.BLOCK) + 1), np.int64
    )  # first members, and members of these, of earlier blocks
    in_blocks(count_first, n, threads, labels, *before[:, 1:])
    np.cumsum(before, axis=1, out=before)
    number, starts = np.empty(n, np.int32), np.empty(before[0, -1] + 1, np.int64)
    starts[-1] = n
    in_blocks(number_labels, n, threads, labels, *before, number, starts)
    groups = Groups(np.empty(n, np.int32), starts, np.empty(n, np.int32), joined)
    in_blocks(list_members, n, threads, labels, number, groups)
    return groups
