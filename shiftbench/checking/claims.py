"""Claims about prediction files: computed from the files, and verified by repeating the tests."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shiftbench.builders.building.own_columns import columns_as_typed
from shiftbench.builders.checksums import file_sha256
from shiftbench.checking.opened_data import OpenedData, OwnFile
from shiftbench.scoring.comparing.claims import Claim, ClaimedEntry, ShiftValues, make_claim, read_shift_values
from shiftbench.scoring.comparing.files import Entrant, compare_first
from shiftbench.scoring.scores.score import token_encoder
from shiftbench.validation.command_line import read_valid_card
from shiftbench.validation.report import InvalidInput, Problem

if TYPE_CHECKING:
    from shiftbench.leaderboard.store import Store


class NamedFile(NamedTuple):
    """A prediction file to compare: display name, path, and number of tuning trials (None if not stated)."""

    name: str
    path: Path
    tuning_trials: int | None


def read_named_file(name: str, path: Path) -> NamedFile:
    """Return a prediction file with the tuning trials stated in its card."""
    card = read_valid_card(path)
    return NamedFile(name, path, card.tuning_trials if card else None)


def claim_of_files(
    opened: OpenedData,
    files: Sequence[NamedFile],
    data: Path,
    *,
    task: str | None,
    margin: float | None,
    entries: Sequence[ClaimedEntry] | None = None,
) -> Claim:
    """Compare the first prediction file with each of the others, and return the results as a claim.

    Args:
        opened: the dataset.
        files: at least two.
        data: the dataset's path as typed.
        task: compare only on this task; None: all tasks.
        margin: also test equivalence within this fraction.
        entries: the claim's record of the files; by default their paths and checksums.
    Returns: a claim with one comparison per further file.
    Raises: InvalidInput if a file is invalid or no shift is shared.
    """
    encoder = token_encoder(opened.folder)
    entrants = [
        Entrant(
            file.path,
            opened.folder,
            opened.subset,
            encoder,
            file.name,
            tuning_trials=file.tuning_trials,
            checked=opened.checked(file.path) if opened.own is not None else None,
        )
        for file in files
    ]
    pairs = compare_first(entrants, task=task, margin=margin)
    if entries is None:
        entries = [ClaimedEntry(name=each.name, file=str(each.path), sha256=file_sha256(each.path)) for each in files]
    benchmark = opened.folder.manifest.benchmark
    made = make_claim(pairs, entries, benchmark=benchmark, data=str(data), task=task)
    if opened.own is None:
        return made
    own = opened.own_file
    # The reading options of the file, so that the claim can be repeated.
    read: dict[str, Any] = {"columns": columns_as_typed(own.columns), "kind": own.kind, "min_texts": own.min_texts}
    read["label_map"] = dict(own.columns.label_map) or None
    return made.model_copy(update=read)


def claimed_own_file(claim: Claim) -> OwnFile:
    """Return the reading options of a claim's user file; default options if the claim does not state them.

    Raises: UnknownChoice if the claim's columns cannot be parsed.
    """
    if claim.columns is None:
        return OwnFile()
    return replace(OwnFile.of(claim.columns, claim.min_texts, claim.label_map), kind=claim.kind)


def find_inside(name: str, claim: Path, folder: Path | None = None) -> Path | None:
    """Find a file named by a claim, within one folder; claims are untrusted, so paths outside it are never followed.

    Args:
        name: the path in the claim, relative to the working directory or to the claim's folder.
        claim: the claim's file.
        folder: the folder, in which the file name is also looked up without its path; by default the claim's own
            folder.
    Returns: the path; None if there is no such file in the folder after resolving links.
    """
    outer = claim.parent if folder is None else folder
    places = [Path(name), outer / name, *([] if folder is None else [outer / Path(name).name])]
    # The existence of files outside is not even checked, so that a claim cannot reveal it.
    inside = [place for place in places if Path(realpath(place)).is_relative_to(realpath(outer))]
    return next((place for place in inside if place.exists()), None)


def find_files(claim: Claim, path: Path, folder: Path | None, store: "Store | None") -> list[NamedFile]:
    """Find the prediction files that a claim names, and check by checksum that they are those compared in the claim.

    Args:
        claim: the claim.
        path: its file.
        folder: folder in which the files are looked up by path or by name; by default the claim's own folder. Files
            elsewhere are never read.
        store: the store of entries, which are found by id.
    Returns: the file of each entry; its number of tuning trials is from its card, or else from the claim.
    Raises: InvalidInput listing every file that is missing or differs.
    """
    named_files: list[NamedFile] = []
    problems: list[Problem] = []
    trials = [claim.comparisons[0].tuning_trials_a, *(pair.tuning_trials_b for pair in claim.comparisons)]
    for entry, claimed_trials in zip(claim.entries, trials, strict=True):
        file: Path | None
        if store is not None and entry.entry is not None:
            kept = store.entry(entry.entry)
            file, card = store.predictions(kept), kept.card
        else:
            file, card = find_inside(entry.file, path, folder), None
        if file is None or not file.is_file():
            cure = "give the folder of the files (--files DIR) or the store of the entries (--store S)"
            problems.append(
                Problem(
                    f"a file listed in the claim is missing in {folder or path.parent}",
                    str(path),
                    f"'{entry.file}'",
                    cure,
                )
            )
            continue
        checksum = file_sha256(file)
        if checksum != entry.sha256:
            what = f"this is not the file that was compared as '{entry.name}'"
            cure = f"the claim states SHA-256 {entry.sha256[:12]}...; restore that file"
            problems.append(Problem(what, str(file), f"SHA-256 {checksum[:12]}...", cure))
        card = card or read_valid_card(file)
        named_files.append(NamedFile(entry.name, file, card.tuning_trials if card else claimed_trials))
    if problems:
        raise InvalidInput(problems)
    return named_files


def read_recorded_values(claim: Claim, store: "Store") -> dict[str, ShiftValues]:
    """Read the store's scores of a claim's entries, for the claim's metric version, by their names in the claim."""
    version = claim.comparisons[0].metric_version
    if version not in store.versions():
        return {}
    names = {entry.entry: entry.name for entry in claim.entries if entry.entry is not None}
    values = {}
    for identity, content in store.scores_of_version(version):
        if identity in names:
            # Invalid scores are skipped: scores are derived from the entry, which may be valid.
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                values[names[identity]] = read_shift_values(content)
    return values


def repeat_claim(claim: Claim, opened: OpenedData, files: Sequence[NamedFile]) -> Claim:
    """Repeat the tests of a claim on its files, with its settings.

    Args:
        claim: the claim.
        opened: the dataset that it names.
        files: its prediction files, in order (``find_files``).
    Returns: the repeated claim, to be compared with ``claim``.
    Raises: InvalidInput if the data differs, or the files cannot be compared.
    """
    first = claim.comparisons[0]
    # Depths from another encoder change the scores; check_claim reports that.
    if differs := first.version.difference(opened.folder.version):
        what = f"the claim refers to different {'data' if differs == 'content' else 'settings of the data'}"
        cure = f"give the dataset of {first.version}; for a file, use the --columns and --min-texts of the comparison"
        raise InvalidInput(Problem(what, str(opened.folder.path), str(opened.folder.version), cure))
    return claim_of_files(
        opened,
        files,
        Path(claim.data),
        task=claim.task,
        margin=first.margin,
        entries=claim.entries,
    )
