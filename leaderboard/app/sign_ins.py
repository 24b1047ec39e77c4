"""Sign-ins of a running server: what the cookie of one holds, and that signing out ends it on the server, too.

The cookie is signed (by the session middleware that Gradio adds), so nobody makes one up, but whoever has a copy can
send it again. It therefore names the sign-in by its number, and the server remembers which ones were ended. That is
in memory alone: a sign-in counts on the server that it began at, so none comes back to life at a restart.
"""

import secrets
import threading
import time
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

MAX_ENDED = 10_000
"""Ended sign-ins that are remembered, until they would have expired anyway."""
_USER, _SIGN_IN = "oauth_info", "sign_in"
"""Keys of a session; Gradio's button looks for the first."""


class SignIns:
    """The sign-ins that a server began, and which of them were ended. Safe to be used by several threads."""

    def __init__(self) -> None:
        self._server = secrets.token_urlsafe(9)
        self._n_begun = 0
        self._ended: dict[int, float] = {}
        self._ended_up_to = 0
        self._lock = threading.Lock()

    def begin(self, session: dict[str, Any], user: str, expires_at: float) -> None:
        """Write a new sign-in into a session in place of all that it held: the user's name and when it ends."""
        with self._lock:
            self._n_begun += 1
            number = self._n_begun
        session.clear()
        # Gradio reads the empty ones.
        userinfo = {"preferred_username": user, "name": user, "profile": "", "picture": ""}
        session[_USER] = {"expires_at": expires_at, "userinfo": userinfo}
        session[_SIGN_IN] = [self._server, number]

    def end(self, session: dict[str, Any]) -> None:
        """End a session's sign-in, whichever cookie names it later."""
        if self.is_current(session):
            with self._lock:
                self._ended[session[_SIGN_IN][1]] = session[_USER]["expires_at"]
                self._forget_some()
        session.clear()

    def is_current(self, session: dict[str, Any]) -> bool:
        """Return whether a session's sign-in began at this server and has neither been ended nor expired."""
        server, number = session.get(_SIGN_IN) or ("", 0)
        expires_at = (session.get(_USER) or {}).get("expires_at", 0.0)
        with self._lock:
            is_ended = number <= self._ended_up_to or number in self._ended
        return bool(server == self._server and not is_ended and expires_at > time.time())

    def _forget_some(self) -> None:
        """Keep the number of ended sign-ins bounded; where one is forgotten early, all older sign-ins end with it."""
        if len(self._ended) > MAX_ENDED:
            now = time.time()
            self._ended = {number: expires_at for number, expires_at in self._ended.items() if expires_at > now}
        if len(self._ended) > MAX_ENDED:
            oldest = min(self._ended)
            del self._ended[oldest]
            self._ended_up_to = max(self._ended_up_to, oldest)


class CurrentSignIns:
    """ASGI middleware, inside the one that reads the cookie: a sign-in that has ended signs nobody in."""

    def __init__(self, app: ASGIApp, sign_ins: SignIns) -> None:
        self.app = app
        self._sign_ins = sign_ins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Empty the session of a sign-in that does not count; the answer then deletes the cookie."""
        session = scope.get("session")
        if session is not None and _USER in session and not self._sign_ins.is_current(session):
            session.clear()
        await self.app(scope, receive, send)
