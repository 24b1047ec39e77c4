"""Submitting by the page's form: the same entries as by Gradio, from this server's own pages alone."""

import html
import http.client
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import polars as pl
import pytest
import yaml
from gradio_client import Client, handle_file
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient
from syrupy.assertion import SnapshotAssertion

from shiftbench.leaderboard.app import submitting
from shiftbench.leaderboard.app.faults import FaultLog
from shiftbench.leaderboard.app.identity import Callers
from shiftbench.leaderboard.app.line import Line
from shiftbench.leaderboard.app.live_index import LiveIndex
from shiftbench.leaderboard.app.server import ServerSettings, create_app, serve
from shiftbench.leaderboard.app.signing_in import SignIns
from shiftbench.leaderboard.app.submitting import SubmitPage
from shiftbench.leaderboard.app.uploads import Uploads
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.pages.submit_page import Access, submit_page
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.scores.score import IN_THIS_PROCESS
from tests.leaderboard.app.test_server import free_port
from tests.leaderboard.app.waiting import last_answer
from tests.leaderboard.conftest import Filled, fill


def post(url: str, file: Path | None, headers: dict[str, str] | None = None, **fields: str) -> httpx.Response:
    files = {"file": (file.name, file.read_bytes())} if file else {}
    origin = {"origin": url} if headers is None else headers
    with httpx.Client(timeout=60) as session:
        return last_answer(session, session.post(f"{url}/submit", data=fields, files=files or None, headers=origin))


def entries(filled: Filled) -> list[str]:
    return filled.store.ids()


def test_the_form_asks_for_board_file_and_card_and_needs_five_requests(pages_served: tuple[str, Filled]) -> None:
    url, _ = pages_served
    text = httpx.get(f"{url}/submit").text
    assert text.count("(required)") >= 3
    assert 'value="synthetic/nli">' in text
    assert len(re.findall(r"<(?:script|img|iframe)[^>]* src=|<link[^>]* rel=\"stylesheet", text)) <= 4
    assert httpx.get(f"{url}/submit-plain").headers["location"] == "/submit"


def test_the_form_fills_itself_and_keeps_the_file(pages_served: tuple[str, Filled], tmp_path: Path) -> None:
    url, filled = pages_served
    card = tmp_path / "good.card.yaml"
    card.write_text(
        "paradigm: few-shot\nparameters: 1200\npretraining_domains: [city, forest]\ncommand: python train.py\n"
    )
    sent = {"file": ("my-model.parquet", filled.files["good"].read_bytes()), "card_file": card.read_bytes()}
    form = {"do": "check", "board": "synthetic/nli"}
    with httpx.Client(timeout=60) as session:
        first = session.post(f"{url}/submit", data=form, files=sent, headers={"origin": url})
        answer = last_answer(session, first).text
    fields = dict(re.findall(r'name="(\w+)"[^>]* value="([^"]+)"', answer))
    assert (fields["name"], fields["parameters"]) == ("my-model", "1200")
    assert fields["pretraining_domains"] == "city, forest"
    assert 'value="few-shot" selected' in answer
    assert re.search(r"<textarea[^>]*>command: .* train.py\n</textarea>", answer)
    assert "my-model.parquet</b>" in answer
    assert NO_PROBLEMS in answer
    kept = {**form, "kept": fields["kept"], "name": "x", "paradigm": "other"}
    assert NO_PROBLEMS in post(url, None, **kept).text
    guessed = post(url, None, **{**kept, "kept": "../../store/entries"})
    assert NO_PROBLEMS not in guessed.text


NO_PROBLEMS = "No problems."
ACCEPTED = "Accepted as"
FIELDS = {"name": "Either way", "paradigm": "few-shot", "parameters": 1200, "pretraining_domains": ["city"]}


def by_page(url: str, file: Path) -> str:
    fields = {**FIELDS, "parameters": "1200", "pretraining_domains": "city"}
    answer = post(url, file, do="submit", board="synthetic/nli", **fields)  # type: ignore[arg-type]
    found = re.search(r'Accepted as <a href="/entry\?id=([0-9a-f]{16})">', answer.text)
    assert found, answer.text
    return found[1]


def by_gradio(url: str, file: Path) -> str:
    client = Client(url, verbose=False, download_files=False)
    card = json.dumps(FIELDS)
    answer = client.predict(handle_file(str(file)), card, False, None, "synthetic/nli", api_name="/submit")
    assert answer["ok"], answer["problems"]
    return str(answer["entry"])


def test_the_same_file_by_the_page_and_by_gradio_is_the_same_entry(filled: Filled, tmp_path: Path) -> None:
    records = []
    for send in (by_page, by_gradio):
        store = Store(tmp_path / send.__name__)
        server = serve([filled.folder], store, port=free_port(), block=False)
        try:
            entry = store.entry(send(server.url, filled.files["poor"]))
        finally:
            server.close()
        record = json.loads(store.entry_files(entry.id).card.read_text())
        assert record.pop("submitted_at") == entry.submitted_at
        (task,) = store.scores(entry, filled.folder).tasks
        assert len(task.shifts) == 12
        assert all(shift.sd.low is not None and shift.depth_f1 for shift in task.shifts)
        records.append((record, task.model_dump()))  # SD, TD, scenario, Depth-F1 and all else, with intervals
    assert records[0] == records[1]


def test_a_file_is_checked_then_submitted_once(pages_served: tuple[str, Filled]) -> None:
    url, filled = pages_served
    before = entries(filled)
    fields = {"name": "By the plain form", "paradigm": "fine-tuned", "board": "synthetic/nli"}
    checked = post(url, filled.files["poor"], do="check", **fields)
    assert (checked.status_code, NO_PROBLEMS in checked.text) == (200, True)
    assert entries(filled) == before
    assert ACCEPTED in post(url, filled.files["poor"], do="submit", **fields).text
    again = post(url, filled.files["poor"], do="submit", board=fields.pop("board"), card=yaml.safe_dump(fields))
    assert "already" in again.text
    assert len(entries(filled)) == len(before) + 1


def test_problems_are_listed_and_what_was_filled_in_stays(
    pages_served: tuple[str, Filled], tmp_path: Path, wording: SnapshotAssertion
) -> None:
    url, filled = pages_served
    bad = tmp_path / "bad.csv"
    pl.read_parquet(filled.files["poor"]).with_columns(note=pl.lit(1)).write_csv(bad)
    answer = post(url, bad, do="submit", name="<b>Mine", parameters="12")
    assert answer.status_code == 422
    assert 'value="&lt;b&gt;Mine"' in answer.text
    nothing = post(url, None, do="check", name="x")
    assert [
        [html.unescape(line) for line in re.findall(r"<li>(.*?)</li>", each.text)] for each in (answer, nothing)
    ] == wording


def test_labels_by_index_are_kept_as_names(pages_served: tuple[str, Filled], tmp_path: Path) -> None:
    url, filled = pages_served
    frame = pl.read_parquet(filled.files["poor"])
    task = frame["id"][0].split("/")[1]
    numbers = {label: str(number) for number, label in enumerate(filled.folder.task(task).labels)}
    frame = frame.filter(pl.col("id").str.split("/").list.get(1) == task)
    path = tmp_path / "numbers.csv"
    frame.with_columns(pl.col("prediction").replace(numbers)).write_csv(path)
    fields = {"name": "By index", "paradigm": "other", "board": f"synthetic/{task}"}
    assert "numbers, " in post(url, path, do="submit", **fields).text
    before = set(entries(filled))
    assert ACCEPTED in post(url, path, do="submit", labels_by_index="yes", **fields).text
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
    assert "machine" in answer.text
    assert entries(filled) == before


def test_where_no_browser_can_sign_in_the_form_checks_alone(filled: Filled, tmp_path: Path) -> None:
    own = fill(filled.folder, tmp_path)
    with TestClient(create_app([own.folder], own.store, ServerSettings(sign_in=True)), "http://127.0.0.1") as client:
        page = client.get("/submit")
        assert ">Submit</button>" not in page.text

        assert page.headers["cache-control"] == "no-store"
        files = {"file": ("p.parquet", own.files["good"].read_bytes())}
        fields = {"do": "submit", "name": "x", "paradigm": "other"}
        answer = client.post("/submit", data=fields, files=files)
    assert "signed" in answer.text
    assert Index([own.folder], own.store).store.ids() == filled.store.ids()


@pytest.fixture(scope="module")
def signed_in(filled: Filled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, Filled]]:
    """The form behind a signed cookie, as Gradio keeps it on a Space; /as/NAME/SECONDS signs in for so long."""
    own = fill(filled.folder, tmp_path_factory.mktemp("signed-in"))
    live = LiveIndex(Index([own.folder], own.store), FaultLog())

    async def sign_in(request: Request) -> Response:
        user, seconds = request.path_params["name"], request.path_params["seconds"]
        request.session["oauth_info"] = {
            "expires_at": time.time() + seconds,
            "userinfo": {"preferred_username": user},
        }
        return Response("ok")

    routes = SubmitPage(live, Uploads(), IN_THIS_PROCESS, Line(), Callers(), sign_in=True, daily_quota=None).routes(
        SignIns()
    )
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
        (0, {"origin": "http://127.0.0.1"}, "not signed in"),
        (60, {}, "not signed in"),  # the cookie alone, as a page of another site could have it sent
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
    assert ">Submit</button>" not in client.get("/submit").text
    client.get(f"/as/ada/{seconds}")
    page = client.get("/submit").text
    assert (">Submit</button>" in page) == ("<b>ada</b>" in page) == (seconds > 0)
    before = set(own.store.ids())
    name = f"{seconds} {headers}"
    files = {"file": ("p.parquet", own.files["good"].read_bytes())}
    answer = client.post(
        "/submit",
        data={"do": "submit", "name": name, "paradigm": "other", "board": "synthetic/nli"},
        files=files,
        headers=headers,
    )
    assert words in answer.text
    new = [own.store.entry(identity) for identity in set(own.store.ids()) - before]
    expected = [("ada", name)] if words == ACCEPTED else []
    assert [(entry.submitter, entry.card.name) for entry in new] == expected


def test_who_waits_sees_the_place_in_the_line_and_then_the_answer(
    filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: 503 at once where another file was being scored."""
    monkeypatch.setattr(submitting, "SECONDS_OF_PATIENCE", 0.1)
    own, line = fill(filled.folder, tmp_path), Line(at_once=1)
    live = LiveIndex(Index([own.folder], own.store), FaultLog())
    routes = SubmitPage(live, Uploads(), IN_THIS_PROCESS, line, Callers(), sign_in=False, daily_quota=None).routes(
        SignIns()
    )
    held = line.enter("somebody", lambda _: None)
    line.enter("another", line.leave)
    with TestClient(Starlette(routes=routes), "http://127.0.0.1") as client:
        files = {"file": ("p.parquet", own.files["good"].read_bytes())}
        fields = {"do": "check", "name": "x", "paradigm": "other", "board": "synthetic/nli"}
        answer = client.post("/submit", data=fields, files=files)
        assert (answer.status_code, "Position 2 " in answer.text) == (202, True)
        seconds, _, address = answer.headers["refresh"].partition("; url=")
        assert (seconds, client.get(address).status_code) == ("2", 202)
        line.leave(held)
        deadline = time.monotonic() + 60
        while (answer := client.get(address)).status_code == 202 and time.monotonic() < deadline:
            pass
        assert (answer.status_code, NO_PROBLEMS in answer.text) == (200, True)
        assert client.get(address).status_code == 410  # it was shown


def test_a_cookie_that_somebody_made_up_signs_nobody_in(signed_in: tuple[TestClient, Filled]) -> None:
    client, _ = signed_in
    client.cookies.clear()
    client.cookies.set("session", "eyJvYXV0aF9pbmZvIjogMX0=.made.up")
    assert "<b>ada</b>" not in client.get("/submit").text


def test_where_people_sign_in_by_a_link_the_form_has_it(filled: Filled) -> None:
    access = Access(may_submit=False, sign_in_address="/login/huggingface?_target_url=%2Fsubmit")
    page = submit_page([filled.folder], access=access, daily_quota=2)
    assert 'href="/login/huggingface?_target_url=%2Fsubmit"' in page
    assert ">Submit</button>" not in page


def test_too_large_a_body_is_refused(pages_served: tuple[str, Filled]) -> None:
    url, _ = pages_served
    host = url.removeprefix("http://")
    connection = http.client.HTTPConnection(host)
    connection.putrequest("POST", "/submit")
    connection.putheader("Content-Length", str(300 * 2**20))
    connection.endheaders()
    assert connection.getresponse().status == 413
