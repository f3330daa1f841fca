"""Sparse tensors of torch as matrices, where they are.

Nothing here imports torch: whoever has a tensor has imported it. In a tensor that is not coalesced, repeated entries
add up, as in torch. Gradients do not pass through a matching, so tensors are taken without them.
"""

from __future__ import annotations

from typing import Any

from troth.arrays import as_cupy, plain
from troth.errors import TrothError
from troth.inputs import Matrix, Sparse

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


def tensor_to_array(tensor: Any) -> Any:
    """A NumPy or CuPy array that shares a tensor's memory."""
    if tensor.is_cuda:
        return as_cupy(tensor, "the torch tensor")
    if tensor.device.type != "cpu":
        raise TrothError(f"the torch tensor is on {tensor.device.type}: move it to cpu or cuda")
    return plain(tensor).numpy()
