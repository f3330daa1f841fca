"""Checks of what users say: one small set of validators, and one form of refusal.

A validator takes a value and returns it in the type that troth works with, or raises ``ValueError`` with what to give
instead. ``check`` turns that into the one line that users see. Values of the command line are text; validators that
take those too say so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from numbers import Integral, Real
from operator import index
from typing import Any, TypeVar

from troth.errors import TrothError
from troth.words import did_you_mean

T = TypeVar("T")
Validator = Callable[[Any], T]

TIES = ("hash", "low", "high", "degree")
MAX_THREADS = 1024
MOST = 2**31 - 1  # of counts that kernels take as 32-bit numbers


def check(name: str, value: Any, validator: Validator[T]) -> T:
    """The value as the validator returns it, or a refusal that says what to give.

    >>> check("stop", 3, whole(1))
    3
    >>> check("stop", 0, whole(1))
    Traceback (most recent call last):
    troth.errors.TrothError: stop=0: give a whole number of 1 or more
    """
    try:
        return validator(value)
    except ValueError as error:
        raise TrothError(f"{name}={value!r}: give {error}") from None


def check_word(name: str, value: Any, words: tuple[Any, ...], what: str = "known") -> Any:
    """One of some words, or a refusal that lists them; None may be among them."""
    if not any(value is word or (isinstance(value, type(word)) and value == word) for word in words):
        hint = did_you_mean(value, [word for word in words if isinstance(word, str)])
        raise TrothError(f"{name}={value!r} is not {what}{hint}: choose {', '.join(map(str, words))}")
    return value


# ---- validators ----


def whole(least: int, most: int | None = None, *, step: int = 1, text: bool = False) -> Validator[int]:
    """A whole number in a range, a multiple of ``step``; with ``text`` also in digits."""
    limits = f"of {least} or more" if most is None else f"from {least} to {most}"
    wanted = f"a whole number {limits}" + (f", a multiple of {step}" if step > 1 else "")

    def read(value: Any) -> int:
        number = _as_whole(value, text)
        if number is None or number < least or (most is not None and number > most) or number % step:
            raise ValueError(wanted)
        return number

    return read


def _as_whole(value: Any, text: bool) -> int | None:
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    return int(value) if text and isinstance(value, str) and value.isdecimal() else None


def number(least: float, most: float | None = None, *, text: bool = False) -> Validator[float]:
    """A real number that is not below ``least``, nor above ``most``; ``text``: also as one writes it."""
    wanted = f"a number of {least:g} or more" if most is None else f"a number from {least:g} to {most:g}"

    def read(value: Any) -> float:
        found = _as_number(value, text)
        if found is None or not found >= least or (most is not None and found > most):
            raise ValueError(wanted)
        return found

    return read


def _as_number(value: Any, text: bool) -> float | None:
    if isinstance(value, Real) and not isinstance(value, bool):
        return float(value)
    try:
        return float(value) if text and isinstance(value, str) else None
    except ValueError:
        return None


def or_none(validator: Validator[T], wanted: str | None = None) -> Validator[T | None]:
    """What the validator takes, or None, also as text; ``wanted`` says it in one phrase."""
    return or_word("none", validator, None, wanted)


def or_word(word: str, validator: Validator[T], meaning: Any, wanted: str | None = None) -> Validator[Any]:
    """What the validator takes, or a word, which stands for ``meaning``."""

    def read(value: Any) -> Any:
        if value is meaning or (isinstance(value, str) and value.lower() == word):
            return meaning
        try:
            return validator(value)
        except ValueError as error:
            raise ValueError(wanted or str(error)) from None

    return read


def one_of(*words: str) -> Validator[str]:
    """One of some words."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(" or ".join(words))
        return value

    return read


def switch(value: Any) -> bool:
    """True or False, also as text."""
    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    try:
        return words[str(value).lower()]
    except KeyError:
        raise ValueError("true or false") from None


def amount(value: Any) -> int:
    """A number of bytes, 1 or more: a whole number, or text with a unit, such as "8GB" (10^9) or "512MiB" (2^20).

    >>> amount("8GB"), amount("0.5 KiB"), amount(100)
    (8000000000, 512, 100)
    """
    found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)(i?)(b?)", str(value).strip().lower())
    size = 0
    if found is not None and not isinstance(value, bool) and (found[2] or not found[3]):
        size = int(Fraction(found[1]) * (1024 if found[3] else 1000) ** " kmgt".index(found[2] or " "))
    if size < 1:
        raise ValueError("a number of bytes, such as 8GB, 500MB or 512MiB")
    return size


def probability(value: Any) -> float:
    """A number strictly between 0 and 1, also as text."""
    try:
        p = float(value)
    except (TypeError, ValueError, OverflowError):
        p = 0.0
    if not 0.0 < p < 1.0:
        raise ValueError("a number between 0 and 1, both excluded")
    if p < 2.0**-64:  # of the colours, which are random words of 64 bits, none would be blue
        raise ValueError("1e-19 or more")
    return p


# ---- what every request has ----


def check_ties(ties: Any) -> str:
    """A tie rule."""
    return check_word("ties", ties, TIES, "a tie rule")


def check_threads(threads: Any) -> int | None:
    """A number of CPU threads, or None."""
    if threads is None:
        return None
    try:
        return whole(1, MAX_THREADS)(threads)
    except ValueError as error:
        raise TrothError(f"threads={threads!r}: give {error}, or None for all cores") from None


def check_seed(seed: Any) -> int:
    """A seed of any integer type as a Python int."""
    try:
        return index(seed)
    except TypeError:
        raise TrothError(f"seed={seed!r} is not a whole number: give one, such as 0") from None
