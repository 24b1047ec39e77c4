"""Addresses of pages: one module spells them, and whatever links to a page or answers there takes them from it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from shiftbench.leaderboard.pages import addresses
from shiftbench.leaderboard.pages.shell import TEMPLATES

ROOT = Path(__file__).parents[3]
ROOMS = ("leaderboard/app", "leaderboard/pages", "scoring/reports", "shiftbench", "benchmarks")
ADDRESS = re.compile(r"/[a-z_][a-z_.]*(/[a-z_.]+)*(\?.*)?")
IN_FILES = re.compile(r"""(?:href|action|src)="/|['"`]/[a-z_.]*['"`?]""")


def spelled_addresses(source: str) -> Iterator[str]:
    """Yield what is spelled like an address in Python source, docstrings left out."""
    tree = ast.parse(source)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            if ADDRESS.fullmatch(node.value) and not node.value.startswith("/proc/"):  # of the system
                yield node.value
        elif isinstance(node, ast.keyword) and node.arg in ("href", "action") and isinstance(node.value, ast.Constant):
            yield str(node.value.value)


@pytest.mark.parametrize(
    "source", ['tag("a", href=f"/entry?id={x}")', '@app.get("/rows")\ndef rows(): ...', 'x = url + "/static/page.css"']
)
def test_an_address_that_is_spelled_elsewhere_would_be_found(source: str) -> None:
    assert list(spelled_addresses(source))


def test_python_spells_addresses_in_one_module() -> None:
    spelled = {
        f"{path.relative_to(ROOT)}: {address}"
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if path.name != "addresses.py"
        for address in spelled_addresses(path.read_text(encoding="utf-8"))
    }
    assert spelled == set()


def test_templates_and_the_script_spell_none() -> None:
    files = [*TEMPLATES.glob("*.html"), TEMPLATES.parent / "page.js"]
    assert len(files) > 1
    found = {path.name: IN_FILES.findall(path.read_text(encoding="utf-8")) for path in files}
    about = found.pop("about.html")
    assert set(about) <= {'"/boards"', '"/board"', '"/check"'}, "names of endpoints in the example program"
    assert not any(found.values()), found
    assert IN_FILES.search("""fetch('/rows' + search)""")
    assert IN_FILES.search('<a href="/entry">')


def test_whatever_an_address_names_comes_back_from_it() -> None:
    asked = urlsplit(addresses.entry_address("a&b", "c d/e?"))
    assert asked.path == addresses.ENTRY
    assert parse_qs(asked.query) == {"id": ["a&b"], "task": ["c d/e?"]}
    assert parse_qs(urlsplit(addresses.address_of(addresses.DATA, task="dr/nli@1")).query) == {"task": ["dr/nli@1"]}
