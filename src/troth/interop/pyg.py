"""PyTorch Geometric: a layer that halves a graph by contracting a heavy matching.

The matching is a function of graph, weights and seed, so the layer has no parameters and no state: the same input gives
the same coarse graph, in training and afterwards, on the CPU and on a GPU. Gradients pass through the features and the
edge weights that it adds up, not through the choice of pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.utils import coalesce, remove_self_loops, scatter

from troth.interop.torch import graclus


class Pooled(NamedTuple):
    """A coarse graph, and the way back: ``x[cluster]`` gives each fine vertex the features of its cluster.

    Attributes
    ----------
    x : torch.Tensor
        The features, one row a cluster.
    edge_index : torch.Tensor
        Of shape (2, edges), both directions of each edge.
    edge_weight : torch.Tensor
        One number for each edge.
    batch : torch.Tensor or None
        The number of each cluster's graph.
    cluster : torch.Tensor
        The cluster of each vertex.
    """

    x: Tensor
    edge_index: Tensor
    edge_weight: Tensor
    batch: Tensor | None
    cluster: Tensor


class MatchPooling(torch.nn.Module):
    """Contract the pairs of a heavy matching: about half of the vertices remain.

    Parameters
    ----------
    reduce : str, optional
        How the features of a pair become those of its cluster: "mean", "sum", "max" or "min".
    seed : int, optional
        Decides between edges of equal weight.
    algorithm : str, optional
        As in ``troth.match``.

    Notes
    -----
    Edges between two clusters become one, whose weight is the sum of theirs; those within a cluster vanish. Without
    weights each edge counts as 1. Graphs in one batch stay apart, for no edge joins them.

    Examples
    --------
    >>> x = torch.tensor([[0.0], [2.0], [4.0], [6.0]])
    >>> edge_index = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    >>> coarse = MatchPooling()(x, edge_index, torch.tensor([9.0, 9.0, 5.0, 5.0, 7.0, 7.0]))
    >>> coarse.x.tolist(), coarse.edge_index.tolist(), coarse.edge_weight.tolist()
    ([[1.0], [5.0]], [[0, 1], [1, 0]], [5.0, 5.0])
    >>> coarse.x[coarse.cluster].ravel().tolist()
    [1.0, 1.0, 5.0, 5.0]
    """

    def __init__(self, *, reduce: str = "mean", seed: int = 0, algorithm: str = "suitor") -> None:
        super().__init__()
        self.reduce, self.seed, self.algorithm = reduce, seed, algorithm

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None, batch: Tensor | None = None
    ) -> Pooled:
        """The coarse graph.

        Parameters
        ----------
        x : torch.Tensor
            The features, one row a vertex.
        edge_index : torch.Tensor
            Of shape (2, edges), as in ``graclus``.
        edge_weight : torch.Tensor, optional
            One number for each edge; by default all are 1.
        batch : torch.Tensor, optional
            The number of each vertex's graph.

        Returns
        -------
        Pooled
        """
        if edge_weight is None:
            edge_weight = x.new_ones(edge_index.shape[1])
        label = graclus(edge_index, edge_weight, len(x), seed=self.seed, algorithm=self.algorithm)
        first, cluster = torch.unique(label, return_inverse=True)  # labels are vertices, the first of each cluster
        edges, weight = coalesce(
            *remove_self_loops(cluster[edge_index], edge_weight), num_nodes=len(first), reduce="sum"
        )
        features = scatter(x, cluster, dim=0, dim_size=len(first), reduce=self.reduce)
        return Pooled(features, edges, weight, None if batch is None else batch[first], cluster)

    def extra_repr(self) -> str:
        """What ``print(model)`` shows."""
        return f"reduce={self.reduce!r}, seed={self.seed}, algorithm={self.algorithm!r}"
