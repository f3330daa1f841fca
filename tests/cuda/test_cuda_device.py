"""Devices: which GPU a request means, and refusals in one line. CuPy is played by a few names, so no GPU is needed."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from corpus import corpus
from outcomes import refusal

import troth
from troth import arrays, graph
from troth.api import request
from troth.arrays import check_room, count_devices, device_number, in_gib, is_on_device, using
from troth.errors import DeviceMemoryError, TrothError
from troth.families.structures import TooManyEntriesError

MIB, GIB = 2**20, 2**30

slides = corpus("slides")


class CUDARuntimeError(RuntimeError):
    pass


class OutOfMemoryError(MemoryError):
    """With CuPy's own words."""

    def __init__(self, size: int, total: int):
        super().__init__(f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes).")


class Pool(SimpleNamespace):
    """Some memory that CuPy has taken from the card, free for its own arrays or in use, and its limit (0: none)."""

    def free_bytes(self):
        return self.free

    def used_bytes(self):
        return self.used

    def get_limit(self):
        return self.limit

    def free_all_blocks(self):
        """Nothing can be given back."""


def played(count=1, current=0, free=8 * GIB, pool_free=0, used=0, limit=0) -> SimpleNamespace:
    """A CuPy with so many devices; ``entered`` lists those that were made current, and left again with None."""
    entered = []

    class Device:
        def __init__(self, number=None):
            self.id = current if number is None else number

        def __enter__(self):
            entered.append(self.id)

        def __exit__(self, *_):
            entered.append(None)

    def count_or_fail():
        if isinstance(count, Exception):
            raise count
        return count

    runtime = SimpleNamespace(
        getDeviceCount=count_or_fail, CUDARuntimeError=CUDARuntimeError, memGetInfo=lambda: (free, 16 * GIB)
    )
    cuda = SimpleNamespace(runtime=runtime, Device=Device, memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError))
    pool = Pool(free=pool_free, used=used, limit=limit)
    return SimpleNamespace(cuda=cuda, get_default_memory_pool=lambda: pool, entered=entered)


@pytest.fixture
def play(monkeypatch):
    """``play(count=2)`` lets troth see that CuPy."""

    def start(**facts) -> SimpleNamespace:
        cupy = played(**facts)
        for module in (arrays, graph):
            monkeypatch.setattr(module, "cupy", lambda: cupy)
        return cupy

    return start


# ---- CuPy itself ----


def test_without_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    reason = refusal(arrays.cupy.__wrapped__)
    assert reason.startswith('device="cuda": CuPy is not installed; pip install "troth[cuda13]"')
    assert reason.endswith('or choose device="cpu"')


@pytest.mark.parametrize("words", ["no libcudart.so.13", "====\nFailed to import.\n\nOriginal error\n"], ids=len)
def test_a_cupy_that_does_not_load(monkeypatch, tmp_path, words):
    """CuPy itself explains at length, over many lines, why it does not load."""
    (tmp_path / "cupy.py").write_text(f"raise ImportError({words!r})\n")
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    reason = refusal(arrays.cupy.__wrapped__)
    assert reason.startswith('device="cuda": CuPy does not load (')
    assert "pip install" in reason


# ---- how many, and which ----


def test_count_devices(play):
    play(count=3)
    assert count_devices() == 3
    play(count=CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected"))
    assert count_devices() == 0
    play(count=CUDARuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient"))
    assert "is too old for this CuPy (cudaErrorInsufficientDriver: " in refusal(count_devices)
    assert not arrays.is_available.__wrapped__()


def test_an_error_that_is_not_about_devices_is_not_hidden(play):
    play(count=KeyError("a bug"))
    with pytest.raises(KeyError):
        count_devices()


def test_count_devices_without_cupy(monkeypatch):
    def missing():
        raise TrothError("CuPy is not installed")

    monkeypatch.setattr(arrays, "cupy", missing)
    assert refusal(count_devices) == "CuPy is not installed"


@pytest.mark.parametrize(
    ("count", "available"), [(0, False), (1, True), (2, True), (CUDARuntimeError("no driver"), False)]
)
def test_is_available(play, monkeypatch, count, available):
    monkeypatch.setattr(arrays, "find_spec", lambda name: name)
    play(count=count)
    assert arrays.is_available.__wrapped__() is available


def test_is_available_without_cupy(monkeypatch):
    def broken():
        raise TrothError("CuPy does not load")

    monkeypatch.setattr(arrays, "cupy", broken)
    for spec in (None, "cupy"):
        monkeypatch.setattr(arrays, "find_spec", lambda name, spec=spec: spec)
        assert arrays.is_available.__wrapped__() is False


def test_device_number(play):
    play(count=3, current=2)
    assert [device_number(f"cuda:{i}") for i in range(3)] == [0, 1, 2]
    assert device_number("cuda") == 2
    assert device_number("cuda", 1) == 1
    assert device_number("cuda", 0) == 0
    assert device_number("cuda:2", 1) == 2


@pytest.mark.parametrize("name", ["cuda:99", "cuda:1", "cuda:x", "cuda:", "cuda:-1", "cuda:0.0", "cuda: 0", "cuda:0:0"])
def test_devices_that_are_not_there(play, name):
    play(count=1)
    assert refusal(device_number, name) == f"device={name!r} is not there: choose cuda:0"
    assert refusal(slides.to, name) == f"device={name!r} is not there: choose cuda:0"
    for call in (troth.match, troth.strongest):
        assert refusal(call, "no-such-file.mtx", device=name) == f"device={name!r} is not there: choose cuda:0"


def test_a_refusal_names_all_devices(play):
    play(count=4)
    assert refusal(device_number, "cuda:4") == "device='cuda:4' is not there: choose cuda:0 to cuda:3"


@pytest.mark.parametrize("name", ["cuda", "cuda:0"])
def test_no_device_at_all(play, name):
    play(count=0)
    wanted = f'device={name!r}: there is no CUDA device; choose device="cpu"'
    assert refusal(device_number, name) == wanted
    assert refusal(slides.to, name) == wanted
    for call in (troth.match, troth.strongest):
        assert refusal(call, "no-such-file.mtx", device=name) == wanted


def test_options_of_the_gpu_alone_ask_for_one(play):
    play(count=0)
    assert "there is no CUDA device" in refusal(troth.match, "no-such-file.mtx", variant="hybrid")
    assert "there is no CUDA device" in refusal(troth.strongest, "no-such-file.mtx", gpu_threads=64)


@pytest.mark.parametrize("name", ["gpu", "auto", "mpi", "cpu:0", "CUDA", "", "cudax:0"])
def test_graphs_go_only_to_devices(play, name):
    play(count=1)
    assert f"device={name!r}" in refusal(slides.to, name)


def test_auto_stays_where_there_is_no_gpu(monkeypatch):
    monkeypatch.setattr(request, "WORTH_A_COPY", 0)
    monkeypatch.setattr(request, "is_available", lambda: False)
    m = troth.match(slides)
    assert (m.device, m.mate.tolist()) == ("cpu", [2, -1, 0, 4, 3])
    assert troth.strongest(slides).tolist() == [2, 0, 4, 4, 3]


def test_small_graphs_do_not_ask_for_a_gpu(monkeypatch):
    def asked():
        raise AssertionError("a small graph of the host stays there")

    monkeypatch.setattr(request, "is_available", asked)
    assert troth.match(slides).device == "cpu"
    monkeypatch.setattr(request, "WORTH_A_COPY", len(slides.indices) + 1)
    assert troth.match(slides).device == "cpu"
    monkeypatch.setattr(request, "WORTH_A_COPY", len(slides.indices))
    with pytest.raises(AssertionError):
        troth.match(slides)


def test_is_on_device():
    assert not is_on_device(slides.indptr)
    assert not is_on_device([1, 2])
    assert is_on_device(SimpleNamespace(__cuda_array_interface__={}))


# ---- memory ----


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0.0 KiB"),
        (5000, "4.9 KiB"),
        (MIB - 1, "1024.0 KiB"),
        (MIB, "1.0 MiB"),
        (GIB - MIB, "1023.0 MiB"),
        (GIB, "1.0 GiB"),
        (3 * GIB // 2, "1.5 GiB"),
        (139 * GIB, "139.0 GiB"),
        (2**50, "1048576.0 GiB"),
    ],
)
def test_in_gib(size, text):
    assert in_gib(size) == text


def test_using_makes_a_device_current_for_a_while(play):
    cupy = play(count=2)
    with using(1):
        assert cupy.entered == [1]
    assert cupy.entered == [1, None]


def test_out_of_memory_while_working(play):
    cupy = play(free=GIB // 2)
    with pytest.raises(DeviceMemoryError) as caught, using(0):
        raise OutOfMemoryError(3 * GIB, 5 * GIB)
    assert str(caught.value) == (
        "cuda:0 is too small: 3.0 GiB more is needed and 512.0 MiB of 16.0 GiB is free; "
        'choose device="cpu", or free some'
    )
    assert isinstance(caught.value, TrothError)
    assert cupy.entered == [0, 0, None, None]  # once more to ask how much is free


def test_out_of_memory_in_other_words(play):
    play()
    error = OutOfMemoryError(1, 1)
    error.args = ("cudaErrorMemoryAllocation: out of memory",)
    with pytest.raises(DeviceMemoryError, match=r"too small: more memory is needed and 8\.0 GiB of"), using(0):
        raise error


def test_out_of_memory_in_a_sort(play):
    """CuPy raises plain MemoryError there."""
    play()
    with pytest.raises(DeviceMemoryError, match=r"too small: more memory is needed and 8\.0 GiB of"), using(0):
        raise MemoryError("std::bad_alloc: std::bad_alloc")


def test_other_errors_pass(play):
    cupy = play()
    for error in (ValueError("x"), KeyboardInterrupt(), TrothError("y"), TooManyEntriesError()):
        with pytest.raises(type(error)) as caught, using(0):
            raise error
        assert caught.value is error
    assert cupy.entered == [0, None] * 4


@pytest.mark.parametrize(
    ("facts", "room"),
    [
        ({}, 8 * GIB),
        ({"pool_free": GIB}, 9 * GIB),  # what CuPy holds and does not use
        ({"limit": 2 * GIB, "used": GIB // 2}, 3 * GIB // 2),  # CuPy may not take all
        ({"limit": 64 * GIB, "used": GIB, "pool_free": GIB}, 9 * GIB),
    ],
)
def test_check_room(play, facts, room):
    cupy = play(**facts)
    check_room(1, room, "the graph")
    with pytest.raises(DeviceMemoryError) as caught:
        check_room(1, room + MIB, "the graph")
    assert str(caught.value) == (
        f"cuda:1 is too small: the graph needs {in_gib(room + MIB)} and {in_gib(room)} of 16.0 GiB is free; "
        'choose device="cpu", or free some'
    )
    assert cupy.entered == [1, None] * 2


def test_a_graph_that_does_not_fit(play):
    play(free=100)
    reason = refusal(slides.to, "cuda")
    assert reason.startswith("cuda:0 is too small: the graph needs 0.2 KiB and 0.1 KiB of 16.0 GiB is free")
    assert refusal(troth.strongest, slides, device="cuda") == reason
    reason = refusal(troth.match, slides, device="cuda")  # nor do batches of it, or what is beside them
    assert reason.startswith("cuda:0 is too small: the graph needs 0.4 KiB and 0.1 KiB of 16.0 GiB is free")


def test_auto_takes_the_cpu_where_the_graph_does_not_fit(play, monkeypatch):
    play(free=100)
    monkeypatch.setattr(request, "is_available", lambda: True)
    monkeypatch.setattr(request, "WORTH_A_COPY", 0)
    m = troth.match(slides)
    assert (m.device, m.mate.tolist()) == ("cpu", [2, -1, 0, 4, 3])
    assert m.stats["note"].startswith("on the CPU, since cuda:0 is too small: the graph needs ")
