"""Names and parameters on their way out: one form of warning, which points at the user's own line.

What is deprecated works as before for one minor version at least, and the changelog names it when it is deprecated and
when it goes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from troth.errors import TrothError

P = ParamSpec("P")
R = TypeVar("R")


def warn_deprecated(what: str, instead: str, removed_in: str, *, stacklevel: int = 2) -> None:
    """Warn in one line that something will go.

    Parameters
    ----------
    what : str
        What was used, as users write it.
    instead : str
        What to use.
    removed_in : str
        The first version that will not have it.
    stacklevel : int, optional
        As in ``warnings.warn`` if that were called in place of this: 2 is who called the function that warns.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_deprecated("match(tie_rule=...)", "ties=", "0.4")
    >>> print(caught[0].message)
    match(tie_rule=...) is deprecated and will go in troth 0.4: use ties=
    """
    message = f"{what} is deprecated and will go in troth {removed_in}: use {instead}"
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel + 1)


def renamed(old: str, new: str, removed_in: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator for functions of which a keyword has a new name: the old one is taken too, with a warning.

    Parameters
    ----------
    old : str
        The name that the function does not have any more.
    new : str
        The name that it has.
    removed_in : str
        The first version that will not take the old one.

    Returns
    -------
    callable

    Examples
    --------
    >>> @renamed("tie_rule", "ties", "0.4")
    ... def match(graph, *, ties="hash"):
    ...     return ties
    >>> with warnings.catch_warnings(record=True):
    ...     warnings.simplefilter("always")
    ...     match("path:n=3", tie_rule="low")
    'low'
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if old in kwargs:
                name = function.__name__
                if new in kwargs:
                    raise TrothError(f"{name}: {old} is the old name of {new}: give {new} alone")
                warn_deprecated(f"{name}({old}=...)", f"{new}=", removed_in)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate
