"""The units of the certificate round to the safe side, and one sweep is feasible from anywhere."""

import math
from fractions import Fraction

import numpy as np
from corpus import DTYPES, FLOATS, HUGE, INTEGERS, TINY, graphs, path
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from troth import reference
from troth.cpu.checks import sweep
from troth.kernels.team import new_cursor
from troth.rows import number_rows_of
from troth.units import make_units, units_down, units_up


@given(graphs(dtypes=DTYPES))
def test_units_fit(graph):
    """The greatest weight fills 62 or 63 bits, so that no sum of two and no average leaves 64."""
    units = make_units(graph)
    greatest = max(reference.edges(graph).values(), default=1)
    if graph.m:
        assert 2**61 <= Fraction(greatest) * Fraction(2) ** int(units.exponent) < 2**63
    if graph.weights.dtype.kind == "f":
        assert math.log2(units.first) + math.log2(units.second) == units.exponent


@njit
def in_units(weights, units, up, down):
    for e in range(len(weights)):
        up[e] = units_up(weights[e], units)
        down[e] = units_down(weights[e], units)


def units_of(graph):
    """The units, the weights as kernels see them, and both roundings."""
    units = make_units(graph)
    weights = number_rows_of(graph).weights
    up, down = np.empty(len(weights), np.int64), np.empty(len(weights), np.int64)
    in_units(weights, units, up, down)
    return units, weights, up.tolist(), down.tolist()


# Full mantissas around and far below one unit of a greatest weight near 1; three factors move them over the range.
spread = st.lists(st.builds(math.ldexp, st.floats(0.5, 1, exclude_max=True), st.integers(-75, 0)), min_size=8)


@given(spread, st.sampled_from([1.0, HUGE / 2, 2.0**-990]), st.sampled_from(FLOATS))
def test_units_of_floats_round_to_the_safe_side(values, factor, dtype):
    weights = np.array(values) * (factor if dtype == "float64" else 1)
    graph = path(weights.tolist(), dtype)
    units, _, up, down = units_of(graph)
    one = Fraction(2) ** -int(units.exponent)
    for w, high, low in zip(graph.weights.tolist(), up, down, strict=True):
        assert low * one <= Fraction(w) <= high * one
        assert high - low <= 1


def test_a_weight_that_underflows_is_one_unit_at_most():
    _, _, up, down = units_of(path([TINY, HUGE], np.float64))
    assert (up[0], down[0]) == (1, 0)


@given(graphs(dtypes=INTEGERS))
def test_units_of_integers_are_exact(graph):
    units, _, up, down = units_of(graph)
    assert up == down == [w << int(units.exponent) for w in graph.weights.tolist()]


@given(graphs(dtypes=DTYPES), st.data())
def test_one_sweep_from_anywhere_is_feasible(graph, data):
    """The lemma that the certificate rests on, up to the greatest y."""
    units, _, up, _ = units_of(graph)
    fresh = np.empty(graph.n, np.int64)
    values = st.integers(0, 2**63 - 1) | st.sampled_from([0, 1, 2**63 - 1])
    y = np.array(data.draw(st.lists(values, min_size=graph.n, max_size=graph.n)), np.int64)
    high, low = sweep(0, new_cursor(), 2, number_rows_of(graph), units, y, fresh)
    fresh = fresh.tolist()
    assert (int(high) << 32) + int(low) == sum(fresh)
    owner = np.repeat(np.arange(graph.n), np.diff(graph.indptr)).tolist()
    for u, v, w in zip(owner, graph.indices.tolist(), up, strict=True):
        assert fresh[u] + fresh[v] >= w
