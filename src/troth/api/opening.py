"""``as_graph`` and ``read``: whatever people have becomes a ``Graph``.

What is given is recognised here, a file, a family, a matrix, a table, another library's graph, and handed to its
reader; the ``Matrix`` or ``Edges`` that this makes goes through the gate, which checks and cleans it where its arrays
are.
"""

from __future__ import annotations

import os
import re
from os import PathLike
from typing import Any

import numpy as np

from troth.arrays import is_on_device, packages_of, plain
from troth.errors import TrothError
from troth.files import refusing
from troth.gate.entry import SYMMETRIZE, WEIGHTS, make_graph
from troth.gate.worth import LeastCost, read_purpose
from troth.graph import Graph
from troth.inputs import Edges, Matrix, check_base, first_rounded, refuse_table_options
from troth.neighbours.scipy import looks_like_distances
from troth.validate import check_seed, check_word

# Of a matrix that ``scipy.spatial`` may have made.
ZERO_TO_ITSELF = "every vertex has a stored 0 on the diagonal, as in a matrix of distances"


def as_graph(
    obj: Any,
    *,
    weights: str = "keep",
    symmetrize: str | None = None,
    base: int | None = None,
    seed: int = 0,
    columns: tuple[str, ...] | None = None,
    weight: str | None = None,
    maximize: bool | None = None,
    reward: float | None = None,
) -> Graph:
    """Turn what people already have into a ``Graph``.

    Parameters
    ----------
    obj : object
        A SciPy or CuPy sparse matrix or array of any format, a torch sparse tensor, ``(row, col)`` or ``(row, col,
        weight)`` arrays, a NetworkX graph, a pandas, polars or pyarrow table of edges, a ``Data`` of PyTorch
        Geometric, what ``read`` takes, or a ``Graph``. What is on a GPU stays there, be it CuPy's, torch's or another
        library's that knows DLPack. A clean CSR or CSC matrix is not copied: leave its arrays as they are while the
        graph is in use, or give a copy of it.
    weights : str, optional
        "keep" the values, "abs" their absolute values, "unit" (all 1), "random" (uniform in (0, 1], a function of
        ``seed`` and the two ends), or "paper": absolute values, random where there are none (Naim et al. 2015). "unit"
        and "random" do not look at the values.
    symmetrize : str, optional
        What to do with a matrix whose two directions differ: "max", "min", "sum" (of integers: as int64) or "mean" (of
        integers: as float64); by default an error.
    base : int, optional
        The number of the first vertex in a table, 0 or 1.
    seed : int, optional
        For random weights.
    columns : tuple of str, optional
        Names of a table's source, target and weight columns. Without them, columns whose names are not those of edges,
        such as source, target and weight, are refused.
    weight : str, optional
        Name of the weight alone: the edge attribute of a NetworkX graph ("weight" if not given) or of a ``Data``
        ("edge_weight", or an "edge_attr" of one column), or the column of a table.
    maximize : bool, optional
        True: the values are weights, more is better. By default the same, but names that mean a cost, such as
        "distance", are refused, and so are matrices in which every vertex has a stored distance of 0 to itself, as
        those of ``scipy.spatial``. False: they are costs, and become ``reward - cost``. Edges that cost the reward or
        more are dropped.
    reward : int or float, optional
        What costs are taken from; by default the largest cost.

    Returns
    -------
    Graph
        Its ``notes`` count what was dropped or merged.

    Notes
    -----
    One pass over a clean matrix; O(n + m) otherwise. Repeated entries of a matrix add up, as SciPy means them; repeated
    edges of a table are parallel edges, of which the heaviest stays. Edges of weight <= 0 are dropped.

    With ``maximize=False`` all this is done to costs, negative ones and zeros too: repeated entries of a matrix and its
    two directions are combined, of parallel edges the cheapest stays, and then costs become worth. Whole costs stay
    whole where the reward is; all others become float64.

    Examples
    --------
    >>> import numpy as np
    >>> g = as_graph((np.array([0, 1, 2]), np.array([1, 2, 2]), np.array([2.0, 3.0, 9.0])))
    >>> g, g.notes
    (Graph(n=3, m=2, weights=float64), {'loops': 1})
    """
    purpose = read_purpose(maximize, reward)
    plain = weights == "keep" and symmetrize is None and base is None and columns is None and weight is None
    if isinstance(obj, Graph) and plain:
        return obj if purpose is None else _graph_of_costs(obj, purpose)
    if isinstance(obj, (str, PathLike)):
        options: dict[str, Any] = {"weights": weights, "symmetrize": symmetrize, "base": base, "seed": seed}
        return read(obj, **options, columns=columns, weight=weight, maximize=maximize, reward=reward)
    check_word("weights", weights, WEIGHTS)
    check_word("symmetrize", symmetrize, (None, *SYMMETRIZE))
    base, seed = check_base(base), check_seed(seed)
    if isinstance(obj, Graph):
        refuse_table_options("the Graph", base, columns, weight)
        if weights == "keep":
            return obj if purpose is None else _graph_of_costs(obj, purpose)
        again = make_graph(obj.to_matrix(), weights=weights, seed=seed, purpose=purpose)
        return again.replaced(notes={**obj.notes, **again.notes})
    source = obj if isinstance(obj, (Matrix, Edges)) else _recognise(obj, base, columns, weight)
    said = maximize is not None
    return make_graph(source, weights=weights, symmetrize=symmetrize, seed=seed, purpose=purpose, said=said)


def read(
    source: str | PathLike[str],
    *,
    weights: str = "keep",
    symmetrize: str | None = None,
    base: int | None = None,
    seed: int = 0,
    columns: tuple[str, ...] | None = None,
    weight: str | None = None,
    maximize: bool | None = None,
    reward: float | None = None,
    format: str | None = None,
) -> Graph:
    """Read a graph from a file, or make one of a family such as ``rmat:scale=18,edgefactor=16,seed=1``.

    Parameters
    ----------
    source : str or path
        A path whose extension is a known format, or the name of a family with its parameters. "-" is standard input.
    weights : str, optional
        As in ``as_graph``, and so are the others.
    symmetrize : str, optional
        What to do with a matrix whose two directions differ.
    base : int, optional
        The number of the first vertex in a table, 0 or 1.
    seed : int, optional
        For random weights.
    columns : tuple of str, optional
        Names of a table's source, target and weight columns.
    weight : str, optional
        Name of a table's weight column alone.
    maximize : bool, optional
        Whether more is better; to be said where a column's name means a cost. False: the weights are costs, and become
        ``reward - cost``.
    reward : int or float, optional
        What costs are taken from; by default the largest cost.
    format : str, optional
        The format, in place of the extension: "mtx", "graph" (or "metis"), "npz", "csr", "csv", "tsv", "txt",
        "edgelist", "snap" or "parquet". Of standard input it is recognised, but for METIS.

    Returns
    -------
    Graph

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "triangle.csv"
    >>> _ = path.write_text("0,1,2.5\\n1,2,3\\n2,0,1\\n")
    >>> read(path)
    Graph(n=3, m=3, weights=float64)
    """
    check_word("weights", weights, WEIGHTS)
    check_word("symmetrize", symmetrize, (None, *SYMMETRIZE))
    base, seed, purpose = check_base(base), check_seed(seed), read_purpose(maximize, reward)
    if isinstance(source, str):
        from troth.families import from_spec, is_spec

        if is_spec(source) or (re.fullmatch(r"[^/\\]+:[^/\\]+=[^/\\]*", source) and not os.path.exists(source)):
            refuse_table_options(f"family {source!r}", base, columns, weight)
            if format is not None:
                raise TrothError(f"family {source!r}: format is that of a file; leave it out")
            family = from_spec(source)
            return as_graph(family, weights=weights, symmetrize=symmetrize, seed=seed, maximize=maximize, reward=reward)
    from troth.io import read_input

    with refusing(source):
        made = read_input(source, base=base, columns=columns, weight=weight, format=format)
        said = maximize is not None
        return make_graph(made, weights=weights, symmetrize=symmetrize, seed=seed, purpose=purpose, said=said)


def _graph_of_costs(graph: Graph, purpose: LeastCost) -> Graph:
    """The graph whose weights are costs; itself where they were taken for costs before."""
    if graph.reward is None:
        again = make_graph(graph.to_matrix(), purpose=purpose)
        return again.replaced(notes={**graph.notes, **again.notes})
    if purpose.reward not in (None, graph.reward):
        raise TrothError(
            f"the Graph: its weights are {graph.reward} - cost already; for reward={purpose.reward} give the costs"
        )
    return graph


def write(graph: Any, path: str | PathLike[str]) -> None:
    """Write a graph in the format that the extension names, whole or not at all.

    Parameters
    ----------
    graph : Graph or anything that ``as_graph`` takes
        The graph.
    path : str or path
        Where to; a file there is replaced.

    Notes
    -----
    Integers are exact in every format and floats read back as the same numbers. MatrixMarket, METIS and text tables
    store decimals, so their float32 comes back as float64. Vertex weights go into METIS and ``.csr``, ids into tables
    and ``.csr``; a table has no room for isolated vertices.
    """
    from troth.io import write_graph

    write_graph(as_graph(graph), path)


def _recognise(obj: Any, base: int | None, columns: Any, weight: Any) -> Matrix | Edges:
    """Recognise what the user has; nothing heavy is imported that is not loaded already."""
    packages = set(packages_of(obj))
    if "torch_geometric" in packages:
        from troth.neighbours.torch import data_to_edges

        refuse_table_options("the Data", base, columns)
        return data_to_edges(obj, weight)
    if not packages.isdisjoint(("scipy", "cupyx", "torch")) and (hasattr(obj, "tocoo") or "torch" in packages):
        refuse_table_options("the matrix", base, columns, weight)
        if "torch" in packages:
            from troth.neighbours.torch import torch_to_matrix

            return torch_to_matrix(obj)
        return Matrix(obj, cost=ZERO_TO_ITSELF if "scipy" in packages and looks_like_distances(obj) else None)
    if not packages.isdisjoint(("pandas", "polars", "pyarrow")):
        from troth.neighbours.tables import table_to_edges

        return table_to_edges(obj, columns=columns, base=base, weight=weight)
    if hasattr(obj, "adj") and hasattr(obj, "is_directed"):
        from troth.neighbours.networkx import networkx_to_edges

        refuse_table_options("the NetworkX graph", base, columns)
        return networkx_to_edges(obj, weight)
    if isinstance(obj, list) and any(isinstance(part, (list, tuple)) for part in obj):
        raise TrothError(
            "the edges: a list of lists or tuples has no one meaning; give a tuple (row, col, weight), which "
            "tuple(zip(*edges)) makes of a list of edges, or wrap a matrix in scipy.sparse.csr_array(...)"
        )
    if isinstance(obj, (tuple, list)) and len(obj) in (2, 3):
        refuse_table_options("the edges", None, None, weight)
        return _edges_of(obj, base or 0, columns)
    if isinstance(obj, np.ndarray) or is_on_device(obj):
        kind = "cupyx.scipy.sparse.csr_matrix" if is_on_device(obj) else "scipy.sparse.csr_array"
        raise TrothError(
            f"a dense array is not taken as a graph: wrap an adjacency matrix in {kind}(...), in which more is better"
            " (of distances, as pdist has them, say maximize=False to match)"
        )
    raise TrothError(
        f"a graph cannot be made from {type(obj).__name__}: give a SciPy sparse matrix, (row, col, weight) arrays, a "
        "NetworkX graph, a pandas, polars or pyarrow table, or a file name"
    )


def _edges_of(parts: Any, base: int, columns: Any) -> Edges:
    """(row, col) or (row, col, weight), on the host or on a GPU, as edges."""
    if columns is not None:
        raise TrothError("the edges: columns are for tables, whose columns have names; leave them out")
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        raise TrothError("the edges: masked arrays are not taken; leave the masked edges out, and give plain arrays")
    if any(is_on_device(part) for part in parts):
        from troth.neighbours.cupy import device_edges

        return device_edges(parts, base)
    try:
        row, col, *weight = (np.asarray(plain(part)) for part in parts)
    except ValueError:  # lists in lists, of unequal lengths
        raise TrothError("the edges: row, col and weight must be one-dimensional arrays of numbers") from None
    if weight and isinstance(parts[2], (list, tuple)) and (place := first_rounded(parts[2], weight[0])) is not None:
        raise TrothError(
            f"the edges: weight {parts[2][place]} of edge {place} is no float, but others are: "
            "make all of them whole numbers, or floats"
        )
    if base and row.dtype.kind in "iu" and col.dtype.kind in "iu":
        row, col = row.astype(np.int64) - base, col.astype(np.int64) - base
    return Edges(row, col, weight[0] if weight else None, base=base)
