"""What every launch needs: memory in pieces, structs."""

from __future__ import annotations

import numpy as np
import pytest
from corpus import order_of, path

from troth.kernels.launch import Memory, struct
from troth.order import as_argument, make_order


def test_structs_are_bytes_in_order():
    kind = np.dtype([("wide", "u8"), ("narrow", "u4")], align=True)
    word = struct(kind, 2**40 + 3, 5)
    assert (word.size, word.dtype.fields, word.nbytes) == (1, None, 16)
    assert word.tobytes()[:12] == (2**40 + 3).to_bytes(8, "little") + (5).to_bytes(4, "little")


def test_one_order_is_packed_once():
    assert as_argument(make_order(seed=3)) is as_argument(make_order(seed=3))
    assert as_argument(make_order(seed=3)).tobytes() != as_argument(make_order(seed=4)).tobytes()


@pytest.mark.gpu
def test_an_order_with_classes_points_to_them():
    graph = path([1, 1, 1]).to("cuda")
    order = order_of(graph, "degree")
    assert order.classes.get().tolist() == [254, 253, 253, 254]
    word = as_argument(order).tobytes()
    assert int.from_bytes(word[:8], "little") == order.classes.data.ptr
    assert as_argument(make_order()).tobytes()[:8] == bytes(8)


@pytest.mark.gpu
@pytest.mark.parametrize("lengths", [(0, 0, 0, 0), (8, 1000, 0, 260), (0, 256, 4, 0), (0, 0, 257, 3)])
def test_memory_in_pieces(lengths):
    """Apart from each other, at multiples of 256; two are zeros, and the others can be written without harm."""
    a, b, c, d = lengths
    memory = Memory({"a": a, "b": b}, {"c": c, "d": d}).clear()
    pieces = {name: memory.view(name, np.uint8) for name in "abcd"}
    pieces["c"].fill(1)
    pieces["d"].fill(2)
    assert [pieces[name].get().tolist() for name in "abcd"] == [[0] * a, [0] * b, [1] * c, [2] * d]
    for name in "abcd":
        assert (memory[name].ptr - memory["a"].ptr) % 256 == 0
        assert not pieces[name].size or pieces[name].data.ptr == memory[name].ptr
