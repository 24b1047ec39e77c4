"""Submission: check, score and store a file and its card; return a plain dict that lists every problem at once."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import polars as pl

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import Index, public_message
from shiftbench.leaderboard.board.boards import Board, boards_of, find_board
from shiftbench.leaderboard.release import TargetFeedback, feedback, nominate
from shiftbench.leaderboard.store import Entry, find_folder
from shiftbench.leaderboard.store.model_facts import HubFacts, read_hub_facts
from shiftbench.scoring.scores.coverage import is_ranked, missing_lines, unranked_lines
from shiftbench.scoring.scores.score import IN_THIS_PROCESS, FileChecks, token_encoder
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.cards import Card, parse_card
from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TaskKind

MAX_UPLOAD_BYTES = 256 * 1024 * 1024
MAX_GENERATED = 2_000
"""Maximum number of generated texts that are scored while the submitter waits."""
MAX_PROBLEMS = 100
"""Maximum number of problems listed in a response; the others are only counted."""
HEADLINES = ("mean_ss", "mean_st", "average_drop", "worst_sd", "worst_td")
"""Scores of a task's summary previewed in a response, each with its interval."""

Sender = Callable[[], str]
"""A function that returns the submitter of a request; it raises InvalidInput if the server does not know them."""


class SubmissionAnswer(TypedDict):
    """The response to a check, a submission or a withdrawal, as plain JSON.

    ``new``: whether the entry was added now. ``note``: further information, or empty. ``summary`` holds fractions, and
    is empty unless ``ok`` and scored; on withheld labels its ``feedback`` lists the feedback shown to the submitter.
    """

    ok: bool
    entry: str | None
    new: bool
    problems: list[str]
    note: str
    summary: dict[str, Any]


def check(
    index: Index,
    file: str | Path | PredictionInput | None,
    card_text: str,
    checks: FileChecks = IN_THIS_PROCESS,
    *,
    validation: str | Path | PredictionInput | None = None,
    board: str | None = None,
) -> SubmissionAnswer:
    """Check a submission without storing it, and preview its scores if the labels are public.

    Files are None if not sent; a server passes ``checks`` that run in another process. Problems are in the response.
    A ``board`` name replaces the card's ``data`` and ``subset``; the file must then have predictions of that task.
    """

    def score(sent: _Sent) -> SubmissionAnswer:
        path, card, held_out, checks = sent
        folder = find_folder(card, index.folders)
        frame = checks.predictions(path, folder, card.subset)
        if held_out is not None:
            checks.held_out(held_out, frame, folder)
        if not folder.has_public_labels:
            note = (
                "The test labels are withheld: after submission you receive one score per target, and the number of "
                "such scores is limited."
            )
            return _accepted(note=note)
        if is_slow_to_score(frame, folder):
            note = "Scoring generated text takes minutes; the scores appear on the board some time after submission."
            return _accepted(note=note)
        return _accepted(checks.scores(frame, folder, card.subset))

    return _answer_upload(index, (file, validation), card_text, score, checks, board)


def submit(
    index: Index,
    file: str | Path | PredictionInput | None,
    card_text: str,
    *,
    sender: Sender,
    daily_quota: int | None,
    checks: FileChecks = IN_THIS_PROCESS,
    validation: str | Path | PredictionInput | None = None,
    board: str | None = None,
) -> SubmissionAnswer:
    """Check, score and store a submission; the submitter's identity is checked before the file is read.

    Files, card and board are as for ``check``. ``sender`` returns the submitter or raises InvalidInput.
    ``daily_quota`` is the number of entries allowed per UTC day; None is unlimited.
    """
    try:
        submitter = sender()
    except InvalidInput as error:
        return refusal_answer(index, error.problems)

    def refused(problems: InvalidInput) -> None:
        index.store.note_refusal(submitter, problems)

    def store_entry(sent: _Sent) -> SubmissionAnswer:
        path, card, held_out, checks = sent
        folder = find_folder(card, index.folders)
        unknown: list[str] = []

        def ask_hub(card: Card) -> HubFacts | None:
            try:
                return read_hub_facts(card)
            except InvalidInput as error:  # the card's facts suffice, and the sender is told
                unknown.extend(
                    f"Facts about the model are taken from the card: {problem}." for problem in error.problems
                )
                return None

        entry, new = index.store.submit(
            path,
            card,
            index.folders,
            submitter,
            daily_quota=daily_quota,
            score=lambda rows: not (index.background and is_slow_to_score(rows, folder)),
            checks=checks,
            validation=held_out,
            ask_hub=ask_hub,
        )
        index.refresh()
        if not folder.has_public_labels:
            return _feedback_answer(entry, folder, feedback(index.store, entry, folder), new=new)
        if entry.id in index.waiting():
            note = (
                "The entry is stored. Scoring generated text takes minutes; the entry appears on the board afterwards."
            )
            return _accepted(entry=entry.id, new=new, note=" ".join([note, *unknown]))
        copies = (
            f"{task}: the same predictions as entry {first}, which is shown on the board."
            for task, first in index.originals(entry.id).items()
        )
        note = " ".join([*copies, *unknown])
        return _accepted(index.scores(entry.id), entry.id, new=new, note=note, boards=index.boards())

    return _answer_upload(index, (file, validation), card_text, store_entry, checks, board, refused)


def boards_to_submit_to(folders: Sequence[DatasetFolder]) -> list[Board]:
    """List the boards that accept a file, including those of subsets without any entry."""
    subsets = {
        (folder.content_hash, name)
        for folder in folders
        for info in folder.manifest.tasks.values()
        for name in info.subsets
    }
    return boards_of(folders, subsets)


def nominate_entry(index: Index, identity: str, task: str, *, sender: Sender) -> SubmissionAnswer:
    """Nominate an entry for the next round; only its submitter may."""
    try:
        tasks = nominate(index.store, identity.strip(), sender(), index.folders, task.strip())
    except InvalidInput as error:
        return refusal_answer(index, error.problems)
    note = (
        f"Entry {identity.strip()} is nominated for {', '.join(tasks)}: the next round compares it with the other "
        "nominated entries."
    )
    return _accepted(note=note)


def is_slow_to_score(predictions: pl.DataFrame, folder: DatasetFolder) -> bool:
    """Return whether scoring takes minutes, as BERTScore does on many generated texts."""
    if token_encoder(folder) is None:
        return False
    generated = [name for name, info in folder.manifest.tasks.items() if info.kind is TaskKind.GENERATION]
    return predictions.filter(pl.col("task").is_in(generated)).height > MAX_GENERATED


def withdraw(index: Index, identity: str, *, sender: Sender) -> SubmissionAnswer:
    """Withdraw an entry from the boards; only its submitter may. Whitespace around the id is ignored."""
    try:
        index.store.withdraw(identity.strip(), sender())
    except InvalidInput as error:
        return refusal_answer(index, error.problems)
    index.refresh()
    return _accepted(note=f"Entry {identity.strip()} is withdrawn.")


def _answer_upload(
    index: Index,
    files: tuple[str | Path | PredictionInput | None, str | Path | PredictionInput | None],
    card_text: str,
    score: Callable[["_Sent"], SubmissionAnswer],
    checks: FileChecks,
    board: str | None,
    refused: Callable[[InvalidInput], None] = lambda _: None,
) -> SubmissionAnswer:
    """Check an upload and return the result of ``score``, or the list of problems.

    ``files`` are the predictions and, if sent, the validation predictions. ``refused`` gets the problems, if any.
    """
    problems: list[Problem] = []
    file, more = files
    path, held_out = _file(file, problems), _file(more, problems) if more else None
    chosen = _board(index, board, problems)
    card = _card(index, card_text, problems, chosen)
    if chosen is not None:
        checks = _OfTask(checks, chosen.task)
    try:
        if path is not None and card is not None and not problems:
            return score(_Sent(path, card, held_out, checks))
        if path is not None and chosen is not None:
            checks.predictions(path, chosen.folder, chosen.subset)
        elif path is not None:
            _check_without_card(index, path, checks)
    except InvalidInput as error:
        problems += error.problems
    refused(InvalidInput(problems))
    return refusal_answer(index, problems, path, held_out)


def _check_without_card(index: Index, file: PredictionInput, checks: FileChecks) -> None:
    """Check a file whose card is invalid; the dataset is found by the file's first id."""
    benchmark = checks.benchmark(file.path)
    same = [folder for folder in index.folders if folder.manifest.benchmark == benchmark]
    if len(same) == 1:
        checks.predictions(file, same[0])


def _accepted(
    scores: Scores | None = None,
    entry: str | None = None,
    *,
    new: bool = False,
    note: str = "",
    boards: Sequence[Board] = (),
) -> SubmissionAnswer:
    summary = submission_summary(scores, boards) if scores else {}
    return {"ok": True, "entry": entry, "new": new, "problems": [], "note": note, "summary": summary}


def _feedback_answer(
    entry: Entry, folder: DatasetFolder, feedback_on_targets: Sequence[TargetFeedback], *, new: bool
) -> SubmissionAnswer:
    """Return the feedback allowed for an entry on withheld labels (see ``shiftbench.leaderboard.release``)."""
    facts = {"benchmark": folder.manifest.benchmark, "data": folder.content_hash, "settings": folder.version.settings}
    facts["subset"] = entry.card.subset
    note = "Nominate the entry to rank it in the next round."
    answer = _accepted(entry=entry.id, new=new, note=note)
    return {**answer, "summary": {**facts, "feedback": [asdict(each) for each in feedback_on_targets]}}


def refusal_answer(index: Index, problems: list[Problem], *files: PredictionInput | None) -> SubmissionAnswer:
    """Return the response that lists problems; server paths are replaced by the names that the submitter used."""
    names = {**index.names(), **{str(file): file.path.name for file in files if file}}
    listed = [public_message(problem, names) for problem in problems[:MAX_PROBLEMS]]
    if len(problems) > MAX_PROBLEMS:
        listed.append(f"and {len(problems) - MAX_PROBLEMS:,} more problems")
    return {"ok": False, "entry": None, "new": False, "problems": listed, "note": "", "summary": {}}


def _file(file: str | Path | PredictionInput | None, problems: list[Problem]) -> PredictionInput | None:
    if not file:
        cure = "choose a Parquet, JSON lines or CSV file"
        problems.append(Problem("there is no prediction file", "submission", cure=cure))
        return None
    given = PredictionInput.of(file)
    path = given.path
    if not path.is_file():
        problems.append(Problem("there is no prediction file", path.name, cure="send it again"))
        return None
    size = path.stat().st_size
    if size > MAX_UPLOAD_BYTES:
        cure = f"the limit is {MAX_UPLOAD_BYTES // 2**20} MiB; Parquet is the most compact format"
        problems.append(Problem("the file is too large", path.name, f"{size:,} bytes", cure))
        return None
    return given


class _Sent(NamedTuple):
    """The parts of a submission, each valid by itself, and the checker of its files."""

    predictions: PredictionInput
    card: Card
    validation: PredictionInput | None
    checks: FileChecks


class _OfTask(FileChecks):
    """File checks that also reject a file without predictions for a given task."""

    def __init__(self, checks: FileChecks, task: str) -> None:
        self._checks, self._task = checks, task
        self.validation = checks.validation  # type: ignore[method-assign]
        self.scores = checks.scores  # type: ignore[method-assign]

    def predictions(self, path: Path | PredictionInput, folder: DatasetFolder, subset: str = "all") -> pl.DataFrame:
        """Read and check a file, and require predictions of the task."""
        frame = self._checks.predictions(path, folder, subset)
        tasks = frame["task"].unique().sort().to_list()
        if self._task not in tasks:
            what, cure = f"the file has no predictions of the chosen task '{self._task}'", "choose the task of the file"
            raise InvalidInput(Problem(what, str(PredictionInput.of(path).path), ", ".join(tasks), cure))
        return frame


def _board(index: Index, name: str | None, problems: list[Problem]) -> Board | None:
    try:
        return find_board(name, boards_to_submit_to(index.folders)) if name else None
    except InvalidInput as error:
        problems += error.problems
        return None


def _card(index: Index, text: str, problems: list[Problem], board: Board | None) -> Card | None:
    if not text.strip():
        cure = "paste the card that was written with the predictions, or load its file"
        problems.append(Problem("there is no card", "card", cure=cure))
        return None
    try:
        card = parse_card(
            text, given={} if board is None else {"data": board.folder.content_hash, "subset": board.subset}
        )
        if board is not None and (card.data, card.subset) != board.key[:2]:
            what, cure = (
                f"the card is for different data than the board '{board.name}'",
                "choose the card's board, or none",
            )
            raise InvalidInput(Problem(what, "card", f"{card.version}, subset {card.subset}", cure))
        find_folder(card, index.folders)
    except InvalidInput as error:
        problems += error.problems
        return None
    return card


def submission_summary(scores: Scores, boards: Sequence[Board] = ()) -> dict[str, Any]:
    """Build the preview: each task's headline scores as fractions, its board, and what is missing.

    Returns: plain JSON. For each task, ``board`` is the name of its board (null if none), and ``why_unranked`` lists
    what keeps it from being ranked there.
    """
    names = {board.key: board.name for board in boards}
    return {
        "benchmark": scores.benchmark,
        "data": scores.data,
        "settings": scores.settings,
        "subset": scores.subset,
        "tasks": [
            {
                "task": task.task,
                "metric": task.metric,
                "board": names.get((scores.data, scores.subset, task.task)),
                "complete": is_ranked(task),
                "why_unranked": [] if is_ranked(task) else unranked_lines(scores, task),
                "n_shifts": task.summary.n_shifts,
                **{name: getattr(task.summary, name).model_dump() for name in HEADLINES},
                "unparsed": task.summary.unparsed,
            }
            for task in scores.tasks
        ],
        "missing": missing_lines(scores),
    }
