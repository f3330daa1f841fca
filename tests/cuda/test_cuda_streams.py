"""The public calls on a GPU: streams, threads, too little memory."""

from __future__ import annotations

import gc
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest
from corpus import ULP, corpus
from outcomes import check_lives, refusal

import troth
from troth.api import request
from troth.arrays import cupy
from troth.engines import TABLE
from troth.errors import TrothError
from troth.graph import Graph

pytestmark = pytest.mark.gpu

MIB = 2**20
ON_GPU = [engine.algorithm for engine in TABLE if engine.device == "cuda"]


# ---- streams and threads ----

WAIT = """
extern "C" __global__ void wait(long long ticks) {
    long long start = clock64();
    while (clock64() - start < ticks) {}
}
"""
TICKS = 10**8  # about 50 ms, while a call needs few


@cache
def waiting():
    return cupy().RawKernel(WAIT, "wait")


def weights_of(mesh: Graph, kind: str) -> np.ndarray:
    """Exact prefixes, whose range is not looked at, or lossy ones, whose range comes from the device."""
    return mesh.weights.astype(np.int32) if kind == "narrow" else 1 + mesh.weights * ULP * 2.0 ** (mesh.weights % 3)


@pytest.mark.parametrize("kind", ["narrow", "wide"])
@pytest.mark.parametrize("algorithm", ON_GPU)
def test_weights_made_on_the_callers_stream_just_before(mesh, algorithm, kind):
    """Nothing may run on another stream: there the weights are still all equal."""
    cp, right = cupy(), weights_of(mesh, kind)
    wanted = troth.match(
        mesh.replaced(weights=right, weight_range=None), algorithm=algorithm, device="cpu", certify=True
    )
    early = troth.match(
        mesh.replaced(weights=np.ones_like(right), weight_range=None), algorithm=algorithm, device="cpu"
    )
    assert wanted.mate.tolist() != early.mate.tolist()
    there, right = mesh.to("cuda"), cp.asarray(right)
    troth.match(
        there.replaced(weights=right, weight_range=None), algorithm=algorithm, certify=True
    )  # all is compiled now
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        weights = cp.ones_like(right)
        stream.synchronize()
        waiting()((1,), (1,), (np.int64(TICKS),))
        weights[...] = right
        m = troth.match(there.replaced(weights=weights, weight_range=None), algorithm=algorithm, certify=True)
        found = m.mate.get().tolist()
    assert found == wanted.mate.tolist()
    assert m.certificate == wanted.certificate


@pytest.mark.parametrize("call", ["match", "strongest"])
def test_edges_made_on_the_callers_stream_just_before(mesh, call):
    cp = cupy()
    owner = np.repeat(np.arange(mesh.n), np.diff(mesh.indptr))
    edges = tuple(cp.asarray(part) for part in (owner, mesh.indices.astype(np.int64), mesh.weights))
    find = {"match": lambda obj: troth.match(obj).mate, "strongest": troth.strongest}[call]
    wanted = {"match": lambda: troth.match(mesh).mate, "strongest": lambda: troth.strongest(mesh)}[call]()
    find(edges)  # all is compiled now
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        late = tuple(cp.ones_like(part) for part in edges)
        late[0][:] = mesh.n - 1
        stream.synchronize()
        waiting()((1,), (1,), (np.int64(TICKS),))
        for empty, part in zip(late, edges, strict=True):
            empty[...] = part
        found = find(late).get()
    assert found.tolist() == wanted.tolist()


def test_a_graph_of_the_host_on_the_callers_stream(mesh):
    wanted = troth.match(mesh, device="cpu").mate.tolist()
    for stream in (cupy().cuda.Stream(non_blocking=True), cupy().cuda.Stream()):
        with stream:
            assert troth.match(mesh, device="cuda").mate.tolist() == wanted
            there = mesh.to("cuda")
            assert troth.match(there).mate.get().tolist() == wanted
            assert cupy().cuda.get_current_stream() == stream


def test_calls_from_several_threads(mesh):
    """Some callers share a stream, some have their own, and some graphs come from the host."""
    there = mesh.to("cuda")
    alone = {name: troth.match(mesh, algorithm=name, device="cpu", seed=1).mate.tolist() for name in ON_GPU}

    def call(i):
        algorithm, graph = ON_GPU[i % len(ON_GPU)], there if i % 3 else mesh
        if i % 2:
            return algorithm, troth.match(graph, algorithm=algorithm, device="cuda", seed=1).mate.tolist()
        with cupy().cuda.Stream(non_blocking=True):
            return algorithm, troth.match(graph, algorithm=algorithm, device="cuda", seed=1).mate.tolist()

    with ThreadPoolExecutor(6) as pool:
        for algorithm, mate in pool.map(call, range(6 * len(ON_GPU))):
            assert mate == alone[algorithm]


# ---- too little memory ----


@pytest.fixture(scope="module")
def chain() -> Graph:
    """So large that mates alone, 4 bytes a vertex, take more than the MiB that tests leave."""
    return troth.generate("path", n=300_000, weights="integers", high=99)


def size_of(graph: Graph) -> int:
    return graph.indptr.nbytes + graph.indices.nbytes + graph.weights.nbytes


def tidy():
    """Give back what CuPy holds and nobody uses, so that no new array is a part of an old one's place."""
    pool = cupy().get_default_memory_pool()
    gc.collect()
    pool.free_all_blocks()
    return pool


@contextmanager
def room_for(size: int):
    """CuPy may take so many bytes more than it holds."""
    pool = tidy()
    before = pool.get_limit()
    pool.set_limit(size=pool.total_bytes() + size)
    try:
        yield
    finally:
        pool.set_limit(size=before)


SIZE = r"[\d.]+ [KMG]iB"
NO_GRAPH = re.compile(
    rf'cuda:0 is too small: the graph needs {SIZE} and {SIZE} of {SIZE} is free; choose device="cpu", .*'
)
NO_WORK = re.compile(
    rf'cuda:0 is too small: {SIZE} more is needed and {SIZE} of {SIZE} is free; choose device="cpu", .*'
)


def test_a_graph_that_does_not_fit(chain):
    with room_for(MIB):
        reasons = [refusal(call, chain, device="cuda") for call in (troth.match, troth.strongest)]
        reasons += [refusal(chain.to, "cuda"), refusal(chain.to, "cuda:0")]
    assert all(NO_GRAPH.fullmatch(reason) for reason in reasons)
    assert chain.to("cuda").device == "cuda:0"


@pytest.mark.parametrize("algorithm", ON_GPU)
def test_work_that_does_not_fit(chain, algorithm):
    with room_for(size_of(chain) + MIB):
        if algorithm == "suitor":  # which leaves the rows on the host
            m = troth.match(chain, device="cuda")
            assert m.mate.tolist() == troth.match(chain, device="cpu").mate.tolist()
            assert m.stats["note"].startswith("in batches, since cuda:0 is too small: ")
        else:
            assert NO_WORK.fullmatch(refusal(troth.match, chain, algorithm=algorithm, device="cuda"))
    tidy()
    there = chain.to("cuda")
    with room_for(MIB):
        assert NO_WORK.fullmatch(refusal(troth.match, there, algorithm=algorithm, device="cuda"))
    assert (
        troth.match(there, algorithm=algorithm).mate.tolist()
        == troth.match(chain, algorithm=algorithm, device="cpu").mate.tolist()
    )


def test_auto_takes_the_cpu_instead(chain, monkeypatch):
    """Of an engine that needs all rows on the card."""
    words = {"algorithm": "locally-dominant"}
    monkeypatch.setattr(request, "WORTH_A_COPY", 0)
    wanted = troth.match(chain, device="cpu").mate.tolist()
    tidy()
    there = chain.to("cuda")
    for graph, size, reason in (
        (chain, MIB, NO_GRAPH),
        (chain, size_of(chain) + MIB, NO_WORK),
        (there, 8 * chain.n + MIB, NO_WORK),
    ):
        with room_for(size):
            m = troth.match(graph, **words)
        assert m.device == "cpu"
        check_lives(m.mate, graph)
        assert m.mate.tolist() == wanted
        head, _, why = m.stats["note"].partition(", since ")
        assert head == "on the CPU"
        assert reason.fullmatch(why)
    m = troth.match(chain, **words)
    assert m.device == "cuda:0"
    assert "note" not in m.stats


def test_auto_does_not_give_up_an_option(chain):
    with room_for(MIB):
        assert NO_GRAPH.fullmatch(refusal(troth.match, chain, variant="nosync"))


def test_threads_are_checked_on_a_gpu_too():
    with pytest.raises(TrothError, match="threads=0: give a whole number"):
        troth.match(corpus("triangle"), device="cuda", threads=0)
