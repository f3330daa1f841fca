"""``troth bench``: gone, and where to."""

from __future__ import annotations

import typer

from troth.errors import TrothError

ANY = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def bench(context: typer.Context) -> None:
    """Say where the experiments are."""
    raise TrothError("experiments and benchmarks run from a clone of the repository: python -m bench")
