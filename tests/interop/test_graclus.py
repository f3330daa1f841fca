"""``graclus``: labels that mean what those of torch_cluster do, on CPU and GPU; and an answer to every input."""

from __future__ import annotations

import numpy as np
import pytest

import troth
from troth.errors import TrothError
from troth.interop.torch import graclus
from troth.neighbours.torch import tensor_to_array

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
on_devices = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
GRAPHS = ("rgg:n=300,degree=6", "grid:rows=12,cols=9,weights=unit", "hubs:n=200,hubs=3,degree=4,weights=integers")


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def tensors(torch, graph: troth.Graph, device: str, both: bool = True):
    """Edge index and weights of a graph, both directions or the first one."""
    row = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    keep = slice(None) if both else row < graph.indices
    ends = torch.tensor(np.stack([row, graph.indices])[:, keep], device=device)
    return ends, torch.tensor(graph.weights[keep], device=device)


def path(torch, weights, device: str = "cpu", dtype: str = "float32"):
    """0 - 1 - 2 - ..., both directions."""
    v = torch.arange(len(weights), device=device)
    ends = torch.stack([torch.cat([v, v + 1]), torch.cat([v + 1, v])])
    return ends, torch.tensor([*weights, *weights], dtype=getattr(torch, dtype), device=device)


@on_devices
@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("algorithm", ["suitor", "blue-red", "auction"])
@pytest.mark.parametrize("spec", GRAPHS)
def test_labels_are_the_smaller_vertex_of_each_pair(torch, spec, algorithm, both, device):
    graph = troth.as_graph(spec)
    edge_index, weight = tensors(torch, graph, device, both)
    label = graclus(edge_index, weight, graph.n, seed=5, algorithm=algorithm)
    assert (label.dtype, label.device) == (torch.int64, edge_index.device)
    mate = troth.match(graph, algorithm=algorithm, device="cpu", seed=5).mate
    alone = np.arange(graph.n)
    assert label.tolist() == np.where(mate < 0, alone, np.minimum(alone, mate)).tolist()


@on_devices
def test_a_function_of_the_seed(torch, device):
    edge_index, _ = tensors(torch, troth.as_graph(GRAPHS[1]), device)
    labels = [graclus(edge_index, seed=seed).tolist() for seed in (0, 0, 1, 2)]
    assert labels[0] == labels[1]
    assert labels[2] != labels[3]
    assert labels[0] == graclus(edge_index, torch.ones(edge_index.shape[1], device=device)).tolist()


def test_tensors_are_shared(torch):
    edge_index, weight = path(torch, [1, 2, 3])
    for tensor in (*edge_index, weight):
        assert tensor_to_array(tensor).ctypes.data == tensor.data_ptr()


@on_devices
@pytest.mark.parametrize("spec", GRAPHS)
def test_the_same_meaning_as_in_torch_cluster(torch, spec, device):
    """Clusters of one or two neighbours, named after the smaller, and no two neighbours alone: ours and theirs."""
    theirs = pytest.importorskip("torch_cluster", reason="torch_cluster is not installed").graclus_cluster
    graph = troth.as_graph(spec)
    edge_index, weight = tensors(torch, graph, device)
    for label in (graclus(edge_index, weight, graph.n), theirs(*edge_index, weight, graph.n)):
        assert label.dtype == torch.int64
        vertex, label = np.arange(graph.n), label.cpu().numpy()
        assert (label[label] == label).all()
        assert (label <= vertex).all()
        assert np.bincount(label).max() == 2
        second = np.flatnonzero(label < vertex)
        mate = np.full(graph.n, -1)
        mate[second], mate[label[second]] = label[second], second
        report = troth.verify(graph, mate)
        assert report.valid
        assert report.maximal


def test_where_torch_cluster_has_no_answer(torch):
    """It fails on no edges; on negative weights its CPU version agrees, and its GPU version does not come back."""
    theirs = pytest.importorskip("torch_cluster", reason="torch_cluster is not installed").graclus_cluster
    none = torch.empty(0, dtype=torch.int64)
    with pytest.raises(RuntimeError):
        theirs(none, none)
    assert graclus(torch.stack([none, none])).tolist() == []
    edge_index, weight = path(torch, [-1, 2, -3, -1])
    assert theirs(*edge_index, weight, 5).tolist() == graclus(edge_index, weight, 5).tolist() == [0, 1, 1, 3, 4]


# ---- input that torch_cluster fails on, or does not come back from ----


@on_devices
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int8"])
def test_negative_weights_leave_vertices_alone(torch, dtype, device):
    assert graclus(*path(torch, [-1, -2, -3], device, dtype)).tolist() == [0, 1, 2, 3]
    assert graclus(*path(torch, [-1, 2, -3, -1], device, dtype)).tolist() == [0, 1, 1, 3, 4]


@on_devices
def test_no_edges_and_no_vertices(torch, device):
    none = torch.empty(2, 0, dtype=torch.int64, device=device)
    for weight in (None, torch.empty(0, device=device)):
        for num_nodes, labels in ((None, []), (0, []), (3, [0, 1, 2])):
            label = graclus(none, weight, num_nodes)
            assert label.tolist() == labels
            assert (label.dtype, label.device) == (torch.int64, none.device)


@on_devices
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16", "int64", "uint8", "bool"])
def test_zero_is_the_lightest_weight(torch, dtype, device):
    """As in torch_cluster; the gate alone would drop such edges."""
    assert graclus(*path(torch, [0, 0, 0], device, dtype)).tolist() == [0, 0, 2, 2]
    assert graclus(*path(torch, [0, 1, 0], device, dtype)).tolist() == [0, 1, 1, 3]
    if dtype == "int64":
        assert graclus(*path(torch, [0, 2**63 - 2, 0], device, dtype)).tolist() == [0, 1, 1, 3]


@on_devices
def test_loops_do_not_count(torch, device):
    edge_index = torch.tensor([[0, 0, 1, 2], [0, 1, 1, 2]], device=device)
    assert graclus(edge_index, torch.tensor([9.0, 1.0, 9.0, 9.0], device=device)).tolist() == [0, 0, 2]


def test_gradients_are_left_behind(torch):
    edge_index, weight = path(torch, [1, 3, 2])
    assert graclus(edge_index, weight.requires_grad_()).tolist() == [0, 1, 1, 3]


@on_devices
def test_refusals(torch, device):
    edge_index, weight = path(torch, [1, 2], device)

    def refusal(*arguments) -> str:
        with pytest.raises(TrothError) as caught:
            graclus(*arguments)
        return str(caught.value)

    assert "shape (4, 2): give a tensor of shape (2, edges)" in refusal(edge_index.t())
    assert "one number for each column" in refusal(edge_index, weight[:3])
    assert "one number for each column" in refusal(edge_index, weight[:, None])
    assert "has weight nan" in refusal(edge_index, weight * torch.nan)
    assert "names vertex 2, but there are 2 vertices" in refusal(edge_index, weight, 2)
    assert "whole numbers" in refusal(edge_index.float())
    if device == "cuda":
        assert "weight is on cpu but edge_index on cuda:0" in refusal(edge_index, weight.cpu())
