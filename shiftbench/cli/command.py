"""The ``shiftbench`` command: the sub-commands of all rooms under one roof, and what every error looks like.

Everything heavier than typer is imported inside the commands, so that ``--help`` answers at once.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

import shiftbench
from shiftbench.baselines.attack import commands as attack
from shiftbench.baselines.grid.commands import grid
from shiftbench.cli.archive_command import archive
from shiftbench.cli.build_command import build_app
from shiftbench.cli.card_command import card
from shiftbench.cli.check_command import check
from shiftbench.cli.compare_command import compare
from shiftbench.cli.compare_logs_command import compare_logs
from shiftbench.cli.demo_command import demo
from shiftbench.cli.export_command import export
from shiftbench.cli.forecast_command import forecast, score_forecasts
from shiftbench.cli.gate_command import gate
from shiftbench.cli.help import PLAIN, Command, Group
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


class _Programs(Group):
    """The baseline programs as sub-commands of ``train``; a program is imported only when it is run."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(PROGRAMS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in PROGRAMS:
            return None
        program = importlib.import_module(f"shiftbench.baselines.{cmd_name.replace('-', '_')}")
        command = typer.Typer(add_completion=False, **PLAIN)
        command.command(cmd_name, cls=Command)(program.main)
        return typer.main.get_command(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shiftbench {shiftbench.__version__}")
        raise typer.Exit


def _group(about: str, commands: Mapping[str, Callable[..., None]]) -> typer.Typer:
    """Make a group of commands by their names."""
    group = typer.Typer(help=about, no_args_is_help=True, cls=Group, **PLAIN)
    for name, command in commands.items():
        group.command(name, cls=Command)(command)
    return group


app = typer.Typer(no_args_is_help=True, cls=Group, context_settings={"help_option_names": ["--help", "-h"]}, **PLAIN)


@app.callback()
def show_version(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Show the version and stop.", callback=_print_version)
    ] = False,
) -> None:
    """Measure how NLP models lose accuracy when the text changes domain.

    Example: shiftbench check ./my-model --data mine.csv --columns domain=site,label=stars
    """


_TRAIN = typer.Typer(
    cls=_Programs,
    help="Train a baseline on each domain, and predict all.\n\n"
    "Example: shiftbench train sbert-lr nli --data build/dr --out preds.parquet",
    no_args_is_help=True,
)
SECTIONS: dict[str, tuple[Callable[..., None], ...]] = {
    "A model and a file of your own": (check, gate, label, forecast),
    "Predictions": (score, compare, submit),
    "Models": (predict, grid, plan),
    "Data and pages": (serve, demo),
}
"""The commands at the top, by the sections of ``--help``."""
GROUPS = {
    "data": _group("Check, publish and export data.", {"validate": validate, "publish": publish, "export": export}),
    "board": _group(
        "Keep a leaderboard: its entries, rounds and Space.",
        {
            "withdraw": withdraw, "nominate": nominate, "rescore": rescore, "archive": archive,
            "release-round": release_round, "share": share, "card": card, "publish-space": publish_space,
        },
    ),
    "logs": _group("Read the logs of other evaluation tools.", {"compare": compare_logs, "import": import_logs}),
    "study": _group(
        "Draw papers' figures, check claims, choose data sets.",
        {"protocol": protocol, "analyse": analyse, "score-forecasts": score_forecasts, "verify": verify},
    ),
}  # fmt: skip
"""The groups, each with commands of its own."""
_ATTACK = _group(
    "Make adversarial texts, and collect what people kept.", {"make": attack.make, "collect": attack.collect}
)
GROUPS["study"].add_typer(_ATTACK, name="attack")
for section, commands in SECTIONS.items():
    for command in commands:
        app.command(cls=Command, rich_help_panel=section)(command)
    if section == "Models":
        app.add_typer(_TRAIN, name="train", rich_help_panel=section)
app.add_typer(build_app, name="build", rich_help_panel="Data and pages")
for name, group in GROUPS.items():
    app.add_typer(group, name=name, rich_help_panel="Groups of commands")


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
