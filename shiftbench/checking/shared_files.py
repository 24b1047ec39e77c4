"""What ``shiftbench share`` opens, writes and sends: an entry of a store or a file, in one form of results."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pydantic

from shiftbench.builders.folder.hub_folder import check_repository, names_repository
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.inputs import as_folder
from shiftbench.leaderboard.store import ENTRY_ID, folder_of, open_store
from shiftbench.scoring.interchange.eval_results import eval_results, tasks_left_out
from shiftbench.scoring.interchange.every_eval_ever import DATASTORE, Evaluator, every_eval_results, place_of
from shiftbench.scoring.interchange.every_eval_samples import why_no_samples, write_samples
from shiftbench.scoring.interchange.model_index import model_index, model_index_metadata
from shiftbench.scoring.interchange.pull_request import send_files, send_metadata
from shiftbench.scoring.interchange.scores_csv import scores_csv
from shiftbench.scoring.interchange.shared_entry import SharedEntry, made_with
from shiftbench.scoring.scores.score import checked_predictions, score_predictions, token_encoder
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.cards import Card, Url, card_beside, read_card
from shiftbench.validation.report import InvalidInput, Problem, first_line

_HUB = "https://huggingface.co/"
_NO_MODELS = ("datasets", "spaces", "papers", "collections")


@dataclass(frozen=True)
class OpenedEntry:
    """An entry, its dataset, and its checked predictions; these are None of scores alone."""

    shared: SharedEntry
    folder: DatasetFolder
    predictions: pl.DataFrame | None


def open_shared(
    entry: str,
    data: str,
    *,
    store: str | None = None,
    card: Path | None = None,
    model: str | None = None,
    dataset: str | None = None,
    report: str | None = None,
) -> OpenedEntry:
    """Open an entry by its id, or a file as one.

    Args:
        entry: id of an entry in the store; without a store a prediction file, or a file of scores.
        data: the dataset folder, or the repository of a published one.
        store: where the entry is kept.
        card: of a file; by default the one beside it.
        model: ``ORG/NAME``; by default what the card's ``model_url`` names.
        dataset: ``ORG/NAME``; by default ``data``, where that is one.
        report: https URL.
    Raises: InvalidInput when something is missing, is not sound, or may not be shared.
    """
    published = dataset or (data if names_repository(data) else None)
    folder = as_folder(data)
    if not folder.has_public_labels:
        cure = "share the released figures on the board instead"
        raise InvalidInput(Problem("scores on withheld labels are not shared", str(folder.path), cure=cure))
    predictions: pl.DataFrame | None
    if store is not None:
        if card is not None:
            cure = "leave out --card, or give the file in place of --store"
            raise InvalidInput(Problem("an entry has its own card", "--card", str(card), cure))
        scores, own, predictions, sent = _read_entry(entry, store, folder)
    else:
        scores, own, predictions = _read_file(entry, folder, card)
        sent = None
    repository = model or _model_repository(own)
    shared = SharedEntry(
        scores,
        own,
        folder.manifest,
        dataset=published and check_repository(published, "--dataset"),
        model=repository and check_repository(repository, "--model"),
        report=report and _check_url(report),
        evaluated_at=sent,
    )
    return OpenedEntry(shared, folder, predictions)


def write_shared(
    opened: OpenedEntry, to: str, out: Path, evaluator: Evaluator | None, note: Callable[[str], None]
) -> dict[str, Path]:
    """Write an entry's files.

    Args:
        opened: the entry.
        to: eval-results, model-index, csv or every-eval-ever.
        out: an empty folder.
        evaluator: the provider of the results, for every-eval-ever; None for other formats.
        note: takes lines about what is left out.
    Returns: the files, by path in the repository that they are for.
    """
    writers: dict[str, Callable[[SharedEntry], dict[str, str]]] = {
        "eval-results": eval_results,
        "model-index": model_index,
        "csv": scores_csv,
    }
    if to not in writers:
        assert evaluator is not None
        return _write_every_eval(opened, out, evaluator, note)
    files = {}
    for path, text in writers[to](opened.shared).items():
        files[path] = out / path
        files[path].parent.mkdir(parents=True, exist_ok=True)
        files[path].write_text(text, encoding="utf-8")
    if to == "eval-results":
        for task in tasks_left_out(opened.shared):
            note(f"leave out {task}: the dataset's eval.yaml has only tasks with labels")
    return files


def send_shared(opened: OpenedEntry, to: str, files: dict[str, Path]) -> str:
    """Send an entry's files as a pull request; returns its URL.

    Args:
        opened: the entry.
        to: eval-results, model-index or every-eval-ever.
        files: by path in the repository.
    Raises: InvalidInput when the Hub refuses, or cannot be reached.
    """
    shared = opened.shared
    title = f"Scores under domain shift on {shared.manifest.title}"
    description = made_with(shared.scores)
    if to == "every-eval-ever":
        return send_files(files, DATASTORE, "dataset", f"{title}: {shared.card.name}", description)
    model = shared.model_repository()
    if to == "model-index":
        return send_metadata(model_index_metadata(shared), model, title, description)
    return send_files(files, model, "model", title, description)


def _write_every_eval(
    opened: OpenedEntry, out: Path, evaluator: Evaluator, note: Callable[[str], None]
) -> dict[str, Path]:
    shared, place = opened.shared, place_of(opened.shared)
    files = {place.results: out / place.results}
    files[place.results].parent.mkdir(parents=True)
    samples = None
    reason = why_no_samples(shared) or ("there are only scores, no predictions" if opened.predictions is None else "")
    if not reason and opened.predictions is not None:
        samples = out / place.samples
        if write_samples(samples, place, shared, opened.predictions, opened.folder):
            files[place.samples] = samples
        else:
            samples, reason = None, "the licences of the texts do not allow publishing them"
    if reason:
        note(f"leave out single texts: {reason}")
    content = every_eval_results(shared, evaluator, datetime.now(UTC), samples)
    files[place.results].write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return files


def _read_entry(identity: str, place: str, folder: DatasetFolder) -> tuple[Scores, Card, pl.DataFrame, str]:
    """Read an entry of a store: its scores, card, predictions, and when it was sent."""
    if not ENTRY_ID.fullmatch(identity):
        cure = "see the board for ids, or leave out --store to share a file"
        raise InvalidInput(Problem("this is not the id of an entry", "ENTRY", f"'{identity[:80]}'", cure))
    store = open_store(place)
    entry = store.entry(identity)
    folder_of(entry.card, [folder])
    return store.scores(entry, folder), entry.card, store.checked_rows(identity, folder), entry.submitted_at


def _read_file(name: str, folder: DatasetFolder, card: Path | None) -> tuple[Scores, Card, pl.DataFrame | None]:
    """Read a prediction file and score it, or read scores; both with a card."""
    path = Path(name)
    if not path.is_file():
        cure = "give a file, or --store with the id of an entry"
        raise InvalidInput(Problem("there is no such file", name, cure=cure))
    own = read_card(card) if card is not None else _require_card(path)
    folder_of(own, [folder])
    if path.suffix == ".json":
        return _read_scores(path, folder), own, None
    frame = checked_predictions(path, folder, own.subset)
    return score_predictions(frame, folder, own.subset, encoder=token_encoder(folder)).scores, own, frame


def _require_card(path: Path) -> Card:
    card, problems = card_beside(path)
    if problems:
        raise InvalidInput(problems)
    if card is None:
        cure = "give --card, or write one with 'shiftbench card'"
        raise InvalidInput(Problem("results are shared with their card, and there is none", str(path), cure=cure))
    return card


def _read_scores(path: Path, folder: DatasetFolder) -> Scores:
    try:
        scores = Scores.model_validate_json(path.read_bytes())
    except pydantic.ValidationError as error:
        cure = "give what 'shiftbench score FILE --json' wrote of one file"
        raise InvalidInput(Problem("this file has no scores", str(path), first_line(error), cure)) from error
    if scores.data != folder.content_hash:
        what, cure = "the scores are of another version of the data", "give the --data that they were made with"
        raise InvalidInput(Problem(what, str(path), f"{scores.data[:12]}, not {folder.content_hash[:12]}", cure))
    if not folder.has_public_labels:
        raise InvalidInput(
            Problem(
                "scores on withheld labels are not shared",
                str(path),
                cure="share the released figures on the board instead",
            )
        )
    return scores


def _model_repository(card: Card) -> str | None:
    """Find the model's repository on the Hub in its card's link; None where it leads elsewhere."""
    if card.model_url is None or not card.model_url.startswith(_HUB):
        return None
    parts = card.model_url.removeprefix(_HUB).split("/")
    return "/".join(parts[:2]) if len(parts) >= 2 and parts[0] not in _NO_MODELS else None


def _check_url(url: str) -> str:
    adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(Url)
    try:
        return str(adapter.validate_python(url))
    except pydantic.ValidationError as error:
        found, cure = f"'{url}'", "give one, such as https://example.org/report"
        raise InvalidInput(Problem("this is not an https address", "--report", found, cure)) from error
