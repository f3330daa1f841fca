"""Tables of edges: which columns are meant, and how names become vertex numbers.

The rules are the same for a file and for a pandas, polars or pyarrow table in memory:

- two columns are the ends of an edge, a third one is its weight. More columns, or another order, need names: those of
  ``columns=``, or well-known ones such as source, target, weight;
- ids are whole numbers from ``base`` on, or text, which takes no ``base``. If numbers are left out, or the ids are
  text, the vertices are numbered in the order of their ids and ``Edges.ids`` keeps the ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from troth.arrays import packages_of
from troth.errors import TrothError
from troth.files import refusing, shortened
from troth.inputs import Edges

ENDS = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("u", "v"),
    ("i", "j"),
    ("row", "col"),
    ("row", "column"),
    ("node1", "node2"),
    ("start", "end"),
)
WEIGHT = ("weight", "weights", "w", "value", "val", "score", "similarity", "distance", "count")
PACKAGES = ("pandas", "polars", "pyarrow")


# ---- which columns ----


def well_known(names: Sequence[str]) -> tuple[int, int] | None:
    """The columns of the two ends, where the names say so."""
    lower = [_plain(name) for name in names]
    return next(((lower.index(u), lower.index(v)) for u, v in ENDS if u in lower and v in lower), None)


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "")


def check_columns(columns: Sequence | None) -> list[str] | None:
    """The names of the columns asked for, as text: a data frame's labels may be numbers."""
    if columns is None:
        return None
    ordered = np.iterable(columns) and hasattr(columns, "__getitem__") and not isinstance(columns, (str, bytes))
    names = [str(name) for name in columns] if ordered else []
    if len(names) not in (2, 3) or len(set(names)) < len(names):
        raise TrothError(
            f"columns={columns!r}: give two or three different names, such as ('source', 'target', 'weight')"
        )
    return names


def choose_columns(
    where: str, count: int, names: Sequence[str] | None, columns: Sequence[str] | None
) -> tuple[int, int, int | None]:
    """Positions of source, target and weight (None where there is none) among ``count`` columns.

    >>> choose_columns("example", 4, ["day", "Weight", "from", "to"], None)
    (2, 3, 1)
    """
    if columns is not None:
        return _named_columns(where, names, columns)
    if count < 2:
        raise TrothError(f"{where}: one column; a table of edges has source, target and, if any, weight")
    ends = well_known(names) if names is not None else None
    if names is None or ends is None:
        if count > 3:
            shown = f" ({_shown(names)})" if names is not None else ""
            raise TrothError(
                f"{where}: {count} columns{shown}; name those meant, such as columns=('source', 'target', 'weight')"
            )
        return 0, 1, (2 if count == 3 else None)
    for end in ends:
        if sum(_plain(name) == _plain(names[end]) for name in names) > 1:
            raise TrothError(f"{where}: more than one column is called {names[end]!r}; rename the others")
    rest = [i for i in range(count) if i not in ends]
    weight = [i for i in rest if names[i].strip().lower() in WEIGHT] if len(rest) > 1 else rest
    if len(weight) > 1 or (rest and not weight):
        raise TrothError(f"{where}: which column is the weight? Name it: columns=('source', 'target', 'weight')")
    return *ends, (weight[0] if weight else None)


def _named_columns(where: str, names: Sequence[str] | None, columns: Sequence[str]) -> tuple[int, int, int | None]:
    if names is None:
        raise TrothError(f"{where}: columns={tuple(columns)} were asked for, but the table has no header")
    for name in columns:
        if list(names).count(name) != 1:
            raise TrothError(f"{where}: column {name!r} is not there, or not once; there are {_shown(names)}")
    source, target, *weight = (list(names).index(name) for name in columns)
    return source, target, (weight[0] if weight else None)


def _shown(names: Sequence[str]) -> str:
    return shortened(", ".join(map(repr, names)), 100)


# ---- ids to vertex numbers ----


def make_edges(
    source: np.ndarray, target: np.ndarray, weight: np.ndarray | None, *, base: int | None = None, where: str
) -> Edges:
    """Number the vertices: numbers without gaps stand for themselves, other ids are numbered in ascending order.

    O(m) for numbers below 2 m, otherwise one sort.
    """
    first, text = base or 0, source.dtype.kind not in "iuf" or target.dtype.kind not in "iuf"
    if text:
        if base is not None:
            raise TrothError(
                f"{where}: base={base} is for numbers, but the ids are text (one as 007 makes all so); leave it out"
            )
        source, target = _text(source, where), _text(target, where)
    else:
        source, target = _whole(source, first, where), _whole(target, first, where)
        n = int(max(source.max(initial=-1), target.max(initial=-1))) + 1
    if not text and n <= 2 * len(source):
        used = np.zeros(n, bool)
        used[source] = used[target] = True
        if used.all():
            return Edges(source, target, weight, n, None, where, first)
        ids, number = np.flatnonzero(used), np.cumsum(used) - 1
        return Edges(number[source], number[target], weight, len(ids), ids + first, where, first)
    ids, number = np.unique(np.concatenate((source, target)), return_inverse=True)
    row, col = np.split(number, [len(source)])
    return Edges(row, col, weight, len(ids), decode(ids, where) if text else ids + first, where, first)


def _whole(ids: np.ndarray, first: int, where: str) -> np.ndarray:
    """Ids as int64 counted from 0. Floats are taken where they are whole numbers (as ``numpy.savetxt`` writes them)."""
    if ids.dtype.kind == "f":
        whole = (ids == np.floor(ids)) & (np.abs(ids) < 2.0**53)
        if not whole.all():
            at = int(np.argmin(whole))
            raise TrothError(f"{where}: edge {at} names vertex {ids[at]}; ids are whole numbers or text")
    if ids.size and (ids.min() < first or ids.max() >= 2**63):
        at = int(np.argmin(ids) if ids.min() < first else np.argmax(ids))
        raise TrothError(f"{where}: edge {at} names vertex {ids[at]}; ids start at {first} (see base=) and fit 64 bits")
    return ids.astype(np.int64, copy=False) - first


def _text(ids: np.ndarray, where: str) -> np.ndarray:
    """Ids as text, in UTF-8 bytes where they came so; empty ones are refused."""
    text = ids if ids.dtype.kind == "S" else ids.astype(str)
    missing = np.char.str_len(text) == 0
    if missing.any():
        raise TrothError(f"{where}: edge {int(np.argmax(missing))} lacks the name of an end")
    return text


def decode(names: np.ndarray, where: str) -> np.ndarray:
    """Names as text; bytes are UTF-8, in which the order of bytes is that of characters."""
    try:
        return np.char.decode(names, "utf-8") if names.dtype.kind == "S" else names
    except UnicodeDecodeError as error:
        raise TrothError(f"{where}: the names are not UTF-8 ({error.reason})") from error


# ---- tables in memory ----


def package_of(table: Any) -> str:
    """The package whose table this is (a subclass counts too); "" where it is none of the three."""
    return next((name for name in packages_of(table) if name in PACKAGES), "")


def table_to_edges(
    table: Any, columns: Sequence[str] | None = None, base: int | None = None, where: str | None = None
) -> Edges:
    """Edges of a pandas or polars data frame or a pyarrow table, one row an edge.

    Parameters
    ----------
    table
        two columns, three, or more with names that tell which are meant
    columns
        names of source, target and, if any, weight
    base
        the number of the first vertex where ids are numbers, 0 or 1
    where
        what messages call the table

    Examples
    --------
    >>> import pandas
    >>> edges = table_to_edges(pandas.DataFrame({"from": ["ann", "bob"], "to": ["bob", "cy"], "w": [2, 3]}))
    >>> edges.row.tolist(), edges.col.tolist(), edges.weight.tolist(), edges.ids.tolist()
    ([0, 1], [1, 2], [2, 3], ['ann', 'bob', 'cy'])
    """
    package = package_of(table)
    where = where or f"the {package} table"
    if not package or not hasattr(table, "shape") or not hasattr(table, "columns"):  # a lazy frame has no shape
        raise TrothError(f"{type(table).__name__} is not a table: give a pandas or polars DataFrame or a pyarrow Table")
    names = [str(name) for name in (table.schema.names if package == "pyarrow" else table.columns)]
    source, target, weight = choose_columns(where, len(names), names, check_columns(columns))

    def column(place: int, checked: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        with refusing(f"{where}: column {names[place]!r}", Exception):  # each package has exceptions of its own
            return checked(_column(table, package, place))

    values = None if weight is None else column(weight, _weights)
    return make_edges(column(source, _ids), column(target, _ids), values, base=base, where=where)


def _ids(column: np.ndarray) -> np.ndarray:
    """A column of ids: numbers as they are, objects as text that is empty where there is none."""
    if column.ndim == 1 and column.dtype.kind != "O":
        return column
    with suppress(ValueError):  # of cells that hold several values, or bytes that are no text
        if column.ndim == 1:
            return np.where(np.equal(column, np.array(None)), "", column.astype(str))
    raise ValueError("the ids are neither whole numbers nor text")


def _weights(column: np.ndarray) -> np.ndarray:
    if column.dtype.kind not in "biufc":
        raise ValueError("the weights are not numbers")
    return column


def _column(table: Any, package: str, place: int) -> np.ndarray:
    """One column as an array; what is missing is NaN among numbers and None among text."""
    if package == "polars":
        return table.to_series(place).to_numpy()
    if package == "pyarrow":
        return table.column(place).to_numpy(zero_copy_only=False)
    series = table.iloc[:, place]
    missing = series.isna().to_numpy()
    if series.dtype.kind in "biuf":
        plain = getattr(series.dtype, "subtype", series.dtype)  # of a sparse column
        dtype = np.float64 if missing.any() else getattr(plain, "numpy_dtype", plain)
        return series.to_numpy(dtype=dtype, **({"na_value": np.nan} if missing.any() else {}))
    values = series.to_numpy(dtype=object, copy=True)
    if not missing.any() and series.map(type).eq(int).all():  # whole numbers in a column of objects or categories
        with suppress(OverflowError):  # beyond 64 bits they are text, as in files
            return values.astype(np.int64)
    values[missing] = None
    return values


def edges_to_table(source: np.ndarray, target: np.ndarray, weight: np.ndarray, like: Any, name: str = "weight") -> Any:
    """A table with the columns source, target and weight, of the package of ``like``: its name, or one of its tables.

    Users call ``Matching.to_table``.

    >>> edges_to_table(np.array([0]), np.array([1]), np.array([2.5]), "pyarrow").num_rows
    1
    """
    package = like if isinstance(like, str) else package_of(like)
    columns = {"source": source, "target": target, name: weight}
    if package not in PACKAGES:
        given = repr(like) if isinstance(like, str) else type(like).__name__  # an object's repr may have many lines
        raise TrothError(f"like={given}: choose {', '.join(PACKAGES)}, or give one of their tables")
    module = require(package)
    return module.table(columns) if package == "pyarrow" else module.DataFrame(columns)


def require(package: str) -> Any:
    """Import a package of tables, or say what to install."""
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError as error:
        extra = "polars" if package == "polars" else '"troth[tables]"'
        raise TrothError(f"{package} is not installed: pip install {extra}") from error
