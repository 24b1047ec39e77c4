"""The commands that check, simulate, choose and analyse. Heavy libraries are imported inside them."""

from pathlib import Path
from typing import Annotated

import typer

from shiftbench.cli.data_options import FormerEncoderOption, FormerSubsetOption, load_encoder
from shiftbench.validation.command_line import (
    JsonOption,
    LabelsByIndexOption,
    console,
    writable_file,
    write_json,
)
from shiftbench.validation.report import InvalidInput, Problem


def validate(
    path: Annotated[Path, typer.Argument(metavar="FILE_OR_DIR", help="A prediction file, or a dataset folder.")],
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Dataset folder that the predictions are for.")
    ] = None,
    card: Annotated[
        Path | None, typer.Option("--card", metavar="FILE", help="Card to check with the predictions.")
    ] = None,
    subset: FormerSubsetOption = None,
    labels_by_index: LabelsByIndexOption = False,
    json_: JsonOption = None,
) -> None:
    """Check a prediction file (and its card), or a dataset folder. Lists every problem, then what the file covers.

    Example: shiftbench validate preds.parquet --data build/dr --card preds.card.yaml
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.checking.inputs import find_subset
    from shiftbench.leaderboard.pages.contents import (
        coverage_of,
        folder_lines,
        next_for_folder,
        next_for_predictions,
        prediction_lines,
    )
    from shiftbench.leaderboard.store import folder_of
    from shiftbench.scoring.scores.score import checked_predictions
    from shiftbench.validation.cards import read_card
    from shiftbench.validation.prediction_files import PredictionInput

    if path.is_dir():
        folder = DatasetFolder.unchecked(path)
        folder.check()
        typer.echo(f"{path}: a valid dataset folder, content {folder.content_hash[:12]}", err=True)
        for line in (*folder_lines(folder), next_for_folder(folder, path)):
            typer.echo(line, err=True)
        write_json({"ok": True, "data": folder.content_hash}, json_)
        return
    if data is None:
        raise typer.BadParameter("give --data, the dataset folder that the predictions are for")
    folder = DatasetFolder.open(data)
    if card is not None:
        checked = read_card(card)
        folder_of(checked, [folder])
        subset = checked.subset
    subset = subset or find_subset(path, folder)
    frame = checked_predictions(PredictionInput(path, labels_by_index), folder, subset)
    runs = frame.select("task", "source", "target", "seed").n_unique()
    typer.echo(f"{path}: {len(frame):,} predictions of {runs} runs on targets, all valid", err=True)
    for line in (*prediction_lines(frame, folder, subset), next_for_predictions(path, data, card)):
        typer.echo(line, err=True)
    write_json({"ok": True, "predictions": len(frame), "runs": runs, "tasks": coverage_of(frame)}, json_)


def protocol(
    task: Annotated[str, typer.Argument(metavar="TASK", help="Task whose data sets are to be chosen.")],
    reported: Annotated[
        bool, typer.Option("--reported", help="Choose from the BOSS paper's tables: sa, td, nli, ner or eqa.")
    ] = False,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Choose from the domains of a dataset folder.")
    ] = None,
    encoder: FormerEncoderOption = None,
    predictions: Annotated[
        Path | None,
        typer.Option("--predictions", metavar="FILE", help="Predictions of models trained on the ID (--data)."),
    ] = None,
    id_: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="DOMAIN", help="Data set to train on (ID). Default: the folder's, otherwise the rule's."
        ),
    ] = None,
    n_ood: Annotated[int, typer.Option("--n-ood", metavar="N", help="OOD data sets to choose.", min=1)] = 3,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw similarity and scores as PNG.", callback=writable_file),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Choose a benchmark's data sets: one to train on (ID) and the ones to test shift on (OOD), from candidates.

    Example: shiftbench protocol nli --reported
    """
    if reported == (data is not None):
        raise typer.BadParameter("give either --reported, the paper's tables, or --data, a dataset folder")
    if reported and (encoder or predictions):
        raise typer.BadParameter("--encoder and --predictions are for --data; --reported has the paper's own figures")
    from shiftbench.scoring.papers.protocol.picture import choice_picture
    from shiftbench.scoring.papers.protocol.report import print_choice
    from shiftbench.scoring.papers.protocol.run import choose_measured, choose_reported

    if data is None:
        choice = choose_reported(task, n_ood, id_)
    else:
        from shiftbench.builders.encoder import machine_encoder
        from shiftbench.builders.folder.reader import DatasetFolder

        is_embedded = encoder or machine_encoder() or (picture and not predictions)
        folder, sentences = DatasetFolder.open(data), load_encoder(encoder) if is_embedded else None
        choice = choose_measured(folder, task, n_ood, id_=id_, encoder=sentences, predictions=predictions)
    if picture is not None:
        picture.write_bytes(choice_picture(choice))
    if json_ != "-":
        print_choice(choice, console())
    write_json(choice.model_dump(mode="json"), json_)


def _check_folder(out: Path) -> None:
    """Check that a folder can be made: no file may have its name."""
    taken = next((path for path in (out.absolute(), *out.absolute().parents) if path.exists()), None)
    if taken is not None and not taken.is_dir():
        raise InvalidInput(
            Problem("there is a file where this folder should be", "--out", str(taken), "choose another folder")
        )


def analyse(
    data: Annotated[
        list[Path], typer.Option("--data", metavar="DIR", help="Dataset folder; may be given several times.")
    ],
    predictions: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="Prediction files, each with its card beside it (FILE.card.yaml)."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="DIR", help="Take all entries of this store: a folder, or hf://datasets/..."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for pictures and tables.")] = Path(
        "build/analysis"
    ),
    figure: Annotated[
        list[str] | None,
        typer.Option("--figure", metavar="NAME", help="Draw this one; may be given several times. Default: all."),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Draw the papers' figures from any set of entries, each as PNG (points) and CSV (fractions).

    Example: shiftbench analyse sbert.parquet tfidf.parquet --data build/dr --out figures

    Figures: drops-by-difficulty, scenarios, model-size, shots, prompted-model-size, training-size, step, id-ood,
    effective-robustness, divergence, forecast, theorem-one, rank-stability, model-averages.
    """
    if not predictions and store is None:
        raise typer.BadParameter("give prediction files, --store, or both")
    from tqdm import tqdm

    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.board.analysed import find_results, read_entries
    from shiftbench.leaderboard.store import open_store
    from shiftbench.scoring.papers.analysis.figures import analyse as carry_out
    from shiftbench.scoring.papers.analysis.figures import figures_of, write
    from shiftbench.scoring.papers.analysis.report import as_json, print_analyses
    from shiftbench.scoring.reports.terminal import warnings

    figures_of(figure or [])  # before any work
    _check_folder(out)
    folders = [DatasetFolder.open(path) for path in data]
    place = open_store(store) if store else None
    entries, left_out = read_entries(predictions or [], place, folders)
    if place is not None and place.behind:
        left_out.append(place.behind)
    analyses = carry_out(find_results(entries, folders), figure or [])
    out.mkdir(parents=True, exist_ok=True)
    notes = list(dict.fromkeys(note for entry in entries for note in warnings(entry.scores)))
    for analysis in tqdm(analyses, desc="drawing", unit=" figures", disable=None):
        write(analysis, out, notes)
    if json_ != "-":
        print_analyses(analyses, out, [*notes, *left_out], console())
    write_json(as_json(analyses, len(entries), out, [*notes, *left_out]), json_)
