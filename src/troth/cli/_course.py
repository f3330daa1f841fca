"""The two programs of the course project on handshaking, with its arguments: ``gsn`` and ``match``.

``python -m troth.gsn IN OUT THREADS [cpu|cuda]`` writes the strongest neighbours, ``python -m troth.handshake IN OUT
THREADS [cpu|cuda]`` the matching, by the project's six kernels and its rule of ties: the smaller number. THREADS are
those of each kernel; without the last word a GPU is taken where there is one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from troth.arrays import is_available
from troth.cli import _refuse, main
from troth.validate import MAX_THREADS

DEVICES = ("cpu", "cuda")


def get_strongest(args: Sequence[str] | None = None) -> int:
    """The program ``gsn``; returns the exit code."""
    return _run("gsn", ["strongest"], [], args)


def get_matching(args: Sequence[str] | None = None) -> int:
    """The program ``match``; returns the exit code."""
    return _run("handshake", ["match", "--algorithm", "handshake"], ["-O", "packed=yes"], args)


def _run(program: str, command: list[str], on_cpu: list[str], args: Sequence[str] | None) -> int:
    given = list(sys.argv[1:] if args is None else args)
    wrong = len(given) not in (3, 4) or not (given[2].isascii() and given[2].isdecimal() and int(given[2]))
    if wrong or (len(given) == 4 and given[3] not in DEVICES):
        return _refuse(f"usage: python -m troth.{program} IN OUT THREADS [cpu|cuda], with THREADS of 1 or more")
    source, output, threads, device = given if len(given) == 4 else [*given, DEVICES[is_available()]]
    many = ["--gpu-threads", threads]
    if device == "cpu":  # more threads would give the same answer
        many = ["--threads", str(min(int(threads), MAX_THREADS)), *on_cpu]
    return main([*command, source, "--output", output, "--ties", "low", "--device", device, *many])
