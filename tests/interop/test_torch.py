"""torch tensors at the gate: sparse ones in every layout, edge indices, on the CPU and on a GPU, without a copy."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from gating import SQUARE, cleaned

from troth.api.opening import as_graph
from troth.errors import TrothError
from troth.graph import Graph

# torch says of compressed tensors that they are in beta state, and of all sparse ones that it does not check them.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*[Ss]parse"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

WHERE = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
on_devices = pytest.mark.parametrize("device", WHERE)
LAYOUTS = ("coo", "csr", "csc")


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def sparse(torch, matrix: np.ndarray, layout: str, device: str, dtype: str = "float64"):
    tensor = torch.tensor(matrix, dtype=getattr(torch, dtype), device=device)
    return getattr(tensor, {"coo": "to_sparse_coo", "csr": "to_sparse_csr", "csc": "to_sparse_csc"}[layout])()


def check_equal(wanted: Graph, found: Graph, device: str) -> None:
    assert found.device.partition(":")[0] == device
    found = found.to("cpu")
    for name in ("indptr", "indices", "weights"):
        here, copy = getattr(wanted, name), getattr(found, name)
        assert here.dtype == copy.dtype
        assert here.tolist() == copy.tolist()
    assert wanted.notes == found.notes


def refusal(obj, **options) -> str:
    with pytest.raises(TrothError) as caught:
        as_graph(obj, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---- sparse tensors ----


@on_devices
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int64", "uint8"])
def test_sparse_tensors(torch, layout, dtype, device):
    for matrix in (SQUARE, cleaned(SQUARE)):
        made = sp.csr_array(matrix.astype(dtype)).asformat(layout)
        for rule in ("keep", "random"):
            found = as_graph(sparse(torch, matrix, layout, device, dtype), weights=rule, seed=2)
            check_equal(as_graph(made, weights=rule, seed=2), found, device)


@on_devices
@pytest.mark.parametrize(("dtype", "kept"), [("float16", "float32"), ("bfloat16", "float32"), ("bool", "uint8")])
def test_types_that_are_widened(torch, dtype, kept, device):
    ends = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]], device=device)
    weights = torch.ones(4, dtype=getattr(torch, dtype), device=device)
    for obj in (torch.sparse_coo_tensor(ends, weights, (3, 3)), (*ends[:, ::2], weights[::2])):
        graph = as_graph(obj)
        assert graph.weights.dtype == np.dtype(kept)
        assert graph.weights.tolist() == [1, 1, 1, 1]


@on_devices
def test_a_tensor_that_is_not_coalesced_has_repeats(torch, device):
    ends = torch.tensor([[2, 0, 1, 0, 2, 1, 1, 1], [0, 2, 0, 1, 0, 1, 1, 2]], device=device)
    ends = torch.cat([ends, ends.flip(0)], 1)
    values = torch.tensor([0.5, 0.75, 0.125, 3, 0.25, 9, 9, 5] * 2, dtype=torch.float32, device=device)
    tensor = torch.sparse_coo_tensor(ends, values, (3, 3))
    assert not tensor.is_coalesced()
    row, col = ends.cpu().numpy()
    wanted = as_graph(sp.coo_array((values.cpu().numpy(), (row, col)), shape=(3, 3)))
    assert wanted.notes == {"repeats": 9, "loops": 1}
    check_equal(wanted, as_graph(tensor), device)


@on_devices
@pytest.mark.parametrize("layout", LAYOUTS)
def test_directions_that_differ(torch, layout, device):
    matrix = SQUARE.copy()
    matrix[2, 1] = 6
    made, tensor = sp.csr_array(matrix).asformat(layout), sparse(torch, matrix, layout, device)
    assert refusal(tensor) == refusal(made)
    for rule in ("max", "min", "sum", "mean"):
        check_equal(as_graph(made, symmetrize=rule), as_graph(tensor, symmetrize=rule), device)


@on_devices
def test_int32_indices_are_not_copied(torch, device):
    clean = sp.csr_array(cleaned(SQUARE))
    parts = (torch.tensor(part, device=device) for part in (clean.indptr, clean.indices, clean.data))
    tensor = torch.sparse_csr_tensor(*parts, size=(5, 5))
    graph = as_graph(tensor)
    for array, part in ((graph.indices, tensor.col_indices()), (graph.weights, tensor.values())):
        place = array.ctypes.data if device == "cpu" else array.data.ptr
        assert place == part.data_ptr()
    check_equal(as_graph(clean), graph, device)


@on_devices
def test_gradients_are_left_behind(torch, device):
    row, col = torch.tensor([[0, 1], [1, 2]], device=device)
    weight = torch.tensor([2.0, 3.0], device=device, requires_grad=True)
    assert as_graph((row, col, weight)).weights.tolist() == [2, 2, 3, 3]
    assert as_graph((row, col, torch.nn.Parameter(weight * 2))).weights.tolist() == [4, 4, 6, 6]
    both = torch.cat([torch.stack([row, col]), torch.stack([col, row])], 1)
    tensor = torch.sparse_coo_tensor(both, torch.cat([weight, weight]), (3, 3))
    assert tensor.requires_grad
    assert as_graph(tensor).weights.tolist() == [2, 2, 3, 3]


@on_devices
def test_damaged_tensors(torch, device):
    """torch does not check a sparse tensor unless asked; the gate does."""

    def made(indptr, indices):
        parts = (torch.tensor(part, device=device) for part in (indptr, indices, [1.0, 1.0]))
        return torch.sparse_csr_tensor(*parts, size=(3, 3), check_invariants=False)

    assert as_graph(made([0, 1, 2, 2], [1, 0])).m == 1
    assert "not a rising sequence" in refusal(made([0, 5, -3, 2], [1, 0]))
    assert "row 0 has column 7, outside 0..2" in refusal(made([0, 1, 2, 2], [7, 0]))
    ends = torch.tensor([[0, 3], [1, 0]], device=device)
    tensor = torch.sparse_coo_tensor(ends, torch.ones(2, device=device), (3, 3), check_invariants=False)
    assert "entry (3, 0) is outside" in refusal(tensor)


@on_devices
def test_tensors_that_are_refused(torch, device):
    square = torch.tensor(SQUARE, device=device)
    assert "strided, not a sparse matrix" in refusal(square)
    assert "5 x 6, not square" in refusal(torch.zeros(5, 6, device=device).to_sparse_csr())
    assert "5 x 5 x 5" in refusal(torch.ones(5, 5, 5, device=device).to_sparse())
    assert "2-dimensional values" in refusal(square.to_sparse(1))
    assert "sparse_bsr, not a sparse matrix" in refusal(square[:4, :4].to_sparse_bsr((2, 2)))
    assert "base and columns are for tables" in refusal(square.to_sparse(), base=1)
    assert "complex weights" in refusal((square * 1j).to_sparse())


# ---- edge indices ----


@on_devices
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_edge_index(torch, dtype, device):
    ends, weight = np.array([[0, 1, 2, 2, 1], [1, 2, 0, 3, 1]]), np.array([5.0, 7.0, 3.0, 2.0, 9.0])
    edge_index = torch.tensor(ends, dtype=getattr(torch, dtype), device=device)
    weights = torch.tensor(weight, device=device)
    check_equal(as_graph((*ends, weight)), as_graph((edge_index[0], edge_index[1], weights)), device)
    check_equal(as_graph(tuple(ends)), as_graph(tuple(edge_index)), device)
    check_equal(as_graph((*ends, weight)), as_graph((*edge_index.t().contiguous().t(), weights)), device)
    one = edge_index + 1
    check_equal(as_graph((*ends, weight)), as_graph((*one, weights), base=1), device)


@pytest.mark.gpu
def test_a_tensor_of_the_host_among_those_of_the_gpu(torch):
    ends = torch.tensor([[0, 1], [1, 2]], device="cuda")
    assert "row is on cuda:0 but weight on the host" in refusal((*ends, torch.ones(2)))


@pytest.mark.gpu
def test_tensors_and_cupy_arrays_together(torch):
    cp = pytest.importorskip("cupy", reason="CuPy is not installed")
    ends = torch.tensor([[0, 1], [1, 2]], device="cuda")
    graph = as_graph((*ends, cp.asarray([2.0, 3.0])))
    assert graph.weights.tolist() == [2, 2, 3, 3]


@pytest.mark.gpu
def test_work_of_torch_on_another_stream_is_waited_for(torch):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        busy = torch.ones(4096, 4096, device="cuda")
        for _ in range(20):
            busy = busy @ busy / 4096
        ends = torch.tensor([[0, 1], [1, 2]]).pin_memory().to("cuda", non_blocking=True)
        graph = as_graph((*ends, busy[0, :2]))
    assert graph.weights.tolist() == [1, 1, 1, 1]


def test_torch_is_not_imported_for_others():
    code = "import sys, troth; troth.as_graph(([0], [1])); sys.exit('torch' in sys.modules or 'cupy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
