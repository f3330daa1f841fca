"""
Pooling in a graph neural network
=================================

A network that tells rings from trees, each graph halved twice by heavy matchings on the way.

This one needs PyTorch Geometric: ``pip install "troth[pyg,networkx]"``.
"""

import networkx as nx
import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GraphConv, global_mean_pool
from torch_geometric.utils import to_undirected

from troth.interop.pyg import MatchPooling


class Net(torch.nn.Module):
    """Convolve, pool, convolve, pool, and read out."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.first, self.second = GraphConv(1, width), GraphConv(width, width)
        self.pool = MatchPooling(reduce="mean")
        self.readout = torch.nn.Linear(width, 2)

    def forward(self, data: Data) -> torch.Tensor:
        coarse = self.pool(self.first(data.x, data.edge_index).relu(), data.edge_index, batch=data.batch)
        x = self.second(coarse.x, coarse.edge_index, coarse.edge_weight).relu()
        coarse = self.pool(x, coarse.edge_index, coarse.edge_weight, coarse.batch)
        return self.readout(global_mean_pool(coarse.x, coarse.batch))


def sample(kind: int, seed: int) -> Data:
    """A ring of 20 to 29 vertices with a few chords, or a random tree of as many; their features are the same."""
    n = 20 + seed % 10
    G = nx.random_labeled_tree(n, seed=seed) if kind else nx.newman_watts_strogatz_graph(n, 2, 0.1, seed=seed)
    edge_index = to_undirected(torch.tensor(list(G.edges())).t())
    return Data(x=torch.ones(n, 1), edge_index=edge_index, y=torch.tensor([kind]))


def main(epochs: int = 15) -> float:
    """Train on some graphs, and return the share of others that the network tells right."""
    torch.manual_seed(0)
    graphs = [sample(kind, seed) for seed in range(60) for kind in (0, 1)]
    train, test = DataLoader(graphs[:80], batch_size=20), DataLoader(graphs[80:], batch_size=40)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        total = 0.0
        for data in train:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(data), data.y)
            loss.backward()
            optimizer.step()
            total += loss.item() / len(train)
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1:3}: loss {total:.3f}")
    with torch.no_grad():
        right = torch.cat([model(data).argmax(1) == data.y for data in test])
    print(f"{int(right.sum())} of {len(right)} unseen graphs told right")
    return right.float().mean().item()


if __name__ == "__main__":
    main()
