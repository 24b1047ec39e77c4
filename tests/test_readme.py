"""What pages say can be typed can be typed, the files that they name are there, and they say what they should."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from shiftbench.builders.folder.citations import DEPTH_F1, PAPERS
from shiftbench.cli.command import app
from tests import pages
from tests.pages import READMES, ROOMS, ROOT, SITE, count_words

CHANGELOG = ROOT / "CHANGELOG.md"
PAGES = [*pages.PAGES, CHANGELOG]
TEXTS = {**pages.TEXTS, "CHANGELOG.md": CHANGELOG.read_text(encoding="utf-8")}
README, HOME = TEXTS["README.md"], TEXTS["docs/index.md"]
ALL = "\n".join(pages.TEXTS.values())
FENCED = re.compile(r"^```\w*\n(.*?)^```", flags=re.M | re.S)
BLOCKS = [(block, page) for page, text in TEXTS.items() for block in FENCED.findall(text)]
"""What stands between fences, and on which page."""
COMMAND: Any = typer.main.get_command(app)
MOST_WORDS = 20_000
"""Of all pages that people write."""
MOST_CHANGES = 60
"""Lines of the changelog, of one version."""
MOST_LINES = {"README.md": 120, "of a room": 60}
"""Of a README; of a room's it is what somebody who works on the room needs."""
WORDS = (
    "domain, shift", "SS, TT, ST", "SD, TD, IDD", "scenario", "resolved", "minimum detectable drop", "placebo", "DF1",
    "Q", "subset", "ID, OOD", "card, entry",
)  # fmt: skip


OWN_PROGRAMS = {
    name: block
    for block, _ in BLOCKS
    for name in re.findall(r"shiftbench train (\w+\.py) ", "\n".join(TEXTS.values()))
    if "def main(runs: RunOptions" in block
}
"""Programs that pages show and train."""


def commands() -> list[str]:
    """Return each command line of the READMEs, with the values of the variables that its page sets."""
    found = []
    for block, page in BLOCKS:
        values = dict(re.findall(r'^([A-Z]+)="?([^"\n]*)"?$', TEXTS[page], flags=re.M))
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith(("shiftbench ", "$ shiftbench ")):
                typed = line.removeprefix("$ ")
                for name, value in values.items():
                    typed = typed.replace(f"${name}", value)
                found.append(typed)
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("line", commands())
def test_every_command_is_one(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "build").mkdir()  # earlier commands made it
    for name, code in OWN_PROGRAMS.items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    _, *words = shlex.split(line, comments=True)
    command = COMMAND
    while hasattr(command, "list_commands"):
        context = command.make_context("shiftbench", [words[0]], resilient_parsing=True)
        name, *words = words
        command = command.get_command(context, name)
        assert command is not None, f"there is no command {name}"
    # Parsing complains of unknown options, missing arguments and values of the wrong type.
    command.make_context(name, words)


def test_there_are_commands_to_test() -> None:
    assert {line.split()[1] for line in commands()} >= {
        "build",
        "train",
        "score",
        "compare",
        "submit",
        "serve",
        "gate",
    }


def test_make_targets_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {target for block, _ in BLOCKS for target in re.findall(r"^make (?:-s )?([\w-]+)", block, flags=re.M)}
    named |= set(re.findall(r"`make ([\w-]+)", ALL))
    assert named >= {"demo", "test", "test-long"}
    assert [target for target in sorted(named) if not re.search(rf"^{target}:", makefile, flags=re.M)] == []


@pytest.mark.parametrize("page", PAGES, ids=pages.name_of)
def test_files_named_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if page.name != "CHANGELOG.md":  # which names what was there then
        named = re.findall(rf"`((?:{'|'.join(ROOMS)}|tests)/[^`\s{{}}<*]*)`", text)
        assert [path for path in named if not (ROOT / path).exists()] == []
    if page in SITE:
        return  # tests/test_docs.py builds the site, pages that are made from the code among them
    links = re.findall(r"\]\((?!http)([^)#]+)[^)]*\)", text)
    assert [path for path in links if not (page.parent / path).exists()] == []


def test_pages_are_short() -> None:
    """``python -m tests.pages`` lists them; what is over goes, or is made from the code."""
    assert sum(map(count_words, pages.TEXTS.values())) <= MOST_WORDS
    lines = {pages.name_of(page): len(page.read_text(encoding="utf-8").splitlines()) for page in READMES}
    assert {name: n for name, n in lines.items() if n > MOST_LINES.get(name, MOST_LINES["of a room"])} == {}


def test_the_site_explains_its_words() -> None:
    _, glossary = HOME.split("\n## Terms\n")
    assert [word for word in WORDS if f"\n| {word} | " not in glossary] == []


@pytest.mark.parametrize("page", PAGES, ids=pages.name_of)
def test_nothing_is_left_of_a_merge(page: Path) -> None:
    left = re.findall(r"^(?:<{7} |={7}$|>{7} ).*", page.read_text(encoding="utf-8"), flags=re.M)
    assert left == []
    assert list(page.parent.glob("*.orig")) == []


def test_nobody_who_uses_it_is_sent_into_source_code() -> None:
    """Only somebody who changes something reads code; tests are named as the commands that print a figure."""
    named = [
        (page, name)
        for page in ("README.md", *map(pages.name_of, SITE))
        for name in re.findall(r"`([\w/]+/[\w/]+\.py)`", TEXTS[page])
    ]
    assert [each for each in named if not each[1].startswith("tests/")] == []


def test_the_changelog_is_one_to_keep() -> None:
    """By Keep a Changelog, for those who use it: history of methods is ``docs/why/history.md``."""
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Upgrading"}
    _, *versions = re.split(r"^## ", TEXTS["CHANGELOG.md"], flags=re.M)
    assert versions[0].startswith("Unreleased\n")
    for version in versions:
        assert len(version.strip().splitlines()) <= MOST_CHANGES, version[:20]
        assert set(re.findall(r"^### (.*)$", version, flags=re.M)) <= kinds
        assert len(version.split()) == 1 or "\n### " in version


def test_every_extra_is_explained() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    install = HOME.split("## Install")[1].split("\n## ")[0]
    assert [name for name in extras if f"`{name}`" not in install] == []


def test_the_table_of_rooms_has_every_room() -> None:
    named = re.findall(r"^\| `([a-z/]+)/` \|", TEXTS["CONTRIBUTING.md"], flags=re.M)
    assert all((ROOT / room).is_dir() for room in named)
    assert {room for room in named if "/" not in room} == set(ROOMS)


def test_the_citation_file_is_sound_and_of_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors", "version", "date-released", "type"} <= set(cited)
    assert (cited["cff-version"], cited["type"], cited["license"]) == ("1.2.0", "software", "Apache-2.0")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changes = re.search(r"^## ([\d.]+) \((\S+)\)", TEXTS["CHANGELOG.md"], flags=re.M)
    assert changes is not None
    assert (cited["version"], cited["date-released"].isoformat()) == (changes[1], changes[2])
    assert cited["version"] == project["version"]
    preferred = cited["preferred-citation"]
    assert all(preferred[key] == cited[key] for key in ("type", "title", "authors", "license"))
    assert preferred["year"] == cited["date-released"].year
    for reference in cited["references"]:
        assert {"type", "title", "authors", "year", "url"} <= set(reference)
        assert all({"family-names", "given-names"} <= set(author) for author in reference["authors"])


def test_the_papers_are_the_ones_that_datasets_cite() -> None:
    """Title, first author and address agree with the bibliography, in the README and in the citation file."""
    bibliography = (ROOT / "builders/folder/citations.bib").read_text(encoding="utf-8")
    references = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    for key in (*PAPERS.values(), DEPTH_F1):
        entry = bibliography.split(f"{{{key},")[1].split("\n}\n")[0]
        title = " ".join(re.sub(r"[{}]", "", re.search(r"title = \{(.*?)\},\n", entry, flags=re.S)[1]).split())  # type: ignore[index]
        arxiv = re.search(r"arXiv:([\d.]+)", entry)
        family = re.search(r"author = \{(\w+),", entry)
        assert arxiv is not None
        assert family is not None
        url = f"https://arxiv.org/abs/{arxiv[1]}"
        assert f"[{title}]({url})" in README
        (found,) = (each for each in references if each["url"] == url)
        assert (found["title"], found["authors"][0]["family-names"]) == (title, family[1])
