"""The radix sort against Python's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.kernels import sort
from troth.kernels.sort import STACK, radix_sort, sort_pairs

UNSIGNED = ("uint8", "uint16", "uint32", "uint64")


@st.composite
def unsigned(draw):
    dtype = draw(st.sampled_from(UNSIGNED))
    most = int(np.iinfo(dtype).max)
    some = draw(st.lists(st.integers(0, most), min_size=1, max_size=5))
    return np.array(draw(st.lists(st.sampled_from(some) | st.integers(0, most), max_size=60)), dtype)


@pytest.fixture(scope="module")
def tiny_shares():
    """A thread for every key."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sort, "SHARE", 1)
        yield


@pytest.mark.usefixtures("tiny_shares")
@given(unsigned(), st.sampled_from((1, 2, 5)), st.booleans())
def test_radix_sort_is_a_stable_sort(keys, threads, descending):
    places = sorted(range(len(keys)), key=lambda i: -int(keys[i]) if descending else int(keys[i]))
    found = radix_sort(keys.copy(), np.arange(len(keys)), threads, descending)
    assert found[0].tolist() == keys[places].tolist()
    assert found[1].tolist() == places
    assert radix_sort(keys.copy(), None, threads, descending)[0].tolist() == keys[places].tolist()


def organ_pipe(k):
    """A row on which the middle one of three is always a bad choice: up, then down."""
    half = np.arange(k // 2)
    return np.concatenate([half, half[::-1]])


@pytest.mark.parametrize("k", [0, 1, 2, 3, 16, 17, 100, 5000])
@pytest.mark.parametrize("shape", ["random", "few", "equal", "descending", "ascending", "pipe"])
def test_sort_pairs_sorts_its_stretch_and_keeps_pairs(shape, k):
    rng = np.random.default_rng(k)
    shapes = {
        "random": rng.permutation(k),
        "few": rng.integers(0, 3, k),
        "equal": np.zeros(k),
        "descending": np.arange(k)[::-1],
        "ascending": np.arange(k),
        "pipe": organ_pipe(k),
    }
    inner = shapes[shape].astype(np.int32)
    keys = np.concatenate([[7, 9], inner, [5, 1]]).astype(np.int32)  # what lies beside stays
    values = np.arange(len(keys), dtype=np.float64)
    before = keys.copy()
    sort_pairs(2, 2 + len(inner), keys, values, np.empty(STACK, np.int64))
    assert keys.tolist() == [7, 9, *sorted(inner.tolist()), 5, 1]
    assert sorted(values.tolist()) == list(range(len(keys)))
    assert (before[values.astype(int)] == keys).all()
