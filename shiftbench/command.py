"""The ``shiftbench`` command: the sub-commands of all rooms under one roof, and what every error looks like.

Everything heavier than typer is imported inside the commands, so that ``--help`` answers at once.
"""

import importlib
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import shiftbench
from baselines.attack import commands as attack
from baselines.grid.commands import grid
from builders.building.commands import build, publish
from leaderboard.commands.plan import plan
from leaderboard.commands.rounds import nominate, release_round
from leaderboard.commands.scores import analyse, coverage, protocol, validate
from leaderboard.commands.server import publish_space, rescore, serve, submit, withdraw
from shiftbench.bench_command import bench
from shiftbench.card_command import card
from shiftbench.check_command import check
from shiftbench.compare_command import compare
from shiftbench.demo_command import demo
from shiftbench.gate_command import gate
from shiftbench.label_command import label
from shiftbench.predict_command import predict
from shiftbench.score_command import score

PROGRAMS = (
    "majority", "tfidf-lr", "sbert-lr", "finetune-classifier", "finetune-tagger", "finetune-qa", "finetune-seq2seq",
    "mscl", "daicl", "prompt-llm", "rag",
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
        program = importlib.import_module(f"baselines.{cmd_name.replace('-', '_')}")
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
    help="Make adversarial test texts, and collect those that people kept.\n\n"
    "Example: shiftbench attack make td --data build/boss --domain civil_comments --out review.csv",
    no_args_is_help=True,
    **_PLAIN,
)
for program in (attack.make, attack.collect):
    attacks.command()(program)
app.add_typer(attacks, name="attack")


for command in (
    check, build, publish, plan, predict, validate, card, score, compare, gate, label, submit, withdraw, nominate,
    serve, rescore, release_round, publish_space, protocol, bench,
    coverage, grid, analyse, demo,
):  # fmt: skip
    app.command()(command)


def main() -> None:
    """Run the command. Exit code 0: done; 1: refused input; 2: wrong usage; 3: a failed gate; 130: Ctrl-C."""
    import sqlite3

    from validation.report import InvalidInput

    try:
        app(standalone_mode=True)
    except SystemExit as end:
        if end.code == 130:
            typer.echo(
                "stopped; nothing unfinished was written; long work that was kept goes on with the same command",
                err=True,
            )
        raise
    except InvalidInput as refused:
        for problem in refused.problems:
            typer.echo(f"error: {problem}", err=True)
        sys.exit(1)
    except OSError as failed:
        named = f"{failed.filename}: " if failed.filename else ""
        typer.echo(f"error: {named}{failed.strerror or failed}", err=True)
        sys.exit(1)
    except sqlite3.DatabaseError as failed:
        from builders.cache import cache_folder

        typer.echo(f"error: {cache_folder()}: {failed}; free it, or set SHIFTBENCH_CACHE to another folder", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
