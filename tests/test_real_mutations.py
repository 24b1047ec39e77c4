"""Random mistakes in whole real files, each of which must leave rows that are not the recorded ones."""

import gzip
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from shiftbench.builders.building.build import choose_tasks
from shiftbench.builders.building.row_records import check_rows
from shiftbench.builders.specs.spec import FileFacts, FileSpec, TaskSpec, upstream

pytestmark = [pytest.mark.real, pytest.mark.long]

N_EACH = 10
Change = Callable[[random.Random, str], str]


class Release(NamedTuple):
    """A line of a file is a row: what mistakes in its text and in its gold are, and how lines begin that are taken."""

    place: str
    text: Change
    gold: Change
    has_header: bool = False
    taken: str = ""


def _another(rng: random.Random, word: str) -> str:
    at = rng.randrange(len(word))
    return word[:at] + rng.choice([char for char in "aeiouy" if char != word[at]]) + word[at + 1 :]


def _in_one(pattern: str) -> Change:
    """Return a change of one letter in one of the places that a pattern finds."""

    def change(rng: random.Random, line: str) -> str:
        if not (places := list(re.finditer(pattern, line))):
            return line
        found = rng.choice(places)
        return line[: found.start(1)] + _another(rng, found[1]) + line[found.end(1) :]

    return change


def _by_name(pattern: str, names: tuple[str, ...]) -> Change:
    """Return a change of one of the names that a pattern finds to another one."""

    def change(rng: random.Random, line: str) -> str:
        found = rng.choice(list(re.finditer(pattern, line)))
        other = rng.choice([name for name in names if name != found[1]])
        return line[: found.start(1)] + other + line[found.end(1) :]

    return change


def _rating(rng: random.Random, line: str) -> str:
    """Change the root's rating; half ratings leave."""
    return f"({rng.choice([other for other in '024' if other != line[1]])}{line[2:]}"


RELEASES = {
    "SST": Release("sst/trees/test.txt", _in_one(r"\(\d ([A-Za-z]+)\)"), _rating, taken=r"\([024] "),
    "OLID": Release(
        "olid/OLIDv1.0/olid-training-v1.0.tsv",
        _in_one(r"(?<=[ \t])([a-z]+)(?= )"),
        _by_name(r"\t(OFF|NOT)\t", ("OFF", "NOT")),
        has_header=True,
    ),
    "ABSA": Release(
        "absa/data/laptop_train.txt",
        _in_one(r"(?<=[ #])([a-z]+)(?==O)"),
        _by_name(r"=(O|T-POS|T-NEG|T-NEU)(?= |$)", ("O", "T-POS", "T-NEG", "T-NEU")),
    ),
}


def _mistake(kind: str, release: Release, rng: random.Random, lines: list[str]) -> list[str]:
    """Return the lines with a mistake in a row that is taken, drawn anew where it changes nothing."""
    taken = [at for at, line in enumerate(lines) if re.match(release.taken, line)]
    while True:
        at = rng.choice(taken)
        match kind:
            case "a row lost":
                return [*lines[:at], *lines[at + 1 :]]
            case "a row doubled":
                return [*lines, lines[at]]
            case "a row in another's place":
                new = lines[rng.choice(taken)]
            case "a letter of a text":
                new = release.text(rng, lines[at])
            case _:
                new = release.gold(rng, lines[at])
        if new != lines[at]:
            return [*lines[:at], new, *lines[at + 1 :]]


MISTAKES = ("a letter of a text", "a label or tag", "a row lost", "a row doubled", "a row in another's place")


def _file_spec(place: str, tasks: tuple[TaskSpec, ...]) -> FileSpec:
    return next(
        file
        for task in tasks
        for domain in task.domains
        for files in domain.files.values()
        for file in files
        if file.path == place
    )


@pytest.mark.parametrize("name", RELEASES)
def test_mistakes_are_found_and_other_forms_of_the_file_are_not(name: str, real_whole: Path, tmp_path: Path) -> None:
    release, tasks = RELEASES[name], tuple(choose_tasks(None, None))
    spec, rows = _file_spec(release.place, tasks), upstream().files[release.place].rows
    records = upstream().model_copy(update={"files": {release.place: FileFacts(rows=rows)}})  # its bytes decide nothing
    whole = (real_whole / release.place).read_text(encoding="utf-8").splitlines()
    head, lines = whole[: release.has_header], whole[release.has_header :]
    path = tmp_path / release.place
    path.parent.mkdir(parents=True)

    def agrees(changed: list[str], ends: str = "\n", *, zipped: bool = False) -> str:
        content = "".join(f"{line}{ends}" for line in [*head, *changed]).encode()
        there = path.with_name(f"{path.name}.gz") if zipped else path
        there.write_bytes(gzip.compress(content) if zipped else content)
        return check_rows(there, spec, tasks, records).agrees

    harmless = {
        "as it is": agrees(lines),
        "rows in another order": agrees(random.Random(0).sample(lines, len(lines))),
        "gzipped": agrees(lines, zipped=True),
    }
    assert set(harmless.values()) == {"rows"}, harmless
    found = {}
    for kind in MISTAKES:
        rng = random.Random(f"{name}/{kind}")
        found[kind] = sum(agrees(_mistake(kind, release, rng, lines)) != "rows" for _ in range(N_EACH))
    print(f"\n{name}: {sum(found.values())} of {N_EACH * len(found)} mistakes found, 0 of {len(harmless)} other forms")
    assert set(found.values()) == {N_EACH}, found
