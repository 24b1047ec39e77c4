"""Submitting by a plain form: the same answers as Gradio's, from this server's own pages alone."""

import http.client
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import polars as pl
import pytest
import yaml
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from shiftbench.leaderboard.app import plain_submitting
from shiftbench.leaderboard.app.faults import FaultLog
from shiftbench.leaderboard.app.identity import Callers
from shiftbench.leaderboard.app.keeper import Keeper
from shiftbench.leaderboard.app.line import Line
from shiftbench.leaderboard.app.plain_submitting import plain_submit_routes
from shiftbench.leaderboard.app.server import ServerSettings, create_app
from shiftbench.leaderboard.app.uploads import Uploads
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.pages.submit_page import Access, plain_submit_html
from shiftbench.scoring.scores.score import IN_THIS_PROCESS
from tests.leaderboard.app.waiting import last_answer
from tests.leaderboard.conftest import Filled, fill


def post(url: str, file: Path | None, headers: dict[str, str] | None = None, **fields: str) -> httpx.Response:
    files = {"file": (file.name, file.read_bytes())} if file else {}
    origin = {"origin": url} if headers is None else headers
    with httpx.Client(timeout=60) as session:
        return last_answer(
            session, session.post(f"{url}/submit-plain", data=fields, files=files or None, headers=origin)
        )


def entries(filled: Filled) -> list[str]:
    return filled.store.ids()


def test_the_form_asks_for_what_a_card_needs_and_chooses_the_only_dataset(pages_served: tuple[str, Filled]) -> None:
    url, filled = pages_served
    text = httpx.get(f"{url}/submit-plain").text
    assert "<script" in text  # the page's own, which nothing here needs
    for label in ("Prediction file (required)", "Name (required)", "Paradigm (required)", "Data (required)"):
        assert label in text
    assert f'<option value="{filled.folder.content_hash}" selected="">' in text


def test_a_file_is_checked_then_submitted_once(pages_served: tuple[str, Filled]) -> None:
    url, filled = pages_served
    before = entries(filled)
    fields = {"name": "By the plain form", "paradigm": "fine-tuned", "data": filled.folder.content_hash}
    checked = post(url, filled.files["poor"], do="check", **fields)
    assert (checked.status_code, "nothing is stored yet" in checked.text) == (200, True)
    assert entries(filled) == before
    assert "Accepted as" in post(url, filled.files["poor"], do="submit", **fields).text
    again = post(url, filled.files["poor"], do="submit", card=yaml.safe_dump(fields))
    assert "The same file and card were sent before" in again.text
    assert len(entries(filled)) == len(before) + 1


def test_problems_are_listed_and_what_was_filled_in_stays(pages_served: tuple[str, Filled], tmp_path: Path) -> None:
    url, filled = pages_served
    bad = tmp_path / "bad.csv"
    pl.read_parquet(filled.files["poor"]).with_columns(note=pl.lit(1)).write_csv(bad)
    answer = post(url, bad, do="submit", name="<b>Mine", parameters="12")
    assert answer.status_code == 422
    assert "unknown column" in answer.text
    assert "required key is missing" in answer.text
    assert 'value="&lt;b&gt;Mine"' in answer.text
    assert "there is no prediction file" in post(url, None, do="check", name="x").text


def test_labels_by_index_are_kept_as_names(pages_served: tuple[str, Filled], tmp_path: Path) -> None:
    url, filled = pages_served
    frame = pl.read_parquet(filled.files["poor"])
    task = frame["id"][0].split("/")[1]
    numbers = {label: str(number) for number, label in enumerate(filled.folder.task(task).labels)}
    frame = frame.filter(pl.col("id").str.split("/").list.get(1) == task)
    path = tmp_path / "numbers.csv"
    frame.with_columns(pl.col("prediction").replace(numbers)).write_csv(path)
    fields = {"name": "By index", "paradigm": "other"}
    assert "predictions are class numbers, not label names" in post(url, path, do="submit", **fields).text
    before = set(entries(filled))
    assert "Accepted as" in post(url, path, do="submit", labels_by_index="yes", **fields).text
    (new,) = set(entries(filled)) - before
    kept = pl.read_parquet(filled.store.predictions(filled.store.entry(new)))
    assert set(kept["prediction"]) == set(frame["prediction"])


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://elsewhere.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_pages_of_other_sites_may_not_post(pages_served: tuple[str, Filled], headers: dict[str, str]) -> None:
    url, filled = pages_served
    before = entries(filled)
    answer = post(url, filled.files["good"], headers, do="submit", name="Forged", paradigm="other")
    assert (answer.status_code, entries(filled)) == (403, before)


def test_requests_that_a_proxy_passed_on_do_not_submit(pages_served: tuple[str, Filled]) -> None:
    url, filled = pages_served
    before = entries(filled)
    headers = {"origin": url, "x-forwarded-for": "203.0.113.9"}
    answer = post(url, filled.files["good"], headers, do="submit", name="Remote", paradigm="other")
    assert "takes submissions from its own machine only" in answer.text
    assert entries(filled) == before


def test_where_no_browser_can_sign_in_the_form_checks_alone(filled: Filled, tmp_path: Path) -> None:
    own = fill(filled.folder, tmp_path)
    with TestClient(create_app([own.folder], own.store, ServerSettings(sign_in=True)), "http://127.0.0.1") as client:
        page = client.get("/submit-plain")
        assert ">Submit</button>" not in page.text
        assert "shiftbench submit" in page.text
        assert page.headers["cache-control"] == "no-store"
        files = {"file": ("p.parquet", own.files["good"].read_bytes())}
        fields = {"do": "submit", "name": "x", "paradigm": "other"}
        answer = client.post("/submit-plain", data=fields, files=files)
    assert "nobody has signed in" in answer.text
    assert Index([own.folder], own.store).store.ids() == filled.store.ids()


@pytest.fixture(scope="module")
def signed_in(filled: Filled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, Filled]]:
    """The form behind a signed cookie, as Gradio keeps it on a Space; /as/NAME/SECONDS signs in for so long."""
    own = fill(filled.folder, tmp_path_factory.mktemp("signed-in"))
    keeper = Keeper(Index([own.folder], own.store), FaultLog())

    async def sign_in(request: Request) -> Response:
        user, seconds = request.path_params["name"], request.path_params["seconds"]
        request.session["oauth_info"] = {
            "expires_at": time.time() + seconds,
            "userinfo": {"preferred_username": user},
        }
        return Response("ok")

    routes = plain_submit_routes(keeper, Uploads(), IN_THIS_PROCESS, Line(), Callers(), sign_in=True, daily_quota=None)
    app = Starlette(
        routes=[*routes, Route("/as/{name}/{seconds:int}", sign_in)],
        middleware=[Middleware(SessionMiddleware, secret_key="secret")],
    )
    with TestClient(app, "http://127.0.0.1") as client:
        yield client, own


@pytest.mark.parametrize(
    ("seconds", "headers", "words"),
    [
        (60, {"origin": "http://127.0.0.1"}, "Accepted as"),
        (60, {"sec-fetch-site": "same-origin"}, "Accepted as"),
        (0, {"origin": "http://127.0.0.1"}, "nobody has signed in"),
        (60, {}, "nobody has signed in"),  # the cookie alone, as a page of another site could have it sent
        (60, {"origin": "https://elsewhere.example"}, "Not accepted"),
        (60, {"origin": "null"}, "Not accepted"),
        (60, {"sec-fetch-site": "cross-site"}, "Not accepted"),
    ],
)
def test_who_has_signed_in_submits_from_the_servers_own_page(
    signed_in: tuple[TestClient, Filled], seconds: int, headers: dict[str, str], words: str
) -> None:
    client, own = signed_in
    client.cookies.clear()
    assert ">Submit</button>" not in client.get("/submit-plain").text
    client.get(f"/as/ada/{seconds}")
    page = client.get("/submit-plain").text
    assert (">Submit</button>" in page) == ("Signed in as <b>ada</b>" in page) == (seconds > 0)
    before = set(own.store.ids())
    name = f"{seconds} {headers}"
    files = {"file": ("p.parquet", own.files["good"].read_bytes())}
    answer = client.post(
        "/submit-plain", data={"do": "submit", "name": name, "paradigm": "other"}, files=files, headers=headers
    )
    assert words in answer.text
    new = [own.store.entry(identity) for identity in set(own.store.ids()) - before]
    expected = [("ada", name)] if words == "Accepted as" else []
    assert [(entry.submitter, entry.card.name) for entry in new] == expected


def test_who_waits_sees_the_place_in_the_line_and_then_the_answer(
    filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: 503 at once where another file was being scored."""
    monkeypatch.setattr(plain_submitting, "SECONDS_OF_PATIENCE", 0.1)
    own, line = fill(filled.folder, tmp_path), Line(at_once=1)
    keeper = Keeper(Index([own.folder], own.store), FaultLog())
    routes = plain_submit_routes(keeper, Uploads(), IN_THIS_PROCESS, line, Callers(), sign_in=False, daily_quota=None)
    held = line.enter("somebody", lambda _: None)
    line.enter("another", line.leave)
    with TestClient(Starlette(routes=routes), "http://127.0.0.1") as client:
        files = {"file": ("p.parquet", own.files["good"].read_bytes())}
        fields = {"do": "check", "name": "x", "paradigm": "other", "data": own.folder.content_hash}
        answer = client.post("/submit-plain", data=fields, files=files)
        assert (answer.status_code, "Number 2 in line" in answer.text) == (202, True)
        seconds, _, address = answer.headers["refresh"].partition("; url=")
        assert (seconds, client.get(address).status_code) == ("2", 202)
        line.leave(held)
        deadline = time.monotonic() + 60
        while (answer := client.get(address)).status_code == 202 and time.monotonic() < deadline:
            pass
        assert (answer.status_code, "nothing is stored yet" in answer.text) == (200, True)
        assert client.get(address).status_code == 410  # it was shown


def test_a_cookie_that_somebody_made_up_signs_nobody_in(signed_in: tuple[TestClient, Filled]) -> None:
    client, _ = signed_in
    client.cookies.clear()
    client.cookies.set("session", "eyJvYXV0aF9pbmZvIjogMX0=.made.up")
    assert "Signed in as" not in client.get("/submit-plain").text


def test_where_people_sign_in_by_a_link_the_form_has_it(filled: Filled) -> None:
    access = Access(may_submit=False, sign_in_address="/login/huggingface?_target_url=%2Fsubmit-plain")
    page = plain_submit_html([filled.folder], {}, access=access, daily_quota=2)
    assert '<a href="/login/huggingface?_target_url=%2Fsubmit-plain">sign in with Hugging Face</a>' in page
    assert ">Submit</button>" not in page


def test_too_large_a_body_is_refused(pages_served: tuple[str, Filled]) -> None:
    url, _ = pages_served
    host = url.removeprefix("http://")
    connection = http.client.HTTPConnection(host)
    connection.putrequest("POST", "/submit-plain")
    connection.putheader("Content-Length", str(300 * 2**20))
    connection.endheaders()
    assert connection.getresponse().status == 413
