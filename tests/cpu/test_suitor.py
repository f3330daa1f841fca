"""What is special in Suitor: waves, coarse prefixes, long, short and sorted rows, groups, zones, and races."""

import numpy as np
import pytest
from corpus import TIES, build, complete, cycle, drawn, grid, near_ties, order_of, path, star, wide_integers

import troth
from troth import reference
from troth.api.opening import as_graph
from troth.contract import Context
from troth.cpu import suitor, suitor_waves
from troth.cpu.first_choices import TILE
from troth.cpu.offers import GROUP
from troth.cpu.suitor import run, visiting_order
from troth.cpu.suitor_unbranched import STRETCH
from troth.cpu.suitor_waves import DENSE, SAMPLE, goes_in_waves, plan_waves
from troth.graph import Graph
from troth.kernels import team
from troth.order import priorities
from troth.rows import rows_of

THREADS = (1, 2, 3, 5, 8)


@pytest.fixture(autouse=True)
def a_team_for_every_graph(monkeypatch):
    monkeypatch.setattr(team, "SERIAL_BELOW", 0)


def check(graph: Graph, ties: str = "hash", seed: int = 0, threads=THREADS, presort=(False, True)) -> None:
    order = order_of(graph, ties, seed)
    wanted = reference.greedy(graph, order).tolist()
    for count in threads:
        for sort in presort:
            assert run(graph, order, Context(count), presort=sort).mates.tolist() == wanted


# ---- waves ----


def equal(weight, dtype):
    return lambda rng, m: np.full(m, weight, dtype)


@pytest.mark.parametrize("ties", ["hash", "degree"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(complete(90, lambda u, v: 7), id="complete"),
        pytest.param(drawn(500, 4000, equal(0.1, np.float64)), id="random"),
        pytest.param(drawn(5000, 30_000, equal(2**32 - 1, np.uint32)), id="several-waves"),
    ],
)
def test_equal_weights_go_in_waves(graph, seed, ties):
    assert len(graph.indices) > DENSE * graph.n
    assert goes_in_waves(graph, order_of(graph, ties))
    check(graph, ties, seed=seed, presort=(False,))


@pytest.mark.parametrize("bits", [1, 3, 5])
def test_waves_are_of_about_one_size(bits):
    """Whatever the degrees: here nearly all vertices have one of two."""
    graph = troth.generate("hubs", n=60_000, hubs=300, degree=600)
    for ties in ("hash", "degree"):
        order = order_of(graph, ties)
        table, shift = plan_waves(order, bits)
        assert (np.diff(table.astype(int)) <= 0).all()
        sizes = np.bincount(table[priorities(order, graph.n) >> np.uint64(shift)], minlength=1 << bits)
        assert len(sizes) == 1 << bits
        assert sizes.max() < 1.3 * graph.n / (1 << bits)


def test_waves_of_every_number():
    """More vertices, more waves, up to 32; the last graph has vertices of one wave alone and many without edges."""
    for n, used in [(6000, 6000), (9000, 9000), (20_000, 20_000), (40_000, 40_000), (70_000, 40_000)]:
        graph = drawn(used, 5 * n, equal(1, np.int32))
        graph = Graph(np.append(graph.indptr, np.full(n - used, graph.indptr[-1])), graph.indices, graph.weights)
        assert len(graph.indices) > DENSE * n
        wanted = troth.match(graph, algorithm="greedy").mate.tolist()
        for threads in (1, 8):
            assert troth.match(graph, threads=threads).mate.tolist() == wanted


def test_classes_that_no_sample_has_go_in_the_last_wave():
    """Ranks count the waves, and so each must come to the same number."""
    classes = np.full(3 * SAMPLE, 200, np.uint8)
    classes[1] = 7
    graph = build([(0, 1, 1)], len(classes))
    order = order_of(graph, "degree")._replace(classes=classes)
    table, shift = plan_waves(order, 4)
    assert table.max() == 15
    assert table[priorities(order, graph.n) >> np.uint64(shift)][1] == 15


@pytest.mark.parametrize("ties", ["hash", "degree"])
def test_waves_look_less(monkeypatch, ties):
    graph = drawn(20_000, 200_000, equal(1, np.float32))
    order = order_of(graph, ties)
    mate, waves, *_ = run(graph, order, Context(1))
    monkeypatch.setattr(suitor_waves, "DENSE", graph.n)
    same, plain, *_ = run(graph, order, Context(1))
    assert mate.tolist() == same.tolist()
    assert 2 * waves["scans"] < plain["scans"]


@pytest.mark.parametrize("ties", ["hash", "degree"])
def test_all_want_the_same_and_each_row_is_read_once(ties):
    """By falling priority one after the other: of vertices that look together all but one would look again."""
    graph = troth.generate("complete", n=500, weights="unit")
    assert run(graph, order_of(graph, ties), Context(1)).counts["edges_read"] <= 1.01 * len(graph.indices)
    check(graph, ties, threads=(1, 2), presort=(False,))


# ---- coarse prefixes ----


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("weigh", [near_ties, wide_integers])
@pytest.mark.parametrize(("n", "m"), [(60, 900), (900, 2500), (3000, 20_000)])
def test_coarse_prefixes_are_settled_exactly(n, m, weigh, ties):
    graph = drawn(n, m, weigh)
    assert order_of(graph).lossy
    check(graph, ties, threads=(1, 3, 8))


@pytest.mark.parametrize("ties", TIES)
def test_prefixes_that_are_exact_in_wide_types(ties):
    graph = drawn(1500, 9000, lambda rng, m: rng.integers(1, 4, m).astype(float))
    assert not order_of(graph).lossy
    check(graph, ties, threads=(1, 8))
    copies = [Graph(graph.indptr, graph.indices, graph.weights.astype(kind)) for kind in ("float32", "int64", "uint32")]
    mates = [troth.match(copy, ties=ties).mate.tolist() for copy in (graph, *copies)]
    assert mates == [mates[0]] * 4


def test_float32_and_its_float64_copy_match_alike():
    narrow = drawn(4000, 20_000, lambda rng, m: rng.random(m, np.float32))
    wide = Graph(narrow.indptr, narrow.indices, narrow.weights.astype(np.float64))
    assert not order_of(wide).lossy
    for threads in (1, 8):
        mates = [troth.match(graph, threads=threads).mate.tolist() for graph in (narrow, wide)]
        assert mates[0] == mates[1]


def test_the_greatest_offer_of_all():
    """All 64 bits of an offer are ones: vertex 0 of ties="low" with the greatest weight of 32 bits."""
    weights = np.array([2**32 - 1, 2**32 - 1, 2**32 - 2, 2**32 - 1, 1], np.uint32)
    for graph in (cycle(weights, np.uint32), star(weights, np.uint32), complete(20, lambda u, v: 2**32 - 1, np.uint32)):
        for ties in TIES:
            check(graph, ties)


# ---- long rows and groups ----


@pytest.mark.parametrize("leaves", [int(TILE) - 1, int(TILE), int(TILE) + 1, 2 * int(TILE), 3 * int(TILE) + 17])
def test_a_row_longer_than_a_tile(leaves):
    rng = np.random.default_rng(leaves)
    for weights, dtype in ((rng.integers(1, 200, leaves), np.int32), (near_ties(rng, leaves), np.float64)):
        graph = star(weights, dtype)
        for ties in TIES:
            check(graph, ties, threads=(1, 3))


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("kind", ["int64", "float32", "equal"])
def test_several_hubs(kind, ties):
    rng = np.random.default_rng(8)
    n, hubs = 7000, np.array([0, 1, 63, 64, 3500, 6999])  # neighbours in one group, and far apart
    row = np.concatenate([np.repeat(hubs, 5000), rng.integers(0, n, 3000)])
    col = rng.integers(0, n, len(row))
    weight = np.ones(len(row), np.float32) if kind == "equal" else rng.integers(1, 50, len(row)).astype(kind)
    graph = as_graph((row, col, weight))
    assert (np.diff(graph.indptr)[hubs] > 3000).all()
    check(graph, ties, threads=(1, 8))


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("dtype", ["uint8", "float32", "int64"])
def test_short_rows_and_a_few_long_ones(dtype, ties):
    """Rows of every length up to 80 among leaves and lone vertices; random and equal weights."""
    rng = np.random.default_rng(3)
    row = np.concatenate([np.repeat(np.arange(0, 4000, 50), np.arange(80)), rng.integers(0, 4000, 5000)])
    col = rng.integers(0, 4500, len(row))
    for weight in (rng.integers(1, 20, len(row)), np.full(len(row), 3)):
        graph = as_graph((row, col, weight.astype(dtype)))
        assert np.diff(graph.indptr).max() > STRETCH
        check(graph, ties, threads=(1, 2, 8), presort=(False,))


@pytest.mark.parametrize("length", [3, 8, 9, int(STRETCH) - 1, int(STRETCH), int(STRETCH) + 1, 3 * int(STRETCH)])
def test_long_rows_at_the_end_of_the_arrays(length):
    """The last vertices have the long rows and are looked at again: no vector may reach past the last entry."""
    n = 500
    edges = [(v, n - 1 - i, 1 + (7 * v + i) % 5) for i in range(4) for v in range(length)]
    graph = build(edges, n)
    assert np.diff(graph.indptr)[-1] == length
    for ties in TIES:
        check(graph, ties, threads=(1, 3), presort=(False,))


# ---- zones ----


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("weights", ["random", "few", "equal"])
def test_zones_and_those_who_wait_for_others(weights, ties, monkeypatch):
    """In a mesh each thread has zones of its own; the edges between zones come last. Lengths do not divide evenly."""
    rng = np.random.default_rng(5)
    worth = {"random": 2**30, "few": 3, "equal": 1}[weights]
    mesh = grid(1201, 13, lambda u, v: int(rng.integers(1, worth + 1)))
    later, order = [], order_of(mesh, ties)

    def run_team(kernel, total, threads, *args, **options):
        counts = team.run_team(kernel, total, threads, *args, **options)
        if kernel is suitor.propose_later:
            later.append(sum(made for made, *_ in counts))
        return counts

    monkeypatch.setattr(suitor, "run_team", run_team)
    wanted = reference.greedy(mesh, order).tolist()
    for threads in (1, 2, 3, 7):
        assert run(mesh, order, Context(threads)).mates.tolist() == wanted
    # One thread has one zone. Ids for priorities of equal weights foresee what comes: no zones.
    assert len(later) == (0 if weights == "equal" and ties in ("low", "high") else 3)
    assert all(later)


def test_the_last_in_the_order_waits_alone_for_another_zone():
    """Its priority is 0, and so is its word in the queue."""
    n, zone = 40_000, 40_000 // 32
    weights = np.random.default_rng(0).integers(1, 50, n - 1)
    row = np.delete(np.arange(n - 1), np.arange(zone, n, zone) - 1)  # no edge goes from zone to zone but the last one
    ends = np.append(row, 0), np.append(row + 1, n // 2 + 7)
    graph = as_graph((*ends, np.append(weights[row], 100).astype(np.int32)))
    assert priorities(order_of(graph, "high"), 1)[0] == 0
    check(graph, "high", threads=(2,), presort=(False,))


def test_the_last_in_the_order_looks_alone_in_its_wave():
    """The same in waves: where nearly all edges are there, each vertex looks alone."""
    graph = complete(522, lambda u, v: 1)
    order = order_of(graph, "degree", 1)
    assert 0 in priorities(order, graph.n)
    assert goes_in_waves(graph, order)
    check(graph, "degree", seed=1, threads=(1,), presort=(False,))


def test_neighbours_far_apart_have_no_zones(monkeypatch):
    def refuse(kernel, *args, **options):
        assert kernel is not suitor.propose_later
        return team.run_team(kernel, *args, **options)

    monkeypatch.setattr(suitor, "run_team", refuse)
    graph = drawn(9000, 30_000, lambda rng, m: rng.integers(1, 6, m).astype(np.int32))
    assert run(graph, order_of(graph), Context(3)).counts["threads"] == 3


@pytest.mark.parametrize("far", [False, True])
def test_one_thread_for_two_only_where_neighbours_are_near(far, monkeypatch):
    """All want their neighbour of the lowest number: along a path the one before, in the other graph one far off."""
    teams, n = [], 20_000
    rng = np.random.default_rng(8)
    ends = (rng.integers(0, 200, n), np.arange(n)) if far else (np.arange(n - 1), np.arange(1, n))
    graph = as_graph((*ends, (2 * n - ends[0]).astype(np.int32)))

    def run_team(kernel, total, threads, *args, **options):
        teams.append(threads)
        return team.run_team(kernel, total, threads, *args, **options)

    monkeypatch.setattr(suitor, "run_team", run_team)
    assert visiting_order(rows_of(graph), order_of(graph), 1000) == (False, True, not far)
    check(graph, threads=(2,), presort=(False,))
    assert teams[0] == (2 if far else 1)


# ---- rows that are read again and again ----


def product(n):
    """Everyone wants the same neighbour, and the next when that one is taken."""
    worth = np.random.default_rng(n).permutation(n) + 1
    return complete(n, lambda u, v: int(worth[u] * worth[v]), np.int64)


def sums(n):
    return build([(i, n + j, i + j + 1) for i in range(n) for j in range(n)], 2 * n)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(
    "graph", [product(220), sums(150), complete(230, lambda u, v: 1)], ids=["product", "sums", "equal"]
)
def test_entries_are_read_eight_times_at_most(graph, ties):
    """Proposals along unsorted rows would read the entries of the first graph about n / 8 times."""
    order = order_of(graph, ties)
    wanted = reference.greedy(graph, order).tolist()
    for threads in (1, 2, 5):
        mates, counts, *_ = run(graph, order, Context(threads))
        assert mates.tolist() == wanted
        assert counts["edges_read"] <= 8 * len(graph.indices)


def test_rows_are_sorted_once_they_were_read_too_often(monkeypatch):
    graph = product(200)
    order = order_of(graph)
    assert "sort" in run(graph, order, Context(2)).seconds
    monkeypatch.setattr(suitor, "MOST_LOOKS", 1000)
    mates, counts, seconds, _ = run(graph, order, Context(2))
    assert "sort" not in seconds
    assert counts["edges_read"] > 8 * len(graph.indices)
    assert mates.tolist() == reference.greedy(graph, order).tolist()


@pytest.mark.parametrize("ties", TIES)
def test_groups_that_are_not_full(ties):
    size = int(GROUP)
    for n in (2, 3, size - 1, size, size + 1, 2 * size - 1, 2 * size + 1, 5 * size + 7):
        weights = np.random.default_rng(n).integers(1, 4, n - 1)
        check(build([(i, i + 1, w) for i, w in enumerate(weights.tolist())]), ties, threads=(1, 2, 7))


@pytest.mark.parametrize("ties", ["high", "low"])
def test_both_directions_of_visits(ties):
    """Equal weights and ids for priorities: one long chain of dependencies, visited from its right end."""
    check(grid(41, 43, lambda u, v: 5), ties, threads=(1, 4))
    check_looks(troth.generate("grid", rows=200, cols=200, weights="unit"), ties, 2)


@pytest.mark.parametrize("rising", [True, False])
def test_paths_that_lean_to_either_side(rising):
    """As long a chain of weights: from the heavy end, one look at each row is all there is."""
    n = 20_000
    weights = np.arange(1, n) if rising else np.arange(n - 1, 0, -1)
    chain = as_graph((np.arange(n - 1), np.arange(1, n), weights.astype(np.int32)))
    assert visiting_order(rows_of(chain), order_of(chain), 1000) == (rising, True, True)
    check(path(weights[:999].tolist()), threads=(1, 4))
    check(chain, threads=(2, 3, 8), presort=(False,))
    check_looks(chain, "hash", 1.01)


def check_looks(graph: Graph, ties: str, most: float) -> None:
    """At most so many looks at a row, which the other direction, where nearly all are displaced, would not do with."""
    mate, stats, *_ = run(graph, order_of(graph, ties), Context(1))
    assert stats["scans"] < most * graph.n
    assert mate.tolist() == troth.match(graph, algorithm="greedy", ties=ties).mate.tolist()


def test_random_weights_lean_to_no_side():
    mesh = troth.generate("grid", rows=200, cols=200)
    assert not visiting_order(rows_of(mesh), order_of(mesh), 1000)[1]


# ---- races, counts and the rest ----


def test_a_hundred_races_have_one_winner():
    """Few distinct weights and a hub in reach of everyone: offers are displaced all the time."""
    graph = drawn(3000, 15_000, lambda rng, m: rng.integers(1, 6, m).astype(np.int32))
    coarse = drawn(3000, 15_000, near_ties)
    short = drawn(3000, 9000, lambda rng, m: rng.integers(1, 6, m).astype(np.int32))
    for contested in (graph, coarse, short):
        order = order_of(contested)
        wanted = reference.greedy(contested, order)
        for _ in range(50):
            assert (run(contested, order, Context(8)).mates == wanted).all()
            assert (run(contested, order, Context(8), presort=True).mates == wanted).all()


@pytest.mark.parametrize("threads", [1, 4])
def test_counts_are_plausible(threads):
    graph = drawn(4000, 30_000, lambda rng, m: rng.random(m))
    mate, stats, seconds, _ = run(graph, order_of(graph), Context(threads))
    assert set(stats) == {"proposals", "scans", "edges_read", "threads"}
    assert set(seconds) == {"propose", "mates"}
    assert np.count_nonzero(mate >= 0) <= stats["proposals"] <= 4 * graph.n
    assert graph.n <= stats["scans"] <= 4 * graph.n
    assert len(graph.indices) <= stats["edges_read"] <= 4 * len(graph.indices)
    assert stats["threads"] == threads
    sorted_mate, sorted_stats, sorted_seconds, _ = run(graph, order_of(graph), Context(threads), presort=True)
    assert sorted_mate.tolist() == mate.tolist()
    assert sorted_stats["edges_read"] < stats["edges_read"]  # no entry is tried twice
    assert sorted_stats["edges_read"] >= np.count_nonzero(mate >= 0)
    assert set(sorted_seconds) == {"sort", "propose", "mates"}


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_no_edges(n):
    for presort in (False, True):
        mate, stats, *_ = run(build([], n), order_of(build([], n)), Context(3), presort=presort)
        assert mate.tolist() == [-1] * n
        assert (stats["scans"], stats["edges_read"]) == (0, 0)


def test_the_graph_is_not_changed():
    graph = drawn(500, 3000, lambda rng, m: rng.random(m))
    for array in (graph.indptr, graph.indices, graph.weights):
        array.flags.writeable = False
    check(graph, threads=(1, 3), presort=(False,))
