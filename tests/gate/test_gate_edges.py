"""Edges to rows on threads: the same arrays for any number of them, and those of a plain dictionary."""

import numpy as np
import pytest

from troth.gate.cpu import bucket, edges_to_csr

THREADS = [1, 2, 3, 7]


def some_edges(seed: int, n: int, m: int, kind: type):
    """Edges with loops, many repeats in both directions, and one vertex that has most of them."""
    rng = np.random.default_rng(seed)
    row, col = rng.integers(0, n, m), np.where(rng.random(m) < 0.3, n // 2, rng.integers(0, n, m))
    return row.astype(kind), col.astype(kind), rng.integers(1, 50, m).astype(np.float64)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize(("n", "m"), [(1, 4), (5, 40), (300, 4000), (4000, 1000), (3, 0)])
def test_rows_are_sorted_simple_and_hold_the_heaviest(n, m, threads):
    row, col, weight = some_edges(n, n, m, np.int32)
    heaviest = {}
    for u, v, w in zip(row.tolist(), col.tolist(), weight.tolist(), strict=True):
        if u != v:
            heaviest[u, v] = heaviest[v, u] = max(w, heaviest.get((u, v), 0))
    indptr, indices, data, loops, repeats = edges_to_csr(row, col, weight, n, threads)
    rows = np.repeat(np.arange(n), np.diff(indptr))
    assert list(zip(rows.tolist(), indices.tolist(), data.tolist(), strict=True)) == [
        (*ends, w) for ends, w in sorted(heaviest.items())
    ]
    assert loops == np.count_nonzero(row == col)
    assert repeats == m - loops - len(heaviest) // 2


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("mirrored", [True, False])
def test_a_bucket_has_its_entries_in_the_order_of_the_list(mirrored, threads):
    n = 50
    row, col, weight = some_edges(3, n, 700, np.int64)
    wanted = [[] for _ in range(n)]
    for u, v, w in zip(row.tolist(), col.tolist(), weight.tolist(), strict=True):
        wanted[u].append((v, w))
        if mirrored and u != v:
            wanted[v].append((u, w))
    indptr, indices, data, _ = bucket(row, col, weight, n, mirrored, True, threads)
    entries = list(zip(indices.tolist(), data.tolist(), strict=True))
    assert [entries[indptr[u] : indptr[u + 1]] for u in range(n)] == wanted
