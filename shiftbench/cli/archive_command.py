"""The command ``archive``. Everything heavier than typer is imported inside it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from shiftbench.cli.data_options import DataFoldersOption, NewFolderOption, StoreOption
from shiftbench.validation.command_line import JsonOption, write_json

if TYPE_CHECKING:
    import polars as pl

    from shiftbench.builders.folder.configs import Config

_TITLE = "Predictions and scores under domain shift"


def archive(store: StoreOption, data: DataFoldersOption, out: NewFolderOption, json_: JsonOption = None) -> None:
    """Write a store's shared entries as one open dataset.

    It has predictions, scores and cards of the entries whose cards allow it. Entries on withheld labels, accounts and
    contacts are left out. A stopped command continues when it is run again.

    Example: shiftbench board archive --store store --data build/dr --out archive
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.archive.open_archive import write_archive
    from shiftbench.leaderboard.store import open_store

    folders = [DatasetFolder.open(folder) for folder in data]
    opened = open_store(store, must_exist=True)
    archived = write_archive(opened, folders, out, _describe)
    for reason in archived.left_out.values():
        typer.echo(f"left out: {reason}", err=True)
    typer.echo(f"wrote {out}: {archived.predictions:,} predictions, entries: {len(archived.entries):,}", err=True)
    write_json({"entries": archived.entries, "predictions": archived.predictions, "left_out": archived.left_out}, json_)


def _describe(configs: "Sequence[Config]", entries: "pl.DataFrame") -> dict[str, str]:
    """Write dataset card and Croissant of an archive."""
    from shiftbench.builders.writing.croissant import CROISSANT, croissant_text
    from shiftbench.builders.writing.writer import README

    boards = entries.group_by("benchmark", "data", "subset").len().sort("benchmark", "data", "subset")
    summary = (
        "What models predicted for every test text of shiftbench's benchmarks, and the scores: raw material for "
        "research on robustness. It has the entries whose submitters made their predictions public, on data "
        "whose test labels are public."
    )
    facts = {
        "name": _TITLE,
        "description": summary,
        "inLanguage": "en",
        "license": "not stated for predictions; those of the models are in the cards",
    }
    lines = [
        f"# {_TITLE}\n",
        f"{summary}\n",
        "| benchmark | data | subset | entries |\n|---|---|---|---:|",
        *(f"| {row[0]} | `{row[1][:12]}` | {row[2]} | {row[3]:,} |" for row in boards.iter_rows()),
        "\n| config | rows | holds |\n|---|---:|---|",
        *(f"| `{config.name}` | {config.rows['test']:,} | {config.title} |" for config in configs),
        "\n## Columns\n",
        *(f"- `{config.name}`: {', '.join(column.name for column in config.columns)}" for config in configs),
        _LOADING,
    ]
    return {README: _front_matter(configs) + "\n" + "\n".join(lines), CROISSANT: croissant_text(facts, configs)}


def _front_matter(configs: "Sequence[Config]") -> str:
    from shiftbench.builders.writing.front_matter import fence_yaml, loading_keys, size_category

    return fence_yaml(
        {
            "pretty_name": _TITLE,
            "language": ["en"],
            "license": "other",
            "license_name": "by-entry",
            "size_categories": [size_category(configs[0].rows["test"])],
            "tags": ["domain-shift", "robustness", "shiftbench", "predictions"],
            **loading_keys(configs),
        }
    )


_LOADING = """
A prediction's `id` is that of a test text of the dataset whose content hash `entries` names in `data`; `source` is what
the model was trained on, `target` the domain of the text. Scores are fractions, drops in [-1, 1]; `low` and `high`
bound 95% intervals over resampled test texts, `total_low` and `total_high` over training runs, too. Entries have no
accounts and no contacts; an id is made of card, predictions and validation rows. The licence of each model is in its
card.

## Loading

```python
from datasets import load_dataset

load_dataset(REPO, "predictions", split="test")
load_dataset(REPO, "figures", split="test")
```

To score all of it again: `shiftbench board rescore --from-archive DIR --store NEW --data DATASET_FOLDER`.
"""
