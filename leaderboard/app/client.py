"""Send predictions to a leaderboard: over HTTP, as the page's own form does, or directly into its store."""

import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shiftbench.builders.cache import recall_folder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.hub_access import reaching_hub
from shiftbench.leaderboard.board.boards import boards_of
from shiftbench.leaderboard.board.submission import submission_summary
from shiftbench.leaderboard.pages.addresses import GRADIO_PAGE, HOST, SUBMIT, board_address, entry_address
from shiftbench.leaderboard.store import find_folder, open_store
from shiftbench.leaderboard.store.hosting import Order
from shiftbench.leaderboard.store.model_facts import HubFacts, read_hub_facts
from shiftbench.scoring.reports.numbers import points
from shiftbench.validation.cards import Card
from shiftbench.validation.command_line import require
from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.report import InvalidInput, Problem, plural

log = logging.getLogger(__name__)

SECONDS_TO_ANSWER = 60
"""Timeout of requests: long enough for a server that has just started and still loads Gradio."""
_REASONS_SHOWN = 5


def is_url(to: str) -> bool:
    """Return whether ``to`` is a leaderboard's URL, rather than a store (a folder, or a repository on the Hub).

    Raises: InvalidInput for a malformed URL, for a store that is a file, and for a URL without the extra 'submit'
        installed.

    >>> is_url("http://127.0.0.1:7860"), is_url("build/store")
    (True, False)
    >>> is_url("localhost:7860")
    Traceback (most recent call last):
    shiftbench.validation.report.InvalidInput: --to: this is neither a URL nor a folder; found 'localhost:7860'; write http://localhost:7860
    """
    if to.startswith(("http://", "https://")):
        require("gradio_client", "submit")
        return True
    what = "this is neither a URL nor a folder"
    if to.startswith("hf://"):
        return False
    if "://" in to:
        raise InvalidInput(Problem(what, "--to", f"'{to}'", "write http://... or https://..."))
    if re.fullmatch(r"(\[[0-9a-fA-F:]+\]|[\w.-]*):\d+(/.*)?", to):
        host = to if not to.startswith(":") else f"127.0.0.1{to}"
        raise InvalidInput(Problem(what, "--to", f"'{to}'", f"write http://{host}"))
    if Path(to).exists() and not Path(to).is_dir():
        raise InvalidInput(Problem(what, "--to", f"the file '{to}'", "give a folder; it is created if necessary"))
    return False


def send(
    predictions: Path | PredictionInput,
    card: Card,
    to: str,
    folders: Sequence[DatasetFolder] = (),
    *,
    any_token: bool = False,
    validation: Path | None = None,
) -> dict[str, Any]:
    """Send a prediction file and its card to a leaderboard, over HTTP or directly into its store.

    Args:
        predictions: the prediction file.
        card: its card.
        to: the leaderboard's URL, its store's folder, or ``hf://datasets/ORG/NAME``.
        folders: only for a store: datasets that include the card's; default: the copy built on this machine.
        any_token: send the saved Hugging Face token even if it may write to repositories.
        validation: a file with predictions of the same models on validation rows.
    Returns: the entry's id as ``entry``, whether it is ``new``, and its ``summary``, as in the page's response.
    Raises: InvalidInput with every problem; nothing is stored then.
    """
    if is_url(to):
        return submit_to_url(to, predictions, card, any_token=any_token, validation=validation)
    available = folders or [built_here(card)]
    store = open_store(to)
    given = PredictionInput.of(predictions)
    held_out = None if validation is None else replace(given, path=validation)
    entry, new = store.submit(given, card, available, validation=held_out, ask_hub=_ask_hub)
    folder = find_folder(card, available)
    scores = store.scores(entry, folder) if folder.has_public_labels else None
    boards = boards_of([folder], [(folder.content_hash, card.subset)])
    return {"entry": entry.id, "new": new, "summary": submission_summary(scores, boards) if scores else {}}


def _ask_hub(card: Card) -> HubFacts | None:
    """Read the Hub's facts about the model; if the Hub is unreachable, log that the card's facts are used."""
    try:
        return read_hub_facts(card)
    except InvalidInput as error:
        log.warning("facts about the model are taken from the card: %s", error)
        return None


def built_here(card: Card) -> DatasetFolder:
    """Open the card's dataset; InvalidInput if it was not built on this machine."""
    known = recall_folder(card.version)
    if known is None:
        what = "the dataset of these predictions is not available on this machine"
        raise InvalidInput(Problem(what, "card", str(card.version), "give their dataset with --data"))
    return DatasetFolder.open(known)


def submit_to_url(
    url: str,
    predictions: Path | PredictionInput,
    card: Card,
    *,
    any_token: bool = False,
    validation: Path | None = None,
) -> dict[str, Any]:
    """Send a prediction file and its card to a leaderboard's URL.

    Leaderboards of earlier versions reject labels by index and predictions on validation rows.

    Args:
        url: the URL of the leaderboard or of its submit page.
        predictions: the prediction file.
        card: its card.
        any_token: as for ``send``.
        validation: as for ``send``.
    Returns: the response, a ``SubmissionAnswer``.
    Raises: InvalidInput with the problems that the page lists, or if the page cannot be reached.
    """
    given = PredictionInput.of(predictions)
    for path in (given.path, validation):
        if path is not None and not path.is_file():
            raise InvalidInput(Problem("there is no such prediction file", str(path), cure="check the path"))
    content: tuple[Any, ...] = (given.path, json.dumps(card.as_dict()))
    if given.labels_by_index or validation is not None:
        content = (*content, given.labels_by_index)
    if validation is not None:
        content = (*content, validation)
    return _ask(url, "submit", content, any_token=any_token)


def withdraw_at_url(url: str, entry: str, *, any_token: bool = False) -> dict[str, Any]:
    """Withdraw an entry (its id) from the leaderboard at a URL; only its submitter may.

    Returns: the response, a ``SubmissionAnswer``. Raises: InvalidInput with the problems in the response.
    """
    return _ask(url, "withdraw", (entry,), any_token=any_token)


def nominate_at_url(url: str, entry: str, task: str = "", *, any_token: bool = False) -> dict[str, Any]:
    """Nominate an entry (its id) for the next round, for one of its tasks or (empty) all; only its submitter may.

    Returns: the response, a ``SubmissionAnswer``. Raises: InvalidInput with the problems in the response.
    """
    return _ask(url, "nominate", (entry, task), any_token=any_token)


def act_at_url(url: str, order: Order) -> str:
    """Send a host's action to a server, which identifies the host by the saved token.

    Returns: a sentence that says what was done.
    Raises: InvalidInput if the action is rejected, or the server cannot be reached.
    """
    import httpx

    base = url.rstrip("/").removesuffix(HOST)
    token = token_for(base, any_token=False)
    headers = {"accept": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
    try:
        answer = httpx.post(f"{base}{HOST}", data={**order._asdict(), "confirm": "yes"}, headers=headers, timeout=120)
        content = answer.json()
    except (httpx.HTTPError, ValueError) as error:
        raise _no_answer(url, error) from error
    if not isinstance(content, dict) or not isinstance(content.get("problems"), list):
        cure = "a board without hosts in its configuration is moderated through its store: --to FOLDER"
        raise InvalidInput(Problem("this server cannot be moderated through its URL", url, cure=cure))
    if content["problems"]:
        raise InvalidInput(Problem(str(text), "leaderboard") for text in content["problems"])
    return str(content["done"])


def _ask(url: str, endpoint: str, content: tuple[Any, ...], *, any_token: bool) -> dict[str, Any]:
    """Call an endpoint and return its response; paths in ``content`` are uploaded as files."""
    import httpx
    from gradio_client import Client, handle_file
    from gradio_client.exceptions import AppError

    # Accept the URLs of the submit pages, too, as copied from a browser.
    url = url.rstrip("/").removesuffix(SUBMIT).removesuffix(GRADIO_PAGE)
    token = token_for(url, any_token=any_token)
    try:
        # False keeps Gradio from sending a saved token by itself.
        client = Client(
            url, token=token or False, verbose=False, download_files=False, httpx_kwargs={"timeout": SECONDS_TO_ANSWER}
        )
        sent = (handle_file(str(each)) if isinstance(each, Path) else each for each in content)
        answer = client.predict(*sent, api_name=f"/{endpoint}")
    except (httpx.HTTPError, AppError, ValueError, OSError) as error:
        raise _no_answer(url, error) from error
    if not isinstance(answer, dict) or not isinstance(answer.get("problems"), list):
        raise InvalidInput(Problem("unexpected response: is this a shiftbench leaderboard?", url, cure="check the URL"))
    if not answer.get("ok"):
        raise InvalidInput(Problem(str(text), "leaderboard") for text in answer["problems"])
    return answer


def _no_answer(url: str, error: Exception) -> InvalidInput:
    cure = "check that 'shiftbench serve' is running there and that the URL is correct"
    return InvalidInput(Problem("the leaderboard did not respond", url, str(error)[:200], cure))


def token_for(url: str, *, any_token: bool) -> str | None:
    """Return the saved Hugging Face token that identifies the submitter to a leaderboard; None to send no token.

    It is only sent over https or to this machine, and a token with write permission only if the user allows it: a
    leaderboard only needs to know the user's identity.

    Raises: InvalidInput for a token with write permission, or one that the Hub does not know.
    """
    from huggingface_hub import HfApi, get_token

    token = get_token()
    address = urlsplit(url)
    if token is None or not (address.scheme == "https" or address.hostname in ("127.0.0.1", "localhost", "::1")):
        return None
    if any_token or address.scheme != "https":
        return token
    with reaching_hub("the signed-in user", "sign in again with 'hf auth login', or unset HF_TOKEN"):
        account = HfApi(token=token).whoami()
    if _may_write(account.get("auth", {}).get("accessToken", {})):
        cure = "set HF_TOKEN to a read-only token (no permission is needed), or give --any-token"
        raise InvalidInput(
            Problem("this token has write access to your repositories", "HF_TOKEN", account["name"], cure)
        )
    return token


def _may_write(token: dict[str, Any]) -> bool:
    """Return whether a token may write, according to the Hub; a fine-grained token lists its permissions by scope.

    >>> _may_write({"role": "read"}), _may_write({"role": "write"})
    (False, True)
    >>> _may_write({"role": "fineGrained", "fineGrained": {"scoped": [{"permissions": ["repo.write"]}], "global": []}})
    True
    """
    fine = token.get("fineGrained") or {}
    lists = [fine.get("global") or [], *(scope.get("permissions") or [] for scope in fine.get("scoped") or [])]
    return token.get("role") == "write" or any("write" in str(name) for names in lists for name in names)


def answer_lines(answer: Mapping[str, Any], to: str, *, over_http: bool) -> Iterator[str]:
    """Format how to view an accepted entry; for each task the board and what is missing for a rank, or its feedback.

    Args:
        answer: what ``send`` returned.
        to: the leaderboard's URL or store, as given to ``send``.
        over_http: whether ``to`` is a URL.
    """
    base = to.rstrip("/").removesuffix(SUBMIT) if over_http else ""
    if over_http:
        yield f"entry page: {base}{entry_address(answer['entry'])}"
    else:
        yield f"to view it: shiftbench serve --data DIR --store {to}"
    for task in answer.get("summary", {}).get("tasks", []):
        if not task.get("board"):
            continue  # candidates and placebos, or a server of an earlier version
        board = f"{task['board']}: {base}{board_address(task['board'])}" if over_http else task["board"]
        if task["complete"]:
            yield f"ranked on the board {board}"
            continue
        why = task["why_unranked"]
        more = [f"and {len(why) - _REASONS_SHOWN:,} more"] if len(why) > _REASONS_SHOWN else []
        yield f"listed but not ranked on the board {board}"
        yield from (f"  missing: {line}" for line in [*why[:_REASONS_SHOWN], *more])
    yield from _feedback_lines(answer.get("summary", {}))
    if answer.get("note"):
        yield answer["note"]


def _feedback_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    """Format the feedback on withheld labels: for each target, the best score so far and the number of scores left.

    >>> told = {"task": "nli", "target": "news", "best": 0.83, "is_new": True, "looks_left": 1, "why_not": ""}
    >>> print(*_feedback_lines({"benchmark": "own", "feedback": [told]}))
    own/nli on news: best score so far 83 (this file); 1 more score this year
    """
    for each in summary.get("feedback", []):
        this = "this file" if each["is_new"] else f"this file: {each['why_not'] or 'not better by a step'}"
        best = "no score yet" if each["best"] is None else f"best score so far {points(each['best'], 0)}"
        left = plural(each["looks_left"], "more score")
        yield f"{summary['benchmark']}/{each['task']} on {each['target']}: {best} ({this}); {left} this year"
