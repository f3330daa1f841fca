"""Suitor in batches without a GPU: the kernels, run by g++ on the CPU, and the copying threads; by the reference."""

from __future__ import annotations

import platform
import shutil
import threading
import weakref
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from corpus import on_corpus, order_of
from emulation import CUDARuntimeError, FakeMemory, OutOfMemoryError, array_of, emulated, fake_cupy
from outcomes import refusal

import troth
from troth import arrays, reference
from troth import graph as graphs
from troth.api import device_choice, request
from troth.contract import Context
from troth.cuda import batches
from troth.errors import DeviceMemoryError
from troth.graph import Graph
from troth.kernels import feeding, launch
from troth.validate import amount

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="fibers are switched by instructions of x86-64"),
]


def least(graph: Graph, order) -> int:
    """The smallest amount of memory that is enough."""
    low, high = 0, 2**40
    while high - low > 1:
        middle = (low + high) // 2
        try:
            batches.make_plan(graph, order, middle)
            high = middle
        except DeviceMemoryError:
            low = middle
    return high


def there(order, device):
    """The order on the card."""
    if order.classes is None:
        return order
    return order._replace(classes=array_of(np.pad(order.classes, (0, int(order.mask) + 1 - len(order.classes)))))


def run(graph: Graph, order, memory: int, seed: int = 0, threads: int = 2):
    with emulated(batches, feeding, seed=seed), mock.patch.object(batches, "on_device", there):
        return batches.run(graph, order, Context(threads=threads), memory=memory)


def check(graph: Graph, ties: str = "hash", seed: int = 0, more: tuple[int, ...] = (0, 1000, 10**6)) -> list:
    """The one matching, with the least memory and with some more."""
    order = order_of(graph, ties, seed)
    expected = reference.greedy(graph, order).tolist()
    found = []
    for extra in more:
        result = run(graph, order, least(graph, order) + extra, seed)
        assert result.mates.tolist() == expected
        found.append(result.counts)
    return found


@on_corpus
def test_corpus(graph):
    if len(graph.indices):
        for seed, ties in enumerate(("hash", "low", "high", "degree")):
            check(graph, ties, seed)


@pytest.mark.parametrize("weights", ["uniform", "unit", "integers"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_random_graphs(weights, dtype):
    if weights == "integers":
        dtype = {"float32": "uint16", "float64": "int64"}[dtype]
    for seed in range(2):
        graph = troth.generate("rmat", scale=9, edgefactor=6, weights=weights, dtype=dtype, seed=seed, device="cpu")
        check(graph, ("hash", "degree")[seed], seed, (0, 20_000))


def lossy(graph: Graph) -> Graph:
    """Heavy weights that differ in bits that an offer has no room for."""
    return Graph(graph.indptr, graph.indices, np.where(graph.weights == 1, 1, graph.weights + 2**60))


def test_equal_prefixes_of_wide_weights():
    for seed in range(3):
        graph = lossy(troth.generate("rmat", scale=8, weights="integers", dtype="int64", seed=seed, device="cpu"))
        assert order_of(graph).lossy
        check(graph, "hash", seed)


@pytest.mark.parametrize("kind", ["float32", "int64"])
def test_rows_that_a_whole_block_reads(kind):
    weights = {"float32": {}, "int64": {"weights": "integers", "dtype": "int64"}}[kind]
    graph = troth.generate("hubs", n=1500, hubs=4, degree=700, seed=3, device="cpu", **weights)
    if kind == "int64":
        graph = lossy(graph)
    assert np.diff(graph.indptr).max() > batches.TURNS * batches.AHEAD * batches.LANES
    check(graph, "hash", 1, (0, 5000))


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_any_number_of_threads_reads_a_row(lanes):
    """Also rows that are long for so many."""
    hubs = troth.generate("hubs", n=600, hubs=3, degree=280, seed=3, device="cpu")
    assert np.diff(hubs.indptr).max() > batches.TURNS * batches.AHEAD * lanes
    for graph in (hubs, lossy(troth.generate("rmat", scale=7, weights="integers", dtype="int64", device="cpu"))):
        with mock.patch.object(batches, "lanes_for", return_value=lanes):
            check(graph, "hash", lanes, (0, 5000, 10**6))


@pytest.mark.parametrize(
    ("family", "words", "lanes"),
    [("grid", {"rows": 50, "cols": 50}, 1), ("erdos-renyi", {"n": 3000, "degree": 16}, 4), ("rmat", {"scale": 10}, 8)],
)
def test_threads_for_the_rows_of_a_graph(family, words, lanes):
    assert batches.lanes_for(troth.generate(family, device="cpu", **words)) == lanes


def copied(graph: Graph, batches: int) -> int:
    """Bytes of a pass: four for the start of a row, and for the end of each batch."""
    return 4 * (graph.n + batches) + graph.indices.nbytes + graph.weights.nbytes


def test_one_pass_where_leftovers_fit():
    """Batches of half a per cent of the graph, and some more than the least memory."""
    graph = troth.generate("rgg", n=3000, degree=8, device="cpu")
    [found] = check(graph, more=(5000,))
    assert found["batches"] > 90
    assert found["passes"] == 1
    assert found["leftovers"] < 0.1 * len(graph.indices)
    assert found["bytes_copied"] == copied(graph, found["batches"])


def test_more_passes_where_leftovers_do_not_fit():
    graph = troth.generate("erdos-renyi", n=1500, degree=16, device="cpu")
    few, many = check(graph, more=(0, 10**6))
    assert few["passes"] > many["passes"] == 1
    assert all(found["bytes_copied"] == found["passes"] * copied(graph, found["batches"]) for found in (few, many))


def test_leftovers_are_sifted_again_when_their_room_is_full():
    """More entries are kept of the batches than there ever are at one time, and yet one pass is enough."""
    graph = troth.generate("erdos-renyi", n=1500, degree=16, device="cpu")
    found = [found for found in check(graph, more=tuple(range(0, 80_000, 10_000))) if found["passes"] == 1]
    assert any(counts["leftovers"] < counts["kept"] for counts in found)


@pytest.mark.parametrize("kind", ["float32", "int64"])
def test_long_chains_are_left_to_the_host(kind):
    """Each offer of a path of rising weights displaces one; with room for all leftovers, and for none."""
    graph = troth.generate("path", n=300, weights="increasing", device="cpu")
    if kind == "int64":
        graph = lossy(Graph(graph.indptr, graph.indices, graph.weights.astype(np.int64)))
    with mock.patch.object(batches, "MOST_ROUNDS", 5):
        for found in check(graph, more=(0, 100_000)):
            assert found["waiting"] > 0


def test_equal_weights_by_index():
    graph = troth.generate("grid", rows=24, cols=24, weights="unit", device="cpu")
    for ties in ("low", "high"):
        check(graph, ties, more=(0, 20_000))


def test_what_is_too_little():
    graph = troth.generate("rmat", scale=8, device="cpu")
    order = order_of(graph)
    need = least(graph, order)
    assert need > 16 * graph.n
    with pytest.raises(DeviceMemoryError, match=r"memory=\d+: this graph needs .* KiB on the card at least"):
        run(graph, order, need - 1)


@pytest.mark.parametrize("wide", [False, True])
def test_memory_is_what_was_said(wide):
    """All arrays together, whatever is given."""
    made = []

    class Counted(FakeMemory):
        def __init__(self, zeros, others):
            super().__init__(zeros, others)
            made.append(sum(-(-size // 256) * 256 for size in (zeros | others).values()))

    graph = troth.generate("rmat", scale=7, weights="integers", dtype="int64", device="cpu")
    graph = lossy(graph) if wide else graph
    order = order_of(graph)
    for more in (0, 1, 777, 10_000, 10**6):
        memory = least(graph, order) + more
        with emulated(batches, feeding), mock.patch.object(batches, "Memory", Counted):
            batches.run(graph, order, Context(threads=1), memory=memory)
        assert made.pop() <= memory


def test_an_error_of_a_copying_thread_is_raised():
    """Such as a mapped file that cannot be read; and nobody is left behind."""
    graph = troth.generate("path", n=100, device="cpu")
    before = threading.active_count()

    def fail(*_, **words):
        raise OSError("the disk is gone")

    with (
        emulated(batches, feeding),
        mock.patch.object(feeding.np, "copyto", fail),
        pytest.raises(OSError, match="disk"),
    ):
        batches.run(graph, order_of(graph), Context(threads=3), memory=10**6)
    assert threading.active_count() == before


def pinned_up_to(most: int):
    """The driver gives so many bytes of pinned memory at once, and no more."""

    def allocate(size: int) -> bytearray:
        if size > most:
            raise CUDARuntimeError("out of memory")
        return bytearray(size)

    return mock.patch.object(fake_cupy.cuda, "alloc_pinned_memory", allocate)


def test_little_pinned_memory(monkeypatch):
    """One thread copies, in small pieces."""
    monkeypatch.setattr(feeding, "SMALL_PIECE", 64)
    with pinned_up_to(64 * feeding.SLOTS):
        check(troth.generate("rmat", scale=8, device="cpu"))


def test_no_pinned_memory():
    graph = troth.generate("path", n=100, device="cpu")
    words = "pinned host memory cannot be had .out of memory.; choose device="
    with pinned_up_to(0), pytest.raises(DeviceMemoryError, match=words):
        run(graph, order_of(graph), 10**6)


def test_an_interrupt_ends_the_copying():
    graph = troth.generate("grid", rows=50, cols=50, device="cpu")
    order = order_of(graph)

    def interrupt(phase, done, total):
        if done > total // 2:
            raise KeyboardInterrupt

    made = []

    class Watched(FakeMemory):
        def __init__(self, *sizes) -> None:
            super().__init__(*sizes)
            made.append(weakref.ref(self))

    before = threading.active_count()
    with (
        emulated(batches, feeding),
        mock.patch.object(batches, "Memory", Watched),
        pytest.raises(KeyboardInterrupt) as held,
    ):
        batches.run(graph, order, Context(threads=3, progress=interrupt), memory=least(graph, order))
    assert threading.active_count() == before
    assert held.traceback  # whose frames hold the engine's objects
    assert [each() for each in made] == [None]


def test_a_thread_that_cannot_be_started_ends_the_others():
    submit, started = feeding.ThreadPoolExecutor.submit, []

    def refuse(pool, *words):
        if started:
            raise RuntimeError("can't start new thread")
        started.append(submit(pool, *words))

    feeder_of = [[feeding.Copy(np.zeros(9, np.uint8), 0)]] * 4
    with emulated(feeding), mock.patch.object(feeding.ThreadPoolExecutor, "submit", refuse):
        feeder = feeding.Feeder(feeder_of, 0, 2)
        with pytest.raises(RuntimeError, match="new thread"):
            feeder.__enter__()
    assert started[0].done()


def test_a_batch_is_waited_for_alone(monkeypatch):
    """Not what was sent behind it; and of wide integers the low bits arrive."""
    sent, waited = [], []
    runtime = SimpleNamespace(**vars(fake_cupy.cuda.runtime))
    send = runtime.memcpyAsync
    runtime.memcpyAsync = lambda *words: sent.append(send(*words))

    def event(disable_timing=False):
        found = SimpleNamespace(synchronize=lambda: None, at=None)
        found.record = lambda stream=None: setattr(found, "at", len(sent))
        return found

    stream = SimpleNamespace(wait_event=lambda event: waited.append(event.at))
    cuda = SimpleNamespace(**{**vars(fake_cupy.cuda), "runtime": runtime, "Event": event})
    cuda.get_current_stream = lambda: stream
    source, target = np.arange(9) * 7 + 2**32 - 30, np.zeros(9, np.uint32)
    feeder_of = [[feeding.Copy(source[k : k + 1], target[k:].ctypes.data, np.uint32)] for k in range(9)]
    with emulated(feeding):
        monkeypatch.setattr(feeding, "cupy", lambda: SimpleNamespace(cuda=cuda))
        with feeding.Feeder(feeder_of, len(feeder_of), 1) as feeder:
            for batch in (8, 0, 4):
                feeder.wait_for(batch)
    assert waited == [9, 1, 5]
    assert target.tolist() == (source % 2**32).tolist()


def test_results_come_without_pinned_memory(monkeypatch):
    memory = object.__new__(launch.Memory)
    memory._places, memory._start = {"mates": (0, 12)}, 0
    cupy = SimpleNamespace(cuda=fake_cupy.cuda, ndarray=lambda shape, kind, at: array_of(np.arange(*shape, dtype=kind)))
    monkeypatch.setattr(launch, "cupy", lambda: cupy)
    with pinned_up_to(0):
        assert memory.fetch("mates", np.int32).tolist() == [0, 1, 2]


# ---- what users call ----


class Device:
    """CuPy's, of a machine that has one."""

    def __init__(self, number=0) -> None:
        self.id = 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_) -> None:
        pass

    def use(self) -> None:
        """Be current."""


@pytest.fixture
def card(monkeypatch):
    """A card with so much free memory, on which batches can be matched."""

    def start(free: int, asked=None, gaps: int = 0) -> None:
        runtime = SimpleNamespace(**vars(fake_cupy.cuda.runtime))
        runtime.getDeviceCount, runtime.memGetInfo = lambda: 1, asked or (lambda: (free, 2 * free))
        cuda = SimpleNamespace(**{**vars(fake_cupy.cuda), "runtime": runtime, "Device": Device})
        cuda.memory = SimpleNamespace(OutOfMemoryError=OutOfMemoryError)
        pool = SimpleNamespace(
            free_bytes=lambda: gaps, used_bytes=lambda: 0, get_limit=lambda: 0, free_all_blocks=lambda: None
        )
        cupy = SimpleNamespace(cuda=cuda, get_default_memory_pool=lambda: pool)
        monkeypatch.setattr(arrays, "cupy", lambda: cupy)
        monkeypatch.setattr(graphs, "cupy", lambda: cupy)
        monkeypatch.setattr(request, "is_available", lambda: True)
        monkeypatch.setattr(request, "WORTH_A_COPY", 0)

    return start


def test_match(card):
    graph = troth.generate("rmat", scale=9, device="cpu")
    expected = troth.match(graph, device="cpu").mate.tolist()
    card(10**9)
    with emulated(batches, feeding):
        m = troth.match(graph, device="cuda", memory="120kB", certify=True)
    assert (m.device, m.mate.tolist()) == ("cuda:0", expected)
    assert m.stats["batches"] > 1
    assert m.certificate == troth.match(graph, device="cpu", certify=True).certificate
    assert {"match", "copy", "kernels", "settle", "mates"} <= set(m.stats["seconds"])


@pytest.mark.parametrize("device", ["cuda", "auto"])
def test_the_card_is_too_small(card, device):
    graph = troth.generate("rmat", scale=9, device="cpu")
    expected = troth.match(graph, device="cpu").mate.tolist()
    card(120_000)
    with emulated(batches, feeding):
        m = troth.match(graph, device=device)
    assert (m.device, m.mate.tolist()) == ("cuda:0", expected)
    assert m.stats["note"].startswith("in batches, since cuda:0 is too small: the graph needs ")


def test_auto_takes_the_cpu_where_there_is_no_pinned_memory(card):
    graph = troth.generate("rmat", scale=9, device="cpu")
    card(120_000)
    with emulated(batches, feeding), pinned_up_to(0):
        m = troth.match(graph)
        assert m.device == "cpu"
        assert m.stats["note"].startswith("on the CPU, since cuda:0 is too small: the graph needs ")
        words = refusal(troth.match, graph, device="cuda")
        assert "cuda:0 is too small" in words
        assert 'KiB is free; choose device="cpu", or free some; nor in batches: ' in words
        assert "of pinned host memory cannot be had" in words
        assert "pinned host memory cannot be had" in refusal(troth.match, graph, device="cuda", memory="120kB")


def test_a_card_that_others_hold(card):
    """CUDA answers the first call for its memory with an error."""

    def asked():
        raise CUDARuntimeError("cudaErrorMemoryAllocation: out of memory")

    graph = troth.generate("rmat", scale=9, device="cpu")
    card(0, asked)
    m = troth.match(graph)
    words = "cuda:0 cannot be used (cudaErrorMemoryAllocation: out of memory)"
    assert (m.device, m.stats["note"].startswith(f"on the CPU, since {words}")) == ("cpu", True)
    assert words in refusal(troth.match, graph, device="cuda")
    assert words in refusal(troth.match, graph, device="cuda", memory="1GB")


def test_host_memory_that_is_short_is_not_the_card_s(card):
    card(10**9)
    with pytest.raises(MemoryError) as held, arrays.using(0):
        np.empty(2**60, np.uint8)
    assert not isinstance(held.value, DeviceMemoryError)


def test_gaps_in_the_pool_are_no_piece(card):
    card(1000, gaps=300)
    assert (arrays.room()[0], arrays.largest_piece()) == (1300, 1000)


def test_auto_takes_the_cpu_where_copying_takes_longer(card, monkeypatch):
    graph = troth.generate("rmat", scale=9, device="cpu")
    card(120_000)
    monkeypatch.setattr(device_choice, "DRIVER", 1.0)
    m = troth.match(graph)
    assert m.device == "cpu"


def test_refusals(card):
    graph = troth.generate("rmat", scale=9, device="cpu")
    card(10**9)
    assert "this graph needs " in refusal(troth.match, graph, device="cuda", memory=1000)
    assert "give a number of bytes, such as 8GB" in refusal(troth.match, graph, device="cuda", memory="8 apples")
    assert "without presort" in refusal(troth.match, graph, device="cuda", memory="1GB", presort=True)
    assert "memory is an option of some variants" in refusal(
        troth.match, graph, device="cuda", memory="1GB", variant="plain"
    )
    assert "memory is met by match alone" in refusal(troth.hierarchy, graph, device="cuda", memory="1GB")
    assert "has no option 'memory'" in refusal(troth.match, graph, device="cpu", memory="1GB")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8GB", 8 * 10**9),
        ("8 gb", 8 * 10**9),
        ("8000MB", 8 * 10**9),
        ("7.5GiB", 15 * 2**29),
        ("0.5k", 500),
        ("1kiB", 1024),
        ("100", 100),
        (8e9, 8 * 10**9),
        (np.int64(7), 7),
    ],
)
def test_amounts(text, size):
    assert amount(text) == size


@pytest.mark.parametrize("value", ["", "GB", "-8GB", "8XB", "8iB", "8e9", 0, -1, 0.5, np.nan, True, None, "0.1B"])
def test_what_is_no_amount(value):
    with pytest.raises(ValueError, match="a number of bytes"):
        amount(value)


@pytest.mark.parametrize("pinned", [2**30, 0])
@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.float64])
def test_large_arrays_go_there_and_back(kind, pinned):
    """In pieces, of which the last is not full; or at once, where there is no pinned memory."""
    rng = np.random.default_rng(1)
    array = rng.integers(0, 200, 3001).astype(kind)
    with (
        emulated(feeding),
        pinned_up_to(pinned),
        mock.patch.object(feeding, "WORTH_THREADS", 1),
        mock.patch.object(feeding, "PIECE", 1000),
    ):
        there = feeding.send(array)
        assert there.tolist() == array.tolist()
        assert feeding.fetch(there[:2990]).tolist() == array[:2990].tolist()
