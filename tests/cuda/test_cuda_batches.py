"""Suitor in batches on a GPU: the one matching, in no more memory than was given; what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from corpus import TIES, on_corpus, order_of
from outcomes import refusal

import troth
from troth import reference
from troth.api import request
from troth.arrays import cupy
from troth.cuda import batches
from troth.errors import DeviceMemoryError
from troth.graph import Graph

pytestmark = pytest.mark.gpu


def least(graph: Graph, ties: str = "hash") -> int:
    """The smallest amount of memory that is enough."""
    order, low, high = order_of(graph, ties), 0, 2**40
    while high - low > 1:
        middle = (low + high) // 2
        try:
            batches.make_plan(graph, order, middle)
            high = middle
        except DeviceMemoryError:
            low = middle
    return high


def within(memory: int, graph: Graph, **words):
    """The matching, with a limit of CuPy's pool: whoever takes more fails."""
    pool = cupy().get_default_memory_pool()
    pool.free_all_blocks()
    pool.set_limit(size=pool.total_bytes() + -(-memory // 512) * 512)
    try:
        return troth.match(graph, device="cuda", memory=memory, **words)
    finally:
        pool.set_limit(size=0)


@on_corpus
def test_corpus(graph):
    for seed, ties in enumerate(TIES):
        if ties == "degree" and graph.weights.dtype != np.float64:
            continue
        expected = reference.greedy(graph, order_of(graph, ties, seed)).tolist()
        for more in (0, 10**6):
            m = within(least(graph, ties) + more, graph, ties=ties, seed=seed)
            assert m.mate.tolist() == expected
            assert isinstance(m.mate, np.ndarray)
            assert m.device == "cuda:0"


MEDIUM = {
    "rmat": "rmat:scale=16,edgefactor=16",
    "erdos-renyi": "erdos-renyi:n=100000,degree=16",
    "grid": "grid:rows=400,cols=400",
    "equal": "grid:rows=400,cols=400,weights=unit",
    "rgg": "rgg:n=100000,degree=12",
    "hubs": "hubs:n=100000,hubs=9,degree=20000",
    "path": "path:n=100000,weights=increasing",
    "float64": "rmat:scale=15,dtype=float64",
    "int64": "rmat:scale=15,weights=integers,dtype=int64,high=9007199254740992",
    "uint8": "erdos-renyi:n=50000,degree=8,weights=integers,dtype=uint8,high=3",
}


@pytest.mark.parametrize("spec", MEDIUM.values(), ids=MEDIUM)
def test_medium_graphs(spec):
    """From little memory, in which there may be several passes, to what holds the graph."""
    graph = troth.read(spec)
    for ties in ("hash", "low"):
        expected = troth.match(graph, device="cpu", ties=ties).mate
        need, size = least(graph), 4 * graph.n + graph.indices.nbytes + graph.weights.nbytes
        for memory in (need + size // 50, need + size // 4, 4 * size):
            m = within(memory, graph, ties=ties, threads=4)
            assert (m.mate == expected).all()
            assert m.stats["bytes_copied"] == m.stats["passes"] * (size + 4 * m.stats["batches"])


def test_batches_of_one_per_cent():
    graph = troth.read("erdos-renyi:n=200000,degree=16")
    m = within(least(graph) + 4_000_000, graph)
    assert m.stats["batches"] >= 100
    assert (m.mate == troth.match(graph, device="cpu").mate).all()


def test_a_mapped_folder(tmp_path):
    graph = troth.generate("rmat", scale=14, device="cpu")
    troth.write(graph, tmp_path / "graph.csr")
    m = troth.match(tmp_path / "graph.csr", device="cuda", memory="64MB", certify=True)
    assert (m.mate == troth.match(graph, device="cpu").mate).all()
    assert m.certificate == troth.match(graph, device="cpu", certify=True).certificate
    assert troth.verify(graph, m)


def test_another_stream():
    """The caller's stream is the one on which kernels run, and its earlier work comes first."""
    cp, graph = cupy(), troth.generate("rmat", scale=14, device="cpu")
    expected = troth.match(graph, device="cpu").mate
    wait = cp.RawKernel(
        'extern "C" __global__ void wait(long long t) { long long s = clock64(); while (clock64() - s < t) {} }', "wait"
    )
    pool, stream = cp.get_default_memory_pool(), cp.cuda.Stream(non_blocking=True)
    with stream:
        wait((1,), (1,), (np.int64(1),))
        troth.match(graph, device="cuda", memory=10**7)  # all is compiled now, and there is pinned memory
        for _ in range(3):
            pool.free_all_blocks()
            before = cp.empty(10**7, np.uint8)  # the one block that the pool has to give out again
            stream.synchronize()
            wait((1,), (1,), (np.int64(10**8),))  # some 50 ms, while copying takes few
            before.fill(255)
            del before
            assert (troth.match(graph, device="cuda", memory=10**7).mate == expected).all()


def test_where_the_card_is_too_small(monkeypatch):
    """The way is taken by itself, and the note says so."""
    graph = troth.generate("rmat", scale=14, device="cpu")
    monkeypatch.setattr(request, "_whole", lambda graph: 2**60)
    m = troth.match(graph, device="cuda")
    assert m.stats["note"].startswith("in batches, since cuda:0 is too small: the graph needs ")
    assert (m.mate == troth.match(graph, device="cpu").mate).all()
    for pays, device in ((True, "cuda:0"), (False, "cpu")):
        monkeypatch.setattr(request, "WORTH_A_COPY", 0)
        monkeypatch.setattr(request, "copying_pays", lambda *_, pays=pays: pays)
        assert troth.match(graph).device == device


def test_what_is_refused():
    graph = troth.generate("rmat", scale=10, device="cpu")
    assert "this graph needs " in refusal(troth.match, graph, device="cuda", memory=1000)
    assert "give a number of bytes" in refusal(troth.match, graph, device="cuda", memory="8 apples")
    assert "memory is for graphs whose rows are on the host" in refusal(
        troth.match, graph.to("cuda"), device="cuda", memory="1GB"
    )
    assert "without presort" in refusal(troth.match, graph, device="cuda", memory="1GB", presort=True)
    assert "memory is an option of some variants" in refusal(
        troth.match, graph, device="cuda", memory="1GB", variant="plain"
    )
    assert "memory is met by match alone" in refusal(troth.hierarchy, graph, device="cuda", memory="1GB")
