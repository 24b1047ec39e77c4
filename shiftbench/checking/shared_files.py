"""Implementation of ``shiftbench board share``: open an entry or a file, write its results in a format, send them."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pydantic

from shiftbench.builders.folder.hub_folder import check_repository, names_repository
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.hub_access import writing_to_hub
from shiftbench.checking.inputs import as_folder
from shiftbench.leaderboard.store import ENTRY_ID, find_folder, open_store
from shiftbench.scoring.interchange.eval_results import eval_results, tasks_left_out
from shiftbench.scoring.interchange.every_eval_ever import DATASTORE, every_eval_ever
from shiftbench.scoring.interchange.shared_entry import SharedEntry, provenance, scores_csv
from shiftbench.scoring.scores.score import checked_predictions, score_predictions, token_encoder
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.cards import Card, Url, card_beside, read_card
from shiftbench.validation.report import InvalidInput, Problem, first_line

log = logging.getLogger(__name__)

_HUB = "https://huggingface.co/"
_NO_MODELS = ("datasets", "spaces", "papers", "collections")


def open_shared(
    entry: str,
    data: str,
    *,
    store: str | None = None,
    card: Path | None = None,
    model: str | None = None,
    dataset: str | None = None,
    report: str | None = None,
) -> SharedEntry:
    """Open an entry by its id, or a file as an entry.

    Args:
        entry: id of an entry in the store; without a store, a prediction file or a file of scores.
        data: the dataset folder, or the repository of a published one.
        store: the store of the entry.
        card: card of a file; by default the one next to it.
        model: ``ORG/NAME``; by default from the card's ``model_url``.
        dataset: ``ORG/NAME``; by default ``data`` if it is a repository.
        report: https URL of a report on the results.
    Raises: InvalidInput if something is missing, invalid, or must not be shared.
    """
    published = dataset or (data if names_repository(data) else None)
    folder = as_folder(data)
    if not folder.has_public_labels:
        cure = "share the released scores on the board instead"
        raise InvalidInput(Problem("scores on withheld labels cannot be shared", str(folder.path), cure=cure))
    sent = None
    if store is not None:
        if card is not None:
            cure = "omit --card, or give the file instead of --store"
            raise InvalidInput(Problem("an entry has its own card", "--card", str(card), cure))
        scores, own, sent = _read_entry(entry, store, folder)
    else:
        scores, own = _read_file(entry, folder, card)
    repository = model or _model_repository(own)
    return SharedEntry(
        scores,
        own,
        folder.manifest,
        dataset=published and check_repository(published, "--dataset"),
        model=repository and check_repository(repository, "--model"),
        report=report and _check_url(report),
        evaluated_at=sent,
    )


def write_shared(
    shared: SharedEntry, to: str, out: Path, organization: str = "", relationship: str | None = None
) -> dict[str, Path]:
    """Write an entry's files.

    Args:
        shared: the entry.
        to: eval-results, every-eval-ever or csv.
        out: an empty folder.
        organization: provider of the results, for every-eval-ever.
        relationship: relationship of the organization to the model's developers, as in ``every_eval_ever``.
    Returns: the files, by path in the target repository.
    """
    if to == "every-eval-ever":
        texts = every_eval_ever(shared, organization, relationship)
    else:
        texts = {"eval-results": eval_results, "csv": scores_csv}[to](shared)
    files = {path: out / path for path in texts}
    for path, text in texts.items():
        files[path].parent.mkdir(parents=True, exist_ok=True)
        files[path].write_text(text, encoding="utf-8")
    for task in tasks_left_out(shared) if to == "eval-results" else ():
        log.info("skipping %s: the dataset's eval.yaml has only tasks with labels", task)
    return files


def send_shared(shared: SharedEntry, to: str, files: Mapping[str, Path], api: Any = None) -> str:
    """Send an entry's files as a pull request, to be merged or closed by the repository's owners.

    A failed request is not retried, because it may have succeeded although the response was lost.

    Args:
        shared: the entry.
        to: eval-results, for the model's repository, or every-eval-ever.
        files: by path in the repository.
        api: a ``huggingface_hub.HfApi``; by default one with the endpoint and token of the environment.
    Returns: the pull request's URL.
    Raises: InvalidInput if the Hub refuses, or cannot be reached.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    title = f"Scores under domain shift on {shared.manifest.title}"
    repository, kind = shared.model_repository(), "model"
    if to == "every-eval-ever":
        repository, kind, title = DATASTORE, "dataset", f"{title}: {shared.card.name}"
    with writing_to_hub(repository, "check whether the pull request exists; if not, run the command again"):
        done = (api or HfApi()).create_commit(
            repository,
            [CommitOperationAdd(path, str(file)) for path, file in files.items()],
            commit_message=title,
            commit_description=provenance(shared.scores),
            repo_type=kind,
            create_pr=True,
        )
    return str(done.pr_url)


def _read_entry(identity: str, place: str, folder: DatasetFolder) -> tuple[Scores, Card, str]:
    """Read an entry of a store: its scores, its card, and its submission time."""
    if not ENTRY_ID.fullmatch(identity):
        cure = "see the board for ids, or omit --store to share a file"
        raise InvalidInput(Problem("this is not the id of an entry", "ENTRY", f"'{identity[:80]}'", cure))
    store = open_store(place)
    entry = store.entry(identity)
    find_folder(entry.card, [folder])
    return store.scores(entry, folder), entry.card, entry.submitted_at


def _read_file(name: str, folder: DatasetFolder, card: Path | None) -> tuple[Scores, Card]:
    """Read a prediction file and score it, or read a file of scores; either needs a card."""
    path = Path(name)
    if not path.is_file():
        cure = "give a file, or --store with the id of an entry"
        raise InvalidInput(Problem("there is no such file", name, cure=cure))
    own, problems = card_beside(path) if card is None else (read_card(card), [])
    if problems:
        raise InvalidInput(problems)
    if own is None:
        cure = f"write {path.stem}.card.yaml next to it with 'shiftbench board card'"
        raise InvalidInput(Problem("results are shared with their card, which is missing", str(path), cure=cure))
    find_folder(own, [folder])
    if path.suffix == ".json":
        return _read_scores(path, folder), own
    frame = checked_predictions(path, folder, own.subset)
    return score_predictions(frame, folder, own.subset, encoder=token_encoder(folder)).scores, own


def _read_scores(path: Path, folder: DatasetFolder) -> Scores:
    try:
        scores = Scores.model_validate_json(path.read_bytes())
    except pydantic.ValidationError as error:
        cure = "give the output of 'shiftbench score FILE --json' for one file"
        raise InvalidInput(Problem("this is not a file of scores", str(path), first_line(error), cure)) from error
    if differs := scores.version.difference(folder.version, depths=True):
        what = f"the scores are for another version of the data, with different {differs}"
        found, cure = f"{scores.version}, not {folder.version}", "give the --data that they were computed on"
        raise InvalidInput(Problem(what, str(path), found, cure))
    return scores


def _model_repository(card: Card) -> str | None:
    """Return the model's Hub repository from its card's link; None if the link is elsewhere."""
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
        raise InvalidInput(Problem("this is not an https URL", "--report", found, cure)) from error
