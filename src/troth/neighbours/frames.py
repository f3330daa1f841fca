"""Tables whose rows are things, such as people: columns by name, and new tables of the same kind.

A ``Frame`` is a NumPy array of two dimensions, a pandas or polars data frame or a pyarrow table. It says which columns
have numbers, gives them as float64 or as codes (equal values, equal codes), and makes tables of the library that it is
of. Columns go by the text of their names, those of an array by their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from troth.arrays import is_on_device
from troth.errors import TrothError
from troth.files import one_line, refusing, shortened
from troth.neighbours.packages import require
from troth.neighbours.tables import package_of


@dataclass(frozen=True)
class Frame:
    """A table of rows; ``package`` is "" for an array of NumPy."""

    package: str
    data: Any
    names: list[str]
    n: int

    @property
    def where(self) -> str:
        """What messages call it."""
        return f"the {self.package} table" if self.package else "the array"

    def place(self, name: Any, option: str) -> int:
        """The position of a column that an option names."""
        if self.names.count(str(name)) != 1:
            shown = shortened(", ".join(map(repr, self.names)), 100)
            raise TrothError(f"{option}: {self.where} has no column {str(name)!r}, or not one alone; it has {shown}")
        return self.names.index(str(name))

    def column(self, place: int) -> Any:
        """A column as the library has it."""
        if self.package == "pandas":
            return self.data.iloc[:, place]
        if self.package == "polars":
            return self.data.to_series(place)
        return self.data.column(place) if self.package == "pyarrow" else self.data[:, place]

    def is_number(self, place: int) -> bool:
        """Whether a column has numbers (or truth values, which are 0 and 1)."""
        column = self.column(place)
        if self.package == "polars":
            return column.dtype.is_numeric() or str(column.dtype) == "Boolean"
        if self.package == "pyarrow":
            types = require("pyarrow").types
            kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
            return any(is_kind(column.type) for is_kind in kinds)
        return column.dtype.kind in "biuf"

    def numbers(self, place: int) -> np.ndarray:
        """A column as float64, without a missing or infinite value."""
        column, name = self.column(place), self.names[place]
        with refusing(f"{self.where}: column {name!r}", Exception):  # each package has exceptions of its own
            if self.package == "pandas":
                values = column.to_numpy(dtype=np.float64, na_value=np.nan)
            elif self.package == "polars":
                values = column.cast(require("polars").Float64).to_numpy()
            elif self.package == "pyarrow":
                values = column.cast(require("pyarrow").float64()).to_numpy(zero_copy_only=False)
            else:
                values = column.astype(np.float64)
        fine = np.isfinite(values)
        if not fine.all():
            at = int(np.argmin(fine))
            what = "is missing" if np.isnan(values[at]) else "is infinite"
            remedy = "fill or drop such rows, or leave the column out by on="
            raise TrothError(f"{self.where}: column {name!r} {what} in row {at}; {remedy}")
        return values

    def codes(self, place: int) -> tuple[np.ndarray, list[Any]]:
        """A column as numbers that are equal where its values are; and the values, in the order of their numbers."""
        return codes_of(self.column(place), f"{self.where}: column {self.names[place]!r}", self.n)

    def take(self, rows: np.ndarray) -> Any:
        """Some rows, as a table of the same kind."""
        if self.package == "pandas":
            return self.data.iloc[rows]
        return self.data.take(rows) if self.package == "pyarrow" else self.data[rows]

    def make(self, columns: dict[str, Any]) -> Any:
        """A new table of the same kind; for NumPy an array with named fields."""
        if self.package:
            module = require(self.package)
            return module.table(columns) if self.package == "pyarrow" else module.DataFrame(columns)
        arrays = {name: np.asarray(column) for name, column in columns.items()}
        made = np.empty(len(next(iter(arrays.values()))), [(name, array.dtype) for name, array in arrays.items()])
        for name, array in arrays.items():
            made[name] = array
        return made


def as_frame(table: Any) -> Frame:
    """The table of what a user gives.

    >>> as_frame([[1, 2], [3, 4]]).names
    ['0', '1']
    """
    package = package_of(table)
    if package and hasattr(table, "shape") and hasattr(table, "columns"):  # a lazy frame has no shape
        names = [str(name) for name in (table.schema.names if package == "pyarrow" else table.columns)]
        return Frame(package, table, names, table.shape[0])
    wanted = "give a pandas or polars DataFrame, a pyarrow Table, or a NumPy array of two dimensions"
    if package or is_on_device(table) or isinstance(table, np.ma.MaskedArray) or hasattr(table, "tocoo"):
        raise TrothError(f"{type(table).__name__} is not a table of rows: {wanted}")
    try:
        array = np.asarray(table)
    except ValueError as error:
        raise TrothError(f"{type(table).__name__} is not a table of rows ({one_line(error)}): {wanted}") from None
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        shape = f"{array.ndim} dimensions of {array.dtype}"
        raise TrothError(f"{type(table).__name__} is not a table of rows, but has {shape}: {wanted}")
    return Frame("", array, [str(at) for at in range(array.shape[1])], len(array))


def codes_of(column: Any, where: str, n: int) -> tuple[np.ndarray, list[Any]]:
    """A column, of any of the packages or an array, as numbers that are equal where its values are; and the values.

    The numbers count from 0 on, in ascending order of the values where these have one.

    >>> codes_of(["b", "a", "b"], "example", 3)
    (array([1, 0, 1]), ['a', 'b'])
    """
    package, settled = package_of(column), False
    with refusing(where, Exception):
        if package == "pandas":
            codes, found = require("pandas").factorize(column)
            values = list(found)
            if getattr(getattr(column, "dtype", None), "ordered", False):  # by the order of the categories
                rank = np.argsort(np.argsort(found.codes))
                codes = np.where(codes < 0, codes, rank[codes])
                values, settled = [values[at] for at in np.argsort(rank)], True
        elif package == "polars":
            unique = column.drop_nulls().unique()
            codes, values = _coded(column, unique), unique.to_list()
        elif package == "pyarrow":
            codes, values = _dictionary(column)
        else:
            found, codes = np.unique(_flat(column), return_inverse=True)
            values = found.tolist()
    if len(codes) != n:
        raise TrothError(f"{where}: {len(codes)} values for {n} rows")
    missing = np.array([value is None or value != value for value in values], bool)
    bad = (codes < 0) | missing[codes] if missing.any() else codes < 0
    if bad.any():
        raise TrothError(f"{where}: the value of row {int(np.argmax(bad))} is missing; fill or drop such rows")
    return (codes, values) if settled else _ascending(codes, values)


def _flat(column: Any) -> np.ndarray:
    array = np.asarray(column)
    if array.ndim != 1 or isinstance(column, np.ma.MaskedArray):
        raise ValueError("give a plain array of one dimension, a value for each row")
    if array.dtype.kind == "O" and any(value is None for value in array):
        raise ValueError(f"the value of row {next(at for at, v in enumerate(array) if v is None)} is missing")
    return array


def _coded(column: Any, unique: Any) -> np.ndarray:
    """The place in ``unique`` of every value of a polars series, -1 where it is missing."""
    pl = require("polars")
    codes = pl.DataFrame({"value": unique, "code": np.arange(len(unique))})
    joined = pl.DataFrame({"value": column}).join(codes, on="value", how="left", maintain_order="left")
    return joined["code"].fill_null(-1).to_numpy()


def _dictionary(column: Any) -> tuple[np.ndarray, list[Any]]:
    """The codes and values of a pyarrow column; -1 where it is missing."""
    encoded = column.dictionary_encode()
    encoded = encoded.combine_chunks() if hasattr(encoded, "combine_chunks") else encoded
    indices = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return indices.astype(np.int64), encoded.dictionary.to_pylist()


def _ascending(codes: np.ndarray, values: list[Any]) -> tuple[np.ndarray, list[Any]]:
    """The same with the values in ascending order; by their text where they have none."""
    try:
        places = sorted(range(len(values)), key=values.__getitem__)
    except TypeError:
        places = sorted(range(len(values)), key=lambda at: str(values[at]))
    number = np.empty(len(values), np.int64)
    number[places] = np.arange(len(values))
    return number[codes], [values[at] for at in places]
