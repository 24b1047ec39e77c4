"""Who a request counts as in the line: a user who has signed in, else the address that it comes from."""

import hashlib
import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.requests import HTTPConnection

from shiftbench.leaderboard.app.identity import TOKEN_HEADERS, is_mcp_call, is_own_page, session_user
from shiftbench.validation.report import InvalidInput, Problem

SECONDS_KNOWN = 3600.0
"""How long a token counts as that of the user whom Hugging Face named for it, in the line alone."""
MAX_KNOWN = 1_000
_IPV6_PREFIX = 64
"""Of an IPv6 address; a single customer has at least as many."""


class Caller(NamedTuple):
    """A client of the line, and whether it is a user who has signed in."""

    name: str
    is_signed_in: bool


class Callers:
    """Names the client of each request; remembers whose tokens were sent with earlier submissions."""

    def __init__(self) -> None:
        self._users: OrderedDict[bytes, tuple[str, float]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, request: HTTPConnection) -> Caller:
        """Return who a request counts as."""
        user = session_user(request.scope.get("session", {})) if is_own_page(request.headers) else None
        user = user or self._token_user(request.headers)
        if user is not None:
            return Caller(f"user {user}", is_signed_in=True)
        host = request.client.host if request.client else None
        # Calls by MCP come from this machine, whoever made them: its own user does not wait behind them.
        return Caller("MCP" if is_mcp_call(host, request.headers) else address_name(host), is_signed_in=False)

    def learn(self, headers: Mapping[str, str], user: str) -> None:
        """Remember whom Hugging Face named for a request's token, if it has one."""
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
    """Return the client that an address is of: the address itself, or the first 64 bits of an IPv6 address.

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


def checked_networks(proxies: Sequence[str]) -> tuple[str, ...]:
    """Check that each proxy is an address or a network; InvalidInput names those that are neither."""
    problems = []
    for proxy in proxies:
        try:
            ipaddress.ip_network(proxy)
        except ValueError as error:
            cure = "write an address such as 10.0.0.5, or a network such as 10.0.0.0/8"
            problems.append(Problem("this names no proxy", "--proxy", f"'{proxy}' ({error})", cure))
    if problems:
        raise InvalidInput(problems)
    return tuple(proxies)


def _token_digest(headers: Mapping[str, str]) -> bytes | None:
    """Return the digest of a request's token; None without one. Tokens themselves are not kept."""
    for name in TOKEN_HEADERS:
        kind, _, token = headers.get(name, "").partition(" ")
        if kind == "Bearer" and token:
            return hashlib.sha256(token.encode()).digest()
    return None
