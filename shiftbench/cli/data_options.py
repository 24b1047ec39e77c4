"""Options that several commands share, about ``--data``, names and formats."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.validation.command_line import TableFormat, require
from shiftbench.validation.report import InvalidInput, Problem, counted

if TYPE_CHECKING:
    from shiftbench.builders.encoder import Encoder
    from shiftbench.checking.opened_data import OwnFile

FAILED = 3
"""Exit code of a gate or a claim that fails; 1 is refused input, 2 wrong usage."""

AnyDataOption = Annotated[
    Path, typer.Option("--data", metavar="DIR_OR_FILE", help="Dataset folder, or a file of your own.")
]

FormatOption = Annotated[
    TableFormat,
    typer.Option(
        "--format", metavar="NAME", help="table (for a terminal), or a paper's table as markdown, latex or csv."
    ),
]
StoreOption = Annotated[
    str,
    typer.Option("--store", metavar="PLACE", help="Where entries are kept: a folder, or hf://datasets/ORG/NAME."),
]
DataFoldersOption = Annotated[
    list[Path], typer.Option("--data", metavar="DIR", help="Dataset folder of the entries; may be given several times.")
]
NamesOption = Annotated[
    str | None, typer.Option("--names", metavar="A,B", help="Names of the files, in order. Default: their file names.")
]


def parse_names(typed: str | None, files: Sequence[Path]) -> list[str]:
    """Return the names of files: those that were typed, or else the files' own.

    Raises: InvalidInput when names do not fit the files or repeat.
    """
    names = [path.stem for path in files] if typed is None else [name.strip() for name in typed.split(",")]
    if typed is None and len(set(names)) < len(names):
        return [str(path) for path in files]
    if len(names) != len(files) or len(set(names)) < len(names) or not all(names):
        cure = "give a different name for each file, in order, with commas between"
        raise InvalidInput(
            Problem(f"these names do not fit {counted(len(files), 'file')}", "--names", f"'{typed}'", cure)
        )
    return names


def own_file(columns: Sequence[str] | None, min_texts: int | None) -> "OwnFile":
    """Return how a file of one's own is read, as ``--columns`` and ``--min-texts`` say it.

    Raises: UnknownChoice when the columns cannot be parsed.
    """
    from shiftbench.builders.building.own import MIN_TEXTS
    from shiftbench.builders.building.own_columns import parse_columns
    from shiftbench.checking.opened_data import OwnFile

    return OwnFile(*parse_columns(columns or ()), min_texts=MIN_TEXTS if min_texts is None else min_texts)


def load_encoder(name: str | None = None) -> "Encoder":
    """Load a sentence encoder, the default one without a name; its model is loaded when it is first used.

    Raises: InvalidInput when the extra 'encoder' is not installed, or the weights cannot be read or fetched.
    """
    from shiftbench.builders.encoder import DEFAULT_ENCODER, Encoder

    require("sentence_transformers", "encoder")
    return Encoder(name or DEFAULT_ENCODER)
