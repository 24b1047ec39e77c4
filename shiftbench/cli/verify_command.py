"""The command ``verify``. Everything heavier than typer is imported inside it."""

from pathlib import Path
from typing import Annotated

import typer

from shiftbench.cli.data_options import FAILED, own_file
from shiftbench.validation.command_line import JsonOption, answer

_FORMER_CLAIM = "goes in 0.4: claims say how their file was read, but for those of former versions"


def verify(
    claim: Annotated[Path, typer.Argument(metavar="CLAIM", help="What 'shiftbench compare --json' wrote.")],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR_OR_FILE",
            help="Dataset folder, or file of your own. Default: as claimed, in its folder.",
        ),
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option("--files", metavar="DIR", help="Folder of the prediction files. Default: the claim's own."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="S", help="Store of the entries: a folder, or hf://datasets/ORG/NAME."),
    ] = None,
    columns: Annotated[
        list[str] | None, typer.Option("--columns", metavar="ROLE=COLUMN,...", hidden=True, help=_FORMER_CLAIM)
    ] = None,
    min_texts: Annotated[
        int | None, typer.Option("--min-texts", metavar="N", min=0, hidden=True, help=_FORMER_CLAIM)
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Check a claim: repeat its tests, and compare figures.

    Its files are found by its paths; tests are repeated with its seeds, and every figure is compared.

    Example: shiftbench study verify claim.json --data build/dr

    Exit code 0: it holds; 3: a figure differs, or a conclusion falls with other metrics; 1: it cannot be checked.
    """
    from shiftbench.checking.claims import claimed_own_file, find_files, find_inside, read_recorded_values, repeat_claim
    from shiftbench.checking.opened_data import opened_data
    from shiftbench.leaderboard.store import open_store
    from shiftbench.scoring.comparing.claims import check_against_scores, check_claim, read_claim
    from shiftbench.scoring.reports.terminal import claim_lines

    claimed = read_claim(claim)
    data = data or (find_inside(claimed.data, claim) if claimed.data else None)
    if data is None:
        raise typer.BadParameter("the claim names no data in its own folder: give --data")
    opened_store = open_store(store) if store is not None else None
    found_files = find_files(claimed, claim, files, opened_store)
    is_typed = columns is not None or min_texts is not None
    own = own_file(columns, min_texts) if is_typed else claimed_own_file(claimed)
    with opened_data(data, own, found_files[0].path, claimed.comparisons[0].subset) as opened:
        result = check_claim(claimed, repeat_claim(claimed, opened, found_files))
    if opened_store is not None and result.moved_by:
        contradicted = check_against_scores(claimed, read_recorded_values(claimed, opened_store))
        result = result.model_copy(update={"facts": (*result.facts, *contradicted)})
    answer(claim_lines(claimed, result), result.model_dump(mode="json"), json_)
    if not result.holds:
        raise typer.Exit(FAILED)
