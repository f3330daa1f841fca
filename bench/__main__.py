"""``python -m bench``: run the experiments of the papers and our own questions, and report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from troth.cli import _options as o
from troth.cli._report import waiting
from troth.errors import TrothError

if TYPE_CHECKING:
    from bench.setting import Setting
    from bench.store import Store

INTERRUPTED = 128 + 2  # as shells report SIGINT
Size = StrEnum("Size", ["tiny", "small", "full"])
app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 2 for bad usage or bad input, in one line on stderr."""
    usage_error = typer.BadParameter.__base__  # click's, or typer's own where typer carries click inside
    try:
        code = typer.main.get_command(app)(args=args, prog_name="python -m bench", standalone_mode=False) or 0
    except TrothError as error:
        return _refuse(str(error))
    except usage_error as error:
        return _refuse(f"{error.format_message()} (see python -m bench --help)")
    except MemoryError:
        return _refuse("not enough memory")
    except (KeyboardInterrupt, typer.Abort):  # which of the two, or the code 130, depends on typer's version
        code = INTERRUPTED
    return _refuse("interrupted", code) if code == INTERRUPTED else code


def _refuse(reason: str, code: int = 2) -> int:
    print("bench:", " ".join(reason.splitlines()), file=sys.stderr)
    return code


def _words(given: list[str] | None) -> list[str]:
    return [word for each in given or () for word in each.split(",") if word]


@app.command()
def bench(
    ctx: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Experiments; by default all.")] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Where results, figures and the report go.")
    ] = "",
    size: Annotated[
        Size, typer.Option("--size", help="tiny takes seconds, small minutes, full what memory holds.")
    ] = Size.small,
    graphs: Annotated[
        list[str] | None,
        typer.Option("--graphs", metavar="NAME,...", help="Graphs or families; * stands for anything."),
    ] = None,
    engines: Annotated[
        list[str] | None,
        typer.Option(
            "--engines", metavar="NAME,...", help="Engines, such as suitor@cpu, or an algorithm, or a device."
        ),
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", metavar="N", min=1, help="Runs of each measurement.")] = 10,
    seed: o.SeedOption = 0,
    threads: Annotated[
        int | None,
        typer.Option("--threads", metavar="N", min=1, help="CPU threads of most measurements. [default: all cores]"),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", metavar="N", min=0, help="Stop after so long; the same command goes on."),
    ] = None,
    folders: Annotated[
        list[Path] | None,
        typer.Option("--folder", metavar="FOLDER", help="Also its MatrixMarket and METIS files and lists of edges."),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option("--cache", metavar="FOLDER", help="Where generated graphs are kept.")
    ] = None,
    merge: Annotated[
        list[Path] | None, typer.Option("--merge", metavar="FOLDER", help="Take in results of another folder or file.")
    ] = None,
    packed: Annotated[
        Path | None, typer.Option("--pack", metavar="FILE", help="Also write all results as one .jsonl.gz file.")
    ] = None,
    report_only: Annotated[bool, typer.Option("--report-only", help="Measure nothing; draw what is stored.")] = False,
    tables: Annotated[bool, typer.Option("--tables", help="Also print the tables of the report.")] = False,
    list_names: Annotated[bool, typer.Option("--list", help="Print the names of the experiments.")] = False,
    catalogue: Annotated[bool, typer.Option("--catalogue", help="Print the table of graphs.")] = False,
) -> None:
    """Run the experiments of the papers and our own questions, and report.

    Leaves raw results (JSON lines), figures (PNG, SVG) and index.html in the folder. What is there already is not
    measured again, so an interrupted run goes on where it stopped.

    \b
    Examples:
      python -m bench --list
      python -m bench sizes ties --size tiny -o results
      python -m bench --size full --minutes 8 -o results
      python -m bench --report-only --merge other -o results
    """
    from bench import experiments

    if list_names:
        typer.echo("\n".join(experiments.names()))
        return
    if catalogue:
        _print_catalogue(folders or [])
        return
    chosen = list(names or experiments.names())
    for name in chosen:
        experiments.load(name)
    if not output:
        raise TrothError("python -m bench needs --output FOLDER, where results, figures and the report go")
    if report_only:
        _refuse_choices(ctx)
    for needed in (Path(output), Path(output) / "figures"):
        if needed.exists() and not needed.is_dir():
            raise TrothError(f"{needed}: not a folder, and --output needs one there")
    from bench import figures
    from bench.setting import Setting
    from bench.store import Store, pack

    figures.pyplot()  # refuse before any work where figures cannot be drawn
    with Store(Path(output)) as store:
        for other in merge or ():
            typer.echo(f"{other}: {store.merge(other)} tasks taken in")
        if store.passed_over:
            typer.echo(f"bench: passed over {store.passed_over} lines that are no results of bench, or torn", err=True)
        setting = Setting(
            size=size.value, graphs=_words(graphs), engines=_words(engines), repeats=repeats, seed=seed,
            threads=threads, folders=folders or [], cache=cache,
        )  # fmt: skip
        fine = report_only or _measure(chosen, setting, store, minutes)
        fine &= _draw(store, must=report_only, printed=chosen if tables else [])
        if packed:
            pack([*store.runs.values(), *store.tasks.values()], packed)
    raise typer.Exit(code=0 if fine else 1)


def _refuse_choices(ctx: typer.Context) -> None:
    """What is drawn again is all that is stored: a choice of what to measure would be passed over."""
    given = [name for name in ctx.params if ctx.get_parameter_source(name).name == "COMMANDLINE"]
    for name in given:
        if name not in ("report_only", "output", "merge", "packed", "tables"):
            word = "names of experiments" if name == "names" else f"--{name}"
            raise TrothError(f"--report-only draws all that is stored: leave out {word}")


def _measure(names: list[str], setting: Setting, store: Store, minutes: float | None) -> bool:
    """Run what is not stored yet, and say what was done; False where something failed."""
    from bench import runner
    from bench.engines import grouped

    try:
        outcome = runner.run(names, setting, store, minutes)
    except KeyboardInterrupt:
        typer.echo(f"what was measured is kept in {store.folder}; the same command goes on from there", err=True)
        raise
    for line in grouped(setting.left_out):
        typer.echo(f"left out: {line}")
    for line in grouped(outcome.reasons):
        typer.echo(f"could not be measured: {line}")
    typer.echo(
        f"{outcome.measured} measured, {outcome.stored} were there, "
        + (f"{outcome.refused} could not be measured, " if outcome.refused else "")
        + f"{outcome.failed} failed, {outcome.left} left"
        + ("; the same command goes on" if outcome.left else "")
    )
    return not outcome.failed


def _draw(store: Store, must: bool, printed: list[str]) -> bool:
    """Write the report, where there is something to report, and print the tables of some experiments; False where a
    part of it could not be drawn."""
    from bench import report

    if not store.tasks and not must:
        return True
    with waiting("drawing"):
        pages = report.write(store, store.folder)
    for page in pages:
        for problem in page.crowded + ([f"{page.experiment}: {page.fault}"] if page.fault else []):
            typer.echo(f"bench: could not be drawn well: {problem}", err=True)
    for page in pages:
        if page.experiment in printed:
            typer.echo(page.text())
    typer.echo(f"report: {store.folder / 'index.html'}")
    return not any(page.fault for page in pages)


def _print_catalogue(folders: list[Path]) -> None:
    from bench import catalogue

    found = catalogue.instances() + [each for folder in folders for each in catalogue.of_folder(folder)]
    rows = [("name", "family", "vertices", "edges", "spec")]
    for each in found:
        guess = "~" if each.family == "file" else ""  # by the file's length; reading it may take minutes
        rows.append((each.name, each.family, f"{guess}{each.vertices:,}", f"{guess}{each.edges:,}", each.spec))
    widths = [max(len(row[at]) for row in rows) for at in range(4)]
    for row in rows:
        cells = [row[0].ljust(widths[0]), row[1].ljust(widths[1]), row[2].rjust(widths[2]), row[3].rjust(widths[3])]
        typer.echo("  ".join([*cells, row[4]]))


if __name__ == "__main__":
    sys.exit(main())
