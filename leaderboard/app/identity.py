"""Identify the sender of a request: the machine's own user, or a user authenticated by Hugging Face.

Form fields never identify anybody. In the queue, a client is a signed-in user, or else an IP address.
"""

import hashlib
import ipaddress
import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from shiftbench.leaderboard.store import LOCAL_SUBMITTER
from shiftbench.validation.report import InvalidInput, Problem

PROXY_HEADERS = ("x-forwarded-for", "x-forwarded-host", "x-real-ip", "forwarded")
MCP_CALL = ("x-gradio-user", "mcp")
"""Header of calls that Gradio's MCP server forwards; they arrive from this machine's address, whoever made them."""
TOKEN_HEADERS = ("x-hf-authorization", "authorization")
"""Headers in which Gradio's clients send a Hugging Face token."""

_TOKEN = re.compile(r"[!-~]{1,4096}")


def local_submitter(client_host: str | None, headers: Mapping[str, str]) -> str:
    """Return the submitter of a request to a server without sign-in: the machine's own user.

    The client address must be loopback, with no proxy or MCP server in between. The host must also be a loopback name
    and the origin the same host and port; otherwise a page of another site, or on another port of this machine, could
    make the visitor's browser submit in their name.

    Raises: InvalidInput for any other request.
    """
    host = headers.get("host", "")
    own_page = headers.get("origin", f"http://{host}") == f"http://{host}"
    passed_on = any(key in headers for key in PROXY_HEADERS) or headers.get(MCP_CALL[0]) == MCP_CALL[1]
    direct = client_host is not None and _is_loopback(client_host) and not passed_on
    if direct and own_page and (not host or _is_loopback(_host_of(f"//{host}"))):
        return LOCAL_SUBMITTER
    raise InvalidInput(
        Problem(
            "this server accepts submissions only from its own machine",
            "submit",
            "a request from another machine",
            "open the page on the machine that runs 'shiftbench serve', or use 'shiftbench submit' there",
        )
    )


def space_name() -> str | None:
    """Return the name of the Space that this server runs on, from Gradio's environment variables; None elsewhere."""
    return os.environ.get("SPACE_ID") if os.environ.get("SYSTEM") == "spaces" else None


def is_mcp_call(client_host: str | None, headers: Mapping[str, str]) -> bool:
    """Return whether a request was forwarded by Gradio's MCP server, which runs on this machine."""
    return client_host is not None and _is_loopback(client_host) and headers.get(MCP_CALL[0]) == MCP_CALL[1]


def session_user(session: Mapping[str, Any]) -> str | None:
    """Return the Hugging Face user of this browser's session; None if nobody signed in or the sign-in expired."""
    info = session.get("oauth_info")
    if not isinstance(info, dict) or info.get("expires_at", 0) < time.time():
        return None
    name = info.get("userinfo", {}).get("preferred_username")
    return name if isinstance(name, str) else None


def signed_in_submitter(session_name: str | None, headers: Mapping[str, str]) -> str:
    """Return the submitter of a request to a server with sign-in: from the browser's session, else from a token.

    Args:
        session_name: the user that signed in with this browser, if any.
        headers: headers of the request. A session is accepted only if they state that the request comes from one of
            this server's pages: browsers also send its cookie with requests from other sites.
    Raises: InvalidInput if the request has neither such a session nor a valid token of a person.
    """
    names_its_page = "origin" in headers or "sec-fetch-site" in headers
    if session_name is not None and names_its_page and is_own_page(headers):
        return session_name
    for name in TOKEN_HEADERS:
        kind, _, token = headers.get(name, "").partition(" ")
        if kind == "Bearer" and _TOKEN.fullmatch(token):
            return _token_user(token)
    raise InvalidInput(
        Problem(
            "not signed in",
            "submit",
            cure="use 'Sign in with Hugging Face', or send a token: 'hf auth login' saves one for 'shiftbench submit' "
            "(a token without permissions is enough)",
        )
    )


def _token_user(token: str) -> str:
    """Return the user of a token according to the Hub; unknown tokens and organisation tokens are rejected."""
    from httpx2 import HTTPError
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        account = HfApi(token=token).whoami()
    except HfHubHTTPError as error:
        if error.response is not None and error.response.status_code in (401, 403):
            cure = "make a new one in your Hugging Face settings; it needs no permission"
            raise InvalidInput(Problem("Hugging Face rejects this token", "submit", cure=cure)) from error
        raise InvalidInput(_unreachable()) from error
    except (HTTPError, OSError) as error:
        raise InvalidInput(_unreachable()) from error
    if account.get("type") != "user" or not isinstance(account.get("name"), str):
        cure = "send the token of a person"
        raise InvalidInput(Problem("only people can submit entries", "submit", "a token of an organisation", cure))
    return str(account["name"])


def _unreachable() -> Problem:
    return Problem("Hugging Face did not return the owner of this token", "submit", cure="try again in a minute")


def is_own_page(headers: Mapping[str, str]) -> bool:
    """Return whether a request comes from a page of this server or from a program, not from a page of another site."""
    if "origin" not in headers:
        return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    host = headers.get("host", "")
    origins = {f"https://{name.strip()}" for name in (host, *os.environ.get("SPACE_HOST", "").split(",")) if name}
    if _is_loopback(_host_of(f"//{host}")):  # browsers treat loopback as secure without https
        origins.add(f"http://{host}")
    return headers["origin"] in origins


def _host_of(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


SECONDS_KNOWN = 3600.0
"""How long the user of a token, as returned by Hugging Face, is cached; only used for the queue."""
MAX_KNOWN = 1_000
_IPV6_PREFIX = 64
"""Prefix length by which IPv6 addresses are grouped: a single customer has at least a /64."""


class Caller(NamedTuple):
    """A client of the queue, and whether it is a signed-in user."""

    name: str
    is_signed_in: bool


class Callers:
    """Identifies the client of each request; caches the users of tokens sent with earlier submissions."""

    def __init__(self) -> None:
        self._users: OrderedDict[bytes, tuple[str, float]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, request: HTTPConnection) -> Caller:
        """Return the client of a request."""
        user = session_user(request.scope.get("session", {})) if is_own_page(request.headers) else None
        user = user or self._token_user(request.headers)
        if user is not None:
            return Caller(f"user {user}", is_signed_in=True)
        host = request.client.host if request.client else None
        # MCP calls come from this machine, whoever made them; a separate name keeps them apart from its own user.
        return Caller("MCP" if is_mcp_call(host, request.headers) else address_name(host), is_signed_in=False)

    def learn(self, headers: Mapping[str, str], user: str) -> None:
        """Cache the user that Hugging Face returned for a request's token, if it has one."""
        digest = _token_digest(headers)
        if digest is not None:
            with self._lock:
                self._users[digest] = (user, time.monotonic() + SECONDS_KNOWN)
                self._users.move_to_end(digest)
                while len(self._users) > MAX_KNOWN:
                    self._users.popitem(last=False)

    def _token_user(self, headers: Mapping[str, str]) -> str | None:
        digest = _token_digest(headers)
        if digest is None:
            return None
        with self._lock:
            user, until = self._users.get(digest, (None, 0.0))
        return user if until > time.monotonic() else None


def address_name(host: str | None) -> str:
    """Return the client name of an address: the address itself, or the /64 network of an IPv6 address.

    >>> address_name("203.0.113.9"), address_name("::ffff:203.0.113.9")
    ('203.0.113.9', '203.0.113.9')
    >>> address_name("2001:db8:1:2:3:4:5:6")
    '2001:db8:1:2::/64'
    """
    try:
        address = ipaddress.ip_address((host or "").partition("%")[0])
    except ValueError:
        return host or "unknown"
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, _IPV6_PREFIX), strict=False))


def _token_digest(headers: Mapping[str, str]) -> bytes | None:
    """Return the digest of a request's token; None without one. Tokens themselves are not stored."""
    for name in TOKEN_HEADERS:
        kind, _, token = headers.get(name, "").partition(" ")
        if kind == "Bearer" and token:
            return hashlib.sha256(token.encode()).digest()
    return None
