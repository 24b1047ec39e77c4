"""A leaderboard's configuration, ``board.toml``: all settings of a host, each with a default.

``read_config`` reports every problem of a file at once; ``config_lines`` prints the current settings as a valid
``board.toml``, followed by the fixed limits (``FIXED``) as comments.
"""

import ipaddress
import json
import re
import reprlib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pydantic

from shiftbench.leaderboard.app.checking import MEMORY_MIB, SECONDS
from shiftbench.leaderboard.app.connections import IDLE_SECONDS, MAX_CONNECTIONS, STUCK_SECONDS
from shiftbench.leaderboard.app.jobs import MAX_KEPT, MAX_KEPT_OF_CLIENT
from shiftbench.leaderboard.app.jobs import SECONDS_KEPT as SECONDS_RESULT_KEPT
from shiftbench.leaderboard.app.line import AT_ONCE, MAX_CLIENTS, MORE_PLACES
from shiftbench.leaderboard.app.live_index import COMPARISON_BYTES
from shiftbench.leaderboard.app.middleware import BYTES_PER_SECOND, MAX_BODY_BYTES, SECONDS_TO_BEGIN
from shiftbench.leaderboard.app.request_log import SLOW_SECONDS
from shiftbench.leaderboard.app.sub_path import checked_root_path
from shiftbench.leaderboard.app.uploads import MAX_KEPT as MAX_UPLOADS
from shiftbench.leaderboard.app.uploads import MIN_FREE_BYTES, SECONDS_KEPT
from shiftbench.leaderboard.board.submission import MAX_UPLOAD_BYTES
from shiftbench.leaderboard.release import LOOKS_PER_YEAR
from shiftbench.leaderboard.store.hosting import MAX_WORDS
from shiftbench.leaderboard.store.store import MAX_REFUSALS
from shiftbench.validation.plain_text import refuse_invisible
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

_MIB = 2**20

Text = Annotated[str, pydantic.StringConstraints(max_length=2_000), pydantic.AfterValidator(refuse_invisible)]
Seconds = Annotated[float, pydantic.Field(gt=0, le=7 * 86_400)]


def _proxy(text: str) -> str:
    try:
        ipaddress.ip_network(text)
    except ValueError as error:
        cure = "write an address such as 10.0.0.5, or a network such as 10.0.0.0/8"
        raise ValueError(f"this is not a proxy address ({error}): {cure}") from error
    return text


def _root_path(text: str) -> str:
    try:
        return checked_root_path(text)
    except InvalidInput as error:
        raise ValueError(error.problems[0].cure) from error


class _Table(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)


class ServerTable(_Table):
    """Listening address, and the proxies in front of the server."""

    host: Annotated[str, pydantic.Field(description="address to listen on; 127.0.0.1: only this machine")] = "127.0.0.1"
    port: Annotated[int, pydantic.Field(ge=0, le=65_535, description="0: any free port")] = 7860
    root_path: Annotated[
        str,
        pydantic.AfterValidator(_root_path),
        pydantic.Field(description="URL path of the leaderboard behind a proxy, such as /domains"),
    ] = ""
    proxies: Annotated[
        list[Annotated[str, pydantic.AfterValidator(_proxy)]],
        pydantic.Field(description="addresses or networks whose X-Forwarded-For is trusted"),
    ] = []


class Submissions(_Table):
    """Who may submit, and how many entries."""

    sign_in: Annotated[
        bool, pydantic.Field(description="submitters sign in with Hugging Face; otherwise only this machine can submit")
    ] = False
    quota: Annotated[
        int, pydantic.Field(ge=0, description="maximum entries per submitter and day (UTC); 0: unlimited")
    ] = 0


class Limits(_Table):
    """Limits on what visitors may use at the same time."""

    connections: Annotated[int, pydantic.Field(ge=10, le=100_000, description="maximum open connections")] = (
        MAX_CONNECTIONS
    )
    clients_in_line: Annotated[
        int, pydantic.Field(ge=1, le=10_000, description="maximum clients that wait for a check or a comparison")
    ] = MAX_CLIENTS
    more_places: Annotated[
        int,
        pydantic.Field(ge=1, le=10_000, description="further queued jobs of these; one client has at most half"),
    ] = MORE_PLACES
    upload_mib: Annotated[
        int, pydantic.Field(ge=1, le=MAX_UPLOAD_BYTES // _MIB, description="maximum size of a prediction file")
    ] = MAX_UPLOAD_BYTES // _MIB
    free_mib: Annotated[int, pydantic.Field(ge=16, description="free disk space below which uploads are refused")] = (
        MIN_FREE_BYTES // _MIB
    )


class Rounds(_Table):
    """Rounds on withheld labels."""

    account_days: Annotated[
        int,
        pydantic.Field(ge=0, le=3_650, description="minimum days since the first entry of an account that is ranked"),
    ] = 30


class Retention(_Table):
    """Limits on data that the server stores for visitors who do not submit."""

    upload_seconds: Annotated[
        Seconds, pydantic.Field(description="how long an uploaded file is kept if it is not submitted")
    ] = SECONDS_KEPT
    comparisons_mib: Annotated[
        int, pydantic.Field(ge=1, description="maximum size of cached comparisons in the store; others are recomputed")
    ] = COMPARISON_BYTES // _MIB


class Log(_Table):
    """What the server logs to standard error."""

    json_lines: Annotated[bool, pydantic.Field(alias="json", description="one JSON object per line")] = False
    requests: Annotated[bool, pydantic.Field(description="log every request; otherwise only slow ones")] = False
    slow_seconds: Annotated[Seconds, pydantic.Field(description="a request that takes longer is slow")] = SLOW_SECONDS


class BoardConfig(_Table):
    """The whole ``board.toml``."""

    title: Annotated[Text, pydantic.Field(description="heading of the front page; empty: the default heading")] = ""
    text: Annotated[Text, pydantic.Field(description="a sentence below it")] = ""
    data: Annotated[list[str], pydantic.Field(description="dataset folders, or ORG/NAME on the Hub")] = []
    store: Annotated[str, pydantic.Field(description="a folder, or hf://datasets/ORG/NAME")] = ""
    hosts: Annotated[
        list[Annotated[str, pydantic.StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,96}$")]],
        pydantic.Field(description="Hugging Face accounts that may hide, rename, annotate, ban and erase"),
    ] = []
    server: ServerTable = ServerTable()
    submissions: Submissions = Submissions()
    limits: Limits = Limits()
    rounds: Rounds = Rounds()
    retention: Retention = Retention()
    log: Log = Log()

    @pydantic.model_validator(mode="after")
    def _hosts_sign_in(self) -> "BoardConfig":
        if self.hosts and not self.submissions.sign_in:
            raise ValueError("hosts are identified by signing in: set submissions.sign_in = true")
        return self


FIXED: dict[str, tuple[int | float, str]] = {
    "jobs at once": (AT_ONCE, "checks and comparisons that run at the same time"),
    "results per client": (MAX_KEPT_OF_CLIENT, f"maximum unread results; {MAX_KEPT} over all clients"),
    "result seconds": (SECONDS_RESULT_KEPT, "how long an unread result is kept"),
    "uploads": (MAX_UPLOADS, "uploaded files that wait to be submitted"),
    "body KiB": (MAX_BODY_BYTES // 1024, "maximum size of a request without an upload"),
    "body seconds": (SECONDS_TO_BEGIN, f"time until its first byte; then {BYTES_PER_SECOND // 1024} KiB per second"),
    "idle seconds": (
        IDLE_SECONDS,
        f"until an idle connection closes; {STUCK_SECONDS:.0f} if a client stops reading",
    ),
    "check MiB": (MEMORY_MIB, f"memory limit for checking a small file; {SECONDS} s of processor time"),
    "answers per year": (LOOKS_PER_YEAR, "maximum scores that an account receives on a withheld label"),
    "refusals per day": (MAX_REFUSALS, "maximum rejections per person that are logged individually"),
    "reason characters": (MAX_WORDS, "maximum length of a host's reason or note"),
}
"""Limits that are the same for every leaderboard: value, and what it limits."""


def read_config(path: Path) -> BoardConfig:
    """Read a configuration; InvalidInput with every problem in it."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        cure = "create one: shiftbench board config > board.toml"
        raise InvalidInput(Problem("there is no such file", str(path), cure=cure)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(Problem("this is not valid TOML", str(path), str(error))) from error
    try:
        return BoardConfig.model_validate(content)
    except pydantic.ValidationError as error:
        raise InvalidInput(_problem(each, path) for each in error.errors(include_context=False)) from error


def _problem(detail: Any, path: Path) -> Problem:
    key = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        return Problem("unknown key", str(path), f"'{key}'", did_you_mean(key, list(_defaults())), key=key)
    return Problem(detail["msg"].removeprefix("Value error, "), str(path), _SHORT.repr(detail["input"]), key=key)


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 100
_SHORT.maxlevel = 1


def _defaults() -> dict[str, Any]:
    """Return the default of every key; nested keys are joined by dots."""
    return dict(_values(BoardConfig()))


def _values(table: _Table, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, field in type(table).model_fields.items():
        value, key = getattr(table, name), f"{before}{field.alias or name}"
        if isinstance(value, _Table):
            yield from _values(value, f"{key}.")
        else:
            yield key, value


def configuration(config: BoardConfig) -> dict[str, Any]:
    """Return the settings by dotted key, without the hosts, since the log refers to persons only by random keys."""
    return {key: value for key, value in _values(config) if key != "hosts"}


def config_lines(config: BoardConfig) -> Iterator[str]:
    """Format the settings as a file that ``read_config`` reads: each key with its description and default."""
    defaults = _defaults()
    yield from _table_lines(config, "", defaults)
    yield ""
    yield "# Fixed:"
    for name, (fixed, words) in FIXED.items():
        yield f"#   {name} {fixed:g}: {words}"


def _table_lines(table: _Table, before: str, defaults: dict[str, Any]) -> Iterator[str]:
    tables = []
    for name, field in type(table).model_fields.items():
        value, key = getattr(table, name), field.alias or name
        if isinstance(value, _Table):
            tables.append((key, value))
            continue
        default = defaults[f"{before}{key}"]
        told = "the default" if value == default else f"default {_toml(default)}"
        yield f"{key} = {_toml(value)}  # {field.description}; {told}"
    for key, inner in tables:
        yield ""
        yield f"[{key}]"
        yield from _table_lines(inner, f"{before}{key}.", defaults)


_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def _toml(value: Any) -> str:
    """Format a value as TOML, in which strings, lists, numbers and booleans are written as in JSON."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
