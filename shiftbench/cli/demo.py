"""The command ``demo``: builds, trains, scores and shows; or checks one model. Imports other than typer are inside."""

import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.validation.command_line import PortOption, require, show

if TYPE_CHECKING:
    from shiftbench.builders.encoder import Encoder
    from shiftbench.scoring.scores.shape import Scores

    Shown = tuple[list[Path], Path, list[tuple[str, Scores]]]
    """Dataset folders, a store's folder, and the store's scores by name."""

Run = Callable[[list[str]], None]
"""Runs a shiftbench command from its command-line words."""

DEMO_PROGRAMS = ("majority", "sbert-lr", "tfidf-lr")
"""Programs that ``demo`` runs: they need no server, and no weights except the sentence encoder's."""
SHARED = (Path("../shared/data/whole"), Path("../shared/data/raw"))
"""Folders of upstream files next to a checkout."""


class Variant(StrEnum):
    """Variants of ``demo``."""

    BOARD = "board"
    CHECK = "check"
    RESULTS = "results"


def demo(
    context: typer.Context,
    door: Annotated[
        Variant,
        typer.Argument(
            metavar="[WHAT]",
            help="'board': baselines on a leaderboard; 'check': a MiniLM, fine-tuned on one domain, in a report; "
            "'results': the reference results of this checkout on leaderboards.",
        ),
    ] = Variant.BOARD,
    raw: Annotated[
        list[Path] | None,
        typer.Option(
            "--raw",
            metavar="DIR",
            help="Folder of upstream files; repeat for more. Default: those of ../shared/data, else MultiNLI from the "
            "Hub, else a synthetic corpus.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for data, predictions and store.")] = Path(
        "build/demo"
    ),
    port: PortOption = 7860,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="Stop after storing the scores.")] = False,
    whole: Annotated[
        bool,
        typer.Option("--whole", help="'board': all rows, not only the first 500 of each genre's files; takes minutes."),
    ] = False,
) -> None:
    """Build, train, score and show, on real or synthetic texts.

    Example: shiftbench demo

    One model on a CSV, in a few minutes: shiftbench demo check
    """
    run = _command_runner(context.find_root().command.main)
    raw = raw or _shared_folders()
    if door is Variant.CHECK:
        _demo_check(run, raw, out)
        return
    from shiftbench.builders.cache import check_cache
    from shiftbench.scoring.reports.paper_table import paper_lines, paper_table
    from shiftbench.scoring.reports.terminal import warning_lines

    check_cache()
    if not no_serve:
        require("gradio", "app")
        from shiftbench.leaderboard.app.server import usable_port

        port = usable_port("127.0.0.1", port)
    data, store, results = (
        _demo_results(raw, out) if door is Variant.RESULTS else _demo_board(run, raw, out, whole=whole)
    )
    for one in dict.fromkeys(scores.data for _, scores in results):  # one table per dataset
        entries = [result for result in results if result[1].data == one]
        show([*warning_lines([scores for _, scores in entries]), *paper_lines(paper_table(entries, {}))])
    if no_serve:
        return
    _print_progress("showing them as a web page; Ctrl-C stops it")
    folders = [part for folder in data for part in ("--data", str(folder))]
    run(["serve", *folders, "--store", str(store), "--port", str(port)])


def _demo_results(raw: list[Path], out: Path) -> "Shown":
    """Store the reference results of this checkout."""
    from shiftbench.cli.demo_results import build_folders, stored_results
    from shiftbench.leaderboard.store import Store
    from shiftbench.validation.report import InvalidInput, Problem

    if not raw:
        cure = "give --raw, the folder of upstream files that 'shiftbench build dr --check' lists"
        raise InvalidInput(
            Problem(
                "reference results need the benchmarks' rows, which are not part of the package", "--raw", cure=cure
            )
        )
    folders = build_folders(raw, out)
    store = Store(out / "store")
    scored = [(entry.card.name, store.scores(entry, folder)) for entry, folder in stored_results(folders, out)]
    _print_progress(f"checked, scored and stored {len(scored)} entries in {store.root}")
    return [folder.path for folder in folders], store.root, scored


def _demo_board(run: Run, raw: list[Path], out: Path, *, whole: bool) -> "Shown":
    """Build one task, train the fast programs, and add their predictions to a store."""
    from shiftbench.builders.building.synthetic import build_synthetic
    from shiftbench.builders.encoder import Encoder
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.store import Store
    from shiftbench.validation.cards import card_path, read_card

    data, encoder = out / ("dr" if whole else "dr-sample"), Encoder()
    if not _build_real(data, raw, out / "raw", encoder, whole=whole):
        data = out / "synthetic"
        build_synthetic(data, overwrite=True, encoder=encoder)
    folder = DatasetFolder.open(data)
    store = Store(out / f"store-{data.name}")
    results = []
    for number, task in enumerate(folder.manifest.tasks, start=1):
        for program in DEMO_PROGRAMS:
            _print_progress(f"2/4 training {program} on task {task} ({number} of {len(folder.manifest.tasks)})")
            predictions = out / f"{data.name}-{task}-{program}.parquet"
            run(["train", program, task, "--data", str(data), "--out", str(predictions)])
            card = read_card(card_path(predictions))
            entry, _ = store.submit(predictions, card, [folder])
            results.append((entry.card.name, store.scores(entry, folder)))
    _print_progress(f"3/4 checked, scored and stored {len(results)} entries in {store.root}")
    return [data], store.root, results


def _shared_folders() -> list[Path]:
    """Return the folders of upstream files next to the checkout if they contain files of MultiNLI."""
    from shiftbench.builders.dr.inference import NLI
    from shiftbench.builders.reading.places import find_file

    places = {file.path for domain in NLI.domains for files in domain.files.values() for file in files}
    return list(SHARED) if any(find_file(SHARED, place) for place in places) else []


def _demo_check(run: Run, raw: list[Path], out: Path) -> None:
    """Fine-tune the packaged MiniLM on one domain, and run ``check`` on a CSV of all domains."""
    from shiftbench.builders.building.synthetic import build_synthetic
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.cli.demo_rows import write_rows

    require("peft", "train")
    data, place = out / "dr-rows", out / "check"
    if not _build_real(data, raw, out / "raw", None, whole=True):
        data = out / "synthetic-rows"
        build_synthetic(data, overwrite=True)
    files = write_rows(DatasetFolder.open(data), place)
    _print_progress(f"2/3 fine-tuning MiniLM on {files.source}, about two minutes on two cores")
    models, trained = place / "models", place / "trained.parquet"
    train = ["train", "finetune-classifier", files.task, "--data", str(data), "--source", files.source]
    train += ["--target", files.source, "--epochs", "2", "--max-length", "64", "--eval-max-length", "128"]
    run(
        [
            *train,
            "--train-size",
            "1000",
            "--batch-size",
            "16",
            "--learning-rate",
            "1e-4",
            "--no-select",
            "--save-model",
            str(models),
            "--out",
            str(trained),
        ]
    )
    columns = ",".join(["domain=domain", "label=label", *(f"text={name}" for name in files.inputs)])
    check = ["check", str(models / f"{files.source}-0"), "--data", str(files.test), "--columns", columns]
    check += ["--trained-on", files.source, "--train-file", str(files.train)]
    check += ["--probes", "--report", str(place / "report.html")]
    _print_progress(f"3/3 shiftbench {' '.join(check)}")
    run(check)
    what = (
        "synthetic texts: these scores say nothing about the model"
        if data.name.startswith("synthetic")
        else "real rows"
    )
    _print_progress(f"checked on {what}")


def _build_real(data: Path, raw: list[Path], fetched: Path, encoder: "Encoder | None", *, whole: bool) -> bool:
    """Build the genres of MultiNLI from a folder of upstream files, or else from the Hub; print the one used.

    Returns: False if there is no folder and the Hub cannot be reached, which is printed.
    """
    from shiftbench.builders.building.build import build as build_benchmark
    from shiftbench.builders.dr.inference import NLI
    from shiftbench.builders.fetching.fetch import fetch, plan_fetch
    from shiftbench.builders.hub_access import cause, is_transient
    from shiftbench.cli.demo_rows import N_ROWS, sample_genres
    from shiftbench.validation.report import InvalidInput

    step = f"1/{4 if encoder else 3}"
    if raw:
        place = ", ".join(map(str, raw))
        _print_progress(f"{step} building {data} from real rows: the genres of MultiNLI in {place}")
    else:
        place = f"the Hub, cached in {fetched}"
        _print_progress(
            f"{step} no upstream files in {SHARED[-1]} (or give --raw): downloading MultiNLI's genres from the Hub"
        )
        try:
            fetch(plan_fetch([NLI], [fetched]), fetched)
        except InvalidInput as error:
            if cause(error) is None and not is_transient(error):
                raise
            _print_progress(f"the download failed ({error.problems[0].found}); building from synthetic texts instead")
            return False
        raw = [fetched]
    rows = "all rows"
    if not whole:
        sample = data.with_name(f"{data.name}-raw")
        n_taken, n_rows = sample_genres(raw, sample)
        if n_taken:  # otherwise the build lists the missing files
            raw = [sample]
            rows = f"{n_taken:,} of {n_rows:,} rows, the first {N_ROWS} of each genre's files (--whole takes all)"
    build_benchmark("dr", "nli", raw, data, partial=True, overwrite=True, placebo=False, encoder=encoder)
    _print_progress(f"built {data} from real rows: the genres of MultiNLI from {place}; {rows}")
    return True


def _print_progress(line: str) -> None:
    typer.echo(line, err=True)


def _command_runner(main: Callable[..., object]) -> Run:
    """Return a function that runs commands in this process as if typed, because cards record the command line."""

    def run(arguments: list[str]) -> None:
        typed = sys.argv
        sys.argv = [typed[0], *arguments]
        try:
            main(arguments, standalone_mode=False)
        finally:
            sys.argv = typed

    return run
