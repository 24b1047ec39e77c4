"""The command ``train``: the baseline programs as sub-commands."""

from typing import Any, ClassVar

import typer

from shiftbench.baselines.own_code import PROGRAMS_GROUP, is_own, own_program
from shiftbench.cli.help import PLAIN, Group, command_of

PROGRAMS = (
    "majority", "tfidf-lr", "sbert-lr", "finetune-classifier", "finetune-tagger", "finetune-qa", "finetune-seq2seq",
    "mscl", "daicl", "prompt-llm", "rag",
)  # fmt: skip
"""Baseline programs, each a module of ``baselines`` with the same name."""


class _Programs(Group):
    """The programs, imported only when run or listed; user files, modules and entry points are programs, too."""

    sections: ClassVar = {"Commands": {name: f"shiftbench.baselines.{name.replace('-', '_')}" for name in PROGRAMS}}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a built-in or user-defined program; None for an unknown name."""
        if cmd_name in PROGRAMS or not is_own(cmd_name, PROGRAMS_GROUP):
            return super().get_command(ctx, cmd_name)
        return own_program(cmd_name, lambda main: command_of(main, cmd_name))


group = typer.Typer(
    cls=_Programs,
    help="Train a baseline, or FILE.py, on each domain; predict all.\n\n"
    "Example: shiftbench train sbert-lr nli --data build/dr --out preds.parquet",
    no_args_is_help=True,
    add_completion=False,
    **PLAIN,
)
