"""Sending predictions to a leaderboard's page over HTTP, as the page's own form does."""

import json
import re
from pathlib import Path
from typing import Any

from validation.cards import Card
from validation.report import InvalidInput, Problem


def is_url(to: str) -> bool:
    """Tell a leaderboard's URL from a store folder.

    Raises: InvalidInput for what is meant as a URL but is none, and for a store that is a file.

    >>> is_url("http://127.0.0.1:7860"), is_url("build/store")
    (True, False)
    >>> is_url("localhost:7860")
    Traceback (most recent call last):
    validation.report.InvalidInput: --to: this is neither a URL nor a folder; found 'localhost:7860'; write http://localhost:7860
    """
    if to.startswith(("http://", "https://")):
        return True
    what = "this is neither a URL nor a folder"
    if "://" in to:
        raise InvalidInput(Problem(what, "--to", f"'{to}'", "write http://... or https://..."))
    if re.fullmatch(r"(\[[0-9a-fA-F:]+\]|[\w.-]*):\d+(/.*)?", to):
        host = to if not to.startswith(":") else f"127.0.0.1{to}"
        raise InvalidInput(Problem(what, "--to", f"'{to}'", f"write http://{host}"))
    if Path(to).exists() and not Path(to).is_dir():
        raise InvalidInput(Problem(what, "--to", f"the file '{to}'", "name a folder; it is made when it is not there"))
    return False


def submit_to_url(url: str, predictions: Path, card: Card) -> dict[str, Any]:
    """Send a prediction file and its card.

    Returns: the page's answer: entry, whether it is new, and its summary.
    Raises: InvalidInput with the problems that the page lists, or when the page cannot be reached.
    """
    if not predictions.is_file():
        raise InvalidInput(Problem("there is no such prediction file", str(predictions), cure="check the path"))
    import httpx
    from gradio_client import Client, handle_file

    try:
        client = Client(url, verbose=False)
        answer: dict[str, Any] = client.predict(
            handle_file(str(predictions)), json.dumps(card.as_dict()), api_name="/submit"
        )
    except (httpx.HTTPError, ValueError, OSError) as error:
        cure = "is 'shiftbench serve' running there, and is the address right?"
        raise InvalidInput(Problem("the leaderboard did not answer", url, str(error)[:200], cure)) from error
    if not answer["ok"]:
        raise InvalidInput(Problem(text, "leaderboard") for text in answer["problems"])
    return answer
