"""The command ``train``: the baseline programs as sub-commands."""

from typing import ClassVar

import typer

from shiftbench.cli.help import PLAIN, Group

PROGRAMS = (
    "majority", "tfidf-lr", "sbert-lr", "finetune-classifier", "finetune-tagger", "finetune-qa", "finetune-seq2seq",
    "mscl", "setfit", "daicl", "prompt-llm", "rag",
)  # fmt: skip
"""Baseline programs, each a module of ``baselines`` with the same name."""


class _Programs(Group):
    """The programs; each is imported when it is run or listed."""

    sections: ClassVar = {"Commands": {name: f"shiftbench.baselines.{name.replace('-', '_')}" for name in PROGRAMS}}


group = typer.Typer(
    cls=_Programs,
    help="Train a baseline on each domain, and predict all.\n\n"
    "Example: shiftbench train sbert-lr nli --data build/dr --out preds.parquet",
    no_args_is_help=True,
    add_completion=False,
    **PLAIN,
)
