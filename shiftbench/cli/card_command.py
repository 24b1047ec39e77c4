"""The command ``card``. Everything heavier than typer is imported inside it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.validation.command_line import DataOption, PredictionsArgument, writable_file

if TYPE_CHECKING:
    import polars as pl

    from shiftbench.builders.folder.reader import DatasetFolder

_GUESSED = ("name", "paradigm", "data", "subset")


def card(
    predictions: PredictionsArgument,
    data: DataOption,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The card. Default: FILE.card.yaml beside the predictions.",
                     callback=writable_file),
    ] = None,
) -> None:  # fmt: skip
    """Write a card for a prediction file: what follows from the file is filled in, the other keys are comments.

    Example: shiftbench card preds.csv --data build/dr
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.validation.report import InvalidInput, Problem

    place = out or predictions.with_name(f"{predictions.stem}.card.yaml")
    if place.exists():
        cure = "edit it, remove it, or name another file with --out"
        raise InvalidInput(Problem("there is a card already", str(place), cure=cure))
    folder = DatasetFolder.open(data)
    sources, given = _sources_and_ids(predictions, folder)
    text = _card_text(predictions.stem, sources, _subset(given, folder), folder.content_hash)
    place.write_text(text, encoding="utf-8")
    typer.echo(
        f"{place}: fill in what you know, then: shiftbench data validate {predictions} --data {data} --card {place}"
    )


def _sources_and_ids(path: Path, folder: "DatasetFolder") -> "tuple[set[str], pl.DataFrame]":
    """Return the sources of a file, and its known ids with their tasks and targets."""
    import polars as pl

    from shiftbench.scoring.scores.score import prediction_tasks
    from shiftbench.validation.prediction_files import PredictionFile
    from shiftbench.validation.predictions import most_rows
    from shiftbench.validation.report import InvalidInput, Problem
    from shiftbench.validation.runs import KnownIds

    tasks = prediction_tasks(folder)
    parts = PredictionFile(path, most_rows(tasks)).parts(["source", "id"])
    pairs = pl.concat([part.select("source", "id").unique() for part in parts]).unique()
    given = KnownIds({facts.name: facts.test for facts in tasks}).add_places(pairs.select("id").unique().drop_nulls())
    known = given.drop_nulls("task")
    if known.is_empty():
        what = "none of the ids is a test id of this dataset"
        found = repr(pairs["id"][0])
        raise InvalidInput(Problem(what, str(path), found, "give the --data that the predictions are for", column="id"))
    return set(pairs["source"].drop_nulls()), known


def _subset(given: "pl.DataFrame", folder: "DatasetFolder") -> str:
    """Return the subset whose test ids a file has in all its tasks; ``all`` where there is none."""
    from shiftbench.scoring.scores.score import prediction_tasks
    from shiftbench.validation.prediction_problems import covered_subsets

    covered = covered_subsets(given, prediction_tasks(folder))
    names = {covered.get(task, "all") for task in given["task"].unique()}
    return names.pop() if len(names) == 1 else "all"


def _card_text(name: str, sources: set[str], subset: str, data: str) -> str:
    """Build the text of the card, which is checked as any card is."""
    import yaml

    from shiftbench.validation.cards import Card, parse_card
    from shiftbench.validation.vocabulary import NO_SOURCE

    paradigm = "zero-shot" if sources == {NO_SOURCE} else "fine-tuned"
    reason = "no prediction names a source" if paradigm == "zero-shot" else "the predictions name sources"

    def line(key: str, value: str) -> str:
        return yaml.safe_dump({key: value}, allow_unicode=True, width=10_000).strip()

    properties = Card.model_json_schema()["properties"]
    lines = [
        "# Taken or guessed from the file; correct what is wrong.",
        line("name", name),
        f"# A guess, because {reason}; or one of {', '.join(properties['paradigm']['enum'])}.",
        line("paradigm", paradigm),
        line("data", data),
        line("subset", subset),
        "",
        "# What you know of the rest: remove the '#' and write a value.",
    ]
    for key, schema in properties.items():
        if key not in _GUESSED:
            lines.append(f"# {key}:  # {_meaning(key, schema)}")
    text = "\n".join(lines) + "\n"
    parse_card(text)
    return text


def _meaning(key: str, schema: dict[str, object]) -> str:
    described = schema.get("description") or key.replace("_", " ").capitalize()
    choices = schema.get("enum")
    return f"{described}: {', '.join(map(str, choices))}" if isinstance(choices, list) else str(described)
