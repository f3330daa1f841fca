"""The order: priorities are bijections, prefixes never reverse, compiled and plain hashes agree."""

import numpy as np
import pytest
from corpus import TIES, build, graphs, order_of, path, star
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from troth import order as steps
from troth.errors import TrothError
from troth.order import (
    COLOUR,
    MOST_CLASS,
    PLACE,
    TIE,
    hash_int,
    make_order,
    mix64_int,
    prefix,
    priorities,
    weight_bits,
)
from troth.validate import check_ties


def for_python(step):
    """A step of kernels, which none but they may call."""
    return njit(lambda *args: step(*args))


hash1, hash2, hash3, mix64 = map(for_python, (steps.hash1, steps.hash2, steps.hash3, steps.mix64))
priority, priority_at, vertex = map(for_python, (steps.priority, steps.priority_at, steps.vertex))

BY_NUMBER = ("hash", "low", "high")  # the rules that need no graph
ids = st.integers(0, 2**32 - 1)
words = st.integers(0, 2**64 - 1)
seeds = st.integers(-(2**63), 2**64 - 1)


@njit
def prefixes(bits, order, out):
    for i in range(len(bits)):
        out[i] = prefix(bits[i], order)


def compiled_prefixes(bits, order):
    out = np.empty(len(bits), np.uint64)
    prefixes(bits, order, out)
    return out.tolist()


@given(st.sampled_from(BY_NUMBER), seeds, ids)
def test_vertex_undoes_priority(ties, seed, v):
    order = make_order(ties, seed)
    rank = priority(order, np.uint64(v))
    assert 0 <= rank < 2**32
    assert vertex(order, rank) == v
    assert priority(order, vertex(order, np.uint64(v))) == v  # onto, too


@pytest.mark.parametrize("ties", TIES)
def test_priorities_of_many_vertices(ties):
    order = make_order(ties, seed=7, graph=star(range(1, 100_000)))
    ranks = priorities(order, 100_000)
    assert len(np.unique(ranks)) == 100_000
    assert ranks.max() < 2**32
    sample = range(0, 100_000, 997)
    assert [priority(order, np.uint64(v)) for v in sample] == ranks[::997].tolist()


def test_low_prefers_the_smaller_id_and_high_the_larger():
    assert (np.diff(priorities(make_order("low"), 1000).astype(np.int64)) < 0).all()
    assert (np.diff(priorities(make_order("high"), 1000).astype(np.int64)) > 0).all()


def test_hash_priorities_depend_on_the_seed_and_are_not_monotone():
    one, two = (priorities(make_order("hash", seed), 1000).astype(np.int64) for seed in (1, 2))
    assert (one != two).any()
    assert 300 < np.count_nonzero(np.diff(one) > 0) < 700


# ---- by degree ----


class Sized:
    """A graph of so many vertices whose classes are all the same."""

    def __init__(self, n, class_=0):
        self.n, self.class_ = n, class_

    def degree_classes(self, most):
        self.most = most
        return np.array([min(self.class_, most)], np.uint8)


@given(st.integers(1, 31), seeds, st.integers(0, 2**31 - 1), st.integers(0, MOST_CLASS))
def test_a_vertex_is_the_lower_bits_of_its_priority(bits, seed, v, class_):
    graph = Sized(2**bits, class_)
    order, v = make_order("degree", seed, graph=graph), v % graph.n
    rank = priority_at(order, np.uint64(v), 0)
    assert rank >> np.uint64(bits) == order.classes[0] <= graph.most
    assert rank < 2**32
    assert vertex(order, rank) == v
    assert vertex(order, rank | np.uint64(5 << 32)) == v  # an offer


@pytest.mark.parametrize(
    ("n", "bits", "most"),
    [(0, 1, 255), (1, 1, 255), (2, 1, 255), (3, 2, 255), (2**24, 24, 255), (2**24 + 1, 25, 127), (2**31 - 1, 31, 1)],
)
def test_bits_of_the_scramble_and_the_greatest_class(n, bits, most):
    graph = Sized(n)
    order = make_order("degree", graph=graph)
    assert (order.bits, order.mask, graph.most) == (bits, 2**bits - 1, most)


@given(graphs(), seeds)
def test_fewer_neighbours_come_first(graph, seed):
    order = order_of(graph, "degree", seed)
    ranks, degrees = priorities(order, graph.n).tolist(), np.diff(graph.indptr).tolist()
    assert len(set(ranks)) == graph.n
    assert [priority(order, np.uint64(v)) for v in range(graph.n)] == ranks
    assert [vertex(order, np.uint64(rank)) for rank in ranks] == list(range(graph.n))
    by_rank = [degrees[v] for v in sorted(range(graph.n), key=lambda v: -ranks[v])]
    assert by_rank == sorted(degrees)


def test_equal_degrees_are_scrambled_by_the_seed():
    graph = path([1] * 1001)
    one, two = (priorities(order_of(graph, "degree", seed), graph.n).astype(np.int64)[1:-1] for seed in (1, 2))
    assert (one != two).any()
    assert 300 < np.count_nonzero(np.diff(one) > 0) < 700


def test_great_degrees_count_as_equal():
    leaves = [(c, v, 1) for c, degree in enumerate((253, 254, 255, 256, 900)) for v in range(5, 5 + degree)]
    graph = build(leaves)
    assert order_of(graph, "degree").classes[:5].tolist() == [2, 1, 0, 0, 0]
    assert set(order_of(graph, "degree").classes[5:].tolist()) == {255 - degree for degree in range(1, 6)}


@pytest.mark.parametrize(
    ("ties", "ranks"),
    [("hash", [2195425838, 3960563323, 3952328956]), ("low", [2**32 - 1, 2**32 - 2]), ("high", [0, 1])],
)
def test_the_other_rules_have_the_priorities_that_they_always_had(ties, ranks):
    assert priorities(make_order(ties, 7), len(ranks)).tolist() == ranks
    assert make_order(ties, 7).classes is None
    assert make_order(ties, 7, graph=Sized(9)) is make_order(ties, 7)


# ---- prefixes ----


@given(st.lists(st.integers(1, 2**63 - 1), min_size=1, max_size=30))
def test_prefix_of_wide_weights_is_monotone(values):
    values = sorted({*values, *(v + 1 for v in values if v < 2**63 - 1)})
    order = make_order("hash", 0, (values[0], values[-1]))
    found = compiled_prefixes(np.array(values, np.uint64), order)
    assert found == sorted(found)
    assert found[0] >= 1
    assert found[-1] < 2**32


@given(st.lists(st.integers(1, 2**32 - 1), min_size=1, max_size=30, unique=True))
def test_prefix_of_narrow_weights_is_exact(values):
    values = sorted(values)
    order = make_order("hash", 0, (values[0], values[-1]))
    assert compiled_prefixes(np.array(values, np.uint32), order) == values


@given(st.integers(1, 2**63 - 2**32), st.integers(0, 2**32 - 2))
def test_prefix_keeps_all_bits_that_fit(low, spread):
    order = make_order("hash", 0, (low, low + spread))
    bits = np.array([low, low + spread // 2, low + spread], np.uint64)
    assert compiled_prefixes(bits, order) == [1, spread // 2 + 1, spread + 1]


@given(st.lists(st.floats(5e-324, allow_infinity=False, allow_nan=False), min_size=2, max_size=20))
def test_bits_of_floats_are_in_the_order_of_the_weights(values):
    for dtype in (np.float32, np.float64):
        with np.errstate(over="ignore"):
            weights = np.array(values).astype(dtype)
        weights = weights[(weights > 0) & np.isfinite(weights)]
        bits = weight_bits(weights)
        assert np.array_equal(np.argsort(bits, kind="stable"), np.argsort(weights, kind="stable"))
        assert np.shares_memory(bits, weights) or not len(weights)


@given(words)
def test_compiled_mix_equals_plain(x):
    assert mix64(np.uint64(x)) == mix64_int(x)


def test_mix_is_splitmix64():
    # The published test vector: the first outputs of the generator with state 1234567.
    step = 0x9E3779B97F4A7C15
    stream = [mix64_int((1234567 + i * step) % 2**64) for i in range(3)]
    assert stream == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(words, st.integers(int(TIE), int(PLACE)), words, words, words)
def test_compiled_hashes_equal_plain(seed, domain, a, b, c):
    seed_, domain_, a_, b_, c_ = (np.uint64(x) for x in (seed, domain, a, b, c))
    assert hash1(seed_, domain_, a_) == hash_int(seed, domain, a)
    assert hash2(seed_, domain_, a_, b_) == hash_int(seed, domain, a, b)
    assert hash3(seed_, domain_, a_, b_, c_) == hash_int(seed, domain, a, b, c)


def test_domains_do_not_share_a_stream():
    found = {
        hash_int(seed, domain, v) for seed in range(20) for domain in range(int(TIE), int(PLACE) + 1) for v in range(20)
    }
    assert len(found) == 20 * 7 * 20


def test_hash_is_uniform_enough_to_colour():
    blue = sum(hash_int(0, COLOUR, 0, v) < int(0.53406 * 2**64) for v in range(20_000))
    assert abs(blue / 20_000 - 0.53406) < 0.02


@pytest.mark.parametrize("ties", ["", "lowest", "HASH", None, 0])
def test_unknown_tie_rules_are_refused_in_one_line(ties):
    with pytest.raises(TrothError, match="choose hash, low, high, degree") as refusal:
        check_ties(ties)
    assert "\n" not in str(refusal.value)
