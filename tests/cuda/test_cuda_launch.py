"""What every launch needs: memory in pieces, structs."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from corpus import order_of, path

from troth.kernels import launch
from troth.kernels.launch import DeviceClock, Layout, Memory, struct
from troth.order import as_argument, make_order


def test_structs_are_bytes_in_order():
    kind = np.dtype([("wide", "u8"), ("narrow", "u4")], align=True)
    word = struct(kind, 2**40 + 3, 5)
    assert (word.size, word.dtype.fields, word.nbytes) == (1, None, 16)
    assert word.tobytes()[:12] == (2**40 + 3).to_bytes(8, "little") + (5).to_bytes(4, "little")


def test_structs_know_where_they_are():
    word = struct(np.dtype([("wide", "u8")]), 7)
    assert word.__array_interface__["data"][0] == word.ctypes.data


def test_one_order_is_packed_once():
    assert as_argument(make_order(seed=3)) is as_argument(make_order(seed=3))
    assert as_argument(make_order(seed=3)).tobytes() != as_argument(make_order(seed=4)).tobytes()


@pytest.fixture
def played(monkeypatch):
    """A CuPy whose events are numbers and which gives memory at 4096; ``device`` is the current one."""
    numbers, device = count(), [0]

    def event() -> SimpleNamespace:
        return SimpleNamespace(number=next(numbers), record=lambda: None, synchronize=lambda: None)

    runtime = SimpleNamespace(getDevice=lambda: device[0])
    memory = {"alloc": lambda size: SimpleNamespace(ptr=4096, size=size)}
    elapsed = {"get_elapsed_time": lambda start, stop: float(stop.number - start.number)}
    cuda = SimpleNamespace(Event=event, runtime=runtime, **memory, **elapsed)
    monkeypatch.setattr(launch, "cupy", lambda: SimpleNamespace(cuda=cuda))
    launch._spare_events.cache_clear()
    yield SimpleNamespace(device=device)
    launch._spare_events.cache_clear()


def test_clocks_share_no_events_while_they_run(played):
    def events_of(*clocks):
        return [event.number for clock in clocks for event in (clock._start, clock._stop)]

    outer, inner = DeviceClock(), DeviceClock()
    assert events_of(outer, inner) == [0, 1, 2, 3]
    assert inner.stop() == 0.001
    later = DeviceClock()
    assert events_of(outer, later) == [0, 1, 2, 3]
    assert (later.stop(), outer.stop()) == (0.001, 0.001)
    played.device[0] = 1
    assert events_of(DeviceClock()) == [4, 5]


def test_a_clock_may_be_read_again(played):
    """Its events go back once: else two clocks that run together would share them."""
    clock = DeviceClock()
    assert clock.stop() == clock.read() == 0.001
    outer, inner = DeviceClock(), DeviceClock()
    assert outer._start is not inner._start
    assert (inner.stop(), outer.stop(), clock.read()) == (0.001, 0.001, 0.001)


def test_a_layout_serves_again(played):
    layout = Layout({"a": 257}, {"b": 8, "c": 0})
    for memory in (Memory({"a": 257}, {"b": 8, "c": 0}), Memory.laid_out(layout), Memory.laid_out(layout)):
        assert memory._start.size == 768
        assert memory.addresses("abc") == [4096, 4608, 4864]


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
