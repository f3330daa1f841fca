"""The table of commands."""

from __future__ import annotations

from typing import Annotated

import typer

import troth
from troth.cli._options import takes_reading
from troth.cli.bench import ANY, bench
from troth.cli.coarsen import LocalHelp, coarsen
from troth.cli.convert import convert
from troth.cli.generate import FamilyHelp, generate
from troth.cli.info import info
from troth.cli.match import AlgorithmHelp, match
from troth.cli.show import show
from troth.cli.strongest import strongest
from troth.cli.verify import verify

app = typer.Typer(
    add_completion=True,
    rich_markup_mode=None,  # plain help: aligned examples, and half the time to the first line
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"troth {troth.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Heavy matchings in big weighted graphs: fast, deterministic, and with a proof of quality.

    A GRAPH is a file (.mtx .graph .metis .npz .csv .tsv .txt .edgelist .parquet, the text ones also .gz), a .csr
    folder, a family with its parameters, such as rmat:scale=18,edgefactor=16,seed=1, or - for standard input.

    \b
    Examples:
      troth match graph.mtx.gz --certify -o mates.txt
      troth verify graph.mtx.gz mates.txt
      troth match likes.csv -o pairs.csv
      troth info grid:rows=1000,cols=1000,weights=unit
      troth generate rmat scale=18 seed=1 -o rmat.mtx

    Exit codes: 0 fine, 1 a check failed, 2 bad usage or bad input.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command(cls=AlgorithmHelp)(takes_reading(match))
app.command()(takes_reading(strongest))
app.command()(takes_reading(verify))
app.command()(takes_reading(info))
app.command(cls=FamilyHelp)(generate)
app.command()(takes_reading(convert))
app.command(cls=LocalHelp)(takes_reading(coarsen))
app.command()(takes_reading(show))
app.command(hidden=True, context_settings=ANY)(bench)
