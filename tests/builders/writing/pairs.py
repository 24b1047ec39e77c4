"""The two folders of a build that withholds labels, and the keys that tests give it."""

from pathlib import Path

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.writing.withhold import withheld_folders

KEY, OTHER_KEY = "5a" * 32, "c3" * 32

Pair = tuple[DatasetFolder, DatasetFolder]


def pair(out: Path) -> Pair:
    folders = withheld_folders(out)
    assert folders is not None
    public, gold = map(DatasetFolder.open, folders)
    return public, gold


def files(folder: DatasetFolder) -> dict[str, bytes]:
    return {str(path.relative_to(folder.path)): path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}
