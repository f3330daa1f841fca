"""
Algebraic multigrid
===================

A Poisson and an anisotropic problem, with troth's aggregates and with PyAMG's own pairs.

Both solvers are PyAMG's: double pairwise aggregation, a V-cycle with symmetric Gauss-Seidel, and conjugate gradients.
They differ in who chooses the aggregates.
"""

import sys
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pyamg
from scipy.sparse.linalg import cg

from troth.interop.pyamg import predefined_aggregates


def by_troth(A):
    """A solver all of whose levels come from one troth hierarchy."""
    return pyamg.smoothed_aggregation_solver(A, aggregate=predefined_aggregates(A), smooth=None)


def compare(name, A):
    """Set-up time, size of all levels together, and iterations to a residual of 1e-8."""
    b = np.random.default_rng(0).random(A.shape[0])
    for who, build in (("PyAMG", pyamg.pairwise_solver), ("troth", by_troth)):
        seconds, residuals = [], []
        for _ in range(3):
            start = perf_counter()
            ml = build(A)
            seconds.append(perf_counter() - start)
        x, _ = cg(A, b, rtol=1e-8, M=ml.aspreconditioner(), callback=residuals.append)
        error = np.linalg.norm(b - A @ x) / np.linalg.norm(b)
        words = f"{min(seconds):8.3f} s{ml.operator_complexity():12.2f}{len(residuals):12}{error:12.0e}"
        print(f"{name:14}{A.shape[0]:10}  {who}{words}")


k = int(sys.argv[1]) if len(sys.argv) > 1 else 400
by_troth(pyamg.gallery.poisson((20, 20), format="csr"))  # compiles the kernels
stencil = pyamg.gallery.diffusion_stencil_2d(epsilon=0.001, theta=0, type="FD")
print(f"{'problem':14}{'unknowns':>10}  who       set-up  complexity  iterations    residual")
compare("Poisson", pyamg.gallery.poisson((k, k), format="csr"))
compare("anisotropic", pyamg.gallery.stencil_grid(stencil, (k, k), format="csr"))

# Aggregates of the finest level on a small grid: in all directions, and along the strong couplings.
small = {
    "Poisson": pyamg.gallery.poisson((16, 16), format="csr"),
    "anisotropic": pyamg.gallery.stencil_grid(stencil, (16, 16), format="csr"),
}
figure, axes = plt.subplots(1, 2, figsize=(7, 3.6), layout="constrained")
for ax, (name, A) in zip(axes, small.items(), strict=True):
    aggregate = predefined_aggregates(A)[0][1]["AggOp"].indices
    colour = np.random.default_rng(1).permutation(aggregate.max() + 1)
    ax.imshow(colour[aggregate].reshape(16, 16), cmap="Spectral")
    ax.set_title(name)
    ax.axis("off")
plt.show()
