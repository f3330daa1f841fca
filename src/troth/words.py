"""Words that the command line and the pictures share."""

from __future__ import annotations


def counted(number: int, one: str, more: str) -> str:
    """A number of things.

    >>> counted(1, "vertex", "vertices"), counted(1200, "edge", "edges")
    ('1 vertex', '1,200 edges')
    """
    return f"{number:,} {one if number == 1 else more}"
