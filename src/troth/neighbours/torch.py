"""Sparse tensors of torch as matrices, and graphs of PyTorch Geometric as edges, where they are.

Nothing here imports torch: whoever has a tensor has imported it. In a tensor that is not coalesced, repeated entries
add up, as in torch. Gradients do not pass through a matching, so tensors are taken without them.
"""

from __future__ import annotations

from typing import Any

from troth.arrays import as_cupy, plain
from troth.errors import TrothError
from troth.inputs import Edges, Matrix, Sparse
from troth.words import did_you_mean, means_cost

# What a compressed layout calls its indptr and its indices.
COMPRESSED = {
    "torch.sparse_csr": ("csr", "crow_indices", "col_indices"),
    "torch.sparse_csc": ("csc", "ccol_indices", "row_indices"),
}


def torch_to_matrix(tensor: Any) -> Matrix:
    """A sparse COO, CSR or CSC tensor as a matrix that shares its arrays, on the CPU or on a GPU."""
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
    return Matrix(Sparse(kind, shape, **{name: tensor_to_array(part) for name, part in parts.items()}))


def data_to_edges(data: Any, weight: str | None = None) -> Edges:
    """The edges of a ``Data`` of PyTorch Geometric; those that are there in both directions count once."""
    row, col, values, name = parts_of_data(data, weight)
    cost = f"attribute {name!r} is a cost by its name" if name is not None and means_cost(name) else None
    weights = None if values is None else tensor_to_array(values)
    return Edges(tensor_to_array(row), tensor_to_array(col), weights, data.num_nodes, where="the Data", cost=cost)


def parts_of_data(data: Any, weight: str | None = None) -> tuple[Any, Any, Any, str | None]:
    """The two ends of the edges of a ``Data``, their weights and what these are called; None where there are none.

    The weights are the attribute ``weight``, or else "edge_weight", or else an "edge_attr" of one column.
    """
    where, edge_index = "the Data", getattr(data, "edge_index", None)
    if edge_index is None or isinstance(edge_index, dict) or not hasattr(edge_index, "dim"):
        raise TrothError(f"{where} has no edge_index: give a Data with one, of several types data.to_homogeneous()")
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise TrothError(f"{where}: edge_index has shape {tuple(edge_index.shape)}, not (2, edges)")
    named = [weight] if weight is not None else ["edge_weight", "edge_attr"]
    name = next((name for name in named if getattr(data, name, None) is not None), None)
    if name is None:
        if weight is not None:
            there = sorted(map(str, data.keys()))
            raise TrothError(f"{where} has no {weight!r}{did_you_mean(weight, there)}; it has {', '.join(there)}")
        return *edge_index, None, None
    values = getattr(data, name).detach()
    if values.dim() == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != edge_index.shape[1:]:
        raise TrothError(
            f"{where}: {name} has shape {tuple(values.shape)}, not one number for each edge: set data.edge_weight, "
            "as to data.edge_attr[:, 0], or to ones"
        )
    return *edge_index, values, name


def tensor_to_array(tensor: Any) -> Any:
    """A NumPy or CuPy array that shares a tensor's memory."""
    if tensor.is_cuda:
        return as_cupy(tensor, "the torch tensor")
    if tensor.device.type != "cpu":
        raise TrothError(f"the torch tensor is on {tensor.device.type}: move it to cpu or cuda")
    return plain(tensor).numpy()
