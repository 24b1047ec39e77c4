"""The addresses of all pages: whatever links to one, or answers at one, has it from here."""

from collections.abc import Iterable, Sequence
from urllib.parse import urlencode

BOARD = "/"
ROWS = "/rows"
"""The rows of a board alone, which the page's script asks for."""
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
"""The address that ``SUBMIT`` had before; it leads there."""
GRADIO_PAGE = "/gradio"
"""The interface that users of a Space expect, beside the page at ``SUBMIT``."""
SIGN_IN = "/login/huggingface"
"""Where the server runs on a Space: it leads to Hugging Face's page, back to ``SIGNED_IN``, then to ``_target_url``."""
SIGNED_IN = "/login/callback"
SIGN_OUT = "/logout"
"""Gradio's button leads here; its own endpoint there would sign out whoever fetches it."""
FORECAST = "/forecast"
FORECAST_CSV = "/forecast.csv"
FORECAST_JSON = "/forecast.json"
DOMAINS = "/domains"
DATA = "/data"
ABOUT = "/about"
PICTURE = "/picture"
"""Followed by .svg or .png: a picture of a page as a file."""
EMBED = "/embed"
"""A page's picture in a frame on other pages."""
HOST = "/host"
"""The acts of the leaderboard's host."""
HEALTH = "/healthz"
STYLE_SHEET = "/static/page.css"
SCRIPT = "/static/page.js"

GRADIO = "/gradio_api"
"""What Gradio answers at, beside its page."""
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
"""Below ``GRADIO``, what its form and its clients need. Others fetch from addresses that a request names, write files
that nothing deletes, or pass the queue by."""
CLOSED = (f"{GRADIO}/call/v2", "/monitoring")
"""Of Gradio, for things that no page here has, though they begin like ones in ``OPEN``, or are elsewhere."""


def board_address(name: str) -> str:
    """Return the address of a board.

    >>> board_address("dr/nli:fewshot@0123abcd")
    '/?board=dr/nli:fewshot@0123abcd'
    """
    return with_query(BOARD, [("board", name)])


def entry_address(identity: str, task: str | None = None, more: Iterable[tuple[str, str]] = ()) -> str:
    """Return the address of an entry's page, below the leaderboard's own; without a task it shows the first.

    >>> entry_address("0123456789abcdef", "nli"), entry_address("0123456789abcdef", None, [("tab", "errors")])
    ('/entry?id=0123456789abcdef&task=nli', '/entry?id=0123456789abcdef&tab=errors')
    """
    return with_query(ENTRY, [("id", identity), *_task_pair(task), *more])


def compare_address(identities: Sequence[str], task: str | None = None) -> str:
    """Return the address of the page that compares entries; with one, it asks for the others.

    >>> compare_address(["0123456789abcdef", "fedcba9876543210"], "nli")
    '/compare?id=0123456789abcdef&id=fedcba9876543210&task=nli'
    """
    return with_query(COMPARE, [*(("id", identity) for identity in identities), *_task_pair(task)])


def scores_address(identity: str) -> str:
    """Return the address of an entry's scores as JSON."""
    return with_query(SCORES, [("id", identity)])


def predictions_address(identity: str) -> str:
    """Return the address of an entry's prediction file."""
    return with_query(PREDICTIONS, [("id", identity)])


def domains_address(board: str) -> str:
    """Return the address of a board's domains.

    >>> domains_address("dr/nli")
    '/domains?board=dr/nli'
    """
    return with_query(DOMAINS, [("board", board)])


def forecast_address(board: str | None = None, path: str = FORECAST) -> str:
    """Return the address of forecasts on a board, or on all boards; ``path`` may be that of a download.

    >>> forecast_address("dr/nli"), forecast_address()
    ('/forecast?board=dr/nli', '/forecast')
    """
    return with_query(path, [("board", board)] if board else [])


def data_address(task: str) -> str:
    """Return the address of a task's data page; the task is named as on that page.

    >>> data_address("dr/nli@0123abcd")
    '/data?task=dr/nli@0123abcd'
    """
    return with_query(DATA, [("task", task)])


def picture_address(kind: str, of: str, name: str = "") -> str:
    """Return the address of a picture of a page, as 'svg' or 'png'; without a name, of the one that stands for it.

    >>> picture_address("png", "/entry?id=0123456789abcdef", "depth")
    '/picture.png?of=/entry?id%3D0123456789abcdef&name=depth'
    """
    pairs = [("of", of), ("name", name)]
    return with_query(f"{PICTURE}.{kind}", [pair for pair in pairs if pair[1]])


def with_query(path: str, pairs: Iterable[tuple[str, str]]) -> str:
    """Return a path with a query, encoded; the path alone without pairs.

    The letters of board names stay as they are, so that a board has one address, which can be read.

    >>> with_query(BOARD, [("q", "a&b"), ("board", "dr/nli")]), with_query(BOARD, [])
    ('/?q=a%26b&board=dr/nli', '/')
    """
    query = urlencode(list(pairs), safe="/:@?")
    return f"{path}?{query}" if query else path


def _task_pair(task: str | None) -> list[tuple[str, str]]:
    return [("task", task)] if task else []
