"""What is special to Locally-Dominant: rounds, and what presorting saves."""

import pytest
from corpus import corpus, order_of

import troth
from troth import reference
from troth.contract import Context
from troth.cpu import locally_dominant


def run(graph, ties="hash", threads=None, **options):
    return locally_dominant.run(graph, order_of(graph, ties), Context(threads), **options)


def test_slides_example_round_by_round():
    """d-e is met in the first loop; it wakes c, who finds a. Nobody is left to look again in the second round."""
    mate, stats, *_ = run(corpus("slides"), threads=1)
    assert mate.tolist() == [2, -1, 0, 4, 3]
    assert stats["rounds"] == 2
    assert stats["scans"] == 5 + 1 + 1  # every vertex, then c, then b


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("presort", [False, True])
def test_a_chain_has_as_many_rounds_as_pairs(threads, presort):
    """Increasing weights: each pair frees one vertex, which wakes the next; rounds this small run on one thread."""
    graph = troth.generate("path", n=20001, weights="increasing")
    mate, stats, *_ = run(graph, threads=threads, presort=presort)
    assert mate.tolist() == [-1, *(v + 1 if v % 2 else v - 1 for v in range(1, 20001))]
    assert stats["rounds"] == 10000
    assert stats["scans"] == 20001 + 10000


def test_the_first_loop_matches_at_once():
    """Serially, a vertex that is processed sees who was matched before it: ties="low" on a path needs no rounds."""
    graph = troth.generate("path", n=1000, weights="unit")
    mate, stats, *_ = run(graph, "low", threads=1)
    assert mate.tolist() == [v ^ 1 for v in range(1000)]
    assert stats["scans"] == 1000
    assert stats["rounds"] == 1


@pytest.mark.parametrize("threads", [1, 3])
def test_presorted_entries_are_passed_over_once(threads):
    """A scan reads the entries that it passes over for good and the one that it ends at; the queue reads rows once."""
    graph = troth.generate("complete", n=300, weights="unit")
    plain, sorted_first = (run(graph, threads=threads, presort=presort) for presort in (False, True))
    assert plain[0].tolist() == sorted_first[0].tolist() == reference.greedy(graph, order_of(graph)).tolist()
    assert sorted_first[1]["edges_read"] <= 2 * len(graph.indices) + sorted_first[1]["scans"]
    assert plain[1]["edges_read"] > 10 * len(graph.indices)
    assert sorted_first.seconds["sort"] > 0


def test_small_and_large_rounds_meet(monkeypatch):
    """Rounds go from large to small and back; the same mates wherever the line is drawn."""
    graph = troth.generate("rmat", scale=10, weights="integers")
    answer = run(graph, threads=1)[0].tolist()
    for threads in (1, 2):
        for small in (0, 10, 10**9):
            monkeypatch.setattr(locally_dominant, "SMALL", small)
            assert run(graph, threads=threads)[0].tolist() == answer
