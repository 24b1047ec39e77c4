"""Texts with one file each: in a folder next to the table that lists them, or in an archive."""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

import polars as pl

from shiftbench.builders.readers.delimited import quoted_csv
from shiftbench.builders.specs.upstream_file import UpstreamFile, decode
from shiftbench.validation.report import InvalidInput, Problem, and_more

TAR_SCHEMA = pl.Schema({"label": pl.String(), "name": pl.String(), "text": pl.String()})
"""One row per text, in the archive's order, no nulls; ``name`` is the file's name without ``.txt``."""

_PER_FRAME = 10_000
_AGAIN = "fetch the file again; it may be truncated"


def listed_texts(key: str, *columns: str, folder: str) -> "ListedTexts":
    """Return a reader of a quoted CSV file whose texts are files in a folder next to it.

    Args:
        key: the column that names the text ``<folder>/<key>.txt`` of each row.
    """
    return ListedTexts(key, columns, folder)


@dataclass(frozen=True)
class ListedTexts:
    """A reader of a CSV table with texts in a folder next to it: ``key``, ``columns`` and ``text``.

    Source: de Gibert et al. 2018, https://github.com/Vicomtech/hate-speech-dataset, where annotations_metadata.csv
    lists all_files/<file_id>.txt. The checksum of the table does not cover the texts.

    Raises: InvalidInput like quoted_csv, or if the folder or a text is missing, a key is not a valid file name, or a
        text is not UTF-8.
    """

    key: str
    columns: tuple[str, ...]
    folder: str

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read the table and its texts."""
        folder = file.path.parent / self.folder
        if not folder.is_dir():
            what, cure = f"the folder with the texts of {file.path.name} is missing", "fetch it too"
            raise InvalidInput(Problem(what, str(folder), cure=cure))
        for frame in quoted_csv(self.key, *self.columns)(file):
            texts = [_text(folder, name) for name in _names(frame[self.key], folder, file.path)]
            yield frame.with_columns(pl.Series("text", texts, dtype=pl.String))


def tar_texts(folder: str, *labels: str) -> "TarTexts":
    """Return a reader of the texts ``<folder>/<label>/<name>.txt`` in a tar archive."""
    return TarTexts(folder, labels)


@dataclass(frozen=True)
class TarTexts:
    """A reader of texts in a tar archive (.tar or .tar.gz), in one pass; nothing is unpacked. See ``TAR_SCHEMA``.

    Source: Maas et al. 2011, https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz, with the texts in
    aclImdb/{train,test}/{pos,neg}/<number>_<stars>.txt. Other members are ignored.

    Raises: InvalidInput if the file is not an archive or damaged, a label has no text, or a text is not UTF-8.
    """

    folder: str
    labels: tuple[str, ...]

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read the archive from its start."""
        rows: list[tuple[str, str, str]] = []
        missing = dict.fromkeys(self.labels)
        for row in self._texts(file):
            rows.append(row)
            missing.pop(row[0], None)
            if len(rows) == _PER_FRAME:
                yield pl.DataFrame(rows, schema=TAR_SCHEMA, orient="row")
                rows = []
        if missing:
            found, cure = f"no {self.folder}/{next(iter(missing))}/*.txt", "is this the upstream release?"
            raise InvalidInput(Problem("the archive has no texts of a label", str(file.path), found, cure))
        if rows:
            yield pl.DataFrame(rows, schema=TAR_SCHEMA, orient="row")

    def _texts(self, file: UpstreamFile) -> Iterator[tuple[str, str, str]]:
        try:
            with file.stream() as stream, tarfile.open(fileobj=cast(BinaryIO, stream), mode="r|") as archive:
                for member in archive:
                    path = PurePosixPath(member.name)
                    label = path.parent.name
                    is_text = member.isreg() and path.suffix == ".txt"
                    if not is_text or label not in self.labels or str(path.parent) != f"{self.folder}/{label}":
                        continue
                    if (content := archive.extractfile(member)) is not None:
                        text = decode(content.read(), file.path / path)
                        yield label, path.stem, text.removeprefix("\ufeff")
        except tarfile.TarError as error:
            what = "the archive is damaged, or is not tar"
            raise InvalidInput(Problem(what, str(file.path), str(error), _AGAIN)) from error


def _names(keys: pl.Series, folder: Path, table: Path) -> Iterator[str]:
    missing = [key for key in keys if not _is_name(key) or not (folder / f"{key}.txt").is_file()]
    if missing:
        what = f"a text listed in {table.name} is missing" + and_more(len(missing) - 1, "text")
        cure = "fetch the folder again; it may be incomplete"
        raise InvalidInput(Problem(what, str(folder), f"no '{missing[0]}.txt'", cure))
    return iter(keys)


def _is_name(key: str) -> bool:
    return bool(key) and Path(key).name == key and "\0" not in key


def _text(folder: Path, name: str) -> str:
    path = folder / f"{name}.txt"
    return decode(path.read_bytes(), path).removeprefix("\ufeff")
