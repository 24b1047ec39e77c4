"""Signing out: by a button, because a link to an address that signs out could stand on any page.

Also what is answered to somebody who comes back from Hugging Face without having signed in.
"""

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from leaderboard.app.identity import is_own_page
from leaderboard.views import addresses
from leaderboard.views.html import tag
from leaderboard.views.site import box, page


def add_sign_out(app: FastAPI) -> None:
    """Add the page with the button, and what the button sends."""

    @app.get(addresses.SIGN_OUT)
    def ask() -> Response:
        button = tag("button", "Sign out", type="submit", class_="sb-button")
        return HTMLResponse(page("Sign out", tag("form", button, method="post", action=addresses.SIGN_OUT)))

    @app.post(addresses.SIGN_OUT)
    def sign_out(request: Request) -> Response:
        if not is_own_page(request.headers):
            return PlainTextResponse("sign out on the leaderboard's own page\n", 403)
        answer = RedirectResponse(addresses.SUBMIT, 303)
        # The cookie is the whole session.
        answer.delete_cookie("session", secure=True, httponly=True, samesite="none")
        return answer


async def not_signed_in(_: Request, __: Exception) -> Response:
    """Answer somebody who said no on Hugging Face's page; the address's own words are not shown."""
    words = box("Not signed in", "Hugging Face has not signed you in: begin again with the button on the Submit page.")
    return HTMLResponse(page("Sign in", words), 400)
