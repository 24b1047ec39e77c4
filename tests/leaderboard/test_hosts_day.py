"""A host's day, with the page alone: an advertisement hidden, a copycat renamed, a person erased, a forged log found.

The commands are those of ``docs/host/moderate.md``, in its order.
"""

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shiftbench.cli.command import app
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.store import Store
from tests.leaderboard.conftest import Filled, fill
from tests.readme_walk import Step, steps

PAGE = "docs/host/moderate.md"


def run(command: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, shlex.split(command.partition("  #")[0])[1:])
    assert done.exit_code == code, (command, done.output)
    return done.output


def the_step(words: str) -> Step:
    """Return the page's step that has some words."""
    (step,) = [step for step in steps(PAGE) if words in step.text]
    return step


def test_a_hosts_day_with_the_page_alone(filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = fill(filled.folder, tmp_path)
    monkeypatch.chdir(tmp_path)
    store, folder = own.store, own.folder
    person, _ = store.submit(own.files["partial"], own.card("partial"), [folder], "ann")
    spam, copycat = own.entries["good"].id, own.entries["poor"].id
    index = Index([folder], store)

    def names() -> list[str]:
        index.refresh()
        return index.frame(index.boards()[0])["name"].to_list()

    before = names()
    run(the_step('hide ENTRY --to store --reason "an').text.replace("ENTRY", spam))
    assert "Good model" not in names()
    run(the_step("unhide").text.replace("ENTRY", spam))
    assert names() == before
    run(the_step("rename").text.replace("ENTRY", copycat))
    run(the_step("annotate").text.replace("ENTRY", copycat))
    assert "A copy of BERT" in names()
    assert "Poor model" not in names()
    assert index.host_notes(copycat)[1:] == ["Trained on the test texts"]
    run(the_step("board ban").text)
    step = the_step("board erase")
    assert run(step.text).splitlines() == [
        f"would erase entry {person.id}",
        "nothing was erased: run it again with --yes to erase 'ann' permanently",
    ]
    assert person.id in store.ids()
    run(f"{step.text} --yes")
    assert person.id not in Store(store.root).ids()
    assert not [path for path in store.root.rglob("*") if path.is_file() and b'"ann"' in path.read_bytes()]
    log = run(next(each.text for each in steps(PAGE) if each.text == "shiftbench board log --store store"))
    assert [line.split()[2] for line in log.splitlines()][-6:] == [
        *("hidden", "unhidden", "renamed", "annotated", "banned", "erased"),
    ]
    verify = the_step("--verify").text
    path = store.root / "log" / "000001.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    assert run(verify).startswith(f"{len(lines)} events, the last one")
    for place, line in enumerate(lines):
        for forged in (
            [*lines[:place], line.replace(b'"act":"', b'"act":"x', 1), *lines[place + 1 :]],
            [*lines[:place], *lines[place + 1 :]],
            [*lines[: place + 1], line, *lines[place + 1 :]],
            [*lines[:place], *lines[place + 1 : place + 2], line, *lines[place + 2 :]]
            if place + 1 < len(lines)
            else [],
        ):
            if forged == lines:  # the last line has none to be swapped with
                continue
            path.write_bytes(b"".join(forged))
            assert "log/" in run(verify, code=3)
    path.write_bytes(b"".join(lines))
    run(verify)
