"""What comes of a call: where a result lives, and the words of a refusal."""

from __future__ import annotations

import numpy as np
import pytest

from troth.arrays import cupy
from troth.errors import TrothError
from troth.graph import Graph


def is_cupy(array) -> bool:
    return isinstance(array, cupy().ndarray)


def check_lives(array, graph: Graph) -> None:
    """A result is where the graph is."""
    assert is_cupy(array) == (graph.device != "cpu")
    assert graph.device != "cpu" or type(array) is np.ndarray
    assert array.dtype == np.int32


def refusal(call, *args, **options) -> str:
    with pytest.raises(TrothError) as caught:
        call(*args, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def outcome(work, *args, **options):
    """What comes of it: a result, or the words of a refusal."""
    try:
        return work(*args, **options)
    except TrothError as refusal:
        return str(refusal)
