"""What is special to the local baselines: the order of the visit, and the counts."""

import numpy as np
from corpus import build, corpus, grid, star

import troth
from troth.order import VISIT, hash_int


def test_the_first_visit_decides_a_star():
    """The first vertex in the order of the hashes takes a neighbour; a leaf has no choice but the middle."""
    graph = star([1] * 20)
    for seed in range(20):
        first = min(range(graph.n), key=lambda v: hash_int(seed, VISIT, v))
        for algorithm in ("local-random", "local-weighted"):
            mate = troth.match(graph, algorithm=algorithm, seed=seed).mate
            assert mate[first] >= 0
            assert np.count_nonzero(mate >= 0) == 2


def test_weighted_takes_the_heaviest_and_random_does_not_care():
    graph = build([(0, 1, 1), (1, 2, 100), (2, 3, 1)])
    weights = {
        algorithm: {troth.match(graph, algorithm=algorithm, seed=seed).weight for seed in range(30)}
        for algorithm in ("local-random", "local-weighted")
    }
    # An end that comes first takes its only neighbour; a middle that comes first takes the other, if weights count.
    assert weights == {"local-random": {2, 100}, "local-weighted": {2, 100}}
    middle_first = [
        seed for seed in range(30) if min(range(4), key=lambda v: hash_int(seed, VISIT, v)) in (1, 2)
    ]  # fmt: skip
    assert {troth.match(graph, algorithm="local-weighted", seed=seed).weight for seed in middle_first} == {100}
    assert {troth.match(graph, algorithm="local-random", seed=seed).weight for seed in middle_first} == {2, 100}


def test_random_takes_the_first_free_neighbour_and_reads_no_further():
    """The middle of a star comes first: it takes the first leaf, and has read one entry; each leaf then reads one."""
    graph = star([1] * 20)
    middle = next(v for v in range(graph.n) if graph.indptr[v + 1] - graph.indptr[v] == 20)
    seed = next(seed for seed in range(500) if min(range(21), key=lambda v: hash_int(seed, VISIT, v)) == middle)
    found = troth.match(graph, algorithm="local-random", seed=seed)
    assert found.mate[middle] == (0 if middle else 1)
    assert found.stats["edges_read"] == 1 + 19  # the mate of the middle does not look


def test_entries_read_are_counted_one_by_one():
    for graph in (corpus("hub"), grid(12, 17, lambda u, v: 1 + (u * v) % 7)):
        mate, read = {}, 0
        for u in sorted(range(graph.n), key=lambda v: (hash_int(3, VISIT, v), v)):
            if u in mate:
                continue
            for v in graph.indices[graph.indptr[u] : graph.indptr[u + 1]].tolist():
                read += 1
                if v not in mate:
                    mate[u], mate[v] = v, u
                    break
        found = troth.match(graph, algorithm="local-random", seed=3)
        assert found.stats["edges_read"] == read
        assert found.mate.tolist() == [mate.get(v, -1) for v in range(graph.n)]


def test_each_row_is_read_once_at_most():
    graph = grid(30, 30, lambda u, v: 1 + (u * v) % 7)
    for algorithm in ("local-random", "local-weighted"):
        stats = troth.match(graph, algorithm=algorithm).stats
        assert graph.n / 2 <= stats["scans"] <= graph.n
        assert stats["edges_read"] <= len(graph.indices)


def test_threads_share_the_sort_only():
    graph = corpus("hub")
    stats = troth.match(graph, algorithm="local-weighted", threads=3).stats
    assert set(stats["seconds"]) >= {"sort", "visit"}
    assert stats["threads"] == 3
