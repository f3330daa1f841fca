"""The command line: one file a command, the same words as in Python.

Exit codes: 0 fine, 1 a check failed, 2 bad usage or bad input, 130 interrupted. What is wrong is said in one line on
stderr. Nothing here imports more than typer until a command runs, so that ``troth --help`` answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from io import TextIOWrapper
from typing import Any

from troth.errors import TrothError

INTERRUPTED, PIPE_CLOSED = 128 + 2, 128 + 13  # as shells report SIGINT and SIGPIPE


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line with these arguments, by default those of the process, and return the exit code."""
    import typer

    from troth.cli.app import app

    refuse = partial(_refuse, sys.argv[1:] if args is None else args)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file's name may hold what the terminal cannot show
    usage_error: Any = typer.BadParameter.__base__  # click's, or typer's own where typer carries click inside
    try:
        code = typer.main.get_command(app)(args=args, prog_name="troth", standalone_mode=False) or 0
        sys.stdout.flush()
    except TrothError as error:
        return refuse(error)
    except usage_error as error:
        from troth.cli._usage import plain_words

        command = error.ctx.command_path if error.ctx else "troth"
        return refuse(f"{plain_words(error.format_message())} (see {command} --help)")
    except MemoryError:
        return refuse("not enough memory")
    except (KeyboardInterrupt, typer.Abort):  # which of the two, or the code 130, depends on typer's version
        code = INTERRUPTED
    except (BrokenPipeError, SystemExit):  # the reader, such as head, has seen enough; typer exits where it notices
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return PIPE_CLOSED
    except OSError as error:  # a full disk behind stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return refuse(error.strerror or str(error))
    if code == INTERRUPTED:
        return refuse("interrupted", INTERRUPTED)
    return code


def _leaves_speaking(words: Sequence[str], reason: TrothError | str) -> bool:
    """Whether another process says what is wrong: the ranks of a cluster run refuse together, and rank 0 speaks."""
    from troth.ranks.job import AgreedError, launched_rank

    together = isinstance(reason, AgreedError) or any(word in ("mpi", "--device=mpi") for word in words)
    return together and launched_rank() not in (None, "0")


def _refuse(words: Sequence[str], reason: TrothError | str, code: int = 2) -> int:
    if not _leaves_speaking(words, reason):
        print("troth:", " ".join(str(reason).splitlines()), file=sys.stderr)
    return code
