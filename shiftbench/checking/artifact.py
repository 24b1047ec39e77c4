"""An artifact: one zip archive with a claim, everything it refers to, and a README for verifying it."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.claims import NamedFile, claimed_own_file, find_files, find_inside, repeat_claim
from shiftbench.checking.opened_data import opened_data
from shiftbench.scoring.comparing.claims import Claim, check_claim, read_claim
from shiftbench.scoring.comparing.words import sentence
from shiftbench.validation.cards import card_path
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.version import __version__

CLAIM, READ_ME, COMMAND = "claim.json", "README.md", "shiftbench study verify claim.json"
_DATA, _PREDICTIONS = "data", "predictions"
_DESCRIPTIONS = ("README.md", "croissant.json", "shiftbench.json")
"""Files included if the rows may not be redistributed: how to build the dataset, and its hashes."""
_DAY = (1980, 1, 1, 0, 0, 0)
"""Fixed date of every member, so that the same claim and files give the same bytes."""


def write_artifact(claim: Path, out: Path, *, data: Path | None = None, files: Path | None = None) -> list[str]:
    """Verify a claim, and write it with its prediction files, their cards and its data as one zip archive.

    Args:
        claim: file written by ``compare --json``.
        out: the archive to write.
        data: the dataset folder or file; by default the one named in the claim, in the claim's folder.
        files: folder of the prediction files; by default the claim's folder.
    Returns: the names of the archive's members.
    Raises: InvalidInput if the claim cannot be reproduced exactly, or a file that it names is missing or differs.
    """
    claimed = read_claim(claim)
    place = data or (find_inside(claimed.data, claim) if claimed.data else None)
    if place is None:
        cure = "give the dataset folder or file (--data)"
        raise InvalidInput(
            Problem("the claim does not refer to data in its own folder", str(claim), claimed.data, cure)
        )
    found = find_files(claimed, claim, files, None)
    with opened_data(place, claimed_own_file(claimed), found[0].path, claimed.comparisons[0].subset) as opened:
        check = check_claim(claimed, repeat_claim(claimed, opened, found))
        if not check.holds or check.moved_by:
            cure = "compare again with this version; 'shiftbench study verify' prints what differs"
            raise InvalidInput(Problem("the claim cannot be verified", str(claim), cure=cure))
    members = dict(_prediction_members(found))
    names = [name for name in members if not name.endswith(".card.yaml")]
    rows_included = not place.is_dir() or _may_pass_on(DatasetFolder.open(place))
    members |= _data_members(place, rows_included=rows_included)
    entries = tuple(entry.model_copy(update={"file": name}) for entry, name in zip(claimed.entries, names, strict=True))
    inside = _DATA if place.is_dir() else f"{_DATA}/{place.name}"
    moved = claimed.model_copy(update={"entries": entries, "data": inside})
    texts = {
        CLAIM: f"{moved.model_dump_json(indent=2)}\n",
        READ_ME: _read_me(moved, members, rows_included=rows_included),
    }
    # Written under another name first, so that a failure leaves no incomplete archive.
    partial = out.with_name(f"{out.name}.part")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(zipfile.ZipInfo(name, _DAY), text, zipfile.ZIP_DEFLATED)
        for name, path in sorted(members.items()):
            archive.writestr(zipfile.ZipInfo(name, _DAY), path.read_bytes(), zipfile.ZIP_DEFLATED)
    partial.replace(out)
    return [*texts, *sorted(members)]


def _prediction_members(found: list[NamedFile]) -> Iterator[tuple[str, Path]]:
    """List prediction files in the claim's order, each with its card; numbers make equal names unique."""
    for number, file in enumerate(found, start=1):
        name = f"{_PREDICTIONS}/{number}-{file.path.name}"
        yield name, file.path
        if card_path(file.path).is_file():
            yield card_path(Path(name)).as_posix(), card_path(file.path)


def _may_pass_on(folder: DatasetFolder) -> bool:
    """Return whether the licences of all domains permit publishing the rows, including test labels."""
    tasks = folder.manifest.tasks.values()
    return folder.has_public_labels and not any(facts.rebuild_only for task in tasks for facts in task.domains.values())


def _data_members(place: Path, *, rows_included: bool) -> dict[str, Path]:
    if not place.is_dir():
        return {f"{_DATA}/{place.name}": place}
    files = sorted(path for path in place.rglob("*") if path.is_file())
    if not rows_included:
        files = [place / name for name in _DESCRIPTIONS if (place / name).is_file()]
    return {f"{_DATA}/{path.relative_to(place).as_posix()}": path for path in files}


def _read_me(claim: Claim, members: dict[str, Path], *, rows_included: bool) -> str:
    """Format the README: hypotheses, results, contents, and the command that verifies it."""
    version = claim.comparisons[0].version
    listed = "\n".join(f"- `{name}`" for name in (CLAIM, *sorted(n for n in members if not n.startswith(f"{_DATA}/"))))
    command, data = COMMAND, f"- `{_DATA}/`: the data, {version}"
    if not rows_included:
        command = f"{COMMAND} --data BUILT"
        data = (
            f"- `{_DATA}/`: a description of the data, {version}. The licences do not allow redistributing its rows: "
            f"`{_DATA}/README.md` describes how to build them; `BUILT` is the folder that you built."
        )
    hypotheses = "\n".join(f"- {each}" for each in claim.hypothesis)
    results = "\n".join(f"- {sentence(pair, (pair.a, pair.b), claim.benchmark)}." for pair in claim.comparisons)
    return f"""# A claim that you can verify

Hypotheses tested at a level of {claim.level:g}:

{hypotheses}

Result, as claimed and verified when this archive was made:

{results}

## Verify it

Unpack this archive, install the version that wrote it, and run the second line in this folder; it needs no network.

```
pip install shiftbench=={__version__}
{command}
```

It repeats every test on the files below and prints each value as claimed and as computed. Exit code 0: the claim
holds; 3: it does not; 1: a file is missing or differs.

## What is here

{listed}
{data}

Cards (`*.card.yaml`) state who made the predictions, and how. `{_DATA}/croissant.json`, if present, describes the
data files.
"""
