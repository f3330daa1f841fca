"""torch: clusters of two vertices from an edge index.

torch is imported only by functions that are given a tensor: who has one, has it. Tensors that are not coalesced have
repeats, which add up, as torch means them. Gradients do not pass through a matching, so tensors are taken without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from troth.api.calls import match
from troth.api.opening import as_graph
from troth.arrays import packages_of
from troth.errors import TrothError
from troth.inputs import Edges
from troth.neighbours.torch import parts_of_data, tensor_to_array

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data


def graclus(
    edge_index: Tensor | Data,
    weight: Tensor | None = None,
    num_nodes: int | None = None,
    *,
    seed: int = 0,
    algorithm: str = "suitor",
    **options: Any,
) -> Tensor:
    """Clusters of one or two adjacent vertices, as ``graclus_cluster`` of torch_cluster labels them.

    Parameters
    ----------
    edge_index : torch.Tensor or Data
        Of shape (2, edges), on the CPU or on a GPU, where everything stays; each edge in one direction or both. Or a
        ``Data`` of PyTorch Geometric, which has the edges, their weights (``edge_weight``, or an ``edge_attr`` of one
        column) and the number of vertices.
    weight : torch.Tensor, optional
        One number for each edge; by default all are 1. Of an edge that is named twice the larger counts.
    num_nodes : int, optional
        The number of vertices; by default the largest one named, plus 1.
    seed : int, optional
        Decides between equal weights; the labels are a function of the graph and the seed.
    algorithm : str, optional
        As in ``troth.match``: "local-weighted" is the serial algorithm of Graclus, "blue-red" the parallel one.
    **options : dict
        Others of ``troth.match``.

    Returns
    -------
    torch.Tensor of int64
        For each vertex the smaller number of its pair, or its own where it stays alone.

    Notes
    -----
    The matching is maximal: two neighbours stay alone only if the edge between them has negative weight. Such edges are
    never used, as in torch_cluster on a CPU. (On a GPU torch_cluster does not come back from them: a vertex sees a free
    neighbour, and proposes to none, round after round.) Nothing goes from host to device or back, and no tensor is
    copied, but for weights of 16 bits, and edges and weights where one of these is 0 or less. ``torch.compile`` leaves
    it as it is: what comes before and after is compiled.

    References
    ----------
    .. [1] I. Dhillon, Y. Guan and B. Kulis, Weighted graph cuts without eigenvectors, PAMI 2007.
    .. [2] B. Fagginger Auer and R. Bisseling, A GPU algorithm for greedy graph matching, 2012.

    Examples
    --------
    >>> import torch
    >>> edge_index = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    >>> graclus(edge_index, torch.tensor([1.0, 1.0, 5.0, 5.0, 1.0, 1.0]))
    tensor([0, 1, 1, 3])
    """
    import torch

    if "torch_geometric" in packages_of(edge_index):
        if weight is not None or num_nodes is not None:
            raise TrothError("graclus: a Data has its own weights and number of nodes; leave weight and num_nodes out")
        row, col, weight, _ = parts_of_data(edge_index)
        edge_index, num_nodes = torch.stack([row, col]), edge_index.num_nodes
    if torch.compiler.is_compiling():
        return torch.compiler.disable(_graclus)(edge_index, weight, num_nodes, seed, algorithm, options)
    return _graclus(edge_index, weight, num_nodes, seed, algorithm, options)


def _graclus(
    edge_index: Tensor,
    weight: Tensor | None,
    num_nodes: int | None,
    seed: int,
    algorithm: str,
    options: dict[str, Any],
) -> Tensor:
    import torch

    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise TrothError(f"edge_index has shape {tuple(edge_index.shape)}: give a tensor of shape (2, edges)")
    if weight is not None and weight.shape != edge_index.shape[1:]:
        raise TrothError(f"weight has shape {tuple(weight.shape)}: give one number for each column of edge_index")
    if weight is not None and weight.device != edge_index.device:
        raise TrothError(f"weight is on {weight.device} but edge_index on {edge_index.device}: move them to one place")
    weight = None if weight is None else weight.detach()
    if weight is not None and weight.numel() and not weight.min() > 0:
        num_nodes = int(edge_index.max()) + 1 if num_nodes is None else num_nodes
        edge_index, weight = _usable(edge_index, weight)
    row, col = map(tensor_to_array, edge_index)
    graph = as_graph(
        Edges(row, col, None if weight is None else tensor_to_array(weight), num_nodes, where="the edge index")
    )
    mate = torch.from_dlpack(match(graph, algorithm=algorithm, device=graph.device, seed=seed, **options).mate)
    vertex = torch.arange(len(mate), device=mate.device)
    return torch.where(mate < 0, vertex, torch.minimum(vertex, mate))


def _usable(edge_index: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Edges and weights without the negative ones; 0, which the gate would drop too, becomes the least positive number.

    A NaN stays, for the gate to name it.
    """
    import torch

    keep = ~(weight < 0)
    edge_index, weight = edge_index[:, keep], weight[keep]
    if not weight.is_floating_point():
        return edge_index, weight.long().clamp(max=2**63 - 2) + 1
    weight = weight.float() if weight.element_size() < 4 else weight
    least = torch.nextafter(weight.new_zeros(()), weight.new_ones(()))
    return edge_index, torch.where(weight == 0, least, weight)
