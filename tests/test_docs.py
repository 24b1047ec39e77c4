"""The site: built without a network, every link leads somewhere, and what is made from the code is all there."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import shiftbench as sb
from shiftbench.baselines.grid.stored import read_results
from shiftbench.baselines.models.settings import SETTINGS
from shiftbench.baselines.results.papers import RESULTS, paper_file
from shiftbench.baselines.robust.method import METHODS
from shiftbench.notebook.tables import SCORE_TABLES
from shiftbench.scoring.papers.analysis.figures import FIGURES
from tests.listed_options import listed_commands
from tests.pages import ROOT, SITE

pytest.importorskip("mkdocs", reason="needs the extra 'docs'")


class _Fetched(HTMLParser):
    """Collects what a page makes a browser fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        is_link = tag == "link" and values.get("rel") not in ("canonical", "next", "prev")
        name = "href" if is_link else "src" if tag in ("script", "img", "iframe", "source") else None
        if name and values.get(name):
            self.addresses.append(str(values[name]))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as ``make docs`` does: a warning, such as a link that leads nowhere, is an error."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(out)]
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "ALL_PROXY"), "http://127.0.0.1:9")
    environment = os.environ | proxies | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def page(site: Path, name: str) -> str:
    return (site / name).read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation(site: Path) -> None:
    linked = set(re.findall(r'<a href="([\w/.-]+\.html)" class="md-nav__link', page(site, "index.html")))
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in SITE}
    assert pages - linked <= {"index.html"}


def test_no_page_fetches_anything_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        parser = _Fetched()
        parser.feed(path.read_text(encoding="utf-8"))
        assert [each for each in parser.addresses if re.match(r"(?:https?:)?//", each)] == [], path
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)]*", styles) == []


def test_reference_pages_have_all_that_there_is(site: Path) -> None:
    for words, _, options in listed_commands():
        text = page(site, f"reference/commands/{words.split()[0]}.html")
        assert f'id="shiftbench-{words.replace(" ", "-")}"' in text
        assert [name for name in options if f"<code>{name}" not in text and f" {name}" not in text] == [], words
    python = page(site, "reference/python.html")
    named = [name for name in sb.__all__ if callable(getattr(sb, name))]
    assert [name for name in named if f'.{getattr(sb, name).__name__}"' not in python] == []
    for name, wanted in (("tables", SCORE_TABLES), ("figures", [each.name for each in FIGURES]), ("methods", METHODS)):
        made = page(site, f"reference/{name}.html")
        assert [each for each in wanted if f"<code>{each}</code>" not in made] == [], name
    metrics = page(site, "reference/metrics.html")
    assert [name for name in sb.metrics.__all__ if f'.{name}"' not in metrics] == []
    assert [
        row.id for row in paper_file().rows if f"<td>{row.id}</td>" not in page(site, "reference/papers.html")
    ] == []
    kept = [name for file in RESULTS.glob("*/records.jsonl") for name in read_results(file.parent)]
    assert page(site, "reference/results.html").count("<tr>") >= len(kept)
    assert [
        name for name in SETTINGS if f"<code>{name}</code>" not in page(site, "reference/model-settings.html")
    ] == []


def test_schemas_are_files(site: Path) -> None:
    schemas = {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in site.glob("reference/schemas/*.json")
    }
    assert schemas["card"]["additionalProperties"] is False
    assert set(schemas) == {"card", "scores", "comparisons", "manifest"}


def test_search_finds_pages_and_options(site: Path) -> None:
    index = json.loads(page(site, "search/search_index.json"))
    places = {each["location"].split("#")[0] for each in index["docs"]}
    assert {"check/index.html", "why/metrics.html", "reference/commands/gate.html"} <= places
    assert any("--max-regression" in each["text"] for each in index["docs"])
