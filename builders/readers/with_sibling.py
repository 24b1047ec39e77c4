"""Rows whose labels are in a second file in the same folder, as in OLID's test set."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput, Problem, and_more

_Reader = Callable[[UpstreamFile], Iterator[pl.DataFrame]]


@dataclass(frozen=True)
class WithSibling:
    """A reader that joins the rows of a file and of ``sibling`` in the same folder ``on`` a column, in one frame.

    Rows are in the order of the file, with its columns before the sibling's. The checksum of the file does not cover
    its sibling.

    Raises: InvalidInput like the two readers, or if the sibling is missing, or a key is only in one file or repeated.
    """

    read: _Reader
    sibling: str
    read_sibling: _Reader
    on: str

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read both files."""
        path = file.path.with_name(self.sibling)
        if not path.is_file():
            what, cure = f"the file that belongs to {file.path.name} is missing", "put it next to that file, unpacked"
            raise InvalidInput(Problem(what, str(path), cure=cure))
        rows = pl.concat(self.read(file))
        with UpstreamFile(path) as other:
            more = pl.concat(self.read_sibling(other))
        for frame, its_path in ((rows, file.path), (more, path)):
            self._refuse("a key is repeated", frame.filter(frame[self.on].is_duplicated()), its_path)
        self._refuse(f"a key is not in {self.sibling}", rows.join(more, on=self.on, how="anti"), file.path)
        self._refuse(f"a key is not in {file.path.name}", more.join(rows, on=self.on, how="anti"), path)
        yield rows.join(more, on=self.on, how="inner", maintain_order="left")

    def _refuse(self, what: str, rows: pl.DataFrame, path: Path) -> None:
        if len(rows):
            found, cure = f"'{rows[self.on][0]}'", "do both files come from one release?"
            what += and_more(len(rows) - 1)
            raise InvalidInput(Problem(what, str(path), found, cure, column=self.on))
