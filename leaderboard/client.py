"""Sending predictions to a leaderboard's page over HTTP, as the page's own form does."""

import json
from pathlib import Path
from typing import Any

from validation.cards import Card
from validation.report import InvalidInput, Problem


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
