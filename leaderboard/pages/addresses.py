"""The URLs of all pages, defined only here: used by every link and every route."""

from collections.abc import Iterable, Sequence
from urllib.parse import urlencode

BOARD = "/"
ROWS = "/rows"
"""Only a board's rows, fetched by the page's script."""
BOARD_CSV = "/board.csv"
OVERALL_CSV = "/overall.csv"
ENTRY = "/entry"
SCORES = "/scores.json"
PREDICTIONS = "/predictions.parquet"
ALL_SCORES = "/scores.parquet"
ALL_PREDICTIONS = "/predictions.zip"
COMPARE = "/compare"
SUBMIT = "/submit"
PLAIN_SUBMIT = "/submit-plain"
"""Former path of ``SUBMIT``, which redirects there."""
GRADIO_PAGE = "/gradio"
"""Gradio's interface, which users of a Space expect, in addition to the page at ``SUBMIT``."""
SIGN_IN = "/login/huggingface"
"""On a Space: redirects to Hugging Face's page, back to ``SIGNED_IN``, then to ``_target_url``."""
SIGNED_IN = "/login/callback"
SIGN_OUT = "/logout"
"""Gradio's button links here; Gradio's own endpoint would sign out whoever fetches it."""
FORECAST = "/forecast"
FORECAST_CSV = "/forecast.csv"
FORECAST_JSON = "/forecast.json"
DOMAINS = "/domains"
DATA = "/data"
ABOUT = "/about"
PICTURE = "/picture"
"""Followed by .svg or .png: a picture of a page, as a file."""
EMBED = "/embed"
"""A page's picture, for frames on other sites."""
HOST = "/host"
"""Form for the actions of the leaderboard's host."""
HEALTH = "/healthz"
STYLE_SHEET = "/static/page.css"
SCRIPT = "/static/page.js"

GRADIO = "/gradio_api"
"""Root of Gradio's API."""
OPENAPI = f"{GRADIO}/openapi.json"
MCP = f"{GRADIO}/mcp"
UPLOAD = f"{GRADIO}/upload"
UPLOAD_PROGRESS = f"{GRADIO}/upload_progress"
OPEN = tuple(
    f"{GRADIO}/{name}"
    for name in (
        *("app_id", "call/", "cancel", "heartbeat/", "info", "login_check", "mcp", "openapi.json", "queue/", "reset"),
        *("startup-events", "theme.css", "upload", "user"),
    )
)
"""Paths below ``GRADIO`` that its form and clients need. Others fetch URLs from requests, write files that nothing
deletes, or bypass the queue."""
CLOSED = (f"{GRADIO}/call/v2", "/monitoring")
"""Paths of unused Gradio features that match a prefix in ``OPEN``, or are outside ``GRADIO``."""


def board_address(name: str) -> str:
    """Return the URL of a board.

    >>> board_address("dr/nli:fewshot@0123abcd")
    '/?board=dr/nli:fewshot@0123abcd'
    """
    return with_query(BOARD, [("board", name)])


def entry_address(identity: str, task: str | None = None, more: Iterable[tuple[str, str]] = ()) -> str:
    """Return the URL of an entry's page, relative to the server; without a task it shows the first one.

    >>> entry_address("0123456789abcdef", "nli"), entry_address("0123456789abcdef", None, [("tab", "errors")])
    ('/entry?id=0123456789abcdef&task=nli', '/entry?id=0123456789abcdef&tab=errors')
    """
    return with_query(ENTRY, [("id", identity), *_task_pair(task), *more])


def compare_address(identities: Sequence[str], task: str | None = None) -> str:
    """Return the URL of the page that compares entries; with a single entry, the page asks for more.

    >>> compare_address(["0123456789abcdef", "fedcba9876543210"], "nli")
    '/compare?id=0123456789abcdef&id=fedcba9876543210&task=nli'
    """
    return with_query(COMPARE, [*(("id", identity) for identity in identities), *_task_pair(task)])


def address_of(path: str, **query: str) -> str:
    """Return the URL of a path with a query; parameters without a value are left out.

    >>> address_of(DATA, task="dr/nli@0123abcd"), address_of(FORECAST, board="")
    ('/data?task=dr/nli@0123abcd', '/forecast')
    """
    return with_query(path, [pair for pair in query.items() if pair[1]])


def picture_address(kind: str, of: str, name: str = "") -> str:
    """Return the URL of a page's picture, as 'svg' or 'png'; without a name, of its main picture.

    >>> picture_address("png", "/entry?id=0123456789abcdef", "depth")
    '/picture.png?of=/entry?id%3D0123456789abcdef&name=depth'
    """
    return address_of(f"{PICTURE}.{kind}", of=of, name=name)


def with_query(path: str, pairs: Iterable[tuple[str, str]]) -> str:
    """Return a path with an encoded query, or only the path if there are no pairs.

    Characters of board names are not escaped, so that a board has a single, readable URL.

    >>> with_query(BOARD, [("q", "a&b"), ("board", "dr/nli")]), with_query(BOARD, [])
    ('/?q=a%26b&board=dr/nli', '/')
    """
    query = urlencode(list(pairs), safe="/:@?")
    return f"{path}?{query}" if query else path


def _task_pair(task: str | None) -> list[tuple[str, str]]:
    return [("task", task)] if task else []
