"""The processes of an MPI job: who they are, and how they fail together.

Two ways out: a refusal that every rank comes to, or can be told of, is agreed upon and raised by all (``agreeing``);
anything else that happens to one rank ends the job (``ending_the_job``).
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from troth.errors import TrothError

ACCIDENT, INTERRUPTED = 3, 128 + 2  # exit codes beside 2, the refusal's
# Where mpiexec (Hydra, PMIx, Open MPI) and srun say which of the processes that they started this one is.
RANK = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
# And how many they started. SLURM_NTASKS is not among them: it is that of an allocation, in which a shell runs alone.
SIZE = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS")
MPICH_FILE = re.compile(r"/dev/shm/mpich_shm_\w+$", re.MULTILINE)
PATIENCE = 5.0  # seconds for a launcher to read what a rank has said


def world() -> Any:
    """All processes of this job, or a refusal where mpi4py is missing.

    Returns
    -------
    mpi4py.MPI.Comm
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # mpi4py finds no MPI library: RuntimeError
        raise TrothError(f'device="mpi" needs mpi4py and an MPI: pip install "troth[mpi]" ({error})') from None
    return MPI.COMM_WORLD


def launcher() -> str | None:
    """The program that starts MPI jobs: the ``mpiexec`` beside this Python, or else that on the PATH.

    Returns
    -------
    str or None
        None where there is none.
    """
    return shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")


def launched_rank() -> str | None:
    """The number of this process among those that mpiexec or srun started.

    Returns
    -------
    str or None
        None where it was started alone.
    """
    return next((os.environ[name] for name in RANK if name in os.environ), None)


def launched_together() -> str | None:
    """The variable of the environment by which mpiexec or srun says that it started more processes than this one.

    Returns
    -------
    str or None
        As in "PMI_SIZE=2"; None where it was started alone.
    """
    said = next(((name, os.environ[name]) for name in SIZE if name in os.environ), None)
    if launched_rank() is None or said is None or not said[1].isdecimal() or int(said[1]) < 2:
        return None
    return "=".join(said)


class AgreedError(TrothError):
    """A refusal that all ranks raise at the same point, so that none is left waiting for another."""


@contextmanager
def agreeing(comm: Any) -> Iterator[None]:
    """A step in which ranks do not talk: where one refuses, all raise the reason of the first; all ranks together.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The ranks.
    """
    refusal = None
    try:
        yield
    except TrothError as error:
        refusal = error
    first = min(comm.allgather(comm.size if refusal is None else comm.rank))
    if comm.size == world().size:  # all have started MPI, and mapped its files
        _unlink_once()
    if first < comm.size:
        reason = comm.bcast(str(refusal), first)
        raise AgreedError(f"rank {first}: {reason}" if first else reason) from refusal


def unlink_files() -> None:
    """Take away the names of the files in memory that MPICH keeps until the end: a job that is killed would leave them.

    These are files that this process maps, so they are this job's. All of its ranks have them by now, or it ends.
    """
    with suppress(OSError):  # no Linux
        for path in set(MPICH_FILE.findall(Path("/proc/self/maps").read_text())):
            with suppress(OSError):  # another rank was first
                os.unlink(path)


@cache
def _unlink_once() -> None:
    unlink_files()


def agree_on(comm: Any, asked: dict[str, Any]) -> None:
    """Refuse what a rank asks for otherwise than rank 0, for they would wait for each other; all ranks together."""
    first = comm.bcast(asked)
    for name in first | asked:
        here, there = asked.get(name), first.get(name)
        if here != there:
            raise TrothError(f"{name}={here!r}, but {name}={there!r} on rank 0: ask for the same on every rank")


@contextmanager
def ending_the_job(comm: Any) -> Iterator[None]:
    """An exception on one rank would leave the others waiting for ever: say which rank it was, and end them all.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The ranks.
    """
    try:
        yield
    except BaseException as error:
        if comm.size == 1 or isinstance(error, AgreedError) or (isinstance(error, SystemExit) and not error.code):
            raise
        if isinstance(error, TrothError):
            code, reason = 2, f": {error}"
        elif isinstance(error, KeyboardInterrupt):
            code, reason = INTERRUPTED, ": interrupted"
        elif isinstance(error, MemoryError):
            code, reason = 2, f": not enough memory ({error})"
        else:
            code, reason = ACCIDENT, f" failed: {type(error).__name__}: {error}\n{traceback.format_exc()}"
        _say(f"troth: rank {comm.rank}{reason.rstrip()}\n")
        unlink_files()  # a rank that fails before the first ``agreeing`` would leave them
        comm.Abort(code)
        os._exit(code)  # Abort may return before the launcher has ended this process


def _say(text: str) -> None:
    """Write to stderr, and wait until the launcher has read it.

    Hydra forwards stderr by a pipe and Abort by a socket. A proxy that finds both serves the socket first, mpiexec then
    leaves at once, and the text is lost; what was read from the pipe before Abort is forwarded before it, too.
    """
    sys.stderr.write(text)
    sys.stderr.flush()
    with suppress(ImportError, OSError, ValueError):  # Windows has no fcntl; stderr may be no file
        from fcntl import ioctl
        from termios import FIONREAD

        pipe, end = sys.stderr.fileno(), monotonic() + PATIENCE
        while stat.S_ISFIFO(os.fstat(pipe).st_mode) and any(ioctl(pipe, FIONREAD, bytes(4))) and monotonic() < end:
            sleep(1e-3)
