"""PyTorch Geometric: a layer that halves a graph by contracting a heavy matching.

The matching is a function of graph, weights and seed, so the layer has no parameters and no state: the same input gives
the same coarse graph, in training and afterwards, on the CPU and on a GPU. Gradients pass through the features and the
edge weights that it adds up, not through the choice of pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, scatter

from troth.errors import TrothError
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
    pos : torch.Tensor or None
        The positions, one row a cluster.
    edge_attr : torch.Tensor or None
        The features of the edges, one row an edge.
    """

    x: Tensor | None
    edge_index: Tensor
    edge_weight: Tensor
    batch: Tensor | None
    cluster: Tensor
    pos: Tensor | None = None
    edge_attr: Tensor | None = None


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
    edge_reduce : str, optional
        How the features of edges that become one are reduced, by the same words.

    Notes
    -----
    Edges between two clusters become one, whose weight is the sum of theirs; those within a cluster vanish. Without
    weights each edge counts as 1. A cluster stands at the mean of its positions. Graphs in one batch stay apart, for no
    edge joins them.

    The layer works under ``torch.compile``, which leaves the matching itself as it is (a graph break; so not with
    ``fullgraph=True``).

    Examples
    --------
    >>> x = torch.tensor([[0.0], [2.0], [4.0], [6.0]])
    >>> edge_index = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    >>> coarse = MatchPooling()(x, edge_index, torch.tensor([9.0, 9.0, 5.0, 5.0, 7.0, 7.0]))
    >>> coarse.x.tolist(), coarse.edge_index.tolist(), coarse.edge_weight.tolist()
    ([[1.0], [5.0]], [[0, 1], [1, 0]], [5.0, 5.0])
    >>> coarse.x[coarse.cluster].ravel().tolist()
    [1.0, 1.0, 5.0, 5.0]

    A ``Data`` gives a ``Data``:

    >>> MatchPooling()(Data(x=x, edge_index=edge_index, pos=x))
    Data(x=[2, 1], edge_index=[2, 2], pos=[2, 1], edge_weight=[2], cluster=[4])
    """

    def __init__(
        self, *, reduce: str = "mean", seed: int = 0, algorithm: str = "suitor", edge_reduce: str = "sum"
    ) -> None:
        super().__init__()
        self.reduce, self.seed, self.algorithm, self.edge_reduce = reduce, seed, algorithm, edge_reduce

    def forward(
        self,
        x: Tensor | Data,
        edge_index: Tensor | None = None,
        edge_weight: Tensor | None = None,
        batch: Tensor | None = None,
        *,
        pos: Tensor | None = None,
        edge_attr: Tensor | None = None,
    ) -> Pooled | Data:
        """The coarse graph.

        Parameters
        ----------
        x : torch.Tensor or Data
            The features, one row a vertex; or a ``Data`` that has all of these, and others that are left out. Its
            weights are ``edge_weight``, or else an ``edge_attr`` of one column; an ``edge_attr`` of more columns is no
            weight.
        edge_index : torch.Tensor, optional
            Of shape (2, edges), as in ``graclus``; not with a ``Data``.
        edge_weight : torch.Tensor, optional
            One number for each edge; by default all are 1.
        batch : torch.Tensor, optional
            The number of each vertex's graph.
        pos : torch.Tensor, optional
            The positions, one row a vertex.
        edge_attr : torch.Tensor, optional
            The features of the edges, one row an edge, of one column or more.

        Returns
        -------
        Pooled or Data
            A ``Data`` where one was given, with ``cluster`` beside what that had of these.
        """
        if isinstance(x, Data):
            if any(part is not None for part in (edge_index, edge_weight, batch, pos, edge_attr)):
                raise TrothError("MatchPooling: a Data has edges, weights and the rest: leave the other arguments out")
            return self._pool_data(x)
        if edge_index is None:
            raise TrothError("MatchPooling: edge_index is missing: give x and edge_index, or a Data")
        return self._pool(x, edge_index, edge_weight, batch, pos, edge_attr, len(x))

    def _pool_data(self, data: Data) -> Data:
        features = data.edge_attr
        weight = data.edge_weight if "edge_weight" in data else None
        if weight is None and features is not None and features[0:1].numel() == len(features[0:1]):
            weight = features.reshape(-1)
        parts = data.x, data.edge_index, weight, data.batch, data.pos, features, data.num_nodes
        coarse = {name: part for name, part in self._pool(*parts)._asdict().items() if part is not None}
        if data.x is None:
            coarse["num_nodes"] = int(coarse["cluster"].max()) + 1 if data.num_nodes else 0
        return Data(**coarse)

    def _pool(
        self,
        x: Tensor | None,
        edge_index: Tensor,
        edge_weight: Tensor | None,
        batch: Tensor | None,
        pos: Tensor | None,
        edge_attr: Tensor | None,
        count: int,
    ) -> Pooled:
        if edge_weight is None:
            kind = x.dtype if x is not None and x.is_floating_point() else torch.float32
            edge_weight = torch.ones(edge_index.shape[1], dtype=kind, device=edge_index.device)
        label = graclus(edge_index, edge_weight, count, seed=self.seed, algorithm=self.algorithm)
        first, cluster = torch.unique(label, return_inverse=True)  # labels are vertices, the first of each cluster
        size = len(first)
        ends = cluster[edge_index]
        apart = ends[0] != ends[1]
        between = ends[:, apart]
        edges, weight = coalesce(between, edge_weight[apart], num_nodes=size, reduce="sum")
        if edge_attr is not None:
            edge_attr = coalesce(between, edge_attr[apart], num_nodes=size, reduce=self.edge_reduce)[1]
        return Pooled(
            None if x is None else scatter(x, cluster, dim=0, dim_size=size, reduce=self.reduce),
            edges,
            weight,
            None if batch is None else batch[first],
            cluster,
            None if pos is None else scatter(pos, cluster, dim=0, dim_size=size, reduce="mean"),
            edge_attr,
        )

    def extra_repr(self) -> str:
        """What ``print(model)`` shows."""
        return f"reduce={self.reduce!r}, seed={self.seed}, algorithm={self.algorithm!r}"
