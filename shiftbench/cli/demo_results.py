"""Reference results on boards: real models on real rows, from the predictions in a checkout.

Prediction files contain ids but no texts, so the rows are built here from upstream files. Entries whose rows are
missing or differ are skipped, and listed.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import typer

from shiftbench import baselines
from shiftbench.baselines.grid.collect import by_entry, collect
from shiftbench.baselines.grid.stored import PACK, StoredTrials, read_results
from shiftbench.baselines.grid.trial import find_dataset
from shiftbench.builders.building.build import build
from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.store import Entry, Store
from shiftbench.scoring.scores.validation_rows import validation_file
from shiftbench.validation.cards import card_path, read_card
from shiftbench.validation.report import InvalidInput, Problem

RESULTS = Path(baselines.__file__).parent / "results"
BENCHMARKS = ("dr", "boss", "df1")


def list_boards() -> list[Path]:
    """List the folders of the boards with stored predictions, sorted."""
    return sorted(file.parent for file in RESULTS.glob(f"*/{PACK}"))


def build_folders(raw: list[Path], out: Path) -> list[DatasetFolder]:
    """Build the available parts of the benchmarks with results.

    Args:
        raw: folders of upstream files, searched in order.
        out: a folder for the datasets; existing ones are kept.
    Returns: the folders; depths take minutes to compute, so only the folder of Depth F1 has them.
    Raises: InvalidInput if there are no results, as in a wheel, or nothing can be built.
    """
    if not list_boards():
        cure = "clone the repository: wheels do not include them"
        raise InvalidInput(Problem("the reference results are not installed", str(RESULTS), cure=cure))
    folders = []
    for benchmark in BENCHMARKS:
        data = out / benchmark
        if not (data / "shiftbench.json").is_file():
            typer.echo(f"building {data} from {', '.join(map(str, raw))}", err=True)
            encoder = Encoder() if benchmark == "df1" else None
            build(benchmark, None, raw, data, partial=True, overwrite=True, encoder=encoder)
        folders.append(DatasetFolder.open(data))
    return folders


def stored_results(folders: list[DatasetFolder], out: Path) -> Iterator[tuple[Entry, DatasetFolder]]:
    """Submit the reference results to a store, like any submission, and forecast their accuracy.

    Args:
        folders: the datasets.
        out: a folder for prediction files and the store, which is ``out/store``.
    Yields: each entry with its dataset.
    """
    store = Store(out / "store")
    for board in list_boards():
        stored = StoredTrials(board)
        at_floor = {name for name, result in read_results(board).items() if result.is_at_floor}
        for model in by_entry(stored.trials()):
            if {model[0].model, f"{model[0].task}-{model[0].model}"} & at_floor:
                of = f"{model[0].model} on {model[0].task}"
                typer.echo(f"{of}: skipped, because all its scores under shift are at chance", err=True)
                continue
            folder = find_dataset(model[0], folders)
            if folder is None:
                of = f"{model[0].model} on {model[0].task}"
                typer.echo(f"{of}: skipped, because it was made on other rows ({model[0].data[:12]})", err=True)
                continue
            available = [replace(each, dataset=folder.version) for each in model if find_dataset(each, [folder])]
            file = collect(available, stored, out / board.name)
            if file is not None:
                card, held_out = read_card(card_path(file)), validation_file(file)
                entry, _ = store.submit(file, card, [folder], validation=held_out if held_out.is_file() else None)
                if store.forecasts(entry.id) is None:
                    store.forecast_again(entry, folder)
                yield entry, folder
