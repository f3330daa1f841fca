"""Kernels of the gate: one streaming check of a matrix, and what makes a dirty one clean.

The symmetry check adds a hash of every entry above the diagonal and subtracts that of every entry below it, modulo
2^64. The sum is 0 for a symmetric matrix; for any other one it is 0 with probability about 2^-64 over the seed of the
hash, which every process draws anew, so that no file can be made to pass. (Addition commutes, so rows may be read in
any order and by any thread. The seed decides only whether the slow path looks, never a result.)
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from troth.gate.findings import COLUMNS, SALT
from troth.kernels.jit import inlined, kernel
from troth.kernels.sort import STACK, sort_pairs
from troth.kernels.team import chunks, run_team, thread_count, worker_rows
from troth.order import WEIGHT, hash2, weight_bits

ROOM = 512  # entries that are checked at a time: what they need stays in the first cache
SHORT, STRIDE = 4, 32  # entries that a row is thought to have, and where it has more
NONE = np.uint64(0)
run_ranges = partial(run_team, chunk=1, serial_below=0)  # each a large piece of work


class Entries(NamedTuple):
    """The CSR arrays of a matrix that is not a graph yet."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


@inlined
def name_rows(indptr, first, u, stop, owner):
    """owner[1 + i] = the row of entry ``first + i``, for the next entries of the rows u..stop-1; ``first`` is in row u.

    Whole rows as long as there is room, or a piece of a long one. Returns the row that comes next, or goes on, and how
    many entries were named. A row is written in strides, whatever its length: what is too much the next row overwrites,
    and no branch depends on the lengths of short rows.
    """
    if indptr[u + 1] - first > ROOM:
        for k in range(1, ROOM + 1):
            owner[k] = np.uint32(u)
        return u, np.int64(ROOM)
    while u < stop and indptr[u + 1] - first <= ROOM:
        at = max(indptr[u] - first, 0) + 1
        end = indptr[u + 1] - first + 1
        for k in range(at, at + SHORT):
            owner[k] = np.uint32(u)
        if end > at + SHORT:
            for k in range(at + SHORT, at + STRIDE):
                owner[k] = np.uint32(u)
            for k in range(at + STRIDE, end):
                owner[k] = np.uint32(u)
        u += 1
    return u, indptr[u] - first


@kernel
def check_rows(worker, cursor, chunk, indptr, indices, bits, salt, owners, narrow, found):
    """Stream the rows once; ``found[worker]`` gets the counts, the fingerprint and the range of the bits.

    The loops go over entries, not over rows, so that short rows are as fast as long ones. ``narrow`` gets the indices,
    where it is not None.
    """
    n = np.uint64(indptr.size - 1)
    owner = owners[worker]
    unsorted = outside = loops = total = np.uint64(0)
    least, greatest, union = bits[0], bits[0], bits[0]
    for start, stop in chunks(cursor, chunk, np.int64(n)):
        u, first, last = start, indptr[start], np.int64(-1)
        owner[0] = n  # of the entry before the first: no row
        while u < stop:
            u, count = name_rows(indptr, first, u, stop, owner)
            part = indices[np.uint64(first) : np.uint64(first + count)]
            values = bits[np.uint64(first) : np.uint64(first + count)]
            if narrow is not None:  # known when compiling
                for i in range(count):
                    narrow[np.uint64(first + i)] = part[i]
            if count:
                unsorted += np.uint64((owner[1] == owner[0]) & (part[0] <= last))
                last = np.int64(part[count - 1])
            for i in range(1, count):
                unsorted += np.uint64((owner[i] == owner[i + 1]) & (part[i] <= part[i - 1]))
            for i in range(count):
                least = min(least, values[i])
                greatest = max(greatest, values[i])
                union |= values[i]
            for i in range(count):
                row, v = np.uint64(owner[i + 1]), np.uint64(part[i])
                outside += np.uint64(v >= n)  # also what is below 0
                loops += np.uint64(v == row)
                h = ((min(row, v) << np.uint64(32) | max(row, v)) ^ salt[0]) * np.uint64(0x9E3779B97F4A7C15)
                h = (h ^ (h >> np.uint64(32)) ^ np.uint64(values[i]) ^ salt[1]) * np.uint64(0xD6E8FEB86659FD93)
                h = (h ^ (h >> np.uint64(32))) * np.uint64(0xBF58476D1CE4E5B9)
                h ^= h >> np.uint64(29)
                total += (h if v > row else NONE - h) if v != row else NONE
            first += count
            owner[0] = owner[count]
    columns = (unsorted, outside, loops, total, np.uint64(least), np.uint64(greatest), np.uint64(union))
    for column, value in enumerate(columns):
        found[worker, column] = value


def check(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, narrow: np.ndarray | None = None) -> list[int]:
    """What one pass finds, by the columns of ``findings.py``; the last three mean something where all are positive.

    ``narrow``: room for the indices as int32, which are right where none is outside.
    """
    threads, n = thread_count(None, len(indices)), len(indptr) - 1
    if not len(indices):
        return [0] * len(COLUMNS)
    parts, owners = np.zeros((threads, 7), np.uint64), worker_rows(threads, ROOM + STRIDE + 1, np.uint32)
    given = indptr, indices, weight_bits(data), SALT, owners, narrow, parts
    run_team(check_rows, n, threads, *given, serial_below=0)
    with np.errstate(over="ignore"):
        counts = parts[:, :4].sum(axis=0, dtype=np.uint64)
    least, greatest, union = int(parts[:, 4].min()), int(parts[:, 5].max()), int(np.bitwise_or.reduce(parts[:, 6]))
    found = dict.fromkeys(COLUMNS, 0) | dict(zip(("UNSORTED", "OUTSIDE", "LOOPS", "FINGERPRINT"), counts, strict=True))
    found |= {"LEAST": least, "GREATEST": greatest, "UNION": union}
    if least == 0 or greatest > _greatest_bits(data.dtype):  # positive and finite numbers have the bits between
        found["NONPOSITIVE"] = len(data) - np.count_nonzero(data > 0)
        found["NONFINITE"] = len(data) - np.count_nonzero(np.isfinite(data))
    return [int(found[column]) for column in COLUMNS]


def _greatest_bits(kind: np.dtype) -> int:
    """The bits of the greatest finite number of a type."""
    limit = np.finfo(kind).max if kind.kind == "f" else np.iinfo(kind).max
    return int(weight_bits(np.array([limit], kind))[0])


@kernel
def span_bits(worker, cursor, chunk, bits, found):
    """found[worker] = the least, the greatest and the union of the bits."""
    least, greatest, union = bits[0], bits[0], bits[0]
    for start, stop in chunks(cursor, chunk, bits.size):
        for e in range(np.uint64(start), np.uint64(stop)):
            least = min(least, bits[e])
            greatest = max(greatest, bits[e])
            union |= bits[e]
    found[worker, 0] = least
    found[worker, 1] = greatest
    found[worker, 2] = union


def span(weights: np.ndarray) -> tuple[int, int, int]:
    """Least, greatest and union of the bits of some positive weights, at least one."""
    threads = thread_count(None, len(weights))
    found = np.empty((threads, 3), np.uint64)
    run_team(span_bits, len(weights), threads, weight_bits(weights), found, chunk=1 << 14, serial_below=0)
    return int(found[:, 0].min()), int(found[:, 1].max()), int(np.bitwise_or.reduce(found[:, 2]))


@kernel
def class_degrees(worker, cursor, chunk, indptr, most, classes):
    """classes[v] = most - min(degree of v, most)."""
    for start, stop in chunks(cursor, chunk, classes.size):
        for v in range(np.uint64(start), np.uint64(stop)):
            degree = np.uint64(indptr[v + np.uint64(1)] - indptr[v])
            classes[v] = np.uint8(most - min(degree, most))


def degree_classes(indptr: np.ndarray, most: int) -> np.ndarray:
    """What ``class_degrees`` writes."""
    classes = np.empty(len(indptr) - 1, np.uint8)
    run_team(class_degrees, len(classes), thread_count(None, len(classes)), indptr, np.uint64(most), classes)
    return classes


@kernel
def keep_positive(rows, write, kept):
    """Leave out loops and entries <= 0. Called twice, as ``merge_directions`` is."""
    to = 0
    kept.indptr[0] = 0
    for u in range(rows.indptr.size - 1):
        for e in range(rows.indptr[u], rows.indptr[u + 1]):
            keep = rows.indices[e] != u and rows.data[e] > 0
            if write and keep:
                kept.indices[to] = rows.indices[e]
                kept.data[to] = rows.data[e]
            to += keep
        kept.indptr[u + 1] = to


@kernel
def merge_directions(rows, columns, mode, write, merged):
    """Combine a matrix with its transpose, loops left out; a missing direction does not count.

    Called twice: first with ``write`` false to fill the new indptr, then with room for the entries. Returns the first
    place (row, column) where the two differ, and how many edges do.
    """
    indptr, indices, data = rows.indptr, rows.indices, rows.data
    t_indptr, t_indices, t_data = columns.indptr, columns.indices, columns.data
    row = column = -1
    edges = to = 0
    merged.indptr[0] = 0
    for u in range(indptr.size - 1):
        a, b = indptr[u], t_indptr[u]
        while a < indptr[u + 1] or b < t_indptr[u + 1]:
            va = indices[a] if a < indptr[u + 1] else indptr.size
            vb = t_indices[b] if b < t_indptr[u + 1] else indptr.size
            v = min(va, vb)
            if v != u:
                if va != vb or data[a] != t_data[b]:
                    if edges == 0:
                        row, column = u, v
                    edges += u < v
                if write:
                    merged.indices[to] = v
                    if va != vb:
                        merged.data[to] = data[a] if va == v else t_data[b]
                    elif mode == 0:
                        merged.data[to] = max(data[a], t_data[b])
                    elif mode == 1:
                        merged.data[to] = min(data[a], t_data[b])
                    elif mode == 2:
                        merged.data[to] = data[a] + t_data[b]
                    elif data[a] != t_data[b]:  # halves first: a sum may be too large
                        merged.data[to] = data[a] / 2 + t_data[b] / 2
                    else:  # half of the least number would be 0
                        merged.data[to] = data[a]
                to += 1
            a += va == v
            b += vb == v
        merged.indptr[u + 1] = to
    return row, column, edges


@kernel
def count_ends(worker, cursor, chunk, row, col, mirrored, loops, bounds, ends):
    """ends[v + 1] += the entries of row v, for the v of each range bounds[r]..bounds[r + 1] - 1; returns the loops.

    An edge is an entry of the row of its first end, and where ``mirrored`` of that of its second end. A loop is one
    entry, or none where ``loops`` is false. Every range is one pass over all edges: ranges share no row, so threads
    need not wait for each other, and a row fills up in the order of the edges.
    """
    found = 0
    for r, _ in chunks(cursor, chunk, len(bounds) - 1):
        first, last = bounds[r], bounds[r + 1]
        for e in range(row.size):
            u, v = np.int64(row[e]), np.int64(col[e])
            if first <= u < last:
                found += u == v
                ends[u + 1] += loops | (u != v)
            if mirrored and first <= v < last:
                ends[v + 1] += u != v
    return found


@kernel
def scatter_ends(worker, cursor, chunk, row, col, weight, mirrored, loops, bounds, place, indices, data):
    """Write the entries that ``count_ends`` counts; ``place`` holds where each row goes on."""
    for r, _ in chunks(cursor, chunk, len(bounds) - 1):
        first, last = bounds[r], bounds[r + 1]
        for e in range(row.size):
            u, v = np.int64(row[e]), np.int64(col[e])
            if first <= u < last and (loops or u != v):
                indices[place[u]] = v
                data[place[u]] = weight[e]
                place[u] += 1
            if mirrored and first <= v < last and u != v:
                indices[place[v]] = u
                data[place[v]] = weight[e]
                place[v] += 1


def bucket(
    row: np.ndarray,
    col: np.ndarray,
    weight: np.ndarray,
    n: int,
    mirrored: bool,
    loops: bool,
    threads: int | None = None,
):
    """A counting sort of a coordinate list by rows: (indptr, indices, data, how many are loops); rows are not sorted.

    ``mirrored`` and ``loops`` are as in ``count_ends``; a row has its entries in the order of the list.
    """
    threads = thread_count(threads, len(row))
    indptr = np.zeros(n + 1, np.int64)
    bounds = np.arange(threads + 1) * n // threads
    found = sum(run_ranges(count_ends, threads, threads, row, col, mirrored, loops, bounds, indptr))
    np.cumsum(indptr, out=indptr)
    total = int(indptr[-1])
    indices, data = np.empty(total, np.int32), np.empty(total, weight.dtype)
    bounds = np.searchsorted(indptr, np.arange(threads + 1) * total // threads)  # about as many entries each
    bounds[0], bounds[-1] = 0, n
    given = row, col, weight, mirrored, loops, bounds, indptr[:-1].copy(), indices, data
    run_ranges(scatter_ends, threads, threads, *given)
    return indptr, indices, data, int(found)


@kernel
def sort_rows(worker, cursor, chunk, indptr, indices, data, merge, stacks, kept):
    """Sort every row by neighbour, in place; with ``merge``, of equal neighbours the heaviest stays.

    kept[u + 1] = how many do. They stand at the beginning of the row.
    """
    for start, stop in chunks(cursor, chunk, indptr.size - 1):
        for u in range(start, stop):
            first, last = indptr[u], indptr[u + 1]
            sort_pairs(first, last, indices, data, stacks[worker])
            to = first
            for e in range(first + merge, last):
                if merge and indices[to] == indices[e]:
                    data[to] = max(data[to], data[e])
                elif merge:
                    to += 1
                    indices[to], data[to] = indices[e], data[e]
            kept[u + 1] = to + 1 - first if merge and first < last else last - first


def sort_neighbours(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, merge: bool = False, threads: int | None = None
) -> np.ndarray:
    """What ``sort_rows`` does; returns an indptr of the entries that stay."""
    kept, threads = np.zeros(len(indptr), np.int64), thread_count(threads, len(indices))
    stacks = worker_rows(threads, STACK, np.int64)
    run_team(sort_rows, len(indptr) - 1, threads, indptr, indices, data, merge, stacks, kept)
    return np.cumsum(kept, out=kept)


@kernel
def close_up(indptr, ends, indices, data):
    """Move what stays of every row, at its beginning, to where the new indptr ``ends`` has the row; in place."""
    for u in range(ends.size - 1):
        shift = indptr[u] - ends[u]
        for e in range(ends[u], ends[u + 1]):
            indices[e], data[e] = indices[e + shift], data[e + shift]


def edges_to_csr(row: np.ndarray, col: np.ndarray, weight: np.ndarray, n: int, threads: int | None = None):
    """Undirected edges to sorted CSR: (indptr, indices, weights, loops dropped, repeats merged).

    A counting sort by one end, then each row by the other, in place: less memory than a second counting sort, and less
    time but for a star. Beside the result there is room for two numbers a vertex. The arrays are the same for any
    number of threads.
    """
    indptr, indices, data, loops = bucket(row, col, weight, n, True, False, threads)
    total = len(indices)
    ends = sort_neighbours(indptr, indices, data, True, threads)
    kept = int(ends[-1])
    if kept < total:  # nobody else holds them, so what is left over is given back without a copy
        close_up(indptr, ends, indices, data)
        indices.resize(kept, refcheck=False)
        data.resize(kept, refcheck=False)
    return ends, indices, data, loops, (total - kept) // 2


@kernel
def uniform_weight(seed, u, v):
    """The random weight of edge {u, v}, uniform on the multiples of 2^-24 in (0, 1]; a function of seed and ends."""
    h = hash2(seed, WEIGHT, np.uint64(min(u, v)), np.uint64(max(u, v)))
    return np.float32((np.float64(h >> np.uint64(40)) + 1.0) * 2.0**-24)


@kernel
def random_edge_weights(row, col, seed, out):
    """``uniform_weight`` of every entry of a coordinate list."""
    for e in range(row.size):
        out[e] = uniform_weight(seed, np.int64(row[e]), np.int64(col[e]))


@kernel
def random_row_weights(indptr, indices, seed, out):
    """``uniform_weight`` of every entry of CSR rows."""
    for u in range(indptr.size - 1):
        for e in range(indptr[u], indptr[u + 1]):
            out[e] = uniform_weight(seed, np.int64(u), np.int64(indices[e]))
