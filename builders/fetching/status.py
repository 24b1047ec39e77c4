"""Check all download URLs of all sources: ``python -m shiftbench.builders.fetching.status OUT``.

Run weekly on a machine with internet access: it writes a table to OUT.md and OUT.json, and exits with code 1 if a URL
is gone. No file is downloaded: only the size is requested, or one byte if the server does not report the size.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from shiftbench.builders.fetching.hub import find_on_hub, is_on_hub
from shiftbench.builders.fetching.transfer import open_client
from shiftbench.builders.hub_access import cause, is_transient
from shiftbench.builders.specs.sources import SourceSpec, read_sources
from shiftbench.validation.report import InvalidInput, first_line

if TYPE_CHECKING:
    import httpx2

State = Literal["alive", "moved", "form", "gone", "no answer"]
"""``moved``: permanent redirect; ``form``: a web page or login instead of the file; ``no answer``: temporary server
error, the state of the file is unknown."""

_AT_A_TIME = 8
_FORMS, _FOR_NOW = (401, 403), (408, 425, 429, 500, 502, 503, 504)
"""HTTP status codes of a login or form, and of temporary errors."""


class AddressAnswer(NamedTuple):
    """Result of checking a URL: state, size in bytes if reported, and details."""

    state: State
    size: int | None = None
    found: str = ""


class Asked(NamedTuple):
    """A row of the table: date, source, URL, recorded size and result."""

    day: date
    source: str
    address: str
    recorded_size: int | None
    answer: AddressAnswer

    @property
    def is_other_size(self) -> bool:
        """Return whether the size differs from the recorded one."""
        return None not in (self.recorded_size, self.answer.size) and self.recorded_size != self.answer.size


def check_addresses(sources: Iterable[SourceSpec], client: "httpx2.Client", day: date) -> list[Asked]:
    """Check every URL of the sources once, several in parallel.

    Args:
        sources: the sources; those without downloads are skipped.
        client: see ``open_client``.
        day: today's date.
    Returns: one row per URL, in the order of the sources.
    """
    named = [(source.slug, url, each.size) for source in sources for each in source.downloads for url in each.urls]
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        answers = pool.map(lambda url: find_answer(client, url), [url for _, url, _ in named])
        return [Asked(day, slug, url, size, found) for (slug, url, size), found in zip(named, answers, strict=True)]


def find_answer(client: "httpx2.Client", address: str) -> AddressAnswer:
    """Check a URL by its headers or, if these lack the size, by requesting its first byte.

    Args:
        client: see ``open_client``.
        address: a URL of ``Download.urls``.
    """
    import httpx2

    if is_on_hub(address):
        return _ask_hub(address)
    try:
        answer = _read_answer(client.head(address))
        if answer.state in ("alive", "moved") and answer.size is not None:
            return answer
        with client.stream("GET", address, headers={"Range": "bytes=0-0"}) as response:
            return _read_answer(response)
    except (httpx2.ConnectError, httpx2.UnsupportedProtocol) as error:
        return AddressAnswer("gone", found=f"no connection ({first_line(error)})")
    except httpx2.TransportError as error:
        return AddressAnswer("no answer", found=first_line(error))
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        return AddressAnswer("gone", found=first_line(error))


def _ask_hub(address: str) -> AddressAnswer:
    try:
        sizes = [file.size for file in find_on_hub(address, ()).files]
        return AddressAnswer("alive", None if None in sizes else sum(filter(None, sizes)))
    except InvalidInput as error:
        if is_transient(error):
            return AddressAnswer("no answer", found=error.problems[0].found)
        status = getattr(getattr(cause(error), "response", None), "status_code", None)
        return AddressAnswer("form" if status in _FORMS else "gone", found=error.problems[0].found)


def _read_answer(response: "httpx2.Response") -> AddressAnswer:
    status, headers = response.status_code, response.headers
    if status in _FOR_NOW:
        return AddressAnswer("no answer", found=f"HTTP {status}")
    if status in _FORMS:
        return AddressAnswer("form", found=f"HTTP {status}")
    if status >= 400:
        return AddressAnswer("gone", found=f"HTTP {status}")
    asked, last = response.history[0].url if response.history else response.url, response.url
    if headers.get("Content-Type", "").startswith("text/html") and not last.path.endswith((".html", ".htm")):
        return AddressAnswer("form", found="a web page")
    ranged = headers.get("Content-Range", "").rpartition("/")[2]
    length = ranged if status == 206 else headers.get("Content-Length", "")
    size = int(length) if length.isdigit() else None
    if asked != last and any(each.status_code in (301, 308) for each in response.history):
        return AddressAnswer("moved", size, f"to {last}")
    return AddressAnswer("alive", size)


def table_lines(rows: Sequence[Asked]) -> list[str]:
    """List the lines of the Markdown table, those that need attention first."""
    counts = Counter(row.answer.state for row in rows)
    others = sum(row.is_other_size for row in rows)
    states = ", ".join(f"{n} {state}" for state, n in counts.most_common())
    lines = [
        f"{len(rows)} URLs: {states}; {others} with a different size than recorded",
        "",
        "| date | source | URL | state | bytes | recorded bytes | details |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda row: (row.answer.state == "alive" and not row.is_other_size, row.source)):
        sizes = ["" if size is None else f"{size:,}" for size in (row.answer.size, row.recorded_size)]
        cells = (str(row.day), row.source, row.address, row.answer.state, *sizes, row.answer.found)
        lines.append(f"| {' | '.join(cell.replace('|', '%7C') for cell in cells)} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Check all URLs, write the table, and return the exit code: 1 if a URL is gone, or none responds."""
    parser = argparse.ArgumentParser(prog="python -m shiftbench.builders.fetching.status", description=__doc__)
    parser.add_argument("out", metavar="OUT", type=Path, help="the table is written to OUT.md and OUT.json")
    out = parser.parse_args(arguments).out
    with open_client() as client:
        rows = check_addresses(read_sources().values(), client, datetime.now(UTC).date())
    if not any(row.answer.state in ("alive", "moved", "form") for row in rows):
        print("error: no URL responds, so nothing is written; check the network connection", file=sys.stderr)
        return 1
    lines = table_lines(rows)
    out.with_name(f"{out.name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    content = [row._asdict() | {"day": str(row.day), "answer": row.answer._asdict()} for row in rows]
    out.with_name(f"{out.name}.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(lines[0])
    return int(any(row.answer.state == "gone" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
