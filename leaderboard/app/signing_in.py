"""Sign-in with Hugging Face, and sign-out.

Gradio also has routes for this. But they store Hugging Face's whole response in the cookie, access token included, fail
on unexpected queries, and print several lines per request, so these routes replace them.

    SIGN_IN   redirects to Hugging Face's page
    SIGNED_IN callback of that page; starts the session
    SIGN_OUT  a page with a button, since any site could link to a URL that signs out on GET
"""

import hashlib
import os
import secrets
import threading
import time
from typing import Any
from urllib.parse import urlsplit

from authlib.integrations.base_client.errors import OAuthError  # type: ignore[import-untyped]
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from httpx import HTTPError
from joserfc.errors import JoseError
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from shiftbench.leaderboard.app.answers import page_answer
from shiftbench.leaderboard.app.identity import is_own_page, space_name
from shiftbench.leaderboard.app.sub_path import own_address, root_path_of
from shiftbench.leaderboard.pages import addresses
from shiftbench.scoring.reports.frame.html import join, tag
from shiftbench.scoring.reports.frame.site import box

MAX_ENDED = 10_000
"""Maximum number of ended sign-ins to remember; each is remembered until it would have expired."""
_USER, _SIGN_IN = "oauth_info", "sign_in"
"""Keys of a session; Gradio's button reads the first."""


class SignIns:
    """The sign-ins that this server started, and those that were ended. Thread-safe."""

    def __init__(self) -> None:
        self._server = secrets.token_urlsafe(9)
        self._n_begun = 0
        self._ended: dict[int, float] = {}
        self._ended_up_to = 0
        self._lock = threading.Lock()

    def begin(self, session: dict[str, Any], user: str, expires_at: float) -> None:
        """Replace a session's content by a new sign-in: the user's name and expiry time."""
        with self._lock:
            self._n_begun += 1
            number = self._n_begun
        session.clear()
        # Gradio reads the empty fields, too.
        userinfo = {"preferred_username": user, "name": user, "profile": "", "picture": ""}
        session[_USER] = {"expires_at": expires_at, "userinfo": userinfo}
        session[_SIGN_IN] = [self._server, number]

    def end(self, session: dict[str, Any]) -> None:
        """End a session's sign-in, so that copies of its cookie become invalid."""
        if self.is_current(session):
            with self._lock:
                self._ended[session[_SIGN_IN][1]] = session[_USER]["expires_at"]
                self._forget_some()
        session.clear()

    def is_current(self, session: dict[str, Any]) -> bool:
        """Return whether a session's sign-in was started by this server and has neither been ended nor expired."""
        server, number = session.get(_SIGN_IN) or ("", 0)
        expires_at = (session.get(_USER) or {}).get("expires_at", 0.0)
        with self._lock:
            is_ended = number <= self._ended_up_to or number in self._ended
        return bool(server == self._server and not is_ended and expires_at > time.time())

    def _forget_some(self) -> None:
        """Bound the number of remembered sign-ins; if one must be forgotten early, all older sign-ins end with it."""
        if len(self._ended) > MAX_ENDED:
            now = time.time()
            self._ended = {number: expires_at for number, expires_at in self._ended.items() if expires_at > now}
        if len(self._ended) > MAX_ENDED:
            oldest = min(self._ended)
            del self._ended[oldest]
            self._ended_up_to = max(self._ended_up_to, oldest)


class CurrentSignIns:
    """ASGI middleware, inside the session middleware, that clears sessions whose sign-in has ended."""

    def __init__(self, app: ASGIApp, sign_ins: SignIns) -> None:
        self.app = app
        self._sign_ins = sign_ins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Clear the session of an invalid sign-in; the response then deletes the cookie."""
        session = scope.get("session")
        if session is not None and _USER in session and not self._sign_ins.is_current(session):
            session.clear()
        await self.app(scope, receive, send)


def sessions(sign_ins: SignIns) -> list[Middleware]:
    """Return the middleware for the session cookie, which Gradio reads as well; empty outside a Space.

    The cookie is signed with the Space's secret, as by Gradio (``gradio.oauth.attach_oauth``).
    """
    if space_name() is None:
        return []
    key = hashlib.sha256(f"{os.environ['OAUTH_CLIENT_SECRET']}-v4".encode()).hexdigest()
    cookie = Middleware(SessionMiddleware, secret_key=key, same_site="none", https_only=True)
    return [cookie, Middleware(CurrentSignIns, sign_ins=sign_ins)]


_TARGET = "target"
"""Session key of the page to return to after sign-in."""
_MAX_TARGET = 1_000
_UNREACHABLE = 502


def sign_in_routes(sign_ins: SignIns) -> list[Route]:
    """Return the sign-in routes; outside a Space, only the sign-out routes."""
    known = sessions(sign_ins)

    async def ask_to_sign_out(_: Request) -> Response:
        button = tag("button", "Sign out", type="submit", class_="sb-button")
        return page_answer("Sign out", tag("form", button, method="post", action=addresses.SIGN_OUT))

    async def sign_out(request: Request) -> Response:
        if not is_own_page(request.headers):
            return PlainTextResponse("sign out on the leaderboard's page\n", 403)
        sign_ins.end(request.scope.get("session", {}))
        answer = RedirectResponse(addresses.SUBMIT, 303)
        answer.delete_cookie("session", secure=True, httponly=True, samesite="none")
        return answer

    routes = [
        Route(addresses.SIGN_OUT, ask_to_sign_out, methods=["GET"]),
        Route(addresses.SIGN_OUT, sign_out, methods=["POST"], middleware=known),
    ]
    return [*routes, *_hugging_face_routes(sign_ins)] if space_name() is not None else routes


def _hugging_face_routes(sign_ins: SignIns) -> list[Route]:
    provider = _provider()

    async def sign_in(request: Request) -> Response:
        request.session[_TARGET] = own_path(
            request.query_params.get("_target_url", "").removeprefix(root_path_of(request))
        )
        try:
            answer: Response = await provider.authorize_redirect(request, _own_address(request) + addresses.SIGNED_IN)
        except (HTTPError, OAuthError, ValueError):
            return _not_signed_in(request, "Hugging Face cannot be reached.", _UNREACHABLE)
        return answer

    async def signed_in(request: Request) -> Response:
        try:
            token: dict[str, Any] = await provider.authorize_access_token(request)
        except HTTPError:
            return _not_signed_in(request, "Hugging Face cannot be reached.", _UNREACHABLE)
        except (OAuthError, JoseError, ValueError):
            # The error text in the URL is not shown: anybody could have written it.
            return _not_signed_in(request, "The sign-in with Hugging Face failed.", 400)
        user = (token.get("userinfo") or {}).get("preferred_username")
        if not isinstance(user, str) or not user:
            return _not_signed_in(request, "Hugging Face did not return your user name.", 400)
        target = request.session.get(_TARGET, addresses.SUBMIT)
        sign_ins.begin(request.session, user, float(token.get("expires_at") or time.time()))
        return RedirectResponse(target, 302)

    known = sessions(sign_ins)
    return [
        Route(addresses.SIGN_IN, sign_in, methods=["GET"], middleware=known),
        Route(addresses.SIGNED_IN, signed_in, methods=["GET"], middleware=known),
    ]


def _provider() -> Any:
    """Return Hugging Face as an OpenID provider, configured from a Space's environment."""
    from authlib.integrations.starlette_client import OAuth  # type: ignore[import-untyped]

    environment = os.environ
    return OAuth().register(
        name="huggingface",
        client_id=environment["OAUTH_CLIENT_ID"],
        client_secret=environment["OAUTH_CLIENT_SECRET"],
        client_kwargs={"scope": environment["OAUTH_SCOPES"]},
        server_metadata_url=environment["OPENID_PROVIDER_URL"] + "/.well-known/openid-configuration",
    )


def _own_address(request: Request) -> str:
    """Return this server's URL as registered with Hugging Face: the Space's first host."""
    host = os.environ.get("SPACE_HOST", "").split(",")[0].strip()
    return f"https://{host}" if host else own_address(request)


def own_path(target: str) -> str:
    """Return a URL's path and query, never its host; the submit page's path if the URL has neither."""
    try:
        parts = urlsplit(target[:_MAX_TARGET])
    except ValueError:
        return addresses.SUBMIT
    path = "/" + parts.path.replace("\\", "/").lstrip("/")
    if path == "/" and not parts.query:
        return addresses.SUBMIT
    return f"{path}?{parts.query}" if parts.query else path


def _not_signed_in(request: Request, words: str, status: int) -> Response:
    """Respond that the sign-in failed, with a link to try again that opens outside any frame."""
    request.session.clear()
    again = tag("a", "Sign in with Hugging Face", href=addresses.SIGN_IN, target="_blank", class_="sb-button")
    body = join([box("Not signed in", words, "Start again:"), tag("p", again, class_="sb-actions")])
    return page_answer("Sign in", body, status=status)
