"""The READMEs' examples, run in order in an empty folder: each line that is shown is printed.

``make test-long ARGS=tests/test_readme_walk.py``; one page: ``ARGS='tests/test_readme_walk.py -k builders'``.
"""

from pathlib import Path

import pytest

from tests.readme_walk import DATA, ROOT, WALKS, reason_not_to_run, steps, walk

PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in sorted([*ROOT.glob("*.md"), *(p for room in WALKS["rooms"] for p in (ROOT / room).rglob("README.md"))])
    if path.name != "CHANGELOG.md"
]
WALKED = [page for page in PAGES if any(reason_not_to_run(page, step) is None for step in steps(page))]
SETTINGS = {"has", "files", "not_run", "exits", "upstream"}


@pytest.mark.parametrize("page", [name for name in WALKS if name != "rooms"])
def test_what_is_said_of_a_page_is_of_its_steps(page: str) -> None:
    """An exception without its command, and a file without its block, are left over from an older page."""
    settings = WALKS[page]
    assert set(settings) <= SETTINGS
    all_steps = [step for each in PAGES if page in (each, "every page") for step in steps(each)]
    assert all_steps
    texts = [step.text for step in all_steps if step.kind != "file"]
    stale = [
        words for key in ("not_run", "exits") for words in settings.get(key, {}) if not any(words in t for t in texts)
    ]
    assert stale == []
    files = [step.text.split("\n")[0] for step in all_steps if step.kind == "file"]
    assert sorted(files) == sorted(settings.get("files", {}))


@pytest.mark.long
@pytest.mark.parametrize("page", WALKED)
def test_the_examples_print_what_is_shown(page: str, tmp_path: Path) -> None:
    if WALKS.get(page, {}).get("upstream") and not DATA.is_dir():
        pytest.skip("needs upstream files under ../shared/data")
    walk(page, tmp_path)
