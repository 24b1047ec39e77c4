"""The pages' examples, run in order in an empty folder: each line that is shown is printed.

``make test-long ARGS=tests/test_readme_walk.py``; one page: ``ARGS='tests/test_readme_walk.py -k docs/check'``.
"""

import re
from pathlib import Path

import pytest

from tests import pages
from tests.readme_walk import DATA, ROOT, WALKS, Step, pages_before, reason_not_to_run, steps, walk
from tests.test_readme import FENCED

PAGES = list(pages.TEXTS)
FOLLOWED = {page for each in WALKS.values() for page in [each.get("after")]}
WALKED = [
    page
    for page in PAGES
    if page not in FOLLOWED and any(reason_not_to_run(page, step) is None for step in steps(page))
]
"""Pages with steps that are run; one that another follows on is walked with it."""
SETTINGS = {"has", "after", "files", "not_run", "exits", "upstream", "hub", "chat", "varies"}


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_file_is_a_step(page: str) -> None:
    """A block that the walk does not understand would be left out without a reason."""
    all_steps = steps(page)
    texts = [step.text for step in all_steps]
    blocks = "\n".join(FENCED.findall((ROOT / page).read_text(encoding="utf-8"))).replace("\\\n", " ")
    commands = re.findall(r"^(?:\$ )?((?:shiftbench|python|make|\.venv/bin/\w+) .*)$", blocks, flags=re.M)
    assert [line for line in commands if not any(line in text for text in texts)] == []
    unnamed = [step.text for step in all_steps if step.kind == "file" and step.text.startswith("\n")]
    assert [text for text in unnamed if reason_not_to_run(page, Step("file", text)) is None] == []


@pytest.mark.parametrize("page", list(WALKS))
def test_what_is_said_of_a_page_is_of_its_steps(page: str) -> None:
    """An exception without its command, and a file without its block, are left over from an older page."""
    settings = WALKS[page]
    assert set(settings) <= SETTINGS
    all_steps = [step for each in PAGES if page in (each, "every page") for step in steps(each)]
    assert all_steps
    texts = [step.text for step in all_steps]
    stale = [
        words for key in ("not_run", "exits") for words in settings.get(key, {}) if not any(words in t for t in texts)
    ]
    assert stale == []
    files = {step.text.split("\n")[0] for step in all_steps if step.kind == "file"} - {""}
    assert page == "every page" or files == set(settings.get("files", {}))


def test_first_words_of_another_command_leave_nothing_out() -> None:
    assert reason_not_to_run("baselines/README.md", Step("shell", "make test")) is not None
    assert reason_not_to_run("baselines/README.md", Step("shell", "shiftbench study reproduce")) is None


@pytest.mark.long
@pytest.mark.parametrize("page", WALKED)
def test_the_examples_print_what_is_shown(page: str, tmp_path: Path) -> None:
    walked = [*pages_before(page), page]
    if any(WALKS.get(each, {}).get("upstream") for each in walked) and not DATA.is_dir():
        pytest.skip("needs upstream files under ../shared/data")
    walk(walked, tmp_path)
