"""The command ``verify``. Everything heavier than typer is imported inside it."""

from pathlib import Path
from typing import Annotated

import typer

from shiftbench.cli.data_options import FAILED, own_file
from shiftbench.validation.command_line import ColumnsOption, JsonOption, MinTextsOption, console, write_json


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
    columns: ColumnsOption = None,
    min_texts: MinTextsOption = None,
    json_: JsonOption = None,
) -> None:
    """Check a claim: find its files, repeat the tests with its seeds, and compare every figure.

    Example: shiftbench verify claim.json --data build/dr

    Exit code 0: it holds; 3: a figure differs, or a conclusion falls with other metrics; 1: it cannot be checked.
    """
    from shiftbench.checking.claims import find_files, find_inside, read_recorded_values, repeat_claim
    from shiftbench.checking.opened_data import opened_data
    from shiftbench.leaderboard.store import open_store
    from shiftbench.scoring.comparing.claims import check_against_scores, check_claim, read_claim
    from shiftbench.scoring.reports.claims import print_claim_check

    claimed = read_claim(claim)
    data = data or (find_inside(claimed.data, claim) if claimed.data else None)
    if data is None:
        raise typer.BadParameter("the claim names no data in its own folder: give --data")
    opened_store = open_store(store) if store is not None else None
    found_files = find_files(claimed, claim, files, opened_store)
    own = own_file(columns, min_texts)
    with opened_data(data, own, found_files[0].path, claimed.comparisons[0].subset) as opened:
        result = check_claim(claimed, repeat_claim(claimed, opened, found_files))
    if opened_store is not None and result.moved_by:
        contradicted = check_against_scores(claimed, read_recorded_values(claimed, opened_store))
        result = result.model_copy(update={"facts": (*result.facts, *contradicted)})
    if json_ != "-":
        print_claim_check(claimed, result, console())
    write_json(result.model_dump(mode="json"), json_)
    if not result.holds:
        raise typer.Exit(FAILED)
