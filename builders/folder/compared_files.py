"""Compare the files of a dataset folder with the checksums in its manifest.

Checksums are cached in the user's cache with the state of each file, so a folder is hashed completely when first
opened, and later only the files that changed.
"""

import fnmatch
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from shiftbench.builders.cache import recall_files, remember_files
from shiftbench.builders.checksums import file_sha256, file_state
from shiftbench.builders.folder.manifest import DATA_FOLDERS, Manifest
from shiftbench.validation.report import InvalidInput, Problem

_AT_ONCE = 4
"""Number of files hashed in parallel."""
_CURE = "build the folder again"


def compare_files(folder: Path, manifest: Manifest, patterns: Sequence[str] = ("*",)) -> None:
    """Check that the files present match the manifest.

    Missing files are reported when they are read: a copy may contain only some of the tasks.

    Args:
        manifest: its manifest; older ones have no checksums, so nothing is compared.
        patterns: paths inside the folder, or globs, of the files to compare.
    Raises: InvalidInput listing every file that differs.
    """
    if problems := list(find_changed_files(folder, manifest, patterns)):
        raise InvalidInput(problems)


def find_changed_files(folder: Path, manifest: Manifest, patterns: Sequence[str] = ("*",)) -> Iterator[Problem]:
    """Find the files that differ from the manifest's checksums; see ``compare_files``.

    Returns: a problem for each file.
    """
    if not manifest.files:
        return
    # The manifest may come from somebody else: its paths are only looked up among the files below the folder.
    there = sorted(path for name in DATA_FOLDERS for path in (folder / name).rglob("*") if path.is_file())
    wanted = {
        place: path
        for path in there
        if (place := path.relative_to(folder).as_posix()) in manifest.files
        and any(fnmatch.fnmatchcase(place, pattern) for pattern in patterns)
    }
    for place, sha256 in _checksums(folder, wanted).items():
        if sha256 != manifest.files[place]:
            found = f"checksum {sha256[:12]}, {manifest.files[place][:12]} in the manifest"
            yield Problem("a file of the dataset folder was changed", str(folder / place), found, _CURE)


def find_missing_files(folder: Path, manifest: Manifest, pattern: str) -> Iterator[Problem]:
    """Find files listed in the manifest but missing in the folder, and shards of a split not in the manifest.

    Args:
        manifest: its manifest; older ones list no files, so nothing is missing.
        pattern: a path inside the folder, or a glob over paths.
    Returns: a problem for each file.
    """
    listed = set(fnmatch.filter(manifest.files, pattern))
    for place in sorted(listed):
        if not (folder / place).exists():
            yield Problem("a file of the dataset folder is missing", str(folder / place), cure=_CURE)
    if listed:
        for path in sorted(folder.glob(pattern)):
            if (place := path.relative_to(folder).as_posix()) not in listed:
                what = "an extra file in the dataset folder would be read as part of it"
                yield Problem(what, str(folder / place), "not in the manifest", "delete it, or build the folder again")


def _checksums(folder: Path, files: dict[str, Path]) -> dict[str, str]:
    """Return the checksums of files, reading only those whose state has changed."""
    known = recall_files(folder)
    states = {place: file_state(path) for place, path in files.items()}
    fresh = [place for place, state in states.items() if place not in known or known[place][0] != state]
    if fresh:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            sums = pool.map(lambda place: file_sha256(files[place]), fresh)
            known |= {place: (states[place], sha256) for place, sha256 in zip(fresh, sums, strict=True)}
        remember_files(folder, known)
    return {place: known[place][1] for place in files}
