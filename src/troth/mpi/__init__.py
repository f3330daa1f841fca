"""The cluster: one matching by many processes, each with a part of the graph.

``load`` and ``from_graph`` give every rank its part, ``match`` matches, ``verify`` checks and certifies; all ranks call
each of them together. The mates equal those of every other deterministic engine, for any number of ranks and any
partition.

>>> import troth.mpi                                                            # doctest: +SKIP
>>> g = troth.mpi.load("rmat:scale=20", partition="block")                      # doctest: +SKIP
>>> m = troth.mpi.match(g)                                                      # doctest: +SKIP
>>> m.weight, m.cardinality, m.mate[:3]  # mate: of this rank's own vertices    # doctest: +SKIP
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from troth.errors import TrothError

_HOME = {
    "DistGraph": "graph",
    "DistMatching": "matching",
    "from_graph": "graph",
    "load": "sources",
    "match": "matching",
    "verify": "checks",
}

__all__ = ["ending_the_job", "world", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'troth.mpi' has no attribute {name!r}")
    return getattr(import_module(f"troth.mpi.{_HOME[name]}"), name)


def world() -> Any:
    """All processes of this job, or a refusal where mpi4py is missing."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # mpi4py finds no MPI library: RuntimeError
        raise TrothError(f'device="mpi" needs mpi4py and an MPI: pip install "troth[mpi]" ({error})') from None
    return MPI.COMM_WORLD


@contextmanager
def ending_the_job(comm: Any) -> Iterator[None]:
    """An exception on one rank would leave the others waiting for ever: say which rank it was, and end them all."""
    try:
        yield
    except BaseException as error:
        if comm.size == 1 or (isinstance(error, SystemExit) and not error.code):
            raise
        if isinstance(error, TrothError):
            print(f"troth: rank {comm.rank}: {error}", file=sys.stderr, flush=True)
        else:
            print(f"troth: rank {comm.rank} failed: {type(error).__name__}: {error}", file=sys.stderr)
            traceback.print_exc()
            sys.stderr.flush()
        comm.Abort(2 if isinstance(error, TrothError) else 3)
        raise
