"""The public calls on a GPU: where graphs and results live, and which device runs."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from corpus import TIES, corpus, on_corpus, order_of
from outcomes import check_lives, is_cupy, refusal

import troth
from troth import reference
from troth.api import request
from troth.arrays import cupy
from troth.engines import TABLE
from troth.graph import Graph

pytestmark = pytest.mark.gpu

ROWS = [(engine.algorithm, engine.device) for engine in TABLE if not engine.on_ranks]
LOCAL = list(dict.fromkeys(algorithm for algorithm, _ in ROWS))
ON_GPU = [algorithm for algorithm, device in ROWS if device == "cuda"]
SLIDES = np.array([0, 0, 2, 2, 3]), np.array([1, 2, 3, 4, 4]), np.array([4, 5, 7, 9, 10])

slides = corpus("slides")

every_algorithm = pytest.mark.parametrize("algorithm", LOCAL)


# ---- graphs ----


@on_corpus
def test_there_and_back(graph):
    there = graph.to("cuda")
    assert (there.n, there.m, there.device) == (graph.n, graph.m, "cuda:0")
    assert repr(there) == repr(graph)[:-1] + ", device='cuda:0')"
    back = there.to("cpu")
    assert back.device == "cpu"
    for name in ("indptr", "indices", "weights"):
        assert is_cupy(getattr(there, name))
        here, copy = getattr(graph, name), getattr(back, name)
        assert type(copy) is np.ndarray
        assert copy.dtype == here.dtype == getattr(there, name).dtype
        assert copy.tolist() == here.tolist()
    assert there.bits_range() == graph.bits_range()


def test_a_graph_that_is_there_already():
    there = slides.to("cuda")
    assert slides.to("cpu") is slides
    assert there.to("cuda") is there
    assert there.to("cuda:0") is there


def test_what_else_a_graph_has():
    full = slides.replaced(vertex_weights=np.arange(5.0), ids=np.array(list("abcde")), notes={"loops": 2})
    there = full.to("cuda")
    assert is_cupy(there.vertex_weights)
    assert there.vertex_weights.tolist() == [0, 1, 2, 3, 4]
    assert (there.ids.tolist(), there.notes) == (list("abcde"), {"loops": 2})
    assert isinstance(there.to("cpu").vertex_weights, np.ndarray)


def test_copies_are_copies():
    here = Graph(slides.indptr.copy(), slides.indices.copy(), slides.weights.copy())
    there = here.to("cuda")
    back = there.to("cpu")
    there.weights[...] = 7
    assert here.weights.tolist() == back.weights.tolist() == slides.weights.tolist()


def test_arrays_of_a_gpu_are_checked():
    """As on the CPU, in the same words; and what kernels could not read is refused before they do."""
    cp = cupy()
    there = slides.to("cuda")
    indptr, indices, weights = there.indptr, there.indices, there.weights
    assert Graph(indptr, indices, weights).bits_range() == slides.bits_range()
    assert Graph(cp.zeros(4, np.int64), indices[:0], weights[:0]).n == 3
    for change in ("indices", "weights"):
        for at, value in ((0, 0), (0, -1), (0, 5), (3, 4), (9, -7)):
            arrays = {name: getattr(slides, name).copy() for name in ("indptr", "indices", "weights")}
            arrays[change][at] = value
            copies = {name: cp.asarray(array) for name, array in arrays.items()}
            assert refusal(Graph, **copies) == refusal(Graph, **arrays)
    assert "indptr, indices and weights are not on one device" in refusal(Graph, indptr, indices, slides.weights)
    assert "indptr, indices and weights are not on one device" in refusal(Graph, slides.indptr, indices, weights)
    assert "weights is not a flat array" in refusal(Graph, indptr, indices, cp.repeat(weights, 2)[::2])
    assert "indices is not a flat array of int32" in refusal(Graph, indptr, indices.astype(np.int64), weights)


def test_devices_that_are_not_there():
    for name in ("cuda:99", "cuda:x", "cuda:"):
        wanted = f"device={name!r} is not there: choose cuda:0"
        for call in (troth.match, troth.strongest):
            assert refusal(call, "no-such-file.mtx", device=name).startswith(wanted)
        assert refusal(slides.to, name).startswith(wanted)
    assert (
        refusal(troth.match, slides, algorithm="local-random", device="cuda")
        == "local-random has no engine on device='cuda': choose cpu"
    )


# ---- where the mates are, and where they were found ----


@pytest.mark.parametrize("home", ["cpu", "cuda"])
@pytest.mark.parametrize(("algorithm", "device"), [*ROWS, ("suitor", "cuda:0")])
def test_mates_are_where_the_graph_is(mesh, algorithm, device, home):
    graph = mesh.to(home)
    m = troth.match(graph, algorithm=algorithm, device=device, seed=3)
    assert m.graph is graph
    assert m.device == ("cpu" if device == "cpu" else "cuda:0")
    check_lives(m.mate, graph)
    assert m.mate.tolist() == troth.match(mesh, algorithm=algorithm, device="cpu", seed=3).mate.tolist()
    json.dumps(m.to_dict())
    assert "note" not in m.stats
    assert "device" not in m.stats


@pytest.mark.parametrize("ties", TIES)
@on_corpus
def test_corpus(graph, ties):
    wanted = reference.greedy(graph, order_of(graph, ties, 5)).tolist()
    m = troth.match(graph.to("cuda"), ties=ties, seed=5)
    assert (m.algorithm, m.device, m.ties, m.seed) == ("suitor", "cuda:0", ties, 5)
    assert m.mate.tolist() == wanted
    assert troth.match(graph, device="cuda", ties=ties, seed=5).mate.tolist() == wanted


@pytest.mark.parametrize("algorithm", ON_GPU)
def test_seconds(mesh, algorithm):
    for graph in (mesh, mesh.to("cuda")):
        seconds = troth.match(graph, algorithm=algorithm, device="cuda").stats["seconds"]
        assert {"gate", "copy", "match", "kernels"} <= set(seconds)
        assert all(isinstance(value, float) and value >= 0 for value in seconds.values())
        assert seconds["kernels"] > 0
    seconds = troth.match(mesh.to("cuda"), algorithm=algorithm, device="cpu").stats["seconds"]
    assert {"gate", "copy", "match"} <= set(seconds)
    assert "kernels" not in seconds


@every_algorithm
def test_progress(mesh, algorithm):
    calls = []
    troth.match(mesh.to("cuda"), algorithm=algorithm, progress=lambda *call: calls.append(call))
    assert calls
    assert all(0 <= done <= total for _, done, total in calls)


@pytest.mark.parametrize("algorithm", ON_GPU)
def test_an_error_in_progress_ends_the_run(mesh, algorithm):
    def stop(*_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        troth.match(mesh, algorithm=algorithm, device="cuda", progress=stop)
    assert troth.verify(mesh, troth.match(mesh, algorithm=algorithm, device="cuda"))


# ---- auto ----


def test_auto_goes_with_the_graph(mesh):
    assert troth.match(mesh).device == "cpu"
    assert troth.match(mesh.to("cuda")).device == "cuda:0"


def test_auto_by_size(mesh, monkeypatch):
    for size, device in ((0, "cuda:0"), (len(mesh.indices), "cuda:0"), (len(mesh.indices) + 1, "cpu"), (2**60, "cpu")):
        monkeypatch.setattr(request, "WORTH_A_COPY", size)
        m = troth.match(mesh)
        assert m.device == device
        check_lives(m.mate, mesh)
        check_lives(troth.strongest(mesh), mesh)
        assert troth.match(mesh.to("cuda")).device == "cuda:0"


@pytest.mark.parametrize("algorithm", [name for name in LOCAL if name not in ON_GPU])
def test_algorithms_of_the_cpu_alone(mesh, algorithm, monkeypatch):
    monkeypatch.setattr(request, "WORTH_A_COPY", 0)
    wanted = troth.match(mesh, algorithm=algorithm, device="cpu", seed=2).mate.tolist()
    for graph in (mesh, mesh.to("cuda")):
        m = troth.match(graph, algorithm=algorithm, seed=2)
        assert m.device == "cpu"
        check_lives(m.mate, graph)
        assert m.mate.tolist() == wanted


def test_auto_by_options(mesh, monkeypatch):
    """An option that one device has decides."""
    for size in (0, 2**60):
        monkeypatch.setattr(request, "WORTH_A_COPY", size)
        for graph in (mesh, mesh.to("cuda")):
            packed = {"algorithm": "handshake", "packed": True}
            for options, device in ((packed, "cpu"), ({"variant": "hybrid"}, "cuda:0")):
                m = troth.match(graph, **options)
                assert m.device == device
                check_lives(m.mate, graph)
                assert m.mate.tolist() == troth.match(mesh, device="cpu").mate.tolist()
    assert "no option 'packed'" in refusal(troth.match, mesh.to("cuda"), device="cuda", **packed)
    assert "no option 'variant'" in refusal(troth.match, mesh.to("cuda"), device="cpu", variant="auto")


# ---- certificates and strongest neighbours ----


@every_algorithm
def test_certify(mesh, algorithm):
    there = mesh.to("cuda")
    wanted = troth.match(mesh, algorithm=algorithm, device="cpu", certify=True).certificate
    for graph, device in ((there, "auto"), (there, "cpu"), *([(mesh, "cuda")] if algorithm in ON_GPU else [])):
        m = troth.match(graph, algorithm=algorithm, device=device, certify=True)
        assert m.certificate == wanted
        assert m.stats["seconds"]["certify"] >= 0
        assert troth.verify(graph, m)


@pytest.mark.parametrize("ties", TIES)
@on_corpus
def test_strongest(graph, ties):
    wanted, there = troth.strongest(graph, device="cpu", ties=ties, seed=2).tolist(), graph.to("cuda")
    for place, options in [
        (there, {}),
        (there, {"device": "cuda"}),
        (there, {"device": "cpu"}),
        (there, {"gpu_threads": 64}),
        (graph, {"device": "cuda"}),
        (graph, {"gpu_threads": 1}),
        (graph, {"device": "cuda", "gpu_threads": 1000}),
    ]:
        found = troth.strongest(place, ties=ties, seed=2, **options)
        check_lives(found, place)
        assert found.tolist() == wanted, options


def test_gpu_threads_need_a_gpu():
    assert "no option 'gpu_threads'" in refusal(troth.strongest, slides.to("cuda"), device="cpu", gpu_threads=64)
    for wrong in (0, -1, "many", 2**31):
        assert "gpu_threads" in refusal(troth.strongest, slides, gpu_threads=wrong)


# ---- inputs of the device ----


def test_arrays_straight_into_match():
    cp = cupy()
    m = troth.match(tuple(cp.asarray(part) for part in SLIDES))
    check_slides(m)
    assert troth.strongest(tuple(cp.asarray(part) for part in SLIDES)).tolist() == [2, 0, 4, 4, 3]


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_matrices_straight_into_match(layout):
    from cupyx.scipy import sparse

    row, col, weight = SLIDES
    half = sp.coo_array((weight.astype(float), (row, col)), shape=(5, 5))
    check_slides(troth.match(sparse.csr_matrix(sp.csr_matrix(half + half.T)).asformat(layout)))


def check_slides(m) -> None:
    assert (m.device, m.graph.device) == ("cuda:0", "cuda:0")
    check_lives(m.mate, m.graph)
    assert m.mate.tolist() == [2, -1, 0, 4, 3]
    assert (m.weight, m.cardinality) == (15, 2)
    assert troth.verify(m.graph, m)


@pytest.mark.filterwarnings("ignore:.*[Ss]parse")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("layout", ["edges", "coo", "csr", "csc"])
def test_tensors_straight_into_match(layout):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    row, col, weight = (torch.tensor(part, device="cuda") for part in SLIDES)
    if layout == "edges":
        obj = (row, col, weight)
    else:
        both = torch.stack([torch.cat([row, col]), torch.cat([col, row])])
        obj = torch.sparse_coo_tensor(both, torch.cat([weight, weight]).double(), (5, 5)).coalesce()
        obj = obj if layout == "coo" else getattr(obj, f"to_sparse_{layout}")()
    check_slides(troth.match(obj))
    found = troth.strongest(obj)
    assert is_cupy(found)
    assert found.tolist() == [2, 0, 4, 4, 3]
    for m in (troth.match(obj, device="cpu"), troth.match(obj, algorithm="local-weighted")):
        assert m.device == "cpu"
        check_lives(m.mate, m.graph)
