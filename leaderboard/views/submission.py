"""Submitting: a file and a card's text in, a plain answer out, every problem listed at once."""

import ipaddress
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict
from urllib.parse import urlsplit

from leaderboard.scores import Scores
from leaderboard.scoring import score_file, token_encoder
from leaderboard.store import LOCAL_SUBMITTER, folder_of
from leaderboard.views.board import missing_lines
from leaderboard.views.listing import Catalogue, say
from validation.cards import MAX_CARD_BYTES, Card, parse_card
from validation.prediction_files import read_predictions
from validation.report import InvalidInput, Problem

MAX_UPLOAD_BYTES = 256 * 1024 * 1024
MAX_PROBLEMS = 100
"""As many problems as an answer lists; the rest are counted."""
HEADLINES = ("mean_ss", "mean_st", "average_drop", "worst_sd", "worst_td")
"""Figures of a task's summary that an answer previews, each with its interval."""
PROXY_HEADERS = ("x-forwarded-for", "x-forwarded-host", "x-real-ip", "forwarded")


class Answer(TypedDict):
    """What a check or a submission answers; plain JSON. ``summary`` holds fractions, and is empty unless ``ok``."""

    ok: bool
    entry: str | None
    new: bool
    problems: list[str]
    summary: dict[str, Any]


def check(catalogue: Catalogue, file: str | None, card_text: str) -> Answer:
    """Check and score a submission without keeping it."""

    def score(path: Path, card: Card) -> tuple[str | None, bool, Scores]:
        folder = folder_of(card, catalogue.folders)
        return None, False, score_file(path, folder, card.subset, encoder=token_encoder(folder))

    return _answer(catalogue, file, card_text, score)


def submit(catalogue: Catalogue, file: str | None, card_text: str, *, submitter: str | None) -> Answer:
    """Check, score and keep a submission; a ``submitter`` of None is somebody this server does not know."""
    if submitter is None:
        refusal = Problem(
            "this server takes submissions from its own machine only",
            "submit",
            "a request from elsewhere",
            "open the page on the machine that runs 'shiftbench serve', or use 'shiftbench submit' there",
        )
        return _refused([str(refusal)])

    def keep(path: Path, card: Card) -> tuple[str | None, bool, Scores]:
        entry, new = catalogue.store.submit(path, card, catalogue.folders, submitter)
        return entry.id, new, catalogue.store.scores(entry, folder_of(card, catalogue.folders))

    return _answer(catalogue, file, card_text, keep)


def local_submitter(client_host: str | None, headers: Mapping[str, str]) -> str | None:
    """Tell who sends a request without a token: the machine's own user, or nobody known (None).

    The address must be a loopback one and no proxy may stand between. Host and origin must be loopback names too,
    or a web page elsewhere could have the visitor's browser submit in their name.
    """
    if client_host is None or not _is_loopback(client_host) or any(name in headers for name in PROXY_HEADERS):
        return None
    named = [urlsplit(f"//{headers['host']}").hostname] if "host" in headers else []
    if "origin" in headers:
        named.append(urlsplit(headers["origin"]).hostname)
    return LOCAL_SUBMITTER if all(name is not None and _is_loopback(name) for name in named) else None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _answer(
    catalogue: Catalogue,
    file: str | None,
    card_text: str,
    score: Callable[[Path, Card], tuple[str | None, bool, Scores]],
) -> Answer:
    problems: list[Problem] = []
    path = _file(file, problems)
    card = _card(catalogue, card_text, problems)
    names = {**catalogue.names(), **({str(path): path.name} if path else {})}
    if path is not None and card is not None:
        try:
            entry, new, scores = score(path, card)
        except InvalidInput as error:
            problems += error.problems
        else:
            return {"ok": True, "entry": entry, "new": new, "problems": [], "summary": _summary(scores)}
    elif path is not None:
        # Without a card it is unknown which ids are wanted, but the file's own faults can be told.
        try:
            read_predictions(path)
        except InvalidInput as error:
            problems += error.problems
    return _refused([say(problem, names) for problem in problems])


def _refused(problems: list[str]) -> Answer:
    listed = problems[:MAX_PROBLEMS]
    if len(problems) > MAX_PROBLEMS:
        listed.append(f"and {len(problems) - MAX_PROBLEMS:,} more problems")
    return {"ok": False, "entry": None, "new": False, "problems": listed, "summary": {}}


def _file(file: str | None, problems: list[Problem]) -> Path | None:
    if not file:
        cure = "choose the .parquet, .jsonl or .csv file that your program wrote"
        problems.append(Problem("there is no prediction file", "submission", cure=cure))
        return None
    path = Path(file)
    size = path.stat().st_size
    if size > MAX_UPLOAD_BYTES:
        cure = f"keep it under {MAX_UPLOAD_BYTES // 2**20} MiB; parquet is the smallest"
        problems.append(Problem("the file is too large", path.name, f"{size:,} bytes", cure))
        return None
    return path


def _card(catalogue: Catalogue, text: str, problems: list[Problem]) -> Card | None:
    if not text.strip():
        cure = "paste the card that was written beside the predictions, or load its file"
        problems.append(Problem("there is no card", "card", cure=cure))
        return None
    if len(text.encode()) > MAX_CARD_BYTES:
        problems.append(Problem("the card is too large", "card", f"{len(text):,} characters", "keep it under 64 KiB"))
        return None
    try:
        card = parse_card(text)
        folder_of(card, catalogue.folders)
    except InvalidInput as error:
        problems += error.problems
        return None
    return card


def _summary(scores: Scores) -> dict[str, Any]:
    """Give the preview: each task's headline figures as fractions, and what is missing."""
    return {
        "benchmark": scores.benchmark,
        "data": scores.data,
        "subset": scores.subset,
        "tasks": [
            {
                "task": task.task,
                "metric": task.metric,
                "complete": task.summary.complete,
                "n_shifts": task.summary.n_shifts,
                **{name: getattr(task.summary, name).model_dump() for name in HEADLINES},
                "unparsed": task.summary.unparsed,
            }
            for task in scores.tasks
        ],
        "missing": missing_lines(scores),
    }
