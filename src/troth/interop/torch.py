"""torch tensors: sparse ones as matrices, where they are, and clusters of two from an edge index.

torch is imported only by functions that are given a tensor: who has one, has it. Tensors that are not coalesced have
repeats, which add up, as torch means them. Gradients do not pass through a matching, so tensors are taken without them.
"""

from __future__ import annotations

from typing import Any

from troth.errors import TrothError
from troth.graph import Edges, Matrix, packages_of

# What a compressed layout calls its indptr and its indices.
COMPRESSED = {
    "torch.sparse_csr": ("csr", "crow_indices", "col_indices"),
    "torch.sparse_csc": ("csc", "ccol_indices", "row_indices"),
}


def is_torch(obj: Any) -> bool:
    """Whether an object is a tensor."""
    return "torch" in packages_of(obj)


def plain(part: Any) -> Any:
    """A tensor without its gradient, bfloat16, which NumPy and CuPy lack, as float32; all else as it is."""
    if not is_torch(part):
        return part
    part = part.detach()
    return part.float() if str(part.dtype) == "torch.bfloat16" else part


def torch_to_matrix(tensor: Any) -> Matrix:
    """A sparse COO, CSR or CSC tensor as a matrix that shares its arrays, on the CPU or on a GPU."""
    from troth.interop.cupy import Sparse

    layout, where, shape = str(tensor.layout), "the torch tensor", tuple(tensor.shape)
    if layout != "torch.sparse_coo" and layout not in COMPRESSED:
        raise TrothError(
            f"{where} is {layout.removeprefix('torch.')}, not a sparse matrix: give (edge_index[0], edge_index[1], "
            "weight), or the adjacency matrix as tensor.to_sparse_csr()"
        )
    tensor = tensor.detach()
    if layout == "torch.sparse_coo":
        parts = {"data": tensor._values()}  # values() would ask for a coalesced tensor
        if len(shape) == 2 and tensor.sparse_dim() == 2:
            parts["row"], parts["col"] = tensor._indices()
        kind = "coo"
    else:
        kind, starts, columns = COMPRESSED[layout]
        parts = {"data": tensor.values(), "indptr": getattr(tensor, starts)(), "indices": getattr(tensor, columns)()}
    if len(shape) != 2 or any(part.dim() != 1 for part in parts.values()):
        dims = " x ".join(str(size) for size in shape)
        raise TrothError(f"{where} is {dims} with {parts['data'].dim()}-dimensional values: give a matrix of numbers")
    return Matrix(Sparse(kind, shape, **{name: _array(part) for name, part in parts.items()}))


def _array(tensor: Any) -> Any:
    """A NumPy or CuPy array that shares a tensor's memory."""
    if tensor.is_cuda:
        from troth.interop.cupy import as_cupy

        return as_cupy(tensor, "the torch tensor")
    if tensor.device.type != "cpu":
        raise TrothError(f"the torch tensor is on {tensor.device.type}: move it to cpu or cuda")
    return plain(tensor).numpy()


# ---- clusters ----


def graclus(
    edge_index: Any,
    weight: Any = None,
    num_nodes: int | None = None,
    *,
    seed: int = 0,
    algorithm: str = "suitor",
    **options: Any,
) -> Any:
    """Clusters of one or two adjacent vertices, as ``graclus_cluster`` of torch_cluster labels them.

    Parameters
    ----------
    edge_index
        tensor of shape (2, edges), on the CPU or on a GPU, where everything stays; each edge in one direction or both
    weight
        tensor of one number for each edge, or None for unit weights. Of an edge that is named twice the larger counts.
    num_nodes
        the number of vertices; by default the largest one named, plus 1
    seed
        decides between equal weights; the labels are a function of the graph and the seed
    algorithm, **options
        as of ``troth.match``: "local-weighted" is the serial algorithm of Graclus, "blue-red" the parallel one

    Returns
    -------
    tensor of int64
        For each vertex the smaller number of its pair, or its own where it stays alone.

    Notes
    -----
    The matching is maximal: two neighbours stay alone only if the edge between them has negative weight. Such edges are
    never used, as in torch_cluster on a CPU. (On a GPU torch_cluster does not come back from them: a vertex sees a free
    neighbour, and proposes to none, round after round.) Nothing goes from host to device or back, and no tensor is
    copied, but for weights of 16 bits, and edges and weights where one of these is 0 or less.

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

    from troth.api import match
    from troth.graph import as_graph

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
    row, col = map(_array, edge_index)
    graph = as_graph(Edges(row, col, None if weight is None else _array(weight), num_nodes, where="the edge index"))
    mate = torch.from_dlpack(match(graph, algorithm, graph.device, seed=seed, **options).mate)
    vertex = torch.arange(len(mate), device=mate.device)
    return torch.where(mate < 0, vertex, torch.minimum(vertex, mate))


def _usable(edge_index: Any, weight: Any) -> tuple[Any, Any]:
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
