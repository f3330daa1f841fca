"""
A heavy diagonal
================

A direct solver that keeps to the diagonal: heavy entries are brought there first.

The matrix is that of a convection-diffusion problem whose rows were shuffled and whose units were badly chosen. SuperLU
factors it as it is and permuted by ``heavy_permutation``, each time asked to leave the diagonal only for a pivot that
is ten times larger, and once not to leave it at all (static pivoting, as parallel solvers want it).

How heavy the diagonal is, beside the heaviest that there is, is asked of SciPy for a smaller matrix with entries of all
sizes: first for the auction's matching of rows and columns, then for the diagonal, to which it is completed.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from scipy.sparse.linalg import splu

import troth
from troth.interop.scipy import heavy_permutation

rng = np.random.default_rng(0)
k = 60
line, wind = (sp.diags_array(parts, offsets=[-1, 0, 1], shape=(k, k)) for parts in ([-1.0, 2, -1], [-20.0, 20, 0]))
A = sp.kron(sp.eye_array(k), line + wind) + sp.kron(line, sp.eye_array(k))
units = [sp.diags_array(10.0 ** rng.uniform(-2, 2, k * k)) for _ in range(2)]
A = (units[0] @ A @ units[1]).tocsr()[rng.permutation(k * k)].tocsc()
x = rng.standard_normal(k * k)
b = A @ x

heavy = heavy_permutation(A)
print(f"{A.shape[0]} rows, {A.nnz} entries; {np.count_nonzero(A.diagonal())} on the diagonal, then all of them")
print(f"{'':28}{'rows exchanged':>16}{'fill':>10}{'residual':>11}")
for words, threshold in (("pivots within a tenth", 0.1), ("static pivots", 0.0)):
    plain = splu(A, diag_pivot_thresh=threshold)
    moved = splu(heavy.apply(A), diag_pivot_thresh=threshold)
    answers = {
        "as it is": (plain, plain.solve(b)),
        "permuted": (moved, heavy.column_scale * moved.solve((heavy.row_scale * b)[heavy.rows])),
    }
    for name, (lu, found) in answers.items():
        exchanged = np.count_nonzero(lu.perm_r != lu.perm_c)
        residual = np.linalg.norm(A @ found - b) / np.linalg.norm(b)
        print(f"{words + ', ' + name:32}{exchanged:12}{lu.nnz:10}{residual:11.0e}")

n = 500
B = sp.eye_array(n).tocsr()[rng.permutation(n)] + sp.random_array((n, n), density=4 / n, rng=rng)
B.data = np.exp(rng.normal(0, 3, B.nnz))
bits = B.tocoo()
bits.data = np.log2(bits.data) - np.log2(B.data.min()) + 1  # positive, as weights are
edges = bits.row, n + bits.col, bits.data
m = troth.match(edges, algorithm="auction", eps=0.01, slack=0.005, rounds=100, certify=True)
largest = bits.toarray()[linear_sum_assignment(bits.toarray(), maximize=True)].sum()  # an absent entry weighs nothing
permuted = heavy_permutation(B)
found = np.log2(B[permuted.rows].diagonal()).sum()
best = np.log2(B.tocsr()[min_weight_full_bipartite_matching(bits.tocsr(), maximize=True)]).sum()
print(f"\n{n} rows, {B.nnz} entries of all sizes")
print(f"the auction has {m.weight / largest:.4f} of the largest weight, {m.certificate.ratio:.4f} of it proven")
print(f"on the diagonal, {permuted.completed} rows completed: a product of 2^{found:.1f}; the largest is 2^{best:.1f}")

figure, axes = plt.subplots(1, 2, figsize=(7, 3.7), layout="constrained")
for ax, name, matrix in zip(axes, ("as it is", "permuted"), (A, heavy.apply(A)), strict=True):
    ax.spy(matrix, markersize=0.4, color="#d9480f")
    ax.set(title=name, xticks=[], yticks=[])
plt.show()
