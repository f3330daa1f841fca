"""Tables of edges: which columns are meant, and how names become vertex numbers.

The rules are the same for a file and for a pandas, polars or pyarrow table in memory:

- names say which columns are meant: those of ``columns=``, or well-known ones such as source, target, weight. Any other
  names are refused, for they may be those of features. Where there are no names, as in a file without a header, two
  columns are the ends of an edge and a third one is its weight;
- ids are whole numbers from ``base`` on, or text, which takes no ``base``. If numbers are left out, or do not start at
  0, or the ids are text, the vertices are numbered in the order of their ids and ``Edges.ids`` keeps the ids.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from troth.arrays import packages_of
from troth.errors import TrothError
from troth.files import refusing, shortened
from troth.inputs import Edges
from troth.names import number_names, text_array
from troth.neighbours.packages import require
from troth.words import did_you_mean, means_cost

ENDS = (
    ("source", "target"),
    ("sourceid", "targetid"),
    ("sourcenode", "targetnode"),
    ("src", "dst"),
    ("src", "dest"),
    ("src", "tgt"),
    ("srcid", "dstid"),
    ("from", "to"),
    ("fromid", "toid"),
    ("fromnode", "tonode"),
    ("fromnodeid", "tonodeid"),
    ("origin", "destination"),
    ("u", "v"),
    ("i", "j"),
    ("row", "col"),
    ("row", "column"),
    ("node1", "node2"),
    ("nodea", "nodeb"),
    ("vertex1", "vertex2"),
    ("id1", "id2"),
    ("tail", "head"),
)
WEIGHT = (
    "w",
    "wt",
    "value",
    "values",
    "val",
    "data",
    "count",
    "counts",
    "freq",
    "frequency",
    "affinity",
    "profit",
    "gain",
)
WEIGHT_ENDING = ("weight", "weights", "score", "similarity", "strength")  # also of longer names, such as edge_weight
PACKAGES = ("pandas", "polars", "pyarrow")


# ---- which columns ----


def well_known(names: Sequence[str]) -> tuple[int, int] | None:
    """The columns of the two ends, where the names say so."""
    lower = [_plain(name) for name in names]
    return next(((lower.index(u), lower.index(v)) for u, v in ENDS if u in lower and v in lower), None)


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "").replace(" ", "").replace("-", "")


def _is_weight(name: str) -> bool:
    """Whether a column's name says that it is the weight, or a cost."""
    return _plain(name) in WEIGHT or _plain(name).endswith(WEIGHT_ENDING) or means_cost(name)


def cost_of(names: Sequence[str] | None, weight: int | None) -> str | None:
    """What ``Edges.cost`` says of a column: that it is one of costs, where its name means that."""
    if names is None or weight is None or not means_cost(names[weight]):
        return None
    return f"column {names[weight]!r} is a cost by its name"


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
    where: str,
    count: int,
    names: Sequence[str] | None,
    columns: Sequence[str] | None,
    weight: str | None = None,
) -> tuple[int, int, int | None]:
    """Positions of source, target and weight (None where there is none) among ``count`` columns.

    ``columns`` and ``weight`` are the names that the user gave.

    >>> choose_columns("example", 4, ["day", "Weight", "from", "to"], None)
    (2, 3, 1)
    >>> choose_columns("example", 4, ["day", "Weight", "from", "to"], None, "day")
    (2, 3, 0)
    """
    if weight is not None:
        if columns is not None and len(columns) == 3 and columns[2] != str(weight):
            raise TrothError(f"{where}: columns={tuple(columns)} and weight={weight!r} name two weights; leave one")
        if columns is not None:
            columns = [*columns[:2], str(weight)]
            _refuse_end(where, columns[:2], weight)
    if columns is not None:
        return _named_columns(where, names, columns)
    if count < 2:
        raise TrothError(f"{where}: one column; a table of edges has source, target and, if any, weight")
    if names is None:
        if weight is not None:
            raise TrothError(f"{where}: weight={weight!r} was asked for, but the table has no header")
        if count > 3:
            raise TrothError(f"{where}: {count} columns and no header; a table of edges has two or three, or names")
        return 0, 1, (2 if count == 3 else None)
    ends = well_known(names)
    if ends is None:
        raise TrothError(
            f"{where}: its columns {_shown(names)} are not named as edges are (source, target, weight): name those "
            f"meant, {_remedy(names)}; to pair similar rows of a table, call troth.pair_rows"
        )
    for end in ends:
        if sum(_plain(name) == _plain(names[end]) for name in names) > 1:
            raise TrothError(f"{where}: more than one column is called {names[end]!r}; rename the others")
    if weight is not None:
        _refuse_end(where, [names[end] for end in ends], weight)
        return _named_columns(where, names, [names[ends[0]], names[ends[1]], str(weight)])
    rest = [i for i in range(count) if i not in ends]
    found = [i for i in rest if _is_weight(names[i])]
    if len(found) > 1 or (rest and not found):
        chosen = [names[ends[0]], names[ends[1]], names[(found or rest)[0]]]
        open_ = _shown([names[i] for i in found or rest])
        asked = f"is {open_} the weight?" if len(found or rest) == 1 else f"which of {open_} is the weight?"
        raise TrothError(f"{where}: {asked} Name it, {_remedy(chosen)}, or the two ends alone if edges have none")
    return *ends, (found[0] if found else None)


def _refuse_end(where: str, ends: Sequence[str], weight: str) -> None:
    if str(weight) in ends:
        raise TrothError(f"{where}: weight={weight!r} names an end of the edges; name the column of their weights")


def _remedy(names: Sequence[str]) -> str:
    """How to name columns, in Python and on the command line."""
    chosen = tuple(names[:3]) if len(names) <= 3 else ("source", "target", "weight")
    words = ",".join(chosen)
    in_a_shell = f" or --columns {shlex.quote(words)}" if words.isprintable() else ""
    return shortened(f"as in columns={chosen!r}{in_a_shell}", 200)


def _named_columns(where: str, names: Sequence[str] | None, columns: Sequence[str]) -> tuple[int, int, int | None]:
    if names is None:
        raise TrothError(f"{where}: columns={tuple(columns)} were asked for, but the table has no header")
    for name in columns:
        if list(names).count(name) != 1:
            hint = "" if name in names else did_you_mean(name, names)
            raise TrothError(f"{where}: column {name!r} is not there, or not once{hint}; there are {_shown(names)}")
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
        names, (row, col) = number_names(_text(source, where), _text(target, where))
        return Edges(row, col, weight, len(names), decode(names, where), where, first)
    else:
        source, target = _whole(source, first, where), _whole(target, first, where)
        n = int(max(source.max(initial=-1), target.max(initial=-1))) + 1
    if n <= 2 * len(source):
        used = np.zeros(n, bool)
        used[source] = used[target] = True
        if used.all():
            return Edges(source, target, weight, n, np.arange(first, n + first) if first else None, where, first)
        ids, number = np.flatnonzero(used), np.cumsum(used, dtype=np.result_type(source, target))
        number -= 1
        return Edges(number[source], number[target], weight, len(ids), ids + first, where, first)
    ids, number = np.unique(np.concatenate((source, target)), return_inverse=True)
    row, col = np.split(number, [len(source)])
    return Edges(row, col, weight, len(ids), ids.astype(np.int64) + first, where, first)


def _whole(ids: np.ndarray, first: int, where: str) -> np.ndarray:
    """Ids as int32 or int64 counted from 0. Floats are taken where whole numbers (as ``numpy.savetxt`` writes them)."""
    if ids.dtype.kind == "f":
        whole = (ids == np.floor(ids)) & (np.abs(ids) < 2.0**53)
        if not whole.all():
            at = int(np.argmin(whole))
            raise TrothError(f"{where}: edge {at} names vertex {ids[at]}; ids are whole numbers or text")
    if ids.size and (ids.min() < first or ids.max() >= 2**63):
        at = int(np.argmin(ids) if ids.min() < first else np.argmax(ids))
        raise TrothError(f"{where}: edge {at} names vertex {ids[at]}; ids start at {first} (see base=) and fit 64 bits")
    ids = ids.astype(np.int32 if ids.dtype == np.int32 else np.int64, copy=False)
    return ids - ids.dtype.type(first) if first else ids


def _text(ids: np.ndarray, where: str) -> np.ndarray:
    """Ids as text (see ``names.py``), in UTF-8 bytes where they came so; empty ones are refused."""
    text = ids if ids.dtype.kind in "SO" else ids.astype(str)
    if text.dtype.kind == "O":
        missing = np.fromiter((not name for name in text), bool, len(text))
    else:
        missing = text == text.dtype.type()
    if missing.any():
        raise TrothError(f"{where}: edge {int(np.argmax(missing))} lacks the name of an end")
    return text


def decode(names: np.ndarray, where: str) -> np.ndarray:
    """Names as text; bytes are UTF-8, in which the order of bytes is that of characters."""
    try:
        if names.dtype.kind == "O":
            return text_array([name.decode() if type(name) is bytes else name for name in names.tolist()])
        return np.char.decode(names, "utf-8") if names.dtype.kind == "S" else names
    except UnicodeDecodeError as error:
        raise TrothError(f"{where}: the names are not UTF-8 ({error.reason})") from error


# ---- tables in memory ----


def package_of(table: Any) -> str:
    """The package whose table this is (a subclass counts too); "" where it is none of the three."""
    return next((name for name in packages_of(table) if name in PACKAGES), "")


def table_to_edges(
    table: Any,
    columns: Sequence[str] | None = None,
    base: int | None = None,
    where: str | None = None,
    weight: str | None = None,
) -> Edges:
    """Edges of a pandas or polars data frame or a pyarrow table, one row an edge.

    Parameters
    ----------
    table
        with names that tell which columns are meant
    columns
        names of source, target and, if any, weight
    base
        the number of the first vertex where ids are numbers, 0 or 1
    where
        what messages call the table
    weight
        the name of the weight, where that alone is to be said

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
    names = _names(table, package)
    source, target, value = choose_columns(where, len(names), names, check_columns(columns), weight)
    values = None if value is None else _checked(table, package, value, _weights, where)
    tail, head = (_checked(table, package, place, _ids, where) for place in (source, target))
    return replace(make_edges(tail, head, values, base=base, where=where), cost=cost_of(names, value))


def ids_of_table(table: Any, where: str) -> list[np.ndarray]:
    """The two columns of ids; nothing else is looked at."""
    package = package_of(table)
    names = _names(table, package)
    ends = choose_columns(where, len(names), names, None)[:2]
    return [_checked(table, package, place, _ids, where) for place in ends]


def _names(table: Any, package: str) -> list[str]:
    return [str(name) for name in (table.schema.names if package == "pyarrow" else table.columns)]


def _checked(table: Any, package: str, place: int, check: Callable[[np.ndarray], np.ndarray], where: str) -> np.ndarray:
    """One column as an array that has passed a check."""
    with refusing(
        f"{where}: column {_names(table, package)[place]!r}", Exception
    ):  # packages have exceptions of their own
        return check(_column(table, package, place))


def _ids(column: np.ndarray) -> np.ndarray:
    """A column of ids: whole numbers as they are, objects as text that is empty where there is none."""
    if column.dtype.kind == "f" and not np.isnan(column).any():  # NaN: an id is missing, which make_edges says
        raise ValueError(f"ids are whole numbers or text, not {column.dtype}: convert them, as by .astype(int)")
    if column.ndim == 1 and column.dtype.kind != "O":
        return column
    with suppress(ValueError):  # of bytes that are no text
        if column.ndim == 1:
            cells = column.tolist()
            return text_array(cells if set(map(type, cells)) == {str} else [_name(cell) for cell in cells])
    raise ValueError("the ids are neither whole numbers nor text")


def _name(cell: Any) -> str:
    """What a cell of ids holds as text; ``ValueError`` where that is several values, or bytes beyond ASCII."""
    if np.ndim(cell):
        raise ValueError
    return "" if cell is None else cell.decode("ascii") if isinstance(cell, bytes) else str(cell)


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
    columns = {"source": _as_column(source), "target": _as_column(target), name: weight}
    if package not in PACKAGES:
        given = repr(like) if isinstance(like, str) else type(like).__name__  # an object's repr may have many lines
        raise TrothError(f"like={given}: choose {', '.join(PACKAGES)}, or give one of their tables")
    module = require(package)
    return module.table(columns) if package == "pyarrow" else module.DataFrame(columns)


def _as_column(ids: np.ndarray) -> np.ndarray | list[str]:
    """Ids as packages take them: text that is objects as a list, since polars would make NumPy's text of an array."""
    return ids.tolist() if ids.dtype.kind == "O" and {str}.issuperset(map(type, ids)) else ids
