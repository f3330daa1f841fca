"""A compiled engine run by the Python interpreter, so that its steps can be watched.

Numba compiles the Python bodies of kernels and keeps them (``py_func``). ``interpret`` puts an engine together from
these bodies: the same statements on the same arrays, executed one after another by Python. The atomic instructions of
``kernels/atomics.py`` have no body; with one worker each is a plain access to an array. A function that is written for
each type of a weight has several; the one for the value at hand is taken. No algorithm is written a second time: a
change of the engine changes what is seen here. Vector instructions (``kernels/bits.py``) are plain loops.

The interpreted engine returns what the compiled one does, mate by mate (``tests/viz/test_interpret.py``); it is some
hundred times slower.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from inspect import signature
from itertools import pairwise
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

import numpy as np
from numba import typeof

from troth import rows, units
from troth.cpu import prices
from troth.kernels import atomics, bits, team
from troth.order import MASK

PARTS = "troth.cpu."  # modules of engines and of their steps


def _exchange(array, index, expected, value):
    before = array[index]
    if before == expected:
        array[index] = value
    return before


def _add(array, index, value):
    before = array[index].copy()
    array[index] += value
    return before


def _greatest(array, index, value):
    before = array[index].copy()
    array[index] = max(before, value)
    return before


def _two_largest(keys, start, stop):
    return tuple(np.sort(keys[start:stop])[:-3:-1])


def _two_largest_side_by_side(keys, indptr, row, start, limit, firsts, seconds, at):
    begins = [int(e) - int(start) for e in indptr[int(row) : int(row) + bits.WIDE + 1]]
    spans = list(pairwise(begins))
    if max(end - begin for begin, end in spans) > limit:
        return False
    for i, (begin, end) in enumerate(spans, int(at)):
        seconds[i], firsts[i] = np.sort(np.append(keys[begin:end], np.zeros(2, np.uint64)))[-2:]
    return True


def _copy_lanes(target, at, source, start):
    target[int(at) :][: bits.WIDE] = source[int(start) :][: bits.WIDE]


def _largest_bid(keys, held, start, stop, low):
    some = keys[start:stop]
    return max(some[(some & ~MASK | low) > held[start:stop]], default=np.uint64(0))


def _by_type(choose):
    """A function that Numba compiles for the type of its first argument: ``choose`` has its bodies."""
    return lambda x, *rest: choose(typeof(x), *rest)(x, *rest)


def _run_alone(kernel, total, threads, *args, chunk=None, **options):
    size = total if total < team.SERIAL_BELOW else team.chunk_size(total, threads)
    return [kernel(0, team.new_cursor(), chunk or max(1, size), *args)]


class _Alone(prices.Workers):
    """One worker, who is the interpreter."""

    def run(self, kernel, total, *args):
        return _run_alone(kernel, total, 1, *args)


# What replaces atomic and vector instructions, bodies by type and the team of threads when there is one worker.
ALONE: dict[Any, Callable] = {
    atomics.load: lambda array, index: array[index],
    atomics.store: lambda array, index, value: array.__setitem__(index, value),
    atomics.compare_and_swap: _exchange,
    atomics.fetch_add: _add,
    atomics.fetch_max: _greatest,
    atomics.prefetch: lambda array, index: None,
    bits.two_largest: _two_largest,
    bits.two_largest_side_by_side: _two_largest_side_by_side,
    bits.copy_lanes: _copy_lanes,
    bits.largest_bid: _largest_bid,
    prices.value_of: _by_type(prices._value_of),
    prices.price_of: _by_type(prices._price_of),
    units.units_up: _by_type(units._units_up),
    team.run_team: _run_alone,
    prices.Workers: _Alone,
}


def interpret(engine: Callable, watcher: Any) -> Callable:
    """The engine in plain Python.

    Parameters
    ----------
    engine
        the ``run`` of a module of ``troth.cpu``
    watcher
        its method ``on_NAME``, where there is one, is called with the arguments (by name, as attributes) whenever the
        engine enters its function NAME; if that method is a generator, it is resumed with the function's result

    Examples
    --------
    >>> from troth.cpu.handshake import run
    >>> from troth import as_graph
    >>> from troth.contract import Context
    >>> from troth.order import make_order
    >>> class Watcher:
    ...     def on_check_handshaking(self, at):
    ...         print("round", at.r, "hands", at.work.strongest)
    >>> found = interpret(run, Watcher())(as_graph(([0, 1], [1, 2], [2, 3])), make_order(), Context(threads=1))
    round 0 hands [1 2 1]
    >>> found.mates
    array([-1,  2,  1], dtype=int32)
    """
    modules = (rows.__name__, team.__name__)
    copies: dict[Callable, Callable] = {}

    def copy(value: Any) -> Any:
        try:
            if value in ALONE:
                return ALONE[value]
        except TypeError:  # not hashable, so no function
            return value
        body = getattr(value, "py_func", value)
        if not isinstance(body, FunctionType) or (
            body is value and body.__module__ not in modules and not body.__module__.startswith(PARTS)
        ):
            return value
        if body not in copies:
            space = dict(body.__globals__)
            plain = FunctionType(body.__code__, space, body.__name__, body.__defaults__, body.__closure__)
            plain.__kwdefaults__ = body.__kwdefaults__
            observer = getattr(watcher, f"on_{body.__name__}", None)
            copies[body] = watched(plain, observer) if observer else plain  # before its names: functions may be cyclic
            space.update((name, copy(space[name])) for name in _names(body.__code__) & space.keys())
        return copies[body]

    plain = copy(engine)

    @wraps(engine)
    def run(*args, **options):
        with np.errstate(over="ignore"):  # unsigned integers wrap, as in compiled code
            return plain(*args, **options)

    return run


def _names(code: CodeType) -> set[str]:
    """The global names that a function and those inside it use."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def watched(function: Callable, observer: Callable) -> Callable:
    """The function, with its arguments shown to ``observer`` before and, if that is a generator, its result after."""
    parameters = signature(getattr(function, "py_func", function))

    def call(*args, **options):
        seen = observer(SimpleNamespace(**parameters.bind(*args, **options).arguments))
        if seen is None:
            return function(*args, **options)
        next(seen)
        result = function(*args, **options)
        with suppress(StopIteration):
            seen.send(result)
        return result

    return call
