"""The radix sort against Python's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.kernels import sort
from troth.kernels.sort import radix_sort

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
