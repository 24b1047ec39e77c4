"""The front door: the ``shiftbench`` command, and the names that a notebook imports.

    from shiftbench import DatasetFolder, score_file
    scores = score_file(Path("preds.parquet"), DatasetFolder.open("build/dr"))

The commands stand in the rooms whose work they do (``builders.building.commands``, ``leaderboard.commands``,
``baselines``). Everything heavier than typer is imported inside them, so that ``--help`` answers at once.
"""

import importlib
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from baselines.attack import commands as attack
from baselines.grid.commands import grid
from builders.building.commands import build, publish, sentence_encoder
from leaderboard.commands.scores import analyse, compare, coverage, protocol, score, validate
from leaderboard.commands.server import publish_space, rescore, serve, submit, withdraw
from validation.command_line import JsonOption, PortOption, console, require, write_json

if TYPE_CHECKING:
    from builders.folder.dataset_builder import dataset_builder
    from builders.folder.reader import DatasetFolder
    from leaderboard.scoring.score import score_file

__all__ = ["DatasetFolder", "dataset_builder", "main", "score_file"]

_LAZY = {
    "DatasetFolder": "builders.folder.reader",
    "dataset_builder": "builders.folder.dataset_builder",
    "score_file": "leaderboard.scoring.score",
}
PROGRAMS = (
    "majority", "tfidf-lr", "sbert-lr", "finetune-classifier", "finetune-tagger", "finetune-qa", "finetune-seq2seq",
    "mscl", "daicl", "prompt-llm", "rag",
)  # fmt: skip
"""Baseline programs, each a module of ``baselines`` with the same name."""
DEMO_PROGRAMS = ("majority", "sbert-lr", "tfidf-lr")
"""Those that ``demo`` runs: they need no weights but the sentence encoder's, and no server."""


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'shiftbench' has no attribute {name!r}")


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


app = typer.Typer(
    help="Measure how NLP models lose accuracy when the text changes domain.", no_args_is_help=True, **_PLAIN
)
app.add_typer(
    typer.Typer(
        cls=_Programs,
        help="Train a baseline on every source domain and predict every target.\n\n"
        "Example: shiftbench train sbert-lr nli --data build/dr --out preds.parquet",
        no_args_is_help=True,
    ),
    name="train",
)
attacks = typer.Typer(
    help="Make adversarial test texts, and collect those that people kept.\n\n"
    "Example: shiftbench attack make td --data build/boss --domain civil_comments --out review.csv",
    no_args_is_help=True,
    **_PLAIN,
)
for program in (attack.make, attack.collect):
    attacks.command()(program)
app.add_typer(attacks, name="attack")


class Bench(StrEnum):
    """What ``bench`` times."""

    SCORES = "scores"
    BUILD = "build"
    APP = "app"
    TRAIN = "train"


def bench(
    what: Annotated[
        Bench,
        typer.Argument(
            metavar="[WHAT]",
            help="'scores': scoring; 'build': a large upstream file; 'app': the leaderboard; 'train': fine-tuning.",
        ),
    ] = Bench.SCORES,
    scale: Annotated[
        float,
        typer.Option(
            "--scale", metavar="X", help="Share of the full size, at which alone targets are judged.", min=0.001
        ),
    ] = 1.0,
    json_: JsonOption = None,
) -> None:
    """Time scoring, reading a large upstream file, the leaderboard with 10,000 entries, or fine-tuning.

    Needs the extra 'dev', fine-tuning the extra 'train'.

    Example: shiftbench bench build
    """
    from dataclasses import asdict

    from baselines.training.bench import print_rate_timing, run_training_bench
    from builders.building.bench import run_read_bench
    from builders.building.report import print_read_timing
    from leaderboard.bench.app import run_app_bench
    from leaderboard.bench.scores import peak_memory, run_bench
    from leaderboard.views.terminal import print_timing

    runs: dict[Bench, tuple[Any, Any]] = {
        Bench.SCORES: (run_bench, print_timing),
        Bench.BUILD: (run_read_bench, print_read_timing),
        Bench.APP: (run_app_bench, print_timing),
        Bench.TRAIN: (run_training_bench, print_rate_timing),
    }
    run, show = runs[what]
    timings = []
    for timing in run(scale):
        timings.append(timing)
        if json_ != "-":
            show(timing, console())
    if what is Bench.SCORES:
        typer.echo(f"peak memory {peak_memory() / 2**20:,.0f} MiB", err=True)
    write_json({"timings": [asdict(timing) for timing in timings], "peak_memory": peak_memory()}, json_)


for command in (
    build, publish, validate, score, compare, submit, withdraw, serve, rescore, publish_space, protocol, bench,
    coverage, grid, analyse,
):  # fmt: skip
    app.command()(command)


@app.command()
def demo(
    raw: Annotated[
        Path | None,
        typer.Option("--raw", metavar="DIR", help="Folder of upstream files. Default: a synthetic corpus."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for data, predictions and store.")] = Path(
        "build/demo"
    ),
    port: PortOption = 7860,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="Stop when the scores are stored.")] = False,
) -> None:
    """Build, train, score and show: everything once, on real rows (--raw) or on synthetic ones.

    Example: shiftbench demo
    """
    from builders.building.build import build as build_benchmark
    from builders.building.synthetic import build_synthetic
    from builders.cache import check_cache
    from builders.folder.reader import DatasetFolder
    from leaderboard.store import Store
    from leaderboard.views.terminal import print_board
    from validation.cards import read_card

    check_cache()
    if not no_serve:
        require("gradio", "app")
        from leaderboard.app.server import usable_port

        port = usable_port("127.0.0.1", port)
    data = out / ("dr" if raw else "synthetic")
    typer.echo(f"1/4 building {data} from {raw or 'generated texts (synthetic: no --raw given)'}", err=True)
    if raw:
        build_benchmark("dr", "nli", raw, data, partial=True, overwrite=True, encoder=sentence_encoder(), placebo=False)
    else:
        build_synthetic(data, overwrite=True, encoder=sentence_encoder())
    folder = DatasetFolder.open(data)
    store = Store(out / f"store-{data.name}")
    results = []
    for number, task in enumerate(folder.manifest.tasks, start=1):
        for program in DEMO_PROGRAMS:
            typer.echo(f"2/4 training {program} on task {task} ({number} of {len(folder.manifest.tasks)})", err=True)
            predictions = out / f"{data.name}-{task}-{program}.parquet"
            _run(["train", program, task, "--data", str(data), "--out", str(predictions)])
            card = read_card(predictions.with_suffix(".card.yaml"))
            entry, _ = store.submit(predictions, card, [folder])
            results.append((entry.card.name, store.scores(entry, folder)))
    typer.echo(f"3/4 checked, scored and stored {len(results)} entries in {store.root}", err=True)
    print_board(results, console())
    if no_serve:
        return
    typer.echo("4/4 showing them in a page; Ctrl-C stops", err=True)
    serve([data], str(store.root), port)


def _run(arguments: list[str]) -> None:
    """Run a command as if it had been typed, because cards record what was."""
    typed = sys.argv
    sys.argv = [typed[0], *arguments]
    try:
        typer.main.get_command(app).main(arguments, standalone_mode=False)
    finally:
        sys.argv = typed


def main() -> None:
    """Run the command. Exit code 0: done; 1: refused input; 2: wrong usage; 130: stopped by Ctrl-C."""
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
