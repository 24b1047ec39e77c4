"""Read the entries to analyse from prediction files and a store, each with its board."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board.boards import boards_of
from shiftbench.leaderboard.store import LOCAL_SUBMITTER, Store, find_folder, has_folder
from shiftbench.leaderboard.store.entries import entry_id, stored_rows
from shiftbench.scoring.papers.analysis.entries import Analysed, Result, join_boards, n_entries
from shiftbench.scoring.scores.score import checked_predictions, score_predictions, token_encoder
from shiftbench.validation.cards import Card, find_card, read_card
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem


def read_entries(
    files: Sequence[Path], store: Store | None, folders: Sequence[DatasetFolder]
) -> tuple[list[Analysed], list[str]]:
    """Read and score entries of prediction files and a store; an entry found in both is used once.

    Scores already in the store are reused.

    Args:
        files: prediction files, each with its card next to it (``preds.card.yaml``).
        store: a store, or None for only the files.
        folders: the datasets.
    Returns: the entries, the store's first, and messages about excluded entries.
    Raises: InvalidInput with every problem of every file, before any is scored; or if there is no entry.
    """
    stored = store.entries() if store else []
    known = [entry for entry in stored if has_folder(entry.card, folders)]
    here = [entry for entry in known if find_folder(entry.card, folders).has_public_labels]
    why = {"for other data": len(stored) - len(known), "on withheld labels": len(known) - len(here)}
    left_out = [f"{n_entries(number)} of the store: {reason}" for reason, number in why.items() if number]
    left_out += [f"entry {identity}: {reason}" for identity, reason in (store.unreadable() if store else {}).items()]
    if store and not stored:
        left_out.append("the store has no entries")
    sent = _checked_files(files, folders, {entry.id for entry in here})
    bar = progress(total=len(here) + len(sent), desc="scoring", unit=" entries")
    entries = []
    for entry in here:
        assert store is not None
        folder = find_folder(entry.card, folders)
        rows = partial(checked_predictions, store.predictions(entry), folder, entry.card.subset)
        entries.append(Analysed(entry.id, entry.card, folder, store.scores(entry, folder), rows))
        bar.update()
    for identity, (path, card, folder) in sent.items():
        frame = checked_predictions(path, folder, card.subset)
        scored = score_predictions(frame, folder, card.subset, encoder=token_encoder(folder))
        again = partial(checked_predictions, path, folder, card.subset)
        entries.append(Analysed(identity, card, folder, scored.scores, again))
        bar.update()
    bar.close()
    if not entries:
        cure = "give prediction files, or a store with entries for these datasets"
        raise InvalidInput(Problem("there is no entry to analyse", "analyse", "; ".join(left_out), cure))
    return entries, left_out


def _checked_files(
    files: Sequence[Path], folders: Sequence[DatasetFolder], known: set[str]
) -> dict[str, tuple[Path, Card, DatasetFolder]]:
    """Check every file, and return the entries that are not in ``known``, by the id a local store would assign."""
    by_id: dict[str, tuple[Path, Card, DatasetFolder]] = {}
    problems: list[Problem] = []
    for path in progress(files, desc="checking", unit=" files"):
        try:
            card = read_card(find_card(path))
            folder = find_folder(card, folders)
            folder.refuse_withheld()
            frame = checked_predictions(path, folder, card.subset)
        except InvalidInput as error:
            problems += error.problems
            continue
        identity = entry_id(LOCAL_SUBMITTER, card, stored_rows(frame))
        if identity not in known:
            by_id.setdefault(identity, (path, card, folder))
    if problems:
        raise InvalidInput(problems)
    return by_id


def find_results(entries: Sequence[Analysed], folders: Sequence[DatasetFolder]) -> list[Result]:
    """Join entries with the boards of their datasets (see ``join_boards``).

    Returns: a result for each entry and task that has a board.
    """
    used = {(entry.card.data, entry.card.subset) for entry in entries}
    return join_boards(entries, {board.key: board.name for board in boards_of(folders, used)})
