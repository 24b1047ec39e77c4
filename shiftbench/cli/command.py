"""The ``shiftbench`` command: the sub-commands of all rooms under one roof, and what every error looks like.

Everything heavier than typer is imported inside the commands, so that ``--help`` answers at once.
"""

import importlib
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import shiftbench
from shiftbench.baselines.attack import commands as attack
from shiftbench.baselines.grid.commands import grid
from shiftbench.builders.building.commands import build
from shiftbench.cli.archive_command import archive
from shiftbench.cli.card_command import card
from shiftbench.cli.check_command import check
from shiftbench.cli.compare_command import compare
from shiftbench.cli.compare_logs_command import compare_logs
from shiftbench.cli.demo_command import demo
from shiftbench.cli.export_command import export
from shiftbench.cli.forecast_command import forecast, score_forecasts
from shiftbench.cli.gate_command import gate
from shiftbench.cli.import_command import import_logs
from shiftbench.cli.label_command import label
from shiftbench.cli.plan import plan
from shiftbench.cli.predict_command import predict
from shiftbench.cli.publish_command import publish
from shiftbench.cli.rounds import nominate, release_round
from shiftbench.cli.score_command import score
from shiftbench.cli.score_groups import analyse, protocol, validate
from shiftbench.cli.server import publish_space, rescore, serve, submit, withdraw
from shiftbench.cli.share_command import share
from shiftbench.cli.verify_command import verify

PROGRAMS = (
    "majority", "tfidf-lr", "sbert-lr", "finetune-classifier", "finetune-tagger", "finetune-qa", "finetune-seq2seq",
    "mscl", "setfit", "daicl", "prompt-llm", "rag",
)  # fmt: skip
"""Baseline programs, each a module of ``baselines`` with the same name."""

_PLAIN: dict[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}


class _Programs(TyperGroup):
    """The baseline programs as sub-commands of ``train``; a program is imported only when it is run."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(PROGRAMS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in PROGRAMS:
            return None
        program = importlib.import_module(f"shiftbench.baselines.{cmd_name.replace('-', '_')}")
        command = typer.Typer(**_PLAIN)
        command.command(cmd_name)(program.main)
        return typer.main.get_command(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shiftbench {shiftbench.__version__}")
        raise typer.Exit


app = typer.Typer(no_args_is_help=True, **_PLAIN)
app.add_typer(
    typer.Typer(
        cls=_Programs,
        help="Train a baseline on every source domain and predict every target.\n\n"
        "Example: shiftbench train sbert-lr nli --data build/dr --out preds.parquet",
        no_args_is_help=True,
    ),
    name="train",
)


@app.callback()
def show_version(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Show the version and stop.", callback=_print_version)
    ] = False,
) -> None:
    """Measure how NLP models lose accuracy when the text changes domain."""


attacks = typer.Typer(
    help="Make adversarial test texts, and collect those that people accepted.\n\n"
    "Example: shiftbench attack make td --data build/boss --domain civil_comments --out review.csv",
    no_args_is_help=True,
    **_PLAIN,
)
for program in (attack.make, attack.collect):
    attacks.command()(program)
app.add_typer(attacks, name="attack")


for command in (
    check, build, publish, plan, export, predict, validate, card, score, compare, compare_logs, verify, gate, label,
    forecast, score_forecasts, share, submit, withdraw, nominate, serve, rescore, archive, release_round, publish_space,
    protocol, grid, analyse, demo,
):  # fmt: skip
    app.command()(command)
app.command("import")(import_logs)


def _refuse_benchmark(context: typer.Context) -> None:
    """Benchmarks need a clone: they measure this project, and nobody else's models."""
    name = "" if context.info_name == "bench" else f"{context.info_name} "
    words = " ".join(context.args) or ("" if name else "scores")
    moved = f"'shiftbench {context.info_name}' went; in a clone of the project: python -m benchmarks {name}{words}"
    typer.echo(f"error: {moved.rstrip()}", err=True)
    raise typer.Exit(2)


for name in ("bench", "coverage"):
    app.command(
        name,
        hidden=True,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        add_help_option=False,
    )(_refuse_benchmark)


def main() -> None:
    """Run the command ``shiftbench`` (see ``run_app``)."""
    run_app(app)


def run_app(program: typer.Typer) -> None:
    """Run a program of commands, with errors in words.

    Exit codes: 0 done; 1 refused input; 2 wrong usage; 3 a failed gate or claim; 130 Ctrl-C.
    """
    from shiftbench.validation.notices import heard_notes
    from shiftbench.validation.plain_streams import plain_streams

    with plain_streams(), heard_notes():
        _run(program)


def _run(program: typer.Typer) -> None:
    import sqlite3

    from shiftbench.validation.report import InvalidInput, UnknownChoice

    try:
        program(standalone_mode=True)
    except SystemExit as end:
        if end.code == 130:
            typer.echo(
                "stopped; no unfinished file was written; the same command continues from the saved work",
                err=True,
            )
        raise
    except InvalidInput as refused:
        for problem in refused.problems:
            typer.echo(f"error: {problem}", err=True)
        sys.exit(2 if isinstance(refused, UnknownChoice) else 1)
    except OSError as failed:
        named = f"{failed.filename}: " if failed.filename else ""
        typer.echo(f"error: {named}{failed.strerror or failed}", err=True)
        sys.exit(1)
    except sqlite3.DatabaseError as failed:
        from shiftbench.builders.cache import cache_folder

        typer.echo(f"error: {cache_folder()}: {failed}; free it, or set SHIFTBENCH_CACHE to another folder", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
