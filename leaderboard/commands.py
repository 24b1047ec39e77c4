"""The commands that check, score, compare, submit and show. Everything heavier than typer is imported inside them."""

from pathlib import Path
from typing import Annotated

import typer

from validation.command_line import (
    DataOption,
    JsonOption,
    PortOption,
    PredictionsArgument,
    SubsetOption,
    console,
    require,
    writable_file,
    write_json,
)


def validate(
    path: Annotated[Path, typer.Argument(metavar="FILE_OR_DIR", help="A prediction file, or a dataset folder.")],
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Dataset folder that the predictions are for.")
    ] = None,
    card: Annotated[
        Path | None, typer.Option("--card", metavar="FILE", help="Card to check with the predictions.")
    ] = None,
    subset: SubsetOption = "all",
    json_: JsonOption = None,
) -> None:
    """Check a prediction file (and its card), or a dataset folder; every problem is listed.

    Example: shiftbench validate preds.parquet --data build/dr --card preds.card.yaml
    """
    from builders.folder import DatasetFolder
    from leaderboard.scoring import checked_predictions
    from leaderboard.store import folder_of
    from validation.cards import read_card

    if path.is_dir():
        folder = DatasetFolder.open(path)
        folder.check()
        typer.echo(f"{path}: a sound dataset folder, content {folder.content_hash[:12]}", err=True)
        write_json({"ok": True, "data": folder.content_hash}, json_)
        return
    if data is None:
        raise typer.BadParameter("give --data, the dataset folder that the predictions are for")
    folder = DatasetFolder.open(data)
    if card is not None:
        checked = read_card(card)
        folder_of(checked, [folder])
        subset = checked.subset
    frame = checked_predictions(path, folder, subset)
    runs = frame.select("task", "source", "target", "seed").n_unique()
    typer.echo(f"{path}: {len(frame):,} predictions of {runs} runs on targets, all sound", err=True)
    write_json({"ok": True, "predictions": len(frame), "runs": runs}, json_)


def score(
    predictions: PredictionsArgument,
    data: DataOption,
    subset: SubsetOption = "all",
    reference: Annotated[
        Path | None,
        typer.Option("--reference", metavar="FILE", help="Prediction file whose TT stands in where this one has none."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", metavar="NAME", help="Encoder of BERTScore, for generated text: Hub id or path."),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Check and score a prediction file; figures stand with their 95% intervals where they have one.

    Example: shiftbench score preds.parquet --data build/dr --json scores.json
    """
    from builders.encoder import DEFAULT_ENCODER
    from builders.folder import DatasetFolder
    from leaderboard.scoring import score_file, token_encoder
    from leaderboard.tables import print_scores

    folder = DatasetFolder.open(data)
    tokens = token_encoder(folder, encoder or DEFAULT_ENCODER)
    scores = score_file(predictions, folder, subset, encoder=tokens, reference=reference)
    if json_ != "-":
        print_scores(scores, console())
    write_json(scores.model_dump(mode="json"), json_)


def submit(
    predictions: PredictionsArgument,
    card: Annotated[
        Path, typer.Option("--card", metavar="FILE", help="Card of the predictions; 'train' writes one beside them.")
    ],
    to: Annotated[str, typer.Option("--to", metavar="URL_OR_STORE", help="A leaderboard's URL, or a store folder.")],
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Dataset folder (with a store folder; default: where the card's data was built).",
        ),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Send a prediction file and its card to a leaderboard.

    Example: shiftbench submit preds.parquet --card preds.card.yaml --to http://127.0.0.1:7860
    """
    from builders.cache import recall_folder
    from builders.folder import DatasetFolder
    from leaderboard.client import is_url, submit_to_url
    from leaderboard.store import Store
    from validation.cards import read_card
    from validation.report import InvalidInput, Problem

    over_http = is_url(to)
    checked = read_card(card)
    if over_http:
        answer = submit_to_url(to, predictions, checked)
    else:
        known = recall_folder(checked.data)
        places = data or ([known] if known else [])
        if not places:
            cure = "give --data, the dataset folder that they were made on"
            raise InvalidInput(
                Problem(
                    "the data of these predictions is not known on this machine", str(card), checked.data[:12], cure
                )
            )
        entry, new = Store(to).submit(predictions, checked, [DatasetFolder.open(place) for place in places])
        answer = {"entry": entry.id, "new": new}
    where = f"at {to}" if over_http else f"in store {to}"
    said = f"accepted {where}" if answer["new"] else f"already {where}: the same file with the same card is one entry"
    typer.echo(f"entry {answer['entry']}: {said}", err=True)
    write_json(answer, json_)


def serve(
    data: Annotated[
        list[Path], typer.Option("--data", metavar="DIR", help="Dataset folder; may be given several times.")
    ],
    store: Annotated[
        Path, typer.Option("--store", metavar="DIR", help="Folder of entries; made when it is not there.")
    ],
    port: PortOption = 7860,
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="Address to listen on; the default is this machine only.")
    ] = "127.0.0.1",
) -> None:
    """Show the leaderboard in a browser; Ctrl-C stops.

    Example: shiftbench serve --data build/dr --store store --port 7860
    """
    require("gradio", "app")
    from builders.folder import DatasetFolder
    from leaderboard.app import serve as serve_page
    from leaderboard.store import Store

    folders = [DatasetFolder.open(folder) for folder in data]
    for folder in folders:
        folder.refuse_withheld()
    serve_page(folders, Store(store), host=host, port=port)


def compare(
    a: Annotated[Path, typer.Argument(metavar="FILE_A", help="Prediction file of entry A.")],
    b: Annotated[Path, typer.Argument(metavar="FILE_B", help="Prediction file of entry B.")],
    data: DataOption,
    subset: SubsetOption = "all",
    swaps: Annotated[int, typer.Option("--swaps", metavar="N", help="Random swaps a shift.", min=1000)] = 100_000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the swaps.", min=0)] = 0,
    json_: JsonOption = None,
) -> None:
    """Test whether two prediction files differ, on every shift that both have.

    Example: shiftbench compare sbert.parquet tfidf.parquet --data build/dr
    """
    from builders.folder import DatasetFolder
    from leaderboard.compare import compare_files
    from leaderboard.scoring import token_encoder
    from leaderboard.tables import print_comparison

    folder = DatasetFolder.open(data)
    comparison = compare_files(a, b, folder, subset, encoder=token_encoder(folder), n_swaps=swaps, seed=seed)
    if json_ != "-":
        print_comparison(comparison, console())
    write_json(comparison.model_dump(mode="json"), json_)


def coverage(
    tasks: Annotated[int, typer.Option("--tasks", metavar="N", help="Simulated tasks of each kind.", min=1)] = 2000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the simulation.", min=0)] = 1,
    json_: JsonOption = None,
) -> None:
    """Simulate how often 95% intervals hold the known truth: test-sampling, total, worst drops, scenarios.

    Example: shiftbench coverage --tasks 2000
    """
    from leaderboard.coverage_report import measure_coverage
    from leaderboard.tables import print_coverage

    found = measure_coverage(tasks, seed)
    if json_ != "-":
        print_coverage(found, tasks, console())
    write_json({"tasks": tasks, "seed": seed, "coverage": found}, json_)


def protocol(
    task: Annotated[str, typer.Argument(metavar="TASK", help="Task whose data sets are to be chosen.")],
    reported: Annotated[
        bool, typer.Option("--reported", help="Choose from the BOSS paper's tables: sa, td, nli, ner or eqa.")
    ] = False,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Choose from the domains of a dataset folder.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", metavar="NAME", help="Sentence encoder for similarity: Hub id or path (--data)."),
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option("--predictions", metavar="FILE", help="Predictions of models trained on the ID (--data)."),
    ] = None,
    id_: Annotated[
        str | None, typer.Option("--id", metavar="DOMAIN", help="The ID. Default: the folder's, or else the rule's.")
    ] = None,
    n_ood: Annotated[int, typer.Option("--n-ood", metavar="N", help="OOD data sets to choose.", min=1)] = 3,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw similarity and scores as PNG.", callback=writable_file),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Choose a task's ID and OOD data sets from candidates, with what decided and how firmly.

    Example: shiftbench protocol nli --reported
    """
    if reported == (data is not None):
        raise typer.BadParameter("give either --reported, the paper's tables, or --data, a dataset folder")
    if reported and (encoder or predictions):
        raise typer.BadParameter("--encoder and --predictions are for --data; --reported has the paper's own figures")
    from leaderboard.protocol.picture import choice_picture
    from leaderboard.protocol.report import print_choice
    from leaderboard.protocol.run import choose_measured, choose_reported

    if data is None:
        choice = choose_reported(task, n_ood, id_)
    else:
        from builders.encoder import Encoder
        from builders.folder import DatasetFolder

        folder, sentences = DatasetFolder.open(data), Encoder(encoder) if encoder else None
        choice = choose_measured(folder, task, n_ood, id_=id_, encoder=sentences, predictions=predictions)
    if picture is not None:
        picture.write_bytes(choice_picture(choice))
    if json_ != "-":
        print_choice(choice, console())
    write_json(choice.model_dump(mode="json"), json_)
