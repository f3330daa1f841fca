"""Names of vertices, and other text, in arrays.

NumPy's arrays of text have one width, and drop the NULs at an end. So text is an array of ``str`` objects where one
long name would set the width for all, or a name ends in NUL, and otherwise one of NumPy's.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import numpy as np

WASTE = 4  # an array of one width may be so many times as large as the text itself
ROOM = 2**20  # ... or of so many characters


def is_wasteful(names: int, longest: int, total: int) -> bool:
    """Whether one width for all, the longest, is too much for so many names of so many characters together."""
    return names * longest > max(WASTE * total, ROOM)


def text_array(names: Sequence[str]) -> np.ndarray:
    """Text as an array; of objects where NumPy's own would be too large, or would lose a NUL.

    >>> text_array(["ann", "bob"]), text_array(["ann", "ann\\0"])
    (array(['ann', 'bob'], dtype='<U3'), array(['ann', 'ann\\x00'], dtype=object))
    """
    lengths = np.fromiter(map(len, names), np.int64, len(names))
    if not is_wasteful(len(names), int(lengths.max(initial=0)), int(lengths.sum())):
        array = np.array(names, dtype=str)
        if (np.char.str_len(array) == lengths).all():
            return array
    return object_array(names)


def object_array(values: Sequence) -> np.ndarray:
    """A flat array of these very objects, sequences too."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def number_names(*columns: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """The distinct names in some columns of text, ascending, and for each column the places of its names among them.

    >>> number_names(np.array(["b", "a"]), np.array(["a", "c"]))
    (array(['a', 'b', 'c'], dtype='<U1'), [array([1, 0]), array([0, 2])])
    """
    if any(column.dtype.kind == "O" for column in columns):
        cells = [column.tolist() for column in columns]
        names = sorted(set().union(*cells))
        place = dict(zip(names, count()))
        places = [np.fromiter(map(place.__getitem__, column), np.int64, len(column)) for column in cells]
        return object_array(names), places
    found, numbers = np.unique(np.concatenate(columns), return_inverse=True)
    return found, np.split(numbers, np.cumsum([len(column) for column in columns])[:-1])
