"""Signing in with Hugging Face, and out again.

Gradio has routes for it, too. They keep the whole answer of Hugging Face in the cookie, access token included, fail on
a query that they did not write, and print several lines for whoever asks, so these stand in their place.

    SIGN_IN   leads to Hugging Face's page
    SIGNED_IN where that leads back to; begins the sign-in
    SIGN_OUT  a page with a button, because a link to an address that signs out could stand on any page
"""

import os
import time
from typing import Any
from urllib.parse import urlsplit

from authlib.integrations.base_client.errors import OAuthError  # type: ignore[import-untyped]
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from gradio.utils import get_space
from httpx import HTTPError
from joserfc.errors import JoseError
from starlette.requests import Request
from starlette.routing import Route

from shiftbench.leaderboard.app.answers import page_answer
from shiftbench.leaderboard.app.identity import is_own_page
from shiftbench.leaderboard.app.sign_ins import SignIns
from shiftbench.leaderboard.pages import addresses
from shiftbench.scoring.reports.frame.html import join, tag
from shiftbench.scoring.reports.frame.site import box

_TARGET = "target"
"""Key of the session: the page that somebody signs in for."""
_MAX_TARGET = 1_000
_UNREACHABLE = 502


def sign_in_routes(sign_ins: SignIns) -> list[Route]:
    """Return the routes, for the application that has sessions; where the server runs on no Space nobody signs in.

    Args:
        sign_ins: those of this server.
    """

    async def ask_to_sign_out(_: Request) -> Response:
        button = tag("button", "Sign out", type="submit", class_="sb-button")
        return page_answer("Sign out", tag("form", button, method="post", action=addresses.SIGN_OUT))

    async def sign_out(request: Request) -> Response:
        if not is_own_page(request.headers):
            return PlainTextResponse("sign out on the leaderboard's own page\n", 403)
        sign_ins.end(request.scope.get("session", {}))
        answer = RedirectResponse(addresses.SUBMIT, 303)
        answer.delete_cookie("session", secure=True, httponly=True, samesite="none")
        return answer

    routes = [
        Route(addresses.SIGN_OUT, ask_to_sign_out, methods=["GET"]),
        Route(addresses.SIGN_OUT, sign_out, methods=["POST"]),
    ]
    return [*routes, *_hugging_face_routes(sign_ins)] if get_space() is not None else routes


def _hugging_face_routes(sign_ins: SignIns) -> list[Route]:
    provider = _provider()

    async def sign_in(request: Request) -> Response:
        request.session[_TARGET] = own_path(request.query_params.get("_target_url", ""))
        try:
            answer: Response = await provider.authorize_redirect(request, _own_address(request) + addresses.SIGNED_IN)
        except (HTTPError, OAuthError, ValueError):
            return _not_signed_in(request, "Hugging Face cannot be reached now.", _UNREACHABLE)
        return answer

    async def signed_in(request: Request) -> Response:
        try:
            token: dict[str, Any] = await provider.authorize_access_token(request)
        except HTTPError:
            return _not_signed_in(request, "Hugging Face cannot be reached now.", _UNREACHABLE)
        except (OAuthError, JoseError, ValueError):
            # What the address says of it is not shown: anybody could have written it.
            return _not_signed_in(request, "Hugging Face has not signed you in.", 400)
        user = (token.get("userinfo") or {}).get("preferred_username")
        if not isinstance(user, str) or not user:
            return _not_signed_in(request, "Hugging Face did not say who you are.", 400)
        target = request.session.get(_TARGET, addresses.SUBMIT)
        sign_ins.begin(request.session, user, float(token.get("expires_at") or time.time()))
        return RedirectResponse(target, 302)

    return [
        Route(addresses.SIGN_IN, sign_in, methods=["GET"]),
        Route(addresses.SIGNED_IN, signed_in, methods=["GET"]),
    ]


def _provider() -> Any:
    """Return Hugging Face as the provider of identities, as a Space's environment describes it."""
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
    """Return this server's address as Hugging Face knows it: a Space's first host."""
    host = os.environ.get("SPACE_HOST", "").split(",")[0].strip()
    return f"https://{host}" if host else f"{request.url.scheme}://{request.url.netloc}"


def own_path(target: str) -> str:
    """Return an address's path and query, which lead to no other host; the submit page's where it has none."""
    try:
        parts = urlsplit(target[:_MAX_TARGET])
    except ValueError:
        return addresses.SUBMIT
    path = "/" + parts.path.replace("\\", "/").lstrip("/")
    if path == "/" and not parts.query:
        return addresses.SUBMIT
    return f"{path}?{parts.query}" if parts.query else path


def _not_signed_in(request: Request, words: str, status: int) -> Response:
    """Answer that somebody has not been signed in, with a link to begin again, which opens outside any frame."""
    request.session.clear()
    again = tag("a", "Sign in with Hugging Face", href=addresses.SIGN_IN, target="_blank", class_="sb-button")
    body = join([box("Not signed in", words, "Begin again:"), tag("p", again, class_="sb-actions")])
    return page_answer("Sign in", body, status=status)
