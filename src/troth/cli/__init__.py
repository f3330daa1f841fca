"""The command line: one file a command, the same words as in Python.

Exit codes: 0 fine, 1 a check failed, 2 bad usage or bad input, 130 interrupted. What is wrong is said in one line on
stderr. Nothing here imports more than typer until a command runs, so that ``troth --help`` answers at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from io import TextIOWrapper
from types import FrameType
from typing import Any

from troth.errors import TrothError

INTERRUPTED, PIPE_CLOSED = 128 + 2, 128 + 13  # as shells report SIGINT and SIGPIPE


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line with these arguments, by default those of the process, and return the exit code."""
    _open_closed_streams()
    with _interrupts(), warnings.catch_warnings():
        warnings.showwarning = _note  # type: ignore[assignment]
        words = sys.argv[1:] if args is None else args
        try:
            ranks = _ranks(words)
            with _ending(ranks):
                code = _run(words, ranks)
        except TrothError as error:
            code = _refuse(error)
        except KeyboardInterrupt:
            code = _refuse("interrupted", INTERRUPTED)
        with _quiet(sys.stdout):
            sys.stdout.flush()
        return code


def _run(words: Sequence[str], ranks: Any) -> int:
    """The exit code of a command; an interrupt is raised, so that it ends all ranks."""
    import typer

    from troth.cli.app import app

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file's name may hold what the terminal cannot show
    usage_error: Any = typer.BadParameter.__base__  # click's, or typer's own where typer carries click inside
    try:
        code = typer.main.get_command(app)(args=words, prog_name="troth", standalone_mode=False) or 0
        sys.stdout.flush()
    except TrothError as error:
        return _refuse(_agreed(error, ranks))
    except usage_error as error:
        from troth.cli._usage import plain_words

        command = error.ctx.command_path if error.ctx else "troth"
        said = TrothError(f"{plain_words(error.format_message())} (see {command} --help)")
        return _refuse(_agreed(said, ranks))
    except MemoryError:
        return _refuse("not enough memory")
    except typer.Abort:  # or an interrupt, or the code 130, which depends on typer's version
        code = INTERRUPTED
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and not error.code:  # what a shell asked for to complete a word
            return 0
        _silence(sys.stdout)  # the reader, such as head, has seen enough; typer exits where it notices
        return PIPE_CLOSED
    except OSError as error:  # a full disk behind stdout
        _silence(sys.stdout)
        return _refuse(error.strerror or str(error))
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    return code


# ---- ranks ----


def _asks_for_ranks(words: Sequence[str]) -> bool:
    """Whether the words, which may be wrong, are those of a process of a cluster run."""
    from troth.engines import is_for_ranks

    named = [word.rpartition("=")[2] for word in words]
    return any(is_for_ranks(name, name) for name in named)


def _ranks(words: Sequence[str]) -> Any:
    """All processes of the cluster run that this is one of, or None.

    MPI is initialised before anything can fail: others would wait for ever for a rank that ends before.
    """
    from troth.ranks.job import AgreedError, launched_rank, world

    if launched_rank() is None or not _asks_for_ranks(words):
        return None
    try:
        return world()
    except TrothError as error:  # MPI is missing, for all of them
        raise AgreedError(str(error)) from None


def _ending(ranks: Any) -> Any:
    from troth.ranks.job import ending_the_job

    return nullcontext() if ranks is None else ending_the_job(ranks)


def _agreed(refusal: TrothError, ranks: Any) -> TrothError:
    """The refusal of all ranks: what a command refuses by itself is told to the others, which agree before they start.

    (``match_on_ranks`` and ``mpi.load`` begin with ``agreeing``; what is refused later ends the job there.)
    """
    from troth.ranks.job import AgreedError, agreeing

    if ranks is None or isinstance(refusal, AgreedError):
        return refusal
    try:
        with agreeing(ranks):
            raise refusal
    except TrothError as agreed:
        return agreed


# ---- what is said ----


def _note(message: Warning | str, *_: Any) -> None:
    """A warning in one line; in a cluster run that of the first rank is enough."""
    from troth.ranks.job import launched_rank

    if launched_rank() in (None, "0"):
        _say(message)


def _refuse(reason: TrothError | str, code: int = 2) -> int:
    """Say what is wrong, unless another process does: ranks that refuse together leave it to the first."""
    from troth.ranks.job import AgreedError, launched_rank

    if not isinstance(reason, AgreedError) or launched_rank() in (None, "0"):
        _say(reason)
    return code


def _say(what: object) -> None:
    with _quiet(sys.stderr):
        print("troth:", " ".join(str(what).splitlines()), file=sys.stderr, flush=True)


# ---- standard streams and signals ----


def _open_closed_streams() -> None:
    """Put streams that lead nowhere in the place of closed ones, so that no file gets their number.

    Python has None for a stream that the parent closed, as in ``troth match graph.mtx -o mates.txt >&-``.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is not None:
            continue
        nowhere = os.open(os.devnull, os.O_RDWR)
        try:
            os.fstat(number)
        except OSError:
            os.dup2(nowhere, number)
        setattr(sys, name, open(nowhere, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _silence(stream: Any) -> None:
    """Let a stream that cannot be written to lead nowhere, also for the flush at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def _quiet(stream: Any) -> Iterator[None]:
    """Write to a stream that may be broken."""
    try:
        yield
    except (OSError, ValueError):
        _silence(stream)


@contextmanager
def _interrupts() -> Iterator[None]:
    """Ctrl-C in the midst of an import ends the process at once, in one line; elsewhere it is an exception, as always.

    An import that is interrupted leaves half a module, and C code may print the exception or make another of it.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code.co_filename.startswith("<frozen importlib"):
                _say("interrupted")
                if (job := sys.modules.get("troth.ranks.job")) is not None:
                    job.unlink_files()
                signal.signal(number, signal.SIG_DFL)
                signal.raise_signal(number)  # which, unlike an exit code, tells mpiexec to end the other ranks
            frame = frame.f_back
        raise KeyboardInterrupt

    usual = threading.current_thread() is threading.main_thread()
    if not usual or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
