"""nginx in front of a real server, with TLS and below a path, as ``deploy/nginx.conf`` says; walked in a browser."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import Client

from shiftbench.validation.cards import write_card
from tests.hub.server import LoopbackHub, running_hub
from tests.hub.sign_in import CLIENT_ID, CLIENT_SECRET
from tests.leaderboard.app.chromium import CHROMIUM, FLAGS, leaves, until
from tests.leaderboard.app.test_server import free_port
from tests.leaderboard.conftest import Filled, fill, predict

ROOT = Path(__file__).parents[3]
NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
PATH = "/domains"
LINK = re.compile(r'\b(href|src|action|formaction)="([^"]*)"')

pytestmark = pytest.mark.skipif(not Path(NGINX).exists(), reason="nginx is not installed")


@dataclass(frozen=True)
class Site:
    """The leaderboard below a path of a site with TLS."""

    url: str
    filled: Filled
    hub: LoopbackHub


def start_nginx(home: Path, port: int, upstream: int) -> "subprocess.Popen[bytes]":
    """Start nginx with the file that hosts copy; only its addresses, certificate and name are others."""
    text = (ROOT / "deploy" / "nginx.conf").read_text()
    for before, after in (
        ("127.0.0.1:7860", f"127.0.0.1:{upstream}"),
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/boards.example.org/fullchain.pem", str(home / "cert.pem")),
        ("/etc/ssl/boards.example.org/privkey.pem", str(home / "key.pem")),
        ("boards.example.org;", "127.0.0.1;"),
    ):
        assert before in text, before
        text = text.replace(before, after)
    key = ["-newkey", "rsa:2048", "-nodes", "-keyout", str(home / "key.pem"), "-out", str(home / "cert.pem")]
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run(["openssl", "req", "-x509", *key, *name], check=True, capture_output=True)
    places = "".join(
        f"{kind}_temp_path {home}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (home / "nginx.conf").write_text(
        f"daemon off; pid {home}/nginx.pid; error_log {home}/error.log;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{places}{text}}}\n"
    )
    return subprocess.Popen([NGINX, "-p", str(home), "-c", str(home / "nginx.conf")], stderr=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def site(filled: Filled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("site")
    own = fill(filled.folder, home)
    port, outside = free_port(), free_port()
    with running_hub(home / "hub") as hub:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
        environment |= hub.environment(home / "hf") | {
            "PYTHONPATH": str(ROOT),
            "GRADIO_TEMP_DIR": str(home / "gradio"),
            "SYSTEM": "spaces",  # Gradio has sessions for signing in only there
            "SPACE_ID": "acme/board",
            "OAUTH_CLIENT_ID": CLIENT_ID,
            "OAUTH_CLIENT_SECRET": CLIENT_SECRET,
            "OAUTH_SCOPES": "openid profile",
            "OPENID_PROVIDER_URL": hub.url,
        }
        (home / "board.toml").write_text(
            f'[server]\nroot_path = "{PATH}"\nproxies = ["127.0.0.1"]\n[submissions]\nsign_in = true\nquota = 10\n'
        )
        words = ["serve", "--data", str(own.folder.path), "--store", str(own.store.root), "--port", str(port)]
        words += ["--config", str(home / "board.toml")]
        with (home / "server.log").open("wb") as log:
            server = subprocess.Popen(
                [sys.executable, "-m", "shiftbench", *words], env=environment, stdout=log, stderr=log
            )
        nginx = start_nginx(home, outside, port)
        try:
            url = f"https://127.0.0.1:{outside}{PATH}"
            deadline = time.monotonic() + 90
            while True:
                try:
                    if httpx.get(f"{url}/healthz", verify=False).text == "ok":
                        break
                except httpx.ConnectError:
                    pass
                assert server.poll() is None, (home / "server.log").read_text()
                assert nginx.poll() is None, (home / "error.log").read_text()
                assert time.monotonic() < deadline, (home / "server.log").read_text()
                time.sleep(0.1)
            yield Site(url, own, hub)
        finally:
            for process in (nginx, server):
                process.terminate()
                process.wait(timeout=30)


def test_every_link_of_every_page_leads_below_the_path(site: Site) -> None:
    start = site.url.split(PATH)[0]
    waiting, seen, bad = [f"{PATH}/"], set(), []
    with httpx.Client(verify=False, timeout=30) as client:
        while waiting:
            address = waiting.pop()
            if address in seen or len(seen) > 150:
                continue
            seen.add(address)
            answer = client.get(start + address, headers={"accept": "text/html"})
            if answer.status_code >= 400:
                bad.append(f"{address}: {answer.status_code}")
            if not answer.headers.get("content-type", "").startswith("text/html"):
                continue
            for kind, text in LINK.findall(answer.text):
                link = unescape(text)
                if link.startswith("/") and not link.startswith(f"{PATH}/"):
                    bad.append(f"{address}: {link}")
                elif link.startswith(f"{PATH}/") and kind in ("href", "src") and "/log" not in link:
                    waiting.append(link.split("#")[0])
    assert bad == []
    assert {f"{PATH}/about", f"{PATH}/submit", f"{PATH}/static/page.css"} <= {each.split("?")[0] for each in seen}
    assert any(each.startswith(f"{PATH}/entry?") for each in seen)


def test_addresses_that_are_to_be_shared_are_those_of_the_site(site: Site) -> None:
    entry = site.filled.entries["good"].id
    page = httpx.get(f"{site.url}/entry?id={entry}", verify=False).text
    assert f'content="{site.url}/picture.png?of=/entry?id%3D{entry}' in page.replace("%26", "&")
    assert f"{site.url}/embed?of=" in page


def test_pages_come_packed_and_whole(site: Site) -> None:
    for address in ("/", "/gradio", "/board.csv?board=synthetic/nli", "/nothing-here"):
        answer = httpx.get(site.url + address, verify=False, headers={"accept": "text/html"})
        assert answer.headers.get("content-encoding") == "gzip" or len(answer.content) < 1000, address
        assert answer.content


@pytest.mark.browser
def test_a_visitor_signs_in_sends_a_file_and_finds_it_on_the_board(site: Site, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    predict(site.filled.folder, site.filled.folder.task("nli").domains, 0.12).write_parquet(tmp_path / "mine.parquet")
    wrong: list[str] = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        page: Any = chromium.new_context(ignore_https_errors=True).new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: wrong.append(request.url) if leaves(request.url) else None)
        page.goto(f"{site.url}/")
        page.get_by_role("link", name="Submit", exact=True).first.click()
        page.get_by_role("link", name="sign in with Hugging Face").click()
        page.get_by_text("Signed in as ada").wait_for()
        assert page.url == f"{site.url}/submit"
        page.select_option("#board", "synthetic/nli")
        page.set_input_files("#file", tmp_path / "mine.parquet")
        page.locator("#submit-answer li").filter(has_text="'paradigm'").wait_for()
        page.select_option("#card-paradigm", "fine-tuned")
        page.get_by_text("nothing is stored yet").wait_for()
        page.get_by_role("button", name="Submit", exact=True).click()
        page.get_by_text("Accepted as").wait_for()
        page.locator("#submit-answer a").first.click()
        page.get_by_role("heading", name="mine").wait_for()
        assert page.url.startswith(f"{site.url}/entry?id=")
        page.goto(f"{site.url}/?board=synthetic/nli")
        page.locator("input[name=q]").fill("mine")
        until(page, lambda: "q=mine" in page.url)
        assert page.url.startswith(f"{site.url}/?")
        assert wrong == []
        page.goto(f"{site.url}/gradio")  # which asks for fonts and pictures elsewhere on a Space, and is refused them
        page.get_by_role("button", name="Check", exact=True).wait_for()
        chromium.close()


def test_programs_reach_the_api_and_the_mcp_server(site: Site, tmp_path: Path) -> None:
    client = Client(f"{site.url}/", verbose=False, ssl_verify=False)
    assert client.predict("synthetic/nli", api_name="/board")
    accept = {"accept": "application/json, text/event-stream"}

    def ask(method: str, **params: Any) -> dict[str, Any]:
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = httpx.post(f"{site.url}/gradio_api/mcp/", json=call, headers=accept, verify=False, timeout=30)
        told: dict[str, Any] = json.loads(answer.text.split("data: ")[1])["result"]
        return told

    tool = next(each["name"] for each in ask("tools/list")["tools"] if each["name"].endswith("board"))
    told = ask("tools/call", name=tool, arguments={"name": "synthetic/nli"})
    assert not told["isError"]
    assert site.filled.entries["good"].id in told["content"][0]["text"]


def test_submit_sends_a_file_to_it(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "sent.parquet"
    predict(site.filled.folder, site.filled.folder.task("nli").domains, 0.14).write_parquet(file)
    card = site.filled.card("good").model_copy(update={"name": "sent by a program"})
    write_card(card, tmp_path / "sent.card.yaml")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment |= site.hub.environment(tmp_path / "hf", "hf_ada") | {"SSL_CERT_FILE": str(site_certificate(site))}
    words = ["submit", str(file), "--card", str(tmp_path / "sent.card.yaml"), "--to", site.url]
    command = [sys.executable, "-m", "shiftbench", *words]
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "sent by a program" in httpx.get(f"{site.url}/?board=synthetic/nli&q=sent", verify=False).text


def site_certificate(site: Site) -> Path:
    return site.filled.store.root.parent / "cert.pem"  # type: ignore[union-attr]
