"""The ``shiftbench`` command: its commands and groups, and error handling.

Commands are imported only when they are run or listed, and libraries other than typer inside them, so that ``--help``
is fast.
"""

import os
import sys
from typing import Annotated, ClassVar

import typer

import shiftbench
from shiftbench.cli.help import PLAIN, Group

TOP = {
    "Your own model and data": ("check", "gate", "label", "forecast"),
    "Predictions": ("score", "compare", "submit"),
    "Models": ("train", "predict", "grid", "plan"),
    "Data and pages": ("build", "serve", "demo"),
    "Groups of commands": ("data", "board", "logs", "study"),
}
"""Commands by section of ``--help``; each has a module of the same name in this folder."""


class _Top(Group):
    """The top-level group of commands."""

    sections: ClassVar = {title: {name: f"shiftbench.cli.{name}" for name in names} for title, names in TOP.items()}


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shiftbench {shiftbench.__version__}")
        raise typer.Exit


app = typer.Typer(no_args_is_help=True, cls=_Top, context_settings={"help_option_names": ["--help", "-h"]}, **PLAIN)


@app.callback()
def show_version(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Print the version and exit.", callback=_print_version)
    ] = False,
) -> None:
    """Measure how NLP models lose accuracy when the text changes domain.

    Example: shiftbench check ./my-model --data mine.csv --columns domain=site,text=review,label=stars
    """


def main() -> None:
    """Run the command ``shiftbench`` (see ``run_app``)."""
    run_app(app)


def run_app(program: typer.Typer) -> None:
    """Run a command-line program, and exit. Errors are printed as one line each, without a traceback.

    Exit codes: 0 done; 1 refused input; 2 wrong usage; 3 a failed gate or claim; 130 Ctrl-C.
    """
    from shiftbench.validation.notices import notes_on_stderr
    from shiftbench.validation.plain_streams import plain_streams

    # The streaming engine of polars starts threads for each of the many small queries that check rows.
    os.environ.setdefault("POLARS_ENGINE_AFFINITY", "in-memory")
    with plain_streams(), notes_on_stderr():
        _run(program)


def _run(program: typer.Typer) -> None:
    import sqlite3

    from shiftbench.validation.report import InvalidInput, UnknownChoice

    try:
        program(standalone_mode=True)
    except SystemExit as end:
        if end.code == 130:
            typer.echo("stopped; every file is complete or unchanged", err=True)
        raise
    except InvalidInput as refused:
        for problem in refused.problems:
            typer.echo(f"error: {problem}", err=True)
        sys.exit(2 if isinstance(refused, UnknownChoice) else 1)
    except OSError as failed:
        named = f"{failed.filename}: " if failed.filename else ""
        typer.echo(f"error: {named}{failed.strerror or failed}", err=True)
        sys.exit(1)
    except sqlite3.DatabaseError as failed:  # caches of responses and embeddings are SQLite files
        from shiftbench.builders.cache import cache_folder

        typer.echo(f"error: {cache_folder()}: {failed}; free it, or set SHIFTBENCH_CACHE to another folder", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
