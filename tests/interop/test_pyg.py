"""The pooling layer of PyTorch Geometric: what it keeps, where gradients go, and a small model that learns with it."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import troth

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "pool_gnn.py"
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
on_devices = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])


@pytest.fixture
def torch():
    pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
    import torch

    return torch


def layer(**options):
    from troth.interop.pyg import MatchPooling

    return MatchPooling(**options)


def mesh(torch, device: str):
    """Features, edges and weights of a small mesh."""
    graph = troth.generate("delaunay", n=60, seed=2, weights="integers")
    row = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    edge_index = torch.tensor(np.stack([row, graph.indices]), device=device)
    weight = torch.tensor(graph.weights, dtype=torch.float32, device=device)
    return torch.arange(120.0, device=device).reshape(60, 2), edge_index, weight, graph


@on_devices
def test_the_coarse_graph(torch, device):
    x, edge_index, weight, graph = mesh(torch, device)
    coarse = layer(reduce="sum")(x, edge_index, weight)
    m = troth.match(graph)
    assert coarse.cluster.tolist() == m.labels().tolist()
    assert coarse.x.sum(0).tolist() == x.sum(0).tolist()
    assert coarse.edge_weight.sum().item() == weight.sum().item() - 2 * m.weight
    dense = np.zeros((len(coarse.x), len(coarse.x)))
    np.add.at(dense, tuple(coarse.cluster[edge_index].cpu().numpy()), graph.weights)
    np.fill_diagonal(dense, 0)
    row, col = dense.nonzero()
    assert coarse.edge_index.tolist() == [row.tolist(), col.tolist()]
    assert coarse.edge_weight.tolist() == dense[row, col].tolist()
    again = layer(reduce="sum")(x, edge_index, weight)
    assert all((here == there).all() for here, there in zip(coarse, again, strict=True) if here is not None)


@on_devices
def test_features_of_a_pair(torch, device):
    x = torch.tensor([[1.0, 8.0], [3.0, 2.0], [5.0, 5.0]], device=device)
    edge_index = torch.tensor([[0, 1], [1, 0]], device=device)
    wanted = {"mean": [2.0, 5.0], "sum": [4.0, 10.0], "max": [3.0, 8.0], "min": [1.0, 2.0]}
    for reduce, pair in wanted.items():
        coarse = layer(reduce=reduce)(x, edge_index)
        assert coarse.x.tolist() == [pair, [5.0, 5.0]]
        assert coarse.x[coarse.cluster].tolist() == [pair, pair, [5.0, 5.0]]


@on_devices
def test_graphs_of_a_batch_stay_apart(torch, device):
    edge_index = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]], device=device)
    batch = torch.tensor([0, 0, 0, 1, 1, 2], device=device)
    coarse = layer()(torch.ones(6, 1, device=device), edge_index, batch=batch)
    assert coarse.batch.tolist() == [0, 0, 1, 2]
    assert coarse.edge_index.tolist() == [[0, 1], [1, 0]]
    assert coarse.edge_weight.tolist() == [1, 1]


@on_devices
def test_nothing_to_contract(torch, device):
    none = torch.empty(2, 0, dtype=torch.int64, device=device)
    for n in (0, 3):
        coarse = layer()(torch.ones(n, 2, device=device), none)
        assert coarse.x.shape == (n, 2)
        assert coarse.edge_index.shape == (2, 0)
        assert coarse.cluster.tolist() == list(range(n))


@on_devices
def test_gradients_pass_through_features_and_weights(torch, device):
    x, edge_index, weight, _ = mesh(torch, device)
    x.requires_grad_()
    weight.requires_grad_()
    coarse = layer(reduce="mean")(x, edge_index, weight)
    (coarse.x.sum() + coarse.edge_weight.sum()).backward()
    size = torch.bincount(coarse.cluster).to(x.dtype)[coarse.cluster]
    assert (x.grad == 1 / size[:, None]).all()
    inside = coarse.cluster[edge_index[0]] == coarse.cluster[edge_index[1]]
    assert (weight.grad == (~inside).to(weight.dtype)).all()


def data(torch, device: str = "cpu", **more):
    from torch_geometric.data import Data

    x, edge_index, weight, graph = mesh(torch, device)
    return Data(x=x, edge_index=edge_index, pos=x / 2, edge_weight=weight, **more), graph


@on_devices
def test_a_data_goes_everywhere(torch, device):
    from torch_geometric.data import Data, HeteroData

    from troth.interop.torch import graclus

    whole, graph = data(torch, device)
    m = troth.match(whole)
    assert m.edges().tolist() == troth.match(graph).edges().tolist()
    assert graclus(whole).tolist() == graclus(whole.edge_index, whole.edge_weight, 60).tolist()
    lone = Data(edge_index=whole.edge_index, edge_attr=whole.edge_weight[:, None], num_nodes=62)
    assert troth.as_graph(lone).n == 62
    assert troth.match(lone).weight == m.weight
    assert layer()(lone).num_nodes == len(m.labels().tolist()) - len(m) + 2
    named = Data(edge_index=whole.edge_index, length=whole.edge_weight, num_nodes=60)
    assert troth.as_graph(named).weights.max() == 1
    assert troth.as_graph(named, weight="length", maximize=True).m == graph.m
    for thing, options, reason in (
        (named, {"weight": "length"}, "attribute 'length' is a cost by its name"),
        (named, {"weight": "lenght"}, r"the Data has no 'lenght' \(did you mean 'length'\?\)"),
        (Data(x=whole.x), {}, "the Data has no edge_index"),
        (HeteroData(), {}, r"the Data has no edge_index.*data\.to_homogeneous\(\)"),
        (
            Data(edge_index=whole.edge_index, edge_attr=whole.edge_index.T),
            {},
            "edge_attr has shape .* set data.edge_we",
        ),
    ):
        with pytest.raises(troth.TrothError, match=reason):
            troth.as_graph(thing, **options)
    for call in (
        lambda: graclus(whole, whole.edge_weight),
        lambda: layer()(whole, whole.edge_index),
        lambda: layer()(whole.x),
    ):
        with pytest.raises(troth.TrothError, match="Data"):
            call()


@on_devices
def test_positions_and_features_of_edges_are_pooled(torch, device):
    whole, _ = data(torch, device)
    features = torch.stack([whole.edge_weight, torch.ones_like(whole.edge_weight)], dim=1)
    parts = whole.x, whole.edge_index, whole.edge_weight
    right = layer()(*parts, pos=whole.pos, edge_attr=features)
    assert (right.pos == right.x / 2).all()
    assert (right.edge_attr[:, 0] == right.edge_weight).all()
    inside = right.cluster[whole.edge_index[0]] == right.cluster[whole.edge_index[1]]
    assert right.edge_attr[:, 1].sum() == (~inside).sum()
    assert (layer(edge_reduce="max")(*parts, edge_attr=features).edge_attr[:, 1] == 1).all()
    whole.edge_attr, whole.batch = features, torch.zeros(60, dtype=torch.int64, device=device)
    coarse = layer()(whole)
    for name in ("x", "edge_index", "edge_weight", "cluster", "pos", "edge_attr"):
        assert (coarse[name] == getattr(right, name)).all(), name
    assert coarse.batch.tolist() == [0] * coarse.num_nodes
    del whole.edge_weight  # features of several columns are no weights
    assert (layer()(whole).cluster == layer()(whole.x, whole.edge_index).cluster).all()


def test_under_torch_compile(torch):
    from troth.interop.torch import graclus

    whole, _ = data(torch)
    parts = whole.x, whole.edge_index, whole.edge_weight
    pool = layer()
    compiled = torch.compile(pool, backend="aot_eager")  # all of it but for generating code
    for here, there in zip(compiled(*parts, pos=whole.pos), pool(*parts, pos=whole.pos), strict=True):
        assert (here is None and there is None) or (here == there).all()
    assert (compiled(whole).x == pool(whole).x).all()
    labels = torch.compile(lambda edges, weight: graclus(edges, weight) + 1, backend="eager")
    assert (labels(*parts[1:]) == graclus(*parts[1:]) + 1).all()


def test_it_shows_its_settings(torch):
    assert repr(layer(reduce="max", seed=3)) == "MatchPooling(reduce='max', seed=3, algorithm='suitor')"


def test_a_small_model_learns(torch, capsys):
    assert runpy.run_path(str(EXAMPLE))["main"](epochs=10) >= 0.9
    losses = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines() if "loss" in line]
    assert losses == sorted(losses, reverse=True)
