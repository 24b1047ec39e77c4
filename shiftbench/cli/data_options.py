"""Options shared by commands: ``--data``, names and formats, stores, servers and Spaces."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.validation.command_line import OUTPUT, TableFormat
from shiftbench.validation.report import InvalidInput, Problem, plural

if TYPE_CHECKING:
    from shiftbench.checking.opened_data import OwnFile

FAILED = 3
"""Exit code of a failed gate or claim; 1 is invalid input, 2 wrong usage."""

UpstreamOption = Annotated[
    list[Path],
    typer.Option(
        "--raw", metavar="DIR", help="Folder of upstream files; may be repeated, and folders are searched in order."
    ),
]
AcceptTermsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--accept-terms",
        metavar="SOURCE",
        help="Accept the terms of this source; may be repeated; 'all' for all sources.",
    ),
]
AnyDataOption = Annotated[Path, typer.Option("--data", metavar="DIR_OR_FILE", help="Dataset folder, or your own file.")]

FormerSubsetOption = Annotated[
    str | None,
    typer.Option(
        "--subset", metavar="NAME", hidden=True, help="removed in 0.4: the subset is inferred from the ids in the file"
    ),
]
FormerEncoderOption = Annotated[
    str | None,
    typer.Option(
        "--encoder", metavar="NAME", hidden=True, help="removed in 0.4: set SHIFTBENCH_ENCODER to the Hub id or path"
    ),
]
FormatOption = Annotated[
    TableFormat,
    typer.Option(
        "--format",
        metavar="NAME",
        help="table (for a terminal), or a table for a paper as markdown, latex or csv.",
        rich_help_panel=OUTPUT,
    ),
]
StoreOption = Annotated[
    str,
    typer.Option("--store", metavar="PLACE", help="Store of entries: a folder, or hf://datasets/ORG/NAME."),
]
DataFoldersOption = Annotated[
    list[Path], typer.Option("--data", metavar="DIR", help="Dataset folder of the entries; may be given several times.")
]
EntryArgument = Annotated[str, typer.Argument(metavar="ENTRY", help="The entry's id.")]
EntryDataOption = Annotated[
    list[Path] | None,
    typer.Option("--data", metavar="DIR", help="Dataset folder (with a store). Default: the folder it was built in."),
]
CardOption = Annotated[
    Path | None, typer.Option("--card", metavar="FILE", help="Card of a file. Default: the one next to it.")
]
ToOption = Annotated[
    str,
    typer.Option("--to", metavar="URL_OR_STORE", help="A leaderboard's URL, a store folder, or hf://datasets/..."),
]
AnyTokenOption = Annotated[
    bool, typer.Option("--any-token", help="Send the saved Hugging Face token even if it has write access.")
]
ValidationRowsOption = Annotated[
    Path | None,
    typer.Option(
        "--validation", metavar="FILE", help="Predictions of the same models on validation rows, for forecasts."
    ),
]
ReasonOption = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Reason, recorded in the store's log.")]
EntryTaskOption = Annotated[
    str, typer.Option("--task", metavar="NAME", help="One of the entry's tasks; default: all of them.")
]
FromArchiveOption = Annotated[
    Path | None,
    typer.Option("--from-archive", metavar="DIR", help="Fill a new store with the entries of an archive first."),
]
EveryEntryOption = Annotated[
    bool, typer.Option("--all", help="Also score entries that already have scores of this metric version.")
]
NewFolderOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder to write, empty or new.")]
SpaceArgument = Annotated[str, typer.Argument(metavar="ORG/NAME", help="The Space.")]
PublishedDataOption = Annotated[
    list[str] | None, typer.Option("--data", metavar="ORG/NAME", help="Published dataset; may be given several times.")
]
HubStoreOption = Annotated[
    str | None, typer.Option("--store", metavar="ORG/NAME", help="Dataset repository of the entries.")
]
BertScoreOption = Annotated[
    bool, typer.Option("--bert-score", help="Also score generated text; the Space installs PyTorch.")
]
PrivateSpaceOption = Annotated[
    bool,
    typer.Option("--private", hidden=True, help="removed in 0.4: make the Space private on its Hub page"),
]
SpaceDryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print the Space's files; upload nothing.")]
MethodOption = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="Use this forecasting method, in addition to the baselines; may be repeated. Default: all.",
    ),
]
NamesOption = Annotated[
    str | None,
    typer.Option("--names", metavar="A,B", help="Names of the models, in order. Default: as in the cards."),
]


def parse_names(typed: str | None, files: Sequence[Path]) -> list[str]:
    """Return the display names of files.

    Args:
        typed: the value of ``--names``, separated by commas; None: the names of the files without suffix (their paths,
            if these names are equal).
        files: the files.
    Raises: InvalidInput if the number of names differs from that of the files, or a name repeats.
    """
    names = [path.stem for path in files] if typed is None else [name.strip() for name in typed.split(",")]
    if typed is None and len(set(names)) < len(names):
        return [str(path) for path in files]
    if len(names) != len(files) or len(set(names)) < len(names) or not all(names):
        cure = "give a different name for each file, in order, separated by commas"
        raise InvalidInput(
            Problem(f"these names do not match {plural(len(files), 'file')}", "--names", f"'{typed}'", cure)
        )
    return names


def own_file(columns: Sequence[str] | None, min_texts: int | None, label_map: Sequence[str] | None = None) -> "OwnFile":
    """Return the reading options of a user file.

    Args:
        columns: the values of ``--columns``.
        min_texts: the value of ``--min-texts``.
        label_map: the values of ``--label-map``.
    Raises: UnknownChoice if the columns cannot be parsed.
    """
    from shiftbench.baselines.models.labels import parse_label_map
    from shiftbench.checking.opened_data import OwnFile

    return OwnFile.of(columns, min_texts, parse_label_map(label_map or ()))
